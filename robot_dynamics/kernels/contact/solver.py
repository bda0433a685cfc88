# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solver that couples all contacts, joint frictions and stops through the robot (Q1-Q9).

Per contact three rows (t1, t2, n) in its surface frame. After the contacts come scalar rows: joint friction and joint
stops, a force between two bounds that wants its velocity to be zero.
Velocity of all rows at the end of a step: u = b + A f with A symmetric. Spring-damper: f is a force [N] and A = h W;
impulse: f is an impulse [N s] and A = W, with W = J H^-1 J^T, the Delassus matrix.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiler import QUAD, abreast, combine, each, inline, kernel, lane, routine, stack, strict, to_lane
from ..dense import eliminate
from ..lanes import aligned, quad3, to_quad3
from ..rows import part3, part3_to
from ..scalar import add, smul, sub
from .friction import clamp_to_cone, is_inside_cone
from .impulse import impulse_point, impulse_residual, impulse_slopes, sticking_impulse
from .spring_damper import NEAR, end_force, end_force_slopes, implicit_point, sticking_step

IMPLICIT = 0
IMPULSE = 1

ZETA, DEFLECTION, STIFFNESS, DAMPING, FRICTION = 0, 1, 3, 4, 5
CONTACT_ROWS = 6
"""Rows of the contacts' data: zeta, deflection (2), stiffness, damping, friction."""

STEP, BY_VELOCITY, CHANGE, SLOPE, BY_STEP = 0, QUAD, 4 * QUAD, 7 * QUAD, 10 * QUAD
STICKING = 13 * QUAD
"""Where c, e, b, S, t of `sticking_step` or `sticking_impulse` stand, of QUAD contacts; length of all."""

NEWTON_STEPS = 30
ALL_SWEEPS = 200
SURE = 3
"""Sweeps within which a small change means a small residual: they converge fast."""
WORST = 1e-6
"""Largest residual of a solve that counts as converged [m/s]."""

U, RESIDUAL, TRIAL, BEST = range(4)
"""Rows of Scratch.rows: velocity of all rows at the end of the step, F, two iterates."""


class Scratch(NamedTuple):
    """Memory of the solver, owned by the caller: rows (4, n), Newton's matrix (n, n), a contact's P and V (2, 3, 3)."""

    rows: NDArray[np.float64]
    matrix: NDArray[np.float64]
    blocks: NDArray[np.float64]


class System(NamedTuple):
    """u = b + A f and the laws of its rows: contacts first, then scalar rows.

    model: IMPLICIT or IMPULSE. h: timestep [s]. A (m, m), b (m,), f (m,): m whole lanes, of which n rows count.
    points (CONTACT_ROWS, k), bounds (s, 2): least and largest force of scalar rows.
    Beside a system stand `count`, how many contacts there are, and `n`, how many rows, contacts' and scalar.
    """

    model: int
    h: float
    A: NDArray[np.float64]
    b: NDArray[np.float64]
    f: NDArray[np.float64]
    points: NDArray[np.float64]
    bounds: NDArray[np.float64]
    work: Scratch


def scratch(n: int) -> Scratch:
    """Memory for n rows, whole lanes."""
    return Scratch(aligned((4, n)), aligned((n, n)), np.zeros((2, 3, 3)))


@inline
def copy(source, n, target):
    """Copy n numbers."""
    for i in range(n):
        target[i] = source[i]


@inline
def deflection_of(points, i):
    """Tangential deflection d of contact i."""
    return (points[DEFLECTION, i], points[DEFLECTION + 1, i])


@inline
def law_of(points, i):
    """K, D, mu of contact i."""
    return (points[STIFFNESS, i], points[DAMPING, i], points[FRICTION, i])


@inline
def own_block(A, o):
    """The 3x3 block of A of the contact whose rows start at o."""
    n = A.shape[1]
    x, y, z = o * n + o, o * n + n + o + 1, o * n + 2 * n + o + 2
    return (lane(A, x), lane(A, x + 1), lane(A, x + 2), lane(A, y), lane(A, y + 1), lane(A, z))


@inline
def own_bounds(system, s):
    """Least and largest force of scalar row s, behind those of contacts."""
    return system.bounds[s, 0], system.bounds[s, 1]


@inline
def add_response(A, o, df, n, u):
    """Add to the velocities u of n rows what forces df, one for each of A's rows from o on, do to them."""
    for begin in range(0, n, QUAD):
        combine(u, begin, QUAD, (1.0,), (u, begin, 0), df, (A, o * A.shape[1] + begin, A.shape[1]))


