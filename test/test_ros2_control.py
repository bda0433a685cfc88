# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ros2_control example: its files fit each other and the plant, and its gains carry the robot over DDS.

controller_manager is not on PyPI: a node of ours sends what JointStateTopicSystem sends of the controller's efforts.
"""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("xacro", reason="xacro is not installed")

import xacro
import yaml
from nav_msgs.msg import Odometry
from ros_nodes import Peer, Process, peer, running
from sensor_msgs.msg import JointState

import robot_dynamics as rd
from robot_dynamics.share import share_folder

pytestmark = pytest.mark.ros
EXAMPLE = share_folder() / "examples" / "ros2_control"
NAN = float("nan")


@pytest.fixture(scope="module")
def description() -> str:
    return xacro.process_file(str(EXAMPLE / "mini_cheetah.xacro")).toxml()


@pytest.fixture(scope="module")
def hardware(description) -> ET.Element:
    return ET.fromstring(description).find("ros2_control")


@pytest.fixture(scope="module")
def controllers() -> dict:
    return yaml.safe_load((EXAMPLE / "controllers.yaml").read_text())


@pytest.fixture(scope="module")
def model(description) -> rd.Model:
    return rd.load_urdf(description, floating_base=True)


def test_every_joint_has_the_interfaces_that_the_controllers_claim(hardware, controllers, model):
    joints = {joint.get("name"): joint for joint in hardware.findall("joint")}
    legs = controllers["leg_controller"]["ros__parameters"]
    assert tuple(joints) == tuple(legs["joints"]) == tuple(legs["gains"]) == model.joint_names
    for joint in joints.values():
        assert [i.get("name") for i in joint.findall("command_interface")] == legs["command_interfaces"] == ["effort"]
        assert {i.get("name") for i in joint.findall("state_interface")} >= set(legs["state_interfaces"])
        assert joint.find("command_interface/param") is None, "an initial effort would end the hold"


def test_each_controller_has_a_type_and_parameters(controllers):
    manager = controllers["controller_manager"]["ros__parameters"]
    typed = {name for name, value in manager.items() if isinstance(value, dict) and "type" in value}
    assert typed == set(controllers) - {"/**", "controller_manager"} == {"joint_state_broadcaster", "leg_controller"}
    assert controllers["/**"]["ros__parameters"]["use_sim_time"], "the hardware interface stamps the commands"
    assert controllers["joint_state_broadcaster"]["ros__parameters"]["use_local_topics"]


def test_the_hardware_is_no_namesake_of_the_plant_and_sends_every_command(hardware):
    given = {param.get("name"): param.text for param in hardware.findall("hardware/param")}
    assert hardware.findtext("hardware/plugin") == "joint_state_topic_hardware_interface/JointStateTopicSystem"
    assert float(given["trigger_joint_command_threshold"]) < 0
    assert hardware.get("name") not in ("plant", "feedforward", "monitor", "controller")
    assert all(not given[name].startswith("/") for name in ("joint_commands_topic", "joint_states_topic"))


def test_the_page_shows_the_files(hardware, controllers):
    page = (Path(__file__).parents[1] / "docs" / "ros2_control.md").read_text()
    (block,) = re.findall(r"```xml\n(.*?)```", page, re.DOTALL)
    shown = ET.fromstring(block)
    joint = next(joint for joint in hardware.findall("joint") if joint.get("name") == shown.find("joint").get("name"))
    for here, there in ((shown.find("hardware"), hardware.find("hardware")), (shown.find("joint"), joint)):
        assert [outline(e) for e in here] == [outline(e) for e in there]
    assert within(yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]), controllers)


def outline(element: ET.Element) -> tuple[str, dict[str, str], str]:
    return element.tag, element.attrib, (element.text or "").strip()


def within(shown: object, whole: object) -> bool:
    """Whether everything that is shown stands in the whole, lists from their beginning."""
    if isinstance(shown, dict):
        return all(within(value, whole[key]) for key, value in shown.items())
    return shown == (whole[: len(shown)] if isinstance(shown, list) else whole)


@pytest.mark.thorough
def test_the_robot_stands_under_the_gains_of_the_example(description, hardware, controllers, model, tmp_path):
    given = {param.get("name"): param.text for param in hardware.findall("hardware/param")}
    legs = controllers["leg_controller"]["ros__parameters"]
    kp, kd = (np.array([legs["gains"][joint][gain] for joint in legs["joints"]]) for gain in ("p", "d"))
    robot = tmp_path / "mini_cheetah.urdf"
    robot.write_text(description)
    rate = ("-p", "update_rate:=500.0", "-p", "timestep:=0.002", "-p", "real_time_factor:=0.25")
    waiting = ("-p", "lockstep:=true", "-p", "lockstep_timeout:=0.2")  # or a busy machine would delay the loop
    plant = Process("plant", *rate, *waiting, "-p", "efforts_alone:=false", urdf=robot)
    carrier = Process(
        "feedforward", "-p", "use_sim_time:=true", "-p", "dry_run:=false", "-p", "state_timeout:=0.5", urdf=robot
    )
    with running(plant, carrier), peer() as us:
        states = us.listen(JointState, given["joint_states_topic"])
        odom = us.listen(Odometry, "odom")
        carrier.await_line("ready")
        us.until(lambda: refused(us, given["joint_commands_topic"]), "the refusal of what no controller commands")
        assert us.status("plant")["message"] == "holding"
        held = np.array(states[-1].position)

        def effort(state: JointState) -> np.ndarray:
            return kp * (held - np.array(state.position)) - kd * np.array(state.velocity)

        for _ in range(500):
            state = us.new(given["joint_states_topic"])[-1]
            send(us, given["joint_commands_topic"], state, effort(state))
        assert int(us.status("plant")["refused targets: not finite"]) > 0
        assert np.abs(np.array(states[-1].position) - held).max() < 0.05
        assert np.abs(states[-1].velocity).max() < 0.3
        assert odom[-1].pose.pose.position.z == pytest.approx(odom[0].pose.pose.position.z, abs=0.03)
        us.until(lambda: us.status("plant")["message"] == "timed out", "the timeout")
        assert [node.end() for node in (carrier, plant)] == [(0, [])] * 2


def send(us: Peer, topic: str, state: JointState, effort: np.ndarray) -> None:
    """Send a command as JointStateTopicSystem does: names, a stamp, the efforts, no positions."""
    msg = JointState(name=list(state.name), effort=effort.tolist())
    msg.header.stamp = state.header.stamp
    us.send(topic, msg)


def refused(us: Peer, topic: str) -> bool:
    """Send efforts that are not there yet, and tell whether they were noticed."""
    send(us, topic, us.new("joint_states")[-1], np.full(12, NAN))
    return int(us.status("plant").get("refused targets: not finite", 0)) > 0
