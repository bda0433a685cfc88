# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The whole loop in simulation: plant, controller, feedforward and monitor, or a part of it for two computers."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from robot_dynamics.ros.launching import (
    PLANT,
    ROBOT,
    VIEW,
    declare,
    given,
    listed,
    node,
    plant,
    recording,
    switched,
    view,
    world,
)


def generate_launch_description():
    """`ros2 launch robot_dynamics quadruped.launch.py trot:=true`; docs/two-computers.md for `part`."""
    declared = declare(*ROBOT, *PLANT, *VIEW, "feet", "trot", "crawl", "part", "odometry")
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def start(context):
    part, estimated = given(context, "part"), given(context, "odometry") == "estimated"
    simulated = [] if part == "control" else [plant(context, loop=True, alone=part == "plant", estimated=estimated)]
    control = [] if part == "plant" else controlling(context, apart=part == "control", estimated=estimated)
    return [*recording(context), *simulated, *control, *view(context, frames=bool(simulated))]


def controlling(context, apart, estimated):
    time = {"use_sim_time": switched(context, "use_sim_time")}
    feet = {"feet": listed(context, "feet")}
    reference = (
        {"reference_topic": "~/reference"} if apart else {}
    )  # accelerations of targets that come late are no help
    crawls = switched(context, "crawl")
    gait = {"trot": switched(context, "trot"), "crawl": crawls, "world": world(context)}
    carrying = {"weight": True} if crawls else {}  # on the feet that it means to stand on
    watching = {"watch_only": True} if crawls else {}
    estimator = [node(context, "estimator", {**feet, **time}, loop=True)] if estimated else []
    return [
        *estimator,
        node(context, "controller", {**gait, **carrying, **feet, **time}, loop=True),
        node(context, "feedforward", {**feet, **reference, **watching, **time}, loop=True),
        node(context, "monitor", time, loop=True),
    ]
