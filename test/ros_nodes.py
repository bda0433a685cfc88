# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nodes as operating-system processes over DDS, and a node of our own to talk to them. Needs rclpy."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_dynamics.ros import convert
from robot_dynamics.warm_up import KINDS, warm_up_once

URDF = Path(__file__).parent.parent / "urdf" / "mini_cheetah.urdf"
PATIENCE = 60.0
"""Wall time after which a test gives up [s]."""
REPEAT = 0.25 * PATIENCE
"""Wall time after which a service is called again [s]."""
LOGGED = re.compile(r"\[\w+\] \[(\d+\.\d+)\]")
"""Begin of a line of a node's log, with its time [s]."""
BEST_EFFORT = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Fault(NamedTuple):
    """A stream of JointStates that are none: why, and what is wrong with their fields or stamps."""

    cause: str
    changes: dict[str, list[Any]]
    at: Callable[[float, float], float] = lambda now, last: now
    """Stamp, given the time and the stamp of the last good one [s]."""

    def __str__(self) -> str:
        return " ".join((self.cause, *self.changes))


STATE_FAULTS = (
    Fault("not finite", {"position": [float("nan")] * 12}),
    Fault("not finite", {"position": [1e300, -1e300] * 6}),
    Fault("not finite", {"velocity": [float("inf")] * 12}),
    Fault("not finite", {"velocity": [1e200, -1e200] * 6}),
    Fault("wrong length", {"position": [0.1] * 11}),
    Fault("wrong length", {"name": []}),
    Fault("unknown joint", {"name": [f"elbow_{i}" for i in range(12)]}),
    Fault("duplicate joint", {"name": ["FR_knee"] * 12}),
    Fault("stale stamp", {}, lambda now, last: now - 0.5),
    Fault("stamp from the future", {}, lambda now, last: now + 1.0),
    Fault("older than the last", {}, lambda now, last: last - 5e-4),
)
"""What whoever reads positions and velocities, at most 0.3 s old, must refuse."""
COMMAND_FAULTS = (
    *STATE_FAULTS,
    Fault("not finite", {"effort": [float("nan")] * 12}),
    Fault("wrong length", {"effort": [0.5] * 11}),
)
"""What whoever reads efforts as well must refuse."""


@cache
def compile_kernels() -> None:
    """Compile all that nodes compile at their first start, which may take longer than a test is patient."""
    for kind in KINDS:
        warm_up_once(lambda what: None, kind)


