# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Paths of contacts and joints of a star, and the Delassus matrix (see `kernels.propagators`)."""

from ...compiler import LANES, QUAD, abreast, combine, combine_rows, inline, lane, routine, stack, to_lane
from ..lanes import quad3, quad9, to_quad3, to_quad9
from ..link import accelerate, add_blocks, blocks_to_parent, body_blocks, joint_acceleration, propagate
from ..rows import part3, set3, set_column3
from ..scalar import ZERO3, ZERO6, ZERO9, add, cross, dot, inverse_blocks, scale, tmul
from .aba import articulate
from .layout import (
    ATTITUDE,
    AXES,
    BASE_DOFS,
    BASE_ROWS,
    CARRIED_SIZE,
    DI,
    EMPTY,
    ENTRY_SIZE,
    GROUP,
    JOINT_SIZE,
    MOST_JOINTS,
    ONE_AXIS,
    PATH_SIZE,
    TAKEN_SIZE,
    WRENCH_SIZE,
    E,
    base_body,
    base_inverse,
    collect,
    dimensions,
    group,
    group_memory,
    in_memory,
    kept_joint,
    placement,
    rank,
    remember_base,
    rigid_body,
    write_limb_forces,
)
from .motion import attitudes


@inline
def articulate_limb(levels, robot, limb, iq, q, memory):
    """I^a of the limb ahead as its parent feels it (A5, A7), all that paths need of `aba`."""
    if len(levels) == 0:
        return ZERO6, ZERO9, ZERO6
    t = len(levels) - 1
    E_, p = placement(robot, t, limb, lane(q, iq))
    m, h, inertia = rigid_body(robot, t, limb)
    tip = articulate_limb(levels[1:], robot, limb, iq + 1, q, memory)
    M, H, N = add_blocks(body_blocks(m, h, inertia), tip)
    to_quad9(memory, in_memory(t, limb) + E * GROUP, E_)
    blocks, _, _, _ = articulate(robot, t, limb, M, H, N, 0.0, memory)
    return blocks_to_parent(E_, p, blocks[0], blocks[1], blocks[2])


@routine
def articulated_inertia(levels, robot, q, memory):
    """What paths need in memory."""
    _, iq, iv = dimensions(levels, robot)
    m, h, inertia = base_body(robot)
    blocks = body_blocks(m, h, inertia)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        for limb in abreast(count):
            k = iq + first + limb * len(levels)
            blocks = add_blocks(blocks, articulate_limb(levels, own, limb, k, q, group_memory(memory, g)))
    if iv > 0:
        M, H, N = inverse_blocks(blocks[0], blocks[1], blocks[2])
        remember_base(memory, M, H, N)
    attitudes(levels, robot, q, memory)


@inline
def add_force(force, here, Ri, r, d):
    """Force and moment plus, where `here` is 1, those of a unit force along d (world axes) at r."""
    f = scale(here, tmul(Ri, d))
    return add(force[0], f), add(force[1], cross(r, f))


@inline
def read_forces(axes, carried, o):
    """A force for each of `axes` on its way inwards, force before moment, from place o on."""
    if len(axes) == 0:
        return ()
    own = quad3(carried, o), quad3(carried, o + 3 * GROUP)
    return (own, *read_forces(axes[1:], carried, o + 6 * GROUP))


@inline
def write_forces(forces, carried, o):
    """Write what `read_forces` reads."""
    if len(forces) == 0:
        return
    f, n = forces[0]
    to_quad3(carried, o, f)
    to_quad3(carried, o + 3 * GROUP, n)
    write_forces(forces[1:], carried, o + 6 * GROUP)


@inline
def cross_joint(forces, joint, o, paths):
    """Write what forces do to a joint, z, into `paths` from o; returns what its parent feels (P5)."""
    if len(forces) == 0:
        return ()
    f, n = forces[0]
    placed, p, ul, ua, di = joint
    to_lane(paths, o, n[2])
    onward = propagate(placed, p, ul, ua, di, n[2], f, n)
    return (onward, *cross_joint(forces[1:], joint, o + GROUP, paths))


@inline
def add_contact_forces(t, limb, joint, contact, frames, memory, carried):
    """Add unit forces along the axes of the contact that sits on the body of joint t, or on the base."""
    here = 1.0 if lane(joint, limb) == t else 0.0
    o = 12 * int(lane(contact, limb))
    r = (lane(frames, o), lane(frames, o + 1), lane(frames, o + 2))
    R = quad9(memory, in_memory(t, limb) + ATTITUDE * GROUP)
    x, y, z = read_forces(AXES, carried, limb)
    x = add_force(x, here, R, r, (lane(frames, o + 3), lane(frames, o + 6), lane(frames, o + 9)))
    y = add_force(y, here, R, r, (lane(frames, o + 4), lane(frames, o + 7), lane(frames, o + 10)))
    z = add_force(z, here, R, r, (lane(frames, o + 5), lane(frames, o + 8), lane(frames, o + 11)))
    write_forces((x, y, z), carried, limb)


