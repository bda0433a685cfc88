# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Messages of the loop made and read without ROS, with the types of `rosbags`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..simulation.plant import Contacts

NANO = 1_000_000_000
EMPTY = np.zeros(0)
UNKNOWN = np.zeros(36)
"""Covariance (6, 6) that says nothing."""


class Messages:
    """Makes messages of a type store; times in ns, arrays float64."""

    def __init__(self, types: Any):
        """Take the types by their names."""
        self._types = types

    def make(self, kind: str, *fields: Any) -> Any:
        """Make a message, `sensor_msgs/JointState`."""
        package, name = kind.split("/")
        return self._types[f"{package}/msg/{name}"](*fields)

    def time(self, nanoseconds: int) -> Any:
        """A time stamp."""
        return self.make("builtin_interfaces/Time", *divmod(nanoseconds, NANO))

    def header(self, nanoseconds: int, frame: str = "") -> Any:
        """A header."""
        return self.make("std_msgs/Header", self.time(nanoseconds), frame)

    def clock(self, nanoseconds: int) -> Any:
        """A Clock."""
        return self.make("rosgraph_msgs/Clock", self.time(nanoseconds))

    def text(self, text: str) -> Any:
        """A String."""
        return self.make("std_msgs/String", text)

    def bytes(self, data: bytes) -> Any:
        """A UInt8MultiArray without dimensions."""
        return self.make("std_msgs/UInt8MultiArray", self.make("std_msgs/MultiArrayLayout", [], 0), as_bytes(data))

    def joints(
        self,
        nanoseconds: int,
        names: Sequence[str],
        position: Array = EMPTY,
        velocity: Array = EMPTY,
        effort: Array = EMPTY,
        frame: str = "",
    ) -> Any:
        """A JointState; columns (n,) or empty."""
        return self.make(
            "sensor_msgs/JointState", self.header(nanoseconds, frame), list(names), position, velocity, effort
        )

    def vector(self, x: Any) -> Any:
        """A Vector3 of (3,)."""
        return self.make("geometry_msgs/Vector3", *map(float, x))

    def quaternion(self, x: Any) -> Any:
        """A Quaternion from x y z w."""
        return self.make("geometry_msgs/Quaternion", *map(float, x))

    def twist(self, linear: Any, angular: Any) -> Any:
        """A Twist."""
        return self.make("geometry_msgs/Twist", self.vector(linear), self.vector(angular))

    def odometry(self, nanoseconds: int, frame: str, child: str, pose: Array, twist: Array) -> Any:
        """An Odometry: pose (7,) = [x y z, qx qy qz qw], twist (6,) = [omega, v] in base axes."""
        point = self.make("geometry_msgs/Point", *map(float, pose[:3]))
        place = self.make("geometry_msgs/Pose", point, self.quaternion(pose[3:7]))
        moving = self.twist(twist[3:], twist[:3])
        return self.make(
            "nav_msgs/Odometry",
            self.header(nanoseconds, frame),
            child,
            self.make("geometry_msgs/PoseWithCovariance", place, UNKNOWN),
            self.make("geometry_msgs/TwistWithCovariance", moving, UNKNOWN),
        )

    def imu(self, nanoseconds: int, frame: str, attitude: Any, omega: Any, force: Any) -> Any:
        """An Imu: quaternion x y z w, angular velocity, specific force (3,)."""
        unknown = UNKNOWN[:9]
        return self.make(
            "sensor_msgs/Imu",
            self.header(nanoseconds, frame),
            self.quaternion(attitude),
            unknown,
            self.vector(omega),
            unknown,
            self.vector(force),
            unknown,
        )

    def contacts(self, nanoseconds: int, frame: str, c: Contacts) -> Any:
        """A MultiDOFJointState with place, velocity and force of every contact point, world axes."""
        turn, none = self.quaternion((0.0, 0.0, 0.0, 1.0)), self.vector((0.0, 0.0, 0.0))
        places = [self.make("geometry_msgs/Transform", self.vector(x), turn) for x in c.position]
        moving = [self.make("geometry_msgs/Twist", self.vector(v), none) for v in c.velocity]
        forces = [self.make("geometry_msgs/Wrench", self.vector(f), none) for f in c.force_world]
        head = self.header(nanoseconds, frame)
        return self.make("sensor_msgs/MultiDOFJointState", head, list(c.link), places, moving, forces)

    def wrench(self, nanoseconds: int, link: str, wrench: Array) -> Any:
        """A WrenchStamped on a link: [moment, force] (6,)."""
        made = self.make("geometry_msgs/Wrench", self.vector(wrench[3:]), self.vector(wrench[:3]))
        return self.make("geometry_msgs/WrenchStamped", self.header(nanoseconds, link), made)


def as_bytes(data: bytes) -> Any:
    """Return bytes as the array that a message holds."""
    return np.frombuffer(data, np.uint8)


def stamp_of(msg: Any) -> int:
    """Stamp of a message [ns]."""
    return int(msg.header.stamp.sec) * NANO + int(msg.header.stamp.nanosec)


def seconds_of(msg: Any) -> float:
    """Stamp of a message [s], to the last bit as nodes have it; 0 if it carries none."""
    return int(msg.header.stamp.sec) + 1e-9 * int(msg.header.stamp.nanosec)


def base_of(msg: Any) -> tuple[list[float], list[float]]:
    """Return pose (7,) and twist (6,) = [omega, v], base axes, of an Odometry."""
    p, o = msg.pose.pose.position, msg.pose.pose.orientation
    v, w = msg.twist.twist.linear, msg.twist.twist.angular
    return [p.x, p.y, p.z, o.x, o.y, o.z, o.w], [w.x, w.y, w.z, v.x, v.y, v.z]


def points_of(msg: Any) -> tuple[tuple[str, ...], Array, Array]:
    """Return links, positions and forces (k, 3), world axes, of contacts; nothing where they are not whole."""
    k = len(msg.joint_names)
    if len(msg.transforms) != k or len(msg.wrench) != k:
        return (), np.zeros((0, 3)), np.zeros((0, 3))
    places = [(t.translation.x, t.translation.y, t.translation.z) for t in msg.transforms]
    forces = [(w.force.x, w.force.y, w.force.z) for w in msg.wrench]
    return tuple(msg.joint_names), np.array(places).reshape(k, 3), np.array(forces).reshape(k, 3)
