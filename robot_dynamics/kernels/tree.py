# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Driver for any tree: RNEA, CRBA and ABA row by row, on a robot packed as in `rows`.

q, qd, qdd and tau are those of `Model` (mimic joints projected out). Routines work on a workspace `w` that the caller
owns and leave in it what the next one needs; kernels are what Python calls.
`f_ext` is [n, f] per body (6 nb,), link axes, or empty. What Python calls with input that nobody has looked at returns
False, and does nothing, where that does not fit the robot or is not finite.
"""

from ..compiler import LANES, brief, inline, kernel, lane, routine, stack, to_lane
from .joints import add_along, along, column, motion, nq_of, nv_of, one_dof, own_force, placement_of
from .link import (
    accelerate,
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
    revolute_blocks_to_parent,
    revolute_column,
    revolute_project_force,
)
from .rows import (
    AL,
    ARMATURE,
    BODY,
    CA,
    CL,
    DI,
    FREE,
    GRAVITY,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    OFFSET,
    RATIO,
    REVOLUTE,
    ROTOR,
    TURN,
    UA,
    UL,
    A,
    E,
    F,
    G,
    H,
    M,
    N,
    P,
    T,
    U,
    W,
    add3,
    add6,
    add9,
    finite,
    first_q,
    first_v,
    parent,
    part3,
    part3_to,
    row3,
    row6,
    row9,
    set3,
    set6,
    set9,
)
from .scalar import (
    ZERO3,
    acceleration_matrix,
    add,
    apply_blocks,
    cross,
    dot,
    inverse_blocks,
    mul,
    scale,
    sincos,
    sub,
    tmul,
)

TURNS = 8 * LANES
"""Joints whose sines are computed together; the vectors of a longer robot are cut."""
COSINE, SINE = UL, UA
"""Columns that hold a joint's turn until U = I^A S is known."""

# ---- joints --------------------------------------------------------------------------------------------------------


@inline
def coordinates(topology, parameters, q, first, count, w, x):
    """Coordinates of the joints of `count` rows from `first` into column U and `x`; 0 where there is no single one.

    The store into `w`, which might overlap `q`, keeps this loop from becoming slow gathers.
    """
    for k in range(count):
        i = first + k
        single = one_dof(topology[i, KIND])
        w[i, U] = parameters[i, RATIO] * q[first_q(topology, i)] + parameters[i, OFFSET] if single else 0.0
        to_lane(x, k, w[i, U])


@inline
def placement(topology, parameters, i, q, w):
    """E, p of row i in its parent at q, kept in `w`; needs `turn`."""
    placed, p = placement_of(topology, parameters, i, q, w[i, U], w[i, COSINE], w[i, SINE])
    set9(w, i, E, placed)
    set3(w, i, P, p)
    return placed, p


@inline
def external(parameters, f_ext, i, body):
    """Wrench of the environment on row i in the row's axes: force, moment; `f_ext` is [n, f] per body, link axes."""
    turn = row9(parameters, i, TURN)
    return tmul(turn, part3(f_ext, 6 * body + 3)), tmul(turn, part3(f_ext, 6 * body))


@routine
def turn(topology, parameters, q, w):
    """Coordinates of all one-dof joints, their cosines and sines, into columns U, COSINE, SINE."""
    x, c, s = stack(TURNS), stack(TURNS), stack(TURNS)
    rows = topology.shape[0]
    for first in range(1, rows, TURNS):
        count = min(TURNS, rows - first)
        lanes = (count + LANES - 1) // LANES * LANES
        coordinates(topology, parameters, q, first, count, w, x)
        for k in range(count, lanes):
            to_lane(x, k, 0.0)
        for k in range(lanes):
            cosine, sine = sincos(lane(x, k))
            to_lane(c, k, cosine)
            to_lane(s, k, sine)
        for k in range(count):
            w[first + k, COSINE] = lane(c, k)
            w[first + k, SINE] = lane(s, k)


@routine
def place(topology, parameters, q, w):
    """Placement of every row in its parent."""
    turn(topology, parameters, q, w)
    for i in range(1, topology.shape[0]):
        placement(topology, parameters, i, q, w)


@inline
def clear_world(w):
    """Set the sums that children add to the world's row to zero."""
    for k in range(M, DI):
        w[0, k] = 0.0


# ---- sizes ---------------------------------------------------------------------------------------------------------


