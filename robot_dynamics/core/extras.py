# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which extra of this package brings what it can do without, and what to type where that is missing."""

import os

EXTRAS = {
    "rich": "cli",
    "matplotlib": "report",
    "rosbags": "bag",
    "xacro": "xacro",
    "rclpy": "ros",
    "yaml": "world",
    "PIL": "world",
    "trimesh": "meshes",
    "collada": "meshes",
    "onnxruntime": "policy",
}
"""Importable module -> extra of this package that brings it."""

APT = {
    "rich": "python3-rich",
    "matplotlib": "python3-matplotlib",
    "xacro": "ros-{distro}-xacro",
    "yaml": "python3-yaml",
    "PIL": "python3-pil",
    "collada": "python3-collada",
}
"""Importable module -> package of Debian or ROS that brings it to a machine with a ROS installation."""


def install_command(module: str) -> str:
    """Answer the line to type for a key of EXTRAS: apt's where a ROS installation is sourced and packages it."""
    distro = os.environ.get("ROS_DISTRO")
    if distro and module in APT:
        return f"sudo apt install {APT[module].format(distro=distro)}"
    return f"pip install 'robot_dynamics[{EXTRAS[module]}]'"


def missing(module: str) -> str:
    """Say in one sentence that a key of EXTRAS is missing, and what to type."""
    source = "source a ROS 2 installation or " if module == "rclpy" else ""
    return f"this needs the Python package '{module}': {source}{install_command(module)}"
