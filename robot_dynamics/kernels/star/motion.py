# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Poses and twists of a star, its energy, momentum and second moment."""

from ...compiler import abreast, inline, lane, stack, to_lane
from .. import rows
from ..lanes import quad3, quad9, to_quad3, to_quad9
from ..link import body_momentum, in_world, plus_along, shift_composite, velocity_off
from ..rows import ARMATURE, P0, R0, part3, part3_to, part4, set3, set9
from ..scalar import (
    IDENTITY,
    ZERO3,
    add,
    add6,
    congruence,
    cross,
    dot,
    matmul,
    mul,
    quaternion_matrix,
    scale,
    sincos,
    turn_z,
)
from .layout import (
    ATTITUDE,
    COSINE,
    GROUP,
    OFFSET,
    OWN,
    PLACE,
    RATE,
    SINE,
    SPEED,
    SPIN,
    WRENCH_SIZE,
    axis_of,
    base_body,
    body_in_world,
    dimensions,
    group,
    group_memory,
    in_memory,
    parameter,
    rank,
    rigid_body,
    write_body,
)


@inline
def books(m, h, J, x, spin, v):
    """First moment, linear and angular momentum about the world's origin, and energy of a body with its origin at x."""
    f, n = body_momentum(m, h, J, spin, v)
    return add(h, scale(m, x)), f, add(n, cross(x, f)), 0.5 * (dot(v, f) + dot(spin, n))


@inline
def add_books(a, b):
    """Sum of two `books`."""
    return add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]), a[3] + b[3]


@inline
def turn_joint(t, limb, angle, rate, memory):
    """Write rate, cosine and sine of joint t."""
    o = in_memory(t, limb)
    c, s = sincos(angle)
    to_lane(memory, o + COSINE * GROUP, c)
    to_lane(memory, o + SINE * GROUP, s)
    to_lane(memory, o + RATE * GROUP, rate)


@inline
def write_motion(o, motion, memory):
    """Write attitude, origin, angular velocity and velocity of the origin, world axes."""
    R, x, spin, v = motion
    to_quad9(memory, o + ATTITUDE * GROUP, R)
    to_quad3(memory, o + PLACE * GROUP, x)
    to_quad3(memory, o + SPIN * GROUP, spin)
    to_quad3(memory, o + SPEED * GROUP, v)


@inline
def motion_at(o, memory):
    """What `write_motion` wrote."""
    R, x = quad9(memory, o + ATTITUDE * GROUP), quad3(memory, o + PLACE * GROUP)
    return R, x, quad3(memory, o + SPIN * GROUP), quad3(memory, o + SPEED * GROUP)


@inline
def move_joint(robot, t, limb, memory):
    """Write pose, twist and inertia of joint t, turned, each as soon as it is known: registers are few."""
    Rc, xc, spin, v = motion_at(in_memory(t + 1, limb), memory)
    o = in_memory(t, limb)
    d = mul(Rc, quad3(robot, parameter(t, P0, limb)))
    to_quad3(memory, o + OFFSET * GROUP, d)
    to_quad3(memory, o + PLACE * GROUP, add(xc, d))
    to_quad3(memory, o + SPEED * GROUP, velocity_off(v, spin, d))
    c, s = lane(memory, o + COSINE * GROUP), lane(memory, o + SINE * GROUP)
    R = matmul(Rc, turn_z(quad9(robot, parameter(t, R0, limb)), c, s))
    to_quad9(memory, o + ATTITUDE * GROUP, R)
    rate = lane(memory, o + RATE * GROUP)
    to_quad3(memory, o + SPIN * GROUP, plus_along(spin, rate, (R[2], R[5], R[8])))
    m, h, inertia = rigid_body(robot, t, limb)
    write_body(o, m, mul(R, h), congruence(R, inertia), memory)


