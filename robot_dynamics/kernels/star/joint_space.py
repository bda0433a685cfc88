# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Equation of motion of a star, and H = L^T D L (P16, P17), as `kernels.tree.joint_space`: all limbs abreast.

A limb's rows of H are factorised before the base's, whose 6x6 pivot is inverted as a whole.
"""

from ...compiler import abreast, inline, lane, stack, to_lane
from ..lanes import quad3, quad9, to_quad3
from ..link import acceleration_off, add_blocks, body_blocks, body_moment, project, shift_composite
from ..rows import ARMATURE, GRAVITY, part3, part3_to
from ..scalar import (
    ZERO3,
    ZERO6,
    add,
    add6,
    apply_blocks,
    cross,
    dot,
    inverse_blocks,
    mul,
    scale,
    smul,
    sub,
    tmul,
)
from .layout import (
    ATTITUDE,
    BIAS,
    ENTRIES,
    GROUP,
    LOAD,
    MOTION_SIZE,
    OFFSET,
    OWN,
    PIVOT,
    RATE,
    REACH,
    WRENCH_SIZE,
    axis_of,
    body_in_world,
    dimensions,
    group,
    group_memory,
    in_memory,
    parameter,
    remember_base,
    wrench_at,
    write_body,
    write_wrench,
)
from .wrenches import base_less_wrench, less_wrench, spread_wrenches


@inline
def carry_motion(o, d, motion, memory):
    """Motion while qdd = 0 of the joint in memory at o, at d from the parent's origin (A3); motion: of the parent.

    Angular velocity, angular acceleration and acceleration of the origin.
    """
    spin, al, a = motion
    a = acceleration_off(a, spin, al, d)
    rate = scale(lane(memory, o + RATE * GROUP), axis_of(o, memory))
    return add(spin, rate), add(al, cross(spin, rate)), a


@inline
def bias_force(body, motion):
    """Force of a body while qdd = 0 (R3)."""
    m, h, J = body
    spin, al, a = motion
    return acceleration_off(scale(m, a), spin, al, h), body_moment(h, J, spin, al, a)


@inline
def move_on(t, limb, motion, memory):
    """Put the motion of joint t while qdd = 0, as `carry_motion` has it, in the place of its parent's."""
    o = in_memory(t, limb)
    write_moving(limb, carry_motion(o, quad3(memory, o + OFFSET * GROUP), moving_at(limb, motion), memory), motion)


@inline
def moving_at(limb, motion):
    """The three vectors of a motion in the column of a limb."""
    return quad3(motion, limb), quad3(motion, limb + 3 * GROUP), quad3(motion, limb + 6 * GROUP)


@inline
def write_bias(t, limb, wrench, motion, memory):
    """Write the force of the body of joint t while qdd = 0 (R3), less the environment's.

    motion: that of joint t, in a column per limb. wrench: as in `less_wrench`, world axes.
    """
    o = in_memory(t, limb)
    f, n = bias_force(body_in_world(o, memory), moving_at(limb, motion))
    f, n = less_wrench(f, n, wrench, t, limb)
    write_wrench(o, BIAS, n, f, memory)


@inline
def write_moving(limb, motion, out):
    """Write the three vectors of a motion into the column of a limb."""
    for k, x in enumerate(motion):
        to_quad3(out, limb + 3 * k * GROUP, x)


@inline
def load_row(t, depth, limb, memory):
    """Effort of joint t less C.

    In the place of the base stands what joint t feels of those further out, and then what its parent feels of it.
    """
    o, c = in_memory(t, limb), in_memory(depth, limb)
    (n, f), (nc, fc) = wrench_at(o, BIAS, memory), wrench_at(c, BIAS, memory)
    n, f = add(n, nc), add(f, fc)
    to_lane(memory, o + LOAD * GROUP, lane(memory, o + LOAD * GROUP) - dot(axis_of(o, memory), n))
    write_wrench(c, BIAS, add(n, cross(quad3(memory, o + OFFSET * GROUP), f)), f, memory)


