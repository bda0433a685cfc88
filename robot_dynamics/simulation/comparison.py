# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a contact law lets a robot walk: a log of every step, and the figures by which two laws are compared."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..dynamics.kinematics import point_velocity
from .plant import Contacts, Plant

SHORTEST_STANCE = 20e-3
"""A foot that is loaded for less is not standing but bouncing [s]."""
TOUCHDOWN = 20e-3
"""Time after the first contact in which the peak of a landing is looked for [s]."""
LOADED = 1.0
"""Below this normal force a direction says nothing [N]."""


@dataclass(frozen=True, slots=True, eq=False)
class ContactLog:
    """Every step of a run: the state at its end, the forces during it; T steps, k contact points on level ground.

    time (T,) [s]; way (T, k, 3) that the touching points slid in each step, rolling taken off [m]; force (T, k, 3) of
    the ground on them [N]; world axes. depth (T, k) [m]; height (T,) of the base [m]; spin (T, 3) of the base [rad/s];
    balance_error, dissipated (T,) of the energy ledger [J]; start [s]: figures are taken from there on.
    """

    time: Array
    way: Array
    force: Array
    depth: Array
    height: Array
    spin: Array
    balance_error: Array
    dissipated: Array
    start: float

    @property
    def late(self) -> NDArray[np.bool_]:
        """(T,) the steps that figures are taken from."""
        return self.time > self.start

    @property
    def timestep(self) -> float:
        """h [s]."""
        return float(self.time[1] - self.time[0])


def record(plant: Plant, act: Callable[[int], None], steps: int, start: float) -> ContactLog:
    """Log `steps` steps of a floating robot, calling `act(step)` before each; figures count from `start` [s] on.

    Raises
    ------
    DivergedError
        As `Plant.step`.
    """
    k = len(plant.points)
    log = ContactLog(
        time=plant.time + plant.params.timestep * np.arange(1.0, steps + 1.0),
        way=np.empty((steps, k, 3)),
        force=np.empty((steps, k, 3)),
        depth=np.empty((steps, k)),
        height=np.empty(steps),
        spin=np.empty((steps, 3)),
        balance_error=np.empty(steps),
        dissipated=np.empty(steps),
        start=start,
    )
    before = plant.contacts.position
    for i in range(steps):
        act(i)
        plant.step()
        contacts, energy = plant.contacts, plant.energy
        log.way[i] = contacts.position - before - plant.params.timestep * _rolling(plant, contacts)
        before = contacts.position
        log.force[i], log.depth[i] = contacts.force_world, contacts.depth
        log.height[i], log.spin[i] = plant.q[2], plant.qd[:3]
        log.balance_error[i], log.dissipated[i] = energy.balance_error, energy.dissipated_contact
    return log


def _rolling(plant: Plant, contacts: Contacts) -> Array:
    """Velocity (k, 3) of the centre of each ball past the point that touches; 0 for points [m/s]."""
    if not plant.points.radius.any():
        return np.zeros_like(contacts.velocity)
    return point_velocity(plant.model, plant.points, plant.q, plant.qd) - contacts.velocity


def stances(log: ContactLog) -> list[tuple[int, slice]]:
    """Point and steps of every stance that begins and ends after `log.start`."""
    found = []
    for point in range(log.force.shape[1]):
        loaded = log.force[:, point, 2] > 0.0
        begins = np.flatnonzero(~loaded[:-1] & loaded[1:]) + 1
        ends = np.flatnonzero(loaded[:-1] & ~loaded[1:]) + 1
        for a in begins[log.time[begins] > log.start]:
            later = ends[ends > a]
            if len(later) and (later[0] - a) * log.timestep > SHORTEST_STANCE:
                found.append((point, slice(int(a), int(later[0]))))
    return found


def slips(log: ContactLog) -> Array:
    """How far the foot slides over the ground in each of `stances`, back and forth added [m]."""
    way = np.linalg.norm(log.way[:, :, :2], axis=2)
    return np.array([way[part, point].sum() for point, part in stances(log)])


