# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact laws on the whole robot: the open-loop trot of the reference, isotropic friction, the same bytes again."""

import hashlib
import subprocess
import sys
from pathlib import Path

import mini_cheetah
import numpy as np
import open_loop_trot as trot
import pytest

import robot_dynamics as rd
from robot_dynamics.simulation.comparison import figures, stances
from robot_dynamics.simulation.plant import PlantParams

pytestmark = pytest.mark.slow  # thousands of steps, hours un-jitted

BALL = (
    '<robot name="b"><link name="b"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)


def test_spring_damper_trot_at_1_ms_hardly_slips():
    """The C++ simulator: 31.9 mm and 25 degrees at the same step."""
    _, log = trot.run(PlantParams(contact=rd.SpringDamper(friction=0.6)), armature=True)
    found = figures(log)
    assert found.slip <= 1e-3
    assert np.degrees(found.scatter) <= 6.0


def test_explicit_spring_damper_trot_without_armature_is_the_references():
    """1.34 mm and 6.1 degrees there at 0.1 ms."""
    contact = rd.SpringDamper(friction=0.6, scheme="explicit")
    _, log = trot.run(PlantParams(timestep=1e-4, contact=contact), armature=False)
    found = figures(log)
    assert 1e3 * found.slip == pytest.approx(1.34, rel=0.02)
    assert np.degrees(found.scatter) == pytest.approx(6.1, rel=0.02)


def test_spring_damper_trot_without_armature_at_1_ms_is_near_the_converged_law():
    _, log = trot.run(PlantParams(contact=rd.SpringDamper(friction=0.6)), armature=False)
    found = figures(log)
    assert 1e3 * found.slip == pytest.approx(1.31, rel=0.08)
    assert np.degrees(found.scatter) == pytest.approx(6.0, rel=0.08)


@pytest.mark.parametrize("timestep", [1e-3, 1e-4])
def test_impulse_trot_does_not_slip(timestep):
    _, log = trot.run(PlantParams(timestep=timestep, contact=rd.Impulse(friction=0.6)), armature=True)
    assert figures(log).slip <= 1e-5


def test_impulse_trot_without_armature_does_not_slip_while_it_sticks():
    """Per stance, over the steps whose friction is below its limit; touchdowns and re-bounces are not sticking."""
    _, log = trot.run(PlantParams(contact=rd.Impulse(friction=0.6)), armature=False)
    ways = []
    for foot, part in stances(log):
        force = log.force[part, foot]
        sticks = np.hypot(force[:, 0], force[:, 1]) < 0.6 * force[:, 2] * (1.0 - 1e-6)
        ways.append(np.linalg.norm(log.way[part, foot, :2], axis=1)[sticks].sum())
    assert max(ways) < 1e-6


@pytest.mark.parametrize("armature", [True, False], ids=["rotors", "bare"])
@pytest.mark.parametrize("share", [0.05, 0.8])
def test_a_robot_that_stands_on_impulses_never_loses_a_foot(share, armature):
    """With recovery, 1 ms; the C++ simulator with recovery: standard deviation 10 to 12 N. The start sways: skipped."""
    contact = rd.Impulse(friction=0.6, recovery=share / 1e-3)
    _, log = trot.run(PlantParams(contact=contact), armature, duration=4.0, trot=False)
    force = log.force[log.time > 2.0, :, 2]
    assert force.std(axis=0).max() < 0.5
    assert force.min() > 0.0


@pytest.mark.parametrize("contact", [rd.SpringDamper(friction=0.4), rd.Impulse(friction=0.4)], ids=["soft", "hard"])
def test_friction_is_the_same_in_all_directions(contact):
    """A point mass sliding on the plane goes equally far whichever way it is sent."""
    model = rd.load_urdf(BALL, floating_base=True)
    point = rd.points(model, {"b": [(0, 0, 0)]})
    ways = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 9):
        plant = rd.Plant(model, PlantParams(contact=contact), point)
        plant.reset(rd.neutral(model), [0, 0, 0, np.cos(angle), np.sin(angle), 0])
        plant.advance(1.0)
        ways.append(np.linalg.norm(plant.q[:2]))
    np.testing.assert_allclose(ways, ways[0], rtol=1e-9)


