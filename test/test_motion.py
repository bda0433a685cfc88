# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the recursions know of bodies, links and joints, as laws on random trees; Pinocchio judges real robots."""

import numpy as np
import pytest
import quadrupeds
from random_robots import random_model, random_state

import robot_dynamics as rd
from robot_dynamics.spatial import skew

trees = pytest.mark.parametrize("seed", range(100))


def close(a, b, tolerance=1e-10):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max(initial=0.0)))


def a_tree(seed, mimic=True):
    model = random_model(seed, floating_base=bool(seed % 2), mimic=mimic)
    return model, *random_state(model, seed)


def moved(model, q, qd, qdd, t):
    """State at time t of the motion with constant qdd, to second order."""
    return rd.integrate(model, q, qd + 0.5 * t * qdd, t), qd + t * qdd


def slope(f, h=1e-5):
    return (f(h) - f(-h)) / (2 * h)


@trees
def test_twists_move_the_bodies(seed):
    model, q, qd, _, _ = a_tree(seed)
    R, _ = rd.body_pose(model, q)
    twist = rd.body_velocity(model, q, qd)
    rate = slope(lambda t: rd.body_pose(model, rd.integrate(model, q, qd, t))[1])
    close(np.einsum("bij,bj->bi", R, twist[:, 3:]), rate, 1e-7)
    turn = slope(lambda t: rd.body_pose(model, rd.integrate(model, q, qd, t))[0])
    for i in range(model.nb):
        close(R[i].T @ turn[i], skew(twist[i, :3]), 1e-7)


@trees
def test_accelerations_are_the_rates_of_twists(seed):
    model, q, qd, qdd, _ = a_tree(seed)
    spatial = slope(lambda t: rd.body_velocity(model, *moved(model, q, qd, qdd, t)))
    close(rd.body_acceleration(model, q, qd, qdd), spatial, 1e-6)
    twist = rd.body_velocity(model, q, qd)
    classical = rd.body_acceleration(model, q, qd, qdd, "classical")
    close(classical[:, 3:], rd.body_acceleration(model, q, qd, qdd)[:, 3:] + np.cross(twist[:, :3], twist[:, 3:]))


@trees
def test_links_move_as_points_and_jacobians_say(seed):
    model, q, qd, qdd, _ = a_tree(seed)
    for link in model.link_names:
        R, _ = rd.link_pose(model, q, link)
        origin = rd.points(model, {link: [(0.0, 0.0, 0.0)]})
        twist = rd.link_velocity(model, q, qd, link)
        J = rd.link_jacobian(model, q, link)
        close(J @ qd, twist)
        close(R @ J[3:], rd.point_jacobian(model, origin, q)[0])
        close(R @ twist[3:], rd.point_velocity(model, origin, q, qd)[0])
        acceleration = rd.point_jacobian(model, origin, q)[0] @ qdd + rd.point_bias(model, origin, q, qd)[0]
        close(R @ rd.link_acceleration(model, q, qd, qdd, link, "classical")[3:], acceleration)
        rate = slope(lambda t, link=link: rd.link_velocity(model, *moved(model, q, qd, qdd, t), link))
        close(rd.link_acceleration(model, q, qd, qdd, link), rate, 1e-6)


@trees
def test_the_centre_of_mass_moves_as_momentum_and_its_rate_say(seed):
    model, q, qd, qdd, _ = a_tree(seed)
    close(model.mass * rd.center_of_mass_velocity(model, q, qd), rd.centroidal_momentum(model, q, qd)[3:])
    rate = slope(lambda t: rd.center_of_mass_velocity(model, *moved(model, q, qd, qdd, t)))
    close(rd.center_of_mass_acceleration(model, q, qd, qdd), rate, 1e-6)


@trees
def test_net_wrenches_are_the_rate_of_the_momentum(seed):
    model, q, qd, qdd, _ = a_tree(seed)
    net = rd.net_wrenches(model, q, qd, qdd)
    assert not net[0].any()
    close(net[:, 3:].sum(axis=0), model.mass * rd.center_of_mass_acceleration(model, q, qd, qdd))

    def about_the_origin(t):
        state = moved(model, q, qd, qdd, t)
        momentum = rd.centroidal_momentum(model, *state)
        return momentum[:3] + np.cross(rd.center_of_mass(model, state[0]), momentum[3:])

    close(net[:, :3].sum(axis=0), slope(about_the_origin), 1e-6)


@trees
def test_joints_transmit_what_articulated_bodies_ask_for(seed):
    """f = I^A a + p^A on every body, a with gravity taken off; I^A is symmetric and positive."""
    model, q, qd, tau, f_ext = a_tree(seed, mimic=False)
    qdd = rd.forward_dynamics(model, q, qd, tau, f_ext)
    inertia, bias = rd.articulated_body(model, q, qd, tau, f_ext)
    R, _ = rd.body_pose(model, q)
    a = rd.body_acceleration(model, q, qd, qdd)
    a[:, 3:] -= np.einsum("bji,j->bi", R, model.gravity)
    transmitted = np.einsum("bij,bj->bi", inertia, a) + bias
    close(transmitted[1:], rd.joint_wrenches(model, q, qd, qdd, f_ext)[1:], 1e-9)
    close(inertia, inertia.transpose(0, 2, 1))
    assert all(np.linalg.eigvalsh(x)[0] > 0 for x in inertia[1:])
    close(rd.articulated_inertia(model, q), inertia)


