# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Timing side by side: every round calls everything once, so that what disturbs the machine disturbs all alike."""

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

import numpy as np

ROUNDS = 41
Times = Mapping[Hashable, np.ndarray]


def interleaved(calls: Mapping[Hashable, Callable[[], float]], rounds: int = ROUNDS) -> Times:
    """What each call returns in every round, seconds per unit of its work; a first round of all warms up."""
    for call in calls.values():
        call()
    times: dict[Hashable, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(call())
    return {name: np.array(values) for name, values in times.items()}


def timed(work: Callable[[], object], count: float) -> Callable[[], float]:
    """Seconds per unit of `work`, which does `count` of them."""

    def run() -> float:
        begin = time.perf_counter()
        work()
        return (time.perf_counter() - begin) / count

    return run


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a figure of ours, what it is compared with, and what was promised.

    `ours`, `theirs` (medians) in `unit`; `least`: the ratio of the minima, which a busy machine disturbs less. Without
    `theirs` the figure itself is held against `must` and `aim`, else the ratio of the medians.
    """

    robot: str
    what: str
    ours: float
    theirs: float | None = None
    against: str = ""
    least: float | None = None
    must: float | None = None
    aim: float | None = None
    unit: str = "ns"

    @property
    def figure(self) -> float:
        """What `must` and `aim` speak of."""
        return self.ours if self.theirs is None else self.ours / self.theirs

    @property
    def held(self) -> str:
        """How it stands with the promise."""
        if self.must is None or self.aim is None:
            return ""
        return "aim" if self.figure <= self.aim else ("must" if self.figure <= self.must else "NOT HELD")


def compared(
    robot: str,
    what: str,
    ours: np.ndarray,
    theirs: np.ndarray | None,
    against: str,
    promise: tuple[float, float] | None = None,
) -> Row:
    """Line of our times beside theirs [s]; `theirs` is None where the other library is missing."""
    must, aim = promise or (None, None)
    median = 1e9 * float(np.median(ours))
    if theirs is None:
        return Row(robot, what, median)
    least = float(ours.min() / theirs.min())
    return Row(robot, what, median, 1e9 * float(np.median(theirs)), against, least, must, aim)
