# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the recipes say of messages: the adapter of Quadruped-PyMPC, and trajectories as CHAMP sends them."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics import Plant, load_urdf
from robot_dynamics.control.actuation import Actuation
from robot_dynamics.control.limbs import find_legs, find_stance
from robot_dynamics.control.motion import Motion
from robot_dynamics.control.simulation import Simulation, fitting_gains, gains, home_pose
from robot_dynamics.share import share_folder

PAGES = Path(__file__).resolve().parents[1] / "docs" / "recipes"


def test_a_stream_of_single_points_without_stamps_stands_the_robot_up():
    """CHAMP: every 5 ms one point, 1/60 s ahead."""
    model = load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    legs = find_legs(model)
    stance, (kp, kd) = find_stance(legs), gains(model, [0.0], [0.0], fitting_gains(model))
    actuation = Actuation(model.joint_names, kp, kd, timeout=0.1, action="hold", limit=model.effort_limit)
    simulation = Simulation(
        Plant(model, points=legs.feet), actuation, home_pose(model, "crouch", {}, legs.feet, 0), 1e-3
    )
    begin, names = simulation.joints.copy(), model.joint_names
    for tick in range(2000):
        if tick % 5 == 0:
            point = begin + min(tick / 1500, 1.0) * (stance.joints - begin)
            columns = point[None], None, None, None
            simulation.motion = Motion(names, names, np.array([1 / 60]), columns, simulation.joints, simulation.time)
        assert simulation.tick()
    assert simulation.plant.q[2] == pytest.approx(stance.height, abs=0.01)


def test_the_adapter_of_quadruped_pympc_turns_velocities_and_keeps_the_order_of_legs(monkeypatch):
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import JointState

    code = re.search(r"```python\n(.*?)```", (PAGES / "quadruped_pympc.md").read_text(), re.DOTALL).group(1)
    body = code[code.index("NAMES = ") : code.index("rclpy.init()")]
    sent = []
    node = type("Node", (), {"__init__": lambda self, name: None})
    node.create_publisher = lambda self, kind, topic, depth: SimpleNamespace(publish=sent.append)
    node.create_subscription = lambda self, *_: None

    def base_state():
        return SimpleNamespace(pose=SimpleNamespace(), velocity=SimpleNamespace())

    kinds = {"BaseState": base_state, "BlindState": SimpleNamespace, "ControlSignal": SimpleNamespace}
    names = {"np": np, "Node": node, "Odometry": Odometry, "JointState": JointState, **kinds}
    exec(body, names)
    adapter = names["PyMPC"]()
    odom = Odometry()
    odom.pose.pose.orientation.z = odom.pose.pose.orientation.w = 0.5**0.5  # a quarter turn to the left
    odom.twist.twist.linear.x, odom.twist.twist.angular.z = 1.0, 0.3
    adapter.on_base(odom)
    np.testing.assert_allclose(sent[-1].velocity.linear, [0.0, 1.0, 0.0], atol=1e-12)
    assert list(sent[-1].velocity.angular) == [0.0, 0.0, 0.3]
    state = JointState(name=names["NAMES"][::-1], position=np.arange(12.0)[::-1], velocity=np.zeros(12))
    state.header.stamp.sec = 7
    adapter.on_joints(state)
    np.testing.assert_array_equal(sent[-1].joints_position, np.arange(12.0))
    adapter.on_torques(SimpleNamespace(torques=np.arange(12.0)))
    assert (sent[-1].name[3], sent[-1].effort[3], sent[-1].header.stamp.sec) == ("FR_hip_joint", 3.0, 7)
