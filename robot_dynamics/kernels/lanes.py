# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Loops over SIMD lanes: workspaces on the stack, and tuples read from and written to them.

A lane array is flat; number k of a lane stands at `k * LANES + lane`, so that one vector instruction serves all lanes.
LLVM turns a loop over lanes into such instructions when it has no branch, no index has a sign to check and what is
written cannot overlap what is read: hence raw loads and stores, and results collected on the stack.
"""

import math
from itertools import accumulate

import numpy as np

from ..compiler import LANES, LINE, QUAD, inline, lane, to_lane, transpose


def whole(n: int) -> int:
    """Answer how long a row must be that `combine` writes `n` numbers of: whole cache lines."""
    return (n + LINE - 1) // LINE * LINE


def aligned(shape, kind=np.float64, made=np.zeros):
    """Zeros, or what `made` makes, that begin with a cache line, where a vector is read and written at once."""
    size = 8 * math.prod(shape)
    memory = made(size + 64, np.uint8)
    begin = -memory.__array_interface__["data"][0] % 64
    return memory[begin : begin + size].view(kind).reshape(shape)


def places(sizes):
    """Where arrays of these sizes begin in one piece of memory, each with a cache line, and where the last one ends."""
    return list(accumulate(map(whole, sizes), initial=0))


def aligned_together(like, made=np.zeros):
    """Arrays as `aligned` in one piece of memory, which costs one call: one per shape and kind."""
    sizes = [math.prod(shape) for shape, _ in like]
    *starts, end = places(sizes)
    memory = aligned((end,), made=made)
    return [np.ndarray(shape, kind, memory, 8 * start) for (shape, kind), start in zip(like, starts, strict=True)]


@inline
def lane3(x, o):
    """Three numbers of one lane."""
    return (lane(x, o), lane(x, o + LANES), lane(x, o + 2 * LANES))


@inline
def lane6(x, o):
    """Six numbers of one lane."""
    return (*lane3(x, o), *lane3(x, o + 3 * LANES))


@inline
def lane9(x, o):
    """Nine numbers of one lane."""
    return (*lane6(x, o), *lane3(x, o + 6 * LANES))


@inline
def quad3(x, o):
    """Three numbers of one of QUAD lanes."""
    return (lane(x, o), lane(x, o + QUAD), lane(x, o + 2 * QUAD))


@inline
def quad6(x, o):
    """Six numbers of one of QUAD lanes."""
    return (*quad3(x, o), *quad3(x, o + 3 * QUAD))


@inline
def quad9(x, o):
    """Nine numbers of one of QUAD lanes."""
    return (*quad6(x, o), *quad3(x, o + 6 * QUAD))


@inline
def to_quad3(x, o, v):
    """Write three numbers of one of QUAD lanes."""
    to_lane(x, o, v[0])
    to_lane(x, o + QUAD, v[1])
    to_lane(x, o + 2 * QUAD, v[2])


@inline
def to_quad6(x, o, v):
    """Write six numbers of one of QUAD lanes."""
    to_quad3(x, o, (v[0], v[1], v[2]))
    to_quad3(x, o + 3 * QUAD, (v[3], v[4], v[5]))


@inline
def to_quad9(x, o, v):
    """Write nine numbers of one of QUAD lanes."""
    to_quad6(x, o, (v[0], v[1], v[2], v[3], v[4], v[5]))
    to_quad3(x, o + 6 * QUAD, (v[6], v[7], v[8]))


@inline
def to_lane3(x, o, v):
    """Write three numbers of one lane."""
    to_lane(x, o, v[0])
    to_lane(x, o + LANES, v[1])
    to_lane(x, o + 2 * LANES, v[2])


@inline
def to_lane6(x, o, v):
    """Write six numbers of one lane."""
    to_lane3(x, o, (v[0], v[1], v[2]))
    to_lane3(x, o + 3 * LANES, (v[3], v[4], v[5]))


@inline
def to_lane9(x, o, v):
    """Write nine numbers of one lane."""
    to_lane3(x, o, (v[0], v[1], v[2]))
    to_lane3(x, o + 3 * LANES, (v[3], v[4], v[5]))
    to_lane3(x, o + 6 * LANES, (v[6], v[7], v[8]))


@inline
def write_apart(x, width, first, apart, X):
    """Lanes x (width, LANES) into rows of X: that of the first lane from place `first` on, the others each `apart`."""
    for j in range(0, width - LANES + 1, LANES):
        transpose(x, j * LANES, LANES, X, first + j, apart)
    for j in range(width // LANES * LANES, width):
        for o in range(LANES):
            to_lane(X, first + o * apart + j, lane(x, j * LANES + o))
