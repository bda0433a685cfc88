# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The loop over a line between two computers that is slow, loses packets, reorders them, or is cut.

Collected by test_node_two_computers.py alone, in a process of its own.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from ros_nodes import URDF, Peer, Process, peer, running
from std_srvs.srv import Trigger
from two_computers import Line, two_computers

from robot_dynamics import load_urdf
from robot_dynamics.control.limbs import find_legs, find_stance
from robot_dynamics.share import parameter_files

pytestmark = pytest.mark.ros
PACE = 0.5
"""Simulated over wall time, and 250 Hz: on a busy machine a command still takes no longer than the line makes it."""
RATES = ("-p", "update_rate:=250.0", "-p", "timestep:=0.002", "-p", f"plant:real_time_factor:={PACE}")
TICK = 0.004
"""Of these rates [s]."""
SLOW = 0.05
"""Each way [s] of simulated time: answers are as old as the default command_timeout."""
PARTITION = 5.0


class Loop(NamedTuple):
    """The plant on one computer, controller and feed-forward on the other, and who listens beside the plant."""

    us: Peer
    odom: list[Odometry]
    line: Line

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        stamp = self.odom[-1].header.stamp
        return stamp.sec + 1e-9 * stamp.nanosec

    def go_on(self, seconds: float) -> None:
        """Let so much simulated time pass."""
        end = self.time + seconds
        self.us.until(lambda: self.time > end, f"{seconds} s")

    def says(self, node: str, text: str) -> None:
        """Wait for a diagnostic that comes from now on and holds `text`."""
        self.us.statuses.pop(node, None)
        self.us.until(lambda: text in self.us.status(node).get("message", ""), f"{node}: {text}")

    def trots(self, seconds: float) -> None:
        """Wait for the trot, and see that the robot stays up in it."""
        self.says("controller", "trotting")
        self.says("plant", "following")
        since = len(self.odom)
        self.go_on(seconds)
        height = find_stance(find_legs(load_urdf(URDF, floating_base=True))).height
        assert min(m.pose.pose.position.z for m in self.odom[since:]) > 0.8 * height
        self.says("controller", "trotting")

    def slow_down(self, delay: float = 0.0, *more: float) -> None:
        """Hold every packet for so much simulated time [s]; more: loss, reorder."""
        self.line.set(delay / PACE, *more)

    def allow(self, age: float) -> None:
        """Set the plant's command_timeout [s]."""
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=age)
        request = [Parameter(name="command_timeout", value=value)]
        assert self.us.call(SetParameters, "plant/set_parameters", parameters=request).results[0].successful


def node(name: str, *arguments: str) -> Process:
    """A node with the parameters that quadruped.launch.py gives it."""
    files = [word for path in parameter_files(name, URDF, loop=True) for word in ("--params-file", str(path))]
    return Process(name, *files, "-p", f"urdf_file:={URDF}", *arguments)


@pytest.fixture(scope="module")
def loop(_own_domain: None) -> Iterator[Loop]:
    with pytest.MonkeyPatch.context() as environment, ExitStack() as stack:
        environment.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
        environment.setenv("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")  # both computers share this one's memory
        robot, desk, line = stack.enter_context(two_computers())
        with robot.inside():
            nodes = [node("plant", *RATES, "-p", "plant:max_command_age:=0.0")]
        with desk.inside():
            nodes += [node("controller", "-p", "trot:=true")]
            nodes += [node("feedforward", "-p", "feedforward:reference_topic:=~/reference")]  # as part:=control has it
        with running(*nodes), robot.inside(), peer() as us:
            odom = us.listen(Odometry, "odom")
            us.until(lambda: odom, "the plant")
            yield Loop(us, odom, line)
            assert [process.end() for process in nodes[::-1]] == [(0, [])] * 3


@pytest.fixture(autouse=True)
def trotting(loop: Loop) -> None:
    """Let every test begin with the trot over a line that is not felt."""
    loop.line.set()
    loop.allow(0.1)
    loop.trots(0.5)


def test_where_commands_come_too_late_the_plant_says_how_old_and_what_decides(loop: Loop):
    loop.slow_down(SLOW)
    loop.says("plant", "joint_commands come 0.1")
    status = loop.us.status("plant")
    assert "s old, command_timeout is 0.1 s: " in status["message"]
    assert status["level"] == "1"
    loop.us.until(lambda: trip(loop) >= 2.0 * SLOW - TICK, "the round trip")
    loop.allow(0.5)
    loop.trots(2.0)


def test_after_a_partition_it_trots_again(loop: Loop):
    cut(loop, 1.0)


@pytest.mark.parametrize("reorder", [0.0, 0.2], ids=["in order", "reordered"])
@pytest.mark.parametrize("loss", [0.0, 0.05], ids=["no loss", "5 % lost"])
@pytest.mark.parametrize("delay", [0.025, SLOW], ids=["25 ms", "50 ms"])
def test_it_trots_over_a_bad_line(loop: Loop, delay: float, loss: float, reorder: float):
    loop.allow(0.5)
    loop.slow_down(delay, loss, reorder)
    loop.trots(5.0)
    assert trip(loop) >= 2.0 * delay - TICK
    cut(loop, PARTITION, delay, loss, reorder)


def trip(loop: Loop) -> float:
    """Median of the round trip that the plant tells [s]."""
    return float(loop.us.status("plant").get("joint_commands round trip p50 [s]", "0"))


def phase(loop: Loop) -> str:
    """What the controller does, as it said last."""
    return loop.us.status("controller").get("message", "")


def starts(loop: Loop) -> int:
    """How often the controller has risen anew."""
    return int(loop.us.status("controller")["starts from where the joints were"])


def cut(loop: Loop, seconds: float, *line: float) -> None:
    """Cut the line for so much simulated time, and wait for the trot after it.

    Held in the midst of a step, one robot of a hundred tips over: that one is put back to its start.
    """
    before = starts(loop)
    loop.line.set(cut=True)
    loop.says("plant", "timed out")
    loop.go_on(seconds)
    loop.slow_down(*line)
    end = loop.time
    loop.us.until(lambda: starts(loop) > before or phase(loop) == "fallen", "another start")
    loop.us.until(lambda: phase(loop) in ("trotting", "fallen"), "the trot")
    if phase(loop) == "fallen":
        assert loop.us.call(Trigger, "plant/reset").success
    loop.trots(2.0)
    print(f"trots {loop.time - 2.0 - end:.1f} s after the partition")
