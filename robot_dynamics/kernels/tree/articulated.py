# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What ABA knows after its second pass: articulated inertias and bias forces."""

import numpy as np

from ...compiler import kernel
from ..rows import BODY, TURN, WORKSPACE, F, H, M, N, T, part3_to, row3, row6, row9
from ..scalar import congruence, full, matmul, mul, transpose
from .aba import aba_inward, aba_outward
from .placement import clear_world


@kernel
def articulated(topology, parameters, q, qd, tau, f_ext, inertia, bias):
    """I^A (nb, 6, 6) and p^A (nb, 6) of every body (A5-A8), [angular; linear], link axes; 0 for the world."""
    w = np.empty((topology.shape[0], WORKSPACE))
    clear_world(w)
    aba_outward(topology, parameters, q, qd, f_ext, w)
    aba_inward(topology, parameters, qd, tau, w)
    inertia[:, :, :] = 0.0
    bias[:, :] = 0.0
    for i in range(1, topology.shape[0]):
        b = topology[i, BODY]
        if b >= 0:
            turn = row9(parameters, i, TURN)
            M_, N_ = full(congruence(turn, row6(w, i, M))), full(congruence(turn, row6(w, i, N)))
            H_ = matmul(matmul(turn, row9(w, i, H)), transpose(turn))
            for k in range(9):
                r, c = k // 3, k % 3
                inertia[b, r, c] = N_[k]
                inertia[b, 3 + r, 3 + c] = M_[k]
                inertia[b, 3 + r, c] = H_[k]
                inertia[b, c, 3 + r] = H_[k]
            part3_to(bias[b], 0, mul(turn, row3(w, i, T)))
            part3_to(bias[b], 3, mul(turn, row3(w, i, F)))
