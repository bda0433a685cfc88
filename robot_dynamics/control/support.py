# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The polygon a robot stands on."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def convex_hull(points: Array) -> Array:
    """Return the corners (m, 2) of the convex hull of points (k, 2), counter-clockwise [Andrew 1979]."""
    ordered = [tuple(p) for p in points[np.lexsort((points[:, 1], points[:, 0]))].tolist()]
    if len(ordered) < 3:
        return np.array(ordered, dtype=float).reshape(-1, 2)

    def half(row: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        out: list[tuple[float, ...]] = []
        for p in row:
            while len(out) > 1 and _turn(out[-2], out[-1], p) <= 0.0:
                out.pop()
            out.append(p)
        return out[:-1]

    return np.array(half(ordered) + half(ordered[::-1]), dtype=float)


def _turn(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
    """Return (b - a) x (c - a), positive for a turn to the left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
