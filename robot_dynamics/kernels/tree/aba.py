# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics of a tree: ABA."""

from ...compiler import brief, inline, routine
from ..joints import add_along, along, column, motion, one_dof
from ..link import (
    accelerate,
    blocks_to_parent,
    body_bias,
    body_blocks,
    force_to_parent,
    joint_acceleration,
    project,
    project_force,
    revolute_blocks_to_parent,
    revolute_column,
    revolute_project_force,
)
from ..rows import (
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
    REVOLUTE,
    ROTOR,
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
from ..scalar import ZERO3, add, apply_blocks, cross, dot, inverse_blocks, scale, sub, tmul
from .placement import clear_world, external, fits, placement, turn


@inline
def aba_outward(topology, parameters, q, qd, f_ext, w):
    """Pass 1 of ABA: placement, velocity, c_i, I^A = I, p^A = v x* I v - f^X."""
    turn(topology, parameters, q, w)
    set3(w, 0, W, ZERO3)
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        placed, p = placement(topology, parameters, i, q, w)
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
def bare(topology, parameters, i):
    """Whether row i is a revolute joint without rotor and armature: then I^a S = 0."""
    if topology[i, KIND] != REVOLUTE:
        return False
    rotor = row3(parameters, i, ROTOR)
    return parameters[i, ARMATURE] == 0.0 and dot(rotor, rotor) == 0.0


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
def inward(topology, parameters, i, qd, tau, w):
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
        d += parameters[i, ARMATURE]
        di = 1.0 / d if d != 0.0 else 0.0
    keep_joint(w, i, ul, ua, di, u)
    if j > 0:
        M_, H_, N_ = project(M_, H_, N_, ul, ua, di)
        f, n = project_force((M_, H_, N_), (ul, ua, di), u, (f, n), (cl, ca))
        f, n = force_to_parent(placed, p, f, n)
        M_, H_, N_ = blocks_to_parent(placed, p, M_, H_, N_)
        add_to_parent(w, j, M_, H_, N_, f, n)


@inline
def aba_inward(topology, parameters, qd, tau, w):
    """Pass 2 of ABA (A5-A8) from the leaves to the root."""
    for i in range(topology.shape[0] - 1, 0, -1):
        if topology[i, KIND] == FREE:
            free_inward(topology, i, tau, w)
        elif bare(topology, parameters, i):
            bare_inward(topology, i, tau, w)
        else:
            inward(topology, parameters, i, qd, tau, w)


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
    aba_outward(topology, parameters, q, qd, f_ext, w)
    aba_inward(topology, parameters, qd, tau, w)
    aba_accelerations(topology, row3(parameters, 0, GRAVITY), w, qdd)


@brief
def forward_dynamics(topology, parameters, q, qd, tau, f_ext, w, qdd):
    """ABA for unvalidated input."""
    if not fits(topology, q, qd, tau, f_ext):
        return False
    aba(topology, parameters, q, qd, tau, f_ext, w, qdd)
    return True
