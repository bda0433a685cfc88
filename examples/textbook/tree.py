# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A robot with two arms on one trunk: which joints feel each other, and what that saves.

A joint's column of the mass matrix is 0 where neither joint carries the other: joints of different arms do not meet.
The sparse matrix stores the rest, row by row the columns of the ancestors. Given a file name, it draws the pattern.

It prints:

    7 joints: trunk, left_1, left_2, left_3, right_1, right_2, right_3
    #......
    ##.....
    ###....
    ####...
    #...#..
    #...##.
    #...###
    19 of 28 numbers of the lower triangle are stored
    RNEA, ABA and CRBA are one model: tau - RNEA(ABA(tau)) and H qdd + C qd + G - tau are below 1e-12
"""

import sys

import numpy as np

import robot_dynamics as rd

LINK = """<link name="{name}"><inertial><origin xyz="0 0 -0.15"/><mass value="2"/>
  <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.005"/></inertial></link>"""
JOINT = """<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{name}_link"/>
  <origin xyz="{place}"/><axis xyz="{axis}"/></joint>"""


def arm(side: str, y: float) -> str:
    """Three links on the trunk."""
    parts, parent = [], "trunk_link"
    for i, axis in enumerate(("0 1 0", "1 0 0", "0 1 0"), start=1):
        name, place = f"{side}_{i}", f"0 {y} 0.4" if i == 1 else "0 0 -0.3"
        parts.append(LINK.format(name=f"{name}_link"))
        parts.append(JOINT.format(name=name, parent=parent, place=place, axis=axis))
        parent = f"{name}_link"
    return "".join(parts)


TRUNK = LINK.format(name="trunk_link") + JOINT.format(name="trunk", parent="world", place="0 0 1", axis="0 0 1")
ROBOT = f'<robot name="two_arms"><link name="world"/>{TRUNK}{arm("left", 0.2)}{arm("right", -0.2)}</robot>'

robot = rd.load_urdf(ROBOT)
rng = np.random.default_rng(1)
q, qd, tau = rng.uniform(-1.0, 1.0, (3, robot.nv))
print(f"{robot.nv} joints: {', '.join(robot.joint_names)}")

sparse = rd.sparse_mass_matrix(robot, q)
pattern = np.zeros((robot.nv, robot.nv), dtype=bool)
for row, (start, end) in enumerate(zip(sparse.starts[:-1], sparse.starts[1:], strict=True)):
    pattern[row, sparse.columns[start:end]] = True
print("\n".join("".join("#" if x else "." for x in row) for row in pattern))
print(f"{pattern.sum()} of {robot.nv * (robot.nv + 1) // 2} numbers of the lower triangle are stored")

qdd = rd.forward_dynamics(robot, q, qd, tau)
H, bias = rd.mass_matrix(robot, q), rd.bias_forces(robot, q, qd)
assert np.abs(rd.inverse_dynamics(robot, q, qd, qdd) - tau).max() < 1e-12
assert np.abs(H @ qdd + bias - tau).max() < 1e-12
print("RNEA, ABA and CRBA are one model: tau - RNEA(ABA(tau)) and H qdd + C qd + G - tau are below 1e-12")

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 3.6), layout="constrained")
    plot = figure.subplots()
    shown = plot.imshow(np.where(pattern | pattern.T, np.abs(H), np.nan))
    figure.colorbar(shown, label="|H| [kg m^2]")
    plot.set_xticks(range(robot.nv), robot.joint_names, rotation=60, ha="right")
    plot.set_yticks(range(robot.nv), robot.joint_names)
    figure.savefig(sys.argv[1], dpi=110)
