# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How nodes and commands read a robot: which base moves, and joint friction that the URDF gets wrong."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..model.description import Robot
from ..model.model import GRAVITY, Model, build_model
from ..model.urdf import read_urdf
from .actuation import spread

WORLD = "world"
"""A root link of this name stands still: URDFs of robots that are bolted down often begin so."""
AS_IN_URDF = -1.0


def load_robot(
    source: str | os.PathLike[str],
    *,
    floating_base: bool = True,
    armature: Mapping[str, float] | None = None,
    damping: Sequence[float] = (AS_IN_URDF,),
    friction: Sequence[float] = (AS_IN_URDF,),
    gravity: ArrayLike = GRAVITY,
    mesh_path: Sequence[str] = (),
) -> Model:
    """Load the robot in a URDF, given as for `load_urdf`.

    Parameters
    ----------
    floating_base : whether the root link moves freely; one without mass, or that is called `world`, never does.
    armature : reflected rotor inertia [kg m^2 or kg] by joint.
    damping, friction : viscous [N m s/rad, N s/m] and Coulomb friction [N m, N] in place of the URDF's, one or per
        joint; -1: as in the URDF.
    gravity : (3,) [m/s^2] along the world's axes.
    mesh_path : folders in which collision meshes are looked for, after the one of the URDF.

    Raises
    ------
    ModelError, UnknownNameError
        As `load_urdf`.
    ParameterError
        Other than one value or one per joint.
    """
    robot = replace(read_urdf(source), mesh_path=tuple(filter(None, mesh_path)))
    moves = floating_base and root_moves(robot)
    model = build_model(robot, floating_base=moves, armature=armature, gravity=gravity)
    n = len(model.joint_names)
    d, f = spread(damping, n, "joint_damping"), spread(friction, n, "joint_friction")
    if (d < 0.0).all() and (f < 0.0).all():
        return model
    return replace(model, damping=np.where(d < 0.0, model.damping, d), friction=np.where(f < 0.0, model.friction, f))


def root_link(robot: Robot) -> str:
    """Name the link that carries all others."""
    carried = {joint.child for joint in robot.joints}
    return next(link.name for link in robot.links if link.name not in carried)


def root_moves(robot: Robot) -> bool:
    """Whether the root link, with what is fixed to it, has a mass and another name than `world`."""
    rigid, masses = {root_link(robot)}, {link.name: link.inertial.mass for link in robot.links if link.inertial}
    if WORLD in rigid:
        return False
    fixed = [joint for joint in robot.joints if joint.kind == "fixed"]
    while grown := {joint.child for joint in fixed if joint.parent in rigid} - rigid:
        rigid |= grown
    return any(masses.get(name, 0.0) > 0.0 for name in rigid)


def immovable(model: Model) -> tuple[str, ...]:
    """One sentence per joint whose Coulomb friction no motor within its effort limit overcomes."""
    limits = zip(model.joint_names, model.friction, model.effort_limit, strict=True)
    return tuple(
        f"joint '{name}' has a friction of {friction:g} and an effort limit of {limit:g}"
        for name, friction, limit in limits
        if friction >= limit
    )
