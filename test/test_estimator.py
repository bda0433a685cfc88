# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The estimate of a legged base: what it must not depend on, what it never becomes, and how near the plant it is."""

import estimated_runs
import numpy as np
import pytest
import quadrupeds
import robot_files

import robot_dynamics as rd
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.errors import ModelError, ParameterError, ShapeError, UnknownNameError
from robot_dynamics.kernels import base_estimate as at
from robot_dynamics.spatial import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_rpy,
    rotation_from_vector,
    skew,
)

UP = np.array([0.0, 0.0, 9.81])
IMU = """<link name="imu"/><joint name="to_imu" type="fixed"><parent link="body"/><child link="imu"/>
<origin xyz="0.12 -0.03 0.05" rpy="0.4 -0.7 1.9"/></joint></robot>"""


def mini_cheetah():
    return quadrupeds.model("mini_cheetah")


def robot(name):
    """The Mini Cheetah, or a quadruped of `example-robot-data`."""
    if name != "mini_cheetah" and not robot_files.FILES:
        pytest.skip("example-robot-data is not installed")
    return mini_cheetah() if name == "mini_cheetah" else rd.load_urdf(robot_files.robot_file(name), floating_base=True)


def standing(seed=None, **options):
    """An estimator of the Mini Cheetah, and readings of it at rest in its stance, noisy for a seed."""
    legs, stance = quadrupeds.stance("mini_cheetah")
    readings = stance.joints, np.zeros(12), np.zeros(12), np.zeros(3), UP
    if seed is not None:
        rng = np.random.default_rng(seed)
        readings = tuple(x + 0.01 * rng.normal(size=len(x)) for x in readings)
    return rd.BaseEstimator(mini_cheetah(), legs.feet, **options), readings


def settle(estimator, readings, steps=100, force=20.0):
    for _ in range(steps):
        estimator.update(1e-3, *readings, np.full(len(estimator.feet), force))


def positive(P):
    """Whether a covariance is positive definite, its units taken out."""
    scale = 1.0 / np.sqrt(np.diag(P))
    return np.linalg.eigvalsh(scale[:, None] * P * scale).min() > 0.0


@pytest.mark.parametrize("seed", range(4))
def test_it_is_finite_and_its_covariance_positive_whatever_comes(seed):
    rng = np.random.default_rng(seed)
    estimator, (q, *_) = standing()
    wild = 10.0 ** rng.uniform(-3, 4, 5)
    for step in range(600):
        size = wild if step % 50 < 5 else np.full(5, 0.1)
        joints = q + size[0] * rng.normal(size=12), size[1] * rng.normal(size=12), size[2] * rng.normal(size=12)
        imu = size[3] * rng.normal(size=3), UP + size[4] * rng.normal(size=3)
        forces = None if step % 3 == 0 else rng.uniform(-20.0, 60.0, 4)
        estimator.update(10.0 ** rng.uniform(-4, -0.5), *joints, *imu, forces)
        assert np.isfinite(estimator.pose).all()
        assert np.isfinite(estimator.covariance).all()
        assert np.linalg.norm(estimator.pose[3:]) == pytest.approx(1.0)
        assert np.linalg.eigvalsh(estimator._P / np.sqrt(np.outer(*2 * [np.diag(estimator._P)]))).min() > 0.0


@pytest.mark.slow
def test_its_covariance_stays_positive_over_minutes():
    estimator, readings = standing(0)
    for step in range(60_000):
        estimator.update(2e-3, *readings, np.full(4, 20.0) if step % 100 < 60 else np.array([20.0, 0.0, 0.0, 20.0]))
    assert positive(estimator._P)


