# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The equations of a planar arm as formulas, from its URDF: what one would derive by hand, in seconds.

Three slender rods of 1 kg and 1 m on parallel joints. c2 is cos q2; the formulas hold for every posture.

It prints:

    q1 = joint_1 [rad]
    q2 = joint_2 [rad]
    q3 = joint_3 [rad]

    H(joint_1, joint_1) = 4 + 3 cos(q2) + cos(q3) + cos(q2 + q3)

    H(joint_1, joint_2) = 1.66667 + 1.5 cos(q2) + cos(q3) + 0.5 cos(q2 + q3)

    H(joint_1, joint_3) = 0.333333 + 0.5 cos(q3) + 0.5 cos(q2 + q3)

    H(joint_2, joint_2) = 1.66667 + cos(q3)

    H(joint_2, joint_3) = 0.333333 + 0.5 cos(q3)

    H(joint_3, joint_3) = 0.333333

    V = 24.525 sin(q1) + 14.715 sin(q1 + q2) + 4.905 sin(q1 + q2 + q3)

    G(joint_1) = 24.525 cos(q1) + 14.715 cos(q1 + q2) + 4.905 cos(q1 + q2 + q3)

    G(joint_2) = 14.715 cos(q1 + q2) + 4.905 cos(q1 + q2 + q3)

    G(joint_3) = 4.905 cos(q1 + q2 + q3)
    H qdd + C qd + G is what RNEA says, to 1e-12
"""

import numpy as np

import robot_dynamics as rd

LINK = """<link name="link_{i}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
  <inertia ixx="1e-9" ixy="0" ixz="0" iyy="0.0833333333333333" iyz="0" izz="0.0833333333333333"/></inertial></link>
<joint name="joint_{i}" type="continuous"><parent link="{parent}"/><child link="link_{i}"/>
  <origin xyz="{place} 0 0"/><axis xyz="0 0 1"/></joint>"""
LINKS = (LINK.format(i=i, parent="world" if i == 1 else f"link_{i - 1}", place=int(i > 1)) for i in (1, 2, 3))

arm = rd.load_urdf(f'<robot name="planar"><link name="world"/>{"".join(LINKS)}</robot>', gravity=(0.0, -9.81, 0.0))
form = rd.closed_form(arm, "world", "link_3")
print(form.to_text(), end="")

rng = np.random.default_rng(1)
q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 3))
tau = form.mass_matrix(q) @ qdd + form.coriolis(q, qd) @ qd + form.gravity(q)
assert np.abs(tau - rd.inverse_dynamics(arm, q, qd, qdd)).max() < 1e-12
print("H qdd + C qd + G is what RNEA says, to 1e-12")
