# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Many states of one robot in one call, LANES at a time, one per SIMD lane; a body's parameters serve all lanes.

Any tree goes by the sentences of `tree`, spread over lanes. ABA of a robot of equal limbs is faster: as in `star`, a
whole limb is walked by recursion on `levels`. Column k of lane o stands at `k * LANES + o` of its
array. `i`, `iq`, `iv`: row of the joint at hand, its place in q and in qd.
"""

from ..compiler import LANES, Lanes, inline, lane, lean, routine, spread, stack, to_lane, transpose, wide
from .derivatives import aba_derivatives, rnea_derivatives
from .lanes import aligned, lane3, lane6, lane9, to_lane3, to_lane6, to_lane9, write_apart
from .link import (
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
    revolute_motion,
    revolute_placement,
    root_motion,
)
from .rows import ARMATURE, GRAVITY, INERTIA, MASS, MOMENT, P0, R0, WORKSPACE, row3, row6, row9
from .scalar import (
    ZERO3,
    ZERO6,
    ZERO9,
    add,
    cross,
    quaternion_matrix,
    scale,
    sincos,
    solve_blocks,
    sub,
)
from .star.layout import CA, CL, DI, KEPT, MOST_JOINTS, UA, UL, E, U
from .tree.aba import aba as tree_aba
from .tree.rnea import rnea as tree_rnea

F, T, M, H, N, SUMS = 0, 3, 6, 12, 21, 27
"""Columns of what the base feels: force, moment, blocks; their number."""
W, STILL, A, AL, BASE = 0, 3, 0, 3, 6
"""Columns of the base's angular velocity and acceleration while qdd = 0, of its acceleration; number of either."""

JOINTS = LANES * MOST_JOINTS
SUMS_SIZE = SUMS * LANES
BASE_SIZE = BASE * LANES
VECTOR_SIZE = (JOINTS + 7) * LANES
KEPT_SIZE = (JOINTS + 6) * KEPT * LANES


# ---- states and lanes ----------------------------------------------------------------------------------------------


