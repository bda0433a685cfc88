# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Joint-space inertia of a star: CRBA, a limb by recursion on `levels`."""

from ...compiler import abreast, brief, inline, lane, routine, stack, to_lane
from ..link import body_matrix, composite_to_parent, force_to_parent
from ..rows import ARMATURE, finite
from ..scalar import ZERO3, ZERO6, add, add6
from .layout import (
    ENTRY_SIZE,
    GROUP,
    MOST_JOINTS,
    WRENCH_SIZE,
    base_body,
    dimensions,
    group,
    parameter,
    placement,
    rigid_body,
    write_limb_forces,
)


@inline
def columns_to_parent(columns, E_, p, t, deeper, limb, entries):
    """Columns of H of the joints further out: read off their entries with joint t, then carry them to its parent."""
    if len(columns) == 0:
        return ()
    f, n = columns[0]
    to_lane(entries, (t * MOST_JOINTS + deeper) * GROUP + limb, n[2])
    own = force_to_parent(E_, p, f, n)
    return (own, *columns_to_parent(columns[1:], E_, p, t, deeper - 1, limb, entries))


@inline
def crba_limb(levels, robot, limb, iq, q, entries):
    """Composite m, h, I of the limb ahead and its columns of H, nearest first, as forces on its parent (C1-C3)."""
    if len(levels) == 0:
        return (0.0, ZERO3, ZERO6), ()
    t = len(levels) - 1
    E_, p = placement(robot, t, limb, lane(q, iq))
    m, h, inertia = rigid_body(robot, t, limb)
    tip, columns = crba_limb(levels[1:], robot, limb, iq + 1, q, entries)
    m += tip[0]
    h = add(h, tip[1])
    J = add6(inertia, tip[2])
    own = ((-h[1], h[0], 0.0), (J[2], J[4], J[5]))
    columns = columns_to_parent((own, *columns), E_, p, t, t, limb, entries)
    o = (t * MOST_JOINTS + t) * GROUP + limb
    to_lane(entries, o, lane(entries, o) + lane(robot, parameter(t, ARMATURE, limb)))
    h, J = composite_to_parent(E_, p, m, h, J)
    return (m, h, J), columns


@inline
def fill_limb(levels, limb, first, base, entries, columns, H):
    """Copy the entries of one limb and their mirror images to H."""
    depth = len(levels)
    for i in range(depth):
        for j in range(i, depth):
            x = lane(entries, ((depth - 1 - i) * MOST_JOINTS + depth - 1 - j) * GROUP + limb)
            H[first + i, first + j] = x
            H[first + j, first + i] = x
        for k in range(base):
            x = lane(columns, ((depth - 1 - i) * 6 + k) * GROUP + limb)
            H[k, first + i] = x
            H[first + i, k] = x


@routine
def crba(levels, robot, q, H_out):
    """H(q) by CRBA."""
    _, iq, iv = dimensions(levels)
    entries = stack(ENTRY_SIZE)
    columns = stack(WRENCH_SIZE, levels)
    depth = len(levels)
    m, h, J = base_body(robot)
    H_out[:, :] = 0.0
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        for limb in abreast(count):
            (mt, ht, Jt), forces = crba_limb(levels, own, limb, iq + first + limb * depth, q, entries)
            write_limb_forces(forces, depth - 1, limb, columns)
            m += mt
            h = add(h, ht)
            J = add6(J, Jt)
        for limb in range(count):
            fill_limb(levels, limb, iv + first + limb * depth, iv, entries, columns, H_out)
    if iv > 0:
        for k, x in enumerate(body_matrix(m, h, J)):
            for c in range(6):
                H_out[k, c] = x[c]


@brief
def mass_matrix(levels, robot, q, H_out):
    """H(q) by CRBA for an unvalidated q."""
    limbs, iq, _ = dimensions(levels)
    if q.shape[0] != iq + limbs * len(levels) or not finite(q):
        return False
    crba(levels, robot, q, H_out)
    return True
