# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Paths of contacts and joints of a star, and the Delassus matrix (see `kernels.contact_space`).

z and y stand in blocks of QUAD columns, a register for each of their rows. A block is that of a contact, its three axes
and a column that nothing reads; behind those of the contacts come joints, QUAD in a block. Of a contact's block there
are the rows of the base and of its limb, of a joint's all.
"""

from ...compiler import QUAD, abreast, combine, combine_rows, each, inline, lane, routine, to_lane
from ..lanes import quad3, quad9, to_quad3
from ..rows import part3, row3
from ..scalar import ZERO3, add, cross, scale, sub, tmul
from .joint_space import respond_limbs, write_accelerations, write_base
from .layout import (
    ATTITUDE,
    AXES,
    BASE_ROWS,
    ENTRIES,
    GROUP,
    LOAD,
    ONE_AXIS,
    PIVOT,
    PLACE,
    REACH,
    axis_of,
    base_inverse,
    dimensions,
    group,
    group_memory,
    in_memory,
    rank,
    wrench_at,
)

ARM, AXIS = 9, 3
"""Where the arm stands in the frame of a contact, behind its axes; from one row of these to the next."""


@inline
def block_of(z, b):
    """Place of block b in z or y."""
    return b * z.shape[0] * QUAD


@inline
def column_of(z, count, s):
    """Place of the column of scalar row s, behind `count` contacts."""
    return block_of(z, count + s // QUAD) + s % QUAD


@inline
def limb_of(levels, iv, i):
    """Number of the limb of row i, the place of its first joint among the dofs, and t of the outermost that moves i."""
    limb, t = rank(levels, iv, i)
    return limb, iv + limb * len(levels), t


@inline
def less_outer(levels, s, limb, memory):
    """-L of the joints further out than joint s with it, from the nearest on; levels: one for each of them."""
    if len(levels) == 0:
        return ()
    t = len(levels) - 1
    return (-lane(memory, in_memory(t, limb) + (ENTRIES + s) * GROUP), *less_outer(levels[1:], s, limb, memory))


@inline
def path_joints(levels, limb, own, x, frame, memory, block, z):
    """Rows of z of the joints ahead, of the contact at x: J^T (K1) less what joints further out take.

    limb: its lane. own: t of the outermost joint that moves the contact. block: place of the innermost joint's row.
    """
    if len(levels) == 0:
        return
    ahead = len(levels) - 1
    path_joints(levels[1:], limb, own, x, frame, memory, block + QUAD, z)
    o = in_memory(ahead, limb)
    moment = cross(axis_of(o, memory), sub(x, quad3(memory, o + PLACE * GROUP)))
    c = moment if ahead >= own else ZERO3
    outer = less_outer(levels[1:], ahead, limb, memory)
    combine(z, block, len(AXES), c, (*frame, AXIS), outer, (z, block + QUAD, QUAD))


@inline
def divide_limb(levels, limb, memory, block, paths):
    """y = D^-1 z of the joints ahead, the innermost one's row at `block`."""
    z, y = paths
    for j, _ in enumerate(levels):
        pivot = lane(memory, in_memory(len(levels) - 1 - j, limb) + PIVOT * GROUP)
        combine(y, block + j * QUAD, len(AXES), (pivot,), (z, block + j * QUAD, QUAD), (), (z, block, QUAD))


@inline
def reach_of(levels, k, limb, memory):
    """-REACH in direction k of the joints ahead, from the innermost on."""
    if len(levels) == 0:
        return ()
    t = len(levels) - 1
    return (-lane(memory, in_memory(t, limb) + (REACH + k) * GROUP), *reach_of(levels[1:], k, limb, memory))


