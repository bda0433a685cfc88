# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Points that carry a mesh: few of its vertices, whose convex hull is nearly that of all (D10)."""

from itertools import combinations

import numpy as np

from ..core.arrays import Array

MOST_POINTS = 32
"""Of one mesh."""
TOLERANCE = 5e-4
"""No further points are added once the hull falls short of the mesh's by less than this [m]."""
FACE = 17
"""Directions along either edge of a face of the cube that `DIRECTIONS` come from."""
AT_ONCE = 64
"""Directions looked at together: bounds the memory for large meshes."""


def _directions() -> Array:
    """Unit vectors (1538, 3) at most 4 degrees from any direction, the same mirrored in every plane of the axes."""
    along = np.tan(np.linspace(-0.25 * np.pi, 0.25 * np.pi, FACE))
    a, b = (x.ravel() for x in np.meshgrid(along, along))
    sides = [np.column_stack([np.full(a.size, side), a, b]) for side in (-1.0, 1.0)]
    faces = [np.roll(side, k, axis=1) for side in sides for k in range(3)]
    x = np.unique(np.round(np.vstack(faces), 12), axis=0)
    unit: Array = x / np.linalg.norm(x, axis=1)[:, None]
    return unit


DIRECTIONS = _directions()


def support_points(vertices: Array, most: int = MOST_POINTS, tolerance: float = TOLERANCE) -> tuple[Array, float]:
    """Choose at most `most` of the vertices (k, 3), whose convex hull stands for that of all (D10).

    Greedy: where the hull of the chosen falls short of all the most, the vertex that lies farthest there is next, until
    that is less than `tolerance` [m].

    Returns
    -------
    (Array, float)
        The points (n, 3) and their support error [m]: by how much their hull falls short, the most over DIRECTIONS and
        the normals of its faces.
    """
    extreme = _extremes(np.unique(vertices, axis=0))
    reach = extreme @ DIRECTIONS.T  # vertex by direction
    first = int(np.argmax(reach.max(axis=0) - 0.5 * DIRECTIONS @ (extreme.min(axis=0) + extreme.max(axis=0))))
    chosen = [int(np.argmax(reach[:, first]))]
    while True:
        u = np.vstack([DIRECTIONS, face_normals(extreme[chosen])])
        reach = np.hstack([reach[:, : len(DIRECTIONS)], extreme @ u[len(DIRECTIONS) :].T])
        short = reach.max(axis=0) - reach[chosen].max(axis=0)
        worst = int(np.argmax(short))
        if short[worst] <= tolerance or len(chosen) == most:
            return extreme[np.sort(chosen)], float(short[worst])
        chosen.append(int(np.argmax(reach[:, worst])))


def face_normals(points: Array) -> Array:
    """Outward unit normals (m, 3) of the faces of the convex hull of a few points (n, 3): every triple is tried."""
    a, b, c = points[np.array(list(combinations(range(len(points)), 3)), dtype=np.intp).reshape(-1, 3).T]
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    flat = 1e-9 * np.ptp(points, axis=0).max() ** 2
    normal, a = normal[size > flat] / size[size > flat, None], a[size > flat]
    height = normal @ points.T - np.einsum("ki,ki->k", normal, a)[:, None]
    slack = 1e-9 * np.ptp(points, axis=0).max()
    return np.vstack([normal[(height <= slack).all(axis=1)], -normal[(height >= -slack).all(axis=1)]])


def _extremes(vertices: Array) -> Array:
    """The vertices that lie farthest along any of DIRECTIONS."""
    own = [np.argmax(vertices @ part.T, axis=0) for part in np.array_split(DIRECTIONS, len(DIRECTIONS) // AT_ONCE)]
    return vertices[np.unique(np.concatenate(own))]
