# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The messages of the fast loop as the bytes that travel: making their Python objects would cost more than the physics.

In CDR [DDSI-RTPS 10.2] a message is four bytes that say how numbers are written, stamp, frame, names, floats; numbers
stand at multiples of their size, counted from the fifth byte. Between messages of one publisher stamp and floats change
and nothing else: writers serialize once, readers look at the names once.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
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

from ..control.guard import Column
from ..errors import ShapeError
from .convert import Array

ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}
"""Byte order of the representations that are plain CDR."""
STAMPS = {representation: struct.Struct(order + "iI") for representation, order in ORDERS.items()}
NATIVE_STAMP = struct.Struct("iI")
MOTION = struct.Struct("4d72x3d72x3d")
"""The numbers of an Imu but for the covariances, which stay 0: unknown."""
TAG, TAG_STAMP = 2.0**0.5 * 1e200, Time(sec=0x5A17C0DE, nanosec=0x2B0551E5)
"""What no message holds by itself."""
Bytes = bytes | memoryview
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

    def __init__(self, kind: type, data: Bytes):
        """Find names and floats; raises ShapeError if `data` is something else."""
        form = FORMATS[kind]
        try:
            self.representation = bytes(data[:2])
            self.order = ORDERS[self.representation]
            names, at = self._texts(data, FRAME, form.texts)
            if form.rows:
                count, at = self._count(data, at)
                names, at = self._texts(data, at, count)
            self.names, end = tuple(names), at
            self.counts: list[tuple[int, int]] = []
            self.blocks: list[tuple[int, int, int]] = []
            for width in form.rows:
                count, at = self._count(data, at)
                self.counts.append((at - 4, count))
                at = self._block(at, count, width)
            self.size = self._block(at, form.floats, 1) if form.floats else at
        except (KeyError, struct.error, UnicodeDecodeError) as problem:
            raise ShapeError(f"expected a {kind.__name__} in plain CDR: {problem!r}") from None
        if self.size > len(data):
            raise ShapeError(f"expected a {kind.__name__} of {self.size} bytes, got {len(data)}")
        self.fixed = itemgetter(slice(2), slice(FRAME, end), *(slice(at, at + 4) for at, _ in self.counts))
        self.same = self.fixed(bytes(data))
        self.stamp, self.float = STAMPS[self.representation], np.dtype(self.order + "f8")
        self.start = min((at for at, count, _ in self.blocks if count), default=self.size)
        self.parts = [self._part(at, count * width) for at, count, width in self.blocks]
        self.wide = any(width > 1 for _, _, width in self.blocks)
        self.plain = self.float.isnative and not self.wide
        self.length = (self.size - self.start) // 8
        self.floats = slice(self.start, self.start + 8 * self.length)

    def _count(self, data: Bytes, at: int) -> tuple[int, int]:
        """Return a whole number and where it ends."""
        at += (STAMP - at) % 4
        return struct.unpack_from(self.order + "I", data, at)[0], at + 4

    def _texts(self, data: Bytes, at: int, count: int) -> tuple[list[str], int]:
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

    def views(self, data: Bytes) -> list[Array]:
        """Return every block as a view: (count,) of single numbers, else (count, width)."""
        floats = np.frombuffer(data, self.float, self.length, self.start)
        if self.wide:
            shapes = [(count, width) for _, count, width in self.blocks]
            return [floats[part].reshape(shape) for part, shape in zip(self.parts, shapes, strict=True)]
        return [floats[part] for part in self.parts]


class Message(NamedTuple):
    """What a reader found: its stamp twice, names (joints, links, or frames) and blocks of floats.

    stamp [s], 0 if it carries none; blocks (rows,) as memoryviews or arrays, (rows, width) as arrays.
    """

    nanoseconds: int
    stamp: float
    names: tuple[str, ...]
    blocks: Sequence[Column]


NEW = tuple.__new__


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
        layout = self.layout(data)
        seconds, rest = layout.stamp.unpack_from(data, STAMP)
        blocks: Sequence[Column]
        if layout.plain:  # arrays would cost five times as much as the rest of this
            column = memoryview(data)[layout.floats].cast("d").__getitem__
            blocks = tuple(map(column, layout.parts))
        else:
            blocks = [view.astype(np.float64, copy=False) for view in layout.views(data)]
        # Message(...) does the same by way of Python, at a tenth of the price of all else that is read
        return NEW(Message, (seconds * 1_000_000_000 + rest, seconds + 1e-9 * rest, layout.names, blocks))

    def layout(self, data: bytes) -> Layout:
        """Return where everything stands, the same object for messages that are laid out alike; raises as `read`."""
        layout = self._layout
        if layout is None or len(data) < layout.size or layout.fixed(data) != layout.same:
            layout = self._layout = Layout(self.kind, data)
        return layout


