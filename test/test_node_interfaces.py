# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plant under commands of control_msgs over DDS, with message types that ROS's generators make beside us."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import message_packages
from ros_nodes import Peer, Process, nanoseconds, peer, running
from sensor_msgs.msg import JointState

pytestmark = [pytest.mark.ros, pytest.mark.skipif(bool(message_packages.missing()), reason=message_packages.missing())]
NAMES = [f"{leg}_{joint}" for leg in ("FR", "HL") for joint in ("knee", "hip", "abad")]
"""Some joints, in an order of their own."""
INTERFACES = ["kp", "position", "damping", "velocity"]


@pytest.fixture(scope="module")
def types() -> Iterator[Any]:
    """The messages of control_msgs, for us and for the plant."""
    folder = Path(__file__).with_name("control_messages") / "control_msgs"
    place = str(message_packages.built(folder, ("std_msgs", "builtin_interfaces")))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        patch.setenv("PYTHONPATH", os.pathsep.join([place, *filter(None, [os.environ.get("PYTHONPATH")])]))
        import control_msgs.msg

        yield control_msgs.msg
    for name in [name for name in sys.modules if name.split(".")[0] == "control_msgs"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def us(types) -> Iterator[Peer]:
    plant = Process("plant", "-p", "update_rate:=100.0", "-p", "timestep:=0.002", "-p", "timeout_action:=zero")
    with running(plant), peer() as us:
        plant.await_line("ready")
        us.listen(JointState, "joint_states")
        us.new("joint_states")
        yield us


@pytest.fixture(params=["DynamicInterfaceGroupValues", "DynamicJointState"])
def sender(request, us, types) -> Any:
    """Sends commands of one type to the topic of that type."""
    groups = request.param == "DynamicInterfaceGroupValues"
    topic = "plant/interface_commands" if groups else "plant/dynamic_joint_commands"

    def send(names: list[str], interfaces: list[str], values: list[float]) -> None:
        each = [types.InterfaceValue(interface_names=interfaces, values=values) for _ in names]
        joints = {"interface_groups" if groups else "joint_names": names}
        us.send(topic, getattr(types, request.param)(interface_values=each, **joints))

    return send


def test_joints_follow_targets_with_the_gains_of_the_same_message(us, sender):
    def efforts(kp: float, kd: float) -> np.ndarray:
        sender(NAMES, INTERFACES, [kp, 0.0, kd, 0.0])
        us.new("joint_states")
        state = us.heard["joint_states"][-1]
        return np.abs([state.effort[state.name.index(name)] for name in NAMES])

    us.until(lambda: efforts(50.0, 1.0).max() > 1.0, "efforts towards the target")
    us.until(lambda: not efforts(0.0, 0.0).any(), "no effort without gains")


def test_gains_alone_change_those_of_the_targets_that_have_come(us, sender):
    def efforts() -> np.ndarray:
        us.send("joint_commands", JointState(name=NAMES, position=[0.0] * 6, velocity=[0.0] * 6))
        us.new("joint_states")
        state = us.heard["joint_states"][-1]
        return np.abs([state.effort[state.name.index(name)] for name in NAMES])

    for stiffness in (50.0, 0.0):
        sender(NAMES, ["stiffness", "damping"], [stiffness, 0.0])
        us.until(lambda on=stiffness > 0.0: (efforts().max() > 1.0) == on, f"efforts with stiffness {stiffness}")


@pytest.mark.parametrize("sender", ["DynamicInterfaceGroupValues"], indirect=True)
@pytest.mark.parametrize(
    ("names", "interfaces", "values", "cause"),
    [
        (NAMES, INTERFACES, [1.0, float("nan"), 1.0, 1.0], "not finite"),
        (NAMES, INTERFACES, [1.0, 0.0, 1.0], "wrong length"),
        (NAMES, ["position", "torque"], [0.0, 0.0], "unknown interface"),
        (NAMES, ["kp", "stiffness"], [1.0, 1.0], "duplicate interface"),
        (["elbow"], INTERFACES, [1.0, 0.0, 1.0, 0.0], "unknown joint"),
        (["FR_knee"] * 2, INTERFACES, [1.0, 0.0, 1.0, 0.0], "duplicate joint"),
        (NAMES, INTERFACES, [-1.0, 0.0, 1.0, 0.0], "negative gain"),
    ],
)
def test_what_cannot_be_is_refused_and_counted(us, sender, names, interfaces, values, cause):
    count = f"refused targets: {cause}"
    before = int(us.status("plant").get(count, "0"))
    sender(names, interfaces, values)
    us.until(lambda: int(us.status("plant").get(count, "0")) > before, count)
    assert np.isfinite(us.new("joint_states")[-1].effort).all()


def test_lockstep_waits_for_them_as_for_joint_commands(types):
    plant = Process("plant", "-p", "lockstep:=true", "-p", "lockstep_timeout:=1000.0")
    with running(plant), peer() as us:
        plant.await_line("ready")
        states, answered = us.listen(JointState, "joint_states"), set()

        def answer() -> bool:
            header = states[-1].header if states else None
            if header is not None and nanoseconds(header.stamp) not in answered:
                answered.add(nanoseconds(header.stamp))
                each = [types.InterfaceValue(interface_names=["position"], values=[0.0]) for _ in NAMES]
                msg = types.DynamicJointState(header=header, joint_names=NAMES, interface_values=each)
                us.send("plant/dynamic_joint_commands", msg)
            return len(answered) > 10

        us.until(answer, "ten ticks, each after a command")
