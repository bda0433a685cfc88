# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The robot that the parameters of any node ask for."""

from ..control.robot import load_robot
from ..model.model import Model
from .parameters import RobotParameters


def model_of(source: str, v: RobotParameters) -> Model:
    """Load the robot of a URDF's text or path; raises as `load_robot`."""
    return load_robot(
        source,
        floating_base=v.floating_base,
        armature=v.armature,
        damping=v.joint_damping,
        friction=v.joint_friction,
        gravity=v.gravity,
        mesh_path=v.mesh_path,
    )
