# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Spring-damper contact of one point: explicit laws (E1-E4), and the one at the end of a step (N1-N11).

A law is (K, D, mu): stiffness [N/m^1.5], damping [N s/m^1.5], friction coefficient. zeta is the depth at the start of
the step (negative: gap), d (2) the tangential deflection, u the velocity in surface axes, u_n > 0 separates.
A 3x3 symmetric block is (xx, xy, xz, yy, yz, zz).
"""

import math

from ...compiler import inline, routine, strict
from ..scalar import ZERO3
from .friction import clamp_slopes, eigen2, friction_direction, on_rim, sticks, viscous_friction
from .roots import between, narrow

NEAR = 1e-3
"""A Newton step no longer than this share of sqrt(depth) is as good as the root: what it leaves is of its square."""


@inline
def linear_force(depth, u, law):
    """Force of the linear spring-damper (E1) at depth > 0."""
    f_n = max(0.0, law[0] * depth - law[1] * u[2]) if depth > 0.0 else 0.0
    f_x, f_y = viscous_friction(u, f_n, law[2])
    return (f_x, f_y, f_n)


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
    if sticks(f_x, f_y, f_n, mu):
        return (f_x, f_y, f_n), (u[0], u[1])
    f_x, f_y = on_rim(f_x, f_y, f_n, mu)
    return (f_x, f_y, f_n), (-(f_x + s * K * d[0]) / (D * s), -(f_y + s * K * d[1]) / (D * s))


@inline
def end_force(zeta, d, h, law, u):
    """Force of the implicit spring-damper (N2-N4): that of its explicit law where a step with the velocity u ends."""
    f, _ = explicit_force(zeta - h * u[2], u, (d[0] + h * u[0], d[1] + h * u[1]), law)
    return f


@routine
def end_force_slopes(zeta, d, law, h, u, P, V):
    """Derivatives P = dF/df and V = dF/du of F = f - `end_force` (N11), of blocks that are zero."""
    K, D, mu = law
    C = D + h * K
    for i in range(3):
        P[i, i] = 1.0
    depth = zeta - h * u[2]
    s = math.sqrt(max(depth, 0.0))
    e = K * depth - D * u[2]
    if depth <= 0.0 or e <= 0.0:
        return
    slope = -h / (2.0 * s)
    df_n = slope * e - s * C
    p_x = K * d[0] + C * u[0]
    p_y = K * d[1] + C * u[1]
    T, by_normal = clamp_slopes(s * p_x, s * p_y, s * e, mu)
    V[2, 2] = -df_n
    V[0, 0] = s * C * T[0]
    V[0, 1] = s * C * T[1]
    V[1, 0] = s * C * T[1]
    V[1, 1] = s * C * T[2]
    V[0, 2] = slope * (T[0] * p_x + T[1] * p_y) + by_normal[0] * df_n
    V[1, 2] = slope * (T[1] * p_x + T[2] * p_y) + by_normal[1] * df_n


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


@routine
def force_at_depth(y, z_f, h, w, axes, p, law):
    """Force at the end depth y^2 (N6, N7) and by how much that depth disagrees with the force (N8).

    axes: `eigen2` of the tangential block of w.
    """
    K, D, mu = law
    zeta, p_x, p_y = p
    f_n = max(0.0, y * ((K + D / h) * y * y - D / h * zeta))
    m = mu * f_n
    if m <= 0.0:
        return (0.0, 0.0, f_n), y * y - z_f + h * w[5] * f_n
    g = (D + h * K) * m
    e_x, e_y = friction_direction(axes, (p_x + g / mu * w[2], p_y + g / mu * w[4]), g, m / y)
    f_x = -m * e_x
    f_y = -m * e_y
    return (f_x, f_y, f_n), y * y - z_f + h * (w[5] * f_n + w[2] * f_x + w[4] * f_y)


@strict
def sticking_step(y, a, zeta, d, h, w, law, before):
    """Newton step of (N8) from the end depth y^2 of a contact that sticks: force there, and the step in y; y > 0.

    (N7) with lam = m/y: M f_t = -y q with M = 1 + y C w_tt and q = p + C f_n w_tn, so f_t = -y s with s = M^-1 q, and
    because y C w_tt = M - 1, f_t' = -M^-1 (s + y C f_n' w_tn). Only a is new where the other contacts' forces change:
    what follows from it comes last in every sum, and the slope of the residual has the force `before` for f_t, so that
    the division by it does not wait.
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
    slope = y * (2.0 * y + h * (w[5] * df_n - k * (v_x * w[2] + v_y * w[4]))) + h * (v_x * before[0] + v_y * before[1])
    dy = -y / slope * r
    df_x = -k * v_x - g_xx * s_x - g_xy * s_y
    df_y = -k * v_y - g_xy * s_x - g_yy * s_y
    return (dy * df_x - y * s_x, dy * df_y - y * s_y, f_n + dy * df_n), dy


@routine
def implicit_point(w, a, zeta, d, h, law, guess, before):
    """Force of one contact at the end of the step (N6-N10): free velocity a, own block w of A, sqrt(depth) guessed.

    before: its force as it was known before.
    One Newton step where the contact goes on sticking near the guess, else the root itself. Its bracket exists: for
    large forces the friction cannot pull in more than the Schur complement of w leaves.
    """
    K, D, mu = law
    if guess > 0.0:
        f, dy = sticking_step(guess, a, zeta, d, h, w, law, before)
        if f[2] > 0.0 and abs(dy) <= NEAR * guess and f[0] * f[0] + f[1] * f[1] <= (mu * f[2]) ** 2:
            return f
    z_s = max(0.0, D / h * zeta / (K + D / h))
    z_f = zeta - h * a[2]
    if z_f <= z_s:
        return ZERO3
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
