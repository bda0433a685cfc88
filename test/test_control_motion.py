# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A trajectory that the plant follows by itself: from where the joints are, through its points, until told else."""

from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control.actuation import Actuation
from robot_dynamics.control.motion import Motion
from robot_dynamics.control.simulation import Simulation
from robot_dynamics.errors import ShapeError, UnknownNameError

MINI_CHEETAH = Path(__file__).resolve().parents[1] / "urdf" / "mini_cheetah.urdf"
JOINTS = ("a", "b", "c")
TIMES = np.array([1.0, 2.0])
Q = np.array([[1.0, 2.0], [3.0, -1.0]])


def motion(times=TIMES, q=Q, qd=None, qdd=None, effort=None, names=("c", "a")):
    return Motion(JOINTS, names, times, (q, qd, qdd, effort), present=np.array([0.5, 0.6, 0.7]), begun=10.0)


def test_it_leads_from_the_present_through_the_points_and_stays_at_the_last():
    m = motion(effort=np.array([[4.0, 0.0], [8.0, 2.0]]))
    for now, q, effort in (
        (9.0, [0.5, 0.6, 0.7], [0, 0, 0]),
        (10.5, [1.25, 0.6, 0.85], [0, 0, 2]),
        (11.0, [2.0, 0.6, 1.0], [0, 0, 4]),
        (11.5, [0.5, 0.6, 2.0], [1, 0, 6]),
        (20.0, [-1.0, 0.6, 3.0], [2, 0, 8]),
    ):
        at, rate, feed = m.at(now)
        assert at == pytest.approx(q)
        assert feed == pytest.approx(effort)
        if now == 11.5:
            assert rate == pytest.approx([-3.0, 0.0, 2.0])


def test_a_first_point_at_once_is_taken_as_it_is_and_splines_start_at_rest():
    assert motion(times=np.array([0.0, 1.0])).at(10.0)[0] == pytest.approx([2.0, 0.6, 1.0])
    smooth = motion(qd=np.zeros((2, 2)))
    assert smooth.at(10.0 + 1e-9)[1] == pytest.approx(0.0, abs=1e-6)
    assert smooth.at(10.5)[1] == pytest.approx([1.5 * 1.5, 0.0, 1.5 * 0.3])


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"names": ("c", "d")}, UnknownNameError),
        ({"effort": np.zeros((2, 3))}, ShapeError),
        ({"effort": np.full((2, 2), np.nan)}, ShapeError),
        ({"q": np.full((2, 2), np.inf)}, ShapeError),
        ({"times": np.array([2.0, 1.0])}, ShapeError),
    ],
)
def test_a_bad_one_is_refused(wrong, kind):
    with pytest.raises(kind):
        motion(**wrong)


def arm():
    """Simulation of the Mini Cheetah with its trunk fixed, legs straight."""
    model = rd.load_urdf(MINI_CHEETAH)
    actuation = Actuation(model.joint_names, 100.0, 3.0, timeout=0.1, action="hold")
    plant = rd.Plant(model, rd.PlantParams(terrain=()))
    return Simulation(plant, actuation, rd.neutral(model), 0.002)


def test_the_plant_follows_it_past_the_timeout_until_it_is_told_something_else():
    s = arm()
    names = ("FR_hip", "FR_knee")
    goal = np.array([[0.4, -0.8]])
    columns = (goal, np.zeros_like(goal), None, None)
    s.motion = Motion(s.actuation.joints, names, np.array([0.5]), columns, s.joints, s.time)
    where = [s.actuation.joints.index(name) for name in names]
    for _ in range(500):
        assert s.tick()
        assert s.actuation.state == "following"
    moved = s.joints
    assert moved[where] == pytest.approx(goal[0], abs=0.03)
    assert np.abs(np.delete(moved, where)).max() < 0.05
    s.stop(True)
    assert s.motion is None


@pytest.mark.parametrize("event", ["reset", "begin", "rewind"])
def test_it_ends_when_the_robot_is_put_elsewhere(event):
    s = arm()
    s.motion = Motion(
        s.actuation.joints, ("FR_hip",), np.array([0.5]), (np.ones((1, 1)), None, None, None), s.joints, 0.0
    )
    getattr(s, event)()
    assert s.motion is None