@routine
def end_velocity(system, count, n, u):
    """Set u = b + A f."""
    b, f = system.b, system.f
    for begin in range(0, n, QUAD):
        combine(u, begin, QUAD, (1.0,), (b, begin, 0), (), (b, 0, 0))
    for i in range(0, 3 * count, 3):
        add_response(system.A, i, part3(f, i), n, u)
    for first in each(3 * count):
        for i in range(first, n):
            add_response(system.A, i, (f[i],), n, u)


@routine
def scalar_sweep(system, count, n, u):
    """One pass over the scalar rows (Q2): each wants u = 0, its force in its bounds. Returns max |A_ii df|."""
    A, f = system.A, system.f
    largest = 0.0
    for first in each(3 * count):
        for i in range(first, n):
            low, high = own_bounds(system, i - first)
            g = min(max(f[i] - u[i] / A[i, i], low), high)
            df = g - f[i]
            f[i] = g
            add_response(A, i, (df,), n, u)
            largest = max(largest, abs(A[i, i] * df))
    return largest


@inline
def write_sticking(change, valid, k, steps):
    """Write how the force of contact k follows from its velocity; where not valid, no velocity is near enough."""
    c, e, b, S, t = change
    to_lane(steps, STEP + k, c if valid else math.inf)
    to_quad3(steps, BY_VELOCITY + k, e)
    to_quad3(steps, CHANGE + k, b)
    to_quad3(steps, SLOPE + k, S)
    to_quad3(steps, BY_STEP + k, t)


@inline
def expect_sticking(system, first, count, u, steps):
    """How the forces of QUAD contacts, or less, follow from their velocities where they go on sticking (N13, J12).

    For depths that u leads to before any of these forces changes: nothing here waits for the contacts before.
    """
    A, f, points, h = system.A, system.f, system.points, system.h
    if system.model == IMPULSE:
        for k in abreast(count):
            w = own_block(A, 3 * (first + k))
            change, firm = sticking_impulse(w)
            write_sticking(change, firm and lane(f, 3 * (first + k) + 2) > 0.0, k, steps)
        return
    for k in abreast(count):
        i = first + k
        old = (lane(f, 3 * i), lane(f, 3 * i + 1), lane(f, 3 * i + 2))
        depth = points[ZETA, i] - h * lane(u, 3 * i + 2)
        carries = old[2] > 0.0 and depth > 0.0
        y = math.sqrt(depth if carries else 1.0)
        d, w = deflection_of(points, i), own_block(A, 3 * i)
        write_sticking(sticking_step(y, old, points[ZETA, i], d, h, w, law_of(points, i)), carries, k, steps)


@strict
def sticking_change(steps, k, u):
    """Change of the force of contact k that goes on sticking with the velocity u, and the step that it comes of.

    What is found last, the step, comes last in every sum.
    """
    e, b = quad3(steps, BY_VELOCITY + k), quad3(steps, CHANGE + k)
    S, t = quad3(steps, SLOPE + k), quad3(steps, BY_STEP + k)
    step = lane(steps, STEP + k) + e[0] * u[0] + e[1] * u[1] + e[2] * u[2]
    x = b[0] - S[0] * u[0] - S[1] * u[1] - step * t[0]
    y = b[1] - S[1] * u[0] - S[2] * u[1] - step * t[1]
    return (x, y, b[2] - step * t[2]), step


@routine
def root_force(system, i, u, old):
    """Force of contact i by itself, its velocity u with the force `old`."""
    points, w = system.points, own_block(system.A, 3 * i)
    a, d = sub(u, smul(w, old)), deflection_of(points, i)
    if system.model == IMPULSE:
        return impulse_point(w, a, points[FRICTION, i])
    guess = math.sqrt(max(0.0, points[ZETA, i] - system.h * u[2])) if old[2] > 0.0 else 0.0
    return implicit_point(w, a, points[ZETA, i], d, system.h, law_of(points, i), guess)


@inline
def next_velocity(A, o, df, u):
    """Velocity of the contact behind that of row o, whose force changes by df: found before those of all rows."""
    n = A.shape[1]
    x, y, z = o * n + o + 3, o * n + n + o + 3, o * n + 2 * n + o + 3
    v = part3(u, o + 3)
    return (
        v[0] + df[0] * lane(A, x) + df[1] * lane(A, y) + df[2] * lane(A, z),
        v[1] + df[0] * lane(A, x + 1) + df[1] * lane(A, y + 1) + df[2] * lane(A, z + 1),
        v[2] + df[0] * lane(A, x + 2) + df[1] * lane(A, y + 2) + df[2] * lane(A, z + 2),
    )


