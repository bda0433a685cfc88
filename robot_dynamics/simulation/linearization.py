# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Perturbed copies of one plant, a SIMD lane each: what `Plant.linearize` compares."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import LANES, Lanes, entry
from ..core.arrays import Array
from ..kernels.lanes import aligned
from ..kernels.simulation import linearization, memory
from .block import system_apart

WRITTEN = frozenset(
    {
        *("memory", "w", "f_ext", "factor", "data", "dofs", "configurations", "points", "gaps"),
        *("now", "queue", "acting"),
        *memory.State._fields,
    }
)
"""Arrays that steps, or the perturbation, write: every lane has its own."""
EFFORT = 4
"""Row of a command: effort that joins the feedback."""
TOLERANCE = 1e-13
"""Of the contact solver [m/s]: what it leaves is divided by the perturbation."""


def lanes_like(x: NDArray[Any]) -> Lanes:
    """Zeros like x for every lane."""
    return Lanes(aligned((*x.shape, LANES), x.dtype))


def with_lanes(bundle: Any) -> Any:
    """The bundle with lanes for all that is written in it."""
    return bundle._make(lanes_like(x) if name in WRITTEN else x for name, x in bundle._asdict().items())


class PerturbedPlants:
    """Memory of LANES copies of one plant, which read where it stands what no step writes."""

    def __init__(self, bundles: Sequence[Any], settings: memory.Settings, problem: memory.Problem):
        """Copies of the plant with these bundles: robot, joints, ground, state, command."""
        _, joints, ground, state, command = bundles
        robot, *tables = map(with_lanes, bundles)
        laned_joints, laned_ground, laned_state, laned_command = tables
        system = problem.system
        solve = *map(lanes_like, problem[:-2]), system_apart(system)
        work = tuple(map(lanes_like, system.work))
        equations = system.model, system.h, *map(lanes_like, system[2:-1])
        exact = settings._replace(tolerance=min(settings.tolerance, TOLERANCE), motion_only=True)
        parts = robot, laned_joints, laned_ground, laned_state, exact, laned_command
        flat = (
            (joints.data, laned_joints.data),
            (ground.points, laned_ground.points),
            (command.queue, laned_command.queue),
            (command.now, laned_command.now),
            (joints.dofs, laned_joints.dofs),
            (ground.gaps, laned_ground.gaps),
        )
        pairs = ((x.reshape(-1), laned.each.reshape(-1)) for x, laned in flat)
        self._carried = (state.counters, laned_state.counters.each), *pairs
        self._plant = *map(tuple, parts), solve, equations, work
        self._lanes = laned_state.q.each, laned_state.qd.each, laned_command.now.each[0, EFFORT]
        self._log, self._status = aligned((0, 0, LANES)), aligned((1, LANES), np.int64)
        self._topology, self._start = bundles[0].topology, (state.q, state.qd, command.now[0, EFFORT])
        count = 2 * (2 * len(state.qd) + command.now.shape[2])
        self._rows = tuple(np.empty((-(-count // LANES) * LANES, len(x))) for x in self._start)
        arguments = self._plant, self._carried, (self._rows, self._lanes), 1, self._log, self._status
        self._take = entry(linearization.take_perturbed, arguments, robot.levels)

    def slopes(self, eps: float, steps: int) -> tuple[Array, Array] | int:
        """A, B of `Plant.linearize`, or why one of the copies stopped."""
        n, m = len(self._start[1]), len(self._start[2])
        linearization.starts(self._topology, *self._start, eps, self._rows)
        moved = self._rows, self._lanes
        if status := self._take(self._plant, self._carried, moved, steps, self._log, self._status):
            return int(status)
        A, B = np.empty((2 * n, 2 * n)), np.empty((2 * n, m))
        linearization.slopes(self._topology, *self._rows[:2], eps, A, B)
        return A, B
