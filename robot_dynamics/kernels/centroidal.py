# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Momentum about the centre of mass: its matrix, its rate at qdd = 0, its derivative (V10-V12); as in `derivatives`."""

import numpy as np

from ..compiler import inline, kernel
from .derivatives import DS, MOMENTUM, SPIN, S, join_parent, moved_column, outward, pair, resist, twist
from .derivatives import MOMENT as FIRST_MOMENT
from .joints import one_dof
from .rows import FREE, GRAVITY, KIND, RATIO, ROTOR, RW, WORKSPACE, F, M, T, W, add3, first_v, parent, row3, row9, set3
from .scalar import ZERO3, add, cross, mul, scale, sub, tmul
from .world import add6d, axis, force_cross

SPUN = SPIN
"""Angular momentum of a row's subtree, where RNEA's derivatives have Gamma."""


@inline
def rotor_momentum(topology, parameters, i, w):
    """Momentum of the rotor of row i's joint per rate of its dof, in the frame (G2)."""
    if not one_dof(topology[i, KIND]):
        return ZERO3
    return mul(row9(w, parent(topology, i), RW), scale(parameters[i, RATIO], row3(parameters, i, ROTOR)))


@inline
def set_momenta(topology, parameters, qd, w):
    """Angular momentum of every body with the rotors on it, and the rotors' part of its rate (G3)."""
    set3(w, 0, SPUN, ZERO3)
    set3(w, 0, T, ZERO3)
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        set3(w, i, SPUN, resist(w, i, twist(w, i))[0])
        if one_dof(topology[i, KIND]):
            k = scale(qd[first_v(topology, i)], rotor_momentum(topology, parameters, i, w))
            add3(w, j, SPUN, k)
            add3(w, j, T, cross(row3(w, j, W), k))


@inline
def totals(topology, w):
    """Mass, first moment, linear momentum, force and moment of all bodies, gravity among these."""
    m, h, p, f, n = 0.0, ZERO3, ZERO3, ZERO3, row3(w, 0, T)
    for i in range(1, topology.shape[0]):
        m += w[i, M]
        h = add(h, row3(w, i, FIRST_MOMENT))
        p = add(p, row3(w, i, MOMENTUM))
        f = add(f, row3(w, i, F))
        n = add(n, row3(w, i, T))
    return m, h, p, f, n


@inline
def write_about(w, c, force, out, column):
    """A force or momentum about c, world axes, into a column of `out` (6, nv)."""
    R = row9(w, 0, RW)
    n, f = tmul(R, sub(force[0], cross(c, force[1]))), tmul(R, force[1])
    for k, x in enumerate((n[0], n[1], n[2], f[0], f[1], f[2])):
        out[k, column] += x


@inline
def write_dof(w, i, column, moved, rotor, whole, out):
    """Columns of the matrix and of the derivative in q of one dof (V10, V12).

    moved: its s and v x s of its parent's motion. whole: centre of mass, 1/m, linear momentum of the robot.
    """
    s, ds = moved
    c, per_mass, p = whole
    inert = resist(w, i, s)
    turned = force_cross(s, (row3(w, i, SPUN), row3(w, i, MOMENTUM)))
    change = add6d(resist(w, i, ds), turned)
    change = sub(change[0], cross(scale(per_mass, inert[1]), p)), change[1]
    write_about(w, c, (add(inert[0], rotor), inert[1]), out[0], column)
    write_about(w, c, change, out[1], column)


@kernel
def centroidal(topology, parameters, q, qd, out, rate):
    """Matrix A and derivative of A qd in q into out[0], out[1] (6, nv); d/dt (A qd) at qdd = 0 into rate (6, 1)."""
    w = np.empty((topology.shape[0], WORKSPACE))
    still = np.zeros(qd.shape[0])
    outward(topology, parameters, q, qd, still, still[:0], w)
    set_momenta(topology, parameters, qd, w)
    m, h, p, f, n = totals(topology, w)
    per_mass = 1.0 / m if m > 0.0 else 0.0
    c = scale(per_mass, h)
    out[:, :, :] = 0.0
    rate[:, :] = 0.0
    f = add(f, scale(m, mul(row9(w, 0, RW), row3(parameters, 0, GRAVITY))))
    n = add(n, cross(h, mul(row9(w, 0, RW), row3(parameters, 0, GRAVITY))))
    write_about(w, c, (n, f), rate, 0)
    for i in range(topology.shape[0] - 1, 0, -1):
        iv = first_v(topology, i)
        kind = topology[i, KIND]
        if one_dof(kind):
            moved = pair(w, i, S), pair(w, i, DS)
            write_dof(w, i, iv, moved, rotor_momentum(topology, parameters, i, w), (c, per_mass, p), out)
        elif kind == FREE:
            for k in range(6):
                s = axis(topology, parameters, w, i, k)
                moved = s, moved_column(w, parent(topology, i), s)[0]
                write_dof(w, i, iv + k, moved, ZERO3, (c, per_mass, p), out)
        join_parent(topology, i, w)
