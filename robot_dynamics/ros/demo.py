# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Run plant, feedforward, monitor and controller as processes on a DDS domain of their own, and record them."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from nav_msgs.msg import Odometry
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from ..control.limbs import Legs
from ..errors import RobotDynamicsError
from ..share import parameter_files
from ..simulation.recording import Recording
from . import wire
from .domain import own_domain
from .parameters import PlantParameters
from .realtime import Urgency
from .transport import configure_fast_dds

Progress = Callable[[str, float], None]
"""Called with what is going on and the fraction done."""

AWAITED: Mapping[str, str] = {
    "plant": "joint_states",
    "feedforward": "feedforward/torque/total",
    "monitor": "monitor/energy",
    "controller": "joint_commands",
}
"""Nodes in the order they start, and what each publishes before the next one starts.

The controller comes last: a node that starts takes a core for a second, and the robot's commands would wait for it.
"""

TOPICS: Mapping[str, type] = {
    "joint_states": JointState,
    "odom": Odometry,
    "contacts": MultiDOFJointState,
    "joint_commands": JointState,
    "feedforward/torque/total": JointState,
    "monitor/energy": Float64MultiArray,
}
QUEUE = QoSProfile(depth=5000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""As `Recorder.quality` has it for this computer."""
VIEWER = "viewer"
"""The node that the loop can do without."""
SHOWN_AT = re.compile(r"shown at (http://\S+)")

STAND = 0.4
"""Fraction of the run before the trot."""
START_TIMEOUT = 120.0
"""Wall time for a node to compile and publish [s]."""
SLOWEST = 0.05
"""Real-time factor below which the run is given up."""
STOP_TIMEOUT = 5.0
"""Wall time a node has to end after SIGINT [s]."""
PRIORITY = 45
"""Real-time priority of the recorder, where permitted: above the monitor's, below that of those who close the loop."""
POSITION, EFFORT = 0, 2
"""Columns of a JointState."""
POLL = 0.005
"""Wall time between looks at the queues [s]; DDS fills them in its own threads."""


class Processes:
    """Nodes of this package as operating-system processes; all of them have ended when the `with` block is left."""

    def __init__(self, urdf: Path, overrides: Mapping[str, Any], environment: Mapping[str, str], folder: Path):
        """Start nothing yet; `overrides` are parameters of the plant, output goes to files in `folder`."""
        self.urdf, self.overrides, self.folder = urdf, overrides, folder
        self.environment = {**environment, "ROS_LOG_DIR": str(folder), "RCUTILS_COLORIZED_OUTPUT": "0"}
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start one node with its files in config/."""
        files = [text for path in parameter_files(name, self.urdf, loop=True) for text in ("--params-file", str(path))]
        values = {
            "urdf_file": str(self.urdf),
            "end_with_process": os.getpid(),
            **(self.overrides if name == "plant" else {}),
        }
        given = [text for key, value in values.items() for text in ("-p", f"{key}:={json.dumps(value)}")]
        command = [sys.executable, "-m", f"robot_dynamics.ros.{name}", "--ros-args", *files, *given]
        with open(self.output(name), "wb") as output:
            self.running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=True,  # Ctrl-C comes to us alone; __exit__ passes it on once
            )

    def output(self, name: str) -> Path:
        """File with what a node printed."""
        return self.folder / f"{name}.txt"

    def check(self) -> None:
        """Notice a node that has ended, unless it is the viewer.

        Raises
        ------
        RobotDynamicsError
            One has; the sentence is the last line it printed.
        """
        for name, process in self.running.items():
            if process.poll() is not None and name != VIEWER:
                raise RobotDynamicsError(self.last_words(name))

    def last_words(self, name: str) -> str:
        """Say with which exit code a node has ended, and the last line that it printed."""
        lines = self.output(name).read_text(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
        return f"node '{name}' ended with exit code {self.running[name].returncode}: {last}"

    def __enter__(self) -> "Processes":
        """Give the processes themselves."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all nodes: SIGINT, then SIGKILL for those that do not obey."""
        for process in self.running.values():
            process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + STOP_TIMEOUT
        for process in self.running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Recorder:
    """Takes raw messages with their DDS times out of deep queues; nothing is decoded while the loop runs."""

    def __init__(self, node: Node):
        """Subscribe to every topic of the recording."""
        self.node = node
        self.subscriptions = {
            topic: node.create_subscription(kind, topic, lambda _: None, QUEUE, raw=True)
            for topic, kind in TOPICS.items()
        }
        self.taken: dict[str, list[tuple[bytes, dict[str, Any]]]] = {topic: [] for topic in TOPICS}

    def take(self) -> None:
        """Empty the queues."""
        for topic, subscription in self.subscriptions.items():
            with subscription.handle:
                while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
                    self.taken[topic].append(taken)

    def forget(self) -> None:
        """Keep the newest message of each topic alone."""
        self.taken = {topic: messages[-1:] for topic, messages in self.taken.items()}

    def count(self, topic: str) -> int:
        """How many messages have come."""
        return len(self.taken[topic])

    def newest(self, topic: str) -> float:
        """Stamp of the newest message [s]."""
        return wire.Reader(TOPICS[topic]).read(self.taken[topic][-1][0]).stamp

    def read(self, topic: str) -> list[wire.Message]:
        """All messages of a topic."""
        reader = wire.Reader(TOPICS[topic])
        return [reader.read(raw) for raw, _ in self.taken[topic]]

    def sent(self, topic: str) -> list[int]:
        """When each message was sent [ns of wall time]."""
        return [info["source_timestamp"] for _, info in self.taken[topic]]

    def rate(self, topic: str) -> float:
        """Messages sent per second of wall time, between the first and the last that came."""
        sent = self.sent(topic)
        if len(sent) < 2:
            return 0.0
        return (len(sent) - 1 + max(self.lost(topic), 0)) / (1e-9 * (sent[-1] - sent[0]))

    def lost(self, topic: str) -> int:
        """How many messages between the first and the last did not come; -1 where ROS does not number them."""
        numbers = [info.get("publication_sequence_number") for _, info in self.taken[topic]]
        if not numbers or numbers[0] is None:
            return -1 if numbers else 0
        return numbers[-1] - numbers[0] + 1 - len(numbers)


def run_loop(
    urdf: Path,
    legs: Legs,
    duration: float,
    real_time_factor: float,
    progress: Progress,
    say: Callable[[str], None] | None = None,
) -> Recording:
    """Stand up, stand, trot; `duration` in simulated seconds from the first command.

    `say` is told at which address the robot is shown in a browser; without it the robot is not shown.

    Raises
    ------
    RobotDynamicsError
        A node ended, or published nothing in time.
    """
    # Only the feet touch: some robots have hundreds of points, and all of them would travel in every `contacts`.
    overrides = {"real_time_factor": real_time_factor, "contact_links": list(legs.names)}
    timeout = duration / (SLOWEST * real_time_factor)
    with own_domain() as domain, tempfile.TemporaryDirectory() as folder:
        os.environ.update({"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"})
        environment = dict(os.environ)
        configure_fast_dds()
        context = Context()
        rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
        try:
            recorder, caller = Recorder(Node("demo_recorder", context=context)), Node("demo", context=context)
            gait = caller.create_client(SetBool, "controller/gait")
            with Processes(urdf, overrides, environment, Path(folder)) as processes:
                if say is not None:
                    progress("starting viewer", 0.0)
                    processes.start(VIEWER)
                    say(await_viewer(processes))
                begin = start(processes, recorder, progress)
                Urgency().ask(PRIORITY)  # not before: what we start would inherit it
                recorder.forget()
                trot_at, end = begin + STAND * duration, begin + duration
                watch(processes, recorder, trot_at, timeout, lambda t: progress("standing", (t - begin) / duration))
                request_trot(caller, gait)
                recorder.take()
                trot_at = recorder.newest("joint_states")
                watch(processes, recorder, end, timeout, lambda t: progress("trotting", (t - begin) / duration))
                progress("reading", 1.0)
            return recording(recorder, legs, begin, trot_at, end)
        finally:
            rclpy.shutdown(context=context)


def start(processes: Processes, recorder: Recorder, progress: Progress) -> float:
    """Start the nodes, each once the one it needs publishes; returns the stamp of the first command [s]."""
    for name, topic in AWAITED.items():
        progress(f"starting {name}", 0.0)
        processes.start(name)
        await_message(processes, recorder, name, topic)
    return recorder.read("joint_commands")[0].stamp


def await_viewer(processes: Processes) -> str:
    """Wait until the viewer has read the robot, so that it does not do so while others are timed; say where it is."""
    deadline, output = time.monotonic() + START_TIMEOUT, processes.output(VIEWER)
    while (text := output.read_text(errors="replace")).count(": ready") == 0:
        if processes.running[VIEWER].poll() is not None:
            return processes.last_words(VIEWER)
        if time.monotonic() > deadline:
            return f"node '{VIEWER}' was not ready within {START_TIMEOUT:.0f} s"
        time.sleep(10.0 * POLL)
    found = SHOWN_AT.search(text)
    return f"the robot is shown at {found[1]}" if found else "the robot is shown"


def await_message(processes: Processes, recorder: Recorder, name: str, topic: str) -> None:
    """Wait until a node publishes."""
    deadline = time.monotonic() + START_TIMEOUT
    while not recorder.count(topic):
        processes.check()
        if time.monotonic() > deadline:
            raise RobotDynamicsError(f"node '{name}' did not publish '{topic}' within {START_TIMEOUT:.0f} s")
        time.sleep(POLL)
        recorder.take()


def watch(
    processes: Processes, recorder: Recorder, until: float, duration: float, report: Callable[[float], None]
) -> None:
    """Record until a simulated time."""
    deadline = time.monotonic() + duration / SLOWEST
    while (now := recorder.newest("joint_states")) < until:
        processes.check()
        if time.monotonic() > deadline:
            raise RobotDynamicsError(
                f"the simulation is slower than {SLOWEST:g} of real time: it stands at {now:.2f} s"
            )
        report(now)
        time.sleep(POLL)
        recorder.take()


def request_trot(caller: Node, gait: Client) -> None:
    """Call the controller's service; `caller` must own no subscriptions, their messages would be taken here."""
    executor = SingleThreadedExecutor(context=caller.context)
    executor.add_node(caller)
    answer = gait.call_async(SetBool.Request(data=True))
    executor.spin_until_future_complete(answer, timeout_sec=STOP_TIMEOUT)
    if not answer.done():
        raise RobotDynamicsError(f"the controller did not answer '{gait.srv_name}' within {STOP_TIMEOUT:.0f} s")


def recording(recorder: Recorder, legs: Legs, begin: float, trot_at: float, end: float) -> Recording:
    """Decode everything from `begin` on."""
    model = legs.model
    states, odometry = recorder.read("joint_states"), recorder.read("odom")
    contacts, feedforward = recorder.read("contacts"), recorder.read("feedforward/torque/total")
    points = [wire.points_from_contacts(msg) for msg in contacts]
    sent = recorder.sent("joint_states")
    tracking_time, tracking = targets_minus_positions(recorder.read("joint_commands"), states, model.joint_names)
    return Recording(
        robot=model.name,
        weight=float(model.mass * np.linalg.norm(model.gravity)),
        friction=PlantParameters().friction,
        feet=tuple(legs.names),
        joints=model.joint_names,
        begin=begin,
        trot_at=trot_at,
        end=end,
        joint_time=times(states),
        position=columns(states, model.joint_names, POSITION),
        effort=columns(states, model.joint_names, EFFORT),
        base_time=times(odometry),
        base=np.array([wire.base_from_odometry(msg)[0] for msg in odometry]).reshape(-1, 7),
        contact_links=contacts[0].names if contacts else (),
        contact_time=times(contacts),
        contact_position=np.array([p for p, _, _ in points]),
        contact_velocity=np.array([v for _, v, _ in points]),
        contact_force=np.array([f for _, _, f in points]),
        feedforward_time=times(feedforward),
        feedforward=columns(feedforward, model.joint_names, EFFORT),
        tracking_time=tracking_time,
        tracking=tracking,
        torque_age=answer_ages(recorder, "feedforward/torque/total"),
        target_age=answer_ages(recorder, "joint_commands"),
        torque_rate=recorder.rate("feedforward/torque/total"),
        target_rate=recorder.rate("joint_commands"),
        wall_time=1e-9 * (sent[-1] - sent[0]),
        received={topic: recorder.count(topic) for topic in TOPICS},
        lost={topic: recorder.lost(topic) for topic in TOPICS},
    )


def times(messages: Sequence[wire.Message]) -> np.ndarray:
    """Stamps (len(messages),) [s]."""
    return np.array([msg.stamp for msg in messages])


def columns(messages: Sequence[wire.Message], joints: Sequence[str], column: int) -> np.ndarray:
    """Positions, velocities or efforts (len(messages), n) in the order of `joints`."""
    if not messages:
        return np.zeros((0, len(joints)))
    order = [messages[0].names.index(joint) for joint in joints]
    return np.array([wire.columns_from_joint_state(msg)[column] for msg in messages])[:, order]


def targets_minus_positions(
    commands: Sequence[wire.Message], states: Sequence[wire.Message], joints: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Stamps (C,) [s] of the commands with targets, and target minus position (C, n) in the states that they answer."""
    answered = {msg.nanoseconds: msg for msg in states}
    pairs = [(msg, answered[msg.nanoseconds]) for msg in commands if msg.nanoseconds in answered and len(msg.blocks[0])]
    rows = [
        [dict(zip(msg.names, wire.columns_from_joint_state(msg)[0], strict=True))[joint] for joint in joints]
        for pair in pairs
        for msg in pair
    ]
    both = np.array(rows, dtype=float).reshape(-1, 2, len(joints))
    return times([msg for msg, _ in pairs]), both[:, 0] - both[:, 1]


def answer_ages(recorder: Recorder, topic: str) -> np.ndarray:
    """Wall time from when a state was sent to when its answer was [s]: both carry the same stamp."""
    sent = dict(
        zip((msg.nanoseconds for msg in recorder.read("joint_states")), recorder.sent("joint_states"), strict=True)
    )
    answers = zip(recorder.read(topic), recorder.sent(topic), strict=True)
    return 1e-9 * np.array([t - sent[msg.nanoseconds] for msg, t in answers if msg.nanoseconds in sent], dtype=float)
