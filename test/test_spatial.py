# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Laws of one rigid body: particles sum to the formulas, frames do not matter, free motion keeps its momentum."""

import math

import numpy as np
import pytest

from robot_dynamics import spatial
from robot_dynamics.errors import ShapeError

SEEDS = range(5)


class Cloud:
    """Particles of one body about their centre of mass, with a twist and its rate, all in body axes."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.masses = rng.uniform(0.1, 1.0, 30)
        positions = rng.normal(size=(30, 3))
        self.mass = self.masses.sum()
        self.positions = positions - self.masses @ positions / self.mass
        self.inertia = spatial.particle_inertia(self.masses, self.positions)
        self.G = spatial.spatial_inertia(self.mass, np.zeros(3), self.inertia)
        self.V, self.V_rate = rng.normal(size=(2, 6))
        self.R, self.p = spatial.rotation_from_vector(rng.normal(size=3)), rng.normal(size=3)


def close(a, b, atol=1e-12):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def test_cross_products():
    a, b = np.random.default_rng(0).normal(size=(2, 3))
    close(spatial.skew(a) @ b, np.cross(a, b), 1e-15)
    V, m, f = np.random.default_rng(1).normal(size=(3, 6))
    close(spatial.crm(V) @ V, 0.0, 1e-15)
    close(spatial.crm(V) @ m, -spatial.crm(m) @ V)
    assert m @ spatial.crf(V) @ f == pytest.approx(-(spatial.crm(V) @ m) @ f)


@pytest.mark.parametrize("seed", SEEDS)
def test_crm_is_the_rate_of_the_adjoint(seed):
    """d/dt Ad(T) = Ad(T) crm(V) along T' = T [V]."""
    cloud, h = Cloud(seed), 1e-6
    steps = [spatial.pose_from_twist(s * h * cloud.V) for s in (1, -1)]
    ahead, behind = (spatial.adjoint(cloud.R @ R, cloud.R @ p + cloud.p) for R, p in steps)
    close((ahead - behind) / (2 * h), spatial.adjoint(cloud.R, cloud.p) @ spatial.crm(cloud.V), 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_particles_sum_to_the_wrench(seed):
    """S8 is the sum of m p'' and r x m p'' over the particles; S4 and S5 are its halves at the centre of mass."""
    c = Cloud(seed)
    forces = c.masses[:, None] * spatial.particle_acceleration(c.V, c.V_rate, c.positions)
    moments = np.cross(c.positions, forces)
    F = spatial.body_inverse_dynamics(c.G, c.V, c.V_rate)
    close(F, np.concatenate([moments.sum(axis=0), forces.sum(axis=0)]))
    w, v, w_rate, v_rate = c.V[:3], c.V[3:], c.V_rate[:3], c.V_rate[3:]
    close(F[3:], c.mass * (v_rate + np.cross(w, v)))
    close(F[:3], c.inertia @ w_rate + np.cross(w, c.inertia @ w))


@pytest.mark.parametrize("seed", SEEDS)
def test_particles_sum_to_the_wrench_in_any_frame(seed):
    c = Cloud(seed)
    R, p = spatial.inverse_pose(c.R, c.p)
    positions = c.positions @ R.T + p
    forces = c.masses[:, None] * spatial.particle_acceleration(c.V, c.V_rate, positions)
    G = spatial.change_inertia(c.R, c.p, c.G)
    F = np.concatenate([np.cross(positions, forces).sum(axis=0), forces.sum(axis=0)])
    close(spatial.body_inverse_dynamics(G, c.V, c.V_rate), F, 1e-11)
    close(G[:3, :3], spatial.particle_inertia(c.masses, positions), 1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_particle_acceleration_is_the_rate_of_its_velocity(seed):
    """R (S2) = d/dt of R (S1) along a motion whose twist changes at V'."""
    c, h = Cloud(seed), 1e-5

    def velocity(t: float) -> np.ndarray:
        R = spatial.rotation_from_vector(t * c.V[:3] + 0.5 * t * t * c.V_rate[:3])
        return spatial.particle_velocity(c.V + t * c.V_rate, c.positions) @ R.T

    close((velocity(h) - velocity(-h)) / (2 * h), spatial.particle_acceleration(c.V, c.V_rate, c.positions), 1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy_is_that_of_the_particles_in_every_frame(seed):
    c = Cloud(seed)
    velocities = spatial.particle_velocity(c.V, c.positions)
    K = 0.5 * c.masses @ (velocities**2).sum(axis=1)
    assert spatial.body_kinetic_energy(c.G, c.V) == pytest.approx(K, rel=1e-13)
    V_a = spatial.change_twist(*spatial.inverse_pose(c.R, c.p), c.V)
    assert spatial.body_kinetic_energy(spatial.change_inertia(c.R, c.p, c.G), V_a) == pytest.approx(K, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_is_the_same_in_every_frame(seed):
    c = Cloud(seed)
    F, V_a = c.rng.normal(size=(2, 6))
    V_b = spatial.change_twist(c.R, c.p, V_a)
    assert F @ V_b == pytest.approx(spatial.change_wrench(c.R, c.p, F) @ V_a, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_there_and_back(seed):
    c = Cloud(seed)
    back = spatial.inverse_pose(c.R, c.p)
    close(spatial.adjoint(*back) @ spatial.adjoint(c.R, c.p), np.eye(6))
    close(spatial.change_wrench(*back, spatial.change_wrench(c.R, c.p, c.V)), c.V)
    close(spatial.change_inertia(*back, spatial.change_inertia(c.R, c.p, c.G)), c.G, 1e-11)
    F = spatial.body_inverse_dynamics(c.G, c.V, c.V_rate)
    close(spatial.body_forward_dynamics(c.G, c.V, F), c.V_rate)


@pytest.mark.parametrize("seed", SEEDS)
def test_inertia_seen_from_a_moved_frame(seed):
    """S12 and S13 in sequence are S14, the upper-left block of S11; the mass sits at c = -R^T q."""
    c = Cloud(seed)
    G = spatial.change_inertia(c.R, c.p, c.G)
    moved = spatial.rotated_inertia(c.R, spatial.shifted_inertia(c.mass, c.inertia, c.p))
    close(moved, G[:3, :3], 1e-11)
    close(moved, spatial.moved_inertia(c.mass, c.inertia, c.R, c.p))
    own = spatial.rotated_inertia(c.R, c.inertia)
    close(G, spatial.spatial_inertia(c.mass, -c.R.T @ c.p, own), 1e-11)
    close(G, G.T, 1e-11)
    assert np.linalg.eigvalsh(G).min() > 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_accelerates_every_body_alike(seed):
    """A body at rest under S9 with the wrench of gravity alone falls with R^T g and does not turn."""
    c, g = Cloud(seed), [0.0, 0.0, -9.81]
    for G in (c.G, spatial.change_inertia(c.R, c.p, c.G)):
        rate = spatial.body_forward_dynamics(G, np.zeros(6), spatial.gravity_wrench(G, c.R, g))
        close(rate, np.concatenate([np.zeros(3), c.R.T @ g]))


def drift(seed: int, steps: int, duration: float = 1.0) -> tuple[float, float]:
    """Change of kinetic energy and of world momentum of a free body, relative."""
    c = Cloud(seed)
    G = spatial.change_inertia(c.R, 0.3 * c.p, c.G)
    R, p, V = c.R, c.p, c.V
    K, L = spatial.body_kinetic_energy(G, V), spatial.body_momentum_world(R, p, G, V)
    for _ in range(steps):
        R, p, V = spatial.free_body_step(R, p, V, G, np.zeros(6), duration / steps)
    close(R.T @ R, np.eye(3), 1e-12)
    change = np.linalg.norm(spatial.body_momentum_world(R, p, G, V) - L)
    return abs(spatial.body_kinetic_energy(G, V) / K - 1.0), float(change / np.linalg.norm(L))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_free_body_keeps_energy_and_momentum_to_second_order(seed):
    """Halving the timestep divides the drift by 4 (momentum) or more (energy)."""
    coarse, fine = drift(seed, 400), drift(seed, 800)
    assert coarse[0] < 1e-3
    assert coarse[1] < 1e-3
    assert coarse[0] / fine[0] > 3.5
    assert 3.5 < coarse[1] / fine[1] < 4.5


def test_free_fall_is_exact():
    """Constant wrench, no rotation: the midpoint rule gives the parabola."""
    G, g = np.diag([1.0, 2.0, 3.0, 4.0, 4.0, 4.0]), np.array([0.0, 0.0, -9.81])
    R, p, V = np.eye(3), np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0, 0.0, 2.0])
    for _ in range(10):
        R, p, V = spatial.free_body_step(R, p, V, G, spatial.gravity_wrench(G, R, g), 0.1)
    close(p, V[3:] - 0.5 * g)
    close(V[3:], [1.0, 0.0, 2.0 - 9.81])


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.09, 0.11, 1.0, math.pi, 6.0])
def test_exponential_solves_its_differential_equation(angle):
    """exp(V) is the limit of many small steps, and V its own one-parameter group: exp(V/2) twice."""
    axis = np.array([1.0, -2.0, 2.0]) / 3.0
    V = np.concatenate([angle * axis, [0.3, -0.5, 0.7]])
    R, p = spatial.pose_from_twist(V)
    R_half, p_half = spatial.pose_from_twist(0.5 * V)
    close(R, R_half @ R_half, 1e-14)
    close(p, R_half @ p_half + p_half, 1e-14)
    close(R @ axis, axis, 1e-14)
    close(np.trace(R), 1.0 + 2.0 * math.cos(angle), 1e-14)
    close(axis @ p, axis @ V[3:], 1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_attitudes_there_and_back(seed):
    rng = np.random.default_rng(seed)
    rpy = rng.uniform(-1, 1, 3) * [math.pi, math.pi / 2, math.pi]
    R = spatial.rotation_from_rpy(rpy)
    close(spatial.rpy_from_rotation(R), rpy)
    close(spatial.rotation_from_quaternion(-3.0 * spatial.quaternion_from_rotation(R)), R, 1e-15)
    q = rng.normal(size=4)
    q *= np.sign(q[3]) / np.linalg.norm(q)
    close(spatial.quaternion_from_rotation(spatial.rotation_from_quaternion(q)), q, 1e-15)


@pytest.mark.parametrize("axis", range(3))
def test_quaternion_of_a_half_turn(axis):
    q = np.eye(4)[axis]
    R = spatial.rotation_from_quaternion(q)
    close(R, 2.0 * np.outer(q[:3], q[:3]) - np.eye(3), 1e-15)
    close(abs(spatial.quaternion_from_rotation(R)), q, 1e-15)


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2])
def test_rpy_straight_up_and_down(pitch):
    R = spatial.rotation_from_rpy([0.4, pitch, 1.0])
    rpy = spatial.rpy_from_rotation(R)
    assert rpy[0] == 0.0
    close(spatial.rotation_from_rpy(rpy), R, 1e-15)


def test_rpy_against_quaternions_about_one_axis():
    for axis in range(3):
        rpy = 0.7 * np.eye(3)[axis]
        q = np.append(math.sin(0.35) * np.eye(3)[axis], math.cos(0.35))
        close(spatial.rotation_from_rpy(rpy), spatial.rotation_from_quaternion(q), 1e-15)
        close(spatial.rotation_from_rpy(rpy), spatial.rotation_from_vector(rpy), 1e-15)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: spatial.skew([1, 2]), r"a should have shape \(3,\), got \(2,\)"),
        (lambda: spatial.crm([1, 2, 3, math.nan, 5, 6]), "twist should be finite"),
        (lambda: spatial.adjoint(np.eye(2), [0, 0, 0]), r"R should have shape \(3, 3\)"),
        (lambda: spatial.change_wrench(np.eye(3), "abc", np.zeros(6)), "p should be numbers"),
        (lambda: spatial.particle_inertia([1, 2], np.zeros((3, 3))), r"positions should have shape \(2, 3\)"),
        (lambda: spatial.rotation_from_quaternion([0, 0, 0, 0]), "quaternion should have a length"),
    ],
)
def test_bad_input_is_named(call, sentence):
    with pytest.raises(ShapeError, match=sentence):
        call()
