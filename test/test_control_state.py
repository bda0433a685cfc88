# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The measured state, stance flags, and the monitor's figures."""

import numpy as np
import pytest
import quadrupeds
from urdf_text import joint_text, link_text, robot_text

import robot_dynamics as rd
from robot_dynamics.contact.points import contact_points
from robot_dynamics.control.contacts import ContactForces, generalised
from robot_dynamics.control.guard import LARGEST
from robot_dynamics.control.imu import ImuMount
from robot_dynamics.control.monitor import Residual, consistency, inertia
from robot_dynamics.control.state import MeasuredState, StanceFlags
from robot_dynamics.errors import ParameterError
from robot_dynamics.kernels.measured import ANGULAR, LINEAR, ODOMETRY, PLACE
from robot_dynamics.kernels.sensors import MOTION, MOTION_ATTITUDE, MOTION_FORCE, MOTION_OMEGA
from robot_dynamics.simulation.plant import Plant, PlantParams, SensorNoise
from robot_dynamics.spatial import rotation_from_quaternion

LEVEL = np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0])
NONE = np.zeros(0)
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


@pytest.fixture
def model() -> rd.Model:
    return quadrupeds.model("mini_cheetah")


@pytest.fixture
def state(model) -> MeasuredState:
    return MeasuredState(model, 0.1)


def test_permuted_joints_end_up_where_they_belong(model, state):
    values = np.arange(12.0)
    order = np.random.default_rng(0).permutation(12)
    names = [model.joint_names[i] for i in order]
    assert state.set_joints(names, values[order], 2 * values[order], 3 * values[order], 1.0, 1.0)
    assert state.q[7:].tolist() == values.tolist()
    assert state.qd[6:].tolist() == (2 * values).tolist()
    assert state.effort.tolist() == (3 * values).tolist()


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_joints_with_others_between_them_end_up_where_they_belong(kind):
    """A joint of several coordinates parts the places of the others in q and qd."""
    text = robot_text(
        *(link_text(name, INERTIAL) for name in "abcde"),
        joint_text("a", "b"),
        joint_text("b", "c"),
        joint_text("c", "d", kind=kind),
        joint_text("d", "e"),
    )
    model = rd.load_urdf(text, floating_base=True)
    state, before = MeasuredState(model, 0.1), rd.neutral(model)
    where = [model.joint_index(name) for name in ("de", "ab", "bc")]
    for values in (np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])):
        assert state.set_joints(("de", "ab", "bc"), values, -values, values, 1.0, 1.0)
        before[model.q_index[where]] = values
        assert state.q.tolist() == before.tolist()
        assert state.qd[model.v_index[where]].tolist() == (-values).tolist()
        assert state.position.tolist() == state.q[model.q_index].tolist()
        assert state.velocity.tolist() == state.qd[model.v_index].tolist()


def test_missing_interfaces_count_as_zero_but_positions_must_be_known(model, state):
    q, nan = np.ones(12), np.full(12, np.nan)
    assert state.set_joints(model.joint_names, q, nan, nan, 1.0, 1.0)
    assert not state.qd.any()
    assert not state.has_effort
    assert not state.set_joints(model.joint_names, nan, q, q, 1.0, 1.0)
    assert not state.set_joints(model.joint_names, NONE, q, q, 1.0, 1.0)
    assert state.q[7:].tolist() == q.tolist()


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf, LARGEST, -1e160])
@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
def test_a_number_that_is_none_leaves_the_state_as_it_was(model, state, field, value):
    """But for velocities and efforts that are NaN: a driver without them says so."""
    good = dict(zip(("position", "velocity", "effort"), np.arange(36.0).reshape(3, 12), strict=True))
    assert state.set_joints(model.joint_names, *good.values(), 1.0, 1.0)
    before = [x.tolist() for x in (state.q, state.qd, state.position, state.velocity, state.effort)]
    bad = {name: column + 1.0 for name, column in good.items()}
    bad[field][7] = value
    used = state.set_joints(model.joint_names, *bad.values(), 1.01, 1.01)
    assert used == (field != "position" and np.isnan(value))
    if not used:
        assert state.joints.problem == "refused: value 7 is not a number below 1e+09"
        assert state.counts() == {"refused joint_states: not finite": 1}
        now = (state.q, state.qd, state.position, state.velocity, state.effort)
        assert [x.tolist() for x in now] == before
        assert state.has_effort
    else:
        assert state.position.tolist() == bad["position"].tolist()
        assert state.velocity.tolist() == np.nan_to_num(bad["velocity"]).tolist()
        assert state.effort.tolist() == (bad if state.has_effort else good)["effort"].tolist()
        assert state.has_effort == (field != "effort")


