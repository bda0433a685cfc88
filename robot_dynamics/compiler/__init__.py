# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels, and knows nothing of robots; the only package that imports numba. Kernels import from here."""

from .jit import bound, brief, entry, inline, kernel, lean, routine, spread, strict
from .words import (
    LANES,
    LINE,
    QUAD,
    Apart,
    Lanes,
    Tiled,
    abreast,
    alike,
    anywhere,
    combine,
    combine_rows,
    each,
    lane,
    stack,
    to_lane,
    transpose,
    wide,
)

__all__ = [
    "LANES",
    "LINE",
    "QUAD",
    "Apart",
    "Lanes",
    "Tiled",
    "abreast",
    "alike",
    "anywhere",
    "bound",
    "brief",
    "combine",
    "combine_rows",
    "each",
    "entry",
    "inline",
    "kernel",
    "lane",
    "lean",
    "routine",
    "spread",
    "stack",
    "strict",
    "to_lane",
    "transpose",
    "wide",
]
