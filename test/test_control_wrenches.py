# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wrenches measured on links: on bodies, as forces at points, in the feed-forward, and as pushes of the plant."""

import numpy as np
import pytest
from random_robots import random_model, random_state

import robot_dynamics as rd
from robot_dynamics.contact.impulse import Impulse
from robot_dynamics.control.contacts import generalised
from robot_dynamics.control.feedforward import Feedforward
from robot_dynamics.control.wrenches import LinkWrenches, couple
from robot_dynamics.errors import ParameterError, UnknownNameError

SEEDS = range(10)


def measured(seed: int) -> tuple[rd.Model, LinkWrenches, tuple, np.ndarray]:
    """A robot, wrenches on three of its links, a state, and the generalised force J^T f of the wrenches."""
    model, rng = random_model(seed), np.random.default_rng(seed)
    q, qd, qdd, _ = random_state(model, seed)
    wrenches, tau = LinkWrenches(model, 0.1), np.zeros(model.nv)
    for link in rng.choice(model.link_names, 3, replace=False).tolist():
        wrench = rng.standard_normal(6)
        wrenches.put(link, wrench, 5.0)
        tau += rd.link_jacobian(model, q, link).T @ wrench
    return model, wrenches, (q, qd, qdd), tau


@pytest.mark.parametrize("seed", SEEDS)
def test_on_bodies_and_as_forces_at_points_they_are_the_same_generalised_force(seed):
    model, wrenches, (q, qd, qdd), tau = measured(seed)
    free = rd.inverse_dynamics(model, q, qd, qdd)
    borne = rd.inverse_dynamics(model, q, qd, qdd, wrenches.on_bodies(5.0))
    scale = 1e-10 * max(1.0, np.abs(free).max())
    np.testing.assert_allclose(free - borne, tau, rtol=1e-10, atol=scale)
    np.testing.assert_allclose(generalised(model, wrenches.contact(q, 5.0), q), tau, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", ["gravity", "bias", "inverse_dynamics"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_feedforward_bears_them_and_shows_them_as_contact(seed, mode):
    model, wrenches, (q, qd, qdd), tau = measured(seed)
    feedforward = Feedforward(model, mode, q, qd)
    feedforward.qdd[:] = qdd
    before = feedforward.parts(feedforward.solve(np.zeros(0, bool)))
    feedforward.bear(wrenches.on_bodies(5.0))
    solution = feedforward.solve(np.zeros(0, bool))
    after, total, v = feedforward.parts(solution), feedforward.torque(solution), model.v_index
    near = {"rtol": 1e-9, "atol": 1e-9 * max(1.0, np.abs(before.total).max())}
    np.testing.assert_allclose(after.contact, -tau[v], **near)
    for part in ("gravity", "coriolis", "inertia"):
        np.testing.assert_allclose(getattr(after, part), getattr(before, part), **near)
    np.testing.assert_allclose(total, before.total - tau[v], **near)
    np.testing.assert_allclose(after.total, total, **near)
    other = feedforward.elsewhere(q, qd)
    other.qdd[:] = qdd
    np.testing.assert_allclose(other.torque(other.solve(np.zeros(0, bool))), total, **near)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_couple_is_two_opposite_forces(seed):
    rng = np.random.default_rng(seed)
    origin, moment = rng.standard_normal((2, 3))
    (a, f), (b, g) = couple(origin, moment)
    np.testing.assert_allclose(f, -g)
    np.testing.assert_allclose(np.cross(a, f) + np.cross(b, g), moment, atol=1e-12)
    assert not any(force.any() for _, force in couple(origin, np.zeros(3)))


def test_a_wrench_counts_until_it_is_old_replaced_or_taken_away():
    model = random_model(1)
    wrenches, link = LinkWrenches(model, 0.1), model.link_names[-1]
    wrenches.put(link, np.ones(6), 5.0)
    once = wrenches.on_bodies(5.05)
    assert once.any()
    assert not wrenches.silent(5.05)
    assert not wrenches.on_bodies(5.2).any()
    assert wrenches.silent(5.2) == link
    wrenches.put(link, 2.0 * np.ones(6), 6.0)
    np.testing.assert_allclose(wrenches.on_bodies(6.0), 2.0 * once)
    wrenches.put(link, np.zeros(6), 6.0)
    assert not wrenches.any()


def test_bad_wrenches_are_refused():
    model = random_model(2, floating_base=False)
    wrenches = LinkWrenches(model, 0.1)
    with pytest.raises(UnknownNameError, match="there is no link 'nowhere'"):
        wrenches.put("nowhere", np.ones(6), 0.0)
    with pytest.raises(ParameterError, match="must be finite"):
        wrenches.put(model.link_names[-1], [np.nan] * 6, 0.0)
    with pytest.raises(ParameterError, match="belongs to the fixed base"):
        wrenches.put(model.link_names[0], np.ones(6), 0.0)
    assert not wrenches.any()


@pytest.mark.parametrize("law", [rd.SpringDamper(), Impulse()], ids=["spring_damper", "impulse"])
def test_a_plant_holds_a_wrench_until_the_next_one(law):
    model = random_model(3, count=1)
    plant = rd.Plant(model, rd.PlantParams(contact=law, terrain=(rd.Plane(-100.0),)))
    base, up = model.link_names[0], np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.81 * model.mass])
    p0 = rd.centroidal_momentum(model, plant.q, plant.qd)[3:]
    plant.hold_wrench(base, 0.25 * up)
    plant.hold_wrench(base, up)
    plant.advance(0.5)
    np.testing.assert_allclose(rd.centroidal_momentum(model, plant.q, plant.qd)[3:], p0, atol=1e-6 * model.mass)
    plant.hold_wrench(base, np.zeros(6))
    plant.advance(0.1)
    fallen = rd.centroidal_momentum(model, plant.q, plant.qd)[5]
    assert fallen == pytest.approx(-0.981 * model.mass, rel=1e-3)
