# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How nodes and commands read a robot: its base, and the friction of its joints."""

import numpy as np
import pytest
from urdf_text import joint_text, link_text, robot_text

from robot_dynamics.control.payload import Payloads
from robot_dynamics.control.robot import immovable, load_robot
from robot_dynamics.errors import ParameterError

MASS = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="5"/>'
STUCK = '<dynamics damping="0.5" friction="10000"/>'


def arm(root: str = "base", root_mass: str = MASS, fixed_mass: str = "") -> str:
    """A root, a link fixed to it, two joints, the second with friction, and one that follows the second."""
    links = (link_text(root, root_mass), link_text("plate", fixed_mass), *(link_text(name, MASS) for name in "abc"))
    follower = joint_text("b", "c", LIMIT, STUCK, '<mimic joint="y" multiplier="2"/>', kind="revolute", name="z")
    return robot_text(
        *links,
        joint_text(root, "plate", kind="fixed", name="f"),
        joint_text("plate", "a", LIMIT, kind="revolute", name="x"),
        joint_text("a", "b", LIMIT, STUCK, kind="revolute", name="y"),
        follower,
    )


@pytest.mark.parametrize(
    ("urdf", "floats"),
    [
        (arm(), True),
        (arm(root_mass="", fixed_mass=MASS), True),
        (arm(root_mass=""), False),
        (arm("world", "", MASS), False),
    ],
    ids=["mass", "mass fixed to it", "no mass", "world"],
)
def test_the_root_floats_if_it_has_a_mass_and_is_not_the_world(urdf, floats):
    assert load_robot(urdf).floating_base == floats
    assert not load_robot(urdf, floating_base=False).floating_base


def test_friction_that_no_motor_overcomes_is_named():
    assert immovable(load_robot(arm())) == ("joint 'y' has a friction of 30000 and an effort limit of 10",)
    assert immovable(load_robot(arm(), friction=[9.0])) == ()


def test_losses_of_the_urdf_are_replaced_for_all_joints_or_one_by_one_and_a_payload_keeps_them():
    """A mimic joint's are projected onto the one that it follows, unless that has losses of our own."""
    np.testing.assert_array_equal(load_robot(arm()).friction, [0.0, 30000.0])
    np.testing.assert_array_equal(load_robot(arm()).damping, [0.0, 2.5])
    np.testing.assert_array_equal(load_robot(arm(), friction=[0.2]).friction, [0.2, 0.2])
    model = load_robot(arm(), friction=[-1.0, 0.3], damping=[0.7, -1.0])
    np.testing.assert_array_equal(model.friction, [0.0, 0.3])
    np.testing.assert_array_equal(model.damping, [0.7, 2.5])
    loaded = Payloads(model).put("b", 1.0, np.zeros(3), np.eye(3))
    np.testing.assert_array_equal(loaded.friction, model.friction)
    with pytest.raises(ParameterError, match="'joint_friction' must have 1 or 2 values, got 3"):
        load_robot(arm(), friction=[1.0, 2.0, 3.0])
