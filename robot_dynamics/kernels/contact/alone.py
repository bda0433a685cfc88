# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solves of plants in lanes one after the other, each lent its system without the rows that it does not have."""

from ...compiler import LANES, inline, one_by_one, routine
from ..rows import row3, set3
from .solver import (
    CONTACT_ROWS,
    U,
    by_joints,
    has_range,
    is_present,
    own_bounds,
    relax,
    solve_by_newton,
    sweep_until_good,
)


@inline
def has_row(system, count, i):
    """Whether the plant has row i, of `count` contacts or behind them."""
    return is_present(system.points, i // 3) if i < 3 * count else has_range(system.bounds, i - 3 * count)


@inline
def present(system, count, n):
    """How many of `count` contacts and of n rows the plant has."""
    contacts, scalars = 0, 0
    for i in range(count):
        contacts += 1 if is_present(system.points, i) else 0
    for s in range(n - 3 * count):
        scalars += 1 if has_range(system.bounds, s) else 0
    return contacts, 3 * contacts + scalars


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
    close_up(own, system, count, n)


@routine
def lend_paths(system, count, n, own):
    """Copy the paths of a system into that of one plant alone, where it has the equations by them."""
    if by_joints(system.work, n):
        paths = system.work.paths
        for p in range(2):
            for i in range(n):
                for k in range(0, paths.shape[2], LANES):
                    own.work.paths[p, i, k : k + LANES] = paths[p, i, k : k + LANES]
        close_up_paths(own.work.paths, system, count, n)


@routine
def lend_slopes(system, count, n, own):
    """Copy E into the system of one plant alone."""
    row = 0
    for i in range(n):
        if has_row(system, count, i):
            set3(own.work.slopes, row, 0, row3(system.work.slopes, i, 0))
            row += 1


@one_by_one
def close_up(own, system, count, n):
    """Leave out absent rows of `system`, which was lent, but for their paths and slopes."""
    contact, scalar = 0, 0
    for i in range(count):
        if is_present(system.points, i):
            for r in range(CONTACT_ROWS):
                own.points[r, contact] = own.points[r, i]
            contact += 1
    for s in range(n - 3 * count):
        if has_range(system.bounds, s):
            own.bounds[scalar, 0], own.bounds[scalar, 1] = own_bounds(own, s)
            scalar += 1
    row = 0
    for i in range(n):
        if has_row(system, count, i):
            if row < i:
                move_row(own, i, row, n)
            row += 1


@inline
def move_row(own, i, row, n):
    """Have row i of a system, but for the figures of its law, as an earlier one."""
    own.b[row], own.f[row] = own.b[i], own.f[i]
    for k in range(n):
        own.A[row, k] = own.A[i, k]
    for k in range(n):
        own.A[k, row] = own.A[k, i]


@one_by_one
def close_up_paths(paths, system, count, n):
    """Leave out the paths of absent rows of `system`, which was lent."""
    row = 0
    for i in range(n):
        if has_row(system, count, i):
            for p in range(2 if row < i else 0):
                for k in range(paths.shape[2]):
                    paths[p, row, k] = paths[p, i, k]
            row += 1


@routine
def take_forces(own, count, n, system):
    """Copy forces and velocities from the system of one plant alone; absent rows have none."""
    row = 0
    for i in range(n):
        there = has_row(system, count, i)
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
