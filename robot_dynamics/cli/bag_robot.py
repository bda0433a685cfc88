# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The robot that a bag is about, for commands that hold a bag against its model, and what such commands share."""

import argparse
from pathlib import Path

from ..bags.replay import plant_topics, read_setup
from ..control.record import SETUP
from ..control.robot import load_robot
from ..core.bag import Bag, BagError
from ..errors import ParameterError
from ..model.model import Model
from ..ros.parameters import MINI_CHEETAH
from .output import check_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare bag, robot, topic and page."""
    parser.add_argument("bag", type=Path, help="bag of joint states, with odom and contacts where the base moves")
    parser.add_argument("--urdf", default="", help="URDF of the robot (default: that in the bag)")
    parser.add_argument("--topic", default="", help="JointState topic (default: joint_states)")
    parser.add_argument("--output", type=Path, help="HTML page with plots")


def prepare(output: Path | None) -> None:
    """See that the page can be written, before the work."""
    if output is not None:
        import matplotlib.figure  # noqa: F401 - say now that it is missing

        check_output(output)


def robot_of(bag: Bag, urdf: str) -> Model:
    """Load the robot: as given, else with the plant's parameters as recorded, else as its description says.

    Raises
    ------
    BagError
        The bag says nothing about the robot, and no URDF is given.
    """
    if bag.salvaged:
        print(bag.salvaged)
    if urdf:
        path = Path(urdf)
        if not path.is_file():
            raise ParameterError(f"--urdf: there is no file '{urdf}'")
        return load_robot(path, armature=MINI_CHEETAH if path.stem == "mini_cheetah" else None)
    if any(topic.endswith(f"/{SETUP}") for topic in bag.topics):
        return read_setup(bag, plant_topics(bag)[SETUP]).model()
    described = bag.ending("robot_description")
    if described and bag.topics[described] == "std_msgs/msg/String":
        for _, _, msg in bag.messages(described):
            return load_robot(msg.data)
    raise BagError(f"'{bag.path}' does not say which robot it is about: name its URDF with --urdf")
