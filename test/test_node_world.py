# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plant on the ground of a file: stood on, drawn, changed while it runs, and not pushed into the robot."""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("yaml", reason="pyyaml is not installed")

from nav_msgs.msg import OccupancyGrid, Odometry
from rcl_interfaces.msg import Log
from ros_nodes import Peer, Process, peer, running
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.ros.component import LATCHED
from robot_dynamics.share import share_folder

pytestmark = pytest.mark.ros
WORLDS = share_folder() / "worlds"
SLOWLY = ("-p", "update_rate:=100.0", "-p", "timestep:=0.002")


@pytest.fixture(scope="module")
def us() -> Iterator[Peer]:
    """The robot that holds its stance on rough ground, and its listeners."""
    plant = Process("plant", *SLOWLY, "-p", f"world:={WORLDS / 'rough.yaml'}", "-p", "initial_pose:=stance")
    with running(plant), peer() as us:
        plant.await_line("ready")
        us.listen(MarkerArray, "plant/ground", LATCHED)
        us.listen(MultiDOFJointState, "contacts")
        us.listen(Odometry, "odom")
        us.until(lambda: all(us.heard.values()), "all of them")
        yield us
        assert plant.end()[0] == 0


def standing(us: Peer) -> np.ndarray:
    """Height of the points that carry the robot [m], once it has been at rest for half a second."""
    us.new("odom", 50)
    us.until(lambda: all(abs(m.twist.twist.linear.z) < 1e-3 for m in us.heard["odom"][-50:]), "rest")
    msg = us.new("contacts")[-1]
    return np.array([t.translation.z for t, w in zip(msg.transforms, msg.wrench, strict=True) if w.force.z > 1.0])


def load(us: Peer, name: str) -> None:
    us.send("plant/load_world", String(data=name))


def put_on(us: Peer, name: str) -> None:
    """Load a ground that fits and wait until it is drawn and the robot at rest on it."""
    before = len(us.heard["plant/ground"])
    load(us, str(WORLDS / name))
    us.until(lambda: len(us.heard["plant/ground"]) > before, "the ground")
    standing(us)


def test_the_robot_stands_on_the_bumps_and_they_are_drawn(us):
    us.call(Trigger, "plant/reset")
    heights = standing(us)
    assert len(heights) >= 3
    assert heights.min() > -0.005
    assert 0.003 < heights.max() < 0.03
    shapes = [m.type for m in us.heard["plant/ground"][-1].markers]
    assert shapes[1:] == [Marker.CUBE, Marker.TRIANGLE_LIST]
    assert us.heard["plant/ground"][-1].markers[2].points


def test_another_ground_is_loaded_while_it_runs_and_stays_after_a_reset(us):
    put_on(us, "stairs.yaml")
    assert len(us.heard["plant/ground"][-1].markers) == 7
    assert standing(us).max() < 0.001
    us.call(Trigger, "plant/reset")
    assert standing(us).max() < 0.001


@pytest.mark.parametrize(("name", "sentence"), [("rough.yaml", "inside that ground"), ("nowhere.yaml", "cannot read")])
def test_a_ground_that_would_be_in_the_robot_and_a_bad_file_are_refused(us, name, sentence):
    put_on(us, "stairs.yaml")
    count = int(us.status("plant").get("refused ~/load_world", "0"))
    before = len(us.heard["plant/ground"])
    log = us.listen(Log, "/rosout", 100)
    load(us, str(WORLDS / name))
    us.until(lambda: us.status("plant").get("refused ~/load_world") == str(count + 1), "the count")
    us.until(lambda: any(sentence in m.msg for m in log), "the sentence")
    assert us.status("plant")["level"] == "1"
    assert len(us.heard["plant/ground"]) == before


def occupied(height_of_base: float = 0.0) -> OccupancyGrid:
    """Six by six metres about the origin, all occupied."""
    msg = OccupancyGrid()
    msg.info.width, msg.info.height, msg.info.resolution = 60, 60, 0.1
    at = msg.info.origin.position
    at.x, at.y, at.z = -3.0, -3.0, height_of_base
    msg.data = [100] * 3600
    return msg


def test_a_map_becomes_ground_unless_the_robot_would_stand_in_it(us):
    """Occupied cells are 0.1 m high: on a floor 0.1 m lower their top is where the robot stands."""
    put_on(us, "stairs.yaml")
    before = len(us.heard["plant/ground"])
    us.send("plant/ground_map", occupied(), LATCHED)
    us.until(lambda: "refused ~/ground_map" in us.status("plant"), "the refusal")
    assert len(us.heard["plant/ground"]) == before
    us.send("plant/ground_map", occupied(-0.1), LATCHED)
    us.until(lambda: len(us.heard["plant/ground"]) > before, "the ground")
    assert [m.type for m in us.heard["plant/ground"][-1].markers[1:]] == [Marker.CUBE, Marker.TRIANGLE_LIST]
    assert np.abs(standing(us)).max() < 0.003
