"""Compile every kernel once and keep the machine code, so that no node compiles while a robot waits."""

from collections.abc import Iterator

import numpy as np

import robot_dynamics as rd
from robot_dynamics.share import share_folder


def warm_up() -> Iterator[str]:
    """Call whatever compiles, on the Mini Cheetah; yields what comes next.

    Machine code does not depend on the robot, so this serves all of them.
    """
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    q, zero = rd.neutral(model), np.zeros(model.nv)
    feet = rd.contact_points(model)
    yield "inverse dynamics"
    rd.inverse_dynamics(model, q, zero, zero)
    rd.inverse_dynamics_world(model, q, zero, zero)
    rd.bias_forces(model, q, zero)
    rd.gravity_forces(model, q)
    yield "forward dynamics"
    rd.forward_dynamics(model, q, zero, zero)
    yield "mass matrix"
    rd.mass_matrix(model, q)
    rd.coriolis_matrix(model, q, zero)
    yield "batches"
    rd.inverse_dynamics_batch(model, [q], [zero], [zero])
    rd.forward_dynamics_batch(model, [q], [zero], [zero])
    yield "energies and momentum"
    rd.kinetic_energy(model, q, zero)
    rd.potential_energy(model, q)
    rd.center_of_mass(model, q)
    rd.centroidal_momentum(model, q, zero)
    yield "kinematics"
    rd.integrate(model, q, zero, 0.0)
    rd.difference(model, q, q)
    rd.body_pose(model, q)
    rd.point_position(model, feet, q)
    rd.point_velocity(model, feet, q, zero)
    rd.point_jacobian(model, feet, q)
    rd.point_bias(model, feet, q, zero)
    yield "contact inertia"
    rd.contact_inertia_inverse(model, feet, q)
    rd.test_force_response(model, feet, q)
    for contact in (rd.SpringDamper(), rd.Impulse()):
        yield f"plant, {type(contact).__name__}"
        plant = rd.Plant(model, rd.PlantParams(contact=contact))
        plant.step()
