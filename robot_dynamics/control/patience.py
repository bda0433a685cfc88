# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""When a simulation waits for the commands of its controllers, and how much of its time that takes."""

from collections import deque
from collections.abc import Sequence

from .guard import InputGuard

SPAN = 5.0
"""Wall time over which waits are counted [s]."""
MUCH = 0.05
"""Share of the wall time from which on it is worth a warning."""


class Patience:
    """Says whether simulated time is to stand still: on a busy computer commands come late, and the robot would fall.

    A stream that stays silent is given up until it sends again: whoever controlled the robot has ended.
    """

    def __init__(self, streams: Sequence[InputGuard]):
        """Wait for the commands of `streams`."""
        self.streams = tuple(streams)
        self.total = 0.0
        self._given_up: dict[int, int] = {}
        self._waits: deque[tuple[float, float]] = deque()

    def runs_out(self, now: float, limit: float) -> bool:
        """Whether the newest command of a stream is older than `limit` [s] at the simulated time `now`."""
        return any(
            guard.receipt is not None and guard.age(now) > limit and self._given_up.get(i) != guard.accepted
            for i, guard in enumerate(self.streams)
        )

    def give_up(self, now: float, limit: float) -> None:
        """Wait no longer for streams whose newest command is older than `limit`, until they send again."""
        for i, guard in enumerate(self.streams):
            if guard.receipt is not None and guard.age(now) > limit:
                self._given_up[i] = guard.accepted

    def waited(self, span: float, at: float) -> None:
        """Count a wait of `span` that ends at the wall time `at` [s]."""
        self.total += span
        self._waits.append((at, span))

    def share(self, at: float) -> float:
        """Share of the last SPAN of wall time that went by in waits; 0 where it is not worth a word."""
        while self._waits and self._waits[0][0] < at - SPAN:
            self._waits.popleft()
        share = sum(span for _, span in list(self._waits)) / SPAN
        return share if share > MUCH else 0.0