class NodeServer:
    """Starts nodes as children of `node_server.py`, which has imported everything already; one per test session."""

    def __init__(self) -> None:
        """Start it, and listen for nodes that end."""
        self.surroundings = surroundings()
        ours, theirs = socket.socketpair()
        self.socket, command = ours, [sys.executable, str(Path(__file__).with_name("node_server.py"))]
        self.process = subprocess.Popen(command, stdin=theirs, start_new_session=True)
        theirs.close()
        self.changed = threading.Condition()
        self.started: list[int] = []
        self.codes: dict[int, int] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.socket.makefile("r"):
            message = json.loads(line)
            with self.changed:
                if "started" in message:
                    self.started.append(message["started"])
                    self.codes.pop(message["started"], None)  # of an earlier process of this number
                else:
                    self.codes[message["ended"]] = message["code"]
                self.changed.notify_all()

    def start(self, module: str, arguments: Sequence[str]) -> "Forked":
        """Start `main` of a module as a process of its own."""
        read, write = os.pipe()
        request = {"module": module, "arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}
        with self.changed:
            before = len(self.started)
            socket.send_fds(self.socket, [json.dumps(request).encode()], [write])
            os.close(write)
            assert self.changed.wait_for(lambda: len(self.started) > before, PATIENCE), "the node server is gone"
            return Forked(self, self.started[-1], read)


class Forked:
    """A node that the node server started, with what `subprocess.Popen` offers of it."""

    def __init__(self, server: NodeServer, pid: int, output: int):
        self.server, self.pid = server, pid
        self.stdout = os.fdopen(output, buffering=1)

    @property
    def returncode(self) -> int | None:
        return self.server.codes.get(self.pid)

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        with self.server.changed:
            if not self.server.changed.wait_for(lambda: self.pid in self.server.codes, timeout):
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self.server.codes[self.pid]

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # ended, and its code is on the way
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def surroundings() -> tuple[dict[str, str], int]:
    """What a node cannot change any more once it is forked: its network, and what is read before its `main`."""
    later = ("ROS_", "FAST", "RCUTILS", "PYTEST")
    network = os.stat("/proc/thread-self/ns/net").st_ino
    return {name: value for name, value in os.environ.items() if not name.startswith(later)}, network


@cache
def node_server() -> NodeServer:
    """The server of this test session."""
    return NodeServer()


def started(name: str, arguments: Sequence[str]) -> Any:
    """Start a node: from the server, unless it is to run in other surroundings."""
    module = f"robot_dynamics.ros.{name}"
    if surroundings() == node_server().surroundings:
        return node_server().start(module, arguments)
    return spawned([sys.executable, "-m", module, *arguments])


def spawned(command: Sequence[str]) -> Any:
    """Start a command."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)


class Process:
    """One node of this package, or a `command`; its output is collected line by line."""

    def __init__(self, name: str, *arguments: str, urdf: Path | str | None = URDF, command: Sequence[str] = ()):
        compile_kernels()
        robot = [] if urdf is None else ["-p", f"urdf_file:={urdf}"]
        self.name, self.lines = name, []
        self.popen = spawned(command) if command else started(name, ["--ros-args", *robot, *arguments])
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.popen.stdout:
            with self._grown:
                self.lines.append(line.rstrip())
                self._grown.notify_all()
        with self._grown:
            self.lines.append("<end>")
            self._grown.notify_all()

    def await_line(self, text: str, count: int = 1) -> None:
        """Wait until `count` lines hold `text`."""

        def said() -> bool:
            return sum(text in x for x in self.lines) >= count

        with self._grown:
            found = self._grown.wait_for(lambda: said() or "<end>" in self.lines, PATIENCE)
        assert found, f"{self.name} did not say '{text}': {self.lines}"
        assert said(), f"{self.name} ended: {self.lines}"

    def end(self, number: int = signal.SIGINT) -> tuple[int, list[str]]:
        """Send a signal, wait for the end; returns the exit code and what was printed after the signal."""
        now = self.now()
        self.popen.send_signal(number)
        return self.result(now)

    def now(self) -> tuple[int, float]:
        """Number of lines so far, and the time: what was logged before it may be read later."""
        return len(self.lines), time.time()

    def result(self, since: tuple[int, float] = (0, 0.0)) -> tuple[int, list[str]]:
        """Wait for the end by itself; returns the exit code and the lines since an earlier `now`."""
        code = self.popen.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code, self.said_since(since)

    def said_since(self, since: tuple[int, float]) -> list[str]:
        """Lines since an earlier `now`."""
        before, begun = since
        lines = [(line, LOGGED.match(line)) for line in self.lines[before:] if line != "<end>"]
        return [line for line, logged in lines if logged is None or float(logged[1]) >= begun]


class Peer:
    """Our own node: keeps what it hears, publishes, calls services, waits for events."""

    def __init__(self, context: rclpy.Context):
        self.node = rclpy.create_node(f"peer_{time.monotonic_ns()}", context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.heard: dict[str, list[Any]] = {}
        self.sources: list[tuple[Callable[[type, bool], Any], type, Callable[[Any], None]]] = []
        self.publishers: dict[str, Any] = {}
        self.statuses: dict[str, Any] = {}
        self.history: dict[str, list[DiagnosticStatus]] = {}
        self._hear(DiagnosticArray, "/diagnostics", self._diagnosed, 50)

    def _diagnosed(self, msg: DiagnosticArray) -> None:
        for status in msg.status:
            name = status.name.split(":")[0]
            self.statuses[name] = status
            self.history.setdefault(name, []).append(status)

    def listen(self, kind: type, topic: str, qos: QoSProfile | int = BEST_EFFORT) -> list[Any]:
        """Collect the messages of a topic."""
        messages = self.heard.setdefault(topic, [])
        self._hear(kind, topic, messages.append, qos)
        return messages

    def _hear(self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile | int) -> None:
        made = self.node.create_subscription(kind, topic, callback, qos)
        self.sources.append((made.handle.take_message, kind, callback))

    def spin(self, seconds: float = 0.1) -> None:
        """Wait so long for anything, then take all that has come: rclpy alone takes one message per wait.

        On a busy machine that was slower than a plant at 100 Hz, and what a test read was seconds old.
        """
        self.executor.spin_once(timeout_sec=seconds)
        self.take()

    def take(self) -> None:
        """Take the messages that have come."""
        for take, kind, callback in self.sources:
            while (taken := take(kind, False)) is not None:
                callback(taken[0])

    def until(self, condition: Callable[[], Any], what: str = "", pause: float = 0.1) -> Any:
        """Spin until the condition holds; returns its value. While nothing comes it is asked after each `pause` [s]."""
        end = time.monotonic() + PATIENCE
        while not (value := condition()):
            assert time.monotonic() < end, f"waited in vain for {what or condition}; {self.said()}"
            self.spin(pause)
        return value

    def new(self, topic: str, count: int = 1) -> list[Any]:
        """Wait for `count` messages that come from now on."""
        messages = self.heard[topic]
        self.take()
        before = len(messages)
        self.until(lambda: len(messages) >= before + count, f"{count} new messages on {topic}")
        return messages[before:]

    def send(self, topic: str, msg: Any, qos: QoSProfile | int = 10) -> None:
        """Publish; waits for a subscriber the first time."""
        if topic not in self.publishers:
            self.publishers[topic] = self.node.create_publisher(type(msg), topic, qos)
            self.until(self.publishers[topic].get_subscription_count, f"a subscriber of {topic}")
        self.publishers[topic].publish(msg)

    def call(self, kind: type, name: str, **fields: Any) -> Any:
        """Call a service; again where no answer comes, unless a second call would not do what one does.

        Fast DDS drops an answer to a client that the server has not been matched with for 0.1 s, on a busy machine.
        """
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready, f"service {name}")
        futures, asked = [client.call_async(kind.Request(**fields))], time.monotonic()

        def answered() -> Any:
            if kind is not ChangeState and time.monotonic() > asked + len(futures) * REPEAT:
                futures.append(client.call_async(kind.Request(**fields)))
            return next((future for future in futures if future.done()), None)

        future = self.until(answered, f"an answer of {name}")
        self.node.destroy_client(client)
        return future.result()

    def said(self) -> str:
        """Return the messages of all last diagnostics."""
        return "; ".join(f"{name}: '{status.message}'" for name, status in self.statuses.items())

    def status(self, name: str) -> dict[str, str]:
        """Values of the last diagnostic of a node, with its level and message."""
        status = self.statuses.get(name)
        if status is None:
            return {}
        return {"level": str(status.level[0]), "message": status.message} | {v.key: v.value for v in status.values}


class Sensors:
    """A robot of our own making: its clock and its joint states, as we like them."""

    def __init__(self, us: Peer):
        self.us, self.now = us, 0.0
        legs = ("FR", "FL", "HR", "HL")
        self.names = [f"{leg}_{joint}" for leg in legs for joint in ("abad", "hip", "knee")]

    def tick(self, step: float = 0.01, position: float = 0.1) -> None:
        """Go on by a step, tell the time and send a state of that time."""
        self.now += step
        self.tell()
        self.send(position)
        self.us.spin(0.01)

    def tell(self) -> None:
        """Tell the time."""
        clock = Clock()
        convert.write_stamp(clock.clock, round(1e9 * self.now))
        self.us.send("/clock", clock)

    def send(self, angle: float = 0.1, later: float = 0.0, **changes) -> None:
        """Send a state."""
        msg = JointState(name=self.names, position=[angle] * 12, velocity=[0.0] * 12, effort=[0.0] * 12)
        convert.write_stamp(msg.header.stamp, round(1e9 * (self.now + later)))
        for field, value in changes.items():
            setattr(msg, field, value)
        self.us.send("joint_states", msg, BEST_EFFORT)


def stamp(seconds: float) -> Time:
    msg = Time()
    convert.write_stamp(msg, round(1e9 * seconds))
    return msg


def nanoseconds(stamp: Time) -> int:
    """Time of a stamp [ns]."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


@contextmanager
def peer() -> Iterator[Peer]:
    """Our own node in a context of its own."""
    context = rclpy.Context()
    rclpy.init(context=context)
    made = Peer(context)
    try:
        yield made
    finally:
        made.executor.shutdown()
        made.node.destroy_node()
        rclpy.try_shutdown(context=context)


@contextmanager
def running(*processes: Process) -> Iterator[None]:
    """End the processes whatever happens; of a test that fails, print what they said last."""
    try:
        yield
    except BaseException:
        for process in processes:
            print(f"{process.name} said last:", *process.lines[-8:], sep="\n    ")
        raise
    finally:
        for process in processes:
            if process.popen.poll() is None:
                process.popen.kill()
                process.popen.wait()
