# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The kinds of joints: all that differs between them, and nobody else asks for a kind's axis.

A revolute joint turns about z of its frame, a prismatic one moves along it, a free one has its twist in child axes, and
a fixed one does not move: so does any other, which no model has. Another kind of joint with one coordinate is another
branch in each of these functions; `nq_of`, `nv_of` and `one_dof` say how many numbers it has.
"""

from ..compiler import inline
from .link import (
    free_motion,
    free_placement,
    in_world,
    plus_along,
    prismatic_column,
    prismatic_motion,
    prismatic_placement,
    revolute_column,
    revolute_motion,
    revolute_placement,
)
from .rows import FREE, KIND, P0, PRISMATIC, R0, RATIO, REVOLUTE, first_q, first_v, part3, part4, row3, row9
from .scalar import ZERO3, add, cross, dot, mul, scale, smul, tmul


@inline
def one_dof(kind):
    """Whether a joint has one coordinate and one rate."""
    return kind in (REVOLUTE, PRISMATIC)


@inline
def nq_of(kind):
    """Numbers that give a joint's place."""
    return 7 if kind == FREE else (1 if one_dof(kind) else 0)


@inline
def nv_of(kind):
    """Degrees of freedom of a joint."""
    return 6 if kind == FREE else (1 if one_dof(kind) else 0)


@inline
def placement_of(topology, parameters, i, q, x, c, s):
    """E, p of row i in its parent at q; x, c, s: coordinate of a one-dof joint, its cosine and sine."""
    R = row9(parameters, i, R0)
    p = row3(parameters, i, P0)
    kind = topology[i, KIND]
    if kind == REVOLUTE:
        return revolute_placement(R, p, c, s)
    if kind == PRISMATIC:
        return prismatic_placement(R, p, x)
    if kind == FREE:
        iq = first_q(topology, i)
        return free_placement(R, p, part3(q, iq), part4(q, iq + 3))
    return R, p


@inline
def motion(topology, parameters, i, placed, w_parent, ap, qd):
    """Angular velocity of row i and c_i (A3), `ap` as in `revolute_motion`."""
    kind = topology[i, KIND]
    iv = first_v(topology, i)
    if kind == FREE:
        return free_motion(placed, w_parent, ap, part3(qd, iv), part3(qd, iv + 3))
    if kind == REVOLUTE:
        return revolute_motion(placed, w_parent, ap, parameters[i, RATIO] * qd[iv])
    if kind == PRISMATIC:
        return prismatic_motion(placed, w_parent, ap, parameters[i, RATIO] * qd[iv])
    return tmul(placed, w_parent), tmul(placed, ap), ZERO3


@inline
def along(kind, f, n):
    """S^T f of a one-dof joint."""
    return n[2] if kind == REVOLUTE else f[2]


@inline
def add_along(kind, linear, angular, x):
    """A motion (linear, angular) of a one-dof joint's child plus S x."""
    if kind == REVOLUTE:
        return linear, (angular[0], angular[1], angular[2] + x)
    return (linear[0], linear[1], linear[2] + x), angular


@inline
def column(kind, M, H, N):
    """U, S^T I^A S of a one-dof joint (A5)."""
    if kind == REVOLUTE:
        return revolute_column(M, H, N)
    return prismatic_column(M, H, N)


@inline
def own_force(kind, m, h, inertia):
    """Force I^c S of a one-dof joint (C2)."""
    if kind == REVOLUTE:
        return (-h[1], h[0], 0.0), (inertia[2], inertia[4], inertia[5])
    return (0.0, 0.0, m), (h[1], -h[0], 0.0)


@inline
def own_force_along(kind, axis, m, h, inertia):
    """Force I^c S of a one-dof joint with this axis (C2); all in one frame."""
    if kind == REVOLUTE:
        return cross(axis, h), smul(inertia, axis)
    return scale(m, axis), cross(h, axis)


@inline
def along_axis(kind, axis, f, n):
    """S^T f of a one-dof joint with this axis."""
    return dot(axis, n) if kind == REVOLUTE else dot(axis, f)


@inline
def joint_rate(topology, parameters, i, qd):
    """Rate of a one-dof joint; 0 for other kinds."""
    return parameters[i, RATIO] * qd[first_v(topology, i)] if one_dof(topology[i, KIND]) else 0.0


@inline
def carried_twist(topology, parameters, i, R, carried, qd):
    """Twist of row i at its origin, world axes; carried: that of its parent there, angular, linear. R: its attitude."""
    spin, v = carried
    kind, iv = topology[i, KIND], first_v(topology, i)
    if kind == FREE:
        return add(spin, in_world(R, part3(qd, iv))), add(v, in_world(R, part3(qd, iv + 3)))
    rate, axis = joint_rate(topology, parameters, i, qd), (R[2], R[5], R[8])
    if kind == REVOLUTE:
        return plus_along(spin, rate, axis), v
    return spin, plus_along(v, rate, axis)


@inline
def carried_motion(topology, parameters, i, R, carried, qd):
    """Angular velocity and acceleration of row i and acceleration of its origin while qdd = 0, world axes (R1, R2).

    carried: those of its parent there. R: attitude of row i.
    """
    spin, al, a = carried
    kind, iv = topology[i, KIND], first_v(topology, i)
    if kind == FREE:
        wJ, vJ = mul(R, part3(qd, iv)), mul(R, part3(qd, iv + 3))
        a = add(a, add(scale(2.0, cross(spin, vJ)), cross(wJ, vJ)))
        return add(spin, wJ), add(al, cross(spin, wJ)), a
    rate = scale(joint_rate(topology, parameters, i, qd), (R[2], R[5], R[8]))
    if kind == REVOLUTE:
        return add(spin, rate), add(al, cross(spin, rate)), a
    return spin, al, add(a, scale(2.0, cross(spin, rate)))


@inline
def point_column(kind, axis, arm):
    """Velocity of a point at `arm` from a one-dof joint's origin, for a unit rate; axis and all else in one frame."""
    return cross(axis, arm) if kind == REVOLUTE else axis


@inline
def world_axis(kind, axis, x):
    """Spatial axis [angular; linear about the world's origin] of a one-dof joint with its origin at x."""
    return (axis, cross(x, axis)) if kind == REVOLUTE else (ZERO3, axis)
