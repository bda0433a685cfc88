# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact-space inertia and responses by the factors of H (P1-P17).

With H = L^T D L (P16), unit forces at points become z = L^-T J^T (nv, n), so that J H^-1 J^T = z^T D^-1 z (P8) and
H^-1 J^T = L^-1 D^-1 z (P12); y = D^-1 z. What a column of z goes through is the path of a force, which acts on the
joints that carry its point and on no others. Forces on free joints are in world axes.

The factor of a robot with mimic joints (`Robot.coupled`) has no such order: there z = J^T, D = H and L = 1. Callers put
`divide` before what takes y.
"""

import numpy as np

from ..compiler import QUAD, abreast, combine, each, inline, lane, lean, routine
from .dense import solve
from .joints import one_dof, point_column
from .lanes import aligned, whole
from .robot import Robot, factorize_inertia, robot_in_memory
from .rows import FREE, KIND, RATIO, RW, XW, first_v, parent, part3, row3, row9, set3, set9
from .scalar import IDENTITY, ZERO3, add, cross_rows, dot, mul, scale, sub, tmul
from .star import contact_space as star
from .tree.joint_space import axis_of, solve_columns_outward, solve_outward, to_own_axes

FRAME = 12
"""Numbers of a contact's axes and arm."""


@inline
def clear_columns(z, c):
    """Set columns c to c + 2 to 0."""
    for k in range(z.shape[0]):
        set3(z, k, c, ZERO3)


@inline
def less_rows(rows, L, k, m, x):
    """Rows of dofs that carry dof k, the one at column m of L first, less their entries times x."""
    if len(rows) == 0:
        return ()
    return (sub(rows[0], scale(L[k, m], x)), *less_rows(rows[1:], L, k, m - 1, x))


@inline
def solve_free_rows(rows, L, k, m):
    """L^-T of the rows of a free joint, its last dof k, at column m of L, first."""
    if len(rows) == 0:
        return ()
    return (rows[0], *solve_free_rows(less_rows(rows[1:], L, k, m - 1, rows[0]), L, k - 1, m - 1))


@inline
def write_free_rows(rows, L, k, m, c, z, y):
    """Write rows into z from dof k down, and D^-1 times them into y."""
    if len(rows) == 0:
        return
    set3(z, k, c, rows[0])
    set3(y, k, c, scale(L[k, m], rows[0]))
    write_free_rows(rows[1:], L, k - 1, m - 1, c, z, y)


@inline
def cross_free(robot, start, iv, arm, axes, c, z, y):
    """Rows of z and y of the free joint with dof iv, which carries dof `start`; contact at `arm` from its origin."""
    L, m = robot.factor, robot.depth[iv] + 5
    u, v, w = cross_rows(arm, axes)
    rows = ((axes[6], axes[7], axes[8]), (axes[3], axes[4], axes[5]), (axes[0], axes[1], axes[2]), w, v, u)
    k = start
    while k > iv + 5:
        rows = less_rows(rows, L, k, m, row3(z, k, c))
        k = robot.carrier[k]
    write_free_rows(solve_free_rows(rows, L, iv + 5, m), L, iv + 5, m, c, z, y)


@inline
def cross_joint(robot, start, k, row, c, z, y):
    """Row of z and y of the joint with dof k, which is or carries dof `start`; row: that of J^T."""
    L, m = robot.factor, robot.depth[k]
    i = start
    while i != k:
        row = sub(row, scale(L[i, m], row3(z, i, c)))
        i = robot.carrier[i]
    set3(z, k, c, row)
    set3(y, k, c, scale(L[k, m], row))


@inline
def carry(robot, i, x, axes, c, z, y):
    """Columns c to c + 2 of z = L^-T J^T and of y, of a contact at x on row i, from there to the root (K1, P5)."""
    topology, w, start = robot.topology, robot.w, robot.last[i]
    while i > 0:
        kind, iv = topology[i, KIND], first_v(topology, i)
        arm = sub(x, row3(w, i, XW))
        if kind == FREE:
            cross_free(robot, start, iv, arm, axes, c, z, y)
        elif one_dof(kind):
            cross_joint(robot, start, iv, tmul(axes, point_column(kind, axis_of(w, i), arm)), c, z, y)
        i = parent(topology, i)


