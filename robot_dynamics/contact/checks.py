# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Range checks of parameters, one sentence each."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..errors import ParameterError

MOST = float(np.finfo(float).max)
"""The largest number of double precision."""


def check_range(name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False) -> None:
    """Raise ParameterError unless every number of `value` is finite and in [low, high] (`open_low`: above low)."""
    # one number, at every step of a plant: numpy takes 20 us right behind a kernel
    if isinstance(value, int | float) and low <= value <= min(high, MOST) and not (open_low and value == low):
        return
    try:
        x = np.asarray(value, dtype=float)
    except OverflowError:
        x = np.array(math.inf)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a number, got {value!r}") from None
    least, most = (float(x.min()), float(x.max())) if x.size else (math.nan, math.nan)
    if not (math.isfinite(least) and math.isfinite(most) and low <= least <= most <= high) or (
        open_low and least == low
    ):
        bound = f"above {low:g}" if open_low else f"at least {low:g}"
        top = "" if high == np.inf else f" and at most {high:g}"
        raise ParameterError(f"{name} must be {bound}{top}, got {value!r}")


def check_choice(name: str, value: Any, valid: tuple[str, ...]) -> None:
    """Raise ParameterError unless `value` is one of `valid`."""
    if value not in valid:
        raise ParameterError(f"{name} must be one of {', '.join(valid)}, got {value!r}")


def vector(name: str, value: ArrayLike, length: int) -> Array:
    """Array (length,) of `value`; raises ParameterError unless it is as many finite numbers."""
    try:
        x = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        x = np.empty(0)
    if x.shape != (length,) or not np.isfinite(x).all():
        raise ParameterError(f"{name} must be {length} finite numbers, got {value!r}")
    return x
