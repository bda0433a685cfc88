# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""All cores at once: kernels run without the interpreter lock, so threads are enough."""

import _thread
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

LEAST = 1024
"""States per thread; of fewer, the threads would cost more than they save."""


def count_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def in_slices(work: Callable[[slice], None], count: int) -> None:
    """Call `work` with slices that cover `count` states, each in a thread of its own."""
    size = max(-(-count // count_cores()), LEAST)
    slices = [slice(begin, begin + size) for begin in range(0, count, size)]
    if len(slices) < 2:
        work(slice(0, count))
        return
    with ThreadPoolExecutor(len(slices)) as pool:
        list(pool.map(work, slices))


def in_threads(jobs: Iterable[Callable[[], None]], threads: int) -> None:
    """Do all jobs, in so many threads, one of them the caller's. Raises what a job, or asking for one, raises.

    One job after the other is asked for, when a thread is free for it; the first one by the caller, while the other
    threads come up: two that prepare something at once hand the interpreter lock to and fro.
    """
    waiting, asking = iter(jobs), _thread.allocate_lock()

    def next_job() -> Callable[[], None] | None:
        with asking:
            return next(waiting, None)

    def work() -> None:
        while (job := next_job()) is not None:
            job()

    others: list[Begun] = []
    try:
        with asking:
            for _ in range(threads - 1):
                others.append(Begun(work))
            first = next(waiting, None)
        if first is not None:
            first()
            work()
    finally:
        errors = [other.wait() for other in others]
    for error in errors:
        if error is not None:
            raise error


class Begun:
    """Work in a thread of its own. `threading.Thread` waits until the thread runs, this goes on at once."""

    def __init__(self, work: Callable[[], None]):
        """Begin the work."""
        self._work, self._running = work, _thread.allocate_lock()
        self._error: BaseException | None = None
        self._running.acquire()
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error
        finally:
            self._running.release()

    def wait(self) -> BaseException | None:
        """Wait until the work is done; returns what it raised."""
        self._running.acquire()
        return self._error
