# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is drawn of contact forces: arrows, friction cones, the support polygon, the centre of mass and its shadow."""

from dataclasses import dataclass

import numpy as np

from ..control.support import convex_hull
from ..core.arrays import Array

CONE_EDGES = 8
TOUCHING = 1e-6
"""Normal force from which a point is drawn as loaded [N]."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lines, world axes [m]: arrows (n, 2, 3) and cones (n, CONE_EDGES, 2, 3) of n loaded points; a closed polygon.

    polygon (m, 3), the first corner again at its end, m = 0 for fewer than two corners; com (2, 3) centre and shadow.
    """

    arrows: Array
    cones: Array
    polygon: Array
    com: Array


class ForcePen:
    """Draws forces so that one as large as the robot's weight has an arrow of `length` [m]; cones are as high."""

    def __init__(self, friction: float, weight: float, length: float = 0.3):
        """Take the friction coefficient of the cones and the weight [N]."""
        self.scale = length / max(weight, 1e-9)
        angle = 2.0 * np.pi * np.arange(CONE_EDGES) / CONE_EDGES
        self.rim = np.column_stack([friction * np.cos(angle), friction * np.sin(angle), np.ones(CONE_EDGES)])

    def arrows(self, position: Array, force: Array) -> Array:
        """Arrows (n, 2, 3) of forces (n, 3) at points (n, 3)."""
        return np.stack([position, position + self.scale * force], axis=1)

    def draw(self, position: Array, force: Array, com: Array) -> Drawing:
        """Draw contact points (k, 3) with forces (k, 3) of the ground, and the centre of mass (3,), world axes."""
        loaded = force[:, 2] > TOUCHING
        at, f = position[loaded], self.scale * force[loaded]
        cones = np.repeat(at[:, None, None], CONE_EDGES, axis=1).repeat(2, axis=2)
        cones[:, :, 1] += f[:, None, 2:] * self.rim
        corners, floor = convex_hull(at[:, :2]), at[:, 2].mean() if len(at) else 0.0
        ring = np.vstack([corners, corners[:1]]) if len(corners) > 1 else np.zeros((0, 2))
        polygon = np.column_stack([ring, np.full(len(ring), floor)])
        return Drawing(self.arrows(at, force[loaded]), cones, polygon, np.array([com, [com[0], com[1], floor]]))