@pytest.mark.parametrize("seed", range(3))
def test_heading_and_place_make_no_difference(seed):
    """The filter is invariant: turned about the vertical and shifted, it does the same elsewhere."""
    rng = np.random.default_rng(seed)
    (here, readings), (there, _) = standing(seed), standing()
    turn, shift = rotation_from_rpy((0.0, 0.0, rng.uniform(-3, 3))), rng.normal(size=3)
    settle(here, readings, 50 * seed)
    settle(there, readings, 50 * seed)
    before = here.pose
    R, p = turn @ rotation_from_quaternion(before[3:]), turn @ before[:3] + shift
    there.set_pose(np.concatenate([p, quaternion_from_rotation(R)]))
    for e in (here, there):
        settle(e, readings, 20)
        settle(e, readings, 5, force=0.0)
        settle(e, readings, 100)
    if seed == 0:  # set before the start
        shift = p
    assert there.pose[:3] == pytest.approx(turn @ here.pose[:3] + shift, abs=1e-9)
    assert rotation_from_quaternion(there.pose[3:]) == pytest.approx(turn @ rotation_from_quaternion(here.pose[3:]))
    assert there.twist == pytest.approx(here.twist, abs=1e-9)
    assert there.covariance[6:, 6:] == pytest.approx(here.covariance[6:, 6:], rel=1e-6, abs=1e-12)
    assert there.accelerometer_bias == pytest.approx(here.accelerometer_bias, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_errors_propagate_as_the_transition_says(seed):
    """Phi (Z4) against two estimates a small error apart (Z2), each moved on by (Z3)."""
    rng, dt = np.random.default_rng(seed), 1e-4
    first, readings = standing(seed)
    settle(first, readings, 30)
    xi = 1e-6 * rng.normal(size=len(first._P))
    before, kept = first._x.copy(), first._feet.copy()
    moved = before.copy()
    R = rotation_from_vector(xi[:3])
    columns = [(4, 3), (7, 6), *((at.X_FEET + 3 * k, at.FEET + 3 * k) for k in range(4))]
    moved[:4] = quaternion_from_rotation(R @ rotation_from_quaternion(before[:4]))
    for value, error in columns:
        moved[value : value + 3] = R @ before[value : value + 3] + xi[error : error + 3]
    moved[10:16] += xi[9:15]
    ends = []
    for x in (before, moved):
        first._x[:], first._feet[:] = x, kept
        first._settings[at.GATE] = 1e-30  # nothing is corrected
        first.update(dt, readings[0], readings[1], readings[2], np.full(3, 0.3), UP + 0.5, np.full(4, 20.0))
        ends.append(first._x.copy())
    R0, R1 = (rotation_from_quaternion(x[:4]) for x in ends)
    E = R1 @ R0.T
    got = np.zeros_like(xi)
    got[:3] = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    for value, error in columns:
        got[error : error + 3] = ends[1][value : value + 3] - E @ ends[0][value : value + 3]
    got[9:15] = ends[1][10:16] - ends[0][10:16]
    x, A = before, np.zeros((len(xi), len(xi)))
    B = rotation_from_quaternion(x[:4])
    A[:3, 9:12], A[3:6, :3], A[3:6, 12:15], A[6:9, 3:6] = -B, skew(-UP), -B, np.eye(3)
    for value, error in columns:
        A[error : error + 3, 9:12] = -skew(x[value : value + 3]) @ B
    assert got == pytest.approx(xi + dt * A @ xi, abs=2e-13)


def test_an_imu_elsewhere_on_the_base_tells_the_same():
    text = quadrupeds.MINI_CHEETAH.read_text()
    model = rd.load_urdf(
        text.replace("</robot>", IMU.replace("body", mini_cheetah().link_names[0])), floating_base=True
    )
    legs, (q, qd, effort, _, _) = find_legs(model), standing()[1]
    B, p = rotation_from_rpy((0.4, -0.7, 1.9)), np.array([0.12, -0.03, 0.05])
    root, other = rd.BaseEstimator(model, legs.feet), rd.BaseEstimator(model, legs.feet, imu_link="imu")
    for step in range(300):
        rate = np.array([0.2, -0.1, 0.3])
        w, alpha = rate * (1.0 - np.cos(0.05 * step)), 50.0 * rate * np.sin(0.05 * step)
        force = np.zeros(4)
        root.update(1e-3, q, qd, effort, w, UP, force)
        at_imu = UP + np.cross(alpha, p) + np.cross(w, np.cross(w, p))
        other.update(1e-3, q, qd, effort, B.T @ w, B.T @ at_imu, force)
    turns = [rotation_from_quaternion(e.pose[3:]) for e in (root, other)]
    assert turns[1] == pytest.approx(turns[0], abs=2e-3)
    assert other.twist == pytest.approx(root.twist, abs=2e-2)


def test_the_gravity_of_an_imu_corrects_tilt_and_never_heading():
    estimator, readings = standing()
    settle(estimator, readings, 10, force=0.0)
    heading = rotation_from_rpy((0.03, -0.02, 2.0))
    for _ in range(200):
        assert estimator.correct_tilt(quaternion_from_rotation(heading), 0.01)
    R = rotation_from_quaternion(estimator.pose[3:])
    assert R[2] == pytest.approx(heading[2], abs=2e-3)
    assert np.arctan2(R[1, 0], R[0, 0]) == pytest.approx(0.0, abs=2e-3)
    assert not estimator.correct_tilt([1.0, 0.0, 0.0, 0.0]), "upside down is beyond the gate"
    assert not estimator.correct_tilt(np.zeros(4))


def test_biases_of_a_robot_that_stands_are_found():
    estimator, (q, qd, effort, _, _) = standing()
    for _ in range(5000):
        estimator.update(
            2e-3, q, qd, effort, np.array([0.004, -0.006, 0.005]), UP + np.array([0.0, 0.0, 0.04]), np.full(4, 20.0)
        )
    assert estimator.gyro_bias == pytest.approx([0.004, -0.006, 0.005], abs=5e-4)
    assert estimator.accelerometer_bias[2] == pytest.approx(0.04, abs=5e-3)


def test_a_foot_that_slips_is_left_out_and_taken_again():
    estimator, (q, qd, effort, gyro, force) = standing()
    settle(estimator, (q, qd, effort, gyro, force))
    assert estimator.standing.all()
    rate = np.zeros(12)
    rate[estimator.observer.legs.joints[0]] = 3.0
    joints = q.copy()
    for _ in range(30):
        joints = joints + 1e-3 * rate
        estimator.update(1e-3, joints, rate, effort, gyro, force, np.full(4, 20.0))
    assert estimator.standing.tolist() == [False, True, True, True]
    assert estimator.gated[0] > 0
    settle(estimator, (joints, qd, effort, gyro, force), 50)
    assert estimator.standing.all()
    assert np.abs(estimator.twist[3:]).max() < 0.02


def test_a_silence_costs_the_velocity_not_the_place():
    estimator, readings = standing()
    estimator.set_pose([3.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    settle(estimator, readings)
    before = estimator.pose
    assert before[:2] == pytest.approx([3.0, 2.0], abs=1e-3)
    estimator.update(10.0, *readings, np.full(4, 20.0))
    assert estimator.covariance[9, 9] > 0.1
    settle(estimator, readings)
    assert estimator.pose[:3] == pytest.approx(before[:3], abs=2e-3)
    assert abs(estimator.pose[3:] @ before[3:]) == pytest.approx(1.0, abs=1e-4)


def test_a_reset_forgets_everything():
    (used, readings), (fresh, _) = standing(3), standing(3)
    settle(used, readings)
    used.reset()
    for e in (used, fresh):
        settle(e, readings, 5)
    assert used.pose == pytest.approx(fresh.pose)
    np.testing.assert_allclose(used._P, fresh._P)


@pytest.mark.slow
@pytest.mark.parametrize("measured", [True, False], ids=["forces", "observer"])
def test_a_trot_is_estimated_within_its_bounds(measured):
    run = estimated_runs.run(mini_cheetah(), 1, 3.5, trot=True, measured=measured).after(2.0)
    figures = run.figures()
    assert figures["roll and pitch [deg]"] < 0.8
    assert figures["velocity [m/s]"] < 0.03
    assert figures["height [m]"] < 0.006
    assert figures["false contact"] < 0.03
    assert figures["missed contact"] < 0.03
    assert figures["NEES tilt"] < 6.0
    assert figures["NEES velocity"] < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.2, 0.6])
def test_it_recovers_from_a_landing_within_a_second(friction):
    run = estimated_runs.run(mini_cheetah(), 0, 1.8, trot=False, drop=0.3, friction=friction).after(1.3)
    assert np.sqrt(np.square(run.velocity).sum(axis=1).mean()) < 0.05


EVENTS = {
    "pushed": {"trot": True, "push": (2.0, [0.0, 0.0, 0.0, 0.0, 30.0, 0.0], 0.1)},
    "slipping": {"trot": False, "friction": 0.2, "push": (2.0, [0.0, 0.0, 0.0, 0.0, 30.0, 0.0], 0.2)},
    "landing": {"trot": False, "drop": 0.3},
}
"""3 N s while it trots; nearly twice what the friction of its feet can hold; a fall from 0.3 m."""
OVER = {"pushed": 2.1, "slipping": 2.2, "landing": 0.3}
"""When the push ends, or the feet have touched the ground [s]."""


def recovery(event, seed):
    """Time [s] from the end of an event until velocity, roll and pitch are right for good."""
    run = estimated_runs.run(mini_cheetah(), seed, OVER[event] + 1.5, **EVENTS[event])
    assert np.isfinite(run.pose).all()
    return run.recovered(OVER[event])


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("event", EVENTS)
def test_ten_units_recover_within_a_second(event):
    times = [recovery(event, seed) for seed in range(10)]
    print(event, np.round(times, 3), "median", np.median(times))
    assert np.median(times) < 1.0


@pytest.mark.slow
def test_the_feed_forward_trots_on_the_estimate_alone():
    run = estimated_runs.run(mini_cheetah(), 1, 4.0, trot=True, feed=True).after(2.0)
    assert run.torque_difference(by=1) < 0.03
    assert run.torque_difference() < 0.05


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_a_minute_of_torques_on_the_estimate_alone_is_that_by_the_truth():
    """Torques of a loop closed by the estimate, beside those by true odometry and true contacts of the same states."""
    run = estimated_runs.run(mini_cheetah(), 1, 60.0, trot=True, every=1, feed=True).after(2.0)
    print("by the base alone", run.torque_difference(by=1), "by base and contacts", run.torque_difference())
    assert run.torque_difference(by=1) < 0.03
    assert run.torque_difference() < 0.05


def test_it_says_what_it_cannot_take():
    model, legs = mini_cheetah(), quadrupeds.stance("mini_cheetah")[0]
    with pytest.raises(ModelError, match="fixed base"):
        rd.BaseEstimator(rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=False), legs.feet)
    with pytest.raises(ModelError, match="1 to 8 feet, got 9"):
        rd.BaseEstimator(model, model.link_names[:9])
    with pytest.raises(UnknownNameError):
        rd.BaseEstimator(model, ["no such foot"])
    with pytest.raises(ParameterError, match="must be fixed"):
        rd.BaseEstimator(model, legs.feet, imu_link=model.link_names[-1])
    with pytest.raises(ParameterError, match="gyro of ImuNoise"):
        rd.ImuNoise(gyro=-1.0)
    with pytest.raises(ParameterError, match="gate of ContactNoise"):
        rd.ContactNoise(gate=0.0)


