# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Unitree's low-level messages as bytes: the C structures that the checksum covers, and their way through DDS.

The fields are those of LowCmd and LowState in the packages unitree_go (quadrupeds) and unitree_hg (humanoids) of
unitree_ros2. All of them have fixed sizes, so the place of every byte is known once and for all: a message is copied
by one indexing, and no Python object is made for any of its motors.
"""

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ShapeError

Bytes = NDArray[np.uint8]
Fields = list[tuple[Any, ...]]

LITTLE_ENDIAN = b"\x00\x01\x00\x00"
"""First bytes of plain CDR with numbers as the robot's and nearly every other processor writes them."""

GO_MOTOR_COMMAND: Fields = [
    ("mode", "u1"),
    *((name, "f4") for name in ("q", "dq", "tau", "kp", "kd")),
    ("reserve", "u4", 3),
]
GO_MOTOR_STATE: Fields = [
    ("mode", "u1"),
    *((name, "f4") for name in ("q", "dq", "ddq", "tau_est", "q_raw", "dq_raw", "ddq_raw")),
    ("temperature", "i1"),
    ("lost", "u4"),
    ("reserve", "u4", 2),
]
GO_HEAD: Fields = [
    ("head", "u1", 2),
    ("level_flag", "u1"),
    ("frame_reserve", "u1"),
    ("sn", "u4", 2),
    ("version", "u4", 2),
    ("bandwidth", "u2"),
]
GO_BATTERY: Fields = [
    *((name, "u1") for name in ("version_high", "version_low", "status", "soc")),
    ("current", "i4"),
    ("cycle", "u2"),
    ("bq_ntc", "i1", 2),
    ("mcu_ntc", "i1", 2),
    ("cell_vol", "u2", 15),
]
HG_MOTOR_COMMAND: Fields = [*GO_MOTOR_COMMAND[:-1], ("reserve", "u4")]
HG_MOTOR_STATE: Fields = [
    ("mode", "u1"),
    *((name, "f4") for name in ("q", "dq", "ddq", "tau_est")),
    ("temperature", "i2", 2),
    ("vol", "f4"),
    ("sensor", "u4", 2),
    ("motorstate", "u4"),
    ("reserve", "u4", 4),
]


def _imu(temperature: str) -> Fields:
    vectors = ("gyroscope", "accelerometer", "rpy")
    return [("quaternion", "f4", 4), *((name, "f4", 3) for name in vectors), ("temperature", temperature)]


MESSAGES: dict[str, Fields] = {
    "unitree_go/LowCmd": [
        *GO_HEAD,
        ("motor_cmd", GO_MOTOR_COMMAND, 20),
        ("bms_cmd", [("off", "u1"), ("reserve", "u1", 3)]),
        ("wireless_remote", "u1", 40),
        ("led", "u1", 12),
        ("fan", "u1", 2),
        ("gpio", "u1"),
        ("reserve", "u4"),
        ("crc", "u4"),
    ],
    "unitree_go/LowState": [
        *GO_HEAD,
        ("imu_state", _imu("i1")),
        ("motor_state", GO_MOTOR_STATE, 20),
        ("bms_state", GO_BATTERY),
        ("foot_force", "i2", 4),
        ("foot_force_est", "i2", 4),
        ("tick", "u4"),
        ("wireless_remote", "u1", 40),
        ("bit_flag", "u1"),
        ("adc_reel", "f4"),
        ("temperature_ntc1", "i1"),
        ("temperature_ntc2", "i1"),
        ("power_v", "f4"),
        ("power_a", "f4"),
        ("fan_frequency", "u2", 4),
        ("reserve", "u4"),
        ("crc", "u4"),
    ],
    "unitree_hg/LowCmd": [
        ("mode_pr", "u1"),
        ("mode_machine", "u1"),
        ("motor_cmd", HG_MOTOR_COMMAND, 35),
        ("reserve", "u4", 4),
        ("crc", "u4"),
    ],
    "unitree_hg/LowState": [
        ("version", "u4", 2),
        ("mode_pr", "u1"),
        ("mode_machine", "u1"),
        ("tick", "u4"),
        ("imu_state", _imu("i2")),
        ("motor_state", HG_MOTOR_STATE, 35),
        ("wireless_remote", "u1", 40),
        ("reserve", "u4", 4),
        ("crc", "u4"),
    ],
}
"""Message -> its fields: name, type (a number, or fields of its own), and how many."""


