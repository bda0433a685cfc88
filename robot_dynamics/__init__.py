# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rigid-body dynamics for robot controllers: inverse and forward dynamics, contacts, a simulated plant, ROS 2 nodes."""

from .closed_form import ClosedForm, ClosedFormTree, closed_form, closed_form_tree
from .contact.impulse import Impulse
from .contact.points import contact_points
from .contact.spring_damper import SpringDamper
from .contact.terrain import Box, HeightField, Plane
from .description import Rotor
from .divergence import Divergence
from .dynamics import (
    bias_forces,
    center_of_mass,
    centroidal_momentum,
    coriolis_matrix,
    forward_dynamics,
    forward_dynamics_batch,
    gravity_forces,
    inverse_dynamics,
    inverse_dynamics_batch,
    inverse_dynamics_world,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from .errors import RobotDynamicsError
from .evaluator import Evaluator
from .kinematics import (
    Points,
    body_pose,
    contact_inertia_inverse,
    contact_space,
    difference,
    integrate,
    link_pose,
    neutral,
    point_bias,
    point_jacobian,
    point_position,
    point_velocity,
    points,
    random_configuration,
    test_force_response,
)
from .model import Model
from .plant import Plant, PlantParams, SensorNoise
from .rollout import Rollout, rollout_batch
from .urdf import load_urdf

__all__ = [
    "Box",
    "ClosedForm",
    "ClosedFormTree",
    "Divergence",
    "Evaluator",
    "HeightField",
    "Impulse",
    "Model",
    "Plane",
    "Plant",
    "PlantParams",
    "Points",
    "RobotDynamicsError",
    "Rollout",
    "Rotor",
    "SensorNoise",
    "SpringDamper",
    "bias_forces",
    "body_pose",
    "center_of_mass",
    "centroidal_momentum",
    "closed_form",
    "closed_form_tree",
    "contact_inertia_inverse",
    "contact_points",
    "contact_space",
    "coriolis_matrix",
    "difference",
    "forward_dynamics",
    "forward_dynamics_batch",
    "gravity_forces",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_batch",
    "inverse_dynamics_world",
    "kinetic_energy",
    "link_pose",
    "load_urdf",
    "mass_matrix",
    "neutral",
    "point_bias",
    "point_jacobian",
    "point_position",
    "point_velocity",
    "points",
    "potential_energy",
    "random_configuration",
    "rollout_batch",
    "test_force_response",
]
