# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A step of the momentum observer, and the foot forces that explain what it found (O1-O4)."""

from ..compiler import kernel
from .rows import set3
from .scalar import ZERO3, add, add6, inverse_symmetric, scale, smul


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
    """Forces (k, 3) with A^T f = r in the joints that move each foot, (A A^T + damping) f = A r (O4); moved (k, nv)."""
    for k in range(jacobian.shape[0]):
        M, x = (damping, 0.0, 0.0, damping, 0.0, damping), ZERO3
        for j in range(residual.shape[0]):
            if moved[k, j]:
                a, b, c = jacobian[k, 0, j], jacobian[k, 1, j], jacobian[k, 2, j]
                M = add6(M, (a * a, a * b, a * c, b * b, b * c, c * c))
                x = add(x, scale(residual[j], (a, b, c)))
        set3(forces, k, 0, smul(inverse_symmetric(M), x))
