# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rigid-body dynamics for robot controllers: inverse and forward dynamics, contacts, a simulated plant, ROS 2 nodes."""

from .contact.ground import ramp, rough_ground, stairs
from .contact.impulse import Impulse
from .contact.points import contact_points
from .contact.spring_damper import SpringDamper
from .contact.terrain import Box, HeightField, Plane
from .contact.world import load_world
from .control.estimator import BaseEstimator, ContactNoise, ImuNoise
from .dynamics.algorithms import (
    SparseMatrix,
    articulated_body,
    articulated_inertia,
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
    joint_wrenches,
    kinetic_energy,
    mass_matrix,
    net_wrenches,
    potential_energy,
    sparse_mass_matrix,
)
from .dynamics.derivatives import (
    centroidal_map,
    centroidal_map_rate,
    centroidal_momentum_derivatives,
    forward_dynamics_derivatives,
    forward_dynamics_derivatives_batch,
    inverse_dynamics_derivatives,
    inverse_dynamics_derivatives_batch,
)
from .dynamics.evaluator import Evaluator
from .dynamics.kinematics import (
    Points,
    body_acceleration,
    body_pose,
    body_velocity,
    center_of_mass_acceleration,
    center_of_mass_velocity,
    contact_inertia_inverse,
    contact_space,
    difference,
    integrate,
    link_acceleration,
    link_jacobian,
    link_pose,
    link_velocity,
    neutral,
    point_bias,
    point_jacobian,
    point_position,
    point_velocity,
    points,
    random_configuration,
    test_force_response,
)
from .dynamics.operational import operational_inertia, operational_inertia_inverse
from .errors import RobotDynamicsError
from .model.description import Rotor
from .model.model import Model
from .model.urdf import load_urdf
from .simulation.batch import PlantBatch
from .simulation.divergence import Divergence
from .simulation.plant import Plant, PlantParams, SensorNoise
from .simulation.rollout import Rollout, rollout_batch
from .symbolic.closed_form import ClosedForm, ClosedFormTree, closed_form, closed_form_tree

__all__ = [
    "BaseEstimator",
    "Box",
    "ClosedForm",
    "ClosedFormTree",
    "ContactNoise",
    "Divergence",
    "Evaluator",
    "HeightField",
    "Impulse",
    "ImuNoise",
    "Model",
    "Plane",
    "Plant",
    "PlantBatch",
    "PlantParams",
    "Points",
    "RobotDynamicsError",
    "Rollout",
    "Rotor",
    "SensorNoise",
    "SparseMatrix",
    "SpringDamper",
    "articulated_body",
    "articulated_inertia",
    "bias_forces",
    "body_acceleration",
    "body_pose",
    "body_velocity",
    "center_of_mass",
    "center_of_mass_acceleration",
    "center_of_mass_velocity",
    "centroidal_map",
    "centroidal_map_rate",
    "centroidal_momentum",
    "centroidal_momentum_derivatives",
    "closed_form",
    "closed_form_tree",
    "contact_inertia_inverse",
    "contact_points",
    "contact_space",
    "coriolis_matrix",
    "difference",
    "forward_dynamics",
    "forward_dynamics_batch",
    "forward_dynamics_derivatives",
    "forward_dynamics_derivatives_batch",
    "gravity_forces",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_batch",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_derivatives_batch",
    "inverse_dynamics_world",
    "joint_wrenches",
    "kinetic_energy",
    "link_acceleration",
    "link_jacobian",
    "link_pose",
    "link_velocity",
    "load_urdf",
    "load_world",
    "mass_matrix",
    "net_wrenches",
    "neutral",
    "operational_inertia",
    "operational_inertia_inverse",
    "point_bias",
    "point_jacobian",
    "point_position",
    "point_velocity",
    "points",
    "potential_energy",
    "ramp",
    "random_configuration",
    "rollout_batch",
    "rough_ground",
    "sparse_mass_matrix",
    "stairs",
    "test_force_response",
]
