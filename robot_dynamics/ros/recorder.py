# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Records what nodes publish into a bag: raw messages out of deep queues, in the order in which they were sent."""

import importlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from std_msgs.msg import String

from ..control.record import SETUP, processor, versions
from ..core.bag import BagWriter
from .parent import Parent
from .realtime import Urgency
from .transport import configure_fast_dds

LEFT_OUT = ("rosout", "parameter_events", "transition_event", "markers", "wrench", "image")
"""Last words of topics that repeat what others say, and are many or large."""
DEPTH = 5000
"""Messages that wait for the recorder: five seconds of one that comes at 1 kHz."""
POLL = 0.02
"""Wall time between looks at the queues [s]; DDS fills them in its own threads."""
LOOK = 0.2
"""Wall time between looks for new topics [s]."""
TELL = 1.0
"""Wall time between reports of how far it is [s]."""
PRIORITY = 45
"""Real-time priority, where permitted: above the monitor's, below that of those who close the loop."""
ANSWERS = 2.0
"""Wall time that a node has to tell its parameters [s]."""


@dataclass(slots=True)
class Tally:
    """One topic: messages written, and missing between the first and the last by the numbers of their publisher."""

    written: int = 0
    lost: int = 0
    counted: bool = True
    last: int | None = None

    def note(self, number: int | None, publishers: int) -> None:
        """Take the number of a message; several publishers count each for themselves, and some not at all."""
        self.written += 1
        self.counted &= number is not None and publishers <= 1
        if not self.counted or number is None:
            return
        if self.last is not None and number > self.last:  # else the publisher has begun anew
            self.lost += number - self.last - 1
        self.last = number


class Recorder:
    """Subscribes to every topic of a namespace that it finds, and writes what comes."""

    def __init__(self, node: Node, bag: BagWriter, namespace: str = ""):
        """Know no topic yet."""
        self.node, self.bag, self.prefix = node, bag, f"/{namespace.strip('/')}/".replace("//", "/")
        self.subscriptions: dict[str, Subscription] = {}
        self.tallies: dict[str, Tally] = {}
        self.publishers: dict[str, int] = {}
        self.unknown: dict[str, str] = {}
        self.described = False
        own = node.get_publishers_info_by_topic("/parameter_events")
        self.host = next((host_of(end) for end in own if end.node_name == node.get_name()), b"")

    def look(self) -> None:
        """Subscribe to topics that are new, and count who publishes them."""
        for topic, kinds in self.node.get_topic_names_and_types():
            if not self.wanted(topic):
                continue
            ends = self.node.get_publishers_info_by_topic(topic)
            self.publishers[topic] = len(ends)
            if ends and topic not in self.subscriptions and topic not in self.unknown:
                self.subscribe(topic, kinds[0], ends)

    def wanted(self, topic: str) -> bool:
        """Whether a topic belongs to the run."""
        shared = topic in ("/clock", "/tf", "/tf_static", "/diagnostics", "/robot_description")
        return (topic.startswith(self.prefix) or shared) and topic.rsplit("/", 1)[-1] not in LEFT_OUT

    def subscribe(self, topic: str, kind: str, ends: list[Any]) -> None:
        """Record a topic from now on."""
        package, _, name = kind.split("/")
        try:
            made = getattr(importlib.import_module(f"{package}.msg"), name)
        except (ImportError, AttributeError):
            made = None
        if made is None or not self.bag.knows(kind):
            self.unknown[topic] = kind
            return
        qos = self.quality(ends)
        self.declare(topic, kind, qos.durability == DurabilityPolicy.TRANSIENT_LOCAL)
        self.subscriptions[topic] = self.node.create_subscription(made, topic, lambda _: None, qos, raw=True)

    def quality(self, ends: list[Any]) -> QoSProfile:
        """How to listen to these publishers.

        On this computer by best effort. A reliable reader answers every message of a writer that keeps one, and such a
        writer has none to send again a millisecond later: of 13 000 messages a second a fifth was lost by the answers.
        """
        profiles = [end.qos_profile for end in ends]
        latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
        best_effort = any(p.reliability == ReliabilityPolicy.BEST_EFFORT for p in profiles)
        best_effort |= not latched and all(host_of(end) == self.host for end in ends)
        return QoSProfile(
            depth=DEPTH,
            reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )

    def declare(self, topic: str, kind: str, latched: bool) -> None:
        """Give a topic a place in the bag."""
        if topic not in self.tallies:
            self.bag.add(topic, kind, latched)
            self.tallies[topic] = Tally()

    def take(self) -> None:
        """Write what has come."""
        for topic, subscription in self.subscriptions.items():
            tally, publishers = self.tallies[topic], self.publishers[topic]
            with subscription.handle:
                take = subscription.handle.take_message
                while (taken := take(subscription.msg_type, True)) is not None:
                    data, info = taken
                    sent = info["source_timestamp"] or time.time_ns()
                    self.bag.write(topic, sent, data)
                    tally.note(info.get("publication_sequence_number"), publishers)
                    if not self.described and topic.endswith(f"/{SETUP}"):
                        self.describe(topic, sent, data)

    def describe(self, setup: str, sent: int, data: bytes) -> None:
        """Write the robot's description out of the plant's setup, where nobody publishes it."""
        self.described = True
        topic = f"{setup.rsplit('/', 2)[0]}/robot_description"
        if self.node.count_publishers(topic):
            return
        urdf = json.loads(deserialize_message(data, String).data)["urdf"]
        self.declare(topic, "std_msgs/msg/String", latched=True)
        self.bag.write(topic, sent, serialize_message(String(data=urdf)))
        self.tallies[topic].note(None, 1)

    @property
    def written(self) -> int:
        """Messages in the bag."""
        return sum(tally.written for tally in self.tallies.values())

    @property
    def lost(self) -> int:
        """Messages that did not come, of those that are numbered."""
        return sum(tally.lost for tally in self.tallies.values())


