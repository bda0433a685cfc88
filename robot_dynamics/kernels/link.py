# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What one body does in RNEA, ABA and CRBA: the lines of the textbook tables, as functions on tuples.

Every body frame is turned so that its joint axis is z. E, p: child axes and origin in the parent. w, al: angular
velocity and acceleration; a: acceleration of the frame's ORIGIN (not the spatial one, so that no linear velocity need
be carried), with the world accelerating at -g. A force is (f, n), n about the frame's origin. A rigid body is m,
h = m c, I about its origin; an articulated or composite one is the blocks M (symmetric), H, N (symmetric) of
(f; n) = [M H; H^T N] (a; al) (B13). For spatial accelerations (omega'; v') the same recursions hold with
a = v' + omega x v (B7).
"""

from ..compiler import inline, strict
from .scalar import (
    add,
    add6,
    add9,
    congruence,
    cross,
    dot,
    dyads,
    matmul,
    mul,
    quaternion_matrix,
    scale,
    smul,
    sub,
    tmul,
    transpose,
    turn_z,
)

# ---- joints: one small function each ------------------------------------------------------------------------------


@inline
def revolute_placement(R, p, c, s):
    """E, p of a revolute joint turned by q, c = cos q, s = sin q."""
    return turn_z(R, c, s), p


@inline
def prismatic_placement(R, p, q):
    """E, p of a prismatic joint moved by q."""
    return R, (p[0] + R[2] * q, p[1] + R[5] * q, p[2] + R[8] * q)


@inline
def free_placement(R, p, x, quaternion):
    """E, p of a free joint: position x in the joint frame, attitude as quaternion x y z w."""
    Q = quaternion_matrix(quaternion[0], quaternion[1], quaternion[2], quaternion[3])
    return matmul(R, Q), add(p, mul(R, x))


@inline
def revolute_product(E, wi, ap, qd):
    """c_i = v_i x S_i qd_i (A3, B8), linear and angular; `ap`: acceleration of the child's origin in the parent."""
    return tmul(E, ap), (wi[1] * qd, -wi[0] * qd, 0.0)


@inline
def revolute_motion(E, w, ap, qd):
    """w_i, and c_i as `revolute_product`."""
    w0 = tmul(E, w)
    cl, ca = revolute_product(E, w0, ap, qd)
    return (w0[0], w0[1], w0[2] + qd), cl, ca


@inline
def prismatic_motion(E, w, ap, qd):
    """As `revolute_motion`: the Coriolis term is 2 w x (0, 0, qd) (B9)."""
    w0 = tmul(E, w)
    return w0, add(tmul(E, ap), (2.0 * w0[1] * qd, -2.0 * w0[0] * qd, 0.0)), (0.0, 0.0, 0.0)


@inline
def free_motion(E, w, ap, wJ, vJ):
    """As `revolute_motion` for a relative twist (wJ, vJ) in child axes (B10)."""
    w0 = tmul(E, w)
    cl = add(tmul(E, ap), add(scale(2.0, cross(w0, vJ)), cross(wJ, vJ)))
    return add(w0, wJ), cl, cross(w0, wJ)


@inline
def root_motion(E, w, v, g):
    """Acceleration of a free root's origin while its twist (w, v), own axes, stays; the world accelerates at -g."""
    return sub(cross(w, v), tmul(E, g))


@inline
def revolute_column(M, H, N):
    """U = I^A S and S^T I^A S for a revolute joint (A5): linear part, angular part, scalar."""
    return (H[2], H[5], H[8]), (N[2], N[4], N[5]), N[5]


@inline
def prismatic_column(M, H, N):
    """U = I^A S and S^T I^A S for a prismatic joint (A5)."""
    return (M[2], M[4], M[5]), (H[6], H[7], H[8]), M[5]


# ---- twists in world axes: rounded alike wherever they are worked out ---------------------------------------------