@inline
def open_row(robot, t, depth, limb, memory):
    """Pivot of joint t, and the force of its unit acceleration, as its parent feels it (C2, C3), after `load_row`."""
    o, c = in_memory(t, limb), in_memory(depth, limb)
    d, axis = quad3(memory, o + OFFSET * GROUP), axis_of(o, memory)
    (m, h, J), (mc, hc, Jc) = body_in_world(o, memory), body_in_world(c, memory)
    m, h, J = m + mc, add(h, hc), add6(J, Jc)
    force, moment = cross(axis, h), smul(J, axis)
    pivot = lane(memory, o + PIVOT * GROUP) + lane(robot, parameter(t, ARMATURE, limb))
    to_lane(memory, o + PIVOT * GROUP, pivot + dot(axis, moment))
    write_wrench(o, REACH, add(moment, cross(d, force)), force, memory)
    h, J = shift_composite(d, m, h, J)
    write_body(c, m, h, J, memory)


@inline
def enter_column(u, t, limb, memory):
    """Entry of H of joint u, further out, with joint t (C3), and the force of u as the parent of t feels it."""
    o, i = in_memory(t, limb), in_memory(u, limb)
    n, f = wrench_at(i, REACH, memory)
    to_lane(memory, i + (ENTRIES + t) * GROUP, dot(axis_of(o, memory), n))
    to_quad3(memory, i + REACH * GROUP, add(n, cross(quad3(memory, o + OFFSET * GROUP), f)))


@inline
def open_limbs(levels, robot, count, motion, wrench, memory):
    """Rows of H of all joints, efforts less C, and what the base feels of each limb; motion: of the base.

    Loops over joints, not recursion, which writes the code once per joint: a step's code exceeds the instruction cache.
    """
    depth = len(levels)
    moving = stack(MOTION_SIZE)
    for limb in abreast(count):
        write_moving(limb, motion, moving)
        write_body(in_memory(depth, limb), 0.0, ZERO3, ZERO6, memory)
        write_wrench(in_memory(depth, limb), BIAS, ZERO3, ZERO3, memory)
    for j in range(depth):
        for limb in abreast(count):
            move_on(depth - 1 - j, limb, moving, memory)
        for limb in abreast(count):
            write_bias(depth - 1 - j, limb, wrench, moving, memory)
    for t in range(depth):
        for limb in abreast(count):
            load_row(t, depth, limb, memory)
        for limb in abreast(count):
            open_row(robot, t, depth, limb, memory)
        for u in range(t):
            for limb in abreast(count):
                enter_column(u, t, limb, memory)


@inline
def eliminate_joint(t, s, limb, memory):
    """Take row t of H out of row s further in."""
    o, i = in_memory(t, limb), in_memory(s, limb)
    entry = lane(memory, o + (ENTRIES + s) * GROUP)
    x = entry * lane(memory, o + PIVOT * GROUP)
    to_lane(memory, i + PIVOT * GROUP, lane(memory, i + PIVOT * GROUP) - x * entry)
    to_lane(memory, i + LOAD * GROUP, lane(memory, i + LOAD * GROUP) - entry * lane(memory, o + LOAD * GROUP))
    to_lane(memory, o + (ENTRIES + s) * GROUP, x)
    (n, f), (nt, ft) = wrench_at(i, REACH, memory), wrench_at(o, REACH, memory)
    write_wrench(i, REACH, sub(n, scale(x, nt)), sub(f, scale(x, ft)), memory)


@inline
def eliminate_entry(t, s, r, limb, memory):
    """Take row t out of the entry of rows s and r; column s of row t is divided by the pivot already."""
    o, i = in_memory(t, limb), in_memory(s, limb)
    x = lane(memory, o + (ENTRIES + s) * GROUP) * lane(memory, o + (ENTRIES + r) * GROUP)
    to_lane(memory, i + (ENTRIES + r) * GROUP, lane(memory, i + (ENTRIES + r) * GROUP) - x)


