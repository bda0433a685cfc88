"""Commanders and sensors that die, come late, fight or jump in time: each node goes on, and says what it saw."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from nav_msgs.msg import Odometry
from ros_nodes import Peer, Process, Sensors, peer, running, stamp
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros
SIMULATED = ("-p", "use_sim_time:=true")
OLDER = "refused joint_states: older than the last"


def test_a_killed_controller_can_be_started_again():
    plant = Process("plant", "-p", "update_rate:=500.0", "-p", "timestep:=0.002")
    first = Process("controller", *SIMULATED)
    with running(plant, first), peer() as us:
        us.until(lambda: us.status("plant").get("message") == "following", "obedience")
        first.popen.kill()
        us.until(lambda: us.status("plant").get("message") == "timed out", "the timeout")
        again = Process("controller", *SIMULATED)
        with running(again):
            us.until(lambda: us.status("plant").get("message") == "following", "obedience")
        assert plant.end() == (0, [])


def test_a_killed_feedforward_leaves_the_robot_to_its_controller_and_can_be_started_again():
    options = ("update_rate:=500.0", "timestep:=0.002", "efforts_alone:=false", "real_time_factor:=0.3")
    plant = Process("plant", *(word for option in options for word in ("-p", option)))
    controller = Process("controller", *SIMULATED, "-p", "weight:=false", "-p", "stand_time:=0.5")
    carrier = ("feedforward", *SIMULATED, "-p", "dry_run:=false", "-p", "ramp_time:=0.1", "-p", "state_timeout:=0.3")
    first = Process(*carrier)
    with running(plant, controller, first), peer() as us:
        states, odom = us.listen(JointState, "joint_states"), us.listen(Odometry, "odom")

        def carried() -> bool:
            s = us.status("plant")
            return s.get("message") == "following" and float(s["effort_controller/commands age [s]"]) < 0.1

        us.until(lambda: carried() and us.status("controller").get("message") == "standing", "the stand")
        first.popen.kill()
        silent = "following joint_commands, effort_controller/commands silent"
        us.until(lambda: us.status("plant").get("message") == silent, "the diagnostic")
        us.new("odom", 200)
        again = Process(*carrier)
        with running(again):
            us.until(carried, "the carrier")
            assert again.end() == (0, [])
        assert min(m.pose.pose.position.z for m in odom[-500:]) > 0.2
        assert all(np.isfinite([*m.position, *m.velocity, *m.effort]).all() for m in states)
        assert [node.end() for node in (controller, plant)] == [(0, [])] * 2


def test_a_controller_that_comes_late_finds_the_robot_held():
    plant = Process("plant", "-p", "update_rate:=500.0", "-p", "timestep:=0.002")
    with running(plant), peer() as us:
        us.until(lambda: us.status("plant").get("message") == "holding", "the hold")
        controller = Process("controller", *SIMULATED)
        with running(controller):
            us.until(lambda: us.status("plant").get("message") == "following", "obedience")
            assert controller.end() == (0, [])
        assert plant.end() == (0, [])


def test_a_second_clock_is_named_until_it_goes_and_robots_in_namespaces_are_told_apart():
    plant = Process("plant", "-r", "__ns:=/bot")
    with running(plant), peer() as us:
        us.until(lambda: us.status("bot/plant").get("message") == "holding", "the hold")
        second = us.node.create_publisher(Clock, "/clock", 1)
        us.until(lambda: us.status("bot/plant")["message"] == "2 publishers on /clock: holding", "the second clock")
        us.node.destroy_publisher(second)
        us.until(lambda: us.status("bot/plant")["message"] == "holding", "peace")
        assert plant.end() == (0, [])


FEEDFORWARD = ("floating_base:=false", "mode:=gravity", "dry_run:=false", "ramp_time:=0.0", "use_sim_time:=true")


@contextmanager
def fed() -> Iterator[tuple[Peer, Sensors, list[JointState]]]:
    """A feed-forward on simulated time, our sensors, and its answers, all of which must be finite."""
    options = (word for option in FEEDFORWARD for word in ("-p", option))
    node = Process("feedforward", *options, "-p", "output:=joint_commands")
    with running(node), peer() as us:
        node.await_line("ready")
        answers = us.listen(JointState, "joint_commands")
        sensors = Sensors(us)
        sensors.now = 10.0
        yield us, sensors, answers
        assert all(np.isfinite(m.effort).all() for m in answers)
        assert node.end() == (0, [])


def answered(us: Peer, sensors: Sensors, answers: list[JointState], **how) -> None:
    """Tick until a state is answered."""
    begun = sensors.now

    def done() -> bool:
        sensors.tick(**how)
        return bool(answers) and begun < convert.seconds_from_stamp(answers[-1].header.stamp) <= sensors.now + 1e-6

    us.until(done, "an answer")


@pytest.mark.parametrize(
    ("cause", "at", "changes"),
    [
        ("", None, None),
        ("not finite", lambda now, last: now, {"position": [float("nan")] * 12}),
        ("not finite", lambda now, last: now, {"velocity": [1e300, -1e300] * 6}),
        ("wrong length", lambda now, last: now, {"position": [0.1] * 11}),
        ("unknown joint", lambda now, last: now, {"name": [f"elbow_{i}" for i in range(12)]}),
        ("duplicate joint", lambda now, last: now, {"name": ["FR_knee"] * 12}),
        ("stale stamp", lambda now, last: now - 5.0, {}),
        ("stamp from the future", lambda now, last: now + 5.0, {}),
        ("older than the last", lambda now, last: last - 5e-4, {}),
    ],
    ids=lambda value: value or "silence" if isinstance(value, str) else "",
)
def test_a_robot_that_says_nothing_good_gets_zeros_once_its_state_is_too_old_and_not_before(cause, at, changes):
    with fed() as (us, sensors, answers):
        answered(us, sensors, answers)
        us.until(lambda: (sensors.send(), answers[-1].header.stamp == stamp(sensors.now))[-1], "the last answer")
        last, count = sensors.now, len(answers)

        def hear(age: float) -> dict[str, str]:
            """Tell the time at which the last good state is so old, and send what is none."""
            sensors.now = last + age
            sensors.tell()
            if changes is not None:
                sensors.send(later=at(sensors.now, last) - sensors.now, **changes)
            us.spin(0.01)
            return us.status("feedforward")

        us.until(lambda: float(hear(0.099).get("state age [s]", 0.0)) == pytest.approx(0.099), "the last moment")
        assert {m.header.stamp.nanosec for m in answers[count:]} <= {stamp(last).nanosec}
        us.until(lambda: (hear(0.101), not np.any(answers[-1].effort))[-1], "the zeros")
        us.until(lambda: hear(0.101).get("message") == "no joint_states", "the diagnostic")
        assert not cause or f"refused joint_states: {cause}" in us.status("feedforward")
        answered(us, sensors, answers)
        us.until(lambda: (sensors.tick(), np.any(answers[-1].effort))[-1], "the recovery")


def test_a_clock_that_jumps_back_is_named_and_work_goes_on():
    with fed() as (us, sensors, answers):
        answered(us, sensors, answers)
        sensors.now = 2.0
        answered(us, sensors, answers)
        key = "refused joint_states: clock jumped back"

        def named() -> bool:
            sensors.tick()
            return key in us.status("feedforward") and "enabled" in us.status("feedforward")["message"]

        us.until(named, key)


def test_a_second_publisher_of_joint_states_is_named_until_it_goes():
    with fed() as (us, sensors, answers), peer() as other:
        rival = Sensors(other)
        answered(us, sensors, answers)

        def named() -> bool:
            sensors.tick()
            rival.now = sensors.now - 0.02
            rival.send(-0.5)
            return us.status("feedforward").get("message") == "2 publishers on joint_states"

        us.until(named, "the rival")
        us.until(lambda: (sensors.tick(), rival.send(-0.5), us.status("feedforward").get(OLDER))[-1], OLDER)
        other.node.destroy_publisher(other.publishers["joint_states"])

        def alone() -> bool:
            sensors.tick()
            return us.status("feedforward").get("message") == "enabled"

        us.until(alone, "peace")
        answered(us, sensors, answers)


def test_odom_of_another_frame_is_refused_and_named_until_it_is_right():
    node = Process("feedforward", *SIMULATED, "-p", "base_frame:=trunk")
    with running(node), peer() as us:
        node.await_line("ready")
        sensors = Sensors(us)

        def status(frame: str) -> dict[str, str]:
            sensors.tick()
            odom = Odometry(child_frame_id=frame)
            odom.pose.pose.orientation.w = 1.0
            convert.write_stamp(odom.header.stamp, round(1e9 * sensors.now))
            us.send("odom", odom)
            return us.status("feedforward")

        us.until(lambda: "refused odom: other frame" in status("base_footprint"), "the refusal")
        us.until(lambda: status("base_footprint")["message"] == "no odom: base taken as level", "the consequence")
        us.until(lambda: status("trunk")["message"] == "dry run", "the recovery")
        us.until(lambda: (sensors.tick(), us.status("feedforward")["message"] == "no odom")[-1], "the silence")
        us.until(lambda: status("trunk")["message"] == "dry run", "the recovery")
        assert node.end() == (0, [])


def test_ten_states_at_once_are_answered_in_order():
    with fed() as (us, sensors, answers):
        answered(us, sensors, answers)
        for _ in range(30):
            for _ in range(10):
                sensors.now += 0.001
                sensors.send(0.1)
            sensors.tick(0.001)
        answered(us, sensors, answers)
        stamps = [convert.seconds_from_stamp(m.header.stamp) for m in answers]
        assert stamps == sorted(stamps)