@strict
def in_world(R, x):
    """R x."""
    return (
        R[0] * x[0] + R[1] * x[1] + R[2] * x[2],
        R[3] * x[0] + R[4] * x[1] + R[5] * x[2],
        R[6] * x[0] + R[7] * x[1] + R[8] * x[2],
    )


@strict
def plus_along(x, s, axis):
    """X plus s times a joint's axis."""
    return (x[0] + s * axis[0], x[1] + s * axis[1], x[2] + s * axis[2])


@strict
def velocity_off(v, w, d):
    """Velocity v + w x d of a point at d from one that moves with v (R1)."""
    return (
        v[0] + (w[1] * d[2] - w[2] * d[1]),
        v[1] + (w[2] * d[0] - w[0] * d[2]),
        v[2] + (w[0] * d[1] - w[1] * d[0]),
    )


@inline
def acceleration_off(a, w, al, d):
    """Acceleration a + al x d + w x (w x d) of a point at d from one that has a (A3), without `acceleration_matrix`."""
    return add(a, add(cross(al, d), cross(w, cross(w, d))))


# ---- one body -----------------------------------------------------------------------------------------------------


@inline
def body_force(m, h, inertia, w, al, A, a):
    """Net force of a rigid body (R3, B12): f = m a + A h, n = I al + w x I w + h x a."""
    return add(scale(m, a), mul(A, h)), body_moment(h, inertia, w, al, a)


@inline
def body_moment(h, inertia, w, al, a):
    """The moment n of `body_force`."""
    return add(add(smul(inertia, al), cross(w, smul(inertia, w))), cross(h, a))


@inline
def body_momentum(m, h, inertia, w, v):
    """Momentum of a rigid body with the velocity v of its origin, about that (K3): f = m v + w x h, n = I w + h x v."""
    return add(scale(m, v), cross(w, h)), add(smul(inertia, w), cross(h, v))


@inline
def gyration(h, inertia, w, v):
    """Gamma = [w] (2 I - tr I 1) - 2 [h] [v] (V3): moment, about the origin, by a change of angular velocity alone."""
    J = inertia
    t = J[0] + J[3] + J[5]
    # rows of 2 I - tr I 1, then of [w] times it, then of 2 (v h^T - (h . v) 1) less
    a, b, c = 2.0 * J[0] - t, 2.0 * J[3] - t, 2.0 * J[5] - t
    d, e, f = 2.0 * J[1], 2.0 * J[2], 2.0 * J[4]
    g = (2.0 * h[0], 2.0 * h[1], 2.0 * h[2])
    s = dot(g, v)
    return (
        w[1] * e - w[2] * d - v[0] * g[0] + s,
        w[1] * f - w[2] * b - v[0] * g[1],
        w[1] * c - w[2] * f - v[0] * g[2],
        w[2] * a - w[0] * e - v[1] * g[0],
        w[2] * d - w[0] * f - v[1] * g[1] + s,
        w[2] * e - w[0] * c - v[1] * g[2],
        w[0] * d - w[1] * a - v[2] * g[0],
        w[0] * b - w[1] * d - v[2] * g[1],
        w[0] * f - w[1] * e - v[2] * g[2] + s,
    )


@inline
def body_bias(h, inertia, w):
    """Force of a rigid body at a = al = 0 (pass 1 of ABA)."""
    return cross(w, cross(w, h)), cross(w, smul(inertia, w))


@inline
def body_blocks(m, h, inertia):
    """Rigid-body inertia as blocks M, H, N (B13): f = m a + al x h, so H = -[h]."""
    return (m, 0.0, 0.0, m, 0.0, m), (0.0, h[2], -h[1], -h[2], 0.0, h[0], h[1], -h[0], 0.0), inertia


@inline
def body_matrix(m, h, inertia):
    """Rows of [I, [h]; -[h], m 1], the inertia over [angular; linear]."""
    J = inertia
    return (
        (J[0], J[1], J[2], 0.0, -h[2], h[1]),
        (J[1], J[3], J[4], h[2], 0.0, -h[0]),
        (J[2], J[4], J[5], -h[1], h[0], 0.0),
        (0.0, h[2], -h[1], m, 0.0, 0.0),
        (-h[2], 0.0, h[0], 0.0, m, 0.0),
        (h[1], -h[0], 0.0, 0.0, 0.0, m),
    )


