# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Poses and twists of a star, its energy, momentum and second moment."""

from ...compiler import abreast, inline, lane, routine, stack
from .. import rows
from ..lanes import quad3, quad9, to_quad3, to_quad9
from ..link import body_books, composite_to_parent
from ..rows import ARMATURE, P0, part3, part3_to, part4, set3, set9
from ..scalar import IDENTITY, ZERO3, add, add6, cross, matmul, mul, quaternion_matrix, sub, tmul
from .aba import place
from .layout import (
    ATTITUDE,
    BASE_DOFS,
    GROUP,
    PLACE,
    RATE,
    SPEED,
    SPIN,
    WRENCH_SIZE,
    E,
    base_body,
    dimensions,
    group,
    group_memory,
    in_memory,
    parameter,
    rank,
    rigid_body,
    to_base,
)


@inline
def update_attitude(t, limb, E_, memory):
    """Write the attitude of joint t in the world from that of its parent and return it."""
    R = matmul(quad9(memory, in_memory(t + 1, limb) + ATTITUDE * GROUP), E_)
    to_quad9(memory, in_memory(t, limb) + ATTITUDE * GROUP, R)
    return R


@inline
def base_attitude(levels, robot, q, memory):
    """Write the base's attitude, which all limbs share, and return it."""
    R = IDENTITY
    if robot[BASE_DOFS] > 0.0:
        Q = part4(q, 3)
        R = quaternion_matrix(Q[0], Q[1], Q[2], Q[3])
    for g, _ in enumerate(levels[0]):
        for limb in abreast(GROUP):
            to_quad9(group_memory(memory, g), in_memory(len(levels), limb) + ATTITUDE * GROUP, R)
    return R


@routine
def attitudes(levels, robot, q, memory):
    """Write the attitudes of all joints, which are placed."""
    base_attitude(levels, robot, q, memory)
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        for j in range(len(levels)):
            for limb in abreast(count):
                t = len(levels) - 1 - j
                update_attitude(t, limb, quad9(mine, in_memory(t, limb) + E * GROUP), mine)


@inline
def update_pose(robot, t, limb, memory):
    """Write pose and twist of joint t, placed, from its parent's.

    Returns `body_books` of the body behind it.
    """
    o, c = in_memory(t, limb), in_memory(t + 1, limb)
    R, xc = quad9(memory, c + ATTITUDE * GROUP), quad3(memory, c + PLACE * GROUP)
    w, v = quad3(memory, c + SPIN * GROUP), quad3(memory, c + SPEED * GROUP)
    p = quad3(robot, parameter(t, P0, limb))
    m, h, inertia = rigid_body(robot, t, limb)
    E_, wi, rate = quad9(memory, o + E * GROUP), quad3(memory, o + SPIN * GROUP), lane(memory, o + RATE * GROUP)
    Ri = update_attitude(t, limb, E_, memory)
    xi = add(xc, mul(R, p))
    vi = tmul(E_, add(v, cross(w, p)))
    moment, linear, angular, energy = body_books(m, h, inertia, Ri, xi, wi, vi)
    energy += 0.5 * lane(robot, parameter(t, ARMATURE, limb)) * rate * rate
    to_quad3(memory, o + PLACE * GROUP, xi)
    to_quad3(memory, o + SPEED * GROUP, vi)
    return moment, linear, angular, energy


@routine
def second_moment(levels, robot, memory):
    """`bodies.second_moment` of a robot with a free base, at the poses that `energy_and_momentum` left."""
    base = in_memory(len(levels), 0)
    R, x = quad9(memory, base + ATTITUDE * GROUP), quad3(memory, base + PLACE * GROUP)
    m, h, inertia = base_body(robot)
    total = composite_to_parent(R, x, m, h, inertia)[1]
    for g, _ in enumerate(levels[0]):
        own, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        for t in range(len(levels)):
            for limb in abreast(count):
                total = add6(total, moment_of_joint(own, t, limb, mine))
    return total


@inline
def moment_of_joint(robot, t, limb, memory):
    """Rotational inertia of the body of joint t about the world's origin, world axes."""
    o = in_memory(t, limb)
    m, h, inertia = rigid_body(robot, t, limb)
    R, x = quad9(memory, o + ATTITUDE * GROUP), quad3(memory, o + PLACE * GROUP)
    return composite_to_parent(R, x, m, h, inertia)[1]


@inline
def add_motion(t, limb, x, v, w, memory):
    """Add the rigid motion with velocity v at x and angular velocity w, world axes, to the twist of joint t."""
    o = in_memory(t, limb)
    R, arm = quad9(memory, o + ATTITUDE * GROUP), sub(quad3(memory, o + PLACE * GROUP), x)
    spin = add(quad3(memory, o + SPIN * GROUP), tmul(R, w))
    speed = add(quad3(memory, o + SPEED * GROUP), tmul(R, add(v, cross(w, arm))))
    to_quad3(memory, o + SPIN * GROUP, spin)
    to_quad3(memory, o + SPEED * GROUP, speed)


