# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Commanders and sensors that die, come late, fight or jump in time: each node goes on, and says what it saw."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from nav_msgs.msg import Odometry
from ros_nodes import URDF, Process, Sensors, nanoseconds, peer, running
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState

from robot_dynamics import gravity_forces, load_urdf, neutral
from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros
SIMULATED = ("-p", "use_sim_time:=true")


def test_a_controller_may_come_late_die_and_come_again_and_the_robot_is_held_meanwhile():
    plant = Process("plant", "-p", "update_rate:=500.0", "-p", "timestep:=0.002")
    with running(plant), peer() as us:
        states = us.listen(JointState, "joint_states")
        us.until(lambda: us.status("plant").get("message") == "holding", "the hold")
        first = Process("controller", *SIMULATED)
        with running(first):
            us.until(lambda: us.status("plant").get("message") == "following", "obedience")
            first.popen.kill()
            us.until(lambda: us.status("plant").get("message") == "timed out", "the timeout")
            held = us.new("joint_states", 100)
            assert np.abs(np.subtract(held[-1].position, held[0].position)).max() < 0.05
        again = Process("controller", *SIMULATED)
        with running(again):
            us.until(lambda: us.status("plant").get("message") == "following", "obedience")
            assert again.end() == (0, [])
        assert all(np.isfinite([*m.position, *m.velocity, *m.effort]).all() for m in states)
        assert plant.end() == (0, [])


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_every_node_has_the_gravity_of_its_parameter():
    """On the moon the feet carry its weight, the IMU reads its pull, and efforts and residual are its own."""
    moon = ("-p", "gravity:=[0.0, 0.0, -1.62]")
    plant = Process("plant", *moon, "-p", "update_rate:=200.0", "-p", "timestep:=0.0025")
    carrier = Process("feedforward", *moon, *SIMULATED, "-p", "mode:=gravity", "-p", "state_timeout:=1.0")
    watch = Process("monitor", *moon, *SIMULATED)
    with running(plant, carrier, watch), peer() as us:
        us.listen(Odometry, "odom")
        us.listen(Imu, "imu/data")
        us.listen(MultiDOFJointState, "contacts")
        states = us.listen(JointState, "joint_states")
        carried, unexplained = "feedforward/torque/gravity", "monitor/residual"
        us.listen(JointState, carried)
        us.listen(JointState, unexplained)
        us.until(lambda: max(abs(m.twist.twist.linear.z) for m in us.new("odom", 100)) < 1e-3, "rest")
        model = load_urdf(URDF, floating_base=True, gravity=(0.0, 0.0, -1.62))
        force = np.mean([[w.force.z for w in m.wrench] for m in us.new("contacts", 100)], axis=0).sum()
        assert force == pytest.approx(1.62 * model.mass, rel=0.02)
        pull = np.mean([m.linear_acceleration.z for m in us.new("imu/data", 100)])
        assert pull == pytest.approx(1.62, abs=0.02)
        q = neutral(model)
        turn, q[7:] = us.new("odom")[-1].pose.pose.orientation, states[-1].position
        q[3:7] = turn.x, turn.y, turn.z, turn.w
        np.testing.assert_allclose(us.new(carried)[-1].effort, gravity_forces(model, q)[6:], atol=5e-3)
        assert np.abs(np.mean([m.effort for m in us.new(unexplained, 50)], axis=0)).max() < 0.05
        assert [node.end() for node in (watch, carrier, plant)] == [(0, [])] * 3


def test_a_second_clock_is_named_until_it_goes_and_robots_in_namespaces_are_told_apart():
    plant = Process("plant", "-r", "__ns:=/bot")
    with running(plant), peer() as us:
        us.until(lambda: us.status("bot/plant").get("message") == "holding", "the hold")
        second = us.node.create_publisher(Clock, "/clock", 1)
        us.until(lambda: us.status("bot/plant")["message"] == "2 publishers on /clock: holding", "the second clock")
        us.node.destroy_publisher(second)
        us.until(lambda: us.status("bot/plant")["message"] == "holding", "peace")
        assert plant.end() == (0, [])


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
        us.until(
            lambda: status("base_footprint")["message"].startswith("no odom, no imu/data: base taken as level"),
            "the consequence",
        )
        us.until(lambda: status("trunk")["message"] == "dry run", "the recovery")
        us.until(lambda: (sensors.tick(), us.status("feedforward")["message"] == "no odom")[-1], "the silence")
        us.until(lambda: status("trunk")["message"] == "dry run", "the recovery")
        assert node.end() == (0, [])


@pytest.mark.thorough
def test_simulated_time_waits_for_commands_that_are_late_and_says_so_but_not_for_ever():
    plant = Process(
        "plant",
        "-p",
        "update_rate:=250.0",
        "-p",
        "timestep:=0.002",
        "-p",
        "max_command_age:=0.05",
        "-p",
        "lockstep_timeout:=3.0",
    )
    with running(plant), peer() as us:
        states = us.listen(JointState, "joint_states")
        us.until(lambda: states, "the plant")

        def command() -> None:
            newest = states[-1]
            us.send("joint_commands", JointState(header=newest.header, name=newest.name, position=newest.position))
            us.spin(0.01)

        def time() -> float:
            return 1e-9 * nanoseconds(states[-1].header.stamp)

        us.until(lambda: (command(), us.status("plant").get("message", "").endswith("following"))[-1], "following")
        last = time()
        us.until(lambda: "time waits for commands" in us.status("plant").get("message", ""), "the wait")
        us.take()
        assert time() - last < 0.05 + 0.02
        assert (us.status("plant")["level"], us.status("plant")["message"].split(": ")[1]) == ("1", "following")
        us.until(lambda: us.status("plant")["message"].endswith("timed out"), "the timeout")
        assert float(us.status("plant")["waited for commands [s]"]) >= 3.0
