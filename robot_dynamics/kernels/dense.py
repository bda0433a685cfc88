# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Dense symmetric solves (G6), for robots whose mimic joints couple distant branches.

H = L^T L goes from the last joint to the first: in this order the pivots of a tree are the D_i of ABA, so a zero pivot
names the joint that carries no inertia.
"""

import math

from ..compiler import abreast, anywhere, inline, kernel, routine


@routine
def factorize(H):
    """Overwrite the lower triangle of H with L, H = L^T L; return the first failing column or -1."""
    n = H.shape[0]
    for k in range(n - 1, -1, -1):
        if not H[k, k] > 0.0:
            return k
        H[k, k] = math.sqrt(H[k, k])
        s = 1.0 / H[k, k]
        for i in abreast(k):
            H[k, i] *= s
        for i in range(k):
            x = H[k, i]
            if anywhere(x != 0.0):  # not of joints on other branches
                for j in abreast(i + 1):
                    H[i, j] -= x * H[k, j]
    return -1


@routine
def solve(L, x):
    """Solve L^T L x = b in place; x holds b."""
    n = L.shape[0]
    for k in range(n - 1, -1, -1):
        x[k] /= L[k, k]
        for i in range(k):
            x[i] -= L[k, i] * x[k]
    for k in range(n):
        for i in range(k):
            x[k] -= L[k, i] * x[i]
        x[k] /= L[k, k]


@routine
def solve_rows(L, X):
    """Solve L^T L X = B in place; X (n, m) holds B. A row takes three others at a time: it is read and written once."""
    n = L.shape[0]
    for i in range(n - 1, -1, -1):
        left = (n - 1 - i) % 3
        for k in range(n - 1, i + left, -3):
            subtract_three(X, i, L[k, i], k, L[k - 1, i], k - 1, L[k - 2, i], k - 2)
        for k in range(i + left, i, -1):
            subtract_one(X, i, L[k, i], k)
        scale_row(X, i, 1.0 / L[i, i])
    for k in range(n):
        left = k % 3
        for i in range(left):
            subtract_one(X, k, L[k, i], i)
        for i in range(left, k, 3):
            subtract_three(X, k, L[k, i], i, L[k, i + 1], i + 1, L[k, i + 2], i + 2)
        scale_row(X, k, 1.0 / L[k, k])


@inline
def scale_row(X, i, s):
    """Multiply row i."""
    for c in abreast(X.shape[1]):
        X[i, c] *= s


@inline
def subtract_one(X, i, s, k):
    """Subtract s times row k from row i, another one."""
    if anywhere(s != 0.0):  # not of joints on other branches
        for c in abreast(X.shape[1]):
            X[i, c] -= s * X[k, c]


@inline
def subtract_three(X, i, s, k, t, j, u, m):
    """Subtract s, t, u times rows k, j, m from row i, another one."""
    if anywhere(s != 0.0 or t != 0.0 or u != 0.0):
        for c in abreast(X.shape[1]):
            X[i, c] -= s * X[k, c] + t * X[j, c] + u * X[m, c]


@kernel
def pivots(H, out):
    """D_i of H = L^T D L with unit L; a pivot below 1e-10 of its diagonal entry counts as 0 and its row is left out."""
    n = H.shape[0]
    for k in range(n - 1, -1, -1):
        start = out[k]
        out[k] = H[k, k]
        if out[k] <= 1e-10 * start or out[k] <= 1e-14:
            out[k] = 0.0
            continue
        for i in range(k):
            x = H[k, i] / out[k]
            for j in range(i + 1):
                H[i, j] -= x * H[k, j]


@kernel
def solve_spd(H, x):
    """Overwrite x (nv,) with H^-1 x and H with its factor; return the first column without a positive pivot or -1."""
    failed = factorize(H)
    if failed < 0:
        solve(H, x)
    return failed


@routine
def eliminate(M):
    """Overwrite M = U L with U (diagonal 1) and the lower triangle L, the last unknown first, without exchange of rows.

    What is 0 because joints are on different branches stays 0 in this order.
    """
    n = M.shape[0]
    for k in range(n - 1, -1, -1):
        s = 1.0 / M[k, k]
        for i in range(k):
            M[i, k] *= s
            x = M[i, k]
            if anywhere(x != 0.0):
                for j in abreast(k):
                    M[i, j] -= x * M[k, j]


@routine
def substitute(M, x):
    """Solve U L x = b in place; x holds b, M what `eliminate` left."""
    n = M.shape[0]
    for k in range(n - 1, -1, -1):
        for i in range(k):
            x[i] -= M[i, k] * x[k]
    for k in range(n):
        x[k] /= M[k, k]
        for i in range(k + 1, n):
            x[i] -= M[i, k] * x[k]
