# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The markers that travel: what RViz draws of contact forces and the centre of mass."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.ros.markers import Scene

pytestmark = pytest.mark.ros
FRICTION, WEIGHT, LENGTH = 0.6, 100.0, 0.003


def drawn(feet: np.ndarray, force: np.ndarray, com: np.ndarray, frame: str = "odom") -> dict[str, np.ndarray]:
    scene = Scene(frame, FRICTION, WEIGHT)
    for shift in (0.0, 0.0, -1e9):  # a message of the same feet, and one of none, before it
        scene.write(1, feet + 1.0, force + shift, com)
    markers = deserialize_message(scene.write(5_000_000_001, feet, force, com), MarkerArray).markers
    assert {(m.header.frame_id, m.header.stamp.sec, m.header.stamp.nanosec) for m in markers} == {(frame, 5, 1)}
    assert all(m.action == (Marker.ADD if m.points else Marker.DELETE) and m.pose.orientation.w == 1.0 for m in markers)
    return {m.ns: np.array([(p.x, p.y, p.z) for p in m.points]).reshape(-1, 3) for m in markers}


@pytest.mark.parametrize("frame", ["odom", "", "world/a"])
@pytest.mark.parametrize("standing", [(), (2,), (0, 3), (0, 1, 3), (0, 1, 2, 3)], ids=len)
def test_every_standing_foot_has_an_arrow_a_cone_and_a_corner(standing, frame):
    rng = np.random.default_rng(len(standing))
    feet = np.array([[0.2, -0.1, 0.0], [0.2, 0.1, 0.0], [-0.2, -0.1, 0.0], [-0.2, 0.1, 0.0]])
    force, com = np.zeros((4, 3)), np.array([0.01, 0.02, 0.3])
    force[list(standing)] = rng.uniform(5.0, 30.0, (len(standing), 3))
    shown = drawn(feet, force, com, frame)
    feet, force, n = feet[list(standing)], force[list(standing)], len(standing)
    arrows, cones = shown["forces"].reshape(n, 2, 3), shown["friction cones"].reshape(n, 8, 2, 3)
    assert arrows[:, 0] == pytest.approx(feet)
    assert arrows[:, 1] - arrows[:, 0] == pytest.approx(LENGTH * force)
    edges = cones[:, :, 1] - cones[:, :, 0]
    assert cones[:, :, 0] == pytest.approx(np.repeat(feet[:, None], 8, axis=1))
    assert np.linalg.norm(edges[:, :, :2], axis=2) == pytest.approx(FRICTION * edges[:, :, 2])
    assert edges[:, :, 2] == pytest.approx(np.repeat(LENGTH * force[:, 2:], 8, axis=1))
    ring = shown["support polygon"].tolist()
    assert len(ring) == (n + 1 if n > 1 else 0)
    assert ring[:1] == ring[-1:]
    assert {tuple(p) for p in ring} == ({tuple(p) for p in feet.tolist()} if n > 1 else set())
    assert shown["centre of mass"].tolist() == [[0.01, 0.02, 0.3], [0.01, 0.02, 0.0]]


def test_the_polygon_goes_around_feet_inside_it():
    square = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.1, 0.2, 0.0]])
    ring = drawn(square, np.tile([0.0, 0.0, 20.0], (5, 1)), np.zeros(3))["support polygon"]
    assert np.abs(ring[:, :2]).min() == 1.0
    assert np.linalg.norm(np.diff(ring, axis=0), axis=1) == pytest.approx(np.full(4, 2.0))
