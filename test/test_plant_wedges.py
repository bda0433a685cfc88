# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bodies that contacts hold from several sides: no impulse without bound, no energy from nothing, both laws."""

import numpy as np
import pytest
from depth import every

import robot_dynamics as rd
from robot_dynamics.contact.terrain import Surface

BLOCK = (
    '<robot name="b"><link name="b"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><box size="0.2 0.15 0.1"/></geometry></collision></link></robot>'
)
CUBE = (
    '<robot name="b"><link name="b"><inertial><mass value="10"/>'
    '<inertia ixx="0.4" iyy="0.4" izz="0.8" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)


@pytest.fixture(scope="module")
def block():
    return rd.load_urdf(BLOCK, floating_base=True)


@pytest.fixture(scope="module")
def weighted():
    """A block whose centre of mass is not where its frame is."""
    return rd.load_urdf(
        BLOCK.replace("<mass", '<origin xyz="0.03 -0.02 0.01" rpy="0.3 0.5 0.2"/><mass'), floating_base=True
    )


def groove(half_angle: float) -> tuple[Surface, ...]:
    """Two planes that meet along y, each at this angle [rad] from the vertical."""
    c, s = np.cos(half_angle), np.sin(half_angle)
    return rd.Plane(0.0, (c, 0.0, s)), rd.Plane(0.0, (-c, 0.0, s))


def dropped(model, terrain, law, seed, height):
    """A block in a random attitude and motion, with room below it."""
    rng = np.random.default_rng(seed)
    plant = rd.Plant(model, rd.PlantParams(contact=law, terrain=terrain))
    q = rd.random_configuration(model, rng)
    q[:3] = rng.uniform(-0.05, 0.05), 0.0, height + rng.uniform(0.2, 1.0)
    plant.reset(q, rng.standard_normal(6))
    return plant


def watch(plant, duration):
    """Run step by step, no step a fault; returns the largest force.

    Every step that counts as converged has its residual, and none gives energy, to 1e-9 of what was turned over: by the
    plant's own account, and by that of its state.
    """
    largest, unconverged = 0.0, 0
    for _ in range(round(duration / plant.params.timestep)):
        before = plant.energy
        plant.step()
        after = plant.solver
        assert after.unconverged > unconverged or after.residual < 1e-6
        unconverged = after.unconverged
        largest = max(largest, np.abs(plant.contacts.force_world).sum())
        energy = plant.energy
        turned_over = max(energy.dissipated_contact + energy.work_in, 1.0)
        assert energy.dissipated_contact - before.dissipated_contact > -1e-9 * turned_over
        assert energy.total - before.total - (energy.work_in - before.work_in) < 1e-9 * turned_over
    return largest


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 0.6])
@pytest.mark.parametrize("degrees", every(5, [15, 10, 20, 30, 45]))
def test_blocks_dropped_into_a_groove_come_to_rest_on_bounded_impulses(block, weighted, degrees, friction):
    """A hundred drops: no force above what stops the fall in one step, between walls that press at 1 / sin."""
    angle = np.radians(degrees)
    for seed in range(100):
        plant = dropped(
            (block, weighted)[seed % 2], groove(angle), rd.Impulse(friction=friction), seed, 0.25 / np.tan(angle)
        )
        speed = np.sqrt(2.0 * plant.energy.total / 2.0 + 2.0 * 9.81 * 2.0)
        assert watch(plant, 0.8) < 10.0 * 2.0 * speed / 1e-3 / np.sin(angle), seed
        assert plant.energy.given_contact < 1e-6, seed


@pytest.mark.parametrize("friction", [0.0, 0.6])
@pytest.mark.parametrize("law", [rd.Impulse, rd.SpringDamper], ids=["impulse", "spring_damper"])
def test_a_rod_between_walls_too_close_is_not_shot_out(block, law, friction):
    """Its ends are 0.05 mm deep on both sides: what cannot be recovered is left, and does no work."""
    wall = 0.1 - 0.5e-4
    terrain = (rd.Box((1.0, 4.0, 8.0), (0.5 + wall, 0.0, 0.0)), rd.Box((1.0, 4.0, 8.0), (-0.5 - wall, 0.0, 0.0)))
    ends = rd.points(block, {"b": [(-0.1, 0.0, 0.0), (0.1, 0.0, 0.0)]})
    plant = rd.Plant(block, rd.PlantParams(contact=law(friction=friction), terrain=terrain), ends)
    plant.reset(rd.neutral(block), np.zeros(6))
    plant.advance(0.5)
    assert np.abs(plant.qd[:3]).max() < 1e-6
    assert np.abs(plant.qd[3:5]).max() < 1e-6
    assert -9.81 * 0.5 - 1e-6 <= plant.qd[5] <= 1e-6
    assert np.abs(plant.contacts.force_world).max() < 1e3


