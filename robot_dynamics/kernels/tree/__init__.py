# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Any tree: RNEA, CRBA and ABA row by row, on a robot packed as in `rows`.

q, qd, qdd and tau are those of `Model` (mimic joints projected out). Routines work on a workspace `w` that the caller
owns and leave in it what the next one needs; kernels are what Python calls.
`f_ext` is [n, f] per body (6 nb,), link axes, or empty. What Python calls with unvalidated input returns
False, and does nothing, where that does not fit the robot or is not finite.
"""

from .aba import forward_dynamics
from .articulated import articulated
from .crba import composites, mass_matrix
from .rnea import inverse_dynamics

__all__ = ["articulated", "composites", "forward_dynamics", "inverse_dynamics", "mass_matrix"]
