# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Equation of motion of a tree, H qdd + C = tau, and H = L^T D L (P16, P17).

All vectors are in world axes, also those on the dofs of free joints: what a step of the plant asks for first, poses and
momenta, needs every inertia in these axes anyway, and there nothing more has to be turned. Each body's vectors are
about its own origin.

`Robot.factor`, here L, has a row per dof k: entries with the dofs that carry it, from the root outwards, then the
pivot, in column `depth[k]`. The dofs of a joint follow each other. Robots with mimic joints, `Robot.coupled`, have all
of H's lower triangle there, and `kernels.dense` factorises it.
"""

from ...compiler import abreast, inline, routine
from .. import dense
from ..joints import (
    along_axis,
    carried_motion,
    carried_twist,
    joint_rate,
    nv_of,
    one_dof,
    own_force_along,
    placement_of,
)
from ..link import body_force, body_matrix, body_momentum, shift_composite, velocity_off
from ..rows import (
    ARMATURE,
    BODY,
    CL,
    FREE,
    GRAVITY,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    NEXT,
    RATIO,
    ROTOR,
    RW,
    XW,
    F,
    G,
    H,
    M,
    N,
    P,
    T,
    U,
    V,
    W,
    add3,
    add6,
    first_v,
    parent,
    part3,
    part3_to,
    row3,
    row6,
    row9,
    set3,
    set6,
    set9,
)
from ..scalar import (
    IDENTITY,
    ZERO3,
    ZERO6,
    acceleration_matrix,
    add,
    congruence,
    cross,
    dot,
    matmul,
    mul,
    scale,
    sub,
    tmul,
)
from ..scalar import add6 as plus6
from .placement import COSINE, SINE, external, turn

OFFSET, OWN_H, OWN_I, SPIN, LINEAR, ANGULAR = P, G, G + 3, CL, NEXT, NEXT + 3
"""Columns, all in world axes: origin from that of the parent; h, I of the row alone; angular velocity of the free
motion, which follows from q and qd alone, while W and V may have been corrected; its accelerations."""


@inline
def axis_of(w, i):
    """Axis of a one-dof joint, world axes."""
    return (w[i, RW + 2], w[i, RW + 5], w[i, RW + 8])


@routine
def update_motion(topology, parameters, q, qd, w):
    """Poses, twists and inertias of all rows; first moment of mass, momenta about the world's origin, energy (K3, G2).

    Twists are of the origins.
    """
    turn(topology, parameters, q, w)
    set9(w, 0, RW, IDENTITY)
    for _, o in enumerate((XW, W, V)):
        set3(w, 0, o, ZERO3)
    moment, linear, angular, energy = ZERO3, ZERO3, ZERO3, 0.0
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        placed, p = placement_of(topology, parameters, i, q, w[i, U], w[i, COSINE], w[i, SINE])
        Rj, wj = row9(w, j, RW), row3(w, j, W)
        R, d = matmul(Rj, placed), mul(Rj, p)
        x = add(row3(w, j, XW), d)
        spin, v = carried_twist(topology, parameters, i, R, (wj, velocity_off(row3(w, j, V), wj, d)), qd)
        set9(w, i, RW, R)  # what the next row waits for comes first
        set3(w, i, XW, x)
        set3(w, i, OFFSET, d)
        set3(w, i, W, spin)
        set3(w, i, V, v)
        m, h, J = parameters[i, MASS], mul(R, row3(parameters, i, MOMENT)), congruence(R, row6(parameters, i, INERTIA))
        f, n = body_momentum(m, h, J, spin, v)
        rate = joint_rate(topology, parameters, i, qd)
        moment = add(moment, add(h, scale(m, x)))
        linear = add(linear, f)
        angular = add(angular, add(n, cross(x, f)))
        energy += 0.5 * (dot(v, f) + dot(spin, n) + parameters[i, ARMATURE] * rate * rate)
        rotor = row3(parameters, i, ROTOR)
        if dot(rotor, rotor) > 0.0:
            rotor = mul(Rj, scale(rate, rotor))
            angular = add(angular, rotor)
            energy += dot(rotor, wj)
        set3(w, i, OWN_H, h)
        set6(w, i, OWN_I, J)
    return moment, linear, angular, energy


@routine
def update_twists(topology, parameters, qd, o, w):
    """Twists of all rows into columns from o on, at the poses of `update_motion` and rounded as there."""
    set3(w, 0, o, ZERO3)
    set3(w, 0, o + 3, ZERO3)
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        wj = row3(w, j, o)
        carried = wj, velocity_off(row3(w, j, o + 3), wj, row3(w, i, OFFSET))
        spin, v = carried_twist(topology, parameters, i, row9(w, i, RW), carried, qd)
        set3(w, i, o, spin)
        set3(w, i, o + 3, v)


@routine
def second_moment(topology, parameters, w):
    """Rotational inertia of all bodies about the world's origin, at the poses of `update_motion`."""
    total = ZERO6
    for i in range(1, topology.shape[0]):
        _, own = shift_composite(row3(w, i, XW), parameters[i, MASS], row3(w, i, OWN_H), row6(w, i, OWN_I))
        total = plus6(total, own)
    return total