@inline
def factorize_limbs(depth, count, memory):
    """Rows of the limbs: unit L, 1/D, and the forces L^-T x."""
    for t in range(depth):
        for limb in abreast(count):
            o = in_memory(t, limb)
            di = 1.0 / lane(memory, o + PIVOT * GROUP)
            to_lane(memory, o + PIVOT * GROUP, di)
            to_lane(memory, o + LOAD * GROUP, di * lane(memory, o + LOAD * GROUP))
        for s in range(t + 1, depth):
            for limb in abreast(count):
                eliminate_joint(t, s, limb, memory)
            for r in range(s + 1, depth):
                for limb in abreast(count):
                    eliminate_entry(t, s, r, limb, memory)


@inline
def less_joints(levels, limb, felt, memory):
    """What the base feels of a limb, inertia and force, less what its joints take: those of `levels`, from the tip."""
    if len(levels) == 0:
        return felt
    t = len(levels) - 1
    (M, H, N), f, n = less_joints(levels[1:], limb, felt, memory)
    o = in_memory(t, limb)
    di = lane(memory, o + PIVOT * GROUP)
    nc, fc = wrench_at(o, REACH, memory)
    g = lane(memory, o + LOAD * GROUP)
    return project(M, H, N, fc, nc, di), add(f, scale(g, fc)), add(n, scale(g, nc))


@inline
def bear(levels, limb, felt, memory):
    """Inertia and force that the base feels, `felt`, and those of a limb less what its joints take."""
    c = in_memory(len(levels), limb)
    n, f = wrench_at(c, BIAS, memory)
    felt = add_blocks(felt[0], body_blocks(*body_in_world(c, memory))), add(felt[1], f), add(felt[2], n)
    return less_joints(levels, limb, felt, memory)


@inline
def accelerate_joint(t, limb, a, al, memory):
    """Acceleration of joint t into LOAD, of those further in and of the base's: a, al."""
    o = in_memory(t, limb)
    n, f = wrench_at(o, REACH, memory)
    rest = lane(memory, o + LOAD * GROUP) - lane(memory, o + PIVOT * GROUP) * (dot(n, al) + dot(f, a))
    to_lane(memory, o + LOAD * GROUP, rest)


@inline
def less_joint(t, s, limb, memory):
    """Take the acceleration of joint s out of that of joint t further out."""
    o = in_memory(t, limb)
    x = lane(memory, o + (ENTRIES + s) * GROUP) * lane(memory, in_memory(s, limb) + LOAD * GROUP)
    to_lane(memory, o + LOAD * GROUP, lane(memory, o + LOAD * GROUP) - x)


@inline
def base_motion(levels, robot, qd, memory):
    """Motion of the base while qdd = 0, as it follows from qd, the world accelerating at -g."""
    _, _, iv = dimensions(levels)
    spin, v = ZERO3, ZERO3
    if iv > 0:
        R = quad9(memory, in_memory(len(levels), 0) + ATTITUDE * GROUP)
        spin, v = mul(R, part3(qd, 0)), mul(R, part3(qd, 3))
    return spin, ZERO3, sub(cross(spin, v), part3(robot, GRAVITY))


@inline
def write_efforts(levels, count, iv, tau, added, memory):
    """Efforts of the joints, and what is added to their pivots."""
    depth = len(levels)
    for limb in abreast(count):
        for j, _level in enumerate(levels):
            o = in_memory(depth - 1 - j, limb)
            k = iv + limb * depth + j
            to_lane(memory, o + LOAD * GROUP, lane(tau, k))
            to_lane(memory, o + PIVOT * GROUP, lane(added, k))


@inline
def turn_wrenches(levels, count, wrench, memory):
    """Have the wrenches that `spread_wrenches` wrote in world axes."""
    x, s = wrench
    for t in range(len(levels) if s > 0 else 0):
        for limb in abreast(count):
            R, o = quad9(memory, in_memory(t, limb) + ATTITUDE * GROUP), t * 6 * GROUP + limb
            to_quad3(x, o, mul(R, quad3(x, o)))
            to_quad3(x, o + 3 * GROUP, mul(R, quad3(x, o + 3 * GROUP)))


@inline
def factor_limbs(levels, robot, motion, tau, f_ext, added, memory):
    """H = L^T D L of the limbs, and L^-T (tau - C); needs `update_motion`. motion: of the base while qdd = 0."""
    _, _, iv = dimensions(levels)
    spread = stack(WRENCH_SIZE, levels)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        write_efforts(levels, count, iv + first, tau, added, mine)
        wrench = spread, spread_wrenches(levels, own, count, 6 + iv + 6 * first, f_ext, spread)
        turn_wrenches(levels, count, wrench, mine)
        open_limbs(levels, own, count, motion, wrench, mine)
        factorize_limbs(len(levels), count, mine)


