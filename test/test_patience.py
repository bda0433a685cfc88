# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A simulation waits for commands that are late, not for those that have ended."""

import numpy as np
import pytest

from robot_dynamics.control.guard import InputGuard
from robot_dynamics.control.patience import SPAN, Patience


def commanded(guard: InputGuard, at: float) -> None:
    """Let a command come that is stamped with the time."""
    assert guard.accept_named(guard.joints, (np.zeros(1),), at, at) is not None


def test_time_stands_from_the_age_on_and_goes_on_with_the_next_command():
    guard = InputGuard(["knee"], 0.1)
    patience = Patience([guard])
    assert not patience.runs_out(1.0, 0.02)  # nobody has commanded yet
    commanded(guard, 1.0)
    assert [patience.runs_out(1.0 + age, 0.02) for age in (0.0, 0.019, 0.021)] == [False, False, True]
    commanded(guard, 1.021)
    assert not patience.runs_out(1.021, 0.02)


def test_a_stream_that_was_given_up_is_waited_for_again_once_it_sends():
    guards = [InputGuard(["knee"], 0.1), InputGuard(["knee"], 0.1)]
    patience = Patience(guards)
    for guard in guards:
        commanded(guard, 1.0)
    commanded(guards[1], 1.03)
    patience.give_up(1.03, 0.02)
    assert not patience.runs_out(1.04, 0.02)
    assert patience.runs_out(1.06, 0.02)  # the other one is late
    commanded(guards[0], 1.06)
    commanded(guards[1], 1.06)
    assert patience.runs_out(1.09, 0.02)


def test_waits_are_worth_a_word_while_they_are_long_and_recent():
    patience = Patience([])
    patience.waited(0.5, 10.0)
    assert patience.share(10.0) == pytest.approx(0.5 / SPAN)
    patience.waited(0.01, 16.0)
    assert patience.share(16.0) == 0.0
    assert patience.total == pytest.approx(0.51)
