# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plant against the reference simulator, one step at a time from its own states."""

import mini_cheetah
import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.contact.impulse import Impulse
from robot_dynamics.contact.spring_damper import SpringDamper
from robot_dynamics.contact.terrain import Plane
from robot_dynamics.simulation.plant import Plant, PlantParams

VARIANTS = ("no_rotors", "with_rotors")
POINTS = mini_cheetah.FIGURES["ground_contact_points"]


def contact_points(model):
    """The 16 points of the reference in body axes."""
    body = np.array([1 + p["body"] for p in POINTS])
    position = np.array([p["position_in_body"] for p in POINTS])
    return rd.Points(body, position, tuple(model.body_names[b] for b in body), np.zeros(len(POINTS)))


def state(row):
    """q, qd of a reference state (37,)."""
    return mini_cheetah.configuration(row[:4], row[4:7], row[13:25]), np.concatenate([row[7:13], row[25:]])


def load(name):
    return np.load(mini_cheetah.DATA / f"{name}.npz")


def step_from(model, params, row, tau, deflection=None):
    """Plant after one step from a reference state."""
    plant = Plant(model, params, contact_points(model))
    plant.reset(*state(row), deflection)
    plant.command(tau)
    plant.step()
    return plant


def impulse(restitution, beta, mu, h):
    return Impulse(
        float(restitution), float(beta) / float(h), float(mu), iterations=200, tolerance=1e-12, activation="below"
    )


def unsaturated(force, mu):
    """Whether every contact's friction is strictly below its limit."""
    loaded = force[:, 2] > 0.0
    return bool((np.hypot(*force[loaded, :2].T) < mu * force[loaded, 2] * (1.0 - 1e-9)).all())


@pytest.mark.parametrize("variant", VARIANTS)
def test_explicit_spring_damper_single_steps(variant):
    data, model = load(f"spring_damper_single_steps_{variant}"), mini_cheetah.model(variant)
    for i in range(len(data["state"])):
        contact = SpringDamper(float(data["K"][i]), float(data["D"][i]), float(data["mu"][i]), scheme="explicit")
        h = float(data["dt"][i])
        params = PlantParams(timestep=h, contact=contact, terrain=(Plane(float(data["plane_height"][i])),))
        plant = step_from(model, params, data["state"][i], data["tau"][i], data["deflection_before"][i])
        scale = max(1.0, np.abs(data["force_world"][i]).max())
        np.testing.assert_allclose(plant.contacts.force_world, data["force_world"][i], atol=1e-10 * scale)
        np.testing.assert_allclose(plant.contacts.deflection, data["deflection_after"][i], atol=1e-10)
        expected = (state(data["state_after"][i])[1] - state(data["state"][i])[1]) / h
        np.testing.assert_allclose(plant.qdd, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("variant", VARIANTS)
def test_explicit_spring_damper_run_teacher_forced(variant):
    data, model = load(f"spring_damper_run200_{variant}"), mini_cheetah.model(variant)
    contact = SpringDamper(float(data["K"]), float(data["D"]), float(data["mu"]), scheme="explicit")
    plant = Plant(model, PlantParams(timestep=float(data["dt"]), contact=contact), contact_points(model))
    for i in range(len(data["tau"])):
        plant.reset(*state(data["state"][i]), data["deflection"][i - 1] if i else None)
        plant.command(data["tau"][i])
        plant.step()
        np.testing.assert_allclose(plant.contacts.force_world, data["force"][i], atol=1e-10)
        np.testing.assert_allclose(plant.contacts.deflection, data["deflection"][i], atol=1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
def test_impulse_single_steps_below_the_friction_limit(variant):
    data, model = load(f"impulse_single_steps_{variant}"), mini_cheetah.model(variant)
    for i in range(len(data["state"])):
        mu, h = float(data["mu"][i]), float(data["dt"][i])
        contact = impulse(data["restitution"][i], data["beta"][i], mu, h)
        params = PlantParams(timestep=h, contact=contact, terrain=(Plane(float(data["plane_height"][i])),))
        plant = step_from(model, params, data["state"][i], data["tau"][i])
        force = plant.contacts.force_world
        assert (np.hypot(force[:, 0], force[:, 1]) <= mu * force[:, 2] + 1e-10).all()
        assert plant.solver.residual < 1e-9
        if unsaturated(data["force_world_converged"][i], mu):
            np.testing.assert_allclose(plant.qd, data["qdot_after_converged"][i], atol=1e-6)


def converged(model, q, qd, tau, contact, h):
    """Velocities and impulses (k, 3) of the points below z = 0 if all of them stick (I1, I2), by dense algebra."""
    points = contact_points(model)
    pen = rd.point_position(model, points, q)[:, 2]
    below = pen <= 0.0
    J = rd.point_jacobian(model, points, q)[below].reshape(-1, model.nv)
    free = qd + h * rd.forward_dynamics(model, q, qd, np.concatenate([np.zeros(6), tau]))
    speed, wanted = J[2::3] @ qd, np.zeros(len(J))
    outward = -contact.recovery * pen[below]
    wanted[2::3] = np.where(speed < 0.0, -contact.restitution * speed + outward, np.maximum(speed, outward))
    Y = np.linalg.solve(rd.mass_matrix(model, q), J.T)
    p = np.linalg.solve(J @ Y, wanted - J @ free)
    return free + Y @ p, p.reshape(-1, 3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_impulse_run_teacher_forced_against_dense_algebra(variant):
    """From every state of the run: where sticking solves the problem, its velocities are the converged ones."""
    data, model = load(f"impulse_run200_{variant}"), mini_cheetah.model(variant)
    h, mu = float(data["dt"]), float(data["mu"])
    contact = impulse(data["restitution"], data["beta"], mu, h)
    plant = Plant(model, PlantParams(timestep=h, contact=contact), contact_points(model))
    compared = 0
    for i in range(len(data["tau"])):
        q, qd = state(data["state"][i])
        expected, p = converged(model, q, qd, data["tau"][i], contact, h)
        if (p[:, 2] >= 0.0).all() and (np.hypot(p[:, 0], p[:, 1]) <= mu * p[:, 2]).all():
            plant.reset(q, qd)
            plant.command(data["tau"][i])
            plant.step()
            np.testing.assert_allclose(plant.qd, expected, atol=1e-6)
            compared += 1
    assert compared >= 150


def test_impulse_run_teacher_forced():
    """The reference stops short of convergence; where it came close its velocities are ours."""
    data, model = load("impulse_run200_with_rotors"), mini_cheetah.model("with_rotors")
    h = float(data["dt"])
    contact = impulse(data["restitution"], data["beta"], data["mu"], h)
    plant = Plant(model, PlantParams(timestep=h, contact=contact), contact_points(model))
    errors = []
    for i in range(len(data["tau"])):
        plant.reset(*state(data["state"][i]))
        plant.command(data["tau"][i])
        plant.step()
        if unsaturated(data["force"][i], float(data["mu"])):
            errors.append(np.abs(plant.qd - state(data["state"][i + 1])[1]).max())
    assert len(errors) == 200
    assert np.median(errors) < 1e-6
    assert np.max(errors) < 5e-6
