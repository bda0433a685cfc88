"""Contact-space inertia and responses by force and acceleration propagators (SPEC 7), and the same for mimic robots.

With the innovations factorisation H^-1 = Psi D^-1 Psi^T (Psi: P9-P11), the row of a unit force at a point is carried to
z = Psi^T J^T by the force propagators (P5), so that J H^-1 J^T = z^T D^-1 z (P6-P8) and H^-1 J^T = Psi D^-1 z (P12).
Robots with mimic joints have no such recursion: there z = J^T, D = H and Psi = 1. `L` is H's factor for them and empty
for all others; every routine below decides by it, so callers need not.
"""

import numpy as np

from .bodies import world_poses
from .dense import factorize, solve
from .jit import inline, kernel, routine
from .link import accelerate, force_to_parent, joint_acceleration, propagate
from .rows import (
    DI,
    FIXED,
    FREE,
    GRAVITY,
    IV,
    KIND,
    PARENT,
    PRISMATIC,
    RATIO,
    REVOLUTE,
    RW,
    UA,
    UL,
    WORKSPACE,
    E,
    G,
    P,
    part3,
    part3_to,
    row3,
    row6,
    row9,
    set3,
)
from .scalar import ZERO3, apply_blocks, cross, sub, tmul
from .tree import (
    aba_accelerations,
    aba_inward,
    aba_outward,
    along,
    clear_world,
    crba,
    dimensions,
    rnea_inward,
    rnea_outward,
)


@routine
def free_motion_of(topology, parameters, q, qd, tau, f_ext, added, L, w, qdd):
    """Qdd without contacts, leaving in `w` (and `L`) what the other routines need; `added` (nv,) joins H's diagonal.

    Returns -1, or the first dof without inertia.
    """
    clear_world(w)
    g = row3(parameters, 0, GRAVITY)
    if L.shape[0] == 0:
        aba_outward(topology, parameters, q, qd, f_ext, w)
        aba_inward(topology, parameters, qd, tau, added, w)
        aba_accelerations(topology, g, w, qdd)
        return -1
    for k in range(qd.shape[0]):
        qdd[k] = 0.0
    bias = L[0]
    rnea_outward(topology, parameters, q, qd, qdd, g, w)
    rnea_inward(topology, parameters, qd, qdd, f_ext, w, bias)
    for k in range(qd.shape[0]):
        qdd[k] = tau[k] - bias[k]
    crba(topology, parameters, w, L)
    for k in range(qd.shape[0]):
        L[k, k] += added[k]
    failed = factorize(L)
    if failed < 0:
        solve(L, qdd)
    return failed


@routine
def path(topology, parameters, L, w, i, r, d, z):
    """Fill z (nv,) of a unit force along d (world axes) at the point r of row i (P5); needs `world_poses`."""
    for k in range(z.shape[0]):
        z[k] = 0.0
    f = tmul(row9(w, i, RW), d)
    carry(topology, parameters, L, w, i, f, cross(r, f), z)


@routine
def carry(topology, parameters, L, w, i, f, n, z):
    """Add to z what a force (f, n) arriving at row i does to it and to every row on its way to the root (P5).

    Mimic robots: the plain force on every joint, z = J^T F.
    """
    while i > 0:
        kind = topology[i, KIND]
        iv = topology[i, IV]
        if kind == FREE:
            part3_to(z, iv, n)
            part3_to(z, iv + 3, f)
            if L.shape[0] == 0:
                return
        s = along(kind, f, n)
        if L.shape[0] > 0:
            if kind in (REVOLUTE, PRISMATIC):
                z[iv] += parameters[i, RATIO] * s
            f, n = force_to_parent(row9(w, i, E), row3(w, i, P), f, n)
        else:
            if kind != FIXED:
                z[iv] = s
            f, n = propagate(row9(w, i, E), row3(w, i, P), row3(w, i, UL), row3(w, i, UA), w[i, DI], s, f, n)
        i = topology[i, PARENT]


@routine
def joint_path(topology, parameters, L, w, i, z):
    """Fill z (nv,) of a unit effort of the one-dof joint of row i (P10)."""
    for k in range(z.shape[0]):
        z[k] = 0.0
    z[topology[i, IV]] = 1.0
    if L.shape[0] == 0:
        f, n = propagate(row9(w, i, E), row3(w, i, P), row3(w, i, UL), row3(w, i, UA), w[i, DI], 1.0, ZERO3, ZERO3)
        carry(topology, parameters, L, w, topology[i, PARENT], f, n, z)


