# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact laws for one point and the solver that couples all of them through the robot (E1-E4, N1-N11, I1, J1-J10).

Per contact three rows (t1, t2, n) in its surface frame, v_n > 0 separates. After the contacts come scalar rows: joint
friction and joint stops, a force between two bounds that wants its velocity to be zero.
Velocity of all rows at the end of a step: u = b + A f with A symmetric. Spring-damper: f is a force [N] and A = h W;
impulse: f is an impulse [N s] and A = W, with W = J H^-1 J^T.
A 3x3 symmetric block is (xx, xy, xz, yy, yz, zz); a law is (K, D, mu): stiffness [N/m^1.5], damping [N s/m^1.5],
friction coefficient. zeta is the depth at the start of the step (negative: gap), d (2) the tangential deflection.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import QUAD, combine, inline, kernel, routine, strict
from .lanes import aligned
from .rows import part3, part3_to
from .scalar import ZERO3, smul, sub

IMPLICIT = 0
IMPULSE = 1

ZETA, DEFLECTION, STIFFNESS, DAMPING, FRICTION, GUESS = 0, 1, 3, 4, 5, 6
CONTACT_COLUMNS = 7
"""Columns of a contact's data: zeta, deflection (2), stiffness, damping, friction; what the solver guesses sqrt(depth)
to be at the end of the step."""

FIRM = 1e-12
"""A direction that gives way by less than this share of another one's is one that the point cannot move in."""
NEAR = 1e-3
"""A Newton step no longer than this share of sqrt(depth) is as good as the root: what it leaves is of its square."""
NEWTON_STEPS = 30
ALL_SWEEPS = 200
SURE = 3
"""Sweeps within which a small change means a small residual: they converge fast."""
WORST = 1e-6
"""Largest residual of a solve that counts as converged [m/s]."""
LINEAR_SLIP_SPEED = 0.01
"""v_eps of the linear law [m/s]: below it its friction is viscous."""


U, RESIDUAL, TRIAL, BEST = range(4)
"""Rows of Scratch.rows: velocity of all rows at the end of the step, F, two iterates."""


class Scratch(NamedTuple):
    """Memory of the solver, owned by the caller: rows (4, n), Newton's matrix (n, n), a contact's P and V (2, 3, 3)."""

    rows: NDArray[np.float64]
    matrix: NDArray[np.float64]
    blocks: NDArray[np.float64]


def scratch(n: int) -> Scratch:
    """Memory for n rows, whole lanes."""
    return Scratch(aligned((4, n)), aligned((n, n)), np.zeros((2, 3, 3)))


# ---------------------------------------------------------------------------------------------- explicit laws


@inline
def linear_force(depth, u, law):
    """Force of the linear spring-damper (E1) at depth > 0; friction is viscous below LINEAR_SLIP_SPEED."""
    f_n = max(0.0, law[0] * depth - law[1] * u[2]) if depth > 0.0 else 0.0
    g = law[2] * f_n / max(math.sqrt(u[0] * u[0] + u[1] * u[1]), LINEAR_SLIP_SPEED)
    return (-g * u[0], -g * u[1], f_n)


@inline
def explicit_force(depth, u, d, law):
    """Force and rate of the deflection of the nonlinear spring-damper with tangential memory (E2-E4)."""
    K, D, mu = law
    s = math.sqrt(max(depth, 0.0))
    f_n = s * (K * depth - D * u[2])
    if depth <= 0.0 or f_n <= 0.0:
        return ZERO3, (-K / D * d[0], -K / D * d[1])
    f_x = -s * (K * d[0] + D * u[0])
    f_y = -s * (K * d[1] + D * u[1])
    size = math.sqrt(f_x * f_x + f_y * f_y)
    if size <= mu * f_n:
        return (f_x, f_y, f_n), (u[0], u[1])
    f_x *= mu * f_n / size
    f_y *= mu * f_n / size
    return (f_x, f_y, f_n), (-(f_x + s * K * d[0]) / (D * s), -(f_y + s * K * d[1]) / (D * s))


@inline
def end_force(zeta, d, h, law, u):
    """Force of the implicit spring-damper (N2-N4): that of its explicit law where a step with the velocity u ends."""
    f, _ = explicit_force(zeta - h * u[2], u, (d[0] + h * u[0], d[1] + h * u[1]), law)
    return f


