# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solver that couples all contacts, joint frictions and stops through the robot (Q1-Q10).

Per contact three rows (t1, t2, n) in its surface frame. After the contacts come scalar rows: joint friction and joint
stops, a force between two bounds that wants its velocity to be zero.
Velocity of all rows at the end of a step: u = b + A f with A symmetric. Spring-damper: f is a force [N] and A = h W;
impulse: f is an impulse [N s] and A = W, with W = J H^-1 J^T, the Delassus matrix.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiler import (
    QUAD,
    abreast,
    anywhere,
    combine,
    each,
    inline,
    kernel,
    lane,
    reproducible,
    routine,
    stack,
    strict,
    to_lane,
)
from ..dense import eliminate, substitute
from ..lanes import aligned, quad3, to_quad3, whole
from ..rows import part3, part3_to, row3, set_column3
from ..scalar import ZERO3, add, mul, smul, sub, tmul
from .friction import clamp_to_cone, is_inside_cone, slides
from .impulse import impulse_point, impulse_residual, impulse_slopes, sliding_impulse, sticking_impulse
from .spring_damper import NEAR, end_force, end_force_slopes, implicit_point, sliding_step, sticking_step

IMPLICIT = 0
IMPULSE = 1

ZETA, DEFLECTION, STIFFNESS, DAMPING, FRICTION = 0, 1, 3, 4, 5
CONTACT_ROWS = 6
"""Rows of the contacts' data: zeta, deflection (2), stiffness, damping, friction."""
ABSENT = -1.0
"""Friction of a contact that only other plants in lanes have: its force stays 0."""

STEP, BY_VELOCITY, CHANGE, SLOPE, BY_STEP = 0, QUAD, 4 * QUAD, 7 * QUAD, 10 * QUAD
STICKING = 13 * QUAD
"""Where c, e, b, S, t of `sticking_step` or `sticking_impulse` stand, of QUAD contacts; length of all."""

SLIP_REACH = 0.03
"""A Newton step that turns the force of a sliding contact by less [rad] and changes it by a smaller share is taken:
what it leaves is of its square, and the next sweep's."""
NEWTON_STEPS = 30
ALL_SWEEPS = 200
SURE = 3
"""Sweeps within which a small change means a small residual: they converge fast."""
WORST = 1e-6
"""Largest residual of a solve that counts as converged [m/s]."""

SOFT = 1e-6
"""What Newton adds to the slope of a force by itself: forces of coplanar points that cancel are not determined."""

U, RESIDUAL, TRIAL, BEST, CORRECTION = range(5)
"""Rows of Scratch.rows: velocity of all rows at the end of the step, F, two iterates, Newton's x."""


class Scratch(NamedTuple):
    """Memory of the solver, owned by the caller.

    rows (5, n). paths (2, n, m): Z and Y of A = Z Y^T, a row for each force, of nv numbers and zeros. slopes (n, 3): E.
    matrix (nv, m): 1 + E A or K. motion (m,): s. blocks (2, 3, 3): P and V of a contact.
    """

    rows: NDArray[np.float64]
    paths: NDArray[np.float64]
    slopes: NDArray[np.float64]
    matrix: NDArray[np.float64]
    motion: NDArray[np.float64]
    blocks: NDArray[np.float64]


