# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The bridge to Unitree's robots over DDS, with message types that ROS's generators make from definitions beside us."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import message_packages
from nav_msgs.msg import Odometry
from ros_nodes import Peer, Process, peer, running
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import SetBool

from robot_dynamics.control.unitree import Motors, State

pytestmark = [pytest.mark.ros, pytest.mark.skipif(bool(message_packages.missing()), reason=message_packages.missing())]
MOTORS = [f"{leg}_{joint}" for leg in ("FR", "FL", "HR", "HL") for joint in ("abad", "hip", "knee")]
"""The joints of our robot in the order of a Unitree quadruped."""
BRIDGE = ("-p", f"motors:=[{','.join(MOTORS)}]")
SIMULATED = ("-p", "use_sim_time:=true")


@pytest.fixture(scope="module")
def types() -> Iterator[Any]:
    """The messages of unitree_go, for us and for the nodes that we start."""
    place = str(message_packages.built(Path(__file__).with_name("unitree_messages") / "unitree_go"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        patch.setenv("PYTHONPATH", os.pathsep.join([place, *filter(None, [os.environ.get("PYTHONPATH")])]))
        import unitree_go.msg

        yield unitree_go.msg
    sys.modules.pop("unitree_go", None)


def test_without_the_messages_one_sentence_says_what_to_build():
    bridge = Process("unitree_bridge", *BRIDGE)
    code, said = bridge.result()
    assert code == 2
    assert "the ROS package 'unitree_go' is not installed" in said[-1]


class Robot:
    """A Unitree robot of our own making: its states, and what it is told."""

    def __init__(self, us: Peer, types: Any):
        self.us, self.types = us, types
        self.state = State(Motors("go2", MOTORS, MOTORS))
        self.commands = us.listen(types.LowCmd, "lowcmd", 10)
        self.joints = us.listen(JointState, "joint_states", 10)
        self.time = 0.0

    def tell(self, q: float = 0.1, spoil: bool = False) -> None:
        """Send a state as the robot does: by way of a message object, which our bytes have to be."""
        from rclpy.serialization import deserialize_message

        self.time += 0.002
        imu = np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.0, 9.81])
        data = self.state.write((q + np.arange(12.0), np.ones(12), 2.0 * np.ones(12)), imu, self.time)
        msg = deserialize_message(data, self.types.LowState)
        assert msg.motor_state[3].q == np.float32(q + 3.0)
        msg.crc += spoil
        self.us.send("lowstate", msg)

    def until(self, condition) -> None:
        def told() -> Any:
            self.tell()
            return condition()

        self.us.until(told)


def test_states_become_joint_states_and_commands_reach_their_motors_with_a_checksum(types):
    with peer() as us, running(bridge := Process("unitree_bridge", *BRIDGE, "-p", "command_timeout:=1.0")):
        robot, imu = Robot(us, types), us.listen(Imu, "imu/data", 10)
        bridge.await_line("ready")
        robot.until(lambda: robot.joints and imu)
        state = robot.joints[-1]
        assert list(state.name) == MOTORS
        np.testing.assert_allclose(state.position, 0.1 + np.arange(12.0), rtol=1e-6)
        assert (imu[-1].orientation.w, round(imu[-1].linear_acceleration.z, 5)) == (1.0, 9.81)
        assert robot.commands == []  # before anybody commands

        gains = JointState(name=MOTORS, position=[35.0] * 12, velocity=[1.5] * 12)
        targets = JointState(name=MOTORS[::-1], position=[0.1 + i for i in range(11, -1, -1)], velocity=[0.0] * 12)

        def commanded() -> Any:
            us.send("joint_gains", gains)
            us.send("joint_commands", targets)
            return robot.commands and abs(robot.commands[-1].motor_cmd[5].kp - 35.0) < 1e-3

        robot.until(commanded)
        told = robot.commands[-1]
        np.testing.assert_allclose([m.q for m in told.motor_cmd[:12]], 0.1 + np.arange(12.0), rtol=1e-6)
        assert {m.mode for m in told.motor_cmd[:12]} == {1}
        assert {m.mode for m in told.motor_cmd[12:]} == {0}
        frame = robot_command(told)
        assert frame.checksum() == told.crc != 0


def robot_command(msg: Any) -> Any:
    from rclpy.serialization import serialize_message

    from robot_dynamics.control.unitree_messages import Frame

    frame = Frame("unitree_go/LowCmd")
    frame.read(serialize_message(msg))
    return frame


def test_silence_damps_and_a_wrong_checksum_and_an_emergency_stop_are_said(types):
    with peer() as us, running(bridge := Process("unitree_bridge", *BRIDGE, "-p", "damping:=3.0")):
        robot = Robot(us, types)
        bridge.await_line("ready")
        robot.until(lambda: robot.joints)
        target = JointState(name=MOTORS, position=[0.1] * 12)

        def followed() -> bool:
            us.send("joint_commands", target)
            return any(m.motor_cmd[0].kp > 0.0 for m in robot.commands)

        robot.until(followed)
        robot.until(lambda: robot.commands[-1].motor_cmd[0].kp == 0.0)
        last = robot.commands[-1].motor_cmd[11]
        assert (last.mode, last.kp, last.kd, last.tau) == (1, 0.0, 3.0, 0.0)
        bridge.await_line("the motors are damped")
        robot.tell(spoil=True)
        robot.until(lambda: us.status("unitree_bridge").get("refused states: bad checksum") == "1")
        assert us.call(SetBool, "unitree_bridge/estop", data=True).success
        robot.until(lambda: us.status("unitree_bridge").get("message") == "stopped")
        us.until(lambda: us.status("unitree_bridge").get("message") == "no lowstate")


def test_a_controller_that_speaks_lowcmd_drives_the_plant_through_two_bridges(types):
    """Our own controller behind one bridge, the plant behind another: between them only lowstate and lowcmd."""
    there = ("-r", "__ns:=/brain", "-r", "lowcmd:=/lowcmd", "-r", "lowstate:=/lowstate", *SIMULATED)
    slowly = ("-p", "update_rate:=500.0", "-p", "timestep:=0.002", "-p", "real_time_factor:=0.3")
    processes = [
        plant := Process("plant", *slowly),
        body := Process("unitree_bridge", *BRIDGE, *SIMULATED, "-p", "role:=robot"),
        mind := Process("unitree_bridge", *BRIDGE, *there, "-p", "command_timeout:=0.1"),
        brain := Process("controller", "-r", "__ns:=/brain", "-r", "odom:=/odom", *SIMULATED),
    ]
    with peer() as us, running(*processes):
        for process in (plant, body, mind, brain):
            process.await_line("ready")
        odom = us.listen(Odometry, "odom")
        us.until(lambda: us.status("brain/controller").get("message") == "standing")
        us.until(lambda: odom[-1].pose.pose.position.z > 0.25)
        us.until(lambda: us.status("plant").get("message", "").endswith("following"))
        assert us.status("unitree_bridge")["message"] == "following"
        refused = [k for k in us.status("unitree_bridge") if k.startswith("refused")]
        assert refused == []
        brain.end()
        us.until(lambda: us.status("unitree_bridge").get("message") in ("damping", "following"))
        mind.await_line("the motors are damped")
        mind.end()
        us.until(lambda: us.status("unitree_bridge").get("message") == "damping")
        us.until(lambda: odom[-1].pose.pose.position.z < 0.2)
