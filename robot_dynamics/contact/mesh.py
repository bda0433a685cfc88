# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Points that carry a mesh: STL files, found as ROS finds them, reduced to their extremes."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..core.arrays import Array

VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)")
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(path: Path) -> Array:
    """Corners (k, 3) of the triangles of a binary or ASCII STL file.

    Raises
    ------
    OSError, ValueError
        The file cannot be read, or holds no triangles or numbers that are not finite.
    """
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + TRIANGLE.itemsize * count:
        corners = np.frombuffer(data, TRIANGLE, count, 84)["corners"].reshape(-1, 3).astype(float)
    else:
        corners = np.array([[float(x) for x in match] for match in VERTEX.findall(data)]).reshape(-1, 3)
    if not len(corners) or not np.isfinite(corners).all():
        raise ValueError(f"{path} is no STL file with finite triangles")
    return corners


def _candidates(mesh: str, folder: str) -> Iterator[Path]:
    """Yield where the file named in a URDF may be: beside the URDF and upwards, then where ROS looks."""
    start = Path(folder or ".").resolve()
    package, _, inside = mesh.removeprefix("package://").partition("/")
    if not mesh.startswith("package://"):
        yield start / mesh.removeprefix("file://")
        return
    for above in (start, *start.parents):
        yield above.parent / package / inside if above.name == package else above / package / inside
    for entry in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(":")):
        yield Path(entry) / package / inside
        if Path(entry).name == package:
            yield Path(entry) / inside
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(":")):
        yield Path(prefix) / "share" / package / inside


def find_mesh(mesh: str, folder: str) -> Path:
    """File of a URDF's mesh name (path, file:// or package://).

    Raises
    ------
    FileNotFoundError
        It is in none of the places looked at.
    """
    for path in _candidates(mesh, folder):
        if path.is_file():
            return path
    raise FileNotFoundError(f"mesh {mesh} is not beside the URDF, nor on ROS_PACKAGE_PATH or AMENT_PREFIX_PATH")


def _directions() -> Array:
    """Thirty-two well spread unit vectors: corners of the icosahedron and of its dual dodecahedron."""
    g = 0.5 * (1.0 + np.sqrt(5.0))
    signs = [(a, b) for a in (1.0, -1.0) for b in (1.0, -1.0)]
    first = [(0.0, a, b * g) for a, b in signs] + [(0.0, a / g, b * g) for a, b in signs]
    turned = [np.roll(x, k) for x in first for k in range(3)]
    cube = [(a, b, c) for a, b in signs for c in (1.0, -1.0)]
    x = np.array([*turned, *cube])
    return x / np.linalg.norm(x, axis=1)[:, None]


DIRECTIONS = _directions()


def support_points(vertices: Array) -> Array:
    """The vertices (at most 32) that lie farthest along each of DIRECTIONS, without repeats, in file order."""
    farthest = np.argmax(vertices @ DIRECTIONS.T, axis=0)
    _, first = np.unique(vertices[farthest], axis=0, return_index=True)
    return vertices[np.sort(farthest[first])]
