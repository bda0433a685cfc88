# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""3-D algebra on tuples: everything stays in registers and the code reads as the formula.

Vectors are (x, y, z); 3x3 matrices 9 numbers by rows; symmetric ones (xx, xy, xz, yy, yz, zz). `E` is a rotation whose
columns are the axes of a child frame in its parent, so `mul(E, x)` carries x from child to parent axes.
"""

import numpy as np

from ..compiler import inline, strict

ZERO3 = (0.0, 0.0, 0.0)
ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ZERO9 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
HALF_TURN_X = (1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0)


@strict
def sincos(x):
    """Cos x, sin x to 2.1e-16 for |x| < 1e6 without a branch, so that loops over lanes vectorise.

    Reduction to |r| <= pi/4 by three parts of pi/2, then the polynomials of [fdlibm] (X6), their terms
    by pairs, which do not wait for each other.
    """
    k = np.rint(x * 0.6366197723675814)
    r = ((x - k * 1.5707963267341256) - k * 6.077100506303966e-11) - k * 2.0222662487959506e-21
    z = r * r
    z2 = z * z
    s1 = -1.66666666666666324348e-01 + z * 8.33333333332248946124e-03
    s2 = -1.98412698298579493134e-04 + z * 2.75573137070700676789e-06
    s3 = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    s = r + r * z * (s1 + z2 * (s2 + z2 * s3))
    c1 = 4.16666666666666019037e-02 + z * -1.38888888888741095749e-03
    c2 = 2.48015872894767294178e-05 + z * -2.75573143513906633035e-07
    c3 = 2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
    c = 1.0 - 0.5 * z + z2 * (c1 + z2 * (c2 + z2 * c3))
    quadrant = k - 4.0 * np.floor(k * 0.25)
    odd = (quadrant == 1.0) or (quadrant == 3.0)
    sin = c if odd else s
    cos = s if odd else c
    sin = -sin if quadrant >= 2.0 else sin
    cos = -cos if (quadrant == 1.0) or (quadrant == 2.0) else cos
    return cos, sin


@inline
def add(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inline
def add6(a, b):
    """Sum of six numbers each."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inline
def add9(a, b):
    """Sum of nine numbers each."""
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@inline
def sub(a, b):
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def scale(s, a):
    """S a."""
    return (s * a[0], s * a[1], s * a[2])


@inline
def scale6(s, a):
    """S a of six numbers."""
    return (s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5])


@inline
def scale9(s, a):
    """S a of nine numbers."""
    return (s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5], s * a[6], s * a[7], s * a[8])


@inline
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inline
def turn_to(n):
    """Smallest rotation that carries z to the unit vector n (B5); the half turn about x for -z, the only jump.

    R = 1 + K + K^2 / (1 + n_z) with K = [z x n]x. Below the equator 1 / (1 + n_z) = (1 - n_z) / (n_x^2 + n_y^2): the
    difference of 1 and -n_z would lose the digits that n_x and n_y have. 1e-290 keeps the squares from underflow.
    """
    x, y, z = n
    across = x * x + y * y
    if z >= 0.0:
        g = 1.0 / (1.0 + z)
    elif across > 1e-290:
        g = (1.0 - z) / across
    else:
        return HALF_TURN_X
    xy = -g * x * y
    return (1.0 - g * x * x, xy, x, xy, 1.0 - g * y * y, y, -x, -y, z)


@inline
def mul(E, x):
    """E x."""
    return (
        E[0] * x[0] + E[1] * x[1] + E[2] * x[2],
        E[3] * x[0] + E[4] * x[1] + E[5] * x[2],
        E[6] * x[0] + E[7] * x[1] + E[8] * x[2],
    )


@inline
def tmul(E, x):
    """E^T x."""
    return (
        E[0] * x[0] + E[3] * x[1] + E[6] * x[2],
        E[1] * x[0] + E[4] * x[1] + E[7] * x[2],
        E[2] * x[0] + E[5] * x[1] + E[8] * x[2],
    )


