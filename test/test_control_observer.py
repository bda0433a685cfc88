# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Foot forces estimated from joint efforts against those of the plant."""

import numpy as np
import pytest
import quadrupeds

import robot_dynamics as rd
from robot_dynamics.control.guard import LARGEST
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.control.observer import ContactObserver
from robot_dynamics.control.simulation import chosen_points, gains, home_pose
from robot_dynamics.simulation.plant import Plant, PlantParams


@pytest.mark.slow
@pytest.mark.parametrize("name", quadrupeds.NAMES)
def test_the_observer_finds_the_forces_under_the_feet(name):
    model = quadrupeds.model(name)
    points, legs = chosen_points(model, ()), find_legs(model)
    plant = Plant(model, PlantParams(timestep=1e-3), points)
    home = home_pose(model, "stance", {}, points, 0.01)
    plant.reset(home, np.zeros(model.nv))
    kp, kd = gains(model, [0.0], [0.0])
    plant.track(home[model.q_index], np.zeros(12), kp, kd)
    observer = ContactObserver(legs)
    weight = 9.81 * model.mass
    for step in range(1500):
        before = plant.q, plant.qd
        plant.step()
        estimate = observer.update(*before, plant.tau, 1e-3)
        if step == 30:
            assert np.abs(estimate).max() < 0.03 * weight, "no force in flight"
    assert estimate[:, 2].sum() == pytest.approx(weight, rel=0.03)
    truth = np.zeros((4, 3))
    contacts = plant.contacts
    for i, leg in enumerate(legs.feet.body):
        truth[i] = contacts.force_world[points.body == leg].sum(axis=0)
    assert estimate == pytest.approx(truth, abs=0.03 * weight)


@pytest.mark.parametrize("seed", range(2))
def test_a_constant_force_at_every_foot_is_found_in_flight(seed):
    """First order at 1e4 rad/s in steps of 0.1 ms: 2^-15 of the force is missing after 15 steps."""
    legs, rng, h = find_legs(quadrupeds.model("mini_cheetah")), np.random.default_rng(seed), 1e-4
    model, observer = legs.model, ContactObserver(legs, bandwidth=1e4)
    q, qd, tau = rd.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    q[model.q_index] = np.tile([0.2, -0.8, 1.6], 4)
    tau[model.v_index] = rng.normal(size=12)
    force = rng.uniform(-10.0, 10.0, (4, 3))
    for _ in range(16):
        estimate = observer.update(q, qd, tau[model.v_index], h)
        push = np.einsum("kiv,ki->v", rd.point_jacobian(model, legs.feet, q), force)
        qd = qd + h * rd.forward_dynamics(model, q, qd, tau + push)
        q = rd.integrate(model, q, qd, h)
    assert estimate == pytest.approx(force, abs=0.3)
    assert observer.foot_positions(q) == pytest.approx(rd.point_position(model, legs.feet, q))
    ahead = observer.foot_positions(rd.integrate(model, q, qd, 1e-6))
    back = observer.foot_positions(rd.integrate(model, q, qd, -1e-6))
    assert observer.foot_velocities(q, qd) == pytest.approx((ahead - back) / 2e-6, abs=1e-6)


def test_a_reset_forgets_the_past():
    legs = find_legs(quadrupeds.model("mini_cheetah"))
    observer = ContactObserver(legs)
    q, qd = rd.neutral(legs.model), np.ones(18)
    for _ in range(3):
        observer.update(q, qd * np.random.default_rng(0).normal(), np.ones(12), 1e-3)
    observer.reset()
    assert not observer.update(q, qd, np.ones(12), 1e-3).any()


@pytest.mark.parametrize("field", ["q", "qd", "effort"])
def test_the_largest_numbers_that_a_guard_lets_through_are_forgotten(field):
    model = quadrupeds.model("mini_cheetah")
    observer, good = ContactObserver(find_legs(model)), (rd.neutral(model), np.zeros(model.nv), np.zeros(12))
    huge = {"q": good[0].copy(), "qd": good[1].copy(), "effort": good[2].copy()}
    huge[field][-12:] = 0.9 * LARGEST
    expected = ContactObserver(find_legs(model))
    for step in range(100):
        found = observer.update(*(huge.values() if step == 5 else good), 0.01)
        assert np.isfinite(found).all()
    for _ in range(100):
        settled = expected.update(*good, 0.01)
    assert found == pytest.approx(settled, abs=1e-6)