@pytest.mark.slow
def test_blocks_on_the_spikes_of_a_height_field_take_no_energy_from_it(block, weighted):
    rng = np.random.default_rng(0)
    field = rd.HeightField(0.08 * rng.uniform(0.0, 1.0, (60, 60)), 0.05, (-1.5, -1.5, 0.0))
    for seed in range(50):
        plant = dropped((block, weighted)[seed % 2], (field,), rd.Impulse(), seed, 0.25)
        watch(plant, 0.8)
        assert plant.energy.given_contact < 1e-6, seed


@pytest.mark.parametrize("law", [rd.Impulse, rd.SpringDamper], ids=["impulse", "spring_damper"])
def test_a_ball_in_a_corner_feels_floor_and_wall(law):
    """Pushed into the corner without friction by 20 N: each carries its part, without jumps from one to the other."""
    ball = rd.load_urdf(BLOCK.replace('<box size="0.2 0.15 0.1"/>', '<sphere radius="0.1"/>'), floating_base=True)
    terrain = (rd.Plane(), rd.Box((1.0, 4.0, 1.0), (0.6, 0.0, 0.5)))
    plant = rd.Plant(ball, rd.PlantParams(contact=law(friction=0.0), terrain=terrain))
    q = rd.neutral(ball)
    q[2] = 0.1
    plant.reset(q, np.zeros(6))
    plant.push("b", [0.0, 0.0, 0.0, 20.0, 0.0, 0.0], 3.0)
    plant.advance(1.5)
    for _ in range(200):
        plant.step()
        np.testing.assert_allclose(plant.contacts.force_world[0], [-20.0, 0.0, 2.0 * 9.81], atol=1e-3)


@pytest.mark.parametrize("law", [rd.Impulse, rd.SpringDamper], ids=["impulse", "spring_damper"])
def test_a_point_runs_against_the_side_of_a_height_field(law):
    """From the plane at 0.5 m/s into a field 2 cm high: it stops at the side, and no energy appears."""
    point = rd.load_urdf(BLOCK.replace('<box size="0.2 0.15 0.1"/>', '<sphere radius="0.01"/>'), floating_base=True)
    terrain = (rd.Plane(), rd.HeightField(np.full((5, 5), 0.02), 0.25, (0.1, -0.5, 0.0)))
    at = rd.points(point, {"b": [(0.0, 0.0, 0.0)]})
    plant = rd.Plant(point, rd.PlantParams(contact=law(friction=0.0), terrain=terrain), at)
    plant.reset(rd.neutral(point), [0.0, 0.0, 0.0, 0.5, 0.0, 0.0])
    plant.advance(0.5)
    assert plant.q[0] < 0.105
    assert plant.contacts.depth.max() < 5e-3
    assert plant.energy.total < plant.energy.initial + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("law", [rd.Impulse, rd.SpringDamper], ids=["impulse", "spring_damper"])
@pytest.mark.parametrize("side", [12, 16, 22])
def test_a_plate_on_hundreds_of_points_rests(side, law):
    """144 to 484 points: every one is solved for, and the ground carries the weight to 0.01 N."""
    plate = rd.load_urdf(CUBE, floating_base=True)
    grid = [(x, y, 0.0) for x in np.linspace(-0.3, 0.3, side) for y in np.linspace(-0.2, 0.2, side)]
    plant = rd.Plant(plate, rd.PlantParams(contact=law()), rd.points(plate, {"b": grid}))
    plant.reset(rd.neutral(plate), np.zeros(6))
    plant.advance(0.3)
    forces = []
    for _ in range(100):
        plant.step()
        forces.append(plant.contacts.force_world[:, 2].sum())
    assert np.std(forces) < 0.01
    assert np.mean(forces) == pytest.approx(98.1, abs=0.01)
    assert plant.solver.unconverged == 0


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 0.6, 1.0])
def test_restitution_with_friction_gains_no_energy(block, friction):
    """e = 1: what rebounds give is taken back by a smaller restitution of that step."""
    for seed in range(12):
        plant = dropped(block, (rd.Plane(),), rd.Impulse(restitution=1.0, friction=friction), seed, 0.3)
        start = plant.energy.total
        for _ in range(200):
            plant.advance(0.01)
            assert plant.energy.total < 1.002 * start, seed
