# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a robot with a free base stands, or has fallen over."""

from collections.abc import Sequence

FALLEN, UPRIGHT = 0.5, 0.7
"""Vertical part of the base's z axis below which a robot has fallen (60 degrees), and from which on it is upright."""


class Posture:
    """Tells from the base's attitude whether the robot has `fallen`; upright until told otherwise."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.fallen = False

    def see(self, quaternion: Sequence[float]) -> bool:
        """Take the attitude xyzw of the base and return `fallen`."""
        x, y, z, w = quaternion
        up = 1.0 - 2.0 * (x * x + y * y) / (x * x + y * y + z * z + w * w)
        self.fallen = up < (UPRIGHT if self.fallen else FALLEN)
        return self.fallen
