"""Monitor, controller and contact estimator under bad sensors: refused, named, given up in time, and taken back."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import Point, Pose, PoseWithCovariance, Quaternion, Transform, Wrench
from nav_msgs.msg import Odometry
from ros_nodes import URDF, Peer, Process, Sensors, peer, running, stamp
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import load_urdf, mass_matrix, neutral, point_position
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros
NAN = float("nan")
TIMEOUT = 0.1
"""The `state_timeout` of every listener [s]."""
STALE = "3"
MODEL = load_urdf(URDF, floating_base=True)
ANSWERS = {
    "monitor": (JointState, "monitor/residual"),
    "controller": (JointState, "joint_commands"),
    "feedforward": (MultiDOFJointState, "contacts"),
}
"""Type and topic of what a node says about each state."""


class Listener:
    """A node that hears our sensors; `answers` are its messages that carry the stamp of a state."""

    def __init__(self, us: Peer, name: str, answers: list):
        self.us, self.name, self.answers = us, name, answers
        self.sensors = Sensors(us)
        self.sensors.now = 10.0

    def status(self, key: str, default: str = "") -> str:
        return self.us.status(self.name).get(key, default)

    def count(self, cause: str) -> int:
        """How many joint states it refused for this cause."""
        kind = "refused" if self.name == "controller" else "refused joint_states"
        return int(self.status(f"{kind}: {cause}", "0"))

    def well(self) -> None:
        """Send good states until one is answered and the diagnostics know it."""
        begun = self.sensors.now

        def answered() -> bool:
            self.sensors.tick()
            fresh = self.answers and begun < seconds(self.answers[-1]) <= self.sensors.now + 1e-6
            return fresh and self.status("level", STALE) != STALE

        self.us.until(answered, "an answer")


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


@pytest.fixture(scope="module", params=("monitor", "controller", "estimator"))
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    name = "feedforward" if request.param == "estimator" else request.param
    options = ["use_sim_time:=true", f"state_timeout:={TIMEOUT}"]
    options += ["estimate_contacts:=true"] if name == "feedforward" else []
    node = Process(name, *(word for option in options for word in ("-p", option)))
    with running(node), peer() as us:
        node.await_line("ready")
        kind, topic = ANSWERS[name]
        answers = us.listen(kind, topic)
        for other in ("monitor/energy", "monitor/mass_matrix"):
            us.listen(Float64MultiArray, other)
        listener = Listener(us, name, answers)
        yield listener
        assert np.isfinite([x for messages in us.heard.values() for m in messages for x in numbers(m)]).all()
        assert node.end() == (0, [])


@pytest.mark.parametrize(
    ("cause", "at", "changes"),
    [
        ("", None, None),
        ("not finite", lambda now, last: now, {"position": [NAN] * 12}),
        ("not finite", lambda now, last: now, {"velocity": [float("inf")] * 12}),
        ("not finite", lambda now, last: now, {"velocity": [1e200, -1e200] * 6}),
        ("wrong length", lambda now, last: now, {"position": [0.1] * 11}),
        ("wrong length", lambda now, last: now, {"name": []}),
        ("unknown joint", lambda now, last: now, {"name": [f"elbow_{i}" for i in range(12)]}),
        ("duplicate joint", lambda now, last: now, {"name": ["FR_knee"] * 12}),
        ("stale stamp", lambda now, last: now - 5.0, {}),
        ("stamp from the future", lambda now, last: now + 5.0, {}),
        ("older than the last", lambda now, last: last - 5e-4, {}),
    ],
    ids=lambda value: value or "silence" if isinstance(value, str) else "",
)
def test_a_robot_that_says_nothing_good_is_given_up_in_time_and_taken_back(
    listener: Listener, cause: str, at: Callable[[float, float], float], changes: dict | None
):
    if listener.name == "controller" and changes and "velocity" in changes:
        pytest.skip("the controller reads no velocities")
    listener.well()
    us, sensors, answers = listener.us, listener.sensors, listener.answers
    us.until(lambda: (sensors.send(), answers[-1].header.stamp == stamp(sensors.now))[-1], "the last answer")
    last, before, count = sensors.now, listener.count(cause), len(answers)

    def hear(age: float) -> str:
        """Tell the time at which the last good state is so old, and send what is none."""
        sensors.now = last + age
        sensors.tell()
        if changes is not None:
            sensors.send(later=at(sensors.now, last) - sensors.now, **changes)
        us.spin(0.01)
        return listener.status("level")

    for age in np.linspace(0.01, 0.09, 9):
        hear(age)
    if not cause:
        us.until(lambda: (hear(0.099), listener.status("state age [s]").startswith("0.099"))[-1], "the last moment")
        assert listener.status("level") != STALE
    us.until(lambda: hear(TIMEOUT + 0.001) == STALE, "the end of patience")
    assert listener.status("message") == "no joint_states"
    us.until(lambda: (hear(TIMEOUT + 0.001), not cause or listener.count(cause) > before)[-1], cause)
    assert all(m.header.stamp == stamp(last) for m in answers[count:])
    listener.well()


def test_a_clock_that_jumps_back_is_named_and_work_goes_on(listener: Listener):
    listener.well()
    before, listener.sensors.now = listener.count("clock jumped back"), 2.0
    listener.well()
    key = "clock jumped back"
    listener.us.until(lambda: (listener.sensors.tick(), listener.count(key) > before)[-1], key)
    listener.well()


def test_joints_are_taken_by_name(listener: Listener):
    listener.well()
    us, sensors, seen = listener.us, listener.sensors, []
    angles, order = np.linspace(-0.3, 0.8, 12), np.random.default_rng(0).permutation(12)
    q = neutral(MODEL)
    q[[MODEL.q_index[MODEL.joint_index(name)] for name in sensors.names]] = angles
    permuted = {"name": [sensors.names[i] for i in order], "position": angles[order].tolist()}

    def expected(msg) -> bool:
        """Whether a message shows these joint angles."""
        if listener.name == "monitor":
            return np.allclose(msg.data, mass_matrix(MODEL, q).ravel())
        if listener.name == "controller":
            return np.allclose(msg.position, q[MODEL.q_index])
        feet = [[t.translation.x, t.translation.y, t.translation.z] for t in msg.transforms]
        return np.allclose(feet, point_position(MODEL, find_legs(MODEL).feet, q))

    messages = us.heard["monitor/mass_matrix"] if listener.name == "monitor" else listener.answers
    del messages[:]
    sensors.now = 1.0  # a controller begins again where it finds the joints

    def shown() -> bool:
        sensors.now += 0.001
        sensors.tell()
        sensors.send(**permuted)
        us.spin(0.01)
        seen.extend(map(expected, messages))
        del messages[:]
        return any(seen)

    us.until(shown, "the joints")
    listener.well()


def test_a_second_publisher_of_joint_states_is_named_until_it_goes(listener: Listener):
    with peer() as other:
        rival, before, older = Sensors(other), listener.count("older than the last"), "older than the last"

        def fight() -> str:
            listener.sensors.tick()
            rival.now = listener.sensors.now - 0.02
            rival.send(-0.5)
            return listener.status("message")

        listener.well()
        us = listener.us
        us.until(lambda: fight().startswith("2 publishers on joint_states"), "the rival")
        us.until(lambda: (fight(), listener.count(older) > before)[-1], older)
        us.until(lambda: (fight(), seconds(listener.answers[-1]) > listener.sensors.now - 0.015)[-1], "an answer")
        other.node.destroy_publisher(other.publishers["joint_states"])
        us.until(lambda: (listener.sensors.tick(), "publishers" not in listener.status("message"))[-1], "peace")
    listener.well()


@pytest.mark.parametrize(
    "bad", [{"position": Point(x=NAN)}, {"orientation": Quaternion(w=0.0)}, {"position": Point(x=1e300)}]
)
def test_a_base_that_is_none_is_refused_and_named(listener: Listener, bad: dict):
    if listener.name == "controller":
        pytest.skip("the controller hears no odom")
    listener.well()
    key, us, sensors = "refused odom: not finite", listener.us, listener.sensors
    before = int(listener.status(key, "0"))

    def noticed() -> bool:
        sensors.tick()
        odom = Odometry(child_frame_id="base", pose=PoseWithCovariance(pose=Pose(**bad)))
        odom.header.stamp = stamp(sensors.now)
        us.send("odom", odom)
        return int(listener.status(key, "0")) > before

    us.until(noticed, key)
    listener.well()


@pytest.mark.parametrize("bad", [NAN, 1e300])
def test_efforts_and_contacts_that_are_none_are_left_out(listener: Listener, bad: float):
    us, sensors = listener.us, listener.sensors
    listener.well()
    contact = MultiDOFJointState(joint_names=["FR_knee"], transforms=[Transform()], wrench=[Wrench()])
    contact.wrench[0].force.z = bad
    for _ in range(20):
        sensors.tick()
        sensors.send(effort=[bad] * 12)
        if listener.name == "monitor":
            us.send("contacts", contact)
    listener.well()


def test_a_controller_rises_anew_from_where_the_joints_are_after_a_silence():
    node = Process("controller", "-p", "use_sim_time:=true", "-p", "stand_time:=0.1")
    with running(node), peer() as us:
        sensors, targets = Sensors(us), us.listen(JointState, "joint_commands")
        sensors.now = 10.0

        def stands() -> bool:
            """Whether it does; the peer of the listener before is a second publisher, which is named first."""
            sensors.tick(0.002)
            return us.status("controller").get("message", "").endswith("standing")

        us.until(stands, "the stand")
        assert np.abs(np.subtract(targets[-1].position, 0.1)).max() > 0.5
        begun = sensors.now = sensors.now + TIMEOUT + 0.05
        us.until(lambda: (sensors.tick(0.002), seconds(targets[-1]) > begun)[-1], "targets")
        first = next(m for m in targets if seconds(m) > begun)
        assert first.position == pytest.approx([0.1] * 12, abs=0.01)
