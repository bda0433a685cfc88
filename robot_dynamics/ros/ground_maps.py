# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ground from maps that come as messages: nav_msgs/OccupancyGrid and grid_map_msgs/GridMap."""

from typing import Any

import numpy as np
from geometry_msgs.msg import Pose

from ..contact.ground import MOST_SAMPLES
from ..contact.terrain import HeightField, Plane, Surface
from ..core.arrays import Array
from ..errors import ParameterError

UP = np.array([0.0, 0.0, 1.0])
LEVEL = 1e-6
"""Components of a quaternion that differ less from no rotation are none."""


def ground_from_occupancy(msg: Any, height: float) -> tuple[Surface, ...]:
    """Return blocks of `height` [m] times the occupancy where the map has some, on a plane at its origin's height.

    Cells of unknown occupancy are free. Between the middles of two cells the ground is interpolated.

    Raises
    ------
    ParameterError
        The map is turned, too large, smaller than 2 x 2, or does not hold as many cells as it says.
    """
    info = msg.info
    shape = _shape("OccupancyGrid", int(info.width), int(info.height), len(msg.data))
    cells = np.maximum(np.asarray(msg.data, dtype=float).reshape(shape[1], shape[0]).T, 0.0)
    at = _level(info.origin)
    start = at + 0.5 * info.resolution * np.array([1.0, 1.0, 0.0])
    return _on_plane(height * cells / 100.0, info.resolution, start, at[2])


def ground_from_grid_map(msg: Any, layer: str) -> tuple[Surface, ...]:
    """Return the layer of heights [m] of a GridMap, on a plane at its lowest height; cells without one have that.

    The map's first cell is that of the largest x and y, as grid_map lays it; its buffer may begin anywhere.

    Raises
    ------
    ParameterError
        No such layer, no height in it, or as `ground_from_occupancy`.
    """
    if layer not in msg.layers:
        raise ParameterError(f"GridMap has no layer '{layer}' (parameter map_layer); valid: {', '.join(msg.layers)}")
    data = msg.data[list(msg.layers).index(layer)]
    sizes = [int(dimension.size) for dimension in data.layout.dim]
    if len(sizes) != 2:
        raise ParameterError(f"GridMap must have layers of 2 dimensions, got {len(sizes)}")
    columns, rows = sizes
    _shape("GridMap", rows, columns, len(data.data))
    stored = np.asarray(data.data, dtype=float).reshape(columns, rows).T
    cells = np.roll(stored, (-int(msg.outer_start_index), -int(msg.inner_start_index)), axis=(0, 1))[::-1, ::-1]
    known = np.isfinite(cells)
    if not known.any():
        raise ParameterError(f"GridMap has no height in its layer '{layer}'")
    lowest = float(cells[known].min())
    at, step = _level(msg.info.pose), msg.info.resolution
    start = at - 0.5 * step * np.array([rows - 1.0, columns - 1.0, 0.0])
    return _on_plane(np.where(known, cells, lowest) - lowest, step, start + lowest * UP, at[2] + lowest)


def _shape(kind: str, nx: int, ny: int, cells: int) -> tuple[int, int]:
    if nx * ny != cells:
        raise ParameterError(f"{kind} says {nx} x {ny} cells and holds {cells}")
    if cells > MOST_SAMPLES:
        raise ParameterError(f"{kind} of {nx} x {ny} cells; at most {MOST_SAMPLES} fit")
    return nx, ny


def _level(pose: Pose) -> Array:
    """Position (3,) of a pose that is not turned. Raises ParameterError."""
    p, o = pose.position, pose.orientation
    at = np.array([p.x, p.y, p.z])
    turn = np.array([o.x, o.y, o.z])
    if not np.isfinite(at).all() or not (np.abs(turn) < LEVEL).all():
        raise ParameterError("a map whose origin is turned or not finite cannot be ground: send it level")
    return at


def _on_plane(heights: Array, spacing: float, start: Array, level: float) -> tuple[Surface, ...]:
    field = HeightField(heights, float(spacing), (float(start[0]), float(start[1]), float(start[2])))
    return (Plane(float(level)), field)
