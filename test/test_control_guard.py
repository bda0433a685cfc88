# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a guard lets through, what it refuses and counts, and what a limiter lets out."""

import numpy as np
import pytest

from robot_dynamics.control import guard
from robot_dynamics.control.guard import EffortLimiter, InputGuard
from robot_dynamics.errors import ParameterError, ShapeError

JOINTS = ("a", "b", "c")
GOOD = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def inputs() -> InputGuard:
    return InputGuard(JOINTS, max_age=0.1)


def test_joints_are_matched_by_name(inputs):
    where = inputs.accept_named(["c", "a"], (np.array([3.0, 1.0]),), 5.0, 5.0)
    values = np.zeros(3)
    values[where] = [3.0, 1.0]
    assert values.tolist() == [1.0, 0.0, 3.0]
    assert inputs.accepted == 1


def test_a_quantity_may_be_left_out(inputs):
    assert inputs.accept_named(JOINTS, (GOOD, np.zeros(0)), 5.0, 5.0) is not None


@pytest.mark.parametrize(
    ("names", "column", "stamp", "cause"),
    [
        (("a", "b", "x"), GOOD, 5.0, guard.UNKNOWN),
        (("a", "b", "b"), GOOD, 5.0, guard.DUPLICATE),
        ((), np.zeros(0), 5.0, guard.LENGTH),
        (JOINTS, GOOD[:2], 5.0, guard.LENGTH),
        (JOINTS, np.array([1.0, np.nan, 3.0]), 5.0, guard.NOT_FINITE),
        (JOINTS, np.array([1.0, np.inf, 3.0]), 5.0, guard.NOT_FINITE),
        (JOINTS, np.array([1e300, -1e300, 3.0]), 5.0, guard.NOT_FINITE),
        (JOINTS, GOOD, 4.8, guard.STALE),
        (JOINTS, GOOD, 5.2, guard.FUTURE),
    ],
)
def test_a_fault_is_refused_and_counted_by_its_cause(inputs, names, column, stamp, cause):
    assert inputs.accept_named(names, (column,), stamp, 5.0) is None
    assert dict(inputs.counts) == {cause: 1}
    assert inputs.problem.startswith("refused: ")
    assert inputs.receipt is None
    assert inputs.stale(5.0)


def test_values_below_the_largest_are_taken_however_many(inputs):
    assert inputs.accept_named(JOINTS, (np.full(3, 0.9 * guard.LARGEST),), 5.0, 5.0) is not None
    assert inputs.accept_named(JOINTS, (np.full(3, -1.1 * guard.LARGEST),), 5.0, 5.0) is None


def test_an_unknown_joint_is_answered_with_the_valid_names(inputs):
    inputs.accept_named(("x",), (GOOD[:1],), 0.0, 5.0)
    assert "'x'" in inputs.problem
    assert "a, b, c" in inputs.problem


def test_messages_that_come_too_old_are_late_and_those_of_a_sender_that_ended_are_not(inputs):
    assert inputs.lateness(5.0) == ""
    inputs.accept_named(JOINTS, (GOOD,), 4.88, 5.0)
    assert inputs.lateness(5.0) == "come 0.12 s old, state_timeout is 0.1 s"
    inputs.accept_named(JOINTS, (GOOD,), 4.91, 5.0)
    assert inputs.lateness(5.0) == ""
    assert inputs.lateness(5.02) == "come 0.09 s old, state_timeout is 0.1 s"
    assert inputs.lateness(5.2) == ""
    assert list(inputs.arrival_ages) == pytest.approx([0.12, 0.09])
    inputs.accept_named(JOINTS, (GOOD,), 5.5, 5.2)
    assert inputs.lateness(5.2) == ""
    assert inputs.problem.endswith("0.3 s ahead of 5.200 s; do the clocks of both computers agree?")
    inputs.accept_named(JOINTS, (GOOD,), 1e9, 5.2)
    assert inputs.problem.endswith("; is use_sim_time the same everywhere?")


def test_an_older_stamp_after_a_newer_one_is_refused(inputs):
    inputs.accept_named(JOINTS, (GOOD,), 5.0, 5.0)
    assert inputs.accept_named(JOINTS, (GOOD,), 4.99, 5.01) is None
    assert inputs.counts[guard.OLDER] == 1


def test_the_age_is_that_of_the_stamp_or_of_the_receipt(inputs):
    inputs.accept_named(JOINTS, (GOOD,), 4.95, 5.0)
    assert inputs.age(5.0) == pytest.approx(0.05)
    inputs.accept_ordered(GOOD, 5.1)
    assert inputs.age(5.15) == pytest.approx(0.05)
    assert not inputs.stale(5.19)
    assert inputs.stale(5.21)


def test_a_clock_that_jumps_back_makes_the_past_worthless(inputs):
    inputs.accept_named(JOINTS, (GOOD,), 5.0, 5.0)
    assert inputs.accept_named(JOINTS, (GOOD,), 1.0, 1.0) is not None
    assert dict(inputs.counts) == {guard.CLOCK: 1}
    assert inputs.age(1.0) == 0.0


