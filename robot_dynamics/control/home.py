# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Back to the place where a trot began: a trot in place whose feet slip a little would wander off."""

from collections.abc import Sequence
from math import atan2, cos, hypot, sin

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RATE = 0.5
"""Velocity towards home per distance from it [1/s]."""
SPEED, TURN = 0.05, 0.2
"""Largest velocity [m/s] and yaw rate [rad/s] towards home."""


def planar(pose: Sequence[float]) -> tuple[float, float, float]:
    """Place and heading (x, y, psi) of a base at (7,) = [x y z, qx qy qz qw]; psi is that of its x axis."""
    qx, qy, qz, qw = pose[3:7]
    return pose[0], pose[1], atan2(2.0 * (qw * qz + qx * qy), qw * qw + qx * qx - qy * qy - qz * qz)


class Home:
    """Where the base was when the trot began."""

    def __init__(self, pose: Sequence[float]):
        """Take the pose (7,) of the base as home."""
        self.x, self.y, self.heading = planar(pose)

    def steer(self, pose: Sequence[float]) -> Array:
        """Return the velocity [v_x, v_y, omega_z] of the base, in its own axes, that leads home (H12)."""
        x, y, heading = planar(pose)
        dx, dy, turn = self.x - x, self.y - y, self.heading - heading
        turn = RATE * atan2(sin(turn), cos(turn))
        speed = RATE / max(1.0, RATE * hypot(dx, dy) / SPEED)
        c, s = cos(heading), sin(heading)
        return np.array([speed * (c * dx + s * dy), speed * (c * dy - s * dx), min(max(turn, -TURN), TURN)])
