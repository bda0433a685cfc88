# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one place where a node starts, spins and ends: exit code 0 on a signal, 2 and one sentence on a user's error."""

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import rclpy
from rclpy.exceptions import InvalidNamespaceException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from ..errors import RobotDynamicsError
from ..warm_up import LOADER
from .component import Component, RCLError
from .parameters import help_text
from .transport import configure_fast_dds

try:
    from rclpy.experimental import EventsExecutor as FastExecutor
except ImportError:  # Humble
    FastExecutor = SingleThreadedExecutor

FOREVER = 1e8
"""Seconds; EventsExecutor hangs in the wheels when spun without a finite timeout."""
LAST_RESORT = 0.9
"""Wall time after a signal at which the process ends even if DDS does not let go [s]."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(component: type[Component], name: str, argv: Sequence[str] | None = None) -> int:
    """Run one node until a signal ends it, and the process with it; returns the exit code where nothing ran.

    Taking the interpreter and the compiler apart would take half a second, and several on a busy machine.
    """
    arguments = list(sys.argv if argv is None else argv)
    if {"-h", "--help"} & set(arguments):
        print(help_text(component.kind, name))
        return 0
    with _ending_at_once():
        try:
            configure_fast_dds()
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
            gc.freeze()  # what is there already is not looked through at the end
            _live(component(name))
        except RobotDynamicsError as problem:
            return _refused(name, problem)
        except (RCLError, InvalidNamespaceException) as problem:
            return _refused(name, str(problem).split(", at /")[0])
        finally:
            rclpy.try_shutdown()
        gc.collect()  # others hear that the node is gone when nothing refers to it any more
        os._exit(0)


def _live(node: Component) -> None:
    """Begin whenever a description is there, spin in between, stop before the context goes down."""
    node.warm_up(LOADER)
    executor = FastExecutor()
    executor.add_node(node)
    try:
        while not node.ended:
            node.begin()
            with _ending_in_order(node, executor):
                executor.spin_until_future_complete(node.wake, FOREVER)
    finally:
        node.quit()
        node.destroy_node()


@contextlib.contextmanager
def _ending_at_once() -> Iterator[None]:
    """Outside of the spin nothing needs an orderly end, and an exception would surface inside the compiler.

    The shutdown takes locks that are not reentrant; the signal may have come while this thread held one of them. Once
    all is done signals are ignored: the interpreter on its way out would answer another one with a traceback.
    """

    def end(*_: object) -> None:
        _handle(signal.SIG_IGN)
        _end_anyway()
        rclpy.try_shutdown()
        os._exit(0)

    _handle(end)
    try:
        yield
    finally:
        _handle(signal.SIG_IGN)


def _handle(handler: Any) -> None:
    for number in SIGNALS:
        signal.signal(number, handler)


@contextlib.contextmanager
def _ending_in_order(node: Component, executor: Executor) -> Iterator[None]:
    """While spinning, a signal wakes the executor; the context stays up until everything has stopped.

    The executor waits outside of Python, where no Python handler runs: the interpreter's wake-up pipe reaches a thread.
    """

    def ignore(number: int, frame: FrameType | None) -> None:
        """Let the pipe tell."""

    def listen() -> None:
        if os.read(end, 1) != b"\0":
            _end_anyway()
            executor.create_task(node.end)

    end, start = os.pipe()
    os.set_blocking(start, False)
    listener = threading.Thread(target=listen, name="signals", daemon=True)
    # before the handlers go and until they are back, so that no signal falls between
    wakeup = signal.set_wakeup_fd(start, warn_on_full_buffer=False)
    listener.start()
    before = {number: signal.signal(number, ignore) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        os.write(start, b"\0")
        listener.join()
        os.close(end)
        os.close(start)


def _end_anyway() -> None:
    """Let the process end in time whatever holds it."""
    last = threading.Timer(LAST_RESORT, os._exit, (0,))
    last.daemon = True
    last.start()


def _refused(name: str, problem: object) -> int:
    print(f"{name}: {problem}", file=sys.stderr)
    return 2
