# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Beside a real robot: feed-forward efforts from its joint_states, a monitor, and its base estimated if asked for."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from robot_dynamics.ros.launching import (
    FROM_TOPIC,
    ROBOT,
    browser,
    declare,
    given,
    listed,
    node,
    recording,
    switched,
)

ARGUMENTS = (
    *ROBOT,
    "feet",
    "controller",
    "reference_topic",
    "dry_run",
    "use_sim_time",
    "estimate_base",
    "estimate_contacts",
    "imu_link",
    "view",
)


def generate_launch_description():
    """`ros2 launch robot_dynamics feedforward.launch.py`, with robot_description from your robot_state_publisher."""
    return LaunchDescription(
        [*declare(*ARGUMENTS, urdf_file=FROM_TOPIC, use_sim_time="false"), OpaqueFunction(function=start)]
    )


def start(context):
    time = {"use_sim_time": switched(context, "use_sim_time")}
    reference = {"reference_topic": given(context, "reference_topic") or None}
    feet, imu = {"feet": listed(context, "feet")}, {"imu_link": given(context, "imu_link") or None}
    contacts = {"estimate_contacts": switched(context, "estimate_contacts") or None}  # None: as in the files
    overrides = {**feet, **imu, **contacts, "dry_run": switched(context, "dry_run"), **reference, **time}
    commands = [("effort_controller/commands", f"{given(context, 'controller')}/commands")]
    estimator = [node(context, "estimator", {**feet, **imu, **time}, loop=False)]
    return [
        *recording(context),
        *(estimator if switched(context, "estimate_base") else []),
        node(context, "feedforward", overrides, loop=False, remappings=commands),
        node(context, "monitor", time, loop=False),
        *browser(context, controls=False),  # whoever opens a page does not enable motors
    ]
