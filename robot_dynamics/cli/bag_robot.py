# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The robot that a bag is about, for commands that hold a bag against its model, and what such commands share."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ..bags.answers import Agreement
from ..bags.heard import node_beside
from ..bags.setups import nodes_of, read_setup
from ..control.record import DRIVE
from ..control.robot import load_robot
from ..core.bag import Bag, BagError
from ..errors import ParameterError
from ..model.model import Model
from ..ros.parameters import MINI_CHEETAH, PlantParameters, RobotParameters
from .output import check_output

P = TypeVar("P", bound=RobotParameters)


@dataclass(frozen=True)
class Chosen(Generic[P]):
    """The robot of a bag, parameters of a node, and its name in the bag, "" where they are not those of one.

    foreign : other versions or another processor on which it ran, "" if there are none.
    """

    model: Model
    parameters: P
    node: str = ""
    foreign: str = ""


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


def choose(bag: Bag, args: argparse.Namespace, mark: str, initial: P) -> Chosen[P]:
    """Return robot and parameters of the node in the bag that has the private topic `mark`, `initial` without one.

    Raises
    ------
    BagError
        The bag says nothing about the robot, and no URDF is given.
    """
    if bag.salvaged:
        print(bag.salvaged)
    node = node_beside(bag, args.topic, mark)
    if not node:
        return Chosen(robot_of(bag, args.urdf), initial)
    setup = read_setup(bag, node, initial)
    model = robot_of(bag, args.urdf) if args.urdf else setup.model()
    return Chosen(model, setup.parameters, node, setup.foreign())


def beside(live: dict[str, Agreement], foreign: str) -> list[str]:
    """How numbers compare with those that a node told live, a line each, and what may be why they differ."""
    said = [f"{what} as live: {found}" for what, found in live.items()]
    differ = any(found.same < found.compared for found in live.values())
    return [*said, *([f"recorded with other versions: {foreign}"] if differ and foreign else [])]


def robot_of(bag: Bag, urdf: str) -> Model:
    """Load the robot: as given, else with the plant's parameters as recorded, else as its description says.

    Raises
    ------
    BagError
        The bag says nothing about the robot, and no URDF is given.
    """
    if urdf:
        path = Path(urdf)
        if not path.is_file():
            raise ParameterError(f"--urdf: there is no file '{urdf}'")
        return load_robot(path, armature=MINI_CHEETAH if path.stem == "mini_cheetah" else None)
    plants = nodes_of(bag, DRIVE)
    if len(plants) == 1:
        return read_setup(bag, plants[0], PlantParameters()).model()
    described = bag.ending("robot_description")
    if described and bag.topics[described] == "std_msgs/msg/String":
        for _, _, msg in bag.messages(described):
            return load_robot(msg.data)
    raise BagError(f"'{bag.path}' does not say which robot it is about: name its URDF with --urdf")
