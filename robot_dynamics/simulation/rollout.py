# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts: many plants through the same time, on all cores, for Monte-Carlo studies, identification and planning."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import LANES
from ..contact.checks import check_range
from ..core.arrays import Array
from ..core.checks import checked
from ..core.cores import count_cores, in_threads
from ..errors import DivergedError, ParameterError, ShapeError
from .batch import expect_alike, shared_out
from .plant import Plant
from .tile import Tiles, form

FEWEST = 3
"""So many plants of one form at least share a tile, which takes as long as three alone."""
MOST = 64
"""So many plants are laid side by side at a time: a thread needs 20 kB or more for each."""
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
    if threads is not None:
        check_range("threads", threads, 1)
    first = plants[0]
    model, n, points = first.model, len(first.model.joint_names), len(first.points) if forces else 0
    figures = _figures((q_des, qd_des, kp, kd, tau), (len(plants), steps, n))
    log = np.empty((len(plants), steps, model.nq + model.nv + n + 3 * points))
    taken = np.zeros(len(plants), np.int64)
    together, alone = _together(plants)
    workers = count_cores() if threads is None else threads
    laid = (Laid(plants, numbers, figures, log) for numbers in _laid_at_once(together, workers))
    jobs: Iterator[Callable[[], None]] = chain(
        chain.from_iterable(_shares(x, workers, taken) for x in laid),
        (partial(_follow_alone, plants[i], _commands(figures, i), i, log, taken) for i in alone),
    )
    in_threads(jobs, min(workers, len(alone) + sum(-(-len(numbers) // LANES) for numbers in together)))
    stopped = np.flatnonzero(taken < steps).tolist()
    for i in stopped:
        log[i, taken[i] :] = _last(plants[i], log.shape[2])
    ends = list(accumulate((model.nq, model.nv, n, 3 * points), initial=0))
    q, qd, efforts, force = (log[..., begin:end] for begin, end in pairwise(ends))
    return Rollout(
        time=first.params.timestep * np.arange(1.0, steps + 1.0),
        q=q,
        qd=qd,
        tau=efforts,
        force_world=force.reshape(len(plants), steps, points, 3) if forces else None,
        steps=taken,
        diverged={i: str(plants[i].stopped_error()) for i in stopped},
    )


def _together(plants: Sequence[Plant]) -> tuple[list[list[int]], list[int]]:
    """Plants of one form that share tiles, and those that are too few for one."""
    forms: dict[Hashable, list[int]] = {}
    for i, plant in enumerate(plants):
        forms.setdefault(form(plant), []).append(i)
    together, alone = [], []
    for same in forms.values():
        rest = len(same) % LANES
        count = len(same) - (rest if rest < FEWEST else 0)
        together += [same[:count]] if count else []
        alone += same[count:]
    return together, alone


def _laid_at_once(together: Sequence[list[int]], workers: int) -> list[list[int]]:
    """Parts of plants of one form that are laid side by side at a time, the largest first."""
    most = MOST * workers
    parts = [numbers[begin : begin + most] for numbers in together for begin in range(0, len(numbers), most)]
    return sorted(parts, key=len, reverse=True)


class Laid:
    """Plants of one form, laid side by side, with their numbers, their rows of figures and log."""

    def __init__(self, plants: Sequence[Plant], numbers: list[int], figures: list[Array] | None, log: Array):
        """Lay those plants that have these numbers."""
        self.numbers, self._log = numbers, log
        self._apart = numbers[-1] - numbers[0] + 1 > len(numbers)
        which: Any = np.array(numbers) if self._apart else slice(numbers[0], numbers[-1] + 1)
        self.figures = None if figures is None else [x[which] for x in figures]
        self.rows = log[which]
        self.tiles = Tiles([plants[i] for i in numbers])

    def own(self, first: int, end: int) -> list[int]:
        """Numbers of the plants of these tiles."""
        return self.numbers[first * LANES : end * LANES]

    def give_back(self, first: int, end: int) -> None:
        """Take the plants of these tiles to where they are, and their rows into the log."""
        self.tiles.give_back(first, end)
        if self._apart:
            self._log[self.own(first, end)] = self.rows[first * LANES : end * LANES]


def _shares(laid: Laid, workers: int, taken: NDArray[np.int64]) -> Iterator[Callable[[], None]]:
    """What threads do of plants that are laid: as many tiles for one as for another."""
    for share in shared_out([len(laid.tiles.live)], workers):
        for _, first, end in share:
            yield partial(_follow, laid, first, end, taken)


def _follow(laid: Laid, first: int, end: int, taken: NDArray[np.int64]) -> None:
    """Take the plants of tiles from `first` to the one before `end` through all steps."""
    mine = laid.own(first, end)
    taken[mine] = laid.tiles.follow(first, end, laid.figures, laid.rows, laid.tiles.workspace()).ravel()[: len(mine)]
    laid.give_back(first, end)


def _follow_alone(plant: Plant, commands: Array | None, i: int, log: Array, taken: NDArray[np.int64]) -> None:
    """Take one plant through all steps."""
    begin, h = plant.time, plant.params.timestep
    taken[i] = log.shape[1]
    try:
        plant.follow(commands, log[i])
    except DivergedError:
        taken[i] = round((plant.time - begin) / h)


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
