# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps on the configuration space (X1-X4).

`integrate` moves joints on lines and free bodies along the screw of their twist; `take_step` is a step of the plant.
"""

import math

from ..compiler import inline, kernel, routine
from .joints import one_dof
from .rows import FOLLOWS, FREE, KIND, first_q, first_v, part3, part3_to, part4, part4_to
from .scalar import add, cross, dot, mul, quaternion_matrix, scale, sub, tmul

SMALL_TURN = 2.5e-3
"""Square of half an angle [rad^2] up to which five terms of the series of its sine and cosine are right to rounding."""
NEARLY_UNIT = 1e-8
"""How far from 1 the square of a length may be for one Newton step to normalise to rounding."""


@inline
def rotation_by(w):
    """Quaternion x y z w of exp([w])."""
    x = 0.25 * dot(w, w)
    # sin(t) / (2 t) and cos(t) of half the angle, t^2 = x, by their series near 0
    s = 0.5 - x * (1.0 / 12.0 - x * (1.0 / 240.0 - x * (1.0 / 10080.0 - x / 725760.0)))
    c = 1.0 - x * (0.5 - x * (1.0 / 24.0 - x * (1.0 / 720.0 - x / 40320.0)))
    if x > SMALL_TURN:
        t = math.sqrt(x)
        s = 0.5 * math.sin(t) / t
        c = math.cos(t)
    return (s * w[0], s * w[1], s * w[2], c)


@inline
def turned(x, y):
    """Quaternion x y z w of R(x) R(y), normalised."""
    z0 = x[0] * y[3] + x[3] * y[0] + x[1] * y[2] - x[2] * y[1]
    z1 = x[1] * y[3] + x[3] * y[1] + x[2] * y[0] - x[0] * y[2]
    z2 = x[2] * y[3] + x[3] * y[2] + x[0] * y[1] - x[1] * y[0]
    z3 = x[3] * y[3] - x[0] * y[0] - x[1] * y[1] - x[2] * y[2]
    n = z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3
    k = 1.5 - 0.5 * n  # 1 / sqrt(n) near 1
    if abs(n - 1.0) > NEARLY_UNIT:
        k = 1.0 / math.sqrt(n)
    return (z0 * k, z1 * k, z2 * k, z3 * k)


@inline
def rotate_back(y, v):
    """R(y)^T v of a unit quaternion."""
    u = (y[0], y[1], y[2])
    t = scale(2.0, cross(v, u))
    return add(v, add(scale(y[3], t), cross(t, u)))


@inline
def rotation_vector(x, y):
    """The w with R(x) exp([w]) = R(y), |w| <= pi (X4)."""
    a = x[3] * y[0] - x[0] * y[3] - x[1] * y[2] + x[2] * y[1]
    b = x[3] * y[1] - x[1] * y[3] - x[2] * y[0] + x[0] * y[2]
    d = x[3] * y[2] - x[2] * y[3] - x[0] * y[1] + x[1] * y[0]
    c = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3]
    s = math.sqrt(a * a + b * b + d * d)
    if c < 0.0:
        a, b, d, c = -a, -b, -d, -c
    k = 2.0 * math.atan2(s, c) / s if s > 1e-8 * c else 2.0 / c
    return (k * a, k * b, k * d)


@inline
def screw_translation(w, v):
    """Translation of exp of the twist (w, v): v + (1 - cos t)/t^2 w x v + (t - sin t)/t^3 w x (w x v), t = |w| (X2)."""
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if t2 > 1e-4:
        t = math.sqrt(t2)
        b = (1.0 - math.cos(t)) / t2
        c = (t - math.sin(t)) / (t2 * t)
    else:
        b = 0.5 - t2 / 24.0 * (1.0 - t2 / 30.0)
        c = 1.0 / 6.0 - t2 / 120.0 * (1.0 - t2 / 42.0)
    wv = cross(w, v)
    return add(v, add(scale(b, wv), scale(c, cross(w, wv))))


@inline
def screw_velocity(w, p):
    """Inverse of `screw_translation`: p - w x p / 2 + (1/t^2 - cot(t/2)/(2 t)) w x (w x p) (X3)."""
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if t2 > 1e-4:
        t = math.sqrt(t2)
        c = 1.0 / t2 - math.cos(0.5 * t) / (2.0 * t * math.sin(0.5 * t))
    else:
        c = 1.0 / 12.0 + t2 / 720.0 * (1.0 + t2 / 42.0)
    wp = cross(w, p)
    return add(p, add(scale(-0.5, wp), scale(c, cross(w, wp))))


@kernel
def integrate(topology, q, qd, dt, out):
    """out = q (+) dt qd, free bodies by the SE(3) exponential of their twist."""
    for i in range(1, topology.shape[0]):
        kind = topology[i, KIND]
        iq = first_q(topology, i)
        iv = first_v(topology, i)
        if kind == FREE:
            x = part4(q, iq + 3)
            R = quaternion_matrix(x[0], x[1], x[2], x[3])
            w = scale(dt, part3(qd, iv))
            part3_to(out, iq, add(part3(q, iq), mul(R, screw_translation(w, scale(dt, part3(qd, iv + 3))))))
            part4_to(out, iq + 3, turned(x, rotation_by(w)))
        elif one_dof(kind):
            out[iq] = q[iq] + dt * qd[iv]


@routine
def take_step(topology, q, u, dt, qd):
    """Move q by dt u, u in the axes of the start of the step, and turn the velocities qd from these into the new axes.

    Free bodies: p <- p + dt R v, R <- R exp([dt w]), and v of qd <- exp([dt w])^T v (T2).
    """
    for i in range(1, topology.shape[0]):
        kind = topology[i, KIND]
        iq = first_q(topology, i)
        iv = first_v(topology, i)
        if kind == FREE:
            x, y = part4(q, iq + 3), rotation_by(scale(dt, part3(u, iv)))
            R = quaternion_matrix(x[0], x[1], x[2], x[3])
            part3_to(q, iq, add(part3(q, iq), mul(R, scale(dt, part3(u, iv + 3)))))
            part4_to(q, iq + 3, turned(x, y))
            part3_to(qd, iv + 3, rotate_back(y, part3(qd, iv + 3)))
        elif one_dof(kind) and topology[i, FOLLOWS] == 0:
            q[iq] += dt * u[iv]


@kernel
def difference(topology, q0, q1, out):
    """The qd with q1 = q0 (+) qd."""
    for i in range(1, topology.shape[0]):
        kind = topology[i, KIND]
        iq = first_q(topology, i)
        iv = first_v(topology, i)
        if kind == FREE:
            x = part4(q0, iq + 3)
            R = quaternion_matrix(x[0], x[1], x[2], x[3])
            w = rotation_vector(x, part4(q1, iq + 3))
            part3_to(out, iv, w)
            part3_to(out, iv + 3, screw_velocity(w, tmul(R, sub(part3(q1, iq), part3(q0, iq)))))
        elif one_dof(kind):
            out[iv] = q1[iq] - q0[iq]
