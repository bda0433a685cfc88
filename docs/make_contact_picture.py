# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Draws contacts.svg: the normal force of both contact laws while a robot lands (run it by itself)."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import robot_dynamics as rd
from robot_dynamics.share import share_folder

STEP, STEPS, HEIGHT = 1e-3, 150, 0.32


def main() -> None:
    """Let the robot fall a hand's breadth on both laws and draw the force under it."""
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    for name, law in (("spring_damper", rd.SpringDamper()), ("impulse", rd.Impulse())):
        axes.plot(1e3 * STEP * np.arange(STEPS), landing(model, law), label=name)
    axes.axhline(9.81 * model.mass, color="gray", linewidth=0.8, linestyle="--", label="weight")
    axes.set(xlabel="time [ms]", ylabel="normal force [N]", ylim=(0, None))
    axes.legend(frameon=False)
    figure.savefig(Path(__file__).with_name("contacts.svg"))


def landing(model: rd.Model, law: rd.SpringDamper | rd.Impulse) -> list[float]:
    """Vertical force of all contacts [N] after each step, joints held by a stiff PD loop."""
    plant = rd.Plant(model, rd.PlantParams(timestep=STEP, contact=law))
    q = rd.neutral(model)
    joints = np.tile([0.0, -0.8, 1.6], 4)
    q[7:], q[2] = joints, HEIGHT
    plant.reset(q, np.zeros(model.nv))
    zero, gain = np.zeros(12), np.ones(12)
    forces = []
    for _ in range(STEPS):
        plant.track(joints, zero, zero, 60.0 * gain, 1.5 * gain)
        plant.step()
        forces.append(float(plant.contacts.force_world[:, 2].sum()))
    return forces


if __name__ == "__main__":
    main()
