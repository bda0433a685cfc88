# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Driver for a base, free or fixed, that carries equal serial limbs of revolute joints: one SIMD lane per limb.

ABA, `books` and the paths of contacts go joint by joint through memory: a step of the plant has more code than the
processor keeps at hand, and what it runs once it must fetch. RNEA, CRBA and short ways walk a limb by recursion on
`levels`, a tuple with one entry per joint that is still ahead, so that a kernel is compiled once per depth and a whole
limb stays in registers. An entry has a number for each group of limbs that go abreast.

`robot` is the robot as made by `pack`: the rows of world and base, then those of the limbs in lanes. Joints are counted
from the tip: the one at hand is `len(levels) - 1`. `iq`, `iv`: its place in q and in qd. `limb`: its lane.
`f_ext` is [n, f] per body (6 nb,), link axes, or empty. What Python calls with input that nobody has looked at returns
False, and does nothing, where that does not fit the robot or is not finite.
"""

import numpy as np

from ..compiler import LANES, QUAD, abreast, brief, combine, combine_rows, inline, lane, routine, stack, to_lane
from . import rows
from .lanes import aligned, quad3, quad6, quad9, to_quad3, to_quad6, to_quad9
from .link import (
    accelerate,
    add_blocks,
    blocks_to_parent,
    body_bias,
    body_blocks,
    body_books,
    body_force,
    body_matrix,
    composite_to_parent,
    force_to_parent,
    joint_acceleration,
    project,
    project_force,
    propagate,
    revolute_column,
    revolute_motion,
    revolute_placement,
    revolute_product,
    root_motion,
)
from .rows import (
    ARMATURE,
    BODY,
    FOLLOWS,
    GRAVITY,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    P0,
    PARAMETERS,
    PARENT,
    R0,
    REVOLUTE,
    ROTOR,
    TURN,
    finite,
    nonzero,
    part3,
    part3_to,
    part4,
    part6,
    part6_to,
    part9,
    part9_to,
    set3,
    set9,
    set_column3,
)
from .scalar import (
    IDENTITY,
    ZERO3,
    ZERO6,
    ZERO9,
    acceleration_matrix,
    add,
    add6,
    apply_blocks,
    cross,
    dot,
    inverse_blocks,
    matmul,
    mul,
    quaternion_matrix,
    scale,
    sincos,
    sub,
    tmul,
)

GROUP, GROUPS = QUAD, 2
"""Limbs that go abreast, one in each lane of a 256-bit register, and most groups of them.

A group has packed figures and memory of its own: in wider lanes, half of them empty with four limbs, the data of a step
of the plant would not stay in the nearest cache.
"""
DEEPEST = 8
"""Most joints of a limb: the recursion's compile time grows with them."""

E, CL, CA, UL, UA, DI, U, KEPT = 0, 9, 12, 15, 18, 21, 22, 23
"""Columns of what ABA keeps of a joint on its way back, and their number."""
SPIN, LINEAR, ANGULAR, EFFORT, EXTRA, SPEED, ATTITUDE, PLACE, RATE, JOINT = 23, 26, 29, 32, 33, 34, 37, 46, 49, 50
"""Columns of a joint in memory, behind those: angular velocity; acceleration of the origin, and angular one; joint
effort, and what joins its armature; velocity of the origin; attitude and origin in the world; joint rate. Their number.
The base stands behind the joint nearest to it."""
FELT_M, FELT_H, FELT_N, FELT_F, FELT_T, FELT = 0, 6, 15, 21, 24, 27
"""Columns of what a joint's carrier feels of it, inertia and force, and their number."""

COUNT, BASE_DOFS, OWN = 2 * PARAMETERS, 2 * PARAMETERS + 1, 2 * PARAMETERS + 2
HEAD = 80
"""Behind the rows of world and base: how many limbs, 6 or 0 for the base, how many limbs of the group; length of all,
whole cache lines."""

FEELING = (DEEPEST + 1) * JOINT * GROUP
BASE = FEELING + FELT * GROUP
GROUP_MEMORY = (BASE + 21 + LANES) // LANES * LANES
MEMORY = GROUPS * GROUP_MEMORY
"""Memory of a group: the joints, from FEELING what their carriers feel, from BASE the inverse inertia of a free base,
which only the first group has; its size, and that of all."""
EMPTY = -1.0
"""Joint of a lane without a contact."""
AXES, ONE_AXIS, BASE_ROWS = (0, 1, 2), (0,), (0, 1, 2, 3, 4, 5)
"""Of a contact and of a scalar row, which are as many columns; rows of a free base. Recursions run on their lengths."""
TAKEN_SIZE = DEEPEST + 1
PATH_SIZE = DEEPEST * 3 * GROUP
CARRIED_SIZE = 18 * GROUP
WRENCH_SIZE = DEEPEST * 6 * GROUP
JOINT_SIZE = DEEPEST * GROUP
ENTRY_SIZE = DEEPEST * DEEPEST * GROUP


def shape(topology: np.ndarray, parameters: np.ndarray, floating_base: bool) -> tuple[int, int] | None:
    """Count and depth of the limbs if the robot is nothing but a base and equal limbs this driver can take."""
    first = 2 if floating_base else 1
    parent = topology[first:, PARENT]
    base = first - 1
    limbs = int((parent == base).sum())
    depth = len(parent) // limbs if limbs else 0
    if not (1 < limbs <= GROUP * GROUPS and depth <= DEEPEST and limbs * depth == len(parent)):
        return None
    chains = np.arange(first - 1, first - 1 + len(parent))
    chains[::depth] = base
    plain = (topology[first:, KIND] == REVOLUTE) & (topology[first:, FOLLOWS] == 0) & (topology[first:, BODY] >= 0)
    unspun = ~parameters[first:, ROTOR : ROTOR + 3].any(axis=1)
    return (limbs, depth) if (parent == chains).all() and (plain & unspun).all() else None


