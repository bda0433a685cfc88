# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A rod of 1 kg and 1 m on a hinge is a pendulum: its period by the textbook and in the simulated plant.

H = m l^2 / 3, and the gravity force is m g (l/2) sin q. Small swings take 2 pi sqrt(2 l / 3 g); swings of 90 degrees
to either side take 2 K(1/2) / pi = 1.18034 times as long. Given a file name, it draws both swings into that file.

It prints:

    inertia about the hinge     0.3333 kg m^2 (m l^2 / 3)
    gravity at 90 degrees       4.9050 N m    (m g l / 2)
    period, 1 degree            1.6380 s      (textbook 1.6380)
    period, 90 degrees          1.9333 s      (textbook 1.9333)
    energy error, ten swings    below 1e-6 of m g l
"""

import sys

import numpy as np

import robot_dynamics as rd

PENDULUM = """
<robot name="pendulum">
  <link name="world"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 -0.5"/>
      <mass value="1"/>
      <inertia ixx="0.0833333333333333" ixy="0" ixz="0" iyy="0.0833333333333333" iyz="0" izz="1e-9"/>
    </inertial>
  </link>
  <joint name="hinge" type="continuous">
    <parent link="world"/><child link="rod"/><axis xyz="0 1 0"/>
  </joint>
</robot>
"""
G, H = 9.81, 1e-3
SMALL = 2 * np.pi * np.sqrt(2 / (3 * G))

pendulum = rd.load_urdf(PENDULUM)
print(f"inertia about the hinge   {rd.mass_matrix(pendulum, [0.3])[0, 0]:8.4f} kg m^2 (m l^2 / 3)")
print(f"gravity at 90 degrees     {abs(rd.gravity_forces(pendulum, [np.pi / 2])[0]):8.4f} N m    (m g l / 2)")


def swing(amplitude: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and angles from rest at an amplitude [rad]."""
    plant = rd.Plant(pendulum, rd.PlantParams(timestep=H, integrator="rk4"))
    plant.reset([amplitude], [0.0])
    angles = [amplitude]
    while plant.time < duration:
        plant.step()
        angles.append(float(plant.q[0]))
    assert abs(plant.energy.balance_error) < 1e-6 * G
    return H * np.arange(len(angles)), np.array(angles)


def period(time: np.ndarray, angle: np.ndarray) -> float:
    """Mean time between passages through the bottom from the same side."""
    down = np.flatnonzero((angle[:-1] > 0) & (angle[1:] <= 0))
    passages = time[down] + H * angle[down] / (angle[down] - angle[down + 1])
    return float(np.diff(passages).mean())


swings = {degrees: swing(np.radians(degrees), 20.0) for degrees in (1, 90)}
print(
    f"period, 1 degree          {period(*swings[1]):8.4f} s      (textbook {(1 + np.radians(1) ** 2 / 16) * SMALL:.4f})"
)
print(f"period, 90 degrees        {period(*swings[90]):8.4f} s      (textbook {1.18034 * SMALL:.4f})")
print("energy error, ten swings    below 1e-6 of m g l")

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 2.6), layout="constrained")
    plot = figure.subplots()
    for degrees, (time, angle) in swings.items():
        plot.plot(time[time < 6], angle[time < 6] / angle[0], label=f"let go at {degrees}°")
    plot.set(xlabel="time [s]", ylabel="angle / amplitude")
    plot.grid(alpha=0.3)
    figure.legend(loc="outside upper right", ncols=2)
    figure.savefig(sys.argv[1], dpi=110)