@inline
def assign_lanes(levels, iv, g, contact_rows, count, turn, lanes):
    """Seat contact number `turn`, from 0, of every limb of a group in the limb's lane; returns how many there are.

    lanes: per lane the joint on whose body it sits, or EMPTY, and its number; 1 for joints on whose body any one sits.
    All lanes are written at once: what is written number by number cannot be read as a vector for a while.
    """
    joint, contact, taken = lanes
    waiting = stack(GROUP)
    for limb in abreast(GROUP):
        to_lane(waiting, limb, float(turn))
        to_lane(joint, limb, EMPTY)
        to_lane(contact, limb, 0.0)
    for t in range(len(levels) + 1):
        to_lane(taken, t, 0.0)
    for a in range(count):
        own, t = rank(levels, iv, contact_rows[a])
        to_lane(taken, t, 1.0)
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
def propagate_inward(levels, robot, limbs, lanes, frames, memory, workspace):
    """Carry unit forces along the axes of the assigned contacts to the base, and write what they do to joints (P5)."""
    joint, contact, taken = lanes
    paths, carried = workspace
    depth = len(levels)
    for k in range(CARRIED_SIZE):
        to_lane(carried, k, 0.0)
    for t in range(depth):
        if lane(taken, t) > 0.0:
            for limb in abreast(limbs):
                add_contact_forces(t, limb, joint, contact, frames, memory, carried)
        for limb in abreast(limbs):
            crossed = kept_joint(robot, t, limb, memory)
            forces = cross_joint(read_forces(AXES, carried, limb), crossed, t * 3 * GROUP + limb, paths)
            write_forces(forces, carried, limb)
    if lane(taken, depth) > 0.0:
        for limb in abreast(limbs):
            add_contact_forces(depth, limb, joint, contact, frames, memory, carried)


