"""Contact sets as the bytes that travel: eight Python objects per point would cost more than physics.

A serialized MultiDOFJointState in CDR [DDSI-RTPS 10.2]: four bytes that say how numbers are written, stamp, frame,
names, then `transforms` (7 floats each), `twist` (6) and `wrench` (6), each after its count; numbers stand at multiples
of their size, counted from the fifth byte. Between messages of one publisher only floats change.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import Transform, Twist, Wrench
from rclpy.serialization import serialize_message
from sensor_msgs.msg import MultiDOFJointState

from ..errors import ShapeError
from .convert import Array

WIDTHS = (7, 6, 6)
"""Floats of a Transform, a Twist and a Wrench; the first three of each are those of a point."""
ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}
"""Byte order of the representations that are plain CDR."""
STAMP, FRAME = 4, 12
"""Where the stamp begins, and the name of the frame."""


@dataclass(frozen=True, slots=True)
class Contacts:
    """A message: stamp [s]; per point the link, and position, velocity, force (k, 3), 0 where they are left out."""

    stamp: float
    links: tuple[str, ...]
    position: Array
    velocity: Array
    force: Array


class Layout:
    """Where everything stands in messages that differ from `data` in numbers only."""

    def __init__(self, data: bytes | bytearray):
        """Find names and floats; raises ShapeError if `data` is no contact set."""
        try:
            self.order = ORDERS[bytes(data[:2])]
            _, at = self._text(data, FRAME)
            count, at = self._count(data, at)
            links = []
            for _ in range(count):
                link, at = self._text(data, at)
                links.append(link)
            self.links, self.same = tuple(links), bytes(data[FRAME:at])
            self.blocks = []
            for width in WIDTHS:
                place = _aligned(at, 4)
                n, at = self._count(data, at)
                start = _aligned(at, 8) if n else at
                self.blocks.append((place, n, start, width))
                at = start + 8 * width * n
        except (KeyError, struct.error, UnicodeDecodeError) as problem:
            raise ShapeError(f"a contact set must be a MultiDOFJointState in plain CDR: {problem!r}") from None
        counts = [n for _, n, _, _ in self.blocks]
        if set(counts) - {0, count} or at > len(data):
            raise ShapeError(f"a contact set of {count} names needs as many transforms, twists, wrenches, got {counts}")
        self.size = at

    def _count(self, data: bytes | bytearray, at: int) -> tuple[int, int]:
        """Return a number and where it ends."""
        at = _aligned(at, 4)
        return struct.unpack_from(self.order + "I", data, at)[0], at + 4

    def _text(self, data: bytes | bytearray, at: int) -> tuple[str, int]:
        """Return a text and where it ends; its length counts the 0 that ends it."""
        size, at = self._count(data, at)
        return bytes(data[at : at + size - 1]).decode(), at + size

    def fits(self, data: bytes) -> bool:
        """Tell whether a message differs in numbers only."""
        return (
            len(data) >= self.size
            and ORDERS.get(data[:2]) == self.order
            and data.startswith(self.same, FRAME)
            and all(struct.unpack_from(self.order + "I", data, at)[0] == n for at, n, _, _ in self.blocks)
        )

    def floats(self, data: bytes | bytearray) -> list[Array]:
        """Return views (k, 3) of positions, velocities, forces; (0, 3) where they are left out."""
        kind = np.dtype(self.order + "f8")
        return [
            np.frombuffer(data, kind, width * n, start if n else 0).reshape(n, width)[:, :3]
            for _, n, start, width in self.blocks
        ]


def _aligned(at: int, size: int) -> int:
    """Next place for a number of `size` bytes."""
    return at + (STAMP - at) % size


class ContactWriter:
    """One message, built once; `position`, `velocity`, `force` are views (k, 3), world axes, into its bytes."""

    def __init__(self, links: Iterable[str], frame: str):
        """Name the links of the points."""
        msg = MultiDOFJointState(joint_names=list(links))
        msg.header.frame_id = frame
        for field, kind in (("transforms", Transform), ("twist", Twist), ("wrench", Wrench)):
            setattr(msg, field, [kind() for _ in msg.joint_names])
        self._data = bytearray(serialize_message(msg))
        layout = Layout(self._data)
        self._stamp = struct.Struct(layout.order + "iI")
        self.position, self.velocity, self.force = layout.floats(self._data)

    def stamped(self, nanoseconds: int) -> bytes:
        """Return the message for `Publisher.publish` with its stamp set."""
        self._stamp.pack_into(self._data, STAMP, *divmod(nanoseconds, 1_000_000_000))
        return bytes(self._data)


class ContactReader:
    """Reads the messages of raw subscriptions."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._layout: Layout | None = None

    def read(self, data: bytes) -> Contacts:
        """Return what a message says; messages of the same points return the same `links`.

        Raises
        ------
        ShapeError
            It is no contact set, or has not one transform, twist, wrench (or none at all) for every name.
        """
        if self._layout is None or not self._layout.fits(data):
            self._layout = Layout(data)
        layout = self._layout
        seconds, nanoseconds = struct.unpack_from(layout.order + "iI", data, STAMP)
        k = len(layout.links)
        arrays = [x if len(x) else np.zeros((k, 3)) for x in layout.floats(data)]
        return Contacts(seconds + 1e-9 * nanoseconds, layout.links, *arrays)
