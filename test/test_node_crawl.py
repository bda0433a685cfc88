# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plant and controller as two processes: the robot is told of a step of 12 cm and crawls onto it."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("yaml", reason="pyyaml is not installed")

from nav_msgs.msg import Odometry
from ros_nodes import Process, peer, running
from std_msgs.msg import String
from std_srvs.srv import SetBool

pytestmark = pytest.mark.ros
LOCKSTEP = ("-p", "lockstep:=true", "-p", "lockstep_timeout:=30.0", "-p", "update_rate:=250.0", "-p", "timestep:=0.002")
STEP = """surfaces:
  - plane: {}
  - box: {size: [4, 2, 0.12], position: [2.27, 0, 0.06]}
"""


def test_it_crawls_onto_a_step_and_stands_when_asked_to(tmp_path):
    file = tmp_path / "step.yaml"
    file.write_text(STEP)
    plant = Process("plant", *LOCKSTEP, "-p", "real_time_factor:=0.0", "-p", f"world:={file}")
    controller = Process("controller", "-p", "use_sim_time:=true", "-p", "stand_time:=0.5", "-p", f"world:={file}")
    with running(plant, controller), peer() as us:
        odom = us.listen(Odometry, "odom")
        controller.await_line("ready")
        us.until(lambda: odom and us.status("controller").get("message") == "standing", "the stand")
        before = odom[-1].pose.pose.position
        us.send("controller/load_world", String(data="nowhere.yaml"))
        us.until(lambda: us.status("controller").get("refused ~/load_world") == "1", "the refusal")
        assert us.call(SetBool, "controller/crawl", data=True).success
        us.until(lambda: us.status("controller").get("message") == "crawling", "the crawl")
        us.until(lambda: odom[-1].pose.pose.position.z > before.z + 0.05, "the front feet on the step")
        assert us.call(SetBool, "controller/crawl", data=False).success
        us.until(lambda: us.status("controller").get("message") == "standing", "the stand on the step")
        q = odom[-1].pose.pose.orientation
        assert abs(q.x) + abs(q.y) < 0.3
        assert [node.end()[0] for node in (controller, plant)] == [0, 0]
