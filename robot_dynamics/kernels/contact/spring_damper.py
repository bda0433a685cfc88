# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Spring-damper contact of one point: explicit laws (E1-E4), and the one at the end of a step (N1-N14).

A law is (K, D, mu): stiffness [N/m^1.5], damping [N s/m^1.5], friction coefficient. zeta is the depth at the start of
the step (negative: gap), d (2) the tangential deflection, u the velocity in surface axes, u_n > 0 separates.
A 3x3 symmetric block is (xx, xy, xz, yy, yz, zz).
"""

import math

from ...compiler import inline, reproducible, routine, strict
from ..scalar import ZERO3, smul, smul2
from .friction import clamp_slopes, eigen2, friction_direction, on_rim, slip_step, sticks, viscous_friction
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


@reproducible
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
def sticking_step(y, old, zeta, d, h, w, law):
    """Newton step (N13) from the end depth y^2 > 0 of a contact that sticks: how its force follows from its velocity u.

    old: its force while u is its velocity. Returns c, e, b, S, t: x = c + e . u is -dy / y, and the force changes by
    b - (S u_t, 0) - x t. S: (xx, xy, yy).
    """
    K, D, _ = law
    C = D + h * K
    per_step = 1.0 / h
    stiff = C * per_step * y * y
    free = D * per_step * zeta
    f_n = y * (stiff - free)
    t_n = y * (3.0 * stiff - free)
    a = smul(w, old)
    q = K * d[0] + C * (f_n * w[2] - a[0]), K * d[1] + C * (f_n * w[4] - a[1])
    k = y * C
    m_xx, m_xy, m_yy = 1.0 + k * w[0], k * w[1], 1.0 + k * w[3]
    det = m_xx * m_yy - m_xy * m_xy
    # G = M^-1 det: both divisions begin at once
    G = (m_yy, -m_xy, m_xx)
    s, v, f = smul2(G, q), smul2(G, (w[2], w[4])), smul2(G, old)
    t_x, t_y = f[0] - k * t_n * v[0], f[1] - k * t_n * v[1]
    g = 1.0 / det
    per_slope = det / (det * (2.0 * y * y + h * w[5] * t_n) + h * (w[2] * t_x + w[4] * t_y))
    r = y * y - zeta + h * (w[5] * f_n - a[2] - g * y * (w[2] * s[0] + w[4] * s[1]))
    e = h * per_slope
    ge, gk, gy = g * e, g * k, g * y
    return (
        per_slope * r,
        (-k * ge * v[0], -k * ge * v[1], e),
        (-gy * s[0] - old[0], -gy * s[1] - old[1], f_n - old[2]),
        (gk * G[0], gk * G[1], gk * G[2]),
        (g * t_x, g * t_y, t_n),
    )


@inline
def sliding_step(old, zeta, d, h, w, law, u):
    """Newton step (N14) of a contact that slides, `old` its force while u is its velocity.

    Returns its force, the turn of its direction [rad], -dy / y, and whether it goes on sliding.
    """
    K, D, mu = law
    C = D + h * K
    depth = max(zeta - h * u[2], 1e-288)
    y = math.sqrt(depth)
    stiff, free = C / h * depth, D / h * zeta
    normal = y * (stiff - free), y * (3.0 * stiff - free)
    drive = K * d[0] + C * u[0], K * d[1] + C * u[1], C
    f, turn, x, v = slip_step(w, mu, old, normal, drive, (2.0 * depth, h, 0.0))
    return f, turn, x, zeta > h * u[2] and f[2] > 0.0 and y * (1.0 - x) * v > mu * f[2]


@reproducible
def implicit_point(w, a, zeta, d, h, law, guess):
    """Force of one contact at the end of the step, the root of (N8): free velocity a, own block w of A.

    guess: of sqrt(depth). Its bracket exists: for large forces the friction cannot pull in more than the Schur
    complement of w leaves.
    """
    K, D, _ = law
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