@routine
def displace(topology, w, d):
    """Move a free base and all it carries by d, rounded as in `update_motion` of the base at its new place."""
    set3(w, 1, OFFSET, add(row3(w, 1, OFFSET), d))
    for i in range(1, w.shape[0]):
        set3(w, i, XW, add(row3(w, parent(topology, i), XW), row3(w, i, OFFSET)))


@inline
def outward(topology, parameters, qd, f_ext, w):
    """Inertia of every row alone into M, H, N, and its net force while qdd = 0 (R1-R3); the world accelerates at -g."""
    for _, o in enumerate((SPIN, ANGULAR, T)):
        set3(w, 0, o, ZERO3)
    set3(w, 0, LINEAR, scale(-1.0, row3(parameters, 0, GRAVITY)))
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        R = row9(w, i, RW)
        spin, al = row3(w, j, SPIN), row3(w, j, ANGULAR)
        a = add(row3(w, j, LINEAR), mul(acceleration_matrix(spin, al), row3(w, i, OFFSET)))
        spin, al, a = carried_motion(topology, parameters, i, R, (spin, al, a), qd)
        set3(w, i, SPIN, spin)
        set3(w, i, ANGULAR, al)
        set3(w, i, LINEAR, a)
        m, h, J = parameters[i, MASS], row3(w, i, OWN_H), row6(w, i, OWN_I)
        f, n = body_force(m, h, J, spin, al, acceleration_matrix(spin, al), a)
        if f_ext.shape[0] > 0 and topology[i, BODY] >= 0:
            fx, nx = external(parameters, f_ext, i, topology[i, BODY])
            f = sub(f, mul(R, fx))
            n = sub(n, mul(R, nx))
        w[i, M] = m
        set3(w, i, H, h)
        set6(w, i, N, J)
        set3(w, i, F, f)
        set3(w, i, T, n)


@inline
def enter(L, depth, coupled, k, i, x):
    """H_ki of dof k and dof i, which carries it; `coupled`: any two dofs, and joints that share one add up."""
    if not coupled:
        L[k, depth[i]] = x
    elif i == k:
        L[k, k] += 2.0 * x
    else:
        L[max(k, i), min(k, i)] += x


@inline
def walk(robot, i, force, row, ratio):
    """Carry a force that arrives at row i to the root and enter what each joint feels of it (C2, C3)."""
    topology, w, L, depth, coupled = robot.topology, robot.w, robot.factor, robot.depth, robot.coupled
    f, n = force
    while i > 0:
        kind, iv = topology[i, KIND], first_v(topology, i)
        if kind == FREE:
            for k, x in enumerate((n[0], n[1], n[2], f[0], f[1], f[2])):
                enter(L, depth, coupled, row, iv + k, ratio * x)
        elif one_dof(kind):
            x = ratio * robot.parameters[i, RATIO] * along_axis(kind, axis_of(w, i), f, n)
            enter(L, depth, coupled, row, iv, x)
        j = parent(topology, i)
        n = add(n, cross(row3(w, i, OFFSET), f))
        i = j


@inline
def free_rows(robot, i):
    """Rows of H of a free joint."""
    w, L, depth = robot.w, robot.factor, robot.depth
    iv, j = first_v(robot.topology, i), parent(robot.topology, i)
    d = row3(w, i, OFFSET)
    for k, x in enumerate(body_matrix(w[i, M], row3(w, i, H), row6(w, i, N))):
        for c in range(k + 1):
            L[iv + k, depth[iv] + c] = x[c]
        if j > 0:
            f, n = (x[3], x[4], x[5]), (x[0], x[1], x[2])
            walk(robot, j, (f, add(n, cross(d, f))), iv + k, 1.0)


