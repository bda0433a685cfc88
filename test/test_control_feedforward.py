# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward torques: their parts, the share of every foot, references, and what reaches the motors."""

import numpy as np
import pytest
import quadrupeds
from quadrupeds import MINI_CHEETAH

import robot_dynamics as rd
from robot_dynamics.control.feeder import Feeder
from robot_dynamics.control.feedforward import Feedforward
from robot_dynamics.control.guard import EffortLimiter
from robot_dynamics.control.limbs import configuration
from robot_dynamics.control.payload import Payloads
from robot_dynamics.control.reference import StreamedReference, Trajectory
from robot_dynamics.control.stance import SCALE, WEIGHT, FootForces, pyramid, solve_program
from robot_dynamics.control.state import MeasuredState, StanceFlags
from robot_dynamics.errors import ShapeError, UnknownNameError

ALL = np.ones(4, dtype=bool)


@pytest.fixture(scope="module")
def model() -> rd.Model:
    return quadrupeds.model("mini_cheetah")


@pytest.fixture(scope="module")
def fixed() -> rd.Model:
    return rd.load_urdf(MINI_CHEETAH)


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_add_up_to_the_inverse_dynamics(fixed, seed):
    rng = np.random.default_rng(seed)
    q, qd, qdd = rd.random_configuration(fixed, rng), *rng.normal(size=(2, fixed.nv))

    def parts_of(mode):
        feedforward = Feedforward(fixed, mode, q, qd)
        feedforward.qdd[:] = qdd
        return feedforward.parts(feedforward.solve(ALL))

    whole = parts_of("inverse_dynamics")
    assert whole.total == pytest.approx(rd.inverse_dynamics(fixed, q, qd, qdd))
    assert whole.gravity == pytest.approx(rd.gravity_forces(fixed, q))
    bias = parts_of("bias")
    assert bias.total == pytest.approx(rd.bias_forces(fixed, q, qd))
    assert parts_of("gravity").total == pytest.approx(whole.gravity)


def stance_of(name: str) -> tuple[np.ndarray, rd.Points]:
    legs, stance = quadrupeds.stance(name)
    return configuration(stance.joints), legs.feet


@pytest.mark.parametrize("mode", ["gravity", "inverse_dynamics"])
def test_another_load_is_carried_from_the_next_state_on(model, mode):
    rng = np.random.default_rng(0)
    q, qd = rd.random_configuration(model, rng), rng.normal(size=model.nv)
    feedforward, payloads = Feedforward(model, mode, q, qd), Payloads(model)
    for loaded in (payloads.put("base", 2.0, np.full(3, 0.1), np.zeros((3, 3))), payloads.put("base", 0.0, q[:3], q)):
        feedforward.carry(loaded)
        expected = rd.gravity_forces(loaded, q) if mode == "gravity" else rd.bias_forces(loaded, q, qd)
        assert feedforward.torque(feedforward.solve(ALL)) == pytest.approx(expected[6:])


@pytest.mark.parametrize("name", ["q", "qd", "qdd"])
def test_a_state_that_is_not_finite_has_no_answer(fixed, name):
    feedforward = Feedforward(fixed, "inverse_dynamics", *np.zeros((2, fixed.nv)))
    getattr(feedforward, name)[3] = np.nan
    with pytest.raises(ShapeError, match="finite"):
        feedforward.solve(ALL)


@pytest.mark.parametrize("name", quadrupeds.EACH)
@pytest.mark.parametrize("stance", [ALL, np.array([True, False, False, True]), np.array([True, True, True, False])])
def test_the_feet_carry_the_robot(name, stance):
    model = quadrupeds.model(name)
    q, feet = stance_of(name)
    zero = np.zeros(model.nv)
    ff = Feedforward(model, "stance", q, zero, feet, friction=0.6)
    solution = ff.solve(stance)
    parts = ff.parts(solution)
    assert ff.torque(solution) == pytest.approx(parts.total)
    assert parts.forces[:, 2].sum() == pytest.approx(9.81 * model.mass, rel=0.02)
    assert not parts.forces[~stance].any()
    assert (np.linalg.norm(parts.forces[:, :2], axis=1) <= 0.6 * parts.forces[:, 2] + 1e-9).all()
    J = rd.point_jacobian(model, feet, q)
    joints = rd.gravity_forces(model, q)[6:] - np.einsum("kiv,ki->v", J, parts.forces)[6:]
    assert parts.total == pytest.approx(joints)


