# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Calls from Python: inverse dynamics beside `pin.rnea`."""

from collections.abc import Callable, Hashable, Iterator
from functools import partial

import numpy as np
import pinocchio as pin

import robot_dynamics as rd

from .robots import Case
from .rounds import Row, compared, interleaved, timed

CALLS = 2000


def python_calls(case: Case) -> Iterator[Row]:
    """One inverse dynamics per call: the plain function, which checks and returns a new array, and the hot path."""
    model, theirs = case.model, case.pinocchio
    data, their_q, zero = theirs.createData(), pin.neutral(theirs), np.zeros(theirs.nv)
    q, still = rd.neutral(model), np.zeros(model.nv)

    def plain() -> None:
        for _ in range(CALLS):
            rd.inverse_dynamics(model, q, still, still)

    def rnea() -> None:
        for _ in range(CALLS):
            pin.rnea(theirs, data, their_q, zero, zero)

    calls: dict[Hashable, Callable[[], float]] = {"plain": timed(plain, CALLS), "pin": timed(rnea, CALLS)}
    if not model.has_mimic:
        calls["hot"] = timed(partial(hot, rd.Evaluator(model)), CALLS)
    times = interleaved(calls)
    names = {"plain": "inverse_dynamics from Python", "hot": "Evaluator.inverse_dynamics from Python"}
    promises = {"plain": (1.0, 0.7), "hot": (0.35, 0.20)} if case.name == "go2" else {}
    for key in (key for key in names if key in calls):
        yield compared(case.name, names[key], times[key], times["pin"], "pin.rnea", promises.get(key))


def hot(evaluator: rd.Evaluator) -> None:
    """The same in place."""
    for _ in range(CALLS):
        evaluator.inverse_dynamics()