@inline
def joint_row(robot, i):
    """Row of H of a one-dof joint (C2, C3), beside what is on its diagonal."""
    topology, parameters, w = robot.topology, robot.parameters, robot.w
    j, iv, kind = parent(topology, i), first_v(topology, i), topology[i, KIND]
    axis, ratio = axis_of(w, i), parameters[i, RATIO]
    f, n = own_force_along(kind, axis, w[i, M], row3(w, i, H), row6(w, i, N))
    own = along_axis(kind, axis, f, n) + parameters[i, ARMATURE]
    robot.factor[iv, robot.depth[iv]] += ratio * ratio * own
    n = add(n, cross(row3(w, i, OFFSET), f))
    rotor = row3(parameters, i, ROTOR)
    if dot(rotor, rotor) > 0.0:
        n = add(n, mul(row9(w, j, RW), rotor))
    walk(robot, j, (f, n), iv, ratio)


@inline
def join_parent(topology, i, w):
    """Add composite inertia and force of row i to its parent's (C1, R4)."""
    j = parent(topology, i)
    if j == 0:
        return
    d, m, f = row3(w, i, OFFSET), w[i, M], row3(w, i, F)
    h, J = shift_composite(d, m, row3(w, i, H), row6(w, i, N))
    w[j, M] += m
    add3(w, j, H, h)
    add6(w, j, N, J)
    add3(w, j, F, f)
    add3(w, j, T, add(row3(w, i, T), cross(d, f)))


@inline
def less_bias(topology, parameters, i, qd, w, x):
    """Subtract what row i feels while qdd = 0 from the forces x on its dofs (R5, G3)."""
    j, iv, kind = parent(topology, i), first_v(topology, i), topology[i, KIND]
    f, n = row3(w, i, F), row3(w, i, T)
    if kind == FREE:
        part3_to(x, iv, sub(part3(x, iv), n))
        part3_to(x, iv + 3, sub(part3(x, iv + 3), f))
    elif one_dof(kind):
        ratio = parameters[i, RATIO]
        effort = along_axis(kind, axis_of(w, i), f, n)
        rotor = row3(parameters, i, ROTOR)
        if dot(rotor, rotor) > 0.0:
            k = mul(row9(w, j, RW), rotor)
            effort += dot(k, row3(w, j, ANGULAR))
            add3(w, j, T, scale(ratio * qd[iv], cross(row3(w, j, SPIN), k)))
        x[iv] -= ratio * effort


@routine
def equation_of_motion(robot, qd, f_ext, added, x):
    """H into `factor`, and x less C; added (nv,) joins the diagonal. Needs `world_poses`."""
    topology, parameters, w, L, depth = robot.topology, robot.parameters, robot.w, robot.factor, robot.depth
    if robot.coupled:
        L[:, :] = 0.0
    for k in range(depth.shape[0]):
        L[k, depth[k]] = added[k]
    outward(topology, parameters, qd, f_ext, w)
    for i in range(topology.shape[0] - 1, 0, -1):
        kind = topology[i, KIND]
        less_bias(topology, parameters, i, qd, w, x)
        if kind == FREE:
            free_rows(robot, i)
        elif one_dof(kind):
            joint_row(robot, i)
        join_parent(topology, i, w)


@inline
def take_out(L, k, m, di, i, n):
    """Take row k, whose entry with dof i is in column m, out of row i, whose pivot is in column n."""
    x = di * L[k, m]
    for c in range(n + 1):
        L[i, c] -= x * L[k, c]


@inline
def take_out_numbers(numbers, x, L, i, m):
    """Take x times numbers out of row i from column m on."""
    if len(numbers) == 0:
        return
    L[i, m] -= x * numbers[0]
    take_out_numbers(numbers[1:], x, L, i, m + 1)


@inline
def take_out_of_free(L, k, m, di, i):
    """`take_out` of the six rows of a free joint from i on, written out; m: column of the first."""
    take_out_rows(row6(L, k, m), k, m, di, i, L)


