# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plant that the parameters of node `plant` ask for, alone and under commands."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ..contact.impulse import Impulse
from ..contact.spring_damper import SpringDamper
from ..contact.terrain import Plane, Surface
from ..contact.world import load_world
from ..control.actuation import Actuation, spread
from ..control.simulation import Simulation, above_ground, chosen_points, gains, home_pose
from ..core.arrays import Array
from ..dynamics.kinematics import Points
from ..errors import ParameterError
from ..model.model import Model
from ..simulation.plant import Plant, PlantParams, SensorNoise
from .parameters import PlantParameters

UNLIMITED = 1e9
"""No-load speed of joints without one, beside others that have one [rad/s, m/s]."""


def contact_law(v: PlantParameters) -> Impulse | SpringDamper:
    """Law of the contacts that the parameters ask for."""
    given: dict[str, Any] = {"friction": v.friction, "iterations": v.iterations}
    if v.tolerance:
        given["tolerance"] = v.tolerance
    if v.contact_model == "impulse":
        recovery = None if v.recovery < 0.0 else v.recovery
        return Impulse(restitution=v.restitution, recovery=recovery, recovery_speed=v.recovery_speed, **given)
    return SpringDamper(stiffness=v.stiffness, damping=v.damping, scheme=v.scheme, **given)


def no_load_speeds(model: Model, given: Sequence[float]) -> Array | None:
    """No-load speeds (joints,) as the parameter says, or None where no joint has one."""
    speed = spread(given, len(model.joint_names), "no_load_speed")
    speed = np.where(speed < 0.0, model.velocity_limit, np.where(speed > 0.0, speed, np.inf))
    return np.minimum(speed, UNLIMITED) if np.isfinite(speed).any() else None


def full_effort_speeds(model: Model, given: Sequence[float], no_load: Array | None) -> Array | None:
    """Speeds (joints,) up to which motors have their full effort, half of `no_load` where none is given."""
    speed = spread(given, len(model.joint_names), "full_effort_speed")
    return None if no_load is None else np.where(speed > 0.0, speed, 0.5 * no_load)


def ground(v: PlantParameters) -> tuple[Surface, ...]:
    """Terrain that the parameters ask for: a file, or one plane."""
    if len(v.ground_normal) != 3:
        raise ParameterError(f"'ground_normal' must have 3 values, got {len(v.ground_normal)}")
    normal = (v.ground_normal[0], v.ground_normal[1], v.ground_normal[2])
    if not v.world:
        return (Plane(v.ground_height, normal),)
    if (v.ground_height, normal) != (0.0, (0.0, 0.0, 1.0)):
        raise ParameterError("'world' stands in place of 'ground_height' and 'ground_normal': set it or them")
    return load_world(v.world)


def start(model: Model, v: PlantParameters, points: Points, terrain: Sequence[Surface], from_file: bool) -> Array:
    """Configuration (nq,) in which the robot starts; terrain of a file may have any height there."""
    q = home_pose(model, v.initial_pose, dict(v.initial_positions), points, v.ground_height + v.clearance)
    return above_ground(model, q, points, terrain, v.clearance) if from_file else q


def simulation(
    model: Model, v: PlantParameters, order: Sequence[str] = (), fitting: tuple[float, float] | None = None
) -> Simulation:
    """Return the plant under commands that the node simulates, at its start.

    order : joints of efforts without names. fitting : `fitting_gains` of the model, where they are known.
    """
    points = chosen_points(model, [link for link in v.contact_links if link])
    plant = Plant(model, plant_params(model, v), points)
    actuation = Actuation(
        model.joint_names,
        *gains(model, v.kp, v.kd, fitting),
        timeout=v.command_timeout,
        action=v.timeout_action,
        limit=v.effort_scale * model.effort_limit,
        order=order,
        efforts_alone=v.efforts_alone,
    )
    home = start(model, v, points, plant.params.terrain, from_file=bool(v.world))
    return Simulation(plant, actuation, home, 1.0 / v.update_rate)


def plant_params(model: Model, v: PlantParameters) -> PlantParams:
    """Parameters of the plant from those of the node."""
    noise = SensorNoise(**{f.name: getattr(v, f"noise_{f.name}") for f in fields(SensorNoise)})
    no_load = no_load_speeds(model, v.no_load_speed)
    return PlantParams(
        timestep=v.timestep,
        contact=contact_law(v),
        terrain=ground(v),
        integrator=v.integrator,
        actuator_lag=v.actuator_lag,
        command_delay=v.command_delay,
        no_load_speed=no_load,
        full_effort_speed=full_effort_speeds(model, v.full_effort_speed, no_load),
        noise=noise,
        seed=v.seed,
    )


def sense_every(v: PlantParameters) -> int:
    """Ticks from one reading of the sensors to the next. Raises ParameterError for rates that do not fit together."""
    if abs(round(1.0 / (v.update_rate * v.timestep)) * v.update_rate * v.timestep - 1.0) > 1e-9:
        raise ParameterError(f"1 / update_rate must be a multiple of timestep, got {v.update_rate} and {v.timestep}")
    every = round(v.update_rate / v.sensor_rate) if v.sensor_rate else 1
    if v.sensor_rate and abs(every * v.sensor_rate / v.update_rate - 1.0) > 1e-9:
        raise ParameterError(f"update_rate must be a multiple of sensor_rate, got {v.update_rate} and {v.sensor_rate}")
    return every
