# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""All that hear a robot, under bad sensors: refused, named, given up in time, and taken back."""

import time
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from depth import every
from geometry_msgs.msg import Point, Pose, PoseWithCovariance, Quaternion, Transform, Wrench
from nav_msgs.msg import Odometry
from ros_nodes import STATE_FAULTS, URDF, Fault, Peer, Process, Sensors, peer, running, stamp
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import gravity_forces, load_urdf, mass_matrix, neutral, point_position
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros
NAN = float("nan")
TIMEOUT = 0.1
"""The `state_timeout` of every listener [s]."""
OK, WARN, STALE = "0", "1", "3"
MODEL = load_urdf(URDF, floating_base=True)
OPTIONS = {
    "monitor": (),
    "controller": ("stand_time:=0.1",),
    "estimator": ("estimate_contacts:=true",),
    "feedforward": (
        "floating_base:=false",
        "mode:=gravity",
        "dry_run:=false",
        "ramp_time:=0.0",
        "output:=joint_commands",
    ),
}
ANSWERS = {
    "monitor": (JointState, "monitor/residual"),
    "controller": (JointState, "joint_commands"),
    "estimator": (MultiDOFJointState, "contacts"),
    "feedforward": (JointState, "efforts"),
}
"""Type and topic of what a node says about each state."""
NAMES = {
    "monitor": ("-r", "contacts:=felt"),
    "estimator": ("-r", "__node:=estimator"),
    "feedforward": ("-r", "joint_commands:=efforts"),
}


class Listener:
    """A node that hears our sensors; `answers` are its messages that carry the stamp of a state."""

    def __init__(self, us: Peer, name: str):
        self.us, self.name = us, name
        self.answers = us.listen(*ANSWERS[name])

    def status(self, key: str, default: str = "") -> str:
        return self.us.status(self.name).get(key, default)

    def count(self, cause: str) -> int:
        """How many joint states it refused for this cause."""
        kind = "refused" if self.name == "controller" else "refused joint_states"
        return int(self.status(f"{kind}: {cause}", "0"))

    def reads(self, fault: Fault) -> bool:
        """Whether it looks at what is wrong; the controller looks at no velocities."""
        return not (self.name == "controller" and "velocity" in fault.changes)

    def well(self, since: float, until: float) -> bool:
        """Whether it answered a state of this time and says that it has one."""
        answered = self.answers and since < seconds(self.answers[-1]) <= until + 1e-6 and any(numbers(self.answers[-1]))
        return answered and self.status("level", STALE) != STALE

    def gave_up(self) -> bool:
        """Whether it says so, and the feed-forward lets go of the joints."""
        let_go = self.name != "feedforward" or not any(self.answers[-1].effort)
        return self.status("level") == STALE and self.status("message") == "no joint_states" and let_go


class Room:
    """Our sensors, and all that listen to them."""

    def __init__(self, us: Peer):
        self.us, self.sensors = us, Sensors(us)
        self.sensors.now = 10.0
        self.listeners = [Listener(us, name) for name in ANSWERS]

    def well(self) -> None:
        """Send good states until everyone has answered one and the diagnostics know it."""
        begun = self.sensors.now

        def answered() -> bool:
            self.sensors.tick()
            return all(listener.well(begun, self.sensors.now) for listener in self.listeners)

        self.us.until(answered, "answers")


def seconds(msg: JointState | MultiDOFJointState) -> float:
    return convert.seconds_from_stamp(msg.header.stamp)


def numbers(msg: JointState | MultiDOFJointState | Float64MultiArray) -> list[float]:
    """All numbers of a message."""
    if isinstance(msg, Float64MultiArray):
        return list(msg.data)
    if isinstance(msg, JointState):
        return [*msg.position, *msg.velocity, *msg.effort]
    places = [x for t in msg.transforms for x in (t.translation.x, t.translation.y, t.translation.z)]
    return [*places, *(x for w in msg.wrench for x in (w.force.x, w.force.y, w.force.z))]


def start(name: str) -> Process:
    options = ("use_sim_time:=true", f"state_timeout:={TIMEOUT}", *OPTIONS[name])
    kind = "feedforward" if name == "estimator" else name
    return Process(kind, *(word for option in options for word in ("-p", option)), *NAMES.get(name, ()))


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    nodes = [start(name) for name in ANSWERS]
    with running(*nodes), peer() as us:
        for node in nodes:
            node.await_line("ready")
        for topic in ("monitor/energy", "monitor/mass_matrix"):
            us.listen(Float64MultiArray, topic)
        yield Room(us)
        assert np.isfinite([x for messages in us.heard.values() for m in messages for x in numbers(m)]).all()
        assert [node.end() for node in nodes] == [(0, [])] * len(nodes)


