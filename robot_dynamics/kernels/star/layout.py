# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures and memory of a base, free or fixed, with equal serial limbs of revolute joints: one SIMD lane per limb.

`robot` is the robot as made by `pack`: the rows of world and base, then those of the limbs in lanes. Joints are counted
from the tip: the one at hand is `len(levels) - 1`. `levels`, a tuple with one entry per joint that is still ahead, is
what recursions walk along. An entry has one for each group of limbs that go abreast: a tuple of as many () as lanes of
the last group have no limb, and of GROUP more where the base is fixed. So all that is known at compile time, and costs
a call from Python nothing where all lanes hold limbs of a free base. `limb`: its lane.
"""

import numpy as np

from ...compiler import QUAD, abreast, inline, lane, to_lane
from ..lanes import aligned, quad3, quad6, quad9, to_quad3, to_quad6, whole
from ..link import revolute_placement, root_motion
from ..rows import (
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
    finite,
    part3,
    part4,
    part6,
    part6_to,
    part9,
    part9_to,
)
from ..scalar import ZERO3, quaternion_matrix, scale, sincos

Levels = tuple[tuple[tuple[tuple[()], ...], ...], ...]
"""Type of `levels`."""

GROUP, GROUPS = QUAD, 2
"""Limbs that go abreast, one in each lane of a 256-bit register, and most groups of them.

A group has packed figures and memory of its own: in wider lanes, half of them empty with four limbs, the data of a step
of the plant would not stay in the nearest cache.
"""
MOST_JOINTS = 8
"""Most joints of a limb: the recursion's compile time grows with them."""

E, CL, CA, UL, UA, DI, U, KEPT = 0, 9, 12, 15, 18, 21, 22, 23
"""Columns of what ABA keeps of a joint on its way back, and their number. The base stands behind the joint nearest to
it."""
EFFORT, ANGLE = 32, U
"""Joint effort, and until E is made of it the joint angle, for ABA."""
SPIN, LINEAR, ANGULAR, RATE = 23, 26, 29, 33
"""Angular velocity; acceleration of the origin, and angular one; joint rate: in ABA, of the joint in its own axes."""
ATTITUDE, PLACE, OFFSET, SPEED, BODY_M, BODY_H, BODY_I = 0, 9, 12, 26, 34, 35, 38
"""In world axes, as SPIN outside of ABA: pose; origin from the parent's; velocity of the origin; m, h, I of the body.
Poses and twists of the base stand in the first lane; `update_motion` fills all, for the joints next to it."""
PIVOT, LOAD, ENTRIES, JOINT = 44, 45, 46, 54
"""Pivot D, then 1/D; effort less C, L^-T times it, then the acceleration; entries of the row of H, then of L, with the
joints further in. Number of columns."""
BIAS = REACH = SPIN
"""Moment and force, in the place of the twist, which must be read before H is factorised. BIAS: of a body while
qdd = 0; in the place of the base: what it bears of a limb, whose m, h, I stand where a joint has those of its body.
REACH: what the base feels of a unit acceleration, as soon as BIAS is read. What H follows from stays: a step may be
solved again."""
OWN = PIVOT - BODY_M
"""How far behind those the m, h, I of the base's own body stand, in the first lane: it has no row of H."""
COSINE, SINE = PIVOT, LOAD
"""Of the joint angle, until the rows of H are opened."""
PASSED_M, PASSED_H, PASSED_N, PASSED_F, PASSED_T, PASSED_SIZE = 0, 6, 15, 21, 24, 27
"""Columns of the articulated inertia and bias force that a joint passes to its parent, and their number."""

HEAD = whole(2 * PARAMETERS)
"""Length of the rows of world and base, whole cache lines."""

PASSED = (MOST_JOINTS + 1) * JOINT * GROUP
BASE = PASSED + PASSED_SIZE * GROUP
GROUP_MEMORY = whole(BASE + 21)
MEMORY = GROUPS * GROUP_MEMORY
"""Memory of a group: the joints, from PASSED what they pass to their carriers, from BASE the inverse inertia of a free
base, which only the first group has; its size, and that of all."""
AXES, ONE_AXIS, BASE_ROWS = (0, 1, 2), (0,), (0, 1, 2, 3, 4, 5)
"""Of a contact and of a scalar row, which are as many columns; rows of a free base. Recursions run on their lengths."""
WRENCH_SIZE = 6 * GROUP
MOTION_SIZE = 9 * GROUP
ENTRY_SIZE = MOST_JOINTS * MOST_JOINTS * GROUP
"""Numbers of a group: wrenches on the bodies of one joint, motion of its parent, entries of H between all joints."""


def shape(topology: np.ndarray, parameters: np.ndarray, floating_base: bool) -> tuple[int, int] | None:
    """Count and depth of the limbs if the robot is nothing but a base and equal limbs this driver can take."""
    first = 2 if floating_base else 1
    parent = topology[first:, PARENT]
    base = first - 1
    limbs = int((parent == base).sum())
    depth = len(parent) // limbs if limbs else 0
    if not (1 < limbs <= GROUP * GROUPS and depth <= MOST_JOINTS and limbs * depth == len(parent)):
        return None
    chains = np.arange(first - 1, first - 1 + len(parent))
    chains[::depth] = base
    plain = (topology[first:, KIND] == REVOLUTE) & (topology[first:, FOLLOWS] == 0) & (topology[first:, BODY] >= 0)
    unspun = ~parameters[first:, ROTOR : ROTOR + 3].any(axis=1)
    return (limbs, depth) if (parent == chains).all() and (plain & unspun).all() else None


