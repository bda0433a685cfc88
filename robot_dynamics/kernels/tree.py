"""Driver for any tree: RNEA, CRBA and ABA row by row, on a robot packed as in `rows`.

q, qd, qdd and tau are those of `Model` (mimic joints projected out). Routines work on a workspace `w` that the caller
owns and leave in it what the next one needs; kernels are what Python calls.
`f_ext` is [n, f] per body (6 nb,), link axes, or empty. What Python calls with input that nobody has looked at returns
False, and does nothing, where that does not fit the robot or is not finite.
"""

from .jit import brief, inline, kernel, routine
from .link import (
    accelerate,
    blocks_to_parent,
    body_bias,
    body_blocks,
    body_force,
    body_matrix,
    composite_to_parent,
    force_to_parent,
    free_motion,
    free_placement,
    joint_acceleration,
    prismatic_column,
    prismatic_motion,
    prismatic_placement,
    project,
    project_force,
    revolute_column,
    revolute_motion,
    revolute_placement,
)
from .rows import (
    AL,
    ARMATURE,
    BODY,
    CA,
    CL,
    DI,
    FIXED,
    FREE,
    GRAVITY,
    INERTIA,
    IQ,
    IV,
    KIND,
    MASS,
    MOMENT,
    OFFSET,
    P0,
    PARENT,
    R0,
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
    part3,
    part3_to,
    part4,
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

# ---- joints --------------------------------------------------------------------------------------------------------


@inline
def placement(topology, parameters, i, q):
    """E, p of row i in its parent at q."""
    R = row9(parameters, i, R0)
    p = row3(parameters, i, P0)
    kind = topology[i, KIND]
    iq = topology[i, IQ]
    if kind == FREE:
        return free_placement(R, p, part3(q, iq), part4(q, iq + 3))
    if kind == FIXED:
        return R, p
    x = parameters[i, RATIO] * q[iq] + parameters[i, OFFSET]
    if kind == REVOLUTE:
        c, s = sincos(x)
        return revolute_placement(R, p, c, s)
    return prismatic_placement(R, p, x)


@inline
def motion(topology, parameters, i, placed, w_parent, ap, qd):
    """Angular velocity of row i and c_i (A3), `ap` as in `revolute_motion`."""
    kind = topology[i, KIND]
    iv = topology[i, IV]
    if kind == FREE:
        return free_motion(placed, w_parent, ap, part3(qd, iv), part3(qd, iv + 3))
    if kind == FIXED:
        return tmul(placed, w_parent), tmul(placed, ap), ZERO3
    rate = parameters[i, RATIO] * qd[iv]
    if kind == REVOLUTE:
        return revolute_motion(placed, w_parent, ap, rate)
    return prismatic_motion(placed, w_parent, ap, rate)


@inline
def along(kind, f, n):
    """S^T f of a one-dof joint."""
    return n[2] if kind == REVOLUTE else f[2]


@inline
def external(parameters, f_ext, i, body):
    """Wrench of the environment on row i in the row's axes: force, moment; `f_ext` is [n, f] per body, link axes."""
    turn = row9(parameters, i, TURN)
    return tmul(turn, part3(f_ext, 6 * body + 3)), tmul(turn, part3(f_ext, 6 * body))


@routine
def place(topology, parameters, q, w):
    """Placement of every row in its parent."""
    for i in range(1, topology.shape[0]):
        placed, p = placement(topology, parameters, i, q)
        set9(w, i, E, placed)
        set3(w, i, P, p)


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
        nq = max(nq, topology[i, IQ] + (7 if kind == FREE else (0 if kind == FIXED else 1)))
        nv = max(nv, topology[i, IV] + (6 if kind == FREE else (0 if kind == FIXED else 1)))
    return nq, nv


@inline
def fits(topology, q, qd, u, f_ext):
    """Whether the vectors have the lengths nq, nv, nv, and all are finite."""
    nq, nv = dimensions(topology)
    if q.shape[0] != nq or qd.shape[0] != nv or u.shape[0] != nv:
        return False
    return finite(q) and finite(qd) and finite(u) and finite(f_ext)


# ---- inverse dynamics ----------------------------------------------------------------------------------------------


@routine
def rnea_outward(topology, parameters, q, qd, qdd, g, w):
    """Outward half of RNEA in link coordinates (R1-R3): motion and net force of rows; the world accelerates at -g."""
    set3(w, 0, W, ZERO3)
    set3(w, 0, AL, ZERO3)
    set3(w, 0, A, scale(-1.0, g))
    for i in range(1, topology.shape[0]):
        j = topology[i, PARENT]
        iv = topology[i, IV]
        kind = topology[i, KIND]
        placed, p = placement(topology, parameters, i, q)
        wj = row3(w, j, W)
        alj = row3(w, j, AL)
        ap = add(row3(w, j, A), mul(acceleration_matrix(wj, alj), p))
        wi, a, ca = motion(topology, parameters, i, placed, wj, ap, qd)
        al = add(tmul(placed, alj), ca)
        if kind == FREE:
            al = add(al, part3(qdd, iv))
            a = add(a, part3(qdd, iv + 3))
        elif kind == REVOLUTE:
            al = (al[0], al[1], al[2] + parameters[i, RATIO] * qdd[iv])
        elif kind != FIXED:
            a = (a[0], a[1], a[2] + parameters[i, RATIO] * qdd[iv])
        m = parameters[i, MASS]
        f, n = body_force(
            m, row3(parameters, i, MOMENT), row6(parameters, i, INERTIA), wi, al, acceleration_matrix(wi, al), a
        )
        set9(w, i, E, placed)
        set3(w, i, P, p)
        set3(w, i, W, wi)
        set3(w, i, AL, al)
        set3(w, i, A, a)
        set3(w, i, F, f)
        set3(w, i, T, n)


@routine
def rnea_inward(topology, parameters, qd, qdd, f_ext, w, tau):
    """Inward half of RNEA (R4, R5), with armature and geared rotors; tau is overwritten."""
    tau[:] = 0.0
    for i in range(topology.shape[0] - 1, 0, -1):
        j = topology[i, PARENT]
        iv = topology[i, IV]
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
        elif kind != FIXED:
            ratio = parameters[i, RATIO]
            k = row3(parameters, i, ROTOR)
            rate = ratio * qd[iv]
            acceleration = ratio * qdd[iv]
            spin = parameters[i, ARMATURE] * acceleration + dot(k, row3(w, j, AL))
            tau[iv] += ratio * (along(kind, f, n) + spin)
            add3(w, j, T, add(scale(acceleration, k), scale(rate, cross(row3(w, j, W), k))))
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


@routine
def composite(topology, parameters, w):
    """Composite inertia m, h, I of every row's subtree (C1) in columns M, H, N; needs `place`."""
    rows = topology.shape[0]
    for i in range(1, rows):
        w[i, M] = parameters[i, MASS]
        set3(w, i, H, row3(parameters, i, MOMENT))
        set6(w, i, N, row6(parameters, i, INERTIA))
    for i in range(rows - 1, 0, -1):
        j = topology[i, PARENT]
        if j > 0:
            m = w[i, M]
            h, inertia = composite_to_parent(row9(w, i, E), row3(w, i, P), m, row3(w, i, H), row6(w, i, N))
            w[j, M] += m
            add3(w, j, H, h)
            add6(w, j, N, inertia)


@inline
def read_off(topology, parameters, j, f, n, row, ratio, mass_matrix):
    """Add what joint j feels of the force of a column (C3) to H and to its mirror image; mimic joints add up."""
    kind = topology[j, KIND]
    column = topology[j, IV]
    if kind == FREE:
        for k, x in enumerate((n[0], n[1], n[2], f[0], f[1], f[2])):
            mass_matrix[row, column + k] += ratio * x
            mass_matrix[column + k, row] += ratio * x
    elif kind != FIXED:
        x = ratio * parameters[j, RATIO] * along(kind, f, n)
        mass_matrix[row, column] += x
        mass_matrix[column, row] += x


@routine
def free_block(topology, parameters, i, w, mass_matrix):
    """Rows of H of a free joint: its own 6x6 block and what its ancestors feel."""
    iv = topology[i, IV]
    for k, x in enumerate(body_matrix(w[i, M], row3(w, i, H), row6(w, i, N))):
        for c in range(6):
            mass_matrix[iv + k, iv + c] = x[c]
        f = (x[3], x[4], x[5])
        n = (x[0], x[1], x[2])
        j = i
        while topology[j, PARENT] > 0:
            f, n = force_to_parent(row9(w, j, E), row3(w, j, P), f, n)
            j = topology[j, PARENT]
            read_off(topology, parameters, j, f, n, iv + k, 1.0, mass_matrix)


@routine
def own_column(topology, parameters, i, w, mass_matrix):
    """Force I^c S of a one-dof joint into columns F, T, and H_ii."""
    kind = topology[i, KIND]
    h = row3(w, i, H)
    J = row6(w, i, N)
    if kind == REVOLUTE:
        f = (-h[1], h[0], 0.0)
        n = (J[2], J[4], J[5])
    else:
        f = (0.0, 0.0, w[i, M])
        n = (h[1], -h[0], 0.0)
    iv = topology[i, IV]
    ratio = parameters[i, RATIO]
    mass_matrix[iv, iv] += ratio * ratio * (along(kind, f, n) + parameters[i, ARMATURE])
    set3(w, i, F, f)
    set3(w, i, T, n)


@routine
def crba(topology, parameters, w, mass_matrix):
    """H by the lambda walk (C1-C3, armature on the diagonal); needs `place`.

    The columns of a whole subtree, rows i to w[i, U], go to the parent together: they do not wait for each other.
    """
    composite(topology, parameters, w)
    mass_matrix[:, :] = 0.0
    rows = topology.shape[0]
    for i in range(rows):
        w[i, U] = i + 1
    for i in range(rows - 1, 0, -1):
        j = topology[i, PARENT]
        kind = topology[i, KIND]
        w[j, U] = max(w[j, U], w[i, U])
        if kind == FREE:
            free_block(topology, parameters, i, w, mass_matrix)
        elif kind != FIXED:
            own_column(topology, parameters, i, w, mass_matrix)
        if j == 0:
            continue
        placed = row9(w, i, E)
        p = row3(w, i, P)
        rotor = row3(parameters, i, ROTOR)
        for k in range(i, int(w[i, U])):
            if topology[k, KIND] != FREE and topology[k, KIND] != FIXED:
                f, n = force_to_parent(placed, p, row3(w, k, F), row3(w, k, T))
                n = add(n, rotor if k == i else ZERO3)
                set3(w, k, F, f)
                set3(w, k, T, n)
                read_off(topology, parameters, j, f, n, topology[k, IV], parameters[k, RATIO], mass_matrix)


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


@routine
def aba_outward(topology, parameters, q, qd, f_ext, w):
    """Pass 1 of ABA: placement, velocity, c_i, I^A = I, p^A = v x* I v - f^X."""
    set3(w, 0, W, ZERO3)
    for i in range(1, topology.shape[0]):
        j = topology[i, PARENT]
        placed, p = placement(topology, parameters, i, q)
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
        set9(w, i, E, placed)
        set3(w, i, P, p)
        set3(w, i, W, wi)
        set3(w, i, CL, cl)
        set3(w, i, CA, ca)
        set6(w, i, M, blocks[0])
        set9(w, i, H, blocks[1])
        set6(w, i, N, blocks[2])
        set3(w, i, F, f)
        set3(w, i, T, n)


@inline
def column(kind, M_, H_, N_):
    """U, S^T I^A S of a one-dof joint (A5)."""
    if kind == REVOLUTE:
        return revolute_column(M_, H_, N_)
    return prismatic_column(M_, H_, N_)


@routine
def aba_inward(topology, parameters, qd, tau, added, w):
    """Pass 2 of ABA (A5-A8) from the leaves to the root; `added` (nv,) joins the armature in D.

    A free joint passes on nothing but its own wrench: all its motion is free, so I^a = 0 and p^a = tau.
    """
    for i in range(topology.shape[0] - 1, 0, -1):
        j = topology[i, PARENT]
        iv = topology[i, IV]
        kind = topology[i, KIND]
        placed = row9(w, i, E)
        p = row3(w, i, P)
        M_ = row6(w, i, M)
        H_ = row9(w, i, H)
        N_ = row6(w, i, N)
        f = row3(w, i, F)
        n = row3(w, i, T)
        if kind == FREE:
            Mi, Hi, Ni = inverse_blocks(M_, H_, N_)
            set6(w, i, G, Mi)
            set9(w, i, G + 6, Hi)
            set6(w, i, G + 15, Ni)
            n_tau = part3(tau, iv)
            f_tau = part3(tau, iv + 3)
            set3(w, i, UL, sub(f_tau, f))
            set3(w, i, UA, sub(n_tau, n))
            f, n = force_to_parent(placed, p, f_tau, n_tau)
            add3(w, j, F, f)
            add3(w, j, T, n)
            continue
        cl = row3(w, i, CL)
        ca = row3(w, i, CA)
        di = 0.0
        u = 0.0
        ul = ZERO3
        ua = ZERO3
        if kind != FIXED:
            ul, ua, d = column(kind, M_, H_, N_)
            u = tau[iv] - along(kind, f, n)
            rotor = row3(parameters, i, ROTOR)
            kappa = tmul(placed, rotor)
            ua = add(ua, kappa)
            u += dot(kappa, ca)
            add3(w, j, T, scale(qd[iv], cross(row3(w, j, W), rotor)))
            d += parameters[i, ARMATURE] + added[iv]
            di = 1.0 / d if d != 0.0 else 0.0
        w[i, DI] = di
        w[i, U] = u
        set3(w, i, UL, ul)
        set3(w, i, UA, ua)
        if j > 0:
            M_, H_, N_ = project(M_, H_, N_, ul, ua, di)
            f, n = project_force(M_, H_, N_, ul, ua, di, u, f, n, cl, ca)
            M_, H_, N_ = blocks_to_parent(placed, p, M_, H_, N_)
            f, n = force_to_parent(placed, p, f, n)
            add6(w, j, M, M_)
            add9(w, j, H, H_)
            add6(w, j, N, N_)
            add3(w, j, F, f)
            add3(w, j, T, n)


@routine
def aba_accelerations(topology, g, w, qdd):
    """Pass 3 of ABA (A3, A6, A10): accelerations from the root to the leaves; the world accelerates at -g."""
    set3(w, 0, A, scale(-1.0, g))
    set3(w, 0, AL, ZERO3)
    for i in range(1, topology.shape[0]):
        j = topology[i, PARENT]
        kind = topology[i, KIND]
        iv = topology[i, IV]
        a, al = accelerate(row9(w, i, E), row3(w, i, P), row3(w, j, A), row3(w, j, AL), row3(w, i, CL), row3(w, i, CA))
        if kind == FREE:
            a_free, al_free = apply_blocks(
                row6(w, i, G), row9(w, i, G + 6), row6(w, i, G + 15), row3(w, i, UL), row3(w, i, UA)
            )
            part3_to(qdd, iv, sub(al_free, al))
            part3_to(qdd, iv + 3, sub(a_free, a))
            a = a_free
            al = al_free
        elif kind != FIXED:
            x = joint_acceleration(row3(w, i, UL), row3(w, i, UA), w[i, DI], w[i, U], a, al)
            qdd[iv] = x
            if kind == REVOLUTE:
                al = (al[0], al[1], al[2] + x)
            else:
                a = (a[0], a[1], a[2] + x)
        set3(w, i, A, a)
        set3(w, i, AL, al)


@routine
def aba(topology, parameters, q, qd, tau, f_ext, w, qdd):
    """ABA: qdd of q, qd, tau. Not for models with mimic joints."""
    clear_world(w)
    for k in range(qd.shape[0]):
        qdd[k] = 0.0
    aba_outward(topology, parameters, q, qd, f_ext, w)
    aba_inward(topology, parameters, qd, tau, qdd, w)  # nothing joins the armature
    aba_accelerations(topology, row3(parameters, 0, GRAVITY), w, qdd)


@brief
def forward_dynamics(topology, parameters, q, qd, tau, f_ext, w, qdd):
    """ABA for input that nobody has looked at."""
    if not fits(topology, q, qd, tau, f_ext):
        return False
    aba(topology, parameters, q, qd, tau, f_ext, w, qdd)
    return True