@pytest.mark.parametrize("fault", every(5, [None, *STATE_FAULTS]), ids=lambda fault: str(fault or "silence"))
def test_a_robot_that_says_nothing_good_is_given_up_in_time_and_taken_back(room: Room, fault: Fault | None):
    us, sensors = room.us, room.sensors
    listeners = [x for x in room.listeners if fault is None or x.reads(fault)]
    last, before, told = 0.0, {}, []

    def answered() -> bool:
        sensors.send()
        return all(x.answers[-1].header.stamp == stamp(sensors.now) for x in listeners)

    def hear(age: float) -> None:
        """Tell the time at which the last good state is so old, and send what is none."""
        sensors.now = last + age
        sensors.tell()
        told.append(time.monotonic())
        if fault is not None:
            sensors.send(later=fault.at(sensors.now, last) - sensors.now, **fault.changes)
        us.spin(0.01)

    def at_the_last_moment() -> bool:
        hear(0.099)
        return all(x.status("state age [s]").startswith("0.099") for x in listeners)

    def grown_old() -> bool:
        """Let a good state grow old; returns whether a busy machine let us tell the time without a break of our own."""
        nonlocal last, before
        room.well()
        us.until(answered, "the last answers")
        last = sensors.now
        before = {x: (len(x.answers), x.count(fault.cause) if fault else 0) for x in listeners}
        told[:] = [time.monotonic()]
        us.statuses.clear()  # an earlier attempt ended at the age that is awaited
        for age in np.linspace(0.01, 0.09, 9):
            hear(age)
        us.until(at_the_last_moment, "the last moment", pause=0.0)
        return max(np.diff(told)) < TIMEOUT

    us.until(grown_old, "a state that grew old while the clock went on")
    for x in listeners:
        assert x.status("level") != STALE
        assert all(m.header.stamp == stamp(last) for m in x.answers[before[x][0] :]), x.name

    def given_up() -> bool:
        hear(TIMEOUT + 0.001)
        return all(x.gave_up() and (fault is None or x.count(fault.cause) > before[x][1]) for x in listeners)

    us.until(given_up, "the end of patience and its reason")
    for x in listeners:
        said = x.answers[before[x][0] :]
        assert all(m.header.stamp == stamp(last) or let_go(x, m) for m in said), x.name
    room.well()


def let_go(listener: Listener, msg: JointState | MultiDOFJointState) -> bool:
    """Whether a message is the timeout action of the feed-forward."""
    return listener.name == "feedforward" and not any(msg.effort)


def test_a_clock_that_jumps_back_is_named_and_work_goes_on(room: Room):
    room.well()
    key = "clock jumped back"
    before, room.sensors.now = {x: x.count(key) for x in room.listeners}, 2.0
    room.well()
    room.us.until(lambda: (room.sensors.tick(), all(x.count(key) > before[x] for x in room.listeners))[-1], key)
    room.well()


@pytest.mark.thorough
def test_one_bad_state_is_a_warning_for_some_seconds_and_counted_for_good(room: Room):
    """Not of the estimator, whose warning is that of a robot without odom."""
    room.well()
    us, sensors, key = room.us, room.sensors, "wrong length"
    listeners = [x for x in room.listeners if x.name != "estimator"]
    before = {x: x.count(key) for x in listeners}

    def end_of_warnings() -> bool:
        sensors.tick()
        return all(x.status("level") == OK for x in listeners)

    us.until(end_of_warnings, "the end of what was before")

    def refused() -> bool:
        sensors.send(name=[])
        sensors.tick()
        return all(x.count(key) > before[x] for x in listeners)

    us.until(refused, key)

    def warned() -> bool:
        sensors.tick()
        return all(x.status("level") == WARN and key in x.status("refused of late") for x in listeners)

    us.until(warned, "the warning")
    counted = {x: x.count(key) for x in listeners}
    us.until(end_of_warnings, "the end of the warning")
    for x in listeners:
        assert x.count(key) >= counted[x] > before[x]
        assert not x.status("refused of late")