@inline
def next_deflection(depth, f, d, h, law):
    """Deflection at the end of an implicit step (N5); `depth` and f are those of the end of the step."""
    K, D, _ = law
    if depth > 0.0 and f[2] > 0.0:
        s = math.sqrt(depth)
        g = h / (D + h * K)
        return (d[0] - g * (f[0] / s + K * d[0]), d[1] - g * (f[1] / s + K * d[1]))
    g = 1.0 / (1.0 + h * K / D)
    return (g * d[0], g * d[1])


# ---------------------------------------------------------------------------------------------- one contact


@inline
def eigen2(a, b, c):
    """Eigenvalues l1 <= l2 of [[a, b], [b, c]] and the unit eigenvector (x, y) of l1."""
    mean = 0.5 * (a + c)
    half = 0.5 * (a - c)
    r = math.sqrt(half * half + b * b)
    x = r - half if half <= 0.0 else -b
    y = -b if half <= 0.0 else r + half
    size = math.sqrt(x * x + y * y)
    if size <= 0.0:
        return mean, mean, 1.0, 0.0
    return mean - r, mean + r, x / size, y / size


@inline
def narrow(lo, r_lo, hi, r_hi, side, x, r):
    """Illinois rule for an increasing residual: keep the half with the root, halve an end that stays a second time."""
    if r > 0.0:
        return lo, 0.5 * r_lo if side > 0 else r_lo, x, r, 1
    return x, r, hi, 0.5 * r_hi if side < 0 else r_hi, -1


@inline
def between(lo, r_lo, hi, r_hi):
    """Secant point of a bracket, its middle where rounding puts the secant outside."""
    x = (lo * r_hi - hi * r_lo) / (r_hi - r_lo)
    return x if lo < x < hi else 0.5 * (lo + hi)


@routine
def force_at_depth(y, z_f, h, w, axes, p, law):
    """Force at the end depth y^2 (N6, N7) and by how much that depth disagrees with the force (N8).

    axes: `eigen2` of the tangential block of w. Slip: the smallest lam >= m/y with |e| <= 1 by Newton from below.
    """
    K, D, mu = law
    l1, l2, c, s = axes
    zeta, p_x, p_y = p
    f_n = max(0.0, y * ((K + D / h) * y * y - D / h * zeta))
    m = mu * f_n
    if m <= 0.0:
        return (0.0, 0.0, f_n), y * y - z_f + h * w[5] * f_n
    g = (D + h * K) * m
    lam = m / y
    q_x = p_x + g / mu * w[2]
    q_y = p_y + g / mu * w[4]
    a = c * q_x + s * q_y
    b = c * q_y - s * q_x
    e1 = a / (g * l1 + lam)
    e2 = b / (g * l2 + lam)
    for _ in range(40):
        size2 = e1 * e1 + e2 * e2
        if size2 <= 1.0 + 1e-14:
            break
        lam += (math.sqrt(size2) - 1.0) * size2 / (e1 * e1 / (g * l1 + lam) + e2 * e2 / (g * l2 + lam))
        e1 = a / (g * l1 + lam)
        e2 = b / (g * l2 + lam)
    f_x = -m * (c * e1 - s * e2)
    f_y = -m * (s * e1 + c * e2)
    return (f_x, f_y, f_n), y * y - z_f + h * (w[5] * f_n + w[2] * f_x + w[4] * f_y)


@strict
def sticking_step(y, a, zeta, d, h, w, law):
    """Newton step of (N8) from the end depth y^2 of a contact that sticks: force there, and the step in y; y > 0.

    (N7) with lam = m/y: M f_t = -y q with M = 1 + y C w_tt and q = p + C f_n w_tn, so f_t = -y s with s = M^-1 q, and
    because y C w_tt = M - 1, f_t' = -M^-1 (s + y C f_n' w_tn). Only a is new where the other contacts' forces change:
    what follows from it comes last in every sum.
    """
    K, D, _ = law
    C = D + h * K
    stiff = (K + D / h) * y * y
    free = D / h * zeta
    f_n = y * (stiff - free)
    df_n = 3.0 * stiff - free
    m_xx = 1.0 + y * C * w[0]
    m_xy = y * C * w[1]
    m_yy = 1.0 + y * C * w[3]
    g = 1.0 / (m_xx * m_yy - m_xy * m_xy)
    g_xx, g_xy, g_yy = g * m_yy, -g * m_xy, g * m_xx
    v_x = g_xx * w[2] + g_xy * w[4]
    v_y = g_xy * w[2] + g_yy * w[4]
    k = y * C * df_n
    q_x = K * d[0] + C * f_n * w[2]
    q_y = K * d[1] + C * f_n * w[4]
    s_x = g_xx * q_x + g_xy * q_y + C * g_xx * a[0] + C * g_xy * a[1]
    s_y = g_xy * q_x + g_yy * q_y + C * g_xy * a[0] + C * g_yy * a[1]
    r = y * y - zeta + h * w[5] * f_n + h * a[2] - h * y * w[2] * s_x - h * y * w[4] * s_y
    slope = 2.0 * y + h * (w[5] * df_n - k * (v_x * w[2] + v_y * w[4])) - h * v_x * s_x - h * v_y * s_y
    dy = -r / slope
    df_x = -k * v_x - g_xx * s_x - g_xy * s_y
    df_y = -k * v_y - g_xy * s_x - g_yy * s_y
    return (dy * df_x - y * s_x, dy * df_y - y * s_y, f_n + dy * df_n), dy