@inline
def dimensions(topology):
    """nq and nv of the robot."""
    nq = nv = 0
    for i in range(1, topology.shape[0]):
        kind = topology[i, KIND]
        nq = max(nq, first_q(topology, i) + nq_of(kind))
        nv = max(nv, first_v(topology, i) + nv_of(kind))
    return nq, nv


@inline
def fits(topology, q, qd, u, f_ext):
    """Whether the vectors have the lengths nq, nv, nv, and all are finite."""
    nq, nv = dimensions(topology)
    if q.shape[0] != nq or qd.shape[0] != nv or u.shape[0] != nv:
        return False
    return finite(q) and finite(qd) and finite(u) and finite(f_ext)


# ---- inverse dynamics ----------------------------------------------------------------------------------------------


@inline
def rnea_outward(topology, parameters, q, qd, qdd, g, w):
    """Outward half of RNEA in link coordinates (R1-R3): motion and net force of rows; the world accelerates at -g."""
    turn(topology, parameters, q, w)
    set3(w, 0, W, ZERO3)
    set3(w, 0, AL, ZERO3)
    set3(w, 0, A, scale(-1.0, g))
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        iv = first_v(topology, i)
        kind = topology[i, KIND]
        placed, p = placement(topology, parameters, i, q, w)
        wj = row3(w, j, W)
        alj = row3(w, j, AL)
        ap = add(row3(w, j, A), mul(acceleration_matrix(wj, alj), p))
        wi, a, ca = motion(topology, parameters, i, placed, wj, ap, qd)
        al = add(tmul(placed, alj), ca)
        if kind == FREE:
            al = add(al, part3(qdd, iv))
            a = add(a, part3(qdd, iv + 3))
        elif one_dof(kind):
            a, al = add_along(kind, a, al, parameters[i, RATIO] * qdd[iv])
        m = parameters[i, MASS]
        f, n = body_force(
            m, row3(parameters, i, MOMENT), row6(parameters, i, INERTIA), wi, al, acceleration_matrix(wi, al), a
        )
        set3(w, i, W, wi)
        set3(w, i, AL, al)
        set3(w, i, A, a)
        set3(w, i, F, f)
        set3(w, i, T, n)


@inline
def rnea_inward(topology, parameters, qd, qdd, f_ext, w, tau):
    """Inward half of RNEA (R4, R5), with armature and geared rotors (G3); tau is overwritten."""
    tau[:] = 0.0
    for i in range(topology.shape[0] - 1, 0, -1):
        j = parent(topology, i)
        iv = first_v(topology, i)
        kind = topology[i, KIND]
        f = row3(w, i, F)
        n = row3(w, i, T)
        if f_ext.shape[0] > 0 and topology[i, BODY] >= 0:
            fx, nx = external(parameters, f_ext, i, topology[i, BODY])
            f = sub(f, fx)
            n = sub(n, nx)
        if kind == FREE:
            part3_to(tau, iv, n)
            part3_to(tau, iv + 3, f)
        elif one_dof(kind):
            ratio = parameters[i, RATIO]
            acceleration = ratio * qdd[iv]
            effort = along(kind, f, n) + parameters[i, ARMATURE] * acceleration
            k = row3(parameters, i, ROTOR)
            if dot(k, k) > 0.0:
                effort += dot(k, row3(w, j, AL))
                spin = scale(ratio * qd[iv], cross(row3(w, j, W), k))
                add3(w, j, T, add(scale(acceleration, k), spin))
            tau[iv] += ratio * effort
        f, n = force_to_parent(row9(w, i, E), row3(w, i, P), f, n)
        add3(w, j, F, f)
        add3(w, j, T, n)


@routine
def rnea(topology, parameters, q, qd, qdd, f_ext, w, tau):
    """RNEA: tau of q, qd, qdd."""
    clear_world(w)
    rnea_outward(topology, parameters, q, qd, qdd, row3(parameters, 0, GRAVITY), w)
    rnea_inward(topology, parameters, qd, qdd, f_ext, w, tau)


@brief
def inverse_dynamics(topology, parameters, q, qd, qdd, f_ext, w, tau):
    """RNEA for input that nobody has looked at."""
    if not fits(topology, q, qd, qdd, f_ext):
        return False
    rnea(topology, parameters, q, qd, qdd, f_ext, w, tau)
    return True


# ---- joint-space inertia -------------------------------------------------------------------------------------------


