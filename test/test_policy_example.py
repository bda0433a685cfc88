# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The policy that ships stands and walks, offline and as a node over DDS; its declaration is the one on the page."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.share import share_folder

pytest.importorskip("yaml", reason="pyyaml is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
import yaml

FOLDER = share_folder() / "examples" / "policy"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "policies.md"
SAID = re.compile(r"after ([\d.]+) s at \((-?[\d.]+), (-?[\d.]+)\), base at ([\d.]+) m: (.*)")


def walked(*arguments):
    done = subprocess.run(
        [sys.executable, FOLDER / "offline.py", *arguments], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    *figures, end = SAID.fullmatch(done.stdout.strip()).groups()
    return np.array(figures, dtype=float), end


def test_the_declaration_on_the_page_is_that_of_the_file():
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    shown, declared = yaml.safe_load(blocks[0]), yaml.safe_load((FOLDER / "walk.yaml").read_text())
    assert shown == declared


@pytest.mark.parametrize("law", ["spring_damper", "impulse"])
def test_it_walks_as_told_and_stays_on_its_feet(law):
    (time, x, y, z), end = walked("--straight", "--seconds", "8", "--law", law)
    assert end == "still on its feet"
    assert time == 8.0
    assert x > 1.0
    assert abs(y) < 0.5
    assert z > 0.25


def test_a_mistake_is_one_sentence(tmp_path):
    command = [sys.executable, FOLDER / "offline.py", tmp_path / "none.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 2
    assert done.stderr.startswith("there is no policy file")


@pytest.mark.ros
@pytest.mark.skipif(find_spec("rclpy") is None, reason="rclpy is not installed")
@pytest.mark.thorough
def test_as_a_node_it_walks_the_plant_when_cmd_vel_asks():
    from geometry_msgs.msg import Twist
    from nav_msgs.msg import Odometry
    from ros_nodes import Process, peer, running

    slowly = ("-p", "update_rate:=500.0", "-p", "timestep:=0.002", "-p", "real_time_factor:=0.3")
    start = [sys.executable, str(FOLDER / "policy_node.py"), "--ros-args", "-p", "use_sim_time:=true"]
    with peer() as us, running(plant := Process("plant", *slowly), node := Process("policy", command=start)):
        plant.await_line("ready")
        odom, twist = us.listen(Odometry, "odom"), Twist()
        twist.linear.x = 0.4
        us.until(lambda: odom and odom[-1].pose.pose.position.z > 0.25, "a robot that stands")

        def walks():
            us.send("cmd_vel", twist)
            return odom[-1].pose.pose.position.x > 0.3

        us.until(walks, "a robot that walks")
        assert node.popen.poll() is None
        assert odom[-1].pose.pose.position.z > 0.25
