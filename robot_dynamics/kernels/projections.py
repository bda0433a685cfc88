# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Coefficient matrices of the Lagrange products U_ijk = (dT_i/dq_j)^T dT_i/dq_k, in four orders of evaluation (L1-L16).

A link transform is A_i(q) = A_i1 + A_i2 f_2(q) + A_i3 f_3(q) with (f_2, f_3) = (cos q, sin q), or (q, 0) if prismatic.
The products of two of these make the basis of a joint, {1, c, s, c^2, c s} or {1, q, q^2}; products of basis functions
of different joints carry the coefficients. Coefficients lie in C order of the multi-index (l_1 .. l_n), one row of
`H` for each pair (j, k), j <= k, at k (k + 1) / 2 + j, so the pairs of a shorter path come first.

Arguments of all orders: A (n, 3, 4, 4); B = dA_i/dq on the same functions (n, 3, 4, 4), or D (m + n, 4, 4) with
dA_i/dq = A_i D_i, after m generators of base motion; revolute (n,); J (n + 1, 4, 4) pseudo-inertias, the base first.
All return the coefficient steps they took: one step is at most two products of three 4x4 matrices.
"""

import numpy as np

from ..compiler import inline, kernel, lean, routine

PRODUCTS = np.array(
    [
        [[0, 0, 1], [0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
        [[0, 0, 1], [2, 2, 1], [0, 1, 1], [1, 0, 1], [0, 2, 1], [2, 0, 1], [1, 1, 1], [2, 2, -1], [1, 2, 1], [2, 1, 1]],
    ]
).reshape(2, 5, 2, 3)
"""Which products f_a f_b make basis function l, and their sign: [revolute, l, term] = (a, b, sign); sign 0: no term."""


@inline
def size(revolute):
    """Count the basis functions of a joint."""
    return 5 if revolute else 3


@inline
def low_size(revolute):
    """Count the basis functions of degree up to one."""
    return 3 if revolute else 2


@inline
def pair(j, k):
    """Row of the pair (j, k), j <= k."""
    return k * (k + 1) // 2 + j


@inline
def set_identity(out):
    """Set out = 1."""
    for a in range(4):
        for b in range(4):
            out[a, b] = 1.0 if a == b else 0.0


@inline
def set_zero(out):
    """Set out = 0."""
    for a in range(4):
        for b in range(4):
            out[a, b] = 0.0


@inline
def set_transposed(X, out):
    """Set out = X^T E_3, the last column left out."""
    for a in range(4):
        for b in range(4):
            out[a, b] = X[b, a] if b < 3 else 0.0


@inline
def dot(X, Y):
    """Frobenius product <X, Y>."""
    total = 0.0
    for a in range(4):
        for b in range(4):
            total += X[a, b] * Y[a, b]
    return total


@routine
def multiply(X, Y, out):
    """Set out = X Y."""
    for a in range(4):
        for b in range(4):
            out[a, b] = X[a, 0] * Y[0, b] + X[a, 1] * Y[1, b] + X[a, 2] * Y[2, b] + X[a, 3] * Y[3, b]


@routine
def multiply_transposed(X, Y, out):
    """Set out = X^T Y."""
    for a in range(4):
        for b in range(4):
            out[a, b] = X[0, a] * Y[0, b] + X[1, a] * Y[1, b] + X[2, a] * Y[2, b] + X[3, a] * Y[3, b]


@routine
def add_sandwich(sign, L, W, R, out):
    """Add sign L^T W R to out, row by row so that no matrix is stored in between."""
    for a in range(4):
        w0 = sign * (L[0, a] * W[0, 0] + L[1, a] * W[1, 0] + L[2, a] * W[2, 0] + L[3, a] * W[3, 0])
        w1 = sign * (L[0, a] * W[0, 1] + L[1, a] * W[1, 1] + L[2, a] * W[2, 1] + L[3, a] * W[3, 1])
        w2 = sign * (L[0, a] * W[0, 2] + L[1, a] * W[1, 2] + L[2, a] * W[2, 2] + L[3, a] * W[3, 2])
        w3 = sign * (L[0, a] * W[0, 3] + L[1, a] * W[1, 3] + L[2, a] * W[2, 3] + L[3, a] * W[3, 3])
        for b in range(4):
            out[a, b] += w0 * R[0, b] + w1 * R[1, b] + w2 * R[2, b] + w3 * R[3, b]


@routine
def project(revolute, digit, L, W, R, out):
    """Set out = coefficient `digit` of L(q)^T W R(q) (L11 revolute, L12 prismatic); L, R (3, 4, 4)."""
    set_zero(out)
    kind = 1 if revolute else 0
    for term in range(2):
        sign = PRODUCTS[kind, digit, term, 2]
        if sign != 0:
            add_sandwich(sign, L[PRODUCTS[kind, digit, term, 0]], W, R[PRODUCTS[kind, digit, term, 1]], out)


@kernel
def potential(A, revolute, J, gravity, V):
    """Add -(g; 0)^T T_i^l J_i e_4 to V (..., products of 1, f_2, f_3) for every prefix T_i^l = A_1l .. A_il (L2)."""
    n = len(revolute)
    T = np.empty((n + 1, 4, 4))
    set_identity(T[0])
    digits, place = np.full(n + 1, -1), np.zeros(n + 1, np.int64)
    stride = strides(revolute, True)
    level = 1
    while level > 0:
        i = level - 1
        digits[level] += 1
        if digits[level] == low_size(revolute[i]):
            digits[level] = -1
            level -= 1
            continue
        place[level] = place[level - 1] + digits[level] * stride[i]
        multiply(T[level - 1], A[i, digits[level]], T[level])
        V[place[level]] += weight(T[level], J[level], gravity)
        level = min(level + 1, n)


@inline
def weight(T, J, gravity):
    """Potential -(g; 0)^T T J e_4 of a body at T."""
    total = 0.0
    for a in range(3):
        total -= gravity[a] * (T[a, 0] * J[0, 3] + T[a, 1] * J[1, 3] + T[a, 2] * J[2, 3] + T[a, 3] * J[3, 3])
    return total


@kernel
def strides(revolute, low):
    """Distance in the flat coefficients between neighbours along each joint's index."""
    n = len(revolute)
    stride = np.ones(n, np.int64)
    for i in range(n - 1, 0, -1):
        stride[i - 1] = stride[i] * (low_size(revolute[i]) if low else size(revolute[i]))
    return stride


