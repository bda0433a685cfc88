# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Crawl over steps of 12 cm and over rough ground that the robot is told, on both contact laws; draws base and feet.

Where the robot falls, its line ends with a cross.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import robot_dynamics as rd
from robot_dynamics.contact.terrain import GroundHeight
from robot_dynamics.control.gait import TrotParameters
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.control.quadruped import QuadrupedController
from robot_dynamics.control.simulation import above_ground, chosen_points, fitting_gains, home_pose
from robot_dynamics.share import share_folder

PERIOD = 4e-3
SECONDS = 90.0
LAWS = {"spring-damper": rd.SpringDamper(), "impulse": rd.Impulse()}
COLOURS = {"spring-damper": "tab:blue", "impulse": "tab:orange"}


def grounds():
    """Name -> terrain, and the place beyond it."""
    up = rd.stairs((0.5, 0.0, 0.0), steps=3, rise=0.12, run=0.3, width=2.0, landing=0.5)
    down = rd.stairs((2.2, 0.0, 0.0), steps=3, rise=0.12, run=0.3, width=2.0, heading=np.pi, landing=0.1)
    rough = rd.rough_ground((0.3, -1.0, 0.0), (2.0, 2.0), 0.1, 0.06, seed=1)
    return {"steps of 12 cm": ((rd.Plane(), *up, *down), 2.6), "bumps of 6 cm": ((rd.Plane(), *rough), 2.6)}


def crawl(name, law):
    """Places of base and feet (T, 5, 3) until the robot falls, is beyond the ground or time is over; the phase then."""
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    (terrain, goal), legs = grounds()[name], find_legs(model)
    points, (kp, kd) = chosen_points(model, ()), fitting_gains(model)
    control = QuadrupedController(legs, TrotParameters(), 0.1, terrain=terrain)
    control.crawling = True
    plant = rd.Plant(model, rd.PlantParams(contact=LAWS[law], terrain=terrain), points)
    home = above_ground(model, home_pose(model, "crouch", {}, points, 0.0), points, terrain, 0.0)
    plant.reset(home, np.zeros(model.nv))
    track = []
    for step in range(round(SECONDS / PERIOD)):
        q, now = plant.q, step * PERIOD
        control.see_base(q[:7].tolist(), now)
        command = control.answer(q[model.q_index], now)
        track.append(np.vstack([q[:3], rd.point_position(model, legs.feet, q)]))
        if command is None or q[0] > goal:
            break
        plant.track(command.position, command.velocity, kp, kd, command.effort)
        plant.advance(PERIOD)
    return np.array(track), control.phase


def draw(axis, name, walks):
    """Draw the ground, the base on both laws, and a front and a hind foot on one."""
    terrain, _ = grounds()[name]
    x = np.linspace(-0.4, 2.8, 641)
    height = GroundHeight(terrain).below(np.column_stack([x, np.full_like(x, 0.11), np.full_like(x, 2.0)]))
    axis.fill_between(x, height, -0.05, color="0.75")
    for law, (track, phase) in walks.items():
        end = f"{'falls at ' if phase == 'fallen' else ''}{track[-1, 0, 0]:.2f} m"
        print(f"{name}, {law}: {end} after {len(track) * PERIOD:.1f} s, {phase}", flush=True)
        axis.plot(track[:, 0, 0], track[:, 0, 2], color=COLOURS[law], label=f"{law}: {end}")
        axis.plot(*track[-1, 0, [0, 2]], "x" if phase == "fallen" else "o", color=COLOURS[law], markersize=8)
    left = np.flatnonzero(track[0, 1:, 1] > 0) + 1
    axis.plot(track[:, left, 0], track[:, left, 2], color="0.3", linewidth=0.7)
    axis.set(title=name, xlim=(-0.4, 2.8), xlabel="x [m]", ylabel="base, left feet: height [m]", aspect=1.0)
    axis.set_ylim(top=axis.get_ylim()[1] + 0.2)
    axis.legend(fontsize=8, loc="upper left")


def main():
    """Crawl on every ground with both laws, print how far, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=Path(__file__).parent / "guides" / "crawl_on_ground.png")
    args = parser.parse_args()
    names = list(product(grounds(), LAWS))
    with ProcessPoolExecutor(2) as pool:
        walks = dict(zip(names, pool.map(crawl, *zip(*names, strict=True)), strict=True))
    figure, axes = plt.subplots(2, 1, figsize=(9, 6.4), dpi=120)
    for axis, name in zip(axes, grounds(), strict=True):
        draw(axis, name, {law: walks[name, law] for law in LAWS})
    figure.tight_layout()
    figure.savefig(args.picture)


if __name__ == "__main__":
    main()
