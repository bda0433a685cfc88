# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""An arm with a force sensor in its wrist leans against something: which joint efforts hold it there.

The sensor tells the wrench of the environment on the hand, in the hand's axes. The joints bear it with -J^T f beside
the arm's own weight: f_ext of the equations of motion, which the nodes take from `~/wrench`. The simulated arm, without
any position control, then stays where it is; without the sensor's part it would not.

It prints:

    wrench on the hand [N m, N]: 0 0 0  -20 0 5
    efforts for the weight alone      [  0.00 -26.79  -6.46]
    efforts with the sensor's wrench  [  0.00 -14.90  -3.96]
    -J^T f                            [  0.00  11.89   2.50]
    after a tenth of a second under the wrench the hand has moved by
      with the sensor      0.0 mm
      without it          27.0 mm
"""

import numpy as np

import robot_dynamics as rd

LINK = """<link name="{name}"><inertial><origin xyz="0.25 0 0"/><mass value="3"/>
  <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.07" iyz="0" izz="0.07"/></inertial></link>"""
JOINT = """<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="{place}"/><axis xyz="{axis}"/><dynamics damping="2"/></joint>"""
ARM = f"""
<robot name="arm">
  <link name="world"/>{LINK.format(name="trunk")}{LINK.format(name="upper")}{LINK.format(name="fore")}
  <link name="hand"/>
  {JOINT.format(name="yaw", parent="world", child="trunk", place="0 0 1", axis="0 0 1")}
  {JOINT.format(name="shoulder", parent="trunk", child="upper", place="0.5 0 0", axis="0 1 0")}
  {JOINT.format(name="elbow", parent="upper", child="fore", place="0.5 0 0", axis="0 1 0")}
  <joint name="wrist" type="fixed"><parent link="fore"/><child link="hand"/><origin xyz="0.5 0 0"/></joint>
</robot>
"""

arm = rd.load_urdf(ARM)
q, rest = np.array([0.3, -0.4, 0.9]), np.zeros(3)
measured = np.array([0.0, 0.0, 0.0, -20.0, 0.0, 5.0])

hand = arm.link_names.index("hand")
body, R, p = arm.link_bodies[hand], arm.link_R[hand], arm.link_p[hand]
f_ext = np.zeros((arm.nb, 6))
f_ext[body] = [*(R @ measured[:3] + np.cross(p, R @ measured[3:])), *(R @ measured[3:])]

weight = rd.gravity_forces(arm, q)
held = rd.inverse_dynamics(arm, q, rest, rest, f_ext)
borne = -rd.link_jacobian(arm, q, "hand").T @ measured
assert np.allclose(held, weight + borne)


def text(x: np.ndarray) -> str:
    """Efforts in a line."""
    return "[" + " ".join(f"{v + 0.0:6.2f}" for v in np.round(x, 2)) + "]"


def drift(tau: np.ndarray) -> float:
    """How far the hand moves in a tenth of a second under these efforts and the wrench [m]."""
    plant = rd.Plant(arm)
    plant.reset(q, rest)
    turn, begin = rd.link_pose(arm, q, "hand")
    plant.hold_wrench("hand", [*(turn @ measured[:3]), *(turn @ measured[3:])])
    plant.track(q, rest, 0.0, 0.0, tau)
    plant.advance(0.1)
    return float(np.linalg.norm(rd.link_pose(arm, plant.q, "hand")[1] - begin))


print("wrench on the hand [N m, N]: 0 0 0  -20 0 5")
print(f"efforts for the weight alone      {text(weight)}")
print(f"efforts with the sensor's wrench  {text(held)}")
print(f"-J^T f                            {text(borne)}")
print("after a tenth of a second under the wrench the hand has moved by")
print(f"  with the sensor    {1e3 * drift(held):5.1f} mm")
print(f"  without it         {1e3 * drift(weight):5.1f} mm")