def levels_of(limbs: int, depth: int, floating_base: bool) -> Levels:
    """What recursions walk along: an entry per joint of a limb, in it one per group."""
    group = ((),) * (-limbs % GROUP + (0 if floating_base else GROUP))
    return ((group,) * -(-limbs // GROUP),) * depth


def pack(parameters: np.ndarray, limbs: int, depth: int) -> np.ndarray:
    """Arrange the rows of world and base, then the limbs', the last of `parameters`, by joint from the tip and lane."""
    first = len(parameters) - limbs * depth
    groups = -(-limbs // GROUP)
    out = aligned((groups, HEAD + depth * PARAMETERS * GROUP))
    out[:, : first * PARAMETERS] = parameters[:first].ravel()
    lanes = out[:, HEAD:].reshape(groups, depth, PARAMETERS, GROUP)
    for limb, own in enumerate(parameters[first:].reshape(limbs, depth, PARAMETERS)):
        lanes[limb // GROUP, :, :, limb % GROUP] = own[::-1]
    return out.ravel()


@inline
def group(levels, robot, g):
    """Packed figures of a group, which takes the place of `robot`; how many limbs it has; first of its joints."""
    depth = len(levels)
    own = robot[g * (HEAD + depth * PARAMETERS * GROUP) :]
    count = GROUP - len(levels[0][0]) % GROUP if g == len(levels[0]) - 1 else GROUP
    return own, count, g * GROUP * depth


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
def axis_of(o, memory):
    """Axis of the joint in memory at o, world axes."""
    o += ATTITUDE * GROUP
    return lane(memory, o + 2 * GROUP), lane(memory, o + 5 * GROUP), lane(memory, o + 8 * GROUP)


@inline
def write_body(o, m, h, J, memory):
    """Write what `body_in_world` reads."""
    to_lane(memory, o + BODY_M * GROUP, m)
    to_quad3(memory, o + BODY_H * GROUP, h)
    to_quad6(memory, o + BODY_I * GROUP, J)


@inline
def body_in_world(o, memory):
    """m, h, I, world axes, of the body in memory at o."""
    return (
        lane(memory, o + BODY_M * GROUP),
        quad3(memory, o + BODY_H * GROUP),
        quad6(memory, o + BODY_I * GROUP),
    )


@inline
def write_wrench(o, column, n, f, memory):
    """Write what `wrench_at` reads."""
    to_quad3(memory, o + column * GROUP, n)
    to_quad3(memory, o + (column + 3) * GROUP, f)


@inline
def wrench_at(o, column, memory):
    """Moment and force of the joint in memory at o, from a column on."""
    return quad3(memory, o + column * GROUP), quad3(memory, o + (column + 3) * GROUP)


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
def dimensions(levels):
    """Number of limbs, and the place of the first limb's joints in q and in qd."""
    absent, fixed = len(levels[0][0]) % GROUP, len(levels[0][0]) // GROUP
    return GROUP * len(levels[0]) - absent, 7 * (1 - fixed), 6 * (1 - fixed)


@inline
def fits(levels, q, qd, u, f_ext):
    """Whether the vectors have the lengths nq, nv, nv, and all are finite."""
    limbs, iq, iv = dimensions(levels)
    joints = limbs * len(levels)
    if q.shape[0] != iq + joints or qd.shape[0] != iv + joints or u.shape[0] != iv + joints:
        return False
    return finite(q) and finite(qd) and finite(u) and finite(f_ext)


@inline
def base_motion(levels, robot, q, qd):
    """Angular velocity of the base and acceleration of its origin while qdd = 0; the world accelerates at -g."""
    g = part3(robot, GRAVITY)
    _, _, iv = dimensions(levels)
    if iv == 0:
        return ZERO3, scale(-1.0, g)
    Q = part4(q, 3)
    return part3(qd, 0), root_motion(quaternion_matrix(Q[0], Q[1], Q[2], Q[3]), part3(qd, 0), part3(qd, 3), g)


@inline
def base_body(robot):
    """m, h, I of a free base."""
    return robot[PARAMETERS + MASS], part3(robot, PARAMETERS + MOMENT), part6(robot, PARAMETERS + INERTIA)


@inline
def to_base(levels, column, x, memory):
    """Write three numbers of the base, which all limbs share, for a group."""
    for limb in abreast(GROUP):
        to_quad3(memory, in_memory(len(levels), limb) + column * GROUP, x)


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
def collect(levels, limbs, results, first, out):
    """Copy the joints' results from the lanes to `out` from index `first`."""
    depth = len(levels)
    for limb in abreast(limbs):
        for j, _level in enumerate(levels):
            to_lane(out, first + limb * depth + j, lane(results, (depth - 1 - j) * GROUP + limb))


@inline
def write_limb_forces(columns, t, limb, out):
    """Write the columns of one limb, as the base feels them."""
    if len(columns) == 0:
        return
    f, n = columns[0]
    to_quad3(out, t * 6 * GROUP + limb, n)
    to_quad3(out, (t * 6 + 3) * GROUP + limb, f)
    write_limb_forces(columns[1:], t - 1, limb, out)


@inline
def rank(levels, iv, i):
    """Limb of row i (0 for the base), and how many joints lie between its body and the tip; iv: dofs of the base."""
    depth = len(levels)
    k = i - (2 if iv > 0 else 1)
    if k >= 0:
        return k // depth, depth - 1 - k % depth
    return 0, depth
