# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Suggested spring-damper parameters: the robot sags and rebounds as asked, the limits of the explicit scheme hold."""

import json
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.cli import main
from robot_dynamics.cli.robots import load_robot, standing
from robot_dynamics.contact.suggest import damping_ratio, rebound, stable_step, suggest
from robot_dynamics.control.gait import joint_gains
from robot_dynamics.errors import ParameterError
from robot_dynamics.simulation.rebound import measured_bounce, tuned

URDF = Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf"
BODY = (
    '<robot name="b"><link name="b"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)
WANTED = {"timestep": 1e-3, "sag": 1.5e-3, "bounce": 0.3, "speed": 1.0, "scheme": "implicit"}


@pytest.fixture(scope="module")
def stance():
    model = load_robot(URDF)
    return model, *standing(model)


def held(model, feet, q, contact, timestep):
    """The robot on its feet, held in its stance."""
    plant = rd.Plant(model, rd.PlantParams(timestep=timestep, contact=contact), feet)
    plant.reset(q, np.zeros(model.nv))
    kp, kd = joint_gains(model, 0.4)
    effort = -rd.point_jacobian(model, feet, q)[:, 2, 6:].sum(axis=0) * model.mass * 9.81 / len(feet)
    plant.track(q[7:], np.zeros(12), kp, kd, effort)
    return plant


@pytest.mark.parametrize("beta", [0.01, 0.1])
def test_little_damping_loses_the_work_of_the_damper_along_the_undamped_way(beta):
    """1 - e^2 = 4 beta int sqrt(x (1 - 4/5 x^(5/2))) dx = 1.6 (5/4)^(3/5) B(3/5, 3/2) beta to first order."""
    integral = 0.4 * 1.25**0.6 * 1.2610708
    assert 1.0 - rebound(beta)[0] ** 2 == pytest.approx(4.0 * beta * integral, rel=2.0 * beta)


def test_without_damping_nothing_is_lost_and_all_energy_is_in_the_spring_at_the_deepest():
    e, depth, _ = rebound(0.0)
    assert e == pytest.approx(1.0, abs=1e-5)
    assert 0.4 * depth**2.5 == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("bounce", [0.01, 0.3, 0.99])
def test_damping_ratio_is_the_inverse_of_rebound(bounce):
    assert rebound(damping_ratio(bounce))[0] == pytest.approx(bounce, abs=1e-5)


@pytest.mark.slow
def test_the_robot_sags_as_asked(stance):
    model, feet, q = stance
    found = suggest(model, feet, q, **WANTED)
    plant = held(model, feet, q, rd.SpringDamper(found.stiffness, found.damping), 1e-3)
    plant.advance(3.0)
    assert np.mean(plant.contacts.depth) == pytest.approx(WANTED["sag"], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("bounce", [0.1, 0.5])
def test_a_foot_rebounds_as_asked(stance, bounce):
    """One foot, no friction; the robot moves as a vertical blow on that foot makes it move, less its free fall."""
    model, feet, q = stance
    speed = 3.0
    found = suggest(model, feet, q, **{**WANTED, "bounce": bounce, "speed": speed})
    foot = rd.Points(feet.body[:1], feet.position[:1], feet.link[:1], feet.radius[:1])
    blow = rd.test_force_response(model, foot, q)[0, 2]
    contact = rd.SpringDamper(found.stiffness, found.damping, friction=0.0)
    plant = rd.Plant(model, rd.PlantParams(timestep=2e-5, contact=contact), foot)
    plant.reset(q, -speed * blow / rd.contact_inertia_inverse(model, foot, q)[2, 2])
    assert plant.contacts.velocity[0, 2] == pytest.approx(-speed)
    deepest, force = 0.0, 1.0
    while force > 0.0:
        plant.step()
        deepest, force = max(deepest, plant.contacts.depth[0]), plant.contacts.force_world[0, 2]
    rebound_speed = plant.contacts.velocity[0, 2] + 9.81 * plant.time
    assert rebound_speed == pytest.approx(bounce * speed, abs=0.03 * speed)
    assert deepest == pytest.approx(found.depth, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounce", "way", "margin"),
    [(0.05, 5, 0.03), (0.2, 5, 0.03), (0.9, 3, 0.2)],
    ids=["damper", "spring", "deflection"],
)
def test_the_explicit_scheme_stands_still_below_its_limit_and_shakes_above(bounce, way, margin):
    """Body on one point, disturbed upwards where damper or spring set the limit, sideways where the deflection does."""
    model = rd.load_urdf(BODY, floating_base=True)
    foot, q = rd.points(model, {"b": [(0.0, 0.0, 0.0)]}), rd.neutral(model)
    found = suggest(model, foot, q, **{**WANTED, "bounce": bounce})
    contact = rd.SpringDamper(found.stiffness, found.damping, scheme="explicit")
    q[2] = -WANTED["sag"]
    speeds = []
    for share in (1.0 - margin, 1.0 + margin):
        plant = rd.Plant(model, rd.PlantParams(timestep=share * found.standing_limit, contact=contact), foot)
        plant.reset(q, 1e-6 * np.eye(6)[way])
        plant.advance(20000 * plant.params.timestep)
        speeds.append(np.abs(plant.qd).max())
    assert speeds[0] < 1e-6
    assert speeds[1] > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("timestep", [5e-4, 1e-3, 2e-3])
def test_the_plant_rebounds_as_asked_at_the_timestep_it_is_for(stance, timestep):
    """Also where a blow takes few steps, which lose more than the law does."""
    found = suggest(*stance, **{**WANTED, "bounce": 0.2, "timestep": timestep})
    before = measured_bounce(*stance, found, timestep, "implicit")
    found = tuned(*stance, found, timestep=timestep, scheme="implicit")
    assert before < 0.18
    assert measured_bounce(*stance, found, timestep, "implicit") == pytest.approx(0.2, abs=2e-3)


@pytest.mark.slow
def test_in_short_steps_the_plant_rebounds_as_the_law_does(stance):
    found = suggest(*stance, **WANTED)
    assert measured_bounce(*stance, found, 1e-5, "implicit") == pytest.approx(0.3, abs=0.02)


def test_a_bounce_that_a_blow_of_few_steps_cannot_have_is_refused(stance):
    found = suggest(*stance, **{**WANTED, "bounce": 0.9})
    with pytest.raises(
        ParameterError, match=r"bounce 0\.9 is beyond a timestep of 1 ms: a blow at 1 m/s takes .* steps"
    ):
        tuned(*stance, found, timestep=1e-3, scheme="implicit")


def test_stable_step_is_below_both_limits_of_a_damper_and_a_spring():
    K, D, z, w = 5e5, 5e3, 2e-3, 13.6
    h = stable_step(K, D, z, w)
    assert h < 2.0 / (D * np.sqrt(z) * w)
    assert h < 2.0 / np.sqrt(1.5 * K * np.sqrt(z) * w)
    assert stable_step(1e-9, D, z, w) == pytest.approx(2.0 / (D * np.sqrt(z) * w))
    assert stable_step(K, 1.0, z, w) == 1.0 / K


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"bounce": 1.0}, "bounce must be at least 0.01 and at most 0.99"),
        ({"sag": 0.0}, "sag must be above 0"),
        ({"timestep": float("nan")}, "timestep must be above 0"),
        ({"speed": -1.0}, "speed must be above 0"),
        ({"bounce": 0.05, "scheme": "explicit"}, "unstable at a timestep of 1 ms with scheme 'explicit': stable below"),
    ],
)
def test_impossible_wishes_are_refused_with_numbers(stance, changed, sentence):
    with pytest.raises(ParameterError, match=sentence):
        suggest(*stance, **{**WANTED, **changed})


