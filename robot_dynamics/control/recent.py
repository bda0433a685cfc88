# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What has gone wrong of late, out of counts that stay."""

from collections.abc import Mapping


class Recent:
    """Tells which counts have grown within the last `period` seconds."""

    def __init__(self, period: float):
        """Know no counts yet."""
        self.period = period
        self._counts: dict[str, int] = {}
        self._grown: dict[str, float] = {}

    def grown(self, counts: Mapping[str, int], now: float) -> list[str]:
        """Take all counts at the time `now` [s] and name those that have grown."""
        for name, count in counts.items():
            if count > self._counts.get(name, 0):
                self._grown[name] = now
            self._counts[name] = count
        return [name for name, time in self._grown.items() if now - time < self.period]
