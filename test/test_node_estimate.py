# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contacts estimated from joint efforts, over DDS, beside those that the plant knows."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from ros_nodes import Peer, Process, peer, running
from sensor_msgs.msg import MultiDOFJointState
from std_srvs.srv import SetBool

from robot_dynamics.control.state import StanceFlags
from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros
WEIGHT = 9.81 * 8.252
BANDWIDTH = 1000.0
"""Of the observer [rad/s]."""
SIMULATED = ("-p", "use_sim_time:=true")
FEET = ("FR_knee", "FL_knee", "HR_knee", "HL_knee")


def seconds(msg: MultiDOFJointState) -> float:
    return convert.seconds_from_stamp(msg.header.stamp)


def table(msg: MultiDOFJointState) -> np.ndarray:
    """[position, velocity, force] (k, 9) of the points of a message."""
    place = [[t.translation.x, t.translation.y, t.translation.z] for t in msg.transforms]
    speed = [[t.linear.x, t.linear.y, t.linear.z] for t in msg.twist]
    return np.hstack([place, speed, [[w.force.x, w.force.y, w.force.z] for w in msg.wrench]])


def stream(us: Peer, topic: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Stamps (m,) and tables (m, k, 9) of so many messages in a row."""
    messages = us.new(topic, count)
    return np.array([seconds(m) for m in messages]), np.array([table(m) for m in messages])


def feet_of_plant(points: list[str], truth: np.ndarray, feet: np.ndarray) -> np.ndarray:
    """(m, 4, 9) what the plant says of feet that are at (4, 3): the nearest point, the force of the whole link."""
    rows = [[i for i, name in enumerate(points) if name == foot] for foot in FEET]
    near = [r[np.linalg.norm(truth[0, r, :3] - foot, axis=1).argmin()] for r, foot in zip(rows, feet, strict=True)]
    forces = np.stack([truth[:, r, 6:].sum(axis=1) for r in rows], axis=1)
    return np.concatenate([truth[:, near, :6], forces], axis=2)


def delayed(force: np.ndarray, times: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return forces (m, 4, 3) after the first-order lag that the observer is said to be."""
    out = [start]
    for f, dt in zip(force[1:], np.diff(times), strict=True):
        out.append((out[-1] + BANDWIDTH * dt * f) / (1.0 + BANDWIDTH * dt))
    return np.array(out)


def both(us: Peer, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stamps (m,), the plant's and the estimated feet (m, 4, 9) of the same states."""
    times, truth = stream(us, "contacts", count)
    us.until(lambda: us.heard["estimated"] and seconds(us.heard["estimated"][-1]) >= times[-1], "estimates")
    estimates = {seconds(m): table(m) for m in us.heard["estimated"]}
    known = np.array([t in estimates for t in times])
    times, truth = times[known], truth[known]
    estimate = np.array([estimates[t] for t in times])
    return times, feet_of_plant(us.heard["contacts"][-1].joint_names, truth, estimate[0, :, :3]), estimate


@pytest.mark.thorough
def test_the_estimated_contacts_are_those_of_the_plant():
    options = ("-p", "estimate_contacts:=true", "-p", "dry_run:=false", "-p", "state_timeout:=0.5")
    rates = ("update_rate:=500.0", "timestep:=0.002", "real_time_factor:=0.2", "max_command_age:=0.01")
    rate = [word for option in rates for word in ("-p", option)]
    nodes = [
        Process("plant", *rate, "-p", "efforts_alone:=false"),
        Process("controller", *SIMULATED, "-p", "stand_time:=0.5", "-p", "weight:=false"),
        Process("feedforward", *SIMULATED, *options, "-r", "contacts:=estimated"),
    ]
    with running(*nodes), peer() as us:
        for topic in ("contacts", "estimated"):
            us.listen(MultiDOFJointState, topic)
        us.until(lambda: us.status("controller").get("message") == "standing", "the stand")
        us.until(lambda: us.status("feedforward").get("standing") == ", ".join(FEET), "the stance")
        us.new("contacts", 500)
        assert tuple(us.heard["estimated"][-1].joint_names) == FEET
        standing(*both(us, 100))
        us.call(SetBool, "controller/gait", data=True)
        us.until(lambda: us.status("controller").get("message") == "trotting", "the trot")
        us.new("contacts", 300)
        trotting(*both(us, 500))
        assert [node.end() for node in nodes[::-1]] == [(0, [])] * 3


def standing(times: np.ndarray, truth: np.ndarray, estimate: np.ndarray) -> None:
    """Check places and velocities, forces to 1 % of the weight, and the weight itself."""
    assert len(times) > 50
    assert estimate[:, :, :3] == pytest.approx(truth[:, :, :3], abs=1e-5)
    assert estimate[:, :, 3:6] == pytest.approx(truth[:, :, 3:6], abs=1e-3)
    assert estimate[:, :, 6:] == pytest.approx(truth[:, :, 6:], abs=0.01 * WEIGHT)
    assert estimate[:, :, 8].sum(axis=1) == pytest.approx(np.full(len(times), WEIGHT), rel=0.01)


def trotting(times: np.ndarray, truth: np.ndarray, estimate: np.ndarray) -> None:
    """Check that the forces are those of the plant after the observer's lag, and that the same feet stand."""
    assert len(times) > 250
    expected = delayed(truth[:, :, 6:], times, estimate[0, :, 6:])
    error = np.abs(expected - estimate[:, :, 6:])
    assert np.quantile(error, 0.9) < 0.01 * WEIGHT
    assert np.quantile(error, 0.99) < 0.05 * WEIGHT
    flags = [stance_flags(force) for force in (expected, estimate[:, :, 6:])]
    assert (flags[0] == flags[1]).mean() > 0.95
    assert 0.3 < flags[0].mean() < 0.9, "feet that stand and feet that swing"


def stance_flags(forces: np.ndarray) -> np.ndarray:
    """(m, 4) which feet stand by forces (m, 4, 3) in the order of time."""
    stance, out = StanceFlags(FEET, 5.0, 1.0), []
    for force in forces:
        stance.set_forces(FEET, force, 0.0)
        out.append(stance.standing)
    return np.array(out)
