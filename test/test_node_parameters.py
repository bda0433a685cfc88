# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a parameter set at run time costs a node, and from which tick on it acts."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, get_origin

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import message_packages
import rclpy
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from ros_nodes import URDF, Process, compile_kernels, peer, running
from sensor_msgs.msg import JointState

from robot_dynamics.ros.parameters import NODES

pytestmark = pytest.mark.ros
CLASSES = {name: f"{name.title().replace('_', '')}Node" for name in NODES}
LEGS, JOINTS = ("FR", "FL", "HR", "HL"), ("abad", "hip", "knee")
SMALL = ("robot_dynamics.ros.", "robot_dynamics.control.", "robot_dynamics.errors")
"""Rooms without dynamics: what they do for a parameter takes microseconds ..."""
SEARCHES = ("robot_dynamics.control.limbs", "robot_dynamics.control.robot")
"""... but for these, which look for legs and stances and read URDFs."""


@contextmanager
def modules_called() -> Iterator[set[str]]:
    """Modules of this package whose functions are called meanwhile."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("robot_dynamics."):
            called.add(module)

    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("name", NODES)
def test_no_parameter_makes_a_node_compute_anything_of_the_robot_anew(name, monkeypatch):
    """The search of a stance once took a third of a second, in which the plant missed its ticks."""
    given = ["-p", f"urdf_file:={URDF}", "-p", "end_with_process:=0"]
    if name == "unitree_bridge":
        given += ["-p", f"motors:=[{','.join(f'{leg}_{joint}' for leg in LEGS for joint in JOINTS)}]"]
        if lacking := message_packages.missing():
            pytest.skip(lacking)
        messages = Path(__file__).with_name("unitree_messages") / "unitree_go"
        monkeypatch.syspath_prepend(str(message_packages.built(messages)))
    compile_kernels()
    rclpy.init(args=["--ros-args", *given])
    node = getattr(import_module(f"robot_dynamics.ros.{name}"), CLASSES[name])(name)
    executor = rclpy.executors.SingleThreadedExecutor()
    executor.add_node(node)
    try:
        node.trigger_configure()
        free = [f for f in fields(node.kind) if not f.metadata["fixed"] and get_origin(f.type) is not dict]
        assert free
        for f in free:
            value = getattr(node.values, f.name)
            with modules_called() as called:
                changed = Parameter(f.name, value=list(value) if isinstance(value, tuple) else value)
                assert node.set_parameters([changed])[0].successful, f.name
            assert f"robot_dynamics.ros.{name}" in called, f.name
            assert {m for m in called if not m.startswith(SMALL) or m.startswith(SEARCHES)} == set(), f.name
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


@pytest.mark.parametrize("kind", [SetParameters, SetParametersAtomically])
def test_gains_of_one_request_act_from_the_same_tick_on_without_a_new_command(kind):
    """A target beside the joints and a velocity away from it: their torques cancel, unless one gain comes alone."""
    gains, offset, speed = ((20.0, 1.0), (200.0, 10.0)), 0.05, -1.0
    free = ("floating_base:=false", "gravity:=[0.0,0.0,0.0]", "ground_height:=-9.0", "command_timeout:=0.0")
    start = (f"kp:=[{gains[0][0]}]", f"kd:=[{gains[0][1]}]")
    plant = Process("plant", *(word for option in (*free, *start) for word in ("-p", option)))
    service = "plant/set_parameters" + ("_atomically" if kind is SetParametersAtomically else "")
    with running(plant), peer() as us:
        states = us.listen(JointState, "joint_states")
        us.until(lambda: states, "the plant")
        q = np.array(states[-1].position)
        target = JointState(name=states[-1].name, position=(q + offset).tolist(), velocity=[speed] * len(q))
        us.send("joint_commands", target)
        us.until(lambda: us.status("plant").get("commands") == "1", "the target")
        for kp, kd in (gains * 20)[1:]:
            pair = [Parameter(k, value=[v]).to_parameter_msg() for k, v in (("kp", kp), ("kd", kd))]
            us.call(kind, service, parameters=pair)
            us.new("joint_states", 3)
        assert np.abs([m.effort for m in states]).max() < 1e-6
        alone = Parameter("kd", value=[2.0 * gains[1][1]]).to_parameter_msg()
        us.call(kind, service, parameters=[alone])
        us.until(lambda: np.abs([m.effort for m in states]).max() > 1.0, "the torque of one gain alone")
        assert plant.end() == (0, [])