def host_of(end: Any) -> bytes:
    """Vendor and computer of a publisher: a GUID of Fast DDS begins with them. Those of other DDS differ within one."""
    return bytes(end.endpoint_gid[:4])


class Parameters:
    """Asks every node for its parameters, once, without waiting for it."""

    def __init__(self, node: Node):
        """Ask from `node`, which must own no subscriptions: their messages would be taken here."""
        self.node, self.found = node, dict[str, dict[str, Any]]()
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._asked: set[str] = set()
        self._until = 0.0

    def look(self) -> None:
        """Ask nodes that are new."""
        for name, namespace in self.node.get_node_names_and_namespaces():
            full = f"{namespace.rstrip('/')}/{name}"
            if full not in self._asked and not name.startswith("_") and name != self.node.get_name():
                self._asked.add(full)
                self._until = time.monotonic() + ANSWERS
                listed = self.node.create_client(ListParameters, f"{full}/list_parameters")
                self._when_there(listed, ListParameters.Request(), partial(self._get, full))

    def spin(self) -> None:
        """Take answers while some may come."""
        if time.monotonic() < self._until:
            self._executor.spin_once(timeout_sec=0.0)

    def _when_there(self, client: Any, request: Any, then: Callable[[Any], None]) -> None:
        """Call a service as soon as it is there; whoever is gone by then is not asked."""
        timer: Any = None

        def attempt() -> None:
            if client.service_is_ready():
                timer.cancel()
                client.call_async(request).add_done_callback(lambda future: then(future.result()))

        timer = self.node.create_timer(0.05, attempt)

    def _get(self, full: str, listed: Any) -> None:
        names = [n for n in listed.result.names if n != "robot_description" and not n.startswith("qos_overrides.")]
        client = self.node.create_client(GetParameters, f"{full}/get_parameters")
        self._when_there(client, GetParameters.Request(names=names), lambda got: self._take(full, names, got))

    def _take(self, full: str, names: list[str], got: Any) -> None:
        values = (parameter_value_to_python(value) for value in got.values)
        self.found[full] = {name: plain(value) for name, value in zip(names, values, strict=False)}


def plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    return list(value) if hasattr(value, "__iter__") and not isinstance(value, str) else value


@contextmanager
def ended_by_signals() -> Iterator[Callable[[], bool]]:
    """Give what tells whether SIGINT or SIGTERM has come; neither interrupts the writing of a bag."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    numbers = signal.SIGINT, signal.SIGTERM
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def record(path: Path, namespace: str, parent: int, tell: Callable[[Recorder, float], None]) -> Recorder:
    """Record until SIGINT or SIGTERM, or until the process `parent` is gone (0: none); `tell` once a second.

    Raises
    ------
    BagError
        The bag cannot be written.
    """
    watched = Parent(parent)
    with ended_by_signals() as ended:
        configure_fast_dds()
        context = Context()
        rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
        name = f"recorder_{os.getpid()}"
        options = {"context": context, "enable_rosout": False, "start_parameter_services": False}
        try:
            with BagWriter(path, notes()) as bag:
                recorder = Recorder(Node(name, namespace=namespace, **options), bag, namespace)
                parameters = Parameters(Node(f"_{name}_parameters", **options))
                Urgency().ask(PRIORITY)
                loop(recorder, parameters, lambda: ended() or watched.gone, tell)
                bag.note("parameters", json.dumps(parameters.found, sort_keys=True))
                bag.note("lost", json.dumps({t: x.lost for t, x in recorder.tallies.items() if x.counted}))
            return recorder
        finally:
            rclpy.shutdown(context=context)


def notes() -> dict[str, str]:
    """What is known before the run."""
    return {**{f"version of {name}": text for name, text in versions().items()}, "processor": processor()}


def loop(
    recorder: Recorder, parameters: Parameters, ended: Callable[[], bool], tell: Callable[[Recorder, float], None]
) -> None:
    """Look for topics, and write what comes."""
    began = looked = told = time.monotonic()
    recorder.look()
    while not ended():
        recorder.take()
        parameters.spin()
        now = time.monotonic()
        if now - looked > LOOK:
            looked = now
            recorder.look()
            parameters.look()
        if now - told > TELL:
            told = now
            tell(recorder, now - began)
        time.sleep(POLL)
    recorder.take()
    tell(recorder, time.monotonic() - began)
