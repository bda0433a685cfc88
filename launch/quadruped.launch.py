# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The whole loop in simulation: plant, controller, feedforward and monitor."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from robot_dynamics.ros.launching import PLANT, ROBOT, VIEW, declare, listed, node, plant, switched, view


def generate_launch_description():
    """`ros2 launch robot_dynamics quadruped.launch.py trot:=true`."""
    return LaunchDescription([*declare(*ROBOT, *PLANT, *VIEW, "feet", "trot"), OpaqueFunction(function=start)])


def start(context):
    time = {"use_sim_time": switched(context, "use_sim_time")}
    feet = {"feet": listed(context, "feet")}
    return [
        plant(context, loop=True),
        node(context, "controller", {"trot": switched(context, "trot"), **feet, **time}, loop=True),
        node(context, "feedforward", {**feet, **time}, loop=True),
        node(context, "monitor", time, loop=True),
        *view(context),
    ]
