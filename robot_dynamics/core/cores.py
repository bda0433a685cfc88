# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""All cores at once: kernels run without the interpreter lock, so threads are enough."""

import os
from collections.abc import Callable, Sequence
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


def in_threads(jobs: Sequence[Callable[[], None]], threads: int) -> None:
    """Do all jobs, at most so many at once, some in the caller's thread. Raises what a job raises."""
    waiting = iter(jobs)

    def work() -> None:
        for job in waiting:
            job()

    others = min(len(jobs), threads) - 1
    if others < 1:
        work()
        return
    with ThreadPoolExecutor(others) as pool:
        running = [pool.submit(work) for _ in range(others)]
        work()
    for one in running:
        one.result()
