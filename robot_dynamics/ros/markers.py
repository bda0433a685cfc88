# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What RViz shows of the plant: contact forces, friction cones, support polygon, centre of mass; rewritten in place."""

import numpy as np
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from ..control.support import convex_hull
from . import wire
from .convert import Array

CONE_EDGES = 8


class Scene:
    """One MarkerArray; a cone is as high as its force arrow, which is `scale` [m] for the robot's weight."""

    def __init__(self, frame: str, friction: float, weight: float, scale: float = 0.3):
        """Take the frame, the friction coefficient and the robot's weight [N]."""
        self.frame, self.length = frame, scale / max(weight, 1e-9)
        angle = 2.0 * np.pi * np.arange(CONE_EDGES) / CONE_EDGES
        self.rim = np.column_stack([friction * np.cos(angle), friction * np.sin(angle), np.ones(CONE_EDGES)])
        self._writers: dict[tuple[int, int], wire.MarkerWriter] = {}

    def write(self, nanoseconds: int, position: Array, force: Array, com: Array) -> bytes:
        """Draw contact points (k, 3) with forces (k, 3) and the centre of mass (3,) with its shadow, world axes."""
        loaded = force[:, 2] > 1e-6
        at, f = position[loaded], self.length * force[loaded]
        corners = convex_hull(at[:, :2])
        forces, cones, polygon, middle = (writer := self._writer(len(at), len(corners))).points
        arrows, edges = forces.reshape(-1, 2, 3), cones.reshape(-1, CONE_EDGES, 2, 3)
        arrows[:, 0], arrows[:, 1] = at, at + f
        edges[:, :, 0] = at[:, None]
        edges[:, :, 1] = at[:, None] + f[:, None, 2:] * self.rim
        middle[:] = com
        middle[1, 2] = at[:, 2].mean() if len(at) else 0.0
        if len(polygon):
            polygon[:-1, :2], polygon[-1, :2], polygon[:, 2] = corners, corners[0], middle[1, 2]
        return writer.stamped(nanoseconds)

    def _writer(self, feet: int, corners: int) -> wire.MarkerWriter:
        """Return the message for so many feet in contact, built when there are so many for the first time."""
        if (feet, corners) not in self._writers:
            markers = [
                marker(self.frame, "forces", Marker.LINE_LIST, 0.008, (0.9, 0.3, 0.1, 1.0)),
                marker(self.frame, "friction cones", Marker.LINE_LIST, 0.001, (0.9, 0.7, 0.1, 0.6)),
                marker(self.frame, "support polygon", Marker.LINE_STRIP, 0.004, (0.1, 0.5, 0.9, 1.0)),
                marker(self.frame, "centre of mass", Marker.SPHERE_LIST, 0.03, (0.9, 0.9, 0.9, 1.0)),
            ]
            counts = (2 * feet, 2 * CONE_EDGES * feet, corners + 1 if corners > 1 else 0, 2)
            for part, count in zip(markers, counts, strict=True):
                part.points = [Point() for _ in range(count)]
                part.action = Marker.ADD if count else Marker.DELETE
            self._writers[feet, corners] = wire.MarkerWriter(MarkerArray(markers=markers))
        return self._writers[feet, corners]


def marker(frame: str, kind: str, shape: int, width: float, colour: tuple[float, float, float, float]) -> Marker:
    """Make a marker without points."""
    made = Marker(ns=kind, type=shape)
    made.header.frame_id = frame
    made.pose.orientation.w = 1.0
    made.scale.x = made.scale.y = made.scale.z = width
    made.color.r, made.color.g, made.color.b, made.color.a = colour
    return made
