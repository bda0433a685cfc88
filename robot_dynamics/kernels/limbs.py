"""Driver for a base, free or fixed, that carries equal serial limbs of revolute joints: one SIMD lane per limb.

A limb is walked by recursion on `levels`, a tuple with one entry per joint that is still ahead, so that a kernel is
compiled once per depth and a whole limb stays in registers. Each recursive function is handed itself as `walk`, because
numba inlines a call of an argument but not one of the function being compiled.

`lanes` holds the robot's rows as made by `pack`. Joints are counted from the tip: the one at hand is `len(levels) - 1`.
`iq`, `iv`: its place in q and in qd. `limb`: its lane. `f_ext` is (nb, 6) or None.
"""

import numpy as np

from .jit import inline, lean
from .lanes import LANES, lane, lane3, lane6, lane9, stack, to_lane, to_lane3, to_lane9
from .link import (
    accelerate,
    add_blocks,
    blocks_to_parent,
    body_bias,
    body_blocks,
    body_force,
    body_matrix,
    composite_to_parent,
    force_to_parent,
    joint_acceleration,
    project,
    project_force,
    revolute_column,
    revolute_motion,
    revolute_placement,
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
    part3,
    part3_to,
    part4,
    row3,
    row6,
)
from .scalar import (
    ZERO3,
    ZERO6,
    ZERO9,
    acceleration_matrix,
    add,
    add6,
    apply_blocks,
    cross,
    inverse_blocks,
    mul,
    quaternion_matrix,
    scale,
    sincos,
    sub,
    tmul,
)
from .tree import external

DEEPEST = 8
"""Most joints of a limb: the recursion's compile time grows with them."""

E, CL, CA, UL, UA, DI, U, KEPT = 0, 9, 12, 15, 18, 21, 22, 23
"""Columns of what ABA keeps of a joint on its way back, and their number."""

KEPT_SIZE = DEEPEST * KEPT * LANES
WRENCH_SIZE = DEEPEST * 6 * LANES
JOINT_SIZE = DEEPEST * LANES
ENTRY_SIZE = DEEPEST * DEEPEST * LANES


def shape(topology: np.ndarray, parameters: np.ndarray, floating_base: bool) -> tuple[int, int] | None:
    """Count and depth of the limbs if the robot is nothing but a base and equal limbs this driver can take."""
    first = 2 if floating_base else 1
    parent = topology[first:, PARENT]
    base = first - 1
    limbs = int((parent == base).sum())
    depth = len(parent) // limbs if limbs else 0
    if not (1 < limbs <= LANES and depth <= DEEPEST and limbs * depth == len(parent)):
        return None
    chains = np.arange(first - 1, first - 1 + len(parent))
    chains[::depth] = base
    plain = (topology[first:, KIND] == REVOLUTE) & (topology[first:, FOLLOWS] == 0) & (topology[first:, BODY] >= 0)
    unspun = ~parameters[first:, ROTOR : ROTOR + 3].any(axis=1)
    return (limbs, depth) if (parent == chains).all() and (plain & unspun).all() else None


def pack(parameters: np.ndarray, limbs: int, depth: int) -> np.ndarray:
    """Arrange the limbs' rows, the last of `parameters`, by joint from the tip, column and lane."""
    out = np.zeros((depth, PARAMETERS, LANES))
    bodies = parameters[len(parameters) - limbs * depth :].reshape(limbs, depth, PARAMETERS)
    for limb, rows in enumerate(bodies):
        out[:, :, limb] = rows[::-1]
    return out.ravel()


# ---- what the recursions share -------------------------------------------------------------------------------------


@inline
def parameter(t, column, limb):
    """Place of a column of joint t in `lanes`."""
    return (t * PARAMETERS + column) * LANES + limb


@inline
def placement(lanes, t, limb, x):
    """E, p of joint t at x."""
    c, s = sincos(x)
    return revolute_placement(lane9(lanes, parameter(t, R0, limb)), lane3(lanes, parameter(t, P0, limb)), c, s)


@inline
def rigid_body(lanes, t, limb):
    """m, h, I of the body behind joint t."""
    return (
        lane(lanes, parameter(t, MASS, limb)),
        lane3(lanes, parameter(t, MOMENT, limb)),
        lane6(lanes, parameter(t, INERTIA, limb)),
    )


