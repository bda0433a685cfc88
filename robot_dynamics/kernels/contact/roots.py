# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Root of an increasing function in a bracket."""

from ...compiler import inline


@inline
def narrow(lo, r_lo, hi, r_hi, side, x, r):
    """Illinois rule for an increasing residual: keep the half with the root, halve an end that stays a second time."""
    if r > 0.0:
        return lo, 0.5 * r_lo if side > 0 else r_lo, x, r, 1
    return x, r, hi, 0.5 * r_hi if side < 0 else r_hi, -1


@inline
def between(lo, r_lo, hi, r_hi):
    """Secant point of a bracket, its middle where rounding puts the secant outside."""
    x = (lo * r_hi - hi * r_lo) / (r_hi - r_lo)
    return x if lo < x < hi else 0.5 * (lo + hi)
