# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tiles: as many plants as there are SIMD lanes, taken through time by one kernel, a lane each."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import LANES, Lanes, entry
from ..core.arrays import Array
from ..kernels import sensors
from ..kernels.lanes import aligned
from ..kernels.robot import Robot
from ..kernels.simulation import memory as at
from ..kernels.simulation import tiles
from ..kernels.simulation.ledger import FINE
from .plant import Plant

SHARED = frozenset(
    {"levels", "topology", "limbed", "memory", "seen", "free", "number", "place", "row", "clusters", "twins"}
)
"""Arrays that plants of one form have in common, or that a tile, which takes every robot as a tree, does not use."""
GIVEN = SHARED | {"parameters", "surfaces", "heights", "pushes", "now"}
"""Arrays that no step writes."""
SPELL = 256
"""Steps that are logged before the log is turned from lanes into plants."""
NO_LOG = aligned((0, 0, LANES))


def form(plant: Plant) -> Hashable:
    """What plants must agree in to share a tile: scheme, timestep, joints, sizes. One that stopped is alone."""
    robot, joints, ground, _, command = plant.bundles
    equal = robot.topology, joints.number, ground.row
    sizes = [np.shape(x) for bundle in plant.bundles for x in bundle if x is not command.now]
    return plant.settings, *(x.tobytes() for x in equal), *sizes, plant.explain() and id(plant)


