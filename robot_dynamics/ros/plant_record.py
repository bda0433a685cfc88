# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What node `plant` publishes for a recorder, while one listens: a run is redone from it, see `control.record`."""

import struct
from typing import Protocol

from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt8MultiArray

from ..control.record import DRIVE, SNAPSHOT, drive_names, due, take_snapshot, write_drive
from ..control.simulation import Simulation
from . import wire
from .component import RELIABLE, sender
from .setups import ToldNode, tell_setup

BYTES = struct.Struct("<4s3I")
"""What a UInt8MultiArray in CDR begins with: byte order, no dimensions, no offset, how many bytes follow."""
LITTLE_ENDIAN = b"\x00\x01\x00\x00"


class RecordedNode(ToldNode, Protocol):
    """What is asked of the plant's node."""

    simulation: Simulation
    listened: frozenset[Publisher]


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
        tell_setup(node)
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
