# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Commands by joint and interface do what targets and gains by joint name do, or nothing."""

import numpy as np
import pytest

from robot_dynamics.control.actuation import Actuation, Drive
from robot_dynamics.control.interfaces import INTERFACES, columns_from_interfaces

JOINTS = tuple("abcdef")
ALL = list(INTERFACES)
ONES = [1.0] * 5


def actuation() -> Actuation:
    made = Actuation(JOINTS, 100.0, 2.0, timeout=0.1, action="hold")
    made.reset(np.zeros(6))
    return made


def given(a: Actuation, names, interfaces, now: float = 1.0) -> Drive:
    """Give one message to the actuation and answer what it does then."""
    columns = columns_from_interfaces(names, interfaces, a.targets)
    if columns is not None:
        position, velocity, effort, *own = columns
        a.set_target(names, position, velocity, effort, 0.0, now, own)
    return a.drive(now, np.zeros(6))


@pytest.mark.parametrize("seed", range(20))
def test_one_message_does_what_gains_and_targets_do_in_two(seed):
    rng = np.random.default_rng(seed)
    names = rng.permutation(JOINTS)[: rng.integers(1, 7)].tolist()
    quantities = [name for name in INTERFACES if rng.random() < 0.7] or ["position"]
    values = {name: rng.uniform(0.0, 9.0, len(names)) for name in quantities}
    other = {"kp": "stiffness", "kd": "damping"} if seed % 2 else {}
    interfaces = []
    for i in range(len(names)):
        order = rng.permutation(quantities).tolist()
        interfaces.append(([other.get(name, name) for name in order], [values[name][i] for name in order]))

    a, b = actuation(), actuation()
    position, velocity, effort, kp, kd = (values.get(name, np.zeros(0)) for name in INTERFACES)
    assert b.set_own_gains(names, kp, kd, 0.0, 1.0)
    assert b.set_target(names, position, velocity, effort, 0.0, 1.0)
    for mine, its in zip(given(a, names, interfaces), b.drive(1.0, np.zeros(6)), strict=True):
        np.testing.assert_array_equal(mine, its)
    for x in (a, b):  # the gains count for targets that come without them, too
        assert x.set_target(JOINTS, np.ones(6), np.ones(6), np.zeros(0), 0.0, 1.01)
    assert [x.tolist() for x in a.drive(1.01, np.zeros(6))] == [x.tolist() for x in b.drive(1.01, np.zeros(6))]


@pytest.mark.parametrize(
    ("names", "interfaces", "cause", "sentence"),
    [
        ("ab", [(ALL, ONES)], "wrong length", "2 joints need as many lists of interfaces, got 1"),
        ("a", [(ALL, ONES[1:])], "wrong length", "'a' names 5 interfaces and gives 4 values"),
        ("ab", [(ALL, ONES), (ALL[:4], ONES[:4])], "wrong length", "1 of 2 joints give kd; the joints of a message"),
        ("a", [([], [])], "wrong length", "no values given"),
        ("", [], "wrong length", "no values given"),
        (
            "a",
            [(["position", "torque"], [1.0, 1.0])],
            "unknown interface",
            "'a' has no interface 'torque'; valid names",
        ),
        (
            "a",
            [(["kp", "stiffness"], [1.0, 1.0])],
            "duplicate interface",
            "'a' gives one interface twice: kp, stiffness",
        ),
        ("az", [(ALL, ONES)] * 2, "unknown joint", "'z' is not a joint"),
        ("aa", [(ALL, ONES)] * 2, "duplicate joint", "'a' is named twice"),
        *(("a", [(ALL, [*ONES[:i], np.nan, *ONES[i + 1 :]])], "not finite", "not a number") for i in range(5)),
        ("a", [(ALL, [1.0, 1.0, 1.0, -1.0, 1.0])], "negative gain", "gains must be 0 or more, got -1"),
        ("a", [(ALL, [1.0, 1.0, 1.0, 1.0, -1.0])], "negative gain", "gains must be 0 or more, got -1"),
    ],
)
def test_what_cannot_be_is_refused_whole(names, interfaces, cause, sentence):
    a = actuation()
    before = given(a, ["a"], [(ALL, [0.1, 0.2, 0.3, 10.0, 0.5])])
    after = given(a, list(names), interfaces, 1.01)
    assert a.targets.counts == {cause: 1}
    assert sentence in a.targets.problem
    assert [x.tolist() for x in after] == [x.tolist() for x in before]
    a.set_target(["a"], np.ones(1), np.ones(1), np.zeros(0), 0.0, 1.02)
    assert [x[0] for x in a.drive(1.02, np.zeros(6))] == [1.0, 1.0, 10.0, 0.5, 0.0]
