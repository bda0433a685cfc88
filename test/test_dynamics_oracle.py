# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics against the numbers of a C++ simulator (MIT Cheetah-Software, see data/README.md), to 1e-10 relative."""

import mini_cheetah
import numpy as np
import pytest
from mini_cheetah import FEET

import robot_dynamics as rd

VARIANTS = {"no_rotors": 24, "with_rotors": 12}
CASES = [(variant, i) for variant, count in VARIANTS.items() for i in range(count)]
DATA = {variant: np.load(mini_cheetah.DATA / f"dynamics_{variant}.npz") for variant in VARIANTS}
MODELS = {variant: mini_cheetah.model(variant) for variant in VARIANTS}


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * max(1.0, np.abs(theirs).max()))


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def state(request):
    variant, i = request.param
    data = {key: DATA[variant][key][i] for key in DATA[variant].files}
    q = mini_cheetah.configuration(data["quat"], data["pos"], data["q"])
    qd = np.concatenate([data["vel_body"], data["qd"]])
    return MODELS[variant], data, q, qd


def test_poses(state):
    model, data, q, _ = state
    R, p = rd.body_pose(model, q)
    close(R[1:], data["body_R_world"])
    close(p[1:], data["body_pos_world"])


def test_mass_matrix_bias_and_gravity(state):
    model, data, q, qd = state
    close(rd.mass_matrix(model, q), data["H"])
    close(rd.bias_forces(model, q, qd), data["Cqd"] + data["G"])
    close(rd.gravity_forces(model, q), data["G"])
    close(rd.coriolis_matrix(model, q, qd) @ qd, data["Cqd"])
    close(rd.inverse_dynamics(model, q, qd, data["id_acc_in"]), data["id_out"])
    close(rd.inverse_dynamics_world(model, q, qd, data["id_acc_in"])[0], data["id_out"])


def test_forward_dynamics_with_and_without_external_forces(state):
    model, data, q, qd = state
    tau = np.concatenate([np.zeros(6), data["tau"]])
    expected = np.concatenate([data["aba_nofext_dBodyVelocity"], data["aba_nofext_qdd"]])
    close(rd.forward_dynamics(model, q, qd, tau), expected)
    R, p = rd.body_pose(model, q)
    f_ext = np.zeros((model.nb, 6))
    for i, wrench in enumerate(data["fext_world"], start=1):
        n, f = wrench[:3], wrench[3:]
        f_ext[i] = np.concatenate([R[i].T @ (n - np.cross(p[i], f)), R[i].T @ f])
    expected = np.concatenate([data["aba_dBodyVelocity"], data["aba_qdd"]])
    close(rd.forward_dynamics(model, q, qd, tau, f_ext), expected)


def test_contact_points(state):
    model, data, q, qd = state
    points = mini_cheetah.contact_points(model, rd.body_pose(model, q), data["gc_pos"])
    close(rd.point_position(model, points, q), data["gc_pos"])
    close(rd.point_velocity(model, points, q, qd), data["gc_vel"])
    close(rd.point_jacobian(model, points, q), data["Jc"])
    close(rd.point_bias(model, points, q, qd), data["Jcdqd"])


def test_contact_inertia_and_test_forces(state):
    model, data, q, _ = state
    all_points = mini_cheetah.contact_points(model, rd.body_pose(model, q), data["gc_pos"])
    feet = rd.Points(all_points.body[FEET], all_points.position[FEET], ("",) * 4, np.zeros(4))
    W = rd.contact_inertia_inverse(model, feet, q)
    response = rd.test_force_response(model, feet, q)
    for c in range(4):
        own = W[3 * c : 3 * c + 3, 3 * c : 3 * c + 3]
        for k, d in enumerate(data["testforce_dirs"][c]):
            close(d @ own @ d, data["lambda_inv"][c, k])
            close(d @ response[c], data["testforce_dstate"][c, k])