@inline
def start_composites(topology, parameters, w):
    """Columns M, H, N of every row: its own m, h, I."""
    for i in range(1, topology.shape[0]):
        w[i, M] = parameters[i, MASS]
        set3(w, i, H, row3(parameters, i, MOMENT))
        set6(w, i, N, row6(parameters, i, INERTIA))


@inline
def join_parent(topology, i, placed, p, m, h, inertia, w):
    """Add the composite inertia of row i to its parent's (C1)."""
    j = parent(topology, i)
    if j > 0:
        h, inertia = composite_to_parent(placed, p, m, h, inertia)
        w[j, M] += m
        add3(w, j, H, h)
        add6(w, j, N, inertia)


@routine
def composite(topology, parameters, w):
    """Composite inertia m, h, I of every row's subtree (C1) in columns M, H, N; needs `place`."""
    start_composites(topology, parameters, w)
    for i in range(topology.shape[0] - 1, 0, -1):
        join_parent(topology, i, row9(w, i, E), row3(w, i, P), w[i, M], row3(w, i, H), row6(w, i, N), w)


@inline
def add_mirrored(mass_matrix, row, column, x):
    """Add x to an entry outside H's diagonal and to its mirror image."""
    x += mass_matrix[row, column]
    mass_matrix[row, column] = x
    mass_matrix[column, row] = x


@inline
def read_off(topology, parameters, j, f, n, row, ratio, mass_matrix):
    """Add what joint j feels of the force of a column (C3) to H; two mimic joints of one dof meet on its diagonal."""
    kind = topology[j, KIND]
    column = first_v(topology, j)
    if kind == FREE:
        for k, x in enumerate((n[0], n[1], n[2], f[0], f[1], f[2])):
            add_mirrored(mass_matrix, row, column + k, ratio * x)
    elif one_dof(kind):
        x = ratio * parameters[j, RATIO] * along(kind, f, n)
        add_mirrored(mass_matrix, row, column, 2.0 * x if row == column else x)


@inline
def walk(topology, parameters, w, j, force, row, ratio, mass_matrix):
    """Carry a force that arrives at row j to the root, and read off what each joint feels of it (C2, C3)."""
    f, n = force
    while j > 0:
        read_off(topology, parameters, j, f, n, row, ratio, mass_matrix)
        k = parent(topology, j)
        if k > 0:
            f, n = force_to_parent(row9(w, j, E), row3(w, j, P), f, n)
        j = k


@routine
def free_block(topology, parameters, i, w, mass_matrix):
    """Rows of H of a free joint: its own 6x6 block and what its ancestors feel."""
    iv = first_v(topology, i)
    for k, x in enumerate(body_matrix(w[i, M], row3(w, i, H), row6(w, i, N))):
        for c in range(6):
            mass_matrix[iv + k, iv + c] = x[c]
        f = (x[3], x[4], x[5])
        n = (x[0], x[1], x[2])
        f, n = force_to_parent(row9(w, i, E), row3(w, i, P), f, n)
        walk(topology, parameters, w, parent(topology, i), (f, n), iv + k, 1.0, mass_matrix)


@routine
def crba(topology, parameters, w, mass_matrix):
    """H by the lambda walk (C1-C3, armature on the diagonal); needs `place`."""
    mass_matrix[:, :] = 0.0
    start_composites(topology, parameters, w)
    for i in range(topology.shape[0] - 1, 0, -1):
        kind = topology[i, KIND]
        placed = row9(w, i, E)
        p = row3(w, i, P)
        m = w[i, M]
        h = row3(w, i, H)
        inertia = row6(w, i, N)
        join_parent(topology, i, placed, p, m, h, inertia, w)
        if kind == FREE:
            free_block(topology, parameters, i, w, mass_matrix)
        elif one_dof(kind):
            iv = first_v(topology, i)
            ratio = parameters[i, RATIO]
            f, n = own_force(kind, m, h, inertia)
            mass_matrix[iv, iv] += ratio * ratio * (along(kind, f, n) + parameters[i, ARMATURE])
            f, n = force_to_parent(placed, p, f, n)
            n = add(n, row3(parameters, i, ROTOR))
            walk(topology, parameters, w, parent(topology, i), (f, n), iv, ratio, mass_matrix)


@brief
def mass_matrix(topology, parameters, q, w, H_out):
    """H(q) by CRBA."""
    if q.shape[0] != dimensions(topology)[0] or not finite(q):
        return False
    place(topology, parameters, q, w)
    crba(topology, parameters, w, H_out)
    return True


