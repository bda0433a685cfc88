# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Laws of mechanics over random trees that hold every joint type at once."""

from itertools import pairwise

import numpy as np
import pytest
from random_robots import random_model, random_robot, random_state

import robot_dynamics as rd
from robot_dynamics.model.description import (
    Inertial,
    Joint,
    Link,
    Mimic,
    Robot,
    Rotor,
)
from robot_dynamics.model.model import build_model

SEEDS = range(8)
trees = pytest.mark.parametrize(
    ("seed", "floating"), [(s, f) for s in SEEDS for f in (True, False)], ids=lambda v: f"{v}"
)


def close(a, b, tolerance=1e-10):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max()))


@trees
def test_forward_and_inverse_dynamics_are_inverse(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, qd, tau, f_ext = random_state(model, seed)
    qdd = rd.forward_dynamics(model, q, qd, tau, f_ext)
    close(rd.inverse_dynamics(model, q, qd, qdd, f_ext), tau, 1e-9)


@trees
def test_aba_is_the_solution_of_h_qdd(seed, floating):
    model = random_model(seed, floating_base=floating, mimic=False)
    q, qd, tau, _ = random_state(model, seed)
    H = rd.mass_matrix(model, q)
    close(rd.forward_dynamics(model, q, qd, tau), np.linalg.solve(H, tau - rd.bias_forces(model, q, qd)), 1e-9)


@trees
def test_mass_matrix_is_symmetric_positive_and_probed_by_rnea(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, qd, qdd, _ = random_state(model, seed)
    H = rd.mass_matrix(model, q)
    close(H, H.T, 1e-15)
    assert np.linalg.eigvalsh(H)[0] > 0
    close(rd.inverse_dynamics(model, q, qd, qdd) - rd.bias_forces(model, q, qd), H @ qdd)
    np.testing.assert_allclose(rd.kinetic_energy(model, q, qd), qd @ H @ qd / 2, rtol=1e-12)


@trees
def test_absolute_coordinates_give_the_same_forces(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, qd, qdd, f_ext = random_state(model, seed)
    tau, wrench = rd.inverse_dynamics_world(model, q, qd, qdd, f_ext)
    close(tau, rd.inverse_dynamics(model, q, qd, qdd, f_ext))
    assert not wrench[0].any()


@trees
def test_transmitted_wrenches_obey_newton_and_euler(seed, floating):
    """The wrenches entering at the root joints plus gravity and f_ext are the rate of the total momentum."""
    model = random_model(seed, floating_base=floating, mimic=False)
    q, qd, qdd, f_ext = random_state(model, seed)
    _, wrench = rd.inverse_dynamics_world(model, q, qd, qdd, f_ext)
    R, _ = rd.body_pose(model, q)
    moving = range(1, model.nb)
    force = sum(wrench[i, 3:] for i in moving if model.parent[i] == 0) + model.mass * model.gravity
    force = force + sum(R[i] @ f_ext[i, 3:] for i in moving)

    def momentum(t):
        return rd.centroidal_momentum(model, rd.integrate(model, q, qd + 0.5 * t * qdd, t), qd + t * qdd)[3:]

    # central difference along the motion: error of order h^2
    close((momentum(1e-5) - momentum(-1e-5)) / 2e-5, force, 1e-6)


@trees
def test_coriolis_matrix_makes_hdot_minus_2c_skew(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, qd, _, _ = random_state(model, seed)
    C = rd.coriolis_matrix(model, q, qd)
    close(C @ qd, rd.bias_forces(model, q, qd) - rd.gravity_forces(model, q))
    h = 1e-5
    H_dot = (
        rd.mass_matrix(model, rd.integrate(model, q, qd, h)) - rd.mass_matrix(model, rd.integrate(model, q, -qd, h))
    ) / (2 * h)
    close(C + C.T, H_dot, 1e-7)


@trees
def test_power_of_the_forces_is_the_rate_of_energy(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, qd, tau, _ = random_state(model, seed)
    qdd = rd.forward_dynamics(model, q, qd, tau)

    def energy(t):
        q_t = rd.integrate(model, q, qd + 0.5 * t * qdd, t)
        return rd.kinetic_energy(model, q_t, qd + t * qdd) + rd.potential_energy(model, q_t)

    h = 1e-5
    np.testing.assert_allclose((energy(h) - energy(-h)) / (2 * h), tau @ qd, rtol=1e-5, atol=1e-5)


@trees
def test_gravity_is_the_gradient_of_the_potential(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, qd, _, _ = random_state(model, seed)
    h = 1e-5
    slope = (
        rd.potential_energy(model, rd.integrate(model, q, qd, h))
        - rd.potential_energy(model, rd.integrate(model, q, -qd, h))
    ) / (2 * h)
    np.testing.assert_allclose(slope, rd.gravity_forces(model, q) @ qd, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_free_fall_leaves_joints_at_rest(seed):
    model = random_model(seed, mimic=False)
    q, _, _, _ = random_state(model, seed)
    qdd = rd.forward_dynamics(model, q, np.zeros(model.nv), np.zeros(model.nv))
    R, _ = rd.body_pose(model, q)
    close(qdd, np.r_[0, 0, 0, R[1].T @ model.gravity, np.zeros(model.nv - 6)], 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_external_momentum_is_conserved_without_external_forces(seed):
    """Joint forces cannot change the momentum about the centre of mass: its rate is the moment of f_ext alone, 0."""
    model = random_model(seed, mimic=False)
    q, qd, tau, _ = random_state(model, seed)
    tau[:6] = 0
    qdd = rd.forward_dynamics(model, q, qd, tau)

    def momentum(t):
        return rd.centroidal_momentum(model, rd.integrate(model, q, qd + 0.5 * t * qdd, t), qd + t * qdd)

    rate = (momentum(1e-5) - momentum(-1e-5)) / 2e-5
    close(rate[3:], model.mass * model.gravity, 1e-6)
    np.testing.assert_allclose(rate[:3], 0, atol=1e-5)


@trees
def test_point_kinematics_are_derivatives(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, qd, qdd, _ = random_state(model, seed)
    rng = np.random.default_rng(seed)
    points = rd.points(model, {link: rng.standard_normal((2, 3)) for link in model.link_names[::3]})

    def position(t):
        return rd.point_position(model, points, rd.integrate(model, q, qd + 0.5 * t * qdd, t))

    h = 1e-4
    J = rd.point_jacobian(model, points, q)
    velocity = rd.point_velocity(model, points, q, qd)
    close(J @ qd, velocity, 1e-12)
    close((position(h) - position(-h)) / (2 * h), velocity, 1e-6)
    acceleration = J @ qdd + rd.point_bias(model, points, q, qd)
    close((position(h) - 2 * position(0) + position(-h)) / h**2, acceleration, 1e-5)


@trees
def test_contact_inertia_and_response_are_those_of_the_mass_matrix(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, _, _, _ = random_state(model, seed)
    rng = np.random.default_rng(seed)
    points = rd.points(model, {link: rng.standard_normal((1, 3)) for link in model.link_names[::2]})
    J = rd.point_jacobian(model, points, q).reshape(-1, model.nv)
    response = np.linalg.solve(rd.mass_matrix(model, q), J.T)
    close(rd.contact_inertia_inverse(model, points, q), J @ response, 1e-9)
    close(rd.test_force_response(model, points, q).reshape(-1, model.nv), response.T, 1e-9)


@trees
def test_integrate_and_difference_are_inverse(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, qd, _, _ = random_state(model, seed)
    close(rd.difference(model, q, rd.integrate(model, q, qd, 0.7)), 0.7 * qd, 1e-12)
    near = rd.integrate(model, q, qd, 1e-7)
    close(rd.difference(model, q, near), 1e-7 * qd, 1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_difference_takes_the_short_way_round(seed):
    """q and -q are the same attitude."""
    model = random_model(seed, count=0)
    q, qd, _, _ = random_state(model, seed)
    there = rd.integrate(model, q, qd, 1.0)
    there[3:7] *= -1.0
    close(rd.difference(model, q, there), qd, 1e-12)


@trees
def test_batches_are_the_single_results(seed, floating):
    model = random_model(seed, floating_base=floating)
    states = [random_state(model, s) for s in range(5)]
    Q, QD, X = (np.array(x) for x in list(zip(*states, strict=True))[:3])
    single = [rd.inverse_dynamics(model, *s) for s in zip(Q, QD, X, strict=True)]
    close(rd.inverse_dynamics_batch(model, Q, QD, X), np.array(single), 1e-12)
    single = [rd.forward_dynamics(model, *s) for s in zip(Q, QD, X, strict=True)]
    close(rd.forward_dynamics_batch(model, Q, QD, X), np.array(single), 1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_merged_and_kept_fixed_links_are_the_same_robot(seed):
    robot = random_robot(seed, mimic=False)
    merged = build_model(robot, floating_base=True)
    kept = build_model(robot, floating_base=True, keep_links=[j.child for j in robot.joints if j.kind == "fixed"])
    assert kept.nb > merged.nb
    q, qd, tau, _ = random_state(merged, seed)
    close(rd.inverse_dynamics(kept, q, qd, tau), rd.inverse_dynamics(merged, q, qd, tau), 1e-12)
    close(rd.forward_dynamics(kept, q, qd, tau), rd.forward_dynamics(merged, q, qd, tau), 1e-9)
    close(rd.mass_matrix(kept, q), rd.mass_matrix(merged, q), 1e-12)
    for link in merged.link_names:
        for a, b in zip(rd.link_pose(kept, q, link), rd.link_pose(merged, q, link), strict=True):
            close(a, b, 1e-12)


@trees
def test_a_rotor_is_a_body_that_mimics_its_joint(seed, floating):
    """A geared rotor equals an extra axisymmetric body on the parent whose joint follows with the gear ratio."""
    robot = random_robot(seed, kinds=("revolute",), count=6, mimic=False)
    rng = np.random.default_rng(seed)
    host = robot.joints[int(rng.integers(6))]
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    com = rng.standard_normal(3)
    spin, transverse, mass, ratio = 2e-3, 3e-3, 0.4, 7.0
    inertia = transverse * np.eye(3) + (spin - transverse) * np.outer(axis, axis)
    rotor = Rotor(ratio, spin, tuple(axis), mass, tuple(com), inertia)
    with_rotor = build_model(robot, floating_base=floating, rotors={host.name: rotor})
    body = Link("rotor", Inertial(mass, np.zeros(3), inertia))
    joint = Joint("spin", "revolute", host.parent, "rotor", np.eye(3), com, axis, mimic=Mimic(host.name, ratio))
    with_body = build_model(Robot("r", (*robot.links, body), (*robot.joints, joint)), floating_base=floating)
    q, qd, tau, _ = random_state(with_rotor, seed)
    close(rd.inverse_dynamics(with_rotor, q, qd, tau), rd.inverse_dynamics(with_body, q, qd, tau), 1e-11)
    close(rd.mass_matrix(with_rotor, q), rd.mass_matrix(with_body, q), 1e-12)
    close(rd.forward_dynamics(with_rotor, q, qd, tau), rd.forward_dynamics(with_body, q, qd, tau), 1e-9)
    if floating or host.parent != "base":  # a rotor frozen into a fixed base is no moving mass
        close(rd.centroidal_momentum(with_rotor, q, qd), rd.centroidal_momentum(with_body, q, qd), 1e-11)
    np.testing.assert_allclose(rd.kinetic_energy(with_rotor, q, qd), rd.kinetic_energy(with_body, q, qd), rtol=1e-12)
    C = rd.coriolis_matrix(with_rotor, q, qd)
    h = 1e-5
    H = [rd.mass_matrix(with_rotor, rd.integrate(with_rotor, q, s * qd, h)) for s in (1, -1)]
    close(C + C.T, (H[0] - H[1]) / (2 * h), 1e-7)
    close(C @ qd, rd.bias_forces(with_rotor, q, qd) - rd.gravity_forces(with_rotor, q), 1e-11)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 150])
def test_angles_of_a_chain_on_parallel_axes_add_up(count):
    """Sines are taken of many joints at a time: no joint may get another's."""
    links = [Link(f"link_{i}", Inertial(1.0, np.zeros(3), np.eye(3))) for i in range(count + 1)]
    axis, step = np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.0, 0.0])
    joints = [Joint(b.name, "revolute", a.name, b.name, np.eye(3), step, axis) for a, b in pairwise(links)]
    model = build_model(Robot("chain", tuple(links), tuple(joints)))
    q = np.random.default_rng(count).uniform(-3.0, 3.0, count)
    R, _ = rd.body_pose(model, q)
    close(R[1:, 1, 0], np.sin(np.cumsum(q)), 1e-13)
    close(R[1:, 0, 0], np.cos(np.cumsum(q)), 1e-13)


@trees
def test_joints_with_and_without_armature_stand_together(seed, floating):
    """Without one, I^a has no part along a hinge, and ABA takes a shorter way."""
    robot = random_robot(seed, 16, mimic=False)
    one_dof = [j.name for j in robot.joints if j.kind in ("revolute", "continuous", "prismatic")]
    model = build_model(robot, floating_base=floating, armature=dict.fromkeys(one_dof[::2], 0.05))
    q, qd, tau, f_ext = random_state(model, seed)
    qdd = rd.forward_dynamics(model, q, qd, tau, f_ext)
    close(rd.inverse_dynamics(model, q, qd, qdd, f_ext), tau, 1e-9)
