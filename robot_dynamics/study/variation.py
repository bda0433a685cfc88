# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What can vary, by name, and what a run with given values is made of: robot, plant, gains, push."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..contact.ground import rough_ground
from ..contact.impulse import Impulse
from ..contact.spring_damper import SpringDamper
from ..contact.terrain import Plane, Surface
from ..errors import ParameterError, UnknownNameError
from ..model.description import Link
from ..model.model import Model
from ..simulation.plant import PlantParams, SensorNoise
from .sampling import Value

CONTACT = ("friction", "stiffness", "damping", "restitution")
LINKS = ("mass", "inertia")
JOINTS = ("joint_damping", "joint_friction", "armature", "effort_limit")
DELAYS = ("command_delay", "actuator_lag")
GAINS = ("kp", "kd")
GROUND = ("terrain", "roughness", "slope")
PUSH = ("push.force", "push.direction", "push.time", "push.duration")
NOISE = tuple(f"noise.{name}" for name in SensorNoise.__slots__)
NAMES = (*CONTACT, *LINKS, *JOINTS, *DELAYS, *GAINS, *GROUND, *PUSH, *NOISE)
"""What can vary; those of LINKS and JOINTS also of one link or joint, as in mass.trunk."""

UNITS = {
    "joint_damping": "N m s/rad", "joint_friction": "N m", "armature": "kg m^2", "command_delay": "s",
    "actuator_lag": "s", "roughness": "m", "slope": "rad", "push.force": "N", "push.direction": "rad",
    "push.time": "s", "push.duration": "s",
}  # fmt: skip
"""Units of parameters; the rest are factors or coefficients."""

FLAT = "flat"
"""Terrain that needs no file."""
ROUGH_SIZE, ROUGH_SPACING = 6.0, 0.1
"""Side of the square of rough ground around the robot's start, and the distance of its samples [m]."""


@dataclass(frozen=True, slots=True)
class Push:
    """A horizontal force on the base: its components [N], from when on and for how long [s]."""

    force: tuple[float, float]
    time: float
    duration: float


@dataclass(frozen=True, slots=True)
class Setup:
    """A run before it begins; kp, kd: factors on the gains of the controller."""

    model: Model
    params: PlantParams
    kp: float
    kd: float
    push: Push | None


def check_name(name: str, model: Model) -> None:
    """Raise UnknownNameError unless `name` can vary on this robot."""
    if name in NAMES:
        return
    kind, _, part = name.partition(".")
    if kind in LINKS:
        model.link_index(part)
    elif kind in JOINTS:
        model.joint_index(part)
    else:
        raise UnknownNameError(
            "parameter", name, [*NAMES, *(f"{x}.LINK" for x in LINKS), *(f"{x}.JOINT" for x in JOINTS)]
        )


def set_up(
    model: Model, params: PlantParams, terrains: Mapping[str, Sequence[Surface]], values: Mapping[str, Value], seed: int
) -> Setup:
    """Make robot and plant of the values of a run.

    Raises
    ------
    ParameterError
        A value outside its range; the message names the parameter.
    """
    number = {name: _number(name, value) for name, value in values.items() if name != "terrain"}
    return Setup(
        model=_robot(model, number),
        params=replace(
            params,
            contact=_contact(params.contact, number),
            terrain=_ground(params, terrains, values, number, seed),
            command_delay=_steps(number.get("command_delay"), params),
            actuator_lag=number.get("actuator_lag", params.actuator_lag),
            noise=SensorNoise(**{name.partition(".")[2]: number[name] for name in NOISE if name in number}),
            seed=seed,
        ),
        kp=_at_least("kp", number.get("kp", 1.0), 0.0),
        kd=_at_least("kd", number.get("kd", 1.0), 0.0),
        push=_push(number),
    )


def _number(name: str, value: Value) -> float:
    if isinstance(value, str) or not math.isfinite(value):
        raise ParameterError(f"{name} must be a number, got {value!r}")
    return value


def _at_least(name: str, value: float, low: float, open_low: bool = False) -> float:
    if value < low or (open_low and value == low):
        raise ParameterError(f"{name} must be {'above' if open_low else 'at least'} {low:g}, got {value:g}")
    return value


