# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The damping with which a robot's feet rebound as asked, measured on the plant at the timestep it is for."""

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from ..contact.spring_damper import SpringDamper
from ..contact.suggest import Suggestion, refuse_unstable, stable_step
from ..contact.terrain import Plane
from ..core.arrays import Array
from ..dynamics.kinematics import Points, contact_inertia_inverse, point_position, test_force_response
from ..errors import ParameterError
from ..model.model import Model
from .plant import Plant, PlantParams

Scheme = Literal["implicit", "explicit"]
PHASES = 4
"""Blows that begin at so many places within a timestep are averaged."""
PRECISION = 1e-3
"""To so much the bounce is the one asked for."""
LONGEST = 30.0
"""A foot that has not left the ground after so many durations of the blow creeps [-]."""


def measured_bounce(model: Model, feet: Points, q: Array, found: Suggestion, timestep: float, scheme: Scheme) -> float:
    """Speed after over speed before a vertical blow on a foot of the plant: mean of all feet and phases.

    One foot at a time strikes a level ground without friction and without weight, and the robot, whose joints are free,
    moves as that blow makes it move. q (nq,) is the pose in which it does, `found` the pair and the speed.
    """
    weightless = replace(model, gravity=np.zeros(3))
    rates = [
        _blow(weightless, _one(feet, foot), q, found, timestep, scheme, phase / PHASES)
        for foot in range(len(feet))
        for phase in range(PHASES)
    ]
    return float(np.mean(rates))


def _one(feet: Points, foot: int) -> Points:
    """One of the points."""
    part = slice(foot, foot + 1)
    return Points(feet.body[part], feet.position[part], feet.link[part], feet.radius[part])


def _blow(
    model: Model, foot: Points, q: Array, found: Suggestion, timestep: float, scheme: Scheme, phase: float
) -> float:
    """Bounce of one foot that starts `phase` of a step's way above the ground."""
    height = point_position(model, foot, q)[0, 2] - foot.radius[0] - phase * timestep * found.speed
    law = SpringDamper(found.stiffness, found.damping, friction=0.0, scheme=scheme)
    plant = Plant(model, PlantParams(timestep, law, (Plane(height),), joint_friction=False, stops=False), foot)
    response = test_force_response(model, foot, q)[0, 2]
    plant.reset(q, -found.speed * response / contact_inertia_inverse(model, foot, q)[2, 2])
    touched = False
    for _ in range(math.ceil(LONGEST * found.duration / timestep) + 2):
        plant.step()
        touching = plant.contacts.force_world[0, 2] > 0.0
        if touched and not touching:
            break
        touched = touched or touching
    return float(plant.contacts.velocity[0, 2]) / found.speed


def tuned(model: Model, feet: Points, q: Array, found: Suggestion, *, timestep: float, scheme: Scheme) -> Suggestion:
    """Return the suggestion with the damping that gives the bounce asked for at this timestep.

    A blow that takes few steps loses other than the law does, more with the implicit scheme: the damping is searched on
    the plant itself.

    Raises
    ------
    ParameterError
        No damping gives this bounce at this timestep, or one that is unstable with the explicit scheme.
    """

    def bounce(damping: float) -> float:
        return measured_bounce(model, feet, q, replace(found, damping=damping), timestep, scheme)

    low, high = found.damping, found.damping
    least = found.damping * 1e-4
    while (most := bounce(low)) < found.bounce:
        if low <= least:
            raise ParameterError(_too_few_steps(found, timestep, most))
        low = max(low / 4.0, least)
    while bounce(high) > found.bounce:
        high *= 4.0
    damping = low
    while high > 1.0001 * low:
        damping = math.sqrt(low * high)
        reached = bounce(damping)
        if abs(reached - found.bounce) < PRECISION:
            break
        low, high = (damping, high) if reached > found.bounce else (low, damping)
    softest = float(np.linalg.eigvalsh(contact_inertia_inverse(model, feet, q))[-1])
    limits = [stable_step(found.stiffness, damping, depth, softest) for depth in (found.sag, found.depth)]
    better = replace(found, damping=damping, standing_limit=limits[0], landing_limit=limits[1])
    if scheme == "explicit":
        refuse_unstable(better, timestep)
    return better


def _too_few_steps(found: Suggestion, timestep: float, most: float) -> str:
    return (
        f"bounce {found.bounce:g} is beyond a timestep of {1e3 * timestep:g} ms: a blow at {found.speed:g} m/s takes "
        f"{found.duration / timestep:.2g} steps and rebounds with {most:.2g} at most; take a smaller timestep or a "
        "larger sag"
    )