def slide(contact, speed, timestep):
    """Distance that a block on four points slides, and the distance by Coulomb."""
    model = rd.load_urdf(BALL, floating_base=True)
    feet = rd.points(model, {"b": [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]})
    plant = rd.Plant(model, PlantParams(timestep=timestep, contact=contact), feet)
    plant.advance(1.0)
    plant.reset(plant.q, [0, 0, 0, speed, 0, 0])
    farthest, start = 0.0, plant.q[0]
    for _ in range(round((speed / (0.4 * 9.81) + 0.1) / timestep)):
        plant.step()
        farthest = max(farthest, plant.q[0] - start)  # the tangential spring then takes it back by mu z
    return farthest, speed**2 / (2.0 * 0.4 * 9.81)


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("contact", [rd.SpringDamper(friction=0.4), rd.Impulse(friction=0.4)], ids=["soft", "hard"])
def test_sliding_distance_is_coulombs_at_1_ms(contact, speed):
    found, law = slide(contact, speed, 1e-3)
    assert found == pytest.approx(law, rel=1e-4)


@pytest.mark.parametrize("contact", [rd.SpringDamper(friction=0.5), rd.Impulse(friction=0.5)], ids=["soft", "hard"])
def test_a_block_slides_down_a_slope_as_coulomb_says(contact):
    """s = v0 t + g (sin a - mu cos a) t^2 / 2 once it slides."""
    angle = np.arctan(0.7)
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    model = rd.load_urdf(BALL, floating_base=True)
    feet = rd.points(model, {"b": [(x, y, -0.05) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]})
    plant = rd.Plant(model, PlantParams(contact=contact, terrain=(rd.Plane(0.0, tuple(normal)),)), feet)
    plant.reset([*(0.05 * normal), 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)], np.zeros(6))
    plant.advance(1.0)
    start, speed = plant.q[:3], plant.qd[3]
    plant.advance(1.0)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    assert (plant.q[:3] - start) @ down == pytest.approx(
        speed + 0.5 * 9.81 * (np.sin(angle) - 0.5 * np.cos(angle)), rel=1e-6
    )


def drift(model, seed, timestep):
    """Energy gained in 0.3 s by a limp robot in the air."""
    rng = np.random.default_rng(seed)
    plant = rd.Plant(model, PlantParams(timestep=timestep, terrain=(), stops=False))
    plant.reset(rd.random_configuration(model, rng), 2.0 * rng.standard_normal(model.nv))
    plant.advance(0.3)
    return plant.energy.total - plant.energy.initial


@pytest.mark.parametrize("floating", [False, True], ids=["arm", "quadruped"])
def test_energy_drift_without_contact_is_of_second_order(floating):
    """Halving the step quarters it: four legs on a fixed or on a floating base, over eight random motions."""
    model = rd.load_urdf(mini_cheetah.URDF, floating_base=floating)
    coarse, fine = (np.linalg.norm([drift(model, seed, h) for seed in range(8)]) for h in (1e-4, 5e-5))
    assert coarse / fine == pytest.approx(4.0, rel=0.1)


def test_momentum_of_a_whole_robot_is_conserved_in_flight():
    model = rd.load_urdf(mini_cheetah.URDF, floating_base=True)
    rng = np.random.default_rng(0)
    for gains in (0.0, 20.0):
        plant = rd.Plant(model, PlantParams())
        q = rd.random_configuration(model, rng)
        q[2] = 20.0
        plant.reset(q, rng.standard_normal(model.nv))
        plant.track(q[7:], np.zeros(12), gains, 0.05 * gains)
        plant.advance(1.0)
        assert plant.energy.momentum_error < 1e-9
        assert plant.energy.angular_momentum_error < 1e-9


DROP = """
import hashlib, sys
import numpy as np
import robot_dynamics as rd
model = rd.load_urdf(sys.argv[1], floating_base=True)
plant = rd.Plant(model, rd.PlantParams(contact=rd.Impulse()))
q = rd.neutral(model)
q[2] = 0.5
plant.reset(q, 0.3 * np.random.default_rng(7).standard_normal(model.nv))
plant.advance(1.0)
print(hashlib.sha256(plant.q.tobytes() + plant.qd.tobytes()).hexdigest())
"""


def test_another_process_computes_the_same_bytes():
    urdf = Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf"
    runs = [
        subprocess.run([sys.executable, "-c", DROP, str(urdf)], capture_output=True, text=True, check=True, timeout=280)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    assert len(runs[0].stdout.strip()) == len(hashlib.sha256().hexdigest())
