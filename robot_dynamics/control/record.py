# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a plant tells of a run so that it can be redone exactly: its setup, what the joints were told, its memory.

A tick is redone from its drive: whoever commands, whatever timed out or took over, the plant has seen nothing else. All
that is not a tick (a push, a reset, a payload) shows in a snapshot of the memory that was taken after it.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..simulation.snapshot import snapshot
from .actuation import Drive
from .simulation import Simulation

DRIVE, SNAPSHOT, SETUP = "drive", "snapshot", "setup"
"""Private topics of the plant."""
PERIOD = 1.0
"""From one snapshot to the next [s]: where messages were lost, a run is taken up again at one."""
LIBRARIES = ("robot_dynamics", "numpy", "numba", "llvmlite")
"""What machine code comes from."""


def drive_names(joints: Sequence[str]) -> tuple[str, ...]:
    """Return the rows of a drive message: joints, gains of the joints, tick (2 n + 1)."""
    return (*joints, *(f"{joint} gains" for joint in joints), "tick")


def write_drive(simulation: Simulation, position: Array, velocity: Array, effort: Array) -> None:
    """Write the last tick into the columns (2 n + 1,) of a drive message.

    Of joints: q_des, qd_des, tau_ff; of gains: kp, kd, 0; of the tick: its number, the stamp of the target in force [s]
    (0 without), how much of it was obeyed as it came (`Actuation.verbatim`).
    """
    drive, actuation = simulation.drive, simulation.actuation
    if drive is None:
        return
    n = len(drive.position)
    position[:n], velocity[:n], effort[:n] = drive.position, drive.velocity, drive.effort
    position[n:-1], velocity[n:-1] = drive.kp, drive.kd
    stamp = actuation.targets.stamp or 0.0
    position[-1], velocity[-1], effort[-1] = simulation.driven, stamp, actuation.verbatim(drive) if stamp else 0.0


def read_drive(position: Array, velocity: Array, effort: Array) -> tuple[Drive, int, float, int]:
    """Return drive, number of the tick, stamp of the target in force, and how much of it was obeyed as it came."""
    n = len(position) // 2
    drive = Drive(position[:n], velocity[:n], position[n:-1], velocity[n:-1], effort[:n])
    return drive, int(position[-1]), float(velocity[-1]), int(effort[-1])


def take_snapshot(simulation: Simulation, whole: bool, disturbed: bool) -> bytes:
    """Return the plant's memory before the next tick; `disturbed`: something else than ticks has been at it."""
    notes = {"tick": simulation.driven, "time": simulation.time, "offset": simulation.offset, "disturbed": disturbed}
    return snapshot(simulation.plant, whole, {**notes, "whole": whole})


def setup_text(description: str, parameters: Mapping[str, Any]) -> str:
    """Return the setup: versions, processor, the plant's parameters and the URDF, as JSON."""
    setup = {"versions": versions(), "processor": processor(), "parameters": parameters, "urdf": description}
    return json.dumps(setup, sort_keys=True)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that decide what the machine code is."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def processor() -> str:
    """Name the processor; which of two similar ones it is does not show."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), platform.machine())
    except OSError:
        return platform.processor() or platform.machine()


def due(simulation: Simulation) -> bool:
    """Whether it is time for a snapshot."""
    return simulation.driven % max(1, round(PERIOD / simulation.period)) == 0


def columns(n: int) -> tuple[Array, Array, Array]:
    """Return room for the columns of a drive message."""
    return np.zeros(2 * n + 1), np.zeros(2 * n + 1), np.zeros(2 * n + 1)
