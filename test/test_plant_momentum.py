# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Momentum and energy of bodies that turn while they touch, in both contact models at several timesteps."""

import re

import numpy as np
import pytest
import quadrupeds

import robot_dynamics as rd
from robot_dynamics.spatial import quaternion_from_rotation, rotation_from_quaternion, rotation_from_rpy

G = 9.81
STEPS = [2.5e-4, 1e-3, 2e-3, 4e-3]
LAWS = {"impulse": rd.Impulse, "spring_damper": rd.SpringDamper}


def text(geometry, inertia, mass=2.0):
    """URDF of one body."""
    ixx, iyy, izz = inertia
    return (
        f'<robot name="b"><link name="b"><inertial><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial>'
        f"<collision><geometry>{geometry}</geometry></collision></link></robot>"
    )


def body(geometry, inertia):
    return rd.load_urdf(text(geometry, inertia), floating_base=True)


BALL = body('<sphere radius="0.1"/>', (0.008, 0.008, 0.008))
"""2/5 m r^2."""
PUCK = body('<cylinder radius="0.2" length="0.04"/>', (0.02, 0.02, 0.04))
BOX_TEXT = text('<box size="0.4 0.2 0.1"/>', (0.0083, 0.0283, 0.0333))
BOX = rd.load_urdf(BOX_TEXT, floating_base=True)
ROD = body('<box size="0.6 0.02 0.02"/>', (0.0002, 0.0602, 0.0602))


def rested(model, law, friction, h, height):
    """A plant whose points are as deep as they stand; q, with the base at `height` above the ground."""
    plant = rd.Plant(model, rd.PlantParams(h, LAWS[law](friction=friction)))
    q = rd.neutral(model)
    q[2] = height
    plant.reset(q, np.zeros(model.nv))
    plant.advance(0.5)
    return plant


def velocity(plant):
    """Velocity of the base's origin in the world."""
    return rotation_from_quaternion(plant.q[3:7]) @ plant.qd[3:6]


def momentum(plant):
    """[angular; linear] about the centre of mass, computed anew from the state."""
    return rd.centroidal_momentum(plant.model, plant.q, plant.qd)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("law", LAWS)