@routine
def implicit_point(w, a, zeta, d, h, law, guess):
    """Force of one contact at the end of the step (N6-N10): free velocity a, own block w of A, sqrt(depth) guessed.

    One Newton step where the contact goes on sticking near the guess, else the root itself. Its bracket exists: for
    large forces the friction cannot pull in more than the Schur complement of w leaves.
    """
    K, D, _ = law
    z_s = max(0.0, D / h * zeta / (K + D / h))
    z_f = zeta - h * a[2]
    if z_f <= z_s:
        return ZERO3
    if guess > 0.0:
        f, dy = sticking_step(guess, a, zeta, d, h, w, law)
        if f[2] > 0.0 and abs(dy) <= NEAR * guess and f[0] * f[0] + f[1] * f[1] <= (law[2] * f[2]) ** 2:
            return f
    C = D + h * K
    p = (zeta, K * d[0] + C * a[0], K * d[1] + C * a[1])
    axes = eigen2(w[0], w[1], w[3])
    tolerance = 1e-14 * (abs(z_f) + 1e-9)
    lo = math.sqrt(z_s)
    r_lo = z_s - z_f
    y = guess if guess > lo else math.sqrt(z_f)
    growth = 1.05 if guess > lo else 2.0
    f, r = force_at_depth(y, z_f, h, w, axes, p, law)
    for _ in range(80):
        if r >= -tolerance:
            break
        lo = y
        r_lo = r
        y *= growth
        growth = 2.0
        f, r = force_at_depth(y, z_f, h, w, axes, p, law)
    hi = y
    r_hi = r
    side = 0
    for _ in range(80):
        if abs(r) <= tolerance or hi - lo <= 1e-13 * hi:
            break
        y = between(lo, r_lo, hi, r_hi)
        f, r = force_at_depth(y, z_f, h, w, axes, p, law)
        lo, r_lo, hi, r_hi, side = narrow(lo, r_lo, hi, r_hi, side, y, r)
    return f


@routine
def impulse_at(lam, l1, l2, c, s, a, b, w, a_n):
    """Impulse for the slip factor lam (J7), rotated data (a, b) of rho in the eigenvectors of S."""
    e1 = -a / (l1 + lam)
    e2 = -b / (l2 + lam)
    p_x = c * e1 - s * e2
    p_y = s * e1 + c * e2
    return p_x, p_y, -(a_n + w[2] * p_x + w[4] * p_y) / w[5]