class Intake(Reader):
    """Copies the numbers of messages as they stand, with what fills up between them, to where they are wanted.

    `nanoseconds` and `stamp` [s] are those of the last message.
    """

    def __init__(self, kind: type, prepare: Callable[[Layout], Array | None]):
        """Ask `prepare` for the array (floats,) that takes the numbers of messages laid out so; None refuses them."""
        super().__init__(kind)
        self._prepare = prepare
        self._prepared: Layout | None = None
        self.nanoseconds, self.stamp = 0, 0.0

    def take(self, data: bytes) -> bool:
        """Copy the numbers of a message and tell whether they were wanted; raises as `read`."""
        layout = self.layout(data)
        seconds, rest = layout.stamp.unpack_from(data, STAMP)
        self.nanoseconds, self.stamp = seconds * 1_000_000_000 + rest, seconds + 1e-9 * rest
        if layout is not self._prepared:
            if (numbers := self._prepare(layout)) is None:
                return False
            self._prepared, self._numbers, self._bytes = layout, numbers, numbers.view(np.uint8).data
        if layout.float.isnative:
            self._bytes[:] = data[layout.floats]
        else:
            self._numbers[:] = np.frombuffer(data, layout.float, layout.length, layout.start)
        return True


class Writer:
    """A message serialized once; `blocks` are views (rows,) or (rows, width) into its bytes, aligned for kernels."""

    def __init__(self, msg: Any):
        """Take everything that stays as it is from `msg`."""
        data = serialize_message(msg)
        data = data[: Layout(type(msg), data).size]  # where lists are empty, bytes of anything stand behind the message
        self._data = np.empty(STAMP + len(data), dtype=np.uint8).data[STAMP:]
        self._data[:] = data
        self.layout = Layout(type(msg), self._data)
        self._stamp = self.layout.stamp
        self.blocks = self.layout.views(self._data)

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
    """A Float64MultiArray (n,) serialized once but for its numbers, the last of its bytes."""

    def __init__(self, label: str, n: int):
        """Name the dimension."""
        layout = MultiArrayLayout(dim=[MultiArrayDimension(label=label, size=n, stride=n)])
        whole = serialize_message(Float64MultiArray(layout=layout, data=[0.0] * n))
        self._before = whole[: len(whole) - 8 * n]

    def message(self, data: Array) -> bytes:
        """Return the message, for `Publisher.publish`, with numbers (n,)."""
        return self._before + data.tobytes()


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
    """An Odometry with its twist in the child frame; `numbers` is a view (85,) of all it holds."""

    def __init__(self, frame: str, child: str):
        """Name the frames."""
        msg = Odometry(child_frame_id=child)
        msg.header.frame_id = frame
        super().__init__(msg)
        (self.numbers,) = self.blocks


class ImuWriter(Writer):
    """An Imu [REP-145]; `numbers` is a view (37,) of all it holds."""

    def __init__(self, frame: str):
        """Name the frame."""
        msg = Imu()
        msg.header.frame_id = frame
        super().__init__(msg)
        (self.numbers,) = self.blocks

    def write(self, quaternion: Iterable[float], omega: Iterable[float], specific_force: Iterable[float]) -> None:
        """Put attitude (4,), angular velocity and specific force (3,), IMU axes, into the message."""
        MOTION.pack_into(self._data, self.layout.start, *quaternion, *omega, *specific_force)


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
        seconds, rest = STAMPS[data[:2]].unpack_from(data, STAMP)
    except (KeyError, struct.error) as problem:
        raise ShapeError(f"expected a Clock in plain CDR: {problem!r}") from None
    return seconds * 1_000_000_000 + rest


def base_from_odometry(msg: Message) -> tuple[list[float], list[float]]:
    """Return the base part of q (7,) = [x y z, qx qy qz qw] and qd (6,) = [omega, v], base axes (the child frame)."""
    floats = msg.blocks[0]
    return floats[:7].tolist(), floats[46:49].tolist() + floats[43:46].tolist()


def columns_from_joint_state(msg: Message) -> tuple[Column, Column, Column]:
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
