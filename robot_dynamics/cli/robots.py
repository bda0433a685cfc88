# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The robot a command is about: its URDF, the rotor inertias this package knows, the feet it stands on."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..control.limbs import find_four_legs
from ..control.simulation import chosen_points, home_pose
from ..core.arrays import Array
from ..dynamics.kinematics import Points, point_position
from ..errors import ModelError
from ..model.model import Model
from ..model.urdf import load_urdf
from ..ros.parameters import MINI_CHEETAH

LEVEL = 1e-3
"""Contact points so little above the lowest one carry the weight too [m]."""


def load_robot(urdf: Path) -> Model:
    """Load a robot with a floating base, with the rotor inertias of config/ if it is the Mini Cheetah."""
    return load_urdf(urdf, floating_base=True, armature=MINI_CHEETAH if urdf.stem == "mini_cheetah" else None)


def standing(model: Model, links: Sequence[str] = ()) -> tuple[Points, Array]:
    """Feet and pose (nq,) of a robot that stands on z = 0.

    Four-legged robots stand on their feet in their stance; others, or those told which `links` touch, on the lowest
    contact points of the neutral pose.
    """
    points = chosen_points(model, links)
    q = home_pose(model, "stance", {}, points, 0.0)
    try:
        return find_four_legs(model, links).feet, q
    except ModelError:
        pass
    height = point_position(model, points, q)[:, 2] - points.radius
    low = np.flatnonzero(height < LEVEL)
    return Points(points.body[low], points.position[low], tuple(points.link[i] for i in low), points.radius[low]), q


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Declare the URDF and whether its base moves."""
    parser.add_argument("urdf", help="URDF file")
    parser.add_argument(
        "--floating-base",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="the root link moves freely, as nodes take it, unless it has no mass or is called world",
    )
