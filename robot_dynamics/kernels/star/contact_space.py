# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Paths of contacts and joints of a star, and the Delassus matrix (see `kernels.contact_space`)."""

from ...compiler import LANES, QUAD, abreast, combine, combine_rows, inline, lane, routine, stack, to_lane
from ..lanes import quad3, quad9, to_quad3
from ..rows import part3, part3_to, set3, set_column3
from ..scalar import ZERO3, cross, cross_rows, scale, sub, tmul
from .joint_space import respond_limbs, write_accelerations
from .layout import (
    ATTITUDE,
    AXES,
    BASE_DOFS,
    BASE_ROWS,
    CARRIED_SIZE,
    EMPTY,
    ENTRIES,
    GROUP,
    LOAD,
    ONE_AXIS,
    PATH_SIZE,
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
)


@inline
def read_contact(limb, held):
    """Point and axes (columns of a 3x3 matrix) of the contact that a limb's lane holds, world axes."""
    return quad3(held, limb), quad9(held, 3 * GROUP + limb)


@inline
def path_joint(t, limb, joint, held, memory, paths):
    """J^T of joint t of the contacts in the lanes (K1)."""
    here = 1.0 if t >= lane(joint, limb) else 0.0
    x, frame = read_contact(limb, held)
    o = in_memory(t, limb)
    column = cross(axis_of(o, memory), sub(x, quad3(memory, o + PLACE * GROUP)))
    to_quad3(paths, t * 3 * GROUP + limb, scale(here, tmul(frame, column)))


@inline
def path_less(t, s, limb, memory, paths):
    """Take z of joint t out of that of joint s further in."""
    x = lane(memory, in_memory(t, limb) + (ENTRIES + s) * GROUP)
    z = sub(quad3(paths, s * 3 * GROUP + limb), scale(x, quad3(paths, t * 3 * GROUP + limb)))
    to_quad3(paths, s * 3 * GROUP + limb, z)


@inline
def base_less(levels, limb, rows, memory, paths):
    """Six rows of z of the base less what its joints take: those of `levels`."""
    if len(levels) == 0:
        return rows
    t = len(levels) - 1
    a, b, c, d, e, f = base_less(levels[1:], limb, rows, memory, paths)
    o = in_memory(t, limb)
    y = scale(lane(memory, o + PIVOT * GROUP), quad3(paths, t * 3 * GROUP + limb))
    n, v = quad3(memory, o + REACH * GROUP), quad3(memory, o + (REACH + 3) * GROUP)
    return (
        sub(a, scale(n[0], y)),
        sub(b, scale(n[1], y)),
        sub(c, scale(n[2], y)),
        sub(d, scale(v[0], y)),
        sub(e, scale(v[1], y)),
        sub(f, scale(v[2], y)),
    )


@inline
def path_base(levels, limb, held, memory, paths, carried):
    """z of the base."""
    x, F = read_contact(limb, held)
    a, b, c = cross_rows(sub(x, quad3(memory, in_memory(len(levels), limb) + PLACE * GROUP)), F)
    rows = (a, b, c, (F[0], F[1], F[2]), (F[3], F[4], F[5]), (F[6], F[7], F[8]))
    for k, z in enumerate(base_less(levels, limb, rows, memory, paths)):
        to_quad3(carried, k * 3 * GROUP + limb, z)


@inline
def assign_lanes(levels, iv, g, contact_rows, count, turn, lanes):
    """Seat contact number `turn`, from 0, of every limb of a group in the limb's lane; returns how many there are.

    lanes: per lane the joint on whose body it sits, or EMPTY, and its number.
    All lanes are written at once: what is written number by number cannot be read as a vector for a while.
    """
    joint, contact = lanes
    waiting = stack(GROUP)
    for limb in abreast(GROUP):
        to_lane(waiting, limb, float(turn))
        to_lane(joint, limb, EMPTY)
        to_lane(contact, limb, 0.0)
    for a in range(count):
        own, t = rank(levels, iv, contact_rows[a])
        for limb in abreast(GROUP):
            here = 1.0 if g * GROUP + limb == own else 0.0
            left = lane(waiting, limb) - here
            assigned = here * (1.0 if left == -1.0 else 0.0)
            to_lane(waiting, limb, left)
            to_lane(joint, limb, lane(joint, limb) + assigned * (t - EMPTY))
            to_lane(contact, limb, lane(contact, limb) + assigned * a)
    count_assigned = 0
    for limb in abreast(GROUP):
        count_assigned += lane(joint, limb) > EMPTY
    return count_assigned


