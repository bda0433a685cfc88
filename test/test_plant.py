# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plant by its laws, on single bodies and a pendulum."""

import copy
import pickle

import numpy as np
import pytest
from numba.core import event

import robot_dynamics as rd
from robot_dynamics.contact.impulse import Impulse
from robot_dynamics.contact.spring_damper import SpringDamper
from robot_dynamics.contact.terrain import HeightField, Plane
from robot_dynamics.errors import DivergedError, ParameterError, ShapeError
from robot_dynamics.share import share_folder
from robot_dynamics.simulation.plant import COMMANDED, Plant, PlantParams, SensorNoise

G = 9.81
INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>'
HANGING = '<origin xyz="0 0 -0.5"/><mass'
MODELS = {"spring_damper": SpringDamper, "impulse": Impulse}


def body(geometry):
    collision = f"<collision><geometry>{geometry}</geometry></collision>"
    return rd.load_urdf(f'<robot name="r"><link name="b">{INERTIAL}{collision}</link></robot>', floating_base=True)


@pytest.fixture(scope="module")
def box():
    return body('<box size="0.4 0.3 0.2"/>')


@pytest.fixture(scope="module")
def ball():
    return body('<sphere radius="0.1"/>')


def pendulum(limit='lower="-3" upper="3" effort="5" velocity="100"', dynamics=""):
    joint = f'<axis xyz="0 1 0"/><limit {limit}/>{dynamics}'
    return rd.load_urdf(
        f'<robot name="p"><link name="w"/><link name="b">'
        f"{INERTIAL.replace('<mass', HANGING)}</link>"
        f'<joint name="j" type="revolute"><parent link="w"/><child link="b"/>{joint}</joint></robot>'
    )


def placed(model, height, qd=None, params=None):
    plant = Plant(model, params)
    q = rd.neutral(model)
    q[2] = height
    plant.reset(q, np.zeros(model.nv) if qd is None else qd)
    return plant


@pytest.mark.slow
@pytest.mark.parametrize("h", [1e-4, 1e-3, 4e-3])
def test_static_depth_and_weight_are_exact(box, h):
    plant = placed(box, 0.101, params=PlantParams(timestep=h))
    plant.advance(3.0)
    np.testing.assert_allclose(plant.contacts.depth[4:], (2.0 * G / 4 / 5e5) ** (2 / 3), rtol=1e-9)
    np.testing.assert_allclose(plant.contacts.force_world.sum(axis=0), [0.0, 0.0, 2.0 * G], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.2, 0.8])