@inline
def smul(S, x):
    """S x with S symmetric."""
    return (
        S[0] * x[0] + S[1] * x[1] + S[2] * x[2],
        S[1] * x[0] + S[3] * x[1] + S[4] * x[2],
        S[2] * x[0] + S[4] * x[1] + S[5] * x[2],
    )


@inline
def smul2(S, x):
    """Product of a symmetric 2x2 matrix (xx, xy, yy) and a vector."""
    return S[0] * x[0] + S[1] * x[1], S[1] * x[0] + S[2] * x[1]


@inline
def matmul(A, B):
    """A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inline
def dyads(a, x, b, y):
    """A x^T + b y^T."""
    return (
        a[0] * x[0] + b[0] * y[0],
        a[0] * x[1] + b[0] * y[1],
        a[0] * x[2] + b[0] * y[2],
        a[1] * x[0] + b[1] * y[0],
        a[1] * x[1] + b[1] * y[1],
        a[1] * x[2] + b[1] * y[2],
        a[2] * x[0] + b[2] * y[0],
        a[2] * x[1] + b[2] * y[1],
        a[2] * x[2] + b[2] * y[2],
    )


@inline
def transpose(A):
    """A^T."""
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@inline
def congruence(E, S):
    """E S E^T with S symmetric."""
    a0 = E[0] * S[0] + E[1] * S[1] + E[2] * S[2]
    a1 = E[0] * S[1] + E[1] * S[3] + E[2] * S[4]
    a2 = E[0] * S[2] + E[1] * S[4] + E[2] * S[5]
    b0 = E[3] * S[0] + E[4] * S[1] + E[5] * S[2]
    b1 = E[3] * S[1] + E[4] * S[3] + E[5] * S[4]
    b2 = E[3] * S[2] + E[4] * S[4] + E[5] * S[5]
    c0 = E[6] * S[0] + E[7] * S[1] + E[8] * S[2]
    c1 = E[6] * S[1] + E[7] * S[3] + E[8] * S[4]
    c2 = E[6] * S[2] + E[7] * S[4] + E[8] * S[5]
    return (
        a0 * E[0] + a1 * E[1] + a2 * E[2],
        a0 * E[3] + a1 * E[4] + a2 * E[5],
        a0 * E[6] + a1 * E[7] + a2 * E[8],
        b0 * E[3] + b1 * E[4] + b2 * E[5],
        b0 * E[6] + b1 * E[7] + b2 * E[8],
        c0 * E[6] + c1 * E[7] + c2 * E[8],
    )


@inline
def turn_z(R, c, s):
    """R Rz(q) with c = cos q, s = sin q."""
    return (
        R[0] * c + R[1] * s,
        R[1] * c - R[0] * s,
        R[2],
        R[3] * c + R[4] * s,
        R[4] * c - R[3] * s,
        R[5],
        R[6] * c + R[7] * s,
        R[7] * c - R[6] * s,
        R[8],
    )


@inline
def quaternion_matrix(x, y, z, w):
    """Rotation matrix of the quaternion, of any length but zero."""
    k = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        1.0 - k * (y * y + z * z),
        k * (x * y - z * w),
        k * (x * z + y * w),
        k * (x * y + z * w),
        1.0 - k * (x * x + z * z),
        k * (y * z - x * w),
        k * (x * z - y * w),
        k * (y * z + x * w),
        1.0 - k * (x * x + y * y),
    )


@inline
def acceleration_matrix(w, al):
    """[al] + [w]^2 (B11): times a body-fixed point it gives that point's acceleration relative to the origin."""
    xx = w[0] * w[0]
    yy = w[1] * w[1]
    zz = w[2] * w[2]
    xy = w[0] * w[1]
    xz = w[0] * w[2]
    yz = w[1] * w[2]
    return (
        -(yy + zz),
        xy - al[2],
        xz + al[1],
        xy + al[2],
        -(xx + zz),
        yz - al[0],
        xz - al[1],
        yz + al[0],
        -(xx + yy),
    )


