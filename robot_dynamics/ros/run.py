"""The one place where a node starts, spins and ends: exit code 0 on a signal, 2 and one sentence on a user's error."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence

import rclpy
from rclpy.exceptions import InvalidNamespaceException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions, install_signal_handlers, uninstall_signal_handlers

from ..errors import RobotDynamicsError
from .component import Component
from .parameters import help_text

try:
    from rclpy.experimental import EventsExecutor as FastExecutor
except ImportError:  # Humble
    FastExecutor = SingleThreadedExecutor

FOREVER = 1e8
"""Seconds; EventsExecutor hangs in the wheels when spun without a finite timeout."""


def run(component: type[Component], name: str, argv: Sequence[str] | None = None) -> int:
    """Run one node until a signal ends it; returns the exit code."""
    arguments = list(sys.argv if argv is None else argv)
    if {"-h", "--help"} & set(arguments):
        print(help_text(component.kind, name))
        return 0
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        _live(component(name))
    except RobotDynamicsError as problem:
        return _refused(name, problem)
    except (rclpy_implementation.RCLError, InvalidNamespaceException) as problem:
        return _refused(name, str(problem).split(", at /")[0])
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0
    finally:
        rclpy.try_shutdown()
    return 0


def _live(node: Component) -> None:
    """Begin whenever a description is there, spin in between."""
    executor = FastExecutor()
    executor.add_node(node)
    try:
        while rclpy.ok():
            with _ending_at_once():
                node.begin()
            with _ending_by_shutdown():
                executor.spin_until_future_complete(node.described, FOREVER)
    finally:
        if node.active:
            node.stop()


@contextlib.contextmanager
def _ending_at_once() -> Iterator[None]:
    """While kernels compile nothing needs an orderly end, and an exception would surface inside the compiler."""

    def end(*_: object) -> None:
        rclpy.try_shutdown()
        os._exit(0)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _ending_by_shutdown() -> Iterator[None]:
    """While spinning, rclpy's handlers wake the executor."""
    install_signal_handlers(SignalHandlerOptions.ALL)
    try:
        yield
    finally:
        uninstall_signal_handlers()


def _refused(name: str, problem: object) -> int:
    print(f"{name}: {problem}", file=sys.stderr)
    return 2