@routine
def impulse_point(w, a, mu):
    """Impulse of one contact that obeys (J1) exactly: free velocity a (target subtracted), own block w (J6-J8).

    A point that cannot give way along the normal takes none, one that cannot move sideways no friction.
    """
    if a[2] >= 0.0 or w[5] <= 0.0:
        return ZERO3
    l1, l2, c, s = eigen2(w[0] - w[2] * w[2] / w[5], w[1] - w[2] * w[4] / w[5], w[3] - w[4] * w[4] / w[5])
    if mu <= 0.0 or l2 <= FIRM * w[5]:
        return (0.0, 0.0, -a[2] / w[5])
    l1 = max(l1, 1e-12 * l2)
    rho_x = a[0] - w[2] * a[2] / w[5]
    rho_y = a[1] - w[4] * a[2] / w[5]
    along = c * rho_x + s * rho_y
    across = c * rho_y - s * rho_x
    p_x, p_y, p_n = impulse_at(0.0, l1, l2, c, s, along, across, w, a[2])
    r = mu * p_n - math.sqrt(p_x * p_x + p_y * p_y)
    if r >= -1e-13 * mu * abs(p_n):
        return (p_x, p_y, p_n)
    lo = 0.0
    r_lo = r
    hi = l2
    for _ in range(60):
        p_x, p_y, p_n = impulse_at(hi, l1, l2, c, s, along, across, w, a[2])
        r = mu * p_n - math.sqrt(p_x * p_x + p_y * p_y)
        if r >= 0.0:
            break
        lo = hi
        r_lo = r
        hi *= 4.0
    r_hi = r
    side = 0
    for _ in range(60):
        if abs(r) <= 1e-13 * (1e-12 + abs(mu * p_n)) or hi - lo <= 1e-15 * hi:
            break
        lam = between(lo, r_lo, hi, r_hi)
        p_x, p_y, p_n = impulse_at(lam, l1, l2, c, s, along, across, w, a[2])
        r = mu * p_n - math.sqrt(p_x * p_x + p_y * p_y)
        lo, r_lo, hi, r_hi, side = narrow(lo, r_lo, hi, r_hi, side, lam, r)
    return on_disk(p_x, p_y, p_n, mu, True)


@inline
def on_disk(p_x, p_y, p_n, mu, onto):
    """Clamp the normal force to p_n >= 0 and the tangential one into the disk (`onto`: exactly to its rim)."""
    p_n = max(p_n, 0.0)
    size = math.sqrt(p_x * p_x + p_y * p_y)
    g = mu * p_n / size if size > 0.0 and (onto or size > mu * p_n) else 1.0
    return (g * p_x, g * p_y, p_n)


# ---------------------------------------------------------------------------------------------- targets of the impulse


@inline
def predicted_target(pen, u0, b_n, h, restitution):
    """Normal velocity the impulse asks for at least, and whether the point lands softly (J2-J5).

    A point below the surface is not asked to leave it: depth is taken back without velocity.
    """
    c = -pen / h if pen > 0.0 else 0.0
    arrives = u0 < 0.0 and pen + h * b_n < 0.0
    if restitution > 0.0 and arrives:
        a = (u0 - b_n) / h
        at_surface = max(0.0, u0 * u0 + 2.0 * a * pen)
        discriminant = a * a * h * h + restitution * restitution * at_surface - 2.0 * a * pen
        if discriminant > 0.0:
            c = max(c, math.sqrt(discriminant) - a * h)
    lands = c <= 0.0 and pen > 1e-6 and arrives and -h * u0 <= 1e-3
    return 0.0 if lands else c, lands


@inline
def below_target(pen, u0, restitution, recovery):
    """Normal velocity asked for of a point below the surface (I1, with a separating point keeping its speed)."""
    return -restitution * u0 - recovery * pen if u0 < 0.0 else max(u0, -recovery * pen)


# ---------------------------------------------------------------------------------------------- all contacts


@inline
def copy(source, n, target):
    """target[:n] = source[:n] (only a number fills a slice in `language`)."""
    for i in range(n):
        target[i] = source[i]


@inline
def clear(block):
    """Set a 3x3 block to zero."""
    for i in range(3):
        for j in range(3):
            block[i, j] = 0.0


@inline
def deflection_of(points, i):
    """Tangential deflection d of contact i."""
    return (points[i, DEFLECTION], points[i, DEFLECTION + 1])


@inline
def law_of(points, i):
    """K, D, mu of contact i."""
    return (points[i, STIFFNESS], points[i, DAMPING], points[i, FRICTION])


@inline
def own_block(A, o):
    """The 3x3 block of A of the contact whose rows start at o."""
    return (A[o, o], A[o, o + 1], A[o, o + 2], A[o + 1, o + 1], A[o + 1, o + 2], A[o + 2, o + 2])


@inline
def shift(A, o, df, n, u):
    """Add to the velocities u of n rows what forces df, one for each of A's rows from o on, do to them."""
    for begin in range(0, n, QUAD):
        combine(u, begin, (1.0,), u, begin, 0, df, A, o * A.shape[1] + begin, A.shape[1])


@routine
def end_velocity(A, b, f, k, n, u):
    """Set u = b + A f."""
    for begin in range(0, n, QUAD):
        combine(u, begin, (1.0,), b, begin, 0, (), b, 0, 0)
    for i in range(0, 3 * k, 3):
        shift(A, i, part3(f, i), n, u)
    for i in range(3 * k, n):
        shift(A, i, (f[i],), n, u)


