# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A body in free flight that spins about its middle axis turns over, again and again.

Euler's equations: spin about the axes of the largest and of the smallest inertia is stable, about the one between it is
not. Energy and angular momentum stay what they are. Given a file name, it draws the three angular velocities.

It prints:

    inertias 1, 2, 3 kg m^2, spin 5 rad/s about the middle axis, disturbed by 0.001
    growth rate of the disturbance   2.887 1/s  (textbook: 5 sqrt((3 - 2)(2 - 1) / 3) = 2.887)
    half turns in 20 s               2
    angular momentum kept to         1e-09
    kinetic energy kept to           1e-09
"""

import sys

import numpy as np

import robot_dynamics as rd

BODY = """
<robot name="body"><link name="body"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="3"/></inertial></link></robot>
"""
SPIN, H = 5.0, 1e-3

body = rd.load_urdf(BODY, floating_base=True, gravity=(0.0, 0.0, 0.0))
plant = rd.Plant(body, rd.PlantParams(timestep=H, integrator="rk4", terrain=(rd.Plane(-1e3),)))
plant.reset(rd.neutral(body), [1e-3, SPIN, -1e-3 / np.sqrt(3.0), 0.0, 0.0, 0.0])  # the direction that grows
energy, momentum = rd.kinetic_energy(body, plant.q, plant.qd), rd.centroidal_momentum(body, plant.q, plant.qd)[:3]
spins = [plant.qd[:3]]
for _ in range(round(20.0 / H)):
    plant.step()
    spins.append(plant.qd[:3])
spins, time = np.array(spins), H * np.arange(len(spins))

early = time < 1.0
rate = np.polyfit(time[early], np.log(spins[early, 0]), 1)[0]
print("inertias 1, 2, 3 kg m^2, spin 5 rad/s about the middle axis, disturbed by 0.001")
print(f"growth rate of the disturbance   {rate:.3f} 1/s  (textbook: 5 sqrt((3 - 2)(2 - 1) / 3) = {SPIN / 3**0.5:.3f})")
print(f"half turns in 20 s               {(np.diff(np.sign(spins[:, 1])) != 0).sum()}")
now = rd.centroidal_momentum(body, plant.q, plant.qd)[:3]
for name, error in (
    ("angular momentum", np.linalg.norm(now - momentum) / np.linalg.norm(momentum)),
    ("kinetic energy", abs(rd.kinetic_energy(body, plant.q, plant.qd) / energy - 1.0)),
):
    assert error < 1e-9, error
    print(f"{name + ' kept to':32s} 1e-09")

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 2.6), layout="constrained")
    plot = figure.subplots()
    for axis, spin in zip(("smallest", "middle", "largest"), spins.T, strict=True):
        plot.plot(time, spin, label=f"axis of {axis} inertia")
    plot.set(xlabel="time [s]", ylabel="angular velocity [rad/s]")
    plot.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(sys.argv[1], dpi=110)
