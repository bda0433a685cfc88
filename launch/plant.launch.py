# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The simulated robot, waiting for your controller."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from robot_dynamics.ros.launching import PLANT, ROBOT, VIEW, declare, plant, recording, view


def generate_launch_description():
    """`ros2 launch robot_dynamics plant.launch.py urdf_file:=my_robot.urdf`."""
    return LaunchDescription([*declare(*ROBOT, *PLANT, *VIEW), OpaqueFunction(function=start)])


def start(context):
    return [*recording(context), plant(context), *view(context)]
