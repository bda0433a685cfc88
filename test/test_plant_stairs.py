# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped dropped on stairs, of boxes and as a height field: edges and inner corners hold its feet, both laws."""

import numpy as np
import pytest
import quadrupeds

import robot_dynamics as rd
from robot_dynamics.contact.terrain import clearances
from robot_dynamics.control.simulation import home_pose
from robot_dynamics.ros.parameters import MINI_CHEETAH

pytestmark = pytest.mark.slow

RUN, STEPS = 0.3, 8


@pytest.fixture(scope="module")
def robot():
    return rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=True, armature=MINI_CHEETAH)


def of_boxes(rise):
    return (rd.Plane(), *rd.stairs((0.2, 0.0, 0.0), STEPS, rise, RUN, 3.0))


def as_field(rise):
    """Samples 2 cm apart: every riser is a slope of one cell."""
    steps = np.floor(np.arange(0.0, STEPS * RUN, 0.02) / RUN) + 1.0
    return (rd.Plane(), rd.HeightField(np.repeat(rise * steps[:, None], 150, axis=1), 0.02, (0.2, -1.5, 0.0)))


def dropped(robot, terrain, law, seed, fall):
    """Standing on its feet at a random place and heading, the lowest foot this far [m] above the stairs."""
    rng = np.random.default_rng(seed)
    legs, _ = quadrupeds.stance("mini_cheetah")
    plant = rd.Plant(robot, rd.PlantParams(contact=law, terrain=terrain), legs.feet)
    q = home_pose(robot, "stance", {}, legs.feet, 0.0)
    heading = rng.uniform(-np.pi, np.pi)
    q[:7] = rng.uniform(0.2, 1.6), rng.uniform(-0.3, 0.3), 3.0, 0.0, 0.0, np.sin(heading / 2), np.cos(heading / 2)
    for _ in range(60):
        feet = rd.point_position(robot, plant.points, q)
        q[2] -= (clearances(terrain, feet) - plant.points.radius).min() - fall
    plant.reset(q, np.zeros(robot.nv))
    plant.track(q[7:], np.zeros(12), 60.0, 2.0)
    return plant


@pytest.mark.parametrize("rise", [0.05, 0.15])
@pytest.mark.parametrize("made", [of_boxes, as_field])
@pytest.mark.parametrize(("law", "deepest"), [(rd.SpringDamper(), 0.01), (rd.Impulse(), 0.004)], ids=["soft", "hard"])
def test_feet_are_held_by_edges_and_corners(robot, law, deepest, made, rise):
    """Falls of 0.3 m at 1 ms: no foot is deeper than on the plane, where the spring-damper lets it 5 mm in, by much."""
    for seed in range(6):
        plant = dropped(robot, made(rise), law, seed, 0.3)
        start = plant.energy.total
        for _ in range(1200):
            plant.step()
            assert plant.contacts.depth.max() < deepest, seed
        assert plant.energy.total < start, seed