@inline
def write_base(R, al, a, qdd):
    """Write the acceleration of a free base, given in world axes, in its own."""
    part3_to(qdd, 0, tmul(R, al))
    part3_to(qdd, 3, tmul(R, a))


@inline
def base_bias(robot, R, body, motion, f_ext):
    """Force of a free base while qdd = 0, less the environment's, world axes."""
    f, n = bias_force(body, motion)
    if f_ext.shape[0] == 0:
        return f, n
    fe, ne = base_less_wrench(robot, ZERO3, ZERO3, f_ext)
    return add(f, mul(R, fe)), add(n, mul(R, ne))


@inline
def accelerate_base(levels, robot, motion, tau, f_ext, memory, qdd):
    """Acceleration of a free base, world axes, and in its own axes into qdd. motion: of the base while qdd = 0."""
    base = in_memory(len(levels), 0)
    R = quad9(memory, base + ATTITUDE * GROUP)
    m, h, J = body_in_world(base + OWN * GROUP, memory)
    f, n = base_bias(robot, R, (m, h, J), motion, f_ext)
    M, H, N = body_blocks(m, h, J)
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        # part by part: all of it at once is more than there are registers
        for limb in abreast(count):
            felt = bear(levels, limb, ((M, H, N), f, n), mine)
            M, f = felt[0][0], felt[1]
        for limb in abreast(count):
            H = bear(levels, limb, ((M, H, N), f, n), mine)[0][1]
        for limb in abreast(count):
            felt = bear(levels, limb, ((M, H, N), f, n), mine)
            N, n = felt[0][2], felt[2]
    M, H, N = inverse_blocks(M, H, N)
    remember_base(memory, M, H, N)
    a, al = apply_blocks(M, H, N, sub(mul(R, part3(tau, 3)), f), sub(mul(R, part3(tau, 0)), n))
    write_base(R, al, a, qdd)
    return a, al


@inline
def factorize(levels, robot, qd, tau, f_ext, added, memory, qdd):
    """H = L^T D L, H with `added` on its diagonal, and D^-1 L^-T (tau - C), into memory; needs `update_motion`.

    Returns the acceleration of the base, linear and angular, world axes; in its own axes, into qdd.
    """
    _, _, iv = dimensions(levels)
    motion = base_motion(levels, robot, qd, memory)
    factor_limbs(levels, robot, motion, tau, f_ext, added, memory)
    if iv > 0:
        return accelerate_base(levels, robot, motion, tau, f_ext, memory, qdd)
    return ZERO3, ZERO3


@inline
def free_motion(levels, robot, qd, tau, f_ext, added, memory, qdd):
    """qdd = H^-1 (tau - C), as `tree.joint_space.free_motion`."""
    _, _, iv = dimensions(levels)
    a, al = factorize(levels, robot, qd, tau, f_ext, added, memory, qdd)
    for g, _ in enumerate(levels[0]):
        _, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        respond_limbs(levels, count, a, al, mine)
        write_accelerations(levels, count, iv + first, mine, qdd)


@inline
def respond_limbs(levels, count, a, al, memory):
    """Accelerations of joints into LOAD, of what is there, L^-T x, and of the base's: a, al, world axes."""
    depth = len(levels)
    for j in range(depth):
        t = depth - 1 - j
        for limb in abreast(count):
            accelerate_joint(t, limb, a, al, memory)
        for s in range(t + 1, depth):
            for limb in abreast(count):
                less_joint(t, s, limb, memory)


@inline
def write_accelerations(levels, count, iv, memory, qdd):
    """Copy the accelerations of joints to their places."""
    depth = len(levels)
    for limb in abreast(count):
        for j, _level in enumerate(levels):
            to_lane(qdd, iv + limb * depth + j, lane(memory, in_memory(depth - 1 - j, limb) + LOAD * GROUP))
