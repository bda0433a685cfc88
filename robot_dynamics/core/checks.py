# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Checks of what comes from outside."""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from .arrays import Array


def shaped(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return `value` as a C-order float64 array of `shape` that may be written; -1 stands for any length.

    For read-only and for unaligned arrays kernels would be compiled anew: of these it is a copy.

    Raises
    ------
    ShapeError
        Says what was expected and what came.
    """
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers: {error}") from None
    if array.shape != shape and not _fits(array.shape, shape):
        raise ShapeError(f"{name} must have shape {_text(shape)}, got {_text(array.shape)}")
    return array if array.flags.behaved else array.copy()


def checked(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return `value` as `shaped`, with finite numbers only.

    Raises
    ------
    ShapeError
        Says what was expected and what came, or where the first value is that is not finite.
    """
    array = shaped(name, value, shape)
    if not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():  # one product settles it at rate
        where = ", ".join(map(str, np.argwhere(~np.isfinite(array))[0]))
        raise ShapeError(f"{name} must be finite, but {name}[{where}] is {array[~np.isfinite(array)][0]}")
    return array


def _fits(shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    return len(shape) == len(expected) and all(e in (-1, s) for s, e in zip(shape, expected, strict=True))


def _text(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join("k" if n < 0 else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