@inline
def adjugate(S):
    """Cofactors of S symmetric, and its determinant."""
    a = S[3] * S[5] - S[4] * S[4]
    b = S[2] * S[4] - S[1] * S[5]
    c = S[1] * S[4] - S[2] * S[3]
    rest = (S[0] * S[5] - S[2] * S[2], S[1] * S[2] - S[0] * S[4], S[0] * S[3] - S[1] * S[1])
    return (a, b, c, *rest), S[0] * a + S[1] * b + S[2] * c


@inline
def inverse_symmetric(S):
    """S^-1 with S symmetric, by cofactors."""
    C, d = adjugate(S)
    return scale6(1.0 / d, C)


@inline
def full(S):
    """Nine numbers of a symmetric matrix of six."""
    return (S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5])


@inline
def eliminate_blocks(M, H, N):
    """M^-1, T = M^-1 H, and cofactors and 1 / determinant of S = N - H^T T, the Schur complement of M in [M H; H^T N].

    Products are formed of cofactors, beside the division by the determinant: it takes as long as a product of matrices.
    """
    C, m = adjugate(M)
    d = 1.0 / m
    X = matmul(full(C), H)
    S = (
        N[0] - d * (H[0] * X[0] + H[3] * X[3] + H[6] * X[6]),
        N[1] - d * (H[0] * X[1] + H[3] * X[4] + H[6] * X[7]),
        N[2] - d * (H[0] * X[2] + H[3] * X[5] + H[6] * X[8]),
        N[3] - d * (H[1] * X[1] + H[4] * X[4] + H[7] * X[7]),
        N[4] - d * (H[1] * X[2] + H[4] * X[5] + H[7] * X[8]),
        N[5] - d * (H[2] * X[2] + H[5] * X[5] + H[8] * X[8]),
    )
    B, s = adjugate(S)
    return scale6(d, C), scale9(d, X), B, 1.0 / s


@inline
def solve_blocks(M, H, N, f, n):
    """(a; al) with [M H; H^T N] (a; al) = (f; n): al = S^-1 (n - T^T f), a = M^-1 f - T al."""
    Mi, T, B, e = eliminate_blocks(M, H, N)
    al = scale(e, smul(B, sub(n, tmul(T, f))))
    return sub(smul(Mi, f), mul(T, al)), al


@inline
def inverse_blocks(M, H, N):
    """Blocks of [M H; H^T N]^-1, M and N symmetric: [M^-1 + T S^-1 T^T, -T S^-1; ., S^-1] (A12)."""
    Mi, T, B, e = eliminate_blocks(M, H, N)
    G = matmul(T, full(B))
    return (
        (
            Mi[0] + e * (G[0] * T[0] + G[1] * T[1] + G[2] * T[2]),
            Mi[1] + e * (G[0] * T[3] + G[1] * T[4] + G[2] * T[5]),
            Mi[2] + e * (G[0] * T[6] + G[1] * T[7] + G[2] * T[8]),
            Mi[3] + e * (G[3] * T[3] + G[4] * T[4] + G[5] * T[5]),
            Mi[4] + e * (G[3] * T[6] + G[4] * T[7] + G[5] * T[8]),
            Mi[5] + e * (G[6] * T[6] + G[7] * T[7] + G[8] * T[8]),
        ),
        scale9(-e, G),
        scale6(e, B),
    )


@inline
def cross_rows(x, F):
    """Rows of [x] F."""
    u, v, w = (F[0], F[1], F[2]), (F[3], F[4], F[5]), (F[6], F[7], F[8])
    return (
        sub(scale(x[1], w), scale(x[2], v)),
        sub(scale(x[2], u), scale(x[0], w)),
        sub(scale(x[0], v), scale(x[1], u)),
    )


@inline
def apply_blocks(M, H, N, a, al):
    """(f; n) = [M H; H^T N] (a; al)."""
    return add(smul(M, a), mul(H, al)), add(tmul(H, a), smul(N, al))
