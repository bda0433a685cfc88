"""Rigid-body dynamics for robot controllers: inverse and forward dynamics, contacts, a simulated plant, ROS 2 nodes."""

from .description import Rotor
from .dynamics import (
    bias_forces,
    center_of_mass,
    centroidal_momentum,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from .errors import RobotDynamicsError
from .kinematics import (
    Points,
    body_pose,
    contact_inertia_inverse,
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
from .urdf import load_urdf

__all__ = [
    "Model",
    "Points",
    "RobotDynamicsError",
    "Rotor",
    "bias_forces",
    "body_pose",
    "center_of_mass",
    "centroidal_momentum",
    "contact_inertia_inverse",
    "difference",
    "forward_dynamics",
    "gravity_forces",
    "integrate",
    "inverse_dynamics",
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
    "test_force_response",
]
