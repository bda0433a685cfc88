# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which warnings are worth saying again."""

import re

CHANGING = re.compile(r"'[^']*'|-?\d[\d.]*(?:e[-+]?\d+)?")
"""What differs between two sentences of one kind: quoted names and numbers."""


class Throttle:
    """Lets a kind of sentence pass once every `period` [s]; sentences of a kind differ in names and numbers only."""

    def __init__(self, period: float):
        """Let the first of every kind pass."""
        self.period = period
        self._passed: dict[str, float] = {}

    def passes(self, sentence: str, now: float) -> bool:
        """Tell whether to say it at time `now` [s]."""
        kind = CHANGING.sub("#", sentence)
        if now - self._passed.get(kind, -self.period) < self.period:
            return False
        self._passed[kind] = now
        return True
