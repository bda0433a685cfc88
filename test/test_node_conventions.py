# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What others expect of any ROS node: reliable sensor topics (REP-2003), stamped messages, ranges of parameters."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import DescribeParameters
from rclpy.qos import QoSPresetProfiles
from ros_nodes import Process, nanoseconds, peer, running
from sensor_msgs.msg import Image, Imu, JointState
from std_msgs.msg import Float64MultiArray

pytestmark = pytest.mark.ros
RELIABLE = QoSPresetProfiles.SYSTEM_DEFAULT.value


@pytest.fixture(scope="module")
def us():
    nodes = [
        Process("plant", "-p", "efforts_alone:=false", "-p", "real_time_factor:=0.5"),
        Process("feedforward", "-p", "use_sim_time:=true", "-p", "dry_run:=false"),
        Process("monitor", "-p", "use_sim_time:=true"),
    ]
    with running(*nodes), peer() as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "topic"),
    [(JointState, "joint_states"), (Imu, "imu/data"), (WrenchStamped, "contacts/FR_knee/wrench")],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_who_asks_for_a_reliable_sensor_topic_hears_it(us, kind, topic):
    us.listen(kind, topic, RELIABLE)
    assert nanoseconds(us.new(topic, 3)[-1].header.stamp) > 0


def test_the_mass_matrix_has_a_stamped_twin(us):
    us.listen(Image, "monitor/mass_matrix_stamped")
    msg = us.new("monitor/mass_matrix_stamped")[0]
    matrix = np.frombuffer(msg.data, np.float64).reshape(msg.height, msg.width)
    assert (msg.encoding, msg.step, matrix.shape) == ("64FC1", 8 * 18, (18, 18))
    assert (np.linalg.eigvalsh(matrix) > 0.0).all()
    assert nanoseconds(msg.header.stamp) > 0


@pytest.mark.parametrize("node", ["plant", "monitor"])
def test_energies_have_a_stamped_twin(us, node):
    us.listen(DiagnosticArray, f"{node}/energy_stamped")
    us.listen(Float64MultiArray, f"{node}/energy")
    labels = us.new(f"{node}/energy")[0].layout.dim[0].label
    msg = us.new(f"{node}/energy_stamped")[0]
    named = {pair.key: float(pair.value) for pair in msg.status[0].values}
    assert all(key.split(" [")[0] in labels for key in named)
    assert all(np.isfinite(x) for x in named.values())
    assert len(named) == len(us.heard[f"{node}/energy"][-1].data)
    assert nanoseconds(msg.header.stamp) > 0


def test_efforts_have_a_stamped_twin_that_answers_a_state(us):
    us.listen(JointState, "joint_states")
    us.listen(JointState, "feedforward/efforts")
    sent = us.new("feedforward/efforts", 5)[-1]
    us.until(lambda: us.heard["joint_states"][-1].header.stamp.sec > sent.header.stamp.sec, "a later state")
    assert len(sent.name) == len(sent.effort) == 12
    assert nanoseconds(sent.header.stamp) in {nanoseconds(m.header.stamp) for m in us.heard["joint_states"]}


@pytest.mark.parametrize(
    ("node", "parameter", "range_"), [("plant", "seed", (0, 2**31 - 1)), ("feedforward", "thread_priority", (0, 99))]
)
def test_whole_numbers_are_declared_with_their_range(us, node, parameter, range_):
    answer = us.call(DescribeParameters, f"{node}/describe_parameters", names=[parameter])
    (span,) = answer.descriptors[0].integer_range
    assert (span.from_value, span.to_value, span.step) == (*range_, 1)


def test_the_diagnostic_says_how_forces_outside_their_cones_are_found(us):
    us.until(lambda: "forces outside their cones" in us.status("feedforward"), "the diagnostic")
    assert us.status("feedforward")["forces outside their cones"].split()[0] in ("quadratic", "clipped")