@inline
def carry_coupled(robot, i, x, axes, c, z):
    """Columns c to c + 2 of z = J^T of a robot with mimic joints, of a contact as in `carry`."""
    topology, w = robot.topology, robot.w
    clear_columns(z, c)
    while i > 0:
        kind, iv = topology[i, KIND], first_v(topology, i)
        arm = sub(x, row3(w, i, XW))
        if kind == FREE:
            for k, row in enumerate(cross_rows(arm, axes)):
                set3(z, iv + k, c, row)
            for k in range(3):
                set3(z, iv + 3 + k, c, (axes[3 * k], axes[3 * k + 1], axes[3 * k + 2]))
        elif one_dof(kind):
            column = scale(robot.parameters[i, RATIO], point_column(kind, axis_of(w, i), arm))
            set3(z, iv, c, add(row3(z, iv, c), tmul(axes, column)))
        i = parent(topology, i)


@routine
def contact_path(robot, i, x, axes, c, z, y):
    """Columns c to c + 2 of z and y, of unit forces along `axes`, columns of a matrix, at x on row i; world axes.

    Rows of dofs that do not move row i are 0 in y, and with mimic joints, where `divide` finds y, in z.
    """
    if robot.coupled:
        carry_coupled(robot, i, x, axes, c, z)
    else:
        clear_columns(y, c)
        carry(robot, i, x, axes, c, z, y)


@routine
def contact_paths(robot, contacts, frames, z, y):
    """Paths of contacts, three columns of z and y each.

    contacts: how many, the points (k,) that they are, and the rows of all points. frames: numbers of all points, and
    the column from which on their axes (3, 3) stand and, behind them, the arm from the row's origin, in the world.
    """
    if len(robot.levels) > 0:
        star.contact_paths(robot.levels, robot.memory, contacts, frames, z, y)
        return
    count, active, rows = contacts
    points, o = frames
    for a in range(count):
        for c in each(active[a]):
            i = rows[c]
            x = add(row3(robot.w, i, XW), row3(points, c, o + star.ARM))
            contact_path(robot, i, x, row9(points, c, o), 3 * a, z, y)


@routine
def joint_path(robot, i, count, n, z, y):
    """Path number n, behind those of `count` contacts, of a unit effort of the one-dof joint of row i (P10)."""
    iv = first_v(robot.topology, i)
    if len(robot.levels) > 0:
        star.joint_path(robot.levels, robot.memory, iv, count, n, z, y)
        return
    for c in each(n):
        for k in range(z.shape[0]):
            z[k, c] = 0.0
            y[k, c] = 0.0
        z[iv, c] = 1.0
        if not robot.coupled:
            carry_effort(robot, iv, c, z, y)


@inline
def carry_effort(robot, k, c, z, y):
    """Column c of z = L^-T z and of y, of an effort on dof k alone."""
    carrier, depth, L = robot.carrier, robot.depth, robot.factor
    while k >= 0:
        m, i, x = depth[k], carrier[k], z[k, c]
        y[k, c] = L[k, m] * x
        while i >= 0:
            m -= 1
            z[i, c] -= L[k, m] * x
            i = carrier[i]
        k = carrier[k]


@routine
def divide(robot, count, n, z, y):
    """y = D^-1 z of the paths of `count` contacts and n - 3 count joints.

    It is what paths of limbs and of mimic robots have left to do for all at once.
    """
    if len(robot.levels) > 0:
        star.divide(robot.levels, robot.memory, count, n, z, y)
        return
    for c in range(n if robot.coupled else 0):
        for k in range(z.shape[0]):
            y[k, c] = z[k, c]
        solve(robot.factor, y[:, c])