class System(NamedTuple):
    """u = b + A f and the laws of its rows: contacts first, then scalar rows.

    model: IMPLICIT or IMPULSE. h: timestep [s]. A (m, m), b (m,), f (m,): m whole lanes, of which n rows count.
    points (CONTACT_ROWS, k), bounds (s, 2): least and largest force of scalar rows, both 0 of one that is absent.
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


def scratch(n: int, nv: int) -> Scratch:
    """Memory for n rows, whole lanes, of forces on a robot with nv dofs."""
    m = whole(nv)
    slopes = np.zeros((n, 3))
    return Scratch(aligned((5, n)), aligned((2, n, m)), slopes, aligned((nv, m)), aligned((m,)), np.zeros((2, 3, 3)))


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
def is_present(points, i):
    """Whether the plant has contact i."""
    return points[FRICTION, i] >= 0.0


@inline
def has_range(bounds, s):
    """Whether the force of scalar row s may be anything but 0: else the plant does not have that row."""
    return bounds[s, 0] < bounds[s, 1]


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


@reproducible
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


@reproducible
def scalar_sweep(system, count, n, u, going):
    """One pass over the scalar rows (Q2): each wants u = 0, its force in its bounds. going, result: as in `sweep`."""
    A, f = system.A, system.f
    largest = 0.0
    for first in each(3 * count):
        for i in range(first, n):
            low, high = own_bounds(system, i - first)
            g = min(max(f[i] - u[i] / A[i, i], low), high) if going else f[i]
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


@reproducible
def root_force(system, i, u, old):
    """Force of contact i by itself, from any start; its velocity is u with the force `old`."""
    points, w = system.points, own_block(system.A, 3 * i)
    a, d = sub(u, smul(w, old)), deflection_of(points, i)
    if system.model == IMPULSE:
        return impulse_point(w, a, points[FRICTION, i])
    guess = math.sqrt(max(0.0, points[ZETA, i] - system.h * u[2])) if old[2] > 0.0 else 0.0
    return implicit_point(w, a, points[ZETA, i], d, system.h, law_of(points, i), guess)


@inline
def sliding_force(system, i, u, old):
    """Newton step from the force `old` of contact i, which slides with it; and whether that is near enough the root."""
    points, w = system.points, own_block(system.A, 3 * i)
    if system.model == IMPULSE:
        new, turn, x, goes_on = sliding_impulse(old, w, points[FRICTION, i], u)
    else:
        d = deflection_of(points, i)
        new, turn, x, goes_on = sliding_step(old, points[ZETA, i], d, system.h, w, law_of(points, i), u)
    return new, goes_on and max(abs(turn), abs(x)) < SLIP_REACH


@reproducible
def lone_force(system, i, u, old):
    """Force of contact i by itself, which does not go on sticking; its velocity is u with the force `old`."""
    if old[2] > 0.0 and slides(old, system.points[FRICTION, i]):
        new, near = sliding_force(system, i, u, old)
        if near:
            return new
    return root_force(system, i, u, old)


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


@reproducible
def sweep(system, count, n, u, going):
    """One block Gauss-Seidel pass, each contact solved by itself. Returns the worst row's error |A_ii df| [m/s].

    going: false where the sweeps are done: no force changes there. Plants in lanes are not done at the same time.
    """
    A, f, points = system.A, system.f, system.points
    steps = stack(STICKING)
    reach = math.inf if system.model == IMPULSE else NEAR
    largest = scalar_sweep(system, count, n, u, going)
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
            moves = going and is_present(points, i)
            if moves and not (abs(step) < reach and is_inside_cone(new, points[FRICTION, i])):
                new = lone_force(system, i, end, old)
                df = sub(new, old)
            new, df = (new, df) if moves else (old, ZERO3)
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


@reproducible
def residual(system, count, n):
    """F of all rows: by how much f is not what the laws say. Returns max |A_ii F| [m/s] (Q4), and |F|^2."""
    A, f = system.A, system.f
    u, F = system.work.rows[U], system.work.rows[RESIDUAL]
    end_velocity(system, count, n, u)
    largest = 0.0
    for i in range(count):
        o = 3 * i
        off = point_residual(system, i, part3(u, o), part3(f, o))
        off = off if is_present(system.points, i) else ZERO3
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


@inline
def divide_block(D, v):
    """D^-1 v of a block whose last row is (0, 0, D_zz)."""
    z = v[2] / D[2, 2]
    x, y = v[0] - D[0, 2] * z, v[1] - D[1, 2] * z
    g = 1.0 / (D[0, 0] * D[1, 1] - D[0, 1] * D[1, 0])
    return (g * (D[1, 1] * x - D[0, 1] * y), g * (D[0, 0] * y - D[1, 0] * x), z)


@routine
def relative_slopes(system, count, n):
    """E = D^-1 V and e = D^-1 F with D = P + SOFT of all rows (Q6), where `residual` was; e into rows[CORRECTION]."""
    A, f, E = system.A, system.f, system.work.slopes
    u, F, e = system.work.rows[U], system.work.rows[RESIDUAL], system.work.rows[CORRECTION]
    D, V = system.work.blocks[0], system.work.blocks[1]
    for i in range(count):
        o = 3 * i
        point_slopes(system, i, part3(u, o), part3(f, o), D, V)
        for k in range(3):
            D[k, k] += SOFT
        part3_to(e, o, divide_block(D, part3(F, o)))
        for k in range(3):
            set_column3(E, o, k, divide_block(D, (V[0, k], V[1, k], V[2, k])))
    for first in each(3 * count):
        for i in range(first, n):
            low, high = own_bounds(system, i - first)
            inside = low < f[i] - u[i] / A[i, i] < high
            E[i, 0] = 1.0 / (SOFT * A[i, i]) if inside else 0.0
            e[i] = F[i] / (SOFT if inside else 1.0 + SOFT)


@inline
def block_of(E, o):
    """The 3x3 block of E of the contact whose rows start at o."""
    return (*row3(E, o, 0), *row3(E, o + 1, 0), *row3(E, o + 2, 0))


@routine
def couple_rows(system, count, n):
    """M = 1 + E A, eliminated."""
    A, E, M = system.A, system.work.slopes, system.work.matrix
    for o in range(0, 3 * count, 3):
        for r in range(o, o + 3):
            for j in abreast(n):
                M[r, j] = E[r, 0] * A[o, j] + E[r, 1] * A[o + 1, j] + E[r, 2] * A[o + 2, j]
    for first in each(3 * count):
        for i in range(first, n):
            for j in abreast(n):
                M[i, j] = E[i, 0] * A[i, j]
    for i in range(n):
        M[i, i] += 1.0
    for rows in each(n):
        eliminate(M[:rows])


@routine
def couple_joints(work, count, n):
    """K = 1 + Y^T E Z (Q10), eliminated."""
    Z, Y, E, K = work.paths[0], work.paths[1], work.slopes, work.matrix
    m = K.shape[1]
    for k in range(K.shape[0]):
        for j in abreast(m):
            K[k, j] = 1.0 if j == k else 0.0
    for o in range(0, 3 * count, 3):
        block = block_of(E, o)
        for k in range(K.shape[0]):
            y = tmul(block, (Y[o, k], Y[o + 1, k], Y[o + 2, k]))
            if anywhere(y[0] != 0.0 or y[1] != 0.0 or y[2] != 0.0):  # not of joints on other branches
                add_response(Z, o, y, m, K[k])
    for first in each(3 * count):
        for i in range(first, n):
            for k in range(K.shape[0]):
                y = E[i, 0] * Y[i, k]
                if anywhere(y != 0.0):
                    add_response(Z, i, (y,), m, K[k])
    eliminate(K)


@inline
def joint_motion(Y, count, n, e, s):
    """s = Y^T e."""
    m = s.shape[0]
    for j in abreast(m):
        s[j] = 0.0
    for o in range(0, 3 * count, 3):
        add_response(Y, o, part3(e, o), m, s)
    for first in each(3 * count):
        for i in range(first, n):
            add_response(Y, i, (e[i],), m, s)


@inline
def path_dot(Z, i, s):
    """Row i of Z times s."""
    total = 0.0
    for k in abreast(s.shape[0]):
        total += Z[i, k] * s[k]
    return total


@routine
def solve_by_joints(work, count, n):
    """`solve_coupled` by the motion s = Y^T x of the joints (Q10)."""
    Z, s, E, x = work.paths[0], work.motion, work.slopes, work.rows[CORRECTION]
    joint_motion(work.paths[1], count, n, x, s)
    substitute(work.matrix, s)
    for o in range(0, 3 * count, 3):
        u = path_dot(Z, o, s), path_dot(Z, o + 1, s), path_dot(Z, o + 2, s)
        part3_to(x, o, sub(part3(x, o), mul(block_of(E, o), u)))
    for first in each(3 * count):
        for i in range(first, n):
            x[i] -= E[i, 0] * path_dot(Z, i, s)


@inline
def by_joints(work, n):
    """Whether n rows are more than the joints: then (1 + E A) x = e is solved by the motion of these (Q10)."""
    return n > work.matrix.shape[0]


@routine
def couple(system, count, n):
    """Matrix of (1 + E A) x = e, eliminated."""
    if by_joints(system.work, n):
        couple_joints(system.work, count, n)
    else:
        couple_rows(system, count, n)


@routine
def solve_coupled(work, count, n):
    """Solve (1 + E A) x = e, E that of `couple`: e and then x in rows[CORRECTION]."""
    if by_joints(work, n):
        solve_by_joints(work, count, n)
    else:
        for rows in each(n):
            substitute(work.matrix[:rows], work.rows[CORRECTION])


@routine
def relax(system, count, n):
    """Solve f + E (b + A f) = 0, E in slopes: once leaves 7 digits where A is nearly singular, twice all."""
    f, work = system.f, system.work
    E, u, x = work.slopes, work.rows[TRIAL], work.rows[CORRECTION]
    for i in range(n):
        f[i] = 0.0
    couple(system, count, n)
    for _ in range(2):
        end_velocity(system, count, n, u)
        for i in range(n):
            x[i] = f[i] + (E[i, 0] + E[i, 1] + E[i, 2]) * u[i]
        solve_coupled(work, count, n)
        for i in range(n):
            f[i] -= x[i]


@routine
def newton(system, count, n, tolerance):
    """Semi-smooth Newton with halving (Q7) on F(f) = 0; leaves the best iterate in f. Returns steps and residual."""
    f, work = system.f, system.work
    start, best, change = work.rows[TRIAL], work.rows[BEST], work.rows[CORRECTION]
    error, square = residual(system, count, n)
    copy(f, n, best)
    least = error
    steps = 0
    while error > tolerance and steps < NEWTON_STEPS:
        relative_slopes(system, count, n)  # (P + SOFT + V A) x = F (Q6)
        couple(system, count, n)
        solve_coupled(work, count, n)
        copy(f, n, start)
        step = 1.0
        before = square
        while True:
            for i in range(n):
                f[i] = start[i] - step * change[i]
            error, square = residual(system, count, n)
            if square <= (1.0 - 1e-4 * step) * before or step < 0.02:
                break
            step *= 0.5
        steps += 1
        if error < least and square < math.inf:  # max passes over NaN, where the equations were singular
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
    going = sweeps < ALL_SWEEPS
    swept = 0
    while anywhere(going):
        change = sweep(system, count, n, u, going)
        swept += 1 if going else 0
        going = going and change > tolerance and sweeps + swept < ALL_SWEEPS
    after, _ = residual(system, count, n)
    if after <= error:
        return after, swept
    copy(best, n, system.f)
    return error, swept


@inline
def too_slow(model, change, before, sweeps, tolerance):
    """Whether so many sweeps more would not reach the tolerance if each lessened the change as the last one has.

    Not asked of impulses: between walls Newton's would be large from a start far off, as only their sum is determined.
    """
    if model == IMPULSE or not before < math.inf:
        return False
    rate = change / before
    for _ in range(sweeps):
        change *= rate
    return change > tolerance


@reproducible
def sweep_until_good(system, count, n, sweeps, tolerance):
    """Sweep from u = b + A f until no row was off by more than the tolerance [m/s]; returns how often.

    And the residual: 0 where at most SURE sweeps were enough, which need no judge.
    """
    u = system.work.rows[U]
    end_velocity(system, count, n, u)
    iterations = 0
    change, going = math.inf, sweeps > 0
    while anywhere(going):
        last = sweep(system, count, n, u, going)
        iterations += 1 if going else 0
        slow = too_slow(system.model, last, change, sweeps - iterations, tolerance)
        change = last if going else change
        going = going and change > tolerance and iterations < sweeps and not slow
    error = 0.0
    if change > tolerance or iterations > SURE:
        error, _ = residual(system, count, n)
    return iterations, error


@routine
def solve_by_newton(system, count, n, sweeps, tolerance):
    """Newton where sweeps were not enough, and if that stalls sweeps again. Needs the paths.

    Returns how many iterations that took, and whether the residual is above WORST and the tolerance.
    """
    u = system.work.rows[U]
    iterations, error = newton(system, count, n, tolerance)
    clamp_forces(system, count, n)
    error, _ = residual(system, count, n)
    if error > tolerance:
        error, swept = sweep_again(system, count, n, sweeps + iterations, tolerance, error)
        iterations += swept
    missed = error > max(tolerance, WORST)
    if missed and system.model == IMPULSE:
        take_no_energy(system, count, n, u)
    end_velocity(system, count, n, u)
    return iterations, missed


@routine
def largest_residual(system, count, n):
    """`true_residual`, within kernels; the velocities of the solve stay as they are, to the last bit."""
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
    rows, paths, slopes, matrix, motion, blocks = work
    return System(model, h, A, b, f, points, bounds, Scratch(rows, paths, slopes, matrix, motion, blocks))


@routine
def solve_plain(system, count, n, sweeps, tolerance):
    """`solve_contacts`, within kernels."""
    system = named(system)
    iterations, error = sweep_until_good(system, count, n, sweeps, tolerance)
    missed = False
    if error > tolerance:
        more, missed = solve_by_newton(system, count, n, iterations, tolerance)
        iterations += more
    return iterations, missed


@routine
def residual_plain(system, count, n):
    """`largest_residual` of a plain tuple."""
    return largest_residual(named(system), count, n)


@kernel
def solve_contacts(system, count, n, sweeps, tolerance):
    """Forces f of the contacts and scalar rows that obey their laws together with u = b + A f (Q1-Q7).

    Sweeps from the f given (warm start) until no row was off by more than the tolerance [m/s]; where `sweeps` of them
    would not do, Newton, and if that stalls sweeps up to ALL_SWEEPS. What took more than SURE sweeps is judged by its
    residual.
    system: the fields of `System`, the paths in its work. Leaves u in work.rows[U].
    Returns iterations (sweeps + Newton steps), and whether the residual is above WORST and the tolerance.
    """
    return solve_plain(system, count, n, sweeps, tolerance)


@kernel
def true_residual(system, count, n):
    """Largest max |A_ii (f - law)| [m/s] where `solve_contacts` ended."""
    return residual_plain(system, count, n)