@inline
def books_of(robot, t, limb, memory):
    """`books` of the body behind joint t, with the energy of what turns in its actuator."""
    o = in_memory(t, limb)
    m, h, J = body_in_world(o, memory)
    _, x, spin, v = motion_at(o, memory)
    moment, linear, angular, energy = books(m, h, J, x, spin, v)
    rate = lane(memory, o + RATE * GROUP)
    return moment, linear, angular, energy + 0.5 * lane(robot, parameter(t, ARMATURE, limb)) * rate * rate


@inline
def move_base(levels, robot, q, qd, memory):
    """Write the inertia of the base; returns its motion, as in `write_motion`, and its `books`."""
    R, x, spin, v = IDENTITY, ZERO3, ZERO3, ZERO3
    _, _, iv = dimensions(levels)
    if iv > 0:
        Q = part4(q, 3)
        R, x = quaternion_matrix(Q[0], Q[1], Q[2], Q[3]), part3(q, 0)
        spin, v = in_world(R, part3(qd, 0)), in_world(R, part3(qd, 3))
    m, h, inertia = base_body(robot)
    h, J, o = mul(R, h), congruence(R, inertia), in_memory(len(levels), 0)
    write_body(o + OWN * GROUP, m, h, J, memory)
    return (R, x, spin, v), books(m, h, J, x, spin, v)


@inline
def update_motion(levels, robot, memory, q, qd, out):
    """`tree.joint_space.update_motion` of all joints; its sums into `out` (10,)."""
    _, iq, iv = dimensions(levels)
    depth = len(levels)
    motion, sums = move_base(levels, robot, q, qd, memory)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        for limb in abreast(count):
            for j, _level in enumerate(levels):
                k = first + limb * depth + j
                turn_joint(depth - 1 - j, limb, lane(q, iq + k), lane(qd, iv + k), mine)
        for limb in abreast(GROUP):
            write_motion(in_memory(depth, limb), motion, mine)
        for j in range(depth):
            for limb in abreast(count):
                move_joint(own, depth - 1 - j, limb, mine)
            for limb in abreast(count):
                sums = add_books(sums, books_of(own, depth - 1 - j, limb, mine))
    part3_to(out, 0, sums[0])
    part3_to(out, 3, sums[1])
    part3_to(out, 6, sums[2])
    out[9] = sums[3]


@inline
def second_moment(levels, robot, memory):
    """Rotational inertia of a robot with a free base about the world's origin, at the poses of `update_motion`."""
    base = in_memory(len(levels), 0)
    m, h, J = body_in_world(base + OWN * GROUP, memory)
    total = shift_composite(quad3(memory, base + PLACE * GROUP), m, h, J)[1]
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        for t in range(len(levels)):
            for limb in abreast(count):
                o = in_memory(t, limb)
                m, h, J = body_in_world(o, mine)
                total = add6(total, shift_composite(quad3(mine, o + PLACE * GROUP), m, h, J)[1])
    return total


@inline
def turn_on(levels, limb, spin, v, memory):
    """Write the twists of the joints ahead, rounded as in `move_joint`; spin, v: of their parent."""
    if len(levels) == 0:
        return
    o = in_memory(len(levels) - 1, limb)
    v = velocity_off(v, spin, quad3(memory, o + OFFSET * GROUP))
    spin = plus_along(spin, lane(memory, o + RATE * GROUP), axis_of(o, memory))
    to_quad3(memory, o + SPIN * GROUP, spin)
    to_quad3(memory, o + SPEED * GROUP, v)
    turn_on(levels[1:], limb, spin, v, memory)


@inline
def update_base_twist(levels, robot, memory, qd):
    """Twists of a free base with the velocity qd, and of all joints, at the poses and rates of `update_motion`."""
    o = in_memory(len(levels), 0)
    R = quad9(memory, o + ATTITUDE * GROUP)
    spin, v = in_world(R, part3(qd, 0)), in_world(R, part3(qd, 3))
    to_quad3(memory, o + SPIN * GROUP, spin)
    to_quad3(memory, o + SPEED * GROUP, v)
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        for limb in abreast(count):
            turn_on(levels, limb, spin, v, group_memory(memory, g))


