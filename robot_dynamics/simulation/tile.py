# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tiles: as many plants as there are SIMD lanes, taken through time by one kernel, a lane each."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import LANES, Apart, Lanes, Tiled, entry
from ..core.arrays import Array
from ..errors import ParameterError
from ..kernels.lanes import aligned, aligned_together
from ..kernels.robot import Robot, see
from ..kernels.simulation import memory as at
from ..kernels.simulation import tiles
from ..kernels.simulation.commands import Commands
from ..kernels.simulation.ledger import FINE
from ..kernels.turns import Member
from .block import blocks_of, bundles_in, lay, lay_one, system_apart
from .plant import Plant
from .team import NO_TEAM

STREAM = 256
"""Steps whose commands are laid side by side at once."""
SCRATCH = "memory", "w", "factor", "f_ext"
"""Arrays of a robot that follow from its state."""
BUNDLES = "_robot", "_joints", "_ground", "_state", "_command"
"""Attributes that are found anew."""
NO_LOG = Apart(np.zeros((LANES, 1, 0, 0)))
"""Log of `run_tiles` where nothing is logged."""
NO_COMMANDS = Commands(
    np.zeros((5, 0)), np.zeros((5, 2), np.int64), np.zeros(0, np.int64), np.zeros((0, LANES), np.int64)
)
"""Of robots that hold the command they have."""


def rows_apart(log: Array) -> Apart:
    """Log (plants, T, width) of whole tiles: a lane's array begins with its plant of the first tile."""
    (apart, *inner), count = log.strides, len(log) - LANES + 1
    return Apart(np.ndarray((LANES, count, *log.shape[1:]), log.dtype, log, 0, (apart, apart, *inner)))


def form(plant: Plant) -> Hashable:
    """What plants must agree in to share a tile. One that stopped is alone."""
    return plant.form, plant.explain() and id(plant)


def _change(figures: Sequence[Array] | None) -> bool:
    """Whether commands, each figure (plants, T or 1, n), change from step to step."""
    return figures is not None and any(x.shape[1] > 1 for x in figures)


class Workspace(NamedTuple):
    """Memory of a thread, for one tile after the other: arrays of the robot, and the coupled solve."""

    robot: Mapping[str, Lanes]
    problem: at.Problem


def workspace_of(robot: Robot, problem: Any) -> Workspace:
    """Room for a tile of such plants."""
    paths, system, work = problem[:-2], problem.system, problem.system.work
    scratch = [getattr(robot, name) for name in SCRATCH]
    like = [((*x.shape, LANES), x.dtype) for x in (*scratch, *paths, *system[2:-1], *work)]
    laned = map(Lanes, aligned_together(like, made=np.empty))
    of_robot = {name: next(laned) for name in SCRATCH}
    solve = [next(laned) for _ in paths]
    equations = [next(laned) for _ in system[2:-1]]
    system = system._make((*system[:2], *equations, work._make(laned)))
    return Workspace(of_robot, problem._make((*solve, system_apart(problem.system), system)))