def test_a_puck_spinning_on_ice_keeps_its_velocity(law, h):
    plant = rested(PUCK, law, 0.0, h, 0.02)
    plant.reset(plant.q, [0.0, 0.0, 10.0, 1.0, 0.0, 0.0])
    start = plant.q[:3]
    plant.advance(1.0)
    assert np.abs(velocity(plant) - [1.0, 0.0, 0.0]).max() < 1e-6
    assert plant.qd[2] == pytest.approx(10.0, abs=1e-6)
    np.testing.assert_allclose(plant.q[:2] - start[:2], [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(plant.measure().linear_acceleration, [0.0, 0.0, G], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("speed", [1.0, 3.5])
def test_a_ball_rolls_on_at_its_speed(law, h, speed):
    plant = rested(BALL, law, 0.8, h, 0.1)
    plant.reset(plant.q, [0.0, 10.0 * speed, 0.0, speed, 0.0, 0.0])
    start = plant.q[0]
    plant.advance(10.0)
    assert velocity(plant)[0] == pytest.approx(speed, rel=1e-4)
    assert plant.q[0] - start == pytest.approx(10.0 * speed, rel=1e-4)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("law", LAWS)
def test_a_ball_rolls_down_a_slope_as_newton_says(law, h):
    """a = 5/7 g sin(30 degrees)."""
    angle = np.radians(30.0)
    normal = (np.sin(angle), 0.0, np.cos(angle))
    terrain = (rd.Plane(0.0, normal),)
    plant = rd.Plant(BALL, rd.PlantParams(h, LAWS[law](friction=0.8), terrain))
    sink = 0.0 if law == "impulse" else (2.0 * G * np.cos(angle) / 5e5) ** (2.0 / 3.0)
    plant.reset([*((0.1 - sink) * np.array(normal)), 0.0, 0.0, 0.0, 1.0], np.zeros(6))
    plant.advance(0.5)
    before = velocity(plant)
    plant.advance(1.0)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    assert (velocity(plant) - before) @ down == pytest.approx(5.0 / 7.0 * G * np.sin(angle), rel=1e-3)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("model", "height", "spin"),
    [(BOX, 0.05, [0.0, 0.0, 6.0]), (BOX, 0.4, [3.0, 5.0, 1.0]), (ROD, 0.5, [0.5, 9.0, 2.0])],
    ids=["sliding_box", "tumbling_box", "tumbling_rod"],
)
def test_on_ice_nothing_changes_the_momentum_along_it(model, height, spin, law, h):
    """Nor the angular momentum about the vertical: the ground only pushes upwards."""
    plant = rd.Plant(model, rd.PlantParams(h, LAWS[law](friction=0.0)))
    q = rd.neutral(model)
    q[2] = height
    plant.reset(q, [*spin, 1.0, -0.5, 0.0])
    before = momentum(plant)
    plant.advance(1.0)
    after = momentum(plant)
    assert plant.energy.dissipated_contact > 0.0 or height == 0.05
    size = np.linalg.norm(before[3:5])
    assert np.abs(after[3:5] - before[3:5]).max() < 1e-6 * size


@pytest.mark.slow
@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("law", LAWS)
def test_a_robot_thrown_spinning_onto_ice_keeps_its_horizontal_momentum(law, h):
    model = rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=True)
    plant = rd.Plant(model, rd.PlantParams(h, LAWS[law](friction=0.0)))
    q = rd.neutral(model)
    q[2] = 0.5
    plant.reset(q, np.r_[0.3, -0.2, 5.0, 1.0, 0.5, 0.0, np.zeros(12)])
    plant.track(np.tile([0.0, -0.8, 1.6], 4), np.zeros(12), 40.0, 1.0)
    before = momentum(plant)[3:5]
    plant.advance(1.0)
    assert plant.contacts.force_world.any()
    assert np.abs(momentum(plant)[3:5] - before).max() < 1e-6 * np.linalg.norm(before)


def framed(urdf, xyz, rpy):
    """The same robot with another root frame, in which the old root is at xyz, rpy."""
    root = re.search(r'<link name="([^"]+)"', urdf)[1]
    joint = (
        f'<link name="frame"/><joint name="to_root" type="fixed"><parent link="frame"/><child link="{root}"/>'
        f'<origin xyz="{xyz[0]} {xyz[1]} {xyz[2]}" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/></joint></robot>'
    )
    return rd.load_urdf(urdf.replace("</robot>", joint), floating_base=True)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("robot", ["box", "mini_cheetah"])
def test_where_the_frame_of_the_base_is_makes_no_difference(robot, law, h):
    """Thrown, spinning, onto the ground and beyond."""
    urdf = BOX_TEXT if robot == "box" else quadrupeds.MINI_CHEETAH.read_text()
    d, rpy = np.array([0.3, -0.2, 0.1]), (0.3, -0.5, 1.2)
    A = rotation_from_rpy(rpy)
    ends = []
    for xyz, turn in ((np.zeros(3), np.eye(3)), (d, A)):
        model = framed(urdf, xyz, rpy if turn is A else (0.0, 0.0, 0.0))
        plant = rd.Plant(model, rd.PlantParams(h, LAWS[law]()))
        n = model.nv - 6
        R, w, v = rotation_from_rpy((0.2, 0.1, 0.0)), np.array([1.0, 5.0, -2.0]), np.array([1.0, -0.5, 0.0])
        R = R @ turn.T
        q = np.r_[np.array([0.0, 0.0, 0.4]) - R @ xyz, quaternion_from_rotation(R), np.tile([0.0, -0.8, 1.6], n // 3)]
        w = turn @ w
        plant.reset(q, np.r_[w, turn @ v - np.cross(w, xyz), np.zeros(n)])
        plant.track(q[7:], np.zeros(n), 40.0, 1.0)
        plant.advance(0.4)
        assert plant.energy.dissipated_contact > 0.0
        R = rotation_from_quaternion(plant.q[3:7])
        ends.append(np.r_[plant.q[:3] + R @ xyz, (R @ turn).ravel(), plant.q[7:], plant.qd[6:]])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)


@pytest.mark.parametrize("h", STEPS)
def test_a_tumbling_body_in_flight_keeps_its_energy_and_momentum(h):
    """Whatever its inertias, wherever its frame: 1 s at 20 rad/s."""
    model = framed(BOX_TEXT, (0.3, -0.2, 0.1), (0.3, -0.5, 1.2))
    plant = rd.Plant(model, rd.PlantParams(h))
    q = rd.neutral(model)
    q[2] = 20.0
    plant.reset(q, [8.0, 15.0, -10.0, 1.0, 2.0, 3.0])
    before = momentum(plant)[:3]
    plant.advance(1.0)
    energy = plant.energy
    assert energy.total == pytest.approx(energy.initial, rel=1e-9)
    np.testing.assert_allclose(momentum(plant)[:3], before, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_links_of_an_arm_that_turn_fast_gain_no_energy_by_a_contact(law):
    """Two links about vertical axes, limp, the tip on a plane without friction: 17 % in 10 s with an explicit step."""
    link = (
        '<inertial><origin xyz="0.25 0 0"/><mass value="1"/>'
        '<inertia ixx="0.001" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    model = rd.load_urdf(
        f'<robot name="a"><link name="root"/><link name="one">{link}</link><link name="two">{link}</link>'
        '<joint name="a" type="continuous"><parent link="root"/><child link="one"/><axis xyz="0 0 1"/></joint>'
        '<joint name="b" type="continuous"><parent link="one"/><child link="two"/><origin xyz="0.5 0 0"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    plant = rd.Plant(model, rd.PlantParams(1e-3, LAWS[law](friction=0.0)), rd.points(model, {"two": [(0.5, 0.0, 0.0)]}))
    q, qd = np.array([0.0, 0.4]), np.array([10.0, -3.0])
    plant.reset(q, qd)
    plant.advance(10.0)
    assert plant.energy.total == pytest.approx(plant.energy.initial, rel=2e-4)
    about_root = rd.mass_matrix(model, plant.q)[0] @ plant.qd
    assert about_root == pytest.approx(rd.mass_matrix(model, q)[0] @ qd, rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_the_books_of_robots_that_are_dropped_spinning_close(law):
    """Twenty Mini Cheetahs: momentum to rounding; energy to 1e-3 of what the actuators and losses turned over."""
    model = rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=True)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        plant = rd.Plant(model, rd.PlantParams(contact=LAWS[law]()))
        q = rd.random_configuration(model, rng)
        q[:3], q[7:] = 0.0, rng.uniform(-0.8, 0.8, 12)
        low = rd.point_position(model, plant.points, q)[:, 2] - plant.points.radius
        q[2] = rng.uniform(0.1, 1.0) - low.min()
        plant.reset(q, np.r_[3.0 * rng.standard_normal(3), rng.standard_normal(3), np.zeros(12)])
        plant.track(q[7:], np.zeros(12), 30.0, 1.0)
        worst = 0.0
        for _ in range(200):
            plant.advance(0.01)
            energy = plant.energy
            assert energy.momentum_error < 1e-9
            assert energy.angular_momentum_error < 1e-9
            worst = max(worst, abs(energy.balance_error))
        turned_over = abs(energy.dissipated_contact) + energy.dissipated_joint + abs(energy.work_in)
        assert worst < 1e-3 * turned_over, seed
