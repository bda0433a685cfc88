# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recorded run put through the plant again, tick by tick, and held against what was recorded."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..control.actuation import Drive
from ..control.record import DRIVE, SETUP, SNAPSHOT, read_drive
from ..control.simulation import EPOCH
from ..core.arrays import Array
from ..core.bag import Bag, BagError
from ..errors import DivergedError, ParameterError, RobotDynamicsError
from ..kernels.simulation import memory as at
from ..model.model import Model
from ..ros.parameters import PlantParameters, updated
from ..ros.plant_params import sense_every, simulation
from ..ros.robot_params import model_of
from ..simulation.plant import Plant, SensorNoise
from ..simulation.snapshot import SnapshotError, read_snapshot, restore
from .messages import NANO, stamp_of
from .setups import Setup, nodes_of, read_setup

QUANTITIES = ("position", "velocity", "effort")
JUMP = 1e-3
"""Difference of states [rad, m, rad/s, m/s] that is no tick's: the robot was put elsewhere."""
TOPICS = ("joint_states", "joint_commands", "odom")
Progress = Callable[[float], None]
"""Called with the fraction done."""


class Tick(NamedTuple):
    """One tick: stamp of the state it led to [ns], number, drive, stamp of the target [s], how verbatim it was."""

    stamp: int
    number: int
    drive: Drive
    target: float
    verbatim: int


class Memory(NamedTuple):
    """A snapshot of the plant before the tick after `notes['tick']`."""

    notes: dict[str, Any]
    arrays: dict[str, Any]


class State(NamedTuple):
    """A joint state or command: columns (n,) in the order of the model; each may be empty."""

    position: Array
    velocity: Array
    effort: Array


class Row(NamedTuple):
    """Both runs at one stamp [s], and the heights of their bases [m]."""

    stamp: float
    recorded: State
    replayed: State
    height: tuple[float, float]