def test_joints_that_are_not_named_stay_where_they_are(model, state):
    names, values = model.joint_names, np.arange(1.0, 13.0)
    assert state.set_joints(names, values, values, values, 1.0, 1.0)
    assert state.set_joints(names[:2], -values[:2], NONE, -values[:2], 1.01, 1.01)
    assert state.q[7:].tolist() == [-1.0, -2.0, *values[2:]]
    assert state.velocity.tolist() == [0.0, 0.0, *values[2:]]
    assert state.effort.tolist() == [-1.0, -2.0, *values[2:]]


@pytest.mark.parametrize("stamp", [0.8, 1.2])
def test_a_state_of_another_time_leaves_the_state_as_it_was(model, state, stamp):
    assert not state.set_joints(model.joint_names, *np.ones((3, 12)), stamp, 1.0)
    assert not state.set_base(LEVEL, np.ones(6), stamp, 1.0)
    assert not state.position.any()
    assert not state.qd.any()
    assert state.q[:3].tolist() == [0.0] * 3


def test_mimic_joints_may_be_named_and_other_strangers_may_not():
    text = robot_text(
        *(link_text(name, INERTIAL) for name in "abcd"),
        joint_text("a", "b"),
        joint_text("a", "c", '<mimic joint="ab" multiplier="-2"/>'),
        joint_text("c", "d"),
    )
    state = MeasuredState(rd.load_urdf(text), 0.1)
    values = np.array([1.0, np.nan, 3.0])
    assert state.set_joints(("ab", "ac", "cd"), values, 2.0 * values, 3.0 * values, 1.0, 1.0)
    assert (state.q.tolist(), state.qd.tolist(), state.effort.tolist()) == ([1.0, 3.0], [2.0, 6.0], [3.0, 9.0])
    assert state.set_joints(("ac", "cd"), values[1:], NONE, NONE, 1.01, 1.01)
    assert not state.set_joints(("ab", "ac", "cd"), values[:2], NONE, NONE, 1.02, 1.02)
    assert not state.set_joints(("ab", "ac", "elbow"), np.ones(3), NONE, NONE, 1.02, 1.02)
    assert state.counts() == {"refused joint_states: wrong length": 1, "refused joint_states: unknown joint": 1}


def test_the_base_is_taken_with_a_unit_quaternion_or_refused(state):
    assert not state.has_base
    assert state.set_base(LEVEL * 1.1, np.arange(6.0), 1.0, 1.0)
    assert state.q[3:7].tolist() == [0, 0, 0, 1]
    assert state.qd[:6].tolist() == list(range(6))
    assert not state.set_base(LEVEL * 0.0, np.zeros(6), 1.0, 1.0)
    assert not state.set_base(LEVEL, np.full(6, np.inf), 1.0, 1.0)
    assert not state.set_base(LEVEL, np.array([1e300, -1e300, 0.0, 0.0, 0.0, 0.0]), 1.0, 1.0)
    assert state.counts() == {"refused odom: not finite": 3}


def test_the_base_of_another_frame_is_refused(model, state):
    assert state.set_base(LEVEL, np.zeros(6), 1.0, 1.0, "base")
    assert not state.set_base(LEVEL, np.ones(6), 1.01, 1.01, "base_footprint")
    assert "'base_footprint', not 'base'; see base_frame" in state.base.problem
    assert state.counts() == {"refused odom: other frame": 1}
    assert not state.qd.any()
    assert MeasuredState(model, 0.1, "trunk").set_base(LEVEL, np.zeros(6), 1.0, 1.0, "trunk")


def test_stance_switches_with_hysteresis_and_is_assumed_when_unknown():
    flags = StanceFlags(("a", "b"), 10.0, 0.1)
    assert flags.at(1.0).all()

    def standing(force: float, now: float) -> list[bool]:
        flags.set_forces(["a", "trunk", "b"], np.array([[0, 0, force], [0, 0, 99.0], [0, 0, 20.0]]), now)
        return flags.at(now).tolist()

    assert standing(4.0, 1.0) == [False, True]
    assert standing(8.0, 1.1) == [False, True]
    assert standing(12.0, 1.2) == [True, True]
    assert standing(8.0, 1.3) == [True, True]
    assert standing(4.0, 1.4) == [False, True]
    flags.set_forces(["a"], np.full((1, 3), np.nan), 1.45)
    assert flags.at(1.45).tolist() == [False, True]
    assert flags.at(1.399).tolist() == [False, True], "forces of the state after the one that is answered"
    assert flags.at(2.0).all()
    assert flags.at(0.5).all()


