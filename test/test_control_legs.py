# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Robots on other than four legs: found, put into a stance, carried by the feed-forward, estimated."""

import numpy as np
import pytest
import quadrupeds
from robot_files import FILES, robot_file

import robot_dynamics as rd
from robot_dynamics.control.feedforward import Feedforward
from robot_dynamics.control.gait import StandTrot
from robot_dynamics.control.limbs import configuration, crouch, find_four_legs, find_legs, find_stance, foot_positions
from robot_dynamics.errors import ModelError

INERTIAL = '<inertial><mass value="{}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>'
LIMIT = '<limit lower="-2.6" upper="2.6" effort="50" velocity="20"/>'


def legged(count: int, deeper: int = 0, arm: bool = False) -> rd.Model:
    """A base on legs of three joints around it, the first `deeper` of four; perhaps with an arm on top."""
    parts = [f'<link name="base">{INERTIAL.format(6, i=0.1)}</link>']

    def link(name, parent, place, axis, foot=""):
        parts.append(f'<link name="{name}">{INERTIAL.format(0.2, i=1e-3)}{foot}</link>')
        parts.append(
            f'<joint name="j_{name}" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{place}"/><axis xyz="{axis}"/>{LIMIT}</joint>'
        )

    ball = '<collision><origin xyz="0 0 {z}"/><geometry><sphere radius="0.02"/></geometry></collision>'
    for i in range(count):
        x, y = 0.3 * np.cos(2 * np.pi * (i + 0.5) / count), 0.3 * np.sin(2 * np.pi * (i + 0.5) / count)
        link(f"hip{i}", "base", f"{x} {y} 0", "1 0 0")
        link(f"thigh{i}", f"hip{i}", "0 0 0", "0 1 0")
        link(f"shin{i}", f"thigh{i}", "0 0 -0.2", "0 1 0", "" if i < deeper else ball.format(z=-0.2))
        if i < deeper:
            link(f"toe{i}", f"shin{i}", "0 0 -0.15", "0 1 0", ball.format(z=-0.05))
    if arm:
        link("shoulder", "base", "0 0 0.2", "0 1 0")
        link("hand", "shoulder", "0 0 0.2", "0 1 0", ball.format(z=0.1))
    return rd.load_urdf(f'<robot name="legged">{"".join(parts)}</robot>', floating_base=True)


@pytest.mark.parametrize(
    ("count", "deeper", "arm"), [(2, 0, True), (3, 0, False), (5, 2, False), (6, 0, True), (8, 3, False)]
)
def test_legs_of_any_number_and_depth_are_found_and_stand(count, deeper, arm):
    model = legged(count, deeper, arm)
    legs = find_legs(model)
    assert len(legs.feet) == count
    assert sorted(legs.joints.sum(axis=1)) == sorted([4] * deeper + [3] * (count - deeper))
    assert "hand" not in legs.names
    stance = find_stance(legs)
    assert np.abs(foot_positions(legs, stance.joints) - stance.feet).max() < 1e-6
    assert (foot_positions(legs, crouch(legs, stance))[:, 2] > stance.feet[:, 2] + 0.05).all()
    gait = StandTrot(legs)
    gait.trot = True
    gait.start(stance.joints - 0.1, 0.0)
    command = gait.command(5.0)
    assert (gait.phase, gait.trots) == ("standing", False)
    assert command.position == pytest.approx(gait.stance.joints)
    assert command.stance.shape == (count,)


@pytest.mark.parametrize("count", [3, 6])
def test_the_weight_is_shared_among_all_feet(count):
    legs = find_legs(legged(count))
    q = configuration(find_stance(legs).joints)
    feedforward = Feedforward(legs.model, "stance", q, np.zeros(legs.model.nv), legs.feet)
    forces = feedforward.solve(np.ones(count, dtype=bool)).forces
    assert forces[:, 2].sum() == pytest.approx(9.81 * legs.model.mass, rel=1e-3)
    assert (forces[:, 2] > 0.0).all()


@pytest.mark.parametrize("count", [2, 8])
def test_a_base_on_any_number_of_feet_is_estimated(count):
    legs = find_legs(legged(count))
    stance, rest = find_stance(legs), np.zeros(len(legs.model.joint_names))
    estimator = rd.BaseEstimator(legs.model, legs.feet)
    for _ in range(300):
        estimator.update(1e-3, stance.joints, rest, rest, np.zeros(3), [0.0, 0.0, 9.81], np.full(count, 30.0))
    assert estimator.standing.all()
    assert estimator.pose[2] == pytest.approx(stance.height, abs=1e-3)
    assert np.linalg.eigvalsh(estimator.covariance).min() > 0.0


def test_a_trot_asks_for_four():
    with pytest.raises(ModelError, match="a trot needs four feet, 'legged' has 3"):
        find_four_legs(legged(3))
    assert find_four_legs(quadrupeds.model("mini_cheetah")).names == find_legs(quadrupeds.model("mini_cheetah")).names
    with pytest.raises(ModelError, match="a robot stands on 2 to 8 feet, 'legged' has 9"):
        find_legs(legged(9))


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    ("stem", "feet"),
    [("bolt", ("FL_FOOT", "FR_FOOT")), ("g1_29dof_rev_1_0", ("left_ankle_roll_link", "right_ankle_roll_link"))],
)
def test_bipeds_stand_on_their_feet_not_on_their_hands(stem, feet):
    legs = find_legs(rd.load_urdf(robot_file(stem), floating_base=True))
    assert legs.names == feet
    assert find_stance(legs).height > 0.3