@dataclass(slots=True)
class Recorded:
    """A run as the bag tells it. States and commands by stamp [ns], several of one stamp in the order they came."""

    setup: Setup[PlantParameters]
    events: list[Tick | Memory] = field(default_factory=list)
    states: dict[int, deque[State]] = field(default_factory=lambda: defaultdict(deque))
    commands: dict[int, list[State]] = field(default_factory=lambda: defaultdict(list))
    heights: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first one: tick, stamp [s], what of which joint, recorded and replayed value."""

    tick: int
    stamp: float
    what: str
    recorded: float
    replayed: float

    def __str__(self) -> str:
        """In a sentence."""
        return (
            f"tick {self.tick}, at {self.stamp:.6f} s: {self.what} was recorded as {self.recorded!r} and is "
            f"{self.replayed!r} now"
        )


@dataclass(slots=True)
class Comparison:
    """Both runs, row by row: stamp (N,) [s]; recorded, replayed (N, 3, n) positions, velocities, efforts.

    height (N, 2) of the base, recorded and replayed [m], nan where unknown. first : where they part, None if nowhere.
    altered : the first command that the plant was not told as the bag has it. ticks redone; lost: ticks that the bag
    lacks; skipped: ticks before the first snapshot and after lost ones; ended : why the replay ended early.
    of_another_version : the plant's memory is laid out otherwise by now, so that it begins from the motion alone.
    """

    model: Model
    stamp: Array
    recorded: Array
    replayed: Array
    height: Array
    first: Difference | None
    altered: Difference | None
    ticks: int
    lost: int
    skipped: int
    compared: int
    ended: str = ""
    of_another_version: bool = False

    @property
    def identical(self) -> bool:
        """Whether every joint state that was compared is the same, bit by bit."""
        return self.first is None and self.altered is None and not self.ended and self.compared > 0

    def largest(self) -> tuple[Array, Array]:
        """Return the largest deviation of each joint (3, n), and when it was [s] (3, n)."""
        apart = np.abs(self.replayed - self.recorded)
        where = apart.argmax(axis=0) if len(apart) else np.zeros(apart.shape[1:], int)
        top = apart.max(axis=0, initial=0.0)
        return top, self.stamp[where] if len(apart) else np.zeros(top.shape)


def plant_topics(bag: Bag) -> dict[str, str]:
    """Return the topics of the plant in a bag by their last word, with those of its namespace beside them.

    Raises
    ------
    BagError
        No plant was recorded, or several.
    """
    found = nodes_of(bag, DRIVE)
    if len(found) != 1:
        held = ", ".join(sorted(bag.topics)) or "no topic at all"
        many = f"{len(found)} plants" if found else "no plant that can be redone"
        raise BagError(
            f"'{bag.path}' holds {many}: expected one topic <plant>/{SETUP} beside {DRIVE} and {SNAPSHOT}, got {held}"
        )
    node = found[0]
    namespace = node.rsplit("/", 1)[0]
    own = {name: f"{node}/{name}" for name in (SETUP, DRIVE, SNAPSHOT)}
    return own | {name: f"{namespace}/{name}" for name in TOPICS}


def read_run(bag: Bag, progress: Progress = lambda _: None) -> Recorded:
    """Read a run; raises BagError if the bag is damaged or holds none."""
    topics = plant_topics(bag)
    setup = read_setup(bag, topics[SETUP].removesuffix(f"/{SETUP}"), PlantParameters())
    run, joints = Recorded(setup), setup.model().joint_names
    counts = bag.counts()
    total = max(1, sum(counts.get(topic, 0) for topic in topics.values()))
    wanted = {topic: name for name, topic in topics.items() if name != SETUP}
    for done, (topic, _, msg) in enumerate(bag.messages(*wanted)):
        try:
            take(run, wanted[topic], msg, joints)
        except (RobotDynamicsError, ValueError, IndexError) as problem:
            raise BagError(f"'{bag.path}': a message of {topic} cannot be used: {problem}") from None
        if not done % 1000:
            progress(done / total)
    if not any(isinstance(event, Tick) for event in run.events):
        raise BagError(f"'{bag.path}' holds no message of {topics[DRIVE]}: nothing to be redone")
    return run


def take(run: Recorded, name: str, msg: Any, joints: tuple[str, ...]) -> None:
    """Put a message where it belongs."""
    if name == SNAPSHOT:
        run.events.append(Memory(*read_snapshot(msg.data.tobytes())))
    elif name == DRIVE:
        drive, number, target, verbatim = read_drive(msg.position, msg.velocity, msg.effort)
        run.events.append(Tick(stamp_of(msg), number, drive, target, verbatim))
    elif name == "odom":
        run.heights[stamp_of(msg)] = float(msg.pose.pose.position.z)
    else:
        state = ordered(msg, joints)
        if name == "joint_states":
            run.states[stamp_of(msg)].append(state)
        else:
            run.commands[stamp_of(msg)].append(state)


def ordered(msg: Any, joints: tuple[str, ...]) -> State:
    """Return the columns of a JointState in the order of the model; joints that it leaves out are nan."""
    names = list(msg.name)
    if tuple(names) == joints:
        return State(msg.position, msg.velocity, msg.effort)
    place = [names.index(joint) if joint in names else -1 for joint in joints]
    columns = (np.append(x, np.nan)[place] if len(x) else x for x in (msg.position, msg.velocity, msg.effort))
    return State(*columns)


class Redone:
    """A plant that goes through recorded ticks; `ready` once it is in a state that was recorded."""

    def __init__(self, model: Model, v: PlantParameters):
        """Stand at the start."""
        self.plant: Plant = simulation(model, v).plant
        self.period, self.every = 1.0 / v.update_rate, sense_every(v)
        self.noisy = self.plant.params.noise != SensorNoise()
        self.ready = False
        self.of_another_version = False

    def resume(self, memory: Memory) -> None:
        """Go on exactly as the plant that was recorded; from the same motion where its memory is laid out otherwise."""
        try:
            restore(self.plant, memory.arrays, memory.notes["noise"])
        except SnapshotError:
            self.of_another_version = True
            self.begin_like(memory)
        self.ready = True

    def begin_like(self, memory: Memory) -> None:
        """Go on from the same motion, as another robot would, or the same one under other parameters."""
        arrays, k = memory.arrays, len(self.plant.points)
        points = arrays["Ground.points"]
        deflection = points[:k, at.DEFLECTION : at.DEFLECTION + 2]
        fits = len(points) >= k and points.shape[1] == at.POINT_COLUMNS
        try:
            self.plant.reset(arrays["State.q"], arrays["State.qd"], deflection if fits else None)
        except RobotDynamicsError as problem:
            raise ParameterError(f"this robot cannot take the place of the recorded one: {problem}") from None
        self.push_like(memory)
        self.ready = True

    def push_like(self, memory: Memory) -> None:
        """Take over the pushes that are under way, and their times, if the links are the same."""
        if len(memory.arrays["Robot.topology"]) != len(self.plant.model.topology):
            return
        pushes = memory.arrays["Command.pushes"].copy()
        recorded = int(memory.arrays["State.counters"][at.STEPS]) * self.plant.params.timestep
        pushes[:, at.PUSH_START : at.PUSH_END + 1] += self.plant.time - recorded
        self.plant.bundles[-1].pushes[:] = pushes
        self.plant.look()

    def tick(self, tick: Tick, ticks: int) -> State | None:
        """Do one tick; return what sensors read after it, if they are read then."""
        self.plant.track(*tick.drive)
        self.plant.advance(self.period)
        if ticks % self.every:
            return None
        plant, model = self.plant, self.plant.model
        if self.noisy:
            reading = plant.measure()
            return State(reading.position, reading.velocity, reading.effort)
        return State(plant.q[model.q_index], plant.qd[model.v_index], plant.tau)


class Replay:
    """Goes through the events of a run and keeps both runs."""

    def __init__(self, run: Recorded, changed: Redone | None = None):
        """Redo `run` exactly, and beside it on the `changed` plant if there is one, whose run is then the replay."""
        self.run, self.changed = run, changed
        self.exact = Redone(run.setup.model(), run.setup.parameters)
        self.rows: list[Row] = []
        self.first: Difference | None = None
        self.altered: Difference | None = None
        self.last, self.ticks, self.lost, self.skipped, self.compared = -1, 0, 0, 0, 0
        self.offset = 0.0

    def go(self, progress: Progress = lambda _: None) -> Comparison:
        """Go through all of it."""
        ended = ""
        for k, event in enumerate(self.run.events):
            try:
                self.see(event) if isinstance(event, Memory) else self.redo(event)
            except DivergedError as problem:
                ended = str(problem)
                break
            if not k % 500:
                progress(k / len(self.run.events))
        return self.comparison(ended)

    def see(self, memory: Memory) -> None:
        """Check the memory of the recorded plant, or go on from it."""
        plant, notes = self.exact.plant, memory.notes
        known = self.exact.ready and notes["tick"] == self.last
        q, qd = memory.arrays["State.q"], memory.arrays["State.qd"]
        apart = max(np.abs(plant.q - q).max(), np.abs(plant.qd - qd).max()) if known else np.inf
        if known and not notes["disturbed"]:
            if apart > 0.0 and self.first is None and self.changed is None:
                self.note_memory(notes, plant, q, qd)
            return
        self.exact.resume(memory)
        self.offset, self.last = float(notes["offset"]), int(notes["tick"])
        if self.changed is not None:
            if apart > JUMP or not self.changed.ready:
                self.changed.begin_like(memory)
            else:
                self.changed.push_like(memory)

    def note_memory(self, notes: Mapping[str, Any], plant: Plant, q: Array, qd: Array) -> None:
        """Remember where the whole state differs while no joint does: the base."""
        both = np.concatenate([plant.q, plant.qd]), np.concatenate([q, qd])
        i = int(np.flatnonzero(both[0] != both[1])[0])
        name = f"q[{i}]" if i < len(q) else f"qd[{i - len(q)}]"
        self.first = Difference(notes["tick"], notes["time"], name, float(both[1][i]), float(both[0][i]))

    def redo(self, tick: Tick) -> None:
        """Redo one tick, unless the state before it is unknown."""
        if not self.exact.ready or tick.number != self.last + 1:
            self.lost += max(tick.number - self.last - 1, 0) if self.exact.ready else 0
            self.exact.ready = False
            self.skipped += 1
            self.last = tick.number
            return
        self.last = tick.number
        self.check_command(tick)
        ticks = round((tick.stamp / NANO - EPOCH) / self.exact.period)
        exact = self.exact.tick(tick, ticks)
        replayed, plant = exact, self.exact.plant
        if self.changed is not None:
            replayed, plant = self.changed.tick(tick, ticks), self.changed.plant
        self.ticks += 1
        states = self.run.states.get(tick.stamp)
        if states and replayed is not None and exact is not None:
            self.compare(tick, states.popleft(), replayed, plant)

    def compare(self, tick: Tick, recorded: State, replayed: State, plant: Plant) -> None:
        """Keep both states, and the first difference."""
        self.compared += 1
        floating = plant.model.floating_base
        height = self.run.heights.get(tick.stamp, np.nan)
        heights = height, float(plant.q[2]) if floating else np.nan
        self.rows.append(Row(tick.stamp / NANO, recorded, replayed, heights))
        if self.first is not None:
            return
        for what, was, now in zip(QUANTITIES, recorded, replayed, strict=True):
            if len(was) == len(now) and not np.array_equal(was, now):
                j = int(np.flatnonzero(was != now)[0])
                name = f"{what} of {plant.model.joint_names[j]}"
                self.first = Difference(tick.number, tick.stamp / NANO, name, float(was[j]), float(now[j]))
                return

    def check_command(self, tick: Tick) -> None:
        """Notice a target in the bag that is not what the plant obeyed in this tick."""
        if not tick.verbatim or self.altered is not None:
            return
        found = self.run.commands.get(round(tick.target * NANO))
        if not found:
            return
        apart = [unlike(command, tick) for command in found]
        if all(x is not None for x in apart) and (x := apart[-1]) is not None:
            what, joint, asked, told = x
            name = f"{what} of {self.exact.plant.model.joint_names[joint]} in joint_commands of {tick.target:.6f} s"
            self.altered = Difference(tick.number, tick.stamp / NANO, name, asked, told)

    def comparison(self, ended: str) -> Comparison:
        """Put both runs into arrays."""
        model = (self.changed or self.exact).plant.model
        n, rows = len(model.joint_names), self.rows
        return Comparison(
            model=model,
            stamp=np.array([row.stamp for row in rows]),
            recorded=np.array([stacked(row.recorded, n) for row in rows]).reshape(-1, 3, n),
            replayed=np.array([stacked(row.replayed, n) for row in rows]).reshape(-1, 3, n),
            height=np.array([row.height for row in rows]).reshape(-1, 2),
            first=self.first,
            altered=self.altered,
            ticks=self.ticks,
            lost=self.lost,
            skipped=self.skipped,
            compared=self.compared,
            ended=ended,
            of_another_version=self.exact.of_another_version,
        )


def stacked(state: State, n: int) -> Array:
    """Columns (3, n) of a state; nan where it has none."""
    return np.array([x if len(x) == n else np.full(n, np.nan) for x in state])


def unlike(command: State, tick: Tick) -> tuple[str, int, float, float] | None:
    """Return what of a command the drive does not do: quantity, joint, asked and told; None if it does all."""
    drive = tick.drive
    pairs: Iterator[tuple[str, Array, Array]] = iter(
        (
            ("position", command.position, drive.position),
            ("velocity", command.velocity, drive.velocity),
            ("effort", command.effort if tick.verbatim > 1 else np.zeros(0), drive.effort),
        )
    )
    for what, asked, told in pairs:
        if len(asked) != len(told):
            continue
        clipped = (np.abs(told) < np.abs(asked)) & (what == "effort")
        wrong = (asked != told) & ~np.isnan(asked) & ~clipped
        if wrong.any():
            j = int(np.flatnonzero(wrong)[0])
            return what, j, float(asked[j]), float(told[j])
    return None


def changed_plant(setup: Setup[PlantParameters], urdf: str, given: Mapping[str, Any]) -> Redone:
    """Return a plant with another robot or other parameters; raises RobotDynamicsErrors that name them."""
    parameters = updated(setup.parameters, given)
    model = model_of(urdf, parameters) if urdf else Setup({}, "", parameters, setup.urdf).model()
    recorded = setup.model()
    if model.joint_names != recorded.joint_names or model.floating_base != recorded.floating_base:
        raise ParameterError(
            f"the other robot must have the joints of the recorded one, {', '.join(recorded.joint_names)}; "
            f"got {', '.join(model.joint_names)}"
        )
    if parameters.update_rate != setup.parameters.update_rate:
        raise ParameterError("'update_rate' belongs to the commands that were recorded and cannot be replaced")
    return Redone(model, parameters)
