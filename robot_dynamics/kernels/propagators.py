# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact-space inertia and responses by force and acceleration propagators (P1-P15), and the same for mimic robots.

With the innovations factorisation H^-1 = Psi D^-1 Psi^T (P14; Psi: P9-P11), unit forces at points are carried to
z = Psi^T J^T (nv, n) by the force propagators (P5), so that J H^-1 J^T = z^T D^-1 z (P6-P8) and H^-1 J^T = Psi D^-1 z
(P12).
Robots with mimic joints have no such recursion: there z = J^T, D = H and Psi = 1. `Robot.factor` is H's for them and
empty for all others. Callers put `divide` before what takes y.
"""

import numpy as np

from ..compiler import each, inline, lean, routine
from . import rows
from .dense import solve
from .joints import add_along, along, nv_of, one_dof
from .lanes import aligned, whole
from .link import accelerate, joint_acceleration, propagate
from .robot import Robot, articulated_inertia, robot_in_memory
from .rows import (
    DI,
    FREE,
    KIND,
    RATIO,
    RW,
    UA,
    UL,
    E,
    G,
    P,
    first_v,
    parent,
    row3,
    row6,
    row9,
    set3,
    set9,
    set_column3,
)
from .scalar import IDENTITY, ZERO3, ZERO9, add9, apply_blocks, cross, matmul, scale9, sub, transpose
from .star import contact_space as star


@inline
def cross_joint(forces, joint, dof, c, z, y):
    """What forces (f, n) do to a joint, into columns c, c + 1, .. of z and y; returns what its parent feels (P5).

    joint: E, p, U, linear and angular, 1/D. dof: kind and ratio of the joint, its row in z and y.
    """
    if len(forces) == 0:
        return ()
    placed, p, ul, ua, di = joint
    kind, ratio, iv = dof
    f, n = forces[0]
    s = along(kind, f, n)
    if one_dof(kind):
        z[iv, c] += ratio * s
        y[iv, c] = di * s
    onward = propagate(placed, p, ul, ua, di, s, f, n)
    return (onward, *cross_joint(forces[1:], joint, dof, c + 1, z, y))


@inline
def cross_free(forces, M, H, N, iv, c, z, y):
    """What forces (f, n) do to a free joint, into columns c, c + 1, .. of z and y; M, H, N: D^-1."""
    if len(forces) == 0:
        return
    f, n = forces[0]
    a, al = apply_blocks(M, H, N, f, n)
    set_column3(z, iv, c, n)
    set_column3(z, iv + 3, c, f)
    set_column3(y, iv, c, al)
    set_column3(y, iv + 3, c, a)
    cross_free(forces[1:], M, H, N, iv, c + 1, z, y)


@inline
def carry(robot, i, forces, c, z, y):
    """What forces (f, n) arriving at row i do to it and its ancestors, into columns c, c + 1, .. of z and y (P5).

    y = D^-1 z; mimic robots: the plain force on every joint, z = J^T F, and y is left to `solve_columns`.
    """
    topology, w = robot.topology, robot.w
    dense = robot.factor.shape[0] > 0
    while i > 0:
        kind = topology[i, KIND]
        iv = first_v(topology, i)
        if kind == FREE:
            cross_free(forces, row6(w, i, G), row9(w, i, G + 6), row6(w, i, G + 15), iv, c, z, y)
            if not dense:
                return
        ul = ZERO3 if dense else row3(w, i, UL)
        ua = ZERO3 if dense else row3(w, i, UA)
        di = 0.0 if dense else w[i, DI]
        ratio = robot.parameters[i, RATIO]
        joint = (row9(w, i, E), row3(w, i, P), ul, ua, di)
        forces = cross_joint(forces, joint, (kind, ratio, iv), c, z, y)
        i = parent(topology, i)


@routine
def contact_path(robot, i, r, frame, c, z, y):
    """Columns c to c + 2 of z and y, of unit forces along the axes of `frame` at the point r of row i (P5).

    Needs `world_poses`.
    """
    for k in range(z.shape[0]):
        set3(z, k, c, ZERO3)
        set3(y, k, c, ZERO3)
    F = matmul(transpose(row9(robot.w, i, RW)), frame)
    f = (F[0], F[3], F[6])
    g = (F[1], F[4], F[7])
    h = (F[2], F[5], F[8])
    carry(robot, i, ((f, cross(r, f)), (g, cross(r, g)), (h, cross(r, h))), c, z, y)


@routine
def contact_paths(robot, count, contact_rows, frames, z, y):
    """Paths of `count` contacts, three columns of z and y each.

    contact_rows: their rows; frames (count, 12): its point in row axes and its axes (3, 3) in the world.
    """
    if len(robot.levels) > 0:
        star.contact_paths(robot.levels, robot.limbed, robot.memory, count, contact_rows, frames, z, y)
        return
    for a in range(count):
        for i in each(contact_rows[a]):
            contact_path(robot, i, row3(frames, a, 0), row9(frames, a, 3), 3 * a, z, y)


@routine
def joint_path(robot, i, c, z, y):
    """Column c of z and y, of a unit effort of the one-dof joint of row i (P10)."""
    iv = first_v(robot.topology, i)
    if len(robot.levels) > 0:
        star.joint_path(robot.levels, robot.limbed, robot.memory, iv, c, z, y)
        return
    for k in range(z.shape[0]):
        z[k, c] = 0.0
        y[k, c] = 0.0
    z[iv, c] = 1.0
    if robot.factor.shape[0] == 0:
        w = robot.w
        y[iv, c] = w[i, DI]
        ul = row3(w, i, UL)
        force = propagate(row9(w, i, E), row3(w, i, P), ul, row3(w, i, UA), w[i, DI], 1.0, ZERO3, ZERO3)
        carry(robot, parent(robot.topology, i), (force,), c, z, y)


@inline
def meet(topology, i, j):
    """The last row that the ways from rows i and j to the root have in common."""
    while i != j:
        if i > j:
            i = parent(topology, i)
        else:
            j = parent(topology, j)
    return i


@inline
def term(z, y, k, a, b):
    """z_a^T y_b of three columns each at dof k, as a 3x3 matrix."""
    x = row3(z, k, a)
    u = row3(y, k, b)
    return (
        x[0] * u[0],
        x[0] * u[1],
        x[0] * u[2],
        x[1] * u[0],
        x[1] * u[1],
        x[1] * u[2],
        x[2] * u[0],
        x[2] * u[1],
        x[2] * u[2],
    )


@inline
def free_block(z, y, k, a, b):
    """z_a^T y_b of three columns each over the six terms of a free joint from dof k."""
    S = add9(term(z, y, k, a, b), term(z, y, k + 1, a, b))
    S = add9(S, add9(term(z, y, k + 2, a, b), term(z, y, k + 3, a, b)))
    return add9(S, add9(term(z, y, k + 4, a, b), term(z, y, k + 5, a, b)))


@inline
def block_product(topology, i, a, b, z, y):
    """z_a^T y_b of three columns each over the joints from row i to the root (P8); i < 0: over all joints.

    The six terms of a free joint are written out: as a loop they would be taken for a long one and vectorised.
    """
    S = ZERO9
    if i < 0:
        for k in range(z.shape[0]):
            S = add9(S, term(z, y, k, a, b))
    while i > 0:
        kind = topology[i, KIND]
        iv = first_v(topology, i)
        if kind == FREE:
            S = add9(S, free_block(z, y, iv, a, b))
        elif one_dof(kind):
            S = add9(S, term(z, y, iv, a, b))
        i = parent(topology, i)
    return S


@routine
def product(topology, i, a, b, z, y):
    """`block_product` of one column each."""
    s = 0.0
    if i < 0:
        for k in range(z.shape[0]):
            s += z[k, a] * y[k, b]
    while i > 0:
        kind = topology[i, KIND]
        iv = first_v(topology, i)
        for k in range(iv, iv + nv_of(kind)):
            s += z[k, a] * y[k, b]
        i = parent(topology, i)
    return s


@inline
def set_block(A, a, b, S):
    """Write a 3x3 matrix into A from row a and column b."""
    set3(A, a, b, (S[0], S[1], S[2]))
    set3(A, a + 1, b, (S[3], S[4], S[5]))
    set3(A, a + 2, b, (S[6], S[7], S[8]))


@routine
def divide(robot, n, z, y):
    """y = D^-1 z of the first n columns: what paths of limbs and of mimic robots have left to do for all at once."""
    if len(robot.levels) > 0:
        star.divide(robot.levels, robot.limbed, robot.memory, n, z, y)
        return
    for c in range(n if robot.factor.shape[0] > 0 else 0):
        for k in range(z.shape[0]):
            y[k, c] = z[k, c]
        solve(robot.factor, y[:, c])


@routine
def delassus_matrix(robot, g, count, n, contact_rows, z, y, A):
    """A = g z^T y = g J H^-1 J^T of the paths of `count` contacts, three columns each, and n - 3 count joints (P8).

    contact_rows: the rows that the contacts' paths start from, then the joints'. z, y, A have rows of whole lanes.
    """
    topology = robot.topology
    if len(robot.levels) > 0:
        star.delassus_matrix(robot.levels, robot.limbed, g, (count, n), contact_rows, (z, y), A)
        return
    dense = robot.factor.shape[0] > 0
    for a in range(count):
        for i in each(contact_rows[a]):
            for b in range(a + 1):
                for j in each(contact_rows[b]):
                    S = scale9(g, block_product(topology, -1 if dense else meet(topology, i, j), 3 * a, 3 * b, z, y))
                    if a == b:
                        S = (S[0], S[1], S[2], S[1], S[4], S[5], S[2], S[5], S[8])
                    set_block(A, 3 * a, 3 * b, S)
                    set_block(A, 3 * b, 3 * a, transpose(S))
    for a in range(3 * count, n):
        for b in range(a + 1):
            other = b // 3 if b < 3 * count else b - 2 * count
            i = -1 if dense else meet(topology, contact_rows[a - 2 * count], contact_rows[other])
            A[a, b] = g * product(topology, i, a, b, z, y)
            A[b, a] = A[a, b]


@routine
def respond(robot, x):
    """Turn the row of x (1, nv), D^-1 z, into the joint acceleration Psi x that belongs to it (P15)."""
    if len(robot.levels) > 0:
        star.respond(robot.levels, robot.limbed, robot.memory, x[0])
    else:
        respond_tree(robot, x, robot.w[:, rows.A : rows.A + 6])


@routine
def respond_all(robot, X, motion):
    """`respond` for the rows of X (n, nv); motion (rows, 6 n): workspace of the accelerations of each body."""
    if len(robot.levels) > 0:
        star.respond_all(robot.levels, robot.limbed, robot.memory, X)
    else:
        respond_tree(robot, X, motion)


@routine
def respond_tree(robot, X, motion):
    """`respond_all` by `tree`, body by body."""
    topology, w = robot.topology, robot.w
    if robot.factor.shape[0] > 0:
        return
    for k in range(6 * X.shape[0]):
        motion[0, k] = 0.0
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        kind = topology[i, KIND]
        iv = first_v(topology, i)
        placed = row9(w, i, E)
        p = row3(w, i, P)
        ul = row3(w, i, UL)
        ua = row3(w, i, UA)
        di = w[i, DI]
        for c in range(X.shape[0]):
            a, al = accelerate(placed, p, row3(motion, j, 6 * c), row3(motion, j, 6 * c + 3), ZERO3, ZERO3)
            if kind == FREE:
                al_free = row3(X, c, iv)
                a_free = row3(X, c, iv + 3)
                set3(X, c, iv, sub(al_free, al))
                set3(X, c, iv + 3, sub(a_free, a))
                al = al_free
                a = a_free
            elif one_dof(kind):
                qdd = X[c, iv] + joint_acceleration(ul, ua, di, 0.0, a, al)
                X[c, iv] = qdd
                a, al = add_along(kind, a, al, qdd)
            set3(motion, i, 6 * c, a)
            set3(motion, i, 6 * c + 3, al)


def workspace(model, count):
    """Memory that `contact_space` of `count` points of a Model needs."""
    robot = robot_in_memory(model.lanes, model.topology, model.parameters, model.nv, model.nb, model.has_mimic)
    wide = whole(3 * count)
    # zeros: lanes behind the last path are multiplied too, and what memory held there may be slow to multiply
    vectors, paths = np.zeros((2, model.nv)), aligned((2, model.nv, wide))
    motion = np.empty((0 if len(robot.levels) > 0 else len(model.topology), 18 * count))
    return tuple(robot), (vectors, paths, np.empty((count, 12)), motion, aligned((3 * count, wide)))


@lean
def contact_space(robot, workspace, contact_rows, r, q, inertia, response):
    """J H^-1 J^T (3k, 3k) into `inertia` (P7, P8), H^-1 J^T into the rows of `response` (3k, nv) (P12, P13).

    World axes at points r (k, 3) of rows, three rows and columns for each; matrices without rows leave one out.
    """
    robot = Robot(*robot)
    vectors, paths, frames, motion, A = workspace
    z, y = paths[0], paths[1]
    count = contact_rows.shape[0]
    articulated_inertia(robot, q, vectors[0], vectors[1])
    for a in range(count):
        set3(frames, a, 0, row3(r, a, 0))
        set9(frames, a, 3, IDENTITY)
    contact_paths(robot, count, contact_rows, frames, z, y)
    divide(robot, 3 * count, z, y)
    if inertia.shape[0] > 0:
        delassus_matrix(robot, 1.0, count, 3 * count, contact_rows, z, y, A)
        for i in range(inertia.shape[0]):
            for j in range(i + 1):
                inertia[i, j] = A[i, j]
                inertia[j, i] = A[i, j]
    if response.shape[0] == 0:
        return
    for c in range(response.shape[0]):
        for k in range(response.shape[1]):
            response[c, k] = y[k, c]
    respond_all(robot, response, motion)
