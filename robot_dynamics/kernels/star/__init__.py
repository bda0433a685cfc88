# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A star: a base that carries equal limbs, one SIMD lane per limb. Other robots are for `kernels.tree`.

What Python calls here has the names and the order of arguments of `kernels.tree`.
"""

from .aba import forward_dynamics
from .crba import mass_matrix
from .rnea import inverse_dynamics

__all__ = ["forward_dynamics", "inverse_dynamics", "mass_matrix"]
