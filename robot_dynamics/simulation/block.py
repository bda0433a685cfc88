# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plant's memory in one block: many plants are laid side by side, and taken back, a block at a time."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiler import LANES, Lanes
from ..core.arrays import Array
from ..kernels.lanes import aligned, places
from ..kernels.simulation import memory as at

WRITTEN = frozenset({"data", "dofs", "configurations", "points", "gaps", *at.State._fields, *at.Command._fields})
"""Arrays that a step, a command or a push writes; those of the robot follow from the state."""


ALIKE = frozenset({"topology", "seen", "free", "number", "place", "row", "clusters", "twins"})
"""Arrays that plants of one form have in common."""
UNUSED = frozenset({"levels", "limbed", "memory"})
"""What a tile, which takes every robot as a tree, does not use."""
GIVEN = frozenset({"parameters", "surfaces", "heights"})
"""Arrays that no step writes and that may differ. What is in none of these is written, or follows from the state."""


class Place(NamedTuple):
    """Where an array of a bundle stands: number of the bundle and of the field, first of `size` numbers."""

    bundle: int
    field: int
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    start: int
    size: int


class Layout(NamedTuple):
    """Where arrays stand in a block of `length` numbers, and the others that a lane of a tile holds, behind it."""

    written: list[Place]
    length: int
    given: list[Place]
    derived: list[Place]
    end: int


def layout_of(bundles: Sequence[Any]) -> Layout:
    """Each array begins a cache line."""
    own = [(k, i, name) for k, bundle in enumerate(bundles) for i, name in enumerate(bundle._fields)]
    own = [(k, i, name) for k, i, name in own if name not in ALIKE | UNUSED]
    in_turn = sorted(own, key=lambda place: (place[2] not in WRITTEN, place[2] not in GIVEN))
    arrays = [bundles[k][i] for k, i, _ in in_turn]
    *starts, end = places([x.size for x in arrays])
    found = [
        Place(k, i, x.shape, x.dtype, start, x.size)
        for (k, i, _), x, start in zip(in_turn, arrays, starts, strict=True)
    ]
    written = sum(name in WRITTEN for _, _, name in own)
    given = written + sum(name in GIVEN for _, _, name in own)
    return Layout(found[:written], found[written].start, found[written:given], found[given:], end)


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
    """Bundles of tiles, of those of plants of one form and their blocks, a multiple of LANES.

    Arrays stand by tiles along a first dimension, by lanes along a last one.
    """
    first, count = bundles[0], len(blocks) // LANES
    memory = aligned((count * layout.end * LANES,))
    parts = [list(bundle) for bundle in first]
    parts[0][0] = ()  # levels
    for k, i, shape, kind, start, _ in (*layout.written, *layout.given, *layout.derived):
        parts[k][i] = Lanes(np.ndarray((count, *shape, LANES), kind, memory, 8 * count * LANES * start))
    by_tile = np.array(blocks).reshape(count, LANES, -1)
    for place in layout.written:
        _numbers(memory, count, place)[...] = by_tile[:, :, place.start : place.start + place.size].swapaxes(1, 2)
    for place in layout.given:
        given = np.array([own[place.bundle][place.field] for own in bundles])
        _numbers(memory, count, place)[...] = given.reshape(count, LANES, -1).swapaxes(1, 2)
    return [bundle._make(arrays) for bundle, arrays in zip(first, parts, strict=True)]


def _numbers(memory: Array, count: int, place: Place) -> Array:
    """Array of `count` tiles that stands in a place, as numbers (count, size, LANES)."""
    return np.ndarray((count, place.size, LANES), np.float64, memory, 8 * count * LANES * place.start)


def blocks_of(bundles: Sequence[Any], t: int, layout: Layout) -> Array:
    """Blocks (LANES, length) of the plants of tile t."""
    blocks = np.empty((LANES, layout.length))
    for k, i, _, _, start, size in layout.written:
        blocks[:, start : start + size] = bundles[k][i].each[t].reshape(size, LANES).view(np.float64).T
    return blocks
