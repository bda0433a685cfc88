# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wanted forces on their way to motors: shared among the feet, and limited. Calls of numpy would cost ten times it."""

import numpy as np

from ..compiler import kernel, lean
from .dense import factorize, solve
from .rows import finite

LIMIT, TAPER, SPEED, LOWER, UPPER = range(5)
"""Rows of the bounds (5, n) of `limit`."""


@kernel
def least_forces(A, w, standing, weight, slope, f):
    """Ground forces f (k, 3) of standing feet that minimise |A^T f - w|^2 + weight |f|^2; 0 for the others.

    f = A (A^T A + weight 1)^-1 w (H3) with A (k, 3, 6). Returns whether each lies in its pyramid |f_x|, |f_y| <=
    slope f_z: then the bounds do not matter.
    """
    n = w.shape[0]  # 6, which LLVM need not know: it unrolls what follows and warns of loops too short for vectors
    M = np.zeros((n, n))
    for a in range(n):
        M[a, a] = weight
    for k in range(A.shape[0]):
        if standing[k]:
            for i in range(3):
                for a in range(n):
                    for b in range(a + 1):
                        M[a, b] += A[k, i, a] * A[k, i, b]
    x = w.copy()
    factorize(M)
    solve(M, x)
    inside = True
    for k in range(A.shape[0]):
        for i in range(3):
            f[k, i] = 0.0
            if standing[k]:
                for a in range(n):
                    f[k, i] += A[k, i, a] * x[a]
        inside = inside and max(abs(f[k, 0]), abs(f[k, 1])) <= slope * f[k, 2]
    return inside


@lean
def limit(bounds, tau, gain, change, q, qd, room, last):
    """Efforts that may go out, in place of `last`; returns 1 if one was clamped, 0 if none, -1 if one is not finite.

    gain tau fades (H11) where it drives a joint beyond the speed TAPER, to 0 at SPEED, and where it drives one into a
    stop nearer than `room`; it is clamped to LIMIT and may change by `change`: rows of `bounds`. Without q, qd, room no
    such fade; with change < 0 no such limit.
    """
    if not finite(tau):
        return -1
    clamped = 0
    for j in range(tau.shape[0]):
        wanted = gain * tau[j]
        taper, speed = bounds[TAPER, j], bounds[SPEED, j]
        if qd.shape[0] and abs(qd[j]) > taper and wanted * qd[j] > 0.0:
            wanted *= min(max((speed - abs(qd[j])) / max(speed - taper, 1e-12), 0.0), 1.0)
        if q.shape[0] and room > 0.0:
            left = bounds[UPPER, j] - q[j] if wanted > 0.0 else q[j] - bounds[LOWER, j]
            wanted *= min(max(left / room, 0.0), 1.0)
        out = min(max(wanted, -bounds[LIMIT, j]), bounds[LIMIT, j])
        if out != wanted:
            clamped = 1
        last[j] = min(max(out, last[j] - change), last[j] + change) if change >= 0.0 else out
    return clamped