def test_joints_are_taken_by_name(room: Room):
    room.well()
    us, sensors = room.us, room.sensors
    angles, order = np.linspace(-0.3, 0.8, 12), np.random.default_rng(0).permutation(12)
    q = neutral(MODEL)
    q[[MODEL.q_index[MODEL.joint_index(name)] for name in sensors.names]] = angles
    permuted = {"name": [sensors.names[i] for i in order], "position": angles[order].tolist()}
    fixed = load_urdf(URDF, floating_base=False)
    expected = {
        "monitor/mass_matrix": lambda m: np.allclose(m.data, mass_matrix(MODEL, q).ravel()),
        "joint_commands": lambda m: np.allclose(m.position, q[MODEL.q_index]),
        "contacts": lambda m: np.allclose(feet(m), point_position(MODEL, find_legs(MODEL).feet, q)),
        "efforts": lambda m: np.allclose(m.effort, gravity_forces(fixed, q[MODEL.q_index])),
    }
    seen = set()
    for topic in expected:
        us.heard[topic].clear()
    sensors.now = 1.0  # a controller begins again where it finds the joints

    def shown() -> bool:
        sensors.now += 0.001
        sensors.tell()
        sensors.send(**permuted)
        us.spin(0.01)
        for topic, fits in expected.items():
            if any(map(fits, us.heard[topic])):
                seen.add(topic)
            us.heard[topic].clear()
        return seen == set(expected)

    us.until(shown, "the joints in every answer")
    room.well()


def feet(msg: MultiDOFJointState) -> list[list[float]]:
    return [[t.translation.x, t.translation.y, t.translation.z] for t in msg.transforms]


def test_ten_states_at_once_are_answered_in_order(room: Room):
    room.well()
    sensors, before = room.sensors, {x: len(x.answers) for x in room.listeners}
    for _ in range(30):
        for _ in range(10):
            sensors.now += 0.001
            sensors.send()
        sensors.tick(0.001)
    room.well()
    for x in room.listeners:
        stamps = [seconds(m) for m in x.answers[before[x] :]]
        assert stamps == sorted(stamps), x.name


def test_a_second_publisher_of_joint_states_is_named_until_it_goes(room: Room):
    us, sensors, listeners, older = room.us, room.sensors, room.listeners, "older than the last"
    with peer() as other:
        rival, before = Sensors(other), {x: x.count(older) for x in listeners}

        def fight() -> None:
            sensors.tick()
            rival.now = sensors.now - 0.02
            rival.send(-0.5)

        def named() -> bool:
            fight()
            return all(x.status("message").startswith("2 publishers on joint_states") for x in listeners)

        def answered() -> bool:
            fight()
            return all(seconds(x.answers[-1]) > sensors.now - 0.015 for x in listeners)

        room.well()
        us.until(named, "the rival")
        us.until(lambda: (fight(), all(x.count(older) > before[x] for x in listeners))[-1], older)
        us.until(answered, "answers")
        other.node.destroy_publisher(other.publishers["joint_states"])
        us.until(lambda: (sensors.tick(), not any("publishers" in x.status("message") for x in listeners))[-1], "peace")
    room.well()


@pytest.mark.parametrize(
    "bad", [{"position": Point(x=NAN)}, {"orientation": Quaternion(w=0.0)}, {"position": Point(x=1e300)}]
)
def test_a_base_that_is_none_is_refused_and_named(room: Room, bad: dict):
    room.well()
    key, us, sensors = "refused odom: not finite", room.us, room.sensors
    floating = [x for x in room.listeners if x.name in ("monitor", "estimator")]
    before = {x: int(x.status(key, "0")) for x in floating}

    def noticed() -> bool:
        sensors.tick()
        odom = Odometry(child_frame_id="base", pose=PoseWithCovariance(pose=Pose(**bad)))
        odom.header.stamp = stamp(sensors.now)
        us.send("odom", odom)
        return all(int(x.status(key, "0")) > before[x] for x in floating)

    us.until(noticed, key)
    room.well()


@pytest.mark.parametrize("bad", [NAN, 1e300])
def test_efforts_and_contacts_that_are_none_are_left_out(room: Room, bad: float):
    us, sensors = room.us, room.sensors
    room.well()
    contact = MultiDOFJointState(joint_names=["FR_knee"], transforms=[Transform()], wrench=[Wrench()])
    contact.wrench[0].force.z = bad
    for _ in range(20):
        sensors.tick()
        sensors.send(effort=[bad] * 12)
        us.send("felt", contact)
    room.well()


def test_a_controller_rises_anew_from_where_the_joints_are_after_a_silence(room: Room):
    us, sensors, targets = room.us, room.sensors, room.us.heard["joint_commands"]

    def stood() -> bool:
        """Targets are a topic of their own, which may come later than the word."""
        sensors.tick(0.002)
        far = bool(targets) and np.abs(np.subtract(targets[-1].position, 0.1)).max() > 0.5
        return us.status("controller").get("message") == "standing" and far

    us.until(stood, "the stand")
    begun = sensors.now = sensors.now + TIMEOUT + 0.05
    us.until(lambda: (sensors.tick(0.002), seconds(targets[-1]) > begun)[-1], "targets")
    first = next(m for m in targets if seconds(m) > begun)
    assert first.position == pytest.approx([0.1] * 12, abs=0.01)
