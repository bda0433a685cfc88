# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The estimator over DDS: the loop on its odom beside the plant's truth, and what it does with a sensor that fails."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from ros_nodes import Process, Sensors, nanoseconds, peer, running, stamp
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.spatial import rotation_from_quaternion

pytestmark = pytest.mark.ros
SIMULATED = ("-p", "use_sim_time:=true")
NOISE = {"noise_gyro": 0.007, "noise_gyro_bias": 0.005, "noise_accelerometer": 0.07, "noise_accelerometer_bias": 0.05}
"""A MEMS unit at 500 Hz."""
FEET = ("FR_knee", "FL_knee", "HR_knee", "HL_knee")


def numbers(msg: Odometry) -> np.ndarray:
    """[place, quaternion, velocity, angular velocity] of an Odometry (13,)."""
    p, q, t = msg.pose.pose.position, msg.pose.pose.orientation, msg.twist.twist
    return np.array(
        [p.x, p.y, p.z, q.x, q.y, q.z, q.w, *((v.x, v.y, v.z)[i] for v in (t.linear, t.angular) for i in range(3))]
    )


def both(us, count):
    """Estimated and true base states (m, 13) of the same stamps."""
    us.new("odom", count)
    truth = {nanoseconds(m.header.stamp): m for m in us.heard["ground_truth/odom"]}
    pairs = [(m, truth[t]) for m in us.heard["odom"][-count:] if (t := nanoseconds(m.header.stamp)) in truth]
    assert len(pairs) > count // 3
    return (np.array([numbers(pair[i]) for pair in pairs]) for i in range(2))


@pytest.mark.thorough
def test_the_loop_stands_and_trots_on_the_estimate():
    rates = ("update_rate:=500.0", "timestep:=0.002", "real_time_factor:=0.2", "max_command_age:=0.01")
    options = [word for option in (*rates, *(f"{k}:={v}" for k, v in NOISE.items())) for word in ("-p", option)]
    nodes = [
        Process("plant", *options, "-r", "odom:=ground_truth/odom", "-p", "efforts_alone:=false"),
        Process("estimator", *SIMULATED, "-p", "state_timeout:=0.5"),
        Process("controller", *SIMULATED, "-p", "stand_time:=0.5", "-p", "state_timeout:=0.5"),
        Process("feedforward", *SIMULATED, "-p", "dry_run:=false", "-p", "state_timeout:=0.5"),
    ]
    with running(*nodes), peer() as us:
        us.listen(Odometry, "odom")
        us.listen(Odometry, "ground_truth/odom")
        us.listen(JointState, "estimator/stance")
        us.until(lambda: us.status("controller").get("message") == "standing", "the stand")
        us.until(lambda: us.status("estimator").get("message") == "4 of 4 feet stand", "the feet")
        us.call(SetBool, "controller/gait", data=True)
        us.until(lambda: us.status("controller").get("message") == "trotting", "the trot")
        estimate, truth = both(us, 300)
        turns = [
            rotation_from_quaternion(a[3:7]) @ rotation_from_quaternion(b[3:7]).T
            for a, b in zip(estimate, truth, strict=True)
        ]
        assert max(np.degrees(np.arccos(R[2, 2])) for R in turns) < 1.5
        assert np.sqrt(np.square(estimate[:, 7:10] - truth[:, 7:10]).sum(axis=1).mean()) < 0.05
        assert np.abs(estimate[:, 2] - truth[:, 2]).max() < 0.02
        newest = us.heard["odom"][-1]
        for field in (newest.pose, newest.twist):
            assert np.linalg.eigvalsh(np.array(field.covariance).reshape(6, 6)).min() > 0.0
        assert tuple(us.new("estimator/stance")[-1].name) == FEET
        assert us.status("estimator")["contacts from"] == "forces"
        assert us.status("feedforward")["message"] == "enabled"
        assert [node.end() for node in nodes[::-1]] == [(0, [])] * 4


def imu(us, sensors, **changes):
    """Send a reading at rest."""
    msg = Imu()
    msg.header.stamp, msg.linear_acceleration.z = stamp(sensors.now), 9.81
    for field, value in changes.items():
        setattr(msg.angular_velocity, field, value)
    us.send("imu/data", msg)


def test_it_names_what_fails_refuses_what_is_none_and_starts_anew():
    node = Process("estimator", *SIMULATED)
    with running(node), peer() as us:
        node.await_line("ready")
        odom, sensors = us.listen(Odometry, "odom"), Sensors(us)

        def status(**changes):
            imu(us, sensors, **changes)
            sensors.tick()
            return us.status("estimator").get("message", "")

        us.until(lambda: status() == "0 of 4 feet stand", "the estimate in the air, by joint efforts")
        us.until(lambda: status() and odom, "odom")
        us.until(
            lambda: "refused imu/data: not finite" in (status(x=float("nan")) and us.status("estimator")), "a refusal"
        )
        us.until(lambda: (sensors.tick(), us.status("estimator")["message"] == "no imu/data")[-1], "the silence")
        us.until(lambda: status() == "0 of 4 feet stand", "its end")
        there = PoseStamped()
        there.pose.position.x, there.pose.orientation.w = 7.0, 1.0
        us.send("estimator/set_pose", there)
        us.until(lambda: status() and abs(odom[-1].pose.pose.position.x - 7.0) < 1.0, "the place")
        assert us.call(Trigger, "estimator/reset").success
        us.until(lambda: status() and abs(odom[-1].pose.pose.position.x) < 1.0, "the start")
        assert np.isfinite(numbers(odom[-1])).all()
        assert node.end() == (0, [])
