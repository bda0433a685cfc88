# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The simulated robot under a controller_manager: trajectories by effort, the weight carried by feedforward."""

from pathlib import Path

from ament_index_python.packages import get_packages_with_prefixes
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetLaunchConfiguration
from launch_ros.actions import Node

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.launching import ROBOT, VIEW, declare, given, node, recording, view

HERE = Path(__file__).resolve().parent
FIXED = {"namespace": "", "own_clock": "false", "use_sim_time": "true"}
ARGUMENTS = [name for name in (*ROBOT, *VIEW) if name not in FIXED]
CONTROLLERS = ("joint_state_broadcaster", "leg_controller")
PACKAGES = (
    "controller_manager",
    "joint_state_topic_hardware_interface",
    "joint_state_broadcaster",
    "joint_trajectory_controller",
    "robot_state_publisher",
)


def generate_launch_description():
    """`ros2 launch robot_dynamics ros2_control.launch.py`."""
    file = DeclareLaunchArgument(
        "controllers_file",
        default_value=str(HERE / "controllers.yaml"),
        description="Parameter file of controller_manager and controllers.",
    )
    declared = [*declare(*ARGUMENTS, urdf_file=str(HERE / "mini_cheetah.xacro")), file]
    fixed = [SetLaunchConfiguration(name, value) for name, value in FIXED.items()]
    return LaunchDescription([*declared, *fixed, OpaqueFunction(function=start)])


def start(context):
    missing = [name for name in PACKAGES if name not in get_packages_with_prefixes()]
    if missing:
        raise RobotDynamicsError(f"packages that are not installed: {', '.join(missing)}")
    file, time = given(context, "controllers_file"), {"use_sim_time": True}
    manager = {"package": "controller_manager", "output": "screen"}
    return [
        *recording(context),
        node(context, "plant", {"efforts_alone": False}, loop=False),
        node(context, "feedforward", {"dry_run": False, **time}, loop=False),
        *view(context),
        Node(executable="ros2_control_node", parameters=[file, time], **manager),
        Node(executable="spawner", arguments=[*CONTROLLERS, "--param-file", file], parameters=[time], **manager),
    ]
