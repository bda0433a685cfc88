# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A batch of plants from tick to tick: the same as rollouts, as plants alone, and as a copy of it."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from many_plants import HOPPER, LAWS, SIMILAR, H, arm_robot, plants, similar
from quadrupeds import model as quadruped

import robot_dynamics as rd
from robot_dynamics.compiler import LANES
from robot_dynamics.errors import ParameterError, ShapeError
from robot_dynamics.simulation import tile
from robot_dynamics.simulation.plant import Plant

TICKS, STEPS = 6, 5
MODELS = {"hopper": HOPPER, "arm": arm_robot(), "mimic": arm_robot(mimic=True)}


def stream(*shape):
    return np.random.default_rng(3).standard_normal(shape)


def several(what="spring_damper", model=HOPPER, count=11):
    return list(similar(model, SIMILAR[what], count))


def drive(batch, seed=0, ticks=TICKS):
    """Take a batch through some ticks under commands that change; returns what it did."""
    rng, n = np.random.default_rng(seed), len(batch.plants[0].model.joint_names)
    motion = []
    for _ in range(ticks):
        batch.step(q_des=rng.standard_normal((len(batch), n)), kp=20.0, kd=0.3, steps=STEPS)
        motion.append([x.copy() for x in (batch.q, batch.qd, batch.tau, batch.force_world, batch.energy.total)])
    return [np.stack(x) for x in zip(*motion, strict=True)]


def same_bits(mine, theirs):
    return all(a.tobytes() == b.tobytes() for a, b in zip(mine, theirs, strict=True))


@pytest.mark.parametrize("what", SIMILAR)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_ticks_are_those_of_a_rollout_to_the_last_bit(model, what):
    n, together = len(model.joint_names), several(what, model)
    q_des, tau = stream(TICKS, 11, n), stream(TICKS, n)
    batch = rd.PlantBatch(several(what, model), threads=2)
    for t in range(TICKS):
        batch.step(q_des=q_des[t], kp=20.0, kd=np.full(n, 0.3), tau_ff=tau[t], steps=STEPS)
        duration = STEPS * SIMILAR[what].timestep
        rollout = rd.rollout_batch(
            together, duration, q_des=q_des[t][:, None], kp=20.0, kd=0.3, tau=tau[t], forces=True
        )
        last = rollout.q[:, -1], rollout.qd[:, -1], rollout.tau[:, -1], rollout.force_world[:, -1]
        assert same_bits((batch.q, batch.qd, batch.tau, batch.force_world), last)
    for i, plant in enumerate(together):
        assert batch.time[i] == plant.time
        assert batch.energy.total[i] == plant.energy.total
        assert batch.energy.balance_error[i] == plant.energy.balance_error
        np.testing.assert_array_equal(batch.base_rate[i], plant.base_rate)


@pytest.mark.parametrize("kind", ["hopper", "limbs", "tree"])
def test_steps_one_by_one_and_at_once_are_the_same_to_the_last_bit(kind):
    """In flight, and as they land: each call finds poses and twists anew, of the state alone."""
    model = HOPPER if kind == "hopper" else quadruped("mini_cheetah")
    model = replace(model, limbs=None) if kind == "tree" else model
    batches = [rd.PlantBatch(several(model=model, count=LANES)) for _ in range(2)]
    for batch in batches:
        q = batch.q.copy()
        q[:, 2] = 0.5 if kind == "hopper" else 0.7
        batch.reset(q=q, qd=0.3 * stream(*batch.qd.shape))
        batch.step(tau_ff=0.3)
        assert not batch.force_world.any()
    for _ in range(200):
        batches[0].step()
    batches[1].step(steps=200)
    assert batches[0].force_world.any()
    mine, theirs = ((x.q, x.qd, x.tau, x.force_world, x.energy.total) for x in batches)
    assert same_bits(mine, theirs)


@pytest.mark.parametrize("law", LAWS)
def test_plants_of_many_forms_stand_in_their_order(law):
    """Five delays: five tiles, for three threads."""
    batch, alone = rd.PlantBatch(plants(law), threads=3), plants(law)
    for _ in range(TICKS):
        batch.step(q_des=0.5, kp=5.0, kd=0.3, steps=STEPS)
        for i, plant in enumerate(alone):
            plant.track([0.5], [0.0], 5.0, 0.3)
            plant.advance(STEPS * H)
            np.testing.assert_allclose(batch.q[i], plant.q, 1e-9, 1e-9)
            np.testing.assert_allclose(batch.force_world[i], plant.contacts.force_world, 1e-7, 1e-7)
            np.testing.assert_allclose(batch.contacts.position[i], plant.contacts.position, 1e-9, 1e-9)


