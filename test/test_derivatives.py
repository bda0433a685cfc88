# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the dynamics: differences of the functions themselves, symmetries, lanes, memory, refusals."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from limbed_robots import limbed_model
from numba import config
from random_robots import random_robot, random_state

import robot_dynamics as rd
from robot_dynamics.errors import ShapeError, SingularModelError
from robot_dynamics.model.description import Rotor
from robot_dynamics.model.model import build_model

TREES = range(4 if config.DISABLE_JIT else 200)
STEP = 1e-5


def geared_model(seed):
    """A random tree with every kind of joint, mimic joints, armature, and a geared rotor on every third joint."""
    rng = np.random.default_rng(seed + 1)
    robot = random_robot(seed)
    names = [j.name for j in robot.joints if j.kind in ("revolute", "continuous", "prismatic")]
    turning = [j.name for j in robot.joints if j.kind in ("revolute", "continuous")]
    rotors = {n: Rotor(5.0, 0.01, tuple(rng.standard_normal(3)), 0.1, (0.1, 0.0, 0.05)) for n in turning[::3]}
    armature = {n: float(rng.uniform(0.01, 0.1)) for n in names if n not in rotors}
    return build_model(robot, floating_base=seed % 2 == 0, armature=armature, rotors=rotors)


def close(ours, theirs, tolerance=1e-10):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, np.abs(theirs).max(initial=0.0)))


def by_difference(function, model, q, *rates):
    """Centred differences of function(q, *rates) in the tangent space of q and in each of the rates."""
    unit = STEP * np.eye(model.nv)

    def slope(move):
        return np.array([(function(*move(d)) - function(*move(-d))) / (2.0 * STEP) for d in unit]).T

    def moved(k, d):
        return q, *(x + d if i == k else x for i, x in enumerate(rates))

    yield slope(lambda d: (rd.integrate(model, q, d, 1.0), *rates))
    for k in range(len(rates)):
        yield slope(lambda d, k=k: moved(k, d))


@pytest.mark.parametrize("seed", TREES)
def test_differences_agree(seed):
    """Forces, accelerations and centroidal momentum of trees with every joint, mimic joints, rotors: 1e-6."""
    model = geared_model(seed)
    q, qd, x, f_ext = random_state(model, seed)
    ours = rd.inverse_dynamics_derivatives(model, q, qd, x, f_ext)
    for mine, theirs in zip(
        ours, by_difference(lambda *s: rd.inverse_dynamics(model, *s, f_ext), model, q, qd, x), strict=True
    ):
        close(mine, theirs, 1e-6)
    close(ours[2], rd.mass_matrix(model, q))
    ours = rd.forward_dynamics_derivatives(model, q, qd, x, f_ext)
    theirs = by_difference(lambda *s: rd.forward_dynamics(model, *s, f_ext), model, q, qd, x)
    for mine, other in zip(ours, theirs, strict=True):
        close(mine, other, 1e-6)