@inline
def write_columns(levels, limbs, base, lanes, workspace, memory, z, y):
    """Copy paths of the assigned contacts to their columns of z and, of the limbs, y = D^-1 z.

    base: its dofs, and the first of the group.
    """
    joint, contact, _ = lanes
    paths, carried = workspace
    iv, first = base
    depth = len(levels)
    for limb in range(limbs):
        if lane(joint, limb) == EMPTY:
            continue
        c = 3 * int(lane(contact, limb))
        if iv > 0:
            for k, row in enumerate((3, 4, 5, 0, 1, 2)):
                o = row * GROUP + limb
                set3(z, k, c, (lane(carried, o), lane(carried, o + 6 * GROUP), lane(carried, o + 12 * GROUP)))
        for j in range(depth):
            t = depth - 1 - j
            x = quad3(paths, t * 3 * GROUP + limb)
            set3(z, first + limb * depth + j, c, x)
            set3(y, first + limb * depth + j, c, scale(lane(memory, in_memory(t, limb) + DI * GROUP), x))


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
    """`propagators.contact_path` of `count` contacts, but for `divide`, in rounds of one per limb of a group.

    memory: of `aba`, with attitudes.
    """
    _, _, iv = dimensions(levels, robot)
    lanes = stack(GROUP), stack(GROUP), stack(TAKEN_SIZE)
    workspace = stack(PATH_SIZE), stack(CARRIED_SIZE)
    for begin in range(0, 3 * count, LANES):
        for k in range(iv, y.shape[0]):
            for c in range(LANES):
                to_lane(y, k * y.shape[1] + begin + c, 0.0)
    done = 0
    for g, _ in enumerate(levels[0]):
        own, width, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        turn = 0
        while done < count:
            count_assigned = assign_lanes(levels, iv, g, contact_rows, count, turn, lanes)
            if count_assigned == 0:
                break
            done += count_assigned
            turn += 1
            propagate_inward(levels, own, width, lanes, frames, mine, workspace)
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
    """`propagators.joint_path` of the joint with qd[v], but for `divide`."""
    _, _, iv = dimensions(levels, robot)
    depth = len(levels)
    limb = (v - iv) // depth
    own, _, _ = group(levels, robot, limb // GROUP)
    mine = group_memory(memory, limb // GROUP)
    for k in range(z.shape[0]):
        z[k, c] = 0.0
        y[k, c] = 0.0
    f, n = ZERO3, ZERO3
    for j in range((v - iv) % depth, -1, -1):
        i = iv + limb * depth + j
        E_, p, ul, ua, di = kept_joint(own, depth - 1 - j, limb % GROUP, mine)
        s = 1.0 if i == v else n[2]
        z[i, c] = s
        y[i, c] = di * s
        f, n = propagate(E_, p, ul, ua, di, s, f, n)
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
    """`propagators.delassus_matrix`, a row of A at a time, symmetric to rounding: y is zero at joints of other limbs.

    counts: contacts and rows. paths: z, y.
    """
    if robot[BASE_DOFS] > 0.0:
        couple_all(levels, BASE_ROWS, robot, g, counts, contact_rows, paths, A)
    else:
        couple_all(levels, (), robot, g, counts, contact_rows, paths, A)


@inline
def respond_limb(levels, robot, limb, iv, memory, motion, given, x):
    """Accelerations of the joints ahead, whose part of D^-1 z is `given`, of that of their parent: a, al (P15)."""
    if len(levels) == 0:
        return
    t = len(levels) - 1
    own = lane(given, iv)
    a, al = motion
    E_, p, ul, ua, di = kept_joint(robot, t, limb, memory)
    a, al = accelerate(E_, p, a, al, ZERO3, ZERO3)
    qdd = own + joint_acceleration(ul, ua, di, 0.0, a, al)
    to_lane(x, t * GROUP + limb, qdd)
    respond_limb(levels[1:], robot, limb, iv + 1, memory, (a, (al[0], al[1], al[2] + qdd)), given, x)


@inline
def effort_paths(levels, robot, limb, memory, paths):
    """Unit efforts of the joints ahead, nearest first, as their parent feels them (P10)."""
    if len(levels) == 0:
        return ()
    t = len(levels) - 1
    E_, p, ul, ua, di = joint = kept_joint(robot, t, limb, memory)
    outer = effort_paths(levels[1:], robot, limb, memory, paths)
    onward = cross_joint(outer, joint, t * MOST_JOINTS * GROUP + limb, paths)
    return (propagate(E_, p, ul, ua, di, 1.0, ZERO3, ZERO3), *onward)


@inline
def joint_response(levels, limb, iv, t, motion, unit_paths, given):
    """Acceleration of joint t to `given` D^-1 z, by the path of its unit effort (P12).

    motion: a, al of the base. unit_paths: paths of the unit efforts, at the base and at the joints.
    """
    a, al = motion
    reach, paths = unit_paths
    own = iv + len(levels) - 1 - t
    o = t * 6 * GROUP + limb
    qdd = lane(given, own) + dot(quad3(reach, o), al) + dot(quad3(reach, o + 3 * GROUP), a)
    for k in range(len(levels) - 1 - t):
        qdd += lane(paths, ((t + 1 + k) * MOST_JOINTS + k) * GROUP + limb) * lane(given, own - 1 - k)
    return qdd


@routine
def respond_all(levels, robot, memory, X):
    """`respond` of every row of X (n, nv), by the paths of the unit efforts of all joints."""
    _, _, iv = dimensions(levels, robot)
    reach, paths, x = stack(WRENCH_SIZE), stack(ENTRY_SIZE), stack(JOINT_SIZE)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        for limb in range(count):
            forces = effort_paths(levels, own, limb, group_memory(memory, g), paths)
            write_limb_forces(forces, len(levels) - 1, limb, reach)
        for c in range(X.shape[0]):
            given = X[c]
            a, al = ZERO3, ZERO3
            if iv > 0:
                a, al = part3(given, 3), part3(given, 0)
            for limb in range(count):
                k = iv + first + limb * len(levels)
                for t in range(len(levels)):
                    qdd = joint_response(levels, limb, k, t, (a, al), (reach, paths), given)
                    to_lane(x, t * GROUP + limb, qdd)
            collect(levels, count, x, iv + first, given)


@routine
def respond(levels, robot, memory, X):
    """`propagators.respond` of one row X (nv,)."""
    _, _, iv = dimensions(levels, robot)
    x = stack(JOINT_SIZE)
    a, al = ZERO3, ZERO3
    if iv > 0:
        a, al = part3(X, 3), part3(X, 0)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        for limb in range(count):
            k = iv + first + limb * len(levels)
            respond_limb(levels, own, limb, k, group_memory(memory, g), (a, al), X, x)
        collect(levels, count, x, iv + first, X)
