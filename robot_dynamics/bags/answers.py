# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A bag given to what the node `feedforward` decides with, at full speed: the same efforts as live.

Where that node told of its inputs, each answer is redone from the messages that it had. Else a message counts from when
it was sent, and base and contacts come before the joint state of their stamp, as a plant sends them.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..control.feedforward import PARTS
from ..control.guard import InputGuard
from ..control.imu import ImuMount
from ..control.inputs import Inputs, Used
from ..control.payload import Payloads
from ..core.arrays import Array
from ..core.bag import Bag, BagError
from ..errors import RobotDynamicsError
from ..model.model import Model
from ..ros.feedforward_params import make_feeder
from ..ros.parameters import FeedforwardParameters
from .heard import Attitude, Base, Event, Load, Progress, Seen, Sent, Told, Topics, Total, Touch, Wanted, heard

CLOSE = 1e-6
"""Difference of efforts that is none [N m or N]."""
SHORT = 0.1
"""Contacts and references older than this count for nothing [s]."""
FORGOTTEN = 1e-22
"""Part of a low-pass's input that is less than rounding, however large it was, and so are the roundings it left."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How numbers compare with those that a node told: how many are the same bit by bit, and how many within CLOSE.

    compared : how many there are of both. largest : largest difference. unknown : how many more were not compared, for
    not all that the node had is in the bag, or the other way round.
    """

    compared: int
    same: int
    close: int
    largest: float
    unknown: int = 0

    def __str__(self) -> str:
        """In a sentence."""
        if not self.compared:
            return f"none of {self.unknown} could be compared: bag and node did not have the same"
        said = f"{self.same} of {self.compared} ({100.0 * self.same / self.compared:.4g} %) are the same bit by bit"
        if others := self.compared - self.same:
            said += f", {self.close - self.same} of the other {others} within {CLOSE:g}, {self.largest:.3g} at most"
        return said + (f"; of {self.unknown} more, bag and node did not have the same" if self.unknown else "")


def agreement(pairs: Sequence[tuple[Array, Array]], unknown: int = 0) -> Agreement:
    """Compare recorded and recomputed numbers (n,), pair by pair."""
    apart = np.array([np.abs(a - b).max(initial=0.0) for a, b in pairs])
    same = sum(np.array_equal(a, b) for a, b in pairs)
    return Agreement(len(pairs), same, int((apart <= CLOSE).sum()), float(apart.max(initial=0.0)), unknown)


@dataclass(frozen=True, slots=True, eq=False)
class Fed:
    """What a feed-forward answered: stamp (N,) [s]; measured (N, n) efforts, nan where none came; parts (5, N, n).

    efforts (N, n) after all limits. live : how `total` and `efforts` compare with those that the node of the bag told,
    empty where none told of its inputs.
    """

    stamp: Array
    measured: Array
    parts: Array
    efforts: Array
    refused: dict[str, int]
    live: dict[str, Agreement]


class Answerer:
    """The feed-forward of a node, given the messages of a bag in the order in which they were sent."""

    def __init__(self, model: Model, v: FeedforwardParameters):
        """Put it together as the node does."""
        self.model, self.feeder = model, make_feeder(model, v)
        self.references = InputGuard(model.joint_names, v.state_timeout)
        self.imu, self.payloads = ImuMount(model, v.imu_link), Payloads(model)
        self.rows: list[tuple[float, Array, list[Array], Array]] = []

    def take(self, x: Event) -> None:
        """Take what came; a joint state is answered."""
        if isinstance(x, Seen):
            self.answer(x)
        else:
            self.use(x)

    def use(self, x: Event) -> None:
        """Take what comes beside joint states, as the node does."""
        feeder, state = self.feeder, self.feeder.state
        if isinstance(x, Base):
            state.set_base(x.pose, x.twist, x.stamp, x.stamp, x.frame)
        elif isinstance(x, Touch):
            feeder.stance.set_forces(x.links, x.force, x.stamp)
        elif isinstance(x, Wanted):
            where = self.references.accept_named(x.names, (x.position, x.velocity), x.stamp, x.stamp)
            if where is not None:
                feeder.reference.set_velocity(where, x.velocity, x.stamp)
        elif isinstance(x, Attitude):
            if state.base.receipt is None:
                state.take_attitude(self.imu.mount, x.numbers, x.stamp, x.stamp)
        elif isinstance(x, Load):
            with suppress(RobotDynamicsError):  # the node refused it, too
                feeder.carry(self.payloads.put(x.link, x.mass, x.com, x.inertia))

    def answer(self, x: Seen) -> bool:
        """Answer a joint state, if it is one of this robot."""
        feeder, state = self.feeder, self.feeder.state
        if not state.set_joints(x.names, *x.columns, x.stamp, x.stamp):
            return False
        efforts = feeder.efforts(x.stamp).copy()
        parts = feeder.feedforward.parts(feeder.solution)
        measured = state.effort.copy() if state.has_effort else np.full(len(state.effort), np.nan)
        self.rows.append((x.stamp, measured, [getattr(parts, name) for name in PARTS], efforts))
        return True

    def live(self) -> dict[str, Agreement]:
        """How the answers compare with those of a node."""
        return {}