def test_loads_follow_the_stance_without_a_jump():
    flags, now, seen = StanceFlags(("a", "b"), 10.0, 0.1), 1.0, []
    assert flags.load(now).tolist() == [1.0, 1.0]
    for force in [(20.0, 20.0)] * 2 + [(0.0, 20.0)] * 15 + [(20.0, 20.0)] * 15 + [(0.0, 0.0)] * 2 + [(0.0, 20.0)]:
        flags.set_forces(["a", "b"], np.array([[0, 0, f] for f in force]), now)
        seen.append(flags.load(now))
        now += 1e-3
    a, b = np.array(seen).T
    assert np.abs(np.diff(a[:32])).max() == pytest.approx(0.1)
    assert (a[1], a[16], a[31]) == (1.0, 0.0, 1.0)
    assert (b[:32] == 1.0).all()
    assert not a[32:34].any()
    assert not b[32:34].any(), "in flight nothing bears"
    assert b[34] == 1.0, "whoever stands most bears all"
    flags.set_forces(["a", "b"], np.full((2, 3), 20.0), now + 0.2)
    assert flags.load(now + 0.2).tolist() == [1.0, 1.0], "after a silence"
    assert flags.load(now + 1.0).tolist() == [1.0, 1.0]


def test_the_reflected_inertia_is_what_a_motor_feels(model):
    q = rd.random_configuration(model, np.random.default_rng(1))
    figures = inertia(model, q)
    tau = np.zeros(model.nv)
    tau[8] = 1.0
    free = rd.forward_dynamics(model, q, np.zeros(model.nv), tau + rd.gravity_forces(model, q))
    assert figures.reflected[2] == pytest.approx(1.0 / free[8])
    assert figures.condition == pytest.approx(figures.eigenvalues[-1] / figures.eigenvalues[0])


@pytest.mark.parametrize("seed", range(3))
def test_both_algorithms_are_one_model(model, seed):
    rng = np.random.default_rng(seed)
    q, qd, tau = rd.random_configuration(model, rng), rng.normal(size=model.nv), rng.normal(size=12)
    assert consistency(model, q, qd, tau) < 1e-9


def test_what_the_model_leaves_out_is_recognised_in_the_residual():
    fixed = rd.load_urdf(quadrupeds.MINI_CHEETAH)
    residual, h = Residual(fixed, 1000), 1e-3
    q, qd = np.zeros(12), np.zeros(12)
    zero = np.zeros(12)
    for step in range(1500):
        t = step * h
        qdd = np.cos(3.0 * t) * np.linspace(1.0, 5.0, 12)
        mid = qd + 0.5 * h * qdd
        tau = rd.inverse_dynamics(fixed, q, mid, qdd) + 0.3 * mid + 0.2 * np.tanh(mid / 0.05) + 0.01 * qdd
        residual.update(t, q, qd, tau)
        q, qd = q + h * mid, qd + h * qdd
    armature, viscous, coulomb = residual.suggestion().T
    assert armature == pytest.approx(np.full(12, 0.01), abs=0.003)
    assert viscous == pytest.approx(np.full(12, 0.3), abs=0.03)
    assert coulomb == pytest.approx(np.full(12, 0.2), abs=0.03)
    assert residual.update(9.0, q, qd, zero) is None


def test_the_rms_of_the_residual_is_that_of_the_last_states():
    """Efforts that miss what holds the robot by a constant; nothing is suggested from so little."""
    fixed = rd.load_urdf(quadrupeds.MINI_CHEETAH)
    residual, q, zero = Residual(fixed, 4), np.zeros(12), np.zeros(12)
    missing = np.linspace(-1.0, 1.0, 12)
    assert not residual.rms().any()
    for step in range(9):
        residual.update(0.01 * step, q, zero, rd.gravity_forces(fixed, q) + missing * (1.0 if step > 5 else 9.0))
    assert residual.rms() == pytest.approx(np.sqrt((9.0**2 + 3.0) / 4.0) * np.abs(missing))
    assert not residual.suggestion().any()


def test_contact_forces_become_generalised_forces(model):
    forces = ContactForces(model)
    q = rd.random_configuration(model, np.random.default_rng(2))
    feet = contact_points(model)
    f = np.random.default_rng(3).normal(size=(len(feet), 3))
    where = rd.point_position(model, feet, q)
    forces.set_forces(list(feet.link), where, f)
    expected = np.einsum("kiv,ki->v", rd.point_jacobian(model, feet, q), f)
    assert generalised(model, forces.at(q), q) == pytest.approx(expected)
    forces.set_forces(["nobody"], np.zeros((1, 3)), np.ones((1, 3)))
    assert not generalised(model, forces.at(q), q).any()
    forces.set_forces(list(feet.link), where, np.full_like(f, np.nan))
    assert not generalised(model, forces.at(q), q).any()


