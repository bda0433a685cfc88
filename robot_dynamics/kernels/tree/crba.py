# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Joint-space inertia matrix of a tree: CRBA."""

from ...compiler import brief, inline, kernel, routine
from ..joints import along, one_dof, own_force
from ..link import body_matrix, composite_to_parent, force_to_parent
from ..rows import (
    ARMATURE,
    FREE,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    RATIO,
    ROTOR,
    E,
    H,
    M,
    N,
    P,
    add3,
    add6,
    finite,
    first_v,
    parent,
    row3,
    row6,
    row9,
    set3,
    set6,
)
from ..scalar import add
from .placement import dimensions, place


@inline
def start_composites(topology, parameters, w):
    """Columns M, H, N of every row: its own m, h, I."""
    for i in range(1, topology.shape[0]):
        w[i, M] = parameters[i, MASS]
        set3(w, i, H, row3(parameters, i, MOMENT))
        set6(w, i, N, row6(parameters, i, INERTIA))


@inline
def join_parent(topology, i, placed, p, m, h, inertia, w):
    """Add the composite inertia of row i to its parent's (C1)."""
    j = parent(topology, i)
    if j > 0:
        h, inertia = composite_to_parent(placed, p, m, h, inertia)
        w[j, M] += m
        add3(w, j, H, h)
        add6(w, j, N, inertia)


@routine
def composite(topology, parameters, w):
    """Composite inertia m, h, I of every row's subtree (C1) in columns M, H, N; needs `place`."""
    start_composites(topology, parameters, w)
    for i in range(topology.shape[0] - 1, 0, -1):
        join_parent(topology, i, row9(w, i, E), row3(w, i, P), w[i, M], row3(w, i, H), row6(w, i, N), w)


@inline
def add_mirrored(mass_matrix, row, column, x):
    """Add x to an entry outside H's diagonal and to its mirror image."""
    x += mass_matrix[row, column]
    mass_matrix[row, column] = x
    mass_matrix[column, row] = x


@inline
def read_off(topology, parameters, j, f, n, row, ratio, mass_matrix):
    """Add what joint j feels of the force of a column (C3) to H; two mimic joints of one dof meet on its diagonal."""
    kind = topology[j, KIND]
    column = first_v(topology, j)
    if kind == FREE:
        for k, x in enumerate((n[0], n[1], n[2], f[0], f[1], f[2])):
            add_mirrored(mass_matrix, row, column + k, ratio * x)
    elif one_dof(kind):
        x = ratio * parameters[j, RATIO] * along(kind, f, n)
        add_mirrored(mass_matrix, row, column, 2.0 * x if row == column else x)


@inline
def walk(topology, parameters, w, j, force, row, ratio, mass_matrix):
    """Carry a force that arrives at row j to the root, and read off what each joint feels of it (C2, C3)."""
    f, n = force
    while j > 0:
        read_off(topology, parameters, j, f, n, row, ratio, mass_matrix)
        k = parent(topology, j)
        if k > 0:
            f, n = force_to_parent(row9(w, j, E), row3(w, j, P), f, n)
        j = k


@routine
def free_block(topology, parameters, i, w, mass_matrix):
    """Rows of H of a free joint: its own 6x6 block and what its ancestors feel."""
    iv = first_v(topology, i)
    for k, x in enumerate(body_matrix(w[i, M], row3(w, i, H), row6(w, i, N))):
        for c in range(6):
            mass_matrix[iv + k, iv + c] = x[c]
        f = (x[3], x[4], x[5])
        n = (x[0], x[1], x[2])
        f, n = force_to_parent(row9(w, i, E), row3(w, i, P), f, n)
        walk(topology, parameters, w, parent(topology, i), (f, n), iv + k, 1.0, mass_matrix)


@routine
def crba(topology, parameters, w, mass_matrix):
    """H by the lambda walk (C1-C3, armature on the diagonal); needs `place`."""
    mass_matrix[:, :] = 0.0
    start_composites(topology, parameters, w)
    for i in range(topology.shape[0] - 1, 0, -1):
        kind = topology[i, KIND]
        placed = row9(w, i, E)
        p = row3(w, i, P)
        m = w[i, M]
        h = row3(w, i, H)
        inertia = row6(w, i, N)
        join_parent(topology, i, placed, p, m, h, inertia, w)
        if kind == FREE:
            free_block(topology, parameters, i, w, mass_matrix)
        elif one_dof(kind):
            iv = first_v(topology, i)
            ratio = parameters[i, RATIO]
            f, n = own_force(kind, m, h, inertia)
            mass_matrix[iv, iv] += ratio * ratio * (along(kind, f, n) + parameters[i, ARMATURE])
            f, n = force_to_parent(placed, p, f, n)
            n = add(n, row3(parameters, i, ROTOR))
            walk(topology, parameters, w, parent(topology, i), (f, n), iv, ratio, mass_matrix)


@brief
def mass_matrix(topology, parameters, q, w, H_out):
    """H(q) by CRBA."""
    if q.shape[0] != dimensions(topology)[0] or not finite(q):
        return False
    place(topology, parameters, q, w)
    crba(topology, parameters, w, H_out)
    return True


@kernel
def composites(topology, parameters, q, w):
    """Composite inertia m, h, I of every row's subtree at q (C1) in columns M, H, N."""
    place(topology, parameters, q, w)
    composite(topology, parameters, w)