@inline
def spread_wrenches(levels, parameters, limbs, f_ext, out):
    """Wrenches of the environment on the limbs' bodies, force before moment, row axes, for `less_wrench`."""
    if f_ext is None:
        return
    depth = len(levels)
    first = parameters.shape[0] - limbs * depth
    for limb in range(limbs):
        for j in range(depth):
            i = first + limb * depth + j
            f, n = external(parameters, f_ext, i, i)
            o = (depth - 1 - j) * 6 * LANES + limb
            to_lane3(out, o, f)
            to_lane3(out, o + 3 * LANES, n)


@inline
def less_wrench(f, n, f_ext, wrench, t, limb):
    """Force of a body less the environment's."""
    if f_ext is None:
        return f, n
    o = t * 6 * LANES + limb
    return sub(f, lane3(wrench, o)), sub(n, lane3(wrench, o + 3 * LANES))


@inline
def base_motion(q, qd, floating, g):
    """Angular velocity of the base and acceleration of its origin while qdd = 0; the world accelerates at -g."""
    if not floating:
        return ZERO3, scale(-1.0, g)
    Q = part4(q, 3)
    return part3(qd, 0), root_motion(quaternion_matrix(Q[0], Q[1], Q[2], Q[3]), part3(qd, 0), part3(qd, 3), g)


@inline
def base_body(parameters):
    """m, h, I of a free base."""
    return parameters[1, MASS], row3(parameters, 1, MOMENT), row6(parameters, 1, INERTIA)


@inline
def base_less_wrench(parameters, f, n, f_ext):
    """Force of a free base less the environment's."""
    if f_ext is None:
        return f, n
    fx, nx = external(parameters, f_ext, 1, 1)
    return sub(f, fx), sub(n, nx)


@inline
def collect(levels, limbs, x, out):
    """Copy the joints' results from the lanes to the end of `out`."""
    depth = len(levels)
    first = out.shape[0] - limbs * depth
    for limb in range(limbs):
        for j in range(depth):
            to_lane(out, first + limb * depth + j, lane(x, (depth - 1 - j) * LANES + limb))


# ---- inverse dynamics ----------------------------------------------------------------------------------------------


@inline
def rnea_limb(walk, levels, lanes, limb, iq, iv, q, qd, qdd, f_ext, wrench, w, al, A, a, tau):
    """Force of the limb ahead on its carrier, which moves with w, al, A = [al] + [w]^2 and a (R1-R5)."""
    if len(levels) == 0:
        return ZERO3, ZERO3
    t = len(levels) - 1
    E_, p = placement(lanes, t, limb, lane(q, iq))
    acceleration = lane(qdd, iv)
    wi, ai, ca = revolute_motion(E_, w, add(a, mul(A, p)), lane(qd, iv))
    ali = add(add(tmul(E_, al), ca), (0.0, 0.0, acceleration))
    m, h, inertia = rigid_body(lanes, t, limb)
    Ai = acceleration_matrix(wi, ali)
    f, n = body_force(m, h, inertia, wi, ali, Ai, ai)
    f, n = less_wrench(f, n, f_ext, wrench, t, limb)
    ft, nt = walk(walk, levels[1:], lanes, limb, iq + 1, iv + 1, q, qd, qdd, f_ext, wrench, wi, ali, Ai, ai, tau)
    f = add(f, ft)
    n = add(n, nt)
    to_lane(tau, t * LANES + limb, n[2] + lane(lanes, parameter(t, ARMATURE, limb)) * acceleration)
    return force_to_parent(E_, p, f, n)


@lean
def inverse_dynamics(levels, limbs, parameters, lanes, q, qd, qdd, f_ext, gravity, tau):
    """RNEA: tau of q, qd, qdd with gravity times `gravity` (0 or 1)."""
    joints = len(levels) * limbs
    nq = q.shape[0] - joints
    nv = tau.shape[0] - joints
    wrench = stack(WRENCH_SIZE)
    spread_wrenches(levels, parameters, limbs, f_ext, wrench)
    x = stack(JOINT_SIZE)
    w, a = base_motion(q, qd, nv > 0, scale(gravity, row3(parameters, 0, GRAVITY)))
    al = ZERO3
    if nv > 0:
        al = part3(qdd, 0)
        a = add(a, part3(qdd, 3))
    A = acceleration_matrix(w, al)
    m, h, inertia = base_body(parameters)
    f, n = body_force(m, h, inertia, w, al, A, a)
    for limb in range(limbs):
        iq = nq + limb * len(levels)
        iv = nv + limb * len(levels)
        fl, nl = rnea_limb(rnea_limb, levels, lanes, limb, iq, iv, q, qd, qdd, f_ext, wrench, w, al, A, a, x)
        f = add(f, fl)
        n = add(n, nl)
    collect(levels, limbs, x, tau)
    if nv > 0:
        f, n = base_less_wrench(parameters, f, n, f_ext)
        part3_to(tau, 0, n)
        part3_to(tau, 3, f)