@routine
def scalar_sweep(A, bounds, k, n, f, u):
    """One pass over the scalar rows (Q2): each wants u = 0, its force in its bounds. Returns max |A_ii df|."""
    largest = 0.0
    for i in range(3 * k, n):
        g = min(max(f[i] - u[i] / A[i, i], bounds[i - 3 * k, 0]), bounds[i - 3 * k, 1])
        df = g - f[i]
        f[i] = g
        shift(A, i, (df,), n, u)
        largest = max(largest, abs(A[i, i] * df))
    return largest


@routine
def sweep(model, A, points, bounds, h, k, n, f, u):
    """One block Gauss-Seidel pass, each contact solved by itself. Returns the worst row's error |A_ii df| [m/s]."""
    largest = scalar_sweep(A, bounds, k, n, f, u)
    if model != IMPULSE:
        # before any force of this pass: what follows from a guess need not wait for the contacts before it
        for i in range(k):
            depth = points[i, ZETA] - h * u[3 * i + 2]
            points[i, GUESS] = math.sqrt(max(0.0, depth)) if f[3 * i + 2] > 0.0 else 0.0
    for i in range(k):
        o = 3 * i
        w = own_block(A, o)
        old = (f[o], f[o + 1], f[o + 2])
        end = (u[o], u[o + 1], u[o + 2])
        a = sub(end, smul(w, old))
        if model == IMPULSE:
            new = impulse_point(w, a, points[i, FRICTION])
        else:
            new = implicit_point(
                w, a, points[i, ZETA], deflection_of(points, i), h, law_of(points, i), points[i, GUESS]
            )
        df = sub(new, old)
        shift(A, o, df, n, u)
        f[o], f[o + 1], f[o + 2] = new
        largest = max(largest, abs(w[0] * df[0]), abs(w[3] * df[1]), abs(w[5] * df[2]))
    return largest


@routine
def implicit_slopes(zeta, d, law, h, u, P, V):
    """Derivatives P = dF/df and V = dF/du of F = f - `end_force` (N11)."""
    K, D, mu = law
    C = D + h * K
    clear(P)
    clear(V)
    for i in range(3):
        P[i, i] = 1.0
    depth = zeta - h * u[2]
    if depth <= 0.0:
        return
    s = math.sqrt(depth)
    e = K * depth - D * u[2]
    if e <= 0.0:
        return
    f_n = s * e
    slope = -h / (2.0 * s)
    df_n = slope * e - s * C
    p_x = K * d[0] + C * u[0]
    p_y = K * d[1] + C * u[1]
    size = math.sqrt(p_x * p_x + p_y * p_y)
    V[2, 2] = -df_n
    if s * size <= mu * f_n:
        V[0, 0] = s * C
        V[1, 1] = s * C
        V[0, 2] = slope * p_x
        V[1, 2] = slope * p_y
        return
    e_x = p_x / size
    e_y = p_y / size
    g = mu * f_n * C / size
    V[0, 0] = g * (1.0 - e_x * e_x)
    V[0, 1] = -g * e_x * e_y
    V[1, 0] = -g * e_x * e_y
    V[1, 1] = g * (1.0 - e_y * e_y)
    V[0, 2] = mu * df_n * e_x
    V[1, 2] = mu * df_n * e_y


@inline
def projection_steps(w):
    """Steps of the projections of (J1) along the normal and along the surface: what w gives way, inverted."""
    least = FIRM * max(w[0], w[3], w[5], 1e-288)
    return 1.0 / max(w[5], least), 2.0 / max(w[0] + w[3], least)


@inline
def impulse_residual(w, mu, u, p):
    """F of the projection equations of (J1): p less what its projection step makes of it (J9)."""
    r_n, r_t = projection_steps(w)
    return sub(p, on_disk(p[0] - r_t * u[0], p[1] - r_t * u[1], p[2] - r_n * u[2], mu, False))


