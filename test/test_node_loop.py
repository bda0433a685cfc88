# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plant, controller, feed-forward and monitor as four processes: the robot stands, trots, and does so twice alike."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from nav_msgs.msg import Odometry
from ros_nodes import Peer, Process, nanoseconds, peer, running
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros
SIMULATED = ("-p", "use_sim_time:=true")
LOCKSTEP = ("-p", "lockstep:=true", "-p", "lockstep_timeout:=30.0", "-p", "update_rate:=500.0", "-p", "timestep:=0.002")
FAST = (*LOCKSTEP, "-p", "real_time_factor:=0.0")


def seconds(msg) -> float:
    return convert.seconds_from_stamp(msg.header.stamp)


def test_the_robot_stands_up_and_trots_with_its_weight_on_the_feedforward():
    nodes = [
        Process("plant", *FAST, "-p", "efforts_alone:=false"),
        Process("feedforward", *SIMULATED, "-p", "dry_run:=false", "-p", "ramp_time:=0.1"),
        Process("monitor", *SIMULATED),
    ]
    controller = Process("controller", *SIMULATED, "-p", "stand_time:=0.8", "-p", "weight:=false")
    with running(*nodes, controller), peer() as us:
        odom = us.listen(Odometry, "odom")
        us.listen(Float64MultiArray, "monitor/mass_matrix")
        us.listen(JointState, "monitor/residual")
        us.listen(JointState, "feedforward/torque/contact")
        controller.await_line("ready")
        us.until(lambda: odom and seconds(odom[-1]) > 2.2, "two seconds of standing")
        assert odom[-1].pose.pose.position.z > 0.27
        us.call(SetBool, "controller/gait", data=True)
        us.until(lambda: us.status("controller").get("message") == "trotting", "the trot")
        begun = seconds(odom[-1])
        us.until(lambda: seconds(odom[-1]) > begun + 1.5, "a second and a half of trot")
        z = [m.pose.pose.position.z for m in odom if seconds(m) > begun]
        assert min(z) > 0.26
        tilt = [np.hypot(m.pose.pose.orientation.x, m.pose.pose.orientation.y) for m in odom if seconds(m) > begun]
        assert max(tilt) < 0.05
        monitored(us)
        us.call(SetBool, "controller/gait", data=False)
        us.until(lambda: us.status("controller").get("message") == "standing", "the stand")
        assert [node.end() for node in (controller, *nodes[::-1])] == [(0, [])] * 4


def monitored(us: Peer) -> None:
    """Check what the monitor and the feed-forward say of the trotting robot."""
    matrix = us.new("monitor/mass_matrix")[-1]
    n = matrix.layout.dim[0].size
    H = np.array(matrix.data).reshape(n, n)
    assert n == 18
    assert np.array_equal(H, H.T)
    assert np.linalg.eigvalsh(H)[0] > 0
    assert matrix.layout.dim[0].label.split(",")[6] == "FR_abad"
    assert len(us.new("monitor/residual")[-1].effort) == 12
    us.until(lambda: "|tau - RNEA(ABA(tau))|" in us.status("monitor"), "the consistency")
    assert float(us.status("monitor")["|tau - RNEA(ABA(tau))|"]) < 1e-9
    us.until(lambda: "command age p99 [s]" in us.status("monitor"), "the age of commands")
    assert float(us.status("monitor")["command age p99 [s]"]) < 0.1
    assert abs(float(us.status("monitor")["energy balance error, last 10 s [J]"])) < 0.5
    assert float(us.status("monitor")["momentum error, last 10 s [N s]"]) < 0.1
    assert not [key for key in us.status("monitor") if key.startswith("suggested")]
    margins = [float(value) for key, value in us.status("monitor").items() if key.startswith("delay margin of")]
    assert 0.0 < margins[0] < 0.1
    assert float(us.status("monitor")["mass [kg]"]) == pytest.approx(8.252, rel=1e-3)
    assert np.abs(us.new("feedforward/torque/contact")[-1].effort).max() > 1.0


def run_in_lockstep(ticks: int) -> list[JointState]:
    """States of the first ticks: the plant stands still, saying so, until the controller's first target."""
    plant = Process("plant", *FAST)
    with running(plant), peer() as us:
        states = us.listen(JointState, "joint_states", 10000)
        us.until(lambda: states, "a state before the first target")
        controller = Process("controller", *SIMULATED)
        with running(controller):
            us.until(lambda: len({seconds(m) for m in states}) >= ticks, "the run")
    unique = {nanoseconds(m.header.stamp): m for m in states}
    return [unique[stamp] for stamp in sorted(unique)]


def test_in_lockstep_with_slower_sensors_the_plant_waits_for_the_answer_to_each_of_their_states():
    plant = Process("plant", *FAST, "-p", "sensor_rate:=250.0")
    with running(plant), peer() as us:
        odom, commands = us.listen(Odometry, "odom", 10000), us.listen(JointState, "joint_commands", 10000)
        us.until(lambda: odom, "a state before the first target")
        controller = Process("controller", *SIMULATED, "-p", "stand_time:=0.8")
        with running(controller):
            us.until(lambda: commands and odom and seconds(odom[-1]) > seconds(commands[0]) + 1.5, "the run")
        # DDS may drop some of what we listen to beside them on a busy machine, but what they say is one every 4 ms
        for heard in (commands, odom):
            stamps = sorted({nanoseconds(m.header.stamp) for m in heard})
            steps = np.diff([s for s in stamps if s >= nanoseconds(commands[0].header.stamp)])
            assert not (steps % 4_000_000).any()
            assert np.median(steps) == 4_000_000
        assert not [line for line in plant.lines if "no target stamped with this state" in line]
        assert odom[-1].pose.pose.position.z == pytest.approx(0.295, rel=0.05)


def test_runs_in_lockstep_are_the_same_to_the_bit():
    first, second = run_in_lockstep(600), run_in_lockstep(600)
    pairs = [(a, b) for a in first for b in second if a.header.stamp == b.header.stamp]
    assert len(pairs) >= 250, [seconds(run[0]) for run in (first, second)]
    assert all(a.position == b.position and a.effort == b.effort for a, b in pairs)
