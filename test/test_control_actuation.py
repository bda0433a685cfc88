# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the joints are told while commands come, stop, and come again."""

import numpy as np
import pytest

from robot_dynamics.control.actuation import Actuation, Drive
from robot_dynamics.errors import ParameterError

JOINTS = ("a", "b")
Q = np.array([0.3, -0.4])
NONE = np.zeros(0)


def actuation(action: str = "hold", **options) -> Actuation:
    made = Actuation(JOINTS, 100.0, 2.0, timeout=0.1, action=action, **options)
    made.reset(Q)
    return made


def effort(drive: Drive, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return drive.kp * (drive.position - q) + drive.kd * (drive.velocity - qd) + drive.effort


def test_it_holds_the_pose_until_the_first_command():
    a = actuation()
    drive = a.drive(1.0, Q + 0.1)
    assert a.state == "holding"
    assert effort(drive, Q, np.zeros(2)).tolist() == [0.0, 0.0]
    assert effort(drive, Q + 0.1, np.zeros(2)) == pytest.approx([-10.0, -10.0])


def test_it_follows_targets_by_name_and_adds_their_effort():
    a = actuation()
    assert a.set_target(["b", "a"], np.array([2.0, 1.0]), np.array([0.2, 0.1]), np.array([20.0, 10.0]), 1.0, 1.0)
    drive = a.drive(1.0, Q)
    assert a.state == "following"
    assert drive.position.tolist() == [1.0, 2.0]
    assert drive.velocity.tolist() == [0.1, 0.2]
    assert drive.effort.tolist() == [10.0, 20.0]


def test_what_a_target_leaves_out_is_not_controlled():
    a = actuation()
    a.set_target(["a"], NONE, NONE, np.array([7.0]), 1.0, 1.0)
    assert effort(a.drive(1.0, Q), Q + 1.0, np.ones(2)).tolist() == [7.0, 0.0]
    a.set_target(["b"], NONE, np.array([1.0]), NONE, 1.0, 1.0)
    assert effort(a.drive(1.0, Q), Q + 1.0, np.zeros(2)).tolist() == [0.0, 2.0]


def test_new_gains_act_on_the_target_that_is_there_where_it_is_controlled():
    a = actuation()
    a.set_target(["a"], np.array([1.0]), np.array([0.5]), NONE, 1.0, 1.0)
    a.set_gains(np.array([10.0, 20.0]), np.array([0.1, 0.2]))
    drive = a.drive(1.0, Q)
    assert (drive.kp.tolist(), drive.kd.tolist()) == ([10.0, 0.0], [0.1, 0.0])
    a.set_target(["b"], NONE, np.array([1.0]), NONE, 1.01, 1.01)
    drive = a.drive(1.01, Q)
    assert (drive.kp.tolist(), drive.kd.tolist()) == ([0.0, 0.0], [0.0, 0.2])


def test_gains_that_the_commander_sends_count_for_its_targets_and_not_for_the_hold():
    a = actuation()
    assert a.set_own_gains(["b", "a"], np.array([20.0, 10.0]), np.array([0.2, 0.0]), 1.0, 1.0)
    a.set_target(JOINTS, Q, np.zeros(2), NONE, 1.0, 1.0)
    assert [x.tolist() for x in a.drive(1.0, Q)[2:4]] == [[10.0, 20.0], [0.0, 0.2]]
    assert a.set_own_gains(["a"], np.array([0.0]), NONE, 1.01, 1.01)
    assert [x.tolist() for x in a.drive(1.01, Q)[2:4]] == [[0.0, 20.0], [0.0, 0.2]]
    assert a.set_own_gains(["a"], np.array([30.0]), np.array([0.3]), 1.02, 1.02)
    assert [x.tolist() for x in a.drive(1.02, Q)[2:4]] == [[30.0, 20.0], [0.3, 0.2]]
    held = a.drive(2.0, Q)
    assert a.state == "timed out"
    assert (held.kp.tolist(), held.kd.tolist()) == ([100.0, 100.0], [2.0, 2.0])
    a.reset(Q)
    a.set_target(JOINTS, Q, np.zeros(2), NONE, 3.0, 3.0)
    assert a.drive(3.0, Q).kp.tolist() == [100.0, 100.0]


@pytest.mark.parametrize(
    ("names", "kp", "kd", "cause"),
    [
        (JOINTS, [-1.0, 1.0], [], "negative gain"),
        (JOINTS, [], [1.0, -1.0], "negative gain"),
        (JOINTS, [np.nan, 1.0], [], "not finite"),
        (JOINTS, [1.0], [], "wrong length"),
        (("a", "elbow"), [1.0, 1.0], [], "unknown joint"),
    ],
)
def test_gains_that_cannot_be_are_refused_and_change_nothing(names, kp, kd, cause):
    a = actuation()
    assert not a.set_own_gains(names, np.array(kp), np.array(kd), 1.0, 1.0)
    assert a.gains.counts == {cause: 1}
    a.set_target(JOINTS, Q, np.zeros(2), NONE, 1.0, 1.0)
    assert a.drive(1.0, Q).kp.tolist() == [100.0, 100.0]


def test_efforts_without_names_come_in_the_order_of_the_parameter():
    a = actuation(order=("b", "a"))
    a.set_effort(np.array([2.0, 1.0]), 1.0)
    assert a.drive(1.0, Q).effort.tolist() == [1.0, 2.0]


def test_targets_and_efforts_add_up_and_are_clamped_together():
    a = actuation(limit=5.0)
    a.set_target(JOINTS, Q, NONE, np.array([4.0, -4.0]), 1.0, 1.0)
    a.set_effort(np.array([4.0, 1.0]), 1.0)
    assert a.drive(1.0, Q).effort.tolist() == [5.0, -3.0]


@pytest.mark.parametrize("action", ["hold", "zero", "damp", "pause"])
def test_a_silent_commander_leads_to_the_action_and_a_new_command_recovers(action):
    a = actuation(action)
    a.set_target(JOINTS, Q, NONE, NONE, 1.0, 1.0)
    assert a.drive(1.09, Q).position.tolist() == Q.tolist()
    assert a.state == "following"
    drive = a.drive(1.11, Q + 1.0)
    assert a.state == "timed out"
    assert a.pausing == (action == "pause")
    expected = {"hold": [-12.0, -12.0], "zero": [0.0, 0.0], "damp": [-2.0, -2.0], "pause": [-12.0, -12.0]}
    assert effort(drive, Q + 1.1, np.ones(2)) == pytest.approx(expected[action])
    a.set_target(JOINTS, Q, NONE, NONE, 1.2, 1.2)
    a.drive(1.2, Q)
    assert a.state == "following"


def test_stale_efforts_are_dropped_while_targets_keep_coming():
    a = actuation()
    a.set_effort(np.array([5.0, 5.0]), 1.0)
    a.set_target(JOINTS, Q, NONE, NONE, 1.15, 1.15)
    assert a.drive(1.15, Q).effort.tolist() == [0.0, 0.0]
    assert a.state == "following"


def test_stale_targets_are_not_saved_by_fresh_efforts():
    a = actuation()
    a.set_target(JOINTS, Q, NONE, NONE, 1.0, 1.0)
    a.set_effort(np.array([5.0, 5.0]), 1.15)
    a.drive(1.15, Q)
    assert a.state == "timed out"


def test_the_emergency_stop_damps_and_obeys_no_command_until_released():
    a = actuation()
    a.stop(True)
    a.set_target(JOINTS, Q + 1.0, NONE, NONE, 1.0, 1.0)
    assert effort(a.drive(1.0, Q), Q, np.ones(2)).tolist() == [-2.0, -2.0]
    a.stop(False)
    assert effort(a.drive(1.0, Q), Q, np.zeros(2)).tolist() == [0.0, 0.0]
    assert a.state == "holding"


def test_a_command_that_came_too_late_is_refused_with_the_parameter_that_decides():
    a = actuation()
    assert not a.set_target(JOINTS, Q, NONE, NONE, 1.0, 1.101)
    assert "stamp 1.000 s is 0.101 s old at 1.101 s, command_timeout is 0.1 s" in a.targets.problem


@pytest.mark.parametrize("bad", [np.array([np.nan, 0.0]), np.array([1.0])])
def test_bad_commands_change_nothing(bad):
    a = actuation()
    assert not a.set_effort(bad, 1.0)
    assert not a.set_target(JOINTS, bad, NONE, NONE, 1.0, 1.0)
    a.drive(1.0, Q)
    assert a.state == "holding"


def test_a_reset_forgets_commands():
    a = actuation()
    a.set_effort(np.ones(2), 1.0)
    a.reset(Q)
    assert a.drive(1.0, Q).effort.tolist() == [0.0, 0.0]


def test_gains_are_one_or_one_per_joint():
    with pytest.raises(ParameterError, match="'kp' must have 1 or 2 values"):
        Actuation(JOINTS, [1.0, 2.0, 3.0], 1.0, timeout=0.1, action="hold")
