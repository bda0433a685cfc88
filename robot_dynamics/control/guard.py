# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What may pass between a topic and a motor: input checks with counts, watchdog times, effort limits.

Neither ROS nor a clock of its own: times are seconds of one clock that the caller reads; the guards notice when that
clock jumps back.
"""

import sys
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParameterError, ShapeError
from ..kernels.efforts import limit
from ..kernels.measured import LARGEST

Array = NDArray[np.float64]
Column = Any
"""Float64 one after the other: an array, or a memoryview into a message."""
Indices = NDArray[np.intp]

NONE = np.zeros(0)
FIRST_BYTE = 7 if sys.byteorder == "little" else 0
ORDINARY = bytes([*range(0x41), *range(0x80, 0xC1)])
"""First bytes, of sign and exponent, of float64 below 2**17 [IEEE 754]."""

NEGATIVE = "negative gain"
LENGTH = "wrong length"
NOT_FINITE = "not finite"
UNKNOWN = "unknown joint"
DUPLICATE = "duplicate joint"
UNKNOWN_INTERFACE = "unknown interface"
DUPLICATE_INTERFACE = "duplicate interface"
STALE = "stale stamp"
FUTURE = "stamp from the future"
OLDER = "older than the last"
FRAME = "other frame"
NO_ATTITUDE = "no orientation"
CLOCK = "clock jumped back"


RHYTHM = 4
"""So many intervals in a row tell how often messages come."""
SPARE = 3.0
"""A timeout of so many intervals bears two lost messages."""
ONE_CLOCK = 60.0
"""Stamps farther than this from the time [s] are of another kind of clock, simulated time or wall time."""


class InputGuard:
    """Accepts or refuses the messages of one input and remembers when the last good one came.

    `counts` holds the number of refusals per cause, `problem` the sentence of the last one, `accepted` the number of
    good messages, `receipt` and `stamp` the times of the last good one [s] (None before the first), `arrival_ages` how
    old by their stamps the last thousand were when they came [s], those refused for it included.
    """

    def __init__(self, joints: Sequence[str], max_age: float, ahead: float = 0.05, *, parameter: str = "state_timeout"):
        """Take messages for `joints` no older than `max_age` [s] (0: any age) and no more than `ahead` [s] early.

        `parameter` is what users know `max_age` by.
        """
        self.joints, self.parameter = tuple(joints), parameter
        self.max_age, self.ahead = max_age, ahead
        self.counts: Counter[str] = Counter()
        self.problem = ""
        self.accepted = 0
        self.arrival_ages: deque[float] = deque(maxlen=1000)
        self._intervals: deque[float] = deque(maxlen=RHYTHM)
        self._index = {name: i for i, name in enumerate(self.joints)}
        self._maps: dict[tuple[str, ...], Indices] = {}
        self._names: tuple[str, ...] | None = None
        self._where: Indices = np.zeros(0, dtype=np.intp)
        self.forget()

    def forget(self) -> None:
        """Start again as if nothing had been received; counts stay."""
        self.receipt: float | None = None
        self.stamp: float | None = None
        self._now = self._arrival = -np.inf
        self._intervals.clear()

    def tick(self, now: float) -> bool:
        """Notice the time; True if the clock jumped back, which makes the past worthless."""
        jumped = now < self._now
        if jumped:
            self._count(CLOCK, f"time went from {self._now:.3f} back to {now:.3f} s: the past is forgotten")
            self.forget()
        self._now = now
        return jumped

    def age(self, now: float) -> float:
        """Time since the last good message [s]: by its stamp if it had one, else by receipt; inf before the first."""
        if self.receipt is None:
            return np.inf
        return now - (self.receipt if self.stamp is None else min(self.stamp, self.receipt))

    def stale(self, now: float) -> bool:
        """Whether the last good message is older than `max_age`, or none has come."""
        return self.age(now) > self.max_age if self.max_age else self.receipt is None

    def lateness(self, now: float) -> str:
        """Say that messages come, but so seldom or so old that they count as silence; empty where they are in time.

        Nor is anything said of messages that have ended.
        """
        if self.max_age and (seldom := self._seldom(now)):
            return seldom
        if not (self.max_age and self.arrival_ages):
            return ""
        elapsed, age = now - self._arrival, self.arrival_ages[-1]
        if elapsed > 0.5 * self.max_age or elapsed + age <= self.max_age:  # a sender that ended is not late
            return ""
        return f"come {age:.3g} s old, {self.parameter} is {self.max_age:g} s"

    def _seldom(self, now: float) -> str:
        """Say that messages come regularly, but less often than `max_age` allows."""
        shortest, longest = min(self._intervals, default=0.0), max(self._intervals, default=0.0)
        ended = self.receipt is None or now - self.receipt > 2.0 * longest
        if len(self._intervals) < RHYTHM or shortest <= self.max_age or ended:
            return ""
        return (
            f"come every {longest:.3g} s, {self.parameter} is {self.max_age:g} s: "
            f"set it to {SPARE * longest:.2g} s, or send them more often"
        )

    def accept_named(self, names: Sequence[str], columns: Sequence[Column], stamp: float, now: float) -> Indices | None:
        """Check arrays given by joint name.

        Parameters
        ----------
        names : joints of the entries, in any order.
        columns : float64 of len(names), or empty where the message leaves a quantity out.
        stamp, now : [s], stamp 0 means none.

        Returns
        -------
        Index into `joints` of every entry, or None if the message must not be used.
        """
        where = self.places(names, [len(column) for column in columns])
        if where is None or not self._finite(columns) or not self.timely(stamp, now):
            return None
        self.accept(stamp, now)
        return where

    def accept_ordered(self, values: Array, now: float) -> bool:
        """Check one array without names and stamp, in the order of `joints`."""
        known = self._lengths((len(values),), len(self.joints), empty=False) and self._finite((values,))
        if known:
            self.timely(0.0, now)
            self.accept(0.0, now)
        return known

    def places(self, names: Sequence[str], lengths: Sequence[int]) -> Indices | None:
        """Return the index into `joints` of every entry of columns so long (0: left out), or None to refuse them."""
        where = self._where if names is self._names else self._order(names)
        return where if where is not None and self._lengths(lengths, len(names)) else None

    def _order(self, names: Sequence[str]) -> Indices | None:
        key = tuple(names)
        if (where := self._maps.get(key)) is not None:
            self._names, self._where = key, where
            return where
        unknown = [name for name in key if name not in self._index]
        if unknown:
            self.refuse(UNKNOWN, f"'{unknown[0]}' is not a joint; valid names: {', '.join(self.joints)}")
        elif len(set(key)) < len(key):
            self.refuse(DUPLICATE, f"'{next(n for n in key if key.count(n) > 1)}' is named twice")
        elif not key:
            self.refuse(LENGTH, "no joint names given")
        else:
            found = np.array([self._index[name] for name in key], dtype=np.intp)
            if len(self._maps) < 16:
                self._maps[key] = found
            return found
        return None

    def _lengths(self, lengths: Sequence[int], expected: int, empty: bool = True) -> bool:
        for length in lengths:
            if length != expected and not (empty and length == 0):
                self.refuse(LENGTH, f"expected {expected} values, got {length}")
                return False
        return True

    def _finite(self, columns: Sequence[Column]) -> bool:
        for column in columns:
            if not sane(column):
                worst = int(np.argmin(np.abs(column) < LARGEST))
                self.refuse(NOT_FINITE, f"value {worst} is not a number below {LARGEST:g}")
                return False
        return True

    def timely(self, stamp: float, now: float) -> bool:
        """Notice the time, and tell whether a message of `stamp` [s] (0: none) may be used `now` [s]."""
        if now < self._now:
            self.tick(now)
        self._now = now
        if not stamp:
            return True
        age = now - stamp
        self.arrival_ages.append(age)
        self._arrival = now
        other_clock = "; is use_sim_time the same everywhere?" if abs(age) > ONE_CLOCK else ""
        if self.max_age and age > self.max_age:
            allowed = f"{self.parameter} is {self.max_age:g} s"
            self.refuse(STALE, f"stamp {stamp:.3f} s is {age:.3g} s old at {now:.3f} s, {allowed}{other_clock}")
        elif -age > self.ahead:
            question = other_clock or "; do the clocks of both computers agree?"
            self.refuse(FUTURE, f"stamp {stamp:.3f} s is {-age:.3g} s ahead of {now:.3f} s{question}")
        elif self.stamp is not None and stamp < self.stamp:
            self.refuse(OLDER, f"stamp {stamp:.4f} s follows {self.stamp:.4f} s; are there two publishers?")
        else:
            return True
        return False

    def accept(self, stamp: float, now: float) -> None:
        """Remember when the last good message came."""
        if self.receipt is not None:
            self._intervals.append(now - self.receipt)
        self.stamp, self.receipt = stamp or None, now
        self.accepted += 1

    def refuse(self, cause: str, problem: str) -> None:
        """Count a message that must not be used, and keep the sentence that says why."""
        self._count(cause, f"refused: {problem}")

    def _count(self, cause: str, problem: str) -> None:
        self.counts[cause] += 1
        self.problem = problem


def ordinary(data: bytes) -> bool:
    """Tell whether native float64 are all below 2**17, as measurements and commands are: no other look is cheaper."""
    return not data[FIRST_BYTE::8].translate(None, ORDINARY)


def finite(*columns: Column) -> bool:
    """Tell whether all float64 are finite."""
    return all(ordinary(x.tobytes()) or bool(np.isfinite(x).all()) for x in columns)


def sane(*columns: Column) -> bool:
    """Tell whether all float64 are finite and smaller than LARGEST."""
    return all(ordinary(x.tobytes()) or bool((np.abs(x) < LARGEST).all()) for x in columns)


class EffortLimiter:
    """The last check before a motor: gain ramp, tapers, clamp, rate limit, latched emergency stop.

    `gain` is the present factor 0..1; `stopped` latches until `release`.
    """

    def __init__(
        self,
        limit: ArrayLike,
        *,
        rate: float = 0.0,
        ramp_time: float = 0.0,
        velocity_limit: ArrayLike = np.inf,
        velocity_taper: float = 1.0,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        position_taper: float = 0.0,
    ):
        """Set limits (n,), the rate [N m/s] (0: none), the ramp [s].

        Efforts into a velocity limit fade from `velocity_taper` times it on, those into a joint stop from
        `position_taper` [rad or m] before it on (0: not at all).
        """
        self.limit = np.array(limit, dtype=float, ndmin=1)
        if np.isnan(self.limit).any() or (self.limit < 0).any():
            raise ParameterError(f"effort limits must be 0 or more, got {self.limit}")
        speed = np.asarray(velocity_limit, dtype=float)
        rows = np.broadcast_arrays(self.limit, velocity_taper * speed, speed, lower, upper)
        self._bounds = np.array(rows, dtype=float)
        self.rate, self.ramp_time, self.position_taper = float(rate), float(ramp_time), float(position_taper)
        self.enabled, self.stopped, self.gain = False, False, 0.0
        self.clamped = 0
        self.last = np.zeros(self.limit.shape)

    def enable(self, on: bool) -> None:
        """Start the ramp from 0, or go back to zero effort at once."""
        self.enabled, self.gain = on, 0.0

    def stop(self, on: bool) -> None:
        """Latch the emergency stop, or release it; a released limiter still has to be enabled again."""
        self.stopped = on
        if on:
            self.enable(False)
            self.last[:] = 0.0

    def apply(self, tau: Array, dt: float, q: Array = NONE, qd: Array = NONE) -> Array:
        """Return the efforts (n,) that may go out now, given the wanted ones, the time since the last call, the state.

        They are `last`, which the next call writes again.

        Raises
        ------
        ShapeError
            `tau` has another length or is not finite.
        """
        going = self.enabled and not self.stopped
        gain = (min(1.0, self.gain + dt / self.ramp_time) if self.ramp_time > 0 else 1.0) if going else 0.0
        change = self.rate * dt if going and self.rate > 0 else -1.0
        fits = tau.shape == self.last.shape
        clamped = limit(self._bounds, tau, gain, change, q, qd, self.position_taper, self.last) if fits else -1
        if clamped < 0:
            raise ShapeError(f"efforts must be {self.limit.size} finite values, got {tau!r}")
        self.gain = gain
        self.clamped += clamped
        return self.last
