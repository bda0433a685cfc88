# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nodes hear of a bag, in the order in which it was sent."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ..control.inputs import INPUTS, Inputs, read_inputs
from ..core.arrays import Array
from ..core.bag import Bag, BagError
from .messages import base_of, points_of, seconds_of
from .setups import nodes_of

JOINT_STATE, ODOMETRY, CONTACTS = (
    "sensor_msgs/msg/JointState",
    "nav_msgs/msg/Odometry",
    "sensor_msgs/msg/MultiDOFJointState",
)
IMU, PAYLOAD = "sensor_msgs/msg/Imu", "geometry_msgs/msg/InertiaStamped"
RESIDUAL, TOTAL, EFFORTS = "residual", "torque/total", "efforts"
"""Private topics of the monitor and of the feed-forward: what they answered."""
Progress = Callable[[float], None]


class Seen(NamedTuple):
    """A joint state: stamp [s], names, columns; empty where it has none."""

    stamp: float
    names: tuple[str, ...]
    columns: tuple[Array, Array, Array]


class Base(NamedTuple):
    """A base state: stamp [s], pose (7,), twist (6,), child frame."""

    stamp: float
    pose: list[float]
    twist: list[float]
    frame: str


class Attitude(NamedTuple):
    """What an IMU tells: stamp [s], numbers (37,) of the message."""

    stamp: float
    numbers: Array


class Touch(NamedTuple):
    """Contact forces: stamp [s], links, positions and forces (k, 3)."""

    stamp: float
    links: tuple[str, ...]
    position: Array
    force: Array


class Wanted(NamedTuple):
    """Velocities that are wanted: stamp [s], names, positions or none, velocities."""

    stamp: float
    names: tuple[str, ...]
    position: Array
    velocity: Array


class Load(NamedTuple):
    """A payload: stamp [s], link, mass, centre of mass (3,), inertia (3, 3) about it."""

    stamp: float
    link: str
    mass: float
    com: Array
    inertia: Array


class Told(NamedTuple):
    """What the answer to the joint state of this stamp [s] came from."""

    stamp: float
    inputs: Inputs


class Total(NamedTuple):
    """What a feed-forward answered: stamp of the joint state [s], names, efforts before any limit."""

    stamp: float
    names: tuple[str, ...]
    effort: Array


class Sent(NamedTuple):
    """Efforts that a feed-forward sent: stamp of the joint state [s], names, efforts."""

    stamp: float
    names: tuple[str, ...]
    effort: Array


class Explained(NamedTuple):
    """A model error that a monitor told: stamp of the joint state [s], names, efforts."""

    stamp: float
    names: tuple[str, ...]
    effort: Array


Event = Seen | Base | Attitude | Touch | Wanted | Load | Told | Total | Sent | Explained


@dataclass(frozen=True, slots=True)
class Topics:
    """Where a bag has what a node heard and told; "" where it has not."""

    joints: str
    base: str
    imu: str
    contacts: str
    reference: str = ""
    payload: str = ""
    inputs: str = ""
    total: str = ""
    sent: str = ""
    residual: str = ""

    @property
    def known(self) -> dict[str, str]:
        """What a topic is, by its name."""
        return {getattr(self, f.name): f.name for f in fields(self) if getattr(self, f.name)}


KINDS = {"base": ODOMETRY, "imu": IMU, "contacts": CONTACTS, "payload": PAYLOAD}
"""Types of topics; of all others JointState."""