def side_by_side(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Equal arrays of LANES plants, along a last dimension."""
    out = aligned((*arrays[0].shape, LANES), arrays[0].dtype)
    return np.stack(arrays, axis=-1, out=out)


def laid(bundles: Sequence[Any]) -> Any:
    """The bundle of tiles, of those of their plants."""
    first = bundles[0]
    stacked = first._make(
        arrays[0] if name in SHARED else Lanes(in_tiles(arrays))
        for name, *arrays in zip(first._fields, *bundles, strict=True)
    )
    return stacked._replace(levels=()) if isinstance(stacked, Robot) else stacked


def in_tiles(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Equal arrays of plants, by tiles along a first dimension and by lanes along a last one."""
    out = aligned((len(arrays) // LANES, *arrays[0].shape, LANES), arrays[0].dtype)
    for t, tile in enumerate(out):
        np.stack(arrays[t * LANES : (t + 1) * LANES], axis=-1, out=tile)
    return out


def laned(bundle: Any) -> Any:
    """Memory like that of a plant's bundle, for a tile."""
    return bundle._make(
        laned(x) if isinstance(x, tuple) else Lanes(aligned((*x.shape, LANES), x.dtype)) for x in bundle
    )


class Tiles:
    """Plants of one form, LANES to a tile, from where they are; `give_back` takes them to where the tiles are.

    A lane that stands for no plant, or for one that stopped, goes along as another plant of its tile does.
    """

    def __init__(self, plants: Sequence[Plant], numbers: Sequence[int] | None = None):
        """Lay them side by side; numbers: those that they have in a batch, for `command`."""
        self.plants = plants
        self.numbers = np.arange(len(plants)) if numbers is None else np.array(numbers)
        count = -(-len(plants) // LANES)
        own = np.minimum(np.arange(count * LANES), len(plants) - 1)
        self.source = own.reshape(count, LANES)
        self.live = aligned((count, LANES), np.int64)
        self.live.reshape(-1)[: len(plants)] = [plant.explain() is None for plant in plants]
        everyone = [plants[i].bundles for i in own]
        self._robot, self._joints, self._ground, self._state, self._command = map(laid, zip(*everyone, strict=True))
        self._settings = plants[0].settings
        self._status = aligned((count, 2, LANES), np.int64)
        self._own_memory = self.memory()
        first = plants[0]
        width = first.model.nq + first.model.nv + len(first.model.joint_names) + 3 * len(first.points)
        odd = count | 1  # rows that are a power of two apart would meet in the same lines of the cache
        self.out = aligned((width + tiles.MORE, odd, LANES))
        self.touch = aligned((len(first.points), tiles.TOUCH, odd, LANES))
        self._begin()

    def part(self, first: int, end: int) -> tuple[at.Plant, int, int]:
        """What a thread needs to `advance` these tiles."""
        return self.arguments(self.memory()), first, end

    def memory(self) -> Any:
        """Room for the coupled solve, which each thread needs for itself."""
        return laned(self.plants[0].problem)

    def arguments(self, memory: Any, commands: Array | None = None) -> at.Plant:
        """What kernels take as `plant`; commands (T, 5, n, LANES) of one tile, or None for those that are held."""
        command = self._command if commands is None else self._command._replace(now=Lanes(commands[None]))
        return at.Plant(self._robot, self._joints, self._ground, self._state, self._settings, command, memory)

    def run(self, plant: at.Plant, first: int, end: int, steps: int, log: Array = NO_LOG) -> int:
        """`kernels.simulation.tiles.run_tiles`."""
        arguments = plant, first, end, steps, log, self._status, self.live, self.out
        stopped: int = entry(tiles.run_tiles, arguments)(*arguments)
        return stopped

    def advance(self, plant: at.Plant, first: int, end: int, steps: int) -> None:
        """Take `steps` steps of tiles from `first` to the one before `end`, under the commands that are held."""
        while (t := self.run(plant, first, end, steps)) < end:
            left = steps - self.settle(t, self._command.now.each[t])
            while left > 0 and self.live[t].any() and self.run(plant, t, t + 1, left) == t:
                left -= self.settle(t, self._command.now.each[t])
            first = t + 1

    def settle(self, t: int, commands: Array) -> int:
        """Take out plants of tile t that stopped under commands (T, 5, n, LANES); how many steps the others took."""
        ended, taken = self._status[t]
        for lane in np.flatnonzero((self.live[t] > 0) & (ended != FINE)):
            plant = self.plants[self.source[t, lane]]
            self._give_back(t, int(lane), commands)
            plant.stopped(int(ended[lane]), commands[min(int(taken[lane]), len(commands) - 1), ..., lane])
            self.live[t, lane] = 0
            self._show(t, int(lane))
        self._fill(t)
        return int(taken[ended == FINE].max(initial=0))

    def _begin(self) -> None:
        """Find placements, and write the states as they are into `out`."""
        self.run(self.arguments(self._own_memory), 0, len(self.live), 0)
        for i in np.flatnonzero(self.live.reshape(-1)[: len(self.plants)] == 0):
            self._show(*divmod(int(i), LANES))

    def _show(self, t: int, lane: int) -> None:
        """Write the state of a plant that stopped into `out` and `touch`."""
        plant = self.plants[t * LANES + lane]
        contacts, state = plant.contacts, plant.bundles[3]
        motion = plant.q, plant.qd, plant.tau, contacts.force_world.ravel()
        self.out[:, t, lane] = np.concatenate(
            [*motion, state.base_rate, state.ledger, [float(state.counters[at.STEPS])]]
        )
        points = contacts.position, contacts.velocity, contacts.depth[:, None], contacts.deflection
        self.touch[..., t, lane] = np.concatenate(points, axis=1)

    def _fill(self, t: int) -> None:
        """Have lanes of tile t that stand for no plant go along with one that does."""
        living = np.flatnonzero(self.live[t])
        if not len(living):
            return
        model = living[0]
        for lane in np.flatnonzero(self.live[t] == 0):
            self.source[t, lane] = self.source[t, model]
            for bundle in self._bundles:
                for array in bundle:
                    if isinstance(array, Lanes):
                        array.each[t, ..., lane] = array.each[t, ..., model]

    @property
    def _bundles(self) -> tuple[Any, ...]:
        return self._robot, self._joints, self._ground, self._state, self._command

    def _give_back(self, t: int, lane: int, commands: Array) -> None:
        """Take a plant to where its lane is; it holds the last of commands (T, 5, n, LANES)."""
        plant = self.plants[self.source[t, lane]]
        for whole, bundle in zip(self._bundles, plant.bundles, strict=True):
            for name, laned in whole._asdict().items():
                if name not in GIVEN:
                    getattr(bundle, name)[...] = laned.each[t, ..., lane]
        plant.bundles[-1].pushes[...] = self._command.pushes.each[t, ..., lane]
        plant.bundles[-1].now[0] = commands[-1, ..., lane]
        plant.look()

    def give_back(self) -> None:
        """Take the plants to where the tiles are; those that stopped are there already."""
        for t, lane in np.argwhere(self.live > 0):
            self._give_back(t, lane, self._command.now.each[t])

    def command(self, figures: Sequence[Array]) -> int:
        """`kernels.sensors.take_commands`."""
        arguments = self._command.now.each, self.numbers[self.source], tuple(figures)
        wrong: int = entry(sensors.take_commands, arguments)(*arguments)
        return wrong

    def reset(self, which: NDArray[np.int64], q: Array, qd: Array, deflection: Array) -> None:
        """Have the plants with these numbers (m,) begin at q (m, nq), qd (m, nv), deflection (m, k, 2)."""
        t, lane = np.divmod(which, LANES)
        for i in which[self.live[t, lane] == 0]:
            self._lay(i)
        self._state.q.each[t, :, lane], self._state.qd.each[t, :, lane] = q, qd
        deflections = self._ground.points.each[:, :, at.DEFLECTION : at.DEFLECTION + 2]
        deflections[t, :, :, lane] = 0.0
        deflections[t, : deflection.shape[1], :, lane] = deflection
        wanted = np.zeros_like(self.live)
        wanted[t, lane] = 1
        arguments = self.arguments(self._own_memory), wanted, self.out
        entry(tiles.begin_tiles, arguments)(*arguments)

    def _lay(self, i: int) -> None:
        """Have plant i in its own lane again, from where it is."""
        t, lane = divmod(i, LANES)
        for whole, bundle in zip(self._bundles, self.plants[i].bundles, strict=True):
            for array, own in zip(whole, bundle, strict=True):
                if isinstance(array, Lanes):
                    array.each[t, ..., lane] = own
        self.source[t, lane], self.live[t, lane] = i, 1

    def locate(self) -> None:
        """Write where and how all points touch into `touch`."""
        arguments = self.arguments(self._own_memory), self.live, self.touch
        entry(tiles.locate_tiles, arguments)(*arguments)


class Tile(Tiles):
    """A single tile, under commands that change from step to step."""

    def follow(self, commands: Sequence[Array], logs: Sequence[Array]) -> NDArray[np.int64]:
        """Take a step for every row of the plants' logs (steps, width); plants that stop do not disturb the others.

        commands: of each plant (steps or 1, 5, n), as for `Plant.follow`. Returns how many steps each plant took; rows
        of its log behind its last step hold anything.
        """
        steps, width = logs[0].shape
        kept = aligned((min(SPELL, steps), width, LANES))
        taken, begin = np.zeros(len(logs), np.int64), 0
        while begin < steps and self.live.any():
            part = slice(begin, min(begin + SPELL, steps))
            living, count = np.flatnonzero(self.live[0]), part.stop - begin
            now = side_by_side(
                [(x if len(x) == 1 else x[part]) for x in (commands[i] for i in self.source[0].tolist())]
            )
            self.run(self.arguments(self._own_memory, now), 0, 1, count, kept[:count])
            taken[living] += self._status[0, tiles.TAKEN, living]
            for lane in living:
                logs[int(lane)][part] = kept[:count, :, lane]
            if self._status[0, tiles.ENDED].any():
                count = self.settle(0, now)
            begin += count
            self._command.now.each[0, 0] = now[-1]
        return taken