@routine
def sweep(system, count, n, u):
    """One block Gauss-Seidel pass, each contact solved by itself. Returns the worst row's error |A_ii df| [m/s]."""
    A, f, points = system.A, system.f, system.points
    steps = stack(STICKING)
    reach = math.inf if system.model == IMPULSE else NEAR
    largest = scalar_sweep(system, count, n, u)
    for first in range(0, count, QUAD):
        some = min(QUAD, count - first)
        expect_sticking(system, first, some, u, steps)
        end = part3(u, 3 * first)
        for k in range(some):
            i = first + k
            o = 3 * i
            old = part3(f, o)
            df, step = sticking_change(steps, k, end)
            new = add(old, df)
            if not (abs(step) < reach and is_inside_cone(new, points[FRICTION, i])):
                new = root_force(system, i, end, old)
                df = sub(new, old)
            if k < some - 1:
                end = next_velocity(A, o, df, u)
            add_response(A, o, df, n, u)
            part3_to(f, o, new)
            for j in range(3):
                largest = max(largest, abs(lane(A, (o + j) * (A.shape[1] + 1)) * df[j]))
    return largest


@inline
def point_residual(system, i, u, f):
    """F of contact i: by how much its force f is not what its law says at the velocity u."""
    points = system.points
    if system.model == IMPULSE:
        return impulse_residual(own_block(system.A, 3 * i), points[FRICTION, i], u, f)
    return sub(f, end_force(points[ZETA, i], deflection_of(points, i), system.h, law_of(points, i), u))


@routine
def residual(system, count, n):
    """F of all rows: by how much f is not what the laws say. Returns max |A_ii F| [m/s] (Q4), and |F|^2."""
    A, f = system.A, system.f
    u, F = system.work.rows[U], system.work.rows[RESIDUAL]
    end_velocity(system, count, n, u)
    largest = 0.0
    for i in range(count):
        o = 3 * i
        off = point_residual(system, i, part3(u, o), part3(f, o))
        part3_to(F, o, off)
        for j in range(3):
            largest = max(largest, abs(A[o + j, o + j] * off[j]))
    for first in each(3 * count):
        for i in range(first, n):
            low, high = own_bounds(system, i - first)
            F[i] = f[i] - min(max(f[i] - u[i] / A[i, i], low), high)
            largest = max(largest, abs(A[i, i] * F[i]))
    square = 0.0
    for i in range(n):
        square += F[i] * F[i]
    return largest, square


@inline
def point_slopes(system, i, u, f, P, V):
    """P = dF/df and V = dF/du of contact i."""
    points = system.points
    for r in range(3):
        for j in range(3):
            P[r, j] = 0.0
            V[r, j] = 0.0
    if system.model == IMPULSE:
        impulse_slopes(own_block(system.A, 3 * i), points[FRICTION, i], u, f, P, V)
    else:
        end_force_slopes(points[ZETA, i], deflection_of(points, i), law_of(points, i), system.h, u, P, V)


@routine
def newton_matrix(system, count, n):
    """M = dF/df = P + V A (Q6) where `residual` was, 1e-6 on the diagonal because coplanar points make A singular."""
    A, f = system.A, system.f
    M, u = system.work.matrix, system.work.rows[U]
    P, V = system.work.blocks[0], system.work.blocks[1]
    for i in range(count):
        o = 3 * i
        point_slopes(system, i, part3(u, o), part3(f, o), P, V)
        for r in range(3):
            for j in range(n):
                M[o + r, j] = V[r, 0] * A[o, j] + V[r, 1] * A[o + 1, j] + V[r, 2] * A[o + 2, j]
            for j in range(3):
                M[o + r, o + j] += P[r, j]
    for first in each(3 * count):
        for i in range(first, n):
            low, high = own_bounds(system, i - first)
            inside = low < f[i] - u[i] / A[i, i] < high
            for j in range(n):
                M[i, j] = A[i, j] / A[i, i] if inside else 0.0
            if not inside:
                M[i, i] = 1.0
    for i in range(n):
        M[i, i] += 1e-6


@routine
def newton(system, count, n, tolerance):
    """Semi-smooth Newton with halving (Q7) on F(f) = 0; leaves the best iterate in f. Returns steps and residual."""
    f, work = system.f, system.work
    start, best, F = work.rows[TRIAL], work.rows[BEST], work.rows[RESIDUAL]
    error, square = residual(system, count, n)
    copy(f, n, best)
    least = error
    steps = 0
    while error > tolerance and steps < NEWTON_STEPS:
        newton_matrix(system, count, n)
        eliminate(work.matrix, n, F)
        copy(f, n, start)
        step = 1.0
        before = square
        change = work.matrix[0]
        copy(F, n, change)
        while True:
            for i in range(n):
                f[i] = start[i] - step * change[i]
            error, square = residual(system, count, n)
            if square <= (1.0 - 1e-4 * step) * before or step < 0.02:
                break
            step *= 0.5
        steps += 1
        if error < least:
            least = error
            copy(f, n, best)
    copy(best, n, f)
    return steps, least


