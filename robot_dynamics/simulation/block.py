# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plant's memory in one block: many plants are laid side by side, and taken back, a block at a time."""

from collections.abc import Hashable, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from ..compiler import LANES, Lanes
from ..core.arrays import Array
from ..kernels.lanes import aligned, whole
from ..kernels.simulation import memory as at

WRITTEN = frozenset({"data", "dofs", "configurations", "points", "gaps", *at.State._fields, *at.Command._fields})
"""Arrays that a step, a command or a push writes; those of the robot follow from the state."""
GIVEN = frozenset({"parameters", "surfaces", "heights"})
"""Arrays that no step writes and that may differ from plant to plant."""
DERIVED = frozenset({"w", "factor", "f_ext"})
"""Arrays that follow from the state."""


class Place(NamedTuple):
    """Where an array stands: number of its bundle and of the field there, first of its `size` numbers."""

    bundle: int
    field: int
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    start: int
    size: int


class Layout(NamedTuple):
    """Where arrays stand: those of a block of `length` numbers, and the others that a tile needs, up to `end`."""

    written: list[Place]
    length: int
    given: list[Place]
    derived: list[Place]
    end: int


def layout_of(bundles: Sequence[Any]) -> Layout:
    """Where the arrays of these bundles stand."""
    written, length = _places(bundles, WRITTEN, 0)
    given, end = _places(bundles, GIVEN, length)
    derived, end = _places(bundles, DERIVED, end)
    return Layout(written, length, given, derived, end)


def _places(bundles: Sequence[Any], names: Set[str], start: int) -> tuple[list[Place], int]:
    """Places of arrays with these names, each with a cache line begun, and where the last one ends."""
    out = []
    for k, bundle in enumerate(bundles):
        for i, (name, x) in enumerate(zip(bundle._fields, bundle, strict=True)):
            if name in names:
                out.append(Place(k, i, x.shape, x.dtype, start, x.size))
                start += whole(x.size)
    return out, start


def in_one_block(bundles: Sequence[Any], layout: Layout) -> tuple[Array, list[Any]]:
    """Copy what is written into one block (length,); returns it and the bundles, whose arrays are parts of it."""
    block = aligned((layout.length,))
    moved = [list(bundle) for bundle in bundles]
    for k, i, shape, kind, start, _ in layout.written:
        part = np.ndarray(shape, kind, block, 8 * start)
        part[...] = moved[k][i]
        moved[k][i] = part
    return block, [bundle._make(arrays) for bundle, arrays in zip(bundles, moved, strict=True)]


def form_of(settings: at.Settings, bundles: Sequence[Any]) -> Hashable:
    """What plants must agree in to share a tile: scheme, timestep, joints, sizes."""
    robot, joints, ground, _, command = bundles
    equal = robot.topology, joints.number, ground.row
    sizes = [x.shape for bundle in bundles for x in bundle if isinstance(x, np.ndarray) and x is not command.now]
    return settings, repr(sizes).encode() + b"".join(x.tobytes() for x in equal)


def laid(layout: Layout, bundles: Sequence[Sequence[Any]], blocks: Sequence[Array]) -> list[Any]:
    """Bundles of tiles, of those of plants of one form and of their blocks; a multiple of LANES.

    Arrays that steps read or write and that may differ have tiles along a first dimension, lanes along a last one. A
    tile takes every robot as a tree, without levels.
    """
    first, count = bundles[0], len(blocks) // LANES
    memory = aligned((count * layout.end * LANES,))
    parts = [list(bundle) for bundle in first]
    for k, i, shape, kind, start, _ in (*layout.written, *layout.given, *layout.derived):
        parts[k][i] = Lanes(np.ndarray((count, *shape, LANES), kind, memory, 8 * count * LANES * start))
    by_tile = np.array(blocks).reshape(count, LANES, -1)
    for place in layout.written:
        _numbers(memory, count, place)[...] = by_tile[:, :, place.start : place.start + place.size].swapaxes(1, 2)
    for place in layout.given:
        given = np.array([own[place.bundle][place.field] for own in bundles])
        _numbers(memory, count, place)[...] = given.reshape(count, LANES, -1).swapaxes(1, 2)
    robot, *others = (bundle._make(arrays) for bundle, arrays in zip(first, parts, strict=True))
    return [robot._replace(levels=()), *others]


def _numbers(memory: Array, count: int, place: Place) -> Array:
    """Array of `count` tiles that stands in a place, as numbers (count, size, LANES)."""
    return np.ndarray((count, place.size, LANES), np.float64, memory, 8 * count * LANES * place.start)


def blocks_of(bundles: Sequence[Any], t: int, layout: Layout) -> Array:
    """Blocks (LANES, length) of the plants of tile t."""
    blocks = np.empty((LANES, layout.length))
    for k, i, _, _, start, size in layout.written:
        blocks[:, start : start + size] = bundles[k][i].each[t].reshape(size, LANES).view(np.float64).T
    return blocks