@inline
def read(X, width, k, x):
    """States k to k + LANES, rows of length `width`, into lanes."""
    for j in range(0, width - LANES + 1, LANES):
        transpose(X, k * width + j, width, x, j * LANES, LANES)
    for j in range(width // LANES * LANES, width):
        for o in range(LANES):
            to_lane(x, j * LANES + o, lane(X, (k + o) * width + j))


@inline
def write(x, width, k, X):
    """Inverse of `read`."""
    write_apart(x, width, k * width, width, X)


# ---- any tree ------------------------------------------------------------------------------------------------------


def workspace(nq, nv, rows):
    """Memory for LANES states: q, qd, what is given and what is wanted of a dynamics, workspace."""
    vectors = [aligned((n, LANES)) for n in (nq, nv, nv, nv)]
    return *vectors, aligned((rows, WORKSPACE, LANES)), aligned((0, LANES))


rnea_of_lanes, aba_of_lanes = spread(tree_rnea), spread(tree_aba)


@lean
def inverse_dynamics(topology, parameters, Q, QD, QDD, tau, workspace):
    """RNEA of states in flat arrays, a SIMD lane per state; workspace: of `workspace`.

    There are LANES of them or more: the last tile begins early to be full.
    """
    q, qd, qdd, effort, w, none = workspace
    nq, nv = q.shape[0], qd.shape[0]
    count = QD.shape[0] // nv
    for begin in range(0, count, LANES):
        k = min(begin, count - LANES)
        read(Q, nq, k, q)
        read(QD, nv, k, qd)
        read(QDD, nv, k, qdd)
        rnea_of_lanes(topology, parameters, Lanes(q), Lanes(qd), Lanes(qdd), Lanes(none), Lanes(w), Lanes(effort))
        write(effort, nv, k, tau)


@lean
def forward_dynamics(topology, parameters, Q, QD, tau, QDD, workspace):
    """ABA of states as in `inverse_dynamics`. Not for models with mimic joints."""
    q, qd, effort, qdd, w, none = workspace
    nq, nv = q.shape[0], qd.shape[0]
    count = QD.shape[0] // nv
    for begin in range(0, count, LANES):
        k = min(begin, count - LANES)
        read(Q, nq, k, q)
        read(QD, nv, k, qd)
        read(tau, nv, k, effort)
        aba_of_lanes(topology, parameters, Lanes(q), Lanes(qd), Lanes(effort), Lanes(none), Lanes(w), Lanes(qdd))
        write(qdd, nv, k, QDD)


@routine
def _aba_derivatives(topology, parameters, q, qd, qdd, f_ext, w, X, out):
    """`aba_derivatives`, whatever it returns: a joint without inertia has been refused."""
    aba_derivatives(topology, parameters, q, qd, qdd, f_ext, w, X, out)


rnea_derivatives_of_lanes, aba_derivatives_of_lanes = spread(rnea_derivatives), spread(_aba_derivatives)


def workspace_of_derivatives(nq, nv, rows):
    """Memory for LANES states: that of `workspace`, and matrices: X and out of `aba_derivatives`."""
    return *workspace(nq, nv, rows), *(aligned((*shape, LANES)) for shape in ((nv, 3 * nv), (3, nv, nv)))


@lean
def inverse_dynamics_derivatives(topology, parameters, Q, QD, QDD, out, workspace):
    """`derivatives.rnea_derivatives` of states as in `inverse_dynamics`; out: three matrices of each state, flat."""
    q, qd, qdd, _, w, none, _, matrices = workspace
    nq, nv = q.shape[0], qd.shape[0]
    size = 3 * nv * nv
    count = QD.shape[0] // nv
    for begin in range(0, count, LANES):
        k = min(begin, count - LANES)
        read(Q, nq, k, q)
        read(QD, nv, k, qd)
        read(QDD, nv, k, qdd)
        rnea_derivatives_of_lanes(
            topology, parameters, Lanes(q), Lanes(qd), Lanes(qdd), Lanes(none), Lanes(w), Lanes(matrices)
        )
        write(matrices, size, k, out)


@lean
def forward_dynamics_derivatives(topology, parameters, Q, QD, tau, out, workspace):
    """`derivatives.aba_derivatives` of states as in `forward_dynamics`; out: three matrices of each state, flat."""
    q, qd, effort, qdd, w, none, X, matrices = workspace
    nq, nv = q.shape[0], qd.shape[0]
    size = 3 * nv * nv
    count = QD.shape[0] // nv
    for begin in range(0, count, LANES):
        k = min(begin, count - LANES)
        read(Q, nq, k, q)
        read(QD, nv, k, qd)
        read(tau, nv, k, effort)
        aba_of_lanes(topology, parameters, Lanes(q), Lanes(qd), Lanes(effort), Lanes(none), Lanes(w), Lanes(qdd))
        aba_derivatives_of_lanes(
            topology, parameters, Lanes(q), Lanes(qd), Lanes(qdd), Lanes(none), Lanes(w), Lanes(X), Lanes(matrices)
        )
        write(matrices, size, k, out)


# ---- equal limbs ---------------------------------------------------------------------------------------------------


@inline
def blocks_of(sums, o):
    """M, H, N of what the base feels."""
    return lane6(sums, M * LANES + o), lane9(sums, H * LANES + o), lane6(sums, N * LANES + o)


@inline
def set_sums(sums, o, f, n, blocks):
    """Write what the base feels."""
    to_lane3(sums, F * LANES + o, f)
    to_lane3(sums, T * LANES + o, n)
    to_lane6(sums, M * LANES + o, blocks[0])
    to_lane9(sums, H * LANES + o, blocks[1])
    to_lane6(sums, N * LANES + o, blocks[2])


@inline
def base_outward(floating, parameters, q, qd, base, motion, sums):
    """Motion of the base while qdd = 0, and its own inertia and bias; a fixed one accelerates at -g with the world."""
    g = row3(parameters, 0, GRAVITY)
    if not floating:
        for o in range(LANES):
            to_lane3(base, W * LANES + o, ZERO3)
            to_lane3(motion, A * LANES + o, scale(-1.0, g))
            to_lane3(motion, AL * LANES + o, ZERO3)
            set_sums(sums, o, ZERO3, ZERO3, (ZERO6, ZERO9, ZERO6))
        return
    m = parameters[1, MASS]
    h = row3(parameters, 1, MOMENT)
    inertia = row6(parameters, 1, INERTIA)
    for o in range(LANES):
        w = lane3(qd, o)
        v = lane3(qd, 3 * LANES + o)
        R = quaternion_matrix(
            lane(q, 3 * LANES + o), lane(q, 4 * LANES + o), lane(q, 5 * LANES + o), lane(q, 6 * LANES + o)
        )
        f, n = body_bias(h, inertia, w)
        to_lane3(base, W * LANES + o, w)
        to_lane3(base, STILL * LANES + o, root_motion(R, w, v, g))
        set_sums(sums, o, f, n, body_blocks(m, h, inertia))


@inline
def aba_limb(levels, parameters, place, o, state, w, kept):
    """Passes 1 and 2 of ABA over the limb ahead: I^a and p^a that its parent, turning with w, feels (A3-A8).

    place: i, iq, iv of its first joint. state: q, qd, tau.
    """
    if len(levels) == 0:
        return (ZERO6, ZERO9, ZERO6), ZERO3, ZERO3
    i, iq, iv = place
    q, qd, tau = state
    effort = lane(tau, iv * LANES + o)  # read before anything is kept, as in `star`
    c, s = sincos(lane(q, iq * LANES + o))
    E_, p = revolute_placement(row9(parameters, i, R0), row3(parameters, i, P0), c, s)
    wi, cl, ca = revolute_motion(E_, w, cross(w, cross(w, p)), lane(qd, iv * LANES + o))
    h = row3(parameters, i, MOMENT)
    inertia = row6(parameters, i, INERTIA)
    f, n = body_bias(h, inertia, wi)
    tip, ft, nt = aba_limb(levels[1:], parameters, (i + 1, iq + 1, iv + 1), o, state, wi, kept)
    M_, H_, N_ = add_blocks(body_blocks(parameters[i, MASS], h, inertia), tip)
    f = add(f, ft)
    n = add(n, nt)
    ul, ua, d = revolute_column(M_, H_, N_)
    di = 1.0 / (d + parameters[i, ARMATURE])
    u = effort - n[2]
    k = iv * KEPT * LANES + o
    to_lane9(kept, k + E * LANES, E_)
    to_lane3(kept, k + CL * LANES, cl)
    to_lane3(kept, k + CA * LANES, ca)
    to_lane3(kept, k + UL * LANES, ul)
    to_lane3(kept, k + UA * LANES, ua)
    to_lane(kept, k + DI * LANES, di)
    to_lane(kept, k + U * LANES, u)
    M_, H_, N_ = project(M_, H_, N_, ul, ua, di)
    f, n = project_force((M_, H_, N_), (ul, ua, di), u, (f, n), (cl, ca))
    f, n = force_to_parent(E_, p, f, n)
    return blocks_to_parent(E_, p, M_, H_, N_), f, n


@inline
def limb_inward(levels, parameters, place, state, base, sums, kept):
    """Add what the base feels of a limb to its sums (A3-A8)."""
    for o in range(LANES):
        f = lane3(sums, F * LANES + o)
        n = lane3(sums, T * LANES + o)
        blocks = blocks_of(sums, o)
        w = lane3(base, W * LANES + o)
        own, fl, nl = aba_limb(levels, parameters, place, o, state, w, kept)
        set_sums(sums, o, add(f, fl), add(n, nl), add_blocks(blocks, own))


@inline
def base_accelerate(tau, sums, base, motion, qdd):
    """Acceleration of a free base (A10)."""
    for o in range(LANES):
        f = sub(lane3(tau, 3 * LANES + o), lane3(sums, F * LANES + o))
        n = sub(lane3(tau, o), lane3(sums, T * LANES + o))
        M_, H_, N_ = blocks_of(sums, o)
        a, al = solve_blocks(M_, H_, N_, f, n)
        to_lane3(qdd, o, al)
        to_lane3(qdd, 3 * LANES + o, sub(a, lane3(base, STILL * LANES + o)))
        to_lane3(motion, A * LANES + o, a)
        to_lane3(motion, AL * LANES + o, al)


@inline
def accelerate_limb(levels, parameters, place, o, kept, motion, qdd):
    """Pass 3 of ABA over the limb ahead, its parent accelerating at a, al (A3, A6).

    place: i, iv of its first joint. motion: a, al.
    """
    if len(levels) == 0:
        return
    i, iv = place
    a, al = motion
    k = iv * KEPT * LANES + o
    cl = lane3(kept, k + CL * LANES)
    ca = lane3(kept, k + CA * LANES)
    a, al = accelerate(lane9(kept, k + E * LANES), row3(parameters, i, P0), a, al, cl, ca)
    ul = lane3(kept, k + UL * LANES)
    ua = lane3(kept, k + UA * LANES)
    x = joint_acceleration(ul, ua, lane(kept, k + DI * LANES), lane(kept, k + U * LANES), a, al)
    to_lane(qdd, iv * LANES + o, x)
    accelerate_limb(levels[1:], parameters, (i + 1, iv + 1), o, kept, (a, (al[0], al[1], al[2] + x)), qdd)


@inline
def limb_outward(levels, parameters, i, iv, kept, motion, qdd):
    """Accelerations of a limb (A3, A6)."""
    for o in range(LANES):
        a = lane3(motion, A * LANES + o)
        al = lane3(motion, AL * LANES + o)
        accelerate_limb(levels, parameters, (i, iv), o, kept, (a, al), qdd)


@lean
def limbed_forward_dynamics(levels, parameters, nq, nv, Q, QD, tau, QDD):
    """ABA of states in flat arrays, a SIMD lane per state.

    There are LANES of them or more: the last tile begins early to be full.
    """
    wide()
    q, qd, effort, qdd = stack(VECTOR_SIZE), stack(VECTOR_SIZE), stack(VECTOR_SIZE), stack(VECTOR_SIZE)
    base, motion, sums, kept = stack(BASE_SIZE), stack(BASE_SIZE), stack(SUMS_SIZE), stack(KEPT_SIZE)
    floating = nq > nv
    first = 6 if floating else 0
    count = QD.shape[0] // nv
    for begin in range(0, count, LANES):
        k = min(begin, count - LANES)
        read(Q, nq, k, q)
        read(QD, nv, k, qd)
        read(tau, nv, k, effort)
        base_outward(floating, parameters, q, qd, base, motion, sums)
        for iv in range(first, nv, len(levels)):
            i = parameters.shape[0] - nv + iv
            iq = nq - nv + iv
            limb_inward(levels, parameters, (i, iq, iv), (q, qd, effort), base, sums, kept)
        if floating:
            base_accelerate(effort, sums, base, motion, qdd)
        for iv in range(first, nv, len(levels)):
            limb_outward(levels, parameters, parameters.shape[0] - nv + iv, iv, kept, motion, qdd)
        write(qdd, nv, k, QDD)