@inline
def hold_contacts(contact, frames, held):
    """Copy point and axes of the contacts of the lanes side by side."""
    for limb in abreast(GROUP):
        o = 12 * int(lane(contact, limb))
        for k in range(12):
            to_lane(held, k * GROUP + limb, lane(frames, o + k))


@inline
def paths_of_lanes(levels, limbs, base, lanes, held, memory, workspace):
    """z of the contacts in the lanes."""
    joint, _ = lanes
    paths, carried = workspace
    depth = len(levels)
    for t in range(depth):
        for limb in abreast(limbs):
            path_joint(t, limb, joint, held, memory, paths)
    for t in range(depth):
        for s in range(t + 1, depth):
            for limb in abreast(limbs):
                path_less(t, s, limb, memory, paths)
    if base > 0:
        for limb in abreast(limbs):
            path_base(levels, limb, held, memory, paths, carried)


@inline
def write_columns(levels, limbs, base, lanes, workspace, memory, z, y):
    """Copy paths of the assigned contacts to their columns of z and, of the limbs, y = D^-1 z.

    base: its dofs, and the first of the group.
    """
    joint, contact = lanes
    paths, carried = workspace
    iv, first = base
    depth = len(levels)
    for limb in range(limbs):
        if lane(joint, limb) == EMPTY:
            continue
        c = 3 * int(lane(contact, limb))
        if iv > 0:
            for k in range(6):
                set3(z, k, c, quad3(carried, k * 3 * GROUP + limb))
        for j in range(depth):
            t = depth - 1 - j
            x = quad3(paths, t * 3 * GROUP + limb)
            set3(z, first + limb * depth + j, c, x)
            set3(y, first + limb * depth + j, c, scale(lane(memory, in_memory(t, limb) + PIVOT * GROUP), x))


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


@routine
def contact_paths(levels, robot, memory, count, contact_rows, frames, z, y):
    """`contact_space.contact_path` of `count` contacts, but for `divide`, in rounds of one per limb of a group.

    memory: of `aba`, with attitudes.
    """
    _, _, iv = dimensions(levels, robot)
    lanes = stack(GROUP), stack(GROUP)
    workspace, held = (stack(PATH_SIZE), stack(CARRIED_SIZE)), stack(12 * GROUP)
    for begin in range(0, 3 * count, LANES):
        for k in range(iv, y.shape[0]):
            for c in range(LANES):
                to_lane(y, k * y.shape[1] + begin + c, 0.0)
    done = 0
    for g, _ in enumerate(levels[0]):
        _, width, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        turn = 0
        while done < count:
            count_assigned = assign_lanes(levels, iv, g, contact_rows, count, turn, lanes)
            if count_assigned == 0:
                break
            done += count_assigned
            turn += 1
            hold_contacts(lanes[1], frames, held)
            paths_of_lanes(levels, width, iv, lanes, held, mine, workspace)
            write_columns(levels, width, (iv, iv + first), lanes, workspace, mine, z, y)


@routine
def divide(levels, robot, memory, n, z, y):
    """y = D^-1 z of the first n columns: the rows of a free base."""
    if robot[BASE_DOFS] == 0.0:
        return
    wide = z.shape[1]
    M, H, N = base_inverse(memory)
    for begin in range(0, n, QUAD):
        for k, factors in enumerate(inverse_rows(M, H, N)):
            combine(y, k * wide + begin, factors, (z, begin, wide), (), (z, 0, 0))


