# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""PlantBatch: many plants that stay side by side from one control tick to the next, for learning, planning and fits."""

from collections.abc import Hashable, Mapping, Sequence
from copy import deepcopy
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import entry
from ..contact.checks import check_range
from ..core.arrays import Array
from ..core.checks import checked
from ..core.cores import count_cores
from ..dynamics.kinematics import neutral
from ..errors import ParameterError, ShapeError
from ..kernels.simulation import memory as at
from ..kernels.simulation import tiles
from ..kernels.simulation.commands import note_commands
from ..kernels.turns import Member
from .divergence import Divergence
from .plant import COMMANDED, Contacts, Energy, Measurement, Plant, energies, normalised, readings
from .team import Team
from .tile import Tiles, form

MOST_STEPS = 2**53
"""So many steps at once, and fewer, are told apart in double precision."""
NO_FIGURES = (np.zeros((1, 1)),) * 5
"""Figures of a command, of which none is given."""
OF_THREADS = ("_team", "_arguments", "_commands", "_rows", "_points", "_views")
"""What a copy of a batch makes for itself."""


class PlantBatch:
    """N plants that are stepped together, from where they are: tiles of SIMD lanes, shared out to threads that stay.

    Each plant has its own inertias, parameters, terrain, delay and noise; all have the same joints, timestep and count
    of contact points. Plants of one form share tiles, as in `rollout_batch`: every plant does what it would do alone,
    to rounding, and to the last bit the same on however many threads. A plant that diverges stays at its last good
    state, is named in `diverged` and does not disturb the others.

    Arrays (N, ...) are views of memory that the next `step` or `reset` overwrites: copy what is to be kept. The plants
    themselves stay where they were until `write_back`. A copy, or what a pickle brings back, goes on by itself with
    plants of its own.
    """

    def __init__(self, plants: Sequence[Plant], threads: int | None = None):
        """Lay the plants side by side, for so many threads (default: one per core).

        Raises
        ------
        ParameterError
            No plant, one plant twice, plants that differ in joints, timestep or count of contact points.
        """
        expect_alike(plants, points=True)
        check_range("threads", 1 if threads is None else threads, 1)
        self.plants = tuple(plants)
        self._threads = count_cores() if threads is None else threads
        forms: dict[Hashable, list[int]] = {}
        for i, plant in enumerate(plants):
            forms.setdefault(form(plant), []).append(i)
        self._groups = [Tiles([plants[i] for i in numbers], numbers) for numbers in forms.values()]
        self._bind()
        for group, laned in self._arguments:
            group.begin(laned, 0, len(group.live))
        self._collect()

    def __getstate__(self) -> dict[str, Any]:
        """All but threads and views, which a copy makes for itself."""
        return {name: value for name, value in vars(self).items() if name not in OF_THREADS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on as the batch that this is a copy of."""
        vars(self).update(state)
        self._bind()

    def __copy__(self) -> "PlantBatch":
        """Return a batch with plants and memory of its own."""
        return deepcopy(self)

    def __len__(self) -> int:
        """N."""
        return len(self.plants)

    def _bind(self) -> None:
        """Threads, their shares of the tiles, what kernels take of each form, commands and views."""
        first, count, n = self._groups[0], len(self), len(self.plants[0].model.joint_names)
        self._arguments = [(group, group.arguments(group.workspace())) for group in self._groups]
        self._commands = np.zeros((5, count * max(n, 1))), np.zeros((5, 2), np.int64)
        shares = shared_out([len(group.live) for group in self._groups], self._threads)
        self._team = Team([_Share(self._groups, share, *self._commands) for share in shares])
        if len(self._groups) == 1:
            rows, points = (_flat(x)[..., :count] for x in (first.out, first.touch))
        else:
            rows, points = (np.zeros((*x.shape[:-2], count)) for x in (first.out, first.touch))
        self._rows, self._points = rows, points
        model, k = self.plants[0].model, len(self.plants[0].points)
        parts = np.cumsum([model.nq, model.nv, len(model.joint_names), 3 * k, 6, at.LEDGER])
        self._views = [_locked(x.T) for x in np.split(rows, parts)]
        self._views[3] = _locked(np.moveaxis(rows[parts[2] : parts[3]].reshape(k, 3, count), -1, 0))
        self._collect()

    def _collect(self) -> None:
        """Plants of several forms: their figures in the order of the plants."""
        if len(self._groups) > 1:
            for group in self._groups:
                self._rows[:, group.numbers] = _flat(group.out)[:, : len(group.numbers)]

    def step(
        self,
        q_des: ArrayLike | None = None,
        qd_des: ArrayLike | None = None,
        kp: ArrayLike | None = None,
        kd: ArrayLike | None = None,
        tau_ff: ArrayLike | None = None,
        steps: int = 1,
    ) -> None:
        """Advance all plants by `steps` timesteps under one command each, as `Plant.track` takes it.

        Each figure is one number, (n,) for all or (N, n), a row each. Figures left out are 0; without any figure the
        plants keep the commands they have.

        Raises
        ------
        ParameterError
            A negative gain, q_des without kp, steps below 1 or no whole number.
        ShapeError
            A figure of another shape, or values that are not finite: no plant has moved then.
        """
        check_range("steps", steps, 1, MOST_STEPS)
        if steps % 1:
            raise ParameterError(f"steps must be a whole number, got {steps!r}")
        if q_des is qd_des is kp is kd is tau_ff is None:
            self._commands[1].fill(0)
        else:
            self._command((q_des, qd_des, kp, kd, tau_ff))
        self._team.take_turn(steps)
        self._collect()

    def _command(self, given: Sequence[ArrayLike | None]) -> None:
        if (given[0] is None) != (given[2] is None):
            raise ParameterError("q_des and kp go together, got one without the other")
        count, n = len(self), len(self.plants[0].model.joint_names)
        figures = tuple(
            nothing if x is None else _figure(name, x, count, n)
            for name, x, nothing in zip(COMMANDED, given, NO_FIGURES, strict=True)
        )
        wrong = entry(note_commands, (*self._commands, NO_FIGURES))(*self._commands, figures)
        if wrong >= 0:
            name, x = COMMANDED[wrong], figures[wrong]
            check_range(name, checked(name, x, x.shape), 0.0)

    def reset(
        self,
        mask: ArrayLike | None = None,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        deflection: ArrayLike | None = None,
    ) -> None:
        """Let the plants where mask (N,) is true begin anew, as `Plant.reset` does; None: all.

        q (nq,), qd (nv,), deflection (k, 2) for all of them, or with N rows of which theirs are taken; left out:
        neutral, at rest, not deflected.

        Raises
        ------
        ShapeError
            Wrong shape, values that are not finite, a quaternion that is not of unit length.
        """
        model, k = self.plants[0].model, len(self.plants[0].points)
        chosen = np.ones(len(self), bool) if mask is None else np.asarray(mask)
        if chosen.shape != (len(self),) or chosen.dtype != bool:
            raise ShapeError(f"mask must be bool (N,) = ({len(self)},), got {chosen.dtype} {chosen.shape}")
        q = neutral(model) if q is None else q
        start = [
            _rows_of(name, 0.0 if x is None else x, shape, chosen)
            for name, x, shape in (("q", q, (model.nq,)), ("qd", qd, (model.nv,)), ("deflection", deflection, (k, 2)))
        ]
        start[0] = normalised(model, start[0])
        row = np.cumsum(chosen) - 1
        for i in np.flatnonzero(chosen):
            plant = self.plants[i]
            if plant.explain() is not None or plant.bias.any() or plant.deviation.any():
                plant.start_noise()
        for group, laned in self._arguments:
            which = np.flatnonzero(chosen[group.numbers])
            if len(which):
                group.reset(laned, which, *(x[row[group.numbers[which]]] for x in start))
        self._collect()

    def write_back(self) -> None:
        """Take the plants to where the batch is; it may go on all the same."""
        for group in self._groups:
            group.give_back()

    @property
    def q(self) -> Array:
        """Configurations (N, nq)."""
        return self._views[0]

    @property
    def qd(self) -> Array:
        """Velocities (N, nv)."""
        return self._views[1]

    @property
    def tau(self) -> Array:
        """Applied joint efforts (N, n) of the last step [N m, N]."""
        return self._views[2]

    @property
    def force_world(self) -> Array:
        """Forces (N, k, 3) of the ground on the contact points in the last step, world axes [N]."""
        return self._views[3]

    @property
    def base_rate(self) -> Array:
        """Derivatives (N, 6) of the twists of floating bases, as `Plant.base_rate`."""
        return self._views[4]

    @property
    def time(self) -> Array:
        """Simulated time (N,) since the last reset of each plant [s]."""
        times: Array = self._views[6][:, 0] * self.plants[0].params.timestep
        return times

    @property
    def energy(self) -> Energy[Array]:
        """Energy ledgers and momentum balances, arrays (N,)."""
        return Energy(*energies(self.plants[0].model, self._views[5]))

    @property
    def contacts(self) -> Contacts:
        """All contact points, arrays (N, k, ...): places, depths and velocities are found when this is asked for."""
        for group, laned in self._arguments:
            group.locate(laned)
            if len(self._groups) > 1:
                self._points[..., group.numbers] = _flat(group.touch)[..., : len(group.numbers)]
        points = _locked(np.moveaxis(self._points, -1, 0))
        return Contacts(
            link=self.plants[0].points.link,
            position=points[..., tiles.POINT : tiles.POINT + 3],
            velocity=points[..., tiles.SPEED : tiles.SPEED + 3],
            depth=points[..., tiles.BELOW],
            force_world=self.force_world,
            deflection=points[..., tiles.SHEAR : tiles.SHEAR + 2],
        )

    @property
    def diverged(self) -> Mapping[int, Divergence]:
        """Which plants stopped, and why; `reset` lets them begin anew."""
        reasons = {i: plant.explain() for i, plant in enumerate(self.plants)}
        return {i: why for i, why in reasons.items() if why is not None}

    def measure(self) -> Measurement:
        """Sensor readings of this instant, arrays (N, ...), each plant with its own noise and bias: `Plant.measure`."""
        bias, noise = (np.zeros((len(self), len(self.plants[0].bias))) for _ in range(2))
        for i, plant in enumerate(self.plants):
            if plant.bias.any() or plant.deviation.any():
                bias[i], noise[i] = plant.bias, plant.deviation * plant.draw()
        return readings(self.plants[0].model, self.q, self.qd, self.tau.copy(), self.base_rate, bias, noise)


def expect_alike(plants: Sequence[Plant], points: bool) -> None:
    """Raise ParameterError if plants cannot share arrays or time; points: arrays of contact points too."""
    if not plants:
        raise ParameterError("plants must hold at least one Plant, got none")
    if len({id(plant) for plant in plants}) < len(plants):
        raise ParameterError("plants must be different objects, but the same Plant stands there more than once")
    expected = _sizes(plants[0], points)
    for i, plant in enumerate(plants):
        if plant.form == plants[0].form:
            continue
        for what, size in _sizes(plant, points).items():
            if size != expected[what]:
                raise ParameterError(f"plants must have one {what}, but plant {i} has {size:g}, not {expected[what]:g}")


def _sizes(plant: Plant, points: bool) -> dict[str, float]:
    """What plants must have in common."""
    model = plant.model
    sizes = {"timestep": plant.params.timestep, "nq": model.nq, "nv": model.nv, "joint count": len(model.joint_names)}
    return sizes | {"count of contact points": len(plant.points)} if points else sizes


def shared_out(counts: Sequence[int], threads: int) -> list[list[tuple[int, int, int]]]:
    """Tiles (group, first, end) for each thread, as many for one as for another; counts: tiles of each group."""
    total = sum(counts)
    cuts = [total * k // threads for k in range(threads + 1)]
    begins = list(accumulate(counts, initial=0))
    out = []
    for a, b in pairwise(cuts):
        parts = [(g, max(a, x) - x, min(b, y) - x) for g, (x, y) in enumerate(pairwise(begins))]
        out.append([(g, first, end) for g, first, end in parts if first < end])
    return [share for share in out if share]


class _Share:
    """Tiles that a thread takes, of one form after the other."""

    def __init__(
        self,
        groups: Sequence[Tiles],
        share: Sequence[tuple[int, int, int]],
        figures: Array,
        sizes: NDArray[np.int64],
    ):
        """Tiles (group, first, end) of a share; figures, sizes: as in `Commands`."""
        self._parts = [
            (group, group.arguments(group.workspace()), first, end, group.commanded(figures, sizes))
            for group, first, end in ((groups[g], first, end) for g, first, end in share)
        ]
        self.all_done = share[0][2] if len(share) == 1 else -1

    def begin(self, member: Member, steps: int) -> int:
        """Take the first part's tiles; returns that of a plant that stopped, or the end."""
        group, arguments, first, end, commands = self._parts[0]
        return group.run(arguments, first, end, steps, commands, member=member)

    def go_on(self, t: int, steps: int) -> None:
        """Take the others, and what follows tile t of the first part."""
        group, arguments, _, end, commands = self._parts[0]
        group.go_on(arguments, t, end, steps, commands)
        for group, arguments, first, end, commands in self._parts[1:]:
            group.go_on(arguments, group.run(arguments, first, end, steps, commands), end, steps, commands)


def _flat(x: Array) -> Array:
    """Lanes of all tiles side by side."""
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def _locked(x: Array) -> Array:
    """View that cannot be written through."""
    view = x.view()
    view.flags.writeable = False
    return view


def _figure(name: str, given: ArrayLike, count: int, n: int) -> Array:
    """A figure of commands as (1 or N, 1 or n). Raises ShapeError."""
    try:
        x = np.asarray(given, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers: {error}") from None
    if x.ndim < 2:
        x = x.reshape(1, -1)
    if x.ndim > 2 or x.shape[0] not in (1, count) or x.shape[1] not in (1, n):
        raise ShapeError(f"{name} must be one number, ({n},) or (N, n) = ({count}, {n}), got {np.shape(given)}")
    return x


def _rows_of(name: str, given: ArrayLike, shape: tuple[int, ...], chosen: NDArray[np.bool_]) -> Array:
    """Rows (m, *shape) of the chosen plants, of one for all or N rows. Raises ShapeError."""
    count = len(chosen)
    if np.shape(given) in ((), shape):
        return np.broadcast_to(checked(name, np.broadcast_to(given, shape), shape), (int(chosen.sum()), *shape))
    if np.shape(given) == (count, *shape):
        return checked(name, np.asarray(given)[chosen], (-1, *shape))
    raise ShapeError(f"{name} must have shape {shape} or {(count, *shape)}, got {np.shape(given)}")
