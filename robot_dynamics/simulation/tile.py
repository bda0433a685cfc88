# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A tile: as many plants as there are SIMD lanes, taken through time by one kernel, a lane each."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import LANES, Lanes, entry
from ..core.arrays import Array
from ..kernels.lanes import aligned
from ..kernels.robot import Robot
from ..kernels.simulation import memory as at
from ..kernels.simulation import run
from .plant import Plant

SHARED = frozenset(
    {"levels", "topology", "limbed", "memory", "seen", "free", "number", "place", "row", "clusters", "twins"}
)
"""Arrays that plants of one form have in common, or that a tile, which takes every robot as a tree, does not use."""
GIVEN = SHARED | {"parameters", "surfaces", "heights", "pushes", "now"}
"""Arrays that no step writes."""
SPELL = 256
"""Steps that are logged before the log is turned from lanes into plants."""


def form(plant: Plant) -> Hashable:
    """What plants must agree in to share a tile: scheme, timestep, joints, sizes. One that stopped is alone."""
    robot, joints, ground, _, command = plant.bundles
    equal = robot.topology, joints.number, ground.row
    sizes = [np.shape(x) for bundle in plant.bundles for x in bundle if x is not command.now]
    return plant.settings, *(x.tobytes() for x in equal), *sizes, plant.explain() and id(plant)


def side_by_side(arrays: Sequence[NDArray[Any]]) -> Lanes:
    """Equal arrays of LANES plants, along a last dimension."""
    out = aligned((*arrays[0].shape, LANES), arrays[0].dtype)
    np.stack(arrays, axis=-1, out=out)
    return Lanes(out)


def laid(bundles: Sequence[Any]) -> Any:
    """The bundle of a tile, of those of its plants."""
    first = bundles[0]
    stacked = first._make(
        arrays[0] if name in SHARED else side_by_side(arrays)
        for name, *arrays in zip(first._fields, *bundles, strict=True)
    )
    return stacked._replace(levels=()) if isinstance(stacked, Robot) else stacked


def room(bundle: Any) -> tuple[Any, ...]:
    """Memory like a plant's, for a tile."""
    return tuple(room(x) if isinstance(x, tuple) else Lanes(aligned((*x.shape, LANES), x.dtype)) for x in bundle)


class Tile:
    """Plants of one form, at most LANES, from where they are; `give_back` takes them to where the tile is."""

    def __init__(self, plants: Sequence[Plant]):
        """Lay them side by side; lanes that are left over do as the last plant."""
        self.plants = plants
        self._spare = LANES - len(plants)
        everyone = [plant.bundles for plant in self._filled(plants)]
        self._robot, self._joints, self._ground, self._state, self._command = map(laid, zip(*everyone, strict=True))
        *problem, work = room(plants[0].problem)
        self._memory = tuple(problem), work
        self._settings = tuple(plants[0].settings)
        self._status = aligned((1, LANES), np.int64)
        self._take_steps = entry(run.run_lanes, self._arguments(0, aligned((0, 0, LANES))))

    def _filled(self, several: Sequence[Any]) -> list[Any]:
        """Something of each plant, and for the lanes that are left over that of the last one."""
        return [*several, *[several[-1]] * self._spare]

    def _arguments(self, steps: int, log: Array) -> tuple[Any, ...]:
        tables = map(tuple, (self._robot, self._joints, self._ground, self._state))
        plant = *tables, self._settings, tuple(self._command), *self._memory
        return plant, steps, Lanes(log), Lanes(self._status)

    def follow(self, commands: Sequence[Array], logs: Sequence[Array]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Take a step for every row of the plants' logs (steps, width), until one of them stops.

        commands: of each plant (steps or 1, 5, n), as for `Plant.follow`. Returns how many steps each plant took, and
        what it ended with, FINE or why it stopped; rows of its log behind its last step hold anything.
        """
        steps, width = logs[0].shape
        kept = aligned((min(SPELL, steps), width, LANES))
        counted = self._state.counters.each[at.STEPS]
        before = counted.copy()
        for begin in range(0, steps, SPELL):
            part = slice(begin, min(begin + SPELL, steps))
            count = part.stop - begin
            now = [x if len(x) == 1 else x[part] for x in commands]
            self._command = self._command._replace(now=side_by_side(self._filled(now)))
            self._take_steps(*self._arguments(count, kept[:count]))
            for lane, log in enumerate(logs):
                log[part] = kept[:count, :, lane]
            if self._status.any():
                break
        own = slice(len(self.plants))
        return (counted - before)[own], self._status[0, own]

    def give_back(self) -> None:
        """Take the plants to where the tile is; each holds its last command."""
        mine = self._robot, self._joints, self._ground, self._state, self._command
        for lane, plant in enumerate(self.plants):
            for whole, bundle in zip(mine, plant.bundles, strict=True):
                for name, laned in whole._asdict().items():
                    if name not in GIVEN:
                        getattr(bundle, name)[...] = laned.each[..., lane]
            plant.bundles[-1].now[0] = self._command.now.each[-1, ..., lane]
            plant.look()
