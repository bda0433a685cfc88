# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics of a star: ABA.

It goes joint by joint through memory.
"""

from ...compiler import abreast, brief, inline, lane, routine, stack, to_lane
from ..lanes import quad3, quad6, quad9, to_quad3, to_quad6, to_quad9
from ..link import (
    accelerate,
    add_blocks,
    blocks_to_parent,
    body_bias,
    body_blocks,
    force_to_parent,
    joint_acceleration,
    project,
    project_force,
    revolute_column,
    revolute_product,
)
from ..rows import ARMATURE, P0, nonzero, part3, part3_to
from ..scalar import ZERO3, ZERO6, ZERO9, add, apply_blocks, cross, inverse_blocks, sub, tmul
from .layout import (
    ANGLE,
    ANGULAR,
    CA,
    CL,
    DI,
    EFFORT,
    GROUP,
    LINEAR,
    MEMORY,
    PASSED,
    PASSED_F,
    PASSED_H,
    PASSED_M,
    PASSED_N,
    PASSED_T,
    RATE,
    SPIN,
    UA,
    UL,
    E,
    U,
    base_body,
    base_motion,
    dimensions,
    fits,
    group,
    group_memory,
    in_memory,
    kept_joint,
    parameter,
    placement,
    rigid_body,
    to_base,
)
from .wrenches import base_less_wrench, subtract_wrenches


@inline
def articulate(robot, t, limb, M, H, N, memory):
    """I^a, U, 1/D of joint t (A5, A7) from I^A; U, 1/D are written."""
    ul, ua, d = revolute_column(M, H, N)
    di = 1.0 / (d + lane(robot, parameter(t, ARMATURE, limb)))
    o = in_memory(t, limb)
    to_quad3(memory, o + UL * GROUP, ul)
    to_quad3(memory, o + UA * GROUP, ua)
    to_lane(memory, o + DI * GROUP, di)
    return project(M, H, N, ul, ua, di), ul, ua, di


@inline
def place_joint(robot, t, limb, memory):
    """Write E and angular velocity of joint t, whose angle and rate are in memory."""
    o = in_memory(t, limb)
    E_, _ = placement(robot, t, limb, lane(memory, o + ANGLE * GROUP))
    w = tmul(E_, quad3(memory, in_memory(t + 1, limb) + SPIN * GROUP))
    to_quad9(memory, o + E * GROUP, E_)
    to_quad3(memory, o + SPIN * GROUP, (w[0], w[1], w[2] + lane(memory, o + RATE * GROUP)))


@routine
def place(levels, robot, q, qd, memory):
    """Write E, rate and angular velocity of all joints."""
    _, iq, iv = dimensions(levels)
    depth = len(levels)
    spin = part3(qd, 0) if iv > 0 else ZERO3
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        to_base(levels, SPIN, spin, mine)
        for limb in abreast(count):
            for j, _level in enumerate(levels):
                o, k = in_memory(depth - 1 - j, limb), first + limb * depth + j
                to_lane(mine, o + ANGLE * GROUP, lane(q, iq + k))
                to_lane(mine, o + RATE * GROUP, lane(qd, iv + k))
        for j in range(depth):
            for limb in abreast(count):
                place_joint(own, depth - 1 - j, limb, mine)


@inline
def passed_inertia(memory, limb):
    """I^a and p^a that a joint passed to its parent (A7, A8)."""
    o = PASSED + limb
    M, H, N = o + PASSED_M * GROUP, o + PASSED_H * GROUP, o + PASSED_N * GROUP
    blocks = quad6(memory, M), quad9(memory, H), quad6(memory, N)
    return blocks, quad3(memory, o + PASSED_F * GROUP), quad3(memory, o + PASSED_T * GROUP)


@inline
def pass_inertia(memory, limb, blocks, f, n):
    """Write what `passed_inertia` reads."""
    o = PASSED + limb
    to_quad6(memory, o + PASSED_M * GROUP, blocks[0])
    to_quad9(memory, o + PASSED_H * GROUP, blocks[1])
    to_quad6(memory, o + PASSED_N * GROUP, blocks[2])
    to_quad3(memory, o + PASSED_F * GROUP, f)
    to_quad3(memory, o + PASSED_T * GROUP, n)


@inline
def articulate_joint(robot, t, limb, memory):
    """Passes 1 and 2 of ABA at joint t, which is placed: what its parent feels from what its body feels (A3-A8)."""
    o = in_memory(t, limb)
    E_, p = quad9(memory, o + E * GROUP), quad3(robot, parameter(t, P0, limb))
    w, wi = quad3(memory, in_memory(t + 1, limb) + SPIN * GROUP), quad3(memory, o + SPIN * GROUP)
    cl, ca = revolute_product(E_, wi, cross(w, cross(w, p)), lane(memory, o + RATE * GROUP))
    to_quad3(memory, o + CL * GROUP, cl)
    to_quad3(memory, o + CA * GROUP, ca)
    m, h, inertia = rigid_body(robot, t, limb)
    f, n = body_bias(h, inertia, wi)
    tip, ft, nt = passed_inertia(memory, limb)
    M, H, N = add_blocks(body_blocks(m, h, inertia), tip)
    f = add(f, ft)
    n = add(n, nt)
    (M, H, N), ul, ua, di = articulate(robot, t, limb, M, H, N, memory)
    u = lane(memory, o + EFFORT * GROUP) - n[2]
    to_lane(memory, o + U * GROUP, u)
    f, n = project_force((M, H, N), (ul, ua, di), u, (f, n), (cl, ca))
    f, n = force_to_parent(E_, p, f, n)
    pass_inertia(memory, limb, blocks_to_parent(E_, p, M, H, N), f, n)


@inline
def accelerate_joint(robot, t, limb, memory):
    """Pass 3 of ABA at joint t: its acceleration (A3, A6)."""
    o, c = in_memory(t, limb), in_memory(t + 1, limb)
    E_, p, ul, ua, di = kept_joint(robot, t, limb, memory)
    a, al = quad3(memory, c + LINEAR * GROUP), quad3(memory, c + ANGULAR * GROUP)
    a, al = accelerate(E_, p, a, al, quad3(memory, o + CL * GROUP), quad3(memory, o + CA * GROUP))
    x = joint_acceleration(ul, ua, di, lane(memory, o + U * GROUP), a, al)
    to_lane(memory, o + U * GROUP, x)
    to_quad3(memory, o + LINEAR * GROUP, a)
    to_quad3(memory, o + ANGULAR * GROUP, (al[0], al[1], al[2] + x))


@routine
def aba(levels, robot, q, qd, tau, f_ext, memory, qdd):
    """ABA: qdd of q, qd, tau; joints are placed in memory."""
    _, _, iv = dimensions(levels)
    depth = len(levels)
    attacked = nonzero(f_ext)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        for limb in abreast(count):
            pass_inertia(mine, limb, (ZERO6, ZERO9, ZERO6), ZERO3, ZERO3)
        for limb in abreast(count):
            for j, _level in enumerate(levels):
                o = in_memory(depth - 1 - j, limb) + EFFORT * GROUP
                to_lane(mine, o, lane(tau, iv + first + limb * depth + j))
        for t in range(depth):
            if attacked:
                subtract_wrenches(levels, own, count, t, 6 + iv + 6 * first, f_ext, mine)
            for limb in abreast(count):
                articulate_joint(own, t, limb, mine)
    spin, a = base_motion(levels, robot, q, qd)
    a, al = base_acceleration(levels, robot, spin, a, tau, f_ext, memory, qdd)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        to_base(levels, LINEAR, a, mine)
        to_base(levels, ANGULAR, al, mine)
        for j in range(depth):
            for limb in abreast(count):
                accelerate_joint(own, depth - 1 - j, limb, mine)
        for limb in abreast(count):
            for j, _level in enumerate(levels):
                x = lane(mine, in_memory(depth - 1 - j, limb) + U * GROUP)
                to_lane(qdd, iv + first + limb * depth + j, x)


@inline
def base_acceleration(levels, robot, spin, a, tau, f_ext, memory, qdd):
    """Acceleration of the base's origin and angular one, from what it feels of its limbs; a free base's (A10) into qdd.

    spin, a: those of `base_motion`.
    """
    _, _, iv = dimensions(levels)
    if iv == 0:
        return a, ZERO3
    m, h, inertia = base_body(robot)
    f, n = body_bias(h, inertia, spin)
    f, n = base_less_wrench(robot, f, n, f_ext)
    M, H, N = body_blocks(m, h, inertia)
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        for limb in range(count):
            own, fl, nl = passed_inertia(group_memory(memory, g), limb)
            M, H, N = add_blocks((M, H, N), own)
            f = add(f, fl)
            n = add(n, nl)
    M, H, N = inverse_blocks(M, H, N)
    a_free, al = apply_blocks(M, H, N, sub(part3(tau, 3), f), sub(part3(tau, 0), n))
    part3_to(qdd, 0, al)
    part3_to(qdd, 3, sub(a_free, a))
    return a_free, al


@brief
def forward_dynamics(levels, robot, q, qd, tau, f_ext, qdd):
    """ABA for unvalidated input."""
    if not fits(levels, q, qd, tau, f_ext):
        return False
    memory = stack(MEMORY)
    place(levels, robot, q, qd, memory)
    aba(levels, robot, q, qd, tau, f_ext, memory, qdd)
    return True
