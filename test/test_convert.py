# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Messages and arrays turn into each other without loss, and messages are rewritten in place."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Pose, Wrench
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.errors import ShapeError
from robot_dynamics.ros import convert


def over_the_wire(msg):
    return deserialize_message(serialize_message(msg), type(msg))


@pytest.mark.parametrize("nanoseconds", [0, 1, 999_999_999, 1_000_000_000, 1_795_240_331_753_108_190])
def test_stamps(nanoseconds):
    stamp = Time()
    convert.write_stamp(stamp, nanoseconds)
    assert stamp.sec * 1_000_000_000 + stamp.nanosec == nanoseconds
    assert convert.seconds_from_stamp(stamp) == pytest.approx(1e-9 * nanoseconds)


def test_a_matrix_is_written_through_its_view_with_labelled_dimensions():
    writer = convert.MultiArrayWriter(["row", "column"], [2, 3])
    writer.data[:] = np.arange(6.0).reshape(2, 3)
    msg = over_the_wire(writer.msg)
    assert list(msg.data) == [0, 1, 2, 3, 4, 5]
    assert [(d.label, d.size, d.stride) for d in msg.layout.dim] == [("row", 2, 6), ("column", 3, 3)]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, float("nan")]])
def test_sequences(values):
    assert convert.array_from_sequence(values) == pytest.approx(np.array(values), nan_ok=True)
    msg = over_the_wire(Float64MultiArray(data=values))
    assert convert.array_from_sequence(msg.data) == pytest.approx(np.array(values), nan_ok=True)


def test_wrenches():
    wrench = Wrench()
    wrench.torque.x, wrench.force.z = 1.0, 2.0
    assert convert.wrench_from_msg(wrench).tolist() == [1, 0, 0, 0, 0, 2]


def test_poses():
    pose = Pose()
    pose.position.x, pose.orientation.z, pose.orientation.w = 1.0, 2.0, 0.0
    assert convert.pose_from_msg(pose).tolist() == [1, 0, 0, 0, 0, 1, 0]
    pose.orientation.z = 0.0
    assert convert.pose_from_msg(pose)[6] == 1.0
    pose.position.x = float("inf")
    with pytest.raises(ShapeError):
        convert.pose_from_msg(pose)


def test_trajectories():
    points = [
        JointTrajectoryPoint(positions=[1.0], velocities=[2.0], time_from_start=Duration(sec=1)),
        JointTrajectoryPoint(positions=[3.0], velocities=[4.0], time_from_start=Duration(sec=2, nanosec=500_000_000)),
    ]
    sent = over_the_wire(JointTrajectory(joint_names=["a"], points=points))
    times, (q, qd, qdd, effort) = convert.trajectory_from_msg(sent)
    assert times.tolist() == [1.0, 2.5]
    assert q.tolist() == [[1.0], [3.0]]
    assert qd.tolist() == [[2.0], [4.0]]
    assert qdd is None
    assert effort is None
    sent.points[1].velocities = [4.0, 5.0]
    with pytest.raises(ShapeError, match="same number of values"):
        convert.trajectory_from_msg(sent)


def test_a_status_holds_its_values_as_text():
    status = over_the_wire(convert.msg_from_status("n: task", "robot", 1, "text", {"a": 0.5, "b": 3}))
    assert (status.level, status.name, status.hardware_id, status.message) == (b"\x01", "n: task", "robot", "text")
    assert [(pair.key, pair.value) for pair in status.values] == [("a", "0.5"), ("b", "3")]
