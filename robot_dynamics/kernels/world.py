# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""RNEA in absolute coordinates (R1-R5) and the Coriolis matrix: everything in world axes about the world's origin.

A motion is m = (omega; v_O), a force (n; f), and no transform is needed between bodies: recursions are plain sums.
"""

import numpy as np

from ..compiler import inline, kernel, routine
from .bodies import world_poses
from .joints import nv_of, one_dof, world_axis
from .link import composite_to_parent
from .rows import (
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
    RW,
    WORKSPACE,
    XW,
    first_v,
    parent,
    part3,
    row3,
    row6,
    row9,
)
from .scalar import add, cross, dot, mul, scale, smul
from .tree.placement import external, place


@inline
def motion_cross(v, m):
    """V x m of motions (crm)."""
    return cross(v[0], m[0]), add(cross(v[1], m[0]), cross(v[0], m[1]))


@inline
def force_cross(v, f):
    """V x* f of a motion and a force (crf)."""
    return add(cross(v[0], f[0]), cross(v[1], f[1])), cross(v[0], f[1])


@inline
def add6d(a, b):
    """Sum of two spatial vectors."""
    return add(a[0], b[0]), add(a[1], b[1])


@inline
def scale6d(s, a):
    """Multiple of a spatial vector."""
    return scale(s, a[0]), scale(s, a[1])


@inline
def dot6d(a, b):
    """Power of a motion and a force."""
    return dot(a[0], b[0]) + dot(a[1], b[1])


@inline
def read6d(A, i):
    """Row i of an (n, 6) array."""
    return part3(A[i], 0), part3(A[i], 3)


@routine
def write6d(A, i, m):
    """Write row i of an (n, 6) array."""
    for k in range(3):
        A[i, k] = m[0][k]
        A[i, 3 + k] = m[1][k]


@inline
def momentum(m, h, inertia, v):
    """I v of a rigid body with m, h = m c, I about the world's origin."""
    return add(smul(inertia, v[0]), cross(h, v[1])), add(scale(m, v[1]), cross(v[0], h))


@routine
def world_inertia(parameters, w, i):
    """m, h, I of row i in the world; needs `world_poses`."""
    m = parameters[i, MASS]
    h, inertia = composite_to_parent(
        row9(w, i, RW), row3(w, i, XW), m, row3(parameters, i, MOMENT), row6(parameters, i, INERTIA)
    )
    return m, h, inertia


@inline
def axis(topology, parameters, w, i, k):
    """Column s_k of row i's joint in the world, times the mimic ratio; needs `world_poses`."""
    R = row9(w, i, RW)
    x = row3(w, i, XW)
    kind = topology[i, KIND]
    zero = (0.0, 0.0, 0.0)
    if kind == FREE:
        e = (R[k % 3], R[3 + k % 3], R[6 + k % 3])
        return (e, cross(x, e)) if k < 3 else (zero, e)
    return world_axis(kind, scale(parameters[i, RATIO], (R[2], R[5], R[8])), x)


@inline
def along_joint(topology, parameters, w, i, qd):
    """s_i qd_i."""
    iv = first_v(topology, i)
    m = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for k in range(nv_of(topology[i, KIND])):
        m = add6d(m, scale6d(qd[iv + k], axis(topology, parameters, w, i, k)))
    return m


