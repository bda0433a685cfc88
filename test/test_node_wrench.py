# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""One wrench on a link, heard by plant, feed-forward and monitor: it pushes, is borne, and is no model error."""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from ros_nodes import BEST_EFFORT, URDF, Peer, Process, nanoseconds, peer, running
from sensor_msgs.msg import JointState, MultiDOFJointState

from robot_dynamics import forward_dynamics, joint_wrenches, link_pose, load_urdf

pytestmark = pytest.mark.ros
WEIGHT, PUSH = 9.81 * 8.252, 20.0
TOOL = tuple(word for node in ("plant", "feedforward", "monitor") for word in ("-r", f"{node}/wrench:=tool/wrench"))
SIMULATED = ("-p", "use_sim_time:=true")


@pytest.fixture(scope="module")
def us() -> Iterator[Peer]:
    """The robot that holds its pose, and its listeners."""
    nodes = [
        Process("plant", *TOOL, "-p", "update_rate:=100.0", "-p", "timestep:=0.002"),
        Process("feedforward", *TOOL, *SIMULATED),
        Process("monitor", *TOOL, *SIMULATED, "-p", "residual_rate:=5.0"),
    ]
    with running(*nodes), peer() as us:
        us.listen(MultiDOFJointState, "contacts")
        us.listen(JointState, "feedforward/torque/contact")
        us.listen(JointState, "monitor/residual")
        us.until(lambda: us.status("monitor").get("level") == "0", "the monitor")
        us.until(lambda: all(us.heard.values()), "all of them")
        yield us
        assert [node.end()[0] for node in nodes] == [0, 0, 0]


def push(us: Peer, link: str, force: float) -> None:
    """Measure a force on a link, along its own z axis."""
    msg = WrenchStamped()
    msg.header.frame_id, msg.wrench.force.z = link, force
    us.send("tool/wrench", msg, BEST_EFFORT)
    us.spin(0.02)


def carried(us: Peer) -> float:
    """Sum of the vertical contact forces [N]."""
    return sum(w.force.z for w in us.heard["contacts"][-1].wrench)


def fed(us: Peer) -> np.ndarray:
    """Efforts that bear what touches the robot [N m]."""
    return np.array(us.heard["feedforward/torque/contact"][-1].effort)


def test_it_pushes_the_plant_is_borne_by_the_feedforward_and_no_error_to_the_monitor(us):
    before = fed(us)
    us.until(lambda: push(us, "base", -PUSH) or carried(us) == pytest.approx(WEIGHT + PUSH, rel=0.005), "the push")
    share = (WEIGHT + PUSH) / WEIGHT
    us.until(lambda: push(us, "base", -PUSH) or np.allclose(fed(us), share * before, rtol=0.1, atol=0.1), "the efforts")
    us.heard["monitor/residual"].clear()
    us.until(lambda: push(us, "base", -PUSH) or len(us.heard["monitor/residual"]) > 4, "residuals under the push")
    assert np.abs([m.effort for m in us.heard["monitor/residual"][2:]]).max() < 0.05
    assert us.status("monitor")["level"] == "0"


def test_what_the_joints_transmit_is_what_the_library_says(us):
    topics = {"joint_states": JointState, "odom": Odometry, "monitor/joint_wrenches": MultiDOFJointState}
    heard = {topic: us.listen(kind, topic) for topic, kind in topics.items()} | {"contacts": us.heard["contacts"]}

    def together() -> dict | None:
        by_stamp = [{nanoseconds(m.header.stamp): m for m in messages} for messages in heard.values()]
        common = set.intersection(*map(set, by_stamp))
        return {topic: found[max(common)] for topic, found in zip(heard, by_stamp, strict=True)} if common else None

    push(us, "base", 0.0)
    said = us.until(together, "wrenches and the state that they are of")
    state, odom = said["joint_states"], said["odom"]
    model = load_urdf(URDF, floating_base=True)
    pose, twist = wire_base(odom)
    q, qd, tau = np.concatenate([pose, np.zeros(12)]), np.concatenate([twist, np.zeros(12)]), np.zeros(18)
    for name, x, v, effort in zip(state.name, state.position, state.velocity, state.effort, strict=True):
        j = model.joint_index(name)
        q[model.q_index[j]], qd[model.v_index[j]], tau[model.v_index[j]] = x, v, effort
    f_ext = np.zeros((model.nb, 6))
    for link, transform, wrench in zip(
        said["contacts"].joint_names, said["contacts"].transforms, said["contacts"].wrench, strict=True
    ):
        R, p = link_pose(model, q, link)
        force, place = R.T @ vector(wrench.force), R.T @ (vector(transform.translation) - p)
        f_ext[model.body_names.index(link)] += [*np.cross(place, force), *force]
    expected = joint_wrenches(model, q, qd, forward_dynamics(model, q, qd, tau, f_ext), f_ext)
    wrenches = said["monitor/joint_wrenches"]
    for name, wrench in zip(wrenches.joint_names, wrenches.wrench, strict=True):
        found = [*vector(wrench.torque), *vector(wrench.force)]
        np.testing.assert_allclose(found, expected[model.body_names.index(name)], atol=1e-6)
    assert sorted(wrenches.joint_names) == sorted(model.joint_names)


def vector(v) -> np.ndarray:
    return np.array([v.x, v.y, v.z])


def wire_base(odom: Odometry) -> tuple[np.ndarray, np.ndarray]:
    """Pose (7,) and twist (6,) [angular; linear]."""
    o, twist = odom.pose.pose.orientation, odom.twist.twist
    pose = np.array([*vector(odom.pose.pose.position), o.x, o.y, o.z, o.w])
    return pose, np.array([*vector(twist.angular), *vector(twist.linear)])


def test_without_it_the_weight_is_left_and_a_sensor_that_falls_silent_is_named(us):
    us.until(lambda: push(us, "base", -PUSH) or carried(us) > WEIGHT + 0.5 * PUSH, "the push")
    us.until(lambda: us.status("monitor")["message"] == "no wrench on 'base' any more", "the monitor's warning")
    us.until(lambda: us.status("feedforward")["message"] == "no wrench on 'base' any more", "the feed-forward's")
    assert carried(us) == pytest.approx(WEIGHT + PUSH, rel=0.05)
    us.until(lambda: push(us, "base", 0.0) or carried(us) == pytest.approx(WEIGHT, rel=0.005), "the bare weight")
    us.until(lambda: us.status("monitor")["level"] == "0", "no warning")


def test_a_wrench_on_a_link_that_is_not_there_is_refused_and_counted_by_each(us):
    def refused() -> bool:
        push(us, "gripper", 1.0)
        return all(int(us.status(name).get("refused ~/wrench", 0)) for name in ("plant", "feedforward", "monitor"))

    us.until(refused, "three refusals")
