# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ticks on absolute deadlines, and figures about how well they were met."""

import time
from collections import deque
from collections.abc import Callable

LATE = 1e-3
"""A tick that comes this much more than a period [s] after the one before counts as late."""
LOST = 0.1
"""Behind by more than this [s], the deadlines start anew."""
CATCH_UP = 2.0
"""Behind, ticks come at most this much faster than on time: whoever commands the plant has to keep up with it."""
AWAKE, REST = 0.1, 5e-3
"""After so long without a sleep a tick sleeps this long [s] although it is late: at its priority it would else keep all
others from its processor."""
SLOW = 0.8
"""Fraction of the real-time factor asked for below which time counts as slow."""
JUDGED = 0.5
"""Wall time after which it can be judged [s]."""
IDLE = 0.05
"""While it waits it does something else this often [s]."""


class Pace:
    """Waits for the next deadline; `factor` is simulated over wall time, 0 as fast as possible."""

    def __init__(self, period: float, factor: float = 1.0, meanwhile: Callable[[], None] = lambda: None):
        """Set the simulated period [s] of a tick, and what to do every IDLE seconds of a wait."""
        self.period, self.factor, self.meanwhile = period, factor, meanwhile
        self.ticks, self.late = 0, 0
        self._deadline = self._slept = 0.0
        self._recent: deque[float] = deque(maxlen=1000)

    def restart(self) -> None:
        """Let the deadlines begin with the next tick that waits."""
        self._recent.clear()

    def ask(self, factor: float) -> None:
        """Go on at another real-time factor; what was reached so far says nothing about it."""
        if factor != self.factor:
            self.factor = factor
            self.restart()

    def put_off(self, span: float) -> None:
        """Let the deadlines be later by `span` [s]: what was waited for is not caught up."""
        self._deadline += span

    def wait(self) -> None:
        """Sleep until the end of this tick's period."""
        now = time.monotonic()
        if not self._recent:
            self._deadline = self._slept = now
        if self.factor > 0:
            period = self.period / self.factor
            last = self._recent[-1] if self._recent else now
            self._deadline += period
            rest = REST if now - self._slept > AWAKE else 0.0
            if (span := max(self._deadline - now, last + period / CATCH_UP - now, rest)) > 0.0:
                end = now + span
                while span > IDLE:
                    time.sleep(IDLE)
                    self.meanwhile()
                    span = max(end - time.monotonic(), 0.0)
                time.sleep(span)
                now = self._slept = time.monotonic()
            if now - self._deadline > LOST:
                self._deadline = now
            self.late += now - last > period + LATE
        self.ticks += 1
        self._recent.append(now)

    def figures(self) -> dict[str, object]:
        """Return counts, and the real-time factor and rate over the last thousand ticks."""
        rate, _ = self._rate()
        return {"ticks": self.ticks, "late ticks": self.late, "rate [Hz]": rate, "real-time factor": rate * self.period}

    def slow(self) -> float:
        """Return the real-time factor over the last thousand ticks where it is far below the one asked for, else 0."""
        rate, span = self._rate()
        factor = rate * self.period
        return factor if span > JUDGED and factor < SLOW * self.factor else 0.0

    def _rate(self) -> tuple[float, float]:
        """Rate of the last thousand ticks [Hz], and the wall time they took [s]."""
        recent = list(self._recent)
        span = recent[-1] - recent[0] if len(recent) > 1 else 0.0
        return (len(recent) - 1) / span if span > 0 else 0.0, span
