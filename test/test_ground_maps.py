# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ground from messages: where each cell of a map is, and which maps are refused."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from nav_msgs.msg import OccupancyGrid
from std_msgs.msg import Float32MultiArray, MultiArrayDimension

from robot_dynamics.contact.terrain import clearances
from robot_dynamics.errors import ParameterError
from robot_dynamics.ros.ground_maps import ground_from_grid_map, ground_from_occupancy

pytestmark = pytest.mark.ros


def occupancy(cells, resolution=0.5, origin=(1.0, 2.0, 0.0)):
    """Cells (ny, nx) as the message lays them: row by row, x fastest, from the lower left."""
    msg = OccupancyGrid()
    msg.info.height, msg.info.width = np.shape(cells)
    msg.info.resolution = resolution
    p = msg.info.origin.position
    p.x, p.y, p.z = origin
    msg.data = [int(c) for c in np.ravel(cells)]
    return msg


def grid_map(at, cells, resolution=0.1, start=(0, 0)):
    """Heights (nx, ny) for rising x and y about `at`, in a buffer that begins at `start`, as grid_map lays it."""
    falling = np.roll(np.asarray(cells, dtype=np.float32)[::-1, ::-1], start, axis=(0, 1))
    rows, columns = falling.shape
    data = Float32MultiArray(data=falling.T.ravel().tolist())
    data.layout.dim = [
        MultiArrayDimension(label="column_index", size=columns, stride=rows * columns),
        MultiArrayDimension(label="row_index", size=rows, stride=rows),
    ]
    info = SimpleNamespace(resolution=resolution, pose=OccupancyGrid().info.origin)
    info.pose.position.x, info.pose.position.y, info.pose.position.z = at
    return SimpleNamespace(
        info=info, layers=["elevation"], data=[data], outer_start_index=start[0], inner_start_index=start[1]
    )


def test_an_occupied_cell_is_as_high_as_asked_for():
    """Of the second cell along x of the third row the middle is at 1 + 0.75, 2 + 1.25; what is not known is free."""
    cells = np.zeros((4, 3), dtype=int)
    cells[2, 1], cells[0, 0] = 100, -1
    terrain = ground_from_occupancy(occupancy(cells), 0.2)
    np.testing.assert_allclose(clearances(terrain, [[1.25, 2.25, 0.5], [9.0, 9.0, 0.5]]), 0.5, atol=1e-6)
    assert terrain[1].heights[1, 2] == pytest.approx(0.2)
    assert terrain[1].corner == pytest.approx((1.25, 2.25, 0.0))


@pytest.mark.parametrize("start", [(0, 0), (2, 1), (4, 2)])
@pytest.mark.parametrize("shape", [(5, 3), (4, 6)])
def test_a_map_of_heights_lies_where_it_says(shape, start):
    """Heights rise along x and y, whatever the first cell of the buffer is; cells without one have the lowest."""
    nx, ny = shape
    cells = 1.0 + 0.1 * np.arange(nx)[:, None] + 0.01 * np.arange(ny)
    cells[-1, -1] = np.nan
    plane, field = ground_from_grid_map(grid_map((3.0, 4.0, 0.5), cells, start=start), "elevation")
    expected = np.where(np.isfinite(cells), cells, 1.0)
    np.testing.assert_allclose(field.heights + field.corner[2], expected + 0.5, atol=1e-6)
    np.testing.assert_allclose(field.corner[:2], [3.0 - 0.05 * (nx - 1), 4.0 - 0.05 * (ny - 1)])
    assert plane.height == pytest.approx(1.5)


def turned():
    msg = occupancy(np.zeros((3, 3)))
    msg.info.origin.orientation.z = 0.1
    return msg


def short():
    msg = occupancy(np.zeros((3, 3)))
    msg.info.width = 4
    return msg


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: ground_from_occupancy(turned(), 0.1), "turned"),
        (lambda: ground_from_occupancy(short(), 0.1), "says 4 x 3 cells and holds 9"),
        (lambda: ground_from_occupancy(occupancy(np.zeros((1, 3))), 0.1), "at least 2 x 2"),
        (lambda: ground_from_occupancy(occupancy(np.zeros((3, 3)), 0.0), 0.1), "spacing of HeightField"),
        (lambda: ground_from_occupancy(occupancy(np.zeros((3, 3)), origin=(np.nan, 0.0, 0.0)), 0.1), "not finite"),
        (lambda: ground_from_grid_map(grid_map((0.0, 0.0, 0.0), np.zeros((3, 3))), "height"), "valid: elevation"),
        (lambda: ground_from_grid_map(grid_map((0.0, 0.0, 0.0), np.full((3, 3), np.nan)), "elevation"), "no height"),
    ],
)
def test_a_map_that_is_no_ground_is_one_sentence(refused, message):
    with pytest.raises(ParameterError, match=message):
        refused()