@kernel
def inverse_dynamics_world(topology, parameters, q, qd, qdd, f_ext, tau, wrenches):
    """RNEA in absolute coordinates (R1-R5); `wrenches`: rate of each body's momentum, what its joint transmits."""
    net, transmitted = wrenches
    rows = topology.shape[0]
    w = np.empty((rows, WORKSPACE))
    place(topology, parameters, q, w)
    world_poses(topology, w)
    v = np.zeros((rows, 6))
    a = np.zeros((rows, 6))
    f = np.zeros((rows, 6))
    g = row3(parameters, 0, GRAVITY)
    write6d(a, 0, ((0.0, 0.0, 0.0), scale(-1.0, g)))
    for i in range(1, rows):
        j = parent(topology, i)
        sqd = along_joint(topology, parameters, w, i, qd)
        vi = add6d(read6d(v, j), sqd)
        ai = add6d(add6d(read6d(a, j), motion_cross(vi, sqd)), along_joint(topology, parameters, w, i, qdd))
        m, h, inertia = world_inertia(parameters, w, i)
        write6d(v, i, vi)
        write6d(a, i, ai)
        write6d(f, i, add6d(momentum(m, h, inertia, ai), force_cross(vi, momentum(m, h, inertia, vi))))
        if topology[i, BODY] >= 0:
            write6d(net, topology[i, BODY], add6d(read6d(f, i), momentum(m, h, inertia, ((0.0, 0.0, 0.0), g))))
    tau[:] = 0.0
    for i in range(rows - 1, 0, -1):
        j = parent(topology, i)
        fi = read6d(f, i)
        b = topology[i, BODY]
        if f_ext.shape[0] > 0 and b >= 0:
            fx, nx = external(parameters, f_ext, i, b)
            R = row9(w, i, RW)
            fx = mul(R, fx)
            fi = add6d(fi, scale6d(-1.0, (add(mul(R, nx), cross(row3(w, i, XW), fx)), fx)))
        for k in range(nv_of(topology[i, KIND])):
            tau[first_v(topology, i) + k] += dot6d(axis(topology, parameters, w, i, k), fi)
        write6d(f, j, add6d(read6d(f, j), fi))
        if b >= 0:
            write6d(transmitted, b, fi)
        if one_dof(topology[i, KIND]):
            spin_rotor(topology, parameters, w, i, (qd, qdd), (v, a), f, tau)
    for k in range(6):
        net[0, k] = transmitted[0, k] = 0.0


@routine
def spin_rotor(topology, parameters, w, i, rates, motion, f, tau):
    """Geared rotor of joint i (G3; momentum k per joint rate, on the parent) and plain armature.

    rates: qd, qdd. motion: twists and accelerations of all rows.
    """
    (qd, qdd), (v, a) = rates, motion
    j = parent(topology, i)
    iv = first_v(topology, i)
    ratio = parameters[i, RATIO]
    k = mul(row9(w, j, RW), row3(parameters, i, ROTOR))
    tau[iv] += ratio * (parameters[i, ARMATURE] * ratio * qdd[iv] + dot(k, part3(a[j], 0)))
    moment = add(scale(ratio * qdd[iv], k), scale(ratio * qd[iv], cross(part3(v[j], 0), k)))
    for c in range(3):
        f[j, c] += moment[c]


# ---- Coriolis matrix ----------------------------------------------------------------------------------------------


@inline
def unit6d(k):
    """k-th unit vector."""
    e = (1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
    zero = (0.0, 0.0, 0.0)
    return (e, zero) if k < 3 else (zero, e)


@routine
def body_coriolis(m, h, inertia, v, I_out, B_out):
    """Columns of I and of B = (v x* I - I v x + (I v) x-bar*)/2 (K4), where (f x-bar*) m = m x* f; adds to both."""
    p = momentum(m, h, inertia, v)
    for k in range(6):
        e = unit6d(k)
        Ie = momentum(m, h, inertia, e)
        b = add6d(force_cross(v, Ie), force_cross(e, p))
        b = add6d(b, scale6d(-1.0, momentum(m, h, inertia, motion_cross(v, e))))
        for c in range(3):
            I_out[c, k] += Ie[0][c]
            I_out[3 + c, k] += Ie[1][c]
            B_out[c, k] += 0.5 * b[0][c]
            B_out[3 + c, k] += 0.5 * b[1][c]


@routine
def accumulate(A, B):
    """B += A, 6x6 (`language` has no sums of arrays)."""
    for r in range(6):
        for c in range(6):
            B[r, c] += A[r, c]


@inline
def times(A, m):
    """A m with A (6, 6)."""
    x = (m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2])
    s0 = s1 = s2 = s3 = s4 = s5 = 0.0
    for k in range(6):
        s0 += A[0, k] * x[k]
        s1 += A[1, k] * x[k]
        s2 += A[2, k] * x[k]
        s3 += A[3, k] * x[k]
        s4 += A[4, k] * x[k]
        s5 += A[5, k] * x[k]
    return (s0, s1, s2), (s3, s4, s5)