def _robot(model: Model, number: Mapping[str, float]) -> Model:
    """The robot with its links' inertias and its joints' figures."""
    if any(name.partition(".")[0] in LINKS for name in number):
        model = model.with_links([_link(link, number) for link in model.robot.links])
    figures: dict[str, Any] = {}
    for kind, own in zip(JOINTS, ("damping", "friction", "armature", "effort_limit"), strict=True):
        given = {name: value for name, value in number.items() if name.partition(".")[0] == kind}
        if given:
            figures[own] = _per_joint(model, kind, getattr(model, own), given)
    return replace(model, **figures) if figures else model


def _per_joint(model: Model, kind: str, present: np.ndarray, given: Mapping[str, float]) -> np.ndarray:
    """Figures (n,) of the joints: values, but factors of effort_limit; those of one joint count over those of all."""
    figures = present.copy()
    for name in sorted(given):  # that of all joints comes before that of one
        value = _at_least(name, given[name], 0.0)
        part = name.partition(".")[2]
        where: Any = model.joint_index(part) if part else slice(None)
        figures[where] = present[where] * value if kind == "effort_limit" else value
    return figures


def _link(link: Link, number: Mapping[str, float]) -> Link:
    """One link, its mass and its inertia times their factors; a link of twice the mass has twice the inertia."""
    if link.inertial is None:
        return link
    mass = inertia = 1.0
    for name in ("mass", f"mass.{link.name}"):
        mass *= _at_least(name, number.get(name, 1.0), 0.0, open_low=True)
    for name in ("inertia", f"inertia.{link.name}"):
        inertia *= _at_least(name, number.get(name, 1.0), 0.0, open_low=True)
    own = link.inertial
    return replace(link, inertial=replace(own, mass=mass * own.mass, inertia=mass * inertia * own.inertia))


def _contact(law: SpringDamper | Impulse, number: Mapping[str, float]) -> SpringDamper | Impulse:
    given = {name: number[name] for name in CONTACT if name in number}
    for name in given:
        if not hasattr(law, name):
            valid = ", ".join(x for x in CONTACT if hasattr(law, x))
            raise ParameterError(f"the contact law {type(law).__name__} has no '{name}'; it has {valid}")
    return replace(law, **given)  # type: ignore[arg-type]


def _steps(delay: float | None, params: PlantParams) -> int:
    """Delay of commands [s] as steps of the plant."""
    return params.command_delay if delay is None else round(_at_least("command_delay", delay, 0.0) / params.timestep)


def _ground(
    params: PlantParams,
    terrains: Mapping[str, Sequence[Surface]],
    values: Mapping[str, Value],
    number: Mapping[str, float],
    seed: int,
) -> Sequence[Surface]:
    """The ground: that of the study, of its name, of random heights, or a plane that rises along x."""
    if sum(name in values for name in GROUND) > 1:
        raise ParameterError(f"only one of {', '.join(GROUND)} can be a parameter of a study")
    if "terrain" in values:
        return terrains[str(values["terrain"])]
    if "roughness" in number:
        amplitude = _at_least("roughness", number["roughness"], 0.0)
        corner, size = (-0.5 * ROUGH_SIZE, -0.5 * ROUGH_SIZE, 0.0), (ROUGH_SIZE, ROUGH_SIZE)
        return (Plane(), *rough_ground(corner, size, ROUGH_SPACING, amplitude, seed))
    if "slope" in number:
        slope = number["slope"]
        if abs(slope) > 1.0:
            raise ParameterError(f"slope must be from -1 to 1 rad, got {slope:g}")
        return (Plane(normal=(-math.sin(slope), 0.0, math.cos(slope))),)
    return params.terrain


def _push(number: Mapping[str, float]) -> Push | None:
    if not any(name in number for name in PUSH):
        return None
    force, direction = number.get("push.force", 0.0), number.get("push.direction", 0.0)
    time = _at_least("push.time", number.get("push.time", 0.0), 0.0)
    duration = _at_least("push.duration", number.get("push.duration", 0.1), 0.0, open_low=True)
    return Push((force * math.cos(direction), force * math.sin(direction)), time, duration) if force else None