@routine
def impulse_slopes(w, mu, u, p, P, V):
    """Derivatives P = dF/dp and V = dF/du of `impulse_residual` (J10)."""
    r_n, r_t = projection_steps(w)
    clear(P)
    clear(V)
    y_n = p[2] - r_n * u[2]
    if y_n <= 0.0:
        for i in range(3):
            P[i, i] = 1.0
        return
    x = p[0] - r_t * u[0]
    y = p[1] - r_t * u[1]
    size = math.sqrt(x * x + y * y)
    V[2, 2] = r_n
    if size <= mu * y_n:
        for i in range(2):
            V[i, i] = r_t
        return
    e = (x / size, y / size)
    q = mu * y_n / size
    for i in range(2):
        P[i, 2] = -mu * e[i]
        V[i, 2] = mu * r_n * e[i]
        for j in range(2):
            t = q * ((1.0 if i == j else 0.0) - e[i] * e[j])
            P[i, j] = (1.0 if i == j else 0.0) - t
            V[i, j] = r_t * t


@routine
def residual(model, A, b, points, bounds, h, k, n, f, work):
    """F of all rows: by how much f is not what the laws say. Returns max |A_ii F| [m/s] (Q4), and |F|^2."""
    u, F = work.rows[U], work.rows[RESIDUAL]
    end_velocity(A, b, f, k, n, u)
    largest = 0.0
    for i in range(k):
        o = 3 * i
        end, force = part3(u, o), part3(f, o)
        if model == IMPULSE:
            off = impulse_residual(own_block(A, o), points[i, FRICTION], end, force)
        else:
            off = sub(force, end_force(points[i, ZETA], deflection_of(points, i), h, law_of(points, i), end))
        part3_to(F, o, off)
        for j in range(3):
            largest = max(largest, abs(A[o + j, o + j] * off[j]))
    for i in range(3 * k, n):
        g = f[i] - u[i] / A[i, i]
        F[i] = f[i] - min(max(g, bounds[i - 3 * k, 0]), bounds[i - 3 * k, 1])
        largest = max(largest, abs(A[i, i] * F[i]))
    square = 0.0
    for i in range(n):
        square += F[i] * F[i]
    return largest, square


@routine
def newton_matrix(model, A, points, bounds, h, k, n, f, work):
    """M = dF/df = P + V A (Q6) where `residual` was, 1e-6 on the diagonal because coplanar points make A singular."""
    M, u, P, V = work.matrix, work.rows[U], work.blocks[0], work.blocks[1]
    for i in range(k):
        o = 3 * i
        if model == IMPULSE:
            impulse_slopes(own_block(A, o), points[i, FRICTION], part3(u, o), part3(f, o), P, V)
        else:
            implicit_slopes(points[i, ZETA], deflection_of(points, i), law_of(points, i), h, part3(u, o), P, V)
        for r in range(3):
            for j in range(n):
                M[o + r, j] = V[r, 0] * A[o, j] + V[r, 1] * A[o + 1, j] + V[r, 2] * A[o + 2, j]
            for j in range(3):
                M[o + r, o + j] += P[r, j]
    for i in range(3 * k, n):
        g = f[i] - u[i] / A[i, i]
        inside = bounds[i - 3 * k, 0] < g < bounds[i - 3 * k, 1]
        for j in range(n):
            M[i, j] = A[i, j] / A[i, i] if inside else 0.0
        if not inside:
            M[i, i] = 1.0
    for i in range(n):
        M[i, i] += 1e-6


@routine
def eliminate(M, n, x):
    """Solve M x = x in place by Gauss elimination with row exchange; M is destroyed."""
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(M[r, c]) > abs(M[p, c]):
                p = r
        if p != c:
            for j in range(c, n):
                M[c, j], M[p, j] = M[p, j], M[c, j]
            x[c], x[p] = x[p], x[c]
        for r in range(c + 1, n):
            g = M[r, c] / M[c, c]
            if g != 0.0:
                for j in range(c + 1, n):
                    M[r, j] -= g * M[c, j]
                x[r] -= g * x[c]
    for r in range(n - 1, -1, -1):
        s = x[r]
        for j in range(r + 1, n):
            s -= M[r, j] * x[j]
        x[r] = s / M[r, r]