@inline
def take_out_rows(entries, k, m, di, i, L):
    """`take_out` of as many rows from i on as there are entries, those of row k, the first in column m."""
    if len(entries) == 0:
        return
    take_out_rows(entries[:-1], k, m, di, i, L)
    c, x = len(entries) - 1, di * entries[-1]
    for b in range(m):
        L[i + c, b] -= x * L[k, b]
    take_out_numbers(entries, x, L, i + c, m)


@inline
def eliminate(topology, depth, i, k, L):
    """Eliminate dof k of row i from the rows of the dofs that carry it (P17); returns whether it has inertia."""
    m, first = depth[k], depth[first_v(topology, i)]
    holds = L[k, m] > 0.0
    di = 1.0 / L[k, m] if holds else 0.0
    for c in range(first, m):
        take_out(L, k, c, di, k - m + c, c)
    j = parent(topology, i)
    while j > 0:
        kind, v = topology[j, KIND], first_v(topology, j)
        if kind == FREE:
            take_out_of_free(L, k, depth[v], di, v)
        elif one_dof(kind):
            take_out(L, k, depth[v], di, v, depth[v])
        j = parent(topology, j)
    for c in range(m):
        L[k, c] *= di
    L[k, m] = di
    return holds


@routine
def factorize(topology, depth, L):
    """H = L^T D L in place, 1/D in the place of the pivots; returns -1, or the first dof without inertia."""
    failed = -1
    for i in range(topology.shape[0] - 1, 0, -1):
        v, n = first_v(topology, i), nv_of(topology[i, KIND])
        for c in range(n):
            k = v + n - 1 - c
            failed = failed if eliminate(topology, depth, i, k, L) else k
    return failed


@routine
def solve_inward(carrier, depth, L, x):
    """x = D^-1 L^-T x, from the leaves to the root."""
    for c in range(depth.shape[0]):
        k = depth.shape[0] - 1 - c
        m, i, xk = depth[k], carrier[k], x[k]
        x[k] = L[k, m] * xk
        while i >= 0:
            m -= 1
            x[i] -= L[k, m] * xk
            i = carrier[i]


@routine
def solve_outward(carrier, depth, L, x):
    """x = L^-1 x, from the root to the leaves."""
    for k in range(depth.shape[0]):
        m, i, xk = depth[k], carrier[k], x[k]
        while i >= 0:
            m -= 1
            xk -= L[k, m] * x[i]
            i = carrier[i]
        x[k] = xk


@routine
def solve_columns_outward(carrier, depth, L, n, Y):
    """Y = L^-1 Y of the first n columns."""
    for k in range(depth.shape[0]):
        m, i = depth[k], carrier[k]
        while i >= 0:
            m -= 1
            for c in abreast(n):
                Y[k, c] -= L[k, m] * Y[i, c]
            i = carrier[i]


@inline
def to_world_axes(robot, x):
    """Turn what stands on the dofs of free joints from their own axes."""
    for i in range(1, robot.topology.shape[0]):
        if robot.topology[i, KIND] == FREE:
            k, R = first_v(robot.topology, i), row9(robot.w, i, RW)
            part3_to(x, k, mul(R, part3(x, k)))
            part3_to(x, k + 3, mul(R, part3(x, k + 3)))


@inline
def to_own_axes(robot, x):
    """Inverse of `to_world_axes`."""
    for i in range(1, robot.topology.shape[0]):
        if robot.topology[i, KIND] == FREE:
            k, R = first_v(robot.topology, i), row9(robot.w, i, RW)
            part3_to(x, k, tmul(R, part3(x, k)))
            part3_to(x, k + 3, tmul(R, part3(x, k + 3)))


@routine
def free_motion(robot, qd, tau, f_ext, added, qdd):
    """qdd = H^-1 (tau - C), H with `added` (nv,) on its diagonal; leaves its factor. Needs `update_motion`.

    Returns -1, or the first dof without inertia.
    """
    topology, depth, L = robot.topology, robot.depth, robot.factor
    for k in range(qdd.shape[0]):
        qdd[k] = tau[k]
    to_world_axes(robot, qdd)
    equation_of_motion(robot, qd, f_ext, added, qdd)
    failed = dense.factorize(L) if robot.coupled else factorize(topology, depth, L)
    if robot.coupled:
        if failed < 0:
            dense.solve(L, qdd)
    else:
        solve_inward(robot.carrier, depth, L, qdd)
        solve_outward(robot.carrier, depth, L, qdd)
    to_own_axes(robot, qdd)
    return failed
