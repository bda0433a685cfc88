# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A bag given to what the nodes `feedforward` and `monitor` decide with, at full speed: the same numbers as live.

A message counts from when it was recorded. Where several are as old as each other, base and contacts come before the
joint state of their stamp, as a plant sends them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..control.contacts import ContactForces
from ..control.feeder import Feeder
from ..control.feedforward import PARTS, Feedforward, Mode
from ..control.guard import EffortLimiter, InputGuard
from ..control.limbs import find_legs
from ..control.monitor import Account, Companions, Ledger, Residual
from ..control.state import MeasuredState, StanceFlags
from ..core.arrays import Array
from ..core.bag import Bag, BagError
from ..model.model import Model
from .messages import base_of, points_of, stamp_of

JOINT_STATE, ODOMETRY, CONTACTS = (
    "sensor_msgs/msg/JointState",
    "nav_msgs/msg/Odometry",
    "sensor_msgs/msg/MultiDOFJointState",
)
MAX_AGE = 0.1
"""Of what counts as measured [s], as the nodes' `state_timeout`."""
RESIDUAL_PERIOD = 0.01
"""Of the model error [s], as the monitor's `residual_rate`."""
FRICTION, THRESHOLD, FILTER = 0.5, 5.0, 0.005
"""Defaults of the feed-forward node: friction assumed, force of a foot that stands [N], filter of a reference [s]."""
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


class Touch(NamedTuple):
    """Contact forces: stamp [s], links, positions and forces (k, 3)."""

    stamp: float
    links: tuple[str, ...]
    position: Array
    force: Array


class Wanted(NamedTuple):
    """Velocities that are wanted: stamp [s], names, velocities."""

    stamp: float
    names: tuple[str, ...]
    velocity: Array


def heard(bag: Bag, topic: str, progress: Progress, reference: str = "") -> Iterator[Seen | Base | Touch | Wanted]:
    """Yield what the nodes hear of a bag: joint states of `topic` (the usual one if empty), odom, contacts, reference.

    Raises
    ------
    BagError
        It has no such joint states, or is damaged.
    """
    found = topic or bag.ending("joint_states") or bag.only(JOINT_STATE)
    if bag.topics.get(found) != JOINT_STATE:
        raise BagError(f"'{bag.path}' has no {JOINT_STATE} on '{found}'; it holds {', '.join(sorted(bag.topics))}")
    around = found.rsplit("/", 1)[0]
    base, contacts = (f"{around}/{name}" for name in ("odom", "contacts"))
    if reference and bag.topics.get(reference) != JOINT_STATE:
        raise BagError(f"'{bag.path}' has no {JOINT_STATE} on '{reference}'; it holds {', '.join(sorted(bag.topics))}")
    counts, names = bag.counts(), [found, base, contacts, *([reference] if reference else [])]
    total = max(1, sum(counts.get(name, 0) for name in names))
    for k, (name, _, msg) in enumerate(bag.messages(*names)):
        stamp = 1e-9 * stamp_of(msg)
        if not k % 1000:
            progress(k / total)
        if name == found:
            yield Seen(stamp, tuple(msg.name), (msg.position, msg.velocity, msg.effort))
        elif name == reference:
            yield Wanted(stamp, tuple(msg.name), msg.velocity)
        elif name == base and bag.topics[base] == ODOMETRY:
            yield Base(stamp, *base_of(msg), msg.child_frame_id)
        elif name == contacts and bag.topics[contacts] == CONTACTS:
            yield Touch(stamp, *points_of(msg))


@dataclass(frozen=True, slots=True, eq=False)
class Fed:
    """What a feed-forward answered: stamp (N,) [s]; measured (N, n) efforts, nan where none came; parts (5, N, n)."""

    stamp: Array
    measured: Array
    parts: Array
    refused: dict[str, int]


def feed(
    model: Model, mode: Mode, bag: Bag, topic: str, progress: Progress = lambda _: None, reference: str = ""
) -> Fed:
    """Answer every joint state of a bag with the efforts that its motion needs, before any limit (H4).

    The wanted accelerations are those of the velocities of the topic `reference`; 0 without one, as the node has it.
    """
    feeder = make_feeder(model, mode)
    state, rows, guard = feeder.state, [], InputGuard(model.joint_names, MAX_AGE)
    for x in heard(bag, topic, progress, reference):
        if isinstance(x, Wanted):
            where = guard.accept_named(x.names, (x.velocity,), x.stamp, x.stamp) if len(x.velocity) else None
            if where is not None:
                feeder.reference.set_velocity(where, x.velocity, x.stamp)
        elif isinstance(x, Base):
            state.set_base(x.pose, x.twist, x.stamp, x.stamp, x.frame)
        elif isinstance(x, Touch):
            feeder.stance.set_forces(x.links, x.force, x.stamp)
        elif state.set_joints(x.names, *x.columns, x.stamp, x.stamp):
            parts = feeder.feedforward.parts(feeder.wanted(x.stamp))
            effort = state.effort.copy() if state.has_effort else np.full(len(state.effort), np.nan)
            rows.append((x.stamp, effort, [getattr(parts, name) for name in PARTS]))
    if not rows:
        raise BagError(f"'{bag.path}': no joint state suits '{model.name}': {state.joints.problem or 'there is none'}")
    stamp, measured, torque = (np.array([row[i] for row in rows]) for i in range(3))
    return Fed(stamp, measured, torque.transpose(1, 0, 2), state.counts())


