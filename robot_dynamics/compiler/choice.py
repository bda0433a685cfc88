# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which backend compiles the kernels of this process."""

import logging
import os

import numba

LLVM, NUMBA, PYTHON = BACKENDS = ("llvm", "numba", "python")
"""Our compiler; numba's own, slower; none, the kernels run un-jitted."""
VARIABLE = "ROBOT_DYNAMICS_BACKEND"
FIRST_UNKNOWN = (0, 69)
"""The first numba that our compiler has not been tried with: it stands on private names, which numba may change."""


def choose(wanted: str, version: tuple[int, int]) -> str:
    """Return one of BACKENDS: the wanted one, or "" for what suits this numba. Raises ValueError for other names."""
    if wanted and wanted not in BACKENDS:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(BACKENDS)}, got '{wanted}'")
    if wanted:
        return wanted
    if version < FIRST_UNKNOWN:
        return LLVM
    logging.getLogger("robot_dynamics").warning(
        "numba %d.%d is newer than the %d.%d that our compiler knows: numba compiles the kernels itself, "
        "and steps take up to twice as long",
        *version, FIRST_UNKNOWN[0], FIRST_UNKNOWN[1] - 1,
    )  # fmt: skip
    return NUMBA


BACKEND = PYTHON if numba.config.DISABLE_JIT else choose(os.environ.get(VARIABLE, ""), numba.version_info.short)
