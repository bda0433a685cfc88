# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Commands to the plant in the messages of control_msgs, where that package is installed (it is not on PyPI)."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from rclpy.serialization import deserialize_message

from ..control.interfaces import columns_from_interfaces
from ..control.simulation import Simulation
from .convert import seconds_from_stamp

try:
    from control_msgs import msg as control_msgs
except ImportError:
    control_msgs = None

TOPICS = {
    "~/interface_commands": ("DynamicInterfaceGroupValues", "interface_groups"),
    "~/dynamic_joint_commands": ("DynamicJointState", "joint_names"),
}
"""Topic -> its type, which not every version of control_msgs has, and the field of it that names the joints."""


class CommandedNode(Protocol):
    """What is asked of the plant's node."""

    simulation: Simulation

    def command(self, kind: type, topic: str, handler: Callable[[bytes], None]) -> Callable[[], None]:
        """Subscribe to commands; the result hands over what has come."""

    def warn(self, text: str) -> None:
        """Log a warning, now and then."""


def subscribe(node: CommandedNode) -> Iterator[Callable[[], None]]:
    """Subscribe to the topics whose types are there; yields what hands over the messages of each."""
    for topic, (name, joints) in TOPICS.items():
        if kind := getattr(control_msgs, name, None):
            yield node.command(kind, topic, _handler(node, kind, topic, joints))


def _handler(node: CommandedNode, kind: type, topic: str, joints: str) -> Callable[[bytes], None]:
    def heard(data: bytes) -> None:
        msg = deserialize_message(data, kind)
        if problem := _obey(node.simulation, getattr(msg, joints), msg):
            node.warn(f"{topic} {problem}")

    return heard


def _obey(simulation: Simulation, joints: list[str], msg: Any) -> str:
    """Do what a message says as `joint_commands` and `joint_gains` would; returns why it was refused, or nothing."""
    actuation, now, stamp = simulation.actuation, simulation.time, seconds_from_stamp(msg.header.stamp)
    given = [(v.interface_names, v.values) for v in msg.interface_values]
    columns = columns_from_interfaces(joints, given, actuation.targets)
    if columns is None:
        return actuation.targets.problem
    position, velocity, effort, kp, kd = columns
    if not (len(position) or len(velocity) or len(effort)):
        return "" if actuation.set_own_gains(joints, kp, kd, stamp, now) else actuation.gains.problem
    if not actuation.set_target(joints, position, velocity, effort, stamp, now, (kp, kd)):
        return actuation.targets.problem
    simulation.motion = None
    return ""