@pytest.mark.parametrize("what", ["spring_damper", "on_a_box", "delayed_and_slow"])
def test_any_number_of_threads_gives_the_same_bits(what):
    one, three = (drive(rd.PlantBatch(several(what, count=27), threads)) for threads in (1, 3))
    assert same_bits(one, three)


@pytest.mark.parametrize("what", ["spring_damper", "on_a_box"])
def test_contacts_are_those_of_the_plants(what):
    batch = rd.PlantBatch(several(what))
    drive(batch)
    batch.write_back()
    assert np.abs(batch.force_world).max() > 1.0
    for i, plant in enumerate(batch.plants):
        for name in ("position", "velocity", "depth", "force_world", "deflection"):
            mine, theirs = getattr(batch.contacts, name)[i], getattr(plant.contacts, name)
            np.testing.assert_allclose(mine, theirs, 1e-9, 1e-9, err_msg=name)


def test_arrays_are_views_that_the_next_step_writes():
    batch = rd.PlantBatch(several())
    views = batch.q, batch.qd, batch.tau, batch.force_world
    before = [x.copy() for x in views]
    drive(batch, ticks=1)
    assert all(x is y for x, y in zip(views, (batch.q, batch.qd, batch.tau, batch.force_world), strict=True))
    assert not any(np.array_equal(x, y) for x, y in zip(views, before, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        batch.q[0] = 0.0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_goes_on_by_itself(copied):
    batch = rd.PlantBatch(several("delayed_and_slow"))
    drive(batch)
    other = copied(batch)
    first, second = drive(batch, seed=1), drive(other, seed=1)
    assert same_bits(first, second)


def test_a_pickle_is_refused_where_registers_are_others(monkeypatch):
    pickled = pickle.dumps(rd.PlantBatch(several()))
    monkeypatch.setattr(tile, "LANES", 2 * LANES)
    with pytest.raises(ParameterError, match=f"tiles of {LANES} plants .* this processor takes {2 * LANES} abreast"):
        pickle.loads(pickled)


def test_commands_are_held_until_the_next():
    batch, told = (rd.PlantBatch(several()) for _ in range(2))
    batch.step(q_des=0.3, kp=20.0, kd=1.0)
    batch.step(steps=9)
    told.step(q_des=0.3, kp=20.0, kd=1.0, steps=10)
    assert same_bits((batch.q, batch.qd), (told.q, told.qd))


@pytest.mark.parametrize("mixed", [False, True])
def test_a_reset_is_that_of_the_plants_and_for_them_alone(mixed):
    make = plants if mixed else several
    batch, undisturbed, fresh = (rd.PlantBatch(make()) for _ in range(3))
    q = np.array([plant.q for plant in make()])[::-1].copy()
    mask = np.arange(len(batch)) % 3 == 1
    drive(batch)
    drive(undisturbed)
    k = len(batch.plants[0].points)
    batch.reset(mask, q, 0.0, deflection=1e-3 * np.ones((k, 2)))
    assert (batch.time == np.where(mask, 0.0, undisturbed.time)).all()
    fresh.reset(None, q, 0.0, deflection=1e-3 * np.ones((k, 2)))
    for name in ("q", "qd", "tau", "force_world", "base_rate"):
        expected = np.where(
            mask.reshape(-1, *[1] * (getattr(fresh, name).ndim - 1)), *(getattr(b, name) for b in (fresh, undisturbed))
        )
        np.testing.assert_array_equal(getattr(batch, name), expected)
    after, apart, anew = (drive(x, seed=1) for x in (batch, undisturbed, fresh))
    assert same_bits([x[:, ~mask] for x in after], [x[:, ~mask] for x in apart])
    assert same_bits([x[:, mask] for x in after], [x[:, mask] for x in anew])


def test_a_reset_without_figures_is_neutral_and_at_rest():
    batch = rd.PlantBatch(several())
    drive(batch)
    batch.reset()
    np.testing.assert_array_equal(batch.q, np.tile(rd.neutral(HOPPER), (11, 1)))
    assert not batch.qd.any()
    assert not batch.energy.work_in.any()


def falling_apart(count=11):
    """Plants of which number 2 diverges."""
    made = several("explicit", count=count)
    made[2].reset(made[2].q, [0.0, 0.0, 0.0, 0.0, 0.0, -4e3, 0.0])
    return made


def test_a_plant_that_diverges_does_not_disturb_the_others():
    fine, spoiled = rd.PlantBatch(several("explicit")), rd.PlantBatch(falling_apart())
    expected, motion = drive(fine), drive(spoiled)
    assert list(spoiled.diverged) == [2]
    assert spoiled.diverged[2].step >= 1
    others = [i for i in range(11) if i != 2]
    assert same_bits([x[:, others] for x in motion], [x[:, others] for x in expected])
    assert all(np.isfinite(x).all() for x in motion)
    np.testing.assert_array_equal(motion[0][-1, 2], spoiled.plants[2].q)
    assert spoiled.time[2] == spoiled.plants[2].time < fine.time[2]
    np.testing.assert_array_equal(spoiled.contacts.position[2], spoiled.plants[2].contacts.position)


@pytest.mark.parametrize("count", [3, 11])
def test_a_plant_that_diverged_begins_anew_with_its_own_parameters(count):
    fine, spoiled = rd.PlantBatch(several("explicit", count=count)), rd.PlantBatch(falling_apart(count))
    drive(spoiled)
    q = [plant.q for plant in several("explicit", count=count)]
    for batch in (fine, spoiled):
        batch.reset(None, q)
    assert not spoiled.diverged
    assert same_bits(drive(fine, seed=1), drive(spoiled, seed=1))


def test_all_that_diverge_stay():
    batch = rd.PlantBatch(several("explicit", count=9))
    q = rd.neutral(HOPPER)
    q[2] = 0.12
    batch.reset(None, q, [0.0, 0.0, 0.0, 0.0, 0.0, -4e3, 0.0])
    drive(batch)
    assert list(batch.diverged) == list(range(9))
    stopped = batch.q.copy()
    batch.step(steps=3)
    np.testing.assert_array_equal(batch.q, stopped)
    again = rd.PlantBatch(batch.plants)
    again.step(steps=3)
    np.testing.assert_array_equal(again.q, stopped)
    assert len(again.diverged) == 9


def test_readings_are_those_of_the_plants():
    noisy = rd.SensorNoise(*0.01 * np.arange(1, 9))
    for model in (HOPPER, arm_robot()):
        made = several(model=model)
        for i in (1, 4):
            params = replace(made[i].params, noise=noisy, seed=i)
            start = made[i].q, made[i].qd
            made[i] = Plant(made[i].model, params)
            made[i].reset(*start)
        batch = rd.PlantBatch(copy.deepcopy(made))
        for whole, plant in ((0, made[0]), (1, made[1]), (4, made[4])):
            batch_reading, own = copy.deepcopy(batch).measure(), plant.measure()
            for name in ("position", "velocity", "effort", "orientation", "angular_velocity", "linear_acceleration"):
                np.testing.assert_allclose(getattr(batch_reading, name)[whole], getattr(own, name), 1e-12, 1e-12)


good = rd.PlantBatch(several(count=3))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: rd.PlantBatch([]), ParameterError, "at least one Plant"),
        (lambda: rd.PlantBatch(several(count=1) * 2), ParameterError, "more than once"),
        (lambda: rd.PlantBatch([Plant(HOPPER), *several(count=1)]), ParameterError, "one timestep"),
        (lambda: rd.PlantBatch(several(count=1), threads=0), ParameterError, "threads must be at least 1"),
        (lambda: good.step(steps=0), ParameterError, "steps must be at least 1"),
        (lambda: good.step(steps=2.5), ParameterError, "steps must be a whole number, got 2.5"),
        (lambda: good.step(steps=10**400), ParameterError, r"steps must be at least 1 and at most 9.0072e\+15"),
        (lambda: good.step(q_des=1.0), ParameterError, "q_des and kp go together"),
        (lambda: good.step(q_des=1.0, kp=-1.0), ParameterError, "kp must be at least 0"),
        (lambda: good.step(tau_ff=[[0.0], [np.nan], [0.0]]), ShapeError, r"tau_ff must be finite, but tau_ff\[1, 0\]"),
        (lambda: good.step(tau_ff=np.zeros((2, 1))), ShapeError, r"\(N, n\) = \(3, 1\), got \(2, 1\)"),
        (lambda: good.step(tau_ff=[[1.0], [2.0, 3.0]]), ShapeError, "tau_ff must be an array of numbers"),
        (lambda: good.reset([True]), ShapeError, r"mask must be bool \(N,\)"),
        (lambda: good.reset(q=np.zeros(3)), ShapeError, "q must have shape"),
        (lambda: good.reset(q=np.zeros(8)), ShapeError, "unit length"),
        (lambda: good.reset(qd=[np.nan] * 7), ShapeError, "qd must be finite"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_moves(call, error, says):
    before = good.q.copy(), good.time.copy()
    with pytest.raises(error, match=says):
        call()
    assert same_bits(before, (good.q, good.time))
