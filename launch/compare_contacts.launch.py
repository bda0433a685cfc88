# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two robots under the same controller, one on spring-damper and one on impulse contacts, each with its own clock."""

from launch import LaunchDescription
from launch.actions import GroupAction, OpaqueFunction, SetLaunchConfiguration

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
)

LAWS = ("spring_damper", "impulse")
ARGUMENTS = [name for name in (*ROBOT, *PLANT, *VIEW, "feet", "trot") if name not in ("contact_model", "own_clock")]


def generate_launch_description():
    """`ros2 launch robot_dynamics compare_contacts.launch.py`: /spring_damper/contacts beside /impulse/contacts."""
    declared = declare(*ARGUMENTS, real_time_factor="0.5")  # in real time six nodes at 1 kHz fill two cores
    return LaunchDescription([*declared, OpaqueFunction(function=start_both)])


def start_both(context):
    outer = given(context, "namespace").strip("/")
    return [*recording(context), *(one_robot(f"{outer}/{law}".strip("/"), law) for law in LAWS)]


def one_robot(namespace, law):
    settings = {"namespace": namespace, "contact_model": law, "own_clock": "true"}
    configured = [SetLaunchConfiguration(name, value) for name, value in settings.items()]
    return GroupAction([*configured, OpaqueFunction(function=start_one)])


def start_one(context):
    time = {"use_sim_time": switched(context, "use_sim_time")}
    overrides = {"trot": switched(context, "trot"), "feet": listed(context, "feet"), **time}
    return [
        plant(context),
        node(context, "controller", overrides, loop=False),
        node(context, "monitor", time, loop=False),
        *view(context),
    ]
