# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plant that dies takes the time with it: wall time tells that it is gone, and that a paused one is not."""

import signal

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from depth import every
from ros_nodes import Peer, Process, Sensors, peer, running
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

pytestmark = pytest.mark.ros
SIMULATED = ("-p", "use_sim_time:=true")
LISTENERS = {
    "feedforward": ("-p", "dry_run:=false", "-p", "ramp_time:=0.0"),
    "monitor": ("-p", "state_timeout:=0.2"),
    "controller": (),
}
STALE = "3"


def plant(*options: str) -> Process:
    return Process("plant", *(word for option in options for word in ("-p", option)))


def all_say(us: Peer, text: str) -> None:
    us.statuses.clear()
    us.until(lambda: all(text in us.status(name).get("message", "") for name in LISTENERS), f"'{text}' of all")


def all_well(us: Peer) -> None:
    us.statuses.clear()
    us.until(lambda: all(us.status(name).get("level", STALE) != STALE for name in LISTENERS), "all to be well")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "cut off"])
def test_nodes_on_simulated_time_notice_that_the_plant_is_gone_and_that_it_is_back(number):
    simulated = plant("update_rate:=250.0", "timestep:=0.002")
    nodes = [Process(name, *SIMULATED, *options) for name, options in LISTENERS.items()]
    with running(simulated, *nodes), peer() as us:
        for node in nodes:
            node.await_line("ready")
        efforts = us.listen(Float64MultiArray, "effort_controller/commands")
        all_well(us)
        us.until(lambda: efforts and any(efforts[-1].data), "efforts")
        simulated.popen.send_signal(number)
        all_say(us, "no joint_states, no /clock")
        us.until(lambda: not any(efforts[-1].data), "the timeout action of the feed-forward")
        if number == signal.SIGSTOP:
            simulated.popen.send_signal(signal.SIGCONT)
        else:
            simulated.result()
            simulated = plant("update_rate:=250.0", "timestep:=0.002")
        with running(simulated):
            all_well(us)
            us.until(lambda: any(efforts[-1].data), "efforts again")
            assert simulated.end() == (0, [])
        assert [node.end() for node in nodes] == [(0, [])] * len(nodes)


def test_a_robot_is_missed_whose_clock_was_never_heard():
    """States that come before the first /clock, and then no more of either."""
    nodes = [Process(name, *SIMULATED, *options) for name, options in LISTENERS.items()]
    with running(*nodes), peer() as us:
        for node in nodes:
            node.await_line("ready")
        robot, efforts = Sensors(us), us.listen(Float64MultiArray, "effort_controller/commands")

        def all_well_by_stamps() -> bool:
            robot.now += 0.01
            robot.send()
            return all(us.status(name).get("level", STALE) != STALE for name in LISTENERS)

        us.until(all_well_by_stamps, "all to be well")
        us.until(lambda: any(efforts[-1].data), "efforts")
        all_say(us, "no joint_states, no /clock")
        us.until(lambda: not any(efforts[-1].data), "the timeout action of the feed-forward")
        assert [node.end() for node in nodes] == [(0, [])] * len(nodes)


def test_a_pause_is_none_of_that_however_long():
    simulated = plant("update_rate:=250.0", "timestep:=0.002", "max_command_age:=0.008")
    controller = Process("controller", *SIMULATED, "-p", "stand_time:=0.3")
    with running(simulated, controller), peer() as us:
        clock = us.listen(Clock, "/clock")
        us.until(lambda: us.status("controller").get("message") == "standing", "the stand")
        us.call(SetBool, "plant/pause", data=True)
        us.until(lambda: len(clock) > 1 and clock[-1] == clock[-2], "the pause")
        paused = controller.now()
        us.new("/clock", 30)
        us.statuses.clear()
        us.until(lambda: us.status("controller"), "a diagnostic")
        assert us.status("controller")["message"] == "standing"
        assert controller.said_since(paused) == []
        assert controller.end() == (0, [])
        assert simulated.end() == (0, [])


@pytest.mark.parametrize("option", every(3, ["real_time_factor:=0.004", "clock_rate:=0.01", "lockstep:=true"]))
def test_the_clock_is_told_however_slowly_time_goes(option):
    """A tick of half a second, a message in a hundred seconds, or a wait for a command that does not come."""
    simulated = plant("update_rate:=500.0", "timestep:=0.002", option)
    with running(simulated), peer() as us:
        clock, states = us.listen(Clock, "/clock"), us.listen(JointState, "joint_states")
        us.until(lambda: states, "a state")
        if option == "lockstep:=true":
            us.send("joint_commands", JointState(header=states[-1].header, name=states[-1].name, effort=[0.0] * 12))
        us.until(lambda: len(clock) > 10, "the clock")
        before, heard = len(states), len(clock)
        us.new("/clock", 20)
        if option == "real_time_factor:=0.004":
            assert len(states) - before < 0.5 * (len(clock) - heard)
        assert simulated.end()[0] == 0
