# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Impulse contact of one point (I1, J1-J13): complementarity, Coulomb friction, restitution, soft landing.

p is the impulse and u the velocity at the end of the step less its target, in surface axes; u_n > 0 separates.
A 3x3 symmetric block w of A is (xx, xy, xz, yy, yz, zz).
"""

import math

from ...compiler import inline, reproducible, routine
from ..scalar import ZERO3, smul2, sub
from .friction import clamp_slopes, clamp_to_cone, eigen2, length, slip_impulse, slip_step, to_axes
from .roots import between, narrow

FIRM = 1e-12
"""A direction that gives way by less than this share of another one's is one that the point cannot move in."""

WELL_POSED = 1e-6
"""Least share of what a direction gives way by that is left when the others are held, for a block to be inverted."""


@inline
def impulse_at(lam, axes, rho, w, a_n):
    """Impulse for the slip factor lam (J6, J7); axes: `eigen2` of S, rho in them."""
    p_x, p_y = slip_impulse(axes, rho, lam)
    return p_x, p_y, -(a_n + w[2] * p_x + w[4] * p_y) / w[5]


@reproducible
def impulse_point(w, a, mu):
    """Impulse of one contact that obeys (J1) exactly: free velocity a (target subtracted), own block w (J6-J8).

    A point that cannot give way along the normal takes none, one that cannot move sideways no friction.
    """
    if a[2] >= 0.0 or w[5] <= 0.0:
        return ZERO3
    l1, l2, c, s = eigen2(w[0] - w[2] * w[2] / w[5], w[1] - w[2] * w[4] / w[5], w[3] - w[4] * w[4] / w[5])
    if mu <= 0.0 or l2 <= FIRM * w[5]:
        return (0.0, 0.0, -a[2] / w[5])
    axes = (max(l1, 1e-12 * l2), l2, c, s)
    rho = to_axes(axes, a[0] - w[2] * a[2] / w[5], a[1] - w[4] * a[2] / w[5])
    p_x, p_y, p_n = impulse_at(0.0, axes, rho, w, a[2])
    r = mu * p_n - length(p_x, p_y)
    if r >= -1e-13 * mu * abs(p_n):
        return (p_x, p_y, p_n)
    lo = 0.0
    r_lo = r
    hi = l2
    for _ in range(60):
        p_x, p_y, p_n = impulse_at(hi, axes, rho, w, a[2])
        r = mu * p_n - length(p_x, p_y)
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
        p_x, p_y, p_n = impulse_at(lam, axes, rho, w, a[2])
        r = mu * p_n - length(p_x, p_y)
        lo, r_lo, hi, r_hi, side = narrow(lo, r_lo, hi, r_hi, side, lam, r)
    return clamp_to_cone(p_x, p_y, p_n, mu, True)


@inline
def sticking_impulse(w):
    """What the impulse changes by where a contact with the velocity u goes on sticking, -w^-1 u (J12).

    As `sticking_step`: c, e, b, S, t, for x = c + e . u and the change b - (S u_t, 0) - x t; and whether w gives way in
    all directions.
    """
    det = w[0] * w[3] - w[1] * w[1]
    plane = det > WELL_POSED * w[0] * w[3]
    g = 1.0 / (det if plane else 1.0)
    S = (g * w[3], -g * w[1], g * w[0])
    v_x, v_y = smul2(S, (w[2], w[4]))
    schur = w[5] - w[2] * v_x - w[4] * v_y
    firm = plane and schur > WELL_POSED * w[5]
    g = 1.0 / (schur if firm else 1.0)
    return (0.0, (-g * v_x, -g * v_y, g), ZERO3, S, (-v_x, -v_y, 1.0)), firm


@inline
def sliding_impulse(old, w, mu, u):
    """Newton step (J13) of a contact that slides, as `sliding_step`; x: share of the normal impulse."""
    f, turn, x, v = slip_step(w, mu, old, (old[2], old[2]), (u[0], u[1], 1.0), (0.0, 1.0, u[2]))
    return f, turn, x, f[2] > 0.0 and v > 0.0


@inline
def projection_steps(w):
    """Steps of the projections of (J1) along the normal and along the surface: what w gives way, inverted."""
    least = FIRM * max(w[0], w[3], w[5], 1e-288)
    return 1.0 / max(w[5], least), 2.0 / max(w[0] + w[3], least)


@inline
def impulse_residual(w, mu, u, p):
    """F of the projection equations of (J1): p less what its projection step makes of it (J9)."""
    r_n, r_t = projection_steps(w)
    return sub(p, clamp_to_cone(p[0] - r_t * u[0], p[1] - r_t * u[1], p[2] - r_n * u[2], mu, False))


@routine
def impulse_slopes(w, mu, u, p, P, V):
    """Derivatives P = dF/dp and V = dF/du of `impulse_residual` (J10), of blocks that are zero."""
    r_n, r_t = projection_steps(w)
    for i in range(3):
        P[i, i] = 1.0
    y_n = p[2] - r_n * u[2]
    if y_n <= 0.0:
        return
    T, by_normal = clamp_slopes(p[0] - r_t * u[0], p[1] - r_t * u[1], y_n, mu)
    P[2, 2] = 0.0
    V[2, 2] = r_n
    P[0, 0] -= T[0]
    P[0, 1] -= T[1]
    P[1, 0] -= T[1]
    P[1, 1] -= T[2]
    V[0, 0] = r_t * T[0]
    V[0, 1] = r_t * T[1]
    V[1, 0] = r_t * T[1]
    V[1, 1] = r_t * T[2]
    for i in range(2):
        P[i, 2] = -by_normal[i]
        V[i, 2] = r_n * by_normal[i]


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
