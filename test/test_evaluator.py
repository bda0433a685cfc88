# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The hot path gives what the plain functions give, in place, and refuses what they refuse."""

import numpy as np
import pytest
from limbed_robots import close, limbed_model
from random_robots import random_model, random_state
from robot_files import robot_file

import robot_dynamics as rd
from robot_dynamics.errors import ParameterError, ShapeError

MODELS = {
    "limbs": lambda: limbed_model(3, 4, 3, True),
    "tree": lambda: rd.load_urdf(robot_file("talos_reduced"), floating_base=True),
    "arm": lambda: limbed_model(3, 1, 5, False),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_gives_what_the_plain_functions_give(name):
    model = MODELS[name]()
    fast = rd.Evaluator(model)
    q, qd, x, f_ext = random_state(model, 5)
    fast.q[:], fast.qd[:], fast.qdd[:], fast.f_ext[:] = q, qd, x, f_ext
    tau = fast.inverse_dynamics()
    close(tau, rd.inverse_dynamics(model, q, qd, x, f_ext))
    fast.qdd[:] = 0.0
    assert fast.forward_dynamics() is fast.qdd
    close(fast.qdd, rd.forward_dynamics(model, q, qd, tau, f_ext))
    close(fast.mass_matrix(), rd.mass_matrix(model, q))
    assert fast.inverse_dynamics() is tau


@pytest.mark.parametrize("name", ["q", "qd", "qdd", "f_ext"])
def test_what_is_not_finite_is_named(name):
    fast = rd.Evaluator(limbed_model(3, 4, 3, True))
    getattr(fast, name).flat[2] = np.nan
    with pytest.raises(ShapeError, match=f"{name} must be finite, but {name}"):
        fast.inverse_dynamics()


def test_evaluators_do_not_share_memory():
    model = limbed_model(3, 4, 3, True)
    first, second = rd.Evaluator(model), rd.Evaluator(model)
    first.q[0] = 1.0
    assert second.q[0] == 0.0


def test_mimic_joints_are_refused():
    model = next(model for seed in range(20) if (model := random_model(seed)).has_mimic)
    with pytest.raises(ParameterError, match="mimic"):
        rd.Evaluator(model)


def read_only(x):
    x.setflags(write=False)
    return x


@pytest.mark.parametrize("kind", [list, tuple, np.float32, lambda x: np.repeat(x, 2)[::2], read_only])
def test_plain_functions_take_numbers_in_any_form(kind):
    """Those that no kernel is compiled for are copied."""
    model = limbed_model(3, 4, 3, True)
    q, qd, x, f_ext = random_state(model, 5)
    expected = rd.inverse_dynamics(model, q, qd, x, f_ext)
    given = [kind(v.copy()) for v in (q, qd, x)]
    pushed = read_only(f_ext.copy())
    np.testing.assert_allclose(rd.inverse_dynamics(model, *given, pushed), expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(rd.mass_matrix(model, given[0]), rd.mass_matrix(model, q), rtol=1e-4, atol=1e-5)


def test_a_matrix_is_no_vector():
    model = limbed_model(3, 4, 3, True)
    q, qd, x, _ = random_state(model, 5)
    with pytest.raises(ShapeError, match="q must have shape"):
        rd.inverse_dynamics(model, q[:, None], qd, x)
    with pytest.raises(ShapeError, match="q must have shape"):
        rd.mass_matrix(model, q[None])
