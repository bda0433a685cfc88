# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Legs of any quadruped are found, stand, and trot."""

import copy

import numpy as np
import pytest
import quadrupeds
from quadrupeds import MINI_CHEETAH

import robot_dynamics as rd
from robot_dynamics.contact.impulse import Impulse
from robot_dynamics.contact.spring_damper import SpringDamper
from robot_dynamics.control.actuation import Actuation
from robot_dynamics.control.gait import Command, StandTrot, TrotParameters, diagonal_pairs, smooth
from robot_dynamics.control.limbs import Legs, crouch, find_legs, foot_positions, hip_positions, stretched
from robot_dynamics.control.simulation import Simulation, chosen_points, gains, home_pose
from robot_dynamics.errors import ModelError
from robot_dynamics.simulation.plant import Plant, PlantParams

FEET = {
    "mini_cheetah": {"FR_foot", "FL_foot", "HR_foot", "HL_foot"},
    "a1": {"FR_foot", "FL_foot", "RR_foot", "RL_foot"},
    "anymal_b": {"LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"},
}
ARM = """<robot name="arm"><link name="base"/><link name="tip">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 1"/><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.mark.parametrize("name", quadrupeds.NAMES)
def test_the_feet_are_the_outermost_contact_links_and_each_is_moved_by_its_own_leg(name):
    legs = find_legs(quadrupeds.model(name))
    assert {link.replace("_knee", "_foot") for link in legs.names} == FEET[name]
    assert (legs.joints.sum(axis=0) == 1).all()
    assert (legs.joints.sum(axis=1) == 3).all()


def test_feet_can_be_named():
    model = quadrupeds.model("mini_cheetah")
    names = find_legs(model).names
    assert find_legs(model, names[::-1]).names == names[::-1]


def test_no_feet_and_a_fixed_base_are_said_in_one_sentence():
    with pytest.raises(ModelError, match=r"a robot stands on 2 to 8 feet, 'arm' has 1 \(tip\).*valid names: base, tip"):
        find_legs(rd.load_urdf(ARM, floating_base=True))
    with pytest.raises(ModelError, match="fixed base"):
        find_legs(rd.load_urdf(MINI_CHEETAH))


@pytest.mark.parametrize("name", quadrupeds.EACH)
def test_the_stance_puts_every_foot_under_its_hip_within_the_joint_limits(name):
    model = quadrupeds.model(name)
    legs, stance = quadrupeds.stance(name)
    assert np.abs(foot_positions(legs, stance.joints) - stance.feet).max() < 1e-6
    assert stance.feet[:, :2] == pytest.approx(hip_positions(legs)[:, :2])
    assert (model.lower <= stance.joints).all()
    assert (stance.joints <= model.upper).all()
    assert stance.reach >= (hip_positions(legs) - foot_positions(legs, stretched(legs)))[:, 2].min() - 1e-12


@pytest.mark.parametrize("name", quadrupeds.EACH)
def test_the_crouch_bends_the_same_way_as_the_stance(name):
    legs, stance = quadrupeds.stance(name)
    low = crouch(legs, stance)
    assert (foot_positions(legs, low)[:, 2] > stance.feet[:, 2] + 0.2 * stance.reach).all()
    assert np.abs(low - stance.joints).max() < 1.5


def test_the_mini_cheetah_reaches_as_far_as_its_leg_is_long():
    assert quadrupeds.stance("mini_cheetah")[1].reach == pytest.approx(0.209 + 0.195, abs=0.006)


def test_diagonal_pairs():
    feet = np.array([[1, -1, 0], [1, 1, 0], [-1, -1, 0], [-1, 1, 0]], dtype=float)
    pair = diagonal_pairs(feet)
    assert pair[0] == pair[3] != pair[1] == pair[2]


def test_the_smooth_step_starts_and_ends_at_rest():
    assert smooth(-1.0) == (0.0, 0.0)
    assert smooth(2.0) == (1.0, 0.0)
    h = 1e-6
    assert (smooth(0.3 + h)[0] - smooth(0.3 - h)[0]) / (2 * h) == pytest.approx(smooth(0.3)[1], rel=1e-6)


@pytest.fixture(scope="module")
def mini_cheetah() -> StandTrot:
    return StandTrot(find_legs(quadrupeds.model("mini_cheetah")), TrotParameters(stand_time=1.0))


def test_it_rises_smoothly_stands_and_trots_on_request_until_the_cycle_ends(mini_cheetah):
    gait = mini_cheetah
    gait.trot = False
    gait.start(gait.stance.joints - 0.1, 0.0)
    assert gait.command(0.0).position == pytest.approx(gait.stance.joints - 0.1)
    assert gait.command(1.0).position == pytest.approx(gait.stance.joints)
    assert gait.phase == "standing"
    gait.trot = True
    assert gait.command(1.1).stance.all()
    assert gait.phase == "trotting"
    assert (~gait.command(1.1 + 0.35).stance).sum() == 2
    gait.trot = False
    gait.command(1.1 + 0.39)
    assert gait.phase == "trotting"
    gait.command(1.1 + 0.41)
    assert gait.phase == "standing"


def test_commanded_velocities_are_the_rate_of_commanded_positions(mini_cheetah):
    gait, h = mini_cheetah, 1e-4
    gait.trot = True
    gait.start(gait.stance.joints, 0.0)
    gait.command(1.0)
    gait.command(1.0)
    for t in np.arange(1.03, 1.4, 0.04):
        before, now, after = (gait.command(t + d) for d in (-h, 0.0, h))
        assert now.velocity == pytest.approx((after.position - before.position) / (2 * h), abs=0.02)


@pytest.mark.parametrize("steer", [(0.0, 0.0, 0.0), (0.2, -0.1, 0.0), (0.0, 0.0, 0.5), (0.1, 0.1, -0.3)])
def test_standing_feet_stay_where_they_are_while_the_base_moves_as_it_is_steered(mini_cheetah, steer):
    gait, h, compared = copy.deepcopy(mini_cheetah), 1e-3, 0
    gait.trot, gait.steer = True, np.array(steer)
    gait.start(gait.stance.joints, 0.0)
    gait.command(1.0)
    passing = np.array([*steer[:2], 0.0]) + np.cross([0.0, 0.0, steer[2]], gait.stance.feet)
    for t in np.arange(1.05, 2.0, 0.1):
        (before, stood), (after, stand) = (feet_of(gait.legs, gait.command(t + d)) for d in (0.0, h))
        both = stood & stand
        np.testing.assert_allclose((after - before)[both] / h, -passing[both], atol=2e-3)
        compared += both.sum()
    assert compared >= 18


def feet_of(legs: Legs, c: Command) -> tuple[np.ndarray, np.ndarray]:
    """Places of the feet in base axes, and which stand."""
    return rd.point_position(legs.model, legs.feet, np.concatenate([(0, 0, 0, 0, 0, 0, 1), c.position])), c.stance


def test_standing_feet_carry_the_weight(mini_cheetah):
    gait = mini_cheetah
    model = gait.legs.model
    gait.trot = False
    gait.start(gait.stance.joints, 0.0)
    command = gait.command(2.0)
    q = np.concatenate([(0, 0, 0, 0, 0, 0, 1), command.position])
    J = rd.point_jacobian(model, gait.legs.feet, q)
    force = np.array([0.0, 0.0, 9.81 * model.mass / 4])
    assert command.effort == pytest.approx(-np.einsum("kiv,i->v", J, force)[6:])


def run(name: str, contact: SpringDamper | Impulse, until: float, trot_from: float) -> np.ndarray:
    """Stand up from a crouch and trot; returns per tick base height, tilt, total vertical force."""
    model = quadrupeds.model(name)
    points = chosen_points(model, ())
    plant = Plant(model, PlantParams(timestep=1e-3, contact=contact), points)
    kp, kd = gains(model, [0.0], [0.0])
    actuation = Actuation(model.joint_names, kp, kd, timeout=0.1, action="hold", limit=model.effort_limit)
    simulation = Simulation(plant, actuation, home_pose(model, "crouch", {}, points, 0.0), 0.002)
    gait = StandTrot(find_legs(model), TrotParameters(stand_time=0.8))
    gait.start(simulation.joints, simulation.time)
    rows = []
    while simulation.time < until:
        gait.trot = simulation.time > trot_from
        c, now = gait.command(simulation.time), simulation.time
        actuation.set_target(model.joint_names, c.position, c.velocity, c.effort, now, now)
        assert simulation.tick(), simulation.problem
        q = plant.q
        up = 1.0 - 2.0 * (q[3] ** 2 + q[4] ** 2)
        rows.append((q[2], np.arccos(min(up, 1.0)), plant.contacts.force_world[:, 2].sum()))
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", quadrupeds.NAMES)
@pytest.mark.parametrize("contact", [SpringDamper(), Impulse()], ids=["spring_damper", "impulse"])
def test_it_stands_up_from_a_crouch_and_trots_without_falling(name, contact):
    rows = run(name, contact, until=4.2, trot_from=2.4)
    model = quadrupeds.model(name)
    _, stance = quadrupeds.stance(name)
    times = 1.0 + 0.002 * np.arange(1, len(rows) + 1)
    standing = (times > 2.2) & (times < 2.4)
    assert rows[standing, 0] == pytest.approx(stance.height, rel=0.02)
    assert rows[standing, 2].mean() == pytest.approx(9.81 * model.mass, rel=0.005)
    trotting = rows[times > 2.4]
    assert trotting[:, 0].min() > 0.95 * stance.height
    assert trotting[:, 1].max() < np.radians(6.0)
    assert rows[times > 3.0, 2].mean() == pytest.approx(9.81 * model.mass, rel=0.03)