@inline
def add_blocks(a, b):
    """Sum of two inertias given as blocks."""
    return add6(a[0], b[0]), add9(a[1], b[1]), add6(a[2], b[2])


@inline
def force_to_parent(E, p, f, n):
    """Carry a force from child to parent axes and origin (B2: X^T f)."""
    F = mul(E, f)
    return F, add(mul(E, n), cross(p, F))


@inline
def blocks_to_parent(E, p, M, H, N):
    """Carry an articulated or composite inertia to the parent (X^T I X)."""
    Mr = congruence(E, M)
    Hr = matmul(matmul(E, H), transpose(E))
    Nr = congruence(E, N)
    return shift_blocks(p, Mr, Hr, Nr)


@inline
def revolute_blocks_to_parent(E, p, M, H, N):
    """As `blocks_to_parent` for I^a S = 0 with S the turn about z: third columns of H and N are 0."""
    x = (E[0], E[3], E[6])
    y = (E[1], E[4], E[7])
    Hr = dyads(mul(E, (H[0], H[3], H[6])), x, mul(E, (H[1], H[4], H[7])), y)
    Nr = dyads(x, add(scale(N[0], x), scale(N[1], y)), y, add(scale(N[1], x), scale(N[3], y)))
    return shift_blocks(p, congruence(E, M), Hr, (Nr[0], Nr[1], Nr[2], Nr[4], Nr[5], Nr[8]))


@inline
def shift_blocks(p, M, H, N):
    """Move the reference point of [M H; H^T N] by -p (B14): H' = H - M [p], N' = N - H^T [p] + [p] H'."""
    x = p[0]
    y = p[1]
    z = p[2]
    h0 = H[0] - (M[1] * z - M[2] * y)
    h1 = H[1] - (M[2] * x - M[0] * z)
    h2 = H[2] - (M[0] * y - M[1] * x)
    h3 = H[3] - (M[3] * z - M[4] * y)
    h4 = H[4] - (M[4] * x - M[1] * z)
    h5 = H[5] - (M[1] * y - M[3] * x)
    h6 = H[6] - (M[4] * z - M[5] * y)
    h7 = H[7] - (M[5] * x - M[2] * z)
    h8 = H[8] - (M[2] * y - M[4] * x)
    return (
        M,
        (h0, h1, h2, h3, h4, h5, h6, h7, h8),
        (
            N[0] - (H[3] * z - H[6] * y) + (y * h6 - z * h3),
            N[1] - (H[6] * x - H[0] * z) + (y * h7 - z * h4),
            N[2] - (H[0] * y - H[3] * x) + (y * h8 - z * h5),
            N[3] - (H[7] * x - H[1] * z) + (z * h1 - x * h7),
            N[4] - (H[1] * y - H[4] * x) + (z * h2 - x * h8),
            N[5] - (H[2] * y - H[5] * x) + (x * h5 - y * h2),
        ),
    )


# ---- ABA ----------------------------------------------------------------------------------------------------------


@inline
def project(M, H, N, ul, ua, di):
    """I^a = I^A - U D^-1 U^T (A7); di = 1/D."""
    g0 = ul[0] * di
    g1 = ul[1] * di
    g2 = ul[2] * di
    k0 = ua[0] * di
    k1 = ua[1] * di
    k2 = ua[2] * di
    return (
        (
            M[0] - g0 * ul[0],
            M[1] - g0 * ul[1],
            M[2] - g0 * ul[2],
            M[3] - g1 * ul[1],
            M[4] - g1 * ul[2],
            M[5] - g2 * ul[2],
        ),
        (
            H[0] - g0 * ua[0],
            H[1] - g0 * ua[1],
            H[2] - g0 * ua[2],
            H[3] - g1 * ua[0],
            H[4] - g1 * ua[1],
            H[5] - g1 * ua[2],
            H[6] - g2 * ua[0],
            H[7] - g2 * ua[1],
            H[8] - g2 * ua[2],
        ),
        (
            N[0] - k0 * ua[0],
            N[1] - k0 * ua[1],
            N[2] - k0 * ua[2],
            N[3] - k1 * ua[1],
            N[4] - k1 * ua[2],
            N[5] - k2 * ua[2],
        ),
    )


