# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A whole robot thrown on the floor, in both contact models: it comes to rest, hardly sinks in, gains no energy."""

import numpy as np
import open_loop_trot as trot
import pytest
import quadrupeds

import robot_dynamics as rd
from robot_dynamics.ros.parameters import MINI_CHEETAH

pytestmark = pytest.mark.slow  # thousands of steps, hours un-jitted

DROPS = 100
REST = 0.02
"""Largest of all velocities of a robot at rest [rad/s, m/s]: the soft spring-damper sways on for long."""


@pytest.fixture(scope="module")
def robot():
    return rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=True, armature=MINI_CHEETAH)


def thrown(model, seed, params):
    """The robot at rest with its lowest point 0.1 to 3 m above the floor, in a random attitude and pose, held there."""
    rng = np.random.default_rng(seed)
    plant = rd.Plant(model, params)
    q = rd.random_configuration(model, rng)
    q[:3], q[7:] = 0.0, rng.uniform(-0.8, 0.8, len(q) - 7)
    low = rd.point_position(model, plant.points, q)[:, 2] - plant.points.radius
    q[2] = rng.uniform(0.1, 3.0) - low.min()
    plant.reset(q, np.zeros(model.nv))
    return plant


@pytest.mark.parametrize(
    ("contact", "deepest"), [(rd.SpringDamper(), 0.04), (rd.Impulse(), 0.004)], ids=["spring_damper", "impulse"]
)
def test_drops_come_to_rest_and_hardly_sink_in(robot, contact, deepest):
    """Seeds 0 to 99 at 1 ms, all contact points; at rest within 5 s."""
    for seed in range(DROPS):
        plant = thrown(robot, seed, rd.PlantParams(contact=contact))
        plant.track(plant.q[7:], np.zeros(12), 30.0, 1.0)
        while plant.time < 5.0 and not (plant.contacts.force_world.any() and np.abs(plant.qd).max() < REST):
            plant.step()
            assert plant.contacts.depth.max() < deepest, seed
        assert plant.time < 5.0, seed


@pytest.mark.parametrize("seed", range(10))
def test_the_implicit_spring_damper_is_passive_in_every_step(robot, seed):
    """h f.(b + u)/2 + dU_n + dU_t <= K |d|^2 (s1 - s0)/2, up to 1e-6 of the energy of the fall (N12).

    A limp robot without joint friction and stops, so that the free velocity is v + h FD(q, v).
    """
    h, K = 1e-3, 5e5
    plant = thrown(robot, seed, rd.PlantParams(timestep=h, joint_friction=False, stops=False))
    fall = robot.mass * 9.81 * plant.contacts.position[:, 2].min()
    worst, lost = -np.inf, 0.0
    for _ in range(1500):
        q, qd, before = plant.q, plant.qd, plant.contacts
        free = qd + h * rd.forward_dynamics(robot, q, qd, np.zeros(robot.nv))
        J = rd.point_jacobian(robot, plant.points, q)
        plant.step()
        after, u = plant.contacts, J @ plant.qd
        s0, s1 = (np.sqrt(np.maximum(0.0, z)) for z in (-before.position[:, 2], -before.position[:, 2] - h * u[:, 2]))
        d0, d1 = ((c.deflection**2).sum(axis=1) for c in (before, after))
        work = 0.5 * h * (after.force_world * (J @ free + u)).sum()
        stored = (0.4 * K * (s1**5 - s0**5) + 0.5 * K * (s1 * d1 - s0 * d0)).sum()
        if after.force_world.any():
            worst = max(worst, work + stored - (0.5 * K * d0 * (s1 - s0)).sum())
            lost -= work + stored
    assert worst < 1e-6 * fall
    assert lost > 0.5 * fall


def test_the_implicit_scheme_converges_to_the_explicit_one_at_first_order():
    """Half the step, half the difference: 2 cm drop on the feet, held in the stance, against explicit at 10 us."""
    model = trot.model(armature=True)
    feet = trot.feet(model)

    def end(h, scheme):
        plant = rd.Plant(model, rd.PlantParams(timestep=h, contact=rd.SpringDamper(scheme=scheme)), feet)
        q = rd.neutral(model)
        q[2], q[7:] = trot.HEIGHT + 0.02, np.tile(trot.leg_joints(np.array(trot.HEIGHT)), 4)
        plant.reset(q, np.zeros(model.nv))
        plant.track(q[7:], np.zeros(12), 100.0, 2.0)
        heights = []
        for _ in range(20):
            plant.advance(0.01)
            heights.append(plant.q[2])
        return np.array(heights)

    exact = end(1e-5, "explicit")
    errors = [np.abs(end(h, "implicit") - exact).max() for h in (1e-3, 5e-4, 2.5e-4, 1.25e-4)]
    assert errors[0] < 3e-4
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.15)