def test_four_feet_balance_the_base_exactly(model):
    q, feet = stance_of("mini_cheetah")
    ff = Feedforward(model, "stance", q, np.zeros(model.nv), feet, friction=0.6)
    tau = np.zeros(model.nv)
    parts = ff.parts(ff.solve(ALL))
    tau[6:] = parts.total
    wrench = np.einsum("kiv,ki->v", rd.point_jacobian(model, feet, q), parts.forces)
    assert rd.forward_dynamics(model, q, np.zeros(model.nv), tau + wrench) == pytest.approx(
        np.zeros(model.nv), abs=0.05
    )


def test_forces_stay_in_the_cone_when_it_is_too_narrow_for_the_wrench():
    J = np.zeros((4, 3, 6))
    J[:, :, 3:] = np.eye(3)
    shares = FootForces(4, 0.1)
    forces = shares.solve(J, np.array([0, 0, 0, 100.0, 0, 50.0]), ALL)
    assert (np.linalg.norm(forces[:, :2], axis=1) <= 0.1 * forces[:, 2] + 1e-9).all()
    assert np.abs(shares.residual).max() > 1.0


@pytest.mark.parametrize("friction", [0.1, 0.6])
@pytest.mark.parametrize("name", quadrupeds.EACH)
def test_without_the_solver_forces_lie_in_their_pyramids_and_help(name, friction, monkeypatch):
    monkeypatch.setattr("robot_dynamics.control.stance.daqp", None)
    rng, (q, feet) = np.random.default_rng(0), stance_of(name)
    model = quadrupeds.model(name)
    A = rd.point_jacobian(model, feet, q)[:, :, :6]
    weight = rd.gravity_forces(model, q)[:6]
    shares, exact = FootForces(len(feet), friction), 0
    for _ in range(100):
        stance = rng.random(len(feet)) < 0.7
        wrench = weight + rng.normal(size=6) * rng.choice([0.01, 0.3]) * weight[5]
        forces = shares.solve(A, wrench, stance)
        assert (pyramid(len(feet), friction) @ forces.ravel() <= 1e-9 * weight[5]).all()
        assert not forces[~stance].any()
        left = np.linalg.norm(SCALE * shares.residual)
        assert left <= np.linalg.norm(SCALE * wrench) * (1.0 + 1e-9), "worse than no force at all"
        exact += shares.flag == 1 and stance.any()
    assert 0 < exact < 100


@pytest.mark.parametrize("friction", [0.1, 0.6])
@pytest.mark.parametrize("name", quadrupeds.EACH)
@pytest.mark.parametrize("seed", range(3))
def test_the_share_is_the_program_s_answer_inside_the_cones_and_on_them(name, friction, seed):
    """Least squares are taken where they hold every bound; the program alone must say the same, to its tolerance."""
    pytest.importorskip("daqp")
    rng, (q, feet) = np.random.default_rng(seed), stance_of(name)
    model = quadrupeds.model(name)
    A = rd.point_jacobian(model, feet, q)[:, :, :6]
    weight = rd.gravity_forces(model, q)[:6]
    shares, inside = FootForces(len(feet), friction), 0
    for _ in range(100):
        stance = rng.random(len(feet)) < 0.7
        wrench = weight + rng.normal(size=6) * rng.choice([0.01, 0.3]) * weight[5]
        forces = shares.solve(A, wrench, stance)
        n = int(stance.sum())
        if not n:
            continue
        rows, scaled = pyramid(n, friction), (A[stance] * SCALE).reshape(-1, 6)
        H = scaled @ scaled.T + WEIGHT * np.eye(3 * n)
        expected, _ = solve_program(H, -scaled @ (SCALE * wrench), rows, np.zeros(4 * n))
        assert expected is not None
        assert forces[stance].ravel() == pytest.approx(expected, abs=1e-6 * weight[5])
        assert not forces[~stance].any()
        inside += bool((rows @ expected < -1e-6).all())
    assert 0 < inside < 100


@pytest.mark.parametrize("seed", range(3))
def test_forces_of_feet_that_come_and_go_are_continuous_and_stay_in_their_cones(seed):
    rng, (q, feet) = np.random.default_rng(seed), stance_of("mini_cheetah")
    model = quadrupeds.model("mini_cheetah")
    A, weight = rd.point_jacobian(model, feet, q)[:, :, :6], rd.gravity_forces(model, q)[:6]
    wrench, shares = weight + 0.1 * rng.normal(size=6) * weight[5], FootForces(4, 0.3)
    load, way = rng.random(4), 1e-7 * rng.normal(size=4)
    load[rng.integers(4)] = 0.0
    forces = shares.solve(A, wrench, load)
    assert (pyramid(4, 0.3) @ forces.ravel() <= 1e-6 * weight[5]).all()
    assert not forces[load == 0.0].any()
    assert shares.solve(A, wrench, np.clip(load + way, 0.0, 1.0)) == pytest.approx(forces, abs=1e-5 * weight[5])
    for stance in (ALL, rng.permutation(ALL & [True, True, True, False])):
        np.testing.assert_array_equal(shares.solve(A, wrench, 0.5 * stance), 0.5 * shares.solve(A, wrench, stance))
    crossing = shares.solve(A, wrench, np.array([1.0, 0.5, 0.5, 1.0]))
    ends = [shares.solve(A, wrench, np.array([1.0, share, share, 1.0])) for share in (0.0, 1.0)]
    assert crossing == pytest.approx(0.5 * (ends[0] + ends[1]))


