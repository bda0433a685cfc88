# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Draw docs/guides/policy.png: how far the policy of examples/policy comes on four grounds, under both contact laws."""

import sys
from pathlib import Path

import matplotlib
import numpy as np

import robot_dynamics as rd
from robot_dynamics.contact.ground import rough_ground, stairs
from robot_dynamics.control.policy import load_policy
from robot_dynamics.ros.parameters import MINI_CHEETAH
from robot_dynamics.share import share_folder

matplotlib.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples" / "policy"))
from offline import LAWS, walk  # noqa: E402

SECONDS, COMMAND, FIRST, RUN, STEPS = 15.0, (0.4, 0.0, 0.0), 0.6, 0.35, 4


def steps(rise):
    """Return a flight of stairs with its outline."""
    flight = stairs(position=(FIRST, 0.0, 0.0), steps=STEPS, rise=rise, run=RUN, width=3.0, landing=3.0)
    edges = FIRST + RUN * np.repeat(np.arange(STEPS), 2)
    heights = np.repeat(rise * np.arange(STEPS + 1), 2)
    return (rd.Plane(), *flight), np.r_[-0.5, edges, 3.8], heights


def flat():
    """Return a plane with its outline."""
    return (rd.Plane(),), np.array([-0.5, 6.0]), np.zeros(2)


def rough():
    """Return bumps with the outline of their tops."""
    bumps = rough_ground(corner=(-1.0, -3.0, 0.0), size=(9.0, 6.0), spacing=0.1, amplitude=0.03, seed=1)
    bumps = bumps if isinstance(bumps, tuple) else (bumps,)
    return (rd.Plane(), *bumps), np.array([-0.5, 6.0]), np.full(2, 0.03)


def main():
    """Walk on every ground and draw the paths."""
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True, armature=MINI_CHEETAH)
    grounds = {"flat": flat(), "bumps of 3 cm": rough(), "steps of 4 cm": steps(0.04), "steps of 12 cm": steps(0.12)}
    figure, axes = plt.subplots(len(grounds), 1, figsize=(7.0, 7.5), sharex=True, constrained_layout=True)
    for ax, (name, (terrain, x, z)) in zip(axes, grounds.items(), strict=True):
        ax.fill_between(x, z, -0.05, color="0.8")
        for law, colour in zip(LAWS, ("C0", "C1"), strict=True):
            policy = load_policy(HERE.parent / "examples" / "policy" / "walk.yaml")
            path, stood = walk(policy, model, COMMAND, SECONDS, terrain, law, straight=True)
            ax.plot(path[:, 0], path[:, 2], colour, label=law.replace("_", "-"))
            ax.plot(*path[-1, [0, 2]], "o" if stood else "X", color=colour, markersize=6 if stood else 10)
            end = "on its feet" if stood else f"fallen after {len(path) / policy.spec.rate:.1f} s"
            print(f"{name}, {law}: ({path[-1, 0]:.2f}, {path[-1, 1]:.2f}) m, {end}", flush=True)
        ax.set(title=name, ylabel="z [m]", ylim=(-0.05, 0.6))
    axes[0].legend(loc="upper right")
    axes[-1].set_xlabel(f"x of the base in {SECONDS:g} s at a command of {COMMAND[0]} m/s [m]; a cross is a fall")
    figure.savefig(HERE / "guides" / "policy.png", dpi=110)


if __name__ == "__main__":
    main()
