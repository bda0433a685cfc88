"""Commanders and sensors that die, come late, fight or jump in time: each node goes on, and says what it saw."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from nav_msgs.msg import Odometry
from ros_nodes import BEST_EFFORT, Peer, Process, peer, running
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

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


def test_the_timeout_action_comes_within_the_timeout_and_a_tick():
    period, timeout = 0.005, 0.1
    options = (f"update_rate:={1 / period}", "timestep:=0.005", f"command_timeout:={timeout}", "timeout_action:=zero")
    options += ("real_time_factor:=0.2",)  # so that a busy machine delivers each command in its time
    plant = Process("plant", *(word for option in options for word in ("-p", option)))
    with running(plant), peer() as us:
        states = us.listen(JointState, "joint_states")

        def obeyed() -> bool:
            state = us.new("joint_states")[-1]
            msg = JointState(name=state.name, effort=[0.5] * 12)
            msg.header.stamp = state.header.stamp
            us.send("joint_commands", msg)
            obeyed.last = convert.seconds_from_stamp(msg.header.stamp)
            return np.allclose(state.effort, 0.5)

        us.until(obeyed, "the commanded effort")
        us.until(lambda: not np.any(states[-1].effort), "the timeout")
        times = np.array([convert.seconds_from_stamp(m.header.stamp) for m in states])
        driven = np.array([np.any(m.effort) for m in states]) & (times > obeyed.last)
        acted = times[driven][-1] + period  # the first state that a tick without effort led to
        assert timeout <= acted - obeyed.last <= timeout + 2.0 * period + 1e-6
        assert plant.end() == (0, [])


def test_efforts_that_fall_silent_end_within_the_timeout_and_a_tick():
    """Each message holds another effort: the first state that shows the last one tells the tick that took it."""
    period, timeout = 0.005, 0.1
    options = (f"update_rate:={1 / period}", "timestep:=0.005", f"command_timeout:={timeout}", "timeout_action:=zero")
    options += ("real_time_factor:=0.2",)
    plant = Process("plant", *(word for option in options for word in ("-p", option)))
    with running(plant), peer() as us:
        states, efforts = us.listen(JointState, "joint_states"), 0.5 + 0.001 * np.arange(20)
        for effort in efforts:
            us.new("joint_states")
            us.send("effort_controller/commands", Float64MultiArray(data=[effort] * 12))
        us.until(lambda: np.allclose(states[-1].effort, efforts[-1]), "the last effort")
        us.until(lambda: not np.any(states[-1].effort), "the timeout")
        last = [convert.seconds_from_stamp(m.header.stamp) for m in states if np.allclose(m.effort, efforts[-1])]
        lasted = last[-1] - last[0] + period
        assert timeout - 1e-6 <= lasted <= timeout + period + 1e-6
        us.until(lambda: us.status("plant").get("message") == "timed out", "the diagnostic")
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


class Sensors:
    """A robot of our own making: its clock and its joint states, as we like them."""

    def __init__(self, us: Peer):
        self.us, self.now = us, 0.0
        legs = ("FR", "FL", "HR", "HL")
        self.names = [f"{leg}_{joint}" for leg in legs for joint in ("abad", "hip", "knee")]

    def tick(self, step: float = 0.01, position: float = 0.1) -> None:
        """Go on by a step, tell the time and send a state of that time."""
        self.now += step
        clock = Clock()
        convert.write_stamp(clock.clock, round(1e9 * self.now))
        self.us.send("/clock", clock)
        self.send(position)
        self.us.executor.spin_once(timeout_sec=0.01)

    def send(self, position: float) -> None:
        """Send a state."""
        msg = JointState(name=self.names, position=[position] * 12, velocity=[0.0] * 12, effort=[0.0] * 12)
        convert.write_stamp(msg.header.stamp, round(1e9 * self.now))
        self.us.send("joint_states", msg, BEST_EFFORT)


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


@pytest.mark.parametrize(("name", "key"), [("monitor", "refused joint_states: "), ("controller", "refused: ")])
def test_monitor_and_controller_refuse_and_name_the_same_and_go_on(name, key):
    node = Process(name, *SIMULATED)
    with running(node), peer() as us:
        node.await_line("ready")
        sensors = Sensors(us)
        sensors.now = 10.0
        commands = us.listen(JointState, "joint_commands")

        def named(cause: str, **how: float) -> bool:
            sensors.tick(**how)
            return key + cause in us.status(name)

        us.until(lambda: named("not finite", position=float("nan")), "the refusal")
        us.until(lambda: (sensors.tick(), float(us.status(name)["state age [s]"]) < 0.1)[-1], "the recovery")
        sensors.now = 2.0
        us.until(lambda: named("clock jumped back"), "the jump")
        us.until(lambda: (sensors.tick(), float(us.status(name)["state age [s]"]) < 0.1)[-1], "the recovery")
        assert all(np.isfinite([*m.position, *m.velocity, *m.effort]).all() for m in commands)
        assert node.end() == (0, [])


def test_a_second_publisher_of_joint_states_is_named_until_it_goes():
    with fed() as (us, sensors, answers), peer() as other:
        rival = Sensors(other)
        answered(us, sensors, answers)

        def named() -> bool:
            sensors.tick()
            rival.now = sensors.now - 0.02
            rival.send(position=-0.5)
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
