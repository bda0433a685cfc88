# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a feed-forward is worth: how far the joints of a trotting robot are from their targets with it and without."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import DivergedError
from ..simulation.plant import Plant, PlantParams
from .actuation import Actuation
from .feedforward import Feedforward, Mode
from .gait import StandTrot, TrotParameters
from .limbs import Legs
from .reference import StreamedReference
from .simulation import Simulation, fitting_gains, gains, home_pose

Array = NDArray[np.float64]
Progress = Callable[[str, float], None]
"""Called with what is going on and the fraction done."""

CASES: Mapping[str, Mode | None] = MappingProxyType(
    {
        "nothing": None,
        "gravity": "gravity",
        "gravity and Coriolis": "bias",
        "inverse dynamics with stance forces": "stance",
    }
)
"""Feed-forward -> its mode; beside each of them act the joints' own gains."""
PERIOD = 0.002
"""Of the commands [s]."""
STAND, BEGIN, END = 0.3, 1.0, 3.0
"""Time to stand up, and the part of the trot that counts [s]."""
FRICTION, FILTER = 0.5, 0.005
"""Defaults of the feed-forward node: friction assumed, time constant of the reference's accelerations [s]."""


def tracking_errors(legs: Legs, progress: Progress) -> dict[str, float]:
    """Rms difference of the joints from their targets [rad, m] in the same trot, by feed-forward (H1, H4).

    Raises
    ------
    ModelError, DivergedError
        The robot has no stance, or the simulation broke down.
    """
    return {name: _error(legs, mode, partial(progress, name)) for name, mode in CASES.items()}


def _error(legs: Legs, mode: Mode | None, progress: Callable[[float], None]) -> float:
    run, gait = _simulation(legs), StandTrot(legs, TrotParameters(stand_time=STAND, weight=False))
    model, q, qd = legs.model, run.plant.q, run.plant.qd
    feedforward = Feedforward(model, mode or "gravity", q, qd, legs.feet, FRICTION)
    reference = StreamedReference(len(model.joint_names), 0.1, FILTER)
    every, squares = np.arange(len(model.joint_names)), []
    begin, gait.trot = run.time, True
    gait.start(run.joints, begin)
    while (elapsed := run.time - begin) < END:
        now, q[:], qd[:] = run.time, run.plant.q, run.plant.qd
        command = gait.command(now)
        reference.set_velocity(every, command.velocity, now)
        feedforward.qdd[model.v_index] = reference.acceleration(now)
        effort = np.zeros(len(every)) if mode is None else feedforward.torque(feedforward.solve(command.stance))
        if elapsed > BEGIN:
            squares.append(np.mean((command.position - run.joints) ** 2))
        run.actuation.set_target(model.joint_names, command.position, command.velocity, effort, now, now)
        if not run.tick():
            raise DivergedError(run.problem)
        progress(elapsed / END)
    return float(np.sqrt(np.mean(squares)))


def _simulation(legs: Legs) -> Simulation:
    model, feet = legs.model, legs.feet
    kp, kd = gains(model, [0.0], [0.0], fitting_gains(model))
    plant = Plant(model, PlantParams(), feet)
    actuation = Actuation(model.joint_names, kp, kd, timeout=0.1, action="hold", limit=model.effort_limit)
    return Simulation(plant, actuation, home_pose(model, "stance", {}, feet, 0.0), PERIOD)