@routine
def clamp_forces(system, count, n):
    """Clamp forces to f_n >= 0, the friction disk and the bounds: Newton keeps them only to its tolerance."""
    f = system.f
    for i in range(count):
        o = 3 * i
        f[o], f[o + 1], f[o + 2] = clamp_to_cone(f[o], f[o + 1], f[o + 2], system.points[FRICTION, i], False)
    for first in each(3 * count):
        for i in range(first, n):
            low, high = own_bounds(system, i - first)
            f[i] = min(max(f[i], low), high)


@routine
def take_no_energy(system, count, n, u):
    """Shorten impulses that missed the tolerance until their work f . (b + u) / 2 is not positive (Q9)."""
    b, f = system.b, system.f
    end_velocity(system, count, n, u)
    free, added = 0.0, 0.0
    for i in range(n):
        free += f[i] * b[i]
        added += f[i] * (u[i] - b[i])
    if 2.0 * free + added > 0.0:
        g = min(max(-2.0 * free / added, 0.0), 1.0) if added > 0.0 else 0.0
        for i in range(n):
            f[i] *= g


@routine
def sweep_again(system, count, n, sweeps, tolerance, error):
    """Sweep up to ALL_SWEEPS in total from Newton's best iterate, whose residual is `error`; keeps the better end.

    Returns its residual, and how many sweeps it took.
    """
    u, best = system.work.rows[U], system.work.rows[BEST]
    copy(system.f, n, best)
    end_velocity(system, count, n, u)
    change = math.inf
    swept = 0
    while change > tolerance and sweeps + swept < ALL_SWEEPS:
        change = sweep(system, count, n, u)
        swept += 1
    after, _ = residual(system, count, n)
    if after <= error:
        return after, swept
    copy(best, n, system.f)
    return error, swept


@routine
def solve(system, count, n, sweeps, tolerance):
    """`solve_contacts`, within kernels."""
    u = system.work.rows[U]
    if n == 0:
        return 0, False
    end_velocity(system, count, n, u)
    iterations = 0
    change = math.inf
    while change > tolerance and iterations < sweeps:
        change = sweep(system, count, n, u)
        iterations += 1
    missed = False
    if change > tolerance or iterations > SURE:
        error, _ = residual(system, count, n)
        if error > tolerance:
            steps, error = newton(system, count, n, tolerance)
            iterations += steps
            clamp_forces(system, count, n)
            error, _ = residual(system, count, n)
        if error > tolerance:
            error, swept = sweep_again(system, count, n, sweeps, tolerance, error)
            iterations += swept
        missed = error > max(tolerance, WORST)
        if missed and system.model == IMPULSE:
            take_no_energy(system, count, n, u)
        end_velocity(system, count, n, u)
    return iterations, missed


@routine
def largest_residual(system, count, n):
    """`true_residual`, within kernels; the velocities of `solve` stay as they are, to the last bit."""
    if n == 0:
        return 0.0
    u, kept = system.work.rows[U], system.work.rows[TRIAL]
    copy(u, n, kept)
    error, _ = residual(system, count, n)
    copy(kept, n, u)
    return error


@inline
def named(system):
    """The bundle `System` of a plain tuple."""
    model, h, A, b, f, points, bounds, work = system
    rows, matrix, blocks = work
    return System(model, h, A, b, f, points, bounds, Scratch(rows, matrix, blocks))


@routine
def solve_plain(system, count, n, sweeps, tolerance):
    """`solve` of a plain tuple."""
    return solve(named(system), count, n, sweeps, tolerance)


@routine
def residual_plain(system, count, n):
    """`largest_residual` of a plain tuple."""
    return largest_residual(named(system), count, n)


@kernel
def solve_contacts(system, count, n, sweeps, tolerance):
    """Forces f of the contacts and scalar rows that obey their laws together with u = b + A f (Q1-Q7).

    Sweeps from the f given (warm start) until no row was off by more than the tolerance [m/s]; after `sweeps` of them
    Newton, and if that stalls sweeps up to ALL_SWEEPS. What took more than SURE sweeps is judged by its residual.
    system: the fields of `System`. Leaves u in work.rows[U].
    Returns iterations (sweeps + Newton steps), and whether the residual is above WORST and the tolerance.
    """
    return solve_plain(system, count, n, sweeps, tolerance)


@kernel
def true_residual(system, count, n):
    """Largest max |A_ii (f - law)| [m/s] where `solve_contacts` ended."""
    return residual_plain(system, count, n)