@routine
def newton(model, A, b, points, bounds, h, k, n, tolerance, f, work):
    """Semi-smooth Newton with halving (Q7) on F(f) = 0; leaves the best iterate in f. Returns steps and residual."""
    start, best, F = work.rows[TRIAL], work.rows[BEST], work.rows[RESIDUAL]
    error, square = residual(model, A, b, points, bounds, h, k, n, f, work)
    copy(f, n, best)
    least = error
    steps = 0
    while error > tolerance and steps < NEWTON_STEPS:
        newton_matrix(model, A, points, bounds, h, k, n, f, work)
        eliminate(work.matrix, n, F)
        copy(f, n, start)
        step = 1.0
        before = square
        change = work.matrix[0]
        copy(F, n, change)
        while True:
            for i in range(n):
                f[i] = start[i] - step * change[i]
            error, square = residual(model, A, b, points, bounds, h, k, n, f, work)
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
def admissible(points, bounds, k, n, f):
    """Clamp forces to f_n >= 0, the friction disk and the bounds: Newton keeps them only to its tolerance."""
    for i in range(k):
        o = 3 * i
        f[o], f[o + 1], f[o + 2] = on_disk(f[o], f[o + 1], f[o + 2], points[i, FRICTION], False)
    for i in range(3 * k, n):
        f[i] = min(max(f[i], bounds[i - 3 * k, 0]), bounds[i - 3 * k, 1])


@routine
def take_no_energy(A, b, k, n, f, u):
    """Shorten impulses that missed the tolerance until their work f . (b + u) / 2 is not positive (Q9)."""
    end_velocity(A, b, f, k, n, u)
    free, added = 0.0, 0.0
    for i in range(n):
        free += f[i] * b[i]
        added += f[i] * (u[i] - b[i])
    if 2.0 * free + added > 0.0:
        g = min(max(-2.0 * free / added, 0.0), 1.0) if added > 0.0 else 0.0
        for i in range(n):
            f[i] *= g


@routine
def sweep_on(model, A, b, points, bounds, h, k, n, sweeps, tolerance, error, f, work):
    """Sweep up to ALL_SWEEPS in total from Newton's best iterate, whose residual is `error`; keeps the better end.

    Returns its residual, and how many sweeps it took.
    """
    u, best = work.rows[U], work.rows[BEST]
    copy(f, n, best)
    end_velocity(A, b, f, k, n, u)
    change = math.inf
    swept = 0
    while change > tolerance and sweeps + swept < ALL_SWEEPS:
        change = sweep(model, A, points, bounds, h, k, n, f, u)
        swept += 1
    after, _ = residual(model, A, b, points, bounds, h, k, n, f, work)
    if after <= error:
        return after, swept
    copy(best, n, f)
    return error, swept


@kernel
def solve_contacts(model, A, b, points, bounds, h, k, n, sweeps, tolerance, f, work):
    """Forces f of k contacts and n - 3 k scalar rows that obey their laws together with u = b + A f (Q1-Q7).

    Sweeps from the f given (warm start) until no row was off by more than the tolerance [m/s]; after `sweeps` of them
    Newton, and if that stalls sweeps up to ALL_SWEEPS. What took more than SURE sweeps is judged by its residual.
    points (k, CONTACT_COLUMNS), bounds (n - 3 k, 2); b and A's rows are whole lanes long. Leaves u in work.rows[U].
    Returns iterations (sweeps + Newton steps), and whether the residual is above WORST and the tolerance.
    """
    u = work.rows[U]
    if n == 0:
        return 0, False
    end_velocity(A, b, f, k, n, u)
    iterations = 0
    change = math.inf
    while change > tolerance and iterations < sweeps:
        change = sweep(model, A, points, bounds, h, k, n, f, u)
        iterations += 1
    missed = False
    if change > tolerance or iterations > SURE:
        error, _ = residual(model, A, b, points, bounds, h, k, n, f, work)
        if error > tolerance:
            steps, error = newton(model, A, b, points, bounds, h, k, n, tolerance, f, work)
            iterations += steps
            admissible(points, bounds, k, n, f)
            error, _ = residual(model, A, b, points, bounds, h, k, n, f, work)
        if error > tolerance:
            error, swept = sweep_on(model, A, b, points, bounds, h, k, n, sweeps, tolerance, error, f, work)
            iterations += swept
        missed = error > max(tolerance, WORST)
        if missed and model == IMPULSE:
            take_no_energy(A, b, k, n, f, u)
    end_velocity(A, b, f, k, n, u)  # without what the passes rounded
    return iterations, missed


@kernel
def true_residual(model, A, b, points, bounds, h, k, n, f, work):
    """Largest max |A_ii (f - law)| [m/s] where `solve_contacts` ended."""
    if n == 0:
        return 0.0
    error, _ = residual(model, A, b, points, bounds, h, k, n, f, work)
    return error
