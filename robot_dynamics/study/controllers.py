# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who commands the robot in a run: the gait, a recorded bag, a Python function, or a learned policy."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..control.gait import StandTrot, TrotParameters, joint_gains
from ..control.limbs import Legs
from ..control.policy import PlantPolicy, PolicySpec, policy_of
from ..core.arrays import Array
from ..core.bag import Bag, BagError
from ..errors import ParameterError, RobotDynamicsError
from ..model.model import Model
from ..simulation.plant import Plant

JOINT_STATE = "sensor_msgs/msg/JointState"
COMMANDS_TOPIC = "/joint_commands"

Command = Sequence[ArrayLike]
"""The arguments of Plant.track: q_des, qd_des, kp, kd and, where there is one, tau_ff."""
Act = Callable[[int, Plant], Command]
"""Answers the command of a tick, counted from 0, in the present state of the plant."""


class Controller(Protocol):
    """Begins anew in every run."""

    def begin(self, model: Model, seed: int) -> Act:
        """Answer what commands the robot in a run; `model` is the robot without what varies, `seed` the run's."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Commands that depend on time alone: (ticks, 5, n), the last one held."""

    commands: Array

    def begin(self, model: Model, seed: int) -> Act:
        """As Controller."""
        last = len(self.commands) - 1

        def answer(tick: int, plant: Plant) -> Command:
            command: Command = self.commands[min(tick, last)]
            return command

        return answer


def gait_stream(
    legs: Legs,
    period: float,
    ticks: int,
    trot: bool = True,
    stand_time: float = 0.5,
    steer: Sequence[float] = (0.0, 0.0, 0.0),
    kp: float | None = None,
    kd: float | None = None,
    **times: Any,
) -> Stream:
    """Stand, then trot: the commands of `StandTrot`, open loop, with the gains that fit the robot.

    steer = [v_x, v_y, omega_z] of the base [m/s, rad/s]; times: the other figures of TrotParameters.
    """
    gait = StandTrot(legs, TrotParameters(stand_time=stand_time, **times))
    gait.trot, gait.steer = trot, np.array(steer, dtype=float)
    gait.start(gait.stance.joints, 0.0)
    gains = joint_gains(legs.model, gait.stance.reach)
    stiff, damped = (own if given is None else given for given, own in zip((kp, kd), gains, strict=True))
    n = len(legs.model.joint_names)
    commands = np.empty((ticks, 5, n))
    for tick in range(ticks):
        c = gait.command(tick * period)
        commands[tick] = c.position, c.velocity, np.full(n, stiff), np.full(n, damped), c.effort
    return Stream(commands)


def bag_stream(
    path: Path, model: Model, period: float, ticks: int, start: Array, kp: float, kd: float, topic: str = COMMANDS_TOPIC
) -> Stream:
    """Play the joint commands of a rosbag2 recording, each held until the next, by the times they were recorded at.

    Joints that a message does not name keep their target, at first `start` (n,); what it leaves out is 0.

    Raises
    ------
    ParameterError
        The bag cannot be read or holds no command for a joint of the robot.
    """
    stamps, rows = _bag_commands(path, model, start, topic)
    held = np.searchsorted(stamps - stamps[0], period * np.arange(ticks) + 1e-9, side="right") - 1
    commands = np.empty((ticks, 5, len(start)))
    commands[:, [0, 1, 4]] = rows[held]
    commands[:, 2], commands[:, 3] = kp, kd
    return Stream(commands)


def _bag_commands(path: Path, model: Model, start: Array, topic: str) -> tuple[Array, Array]:
    """Stamps (N,) [s] and positions, velocities, efforts (N, 3, n) of a recording."""
    now = np.stack([start, np.zeros_like(start), np.zeros_like(start)])
    stamps, rows = [], []
    try:
        with Bag(path) as bag:
            held = sorted(found for found, kind in bag.topics.items() if kind == JOINT_STATE)
            if topic not in held:
                raise ParameterError(
                    f"bag '{path}' has no JointState topic '{topic}'; it has {', '.join(held) or 'none'}"
                )
            for _, t, message in bag.messages(topic):
                now = _taken(now, message, model)
                stamps.append(1e-9 * t)
                rows.append(now)
    except BagError as error:
        raise ParameterError(str(error)) from None
    if not rows or not np.isfinite(rows).all():
        raise ParameterError(f"bag '{path}' holds no command on '{topic}', or one that is not finite")
    return np.array(stamps), np.array(rows)


