"""The messages of the fast loop as the bytes that travel: making their Python objects would cost more than the physics.

In CDR [DDSI-RTPS 10.2] a message is four bytes that say how numbers are written, stamp, frame, names, floats; numbers
stand at multiples of their size, counted from the fifth byte. Between messages of one publisher stamp and floats change
and nothing else: writers serialize once, readers look at the names once.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Transform, Twist, Wrench, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from visualization_msgs.msg import MarkerArray

from ..errors import ShapeError
from .convert import Array

ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}
"""Byte order of the representations that are plain CDR."""
STAMPS = {representation: struct.Struct(order + "iI") for representation, order in ORDERS.items()}
NATIVE_STAMP = struct.Struct("iI")
TAG, TAG_STAMP = 2.0**0.5 * 1e200, Time(sec=0x5A17C0DE, nanosec=0x2B0551E5)
"""What no message holds by itself."""
STAMP, FRAME = 4, 12
"""Where the stamp begins, and what follows it."""


@dataclass(frozen=True, slots=True)
class Format:
    """What follows the stamp: `texts`; for `rows` a list of names and lists of rows so wide; `floats`."""

    texts: int = 1
    rows: tuple[int, ...] = ()
    floats: int = 0


FORMATS = {
    Clock: Format(texts=0),
    JointState: Format(rows=(1, 1, 1)),
    MultiDOFJointState: Format(rows=(7, 6, 6)),
    Odometry: Format(texts=2, floats=7 + 36 + 6 + 36),
    Imu: Format(floats=4 + 9 + 3 + 9 + 3 + 9),
    WrenchStamped: Format(floats=6),
}


class Layout:
    """Where everything stands in messages of a type that differ from `data` in stamp and floats only."""

    def __init__(self, kind: type, data: bytes | bytearray):
        """Find names and floats; raises ShapeError if `data` is something else."""
        form = FORMATS[kind]
        try:
            self.representation = bytes(data[:2])
            self.order = ORDERS[self.representation]
            names, at = self._texts(data, FRAME, form.texts)
            if form.rows:
                count, at = self._count(data, at)
                names, at = self._texts(data, at, count)
            self.names, self.same = tuple(names), bytes(data[FRAME:at])
            self.counts: list[tuple[int, int]] = []
            self.blocks: list[tuple[int, int, int]] = []
            for width in form.rows:
                count, end = self._count(data, at)
                self.counts.append((end - 4, count))
                at = self._block(end, count, width)
            self.size = self._block(at, form.floats, 1) if form.floats else at
        except (KeyError, struct.error, UnicodeDecodeError) as problem:
            raise ShapeError(f"expected a {kind.__name__} in plain CDR: {problem!r}") from None
        if self.size > len(data):
            raise ShapeError(f"expected a {kind.__name__} of {self.size} bytes, got {len(data)}")
        self.fixed = [(at, bytes(data[at : at + 4])) for at, _ in self.counts]
        self.stamp, self.float = STAMPS[self.representation], np.dtype(self.order + "f8")
        self.start = min((at for at, count, _ in self.blocks if count), default=self.size)
        self.parts = [(self._part(at, count * width), (count, width)) for at, count, width in self.blocks]
        self.wide = any(width > 1 for _, _, width in self.blocks)

    def _count(self, data: bytes | bytearray, at: int) -> tuple[int, int]:
        """Return a whole number and where it ends."""
        at += (STAMP - at) % 4
        return struct.unpack_from(self.order + "I", data, at)[0], at + 4

    def _texts(self, data: bytes | bytearray, at: int, count: int) -> tuple[list[str], int]:
        """Return `count` texts and where they end; the length of a text counts the 0 that ends it."""
        texts = []
        for _ in range(count):
            size, at = self._count(data, at)
            texts.append(bytes(data[at : at + size - 1]).decode())
            at += size
        return texts, at

    def _block(self, at: int, count: int, width: int) -> int:
        """Note rows of floats; returns where they end."""
        start = at + (STAMP - at) % 8 if count else 0
        self.blocks.append((start, count, width))
        return start + 8 * count * width if count else at

    def _part(self, at: int, floats: int) -> slice:
        """Return where floats stand among those from `start` on, with which they share multiples of their size."""
        first = (at - self.start) // 8 if floats else 0
        return slice(first, first + floats)

    def fits(self, data: bytes) -> bool:
        """Tell whether a message differs in stamp and floats only."""
        if len(data) < self.size or data[:2] != self.representation or not data.startswith(self.same, FRAME):
            return False
        for start, count in self.fixed:  # noqa: SIM110 - a generator would take twice as long, at every message
            if not data.startswith(count, start):
                return False
        return True

    def views(self, data: bytes | bytearray) -> list[Array]:
        """Return every block as a view: (count,) of single numbers, else (count, width)."""
        floats = np.frombuffer(data, self.float, (self.size - self.start) // 8, self.start)
        if self.wide:
            return [floats[part].reshape(shape) for part, shape in self.parts]
        return [floats[part] for part, _ in self.parts]


class Message(NamedTuple):
    """What a reader found: stamp [ns], names (joints, links, or frames), blocks of floats (rows,) or (rows, width)."""

    nanoseconds: int
    names: tuple[str, ...]
    blocks: Sequence[Array]

    @property
    def stamp(self) -> float:
        """Stamp [s]; 0 means the message carries none."""
        seconds, rest = divmod(self.nanoseconds, 1_000_000_000)
        return seconds + 1e-9 * rest


class Reader:
    """Reads the messages of a raw subscription of one type."""

    def __init__(self, kind: type):
        """Know nothing of them yet."""
        self.kind = kind
        self._layout: Layout | None = None

    def read(self, data: bytes) -> Message:
        """Return what a message says; messages with the same names return the same tuple of them.

        Raises
        ------
        ShapeError
            It is something else.
        """
        layout = self._layout
        if layout is None or not layout.fits(data):
            layout = self._layout = Layout(self.kind, data)
        seconds, nanoseconds = layout.stamp.unpack_from(data, STAMP)
        return Message(seconds * 1_000_000_000 + nanoseconds, layout.names, layout.views(data))


class Writer:
    """A message serialized once; `blocks` are views (rows, width) into its bytes."""

    def __init__(self, msg: Any):
        """Take everything that stays as it is from `msg`."""
        self._data = bytearray(serialize_message(msg))
        layout = Layout(type(msg), self._data)
        self._stamp = layout.stamp
        self.blocks = layout.views(self._data)

    def stamped(self, nanoseconds: int) -> bytes:
        """Return the message, for `Publisher.publish`, with its stamp set."""
        self._stamp.pack_into(self._data, STAMP, *divmod(nanoseconds, 1_000_000_000))
        return bytes(self._data)


class JointStateWriter(Writer):
    """A JointState; `position`, `velocity`, `effort` are views (n,) into it, empty if left out."""

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
        zeros = [0.0] * len(names)
        msg = JointState(name=list(names), position=zeros * position, velocity=zeros * velocity, effort=zeros * effort)
        msg.header.frame_id = frame
        super().__init__(msg)
        self.position, self.velocity, self.effort = self.blocks


class ArrayWriter:
    """A Float64MultiArray (n,) serialized once; `data` is a view into its bytes, whose last they are."""

    def __init__(self, label: str, n: int):
        """Name the dimension."""
        layout = MultiArrayLayout(dim=[MultiArrayDimension(label=label, size=n, stride=n)])
        self._data = bytearray(serialize_message(Float64MultiArray(layout=layout, data=[0.0] * n)))
        self.data: Array = np.frombuffer(self._data, np.float64, n, len(self._data) - 8 * n)

    def message(self) -> bytes:
        """Return the message, for `Publisher.publish`."""
        return bytes(self._data)


class ArrayReader:
    """Reads Float64MultiArrays of a raw subscription; their layout says nothing that is needed here."""

    def __init__(self) -> None:
        """Know no layout yet."""
        self._before, self._order = b"?", "<"

    def read(self, data: bytes) -> Array:
        """Return the numbers (n,); raises ShapeError if there are none to be found."""
        if not data.startswith(self._before):
            self._before = data[: self._begin(data)]
        at = len(self._before)
        try:
            (n,) = struct.unpack_from(self._order + "I", data, at)
            start = at + 4 + (STAMP - at - 4) % 8 if n else at + 4
            return np.frombuffer(data, self._order + "f8", n, start)
        except (struct.error, ValueError) as problem:
            raise ShapeError(f"expected a Float64MultiArray in plain CDR: {problem}") from None

    def _begin(self, data: bytes) -> int:
        """Return where the count of the numbers stands: behind the dimensions (label, size, stride) and the offset."""
        try:
            self._order = ORDERS[data[:2]]
            (dimensions,), at = struct.unpack_from(self._order + "I", data, 4), 8
            for _ in range(dimensions):
                (size,) = struct.unpack_from(self._order + "I", data, at)
                at += 4 + size
                at += (STAMP - at) % 4 + 8
            struct.unpack_from(self._order + "I", data, at)
        except (KeyError, struct.error) as problem:
            raise ShapeError(f"expected a Float64MultiArray in plain CDR: {problem!r}") from None
        return at + 4


class OdometryWriter(Writer):
    """An Odometry with its twist in the child frame."""

    def __init__(self, frame: str, child: str):
        """Name the frames."""
        msg = Odometry(child_frame_id=child)
        msg.header.frame_id = frame
        super().__init__(msg)

    def write(self, q: Array, qd: Array) -> None:
        """Put the base part of q (7+) and qd (6+) = [omega, v] into the message."""
        floats = self.blocks[0]
        floats[:7], floats[43:46], floats[46:49] = q[:7], qd[3:6], qd[:3]


class ImuWriter(Writer):
    """An Imu (REP-145); its covariances stay 0: unknown."""

    def __init__(self, frame: str):
        """Name the frame."""
        msg = Imu()
        msg.header.frame_id = frame
        super().__init__(msg)

    def write(self, quaternion: Array, omega: Array, specific_force: Array) -> None:
        """Put attitude (4,), angular velocity and specific force (3,), IMU axes, into the message."""
        floats = self.blocks[0]
        floats[:4], floats[13:16], floats[25:28] = quaternion, omega, specific_force


class ForceWriter(Writer):
    """A WrenchStamped without moment; `force` is a view (3,) into it."""

    def __init__(self, frame: str):
        """Name the frame."""
        msg = WrenchStamped()
        msg.header.frame_id = frame
        super().__init__(msg)
        self.force = self.blocks[0][:3]


class ContactWriter(Writer):
    """A MultiDOFJointState; `position`, `velocity`, `force` are views (k, 3), world axes, into it."""

    def __init__(self, links: Iterable[str], frame: str):
        """Name the link of every point."""
        msg = MultiDOFJointState(joint_names=list(links))
        msg.header.frame_id = frame
        for field, kind in (("transforms", Transform), ("twist", Twist), ("wrench", Wrench)):
            setattr(msg, field, [kind() for _ in msg.joint_names])
        super().__init__(msg)
        self.position, self.velocity, self.force = (block[:, :3] for block in self.blocks)


class MarkerWriter:
    """A MarkerArray serialized once; `points` are views (n, 3), one per marker, into its bytes."""

    def __init__(self, msg: MarkerArray):
        """Take everything from `msg` but stamps and points, whose places are found by what is put there."""
        for marker in msg.markers:
            marker.header.stamp = TAG_STAMP
            for point in marker.points:
                point.x = TAG
        self._data = bytearray(serialize_message(msg))
        self._stamps: list[int] = []
        self.points: list[Array] = []
        at = 0
        for count in (len(marker.points) for marker in msg.markers):
            at = self._data.index(NATIVE_STAMP.pack(TAG_STAMP.sec, TAG_STAMP.nanosec), at)
            self._stamps.append(at)
            at = self._data.index(struct.pack("d", TAG), at) if count else at + NATIVE_STAMP.size
            self.points.append(np.frombuffer(self._data, np.float64, 3 * count, at).reshape(count, 3))
            at += 24 * count

    def stamped(self, nanoseconds: int) -> bytes:
        """Return the message, for `Publisher.publish`, with every stamp set."""
        for at in self._stamps:
            NATIVE_STAMP.pack_into(self._data, at, *divmod(nanoseconds, 1_000_000_000))
        return bytes(self._data)


def nanoseconds_from_clock(data: bytes) -> int:
    """Return the time [ns] of a Clock; raises ShapeError if it is something else."""
    try:
        seconds, nanoseconds = STAMPS[data[:2]].unpack_from(data, STAMP)
    except (KeyError, struct.error) as problem:
        raise ShapeError(f"expected a Clock in plain CDR: {problem!r}") from None
    return int(seconds * 1_000_000_000 + nanoseconds)


def base_from_odometry(msg: Message) -> tuple[list[float], list[float]]:
    """Return the base part of q (7,) = [x y z, qx qy qz qw] and qd (6,) = [omega, v], base axes (the child frame)."""
    floats = msg.blocks[0][:49].tolist()
    return floats[:7], floats[46:49] + floats[43:46]


def columns_from_joint_state(msg: Message) -> tuple[Array, Array, Array]:
    """Return position, velocity, effort as the message has them; each may be empty."""
    position, velocity, effort = msg.blocks
    return position, velocity, effort


def points_from_contacts(msg: Message) -> tuple[Array, Array, Array]:
    """Return position, velocity, force (k, 3), world axes, of the contact points; 0 where they are left out.

    Raises
    ------
    ShapeError
        Neither one transform, twist, wrench for every name nor none.
    """
    k = len(msg.names)
    if any(len(block) not in (0, k) for block in msg.blocks):
        counts = ", ".join(str(len(block)) for block in msg.blocks)
        raise ShapeError(f"contacts of {k} names need as many transforms, twists and wrenches, got {counts}")
    position, velocity, force = (block[:, :3] if len(block) else np.zeros((k, 3)) for block in msg.blocks)
    return position, velocity, force