def test_no_standing_foot_pushes_nothing():
    assert not FootForces(4, 0.5).solve(np.ones((4, 3, 6)), np.ones(6), ~ALL).any()


def test_the_program_refuses_what_daqp_would_read_out_of_bounds():
    pytest.importorskip("daqp")
    H, f, A, b = np.eye(3), np.zeros(3), np.ones((2, 3)), np.zeros(2)
    with pytest.raises(ShapeError):
        solve_program(H, f, A[:, :2], b)
    with pytest.raises(ShapeError):
        solve_program(H, f[:2], A, b)
    assert solve_program(H, f * np.nan, A, b) == (None, -99)
    infeasible = np.array([[1.0, 0, 0], [-1.0, 0, 0]])
    assert solve_program(H, f, infeasible, np.array([-1.0, -1.0]))[0] is None


TIMES = np.array([0.0, 1.0, 3.0])
PLACES = np.array([[0.0], [1.0], [-1.0]])


def test_a_trajectory_of_positions_is_linear_and_stands_still_outside():
    path = Trajectory(("a", "b"), ("b",), TIMES, PLACES, None, None, np.array([7.0, 8.0]))
    assert [x.tolist() for x in path.at(0.5)] == [[7.0, 0.5], [0.0, 1.0], [0.0, 0.0]]
    assert [x.tolist() for x in path.at(2.0)] == [[7.0, 0.0], [0.0, -1.0], [0.0, 0.0]]
    assert path.at(-1.0)[0].tolist() == [7.0, 0.0]
    assert [x.tolist() for x in path.at(9.0)] == [[7.0, -1.0], [0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("quintic", [False, True])
def test_a_spline_meets_its_points_and_is_the_integral_of_its_rates(quintic):
    rates, h = np.array([[0.0], [0.5], [0.0]]), 1e-5
    path = Trajectory(("a",), ("a",), TIMES, PLACES, rates, np.zeros((3, 1)) if quintic else None, np.zeros(1))
    q, qd, qdd = path.at(1.0)
    assert (q[0], qd[0]) == pytest.approx((1.0, 0.5))
    if quintic:
        assert qdd[0] == pytest.approx(0.0)
    for t in (0.3, 1.7, 2.9):
        before, now, after = (np.array(path.at(t + d)) for d in (-h, 0.0, h))
        assert (after[:2] - before[:2]) / (2 * h) == pytest.approx(now[1:], abs=1e-6)


@pytest.mark.parametrize(
    ("names", "times", "q", "error"),
    [
        (("x",), TIMES, PLACES, UnknownNameError),
        (("a",), TIMES[:2], PLACES, ShapeError),
        (("a",), TIMES[::-1], PLACES, ShapeError),
        (("a",), TIMES, PLACES * np.nan, ShapeError),
        (("a",), np.zeros(0), np.zeros((0, 1)), ShapeError),
        (("a", "a"), TIMES, np.tile(PLACES, 2), ShapeError),
    ],
)
def test_a_bad_trajectory_is_refused(names, times, q, error):
    with pytest.raises(error):
        Trajectory(("a", "b"), names, times, q, None, None, np.zeros(2))


@pytest.mark.parametrize("given", ["positions", "velocities", "accelerations"])
def test_the_points_of_a_trajectory_are_what_it_passes_through(given):
    rng = np.random.default_rng(7)
    q, qd, qdd = rng.standard_normal((3, 3, 1))
    rates = {"positions": (None, None), "velocities": (qd, None), "accelerations": (qd, qdd)}[given]
    path = Trajectory(("a", "b"), ("b",), TIMES, q, *rates, np.array([7.0, 8.0]))
    found = path.points()
    for i, t in enumerate((*TIMES[:2] + 1e-9, TIMES[2] - 1e-9)):
        np.testing.assert_allclose([x[i] for x in found], path.at(t), atol=1e-6)
    one = Trajectory(("a", "b"), ("b",), TIMES[:1], q[:1], *(x if x is None else x[:1] for x in rates), np.zeros(2))
    assert [x.tolist() for x in one.points()] == [[[0.0, q[0, 0]]], [[0.0, 0.0]], [[0.0, 0.0]]]


@pytest.mark.parametrize("seed", range(5))
def test_efforts_along_a_trajectory_are_those_of_the_equations_of_motion(fixed, seed):
    rng, n, joints = np.random.default_rng(seed), fixed.nv, fixed.joint_names
    motion = rng.uniform(-1.0, 1.0, (3, 4, n))
    path = Trajectory(joints, joints, np.arange(4.0), *motion, np.zeros(n))
    feed = feeder(fixed)
    feed.state.set_joints(joints, np.full(n, 0.1), np.full(n, 0.2), np.zeros(0), 1.0, 1.0)
    before = feed.wanted(1.0).moving.copy()
    wanted = [rd.inverse_dynamics(fixed, *point) for point in zip(*motion, strict=True)]
    np.testing.assert_allclose(feed.efforts_along(path, 1.0), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(feed.wanted(1.0).moving, before)


@pytest.mark.parametrize("filter_time", [0.005, 0.05])
def test_a_filtered_reference_comes_to_a_steady_acceleration_with_its_time_constant(filter_time):
    reference, step = StreamedReference(1, 0.1, filter_time), 1e-4
    for k in range(1 + round(filter_time / step)):
        reference.set_velocity(np.array([0]), np.array([3.0 * k * step]), 1.0 + k * step)
    assert reference.acceleration(1.0 + k * step) == pytest.approx([3.0 * (1.0 - np.exp(-1.0))], rel=0.02)


def test_a_streamed_reference_accelerates_by_its_change_of_velocity():
    reference = StreamedReference(2, 0.1)
    where = np.array([1])
    reference.set_velocity(where, np.array([1.0]), 5.0)
    assert not reference.acceleration(5.0).any()
    reference.set_velocity(where, np.array([1.2]), 5.05)
    assert reference.acceleration(5.05) == pytest.approx([0.0, 4.0])
    assert not reference.acceleration(5.2).any()
    reference.set_velocity(where, np.array([9.0]), 6.0)
    assert not reference.acceleration(6.0).any()


def feeder(model: rd.Model, **options) -> Feeder:
    limiter = EffortLimiter(model.effort_limit, **options)
    limiter.enable(True)
    state = MeasuredState(model, 0.1)
    feedforward = Feedforward(model, "inverse_dynamics", state.q, state.qd)
    return Feeder(model, feedforward, state, StanceFlags((), 5.0, 0.1), limiter)


def test_the_feeder_follows_a_trajectory_and_ramps_its_gain(fixed):
    feed, n = feeder(fixed, ramp_time=1.0), fixed.nv
    joints = fixed.joint_names
    feed.trajectory = Trajectory(
        joints, joints, np.array([0.0, 2.0]), np.zeros((2, n)), np.zeros((2, n)), np.ones((2, n)), np.zeros(n)
    )
    feed.state.set_joints(joints, np.full(n, 0.1), np.zeros(n), np.zeros(0), 1.0, 1.0)
    feed.begun = 0.0
    assert not feed.efforts(1.0).any()
    out = feed.efforts(1.1)
    acceleration = feed.trajectory.at(1.1)[2]
    wanted = rd.inverse_dynamics(fixed, np.full(n, 0.1), np.zeros(n), acceleration)
    assert feed.feedforward.parts(feed.wanted(1.1)).total == pytest.approx(wanted)
    assert out == pytest.approx(0.1 * wanted)


def test_the_ramp_begins_with_the_first_state_after_enabling(fixed):
    feed, n = feeder(fixed, ramp_time=0.1), fixed.nv
    feed.state.set_joints(fixed.joint_names, np.full(n, 0.1), np.zeros(n), np.zeros(0), 1.0, 1.0)
    feed.efforts(1.0)
    feed.enable(True)
    assert not feed.efforts(5.0).any()
    assert feed.efforts(5.05) == pytest.approx(0.5 * feed.feedforward.torque(feed.solution))


def test_a_silent_state_is_noticed(model):
    feed, n = feeder(model), len(model.joint_names)
    assert feed.timed_out(1.0)
    feed.state.set_joints(model.joint_names, np.zeros(n), np.zeros(n), np.zeros(n), 1.0, 1.0)
    assert not feed.timed_out(1.05)
    feed.state.set_base(np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6), 1.0, 1.0)
    feed.state.set_joints(model.joint_names, np.zeros(n), np.zeros(n), np.zeros(n), 1.2, 1.2)
    assert feed.timed_out(1.2)