def test_an_imu_reads_gravity_at_rest_and_nothing_in_free_fall(model):
    mount = ImuMount(model)
    q = rd.neutral(model)
    attitude, omega, force = mount.measure(q, np.zeros(18), np.zeros(18))
    assert attitude == pytest.approx([0, 0, 0, 1])
    assert force == pytest.approx([0, 0, 9.81])
    qdd = rd.forward_dynamics(model, q, np.zeros(18), np.zeros(18))
    assert mount.measure(q, np.zeros(18), qdd)[2] == pytest.approx(np.zeros(3), abs=1e-12)
    assert not any(omega)


def test_an_imu_on_a_fixed_base_reads_gravity_whatever_the_joints_do():
    fixed = rd.load_urdf(quadrupeds.MINI_CHEETAH)
    attitude, omega, force = ImuMount(fixed).measure(np.zeros(12), np.ones(12), np.ones(12))
    assert attitude == pytest.approx([0, 0, 0, 1])
    assert force == pytest.approx([0, 0, 9.81])
    assert not any(omega)


@pytest.mark.parametrize("seed", range(3))
def test_an_imu_off_the_base_origin_feels_the_rotation(seed):
    urdf = quadrupeds.MINI_CHEETAH.read_text().replace(
        "</robot>",
        '<link name="imu"/><joint name="imu_mount" type="fixed"><parent link="base"/><child link="imu"/>'
        '<origin xyz="0.1 0.05 -0.02" rpy="0.3 0.2 -1.0"/></joint></robot>',
    )
    model, rng = rd.load_urdf(urdf, floating_base=True), np.random.default_rng(seed)
    q, qd, qdd = rd.random_configuration(model, rng), *rng.normal(size=(2, model.nv))
    place = rd.points(model, {"imu": [(0.0, 0.0, 0.0)]})
    R = rd.link_pose(model, q, "imu")[0]
    acceleration = rd.point_jacobian(model, place, q)[0] @ qdd + rd.point_bias(model, place, q, qd)[0]
    attitude, omega, force = ImuMount(model, "imu").measure(q, qd, qdd)
    assert rotation_from_quaternion(attitude) == pytest.approx(R)
    assert omega == pytest.approx(R.T @ rd.link_pose(model, q, "base")[0] @ qd[:3])
    assert force == pytest.approx(R.T @ (acceleration - model.gravity))


@pytest.mark.parametrize("floating_base", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_readings_written_in_place_are_the_state_the_efforts_and_what_the_imu_measures(seed, floating_base):
    model, rng = rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=floating_base), np.random.default_rng(seed)
    plant, mount, n = Plant(model), ImuMount(model), len(model.joint_names)
    joints, base, motion = np.full((3, n), np.nan), np.zeros(ODOMETRY if floating_base else 0), np.zeros(MOTION)
    write = plant.readings(mount.mount, *joints, base, motion)
    plant.reset(rd.random_configuration(model, rng), rng.normal(size=model.nv))
    plant.command(rng.normal(size=n))
    for _ in range(3):
        plant.step()
        write()
        q, qd = plant.q, plant.qd
        assert joints.tolist() == [q[model.q_index].tolist(), qd[model.v_index].tolist(), plant.tau.tolist()]
        if floating_base:
            assert base[PLACE : PLACE + 7].tolist() == q[:7].tolist()
            assert [*base[ANGULAR : ANGULAR + 3], *base[LINEAR : LINEAR + 3]] == qd[:6].tolist()
        attitude, omega, force = mount.measure(q, qd, plant.base_rate)
        assert motion[MOTION_ATTITUDE : MOTION_ATTITUDE + 4] == pytest.approx(attitude)
        assert motion[MOTION_OMEGA : MOTION_OMEGA + 3] == pytest.approx(omega)
        assert motion[MOTION_FORCE : MOTION_FORCE + 3] == pytest.approx(force)
    assert np.count_nonzero(motion) <= 10, "covariances stay 0: unknown"


@pytest.mark.parametrize("floating_base", [True, False])
def test_the_noise_of_a_reading_reaches_the_imu(floating_base):
    model = rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=floating_base)
    plant = Plant(model, PlantParams(noise=SensorNoise(gyro=0.1, accelerometer=1.0), seed=1))
    mount = ImuMount(model)
    true = mount.measure(plant.q, plant.qd, plant.base_rate)
    readings = [mount.measure(plant.q, plant.qd, plant.base_rate, plant.measure()) for _ in range(2000)]
    assert all(attitude == true[0] for attitude, _, _ in readings)
    for column, spread in ((1, 0.1), (2, 1.0)):
        error = np.array([r[column] for r in readings]) - true[column]
        assert np.abs(error.mean(axis=0)).max() < 0.1 * spread
        assert error.std(axis=0) == pytest.approx(np.full(3, spread), rel=0.1)


def test_an_imu_must_not_move_against_the_base(model):
    with pytest.raises(ParameterError, match="must be fixed to the root link"):
        ImuMount(model, model.link_names[-1])
