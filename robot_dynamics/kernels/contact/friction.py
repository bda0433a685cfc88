# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Coulomb friction, the same in all directions: |f_t| <= mu f_n, and where the contact slips f_t opposes the slip.

Another law of friction is another of this file. The laws of the normal force and the solver call only what is here.
"""

import math

from ...compiler import inline, reproducible
from ..scalar import smul

LINEAR_SLIP_SPEED = 0.01
"""v_eps of the linear law [m/s]: below it its friction is viscous."""


@inline
def length(x, y):
    """Length of a tangential vector."""
    return math.sqrt(x * x + y * y)


@inline
def viscous_friction(u, f_n, mu):
    """Tangential force at the velocity u, viscous below LINEAR_SLIP_SPEED (E1)."""
    g = mu * f_n / max(length(u[0], u[1]), LINEAR_SLIP_SPEED)
    return -g * u[0], -g * u[1]


@inline
def sticks(x, y, f_n, mu):
    """Whether the tangential force (x, y) is within the friction disk."""
    return length(x, y) <= mu * f_n


@inline
def is_inside_cone(f, mu):
    """Whether the force f pushes and its tangential part is within the friction disk."""
    return f[2] > 0.0 and f[0] * f[0] + f[1] * f[1] <= (mu * f[2]) ** 2


@inline
def slides(f, mu):
    """Whether a contact with the force f is on the rim of its friction disk, to rounding."""
    rim = (1.0 - 1e-9) * mu * f[2]
    return f[0] * f[0] + f[1] * f[1] >= rim * rim


@inline
def on_rim(x, y, f_n, mu):
    """The tangential force (x, y) outside the friction disk, shortened to its rim."""
    g = mu * f_n / length(x, y)
    return g * x, g * y


@inline
def clamp_to_cone(p_x, p_y, p_n, mu, onto):
    """Clamp the normal force to p_n >= 0 and the tangential one into the disk (`onto`: exactly to its rim)."""
    p_n = max(p_n, 0.0)
    size = length(p_x, p_y)
    g = mu * p_n / size if size > 0.0 and (onto or size > mu * p_n) else 1.0
    return (g * p_x, g * p_y, p_n)


@inline
def clamp_slopes(x, y, f_n, mu):
    """Derivatives of the tangential force clamped into the disk: by itself T = (xx, xy, yy), by f_n (x, y).

    Within the disk 1 and 0; outside T = limit / size (1 - e e^T), mu e with e = (x, y) / size.
    """
    size = length(x, y)
    limit = mu * f_n
    if size <= limit:
        return (1.0, 0.0, 1.0), (0.0, 0.0)
    e_x, e_y = x / size, y / size
    g = limit / size
    return (g * (1.0 - e_x * e_x), -g * e_x * e_y, g * (1.0 - e_y * e_y)), (mu * e_x, mu * e_y)


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
def to_axes(axes, x, y):
    """A tangential vector in the axes of `eigen2`."""
    _, _, c, s = axes
    return c * x + s * y, c * y - s * x


@inline
def from_axes(axes, a, b):
    """A vector given in the axes of `eigen2`."""
    _, _, c, s = axes
    return c * a - s * b, s * a + c * b


@reproducible
def friction_direction(axes, q, g, lam):
    """Solution e of (g W + lam 1) e = q with |e| <= 1, for the least lam not below the one given (N7).

    axes: `eigen2` of W. The contact slips where |e| = 1; lam by Newton from below.
    """
    l1, l2, _, _ = axes
    a, b = to_axes(axes, q[0], q[1])
    e1 = a / (g * l1 + lam)
    e2 = b / (g * l2 + lam)
    for _ in range(40):
        size2 = e1 * e1 + e2 * e2
        if size2 <= 1.0 + 1e-14:
            break
        lam += (math.sqrt(size2) - 1.0) * size2 / (e1 * e1 / (g * l1 + lam) + e2 * e2 / (g * l2 + lam))
        e1 = a / (g * l1 + lam)
        e2 = b / (g * l2 + lam)
    return from_axes(axes, e1, e2)


@inline
def slip_step(w, mu, old, normal, drive, balance):
    """Newton step (N14) of a contact that slips, its force so far `old`.

    normal: f_n, and by how much x lessens it. drive: v, which the force opposes, and its change C per velocity.
    balance: a, b, r of the normal equation a x = r + b du_n.
    Returns its force, the turn of its direction [rad], x, and v along the direction that it had.
    """
    f_n, t_n = normal
    v_x, v_y, C = drive
    a, b, r = balance
    m, size = mu * f_n, max(length(v_x, v_y), 1e-288)
    e_x, e_y = v_x / size, v_y / size
    first = smul(w, (-m * e_x - old[0], -m * e_y - old[1], f_n - old[2]))
    outward, around = smul(w, (-mu * e_x, -mu * e_y, 1.0)), smul(w, (-e_y, e_x, 0.0))
    m_tt = size + C * m * (e_x * around[1] - e_y * around[0])
    m_tn = C * t_n * (e_x * outward[1] - e_y * outward[0])
    m_nt = b * m * around[2]
    m_nn = a + b * t_n * outward[2]
    r_t = C * (e_x * first[1] - e_y * first[0])
    r_n = r + b * first[2]
    g = 1.0 / (m_tt * m_nn - m_tn * m_nt)
    turn, x = g * (m_nn * r_t - m_tn * r_n), g * (m_tt * r_n - m_nt * r_t)
    u_x = first[0] - x * t_n * outward[0] - m * turn * around[0]
    u_y = first[1] - x * t_n * outward[1] - m * turn * around[1]
    n = f_n - x * t_n
    s = mu * n / math.sqrt(1.0 + turn * turn)
    return (-s * (e_x - turn * e_y), -s * (e_y + turn * e_x), n), turn, x, size + C * (e_x * u_x + e_y * u_y)


@inline
def slip_impulse(axes, rho, lam):
    """Tangential impulse of a contact that slips with the factor lam (J7); rho: in the axes of `eigen2` of S."""
    l1, l2, _, _ = axes
    return from_axes(axes, -rho[0] / (l1 + lam), -rho[1] / (l2 + lam))
