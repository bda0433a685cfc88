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


def shrunk_triangle(corners: Array, margin: float) -> Array:
    """Corners (3, 2) of the triangle whose edges lie `margin` [m] inside those of `corners` (3, 2) (H15).

    That is the same triangle scaled about the middle of its inscribed circle; where there is no room, that middle.
    """
    sides = np.linalg.norm(np.roll(corners, -1, axis=0) - np.roll(corners, 1, axis=0), axis=1)
    middle = sides @ corners / sides.sum()
    (ax, ay), (bx, by) = corners[1] - corners[0], corners[2] - corners[0]
    radius = abs(ax * by - ay * bx) / sides.sum()
    share = max(1.0 - margin / radius, 0.0) if radius > 0.0 else 0.0
    return middle + share * (corners - middle)


def nearest_in_triangle(corners: Array, place: Array) -> Array:
    """Return the place (2,) in the triangle of `corners` (3, 2) that is nearest to `place` (2,)."""
    after = np.roll(corners, -1, axis=0)
    turns = [_turn(tuple(a), tuple(b), tuple(place)) for a, b in zip(corners, after, strict=True)]
    if min(turns) >= 0.0 or max(turns) <= 0.0:
        return place
    along = after - corners
    share = ((place - corners) * along).sum(axis=1) / np.maximum((along * along).sum(axis=1), 1e-12)
    on_edges = corners + np.clip(share, 0.0, 1.0)[:, None] * along
    return on_edges[int(np.argmin(np.linalg.norm(on_edges - place, axis=1)))]