@inline
def displace_all(levels, robot, memory, d):
    """Move the base and all joints by d, world axes, rounded as in `update_motion` of the base at its new place."""
    o = in_memory(len(levels), 0) + PLACE * GROUP
    x = add(quad3(memory, o), d)
    to_quad3(memory, o, x)
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        for limb in abreast(count):
            carry_places(levels, limb, x, group_memory(memory, g))


@inline
def carry_places(levels, limb, x, memory):
    """Write the places of the joints ahead; x: of their parent."""
    if len(levels) == 0:
        return
    o = in_memory(len(levels) - 1, limb)
    x = add(x, quad3(memory, o + OFFSET * GROUP))
    to_quad3(memory, o + PLACE * GROUP, x)
    carry_places(levels[1:], limb, x, memory)


@inline
def write_world(w):
    """Write pose and twist of the world, which stay, to the workspace of `tree`."""
    write_row(0, (IDENTITY, ZERO3, ZERO3, ZERO3), w)


@inline
def write_rows(levels, robot, memory, seen, w):
    """Copy poses and twists of the base and of joints whose rows are `seen` to the workspace of `tree`."""
    _, _, iv = dimensions(levels)
    if iv > 0:
        write_row(1, motion_at(in_memory(len(levels), 0), memory), w)
    for k in range(seen.shape[0]):
        i = seen[k]
        if i < 0:
            break
        if i <= iv // 6:  # world and base
            continue
        limb, t = rank(levels, iv, i)
        write_row(i, motion_at(in_memory(t, limb % GROUP), group_memory(memory, limb // GROUP)), w)


@inline
def write_row(i, motion, w):
    """Write pose and twist of a row; motion: as in `write_motion`."""
    R, x, spin, v = motion
    set9(w, i, rows.RW, R)
    set3(w, i, rows.XW, x)
    set3(w, i, rows.W, spin)
    set3(w, i, rows.V, v)


@inline
def twist_limb(levels, limb, iv, qd, memory, twist, out):
    """Twists of the joints ahead, of that of their parent: angular and linear velocity, world axes."""
    if len(levels) == 0:
        return
    spin, v = twist
    t = len(levels) - 1
    o = in_memory(t, limb)
    v = add(v, cross(spin, quad3(memory, o + OFFSET * GROUP)))
    spin = add(spin, scale(lane(qd, iv), axis_of(o, memory)))
    to_quad3(out, t * 6 * GROUP + limb, spin)
    to_quad3(out, (t * 6 + 3) * GROUP + limb, v)
    twist_limb(levels[1:], limb, iv + 1, qd, memory, (spin, v), out)


@inline
def twists(levels, robot, memory, seen, qd, o, w):
    """`tree.joint_space.update_twists` of a free base and of `seen` rows."""
    _, _, iv = dimensions(levels)
    out = stack(WRENCH_SIZE, levels)
    spin, v = ZERO3, ZERO3
    if iv > 0:
        R = quad9(memory, in_memory(len(levels), 0) + ATTITUDE * GROUP)
        spin, v = mul(R, part3(qd, 0)), mul(R, part3(qd, 3))
        set3(w, 1, o, spin)
        set3(w, 1, o + 3, v)
    for g, _ in enumerate(levels[0]):
        _, count, first = group(levels, robot, g)
        for limb in abreast(count):
            k = iv + first + limb * len(levels)
            twist_limb(levels, limb, k, qd, group_memory(memory, g), (spin, v), out)
        for k in range(seen.shape[0]):
            i = seen[k]
            if i < 0:
                break
            limb, t = rank(levels, iv, i)
            if limb // GROUP == g:
                set3(w, i, o, quad3(out, t * 6 * GROUP + limb % GROUP))
                set3(w, i, o + 3, quad3(out, (t * 6 + 3) * GROUP + limb % GROUP))