def test_no_timeout_means_any_age(inputs):
    inputs.max_age = 0.0
    assert inputs.stale(5.0)
    assert inputs.accept_named(JOINTS, (GOOD,), 1.0, 5.0) is not None
    assert not inputs.stale(1e6)


def test_a_stream_without_names_needs_every_value(inputs):
    assert not inputs.accept_ordered(np.zeros(0), 1.0)
    assert not inputs.accept_ordered(GOOD[:2], 1.0)
    assert inputs.counts[guard.LENGTH] == 2


def enabled(**options) -> EffortLimiter:
    limiter = EffortLimiter([10.0, 10.0, np.inf], **options)
    limiter.enable(True)
    return limiter


def test_efforts_are_clamped_to_the_limit_and_unknown_limits_are_none():
    limiter = enabled()
    assert limiter.apply(np.array([-20.0, 5.0, 1e4]), 0.001).tolist() == [-10.0, 5.0, 1e4]
    assert limiter.clamped == 1


def test_the_gain_ramps_from_zero_to_one():
    limiter = enabled(ramp_time=1.0)
    gains = [limiter.apply(np.ones(3), 0.25)[0] for _ in range(5)]
    assert gains == [0.25, 0.5, 0.75, 1.0, 1.0]


def test_efforts_change_no_faster_than_the_rate():
    limiter = enabled(rate=100.0)
    out = [limiter.apply(np.full(3, 8.0), 0.01)[0] for _ in range(10)]
    assert np.diff([0.0, *out]).max() <= 1.0 + 1e-12
    assert out[-1] == 8.0


def test_nothing_goes_out_before_enabling():
    assert not EffortLimiter([10.0]).apply(np.ones(1), 0.1).any()


def test_the_emergency_stop_latches():
    limiter = enabled()
    limiter.stop(True)
    limiter.enable(True)
    assert not limiter.apply(np.ones(3), 0.1).any()
    limiter.stop(False)
    assert limiter.apply(np.ones(3), 0.1).any()


def test_an_effort_that_drives_beyond_the_velocity_limit_fades_and_a_braking_one_does_not():
    limiter = enabled(velocity_limit=[10.0, 10.0, 10.0], velocity_taper=0.8)
    tau, q = np.array([4.0, 4.0, -4.0]), np.zeros(3)
    assert limiter.apply(tau, 0.1, q, np.array([5.0, 9.0, 12.0])).tolist() == pytest.approx([4.0, 2.0, -4.0])
    assert limiter.apply(tau, 0.1, q, np.array([12.0, 0.0, -12.0])).tolist() == pytest.approx([0.0, 4.0, 0.0])


def test_an_effort_into_a_stop_fades_and_one_away_from_it_does_not():
    limiter = enabled(lower=[-1.0] * 3, upper=[1.0] * 3, position_taper=0.2)
    q = np.array([0.9, 0.9, -1.1])
    assert limiter.apply(np.array([4.0, -4.0, -4.0]), 0.1, q, np.zeros(3)).tolist() == pytest.approx([2.0, -4.0, 0.0])


def test_efforts_that_are_not_finite_never_leave():
    with pytest.raises(ShapeError):
        enabled().apply(np.array([1.0, np.nan, 0.0]), 0.1)


def test_a_negative_limit_is_refused():
    with pytest.raises(ParameterError):
        EffortLimiter([-1.0])


@pytest.mark.parametrize("seed", range(20))
def test_finite_and_sane_are_what_ieee_754_says(seed):
    """Any pattern of bits, among them what is no number, infinite, enormous, next to a bound, or denormal."""
    rng = np.random.default_rng(seed)
    exponents = rng.choice([0, 1, 0x3FF, 0x40F, 0x410, 0x41C, 0x41D, 0x7EF, 0x7FE, 0x7FF], size=(2000, 2))
    bits = (rng.integers(2, size=(2000, 2)) << 63) | (exponents << 52) | rng.integers(1 << 52, size=(2000, 2))
    rows = bits.astype(np.uint64).view(np.float64)
    rows[:4, 0] = np.inf, -np.inf, guard.LARGEST, np.nextafter(guard.LARGEST, 0.0)
    for row in rows:
        assert guard.ordinary(row.tobytes()) == (np.abs(row) < 2.0**17).all()
        assert guard.finite(row) == guard.finite(row.data) == np.isfinite(row).all()
        assert guard.sane(row) == guard.sane(row.data) == (np.abs(row) < guard.LARGEST).all()


def test_who_sends_too_seldom_for_the_timeout_is_told_what_to_set(inputs):
    times = 5.0 + 0.12 * np.arange(6)
    said = []
    for now in times:
        inputs.accept_ordered(GOOD, now)
        said.append(inputs.lateness(now))
    assert said[:4] == [""] * 4
    expected = "come every 0.12 s, state_timeout is 0.1 s: set it to 0.36 s, or send them more often"
    assert said[4:] == [expected] * 2
    assert inputs.lateness(times[-1] + 0.11) == expected
    assert inputs.lateness(times[-1] + 0.3) == ""  # whoever has ended does not send too seldom
    inputs.accept_ordered(GOOD, times[-1] + 0.02)
    assert inputs.lateness(times[-1] + 0.02) == ""