def test_a_robot_without_feet_is_refused(stance):
    model, _, q = stance
    none = rd.Points(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), (), np.zeros(0))
    with pytest.raises(ParameterError, match="at least one contact point"):
        suggest(model, none, q, **WANTED)


def command(capsys, *options):
    code = main(["suggest-contact", str(URDF), "--timestep", "1e-3", "--sag", "1e-3", *options])
    return code, *capsys.readouterr()


def test_command_prints_what_the_library_says(capsys, stance):
    code, out, _ = command(capsys, "--bounce", "0.2", "--json")
    assert code == 0
    printed = json.loads(out)
    found = suggest(*stance, **{**WANTED, "sag": 1e-3, "bounce": 0.2})
    found = tuned(*stance, found, timestep=1e-3, scheme="implicit")
    assert printed["stiffness"] == found.stiffness
    assert printed["parameters"]["damping"] == pytest.approx(found.damping, rel=1e-3)
    code, out, _ = command(capsys, "--bounce", "0.2")
    assert code == 0
    assert f"    damping: {printed['parameters']['damping']}\n" in out
    assert max(map(len, out.splitlines())) <= 100


def test_command_refuses_in_one_sentence(capsys):
    code, out, err = command(capsys, "--bounce", "0.05", "--scheme", "explicit")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "ms standing and" in err


def test_other_robots_stand_on_their_lowest_points():
    model = load_robot(URDF)
    feet, q = standing(model, ["FR_knee", "FL_knee"])
    assert feet.link == ("FR_knee", "FL_knee")
    height = rd.point_position(model, feet, q)[:, 2] - feet.radius
    np.testing.assert_allclose(height, 0.0, atol=1e-9)
