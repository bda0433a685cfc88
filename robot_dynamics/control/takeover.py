# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How commands take over from the hold after the robot was put elsewhere: gradually, whatever they ask for."""

from .gait import smooth

TIME = 1.0
"""Least time in which commands take over [s]."""
SPEED = 1.5
"""Largest speed of a joint's target on its way from the hold to one that stands still [rad/s, m/s]."""
STEEPEST = 1.875
"""Largest slope of `smooth`."""


class Takeover:
    """Share of the commands, from 0 to 1; the rest is the hold's."""

    def __init__(self) -> None:
        """Begin with the first command."""
        self._progress = 0.0
        self._last: float | None = None

    @property
    def done(self) -> bool:
        """Whether the commands have all of it."""
        return self._progress >= 1.0

    def share(self, now: float, distance: float) -> float:
        """Return the share at the time `now` [s], if the farthest target is `distance` [rad, m] from the hold."""
        elapsed = 0.0 if self._last is None else max(now - self._last, 0.0)
        self._last = now
        self._progress = min(1.0, self._progress + elapsed / max(TIME, STEEPEST * distance / SPEED))
        return min(smooth(self._progress)[0], 1.0)  # which rounding may exceed
