# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What RViz shows of the plant: the ground, once; contact forces, friction cones, support polygon, centre of mass."""

from collections.abc import Sequence

from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from ..contact.terrain import Surface
from ..view.forces import CONE_EDGES, ForcePen
from ..view.surfaces import STONE, Cuboid, shape_of
from . import wire
from .convert import Array


class Scene:
    """One MarkerArray; a cone is as high as its force arrow, which is `scale` [m] for the robot's weight."""

    def __init__(self, frame: str, friction: float, weight: float, scale: float = 0.3):
        """Take the frame, the friction coefficient and the robot's weight [N]."""
        self.frame, self.pen = frame, ForcePen(friction, weight, scale)
        self._writers: dict[tuple[int, int], wire.MarkerWriter] = {}

    def write(self, nanoseconds: int, position: Array, force: Array, com: Array) -> bytes:
        """Draw contact points (k, 3) with forces (k, 3) and the centre of mass (3,) with its shadow, world axes."""
        drawing = self.pen.draw(position, force, com)
        writer = self._writer(len(drawing.arrows), len(drawing.polygon))
        parts = (drawing.arrows, drawing.cones, drawing.polygon, drawing.com)
        for points, part in zip(writer.points, parts, strict=True):
            points[:] = part.reshape(-1, 3)
        return writer.stamped(nanoseconds)

    def _writer(self, feet: int, corners: int) -> wire.MarkerWriter:
        """Return the message for so many feet and points of the polygon, built when they are so many for once."""
        if (feet, corners) not in self._writers:
            markers = [
                marker(self.frame, "forces", Marker.LINE_LIST, 0.008, (0.9, 0.3, 0.1, 1.0)),
                marker(self.frame, "friction cones", Marker.LINE_LIST, 0.001, (0.9, 0.7, 0.1, 0.6)),
                marker(self.frame, "support polygon", Marker.LINE_STRIP, 0.004, (0.1, 0.5, 0.9, 1.0)),
                marker(self.frame, "centre of mass", Marker.SPHERE_LIST, 0.03, (0.9, 0.9, 0.9, 1.0)),
            ]
            counts = (2 * feet, 2 * CONE_EDGES * feet, corners, 2)
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
        made = marker(frame, "ground", Marker.CUBE, 1.0, (*STONE, 0.9))
        made.id = number
        shape = shape_of(surface)
        if isinstance(shape, Cuboid):
            _put(made, shape)
        else:
            made.type = Marker.TRIANGLE_LIST
            made.points = [Point(x=x, y=y, z=z) for x, y, z in shape.tolist()]
        drawn.append(made)
    return MarkerArray(markers=drawn)


def _put(made: Marker, cuboid: Cuboid) -> None:
    made.scale.x, made.scale.y, made.scale.z = cuboid.size.tolist()
    at, turn = made.pose.position, made.pose.orientation
    at.x, at.y, at.z = cuboid.position.tolist()
    turn.x, turn.y, turn.z, turn.w = cuboid.orientation.tolist()


def marker(frame: str, kind: str, shape: int, width: float, colour: tuple[float, float, float, float]) -> Marker:
    """Make a marker without points."""
    made = Marker(ns=kind, type=shape)
    made.header.frame_id = frame
    made.pose.orientation.w = 1.0
    made.scale.x = made.scale.y = made.scale.z = width
    made.color.r, made.color.g, made.color.b, made.color.a = colour
    return made
