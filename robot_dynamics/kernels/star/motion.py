# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Poses and twists of a star, its energy, momentum and second moment."""

from ...compiler import abreast, inline, lane, routine, stack, to_lane
from .. import rows
from ..lanes import quad3, quad9, to_quad3, to_quad9
from ..link import body_momentum, in_world, plus_along, revolute_placement, shift_composite, velocity_off
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
    scale6,
    sincos,
)
from .layout import (
    ATTITUDE,
    BASE_DOFS,
    COSINE,
    GROUP,
    OFFSET,
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
    to_base,
    write_body,
)


@inline
def books(m, h, J, x, spin, v):
    """First moment, linear and angular momentum about the world's origin, and energy of a body with its origin at x."""
    f, n = body_momentum(m, h, J, spin, v)
    return add(h, scale(m, x)), f, add(n, cross(x, f)), 0.5 * (dot(v, f) + dot(spin, n))


@inline
def turn_joint(t, limb, angle, rate, memory):
    """Write rate, cosine and sine of joint t."""
    o = in_memory(t, limb)
    c, s = sincos(angle)
    to_lane(memory, o + COSINE * GROUP, c)
    to_lane(memory, o + SINE * GROUP, s)
    to_lane(memory, o + RATE * GROUP, rate)


@inline
def move_joint(robot, t, limb, memory):
    """Write pose, twist and inertia of joint t, turned, from its parent's; returns `books` of the body behind it."""
    o, c = in_memory(t, limb), in_memory(t + 1, limb)
    at_rest, p = quad9(robot, parameter(t, R0, limb)), quad3(robot, parameter(t, P0, limb))
    E, p = revolute_placement(at_rest, p, lane(memory, o + COSINE * GROUP), lane(memory, o + SINE * GROUP))
    rate = lane(memory, o + RATE * GROUP)
    Rc = quad9(memory, c + ATTITUDE * GROUP)
    spin = quad3(memory, c + SPIN * GROUP)
    R, d = matmul(Rc, E), mul(Rc, p)
    x = add(quad3(memory, c + PLACE * GROUP), d)
    v = velocity_off(quad3(memory, c + SPEED * GROUP), spin, d)
    spin = plus_along(spin, rate, (R[2], R[5], R[8]))
    m, h, inertia = rigid_body(robot, t, limb)
    h, J = mul(R, h), congruence(R, inertia)
    to_quad9(memory, o + ATTITUDE * GROUP, R)
    to_quad3(memory, o + OFFSET * GROUP, d)
    to_quad3(memory, o + PLACE * GROUP, x)
    to_quad3(memory, o + SPIN * GROUP, spin)
    to_quad3(memory, o + SPEED * GROUP, v)
    write_body(o, m, h, J, memory)
    moment, linear, angular, energy = books(m, h, J, x, spin, v)
    return moment, linear, angular, energy + 0.5 * lane(robot, parameter(t, ARMATURE, limb)) * rate * rate


@inline
def move_limb(levels, robot, limb, memory):
    """`move_joint` of the joints ahead; returns their sums."""
    if len(levels) == 0:
        return ZERO3, ZERO3, ZERO3, 0.0
    moment, linear, angular, energy = move_joint(robot, len(levels) - 1, limb, memory)
    m, f, n, e = move_limb(levels[1:], robot, limb, memory)
    return add(moment, m), add(linear, f), add(angular, n), energy + e


@inline
def move_base(levels, robot, q, qd, memory):
    """Write pose and twist of the base for all limbs, its inertia for the first; returns its `books`."""
    R, x, spin, v = IDENTITY, ZERO3, ZERO3, ZERO3
    if robot[BASE_DOFS] > 0.0:
        Q = part4(q, 3)
        R, x = quaternion_matrix(Q[0], Q[1], Q[2], Q[3]), part3(q, 0)
        spin, v = in_world(R, part3(qd, 0)), in_world(R, part3(qd, 3))
    m, h, inertia = base_body(robot)
    h, J = mul(R, h), congruence(R, inertia)
    for g, _ in enumerate(levels[0]):
        mine = group_memory(memory, g)
        for limb in abreast(GROUP):
            o = in_memory(len(levels), limb)
            own = 1.0 if g * GROUP + limb == 0 else 0.0
            to_quad9(mine, o + ATTITUDE * GROUP, R)
            write_body(o, own * m, scale(own, h), scale6(own, J), mine)
        to_base(levels, PLACE, x, mine)
        to_base(levels, SPIN, spin, mine)
        to_base(levels, SPEED, v, mine)
    return books(m, h, J, x, spin, v)


@routine
def update_motion(levels, robot, memory, q, qd, out):
    """`tree.joint_space.update_motion` of all joints; its sums into `out` (10,)."""
    _, iq, iv = dimensions(levels, robot)
    depth = len(levels)
    moment, linear, angular, energy = move_base(levels, robot, q, qd, memory)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        for limb in abreast(count):
            for j, _level in enumerate(levels):
                k = first + limb * depth + j
                turn_joint(depth - 1 - j, limb, lane(q, iq + k), lane(qd, iv + k), mine)
        for limb in abreast(count):
            more = move_limb(levels, own, limb, mine)
            moment = add(moment, more[0])
            linear = add(linear, more[1])
            angular = add(angular, more[2])
            energy += more[3]
    part3_to(out, 0, moment)
    part3_to(out, 3, linear)
    part3_to(out, 6, angular)
    out[9] = energy


@routine
def second_moment(levels, robot, memory):
    """Rotational inertia of a robot with a free base about the world's origin, at the poses of `update_motion`."""
    base = in_memory(len(levels), 0)
    R, x = quad9(memory, base + ATTITUDE * GROUP), quad3(memory, base + PLACE * GROUP)
    m, h, inertia = base_body(robot)
    total = shift_composite(x, m, mul(R, h), congruence(R, inertia))[1]
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
def turn_on(t, limb, memory):
    """Write the twist of joint t from its parent's, rounded as in `move_joint`."""
    o, c = in_memory(t, limb), in_memory(t + 1, limb)
    spin = quad3(memory, c + SPIN * GROUP)
    v = velocity_off(quad3(memory, c + SPEED * GROUP), spin, quad3(memory, o + OFFSET * GROUP))
    to_quad3(memory, o + SPEED * GROUP, v)
    to_quad3(memory, o + SPIN * GROUP, plus_along(spin, lane(memory, o + RATE * GROUP), axis_of(o, memory)))


@routine
def update_base_twist(levels, robot, memory, qd):
    """Twists of a free base with the velocity qd, and of all joints, at the poses and rates of `update_motion`."""
    depth = len(levels)
    R = quad9(memory, in_memory(depth, 0) + ATTITUDE * GROUP)
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        to_base(levels, SPIN, in_world(R, part3(qd, 0)), mine)
        to_base(levels, SPEED, in_world(R, part3(qd, 3)), mine)
        for j in range(depth):
            for limb in abreast(count):
                turn_on(depth - 1 - j, limb, mine)


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
        if i <= iv // 6:  # world and base
            continue
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


@routine
def twists(levels, robot, memory, seen, qd, o, w):
    """`tree.joint_space.update_twists` of a free base and of `seen` rows."""
    _, _, iv = dimensions(levels, robot)
    out = stack(WRENCH_SIZE)
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
