# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What all nodes share: parameters, the robot description, lifecycle, diagnostics and throttled warnings."""

import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from copy import copy
from dataclasses import fields
from typing import Any, ClassVar, get_origin

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock as RclpyClock
from rclpy.clock import ClockType
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from rclpy.task import Future
from rclpy.time_source import CLOCK_TOPIC
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from ..control.recent import Recent
from ..control.robot import immovable
from ..control.throttle import Throttle
from ..control.wrenches import LinkWrenches
from ..errors import ParameterError, RobotDynamicsError, ShapeError
from ..model.model import Model
from ..warm_up import kind_of, warm_up_once
from . import convert, wire
from .parameters import RobotParameters, checked, range_text, updated
from .parent import Parent
from .realtime import ANY, Urgency
from .robot_params import model_of

RELIABLE = QoSProfile(depth=10)
LATEST = QoSProfile(depth=1)
SENSOR = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
STREAM = QoSProfile(depth=100)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PARTING = 0.5
"""Time after the answer to `shutdown` at which the process ends: DDS drops what a caller has not taken by then [s]."""
OWN_OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")
OK, WARN, ERROR, STALE = 0, 1, 2, 3
"""What they mean stands in docs/faults.md, the same for every node."""
WARN_PERIOD = 5.0
"""So long a diagnostic warns of a message that was refused [s]; the count stays."""
NO_ROBOT = "no robot yet: set urdf_file or robot_description, or publish robot_description"
LISTENERS_PERIOD = 0.1
"""Wall time between looks at who listens [s]; asking at each message would cost as much as writing it."""
WATCH_PERIOD = 0.05
"""Wall time between looks at the clock and at what has fallen silent [s]."""
CLOCK_PERIOD = 0.05
"""Wall time after which a paused plant tells the time again [s]: a clock that is silent is none."""
RCLError = rclpy_implementation.RCLError
InvalidHandle = rclpy_implementation.InvalidHandle


