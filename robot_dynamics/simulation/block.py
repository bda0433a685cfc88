# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plant's memory in one block: many plants are laid side by side, and taken back, a block at a time."""

import hashlib
import math
from collections.abc import Hashable, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from ..compiler import LANES, Apart, Tiled
from ..core.arrays import Array
from ..kernels.lanes import aligned, aligned_together, whole
from ..kernels.simulation import memory as at

WRITTEN = frozenset({"data", "dofs", "configurations", "points", "gaps", *at.State._fields, *at.Command._fields})
"""Arrays that a step, a command or a push writes; what it writes of the robot follows from the state."""
GIVEN = frozenset({"parameters", "limbed", "surfaces", "heights"})
"""Arrays that no step writes and that may differ from plant to plant."""
VECTOR = 8 * LANES
"""Bytes of one number of all lanes."""
BETWEEN = 4096 // VECTOR
"""Numbers between tiles, a page: two processors that each read ahead in a tile of theirs do not meet there."""


class Place(NamedTuple):
    """Where an array stands: number of its bundle and of the field there, first of its `size` numbers.

    strides: bytes between neighbours where each number stands beside those of all lanes.
    """

    bundle: int
    field: int
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    start: int
    size: int
    strides: tuple[int, ...]


class Layout(NamedTuple):
    """Where arrays stand: those of a block of `length` numbers, and the others that a tile needs, up to `end`."""

    written: list[Place]
    length: int
    given: list[Place]
    end: int


def layout_of(bundles: Sequence[Any]) -> Layout:
    """Where the arrays of these bundles stand."""
    written, length = _places(bundles, WRITTEN, 0)
    given, end = _places(bundles, GIVEN, length)
    return Layout(written, length, given, end)


def _places(bundles: Sequence[Any], names: Set[str], start: int) -> tuple[list[Place], int]:
    """Places of arrays with these names, each with a cache line begun, and where the last one ends."""
    out = []
    for k, bundle in enumerate(bundles):
        for i, (name, x) in enumerate(zip(bundle._fields, bundle, strict=True)):
            if name in names:
                strides = tuple(VECTOR * math.prod(x.shape[d + 1 :]) for d in range(x.ndim))
                out.append(Place(k, i, x.shape, x.dtype, start, x.size, (*strides, 8)))
                start += whole(x.size)
    return out, start


def in_one_block(bundles: Sequence[Any], layout: Layout) -> tuple[Array, list[Any]]:
    """Copy what is written into one block (length,); returns it and the bundles, whose arrays are parts of it."""
    block = aligned((layout.length,))
    moved = [list(bundle) for bundle in bundles]
    for k, i, shape, kind, start, *_ in layout.written:
        part = np.ndarray(shape, kind, block, 8 * start)
        part[...] = moved[k][i]
        moved[k][i] = part
    return block, [bundle._make(arrays) for bundle, arrays in zip(bundles, moved, strict=True)]


def form_of(settings: at.Settings, bundles: Sequence[Any]) -> Hashable:
    """What plants must agree in to share a tile: scheme, timestep, joints, sizes."""
    robot, joints, ground, _, command = bundles
    equal = robot.topology, joints.number, ground.row
    sizes = [x.shape for bundle in bundles for x in bundle if isinstance(x, np.ndarray) and x is not command.now]
    return settings, hashlib.blake2b(repr(sizes).encode() + b"".join(x.tobytes() for x in equal)).digest()


def lay(layout: Layout, bundles: Sequence[Sequence[Any]], blocks: Sequence[Array]) -> Array:
    """Memory (tiles, numbers, LANES) of plants of one form, of their bundles and blocks; a multiple of LANES."""
    count, length = len(blocks) // LANES, layout.length
    memory = aligned((count, layout.end + BETWEEN, LANES), made=np.empty)
    memory[:, :length] = np.array(blocks).reshape(count, LANES, length).swapaxes(1, 2)
    for place in layout.given:
        given = np.array([own[place.bundle][place.field] for own in bundles])
        memory[:, place.start : place.start + place.size] = given.reshape(count, LANES, -1).swapaxes(1, 2)
    return memory


def lay_one(layout: Layout, bundles: Sequence[Any], block: Array, numbers: Array) -> None:
    """What `lay` does, for one plant: into its lane's numbers (numbers,)."""
    numbers[: layout.length] = block
    for place in layout.given:
        numbers[place.start : place.start + place.size] = bundles[place.bundle][place.field].ravel()


def bundles_in(memory: Array, layout: Layout, bundles: Sequence[Any]) -> list[Any]:
    """Bundles of tiles in memory that was laid; what all plants have in common is of these bundles."""
    parts = [list(bundle) for bundle in bundles]
    count, apart = len(memory), memory.strides[0]
    for k, i, shape, kind, start, _, strides in (*layout.written, *layout.given):
        array = np.ndarray((count, *shape, LANES), kind, memory, VECTOR * start, (apart, *strides))
        parts[k][i] = Tiled(array)
    return [bundle._make(arrays) for bundle, arrays in zip(bundles, parts, strict=True)]


def blocks_of(memory: Array, layout: Layout) -> Array:
    """Blocks (..., LANES, length) of the plants of tiles in memory (..., numbers, LANES)."""
    return np.ascontiguousarray(memory[..., : layout.length, :].swapaxes(-1, -2))


def system_apart(system: Any) -> Any:
    """Memory of a system for each lane."""
    like = [((LANES, *x.shape), x.dtype) for x in (*system[2:-1], *system.work)]
    arrays = list(map(Apart, aligned_together(like, made=np.empty)))
    count = len(system.work)
    return system._make((*system[:2], *arrays[:-count], system.work._make(arrays[-count:])))