@kernel
def composites(topology, parameters, q, w):
    """Composite inertia m, h, I of every row's subtree at q (C1) in columns M, H, N."""
    place(topology, parameters, q, w)
    composite(topology, parameters, w)


# ---- forward dynamics ----------------------------------------------------------------------------------------------


@inline
def aba_outward(topology, parameters, q, qd, f_ext, w, there):
    """Pass 1 of ABA: placement unless it is `there`, velocity, c_i, I^A = I, p^A = v x* I v - f^X."""
    if not there:
        turn(topology, parameters, q, w)
    set3(w, 0, W, ZERO3)
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        placed, p = (row9(w, i, E), row3(w, i, P)) if there else placement(topology, parameters, i, q, w)
        wj = row3(w, j, W)
        wi, cl, ca = motion(topology, parameters, i, placed, wj, cross(wj, cross(wj, p)), qd)
        h = row3(parameters, i, MOMENT)
        inertia = row6(parameters, i, INERTIA)
        f, n = body_bias(h, inertia, wi)
        if f_ext.shape[0] > 0 and topology[i, BODY] >= 0:
            fx, nx = external(parameters, f_ext, i, topology[i, BODY])
            f = sub(f, fx)
            n = sub(n, nx)
        blocks = body_blocks(parameters[i, MASS], h, inertia)
        set3(w, i, W, wi)
        set3(w, i, CL, cl)
        set3(w, i, CA, ca)
        set6(w, i, M, blocks[0])
        set9(w, i, H, blocks[1])
        set6(w, i, N, blocks[2])
        set3(w, i, F, f)
        set3(w, i, T, n)


@inline
def free_inward(topology, i, tau, w):
    """Row of a free joint in pass 2: all its motion is free (A10), so I^a = 0 and its parent feels tau alone."""
    iv = first_v(topology, i)
    M_, H_, N_ = inverse_blocks(row6(w, i, M), row9(w, i, H), row6(w, i, N))
    set6(w, i, G, M_)
    set9(w, i, G + 6, H_)
    set6(w, i, G + 15, N_)
    n = part3(tau, iv)
    f = part3(tau, iv + 3)
    set3(w, i, UL, sub(f, row3(w, i, F)))
    set3(w, i, UA, sub(n, row3(w, i, T)))
    j = parent(topology, i)
    f, n = force_to_parent(row9(w, i, E), row3(w, i, P), f, n)
    add3(w, j, F, f)
    add3(w, j, T, n)


@inline
def keep_joint(w, i, ul, ua, di, u):
    """U, D^-1 and u of row i into the workspace."""
    w[i, DI] = di
    w[i, U] = u
    set3(w, i, UL, ul)
    set3(w, i, UA, ua)


@inline
def add_to_parent(w, j, M_, H_, N_, f, n):
    """Add I^a and p^a of a child to row j (A8)."""
    add6(w, j, M, M_)
    add9(w, j, H, H_)
    add6(w, j, N, N_)
    add3(w, j, F, f)
    add3(w, j, T, n)


@inline
def bare(topology, parameters, i, added):
    """Whether row i is a revolute joint without rotor and armature: then I^a S = 0."""
    if topology[i, KIND] != REVOLUTE:
        return False
    rotor = row3(parameters, i, ROTOR)
    return parameters[i, ARMATURE] + added[first_v(topology, i)] == 0.0 and dot(rotor, rotor) == 0.0


@inline
def bare_inward(topology, i, tau, w):
    """Row of a `bare` joint in pass 2."""
    j = parent(topology, i)
    placed = row9(w, i, E)
    p = row3(w, i, P)
    M_ = row6(w, i, M)
    H_ = row9(w, i, H)
    N_ = row6(w, i, N)
    f = row3(w, i, F)
    n = row3(w, i, T)
    ul, ua, d = revolute_column(M_, H_, N_)
    u = tau[first_v(topology, i)] - n[2]
    di = 1.0 / d if d != 0.0 else 0.0
    keep_joint(w, i, ul, ua, di, u)
    if j > 0:
        M_, H_, N_ = project(M_, H_, N_, ul, ua, di)
        cl = row3(w, i, CL)
        ca = row3(w, i, CA)
        f, n = revolute_project_force((M_, H_, N_), (ul, ua, di), u, (f, n), (cl, ca))
        f, n = force_to_parent(placed, p, f, n)
        M_, H_, N_ = revolute_blocks_to_parent(placed, p, M_, H_, N_)
        add_to_parent(w, j, M_, H_, N_, f, n)


