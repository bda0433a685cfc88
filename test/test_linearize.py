# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`Plant.linearize` against differences of plants that are set and advanced from outside; the plant itself stays."""

import pickle

import numpy as np
import pytest
from numba import config
from random_robots import random_robot, random_state

import robot_dynamics as rd
from robot_dynamics.errors import DivergedError, ParameterError
from robot_dynamics.model.model import build_model
from robot_dynamics.share import share_folder

EPS = 1e-6
STANCE = np.tile([0.0, -0.8, 1.6], 4)
EXACT = {"tolerance": 1e-13}
LAWS = {"spring_damper": rd.SpringDamper(**EXACT), "impulse": rd.Impulse(**EXACT)}


def command_of(joints, gain):
    n = len(joints)
    return [joints, np.zeros(n), np.full(n, gain), np.full(n, 0.03 * gain), np.zeros(n)]


def standing(law, **params):
    """The Mini Cheetah on its feet, and the command that keeps it there."""
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    q = rd.neutral(model)
    q[7:], q[2] = STANCE, 0.3
    plant = rd.Plant(model, rd.PlantParams(contact=law, **params))
    plant.reset(q, np.zeros(model.nv))
    command = command_of(STANCE, 60.0)
    plant.track(*command)
    plant.advance(0.01 if config.DISABLE_JIT else 1.0)
    return plant, command


def from_outside(plant, command, steps, columns):
    """Columns of [A B] by plants of their own, reset to the perturbed states."""
    model, nv, h = plant.model, plant.model.nv, plant.params.timestep
    q, qd, deflection = plant.q, plant.qd, plant.contacts.deflection
    other = rd.Plant(model, plant.params, plant.points)

    def end(d):
        other.reset(rd.integrate(model, q, d[:nv], 1.0), qd + d[nv : 2 * nv], deflection)
        other.track(*command[:4], command[4] + d[2 * nv :])
        other.advance(steps * h)
        return other.q, other.qd

    for k in columns:
        d = np.zeros(2 * nv + len(command[4]))
        d[k] = EPS
        (q_plus, v_plus), (q_minus, v_minus) = end(d), end(-d)
        yield np.r_[rd.difference(model, q_minus, q_plus), v_plus - v_minus] / (2.0 * EPS)


def check(plant, command, steps):
    both = np.hstack(plant.linearize(EPS, steps))
    columns = range(both.shape[1])[:: 7 if config.DISABLE_JIT else 1]
    theirs = np.array(list(from_outside(plant, command, steps, columns))).T
    np.testing.assert_allclose(both[:, columns], theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.parametrize("steps", [1] if config.DISABLE_JIT else [1, 4])
@pytest.mark.parametrize("law", LAWS)
def test_on_its_feet(law, steps):
    check(*standing(LAWS[law]), steps)


@pytest.mark.parametrize("seed", range(1 if config.DISABLE_JIT else 4))
def test_trees_in_flight(seed):
    """Every kind of joint, mimic joints and a lag: far above the ground nothing but the robot's own dynamics."""
    model = build_model(random_robot(seed), floating_base=seed % 2 == 0)
    q, qd, _, _ = random_state(model, seed)
    plant = rd.Plant(model, rd.PlantParams(terrain=(rd.Plane(height=-50.0),), joint_friction=False))
    plant.reset(q, 0.1 * qd)
    command = command_of(np.zeros(len(model.joint_names)), 1.0)
    plant.track(*command)
    check(plant, command, 1)


def test_a_step_in_flight_is_that_of_the_accelerations():
    """A = 1 + h [0 1; dqdd_dq dqdd_dqd] and B = h [0; dqdd_dtau], to the second order in h."""
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    q, qd, _, _ = random_state(model, 3)
    q[2], h = 5.0, 1e-4
    plant = rd.Plant(model, rd.PlantParams(timestep=h, joint_friction=False, stops=False))
    plant.reset(q, qd)
    A, B = plant.linearize()
    tau = np.r_[np.zeros(6), -model.damping * qd[6:]]
    by_q, by_rate, by_tau = rd.forward_dynamics_derivatives(model, q, qd, tau)
    by_rate[:, 6:] -= by_tau[:, 6:] * model.damping
    nv = model.nv
    np.testing.assert_allclose((A[nv:, :nv]) / h, by_q, rtol=0, atol=2e-2 * np.abs(by_q).max())
    np.testing.assert_allclose((A[nv:, nv:] - np.eye(nv)) / h, by_rate, rtol=0, atol=2e-2 * np.abs(by_rate).max())
    np.testing.assert_allclose(B[nv:] / h, by_tau[:, 6:], rtol=0, atol=2e-2 * np.abs(by_tau).max())


def arrays_of(plant):
    return [x.tobytes() for bundle in plant.bundles for x in bundle if isinstance(x, np.ndarray)]


def test_the_plant_stays_to_the_last_bit():
    plant, _ = standing(rd.SpringDamper(), command_delay=2, actuator_lag=5e-3)
    plant.push(plant.model.link_names[0], [0.0, 0.0, 0.0, 20.0, 0.0, 0.0], 0.1)
    before = arrays_of(plant)
    first = plant.linearize()
    assert arrays_of(plant) == before
    again = pickle.loads(pickle.dumps(plant)).linearize()
    for mine, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_it_follows_the_plant():
    """Another state, another command, another push: nothing of the last call is left."""
    plant, command = standing(rd.SpringDamper(**EXACT))
    plant.linearize()
    command[3] = command[3] + 1.0
    plant.track(*command)
    plant.advance(0.01)
    check(plant, command, 1)


def test_bad_arguments_are_refused():
    plant, _ = standing(rd.SpringDamper())
    for arguments, told in (
        ({"eps": 0.0}, "eps must be above 0"),
        ({"eps": np.nan}, "eps"),
        ({"eps": 1.0}, "eps"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"steps": 1.5}, "steps must be a whole number"),
    ):
        with pytest.raises(ParameterError, match=told):
            plant.linearize(**arguments)


def test_a_plant_that_stopped_has_no_linearization():
    plant, _ = standing(rd.SpringDamper())
    plant._state.qd[:] = np.nan
    with pytest.raises(DivergedError, match="of a perturbed plant, the state is no longer finite"):
        plant.linearize()
    with pytest.raises(DivergedError):
        plant.step()
    with pytest.raises(DivergedError, match="reset it first"):
        plant.linearize()


def test_a_robot_without_joints():
    """A free body: A alone."""
    model = build_model(random_robot(0, count=0), floating_base=True)
    plant = rd.Plant(model)
    q = rd.neutral(model)
    q[2] = 3.0
    plant.reset(q, np.zeros(6))
    A, B = plant.linearize()
    assert A.shape == (12, 12)
    assert B.shape == (12, 0)
    np.testing.assert_allclose(A[:6, 6:], plant.params.timestep * np.eye(6), atol=1e-6)
