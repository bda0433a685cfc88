# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who wants to know while numba compiles."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event


class _Listener(event.Listener):
    """Tells of the outermost of nested compilations."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]):
        self.begin, self.end, self.depth = begin, end, 0

    def on_start(self, event: event.Event) -> None:
        if self.depth == 0:
            self.begin()
        self.depth += 1

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.end()


@contextmanager
def on_compile(begin: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
    """Call `begin` and `end` around every compilation within the block; code that is loaded from disk calls neither."""
    listener = _Listener(begin, end)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