@inline
def path_base(levels, limb, arm, frame, memory, block, first, paths):
    """Rows of a free base of z: moment and force of the contact at `arm` less what its limb's joints take."""
    z, y = paths
    frames, o = frame
    u, v, w = arm
    joints = y, block + first * QUAD, QUAD
    crossed = ((-w, v), o + AXIS, AXIS), ((w, -u), o, 2 * AXIS), ((-v, u), o, AXIS)
    for k, (factors, start, apart) in enumerate(crossed):
        less = reach_of(levels, k, limb, memory)
        combine(z, block + k * QUAD, len(AXES), factors, (frames, start, apart), less, joints)
    for k in range(3):
        force, less = (frames, o + k * AXIS, AXIS), reach_of(levels, 3 + k, limb, memory)
        combine(z, block + (3 + k) * QUAD, len(AXES), (1.0,), force, less, joints)


@inline
def contact_path(levels, memory, i, c, frames, block, paths):
    """Block of z and y of the contact of point c, on row i, but for what `divide` does."""
    points, o = frames
    _, _, iv = dimensions(levels)
    limb, first, own = limb_of(levels, iv, i)
    mine, limb = group_memory(memory, limb // GROUP), limb % GROUP
    frame = points, c * points.shape[1] + o
    x = add(quad3(mine, in_memory(own, limb) + PLACE * GROUP), row3(points, c, o + ARM))
    path_joints(levels, limb, own, x, frame, mine, block + first * QUAD, paths[0])
    divide_limb(levels, limb, mine, block + first * QUAD, paths)
    if iv > 0:
        arm = sub(x, quad3(memory, in_memory(len(levels), 0) + PLACE * GROUP))
        path_base(levels, limb, arm, frame, mine, block, first, paths)


@inline
def contact_paths(levels, memory, contacts, frames, z, y):
    """`contact_space.contact_paths`, but for `divide`; memory: of `aba`, with attitudes."""
    count, active, rows = contacts
    for a in range(count):
        for c in each(active[a]):
            contact_path(levels, memory, rows[c], c, frames, block_of(z, a), (z, y))


@inline
def inverse_rows(M, H, N):
    """Rows of [N H^T; H M], the inverse of a free base's inertia over [moment; force]."""
    return (
        (N[0], N[1], N[2], H[0], H[3], H[6]),
        (N[1], N[3], N[4], H[1], H[4], H[7]),
        (N[2], N[4], N[5], H[2], H[5], H[8]),
        (H[0], H[1], H[2], M[0], M[1], M[2]),
        (H[3], H[4], H[5], M[1], M[3], M[4]),
        (H[6], H[7], H[8], M[2], M[4], M[5]),
    )


@inline
def divide(levels, memory, contacts, rows, z, y):
    """y = D^-1 z of the blocks of `contacts` and of rows - 3 contacts joints: the rows of a free base."""
    _, _, iv = dimensions(levels)
    if iv == 0:
        return
    M, H, N = base_inverse(memory)
    factors = inverse_rows(M, H, N)
    for b in range(contacts):
        divide_base(factors, len(AXES), block_of(z, b), (z, y))
    for count in each(contacts):
        for n in each(rows):
            for b in range(count, blocks(count, n)):
                divide_base(factors, QUAD, block_of(z, b), (z, y))


@inline
def divide_base(factors, n, block, paths):
    """y = D^-1 z of a free base's rows, of the first n columns of a block; factors: rows of D^-1."""
    z, y = paths
    for k, row in enumerate(factors):
        combine(y, block + k * QUAD, n, row, (z, block, QUAD), (), (z, block, QUAD))


@inline
def blocks(count, n):
    """How many blocks `count` contacts and n - 3 count joints have."""
    return count + (n - 3 * count + QUAD - 1) // QUAD


@inline
def carry_effort(levels, memory, v, c, z, y):
    """Column at c of z and y, but for what `divide` does, of an effort on the joint with qd[v]."""
    _, _, iv = dimensions(levels)
    depth = len(levels)
    limb = (v - iv) // depth
    mine, lane_of = group_memory(memory, limb // GROUP), limb % GROUP
    for k in range(z.shape[0]):
        to_lane(z, c + k * QUAD, 0.0)
        to_lane(y, c + k * QUAD, 0.0)
    to_lane(z, c + v * QUAD, 1.0)
    n, f = ZERO3, ZERO3
    for t in range(depth - 1 - (v - iv) % depth, depth):
        i = c + (iv + limb * depth + depth - 1 - t) * QUAD
        o = in_memory(t, lane_of)
        x = lane(z, i)
        part = lane(mine, o + PIVOT * GROUP) * x
        to_lane(y, i, part)
        for s in range(t + 1, depth):
            k = i - (s - t) * QUAD
            to_lane(z, k, lane(z, k) - lane(mine, o + (ENTRIES + s) * GROUP) * x)
        moment, force = wrench_at(o, REACH, mine)
        n, f = sub(n, scale(part, moment)), sub(f, scale(part, force))
    if iv > 0:
        to_quad3(z, c, n)
        to_quad3(z, c + 3 * QUAD, f)


@inline
def joint_path(levels, memory, v, contacts, rows, z, y):
    """`contact_space.joint_path` of the joint with qd[v], but for `divide`."""
    for count in each(contacts):
        for n in each(rows):
            carry_effort(levels, memory, v, column_of(z, count, n - 3 * count), z, y)


@inline
def numbers(rows, z, o):
    """Numbers in one column of z from place o on, one for each of `rows`."""
    if len(rows) == 0:
        return ()
    return (lane(z, o), *numbers(rows[1:], z, o + QUAD))


@inline
def factors_of(rows, axes, z, c):
    """Numbers of z in some rows and in a column for each of `axes`, the first number at c."""
    if len(axes) == 0:
        return ()
    return (numbers(rows, z, c), *factors_of(rows, axes[1:], z, c + 1))


@inline
def pairs(these, those):
    """Pairs of an entry of each."""
    if len(these) == 0:
        return ()
    return ((these[0], those[0]), *pairs(these[1:], those[1:]))


@inline
def alone(factors):
    """Pairs of an entry and nothing."""
    if len(factors) == 0:
        return ()
    return ((factors[0], ()), *alone(factors[1:]))


@inline
def couple_block(levels, g, out, by_base, path, column, paths):
    """Rows of A in the columns of a block. What stands behind these is written anew with those of the next block.

    out: A, where the rows begin, and from one to the next. by_base: `factors_of` the base's rows. path: place of the
    limb's first row in a block, place of the path's first column, its axes. column: place of the block, how many of its
    columns are read, and whether it has that limb's rows.
    """
    z, y = paths
    row, c, axes = path
    block, n, shared = column
    if shared:
        factors = pairs(by_base, factors_of(levels, axes, z, c + row))
        combine_rows(out, n, g, factors, (y, block, QUAD), (y, block + row, QUAD))
    else:
        combine_rows(out, n, g, alone(by_base), (y, block, QUAD), (y, block, QUAD))


@inline
def path_from(levels, base, start, axes, z):
    """Path that rows of A are made of, as in `couple_block`, its factors in the base's rows, and its limb.

    start: row of the robot that the path starts from, place of its first column, and the first of these rows of A.
    axes: one for each of them.
    """
    origin, c, _ = start
    limb, first, _ = limb_of(levels, len(base), origin)
    return (first * QUAD, c, axes), factors_of(base, axes, z, c), limb


@inline
def couple_contacts(levels, base, g, start, axes, others, paths, A):
    """Rows of A, one for each of `axes`, in the columns of some contacts.

    start: as in `path_from`. others: the first contact, the one behind the last, rows of the robot where paths start.
    """
    _, _, i = start
    begin, end, starts = others
    path, by_base, limb = path_from(levels, base, start, axes, paths[0])
    for b in range(begin, end):
        out = A, i * A.shape[1] + 3 * b, A.shape[1]
        for there in each(starts[b]):
            other, _, _ = limb_of(levels, len(base), there)
            couple_block(levels, g, out, by_base, path, (block_of(paths[1], b), len(AXES), other == limb), paths)


@inline
def couple_joints(levels, base, g, start, count, n, paths, A):
    """A joint's row of A in the columns of n - 3 count joints; start: as in `path_from`."""
    _, _, i = start
    path, by_base, _ = path_from(levels, base, start, ONE_AXIS, paths[0])
    for b in range(count, blocks(count, n)):
        out = A, i * A.shape[1] + 3 * count + QUAD * (b - count), A.shape[1]
        couple_block(levels, g, out, by_base, path, (block_of(paths[1], b), QUAD, True), paths)


@inline
def mirror(count, A):
    """Have the blocks of contacts below A's diagonal, those above it transposed."""
    n = A.shape[1]
    for b in range(1, count):
        for a in range(b):
            above, below = 3 * (a * n + b), 3 * (b * n + a)
            for r in range(3):
                for k in range(3):
                    to_lane(A, below + k * n + r, lane(A, above + r * n + k))


@inline
def mirror_joints(count, n, A):
    """Have the columns of joints in the rows of contacts, the joints' rows transposed."""
    for i in range(3 * count, n):
        for k in range(3 * count):
            to_lane(A, k * A.shape[1] + i, lane(A, i * A.shape[1] + k))


@inline
def couple_all(levels, base, g, contacts, paths, A):
    """`delassus_matrix` of a robot with or without a free base."""
    counts, rows, starts = contacts
    z, _ = paths
    for a in range(counts):
        for i in each(starts[a]):
            start = i, block_of(z, a), 3 * a
            couple_contacts(levels, base, g, start, AXES, (a, counts, starts), paths, A)
    mirror(counts, A)
    for count in each(counts):
        for n in each(rows):
            for s in range(n - 3 * count):
                for i in each(starts[count + s]):
                    start = i, column_of(z, count, s), 3 * count + s
                    couple_contacts(levels, base, g, start, ONE_AXIS, (0, count, starts), paths, A)
                    couple_joints(levels, base, g, start, count, n, paths, A)
            mirror_joints(count, n, A)


@inline
def delassus_matrix(levels, g, contacts, paths, A):
    """`contact_space.delassus_matrix`, symmetric to rounding.

    contacts: how many contacts and rows, and the rows of the robot that their paths start from. paths: z, y.
    """
    _, _, iv = dimensions(levels)
    if iv > 0:
        couple_all(levels, BASE_ROWS, g, contacts, paths, A)
    else:
        couple_all(levels, (), g, contacts, paths, A)


@inline
def times(y, o, f):
    """Numbers of a row of y from place o on times forces, one for each."""
    if len(f) == 0:
        return 0.0
    return lane(y, o) * f[0] + times(y, o + 1, f[1:])


@inline
def times3(y, o, f):
    """`times` of three rows."""
    return times(y, o, f), times(y, o + QUAD, f), times(y, o + 2 * QUAD, f)


@inline
def load_limb(levels, limb, y, o, f, memory):
    """Add `times` of a limb's rows, the first at o, to LOAD of its joints, in all lanes at once. limb: its lane.

    What is written number by number cannot be read as a vector for a while.
    """
    for j, _ in enumerate(levels):
        x = times(y, o + j * QUAD, f)
        for k in abreast(GROUP):
            place = in_memory(len(levels) - 1 - j, k) + LOAD * GROUP
            to_lane(memory, place, lane(memory, place) + (x if k == limb else 0.0))


@inline
def load_path(levels, iv, start, y, o, f, memory):
    """Add D^-1 z f of one path, its first column at o, to LOAD of the joints. start: row of the robot it starts from.

    Returns what it is of a free base, angular and linear.
    """
    limb, first, _ = limb_of(levels, iv, start)
    load_limb(levels, limb % GROUP, y, o + first * QUAD, f, group_memory(memory, limb // GROUP))
    return (times3(y, o, f), times3(y, o + 3 * QUAD, f)) if iv > 0 else (ZERO3, ZERO3)


@inline
def load_paths(levels, iv, g, contacts, f, y, memory):
    """`load_path` of all paths times g; returns the sums."""
    counts, rows, starts = contacts
    al, a = ZERO3, ZERO3
    for i in range(counts):
        for start in each(starts[i]):
            force = scale(g, part3(f, 3 * i))
            more = load_path(levels, iv, start, y, block_of(y, i), force, memory)
            al, a = add(al, more[0]), add(a, more[1])
    for count in each(counts):
        for n in each(rows):
            for s in range(n - 3 * count):
                for start in each(starts[count + s]):
                    force = (g * f[3 * count + s],)
                    more = load_path(levels, iv, start, y, column_of(y, count, s), force, memory)
                    al, a = add(al, more[0]), add(a, more[1])
    return al, a


@inline
def joint_response(levels, robot, memory, g, contacts, f, y, x):
    """`contact_space.joint_response`; contacts: as in `delassus_matrix`."""
    _, _, iv = dimensions(levels)
    depth = len(levels)
    for k, _group in enumerate(levels[0]):
        for t in range(depth):
            for limb in abreast(GROUP):
                to_lane(group_memory(memory, k), in_memory(t, limb) + LOAD * GROUP, 0.0)
    al, a = load_paths(levels, iv, g, contacts, f, y, memory)
    if iv > 0:
        write_base(quad9(memory, in_memory(depth, 0) + ATTITUDE * GROUP), al, a, x)
    for k, _group in enumerate(levels[0]):
        _robot, limbs, first = group(levels, robot, k)
        respond_limbs(levels, limbs, a, al, group_memory(memory, k))
        write_accelerations(levels, limbs, iv + first, group_memory(memory, k), x)


@inline
def inner_factors(levels, t, limb, memory):
    """Factors of the rows of a limb in row t of L^-1, but for the base: those of the joints further in, then 1."""
    if len(levels) == 0:
        return (1.0,)
    s = t + len(levels)
    return (-lane(memory, in_memory(t, limb) + (ENTRIES + s) * GROUP), *inner_factors(levels[1:], t, limb, memory))


@inline
def base_factors(base, t, limb, memory):
    """The same of the rows of a free base, -1/D times the reach of joint t; () where `base` is ()."""
    if len(base) == 0:
        return ()
    o = in_memory(t, limb)
    g = -lane(memory, o + PIVOT * GROUP)
    n, f = wrench_at(o, REACH, memory)
    return (*scale(g, n), *scale(g, f))


@inline
def respond_limb(levels, base, first, limb, count, memory, y):
    """Rows of a limb, the first one `first`, of L^-1 y; levels: joints whose rows are done, then that at hand."""
    for j, _ in enumerate(levels):
        t = len(levels) - 1 - j
        factors = base_factors(base, t, limb, memory), inner_factors(levels[:j], t, limb, memory)
        for a in range(count):
            o = block_of(y, a)
            limb_rows = y, o + first * QUAD, QUAD
            combine(y, o + (first + j) * QUAD, len(AXES), factors[0], (y, o, QUAD), factors[1], limb_rows)


@routine
def clear(count, y):
    """Set the blocks of `count` contacts to 0."""
    for k in range(block_of(y, count)):
        to_lane(y, k, 0.0)


@routine
def write_responses(count, y, response):
    """Copy the columns of `count` contacts to rows (3 count, nv)."""
    for a in range(count):
        for k in range(y.shape[0]):
            for c in range(3):
                response[3 * a + c, k] = lane(y, block_of(y, a) + k * QUAD + c)


@inline
def turn_base(R, count, y):
    """Turn the rows of a free base into its own axes."""
    for a in range(count):
        for c in range(3):
            for k in range(2):
                o = block_of(y, a) + 3 * k * QUAD + c
                to_quad3(y, o, tmul(R, quad3(y, o)))


@inline
def respond_columns(levels, robot, memory, count, y):
    """`contact_space.respond_columns`."""
    _, _, iv = dimensions(levels)
    for g, _ in enumerate(levels[0]):
        _, limbs, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        for limb in range(limbs):
            k = iv + first + limb * len(levels)
            if iv > 0:
                respond_limb(levels, BASE_ROWS, k, limb, count, mine, y)
            else:
                respond_limb(levels, (), k, limb, count, mine, y)
    if iv > 0:
        turn_base(quad9(memory, in_memory(len(levels), 0) + ATTITUDE * GROUP), count, y)
