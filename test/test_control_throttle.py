# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A warning is said once per kind and period, however its numbers and names change."""

import pytest

from robot_dynamics.control.guard import InputGuard
from robot_dynamics.control.recent import Recent
from robot_dynamics.control.throttle import Throttle


@pytest.mark.parametrize(
    "sentences",
    [
        ("stamp 1.234 s is 0.2 s old at 1.434 s", "stamp 10.5 s is 1e-05 s old at -3.1e+09 s"),
        ("'elbow' is not a joint", "'shoulder' is not a joint"),
        ("value 3 is not finite", "value 11 is not finite"),
    ],
)
def test_sentences_that_differ_in_names_and_numbers_are_one_kind(sentences):
    throttle = Throttle(2.0)
    assert [throttle.passes(sentence, 0.1 * i) for i, sentence in enumerate(sentences)] == [True, False]
    assert throttle.passes(sentences[1], 2.5)


def test_another_kind_passes_at_once():
    throttle = Throttle(2.0)
    assert throttle.passes("joint_states refused: value 3 is not finite", 0.0)
    assert throttle.passes("joint_states refused: expected 12 values, got 3", 0.0)
    assert throttle.passes("odom refused: value 3 is not finite", 0.0)


def test_a_thousand_stale_messages_are_one_warning():
    throttle, inputs, said = Throttle(2.0), InputGuard(("a",), 0.1), 0
    for i in range(1000):
        now = 5.0 + 1e-3 * i
        assert inputs.accept_named(("a",), (), now - 0.5 - 1e-5 * i, now) is None
        said += throttle.passes(f"joint_states {inputs.problem}", now)
    assert said == 1


def test_counts_that_have_grown_are_named_for_a_while():
    recent = Recent(5.0)
    assert recent.grown({"a": 0}, 100.0) == []
    assert recent.grown({"a": 1}, 101.0) == ["a"]
    assert recent.grown({"a": 1, "b": 2}, 105.9) == ["a", "b"]
    assert recent.grown({"a": 1, "b": 2}, 106.1) == ["b"]
    assert recent.grown({"a": 2, "b": 2}, 200.0) == ["a"]
    assert recent.grown({"a": 0, "b": 2}, 300.0) == [], "it was counted anew"
    assert recent.grown({"a": 1, "b": 2}, 301.0) == ["a"]