def make_feeder(model: Model, mode: Mode) -> Feeder:
    """Put the feed-forward together as its node does."""
    feet = find_legs(model).feet if mode == "stance" and model.floating_base else None
    used: Mode = "inverse_dynamics" if mode == "stance" and feet is None else mode
    state = MeasuredState(model, MAX_AGE)
    stance = StanceFlags(() if feet is None else feet.link, THRESHOLD, MAX_AGE)
    feedforward = Feedforward(model, used, state.q, state.qd, feet, FRICTION)
    return Feeder(model, feedforward, state, stance, EffortLimiter(model.effort_limit), FILTER)


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """What a monitor found: stamp (R,) [s] and residual (R, n) [N m or N]; rms, suggestion (3, n); the last account.

    suggestion : armature, viscous and Coulomb friction of each joint that would explain its residual; 0 where none.
    """

    stamp: Array
    residual: Array
    rms: Array
    suggestion: Array
    account: Account | None
    states: int
    refused: dict[str, int]


class Watcher:
    """Accounts for every joint state as the node `monitor` does."""

    def __init__(self, model: Model, span: int):
        """Keep statistics over the last `span` residuals."""
        self.model, self.state, self.forces = model, MeasuredState(model, MAX_AGE), ContactForces(model)
        self.ledger, self.residual = Ledger(model), Residual(model, span, RESIDUAL_PERIOD)
        self.bases, self.touches = Companions[Base](), Companions[Touch]()
        self.known: set[str] = set()
        self.rows: list[tuple[float, Array]] = []
        self.states = 0

    def see(self, x: Seen) -> None:
        """Account for a joint state with the base and the contacts of its stamp."""
        s, stamp = self.state, x.stamp
        for base in self.bases.due(stamp, stamp):
            if s.set_base(base.pose, base.twist, base.stamp, stamp, base.frame):
                self.now_known("base")
        for touch in self.touches.due(stamp, stamp):
            self.forces.set_forces(touch.links, touch.position, touch.force)
            self.now_known("contacts")
        if not s.set_joints(x.names, *x.columns, stamp, stamp):
            return
        self.states += 1
        if s.has_effort and not (self.bases.missing(stamp) or self.touches.missing(stamp)):
            now = stamp, s.q, s.qd, s.effort, self.forces.at(s.q)
            self.ledger.update(*now)
            if (residual := self.residual.update(*now)) is not None:
                self.rows.append((stamp, residual.copy()))

    def now_known(self, what: str) -> None:
        """Begin the account anew with the first base and the first contacts."""
        if what not in self.known:
            self.known.add(what)
            self.ledger = Ledger(self.model)


def watch(model: Model, bag: Bag, topic: str, progress: Progress = lambda _: None) -> Watched:
    """Hold every joint state of a bag against the model (M3, M4, M5); statistics are those of the whole bag."""
    n = bag.counts().get(topic or bag.ending("joint_states"), 1)
    watcher = Watcher(model, max(n, 1))
    waiting: Seen | None = None
    for x in heard(bag, topic, progress):
        if isinstance(x, Base):
            watcher.bases.put(x)
        elif isinstance(x, Touch):
            watcher.touches.put(x)
        elif isinstance(x, Seen):  # what belongs to a joint state may be recorded just after it
            if waiting is not None:
                watcher.see(waiting)
            waiting = x
    if waiting is not None:
        watcher.see(waiting)
    if not watcher.rows:
        problem = watcher.state.joints.problem or "too few carry positions and efforts"
        raise BagError(f"'{bag.path}': no model error of '{model.name}' can be told: {problem}")
    stamp, residual = (np.array(column) for column in zip(*watcher.rows, strict=True))
    found = watcher.residual
    return Watched(
        stamp,
        residual,
        np.array(found.rms()),
        np.array([list(row) for row in found.suggestion()]).reshape(-1, 3).T,
        watcher.ledger.account(),
        watcher.states,
        watcher.state.counts(),
    )
