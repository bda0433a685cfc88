# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What node `plant` publishes for a recorder, while one listens: a run is redone from it, see `control.record`."""

import struct
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String, UInt8MultiArray

from ..control.record import DRIVE, SETUP, SNAPSHOT, drive_names, due, setup_text, take_snapshot, write_drive
from ..control.simulation import Simulation
from . import wire
from .component import LATCHED, RELIABLE, sender

BYTES = struct.Struct("<4s3I")
"""What a UInt8MultiArray in CDR begins with: byte order, no dimensions, no offset, how many bytes follow."""
LITTLE_ENDIAN = b"\x00\x01\x00\x00"


class RecordedNode(Protocol):
    """What is asked of the plant's node."""

    simulation: Simulation
    listened: frozenset[Publisher]
    values: Any

    def publisher(self, kind: type, topic: str, qos: QoSProfile) -> Any:
        """Create a publisher."""

    def description(self) -> str:
        """Return the URDF, or the path of its file."""


class PlantRecord:
    """Publishes setup, drives and snapshots of one plant.

    `disturbed`: something else than ticks has been at the plant since the last snapshot.
    """

    def __init__(self, node: RecordedNode):
        """Open the topics, and tell the setup to whoever comes."""
        self.node, self.disturbed = node, False
        self._told: int | None = None
        self.drives = node.publisher(JointState, f"~/{DRIVE}", RELIABLE)
        self.snapshots = node.publisher(UInt8MultiArray, f"~/{SNAPSHOT}", RELIABLE)
        setups = node.publisher(String, f"~/{SETUP}", LATCHED)
        setups.publish(String(data=setup_text(text_of(node.description()), asdict(node.values))))
        self.send_drive, self.send_snapshot = sender(self.drives), sender(self.snapshots)
        self.message = wire.JointStateWriter(drive_names(node.simulation.actuation.joints))

    def before_tick(self) -> None:
        """Tell the plant's memory to who has just come, after anything else than a tick, and now and then."""
        if self.snapshots not in self.node.listened:
            self._told = None
            return
        simulation = self.node.simulation
        whole = self._told is None or self.disturbed
        if not whole and (self._told == simulation.driven or not due(simulation)):
            return
        data = take_snapshot(simulation, whole, whole)
        self._told, self.disturbed = simulation.driven, False
        self.send_snapshot(BYTES.pack(LITTLE_ENDIAN, 0, 0, len(data)) + data)

    def after_tick(self) -> None:
        """Tell what the joints were told."""
        if self.drives in self.node.listened:
            m, simulation = self.message, self.node.simulation
            write_drive(simulation, m.position, m.velocity, m.effort)
            self.send_drive(m.stamped(round(1e9 * simulation.time)))


def text_of(description: str) -> str:
    """Return a URDF that is given as such, or as the path of its file."""
    return description if "<" in description else Path(description).expanduser().read_text()
