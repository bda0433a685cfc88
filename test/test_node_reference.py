# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the feed-forward makes of a motion that is wanted: a controller's commands, and trajectories."""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Wrench, WrenchStamped
from ros_nodes import BEST_EFFORT, URDF, Process, Sensors, peer, running, stamp
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import inverse_dynamics, link_jacobian, load_urdf, mass_matrix

pytestmark = pytest.mark.ros
MODEL = load_urdf(URDF, floating_base=False)
STEP = 0.01
PARTS = ("inertia", "contact")
ACCELERATION = np.linspace(-3.0, 3.0, 12)


@pytest.fixture(scope="module")
def room() -> Iterator[Sensors]:
    """Our sensors, and a feed-forward that takes the motion that is wanted from the commands of a controller."""
    options = (
        "use_sim_time:=true",
        "floating_base:=false",
        "mode:=inverse_dynamics",
        "reference_topic:=joint_commands",
    )
    node = Process("feedforward", *(word for option in options for word in ("-p", option)))
    with running(node), peer() as us:
        us.listen(JointState, "feedforward/torque/inertia")
        us.listen(JointState, "feedforward/torque/contact")
        us.listen(JointTrajectory, "feedforward/joint_trajectory_with_effort")
        sensors = Sensors(us)
        sensors.now = 10.0
        us.until(lambda: sensors.tick(STEP) or all(us.heard[f"feedforward/torque/{x}"] for x in PARTS), "an answer")
        yield sensors
        assert node.end()[0] == 0


def tick(room: Sensors, acceleration: np.ndarray, **changes) -> np.ndarray:
    """Send a command whose velocities rise so, then a state; returns the last effort for inertia."""
    fields = {
        "name": room.names,
        "position": [0.1] * 12,
        "velocity": (acceleration * (room.now + STEP)).tolist(),
    } | changes
    command = JointState(**fields)
    command.header.stamp = stamp(room.now + STEP)
    room.us.send("joint_commands", command, BEST_EFFORT)
    room.tick(STEP)
    return np.array(room.us.heard["feedforward/torque/inertia"][-1].effort)


def test_the_commands_of_a_controller_are_the_motion_whose_inertia_is_fed_forward(room):
    order = [MODEL.joint_index(name) for name in room.names]
    expected = mass_matrix(MODEL, np.full(12, 0.1))[np.ix_(order, order)] @ ACCELERATION
    room.us.until(lambda: np.allclose(tick(room, ACCELERATION), expected, rtol=1e-6, atol=1e-6), "H qdd")
    room.us.until(lambda: not tick(room, ACCELERATION, velocity=[]).any(), "nothing without velocities")
    assert room.us.status("feedforward")["level"] == "0"


def test_velocities_of_a_joint_that_is_not_there_are_refused_and_counted(room):
    def refused() -> bool:
        tick(room, ACCELERATION, name=[*room.names[:-1], "elbow"])
        return int(room.us.status("feedforward").get("refused joint_commands: unknown joint", 0)) > 0

    room.us.until(refused, "the refusal")


def test_a_wrench_on_a_link_is_borne_as_the_equations_say(room):
    wrench, link = np.array([0.3, -0.2, 0.1, 5.0, -3.0, 12.0]), "HL_knee"
    order = [MODEL.joint_index(name) for name in room.names]
    expected = -(link_jacobian(MODEL, np.full(12, 0.1), link).T @ wrench)[order]
    msg = WrenchStamped()
    msg.header.frame_id = link
    msg.wrench.torque.x, msg.wrench.torque.y, msg.wrench.torque.z, *_ = wrench
    msg.wrench.force.x, msg.wrench.force.y, msg.wrench.force.z = wrench[3:]

    def borne() -> bool:
        room.us.send("feedforward/wrench", msg, BEST_EFFORT)
        room.tick(STEP)
        return np.allclose(room.us.heard["feedforward/torque/contact"][-1].effort, expected, rtol=0.0, atol=1e-6)

    room.us.until(borne, "the efforts that bear it")
    expected, msg.wrench = np.zeros(12), Wrench()
    room.us.until(borne, "no efforts when it is gone")


def test_a_trajectory_comes_back_with_the_efforts_of_its_points(room):
    rng = np.random.default_rng(3)
    motion = rng.uniform(-1.0, 1.0, (3, 4, 12))
    points = [
        JointTrajectoryPoint(positions=q, velocities=qd, accelerations=qdd, time_from_start=Duration(sec=i))
        for i, (q, qd, qdd) in enumerate(zip(*motion.tolist(), strict=True))
    ]
    path, filled = JointTrajectory(joint_names=room.names, points=points), "feedforward/joint_trajectory_with_effort"
    room.us.send("feedforward/joint_trajectory", path)
    room.us.until(lambda: room.tick(STEP) or room.us.heard[filled], "the efforts")
    order = [MODEL.joint_index(name) for name in room.names]
    model_order = np.argsort(order)
    for point, wanted in zip(room.us.heard[filled][-1].points, np.swapaxes(motion, 0, 1), strict=True):
        expected = inverse_dynamics(MODEL, *(x[model_order] for x in wanted))[order]
        np.testing.assert_allclose(point.effort, expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(point.positions, wanted[0])
    room.us.send("feedforward/joint_trajectory", JointTrajectory())