def levels_of(limbs: int, depth: int) -> tuple[tuple[int, ...], ...]:
    """What recursions walk along: an entry per joint of a limb, in it a number per group."""
    return tuple((t,) * -(-limbs // GROUP) for t in range(depth))


def pack(parameters: np.ndarray, limbs: int, depth: int) -> np.ndarray:
    """Arrange the rows of world and base, then the limbs', the last of `parameters`, by joint from the tip and lane."""
    first = len(parameters) - limbs * depth
    groups = -(-limbs // GROUP)
    out = aligned((groups, HEAD + depth * PARAMETERS * GROUP))
    out[:, : first * PARAMETERS] = parameters[:first].ravel()
    out[:, COUNT], out[:, BASE_DOFS] = limbs, 6 * (first - 1)
    out[:, OWN] = [min(GROUP, limbs - g * GROUP) for g in range(groups)]
    lanes = out[:, HEAD:].reshape(groups, depth, PARAMETERS, GROUP)
    for limb, own in enumerate(parameters[first:].reshape(limbs, depth, PARAMETERS)):
        lanes[limb // GROUP, :, :, limb % GROUP] = own[::-1]
    return out.ravel()


# ---- what the recursions share -------------------------------------------------------------------------------------


@inline
def group(levels, robot, g):
    """Packed figures of a group, which takes the place of `robot`; how many limbs it has; first of its joints."""
    depth = len(levels)
    own = robot[g * (HEAD + depth * PARAMETERS * GROUP) :]
    return own, int(own[OWN]), g * GROUP * depth


@inline
def group_memory(memory, g):
    """Memory of a group."""
    return memory[g * GROUP_MEMORY :]


@inline
def parameter(t, column, limb):
    """Place of a column of joint t in the figures of a group."""
    return HEAD + (t * PARAMETERS + column) * GROUP + limb


@inline
def in_memory(t, limb):
    """Place of joint t in memory."""
    return t * JOINT * GROUP + limb


@inline
def placement(robot, t, limb, x):
    """E, p of joint t at x."""
    c, s = sincos(x)
    return revolute_placement(quad9(robot, parameter(t, R0, limb)), quad3(robot, parameter(t, P0, limb)), c, s)


@inline
def rigid_body(robot, t, limb):
    """m, h, I of the body behind joint t."""
    return (
        lane(robot, parameter(t, MASS, limb)),
        quad3(robot, parameter(t, MOMENT, limb)),
        quad6(robot, parameter(t, INERTIA, limb)),
    )


@inline
def kept_joint(robot, t, limb, memory):
    """E, p, U, 1/D of joint t."""
    o = in_memory(t, limb)
    return (
        quad9(memory, o + E * GROUP),
        quad3(robot, parameter(t, P0, limb)),
        quad3(memory, o + UL * GROUP),
        quad3(memory, o + UA * GROUP),
        lane(memory, o + DI * GROUP),
    )


@inline
def dimensions(levels, robot):
    """Number of limbs, and the place of the first limb's joints in q and in qd."""
    base = int(robot[BASE_DOFS])
    return int(robot[COUNT]), base + 1 if base > 0 else 0, base


@inline
def fits(levels, robot, q, qd, u, f_ext):
    """Whether the vectors have the lengths nq, nv, nv, and all are finite."""
    limbs, iq, iv = dimensions(levels, robot)
    joints = limbs * len(levels)
    if q.shape[0] != iq + joints or qd.shape[0] != iv + joints or u.shape[0] != iv + joints:
        return False
    return finite(q) and finite(qd) and finite(u) and finite(f_ext)


@inline
def spread_wrenches(levels, own, limbs, i, f_ext, out):
    """Wrenches of the environment on the bodies of a group, the first with f_ext[i], row axes, for `less_wrench`.

    Returns how far a lane's numbers stand apart in `out`: 0 without wrenches, one zero serves all.
    """
    depth = len(levels)
    if not nonzero(f_ext):
        for limb in abreast(GROUP):
            to_lane(out, limb, 0.0)
        return 0
    for j in range(depth):
        t = depth - 1 - j
        o = t * 6 * GROUP
        for limb in range(limbs):
            f, n = wrench_on(levels, own, limb, j, i, f_ext)
            to_quad3(out, o + limb, f)
            to_quad3(out, o + 3 * GROUP + limb, n)
    return GROUP


@inline
def wrench_on(levels, own, limb, j, i, f_ext):
    """Force and moment of the environment on the body of a limb's joint j, counted from the base, row axes."""
    depth = len(levels)
    turn = quad9(own, parameter(depth - 1 - j, TURN, limb))
    i += 6 * (limb * depth + j)
    n = (lane(f_ext, i), lane(f_ext, i + 1), lane(f_ext, i + 2))
    f = (lane(f_ext, i + 3), lane(f_ext, i + 4), lane(f_ext, i + 5))
    return tmul(turn, f), tmul(turn, n)


@inline
def subtract_wrenches(levels, own, limbs, t, i, f_ext, memory):
    """Subtract the environment's wrenches on the bodies of joint t from what they feel; i: as in `spread_wrenches`."""
    for limb in range(limbs):
        f, n = wrench_on(levels, own, limb, len(levels) - 1 - t, i, f_ext)
        o = FEELING + limb
        to_quad3(memory, o + FELT_F * GROUP, sub(quad3(memory, o + FELT_F * GROUP), f))
        to_quad3(memory, o + FELT_T * GROUP, sub(quad3(memory, o + FELT_T * GROUP), n))


@inline
def less_wrench(f, n, wrench, t, limb):
    """Force of a body less the environment's; wrench: what `spread_wrenches` wrote and returned."""
    x, s = wrench
    o = t * 6 * s + limb
    fx = (lane(x, o), lane(x, o + s), lane(x, o + 2 * s))
    nx = (lane(x, o + 3 * s), lane(x, o + 4 * s), lane(x, o + 5 * s))
    return sub(f, fx), sub(n, nx)


@inline
def base_motion(robot, q, qd):
    """Angular velocity of the base and acceleration of its origin while qdd = 0; the world accelerates at -g."""
    g = part3(robot, GRAVITY)
    if robot[BASE_DOFS] == 0.0:
        return ZERO3, scale(-1.0, g)
    Q = part4(q, 3)
    return part3(qd, 0), root_motion(quaternion_matrix(Q[0], Q[1], Q[2], Q[3]), part3(qd, 0), part3(qd, 3), g)


@inline
def base_body(robot):
    """m, h, I of a free base."""
    return robot[PARAMETERS + MASS], part3(robot, PARAMETERS + MOMENT), part6(robot, PARAMETERS + INERTIA)


@inline
def base_less_wrench(robot, f, n, f_ext):
    """Force of a free base less the environment's."""
    if f_ext.shape[0] == 0:
        return f, n
    turn = part9(robot, PARAMETERS + TURN)
    return sub(f, tmul(turn, part3(f_ext, 9))), sub(n, tmul(turn, part3(f_ext, 6)))


@inline
def collect(levels, limbs, results, first, out):
    """Copy the joints' results from the lanes to `out` from index `first`."""
    depth = len(levels)
    for limb in range(limbs):
        for j in range(depth):
            to_lane(out, first + limb * depth + j, lane(results, (depth - 1 - j) * GROUP + limb))


# ---- inverse dynamics ----------------------------------------------------------------------------------------------


@inline
def rnea_limb(levels, robot, limb, iq, iv, q, qd, qdd, wrench, w, al, A, a, tau):
    """Force of the limb ahead on its carrier, which moves with w, al, A = [al] + [w]^2 and a (R1-R5)."""
    if len(levels) == 0:
        return ZERO3, ZERO3
    t = len(levels) - 1
    E_, p = placement(robot, t, limb, lane(q, iq))
    acceleration = lane(qdd, iv)
    wi, ai, ca = revolute_motion(E_, w, add(a, mul(A, p)), lane(qd, iv))
    ali = add(add(tmul(E_, al), ca), (0.0, 0.0, acceleration))
    m, h, inertia = rigid_body(robot, t, limb)
    Ai = acceleration_matrix(wi, ali)
    f, n = body_force(m, h, inertia, wi, ali, Ai, ai)
    f, n = less_wrench(f, n, wrench, t, limb)
    ft, nt = rnea_limb(levels[1:], robot, limb, iq + 1, iv + 1, q, qd, qdd, wrench, wi, ali, Ai, ai, tau)
    f = add(f, ft)
    n = add(n, nt)
    to_lane(tau, t * GROUP + limb, n[2] + lane(robot, parameter(t, ARMATURE, limb)) * acceleration)
    return force_to_parent(E_, p, f, n)


@routine
def rnea(levels, robot, q, qd, qdd, f_ext, tau):
    """RNEA: tau of q, qd, qdd."""
    _, iq, iv = dimensions(levels, robot)
    spread, x = stack(WRENCH_SIZE), stack(JOINT_SIZE)
    w, a = base_motion(robot, q, qd)
    al = ZERO3
    if iv > 0:
        al = part3(qdd, 0)
        a = add(a, part3(qdd, 3))
    A = acceleration_matrix(w, al)
    m, h, inertia = base_body(robot)
    f, n = body_force(m, h, inertia, w, al, A, a)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        wrench = spread, spread_wrenches(levels, own, count, 6 + iv + 6 * first, f_ext, spread)
        for limb in range(count):
            k = first + limb * len(levels)
            fl, nl = rnea_limb(levels, own, limb, iq + k, iv + k, q, qd, qdd, wrench, w, al, A, a, x)
            f = add(f, fl)
            n = add(n, nl)
        collect(levels, count, x, iv + first, tau)
    if iv > 0:
        f, n = base_less_wrench(robot, f, n, f_ext)
        part3_to(tau, 0, n)
        part3_to(tau, 3, f)


@brief
def inverse_dynamics(levels, robot, q, qd, qdd, f_ext, tau):
    """RNEA for input that nobody has looked at."""
    if not fits(levels, robot, q, qd, qdd, f_ext):
        return False
    rnea(levels, robot, q, qd, qdd, f_ext, tau)
    return True


# ---- forward dynamics ----------------------------------------------------------------------------------------------


@inline
def articulate(robot, t, limb, M, H, N, extra, memory):
    """I^a, U, 1/D of joint t (A5, A7) from I^A; `extra` joins its armature; U, 1/D are written."""
    ul, ua, d = revolute_column(M, H, N)
    di = 1.0 / (d + lane(robot, parameter(t, ARMATURE, limb)) + extra)
    o = in_memory(t, limb)
    to_quad3(memory, o + UL * GROUP, ul)
    to_quad3(memory, o + UA * GROUP, ua)
    to_lane(memory, o + DI * GROUP, di)
    return project(M, H, N, ul, ua, di), ul, ua, di


@inline
def remember_base(memory, M, H, N):
    """Write the inverse inertia of a free base to memory."""
    part6_to(memory, BASE, M)
    part9_to(memory, BASE + 6, H)
    part6_to(memory, BASE + 15, N)


@inline
def base_inverse(memory):
    """Inverse inertia of a free base from memory."""
    return part6(memory, BASE), part9(memory, BASE + 6), part6(memory, BASE + 15)


@inline
def to_base(levels, column, x, memory):
    """Write three numbers of the base, which all limbs share, for a group."""
    for limb in abreast(GROUP):
        to_quad3(memory, in_memory(len(levels), limb) + column * GROUP, x)


@inline
def turn_joint(robot, t, limb, x, rate, memory):
    """Write E, rate and angular velocity of joint t at x."""
    o = in_memory(t, limb)
    E_, _ = placement(robot, t, limb, x)
    w = tmul(E_, quad3(memory, in_memory(t + 1, limb) + SPIN * GROUP))
    to_quad9(memory, o + E * GROUP, E_)
    to_lane(memory, o + RATE * GROUP, rate)
    to_quad3(memory, o + SPIN * GROUP, (w[0], w[1], w[2] + rate))


@routine
def place(levels, robot, q, qd, memory):
    """Write E, rate and angular velocity of all joints."""
    _, iq, iv = dimensions(levels, robot)
    spin = part3(qd, 0) if iv > 0 else ZERO3
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        to_base(levels, SPIN, spin, mine)
        for j in range(len(levels)):
            for limb in abreast(count):
                k = first + limb * len(levels) + j
                turn_joint(own, len(levels) - 1 - j, limb, lane(q, iq + k), lane(qd, iv + k), mine)


@inline
def feeling(memory, limb):
    """I^a and p^a that a joint's carrier feels of it."""
    o = FEELING + limb
    blocks = quad6(memory, o + FELT_M * GROUP), quad9(memory, o + FELT_H * GROUP), quad6(memory, o + FELT_N * GROUP)
    return blocks, quad3(memory, o + FELT_F * GROUP), quad3(memory, o + FELT_T * GROUP)


@inline
def feel(memory, limb, blocks, f, n):
    """Write what `feeling` reads."""
    o = FEELING + limb
    to_quad6(memory, o + FELT_M * GROUP, blocks[0])
    to_quad9(memory, o + FELT_H * GROUP, blocks[1])
    to_quad6(memory, o + FELT_N * GROUP, blocks[2])
    to_quad3(memory, o + FELT_F * GROUP, f)
    to_quad3(memory, o + FELT_T * GROUP, n)


@inline
def inward(robot, t, limb, memory):
    """Passes 1 and 2 of ABA at joint t, which is placed: what its carrier feels from what its body feels (A3-A8)."""
    o = in_memory(t, limb)
    E_, p = quad9(memory, o + E * GROUP), quad3(robot, parameter(t, P0, limb))
    w, wi = quad3(memory, in_memory(t + 1, limb) + SPIN * GROUP), quad3(memory, o + SPIN * GROUP)
    cl, ca = revolute_product(E_, wi, cross(w, cross(w, p)), lane(memory, o + RATE * GROUP))
    to_quad3(memory, o + CL * GROUP, cl)
    to_quad3(memory, o + CA * GROUP, ca)
    m, h, inertia = rigid_body(robot, t, limb)
    f, n = body_bias(h, inertia, wi)
    tip, ft, nt = feeling(memory, limb)
    M, H, N = add_blocks(body_blocks(m, h, inertia), tip)
    f = add(f, ft)
    n = add(n, nt)
    effort, extra = lane(memory, o + EFFORT * GROUP), lane(memory, o + EXTRA * GROUP)
    (M, H, N), ul, ua, di = articulate(robot, t, limb, M, H, N, extra, memory)
    u = effort - n[2]
    to_lane(memory, o + U * GROUP, u)
    f, n = project_force(M, H, N, ul, ua, di, u, f, n, cl, ca)
    f, n = force_to_parent(E_, p, f, n)
    feel(memory, limb, blocks_to_parent(E_, p, M, H, N), f, n)


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
def aba(levels, robot, q, qd, tau, f_ext, added, memory, qdd):
    """ABA: qdd of q, qd, tau; the joints are placed in memory, which then holds what the paths of contacts need.

    added (nv,) joins the armature; None: nothing does.
    """
    _, _, iv = dimensions(levels, robot)
    depth = len(levels)
    attacked = nonzero(f_ext)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        for limb in abreast(count):
            feel(mine, limb, (ZERO6, ZERO9, ZERO6), ZERO3, ZERO3)
        for limb in range(count):
            for j in range(depth):
                o = in_memory(depth - 1 - j, limb)
                k = iv + first + limb * depth + j
                to_lane(mine, o + EFFORT * GROUP, lane(tau, k))
                to_lane(mine, o + EXTRA * GROUP, 0.0 if added is None else lane(added, k))
        for t in range(depth):
            if attacked:
                subtract_wrenches(levels, own, count, t, 6 + iv + 6 * first, f_ext, mine)
            for limb in abreast(count):
                inward(own, t, limb, mine)
    spin, a = base_motion(robot, q, qd)
    a, al = base_acceleration(levels, robot, spin, a, tau, f_ext, memory, qdd)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        mine = group_memory(memory, g)
        to_base(levels, LINEAR, a, mine)
        to_base(levels, ANGULAR, al, mine)
        for j in range(depth):
            for limb in abreast(count):
                accelerate_joint(own, depth - 1 - j, limb, mine)
        for limb in range(count):
            for j in range(depth):
                x = lane(mine, in_memory(depth - 1 - j, limb) + U * GROUP)
                to_lane(qdd, iv + first + limb * depth + j, x)


@inline
def base_acceleration(levels, robot, spin, a, tau, f_ext, memory, qdd):
    """Acceleration of the base's origin and angular one, from what it feels of its limbs; a free base's (A10) into qdd.

    spin, a: those of `base_motion`.
    """
    if robot[BASE_DOFS] == 0.0:
        return a, ZERO3
    m, h, inertia = base_body(robot)
    f, n = body_bias(h, inertia, spin)
    f, n = base_less_wrench(robot, f, n, f_ext)
    M, H, N = body_blocks(m, h, inertia)
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        for limb in range(count):
            own, fl, nl = feeling(group_memory(memory, g), limb)
            M, H, N = add_blocks((M, H, N), own)
            f = add(f, fl)
            n = add(n, nl)
    M, H, N = inverse_blocks(M, H, N)
    remember_base(memory, M, H, N)
    a_free, al = apply_blocks(M, H, N, sub(part3(tau, 3), f), sub(part3(tau, 0), n))
    part3_to(qdd, 0, al)
    part3_to(qdd, 3, sub(a_free, a))
    return a_free, al


@brief
def forward_dynamics(levels, robot, q, qd, tau, f_ext, qdd):
    """ABA for input that nobody has looked at."""
    if not fits(levels, robot, q, qd, tau, f_ext):
        return False
    memory = stack(MEMORY)
    place(levels, robot, q, qd, memory)
    aba(levels, robot, q, qd, tau, f_ext, None, memory, qdd)
    return True


# ---- joint-space inertia -------------------------------------------------------------------------------------------


@inline
def carry(columns, E_, p, t, deeper, limb, entries):
    """Columns of H of the joints further out: read off their entries with joint t, then carry them to its parent."""
    if len(columns) == 0:
        return ()
    f, n = columns[0]
    to_lane(entries, (t * DEEPEST + deeper) * GROUP + limb, n[2])
    own = force_to_parent(E_, p, f, n)
    return (own, *carry(columns[1:], E_, p, t, deeper - 1, limb, entries))


@inline
def crba_limb(levels, robot, limb, iq, q, entries):
    """Composite m, h, I of the limb ahead and its columns of H, nearest first, as forces on its carrier (C1-C3)."""
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
    columns = carry((own, *columns), E_, p, t, t, limb, entries)
    o = (t * DEEPEST + t) * GROUP + limb
    to_lane(entries, o, lane(entries, o) + lane(robot, parameter(t, ARMATURE, limb)))
    h, J = composite_to_parent(E_, p, m, h, J)
    return (m, h, J), columns


@inline
def keep(columns, t, limb, out):
    """Write the columns of one limb, as the base feels them."""
    if len(columns) == 0:
        return
    f, n = columns[0]
    to_quad3(out, t * 6 * GROUP + limb, n)
    to_quad3(out, (t * 6 + 3) * GROUP + limb, f)
    keep(columns[1:], t - 1, limb, out)


@inline
def fill_limb(levels, limb, first, base, entries, columns, H):
    """Copy the entries of one limb and their mirror images to H."""
    depth = len(levels)
    for i in range(depth):
        for j in range(i, depth):
            x = lane(entries, ((depth - 1 - i) * DEEPEST + depth - 1 - j) * GROUP + limb)
            H[first + i, first + j] = x
            H[first + j, first + i] = x
        for k in range(base):
            x = lane(columns, ((depth - 1 - i) * 6 + k) * GROUP + limb)
            H[k, first + i] = x
            H[first + i, k] = x


@routine
def crba(levels, robot, q, H_out):
    """H(q) by CRBA."""
    _, iq, iv = dimensions(levels, robot)
    entries = stack(ENTRY_SIZE)
    columns = stack(WRENCH_SIZE)
    depth = len(levels)
    m, h, J = base_body(robot)
    H_out[:, :] = 0.0
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        for limb in range(count):
            (mt, ht, Jt), forces = crba_limb(levels, own, limb, iq + first + limb * depth, q, entries)
            keep(forces, depth - 1, limb, columns)
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
    """H(q) by CRBA for a q that nobody has looked at."""
    limbs, iq, _ = dimensions(levels, robot)
    if q.shape[0] != iq + limbs * len(levels) or not finite(q):
        return False
    crba(levels, robot, q, H_out)
    return True


# ---- paths of contacts and joints (see `propagators`) --------------------------------------------------------------


@inline
def articulate_limb(levels, robot, limb, iq, q, memory):
    """I^a of the limb ahead as its carrier feels it (A5, A7), all that paths need of `aba`."""
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
def rank(levels, w_rows, i, limbs):
    """Limb of row i (0 for the base) and the number of joints between its body and the limb's tip."""
    depth = len(levels)
    k = i - (w_rows - limbs * depth)
    if k >= 0:
        return k // depth, depth - 1 - k % depth
    return 0, depth


@inline
def add_force(force, here, Ri, r, d):
    """Force and moment plus, where `here` is 1, those of a unit force along d (world axes) at r."""
    f = scale(here, tmul(Ri, d))
    return add(force[0], f), add(force[1], cross(r, f))


@inline
def forces_in(axes, carried, o):
    """A force for each of `axes` on its way inwards, force before moment, from place o on."""
    if len(axes) == 0:
        return ()
    own = quad3(carried, o), quad3(carried, o + 3 * GROUP)
    return (own, *forces_in(axes[1:], carried, o + 6 * GROUP))


@inline
def carry_on(forces, carried, o):
    """Write what `forces_in` reads."""
    if len(forces) == 0:
        return
    f, n = forces[0]
    to_quad3(carried, o, f)
    to_quad3(carried, o + 3 * GROUP, n)
    carry_on(forces[1:], carried, o + 6 * GROUP)


@inline
def cross_joint(forces, joint, o, paths):
    """Write what forces do to a joint, z, into `paths` from o; returns what its carrier feels (P5)."""
    if len(forces) == 0:
        return ()
    f, n = forces[0]
    placed, p, ul, ua, di = joint
    to_lane(paths, o, n[2])
    onward = propagate(placed, p, ul, ua, di, n[2], f, n)
    return (onward, *cross_joint(forces[1:], joint, o + GROUP, paths))


@inline
def seat_forces(t, limb, joint, contact, seat, memory, carried):
    """Add unit forces along the axes of the contact that sits on the body of joint t, or on the base."""
    here = 1.0 if lane(joint, limb) == t else 0.0
    o = 12 * int(lane(contact, limb))
    r = (lane(seat, o), lane(seat, o + 1), lane(seat, o + 2))
    R = quad9(memory, in_memory(t, limb) + ATTITUDE * GROUP)
    x, y, z = forces_in(AXES, carried, limb)
    x = add_force(x, here, R, r, (lane(seat, o + 3), lane(seat, o + 6), lane(seat, o + 9)))
    y = add_force(y, here, R, r, (lane(seat, o + 4), lane(seat, o + 7), lane(seat, o + 10)))
    z = add_force(z, here, R, r, (lane(seat, o + 5), lane(seat, o + 8), lane(seat, o + 11)))
    carry_on((x, y, z), carried, limb)


@inline
def take_seats(levels, rows_count, limbs, g, carrier, count, turn, joint, contact, taken):
    """Seat contact number `turn`, from 0, of every limb of a group in the limb's lane; returns how many there are.

    joint: the one on whose body it sits, or EMPTY; contact: its number; taken: 1 for joints on whose body any one sits.
    All lanes are written at once: what is written number by number cannot be read as a vector for a while.
    """
    waiting = stack(GROUP)
    for limb in abreast(GROUP):
        to_lane(waiting, limb, float(turn))
        to_lane(joint, limb, EMPTY)
        to_lane(contact, limb, 0.0)
    for t in range(len(levels) + 1):
        to_lane(taken, t, 0.0)
    for a in range(count):
        own, t = rank(levels, rows_count, carrier[a], limbs)
        to_lane(taken, t, 1.0)
        for limb in abreast(GROUP):
            here = 1.0 if g * GROUP + limb == own else 0.0
            left = lane(waiting, limb) - here
            seat = here * (1.0 if left == -1.0 else 0.0)
            to_lane(waiting, limb, left)
            to_lane(joint, limb, lane(joint, limb) + seat * (t - EMPTY))
            to_lane(contact, limb, lane(contact, limb) + seat * a)
    seated = 0
    for limb in abreast(GROUP):
        seated += lane(joint, limb) > EMPTY
    return seated


@inline
def walk_in(levels, robot, limbs, joint, contact, taken, seat, memory, paths, carried):
    """Carry unit forces along the axes of the seated contacts to the base, and write what they do to joints (P5)."""
    depth = len(levels)
    for k in range(CARRIED_SIZE):
        to_lane(carried, k, 0.0)
    for t in range(depth):
        if lane(taken, t) > 0.0:
            for limb in abreast(limbs):
                seat_forces(t, limb, joint, contact, seat, memory, carried)
        for limb in abreast(limbs):
            crossed = kept_joint(robot, t, limb, memory)
            forces = cross_joint(forces_in(AXES, carried, limb), crossed, t * 3 * GROUP + limb, paths)
            carry_on(forces, carried, limb)
    if lane(taken, depth) > 0.0:
        for limb in abreast(limbs):
            seat_forces(depth, limb, joint, contact, seat, memory, carried)


@inline
def leave_seats(levels, limbs, iv, first, joint, contact, paths, carried, memory, z, y):
    """Copy paths of the seated contacts to their columns of z and, from row `first`, the limbs' of y = D^-1 z."""
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
def contact_paths(levels, robot, memory, rows_count, count, carrier, seat, z, y):
    """`propagators.contact_path` of `count` contacts, but for `divide`, in rounds of one per limb of a group.

    memory: of `aba`, with attitudes.
    """
    limbs, _, iv = dimensions(levels, robot)
    joint, contact, taken = stack(GROUP), stack(GROUP), stack(TAKEN_SIZE)
    paths, carried = stack(PATH_SIZE), stack(CARRIED_SIZE)
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
            seated = take_seats(levels, rows_count, limbs, g, carrier, count, turn, joint, contact, taken)
            if seated == 0:
                break
            done += seated
            turn += 1
            walk_in(levels, own, width, joint, contact, taken, seat, mine, paths, carried)
            leave_seats(levels, width, iv, iv + first, joint, contact, paths, carried, mine, z, y)


@routine
def divide(levels, robot, memory, n, z, y):
    """y = D^-1 z of the first n columns: the rows of a free base."""
    if robot[BASE_DOFS] == 0.0:
        return
    wide = z.shape[1]
    M, H, N = base_inverse(memory)
    for begin in range(0, n, QUAD):
        for k, factors in enumerate(inverse_rows(M, H, N)):
            combine(y, k * wide + begin, factors, z, begin, wide, (), z, 0, 0)


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
def couple_rows(levels, base, g, first, i, axes, n, z, y, A):
    """A row of A for each of `axes` from i on, its column of z nonzero in rows `base` and from `first` on."""
    wide = y.shape[1]
    for begin in range(0, n, QUAD):
        factors = factors_of(levels, base, first, i, axes, z)
        o = i * A.shape[1] + begin
        combine_rows(A, o, A.shape[1], g, factors, y, begin, wide, y, first * wide + begin, wide)


@inline
def factors_of(levels, base, first, i, axes, z):
    """Factors of the base's and of a limb's rows of y, of a column for each of `axes` from i on."""
    if len(axes) == 0:
        return ()
    own = column6(base, z, i), column(levels, z, first, i)
    return (own, *factors_of(levels, base, first, i + 1, axes[1:], z))


@inline
def couple_all(levels, base, robot, g, rows_count, count, n, carrier, z, y, A):
    """`couple` of a robot with or without a free base."""
    limbs, _, iv = dimensions(levels, robot)
    for a in range(count):
        limb, _ = rank(levels, rows_count, carrier[a], limbs)
        couple_rows(levels, base, g, iv + limb * len(levels), 3 * a, AXES, n, z, y, A)
    for i in range(3 * count, n):
        limb, _ = rank(levels, rows_count, carrier[i - 2 * count], limbs)
        couple_rows(levels, base, g, iv + limb * len(levels), i, ONE_AXIS, n, z, y, A)


@routine
def couple(levels, robot, g, rows_count, count, n, carrier, z, y, A):
    """`propagators.couple`, a row of A at a time, symmetric but for rounding: what y holds of other limbs is zero."""
    if robot[BASE_DOFS] > 0.0:
        couple_all(levels, BASE_ROWS, robot, g, rows_count, count, n, carrier, z, y, A)
    else:
        couple_all(levels, (), robot, g, rows_count, count, n, carrier, z, y, A)


@inline
def respond_limb(levels, robot, limb, iv, memory, a, al, given, x):
    """Accelerations of the joints ahead, whose part of D^-1 z is `given`, their carrier accelerating at a, al (P15)."""
    if len(levels) == 0:
        return
    t = len(levels) - 1
    own = lane(given, iv)
    E_, p, ul, ua, di = kept_joint(robot, t, limb, memory)
    a, al = accelerate(E_, p, a, al, ZERO3, ZERO3)
    qdd = own + joint_acceleration(ul, ua, di, 0.0, a, al)
    to_lane(x, t * GROUP + limb, qdd)
    respond_limb(levels[1:], robot, limb, iv + 1, memory, a, (al[0], al[1], al[2] + qdd), given, x)


@inline
def reach_limb(levels, robot, limb, memory, paths):
    """Unit efforts of the joints ahead, nearest first, as their carrier feels them (P10)."""
    if len(levels) == 0:
        return ()
    t = len(levels) - 1
    E_, p, ul, ua, di = joint = kept_joint(robot, t, limb, memory)
    outer = reach_limb(levels[1:], robot, limb, memory, paths)
    onward = cross_joint(outer, joint, t * DEEPEST * GROUP + limb, paths)
    return (propagate(E_, p, ul, ua, di, 1.0, ZERO3, ZERO3), *onward)


@inline
def answer(levels, limb, iv, t, a, al, reach, paths, given):
    """Acceleration of joint t to `given` D^-1 z, by the path of its unit effort (P12); a, al: the base's."""
    own = iv + len(levels) - 1 - t
    o = t * 6 * GROUP + limb
    qdd = lane(given, own) + dot(quad3(reach, o), al) + dot(quad3(reach, o + 3 * GROUP), a)
    for k in range(len(levels) - 1 - t):
        qdd += lane(paths, ((t + 1 + k) * DEEPEST + k) * GROUP + limb) * lane(given, own - 1 - k)
    return qdd


@routine
def respond_all(levels, robot, memory, X):
    """`respond` of every row of X (n, nv), by the paths of the unit efforts of all joints."""
    _, _, iv = dimensions(levels, robot)
    reach, paths, x = stack(WRENCH_SIZE), stack(ENTRY_SIZE), stack(JOINT_SIZE)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        for limb in range(count):
            keep(reach_limb(levels, own, limb, group_memory(memory, g), paths), len(levels) - 1, limb, reach)
        for c in range(X.shape[0]):
            given = X[c]
            a, al = ZERO3, ZERO3
            if iv > 0:
                a, al = part3(given, 3), part3(given, 0)
            for limb in range(count):
                for t in range(len(levels)):
                    qdd = answer(levels, limb, iv + first + limb * len(levels), t, a, al, reach, paths, given)
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
            respond_limb(levels, own, limb, k, group_memory(memory, g), a, al, X, x)
        collect(levels, count, x, iv + first, X)


# ---- poses, twists and what follows from them ----------------------------------------------------------------------


@inline
def face(t, limb, E_, memory):
    """Write the attitude of joint t in the world from that of its carrier and return it."""
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
                face(t, limb, quad9(mine, in_memory(t, limb) + E * GROUP), mine)


@inline
def see(robot, t, limb, memory):
    """Write pose and twist of joint t, placed, from its carrier's.

    Returns `body_books` of the body behind it.
    """
    o, c = in_memory(t, limb), in_memory(t + 1, limb)
    R, xc = quad9(memory, c + ATTITUDE * GROUP), quad3(memory, c + PLACE * GROUP)
    w, v = quad3(memory, c + SPIN * GROUP), quad3(memory, c + SPEED * GROUP)
    p = quad3(robot, parameter(t, P0, limb))
    m, h, inertia = rigid_body(robot, t, limb)
    E_, wi, rate = quad9(memory, o + E * GROUP), quad3(memory, o + SPIN * GROUP), lane(memory, o + RATE * GROUP)
    Ri = face(t, limb, E_, memory)
    xi = add(xc, mul(R, p))
    vi = tmul(E_, add(v, cross(w, p)))
    moment, linear, angular, energy = body_books(m, h, inertia, Ri, xi, wi, vi)
    energy += 0.5 * lane(robot, parameter(t, ARMATURE, limb)) * rate * rate
    to_quad3(memory, o + PLACE * GROUP, xi)
    to_quad3(memory, o + SPEED * GROUP, vi)
    return moment, linear, angular, energy


@routine
def second_moment(levels, robot, memory):
    """`bodies.second_moment` of a robot with a free base, at the poses that `books` left."""
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
def displace(levels, robot, memory, d):
    """Move the base and all joints by d, world axes."""
    for g, _ in enumerate(levels[0]):
        _, count, _ = group(levels, robot, g)
        mine = group_memory(memory, g)
        for t in range(len(levels) + 1):
            for limb in abreast(count):
                o = in_memory(t, limb) + PLACE * GROUP
                to_quad3(mine, o, add(quad3(mine, o), d))


@routine
def show(levels, robot, memory, seen, w):
    """Copy poses and twists of world, base and the joints whose rows are `seen` to the workspace of `tree`."""
    limbs, _, iv = dimensions(levels, robot)
    show_row(0, IDENTITY, ZERO3, ZERO3, ZERO3, w)
    if iv > 0:
        o = in_memory(len(levels), 0)
        R, x = quad9(memory, o + ATTITUDE * GROUP), quad3(memory, o + PLACE * GROUP)
        show_row(1, R, x, quad3(memory, o + SPIN * GROUP), quad3(memory, o + SPEED * GROUP), w)
    for k in range(seen.shape[0]):
        i = seen[k]
        if i < 0:
            break
        limb, t = rank(levels, w.shape[0], i, limbs)
        mine, o = group_memory(memory, limb // GROUP), in_memory(t, limb % GROUP)
        R, x = quad9(mine, o + ATTITUDE * GROUP), quad3(mine, o + PLACE * GROUP)
        show_row(i, R, x, quad3(mine, o + SPIN * GROUP), quad3(mine, o + SPEED * GROUP), w)


@inline
def show_row(i, R, x, spin, v, w):
    """Write pose and twist of a row."""
    set9(w, i, rows.RW, R)
    set3(w, i, rows.XW, x)
    set3(w, i, rows.W, spin)
    set3(w, i, rows.V, v)


@routine
def books(levels, robot, memory, q, qd, out):
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
                more = see(own, len(levels) - 1 - j, limb, mine)
                moment = add(moment, more[0])
                linear = add(linear, more[1])
                angular = add(angular, more[2])
                energy += more[3]
    part3_to(out, 0, moment)
    part3_to(out, 3, linear)
    part3_to(out, 6, angular)
    out[9] = energy


@inline
def twist_limb(levels, robot, limb, iv, qd, memory, spin, v, out):
    """Twists of the joints ahead, own axes (R1), their carrier moving with spin, v."""
    if len(levels) == 0:
        return
    t = len(levels) - 1
    rate = lane(qd, iv)
    E_ = quad9(memory, in_memory(t, limb) + E * GROUP)
    v = tmul(E_, add(v, cross(spin, quad3(robot, parameter(t, P0, limb)))))
    spin = add(tmul(E_, spin), (0.0, 0.0, rate))
    to_quad3(out, t * 6 * GROUP + limb, spin)
    to_quad3(out, (t * 6 + 3) * GROUP + limb, v)
    twist_limb(levels[1:], robot, limb, iv + 1, qd, memory, spin, v, out)


@routine
def twists(levels, robot, memory, seen, qd, o, w):
    """`bodies.twists` of a free base and of `seen` rows; memory: of `aba` at the robot's q."""
    limbs, _, iv = dimensions(levels, robot)
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
            twist_limb(levels, own, limb, k, qd, group_memory(memory, g), spin, v, out)
        for k in range(seen.shape[0]):
            i = seen[k]
            if i < 0:
                break
            limb, t = rank(levels, w.shape[0], i, limbs)
            if limb // GROUP == g:
                set3(w, i, o, quad3(out, t * 6 * GROUP + limb % GROUP))
                set3(w, i, o + 3, quad3(out, (t * 6 + 3) * GROUP + limb % GROUP))