@dataclass(frozen=True)
class Layout:
    """Where the bytes of a message stand in the C structure (`struct`) and, `places`, in CDR behind its first four.

    `places` (struct.itemsize,) is -1 for bytes that only fill up the structure; `size` is that of the CDR [bytes].
    """

    name: str
    struct: np.dtype
    places: NDArray[np.intp]
    size: int

    @cached_property
    def filled(self) -> NDArray[np.intp]:
        """Bytes of the structure that are not padding."""
        return np.flatnonzero(self.places >= 0)


def layout(name: str) -> Layout:
    """Return the layout of a key of MESSAGES.

    In CDR a structure begins where its first number does [DDSI-RTPS 10.2].
    """
    struct = np.dtype(MESSAGES[name], align=True)
    places = np.full(struct.itemsize, -1, dtype=np.intp)
    return Layout(name, struct, places, _place(struct, 0, 0, places))


def _place(kind: np.dtype, start: int, at: int, places: NDArray[np.intp]) -> int:
    """Note where the bytes of what begins at `start` of the structure stand in CDR from `at` on; returns the end."""
    if kind.subdtype is not None:
        item, shape = kind.subdtype
        for i in range(int(np.prod(shape))):
            at = _place(item, start + i * item.itemsize, at, places)
        return at
    if kind.fields is not None:
        for name in kind.names or ():
            item, offset = kind.fields[name][:2]
            at = _place(item, start + offset, at, places)
        return at
    at += -at % kind.itemsize
    places[start : start + kind.itemsize] = range(at, at + kind.itemsize)
    return at + kind.itemsize


class Frame:
    """One message that is read or written again and again: `fields` are views into its C structure."""

    def __init__(self, name: str):
        """Begin with zeros; `name` is a key of MESSAGES."""
        self.layout = layout(name)
        self._bytes: Bytes = np.zeros(self.layout.struct.itemsize, dtype=np.uint8)
        self._words = self._bytes.view("<u4")
        self._from, self._to = self.layout.filled, self.layout.places[self.layout.filled]
        self._cdr: Bytes = np.zeros(self.layout.size, dtype=np.uint8)
        self.fields: Any = self._bytes.view(self.layout.struct)[0]

    def read(self, data: bytes) -> None:
        """Take a message as it came by DDS.

        Raises
        ------
        ShapeError
            It is not as long as this message, or big-endian.
        """
        if data[:2] != LITTLE_ENDIAN[:2] or not 0 <= len(data) - 4 - self.layout.size < 4:
            raise ShapeError(
                f"expected a {self.layout.name} of {self.layout.size + 4} bytes in little-endian CDR, got {len(data)}"
            )
        self._bytes[self._from] = np.frombuffer(data, np.uint8, self.layout.size, 4)[self._to]

    def message(self) -> bytes:
        """Return the message with its checksum, for DDS."""
        self.fields["crc"] = self.checksum()
        self._cdr[self._to] = self._bytes[self._from]
        return LITTLE_ENDIAN + self._cdr.tobytes()

    def checksum(self) -> int:
        """Return the checksum of the present fields: CRC-32/MPEG-2 of all words of the structure but the last."""
        return crc32(self._words[:-1].byteswap().tobytes())

    @property
    def sound(self) -> bool:
        """Whether the checksum that came fits; 0 is taken for a sender that sets none, as simulators do."""
        return int(self.fields["crc"]) in (0, self.checksum())


MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def crc32(data: bytes) -> int:
    """Return the CRC-32/MPEG-2 of bytes: polynomial 0x04c11db7, from ones, highest bit first.

    It is the mirror image of the usual CRC-32, which begins at the lowest bit and ends with all bits turned.
    """
    usual = zlib.crc32(data.translate(MIRRORED)) ^ 0xFFFFFFFF
    return int.from_bytes(usual.to_bytes(4, "little").translate(MIRRORED), "big")
