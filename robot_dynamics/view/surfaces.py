# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ground as it is drawn: planes and boxes as cuboids, height fields as triangles."""

import math
from dataclasses import dataclass

import numpy as np

from ..contact.terrain import Box, HeightField, Plane, Surface
from ..core.arrays import Array
from ..kernels.terrain import surface_frame
from ..spatial import quaternion_from_rotation

STONE = (0.55, 0.55, 0.52)
PLANE_SIZE, SLAB = 20.0, 0.02
"""Edge length and thickness with which a plane is drawn [m]."""
MOST_DRAWN = 10_000
"""Samples of a height field that are drawn."""


@dataclass(frozen=True, slots=True)
class Cuboid:
    """Edge lengths (3,) [m], centre (3,) and attitude (4,), quaternion x y z w."""

    size: Array
    position: Array
    orientation: Array


def cuboid(surface: Plane | Box) -> Cuboid:
    """Draw a plane as a slab below it, a box as it is."""
    if isinstance(surface, Box):
        turn = np.asarray(surface.orientation, dtype=float)
        size, position = np.array(surface.size, dtype=float), np.array(surface.position, dtype=float)
        return Cuboid(size, position, turn / np.linalg.norm(turn))
    normal = np.asarray(surface.normal) / np.linalg.norm(surface.normal)
    R = np.array(surface_frame(tuple(normal))).reshape(3, 3)
    middle = np.array([0.0, 0.0, surface.height]) - 0.5 * SLAB * normal
    return Cuboid(np.array([PLANE_SIZE, PLANE_SIZE, SLAB]), middle, quaternion_from_rotation(R))


def triangles(field: HeightField) -> Array:
    """Corners (3 k, 3) of the triangles of a height field, two to a cell; of a fine one every so-manieth sample."""
    heights = np.asarray(field.heights, dtype=float)
    every = max(1, math.ceil(math.sqrt(heights.size / MOST_DRAWN)))
    picked = [np.unique(np.append(np.arange(0, n, every), n - 1)) for n in heights.shape]
    x, y = np.meshgrid(*picked, indexing="ij")
    at = np.stack([field.spacing * x, field.spacing * y, heights[np.ix_(*picked)]], axis=-1) + field.corner
    a, b, c, d = at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]
    found: Array = np.stack([a, b, c, a, c, d], axis=2).reshape(-1, 3)
    return found


def shape_of(surface: Surface) -> Cuboid | Array:
    """Cuboid of a plane or box, corners of triangles (3 k, 3) of a height field."""
    return triangles(surface) if isinstance(surface, HeightField) else cuboid(surface)