@inline
def inward(topology, parameters, i, qd, tau, added, w):
    """Row of any joint but a free one in pass 2; its rotor turns with the parent too (G4)."""
    j = parent(topology, i)
    iv = first_v(topology, i)
    kind = topology[i, KIND]
    placed = row9(w, i, E)
    p = row3(w, i, P)
    M_ = row6(w, i, M)
    H_ = row9(w, i, H)
    N_ = row6(w, i, N)
    f = row3(w, i, F)
    n = row3(w, i, T)
    cl = row3(w, i, CL)
    ca = row3(w, i, CA)
    ul, ua, di, u = ZERO3, ZERO3, 0.0, 0.0
    if one_dof(kind):
        ul, ua, d = column(kind, M_, H_, N_)
        rotor = row3(parameters, i, ROTOR)
        kappa = tmul(placed, rotor)
        ua = add(ua, kappa)
        u = tau[iv] - along(kind, f, n) + dot(kappa, ca)
        add3(w, j, T, scale(qd[iv], cross(row3(w, j, W), rotor)))
        d += parameters[i, ARMATURE] + added[iv]
        di = 1.0 / d if d != 0.0 else 0.0
    keep_joint(w, i, ul, ua, di, u)
    if j > 0:
        M_, H_, N_ = project(M_, H_, N_, ul, ua, di)
        f, n = project_force((M_, H_, N_), (ul, ua, di), u, (f, n), (cl, ca))
        f, n = force_to_parent(placed, p, f, n)
        M_, H_, N_ = blocks_to_parent(placed, p, M_, H_, N_)
        add_to_parent(w, j, M_, H_, N_, f, n)


@inline
def aba_inward(topology, parameters, qd, tau, added, w):
    """Pass 2 of ABA (A5-A8) from the leaves to the root; `added` (nv,) joins the armature in D."""
    for i in range(topology.shape[0] - 1, 0, -1):
        if topology[i, KIND] == FREE:
            free_inward(topology, i, tau, w)
        elif bare(topology, parameters, i, added):
            bare_inward(topology, i, tau, w)
        else:
            inward(topology, parameters, i, qd, tau, added, w)


@inline
def aba_accelerations(topology, g, w, qdd):
    """Pass 3 of ABA (A3, A6, A10): accelerations from the root to the leaves; the world accelerates at -g."""
    set3(w, 0, A, scale(-1.0, g))
    set3(w, 0, AL, ZERO3)
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        kind = topology[i, KIND]
        iv = first_v(topology, i)
        a, al = accelerate(row9(w, i, E), row3(w, i, P), row3(w, j, A), row3(w, j, AL), row3(w, i, CL), row3(w, i, CA))
        if kind == FREE:
            a_free, al_free = apply_blocks(
                row6(w, i, G), row9(w, i, G + 6), row6(w, i, G + 15), row3(w, i, UL), row3(w, i, UA)
            )
            part3_to(qdd, iv, sub(al_free, al))
            part3_to(qdd, iv + 3, sub(a_free, a))
            a = a_free
            al = al_free
        elif one_dof(kind):
            x = joint_acceleration(row3(w, i, UL), row3(w, i, UA), w[i, DI], w[i, U], a, al)
            qdd[iv] = x
            a, al = add_along(kind, a, al, x)
        set3(w, i, A, a)
        set3(w, i, AL, al)


@routine
def aba(topology, parameters, q, qd, tau, f_ext, w, qdd):
    """ABA: qdd of q, qd, tau. Not for models with mimic joints."""
    clear_world(w)
    for k in range(qd.shape[0]):
        qdd[k] = 0.0
    aba_outward(topology, parameters, q, qd, f_ext, w, False)
    aba_inward(topology, parameters, qd, tau, qdd, w)  # nothing joins the armature
    aba_accelerations(topology, row3(parameters, 0, GRAVITY), w, qdd)


@brief
def forward_dynamics(topology, parameters, q, qd, tau, f_ext, w, qdd):
    """ABA for input that nobody has looked at."""
    if not fits(topology, q, qd, tau, f_ext):
        return False
    aba(topology, parameters, q, qd, tau, f_ext, w, qdd)
    return True