class Redoer(Answerer):
    """The feed-forward of a node that told of its inputs: answers come from the messages that they came from live."""

    streams: ClassVar[dict[str, type]] = {"odom": Base, "imu/data": Attitude, "contacts": Touch, "reference": Wanted}

    def __init__(self, model: Model, v: FeedforwardParameters):
        """Know nothing yet."""
        super().__init__(model, v)
        self.states: deque[Seen] = deque()
        self.waiting: dict[type, deque[Any]] = defaultdict(deque)
        self.used: dict[str, Used] = {}
        self.found = dict.fromkeys(self.streams, False)
        self.filter, self.doubt = v.reference_filter, 1.0
        self.certain: list[bool] = []
        self.totals: dict[float, Array] = {}
        self.sent: dict[float, Array] = {}
        self.lacking = 0

    def take(self, x: Event) -> None:
        """Keep what came until the node tells that it has used it."""
        if isinstance(x, Told):
            self.redo(x)
        elif isinstance(x, Seen):
            keep(self.states, x)
        elif isinstance(x, Total | Sent):
            told = self.totals if isinstance(x, Total) else self.sent
            if x.names == self.model.joint_names:
                told.setdefault(x.stamp, x.effort)
        elif isinstance(x, Load):
            self.use(x)
        else:
            keep(self.waiting[type(x)], x)

    def redo(self, told: Told) -> None:
        """Give the answer of a stamp."""
        streams = told.inputs.streams
        for name, used in streams.items():
            self.catch_up(name, used)
        needed = ["odom" if streams["odom"].number or not streams["imu/data"].number else "imu/data"]
        needed += [name for name in ("contacts", "reference") if abs(told.stamp - streams[name].stamp) <= SHORT]
        certain = all(self.found[name] or not streams[name].number for name in needed)
        certain &= self.doubt < FORGOTTEN or "reference" not in needed
        while self.states and self.states[0].stamp < told.stamp:
            self.states.popleft()
        if not self.states or self.states[0].stamp > told.stamp:
            self.lacking += 1
            return
        self.limit(told.inputs)
        if self.answer(self.states.popleft()):
            self.certain.append(certain)
        self.feeder.limiter.gain = told.inputs.gain  # as live, where answers before it are not in the bag

    def catch_up(self, name: str, used: Used) -> None:
        """Use the messages of a stream that the node had by then: of those up to a stamp, the last so many.

        The node may have lost others than the first: of more than one it is not known which they were.
        """
        before = self.used.get(name)
        self.used[name] = used
        waiting, due = self.waiting[self.streams[name]], []
        while waiting and waiting[0].stamp <= used.stamp:
            due.append(waiting.popleft())
        count = used.number - (before.number if before is not None else 0)
        if before is not None and count <= 0:
            return
        newest_is_there = bool(due) and due[-1].stamp == used.stamp
        whole = len(due) == count or (count == 1 and newest_is_there)
        last = before.stamp if before is not None else -np.inf
        for x in due[-count:] if count else ():
            self.use(x)
            if isinstance(x, Wanted):
                self.refer(x.stamp - last)
            last = x.stamp
        if name == "reference" and not whole:
            self.doubt = 1.0
        self.found[name] = newest_is_there

    def refer(self, gap: float) -> None:
        """Follow how much of the low-pass of the reference (H13) may still come from messages that the bag lacks.

        gap : time since the last one that the node used [s].
        """
        if 0.0 < gap <= SHORT:
            self.doubt *= self.filter / (self.filter + gap)
        else:
            self.doubt = 0.0  # it begins anew

    def limit(self, inputs: Inputs) -> None:
        """Enable or disable the limiter where the node has."""
        feeder = self.feeder
        if not self.rows or inputs.enabled != feeder.limiter.enabled:
            feeder.enable(inputs.enabled)
            feeder.limiter.gain = inputs.gain

    def live(self) -> dict[str, Agreement]:
        """How totals before limits, and the efforts that were sent, compare with those of the node."""
        found = {}
        for name, recorded, column in (
            ("total", self.totals, lambda row: row[2][-1]),
            ("efforts", self.sent, lambda row: row[3]),
        ):
            if recorded:
                found[name] = self._compared(recorded, column)
        return found

    def _compared(self, recorded: dict[float, Array], column: Callable[..., Array]) -> Agreement:
        answers = zip(self.rows, self.certain, strict=True)
        rows = [(row, sure) for row, sure in answers if row[0] in recorded]
        pairs = [(recorded[row[0]], column(row)) for row, sure in rows if sure]
        return agreement(pairs, len(rows) - len(pairs) + self.lacking)


def keep(queue: deque[Any], x: Any) -> None:
    """Add to messages that wait; what is left of the time before it was set back is of no use."""
    if queue and x.stamp < queue[-1].stamp:
        queue.clear()
    queue.append(x)


def feed(model: Model, v: FeedforwardParameters, bag: Bag, topics: Topics, progress: Progress = lambda _: None) -> Fed:
    """Answer joint states of a bag with the efforts that their motion needs (H4): all, or those that a node answered.

    Raises
    ------
    BagError
        No joint state suits the robot, or the bag is damaged.
    """
    answerer = Redoer(model, v) if topics.inputs else Answerer(model, v)
    for x in heard(bag, topics, progress):
        answerer.take(x)
    state = answerer.feeder.state
    if not answerer.rows:
        raise BagError(f"'{bag.path}': no joint state suits '{model.name}': {state.joints.problem or 'there is none'}")
    stamp, measured, parts, efforts = (np.array([row[i] for row in answerer.rows]) for i in range(4))
    return Fed(stamp, measured, parts.transpose(1, 0, 2), efforts, state.counts(), answerer.live())