# ---- forward dynamics ----------------------------------------------------------------------------------------------


@inline
def aba_limb(walk, levels, lanes, limb, iq, iv, q, qd, tau, f_ext, wrench, w, kept):
    """Passes 1 and 2 of ABA over the limb ahead: I^a and p^a that its carrier, turning with w, feels (A3-A8)."""
    if len(levels) == 0:
        return (ZERO6, ZERO9, ZERO6), ZERO3, ZERO3
    t = len(levels) - 1
    effort = lane(tau, iv)  # read before anything is kept: a load behind a store would not join the others' vector
    E_, p = placement(lanes, t, limb, lane(q, iq))
    wi, cl, ca = revolute_motion(E_, w, cross(w, cross(w, p)), lane(qd, iv))
    m, h, inertia = rigid_body(lanes, t, limb)
    f, n = body_bias(h, inertia, wi)
    f, n = less_wrench(f, n, f_ext, wrench, t, limb)
    tip, ft, nt = walk(walk, levels[1:], lanes, limb, iq + 1, iv + 1, q, qd, tau, f_ext, wrench, wi, kept)
    M, H, N = add_blocks(body_blocks(m, h, inertia), tip)
    f = add(f, ft)
    n = add(n, nt)
    ul, ua, d = revolute_column(M, H, N)
    di = 1.0 / (d + lane(lanes, parameter(t, ARMATURE, limb)))
    u = effort - n[2]
    o = t * KEPT * LANES + limb
    to_lane9(kept, o + E * LANES, E_)
    to_lane3(kept, o + CL * LANES, cl)
    to_lane3(kept, o + CA * LANES, ca)
    to_lane3(kept, o + UL * LANES, ul)
    to_lane3(kept, o + UA * LANES, ua)
    to_lane(kept, o + DI * LANES, di)
    to_lane(kept, o + U * LANES, u)
    M, H, N = project(M, H, N, ul, ua, di)
    f, n = project_force(M, H, N, ul, ua, di, u, f, n, cl, ca)
    f, n = force_to_parent(E_, p, f, n)
    return blocks_to_parent(E_, p, M, H, N), f, n


@inline
def accelerate_limb(walk, levels, lanes, limb, kept, a, al, qdd):
    """Pass 3 of ABA over the limb ahead, its carrier accelerating at a, al (A9, A10)."""
    if len(levels) == 0:
        return
    t = len(levels) - 1
    o = t * KEPT * LANES + limb
    p = lane3(lanes, parameter(t, P0, limb))
    cl = lane3(kept, o + CL * LANES)
    a, al = accelerate(lane9(kept, o + E * LANES), p, a, al, cl, lane3(kept, o + CA * LANES))
    ul = lane3(kept, o + UL * LANES)
    ua = lane3(kept, o + UA * LANES)
    x = joint_acceleration(ul, ua, lane(kept, o + DI * LANES), lane(kept, o + U * LANES), a, al)
    to_lane(qdd, t * LANES + limb, x)
    walk(walk, levels[1:], lanes, limb, kept, a, (al[0], al[1], al[2] + x), qdd)


