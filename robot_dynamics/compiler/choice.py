# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which backend compiles the kernels of this process."""

from numba import config

LLVM, PYTHON = "llvm", "python"
"""Our compiler; none: kernels run un-jitted (NUMBA_DISABLE_JIT=1)."""

BACKEND = PYTHON if config.DISABLE_JIT else LLVM
