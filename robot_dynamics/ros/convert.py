# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pure functions between messages and arrays, and messages built once whose arrays are rewritten in place.

Joints are matched by name, never by index. Stamps are nanoseconds (int) on our side. Quaternions x y z w.
"""

import sys
from array import array
from collections.abc import Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Inertia, Pose, TransformStamped, Vector3, Wrench
from numpy.typing import NDArray
from sensor_msgs.msg import Image, MultiDOFJointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory

from ..errors import ShapeError

Array = NDArray[np.float64]


def seconds_from_stamp(stamp: Time) -> float:
    """Time of a stamp [s]; 0 means the message carries none."""
    return stamp.sec + 1e-9 * stamp.nanosec


def write_stamp(stamp: Time, nanoseconds: int) -> None:
    """Put a time [ns] into an existing stamp."""
    stamp.sec, stamp.nanosec = divmod(nanoseconds, 1_000_000_000)


def array_from_sequence(values: Sequence[float]) -> Array:
    """Return a message's float64 sequence as an array: a view where the message holds array.array."""
    return np.frombuffer(values) if isinstance(values, array) and values else np.array(values, dtype=np.float64)


def held_view(msg: object, field: str, n: int) -> Array:
    """Give a message's float64 field n zeros and return the array that writes into it."""
    setattr(msg, field, array("d", bytes(8 * n)))
    return np.frombuffer(getattr(msg, field)) if n else np.zeros(0)


class MultiArrayWriter:
    """One Float64MultiArray, built once; `data` is a view of the given shape into it."""

    def __init__(self, labels: Sequence[str], shape: Sequence[int]):
        """Name each dimension; sizes and strides follow from the shape."""
        self.msg = Float64MultiArray()
        self.data = held_view(self.msg, "data", int(np.prod(shape))).reshape(tuple(shape))
        for i, label in enumerate(labels):
            stride = int(np.prod(shape[i:]))
            self.msg.layout.dim.append(MultiArrayDimension(label=label, size=int(shape[i]), stride=stride))


def msg_from_joint_wrenches(bodies: Mapping[str, int], wrenches: Array, nanoseconds: int) -> MultiDOFJointState:
    """Wrenches (nb, 6) = [moment; force] on the body behind each joint, by the joint's name."""
    msg = MultiDOFJointState(joint_names=list(bodies))
    write_stamp(msg.header.stamp, nanoseconds)
    for n, f in wrenches[list(bodies.values())].reshape(-1, 2, 3).tolist():
        msg.wrench.append(Wrench(torque=Vector3(x=n[0], y=n[1], z=n[2]), force=Vector3(x=f[0], y=f[1], z=f[2])))
    return msg


def image_from_matrix(frame: str, nanoseconds: int, matrix: Array) -> Image:
    """A matrix with a stamp, as the stamped message of ROS for a dense grid of float64: encoding 64FC1, row-major."""
    rows, columns = matrix.shape
    msg = Image(height=rows, width=columns, encoding="64FC1", step=8 * columns, is_bigendian=sys.byteorder == "big")
    msg.data = array("B", matrix.astype(np.float64, order="C").tobytes())
    msg.header.frame_id = frame
    write_stamp(msg.header.stamp, nanoseconds)
    return msg


def transform_from_base(frame: str, child: str, nanoseconds: int, q: Array) -> TransformStamped:
    """Make the transform of the base pose q (7+)."""
    made = TransformStamped(child_frame_id=child)
    made.header.frame_id = frame
    write_stamp(made.header.stamp, nanoseconds)
    t, r = made.transform.translation, made.transform.rotation
    t.x, t.y, t.z, r.x, r.y, r.z, r.w = q[:7].tolist()
    return made


def wrench_from_msg(msg: Wrench) -> Array:
    """Wrench (6,) = [moment; force]."""
    t, f = msg.torque, msg.force
    return np.array([t.x, t.y, t.z, f.x, f.y, f.z])


def trajectory_from_msg(
    msg: JointTrajectory,
) -> tuple[Array, tuple[Array, Array | None, Array | None, Array | None]]:
    """Return times (m,) [s] from the start, and positions, velocities, accelerations, efforts (m, n) or None.

    Raises
    ------
    ShapeError
        Points of unequal length.
    """
    times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in msg.points])
    columns = [
        [p.positions for p in msg.points],
        [p.velocities for p in msg.points],
        [p.accelerations for p in msg.points],
        [p.effort for p in msg.points],
    ]
    if any(len({len(values) for values in column}) > 1 for column in columns):
        raise ShapeError("the points of a trajectory must have the same number of values each")
    q, qd, qdd, effort = (np.array(c, dtype=float) if c and len(c[0]) else None for c in columns)
    return times, (np.zeros((0, len(msg.joint_names))) if q is None else q, qd, qdd, effort)


def msg_from_status(name: str, hardware: str, level: int, message: str, values: dict[str, object]) -> DiagnosticStatus:
    """One diagnostic status [REP-107]; level 0 OK, 1 WARN, 2 ERROR, 3 STALE."""
    pairs = [KeyValue(key=key, value=_text(value)) for key, value in values.items()]
    return DiagnosticStatus(name=name, hardware_id=hardware, level=bytes([level]), message=message, values=pairs)


def msg_from_energies(robot: str, nanoseconds: int, values: dict[str, float]) -> DiagnosticArray:
    """Energies by name and unit with the stamp of their state: the stamped message of ROS for named numbers."""
    pairs = [KeyValue(key=key, value=repr(float(value))) for key, value in values.items()]
    msg = DiagnosticArray(status=[DiagnosticStatus(name="energy", hardware_id=robot, level=b"\0", values=pairs)])
    write_stamp(msg.header.stamp, nanoseconds)
    return msg


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def payload_from_msg(msg: Inertia) -> tuple[float, Array, Array]:
    """Mass, centre of mass (3,) and inertia (3, 3) about it."""
    c = msg.com
    inertia = [[msg.ixx, msg.ixy, msg.ixz], [msg.ixy, msg.iyy, msg.iyz], [msg.ixz, msg.iyz, msg.izz]]
    return msg.m, np.array([c.x, c.y, c.z]), np.array(inertia)


def pose_from_msg(msg: Pose) -> Array:
    """Pose (7,) = [x y z, qx qy qz qw], the quaternion made unit; level where the message gives none.

    Raises
    ------
    ShapeError
        Values that are not finite.
    """
    p, o = msg.position, msg.orientation
    pose = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
    if not np.isfinite(pose).all():
        raise ShapeError("a pose must be finite")
    size = np.linalg.norm(pose[3:])
    pose[3:] = pose[3:] / size if size > 1e-9 else (0.0, 0.0, 0.0, 1.0)
    return pose
