# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Films: one HTML file that plays what robots did, in three dimensions, from disk and without a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contact.terrain import Plane, Surface
from ..core.arrays import Array
from ..dynamics.algorithms import center_of_mass
from ..model.model import Model
from .forces import ForcePen
from .looks import looks
from .page import serve, stop
from .scene import ForceFigure, Ground, RobotFigure, size_of
from .surfaces import shape_of

RATE = 25.0
"""Pictures per second of a film."""
SHOWN = 30.0
"""So much of a run a film shows [s]."""
LENGTH = 0.8
"""Length of the arrow of a force as large as the weight, over the size of the robot."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A robot at one time: q (nq,), contact points `position` (k, 3) and forces `force` (k, 3) on it, world axes."""

    q: Array
    position: Array
    force: Array


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """What one robot did: pictures RATE apart; `text` is its URDF, `friction` that of the cones."""

    name: str
    model: Model
    text: str
    pictures: Sequence[Picture]
    friction: float


def caption(duration: float) -> str:
    """Say what a film of `duration` [s] shows, and how to hold it."""
    return (
        f"The first {duration:.0f} s: forces of the ground as arrows, friction cones, support polygon and centre of "
        "mass. Play, pause, time line and speed are below the picture; drag to turn it, scroll to come nearer."
    )


def film(takes: Sequence[Take], terrain: Sequence[Surface] = (Plane(),)) -> str:
    """Give the HTML page of a film with play, pause, a time line and slow motion; several robots stand side by side.

    Raises
    ------
    RobotDynamicsError
        viser or yourdfpy is not installed.
    """
    server = serve("127.0.0.1", 0)
    try:
        return _filmed(server, takes, terrain)
    finally:
        stop(server)


def _filmed(server: Any, takes: Sequence[Take], terrain: Sequence[Surface]) -> str:
    size = max(size_of(take.model, take.pictures[0].q) for take in takes)
    Ground(server.scene).show([shape_of(surface) for surface in terrain])
    stages = [Stage(server.scene, take, i, 1.3 * size * i, len(takes) > 1) for i, take in enumerate(takes)]
    middle = takes[0].pictures[0].q[:3] if takes[0].model.floating_base else np.zeros(3)
    x, y, z = middle + np.array([0.0, 0.65 * size * (len(takes) - 1), -0.1 * size])
    away = size * (0.6 + 0.4 * len(takes))
    server.initial_camera.position, server.initial_camera.look_at = (x + away, y - away, z + 0.6 * away), (x, y, z)
    reel = server.get_scene_serializer()
    for i in range(max(len(take.pictures) for take in takes)):
        for stage in stages:
            stage.show(i)
        reel.insert_sleep(1.0 / RATE)
    page: str = reel.as_html()
    return page


class Stage:
    """The place of one take in the scene."""

    def __init__(self, scene: Any, take: Take, number: int, aside: float, named: bool):
        """Put the robot there, so far to the left of the first [m]."""
        found, _ = looks(take.model, take.text)
        root, self.take = f"/{number}", take
        scene.add_frame(root, show_axes=False, position=(0.0, aside, 0.0))
        size = size_of(take.model, take.pictures[0].q)
        self.figure = RobotFigure(scene, take.model, found, f"{root}/robot")
        self.forces = ForceFigure(scene, f"{root}/forces", size)
        weight = take.model.mass * float(np.linalg.norm(take.model.gravity))
        self.pen = ForcePen(take.friction, weight, LENGTH * size)
        if named:
            base = self.figure.frames[min(1, take.model.nb - 1)]
            scene.add_label(f"{base.name}/name", take.name, position=(0.0, 0.0, 0.4 * size))

    def show(self, number: int) -> None:
        """Show a picture, the last one for as long as others go on."""
        picture = self.take.pictures[min(number, len(self.take.pictures) - 1)]
        self.figure.pose(picture.q)
        com = center_of_mass(self.take.model, picture.q)
        self.forces.show(self.pen.draw(picture.position, picture.force, com))