def test_impulse_rests_without_chatter(box, share):
    plant = placed(box, 0.1, params=PlantParams(contact=Impulse(recovery=share / 1e-3)))
    plant.advance(0.5)
    forces = []
    for _ in range(500):
        plant.step()
        forces.append(plant.contacts.force_world[4:, 2])
    assert np.std(forces, axis=0).max() < 0.5
    assert np.min(forces) > 0.0
    np.testing.assert_allclose(np.sum(forces, axis=1), 2.0 * G, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("h", [2e-4, 1e-3])
@pytest.mark.parametrize("restitution", [0.3, 0.7, 1.0])
def test_rebound_apex(ball, restitution, h):
    plant = placed(ball, 0.6, params=PlantParams(timestep=h, contact=Impulse(restitution)))
    apex, fell = 0.0, False
    for _ in range(round(1.0 / h)):
        plant.step()
        fell = fell or plant.qd[5] > 0.0
        if fell:
            # the apex of the parabola that the body is on
            apex = plant.q[2] - 0.1 + plant.qd[5] ** 2 / (2.0 * G)
            break
    assert fell
    assert apex == pytest.approx(restitution**2 * 0.5, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("contact", MODELS)
def test_slope_holds_below_and_slips_above_the_friction_angle(box, contact):
    for tangent, slips in ((0.45, False), (0.55, True)):
        angle = np.arctan(tangent)
        normal = (np.sin(angle), 0.0, np.cos(angle))
        plant = Plant(box, PlantParams(contact=MODELS[contact](friction=0.5), terrain=(Plane(0.0, normal),)))
        q = rd.neutral(box)
        q[:3] = 0.0995 * np.array(normal) if contact == "spring_damper" else 0.1 * np.array(normal)
        q[3:7] = [0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)]
        plant.reset(q, np.zeros(6))
        plant.advance(2.0)
        speed = np.linalg.norm(plant.qd[3:])
        assert (speed > 0.5) if slips else (speed < 1e-11), speed


@pytest.mark.slow
@pytest.mark.parametrize("contact", MODELS)
def test_same_inputs_same_bytes(box, contact):
    ends = []
    for _ in range(2):
        plant = placed(box, 0.3, np.array([1.0, 2.0, 0.5, 1.0, 0.0, 0.0]), PlantParams(contact=MODELS[contact]()))
        plant.advance(0.7)
        ends.append((plant.q.tobytes(), plant.qd.tobytes(), plant.contacts.force_world.tobytes()))
    assert ends[0] == ends[1]


@pytest.mark.slow
@pytest.mark.parametrize("contact", MODELS)
@pytest.mark.parametrize("seed", range(4))
def test_tumbling_drops_come_to_rest_and_never_gain_energy(box, contact, seed):
    rng = np.random.default_rng(seed)
    plant = Plant(box, PlantParams(contact=MODELS[contact]()))
    q = rd.random_configuration(box, rng)
    q[:3] = 0.0, 0.0, rng.uniform(0.4, 1.5)
    plant.reset(q, np.zeros(6))
    highest, deepest = plant.energy.total, 0.0
    for _ in range(500):
        plant.advance(0.01)
        assert plant.energy.total <= highest + 0.02 * plant.energy.initial
        highest, deepest = plant.energy.total, max(deepest, plant.contacts.depth.max())
    assert np.abs(plant.qd).max() < 1e-2
    assert deepest < 0.04


def test_momentum_is_exact_in_flight(box):
    plant = placed(box, 30.0, np.array([3.0, -2.0, 1.0, 1.0, 2.0, 3.0]))
    plant.advance(1.0)
    assert plant.energy.momentum_error < 1e-9
    assert plant.energy.angular_momentum_error < 1e-9


def test_track_with_a_gain_that_is_unstable_explicitly():
    """h kd / H far above 2; at rest under gravity the PD holds its target but for the sag."""
    plant = Plant(pendulum())
    plant.track([0.0], [0.0], 100.0, 5000.0)
    plant.reset([0.0], [1.0])
    plant.track([0.0], [0.0], 100.0, 5000.0)
    plant.advance(0.5)
    assert np.abs(plant.qd).max() < 0.1
    assert np.abs(plant.tau).max() <= 5.0


def frozen(x):
    out = np.array(x)
    out.flags.writeable = False
    return out


KINDS = {
    "vectors": np.array,
    "lists": list,
    "read-only": frozen,
    "strided": lambda x: np.stack([x, np.full_like(x, np.nan)], axis=1)[:, 0],
    "single precision": lambda x: np.array(x, dtype=np.float32),
}
GIVEN = np.array([[0.25], [-0.5], [40.0], [2.0], [0.125]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_does_the_same_whatever_holds_its_numbers(kind):
    moved = []
    for make in (KINDS["vectors"], KINDS[kind]):
        plant = Plant(pendulum())
        plant.track(*map(make, GIVEN))
        plant.advance(0.01)
        moved.append(plant.q.tobytes() + plant.qd.tobytes() + plant.tau.tobytes())
    assert moved[0] == moved[1]


WRONG = [(name, values, ShapeError) for name in COMMANDED for values in ([np.nan], [np.inf], [1.0, 1.0])]
WRONG += [(name, [-1.0], ParameterError) for name in ("kp", "kd")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "values", "error"), WRONG)
def test_a_command_that_is_none_is_refused_and_the_last_one_holds(kind, name, values, error):
    plant, other = Plant(pendulum()), Plant(pendulum())
    given = dict(zip(COMMANDED, map(KINDS[kind], GIVEN), strict=True)) | {name: KINDS[kind](np.array(values))}
    for p in (plant, other):
        p.track(*GIVEN)
    with pytest.raises(error, match=f"{name} must (be|have)"):
        plant.track(*given.values())
    for p in (plant, other):
        p.advance(0.01)
    assert plant.qd.tobytes() == other.qd.tobytes()


@pytest.mark.slow
def test_dry_friction_holds_and_stops_stop():
    model = pendulum('lower="-0.2" upper="0.2" effort="500" velocity="100"', '<dynamics friction="1"/>')
    plant = Plant(model)
    plant.reset([0.05], [0.0])
    plant.advance(1.0)
    assert plant.q[0] == pytest.approx(0.05, abs=1e-9)
    plant.command([50.0])
    plant.advance(1.0)
    assert plant.q[0] == pytest.approx(0.2, abs=1e-6)
    assert abs(plant.qd[0]) < 1e-9


def test_push_changes_momentum_by_its_impulse(ball):
    plant = placed(ball, 50.0)
    plant.push("b", [0.0, 0.0, 0.0, 4.0, 0.0, 0.0], 0.1)
    plant.advance(0.2)
    assert plant.qd[3] == pytest.approx(4.0 * 0.1 / 2.0, rel=1e-9)


def test_command_delay_counts_steps():
    plant = Plant(pendulum(), PlantParams(command_delay=3))
    plant.command([2.0])
    efforts = []
    for _ in range(5):
        plant.step()
        efforts.append(plant.tau[0])
    assert efforts == [0.0, 0.0, 0.0, 2.0, 2.0]


@pytest.mark.slow
def test_measure_is_exact_without_noise(box):
    plant = placed(box, 0.0995)
    plant.advance(2.0)
    reading = plant.measure()
    np.testing.assert_allclose(reading.linear_acceleration, [0.0, 0.0, G], atol=1e-6)


def test_noise_is_seeded(box):
    params = PlantParams(noise=SensorNoise(gyro=0.1, gyro_bias=0.2), seed=7)
    one, two = placed(box, 1.0, params=params).measure(), placed(box, 1.0, params=params).measure()
    np.testing.assert_array_equal(one.angular_velocity, two.angular_velocity)
    assert np.abs(one.angular_velocity).max() > 0.0


def test_divergence_keeps_the_last_good_state_and_says_why(box):
    plant = placed(box, 1.0)
    plant.push("b", [0.0, 0.0, 0.0, 1e300, 0.0, 0.0], 1.0)
    with pytest.raises(DivergedError, match="the plant stopped"):
        plant.advance(0.1)
    assert np.isfinite(plant.q).all()
    assert np.isfinite(plant.qd).all()
    with pytest.raises(DivergedError, match="reset it first"):
        plant.step()


def test_bad_input_is_named(box):
    plant = Plant(box)
    with pytest.raises(ShapeError, match="unit length"):
        plant.reset(np.zeros(7), np.zeros(6))
    with pytest.raises(ParameterError, match="timestep must be above 0"):
        PlantParams(timestep=0.0)
    with pytest.raises(ParameterError, match="recovery must be at most"):
        PlantParams(contact=Impulse(recovery=2000.0))
    with pytest.raises(ParameterError, match="friction must be at least 0"):
        SpringDamper(friction=-1.0)
    with pytest.raises(ParameterError, match="duration must be above 0"):
        plant.push("b", np.zeros(6), 0.0)


def pickled(plant: Plant) -> Plant:
    return pickle.loads(pickle.dumps(plant))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize(
    "terrain", [Plane(), HeightField(np.zeros((9, 9)), 0.5, (-2.0, -2.0, 0.0))], ids=["plane", "field"]
)
def test_a_copy_goes_on_as_the_plant_does_by_itself_and_on_the_same_machine_code(copied, terrain):
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    plant = Plant(model, PlantParams(terrain=(terrain,)))
    plant.advance(0.05)
    with event.install_recorder("numba:compile") as compiled:
        other = copied(plant)
        here, there = plant.q.copy(), other.q.copy()
        plant.advance(0.05)
        assert np.array_equal(here, there)
        assert np.array_equal(other.q, there)
        other.advance(0.05)
    assert compiled.buffer == []
    assert np.array_equal(plant.q, other.q)
    assert np.array_equal(plant.contacts.position, other.contacts.position)
    assert not other.model.parameters.flags.writeable
