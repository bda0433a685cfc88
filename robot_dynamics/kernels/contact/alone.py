# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solves of plants in lanes one after the other, each lent its system without the contacts that it does not have."""

from ...compiler import LANES, inline, one_by_one, routine
from ..rows import row3, set3
from .solver import (
    CONTACT_ROWS,
    U,
    by_joints,
    is_present,
    own_bounds,
    relax,
    solve_by_newton,
    sweep_until_good,
)


@inline
def has_row(points, count, i):
    """Whether the plant has row i, of `count` contacts or behind them."""
    return i >= 3 * count or is_present(points, i // 3)


@inline
def present(points, count, n):
    """How many of `count` contacts and of n rows the plant has."""
    absent = 0
    for i in range(count):
        absent += 0 if is_present(points, i) else 1
    return count - absent, n - 3 * absent


@routine
def lend(system, count, n, own):
    """Copy what sweeps read of a system into that of one plant alone."""
    for i in range(n):
        for k in range(0, n, LANES):
            own.A[i, k : k + LANES] = system.A[i, k : k + LANES]
    for k in range(0, n, LANES):
        own.b[k : k + LANES] = system.b[k : k + LANES]
        own.f[k : k + LANES] = system.f[k : k + LANES]
    for r in range(CONTACT_ROWS):
        for k in range(0, count, LANES):
            own.points[r, k : k + LANES] = system.points[r, k : k + LANES]
    for s in range(n - 3 * count):
        own.bounds[s, 0], own.bounds[s, 1] = own_bounds(system, s)
    close_up(own, system.points, count, n)


@routine
def lend_paths(system, count, n, own):
    """Copy the paths of a system into that of one plant alone, where it has the equations by them."""
    if by_joints(system.work, n):
        paths = system.work.paths
        for p in range(2):
            for i in range(n):
                for k in range(0, paths.shape[2], LANES):
                    own.work.paths[p, i, k : k + LANES] = paths[p, i, k : k + LANES]
        close_up_paths(own.work.paths, system.points, count, n)


@routine
def lend_slopes(system, count, n, own):
    """Copy E into the system of one plant alone."""
    row = 0
    for i in range(n):
        if has_row(system.points, count, i):
            set3(own.work.slopes, row, 0, row3(system.work.slopes, i, 0))
            row += 1


@one_by_one
def close_up(own, points, count, n):
    """Leave out the rows of absent contacts, but for paths and slopes; points: those of the system that was lent."""
    contact = 0
    for i in range(count):
        if is_present(points, i):
            for r in range(CONTACT_ROWS):
                own.points[r, contact] = own.points[r, i]
            contact += 1
    row = 0
    for i in range(n):
        if has_row(points, count, i):
            if row < i:
                move_row(own, i, row, n)
            row += 1


@inline
def move_row(own, i, row, n):
    """Have row i of a system, but for the figures of its contact, as an earlier one."""
    own.b[row], own.f[row] = own.b[i], own.f[i]
    for k in range(n):
        own.A[row, k] = own.A[i, k]
    for k in range(n):
        own.A[k, row] = own.A[k, i]


@one_by_one
def close_up_paths(paths, points, count, n):
    """Leave out the paths of absent contacts; points: as in `close_up`."""
    row = 0
    for i in range(n):
        if has_row(points, count, i):
            for p in range(2 if row < i else 0):
                for k in range(paths.shape[2]):
                    paths[p, row, k] = paths[p, i, k]
            row += 1


@routine
def take_forces(own, count, n, system):
    """Copy forces and velocities from the system of one plant alone; absent contacts have none."""
    row = 0
    for i in range(n):
        there = has_row(system.points, count, i)
        system.f[i] = own.f[row] if there else 0.0
        system.work.rows[U, i] = own.work.rows[U, row]
        row += 1 if there else 0


@one_by_one
def sweep_alone(system, count, n, sweeps, tolerance):
    """`sweep_until_good` of plants in lanes whose rows differ: the sums of one plant fill registers too."""
    return sweep_until_good(system, count, n, sweeps, tolerance)


@one_by_one
def relax_alone(system, count, n):
    """`relax` of plants in lanes, of which few need it."""
    relax(system, count, n)


@one_by_one
def newton_alone(system, count, n, sweeps, tolerance):
    """`solve_by_newton` of plants in lanes, of which few need it."""
    return solve_by_newton(system, count, n, sweeps, tolerance)
