# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plant of equal limbs, stepped in SIMD lanes, moves as the same robot does with the driver for any tree."""

from dataclasses import replace

import numpy as np
import pytest
from depth import every
from limbed_robots import limbed_model
from many_plants import scaled
from quadrupeds import model as quadruped
from random_robots import random_state

import robot_dynamics as rd
from robot_dynamics.contact.impulse import Impulse
from robot_dynamics.contact.spring_damper import SpringDamper
from robot_dynamics.contact.terrain import Plane

SCHEMES = {
    "implicit": SpringDamper(),
    "explicit": SpringDamper(stiffness=2e4, damping=200.0, scheme="explicit"),
    "linear": SpringDamper(stiffness=1e4, damping=30.0, scheme="linear"),  # stiffer, a light foot chatters: chaos
    "impulse": Impulse(),
    "below": Impulse(activation="below"),
}


def both(model, *arguments):
    """The plant and its twin for any tree."""
    return [rd.Plant(robot, *arguments) for robot in (model, replace(model, limbs=None))]


def same(plants, tolerance):
    """What the two know of their state must agree."""
    lanes, tree = plants
    for a, b in (
        (lanes.q, tree.q),
        (lanes.qd, tree.qd),
        (lanes.tau, tree.tau),
        (lanes.contacts.force_world, tree.contacts.force_world),
        (lanes.contacts.position, tree.contacts.position),
        (lanes.contacts.velocity, tree.contacts.velocity),
        (lanes.energy.total, tree.energy.total),
        (lanes.energy.momentum_error, tree.energy.momentum_error),
        (lanes.energy.balance_error, tree.energy.balance_error),
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("count", [4, 6])
@pytest.mark.parametrize("seed", range(3))
def test_contact_space_is_that_of_the_tree(seed, count, floating):
    """Points on the base, on middle links, several on one limb, in any order, in one and in two groups of limbs."""
    model = limbed_model(seed, count, 3, floating)
    tree = replace(model, limbs=None)
    q, _, _, _ = random_state(model, seed)
    rng = np.random.default_rng(seed)
    links = [f"limb_{count - 1}_2", "base", "limb_0_0", "limb_0_2", "limb_2_1", f"limb_{count - 1}_1"]
    points = rd.points(model, {link: rng.standard_normal((1 + i % 2, 3)) for i, link in enumerate(links)})
    inertia, response = rd.contact_space(model, points, q)
    expected, behind = rd.contact_space(tree, points, q)
    np.testing.assert_allclose(inertia, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(response, behind, rtol=0, atol=1e-11 * np.abs(behind).max())
    np.testing.assert_array_equal(inertia, inertia.T)
    np.testing.assert_array_equal(rd.contact_inertia_inverse(model, points, q), inertia)
    np.testing.assert_array_equal(rd.test_force_response(model, points, q), response)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_drop_under_control_is_that_of_the_tree(scheme):
    """Feet and trunk land askew under joint friction, near stops, with a push and PD control."""
    model = quadruped("mini_cheetah")
    model = replace(model, friction=np.full(12, 0.3), lower=np.full(12, -1.5), upper=np.full(12, 0.9))
    plants = both(model, rd.PlantParams(5e-4, SCHEMES[scheme], terrain=(Plane(normal=(0.1, 0.0, 1.0)),)))
    q, qd = rd.neutral(model), np.zeros(model.nv)
    q[2], q[3:7] = 0.35, [0.1, 0.05, 0.0, np.sqrt(1.0 - 0.0125)]
    q[7:] = np.tile([0.1, 0.7, -1.3], 4)
    qd[:6] = [0.5, 1.0, 0.2, 0.8, 0.0, -1.0]
    for plant in plants:
        plant.reset(q, qd)
        plant.track(q[7:], np.zeros(12), 40.0, 1.0)
        plant.push("base", [0, 2, 0, 30, 0, 0], 0.05)
        plant.advance(0.12)
    assert plants[0].contacts.force_world.any()
    same(plants, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", every(3, SCHEMES))
def test_six_limbs_on_the_ground_move_as_the_tree_does(scheme):
    """Two groups of limbs, joint friction, points on some links, and a push on one that carries none."""
    model = limbed_model(7, 6, 3, True)
    model = replace(model, friction=np.full(18, 0.2))
    points = rd.points(model, {f"limb_{limb}_2": [[0.0, 0.0, 0.1], [0.1, 0.0, 0.0]] for limb in (5, 0, 4, 2)})
    plants = both(model, rd.PlantParams(5e-4, SCHEMES[scheme]), points)
    q, qd, _, _ = random_state(model, 2)
    lowest = rd.point_position(model, points, q)[:, 2].min()
    q[2] -= lowest - 1e-3
    for plant in plants:
        plant.reset(q, 0.1 * qd)
        plant.track(q[7:], np.zeros(18), 40.0, 4.0)
        plant.advance(0.01)
        plant.push("limb_5_0", [0, 2, 0, 30, 0, 0], 0.02)
    touched = np.zeros(8, bool)
    for _ in range(300):
        for plant in plants:
            plant.step()
        touched |= plants[0].contacts.force_world[:, 2] > 0.0
    assert touched[[0, 1, 4, 5]].any()
    assert touched[[2, 3, 6, 7]].any()
    same(plants, 1e-7)


def near_ground(model, links, q, rng):
    """Points of links that are within a millimetre of the plane z = 0."""
    axes = rd.points(model, {link: np.vstack([np.zeros(3), np.eye(3)]) for link in links})
    origin, *ends = np.moveaxis(rd.point_position(model, axes, q).reshape(len(links), 4, 3), 1, 0)
    height = rng.uniform(-1e-3, 1e-3, len(links)) - origin[:, 2]
    local = np.stack([(end - origin)[:, 2] * height for end in ends], axis=1)
    return rd.points(model, {link: [x] for link, x in zip(links, local, strict=True)})


def thrown(count, floating, scheme):
    """Plants of one form that lie on several limbs, differ in friction, mass and state, and are pushed here and there,
    some of them on a link without points; PD control, joint friction, stops in reach."""
    model = limbed_model(3, count, 3, floating)
    joints = len(model.joint_names)
    model = replace(model, friction=np.full(joints, 0.2), lower=np.full(joints, -0.9), upper=np.full(joints, 0.8))
    links = [f"limb_{count - 1}_2", "limb_0_2", "limb_1_1", *(["base"] if floating else [])]
    rng = np.random.default_rng(count)
    for i in range(11):
        heavier = model.with_links([scaled(link, rng.uniform(0.9, 1.1)) for link in model.robot.links])
        contact = replace(SCHEMES[scheme], friction=rng.uniform(0.3, 1.0), tolerance=1e-13)
        q = rd.integrate(model, rd.neutral(model), 0.4 * rng.standard_normal(model.nv), 1.0)
        plant = rd.Plant(heavier, rd.PlantParams(5e-4, contact), near_ground(heavier, links, q, rng))
        plant.reset(q, 0.1 * rng.standard_normal(model.nv))
        plant.track(q[-joints:], np.zeros(joints), 40.0, 2.0)
        if i % 3 == 1:
            plant.push(f"limb_{i % count}_{i % 2}", [0, 2, 0, 30, 0, 0], 0.02)
        yield plant


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "floating", "scheme"),
    [(4, True, "implicit"), (6, True, "impulse"), (2, False, "implicit"), (5, False, "explicit"), (3, True, "below")],
)
def test_plants_of_equal_limbs_in_a_tile_move_as_they_do_alone(count, floating, scheme):
    """However many contacts and joint rows each has; for few steps, as stops magnify what rounding does."""
    together, alone = list(thrown(count, floating, scheme)), list(thrown(count, floating, scheme))
    assert together[0].model.limbs is not None
    rollout = rd.rollout_batch(together, 0.003, forces=True)
    assert not rollout.diverged
    carrying = (rollout.force_world[..., 2] > 0.0).sum(axis=2)
    assert len(np.unique(carrying)) > 2
    for mine, other in zip(together, alone, strict=True):
        other.advance(0.003)
        same((mine, other), 1e-7)


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_flight_is_that_of_the_tree(integrator):
    model = limbed_model(5, 4, 3, True)
    plants = both(model, rd.PlantParams(integrator=integrator, terrain=()), rd.points(model, {"base": [[0, 0, 0]]}))
    q, qd, _, _ = random_state(model, 1)
    for plant in plants:
        plant.reset(q, qd)
        plant.advance(0.1)
    same(plants, 1e-9)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_points_far_from_the_ground_change_nothing(scheme):
    """However fast they are; and all points know where they are and how they move."""
    model = quadruped("mini_cheetah")
    feet = {f"{leg}_knee": [[0.0, 0.0, -0.19]] for leg in ("FR", "FL", "HR", "HL")}
    few = rd.points(model, feet)
    many = rd.points(model, feet | {"base": [[0.0, 0.0, 40.0], [30.0, 0.0, 40.0]]})
    params = rd.PlantParams(5e-4, SCHEMES[scheme])
    plants = [rd.Plant(model, params, points) for points in (few, many)]
    q, qd = rd.neutral(model), np.zeros(model.nv)
    q[2], q[7:] = 0.29, np.tile([0.0, 0.7, -1.4], 4)
    qd[:3] = [0.3, 1.0, 0.2]
    for plant in plants:
        plant.reset(q, qd)
    touched = False
    for _ in range(100):
        for plant in plants:
            plant.step()
        touched |= plants[0].contacts.force_world.any()
    assert touched
    np.testing.assert_array_equal(plants[0].q, plants[1].q)
    np.testing.assert_array_equal(plants[0].qd, plants[1].qd)
    contacts = plants[1].contacts
    np.testing.assert_allclose(contacts.position, rd.point_position(model, many, plants[1].q), atol=1e-12)
    np.testing.assert_allclose(contacts.velocity, rd.point_velocity(model, many, plants[1].q, plants[1].qd), atol=1e-10)


def test_a_far_point_that_comes_in_one_step_is_caught():
    """A point 3 cm above the ground at 40 m/s is in it within a step of 1 ms: the impulse meets it on the way."""
    model = rd.load_urdf(
        '<robot name="r"><link name="b"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
        floating_base=True,
    )
    plant = rd.Plant(model, rd.PlantParams(contact=Impulse()), rd.points(model, {"b": [[0, 0, 0]]}))
    q, qd = rd.neutral(model), np.zeros(6)
    q[2], qd[5] = 0.03, -40.0
    plant.reset(q, qd)
    plant.step()
    assert plant.contacts.force_world[0, 2] > 0.0
    assert plant.q[2] >= -1e-12


def dropped(model, plant):
    """Let it fall askew, held by PD control."""
    q, qd = rd.neutral(model), np.zeros(model.nv)
    q[2], q[7:] = 0.35, np.tile([0.1, 0.7, -1.3], 4)
    qd[:6] = [0.5, 1.0, 0.2, 0.8, 0.0, -1.0]
    plant.reset(q, qd)
    plant.track(q[7:], np.zeros(12), 40.0, 1.0)


@pytest.mark.parametrize("scheme", ["implicit", "impulse"])
def test_a_run_in_pieces_ends_where_the_whole_does_to_the_last_bit(scheme):
    """What a step finds in memory is what the last one left, or made anew where a run begins."""
    model = quadruped("mini_cheetah")
    whole, pieces = (rd.Plant(model, rd.PlantParams(5e-4, SCHEMES[scheme])) for _ in range(2))
    for plant in (whole, pieces):
        dropped(model, plant)
    whole.advance(0.12)
    for _ in range(240):
        pieces.step()
    assert whole.contacts.force_world[:, 2].sum() > 10.0
    assert whole.q.tobytes() == pieces.q.tobytes()
    assert whole.qd.tobytes() == pieces.qd.tobytes()
    assert whole.energy == pieces.energy


def test_behind_a_rollout_a_plant_goes_on_from_where_it_ended():
    """A rollout takes it as a tree, and leaves nothing of what limbs keep in memory."""
    model = quadruped("mini_cheetah")
    plants = both(model, rd.PlantParams(5e-4))
    for plant in plants:
        dropped(model, plant)
        plant.advance(0.03)
        rd.rollout_batch([plant], 0.04)
        plant.advance(0.05)
    same(plants, 1e-8)
