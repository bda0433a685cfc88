# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words of the kernels' language, as plain Python: what each of them means for one robot.

Un-jitted, kernels run these. A backend compiles them its own way, with the same result.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .processor import REGISTER_BITS

LINE = 8
"""float64 numbers in a cache line."""
LANES = 8 if REGISTER_BITS == 512 else 4
"""Robots that are computed at once: as many as a 512-bit register holds; with narrower ones four, as numbers of eight
would not all stay in registers."""
QUAD = 4
"""Numbers in a 256-bit register: limbs that are computed at once, and what `combine` takes at once."""


Rows = tuple[NDArray[Any], int, int]
"""Rows of an array by flat index: the array, where the first begins, and the distance from one to the next."""


class Lanes(NamedTuple):
    """An array of LANES robots, along its last dimension."""

    each: NDArray[Any]


class Apart(NamedTuple):
    """An array for each of LANES robots, along the first dimension, each in C order; read and written one by one."""

    each: NDArray[Any]


class Tiled(Lanes):
    """Arrays of many times LANES robots, those along the first dimension, each in C order and anywhere in memory."""

    __slots__ = ()


def abreast(*limits: int) -> range:
    """Range of a loop that calls no routine, and in which no iteration reads elements that another writes.

    LLVM takes this on trust, and QUAD iterations at a time. Variables may be carried from one iteration to the next, as
    sums are.
    """
    return range(*limits)


def each(x: int) -> tuple[int]:
    """All that an integer is: it alone, or where there are several lanes each one that it is in some of them."""
    return (x,)


def alike(*x: int | bool) -> tuple[tuple[int | bool, ...]]:
    """All of these integers and conditions, in one turn: lanes that agree in them choose their way in it together."""
    return (x,)


def differ(*x: int | bool) -> bool:
    """Whether these integers and conditions may differ from lane to lane, as far as the compiler knows."""
    return False


def anywhere(test: bool) -> bool:
    """Whether a condition holds, in any lane where there are several."""
    return test


def stack(count: int, per: tuple[Any, ...] = ((),)) -> NDArray[np.float64]:
    """Uninitialised array (count,) on the stack, from a cache line on; `count` is a compile-time constant.

    per: a tuple; the array has `count` numbers for each of its entries.
    """
    return np.empty(count * len(per))


def lane(x: NDArray[Any], o: int) -> float:
    """x[o] of a float64 array in C order, by flat index, without a test of the index's sign."""
    value: float = x.flat[o]
    return value


def to_lane(x: NDArray[Any], o: int, value: float) -> None:
    """x[o] = value under the conditions of `lane`."""
    x.flat[o] = value


def prefetch(x: NDArray[Any], o: int) -> None:
    """Have the cache line of x[o] at hand when it is written, in an array that each lane has for itself."""


def publish(x: NDArray[np.int64], o: int, value: int) -> None:
    """x[o] = value, for other threads to see, once they can see all that this one wrote before."""
    x[o] = value


def published(x: NDArray[np.int64], o: int) -> int:
    """x[o] as another thread published it last; what that one wrote before can be read then."""
    value: int = x[o]
    return value


def give_way() -> None:
    """Let another thread have the processor, where one waits for it, between two looks at what others publish."""


def transpose(x: NDArray[Any], o: int, across: int, out: NDArray[Any], p: int, down: int) -> None:
    """out[p + j down + i] = x[o + i across + j] for i, j < LANES."""
    for i in range(LANES):
        for j in range(LANES):
            to_lane(out, p + j * down + i, lane(x, o + i * across + j))


def combine(
    out: NDArray[Any], q: int, n: int, factors: Sequence[float], near: Rows, more: Sequence[float], far: Rows
) -> None:
    """out[q:] = sum_k factors[k] x[o + k apart :] + sum_k more[k] y[p + k step :], n numbers of each.

    n, a constant: those that are read; what stands behind them, up to QUAD, may be anything. near: x, o, apart. far: y,
    p, step.
    """
    for j in range(QUAD):
        to_lane(out, q + j, weighted(factors, near, j) + weighted(more, far, j))


def weighted(factors: Sequence[float], rows: Rows, j: int) -> float:
    """sum_k factors[k] x[o + k apart + j]. rows: x, o, apart."""
    if len(factors) == 0:
        return 0.0
    x, o, apart = rows
    return factors[0] * lane(x, o + j) + weighted(factors[1:], (x, o + apart, apart), j)


def combine_rows(
    rows: Rows, n: int, g: float, factors: Sequence[tuple[Sequence[float], Sequence[float]]], near: Rows, far: Rows
) -> None:
    """g times `combine`, n numbers, for several rows of `out`: factors holds those of `near` and of `far` for each row.

    rows: out, q, the distance between two rows.
    """
    if len(factors) == 0:
        return
    out, q, down = rows
    those, others = factors[0]
    for j in range(QUAD):
        to_lane(out, q + j, g * (weighted(those, near, j) + weighted(others, far, j)))
    combine_rows((out, q + down, down), n, g, factors[1:], near, far)


def wide() -> None:
    """Let the compiler fill 512-bit registers: LLVM stops at 256 on processors that clock down for more."""
