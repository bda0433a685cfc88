# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The memory of a plant as bytes: another plant of the same robot goes on from it as the first one did, bit by bit.

A line of JSON says what follows: arrays as they stand in memory. What a plant has besides, the room for its contact
problem, is written anew in every step.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import RobotDynamicsError
from ..kernels.lanes import aligned
from .plant import Plant

TERRAIN = ("Ground.surfaces", "Ground.heights")
"""Arrays that no step writes, and that may be large."""


class SnapshotError(RobotDynamicsError):
    """Bytes are no memory of this plant."""


def arrays_of(plant: Plant) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a plant's memory by name."""
    for bundle in plant.bundles:
        for name, value in bundle._asdict().items():
            if isinstance(value, np.ndarray):
                yield f"{type(bundle).__name__}.{name}", value


def snapshot(plant: Plant, whole: bool, notes: Mapping[str, Any]) -> bytes:
    """Return the memory of a plant, with the terrain if `whole`, and `notes` that JSON can hold."""
    arrays = [(name, x) for name, x in arrays_of(plant) if whole or name not in TERRAIN]
    told = {name: (x.dtype.str, x.shape) for name, x in arrays}
    head = json.dumps({**notes, "noise": plant.noise_memory, "arrays": told}).encode()
    return b"".join((head, b"\n", *(x.tobytes() for _, x in arrays)))


def read_snapshot(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return notes and arrays of a snapshot.

    Raises
    ------
    SnapshotError
        It is none.
    """
    try:
        head, rest = data.split(b"\n", 1)
        notes = json.loads(head)
        arrays, at = {}, 0
        for name, (kind, shape) in notes.pop("arrays").items():
            x = np.frombuffer(rest, kind, int(np.prod(shape)), at).reshape(shape)
            arrays[name], at = x, at + x.nbytes
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise SnapshotError(f"this is no snapshot of a plant: {problem}") from None
    return notes, arrays


def restore(plant: Plant, arrays: Mapping[str, Any], noise: Mapping[str, Any]) -> None:
    """Let a plant go on from the memory of another one of the same robot, whose terrain it has unless that came too.

    Raises
    ------
    SnapshotError
        It is the memory of another kind of robot, or of another version of this package.
    """
    bundles = []
    for bundle in plant.bundles:
        new = {}
        for name, value in bundle._asdict().items():
            key = f"{type(bundle).__name__}.{name}"
            if isinstance(value, np.ndarray) and key in arrays:
                new[name] = _like(value, arrays[key], key)
        bundles.append(bundle._replace(**new))
    plant.take_memory(bundles, noise)


def _like(old: Any, new: Any, name: str) -> Any:
    """Return a copy of `new` that stands in memory as `old` does."""
    fits = old.dtype == new.dtype and old.ndim == new.ndim
    if not fits or (old.shape != new.shape and not name.startswith("Ground.")):
        raise SnapshotError(
            f"this is the memory of another robot, or of another version: "
            f"{name} is {new.dtype} {new.shape}, not {old.dtype} {old.shape}"
        )
    copy = aligned(new.shape, new.dtype) if new.size else np.empty(new.shape, new.dtype)
    copy[...] = new
    copy.flags.writeable = old.flags.writeable
    return copy