@kernel
def direct(A, B, revolute, J, gravity, H, V, store):
    """Depth first over the multi-index, every prefix once (L13); `store` (2 + sum (i (i + 1) / 2 + i + 2), 4, 4).

    Level i of the store holds the prefix T_i, the product without derivatives, the i products with the left factor
    derived, and the i (i + 1) / 2 pairs, in this order; nothing else is kept.
    """
    n = len(revolute)
    digits, place, low_place = np.full(n + 1, -1), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    low = np.ones(n + 1, np.bool_)
    stride, low_stride = strides(revolute, False), strides(revolute, True)
    set_identity(store[0])
    set_identity(store[1])
    level, start, above, steps = 1, 2, 0, 0
    while level > 0:
        i = level - 1
        digits[level] += 1
        digit = digits[level]
        if digit == size(revolute[i]):
            digits[level] = -1
            level -= 1
            start, above = above, above - (2 + (level - 1) + (level - 1) * level // 2)
            continue
        place[level] = place[level - 1] + digit * stride[i]
        low[level] = low[level - 1] and digit < low_size(revolute[i])
        if low[level]:
            low_place[level] = low_place[level - 1] + digit * low_stride[i]
            multiply(store[above], A[i, digit], store[start])
            V[low_place[level]] += weight(store[start], J[level], gravity)
        steps += direct_level(i, digit, A[i], B[i], revolute[i], store[above + 1 :], store[start + 1 :])
        for row in range(pair(0, level)):
            H[row, place[level]] += dot(J[level], store[start + 2 + level + row])
        if level < n:
            start, above = start + 2 + level + pair(0, level), start
            level += 1
    return steps


@routine
def direct_level(i, digit, A, B, revolute, above, here):
    """Compute the products W, V_j, U_jk of link i for one coefficient from those of link i - 1 (direct order)."""
    W, left, pairs = above[0], above[1:], above[1 + i :]
    new_left, new_pairs = here[1:], here[2 + i :]
    project(revolute, digit, A, W, A, here[0])
    for j in range(i):
        project(revolute, digit, A, left[j], A, new_left[j])
        project(revolute, digit, A, left[j], B, new_pairs[pair(j, i)])
    for row in range(pair(0, i)):
        project(revolute, digit, A, pairs[row], A, new_pairs[row])
    project(revolute, digit, B, W, A, new_left[i])
    project(revolute, digit, B, W, B, new_pairs[pair(i, i)])
    return 3 + 2 * i + pair(0, i)


@kernel
def reduced(A, D, revolute, J, H, store):
    """Reduced order (L14), row by row: V_jj = D_j^T E_3, U_jjj = D_j^T D_j, then outwards along the path.

    V_ij = A_i^T V_i-1,j A_i E_3, U_iji = V_ij D_i, U_ijk = A_i^T U_i-1,jk A_i with E_3 = diag(1, 1, 1, 0): the last
    column of V meets only the zero last row of D. Generators of base motion come first in D and belong to level 0
    (L16). Level i of the store holds V_ij and U_ij0 .. U_iji.
    """
    n, m = len(revolute), len(D) - len(revolute)
    stride = strides(revolute, False)
    digits, place = np.full(n + 1, -1), np.zeros(n + 1, np.int64)
    steps = 0
    for j in range(m + n):
        first = max(0, j - m + 1)
        here = store[level_start(first, m) :]
        set_transposed(D[j], here[0])
        for k in range(j, m + first):
            multiply_transposed(D[j], D[k], here[1 + k])
            H[pair(j, k), 0] += dot(J[first], here[1 + k])
        place[first], level = 0, first + 1
        while level > first and level <= n:
            i = level - 1
            digits[level] += 1
            if digits[level] == size(revolute[i]):
                digits[level] = -1
                level -= 1
                continue
            place[level] = place[level - 1] + digits[level] * stride[i]
            above, here = store[level_start(i, m) :], store[level_start(level, m) :]
            steps += reduced_level(j, m + i, digits[level], A[i], D[m + i], revolute[i], above, here)
            for k in range(j, m + level):
                H[pair(j, k), place[level]] += dot(J[level], here[1 + k])
            level = min(level + 1, n)
    return steps


@inline
def level_start(level, m):
    """First matrix of a level in the store of the reduced order; without base motion there is no level 0."""
    return level * (1 + m) + level * (level - 1) // 2 - (1 if m == 0 else 0)


@routine
def reduced_level(j, i, digit, A, D, revolute, above, here):
    """Compute V, the earlier columns U_jk and the new column i of row j for one coefficient (reduced order)."""
    project(revolute, digit, A, above[0], A, here[0])
    for a in range(4):
        here[0, a, 3] = 0.0
    for k in range(j, i):
        project(revolute, digit, A, above[1 + k], A, here[1 + k])
    multiply(here[0], D, here[1 + i])
    return 2 + i - j


@kernel
def chainwise(A, B, revolute, J, H, store):
    """Backward order, one chain of calls for each (i, j, k, l): repeats every prefix, a check only; store (2, 4, 4)."""
    n = len(revolute)
    digits = np.zeros(n, np.int64)
    stride = strides(revolute, False)
    steps = 0
    for i in range(n):
        for j in range(i + 1):
            for k in range(j, i + 1):
                for prefix in range(prefixes(revolute, i)):
                    place = read_digits(prefix, i, revolute, stride, digits)
                    set_identity(store[0])
                    for m in range(i + 1):
                        L, R = B[m] if m == j else A[m], B[m] if m == k else A[m]
                        project(revolute[m], digits[m], L, store[m % 2], R, store[(m + 1) % 2])
                    steps += i + 1
                    H[pair(j, k), place] += dot(J[i + 1], store[(i + 1) % 2])
    return steps


@kernel
def literal(A, B, revolute, J, H, store):
    """Backward order read literally: each of the two terms of (L11) calls again for i - 1; store (n + 1, 4, 4)."""
    n = len(revolute)
    digits = np.zeros(n, np.int64)
    stride = strides(revolute, False)
    steps = 0
    for i in range(n):
        for j in range(i + 1):
            for k in range(j, i + 1):
                for prefix in range(prefixes(revolute, i)):
                    place = read_digits(prefix, i, revolute, stride, digits)
                    steps += call(i, j, k, digits, A, B, revolute, store)
                    H[pair(j, k), place] += dot(J[i + 1], store[i + 1])
    return steps


@lean
def call(i, j, k, digits, A, B, revolute, store):
    """Set store[i + 1] = U_ijk^l by recursion; returns the number of calls."""
    if i < 0:
        set_identity(store[0])
        return 0
    L, R = B[i] if i == j else A[i], B[i] if i == k else A[i]
    calls = 1
    kind = 1 if revolute[i] else 0
    set_zero(store[i + 1])
    for term in range(2):
        sign = PRODUCTS[kind, digits[i], term, 2]
        if sign != 0:
            calls += call(i - 1, j, k, digits, A, B, revolute, store)
            a, b = PRODUCTS[kind, digits[i], term, 0], PRODUCTS[kind, digits[i], term, 1]
            add_sandwich(sign, L[a], store[i], R[b], store[i + 1])
    return calls


@routine
def prefixes(revolute, i):
    """Count the multi-indices (l_1 .. l_i) of links up to i."""
    count = 1
    for m in range(i + 1):
        count *= size(revolute[m])
    return count


@routine
def read_digits(prefix, i, revolute, stride, digits):
    """Write the multi-index numbered `prefix` into `digits`; returns its place in the coefficients."""
    place = 0
    for m in range(i, -1, -1):
        digits[m] = prefix % size(revolute[m])
        prefix //= size(revolute[m])
        place += digits[m] * stride[m]
    return place
