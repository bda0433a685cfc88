# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Kernels un-jitted, for debuggers and coverage: every function stays the Python function that it is."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial, wraps
from typing import Any

from .vectors import WRONG_DIMENSIONS, expect_vectors
from .words import LANES, Apart, Lanes


def _unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


inline = strict = reproducible = routine = one_by_one = kernel = lean = _unchanged


def brief(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, refusing what is no vector as machine code does."""

    @wraps(function)
    def checked(*arguments: Any) -> Any:
        expect_vectors(arguments)
        try:
            return function(*arguments)
        except ValueError:
            raise TypeError(WRONG_DIMENSIONS) from None

    return checked


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the routine that does for LANES robots, one by one, what `function` does for one."""

    def in_turn(*arguments: Any) -> None:
        for lane in range(LANES):
            function(*(_of_lane(x, lane) for x in arguments))

    return in_turn


def _of_lane(x: Any, lane: int) -> Any:
    """What one lane has of what all have."""
    if isinstance(x, Lanes):
        return x.each[..., lane]
    if isinstance(x, Apart):
        return x.each[lane]
    return type(x)(*(_of_lane(part, lane) for part in x)) if hasattr(x, "_fields") else x


def entry(function: Callable[..., Any], arguments: Sequence[Any], form: Hashable = ()) -> Callable[..., Any]:
    """Return the kernel."""
    return function


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Bind a kernel to these very objects, records and tuples among them, which no caller hands over anew."""
    return partial(getattr(function, "__wrapped__", function), *arguments)