@routine
def over_inertia(topology, L, w, Z, Y):
    """Y = D^-1 Z, a row (nv,) per force."""
    if L.shape[0] > 0:
        for c in range(Z.shape[0]):
            for k in range(Z.shape[1]):
                Y[c, k] = Z[c, k]
            solve(L, Y[c])
        return
    for i in range(1, topology.shape[0]):
        kind = topology[i, KIND]
        iv = topology[i, IV]
        if kind == FREE:
            M_ = row6(w, i, G)
            H_ = row9(w, i, G + 6)
            N_ = row6(w, i, G + 15)
            for c in range(Z.shape[0]):
                a, al = apply_blocks(M_, H_, N_, row3(Z, c, iv + 3), row3(Z, c, iv))
                set3(Y, c, iv, al)
                set3(Y, c, iv + 3, a)
        elif kind != FIXED:
            di = w[i, DI]
            for c in range(Z.shape[0]):
                Y[c, iv] = di * Z[c, iv]


@routine
def respond(topology, L, w, Y, X, motion):
    """X = Psi Y: the joint accelerations (P3, P12) that belong to rows Y = D^-1 Z, all rows body by body.

    motion (rows, 6 n): acceleration of each body, linear and angular, that belongs to each of the n rows.
    """
    n = Y.shape[0]
    if L.shape[0] > 0:
        for c in range(n):
            for k in range(Y.shape[1]):
                X[c, k] = Y[c, k]
        return
    for k in range(6 * n):
        motion[0, k] = 0.0
    for i in range(1, topology.shape[0]):
        j = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, IV]
        placed = row9(w, i, E)
        p = row3(w, i, P)
        ul = row3(w, i, UL)
        ua = row3(w, i, UA)
        di = w[i, DI]
        for c in range(n):
            a, al = accelerate(placed, p, row3(motion, j, 6 * c), row3(motion, j, 6 * c + 3), ZERO3, ZERO3)
            if kind == FREE:
                set3(X, c, iv, sub(row3(Y, c, iv), al))
                set3(X, c, iv + 3, sub(row3(Y, c, iv + 3), a))
                al = row3(Y, c, iv)
                a = row3(Y, c, iv + 3)
            elif kind != FIXED:
                qdd = Y[c, iv] + joint_acceleration(ul, ua, di, 0.0, a, al)
                X[c, iv] = qdd
                if kind == REVOLUTE:
                    al = (al[0], al[1], al[2] + qdd)
                else:
                    a = (a[0], a[1], a[2] + qdd)
            set3(motion, i, 6 * c, a)
            set3(motion, i, 6 * c + 3, al)


@inline
def dot_rows(x, y):
    """x . y."""
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * y[k]
    return s


@kernel
def contact_inertia_inverse(topology, parameters, point_rows, point_r, q, dense, out):
    """J H^-1 J^T (3k, 3k) for world axes at points of rows (P7, P8)."""
    z, y, _, _ = _articulated(topology, parameters, point_rows, point_r, q, dense)
    for a in range(z.shape[0]):
        for b in range(a + 1):
            out[a, b] = dot_rows(z[a], y[b])
            out[b, a] = out[a, b]


@kernel
def _articulated(topology, parameters, point_rows, point_r, q, dense):
    """z and D^-1 z of the three world axes at every point, and the workspace behind them."""
    _, nv = dimensions(topology)
    w = np.empty((topology.shape[0], WORKSPACE))
    L = np.empty((nv, nv)) if dense else np.empty((0, 0))
    zero = np.zeros(nv)
    free_motion_of(topology, parameters, q, zero, zero, zero[:0], zero, L, w, np.empty(nv))
    world_poses(topology, w)
    count = point_rows.shape[0]
    z = np.empty((3 * count, nv))
    y = np.empty((3 * count, nv))
    for c in range(count):
        r = part3(point_r[c], 0)
        for k, d in enumerate(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))):
            path(topology, parameters, L, w, point_rows[c], r, d, z[3 * c + k])
    over_inertia(topology, L, w, z, y)
    return z, y, L, w


@kernel
def test_force_response(topology, parameters, point_rows, point_r, q, dense, out):
    """H^-1 J^T as rows out[3 c + k, :] for a unit force along world axis k at point c (P12, P13)."""
    _, y, L, w = _articulated(topology, parameters, point_rows, point_r, q, dense)
    respond(topology, L, w, y, out, np.empty((topology.shape[0], 6 * y.shape[0])))