@lean
def forward_dynamics(levels, limbs, parameters, lanes, q, qd, tau, f_ext, qdd):
    """ABA: qdd of q, qd, tau."""
    joints = len(levels) * limbs
    nq = q.shape[0] - joints
    nv = tau.shape[0] - joints
    wrench = stack(WRENCH_SIZE)
    spread_wrenches(levels, parameters, limbs, f_ext, wrench)
    kept = stack(KEPT_SIZE)
    x = stack(JOINT_SIZE)
    w, a = base_motion(q, qd, nv > 0, row3(parameters, 0, GRAVITY))
    m, h, inertia = base_body(parameters)
    f, n = body_bias(h, inertia, w)
    blocks = body_blocks(m, h, inertia)
    for limb in range(limbs):
        iq = nq + limb * len(levels)
        iv = nv + limb * len(levels)
        own, fl, nl = aba_limb(aba_limb, levels, lanes, limb, iq, iv, q, qd, tau, f_ext, wrench, w, kept)
        blocks = add_blocks(blocks, own)
        f = add(f, fl)
        n = add(n, nl)
    al = ZERO3
    if nv > 0:
        f, n = base_less_wrench(parameters, f, n, f_ext)
        M, H, N = inverse_blocks(blocks[0], blocks[1], blocks[2])
        a_free, al = apply_blocks(M, H, N, sub(part3(tau, 3), f), sub(part3(tau, 0), n))
        part3_to(qdd, 0, al)
        part3_to(qdd, 3, sub(a_free, a))
        a = a_free
    for limb in range(limbs):
        accelerate_limb(accelerate_limb, levels, lanes, limb, kept, a, al, x)
    collect(levels, limbs, x, qdd)


# ---- joint-space inertia -------------------------------------------------------------------------------------------


@inline
def carry(walk, columns, E_, p, t, deeper, limb, entries):
    """Columns of H of the joints further out: read off their entries with joint t, then carry them to its parent."""
    if len(columns) == 0:
        return ()
    f, n = columns[0]
    to_lane(entries, (t * DEEPEST + deeper) * LANES + limb, n[2])
    own = force_to_parent(E_, p, f, n)
    return (own, *walk(walk, columns[1:], E_, p, t, deeper - 1, limb, entries))


@inline
def crba_limb(walk, levels, lanes, limb, iq, q, entries):
    """Composite m, h, I of the limb ahead and its columns of H, nearest first, as forces on its carrier (C1-C3)."""
    if len(levels) == 0:
        return (0.0, ZERO3, ZERO6), ()
    t = len(levels) - 1
    E_, p = placement(lanes, t, limb, lane(q, iq))
    m, h, inertia = rigid_body(lanes, t, limb)
    tip, columns = walk(walk, levels[1:], lanes, limb, iq + 1, q, entries)
    m += tip[0]
    h = add(h, tip[1])
    J = add6(inertia, tip[2])
    own = ((-h[1], h[0], 0.0), (J[2], J[4], J[5]))
    columns = carry(carry, (own, *columns), E_, p, t, t, limb, entries)
    o = (t * DEEPEST + t) * LANES + limb
    to_lane(entries, o, lane(entries, o) + lane(lanes, parameter(t, ARMATURE, limb)))
    h, J = composite_to_parent(E_, p, m, h, J)
    return (m, h, J), columns


@inline
def keep(walk, columns, t, limb, out):
    """Write the columns of one limb, as the base feels them."""
    if len(columns) == 0:
        return
    f, n = columns[0]
    to_lane3(out, t * 6 * LANES + limb, n)
    to_lane3(out, (t * 6 + 3) * LANES + limb, f)
    walk(walk, columns[1:], t - 1, limb, out)


@inline
def fill_limb(levels, limb, first, base, entries, columns, H):
    """Copy the entries of one limb and their mirror images to H."""
    depth = len(levels)
    for i in range(depth):
        for j in range(i, depth):
            x = lane(entries, ((depth - 1 - i) * DEEPEST + depth - 1 - j) * LANES + limb)
            H[first + i, first + j] = x
            H[first + j, first + i] = x
        for k in range(base):
            x = lane(columns, ((depth - 1 - i) * 6 + k) * LANES + limb)
            H[k, first + i] = x
            H[first + i, k] = x


@lean
def mass_matrix(levels, limbs, parameters, lanes, q, H_out):
    """H(q) by CRBA."""
    joints = len(levels) * limbs
    nq = q.shape[0] - joints
    nv = H_out.shape[0] - joints
    entries = stack(ENTRY_SIZE)
    columns = stack(WRENCH_SIZE)
    m, h, J = base_body(parameters)
    for limb in range(limbs):
        (mt, ht, Jt), forces = crba_limb(crba_limb, levels, lanes, limb, nq + limb * len(levels), q, entries)
        keep(keep, forces, len(levels) - 1, limb, columns)
        m += mt
        h = add(h, ht)
        J = add6(J, Jt)
    H_out[:, :] = 0.0
    if nv > 0:
        for k, x in enumerate(body_matrix(m, h, J)):
            for c in range(6):
                H_out[k, c] = x[c]
    for limb in range(limbs):
        fill_limb(levels, limb, nv + limb * len(levels), nv, entries, columns, H_out)
