# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A step of the momentum observer, and the foot forces that explain what it found (O1-O4)."""

import numpy as np

from ..compiler import kernel
from .dense import eliminate, substitute


@kernel
def observe(matrices, qd, effort, memory, bandwidth, dt):
    """Let the residual follow what changes the momentum beyond what is known (O3); without dt take the momentum alone.

    matrices: H (nv, nv), C (nv, nv), G (nv,); effort (nv,); memory: momentum and residual (nv,).
    """
    (H, C, G), (momentum, residual) = matrices, memory
    gain = bandwidth * dt
    for i in range(qd.shape[0]):
        now, known = 0.0, effort[i] - G[i]
        for j in range(qd.shape[0]):
            now += H[i, j] * qd[j]
            known += C[j, i] * qd[j]
        if dt > 0.0:
            residual[i] = (residual[i] + bandwidth * (now - momentum[i] - known * dt)) / (1.0 + gain)
        momentum[i] = now


@kernel
def explain(jacobian, moved, residual, damping, forces):
    """Forces (k, 3) with A^T f = r in the joints that move each foot (O4); moved (k, nv)."""
    M, x = np.empty((3, 3)), np.empty(3)
    for k in range(jacobian.shape[0]):
        for a in range(3):
            x[a] = 0.0
            for b in range(3):
                M[a, b] = damping if a == b else 0.0
        for j in range(residual.shape[0]):
            if moved[k, j]:
                for a in range(3):
                    x[a] += jacobian[k, a, j] * residual[j]
                    for b in range(3):
                        M[a, b] += jacobian[k, a, j] * jacobian[k, b, j]
        eliminate(M)
        substitute(M, x)
        for a in range(3):
            forces[k, a] = x[a]
