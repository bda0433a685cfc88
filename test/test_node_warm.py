# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nodes compile nothing while a robot waits: all machine code they load is that of their robot's first start."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from nav_msgs.msg import Odometry
from ros_nodes import Process, peer, running
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from visualization_msgs.msg import MarkerArray

from robot_dynamics.warm_up import LIMBS, LOADER

pytestmark = pytest.mark.ros
SIMULATED = ("-p", "use_sim_time:=true")
SLOWLY = ("-p", "update_rate:=200.0", "-p", "real_time_factor:=0.5", "-p", "max_command_age:=0.01")
"""1 kHz of five nodes and of all that we hear of them leave two cores no rest."""
FIRST_START = f"from robot_dynamics.warm_up import warm_up; [*warm_up('{LOADER}'), *warm_up('{LIMBS}')]"
HEARD = {
    "odom": Odometry,
    "estimated": MultiDOFJointState,
    "contacts": MultiDOFJointState,
    "plant/markers": MarkerArray,
    "feedforward/torque/contact": JointState,
    "monitor/mass_matrix": Float64MultiArray,
    "monitor/residual": JointState,
    "monitor/energy": Float64MultiArray,
}


def loaded(lines: list[str]) -> set[str]:
    """Files of machine code that a process said it read or wrote."""
    return {found[1] for line in lines if (found := re.search(r"data (?:loaded from|saved to) '(.*)'", line))}


@pytest.mark.thorough
def test_nodes_run_on_the_machine_code_of_the_first_start_alone(monkeypatch):
    monkeypatch.setenv("NUMBA_DEBUG_CACHE", "1")
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")  # a node that has stopped ends at once, whatever it still had to print
    start = [sys.executable, "-c", FIRST_START]
    nodes = [
        Process("plant", "-p", "efforts_alone:=false", *SLOWLY),
        Process("feedforward", *SIMULATED, "-p", "dry_run:=false", "-p", "mode:=stance"),
        Process(
            "feedforward",
            *SIMULATED,
            "-p",
            "estimate_contacts:=true",
            "-r",
            "contacts:=estimated",
            "-r",
            "__node:=estimator",
        ),
        Process("monitor", *SIMULATED),
        Process("controller", *SIMULATED, "-p", "stand_time:=0.5"),
    ]
    with running(*nodes), peer() as us:
        for topic, kind in HEARD.items():
            us.listen(kind, topic)
        us.until(lambda: us.status("controller").get("message") == "standing", "the stand")
        us.call(SetBool, "controller/gait", data=True)
        us.until(lambda: us.status("controller").get("message") == "trotting", "the trot")
        for topic in HEARD:
            us.new(topic, 5)
        us.until(lambda: "|tau - RNEA(ABA(tau))|" in us.status("monitor"), "the consistency")
        assert [node.end()[0] for node in nodes] == [0] * 5
    first = subprocess.run(start, env=os.environ, capture_output=True, text=True, check=True)
    known = loaded(first.stdout.splitlines())
    for node in nodes:
        read = loaded(node.lines)
        assert read, node.name
        assert read <= known, node.name
