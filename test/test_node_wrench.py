# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""One wrench on a link, heard by plant, feed-forward and monitor: it pushes, is borne, and is no model error."""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import WrenchStamped
from ros_nodes import BEST_EFFORT, Peer, Process, peer, running
from sensor_msgs.msg import JointState, MultiDOFJointState

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
