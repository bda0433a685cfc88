# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who does the runs: processes on the cores of this machine, or the workers of a dask.distributed cluster."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from ..core.extras import missing
from ..errors import ParameterError, RobotDynamicsError
from ..warm_up import kind_of, warm_up_once
from .results import Results
from .runs import Row, Study, StudyError, rows_of

AHEAD = 2
"""Chunks that are handed out per worker: one that it does, one that waits for it."""
ANSWER = 10.0
"""A scheduler has so long to answer [s]."""
RETRIES = 5
"""So often a chunk is tried again whose worker was lost."""


def do_chunk(study: Study, numbers: Sequence[int]) -> list[Row]:
    """Do some runs in this process; machine code is compiled by one process of those that share a cache."""
    warm_up_once(lambda _: None, kind_of(study.model))
    return rows_of(study, numbers)


def do_all(results: Results, executor: Executor, workers: int, done: Callable[[int], None]) -> None:
    """Have an executor do what is missing, keep each chunk as it comes, tell `done` how many runs that was.

    Raises
    ------
    StudyError
        A run that cannot be, or workers that are gone; what was kept stays, and the next call goes on there.
    """
    waiting, running = iter(results.missing()), dict[Future[list[Row]], range]()
    try:
        while True:
            for numbers in waiting:
                running[executor.submit(do_chunk, results.study, numbers)] = numbers
                if len(running) >= AHEAD * workers:
                    break
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                numbers = running.pop(future)
                results.keep(numbers, _rows(future, numbers))
                done(len(numbers))
    finally:
        for future in running:
            future.cancel()


def _rows(future: "Future[list[Row]]", numbers: range) -> list[Row]:
    """Rows of a chunk that was done. Raises StudyError."""
    try:
        return future.result()
    except RobotDynamicsError:
        raise
    except (BrokenProcessPool, CancelledError):
        raise StudyError("a worker was killed, or its machine is out of memory; the same command goes on") from None
    except Exception as error:
        raise StudyError(
            f"runs {numbers.start} to {numbers.stop - 1} failed on a worker: {type(error).__name__}: {error}"
        ) from None


@contextmanager
def processes(count: int, folder: str) -> Iterator[Executor]:
    """Processes of this machine, which find modules in `folder` and end with this one."""
    context = multiprocessing.get_context("spawn")  # threads of the progress bar must not be forked
    pool = ProcessPoolExecutor(count, context, _begin, (folder,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(folder: str) -> None:
    """Begin as a worker: Ctrl-C is for the parent, and when that is gone, so is this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.insert(0, folder)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()


def _end_with(parent: "multiprocessing.process.BaseProcess") -> None:
    parent.join()
    os._exit(1)


@contextmanager
def cluster(address: str, modules: Sequence[str]) -> Iterator[tuple[Executor, int]]:
    """Workers of the dask scheduler at `address`, how many threads they have; they get `modules` of the user.

    Raises
    ------
    ParameterError
        The extra is missing, no scheduler answers, or it has no workers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError(missing("distributed")) from None
    try:
        client = Client(address, timeout=ANSWER)
    except (OSError, ValueError, TypeError):
        raise ParameterError(f"--scheduler: no dask scheduler answers at '{address}'; one is tcp://HOST:8786") from None
    with client:
        for module in modules:
            client.upload_file(module)
        threads = sum(client.nthreads().values())
        if not threads:
            raise ParameterError(f"--scheduler: the scheduler at '{address}' has no workers")
        yield client.get_executor(pure=False, retries=RETRIES), threads
