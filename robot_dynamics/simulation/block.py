# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plant's memory in one block: many plants are laid side by side, and taken back, a block at a time."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import LANES
from ..core.arrays import Array
from ..kernels.lanes import aligned_together, places
from ..kernels.simulation import memory as at

WRITTEN = frozenset({"data", "dofs", "configurations", "points", "gaps", *at.State._fields, *at.Command._fields})
"""Arrays that a step, a command or a push writes; those of the robot follow from the state."""


class Layout(NamedTuple):
    """Where the arrays stand in a block of `length` numbers: first number and count of each."""

    starts: list[int]
    sizes: list[int]
    length: int


def written(bundles: Sequence[Any]) -> Iterator[tuple[int, str, Any]]:
    """Yield the arrays of a block in their order: number of the bundle, name, array."""
    for k, bundle in enumerate(bundles):
        for name in bundle._fields:
            if name in WRITTEN:
                yield k, name, getattr(bundle, name)


def layout_of(bundles: Sequence[Any]) -> Layout:
    """Each array begins a cache line."""
    sizes = [x.size for _, _, x in written(bundles)]
    *starts, end = places(sizes)
    return Layout(starts, sizes, end)


def in_one_block(bundles: Sequence[Any]) -> tuple[Array, list[Any]]:
    """Copy what is written into one block (length,); returns it and the bundles, whose arrays are parts of it."""
    block, parts = aligned_together([(x.shape, x.dtype) for _, _, x in written(bundles)])
    moved = list(bundles)
    for (k, name, x), part in zip(written(bundles), parts, strict=True):
        part[...] = x
        moved[k] = moved[k]._replace(**{name: part})
    return block, moved


def lay(blocks: Array, layout: Layout, arrays: Sequence[NDArray[Any]]) -> None:
    """Lay blocks (N, length) of plants side by side, into their arrays (tiles, ..., LANES)."""
    by_tile = blocks.reshape(-1, LANES, layout.length)
    for x, start, size in zip(arrays, layout.starts, layout.sizes, strict=True):
        numbers = x.reshape(len(by_tile), size, LANES).view(np.float64)
        numbers[...] = by_tile[:, :, start : start + size].swapaxes(1, 2)


def blocks_of(arrays: Sequence[NDArray[Any]], layout: Layout) -> Array:
    """Inverse of `lay`, of one tile: blocks (LANES, length) of its arrays (..., LANES)."""
    blocks = np.empty((LANES, layout.length))
    for x, start, size in zip(arrays, layout.starts, layout.sizes, strict=True):
        blocks[:, start : start + size] = x.reshape(size, LANES).view(np.float64).T
    return blocks