class Component(LifecycleNode):
    """A node that needs a robot: a child says what to build, start and stop."""

    kind: ClassVar[type[RobotParameters]]
    follows: ClassVar[bool] = False
    """Whether another robot_description replaces the robot of an active node: of one that commands nothing."""
    values: Any
    model: Model

    def __init__(self, name: str):
        """Read the parameters.

        Raises
        ------
        ParameterError
            Unknown name, wrong type or value; the sentence names the parameter.
        """
        self._taken: dict[Subscription, Callable[[], None]] = {}
        self._read_clock: Callable[[], None] | None = None
        self._simulated, self._told_at, self._unheard = 0, 0.0, False
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        self.active, self.begun = False, False
        self._built, self._text = "", ""
        self._refused = ""
        self._problem: Exception | None = None
        self.wake = Future()
        self.ended = False
        self._warnings, self._recent = Throttle(2.0), Recent(WARN_PERIOD)
        self.refusals: Counter[str] = Counter()
        self._urgency = Urgency()
        self.listened: frozenset[Publisher] = frozenset()
        self.values = self._declared()
        self._parent = Parent(self.values.end_with_process)
        self.add_on_set_parameters_callback(self._changed)
        self._owned: list[tuple[Any, Callable[[Any], object]]] = []
        self.steady = RclpyClock(clock_type=ClockType.STEADY_TIME)
        self._diagnostics = self.publisher(DiagnosticArray, "/diagnostics", RELIABLE)
        self.create_timer(1.0, self._diagnose, clock=self.steady)  # also while inactive
        if not (self.values.urdf_file or self.values.robot_description):
            self._subscription(String, "robot_description", self._described, LATCHED, raw=False)
        self._owned.clear()

    # What a child provides.

    def build(self) -> None:
        """Make everything that follows from `self.model`; raise a RobotDynamicsError if it does not fit."""

    def start(self) -> None:
        """Begin to listen and to publish."""

    def stop(self) -> None:
        """End what `start` began; publishers, subscriptions, services and timers end by themselves."""

    def changed(self, names: Set[str]) -> None:
        """Use the new `self.values` after parameters of these names changed at run time, together.

        Whoever sets a parameter waits for this, and so does all else that the node hears.
        """

    def missing(self) -> str:
        """Say what has fallen silent, like `no joint_states`; looked at every WATCH_PERIOD while active."""
        return ""

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Level, message and values of the diagnostic, once a second while active."""
        return OK, "running", {}

    # What a child uses. Once deactivated nothing calls back: the executor still brings what it had queued before.

    def publisher(self, kind: type, topic: str, qos: QoSProfile) -> Any:
        """Create a publisher whose QoS the user may override."""
        options = QoSOverridingOptions.with_default_policies()
        made = self.create_publisher(kind, topic, copy(qos), qos_overriding_options=options)  # rclpy writes into it
        return self._own(made, self.destroy_publisher)

    def subscription(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile, raw: bool = False
    ) -> Any:
        """Create a subscription whose QoS the user may override; a `raw` one gives the callback bytes."""

        def heard(msg: Any) -> None:
            if self.active:
                callback(msg)

        return self._subscription(kind, topic, self._guarded(topic, heard) if raw else heard, qos, raw)

    def _subscription(self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile, raw: bool) -> Any:
        options = QoSOverridingOptions.with_default_policies()
        made = self.create_subscription(kind, topic, callback, copy(qos), qos_overriding_options=options, raw=raw)
        return self._own(made, self.destroy_subscription)

    def latest(self, kind: type, topic: str, callback: Callable[[bytes], None], qos: QoSProfile) -> Callable[[], None]:
        """Subscribe to what is needed now and then: calling the result gives the callback the newest message, if new.

        Nothing wakes up when a message comes, and those in between are never looked at.
        """
        return self._on_demand(self._subscription(kind, topic, callback, qos, raw=True))

    def release(self, update: Callable[[], None]) -> None:
        """Unsubscribe what `latest` or `waiting` gave, before the node is deactivated."""
        made = next(subscription for subscription, taken in self._taken.items() if taken is update)
        self._owned = [(entity, destroy) for entity, destroy in self._owned if entity is not made]
        self.destroy_subscription(made)

    def waiting(self, kind: type, topic: str, callback: Callable[[bytes], None], qos: QoSProfile) -> Callable[[], None]:
        """Subscribe to what is needed in whole now and then: calling the result gives the callback what has come.

        Nothing wakes up when a message comes.
        """
        made = self._subscription(kind, topic, self._guarded(topic, callback), qos, raw=True)
        take, heard, most = made.handle.take_message, made.callback, max(made.qos_profile.depth, 1)

        def update() -> None:
            for _ in range(most):  # and no more: a source as fast as this loop must not hold it
                if (taken := take(kind, True)) is None:
                    return
                heard(taken[0])

        self._taken[made] = update
        return update

    def service(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> Any:
        """Create a service."""

        def answer(request: Any, response: Any) -> Any:
            return callback(request, response) if self.active else response

        return self._own(self.create_service(kind, name, answer), self.destroy_service)

    def client(self, kind: type, name: str) -> Any:
        """Create a client of a service."""
        return self._own(self.create_client(kind, name), self.destroy_client)

    def timer(self, period: float, callback: Callable[[], None]) -> Any:
        """Create a timer on wall time [s]: it also runs while simulated time stands still."""

        def called() -> None:
            if self.active:
                callback()

        return self._own(self.create_timer(period, called, clock=self.steady), self.destroy_timer)

    def _own(self, entity: Any, destroy: Callable[[Any], object]) -> Any:
        """Remember what `start` made, to undo it when deactivated."""
        self._owned.append((entity, destroy))
        return entity

    def nanoseconds(self) -> int:
        """Time of the node's clock [ns]; 0 while simulated time has not begun."""
        if self._read_clock is None:
            return time.time_ns()
        self._read_clock()
        return self._simulated

    def now(self) -> float:
        """Time of the node's clock [s]; 0 while simulated time has not begun."""
        return 1e-9 * self.nanoseconds()

    def received(self, nanoseconds: int) -> float:
        """Time at which a message of this stamp came [s]: by the node's clock, and by the stamp until /clock is heard.

        Without it a robot that falls silent before the first /clock would never be missed.
        """
        now = self.nanoseconds()
        if self._unheard:
            now = self._simulated = max(now, nanoseconds)
            self._told_at = time.monotonic()
        return 1e-9 * now

    def waited(self) -> float:
        """Time by which to tell how old the last message is [s]: wall time carries it on when /clock falls silent.

        A clock that repeats its value is paused, and what is not sent meanwhile is not missed.
        """
        return self.now() + self.silence()

    def silence(self) -> float:
        """Wall time for which /clock has been silent [s]; 0 while that is no longer than a paused one may be."""
        if self._read_clock is None or not self._told_at:
            return 0.0
        silence = time.monotonic() - self._told_at
        return silence if silence > self.values.state_timeout + CLOCK_PERIOD else 0.0

    def silent(self, topic: str) -> str:
        """Say that nothing comes by a topic, and if so that the clock does not either."""
        return f"no {topic}, no /clock" if self.silence() else f"no {topic}"

    def heard(self, *publishers: Publisher) -> bool:
        """Tell whether anybody listened to one of our publishers, at most LISTENERS_PERIOD ago."""
        return not self.listened.isdisjoint(publishers)

    def count_listeners(self) -> None:
        """Look who listens, for `heard`."""
        publishers = (p for p, _ in self._owned if isinstance(p, Publisher))
        self.listened = frozenset(p for p in publishers if p.get_subscription_count())

    def sources(self, topic: str) -> int:
        """How many publish a topic, remapped as our subscription to it."""
        return self.count_publishers(self.resolve_topic_name(topic))

    def set_realtime(self, priority: int = 0, latency: float = ANY) -> None:
        """Let threads run under SCHED_FIFO (0: as any others) and processors wake within `latency` [s].

        What is not permitted is said.
        """
        for refused in self._urgency.ask(priority, latency):
            self.get_logger().info(refused)

    def warn(self, text: str) -> None:
        """Warn at most every two seconds about each kind of problem."""
        if self._warnings.passes(text, time.monotonic()):
            self.get_logger().warning(text)

    def refuse(self, topic: str, problem: object) -> None:
        """Count a message that cannot be used, and say why."""
        self.refusals[f"refused {topic}"] += 1
        self.warn(f"{topic} refused: {problem}")

    def take_wrench(self, wrenches: LinkWrenches, data: bytes) -> None:
        """Give a WrenchStamped to `wrenches`: one on the link that its frame names, in the axes of that link."""
        msg = deserialize_message(data, WrenchStamped)
        stamp = msg.header.stamp
        received = self.received(stamp.sec * 1_000_000_000 + stamp.nanosec)
        try:
            wrenches.put(msg.header.frame_id, convert.wrench_from_msg(msg.wrench), received)
        except RobotDynamicsError as problem:
            self.refuse("~/wrench", problem)

    def doubts(self, refused: Mapping[str, int]) -> tuple[int, dict[str, object]]:
        """Return the level that counts of refused messages lead to, and the counts with what grew of late.

        To be asked with all counts, every time.
        """
        counts = {**refused, **self.refusals}
        recent = self._recent.grown(counts, time.monotonic())
        return (WARN if recent else OK), counts | ({"refused of late": ", ".join(recent)} if recent else {})

    # What rclpy calls.

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Subscriptions whose messages are to wake the executor."""
        return (s for s in super().subscriptions if s not in self._taken)

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[..., None], qos_profile: Any, **options: Any
    ) -> Any:
        """Leave simulated time to `nanoseconds`: hearing each message of a fast clock costs more than our own work."""
        if topic != CLOCK_TOPIC:
            return super().create_subscription(msg_type, topic, callback, qos_profile, **options)
        self._tell_rclpy = callback

        def told(data: bytes) -> None:
            self._simulated, self._told_at = wire.nanoseconds_from_clock(data), time.monotonic()
            self._unheard = False

        made = super().create_subscription(msg_type, topic, told, qos_profile, raw=True, **options)
        self._read_clock, self._unheard = self._on_demand(made), True
        return made

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Forget it here too."""
        if self._taken.pop(subscription, None) is self._read_clock:
            self._read_clock, self._simulated, self._told_at, self._unheard = None, 0, 0.0, False
        return super().destroy_subscription(subscription)

    def _guarded(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def guarded(data: bytes) -> None:
            try:
                callback(data)
            except ShapeError as problem:
                self.refuse(topic, problem)

        return guarded

    def _on_demand(self, made: Subscription) -> Callable[[], None]:
        take, kind, callback, qos = made.handle.take_message, made.msg_type, made.callback, made.qos_profile
        alone = qos.depth == 1 and qos.history == HistoryPolicy.KEEP_LAST

        def update() -> None:
            if (newest := take(kind, True)) is None:
                return
            while not alone and (taken := take(kind, True)) is not None:
                newest = taken
            try:
                callback(newest[0])
            except ShapeError as problem:
                self.refuse(made.topic, problem)

        self._taken[made] = update
        return update

    # Description and lifecycle.

    def begin(self) -> None:
        """Configure and activate now, if the description is there and `autostart` is set.

        Raises
        ------
        RobotDynamicsError
            The description or a parameter does not fit; one that came by topic is only logged.
        """
        self.wake = Future()
        if self._built or not self.values.autostart:
            return
        if not self.description():
            self.get_logger().info(NO_ROBOT)
            return
        self.begun = True
        for trigger in (self.trigger_configure, self.trigger_activate):
            trigger()
            if self._problem is not None:
                self._begin_failed(self._problem)
                return

    def _begin_failed(self, problem: Exception) -> None:
        if not (self._text and isinstance(problem, RobotDynamicsError)):
            raise problem
        self._text, self.begun = "", False
        self._refused = f"robot_description refused: {problem}"
        self.get_logger().error(self._refused)

    def end(self) -> None:
        """Let `run` come to an end."""
        self.ended = True
        self._rouse()

    def quit(self) -> None:
        """Stop what runs, before the context goes down."""
        self._deactivate()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the model, or fail with one sentence."""
        return self._step(self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start."""
        return self._step(self._activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop."""
        return self._step(self._deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the robot."""
        return self._step(self._cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop, and end the process when the answer has had time to arrive."""
        self.ended = True
        self.create_timer(PARTING, self.end, clock=self.steady)
        return self._step(self._deactivate)

    def _step(self, step: Callable[[], None]) -> TransitionCallbackReturn:
        """Do one transition; what goes wrong is kept for `begin` and logged for anybody else."""
        self._problem = None
        try:
            step()
        except RobotDynamicsError as problem:
            self._problem = problem
            self.get_logger().debug(str(problem)) if self.begun else self.get_logger().error(str(problem))
            return TransitionCallbackReturn.FAILURE
        except Exception as problem:
            self._problem = problem
            self.get_logger().error(traceback.format_exc())
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    def description(self) -> str:
        """Return the URDF, the path of its file, or nothing where there is none yet."""
        return self.values.urdf_file or self.values.robot_description or self._text

    def _configure(self) -> None:
        source = self.description()
        if not source:
            raise ParameterError(NO_ROBOT)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.model = model_of(source, self.values)
            self.order = self._joint_order()
            self.warm_up(kind_of(self.model))
            self.build()
        self._built, self._refused = source, ""
        self.refusals.clear()
        joints = ", ".join(f"{i} {name}" for i, name in enumerate(self.order))
        base = "floating" if self.model.floating_base else "fixed"
        self.get_logger().info(f"{self.model.name}, {base} base, {len(self.order)} joints: {joints}")
        if odd := self.model.report.nonphysical:
            self.get_logger().warning(f"odd inertias, used as they are: {'; '.join(odd)}")
        if stuck := immovable(self.model):
            self.get_logger().warning(f"no motor moves these joints: {'; '.join(stuck)}; see joint_friction")
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            self.get_logger().warning(text)

    def warm_up(self, kind: str) -> None:
        """Compile what is missing before any robot waits for it."""
        warm_up_once(lambda how_far: self.get_logger().info(f"compiled {how_far} (first start only)"), kind)

    def _joint_order(self) -> tuple[str, ...]:
        """Joints of messages without names; a permutation of all moving joints."""
        if self.values.joints == ("",):
            return self.model.joint_names
        for name in self.values.joints:
            self.model.joint_index(name)
        if sorted(self.values.joints) != sorted(self.model.joint_names):
            raise ParameterError(f"'joints' must name every joint once: {', '.join(self.model.joint_names)}")
        return tuple(self.values.joints)

    def _activate(self) -> None:
        self.start()
        self.active = True
        self.count_listeners()
        self.timer(LISTENERS_PERIOD, self.count_listeners)
        self._missed = self.missing()
        self.timer(WATCH_PERIOD, self._watch)
        self.get_logger().info("ready")

    def _deactivate(self) -> None:
        if self.active:
            self.active = False
            self.stop()
            for entity, destroy in self._owned:
                destroy(entity)
            self._owned.clear()

    def _cleanup(self) -> None:
        self._built = ""
        self.begun = False

    def _described(self, msg: String) -> None:
        """Wake `run` to begin with a description; say so if another robot arrives later and is not followed."""
        if msg.data == self._built or self.ended:
            return
        if self._built and not (self.follows and self.active and self.values.autostart):
            self.refusals["ignored robot_description"] += 1
            self.warn("another robot_description arrived: ignored; deactivate and clean up to load it")
            return
        self._text = msg.data
        if self._built:
            self.trigger_deactivate()
            self.trigger_cleanup()
        self.executor.create_task(self._rouse)  # after it has let go of timers that have ended

    def _rouse(self) -> None:
        if not self.wake.done():
            self.wake.set_result(None)

    # Parameters and diagnostics.

    def _declared(self) -> Any:
        """Declare the dataclass's parameters with the values the user gave."""
        given = {
            name: p.value for name, p in self.get_parameters_by_prefix("").items() if not name.startswith(OWN_OF_ROS)
        }
        for name in given:
            self.undeclare_parameter(name)
        values = checked(self.kind, nested(self.kind, given))
        for f in fields(self.kind):
            value = getattr(values, f.name)
            for name, item in (
                [(f"{f.name}.{k}", v) for k, v in value.items()] if isinstance(value, dict) else [(f.name, value)]
            ):
                self.declare_parameter(name, item, descriptor(f), ignore_override=True)
        return values

    def _changed(self, parameters: list[Parameter]) -> SetParametersResult:
        """Apply a change at run time, or refuse it with the reason; all or nothing."""
        given = {p.name: p.value for p in parameters if not p.name.startswith(OWN_OF_ROS)}
        old = self.values
        try:
            changes = nested(self.kind, given)
            self.values = updated(old, changes)
            if changes and self._built:
                self.changed(changes.keys())
        except RobotDynamicsError as problem:
            self.values = old
            return SetParametersResult(successful=False, reason=str(problem))
        return SetParametersResult(successful=True)

    def _watch(self) -> None:
        """Say at once what falls silent, and that it is back."""
        if (missing := self.missing()) != self._missed:
            self._missed = missing
            self._diagnose()

    def _idle(self) -> str:
        """Say what the node waits for."""
        return "inactive" if self._built else self._refused or "waiting for robot_description"

    def _diagnose(self) -> None:
        if self._parent.gone and not self.ended:
            self.get_logger().info(f"process {self._parent.pid} is gone: ending with it")
            self.end()
        if self._read_clock is not None:  # rclpy stamps events of parameters and lifecycle by its own clock
            clock = Clock()
            convert.write_stamp(clock.clock, self.nanoseconds())
            self._tell_rclpy(clock)
        if self.active:
            level, message, values = self.status()
        else:
            level, message, values = STALE, self._idle(), dict(self.refusals)
        name = f"{self.get_fully_qualified_name().lstrip('/')}: {self.get_name()}"
        hardware = self.model.name if self._built else ""
        msg = DiagnosticArray(status=[convert.msg_from_status(name, hardware, level, message, values)])
        convert.write_stamp(msg.header.stamp, self.nanoseconds())
        self._diagnostics.publish(msg)


def sender(publisher: Publisher) -> Callable[[bytes], None]:
    """Return what publishes serialized messages without rclpy's look at their type; it raises RCLError at the end."""
    send: Callable[[bytes], None] = publisher.handle.publish_raw
    return send


def quantiles(name: str, values: Iterable[float]) -> dict[str, object]:
    """Median and 99th percentile [s] if there are any; np.quantile would hold the interpreter for 0.4 ms."""
    ordered = sorted(values)
    return {f"{name} p{p} [s]": ordered[p * len(ordered) // 100] for p in (50, 99)} if ordered else {}


def descriptor(f: Any) -> ParameterDescriptor:
    """Return what ROS tools show of a declared parameter, and the range that rclpy enforces."""
    limits = range_text(f)
    described = ParameterDescriptor(
        description=f.metadata["sentence"], additional_constraints=limits, read_only=f.metadata["fixed"]
    )
    if f.type is float and limits:
        described.floating_point_range = [
            FloatingPointRange(from_value=f.metadata["low"], to_value=f.metadata["high"], step=0.0)
        ]
    if f.type is int and limits:
        described.integer_range = [IntegerRange(from_value=f.metadata["low"], to_value=f.metadata["high"], step=1)]
    return described


def nested(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Gather `armature.<joint>` entries under `armature`, for every field that is a dict."""
    out: dict[str, Any] = {f.name: {} for f in fields(kind) if get_origin(f.type) is dict}
    for name, value in given.items():
        head, _, rest = name.partition(".")
        if rest and isinstance(out.get(head), dict):
            out[head][rest] = value
        else:
            out[name] = value
    return {name: value for name, value in out.items() if value != {}}
