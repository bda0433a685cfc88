# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What RViz shows of the plant: the ground, once; contact forces, friction cones, support polygon, centre of mass."""

import math
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point
from numpy.typing import ArrayLike
from visualization_msgs.msg import Marker, MarkerArray

from ..contact.terrain import Box, HeightField, Surface
from ..control.support import convex_hull
from ..kernels.terrain import surface_frame
from ..spatial import quaternion_from_rotation
from . import wire
from .convert import Array

CONE_EDGES = 8
STONE = (0.55, 0.55, 0.52, 0.9)
PLANE_SIZE, SLAB = 20.0, 0.02
"""Edge length and thickness with which a plane is drawn [m]."""
MOST_DRAWN = 10_000
"""Samples of a height field that are drawn."""


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


def ground_markers(terrain: Sequence[Surface], frame: str) -> MarkerArray:
    """Draw planes and boxes as cubes and height fields as triangles; what was drawn before goes."""
    erase = Marker(action=Marker.DELETEALL)
    erase.header.frame_id = frame
    drawn = [erase]
    for number, surface in enumerate(terrain):
        made = marker(frame, "ground", Marker.CUBE, 1.0, STONE)
        made.id = number
        if isinstance(surface, HeightField):
            made.type = Marker.TRIANGLE_LIST
            made.points = [Point(x=x, y=y, z=z) for x, y, z in triangles(surface).tolist()]
        elif isinstance(surface, Box):
            _put(made, surface.size, surface.position, surface.orientation)
        else:
            normal = np.asarray(surface.normal) / np.linalg.norm(surface.normal)
            R = np.array(surface_frame(tuple(normal))).reshape(3, 3)
            middle = np.array([0.0, 0.0, surface.height]) - 0.5 * SLAB * normal
            _put(made, (PLANE_SIZE, PLANE_SIZE, SLAB), middle, quaternion_from_rotation(R))
        drawn.append(made)
    return MarkerArray(markers=drawn)


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


def _put(made: Marker, size: ArrayLike, position: ArrayLike, orientation: ArrayLike) -> None:
    made.scale.x, made.scale.y, made.scale.z = (float(s) for s in np.asarray(size))
    at, turn = made.pose.position, made.pose.orientation
    at.x, at.y, at.z = (float(p) for p in np.asarray(position))
    turn.x, turn.y, turn.z, turn.w = (float(q) for q in np.asarray(orientation) / np.linalg.norm(orientation))


def marker(frame: str, kind: str, shape: int, width: float, colour: tuple[float, float, float, float]) -> Marker:
    """Make a marker without points."""
    made = Marker(ns=kind, type=shape)
    made.header.frame_id = frame
    made.pose.orientation.w = 1.0
    made.scale.x = made.scale.y = made.scale.z = width
    made.color.r, made.color.g, made.color.b, made.color.a = colour
    return made