def touchdowns(log: ContactLog) -> Array:
    """Largest normal force in the first 20 ms of each of `stances` [N]."""
    steps = max(1, round(TOUCHDOWN / log.timestep))
    return np.array([log.force[part, point, 2][:steps].max() for point, part in stances(log)])


def _angle(a: Array, b: Array) -> Array:
    """Angles between vectors (.., 3) [rad], accurate for small ones."""
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1))


def deviations(log: ContactLog) -> Array:
    """Angles of all forces from the mean direction of their point [rad]."""
    angles = []
    for force in np.moveaxis(log.force[log.late], 1, 0):
        direction = force[force[:, 2] > LOADED]
        direction = direction / np.linalg.norm(direction, axis=1)[:, None]
        if len(direction):
            angles.append(_angle(direction, direction.mean(axis=0)))
    return np.concatenate([np.zeros(0), *angles])


def turning_rates(log: ContactLog) -> Array:
    """How fast the forces of loaded points turn from step to step [rad/s]."""
    force = log.force[log.late]
    loaded = (force[:-1, :, 2] > LOADED) & (force[1:, :, 2] > LOADED)
    return _angle(force[:-1][loaded], force[1:][loaded]) / log.timestep


@dataclass(frozen=True, slots=True)
class ContactFigures:
    """What a law makes of a walk: means over stances, steps or time after `start`; SI units and rad.

    slip: mean way a foot slides per stance. scatter: rms deviation of a foot's force from its mean direction. turning:
    mean rate of that direction. height_spread: standard deviation. spin: rms angular velocity of the base. depth:
    largest. touchdown, hardest_touchdown: mean and largest of the landings' peaks. dissipated: in contacts.
    balance_error: of the energy ledger at the end.
    """

    slip: float
    scatter: float
    turning: float
    height_spread: float
    spin: float
    depth: float
    touchdown: float
    hardest_touchdown: float
    dissipated: float
    balance_error: float

    @staticmethod
    def labels() -> list[str]:
        """What the figures are called."""
        return [label for label, _ in ContactFigures(*[np.nan] * 10).rows()]

    def rows(self) -> list[tuple[str, str]]:
        """The figures for people."""
        return [
            ("slip per stance", f"{1e3 * self.slip:.3g} mm"),
            ("force direction, rms deviation", f"{np.degrees(self.scatter):.2f} deg"),
            ("force direction, turning", f"{np.degrees(self.turning) * 1e-3:.2f} deg/ms"),
            ("base height, standard deviation", f"{1e3 * self.height_spread:.2f} mm"),
            ("base angular rate, rms", f"{self.spin:.3f} rad/s"),
            ("penetration, largest", f"{1e3 * self.depth:.2g} mm"),
            ("touchdown peak, mean", f"{self.touchdown:.0f} N"),
            ("touchdown peak, largest", f"{self.hardest_touchdown:.0f} N"),
            ("energy lost in contacts", f"{self.dissipated:.2f} J"),
            ("energy balance error", f"{self.balance_error:.1e} J"),
        ]


def figures(log: ContactLog) -> ContactFigures:
    """Answer by the formulas above; nan where there was no stance."""
    late, peaks = log.late, touchdowns(log)
    return ContactFigures(
        slip=_mean(slips(log)),
        scatter=float(np.sqrt(_mean(deviations(log) ** 2))),
        turning=_mean(turning_rates(log)),
        height_spread=float(log.height[late].std()),
        spin=float(np.sqrt((log.spin[late] ** 2).sum(axis=1).mean())),
        depth=float(log.depth[late].max()),
        touchdown=_mean(peaks),
        hardest_touchdown=float(peaks.max()) if len(peaks) else np.nan,
        dissipated=float(log.dissipated[-1]),
        balance_error=float(log.balance_error[-1]),
    )


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else np.nan