@trees
def test_efforts_are_the_joints_part_of_what_they_transmit(seed):
    model, q, qd, qdd, f_ext = a_tree(seed, mimic=False)
    wrench = rd.joint_wrenches(model, q, qd, qdd, f_ext)
    tau = rd.inverse_dynamics(model, q, qd, qdd, f_ext)
    joints = {joint.name: joint for joint in model.robot.joints}
    for i, name in enumerate(model.joint_names):
        joint = joints[name]
        if joint.kind not in ("revolute", "continuous", "prismatic"):
            continue
        part = wrench[model.body_names.index(joint.child)]
        along = joint.axis @ (part[3:] if joint.kind == "prismatic" else part[:3])
        close(along + model.armature[i] * qdd[model.v_index[i]], tau[model.v_index[i]])


@trees
def test_operational_inertia_is_what_forward_dynamics_feels(seed):
    """At rest a wrench on a link changes its acceleration by Lambda^-1 times the wrench."""
    model, q, _, _, _ = a_tree(seed, mimic=False)
    zero = np.zeros(model.nv)
    link = model.link_names[-1]
    body = int(model.link_bodies[model.link_index(link)])
    inverse = rd.operational_inertia_inverse(model, [link], q)
    free = rd.forward_dynamics(model, q, zero, zero)
    for k in range(6):
        wrench = np.eye(6)[k]
        f_ext = np.zeros((model.nb, 6))
        R, p = model.link_R[model.link_index(link)], model.link_p[model.link_index(link)]
        f_ext[body] = np.r_[R @ wrench[:3] + np.cross(p, R @ wrench[3:]), R @ wrench[3:]]
        qdd = rd.forward_dynamics(model, q, zero, zero, f_ext) - free
        close(rd.link_acceleration(model, q, zero, qdd, link), inverse[:, k], 1e-8)


@trees
def test_operational_inertia_of_points_is_that_of_contact_space(seed):
    model, q, _, _, _ = a_tree(seed, mimic=False)
    points = rd.points(model, {link: [(0.1, 0.2, -0.1)] for link in model.link_names[-2:]})
    close(rd.operational_inertia_inverse(model, points, q), rd.contact_inertia_inverse(model, points, q), 1e-9)


def test_lambda_is_the_inverse_or_says_why_there_is_none():
    model = quadrupeds.model("mini_cheetah")
    q = rd.random_configuration(model, np.random.default_rng(1))
    feet = [link for link in model.link_names if link.endswith("toe")] or list(model.link_names[-1:])
    points = rd.points(model, {link: [(0.0, 0.0, 0.0)] for link in feet})
    weight, inverse = rd.operational_inertia(model, points, q)
    close(weight @ inverse, np.eye(3 * len(feet)), 1e-8)
    fixed = rd.load_urdf(quadrupeds.urdf("mini_cheetah"))
    with pytest.raises(rd.RobotDynamicsError, match="in 3 of 6 directions"):
        rd.operational_inertia(fixed, feet[:1], rd.neutral(fixed))
    with pytest.raises(rd.RobotDynamicsError, match="at least one, got 'toe'"):
        rd.operational_inertia(fixed, "toe", rd.neutral(fixed))


@pytest.mark.parametrize("mimic", [True, False], ids=["mimic", "free"])
@trees
def test_the_sparse_mass_matrix_leaves_out_only_zeros(seed, mimic):
    model, q, _, _, _ = a_tree(seed, mimic)
    values, columns, starts = rd.sparse_mass_matrix(model, q)
    H = np.zeros((model.nv, model.nv))
    for i in range(model.nv):
        part = slice(starts[i], starts[i + 1])
        H[i, columns[part]] = values[part]
    np.testing.assert_array_equal(H + np.tril(H, -1).T, rd.mass_matrix(model, q))
    assert len(values) < model.nv * (model.nv + 1) // 2


def test_bad_arguments_are_named():
    model = quadrupeds.model("mini_cheetah")
    q, v = rd.neutral(model), np.zeros(model.nv)
    with pytest.raises(rd.RobotDynamicsError, match="must be one of spatial, classical, got 'true'"):
        rd.body_acceleration(model, q, v, v, "true")
    with pytest.raises(rd.RobotDynamicsError, match=r"qdd must have shape \(18,\), got \(2,\)"):
        rd.body_acceleration(model, q, v, v[:2])
    with pytest.raises(rd.RobotDynamicsError, match="link 'tail'"):
        rd.link_velocity(model, q, v, "tail")
    follower = random_model(1)
    with pytest.raises(rd.RobotDynamicsError, match="mimic"):
        rd.articulated_inertia(follower, rd.neutral(follower))