@routine
def joint_path(levels, robot, memory, v, c, z, y):
    """`contact_space.joint_path` of the joint with qd[v], but for `divide`."""
    _, _, iv = dimensions(levels, robot)
    depth = len(levels)
    limb = (v - iv) // depth
    mine = group_memory(memory, limb // GROUP)
    for k in range(z.shape[0]):
        z[k, c] = 0.0
        y[k, c] = 0.0
    lane_of = limb % GROUP
    start = depth - 1 - (v - iv) % depth
    z[v, c] = 1.0
    f, n = ZERO3, ZERO3
    for t in range(start, depth):
        i = iv + limb * depth + depth - 1 - t
        o = in_memory(t, lane_of)
        x = z[i, c]
        y[i, c] = lane(mine, o + PIVOT * GROUP) * x
        for s in range(t + 1, depth):
            z[iv + limb * depth + depth - 1 - s, c] -= lane(mine, o + (ENTRIES + s) * GROUP) * x
        n = sub(n, scale(y[i, c], quad3(mine, o + REACH * GROUP)))
        f = sub(f, scale(y[i, c], quad3(mine, o + (REACH + 3) * GROUP)))
    if iv > 0:
        set_column3(z, 0, c, n)
        set_column3(z, 3, c, f)


@inline
def column(levels, z, k, i):
    """z[k:, i], one number per level."""
    if len(levels) == 0:
        return ()
    return (z[k, i], *column(levels[1:], z, k + 1, i))


@inline
def column6(base, z, i):
    """z[:6, i] where `base` names the rows of a free base, () where it is ()."""
    if len(base) == 0:
        return ()
    return (z[0, i], z[1, i], z[2, i], z[3, i], z[4, i], z[5, i])


@inline
def couple_rows(levels, base, g, start, axes, n, paths, A):
    """A row of A for each of `axes` from i on, its column of z nonzero in rows `base` and from `first` on.

    start: first, i. paths: z, y.
    """
    first, i = start
    z, y = paths
    wide = y.shape[1]
    for begin in range(0, n, QUAD):
        factors = factors_of(levels, base, first, i, axes, z)
        rows = A, i * A.shape[1] + begin, A.shape[1]
        combine_rows(rows, g, factors, (y, begin, wide), (y, first * wide + begin, wide))


@inline
def factors_of(levels, base, first, i, axes, z):
    """Factors of the base's and of a limb's rows of y, of a column for each of `axes` from i on."""
    if len(axes) == 0:
        return ()
    own = column6(base, z, i), column(levels, z, first, i)
    return (own, *factors_of(levels, base, first, i + 1, axes[1:], z))


@inline
def couple_all(levels, base, robot, g, counts, contact_rows, paths, A):
    """`delassus_matrix` of a robot with or without a free base."""
    count, n = counts
    _, _, iv = dimensions(levels, robot)
    for a in range(count):
        limb, _ = rank(levels, iv, contact_rows[a])
        couple_rows(levels, base, g, (iv + limb * len(levels), 3 * a), AXES, n, paths, A)
    for i in range(3 * count, n):
        limb, _ = rank(levels, iv, contact_rows[i - 2 * count])
        couple_rows(levels, base, g, (iv + limb * len(levels), i), ONE_AXIS, n, paths, A)


@routine
def delassus_matrix(levels, robot, g, counts, contact_rows, paths, A):
    """`contact_space.delassus_matrix`, a row of A at a time, symmetric to rounding: y is zero at joints of other limbs.

    counts: contacts and rows. paths: z, y.
    """
    if robot[BASE_DOFS] > 0.0:
        couple_all(levels, BASE_ROWS, robot, g, counts, contact_rows, paths, A)
    else:
        couple_all(levels, (), robot, g, counts, contact_rows, paths, A)


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
    n, f = scale(g, quad3(memory, o + REACH * GROUP)), scale(g, quad3(memory, o + (REACH + 3) * GROUP))
    return (*n, *f)


@inline
def respond_limb(levels, base, first, limb, n, memory, y):
    """Rows of a limb, the first one `first`, of L^-1 y; levels: joints whose rows are done, then that at hand."""
    wide = y.shape[1]
    for j, _ in enumerate(levels):
        t = len(levels) - 1 - j
        factors = base_factors(base, t, limb, memory), inner_factors(levels[:j], t, limb, memory)
        for begin in range(0, n, QUAD):
            combine(
                y, (first + j) * wide + begin, factors[0], (y, begin, wide), factors[1], (y, first * wide + begin, wide)
            )


@routine
def respond_columns(levels, robot, memory, n, y):
    """`contact_space.respond_columns`, but that the base's rows stay in world axes."""
    _, _, iv = dimensions(levels, robot)
    for g, _ in enumerate(levels[0]):
        _, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        for limb in range(count):
            k = iv + first + limb * len(levels)
            if iv > 0:
                respond_limb(levels, BASE_ROWS, k, limb, n, mine, y)
            else:
                respond_limb(levels, (), k, limb, n, mine, y)


@routine
def respond(levels, robot, memory, X):
    """`contact_space.respond` of one row X (nv,)."""
    _, _, iv = dimensions(levels, robot)
    depth = len(levels)
    a, al = ZERO3, ZERO3
    if iv > 0:
        a, al = part3(X, 3), part3(X, 0)
        R = quad9(memory, in_memory(depth, 0) + ATTITUDE * GROUP)
        part3_to(X, 0, tmul(R, al))
        part3_to(X, 3, tmul(R, a))
    for g, _ in enumerate(levels[0]):
        _, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        for limb in abreast(count):
            for j, _level in enumerate(levels):
                o = in_memory(depth - 1 - j, limb)
                x = lane(X, iv + first + limb * depth + j)
                to_lane(mine, o + LOAD * GROUP, x)
        respond_limbs(levels, count, a, al, mine)
        write_accelerations(levels, count, iv + first, mine, X)