@inline
def couple_path(robot, i, g, c, z, y, A):
    """Row c of A, g z_c^T y up to its diagonal, and column c; z_c: the path of a force on row i (P8)."""
    row, k = c * A.shape[1], robot.last[i]
    if k < 0:
        for b in abreast(c + 1):
            A[c, b] = 0.0
    else:
        for b in range(0, c + 1, QUAD):
            combine(A, row + b, QUAD, (g * z[k, c],), (y, k * y.shape[1] + b, 0), (), (y, 0, 0))
        k = robot.carrier[k]
    while k >= 0:
        x = g * z[k, c]
        for b in range(0, c + 1, QUAD):
            combine(A, row + b, QUAD, (1.0,), (A, row + b, 0), (x,), (y, k * y.shape[1] + b, 0))
        k = robot.carrier[k]
    for b in range(c):
        A[b, c] = A[c, b]


@routine
def delassus_matrix(robot, g, count, n, contact_rows, z, y, A):
    """A = g z^T y = g J H^-1 J^T of the paths of `count` contacts, three columns each, and n - 3 count joints (P8).

    contact_rows: the rows that the contacts' paths start from, then the joints'. z, y, A have rows of whole lanes.
    """
    if len(robot.levels) > 0:
        star.delassus_matrix(robot.levels, g, (count, n, contact_rows), (z, y), A)
        return
    for a in range(count):
        for i in each(contact_rows[a]):
            for c in range(3 * a, 3 * a + 3):
                couple_path(robot, i, g, c, z, y, A)
    for first in each(count):
        for c in range(3 * first, n):
            for i in each(contact_rows[c - 2 * first]):
                couple_path(robot, i, g, c, z, y, A)


@inline
def place_in_contact(robot, z, a, k):
    """Place of column k of contact a in z or y, and from one of its numbers to the next."""
    return (3 * a + k, z.shape[1]) if len(robot.levels) == 0 else (star.block_of(z, a) + k, QUAD)


@inline
def place_of_joint(robot, z, count, s):
    """Place of the column of joint s behind `count` contacts in z or y, and from one of its numbers to the next."""
    return (3 * count + s, z.shape[1]) if len(robot.levels) == 0 else (star.column_of(z, count, s), QUAD)


@inline
def write_path(robot, i, place, g, z, y, Z, Y):
    """Rows Z and Y of the path, at a place in z and y, of a force on row i; of other dofs 0."""
    start, apart = place
    for k in abreast(Z.shape[0]):
        Z[k] = 0.0
        Y[k] = 0.0
    k = robot.last[i]
    while k >= 0:
        Z[k] = lane(z, start + k * apart)
        Y[k] = g * lane(y, start + k * apart)
        k = robot.carrier[k]


@routine
def write_paths(robot, g, count, n, contact_rows, z, y, paths):
    """Z = z^T and Y = g y^T (n, nv) of the paths of `count` contacts and n - 3 count joints into `paths` (Q10)."""
    Z, Y = paths[0], paths[1]
    for a in range(count):
        for i in each(contact_rows[a]):
            for k in range(3):
                write_path(robot, i, place_in_contact(robot, z, a, k), g, z, y, Z[3 * a + k], Y[3 * a + k])
    for first in each(count):
        for total in each(n):
            for s in range(total - 3 * first):
                for i in each(contact_rows[first + s]):
                    row = 3 * first + s
                    write_path(robot, i, place_of_joint(robot, z, first, s), g, z, y, Z[row], Y[row])


@inline
def combine_columns(g, n, f, y, x):
    """x = g y f of the first n columns of y."""
    for k in range(x.shape[0]):
        total = 0.0
        for c in range(n):
            total += y[k, c] * f[c]
        x[k] = g * total


@routine
def combine_paths(robot, g, count, n, contact_rows, f, y, x):
    """x = g y f of the paths of `count` contacts and n - 3 count joints: g D^-1 L^-T J^T f."""
    if robot.coupled:
        combine_columns(g, n, f, y, x)
        return
    for k in range(x.shape[0]):
        x[k] = 0.0
    for a in range(count):
        force = scale(g, part3(f, 3 * a))
        for i in each(contact_rows[a]):
            k = robot.last[i]
            while k >= 0:
                x[k] += dot(row3(y, k, 3 * a), force)
                k = robot.carrier[k]
    for first in each(count):
        for c in range(3 * first, n):
            for i in each(contact_rows[c - 2 * first]):
                k = robot.last[i]
                while k >= 0:
                    x[k] += g * f[c] * y[k, c]
                    k = robot.carrier[k]


