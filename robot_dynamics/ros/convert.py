"""Pure functions between messages and arrays, and messages built once whose arrays are rewritten in place.

Joints are matched by name, never by index. Stamps are nanoseconds (int) on our side. Quaternions x y z w.
"""

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Pose, TransformStamped, Wrench, WrenchStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory

from ..errors import ShapeError

Array = NDArray[np.float64]


def nanoseconds_from_stamp(stamp: Time) -> int:
    """Time of a stamp [ns]."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


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


class JointStateWriter:
    """One JointState, built once; `position`, `velocity`, `effort` are views (n,) into it (empty if left out)."""

    def __init__(
        self,
        names: Sequence[str],
        frame: str = "",
        *,
        position: bool = True,
        velocity: bool = True,
        effort: bool = True,
    ):
        """Name the joints and say which quantities the message carries."""
        self.msg = JointState(name=list(names))
        self.msg.header.frame_id = frame
        n = len(names)
        self.position = held_view(self.msg, "position", n * position)
        self.velocity = held_view(self.msg, "velocity", n * velocity)
        self.effort = held_view(self.msg, "effort", n * effort)

    def stamped(self, nanoseconds: int) -> JointState:
        """Return the message with its stamp set."""
        write_stamp(self.msg.header.stamp, nanoseconds)
        return self.msg


class MultiArrayWriter:
    """One Float64MultiArray, built once; `data` is a view of the given shape into it."""

    def __init__(self, labels: Sequence[str], shape: Sequence[int]):
        """Name each dimension; sizes and strides follow from the shape."""
        self.msg = Float64MultiArray()
        self.data = held_view(self.msg, "data", int(np.prod(shape))).reshape(tuple(shape))
        for i, label in enumerate(labels):
            stride = int(np.prod(shape[i:]))
            self.msg.layout.dim.append(MultiArrayDimension(label=label, size=int(shape[i]), stride=stride))


def arrays_from_joint_state(msg: JointState) -> tuple[Array, Array, Array]:
    """Position, velocity, effort as the message has them; each may be empty."""
    return array_from_sequence(msg.position), array_from_sequence(msg.velocity), array_from_sequence(msg.effort)


def base_from_odometry(msg: Odometry) -> tuple[Array, Array]:
    """Return the base part of q (7,) = [x y z, qx qy qz qw] and qd (6,) = [omega, v], base axes (the child frame)."""
    p, o = msg.pose.pose.position, msg.pose.pose.orientation
    v, w = msg.twist.twist.linear, msg.twist.twist.angular
    return np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w]), np.array([w.x, w.y, w.z, v.x, v.y, v.z])


def write_odometry(msg: Odometry, nanoseconds: int, q: Array, qd: Array) -> Odometry:
    """Put the base part of q (7+) and qd (6+) into an existing message; twist in the child frame."""
    write_stamp(msg.header.stamp, nanoseconds)
    p, o = msg.pose.pose.position, msg.pose.pose.orientation
    p.x, p.y, p.z, o.x, o.y, o.z, o.w = q[:7].tolist()
    v, w = msg.twist.twist.linear, msg.twist.twist.angular
    w.x, w.y, w.z, v.x, v.y, v.z = qd[:6].tolist()
    return msg


def transform_from_odometry(msg: Odometry, nanoseconds: int, q: Array) -> TransformStamped:
    """Make the transform of the base pose q (7+) with the frames of an odometry message."""
    made = TransformStamped(child_frame_id=msg.child_frame_id)
    made.header.frame_id = msg.header.frame_id
    write_stamp(made.header.stamp, nanoseconds)
    t, r = made.transform.translation, made.transform.rotation
    t.x, t.y, t.z, r.x, r.y, r.z, r.w = q[:7].tolist()
    return made


def write_imu(msg: Imu, nanoseconds: int, quaternion: Array, omega: Array, specific_force: Array) -> Imu:
    """Put attitude (4,), angular velocity and specific force (3,), IMU axes, into an existing message (REP-145)."""
    write_stamp(msg.header.stamp, nanoseconds)
    o, w, a = msg.orientation, msg.angular_velocity, msg.linear_acceleration
    o.x, o.y, o.z, o.w = quaternion.tolist()
    w.x, w.y, w.z = omega.tolist()
    a.x, a.y, a.z = specific_force.tolist()
    return msg


def write_force(msg: WrenchStamped, nanoseconds: int, force: Array) -> WrenchStamped:
    """Put a force (3,) into an existing message; the moment stays."""
    write_stamp(msg.header.stamp, nanoseconds)
    f = msg.wrench.force
    f.x, f.y, f.z = force.tolist()
    return msg


def wrench_from_msg(msg: Wrench) -> Array:
    """Wrench (6,) = [moment; force]."""
    t, f = msg.torque, msg.force
    return np.array([t.x, t.y, t.z, f.x, f.y, f.z])


def trajectory_from_msg(msg: JointTrajectory) -> tuple[Array, Array, Array | None, Array | None]:
    """Return times (m,) [s] from the start and positions, velocities, accelerations (m, n) or None.

    Raises
    ------
    ValueError
        Points of unequal length.
    """
    times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in msg.points])
    columns = [
        [p.positions for p in msg.points],
        [p.velocities for p in msg.points],
        [p.accelerations for p in msg.points],
    ]
    q, qd, qdd = (np.array(c, dtype=float) if c and len(c[0]) else None for c in columns)
    return times, np.zeros((0, len(msg.joint_names))) if q is None else q, qd, qdd


def msg_from_status(name: str, hardware: str, level: int, message: str, values: dict[str, object]) -> DiagnosticStatus:
    """One diagnostic status (REP-107); level 0 OK, 1 WARN, 2 ERROR, 3 STALE."""
    pairs = [KeyValue(key=key, value=_text(value)) for key, value in values.items()]
    return DiagnosticStatus(name=name, hardware_id=hardware, level=bytes([level]), message=message, values=pairs)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


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
