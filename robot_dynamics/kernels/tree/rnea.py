# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a tree: RNEA."""

from ...compiler import brief, inline, routine
from ..joints import add_along, along, motion, one_dof
from ..link import body_force, force_to_parent
from ..rows import (
    AL,
    ARMATURE,
    BODY,
    FREE,
    GRAVITY,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    RATIO,
    ROTOR,
    A,
    E,
    F,
    P,
    T,
    W,
    add3,
    first_v,
    parent,
    part3,
    part3_to,
    row3,
    row6,
    row9,
    set3,
)
from ..scalar import ZERO3, acceleration_matrix, add, cross, dot, mul, scale, sub, tmul
from .placement import clear_world, external, fits, placement, turn


@inline
def rnea_outward(topology, parameters, q, qd, qdd, g, w):
    """Outward half of RNEA in link coordinates (R1-R3): motion and net force of rows; the world accelerates at -g."""
    turn(topology, parameters, q, w)
    set3(w, 0, W, ZERO3)
    set3(w, 0, AL, ZERO3)
    set3(w, 0, A, scale(-1.0, g))
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        iv = first_v(topology, i)
        kind = topology[i, KIND]
        placed, p = placement(topology, parameters, i, q, w)
        wj = row3(w, j, W)
        alj = row3(w, j, AL)
        ap = add(row3(w, j, A), mul(acceleration_matrix(wj, alj), p))
        wi, a, ca = motion(topology, parameters, i, placed, wj, ap, qd)
        al = add(tmul(placed, alj), ca)
        if kind == FREE:
            al = add(al, part3(qdd, iv))
            a = add(a, part3(qdd, iv + 3))
        elif one_dof(kind):
            a, al = add_along(kind, a, al, parameters[i, RATIO] * qdd[iv])
        m = parameters[i, MASS]
        f, n = body_force(
            m, row3(parameters, i, MOMENT), row6(parameters, i, INERTIA), wi, al, acceleration_matrix(wi, al), a
        )
        set3(w, i, W, wi)
        set3(w, i, AL, al)
        set3(w, i, A, a)
        set3(w, i, F, f)
        set3(w, i, T, n)


@inline
def rnea_inward(topology, parameters, qd, qdd, f_ext, w, tau):
    """Inward half of RNEA (R4, R5), with armature and geared rotors (G3); tau is overwritten."""
    tau[:] = 0.0
    for i in range(topology.shape[0] - 1, 0, -1):
        j = parent(topology, i)
        iv = first_v(topology, i)
        kind = topology[i, KIND]
        f = row3(w, i, F)
        n = row3(w, i, T)
        if f_ext.shape[0] > 0 and topology[i, BODY] >= 0:
            fx, nx = external(parameters, f_ext, i, topology[i, BODY])
            f = sub(f, fx)
            n = sub(n, nx)
        if kind == FREE:
            part3_to(tau, iv, n)
            part3_to(tau, iv + 3, f)
        elif one_dof(kind):
            ratio = parameters[i, RATIO]
            acceleration = ratio * qdd[iv]
            effort = along(kind, f, n) + parameters[i, ARMATURE] * acceleration
            k = row3(parameters, i, ROTOR)
            if dot(k, k) > 0.0:
                effort += dot(k, row3(w, j, AL))
                spin = scale(ratio * qd[iv], cross(row3(w, j, W), k))
                add3(w, j, T, add(scale(acceleration, k), spin))
            tau[iv] += ratio * effort
        f, n = force_to_parent(row9(w, i, E), row3(w, i, P), f, n)
        add3(w, j, F, f)
        add3(w, j, T, n)


@routine
def rnea(topology, parameters, q, qd, qdd, f_ext, w, tau):
    """RNEA: tau of q, qd, qdd."""
    clear_world(w)
    rnea_outward(topology, parameters, q, qd, qdd, row3(parameters, 0, GRAVITY), w)
    rnea_inward(topology, parameters, qd, qdd, f_ext, w, tau)


@brief
def inverse_dynamics(topology, parameters, q, qd, qdd, f_ext, w, tau):
    """RNEA for unvalidated input."""
    if not fits(topology, q, qd, qdd, f_ext):
        return False
    rnea(topology, parameters, q, qd, qdd, f_ext, w, tau)
    return True
