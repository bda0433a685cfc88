# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of RNEA and ABA of any tree, O(n d) ([Carpentier and Mansard 2018], [Singh, Russell and Wensing 2022]).

Everything stands in one frame, so that no vector is carried from body to body: that of a free base if row 1 is one,
else the world. A motion is (omega; v of the point at the frame's origin), a force (n; f) about that. Changes of q are
those of `manifold.integrate`: along the columns of the joints, so that a free joint is moved by twists in its own axes.
"""

from ..compiler import abreast, brief, inline, routine
from .dense import factorize, solve_rows
from .joints import one_dof
from .link import gyration
from .rows import (
    AL,
    ARMATURE,
    BODY,
    CL,
    FREE,
    GRAVITY,
    KIND,
    RATIO,
    ROTOR,
    RW,
    XW,
    A,
    F,
    G,
    M,
    T,
    V,
    W,
    add3,
    add6,
    add9,
    first_v,
    parent,
    part3,
    row3,
    row6,
    row9,
    set3,
    set6,
    set9,
)
from .scalar import IDENTITY, ZERO3, add, cross, dot, matmul, mul, scale, sub, tmul, transpose
from .tree.placement import external, fits, placement, turn
from .world import add6d, axis, dot6d, force_cross, momentum, motion_cross, scale6d, world_inertia

MOMENT, INERTIA, SPIN = M + 1, M + 4, M + 10
"""Behind the mass of a row's subtree, in M: its first moment, inertia, and the matrix Gamma of (V3)."""
MOMENTUM = CL
"""Linear momentum of a row's subtree."""
S, DS, DDS = G, G + 6, G + 12
"""Column s of a one-dof joint, v x s and a x s + v x (v x s) of its parent's motion (V1)."""


# ---- spatial vectors in the workspace -------------------------------------------------------------------------------


@inline
def twist(w, i):
    """Twist of row i."""
    return row3(w, i, W), row3(w, i, V)


@inline
def acceleration(w, i):
    """Spatial acceleration of row i, the world accelerating at -g."""
    return row3(w, i, AL), row3(w, i, A)


@inline
def pair(w, i, o):
    """Spatial vector of row i at column o."""
    return row3(w, i, o), row3(w, i, o + 3)


@inline
def set_pair(w, i, o, m):
    """Write a spatial vector to row i at column o."""
    set3(w, i, o, m[0])
    set3(w, i, o + 3, m[1])


@inline
def moved_column(w, j, s):
    """V x s and a x s + v x (v x s) with the motion v, a of row j (V1)."""
    v = twist(w, j)
    ds = motion_cross(v, s)
    return ds, add6d(motion_cross(acceleration(w, j), s), motion_cross(v, ds))


# ---- outward --------------------------------------------------------------------------------------------------------


@inline
def set_origin(topology, parameters, q, w):
    """Pose and motion of the world in the frame of a free base, or its own; needs `turn`."""
    R, x = IDENTITY, ZERO3
    if topology.shape[0] > 1 and topology[1, KIND] == FREE:
        placed, p = placement(topology, parameters, 1, q, w)
        R, x = transpose(placed), scale(-1.0, tmul(placed, p))
    set9(w, 0, RW, R)
    set3(w, 0, XW, x)
    set3(w, 0, W, ZERO3)
    set3(w, 0, V, ZERO3)
    set3(w, 0, AL, ZERO3)
    set3(w, 0, A, scale(-1.0, mul(R, row3(parameters, 0, GRAVITY))))


@inline
def place_in_frame(topology, parameters, i, q, w):
    """Attitude and position of row i in the frame."""
    j = parent(topology, i)
    placed, p = placement(topology, parameters, i, q, w)
    R = row9(w, j, RW)
    set9(w, i, RW, matmul(R, placed))
    set3(w, i, XW, add(row3(w, j, XW), mul(R, p)))


@inline
def from_axes(w, i, motion):
    """Motion about the origin of row i in its axes (omega; v), in the frame."""
    R = row9(w, i, RW)
    angular = mul(R, motion[0])
    return angular, add(mul(R, motion[1]), cross(row3(w, i, XW), angular))


@inline
def move(topology, parameters, i, qd, qdd, w):
    """Twist and acceleration of row i (R1, R2), and what moves of the column of a one-dof joint (V1)."""
    j = parent(topology, i)
    iv = first_v(topology, i)
    v, a = twist(w, j), acceleration(w, j)
    kind = topology[i, KIND]
    if one_dof(kind):
        s = axis(topology, parameters, w, i, 0)
        ds, dds = moved_column(w, j, s)
        set_pair(w, i, S, s)
        set_pair(w, i, DS, ds)
        set_pair(w, i, DDS, dds)
        v = add6d(v, scale6d(qd[iv], s))
        a = add6d(a, add6d(scale6d(qdd[iv], s), scale6d(qd[iv], ds)))
    elif kind == FREE:
        own = from_axes(w, i, (part3(qd, iv), part3(qd, iv + 3)))
        change = from_axes(w, i, (part3(qdd, iv), part3(qdd, iv + 3)))
        a = add6d(a, add6d(change, motion_cross(v, own)))
        v = add6d(v, own)
    set3(w, i, W, v[0])
    set3(w, i, V, v[1])
    set3(w, i, AL, a[0])
    set3(w, i, A, a[1])
    return v, a


@inline
def set_body(topology, parameters, i, motion, f_ext, w):
    """Inertia, momentum, Gamma and net force of row i's body less the environment's wrench on it (R3, V3)."""
    v, a = motion
    m, h, inertia = world_inertia(parameters, w, i)
    p = momentum(m, h, inertia, v)
    f = add6d(momentum(m, h, inertia, a), force_cross(v, p))
    if f_ext.shape[0] > 0 and topology[i, BODY] >= 0:
        fx, nx = external(parameters, f_ext, i, topology[i, BODY])
        R = row9(w, i, RW)
        fx = mul(R, fx)
        f = sub(f[0], add(mul(R, nx), cross(row3(w, i, XW), fx))), sub(f[1], fx)
    w[i, M] = m
    set3(w, i, MOMENT, h)
    set6(w, i, INERTIA, inertia)
    set9(w, i, SPIN, gyration(h, inertia, v[0], v[1]))
    set3(w, i, MOMENTUM, p[1])
    set3(w, i, T, f[0])
    set3(w, i, F, f[1])


@inline
def outward(topology, parameters, q, qd, qdd, f_ext, w):
    """Motion and force of all rows in the frame."""
    turn(topology, parameters, q, w)
    set_origin(topology, parameters, q, w)
    for i in range(1, topology.shape[0]):
        place_in_frame(topology, parameters, i, q, w)
        set_body(topology, parameters, i, move(topology, parameters, i, qd, qdd, w), f_ext, w)


# ---- inward ---------------------------------------------------------------------------------------------------------


@inline
def resist(w, i, m):
    """I^C m: force of row i's subtree that accelerates as one body."""
    return momentum(w[i, M], row3(w, i, MOMENT), row6(w, i, INERTIA), m)


@inline
def deflect(w, i, m):
    """D^C m: force of row i's subtree by a change m of its twist (V3)."""
    return mul(row9(w, i, SPIN), m[0]), scale(2.0, cross(m[0], row3(w, i, MOMENTUM)))


@inline
def deflected(w, i, s):
    """(D^C)^T s, whose linear part is 0 (V3)."""
    return add(tmul(row9(w, i, SPIN), s[0]), scale(2.0, cross(row3(w, i, MOMENTUM), s[1])))


@inline
def felt(w, j, force):
    """S^T force of a free joint j: its moment and force in the axes of row j, six numbers."""
    R = row9(w, j, RW)
    n = tmul(R, sub(force[0], cross(row3(w, j, XW), force[1])))
    f = tmul(R, force[1])
    return (n[0], n[1], n[2], f[0], f[1], f[2])


@inline
def along_free(topology, w, j, given, row, out):
    """What a row of the derivatives has in the columns of a free joint j (V6); given: I^C s, (D^C)^T s.

    A change along s_j acts on a force F as s . F, hence F . (v x s) = -(v x* F) . s.
    """
    inert, spun = given
    k = parent(topology, j)
    by_q = scale6d(-1.0, force_cross(acceleration(w, k), inert))
    around = motion_of_carrier = twist(w, j)
    if k > 0:
        v = twist(w, k)
        around = add6d(motion_of_carrier, v)
        rest = force_cross(v, inert)
        by_q = add6d(by_q, force_cross(v, (sub(rest[0], spun), rest[1])))
    by_rate = force_cross(around, inert)
    by_rate = sub(spun, by_rate[0]), scale(-1.0, by_rate[1])
    first = first_v(topology, j)
    for c, x in enumerate(felt(w, j, by_q)):
        out[0, row, first + c] += x
    for c, x in enumerate(felt(w, j, by_rate)):
        out[1, row, first + c] += x
    for c, x in enumerate(felt(w, j, inert)):
        out[2, row, first + c] += x


@inline
def meet_free(topology, w, j, given, passed, row, out):
    """`meet` for a free joint j (V6, V7)."""
    along_free(topology, w, j, given, row, out)
    first = first_v(topology, j)
    for c, x in enumerate(felt(w, j, passed[0])):
        out[0, first + c, row] += x
    for c, x in enumerate(felt(w, j, passed[1])):
        out[1, first + c, row] += x
    for c, x in enumerate(felt(w, j, given[0])):
        out[2, first + c, row] += x


@inline
def along_one(topology, w, j, given, row, out):
    """What a row of the derivatives has in the column of a one-dof joint j (V6); returns its entry of H."""
    inert, spun = given
    s, ds, dds = pair(w, j, S), pair(w, j, DS), pair(w, j, DDS)
    column = first_v(topology, j)
    x = dot6d(s, inert)
    out[0, row, column] += dot6d(dds, inert) + dot(ds[0], spun)
    out[1, row, column] += 2.0 * dot6d(ds, inert) + dot(s[0], spun)
    out[2, row, column] += x
    return x


@inline
def meet_one(topology, w, j, given, passed, row, out):
    """`meet` for a one-dof joint j (V6, V7)."""
    x = along_one(topology, w, j, given, row, out)
    s = pair(w, j, S)
    column = first_v(topology, j)
    out[0, column, row] += dot6d(s, passed[0])
    out[1, column, row] += dot6d(s, passed[1])
    out[2, column, row] += x


@inline
def meet(topology, w, j, given, passed, row, out):
    """Row and column `row` of the derivatives where they cross those of joint j and its ancestors (V6, V7).

    given: I^C s and (D^C)^T s, against which changes of the ancestors work. passed: forces that the ancestors transmit
    when the joint's q and qd change.
    """
    while j > 0:
        kind = topology[j, KIND]
        if one_dof(kind):
            meet_one(topology, w, j, given, passed, row, out)
        elif kind == FREE:
            meet_free(topology, w, j, given, passed, row, out)
        j = parent(topology, j)


@inline
def passed_on(w, i, s, ds, dds, rate):
    """What the ancestors transmit when q and qd of a column s of row i change (V7); rate: ds and that of s."""
    force = row3(w, i, T), row3(w, i, F)
    by_q = add6d(add6d(resist(w, i, dds), deflect(w, i, ds)), force_cross(s, force))
    return by_q, add6d(resist(w, i, rate), deflect(w, i, s))


@inline
def one_dof_inward(topology, parameters, i, qd, qdd, w, out):
    """Row and column of a one-dof joint, with armature and geared rotor (V8)."""
    j = parent(topology, i)
    iv = first_v(topology, i)
    s, ds, dds = pair(w, i, S), pair(w, i, DS), pair(w, i, DDS)
    inert, spun = resist(w, i, s), deflected(w, i, s)
    by_q, by_rate = passed_on(w, i, s, ds, dds, scale6d(2.0, ds))
    along_one(topology, w, i, (inert, spun), iv, out)
    ratio = parameters[i, RATIO]
    out[2, iv, iv] += ratio * ratio * parameters[i, ARMATURE]
    rotor = row3(parameters, i, ROTOR)
    if dot(rotor, rotor) > 0.0:
        k = mul(row9(w, j, RW), scale(ratio, rotor))
        turned = cross(row3(w, j, W), k)
        inert = add(inert[0], k), inert[1]
        spun = add(spun, turned)
        by_rate = add(by_rate[0], turned), by_rate[1]
        g = scale(-qd[iv], k)
        add3(w, j, T, add(scale(qdd[iv], k), scale(qd[iv], turned)))
        add9(w, j, SPIN, (0.0, -g[2], g[1], g[2], 0.0, -g[0], -g[1], g[0], 0.0))
    meet(topology, w, j, (inert, spun), (by_q, by_rate), iv, out)


@routine
def free_inward(topology, parameters, i, w, out):
    """Rows and columns of a free joint."""
    j = parent(topology, i)
    for c in range(6):
        s = axis(topology, parameters, w, i, c)
        row = first_v(topology, i) + c
        given = resist(w, i, s), deflected(w, i, s)
        along_free(topology, w, i, given, row, out)
        if j > 0:
            ds, dds = moved_column(w, j, s)
            rate = add6d(ds, motion_cross(twist(w, i), s))
            meet(topology, w, j, given, passed_on(w, i, s, ds, dds, rate), row, out)


@inline
def join_parent(topology, i, w):
    """Add what row i's subtree carries to its parent's."""
    j = parent(topology, i)
    if j > 0:
        w[j, M] += w[i, M]
        add3(w, j, MOMENT, row3(w, i, MOMENT))
        add6(w, j, INERTIA, row6(w, i, INERTIA))
        add9(w, j, SPIN, row9(w, i, SPIN))
        add3(w, j, MOMENTUM, row3(w, i, MOMENTUM))
        add3(w, j, T, row3(w, i, T))
        add3(w, j, F, row3(w, i, F))


@routine
def rnea_derivatives(topology, parameters, q, qd, qdd, f_ext, w, out):
    """Derivatives of tau in q and qd, and H, into out[0], out[1], out[2] (nv, nv)."""
    outward(topology, parameters, q, qd, qdd, f_ext, w)
    out[0, :, :] = 0.0
    out[1, :, :] = 0.0
    out[2, :, :] = 0.0
    for i in range(topology.shape[0] - 1, 0, -1):
        kind = topology[i, KIND]
        if one_dof(kind):
            one_dof_inward(topology, parameters, i, qd, qdd, w, out)
        elif kind == FREE:
            free_inward(topology, parameters, i, w, out)
        join_parent(topology, i, w)


@routine
def aba_derivatives(topology, parameters, q, qd, qdd, f_ext, w, X, out):
    """Derivatives of the acceleration qdd that ABA gave, in q, qd and tau, into out[0], out[1], out[2] (V9).

    X (nv, 3 nv): workspace, a ninth argument, as the rows of w are those of the joints. Returns -1, or the first dof
    without inertia.
    """
    rnea_derivatives(topology, parameters, q, qd, qdd, f_ext, w, out)
    n = qd.shape[0]
    for r in range(n):
        for c in abreast(n):
            X[r, c] = -out[0, r, c]
            X[r, n + c] = -out[1, r, c]
            X[r, 2 * n + c] = 0.0
        X[r, 2 * n + r] = 1.0
    failed = factorize(out[2])
    if failed < 0:
        solve_rows(out[2], X)
        for r in range(n):
            for c in abreast(n):
                out[0, r, c] = X[r, c]
                out[1, r, c] = X[r, n + c]
                out[2, r, c] = X[r, 2 * n + c]
    return failed


@brief
def inverse_dynamics_derivatives(topology, parameters, q, qd, qdd, f_ext, w, out):
    """`rnea_derivatives` for input that nobody has looked at."""
    if not fits(topology, q, qd, qdd, f_ext):
        return False
    rnea_derivatives(topology, parameters, q, qd, qdd, f_ext, w, out)
    return True


@brief
def forward_dynamics_derivatives(topology, parameters, q, qd, qdd, f_ext, w, X, out):
    """`aba_derivatives`."""
    return aba_derivatives(topology, parameters, q, qd, qdd, f_ext, w, X, out)
