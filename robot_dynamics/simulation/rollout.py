# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts: many plants through the same time, on all cores, for Monte-Carlo studies, identification and planning."""

from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import LANES
from ..contact.checks import check_range
from ..core.arrays import Array
from ..core.checks import checked
from ..core.cores import count_cores
from ..errors import DivergedError, ParameterError, ShapeError
from .batch import expect_alike
from .plant import Plant
from .tile import Tile, form

FEWEST = 3
"""So many plants of one form at least share a tile, which takes as long as three alone."""
FIGURES = ("q_des", "qd_des", "kp", "kd", "tau")
"""What a command holds, in the order of its rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """Motion of N plants over T steps; entry t is the end of step t.

    time (T,) [s] since the beginning of the rollout; q (N, T, nq), qd (N, T, nv); tau (N, T, n) applied joint efforts
    [N m, N]; force_world (N, T, k, 3) of the ground on each point [N], or None if it was not asked for. steps (N,): how
    many each plant took. diverged: the plants that took fewer, with the reason; their further entries repeat the last.
    """

    time: Array
    q: Array
    qd: Array
    tau: Array
    force_world: Array | None
    steps: NDArray[np.int64]
    diverged: Mapping[int, str]


def rollout_batch(
    plants: Sequence[Plant],
    duration: float,
    *,
    tau: ArrayLike | None = None,
    q_des: ArrayLike | None = None,
    qd_des: ArrayLike | None = None,
    kp: ArrayLike | None = None,
    kd: ArrayLike | None = None,
    forces: bool = False,
    threads: int | None = None,
) -> Rollout:
    """Answer how N plants move in `duration` [s] from their present states, each with its own parameters and terrain.

    Plants of one form (joints, number of points and surfaces, timestep, scheme, delay) go together, one per SIMD lane;
    their figures, friction and inertias among them, may differ. Every plant does what it would do alone, to rounding,
    and to the last bit the same on however many `threads` (default: one per core); it is then in its last state.
    Commands are those of `Plant.command` and `Plant.track`, tau joining the feedback; each is an array that broadcasts
    to (N, T, n): one number, (n,), a stream (T, n) for all plants, (N, 1, n) held by each, or all (N, T, n). Figures
    left out are 0; without any figure the plants keep the commands they have.

    Returns
    -------
    Rollout
        q (N, T, nq), qd (N, T, nv), tau (N, T, n) and, with `forces`, force_world (N, T, k, 3). A plant that diverges
        is named in `diverged`, keeps its last good state and does not disturb the others.

    Raises
    ------
    ParameterError
        No plant, one plant twice, plants of different sizes or timesteps, a negative gain, q_des without kp.
    ShapeError
        A command that does not broadcast, or is not finite.
    """
    steps = _check(plants, duration, forces)
    check_range("threads", 1 if threads is None else threads, 1)
    first = plants[0]
    model, n, points = first.model, len(first.model.joint_names), len(first.points) if forces else 0
    figures = _figures((q_des, qd_des, kp, kd, tau), (len(plants), steps, n))
    log = np.empty((len(plants), steps, model.nq + model.nv + n + 3 * points))
    runs = [_Run(plant, _commands(figures, i), log[i]) for i, plant in enumerate(plants)]
    laying = Lock()
    with ThreadPoolExecutor(count_cores() if threads is None else threads) as pool:
        list(pool.map(lambda tile: _follow(tile, laying), _tiles(runs)))
    q, qd, efforts, force = np.split(log, np.cumsum([model.nq, model.nv, n]), axis=2)
    return Rollout(
        time=first.params.timestep * np.arange(1.0, steps + 1.0),
        q=q,
        qd=qd,
        tau=efforts,
        force_world=force.reshape(len(plants), steps, points, 3) if forces else None,
        steps=np.array([run.taken for run in runs]),
        diverged={i: run.problem for i, run in enumerate(runs) if run.problem},
    )


@dataclass
class _Run:
    """A plant on its way: commands (T or 1, 5, n) or None, its log (T, width), steps taken, why it stopped."""

    plant: Plant
    commands: Array | None
    log: Array
    taken: int = 0
    problem: str = ""

    def given(self) -> Array:
        """Commands of all steps, or the one that the plant holds."""
        held: Array = self.plant.bundles[-1].now if self.commands is None else self.commands
        return held

    def stop(self, problem: str) -> None:
        """Stay where the plant is."""
        self.problem = problem
        width = self.log.shape[1]
        self.log[self.taken :] = _last(self.plant, width)


def _tiles(runs: Sequence[_Run]) -> list[list[_Run]]:
    """Runs that share a tile."""
    forms: dict[Hashable, list[_Run]] = {}
    for run in runs:
        forms.setdefault(form(run.plant), []).append(run)
    return [same[i : i + LANES] for same in forms.values() for i in range(0, len(same), LANES)]


def _follow(runs: list[_Run], laying: Lock) -> None:
    """Take plants of one form through all their steps; the others go on when one stops.

    Two threads that lay their tiles at once would pass the interpreter to and fro at every array: `laying` is for one.
    """
    if len(runs) < FEWEST:
        for run in runs:
            _follow_alone(run)
        return
    with laying:
        tile = Tile([run.plant for run in runs])
    taken = tile.follow([run.given() for run in runs], [run.log for run in runs])
    tile.give_back()
    for run, count in zip(runs, taken, strict=True):
        run.taken = int(count)
        if run.plant.explain() is not None:
            run.stop(str(run.plant.stopped_error()))


def _follow_alone(run: _Run) -> None:
    """Take one plant through all steps."""
    begin, h = run.plant.time, run.plant.params.timestep
    try:
        run.plant.follow(run.commands, run.log)
    except DivergedError as error:
        run.taken = round((run.plant.time - begin) / h)
        run.stop(str(error))
    else:
        run.taken = len(run.log)


def _check(plants: Sequence[Plant], duration: float, forces: bool) -> int:
    """Number of steps in `duration`. Raises ParameterError if the plants cannot share arrays or time."""
    expect_alike(plants, points=forces)
    h = plants[0].params.timestep
    check_range("duration", duration, h)
    return round(duration / h)


def _figures(given: Sequence[ArrayLike | None], shape: tuple[int, int, int]) -> list[Array] | None:
    """The five figures of a command as views (N, T or 1, n), or None if none is given."""
    if all(figure is None for figure in given):
        return None
    if (given[0] is None) != (given[2] is None):
        raise ParameterError("q_des and kp go together, got one without the other")
    return [_spread(name, 0.0 if x is None else x, shape) for name, x in zip(FIGURES, given, strict=True)]


def _spread(name: str, figure: ArrayLike, shape: tuple[int, int, int]) -> Array:
    """`figure` as (N, T, n), or (N, 1, n) if it does not change with time. Raises ShapeError, ParameterError."""
    try:
        x = np.atleast_1d(np.asarray(figure, dtype=float))
        wide = np.broadcast_to(x, shape)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must broadcast to (N, T, n) = {shape}: {error}") from None
    checked(name, x, x.shape)
    if name in ("kp", "kd") and x.size:
        check_range(name, x, 0.0)
    changes = x.ndim > 1 and x.shape[-2] > 1
    return wide if changes else wide[:, :1]


def _commands(figures: list[Array] | None, i: int) -> Array | None:
    """Commands (T or 1, 5, n) of plant i, or None to keep those it has."""
    if figures is None:
        return None
    steps = max(figure.shape[1] for figure in figures)
    return np.stack([np.broadcast_to(figure[i], (steps, figure.shape[2])) for figure in figures], axis=1)


def _last(plant: Plant, width: int) -> Array:
    """State of a plant as a row of its log."""
    state = np.concatenate([plant.q, plant.qd, plant.tau])
    return state if len(state) == width else np.concatenate([state, plant.contacts.force_world.ravel()])