def _taken(now: Array, message: Any, model: Model) -> Array:
    """What the joints are to do after a message."""
    here = [(i, model.joint_names.index(name)) for i, name in enumerate(message.name) if name in model.joint_names]
    if not here:
        raise ParameterError(
            f"the bag commands {', '.join(message.name)}, no joint of '{model.name}' ({', '.join(model.joint_names)})"
        )
    source, target = map(list, zip(*here, strict=True))
    now = now.copy()
    now[1:, target] = 0.0
    for row, values in enumerate((message.position, message.velocity, message.effort)):
        if len(values) == len(message.name):
            now[row, target] = np.asarray(values)[source]
    return now


def load_function(name: str) -> Callable[..., Any]:
    """Return the function of 'module:function'; modules beside the study are found by the caller's sys.path.

    Raises
    ------
    ParameterError
        There is no such module or function; the message says which, or why the module cannot be imported.
    """
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise ParameterError(f"a function is named as module:function, got '{name}'")
    try:
        found = getattr(importlib.import_module(module), function, None)
    except Exception as error:
        raise ParameterError(f"cannot import '{module}': {type(error).__name__}: {error}") from None
    if not callable(found):
        raise ParameterError(f"module '{module}' has no function '{function}'")
    function_found: Callable[..., Any] = found
    return function_found


def called(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a user's function; what goes wrong inside is told in one sentence. Raises ParameterError."""
    try:
        return function(*args, **options)
    except RobotDynamicsError:
        raise
    except Exception as error:
        raise ParameterError(f"'{name}' raised {type(error).__name__}: {error}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A user's factory 'module:function': called in every run with (model, seed, **options).

    It returns act(time, measurement), which is called every period with the time [s] and what `Plant.measure` says,
    noise included, and answers the arguments of `Plant.track`.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def begin(self, model: Model, seed: int) -> Act:
        """As Controller."""
        act = called(self.name, load_function(self.name), model, seed, **self.options)
        if not callable(act):
            raise ParameterError(f"'{self.name}' must return a function of time and measurement, got {act!r}")

        def answer(tick: int, plant: Plant) -> Command:
            command = called(self.name, act, plant.time, plant.measure())
            if not isinstance(command, Sequence) or len(command) not in (4, 5):
                raise ParameterError(
                    f"'{self.name}' must answer (q_des, qd_des, kp, kd) or these and tau_ff, got {command!r}"
                )
            return command

        return answer


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A learned policy under one command [v_x, v_y, omega_z], at its own rate; network: what its file holds.

    period [s] of a tick; the policy answers in the first of as many as its rate leaves, and the answer is held.
    """

    spec: PolicySpec
    network: bytes
    period: float
    command: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def begin(self, model: Model, seed: int) -> Act:
        """As Controller."""
        policy = PlantPolicy(policy_of(self.spec, self.network), model)
        asked, ticks = np.array(self.command), self.ticks()
        held: Command = ()

        def answer(tick: int, plant: Plant) -> Command:
            nonlocal held
            if tick % ticks == 0:
                held = policy.command(plant, asked, tick * self.period)
            return held

        return answer

    def ticks(self) -> int:
        """How many ticks an answer is held. Raises ParameterError if that is no whole number."""
        ratio = 1.0 / (self.spec.rate * self.period)
        if abs(ratio - max(round(ratio), 1)) > 1e-6 * ratio:
            raise ParameterError(
                f"the policy answers every {1.0 / self.spec.rate:g} s, no whole number of periods of {self.period:g} s"
            )
        return round(ratio)