@kernel
def coriolis_matrix(topology, parameters, q, qd, C):
    """C(q, qd) with C qd = Coriolis forces and dH/dt = C + C^T, by composites (K4-K7, [Echeandia and Wensing 2021])."""
    rows = topology.shape[0]
    w = np.empty((rows, WORKSPACE))
    place(topology, parameters, q, w)
    world_poses(topology, w)
    v = np.zeros((rows, 6))
    I_c = np.zeros((rows, 6, 6))
    B_c = np.zeros((rows, 6, 6))
    C[:, :] = 0.0
    for i in range(1, rows):
        j = parent(topology, i)
        write6d(v, i, add6d(read6d(v, j), along_joint(topology, parameters, w, i, qd)))
        m, h, inertia = world_inertia(parameters, w, i)
        body_coriolis(m, h, inertia, read6d(v, i), I_c[i], B_c[i])
        rotor_coriolis(topology, parameters, w, v, i, qd, B_c[j], C)
    for i in range(rows - 1, 0, -1):
        j = parent(topology, i)
        for a in range(nv_of(topology[i, KIND])):
            coriolis_column(topology, parameters, w, v, (i, a), I_c[i], B_c[i], C)
        accumulate(I_c[i], I_c[j])
        accumulate(B_c[i], B_c[j])


@routine
def coriolis_column(topology, parameters, w, v, dof, I_c, B_c, C):
    """Column and row of C of dof a of row i (K6): F1 = I ds + B s, F2 = I s, F3 = B^T s, over the ancestors.

    dof: i, a.
    """
    i, a = dof
    s = axis(topology, parameters, w, i, a)
    F1 = add6d(times(I_c, motion_cross(read6d(v, i), s)), times(B_c, s))
    F2 = times(I_c, s)
    F3 = times(B_c.T, s)
    own = first_v(topology, i) + a
    j = i
    while j > 0:
        for b in range(nv_of(topology[j, KIND])):
            sb = axis(topology, parameters, w, j, b)
            other = first_v(topology, j) + b
            C[other, own] += dot6d(sb, F1)
            if j != i:
                C[own, other] += dot6d(motion_cross(read6d(v, j), sb), F2) + dot6d(sb, F3)
        j = parent(topology, j)


@routine
def rotor_coriolis(topology, parameters, w, v, i, qd, B_parent, C):
    """Rotor of joint i (K7): row k . dJ/dt of its parent's angular Jacobian, and its gyroscopic block -qd [k]."""
    if not one_dof(topology[i, KIND]):
        return
    j = parent(topology, i)
    iv = first_v(topology, i)
    k = mul(row9(w, j, RW), scale(parameters[i, RATIO], row3(parameters, i, ROTOR)))
    gyro = scale(-qd[iv], k)
    B_parent[0, 1] -= gyro[2]
    B_parent[0, 2] += gyro[1]
    B_parent[1, 0] += gyro[2]
    B_parent[1, 2] -= gyro[0]
    B_parent[2, 0] -= gyro[1]
    B_parent[2, 1] += gyro[0]
    dk = cross(part3(v[j], 0), k)
    while j > 0:
        for b in range(nv_of(topology[j, KIND])):
            s = axis(topology, parameters, w, j, b)
            ds = motion_cross(read6d(v, j), s)
            C[iv, first_v(topology, j) + b] += dot(dk, s[0]) + dot(k, ds[0])
        j = parent(topology, j)
