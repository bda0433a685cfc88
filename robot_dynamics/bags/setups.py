# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a bag tell of themselves: versions, processor, parameters, and the URDF of their robot."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ..control.record import SETUP, processor, versions
from ..core.bag import Bag, BagError
from ..errors import ParameterError
from ..model.model import Model
from ..ros.parameters import RobotParameters, updated
from ..ros.robot_params import model_of

P = TypeVar("P", bound=RobotParameters)
TEXT = "std_msgs/msg/String"


@dataclass(frozen=True)
class Setup(Generic[P]):
    """What a node told of itself: versions, processor, its parameters, text of the URDF."""

    versions: dict[str, str]
    processor: str
    parameters: P
    urdf: str

    def model(self) -> Model:
        """Return the robot, read from its own file where that is still the same: meshes are found from there."""
        v, source = self.parameters, self.urdf
        path = Path(v.urdf_file).expanduser()
        if v.urdf_file and path.is_file() and path.read_text(errors="replace") == self.urdf:
            source = str(path)
        return model_of(source, v)

    def foreign(self) -> str:
        """Say in which versions, or on which processor, other than those here the run was recorded; "" if none."""
        here = {**versions(), "processor": processor()}
        there = {**self.versions, "processor": self.processor}
        return ", ".join(f"{name} {there.get(name)} (here {x})" for name, x in here.items() if there.get(name) != x)


def nodes_of(bag: Bag, mark: str) -> list[str]:
    """Return the nodes in a bag that told their setup and have the private topic `mark`."""
    told = (topic.removesuffix(f"/{SETUP}") for topic, kind in bag.topics.items() if kind == TEXT)
    return [node for node in told if f"{node}/{SETUP}" in bag.topics and f"{node}/{mark}" in bag.topics]


def read_setup(bag: Bag, node: str, initial: P) -> Setup[P]:
    """Return the setup of a node with parameters like `initial`.

    Raises
    ------
    BagError
        It is none, or the node was started anew with another.
    """
    topic = f"{node}/{SETUP}"
    texts = {msg.data for _, _, msg in bag.messages(topic)}
    if len(texts) != 1:
        raise BagError(f"'{bag.path}' holds {len(texts)} setups on {topic}, expected one")
    try:
        told = json.loads(texts.pop())
        parameters = updated(initial, told["parameters"])
        return Setup(dict(told["versions"]), str(told["processor"]), parameters, str(told["urdf"]))
    except (ValueError, KeyError, TypeError, ParameterError) as problem:
        raise BagError(f"'{bag.path}': {topic} is no setup of a node of this version: {problem}") from None
