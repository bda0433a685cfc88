# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a node tells a recorder of itself, so that what it does can be redone."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from rclpy.qos import QoSProfile
from std_msgs.msg import String

from ..control.record import SETUP, setup_text
from .component import LATCHED


class ToldNode(Protocol):
    """What is asked of the node."""

    values: Any

    def publisher(self, kind: type, topic: str, qos: QoSProfile) -> Any:
        """Create a publisher."""

    def description(self) -> str:
        """Return the URDF, or the path of its file."""


def tell_setup(node: ToldNode) -> None:
    """Tell versions, processor, parameters and URDF to whoever comes, until the node is deactivated."""
    setups = node.publisher(String, f"~/{SETUP}", LATCHED)
    setups.publish(String(data=setup_text(text_of(node.description()), asdict(node.values))))


def text_of(description: str) -> str:
    """Return a URDF that is given as such, or as the path of its file."""
    return description if "<" in description else Path(description).expanduser().read_text()