class Tiles:
    """Plants of one form, LANES to a tile, from where they are; `give_back` takes them to where the tiles are.

    A lane that stands for no plant, or for one that stopped, goes along as another plant of its tile does.
    """

    def __init__(self, plants: Sequence[Plant], numbers: Sequence[int] | None = None):
        """Lay them side by side; numbers: those that they have in a batch, for its commands."""
        self.plants = plants
        self.numbers = np.arange(len(plants)) if numbers is None else np.array(numbers)
        first, count = plants[0], -(-len(plants) // LANES)
        own = [min(i, len(plants) - 1) for i in range(count * LANES)]
        self.source = np.array(own).reshape(count, LANES)
        sources = [plants[i] for i in own]
        self._layout, self._settings = first.layout, first.settings
        self._laid = lay(self._layout, [plant.bundles for plant in sources], [plant.block for plant in sources])
        self._seen = first.bundles[0].seen.copy()
        see(self._seen, set().union(*(plant.bundles[0].seen.tolist() for plant in plants)))
        self._bind()
        width = first.model.nq + first.model.nv + len(first.model.joint_names) + 3 * len(first.points)
        odd = count | 1  # rows that are a power of two apart would meet in the same lines of the cache
        out, touch = (width + tiles.MORE, odd, LANES), (len(first.points), tiles.TOUCH, odd, LANES)
        status, live = ((count, 2, LANES), np.int64), ((count, LANES), np.int64)
        results = aligned_together([status, live, (out, np.float64), (touch, np.float64)])
        self._status, self.live, self.out, self.touch = results
        self.live.reshape(-1)[: len(plants)] = [plant.explain() is None for plant in plants]

    def _bind(self) -> None:
        """Find the arrays in the tiles' memory."""
        bundles = bundles_in(self._laid, self._layout, self.plants[0].bundles)
        robot, self._joints, self._ground, self._state, self._command = bundles
        self._robot = robot._replace(seen=self._seen)

    def __getstate__(self) -> dict[str, Any]:
        """All but the arrays, which a copy finds in its own memory."""
        return {name: value for name, value in vars(self).items() if name not in BUNDLES}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on as the tiles that these are a copy of. Raises ParameterError on a processor with other registers."""
        if (lanes := state["_laid"].shape[-1]) != LANES:
            raise ParameterError(f"tiles of {lanes} plants cannot go on here: this processor takes {LANES} abreast")
        vars(self).update(state)
        self._bind()

    def commanded(self, figures: Array, sizes: NDArray[np.int64]) -> Commands:
        """How these tiles take figures of such sizes."""
        return Commands(figures, sizes, self.numbers, self.source)

    def workspace(self) -> Workspace:
        """Room that each thread needs for itself."""
        return workspace_of(self._robot, self.plants[0].problem)

    def arguments(self, workspace: Workspace, commands: Array | None = None) -> at.Plant:
        """What kernels take as `plant`; commands (T, 5, n, LANES) of one tile, or None for those that are held."""
        robot = self._robot._replace(**workspace.robot)
        command = self._command if commands is None else self._command._replace(now=Tiled(commands[None]))
        tables = self._joints, self._ground, self._state, self._settings, command
        return at.Plant(robot, *tables, workspace.problem)

    def run(
        self,
        plant: at.Plant,
        first: int,
        end: int,
        steps: int,
        commands: Commands = NO_COMMANDS,
        log: Apart = NO_LOG,
        member: Member = NO_TEAM,
    ) -> int:
        """`kernels.simulation.tiles.run_tiles`."""
        arguments = plant, first, end, steps, commands, (self._status, self.live, self.out), log, member
        stopped: int = entry(tiles.run_tiles, arguments, self._robot.levels)(*arguments)
        return stopped

    def go_on(self, plant: at.Plant, t: int, end: int, steps: int, commands: Commands) -> None:
        """Take what is left of `steps` steps after a run to tile t, of which a plant stopped, or to `end`."""
        while t < end:
            left = steps - self.settle(t, self._command.now.each[t])
            while left > 0 and self.live[t].any() and self.run(plant, t, t + 1, left) == t:
                left -= self.settle(t, self._command.now.each[t])
            t = self.run(plant, t + 1, end, steps, commands)

    def follow(
        self, first: int, end: int, figures: Sequence[Array] | None, log: Array, workspace: Workspace
    ) -> NDArray[np.int64]:
        """Take a step of tiles from `first` to the one before `end` for every row of the log (plants, T, width).

        figures: [q_des, qd_des, kp, kd, tau], each (plants, T or 1, n), or None for the commands that are held.
        workspace: the thread's own. Returns how many steps each lane took (tiles, LANES); who stops does not disturb
        the others. Rows of the log behind a last step hold anything.
        """
        whole = first if _change(figures) else min(end, len(log) // LANES)
        living = self.live[first:end].copy()
        taken = living * log.shape[1]
        if figures is not None:
            for t in range(first, whole):
                self._command.now.each[t] = self._commands(figures, t, 0, 1)
        plant, t = self.arguments(workspace), first
        while t < whole:
            rows = rows_apart(log[t * LANES : whole * LANES])
            if (t := self.run(plant, t, whole, log.shape[1], log=rows)) < whole:
                taken[t - first] = living[t - first] * self._status[t, tiles.TAKEN]
                begin = self.settle(t, self._command.now.each[t])
                self._follow_one(t, figures, log, begin, taken[t - first], workspace)
                t += 1
        for t in range(whole, end):
            taken[t - first] = 0
            self._follow_one(t, figures, log, 0, taken[t - first], workspace)
        return taken

    def _follow_one(
        self,
        t: int,
        figures: Sequence[Array] | None,
        log: Array,
        begin: int,
        taken: NDArray[np.int64],
        workspace: Workspace,
    ) -> None:
        """Take tile t through the steps from `begin` on, as `follow`; adds to `taken` what each lane took."""
        mine = log[t * LANES : (t + 1) * LANES]
        rows = mine if len(mine) == LANES else np.empty((LANES, *mine.shape[1:]))
        steps = rows.shape[1]
        while begin < steps and self.live[t].any():
            count = min(STREAM if _change(figures) else steps, steps - begin)
            now = self._command.now.each[t] if figures is None else self._commands(figures, t, begin, begin + count)
            living, plant = self.live[t].copy(), self.arguments(workspace, now)
            stopped = self.run(plant, t, t + 1, count, log=Apart(rows[:, None, begin:])) == t
            taken += living * self._status[t, tiles.TAKEN]
            begin += self.settle(t, now) if stopped else count
            self._command.now.each[t, 0] = now[-1]
        if rows is not mine:
            mine[:] = rows[: len(mine)]

    def _commands(self, figures: Sequence[Array], t: int, begin: int, end: int) -> Array:
        """Commands (T or 1, 5, n, LANES) of tile t from step `begin` to the one before `end`."""
        rows = [x[self.source[t], begin:end] if x.shape[1] > 1 else x[self.source[t]] for x in figures]
        now = aligned((max(x.shape[1] for x in rows), len(rows), rows[0].shape[2], LANES))
        for i, x in enumerate(rows):
            now[:, i] = np.moveaxis(x, 0, -1)
        return now

    def settle(self, t: int, commands: Array) -> int:
        """Take out plants of tile t that stopped under commands (T, 5, n, LANES); how many steps the others took."""
        ended, taken = self._status[t]
        blocks = blocks_of(self._laid[t], self._layout)
        for lane in np.flatnonzero((self.live[t] > 0) & (ended != FINE)):
            plant = self.plants[self.source[t, lane]]
            plant.move(blocks[lane])
            plant.bundles[-1].now[0] = commands[-1, ..., lane]
            plant.stopped(int(ended[lane]), commands[min(int(taken[lane]), len(commands) - 1), ..., lane])
            self.live[t, lane] = 0
            self._show(t, int(lane))
        self._fill(t)
        return int(taken[ended == FINE].max(initial=0))

    def begin(self, plant: at.Plant, first: int, end: int) -> None:
        """Write the states of tiles from `first` to the one before `end`, as they are, into `out`."""
        self.run(plant, first, end, 0)
        for i, own in enumerate(self.plants[first * LANES : end * LANES], first * LANES):
            if own.explain() is not None:
                self._show(*divmod(i, LANES))

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
            self._laid[t, :, lane] = self._laid[t, :, model]

    def give_back(self, first: int = 0, end: int | None = None) -> None:
        """Take plants of tiles from `first` on to where these are; those that stopped are there already."""
        live = self.live[first:end].ravel().tolist()
        blocks = blocks_of(self._laid[first:end], self._layout).reshape(len(live), -1)
        for i in compress(range(len(live)), live):
            self.plants[first * LANES + i].move(blocks[i])

    def reset(self, plant: at.Plant, which: NDArray[np.int64], q: Array, qd: Array, deflection: Array) -> None:
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
        arguments = plant, wanted, self.out
        entry(tiles.begin_tiles, arguments, self._robot.levels)(*arguments)

    def _lay(self, i: int) -> None:
        """Have plant i in its own lane again, from where it is."""
        t, lane = divmod(i, LANES)
        lay_one(self._layout, self.plants[i].bundles, self.plants[i].block, self._laid[t, :, lane])
        see(self._seen, self.plants[i].bundles[0].seen.tolist())
        self.source[t, lane], self.live[t, lane] = i, 1

    def locate(self, plant: at.Plant) -> None:
        """Write where and how all points touch into `touch`."""
        arguments = plant, self.live, self.touch
        entry(tiles.locate_tiles, arguments, self._robot.levels)(*arguments)
