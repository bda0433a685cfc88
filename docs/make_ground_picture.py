# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Draw guides/ground.png: the worlds that the package brings, with a robot's feet where it starts."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LightSource

import robot_dynamics as rd
from robot_dynamics.contact.terrain import clearances
from robot_dynamics.control.simulation import above_ground, chosen_points, home_pose

DOCS = Path(__file__).parent
WORLDS = DOCS.parent / "worlds"


def heights(terrain, x, y):
    """Height of the terrain over a grid: points that come down by their clearance end on it."""
    points = np.column_stack([x.ravel(), y.ravel(), np.full(x.size, 1.0)])
    for _ in range(200):
        points[:, 2] -= clearances(terrain, points)
    return points[:, 2].reshape(x.shape)


def main():
    """Draw both side by side."""
    model = rd.load_urdf(DOCS.parent / "urdf" / "mini_cheetah.urdf", floating_base=True)
    feet = chosen_points(model, [])
    figure = plt.figure(figsize=(10, 3.6), dpi=120)
    x, y = np.meshgrid(np.linspace(-0.8, 4.0, 241), np.linspace(-1.3, 1.3, 131), indexing="ij")
    for number, name in enumerate(("stairs", "rough"), 1):
        terrain = rd.load_world(WORLDS / f"{name}.yaml")
        q = above_ground(model, home_pose(model, "stance", {}, feet, 0.0), feet, terrain, 0.0)
        at = rd.point_position(model, feet, q)
        axes = figure.add_subplot(1, 2, number, projection="3d")
        z = heights(terrain, x, y)
        colours = LightSource(azdeg=250, altdeg=40).shade(z.T, plt.cm.Greys_r, vert_exag=3, vmin=-0.4, vmax=0.3)
        axes.plot_surface(x, y, z, facecolors=colours.transpose(1, 0, 2), rcount=241, ccount=131, shade=False)
        feet_of_it = at[at[:, 2] < at[:, 2].min() + 0.05]
        axes.scatter(*feet_of_it.T, color="crimson", s=25, depthshade=False, zorder=10)
        axes.set(xlabel="x [m]", zlim=(0, 0.4))
        axes.set_title(f"{name}.yaml", y=0.9)
        axes.set_box_aspect((4.8, 2.6, 0.9), zoom=1.15)
        axes.computed_zorder = False
        axes.view_init(30, -65)
        axes.set_yticks([-1, 1])
        axes.set_zticks([])
    figure.subplots_adjust(0, 0, 1, 1, 0, 0)
    figure.savefig(DOCS / "guides" / "ground.png")


if __name__ == "__main__":
    main()
