# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files of config/robots: nodes take them as they are, and they fit the published URDFs."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from robot_files import FILES, robot_file
from ros_nodes import URDF

from robot_dynamics.control.robot import load_robot
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.feedforward import FeedforwardNode
from robot_dynamics.ros.plant import PlantNode
from robot_dynamics.ros.plant_params import plant_params
from robot_dynamics.share import actuator_file, share_folder
from robot_dynamics.simulation.plant import Plant

pytestmark = pytest.mark.ros
STEMS = {"g1": "g1_29dof_rev_1_0", "anymal_c": "anymal"}
CONFIGS = sorted(path.stem for path in (share_folder() / "config" / "robots").glob("*.yaml"))
KNEES = {
    "go2": ("FR_calf_joint", 15.65, 7.04),
    "g1": ("left_knee_joint", 22.7, 14.5),
    "anymal_c": ("RH_KFE", 7.5, 2.5),
    "b1": ("RL_calf_joint", 15.55, 7.775),
    "a1": ("RL_calf_joint", 21.0, 10.5),
    "mini_cheetah": ("HL_knee", 25.72, 18.31),
}
"""A joint of each robot, its no-load speed and the speed up to which it has its full effort [rad/s]."""


def urdf(name):
    if name == "mini_cheetah":
        return URDF
    if not FILES:
        pytest.skip("example-robot-data is not installed")
    stem = STEMS.get(name, name)
    return next(p for p in FILES if p.stem == stem and "anymal_b" not in str(p)) if name != "go2" else robot_file(stem)


@pytest.mark.parametrize("name", CONFIGS)
def test_nodes_take_the_actuators_of_a_robot(name):
    path = actuator_file(name)
    rclpy.init(args=["--ros-args", "--params-file", str(path), "-p", f"urdf_file:={urdf(name)}"])
    try:
        for kind in (FeedforwardNode, PlantNode):
            node = kind(kind.__name__.removesuffix("Node").lower())
            v = node.values
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
    losses = {"damping": v.joint_damping, "friction": v.joint_friction}
    model = load_robot(v.urdf_file, armature=v.armature, **losses)
    params = plant_params(model, v)
    joint, no_load, full = KNEES[name]
    i = model.joint_names.index(joint)
    assert params.no_load_speed[i] == pytest.approx(no_load)
    assert params.full_effort_speed[i] == pytest.approx(full)
    assert (model.effort_limit < np.inf).all()
    Plant(model, params)


def test_every_shipped_robot_is_tested():
    assert set(CONFIGS) == set(KNEES)


def test_an_unknown_robot_is_one_sentence():
    with pytest.raises(RobotDynamicsError, match=r"no file 'spot' with actuators.*a1, anymal_c, b1, g1, go2, mini"):
        actuator_file("spot")
