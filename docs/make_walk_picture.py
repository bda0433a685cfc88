# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Walk blindly over stairs and rough ground with the shipped gait, on both contact laws; draws how far it came.

The gait knows nothing of the ground: feet lift by a fixed height, and the heading is held by a yaw rate. Where the
robot falls, its line ends.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import robot_dynamics as rd
from robot_dynamics.contact.terrain import clearances
from robot_dynamics.control.gait import StandTrot, TrotParameters
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.control.posture import Posture
from robot_dynamics.control.simulation import above_ground, fitting_gains, home_pose
from robot_dynamics.share import share_folder

PERIOD = 2e-3
LAWS = {"spring-damper": rd.SpringDamper(), "impulse": rd.Impulse()}
COLOURS = {"spring-damper": "tab:blue", "impulse": "tab:orange"}


def grounds():
    """Name -> terrain."""
    flat = rd.Plane()
    rough = rd.rough_ground((0.5, -2.0, 0.0), (5.0, 4.0), 0.1, 0.03, seed=1)
    rougher = rd.rough_ground((0.5, -2.0, 0.0), (5.0, 4.0), 0.1, 0.06, seed=1)
    low = rd.stairs((0.8, 0.0, 0.0), steps=4, rise=0.04, run=0.35, width=3.0, landing=3.0)
    high = rd.stairs((0.8, 0.0, 0.0), steps=4, rise=0.12, run=0.35, width=3.0, landing=3.0)
    return {
        "bumps of 3 cm": (flat, *rough),
        "bumps of 6 cm": (flat, *rougher),
        "steps of 4 cm": (flat, *low),
        "steps of 12 cm": (flat, *high),
    }


def walk(model, terrain, law, speed, seconds, lift):
    """Places (T, 3) of the base until it falls or time is over, and whether it fell."""
    legs = find_legs(model)
    gait = StandTrot(legs, TrotParameters(cycle=0.25, height=0.65, lift=lift))
    kp, kd = fitting_gains(model)
    plant = rd.Plant(model, rd.PlantParams(contact=law, terrain=terrain), legs.feet)
    q = above_ground(model, home_pose(model, "crouch", {}, legs.feet, 0.0), legs.feet, terrain, 0.0)
    plant.reset(q, np.zeros(model.nv))
    gait.start(q[model.q_index], 0.0)
    gait.trot, posture, track = True, Posture(), []
    for step in range(round(seconds / PERIOD)):
        q = plant.q
        x, y, z, w = q[3:7]
        heading = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        gait.steer = np.array([speed, -0.5 * q[1], -1.5 * heading])
        command = gait.command(step * PERIOD)
        plant.track(command.position, command.velocity, kp, kd, command.effort)
        plant.advance(PERIOD)
        track.append(q[:3])
        if posture.see(q[3:7].tolist()):
            return np.array(track), True
    return np.array(track), False


def main():
    """Walk on every ground with both laws, print how far, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=Path(__file__).parent / "guides" / "walk_on_ground.png")
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--speed", type=float, default=0.3, help="[m/s]")
    parser.add_argument("--lift", type=float, default=0.25, help="of a swinging foot over the reach of the legs")
    args = parser.parse_args()
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    figure, axes = plt.subplots(2, 2, figsize=(10, 5), dpi=120, sharex=True, sharey=True)
    for axis, (name, terrain) in zip(axes.ravel(), grounds().items(), strict=True):
        x = np.linspace(-0.6, 4.0, 461)
        height = np.column_stack([x, np.zeros_like(x), np.full_like(x, 1.0)])
        for _ in range(200):
            height[:, 2] -= clearances(terrain, height)
        axis.fill_between(x, height[:, 2], -0.05, color="0.75")
        for law, parameters in LAWS.items():
            track, fell = walk(model, terrain, parameters, args.speed, args.seconds, args.lift)
            end = f"falls at {track[-1, 0]:.2f} m" if fell else f"{track[-1, 0]:.2f} m"
            print(f"{name}, {law}: {end} after {len(track) * PERIOD:.1f} s", flush=True)
            axis.plot(track[:, 0], track[:, 2], color=COLOURS[law], label=f"{law}: {end}")
            axis.plot(*track[-1, [0, 2]], "x" if fell else "o", color=COLOURS[law], markersize=8)
        axis.set_title(name, fontsize=10)
        axis.legend(fontsize=8, loc="lower right")
        axis.set(xlim=(-0.3, 4.0), ylim=(-0.05, 1.0))
    for axis in axes[-1]:
        axis.set_xlabel("x [m]")
    for axis in axes[:, 0]:
        axis.set_ylabel("height of the base [m]")
    figure.tight_layout()
    figure.savefig(args.picture)


if __name__ == "__main__":
    main()
