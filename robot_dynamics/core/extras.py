# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which extra of this package brings what it can do without, and what to type where that is missing."""

import os
from collections.abc import Iterable
from importlib.util import find_spec

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
    "viser": "view",
    "yourdfpy": "view",
    "pyarrow": "study",
    "scipy": "study",
    "distributed": "cluster",
    "gymnasium": "rl",
}
"""Importable module -> extra of this package that brings it."""
VIEW = ("viser", "yourdfpy")
"""What a robot in a browser needs."""

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


def lacking(modules: Iterable[str]) -> str:
    """Say of the first of these keys of EXTRAS that is missing what to type; empty if all are there."""
    return next((missing(module) for module in modules if find_spec(module) is None), "")


def missing(module: str) -> str:
    """Say in one sentence that a key of EXTRAS is missing, and what to type."""
    source = "source a ROS 2 installation or " if module == "rclpy" else ""
    return f"this needs the Python package '{module}': {source}{install_command(module)}"