@routine
def add_motions(levels, robot, memory, x, v, w):
    """`add_motion` of the base and all joints."""
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        for t in range(len(levels) + 1):
            for limb in abreast(count):
                add_motion(t, limb, x, v, w, mine)


@routine
def displace_all(levels, robot, memory, d):
    """Move the base and all joints by d, world axes."""
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        for t in range(len(levels) + 1):
            for limb in abreast(count):
                o = in_memory(t, limb) + PLACE * GROUP
                to_quad3(mine, o, add(quad3(mine, o), d))


@routine
def write_rows(levels, robot, memory, seen, w):
    """Copy poses and twists of world, base and the joints whose rows are `seen` to the workspace of `tree`."""
    _, _, iv = dimensions(levels, robot)
    write_row(0, IDENTITY, ZERO3, ZERO3, ZERO3, w)
    if iv > 0:
        o = in_memory(len(levels), 0)
        R, x = quad9(memory, o + ATTITUDE * GROUP), quad3(memory, o + PLACE * GROUP)
        write_row(1, R, x, quad3(memory, o + SPIN * GROUP), quad3(memory, o + SPEED * GROUP), w)
    for k in range(seen.shape[0]):
        i = seen[k]
        if i < 0:
            break
        limb, t = rank(levels, iv, i)
        mine, o = group_memory(memory, limb // GROUP), in_memory(t, limb % GROUP)
        R, x = quad9(mine, o + ATTITUDE * GROUP), quad3(mine, o + PLACE * GROUP)
        write_row(i, R, x, quad3(mine, o + SPIN * GROUP), quad3(mine, o + SPEED * GROUP), w)


@inline
def write_row(i, R, x, spin, v, w):
    """Write pose and twist of a row."""
    set9(w, i, rows.RW, R)
    set3(w, i, rows.XW, x)
    set3(w, i, rows.W, spin)
    set3(w, i, rows.V, v)


@routine
def energy_and_momentum(levels, robot, memory, q, qd, out):
    """`propagators.books_of` into `out` (10,), leaving poses and twists of all rows in memory."""
    _, _, iv = dimensions(levels, robot)
    place(levels, robot, q, qd, memory)
    R, x, spin, v = base_attitude(levels, robot, q, memory), ZERO3, ZERO3, ZERO3
    if iv > 0:
        x, spin, v = part3(q, 0), part3(qd, 0), part3(qd, 3)
    m, h, inertia = base_body(robot)
    moment, linear, angular, energy = body_books(m, h, inertia, R, x, spin, v)
    for g, _ in enumerate(levels[0]):
        own, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        to_base(levels, PLACE, x, mine)
        to_base(levels, SPEED, v, mine)
        for j in range(len(levels)):
            for limb in abreast(count):
                more = update_pose(own, len(levels) - 1 - j, limb, mine)
                moment = add(moment, more[0])
                linear = add(linear, more[1])
                angular = add(angular, more[2])
                energy += more[3]
    part3_to(out, 0, moment)
    part3_to(out, 3, linear)
    part3_to(out, 6, angular)
    out[9] = energy


@inline
def twist_limb(levels, robot, limb, iv, qd, memory, twist, out):
    """Twists of the joints ahead, own axes (R1), of that of their parent: angular and linear velocity."""
    if len(levels) == 0:
        return
    spin, v = twist
    t = len(levels) - 1
    rate = lane(qd, iv)
    E_ = quad9(memory, in_memory(t, limb) + E * GROUP)
    v = tmul(E_, add(v, cross(spin, quad3(robot, parameter(t, P0, limb)))))
    spin = add(tmul(E_, spin), (0.0, 0.0, rate))
    to_quad3(out, t * 6 * GROUP + limb, spin)
    to_quad3(out, (t * 6 + 3) * GROUP + limb, v)
    twist_limb(levels[1:], robot, limb, iv + 1, qd, memory, (spin, v), out)


@routine
def twists(levels, robot, memory, seen, qd, o, w):
    """`bodies.twists` of a free base and of `seen` rows; memory: of `aba` at the robot's q."""
    _, _, iv = dimensions(levels, robot)
    out = stack(WRENCH_SIZE)
    spin, v = ZERO3, ZERO3
    if iv > 0:
        spin, v = part3(qd, 0), part3(qd, 3)
        set3(w, 1, o, spin)
        set3(w, 1, o + 3, v)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        for limb in range(count):
            k = iv + first + limb * len(levels)
            twist_limb(levels, own, limb, k, qd, group_memory(memory, g), (spin, v), out)
        for k in range(seen.shape[0]):
            i = seen[k]
            if i < 0:
                break
            limb, t = rank(levels, iv, i)
            if limb // GROUP == g:
                set3(w, i, o, quad3(out, t * 6 * GROUP + limb % GROUP))
                set3(w, i, o + 3, quad3(out, (t * 6 + 3) * GROUP + limb % GROUP))
