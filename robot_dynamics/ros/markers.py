"""What RViz shows of the plant: contact forces, friction cones, support polygon, centre of mass; rewritten in place."""

import numpy as np
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from ..control.support import convex_hull
from .convert import Array, write_stamp

CONE_EDGES = 8


class Scene:
    """One MarkerArray; a cone is as high as its force arrow, which is `scale` [m] for the robot's weight."""

    def __init__(self, frame: str, friction: float, weight: float, scale: float = 0.3):
        """Take the frame, the friction coefficient and the robot's weight [N]."""
        self.friction, self.length = friction, scale / max(weight, 1e-9)
        self.forces = marker(frame, "forces", Marker.LINE_LIST, 0.008, (0.9, 0.3, 0.1, 1.0))
        self.cones = marker(frame, "friction cones", Marker.LINE_LIST, 0.001, (0.9, 0.7, 0.1, 0.6))
        self.polygon = marker(frame, "support polygon", Marker.LINE_STRIP, 0.004, (0.1, 0.5, 0.9, 1.0))
        self.com = marker(frame, "centre of mass", Marker.SPHERE_LIST, 0.03, (0.9, 0.9, 0.9, 1.0))
        self.msg = MarkerArray(markers=[self.forces, self.cones, self.polygon, self.com])

    def write(self, nanoseconds: int, position: Array, force: Array, com: Array) -> MarkerArray:
        """Draw contact points (k, 3) with forces (k, 3) and the centre of mass (3,) with its shadow, world axes."""
        loaded = force[:, 2] > 1e-6
        at, f = position[loaded], self.length * force[loaded]
        self.forces.points = lines(at, at + f)
        self.cones.points = cone_lines(at, f[:, 2], self.friction)
        self.polygon.points = polygon_points(at)
        self.com.points = [Point(x=p[0], y=p[1], z=p[2]) for p in shadowed(com, at)]
        for part in self.msg.markers:
            part.action = Marker.ADD if part.points else Marker.DELETE
            write_stamp(part.header.stamp, nanoseconds)
        return self.msg


def marker(frame: str, kind: str, shape: int, width: float, colour: tuple[float, float, float, float]) -> Marker:
    """Make a marker without points."""
    made = Marker(ns=kind, type=shape)
    made.header.frame_id = frame
    made.pose.orientation.w = 1.0
    made.scale.x = made.scale.y = made.scale.z = width
    made.color.r, made.color.g, made.color.b, made.color.a = colour
    return made


def lines(start: Array, end: Array) -> list[Point]:
    """Return start and end (k, 3) of every line, one after the other."""
    return [Point(x=x, y=y, z=z) for pair in zip(start.tolist(), end.tolist(), strict=True) for x, y, z in pair]


def cone_lines(apex: Array, height: Array, friction: float) -> list[Point]:
    """Return the edges of friction cones around z at `apex` (k, 3), `height` (k,) high."""
    angle = 2.0 * np.pi * np.arange(CONE_EDGES) / CONE_EDGES
    rim = np.column_stack([friction * np.cos(angle), friction * np.sin(angle), np.ones(CONE_EDGES)])
    ends = apex[:, None, :] + height[:, None, None] * rim
    return lines(np.repeat(apex, CONE_EDGES, axis=0), ends.reshape(-1, 3))


def polygon_points(feet: Array) -> list[Point]:
    """Return the closed hull of the feet (k, 3) seen from above, at their mean height; nothing for fewer than two."""
    corners = convex_hull(feet[:, :2]).tolist()
    if len(corners) < 2:
        return []
    z = float(feet[:, 2].mean())
    return [Point(x=x, y=y, z=z) for x, y in [*corners, corners[0]]]


def shadowed(com: Array, feet: Array) -> list[list[float]]:
    """Return the centre of mass and its projection on the height of the feet."""
    below = float(feet[:, 2].mean()) if len(feet) else 0.0
    return [com.tolist(), [float(com[0]), float(com[1]), below]]