@routine
def joint_response(robot, g, count, n, contact_rows, f, y, x):
    """x = g H^-1 J^T f of the paths of `count` contacts and n - 3 count joints (P12, P15)."""
    if len(robot.levels) > 0:
        star.joint_response(robot.levels, robot.limbed, robot.memory, g, (count, n, contact_rows), f, y, x)
        return
    combine_paths(robot, g, count, n, contact_rows, f, y, x)
    if not robot.coupled:
        solve_outward(robot.carrier, robot.depth, robot.factor, x)
    to_own_axes(robot, x)


@routine
def respond_columns(robot, count, y):
    """L^-1 y of the paths of `count` contacts, free joints in their own axes (P15)."""
    n = 3 * count
    if len(robot.levels) > 0:
        star.respond_columns(robot.levels, robot.limbed, robot.memory, count, y)
        return
    if not robot.coupled:
        solve_columns_outward(robot.carrier, robot.depth, robot.factor, n, y)
    for i in range(1, robot.topology.shape[0]):
        if robot.topology[i, KIND] == FREE:
            R, k = row9(robot.w, i, RW), first_v(robot.topology, i)
            turn_rows(R, k, n, y)
            turn_rows(R, k + 3, n, y)


@inline
def turn_rows(R, k, n, y):
    """Turn the vectors in rows k to k + 2 of the first n columns of y by R^T."""
    for c in abreast(n):
        v = tmul(R, (y[k, c], y[k + 1, c], y[k + 2, c]))
        y[k, c] = v[0]
        y[k + 1, c] = v[1]
        y[k + 2, c] = v[2]


def path_columns(count, joints):
    """Columns that z and y need for the paths of contacts, four each in a star, and of joints."""
    return whole(4 * count + joints)


def workspace(model, count):
    """Memory that `contact_space` of `count` points of a Model needs."""
    robot = robot_in_memory(model.lanes, model.topology, model.parameters, model.nv, model.nb, model.has_mimic)
    vectors, paths = np.zeros((2, model.nv)), aligned((2, model.nv, path_columns(count, 0)))
    frames, A = np.zeros((count, FRAME)), aligned((3 * count, whole(3 * count + QUAD)))
    return tuple(robot), (vectors, paths, np.zeros(count, np.int64), frames, A)


@lean
def contact_space(robot, workspace, contact_rows, r, q, inertia, response):
    """J H^-1 J^T (3k, 3k) into `inertia` (P7, P8), H^-1 J^T into the rows of `response` (3k, nv) (P12, P13).

    World axes at points r (k, 3) of rows, three rows and columns for each; matrices without rows leave one out.
    """
    robot = Robot(*robot)
    vectors, paths, active, frames, A = workspace
    z, y = paths[0], paths[1]
    count = contact_rows.shape[0]
    factorize_inertia(robot, q, contact_rows, vectors[0], vectors[1])
    if len(robot.levels) > 0:
        star.clear(count, y)
    for a in range(count):
        active[a] = a
        set9(frames, a, 0, IDENTITY)
        set3(frames, a, star.ARM, mul(row9(robot.w, contact_rows[a], RW), row3(r, a, 0)))
    contact_paths(robot, (count, active, contact_rows), (frames, 0), z, y)
    divide(robot, count, 3 * count, z, y)
    if inertia.shape[0] > 0:
        delassus_matrix(robot, 1.0, count, 3 * count, contact_rows, z, y, A)
        for i in range(inertia.shape[0]):
            for j in range(i + 1):
                inertia[i, j] = A[i, j]
                inertia[j, i] = A[i, j]
    if response.shape[0] == 0:
        return
    respond_columns(robot, count, y)
    if len(robot.levels) > 0:
        star.write_responses(count, y, response)
        return
    for c in range(response.shape[0]):
        for k in range(response.shape[1]):
            response[c, k] = y[k, c]