@inline
def project_force(blocks, joint, u, force, c):
    """p^a = p^A + I^a c + U D^-1 u (A8) of I^a, p^A and c = (cl, ca), with 0 as z of ca, that of the axis.

    blocks: M, H, N. joint: U, linear and angular, and 1/D. force: f, n.
    """
    (M, H, N), (ul, ua, di), (f, n), (cl, ca) = blocks, joint, force, c
    g = di * u
    across = add(scale(ca[0], (H[0], H[3], H[6])), scale(ca[1], (H[1], H[4], H[7])))
    turning = add(scale(ca[0], (N[0], N[1], N[2])), scale(ca[1], (N[1], N[3], N[4])))
    fa = add(add(f, scale(g, ul)), add(smul(M, cl), across))
    return fa, add(add(n, scale(g, ua)), add(tmul(H, cl), turning))


@inline
def revolute_project_force(blocks, joint, u, force, c):
    """As `project_force` for I^a S = 0 with S the turn about z: third columns of H and N and the z of ca are 0."""
    (M, H, N), (ul, ua, di), (f, n), (cl, ca) = blocks, joint, force, c
    g = di * u
    x = (H[0], H[3], H[6])
    y = (H[1], H[4], H[7])
    fa = add(add(f, scale(g, ul)), add(smul(M, cl), add(scale(ca[0], x), scale(ca[1], y))))
    turning = (dot(x, cl) + N[0] * ca[0] + N[1] * ca[1], dot(y, cl) + N[1] * ca[0] + N[3] * ca[1], 0.0)
    return fa, add(add(n, scale(g, ua)), turning)


@inline
def accelerate(E, p, a, al, cl, ca):
    """A' = X a_lambda + c (first half of A3), for accelerations of origins."""
    return add(tmul(E, add(a, cross(al, p))), cl), add(tmul(E, al), ca)


@strict
def joint_acceleration(ul, ua, di, u, a, al):
    """qdd = D^-1 (u - U^T a') (A6), in the order in which a chain of joints comes to know it: al before a."""
    rest = u - ua[0] * al[0] - ua[1] * al[1] - ua[2] * al[2]
    return di * (rest - ul[0] * a[0] - ul[1] * a[1] - ul[2] * a[2])


# ---- CRBA ---------------------------------------------------------------------------------------------------------


@inline
def composite_to_parent(E, p, m, h, inertia):
    """Carry m, h, I of a composite body to the parent (C1, C4): h' = E h + m p, I' = E I E^T + Steiner's terms."""
    return shift_composite(p, m, mul(E, h), congruence(E, inertia))


@inline
def shift_composite(p, m, hr, J):
    """m, h, I about a point from which the present one is at p, of m, h, I about that (C4)."""
    k = (hr[0] + 0.5 * m * p[0], hr[1] + 0.5 * m * p[1], hr[2] + 0.5 * m * p[2])
    x = p[0] * k[0]
    y = p[1] * k[1]
    z = p[2] * k[2]
    return (
        add(hr, scale(m, p)),
        (
            J[0] + 2.0 * (y + z),
            J[1] - (p[0] * k[1] + p[1] * k[0]),
            J[2] - (p[0] * k[2] + p[2] * k[0]),
            J[3] + 2.0 * (x + z),
            J[4] - (p[1] * k[2] + p[2] * k[1]),
            J[5] + 2.0 * (x + y),
        ),
    )