def find_topics(bag: Bag, joints: str, node: str = "", reference: str = "") -> Topics:
    """Find the topics of a robot: `joints`, the usual one if empty, and what stands beside it; and those of a node.

    Raises
    ------
    BagError
        There are no such joint states, or a topic that was asked for is another thing.
    """
    found = joints or bag.ending("joint_states") or bag.only(JOINT_STATE)
    around = found.rsplit("/", 1)[0]
    names = {"joints": found, "base": f"{around}/odom", "imu": f"{around}/imu/data", "contacts": f"{around}/contacts"}
    if node:
        names |= {"payload": f"{node}/payload", "inputs": f"{node}/{INPUTS}", "total": f"{node}/{TOTAL}"}
        names |= {"sent": f"{node}/{EFFORTS}", "residual": f"{node}/{RESIDUAL}"}
    names["reference"] = reference
    for name in (found, reference):
        if name and bag.topics.get(name) != JOINT_STATE:
            raise BagError(f"'{bag.path}' has no {JOINT_STATE} on '{name}'; it holds {', '.join(sorted(bag.topics))}")
    suits = {what: name for what, name in names.items() if bag.topics.get(name) == KINDS.get(what, JOINT_STATE)}
    return Topics(**({"base": "", "imu": "", "contacts": ""} | suits))


def node_beside(bag: Bag, joints: str, mark: str) -> str:
    """Return the one node with the private topic `mark` in the namespace of joint states, "" if there is none.

    joints : their topic, the usual one if empty.
    """
    around = (joints or bag.ending("joint_states")).rsplit("/", 1)[0]
    found = [node for node in nodes_of(bag, mark) if node.startswith(f"{around}/")]
    return found[0] if len(found) == 1 else ""


def heard(bag: Bag, topics: Topics, progress: Progress) -> Iterator[Event]:
    """Yield what came by these topics; raises BagError if the bag is damaged."""
    known, counts = topics.known, bag.counts()
    total = max(1, sum(counts.get(name, 0) for name in known))
    for k, (name, _, msg) in enumerate(bag.messages(*known)):
        if not k % 1000:
            progress(k / total)
        if (event := READ[known[name]](msg)) is not None:
            yield event


def _told(msg: Any) -> Told | None:
    inputs = read_inputs(msg.position, msg.velocity)
    return None if inputs is None else Told(seconds_of(msg), inputs)


def _wanted(msg: Any) -> Wanted | None:
    """Efforts alone, as a feed-forward may send them by the same topic, are no motion."""
    if not len(msg.velocity):
        return None
    return Wanted(seconds_of(msg), tuple(msg.name), msg.position, msg.velocity)


def _attitude(msg: Any) -> Attitude:
    o, w, a = msg.orientation, msg.angular_velocity, msg.linear_acceleration
    parts = (
        (o.x, o.y, o.z, o.w), msg.orientation_covariance, (w.x, w.y, w.z), msg.angular_velocity_covariance,
        (a.x, a.y, a.z), msg.linear_acceleration_covariance,
    )  # fmt: skip
    return Attitude(seconds_of(msg), np.concatenate([np.asarray(part, dtype=float) for part in parts]))


def _load(msg: Any) -> Load:
    x = msg.inertia
    inertia = [[x.ixx, x.ixy, x.ixz], [x.ixy, x.iyy, x.iyz], [x.ixz, x.iyz, x.izz]]
    com = np.array([x.com.x, x.com.y, x.com.z])
    return Load(seconds_of(msg), msg.header.frame_id, float(x.m), com, np.array(inertia))


READ: dict[str, Callable[[Any], Event | None]] = {
    "joints": lambda msg: Seen(seconds_of(msg), tuple(msg.name), (msg.position, msg.velocity, msg.effort)),
    "base": lambda msg: Base(seconds_of(msg), *base_of(msg), msg.child_frame_id),
    "imu": _attitude,
    "contacts": lambda msg: Touch(seconds_of(msg), *points_of(msg)),
    "reference": _wanted,
    "payload": _load,
    "inputs": _told,
    "total": lambda msg: Total(seconds_of(msg), tuple(msg.name), msg.effort),
    "sent": lambda msg: Sent(seconds_of(msg), tuple(msg.name), msg.effort),
    "residual": lambda msg: Explained(seconds_of(msg), tuple(msg.name), msg.effort),
}
"""How a message of each of `Topics` is read; None where it says nothing."""