@pytest.mark.parametrize("seed", range(4 if config.DISABLE_JIT else 20))
def test_centroidal_differences_agree(seed):
    model = geared_model(seed)
    q, qd, qdd, _ = random_state(model, seed)
    ours = rd.centroidal_momentum_derivatives(model, q, qd)
    theirs = by_difference(lambda *s: rd.centroidal_momentum(model, *s), model, q, qd)
    for mine, other in zip(ours, theirs, strict=True):
        close(mine, other, 1e-6)
    A = rd.centroidal_map(model, q)
    close(A @ qd, rd.centroidal_momentum(model, q, qd))
    ahead, behind = (rd.centroidal_momentum(model, rd.integrate(model, q, qd, h), qd + h * qdd) for h in (STEP, -STEP))
    close(A @ qdd + rd.centroidal_map_rate(model, q, qd), (ahead - behind) / (2.0 * STEP), 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_centroidal_rate_is_that_of_the_outer_forces(seed):
    """A free base: what moves the momentum is the base's wrench and the weight, about the centre of mass."""
    model = geared_model(2 * seed)
    q, qd, qdd, _ = random_state(model, seed)
    rate = rd.centroidal_map(model, q) @ qdd + rd.centroidal_map_rate(model, q, qd)
    tau = rd.inverse_dynamics(model, q, qd, qdd)
    R, p = (x[model.row_body.tolist().index(1)] for x in rd.body_pose(model, q))
    n, f = R @ tau[:3], R @ tau[3:6]
    n = n + np.cross(p - rd.center_of_mass(model, q), f)
    close(rate, np.r_[n, f + model.mass * model.gravity])


@pytest.mark.parametrize("seed", range(6))
def test_symmetries(seed):
    """dtau_dqd of coordinates is twice the Christoffel matrix, with dH/dt as symmetric part; gravity is a gradient."""
    model = build_model(random_robot(seed, kinds=("revolute", "prismatic", "continuous")))
    q, qd, _, _ = random_state(model, seed)
    zero = np.zeros(model.nv)
    by_q, by_rate, _ = rd.inverse_dynamics_derivatives(model, q, zero, zero)
    close(by_q, by_q.T)
    close(by_rate, 0.0 * by_rate)
    by_rate = rd.inverse_dynamics_derivatives(model, q, qd, zero)[1]
    C = rd.coriolis_matrix(model, q, qd)
    close(by_rate @ qd, 2.0 * C @ qd)
    close(by_rate + by_rate.T, 2.0 * (C + C.T))


@pytest.mark.parametrize("seed", range(3))
def test_a_robot_far_from_the_origin_loses_nothing(seed):
    """Everything is taken about the base: 1e6 m away the derivatives are the same."""
    model = geared_model(2 * seed)
    q, qd, x, _ = random_state(model, seed)
    far = q + np.r_[1e6, -1e6, 1e6, np.zeros(model.nq - 3)]
    for here, there in zip(
        rd.inverse_dynamics_derivatives(model, q, qd, x),
        rd.inverse_dynamics_derivatives(model, far, qd, x),
        strict=True,
    ):
        close(there, here, 1e-13)


MODELS = {
    "limbs": lambda: limbed_model(3, 4, 3, True),
    "mimic": lambda: geared_model(1),
    "tree": lambda: build_model(random_robot(3, mimic=False)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [0, 1, 11])
def test_batches_are_the_single_results(name, count):
    model = MODELS[name]()
    states = [random_state(model, seed)[:3] for seed in range(count)]
    sizes = model.nq, model.nv, model.nv
    Q, QD, X = (np.array([s[k] for s in states]).reshape(count, n) for k, n in enumerate(sizes))
    for many, one in (
        (rd.inverse_dynamics_derivatives_batch, rd.inverse_dynamics_derivatives),
        (rd.forward_dynamics_derivatives_batch, rd.forward_dynamics_derivatives),
    ):
        got = many(model, Q, QD, X)
        assert [x.shape for x in got] == 3 * [(count, model.nv, model.nv)]
        for k, state in enumerate(states):
            for mine, other in zip(got, one(model, *state), strict=True):
                close(mine[k], other)


def test_the_evaluator_gives_the_same_in_place():
    model = limbed_model(3, 4, 3, True)
    fast = rd.Evaluator(model)
    q, qd, x, f_ext = random_state(model, 5)
    fast.q[:], fast.qd[:], fast.qdd[:], fast.tau[:], fast.f_ext[:] = q, qd, x, x, f_ext
    first = fast.inverse_dynamics_derivatives()
    for mine, other in zip(first, rd.inverse_dynamics_derivatives(model, q, qd, x, f_ext), strict=True):
        close(mine, other)
    assert first[2] is fast.H
    second = fast.forward_dynamics_derivatives()
    for mine, other in zip(second, rd.forward_dynamics_derivatives(model, q, qd, x, f_ext), strict=True):
        close(mine, other)
    close(fast.qdd, rd.forward_dynamics(model, q, qd, x, f_ext))
    for before, again in ((first, fast.inverse_dynamics_derivatives()), (second, fast.forward_dynamics_derivatives())):
        assert all(np.shares_memory(a, b) for a, b in zip(before, again, strict=True))


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="un-jitted kernels allocate")
def test_in_place_forms_allocate_nothing():
    fast = rd.Evaluator(limbed_model(3, 4, 3, True))
    calls = fast.inverse_dynamics_derivatives, fast.forward_dynamics_derivatives
    for call in calls:
        call()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for call in calls:
            for _ in range(100):
                call()
        assert tracemalloc.get_traced_memory()[1] - before < fast.H.nbytes  # views are some dozen bytes each
    finally:
        tracemalloc.stop()


def test_the_evaluator_names_what_is_not_finite():
    fast = rd.Evaluator(limbed_model(3, 4, 3, True))
    fast.qd[1] = np.inf
    for call in (fast.inverse_dynamics_derivatives, fast.forward_dynamics_derivatives):
        with pytest.raises(ShapeError, match="qd must be finite"):
            call()


@pytest.mark.parametrize(
    "function",
    [rd.inverse_dynamics_derivatives, rd.forward_dynamics_derivatives],
    ids=["inverse", "forward"],
)
def test_bad_input_is_refused(function):
    model = limbed_model(3, 4, 3, True)
    q, qd, x, f_ext = random_state(model, 5)
    for given, told in (
        ((q[1:], qd, x), r"q must have shape \(19,\), got \(18,\)"),
        ((q, qd[1:], x), "qd must have shape"),
        ((q, qd, x[1:]), "(qdd|tau) must have shape"),
        ((q, np.nan * qd, x), "qd must be finite"),
        ((q, qd, x, f_ext[1:]), "f_ext must have shape"),
    ):
        with pytest.raises(ShapeError, match=told):
            function(model, *given)


def test_centroidal_functions_refuse_bad_input():
    model = limbed_model(3, 4, 3, True)
    q = rd.neutral(model)
    with pytest.raises(ShapeError, match="q must have shape"):
        rd.centroidal_map(model, q[1:])
    with pytest.raises(ShapeError, match="qd must have shape"):
        rd.centroidal_map_rate(model, q, q)
    with pytest.raises(ShapeError, match="qd must be finite"):
        rd.centroidal_momentum_derivatives(model, q, np.full(model.nv, np.nan))


def test_batches_refuse_bad_input():
    model = limbed_model(3, 4, 3, True)
    with pytest.raises(ShapeError, match="QDD must have shape"):
        rd.inverse_dynamics_derivatives_batch(model, [rd.neutral(model)], np.zeros((1, model.nv)), np.zeros((2, 3)))
    with pytest.raises(ShapeError, match="TAU must have shape"):
        rd.forward_dynamics_derivatives_batch(model, [rd.neutral(model)], np.zeros((1, model.nv)), np.zeros((2, 3)))


def test_a_joint_without_inertia_is_named():
    robot = random_robot(1, kinds=("revolute",), count=2)
    bare = dataclasses.replace(robot, links=(*robot.links[:-1], dataclasses.replace(robot.links[-1], inertial=None)))
    model = build_model(bare)
    zero = np.zeros(model.nv)
    with pytest.raises(SingularModelError, match="revolute_1"):
        rd.forward_dynamics_derivatives(model, rd.neutral(model), zero, zero)
    rd.inverse_dynamics_derivatives(model, rd.neutral(model), zero, zero)
