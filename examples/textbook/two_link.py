# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The two-link arm of every textbook, with numbers: H, C qd and G beside the formulas.

Two slender rods of 1 kg and 1 m swing in a vertical plane; q1 from the horizontal, q2 from the first rod. With c2 =
cos q2: H11 = 5/3 + c2, H12 = 1/3 + c2/2, H22 = 1/3 [kg m^2].

It prints:

    q = (30, 60) degrees, qd = (1, 2) rad/s
    H        [[2.1667 0.5833] [0.5833 0.3333]]  textbook [[2.1667 0.5833] [0.5833 0.3333]]
    C qd     [-3.4641  0.4330]                  textbook [-3.4641  0.4330]
    G        [12.7436  0.0000]                  textbook [12.7436  0.0000]
    tau for qdd = (1, 1): [12.0295  1.3497], and back by forward dynamics: [ 1.0000  1.0000]
"""

import numpy as np

import robot_dynamics as rd

ROD = """<inertial><origin xyz="0.5 0 0"/><mass value="1"/>
  <inertia ixx="1e-9" ixy="0" ixz="0" iyy="0.0833333333333333" iyz="0" izz="0.0833333333333333"/></inertial>"""
ARM = f"""
<robot name="two_link">
  <link name="world"/>
  <link name="upper">{ROD}</link>
  <link name="fore">{ROD}</link>
  <joint name="shoulder" type="continuous">
    <parent link="world"/><child link="upper"/><axis xyz="0 -1 0"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="1 0 0"/><axis xyz="0 -1 0"/>
  </joint>
</robot>
"""
G = 9.81

arm = rd.load_urdf(ARM)
q, qd = np.radians([30.0, 60.0]), np.array([1.0, 2.0])
(q1, q2), (w1, w2) = q, qd
c2, s2 = np.cos(q2), np.sin(q2)

found = {
    "H": rd.mass_matrix(arm, q),
    "C qd": rd.bias_forces(arm, q, qd) - rd.gravity_forces(arm, q),
    "G": rd.gravity_forces(arm, q),
}
textbook = {
    "H": np.array([[5 / 3 + c2, 1 / 3 + c2 / 2], [1 / 3 + c2 / 2, 1 / 3]]),
    "C qd": np.array([-s2 * w2 * (w1 + w2 / 2), s2 / 2 * w1**2]),
    "G": np.array([G * (1.5 * np.cos(q1) + 0.5 * np.cos(q1 + q2)), 0.5 * G * np.cos(q1 + q2)]),
}


def text(x: np.ndarray) -> str:
    """Numbers in a line."""
    return np.array2string(x, formatter={"float": lambda v: f"{v:.4f}".rjust(7 if x.ndim == 1 else 0)}).replace(
        "\n", ""
    )


print("q = (30, 60) degrees, qd = (1, 2) rad/s")
for name, value in found.items():
    print(f"{name:8s} {text(value + 0.0):34s} textbook {text(textbook[name] + 0.0)}")
    assert np.allclose(value, textbook[name], atol=1e-8)
tau = rd.inverse_dynamics(arm, q, qd, np.ones(2))
print(f"tau for qdd = (1, 1): {text(tau)}, and back by forward dynamics: {text(rd.forward_dynamics(arm, q, qd, tau))}")