@pytest.mark.parametrize("bad", range(6))
def test_what_is_refused_changes_nothing(bad):
    estimator, readings = standing()
    settle(estimator, readings, 10)
    before = estimator.pose, estimator._P.copy()
    arguments = [*readings, np.full(4, 20.0)]
    arguments[bad] = np.full_like(arguments[bad], np.nan)
    with pytest.raises(ShapeError, match="must be finite"):
        estimator.update(1e-3, *arguments)
    with pytest.raises(ShapeError, match="dt must be positive"):
        estimator.update(0.0, *readings)
    with pytest.raises(ShapeError, match="length"):
        estimator.set_pose(np.zeros(7))
    assert estimator.pose == pytest.approx(before[0], abs=0)
    np.testing.assert_array_equal(estimator._P, before[1])


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("trot", [False, True], ids=["standing", "trotting"])
@pytest.mark.parametrize("name", ["mini_cheetah", "go2"])
def test_a_minute_on_the_estimate_of_ten_units(name, trot):
    """Medians over ten draws of the sensors' biases; and whether the filter knows how far off it is."""
    runs = [estimated_runs.run(robot(name), seed, 60.0, trot=trot, every=7).after(2.0) for seed in range(10)]
    figures = {name: np.median([run.figures()[name] for run in runs]) for name in runs[0].figures()}
    tilt, velocity = (estimated_runs.consistency([run.squares()[i] for run in runs], 2 + i) for i in range(2))
    print(figures, tilt, velocity)
    assert figures["roll and pitch [deg]"] < (0.6 if trot else 0.3)
    assert figures["velocity [m/s]"] < (0.05 if trot else 0.005)
    assert figures["height [m]"] < 0.01
    assert max(figures["false contact"], figures["missed contact"]) < 0.05
    for squares in (tilt, velocity):
        assert squares.low < squares.mean < squares.high
        assert squares.above < 0.05, "too sure of itself"
    assert all(run.estimator.restarts == 0 for run in runs)
