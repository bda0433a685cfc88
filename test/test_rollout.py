# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Many plants at once: each does what it does alone, whatever happens to the others."""

from dataclasses import replace

import numba
import numpy as np
import pytest
from limbed_robots import limbed_model
from many_plants import COUNT, HOPPER, LAWS, SIMILAR, STEPS, H, arm_robot, plants, similar
from quadrupeds import model as quadruped
from random_robots import random_model

import robot_dynamics as rd
from robot_dynamics.errors import DivergedError, ParameterError, ShapeError
from robot_dynamics.simulation import tile
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.rollout import MOST
from robot_dynamics.simulation.tile import Tiles


def stream(*shape):
    return np.random.default_rng(3).standard_normal(shape)


def alone(plant, q_des, kp, kd, tau):
    """States, efforts and forces of one plant that is commanded and stepped by hand."""
    rows = []
    for t in range(STEPS):
        plant.track(q_des[t], np.zeros(1), kp, kd, tau[t])
        plant.step()
        rows.append((plant.q, plant.qd, plant.tau, plant.contacts.force_world))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_each_moves_as_it_does_alone_to_the_last_bit(law, threads):
    q_des, tau, kp = stream(COUNT, STEPS, 1), stream(STEPS, 1), 5.0
    rollout = rd.rollout_batch(
        plants(law), STEPS * H, q_des=q_des, tau=tau, kp=kp, kd=0.3, forces=True, threads=threads
    )
    assert not rollout.diverged
    assert (rollout.steps == STEPS).all()
    assert np.abs(rollout.force_world).max() > 1.0
    for i, plant in enumerate(plants(law)):
        q, qd, efforts, forces = alone(plant, q_des[i], kp, 0.3, tau)
        assert rollout.q[i].tobytes() == q.tobytes()
        assert rollout.qd[i].tobytes() == qd.tobytes()
        assert rollout.tau[i].tobytes() == efforts.tobytes()
        assert rollout.force_world[i].tobytes() == forces.tobytes()


@pytest.mark.parametrize("what", SIMILAR)
@pytest.mark.parametrize("model", [HOPPER, arm_robot(), arm_robot(mimic=True)], ids=["hopper", "arm", "mimic"])
def test_plants_that_share_a_tile_move_as_they_do_alone(model, what):
    """To rounding: a lane's sums are not in the order of a plant's own kernel."""
    n = len(model.joint_names)
    commands = {"q_des": stream(11, 1, n), "kp": 20.0, "kd": 0.3, "tau": stream(STEPS, n)}
    duration = STEPS * SIMILAR[what].timestep
    several = list(similar(model, SIMILAR[what]))
    rollout = rd.rollout_batch(several, duration, forces=True, **commands)
    assert not rollout.diverged
    for i, plant in enumerate(similar(model, SIMILAR[what])):
        single = rd.rollout_batch([plant], duration, forces=True, **commands | {"q_des": commands["q_des"][i : i + 1]})
        for mine, theirs in ((rollout.q, single.q), (rollout.qd, single.qd), (rollout.force_world, single.force_world)):
            np.testing.assert_allclose(mine[i], theirs[0], 1e-9, 1e-9)
        assert several[i].energy.total == pytest.approx(plant.energy.total, 1e-9, 1e-9)
        assert several[i].time == plant.time


def test_tiles_of_all_forms_are_of_one_type():
    """The kernel is looked up by it once in a process."""
    given = [(model, params) for model in (HOPPER, arm_robot(), arm_robot(mimic=True)) for params in SIMILAR.values()]
    given.append((HOPPER, rd.PlantParams(H, rd.Impulse(restitution=0, recovery=1, recovery_speed=1))))
    tiles = [Tiles(list(similar(model, params, 3))) for model, params in given]
    assert len({numba.typeof(tile.arguments(tile.workspace())) for tile in tiles}) == 1


@pytest.mark.parametrize("what", ["spring_damper", "impulse_bouncing", "delayed_and_slow"])
def test_neighbours_in_a_tile_do_not_matter_to_the_last_bit(what):
    """Motors at their limits too, for which a step is taken again by all lanes."""
    commands = {"kp": 200.0, "kd": 1.0, "q_des": 1.0, "tau": 20.0 * stream(STEPS, 1)}
    duration = STEPS * SIMILAR[what].timestep
    together = rd.rollout_batch(list(similar(HOPPER, SIMILAR[what])), duration, threads=1, **commands)
    assert (np.abs(together.tau) == 10.0).any()
    few = rd.rollout_batch(list(similar(HOPPER, SIMILAR[what]))[3:7], duration, threads=3, **commands)
    for mine, theirs in ((few.q, together.q), (few.qd, together.qd), (few.tau, together.tau)):
        assert mine.tobytes() == theirs[3:7].tobytes()


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("contact", [rd.SpringDamper, rd.Impulse])
def test_neighbours_with_other_contacts_do_not_matter_to_the_last_bit(contact, seed):
    """Quadrupeds that collapse, each at its own speed: they touch with up to nine points, and need Newton's steps."""

    def collapsing():
        rng, model = np.random.default_rng(seed), quadruped("mini_cheetah")
        for i in range(11):
            plant = Plant(model, rd.PlantParams(1e-3, contact(friction=0.3 + 0.06 * i)))
            q = rd.neutral(model)
            q[2], q[7:] = 0.35, 0.4 * rng.standard_normal(model.nq - 7)
            plant.reset(q, 0.5 * rng.standard_normal(model.nv))
            yield plant

    together = rd.rollout_batch(list(collapsing()), 0.8, kd=0.3, forces=True)
    touching = (np.abs(together.force_world).sum(3) > 0.0).sum(2)
    assert len(np.unique(touching[:, 400])) > 2
    for some in (slice(3, 7), slice(1, 9), slice(6, 10)):
        few = rd.rollout_batch(list(collapsing())[some], 0.8, kd=0.3, forces=True)
        assert together.q[some].tobytes() == few.q.tobytes()
        assert together.force_world[some].tobytes() == few.force_world.tobytes()


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("limbed", [True, False], ids=["limbs", "tree"])
def test_neighbours_at_other_stops_do_not_matter_to_the_last_bit(limbed, seed):
    """In the air, then on their feet: joints at stops, and with friction, that those of others do not have."""

    def between_stops():
        rng, model = np.random.default_rng(seed), quadruped("mini_cheetah")
        model = replace(model, lower=np.full(12, -0.6), upper=np.full(12, 0.6), limbs=model.limbs if limbed else None)
        for _ in range(11):
            friction = rng.uniform(0.1, 0.3, 12) * (rng.random(12) < 0.3)
            plant = Plant(replace(model, friction=friction), rd.PlantParams(1e-3))
            q = rd.neutral(model)
            q[2], q[7:] = 0.6, rng.uniform(-0.6, 0.6, 12)
            plant.reset(q, 2.0 * rng.standard_normal(model.nv))
            yield plant

    together = rd.rollout_batch(list(between_stops()), 0.5, forces=True)
    at_stops = (np.abs(together.q[:, :, 7:]) > 0.599).sum(2)
    assert min(len(np.unique(at_stops[:, k])) for k in (100, 400)) > 2
    assert together.force_world[:, 400].any()
    for some in (slice(3, 7), slice(1, 9), slice(6, 10)):
        few = rd.rollout_batch(list(between_stops())[some], 0.5, forces=True)
        assert together.q[some].tobytes() == few.q.tobytes()
        assert together.force_world[some].tobytes() == few.force_world.tobytes()


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes")
@pytest.mark.parametrize("what", SIMILAR)
@pytest.mark.parametrize(
    "model",
    [HOPPER, random_model(5), random_model(6, mimic=False), limbed_model(1, 2, 2, False), limbed_model(2, 5, 2, True)],
    ids=["hopper", "5", "6", "two_limbs", "five_limbs"],
)
def test_what_memory_held_before_is_not_read(model, what, monkeypatch):
    """That of the solve and what follows from the state are not cleared before a rollout, nor between tiles."""
    clean = rd.rollout_batch(list(similar(model, SIMILAR[what])), 0.3, threads=1, q_des=1.0, kp=20.0, kd=0.3)
    made = tile.workspace_of

    def spoilt(robot, problem):
        room = made(robot, problem)
        systems = [x for system in room.problem[-2:] for x in (*system[2:-1], *system.work)]
        for laned in (*room.robot.values(), *room.problem[:-2], *systems):
            laned.each.reshape(-1).view(float)[:] = np.nan
        return room

    monkeypatch.setattr(tile, "workspace_of", spoilt)
    after = rd.rollout_batch(list(similar(model, SIMILAR[what])), 0.3, threads=1, q_des=1.0, kp=20.0, kd=0.3)
    assert np.isfinite(after.q).all()
    for mine, theirs in ((after.q, clean.q), (after.qd, clean.qd), (after.tau, clean.tau)):
        assert mine.tobytes() == theirs.tobytes()


def test_plants_of_two_forms_in_turn_and_more_than_are_laid_at_once():
    """Each of them gets its own row and its own command, as in two rollouts of one form each."""
    each, steps = MOST + 3, 20
    q_des = np.linspace(-0.5, 0.5, 2 * each)[:, None, None]

    forms = SIMILAR["spring_damper"], SIMILAR["on_a_box"]
    pairs = zip(*(similar(HOPPER, params, each) for params in forms), strict=True)
    together = [plant for pair in pairs for plant in pair]
    rollout = rd.rollout_batch(together, steps * H, q_des=q_des, kp=30.0, kd=1.0, forces=True, threads=2)
    for first, params in enumerate(forms):
        same = list(similar(HOPPER, params, each))
        alone = rd.rollout_batch(same, steps * H, q_des=q_des[first::2], kp=30.0, kd=1.0, forces=True)
        for mine, theirs in ((rollout.q, alone.q), (rollout.tau, alone.tau), (rollout.force_world, alone.force_world)):
            assert mine[first::2].tobytes() == theirs.tobytes()
        assert (rollout.steps[first::2] == alone.steps).all()


def test_a_plant_that_diverges_in_a_tile_does_not_disturb_the_others():
    fine, spoiled = list(similar(HOPPER, SIMILAR["explicit"])), list(similar(HOPPER, SIMILAR["explicit"]))
    spoiled[2].reset(spoiled[2].q, [0.0, 0.0, 0.0, 0.0, 0.0, -4e3, 0.0])
    expected = rd.rollout_batch(fine, STEPS * 5e-4)
    rollout = rd.rollout_batch(spoiled, STEPS * 5e-4, forces=True)
    assert list(rollout.diverged) == [2]
    assert rollout.steps[2] < STEPS
    assert spoiled[2].time == pytest.approx(5e-4 * rollout.steps[2])
    for values in (rollout.q, rollout.qd, rollout.tau, rollout.force_world):
        assert np.isfinite(values).all()
    others = [i for i in range(11) if i != 2]
    np.testing.assert_allclose(rollout.q[others], expected.q[others], 1e-9, 1e-9)
    assert (rollout.steps[others] == STEPS).all()
    with pytest.raises(DivergedError, match="reset it first"):
        spoiled[2].step()


def test_plants_that_stopped_together_do_not_go_on():
    several = [Plant(HOPPER, SIMILAR["explicit"]) for _ in range(5)]
    q = rd.neutral(HOPPER)
    q[2] = 0.12
    for plant in several:
        plant.reset(q, [0.0, 0.0, 0.0, 0.0, 0.0, -4e3, 0.0])
    first, second = (rd.rollout_batch(several, STEPS * 5e-4) for _ in range(2))
    assert list(first.diverged) == list(second.diverged) == list(range(5))
    assert (second.steps == 0).all()


def test_two_rollouts_are_one():
    """State, commands on their way and the held command go on where the first one ended."""
    long, short = plants(), plants()
    tau = stream(COUNT, 1, 1)
    whole = rd.rollout_batch(long, STEPS * H, tau=tau)
    first = rd.rollout_batch(short, 15 * H, tau=tau)
    second = rd.rollout_batch(short, (STEPS - 15) * H)
    assert np.concatenate([first.qd, second.qd], axis=1).tobytes() == whole.qd.tobytes()
    assert short[2].energy == long[2].energy
    np.testing.assert_allclose(whole.time, H * np.arange(1, STEPS + 1), rtol=1e-15)


@pytest.mark.parametrize("shape", [(), (1,), (STEPS, 1), (COUNT, 1, 1), (COUNT, STEPS, 1)], ids=str)
def test_commands_broadcast(shape):
    tau = stream(*shape)
    all_of_it = np.ascontiguousarray(np.broadcast_to(tau, (COUNT, STEPS, 1)))
    a, b = (rd.rollout_batch(plants(), STEPS * H, tau=x) for x in (tau, all_of_it))
    assert a.q.tobytes() == b.q.tobytes()


def test_a_plant_that_diverges_is_named_and_does_not_disturb_the_others():
    """Its entries stay at the last good state; nothing that is not a number comes out."""
    fine, spoiled = plants(), plants()
    stiff = rd.SpringDamper(1e9, 1e6, scheme="explicit")
    spoiled[1] = Plant(HOPPER, replace(spoiled[1].params, contact=stiff))
    spoiled[1].reset(fine[1].q, [0.0, 0.0, 0.0, 0.0, 0.0, -3.0, 0.0])
    expected = rd.rollout_batch(fine, STEPS * H)
    rollout = rd.rollout_batch(spoiled, STEPS * H, forces=True)
    assert list(rollout.diverged) == [1]
    assert "the plant stopped" in rollout.diverged[1]
    taken = rollout.steps[1]
    assert taken < STEPS
    np.testing.assert_array_equal(rollout.q[1, taken:], np.tile(spoiled[1].q, (STEPS - taken, 1)))
    for values in (rollout.q, rollout.qd, rollout.tau, rollout.force_world):
        assert np.isfinite(values).all()
    others = [0, 2, 3, 4]
    assert rollout.q[others].tobytes() == expected.q[others].tobytes()
    assert (rollout.steps[others] == STEPS).all()
    again = rd.rollout_batch(spoiled, STEPS * H)
    assert again.steps[1] == 0
    assert list(again.diverged) == [1]
    with pytest.raises(DivergedError):
        spoiled[1].step()


def test_a_robot_without_joints_takes_no_command():
    body = rd.load_urdf(
        '<robot name="b"><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
        floating_base=True,
    )
    falling = [Plant(body) for _ in range(3)]
    rollout = rd.rollout_batch(falling, 0.1, tau=0.0, forces=True)
    np.testing.assert_allclose(rollout.q[:, -1, 2], -0.5 * 9.81 * 0.01, rtol=1e-9)
    assert rollout.force_world.shape == (3, 100, 0, 3)
    batch = rd.PlantBatch(falling)
    batch.step(q_des=0.0, kp=1.0, tau_ff=np.zeros((3, 1)), steps=100)
    np.testing.assert_allclose(batch.q[:, 2], -0.5 * 9.81 * 0.04, rtol=1e-9)


twins = plants()[:1] * 2
faster = [plants()[0], Plant(HOPPER, rd.PlantParams(1e-3))]
bare = [plants()[0], Plant(HOPPER, rd.PlantParams(H), rd.points(HOPPER, {}))]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: rd.rollout_batch([], 1.0), ParameterError, "at least one Plant"),
        (lambda: rd.rollout_batch(twins, 1.0), ParameterError, "more than once"),
        (lambda: rd.rollout_batch(faster, 1.0), ParameterError, "timestep, but plant 1 has 0.001, not 0.002"),
        (lambda: rd.rollout_batch(bare, 1.0, forces=True), ParameterError, "contact points, but plant 1 has 0, not 2"),
        (lambda: rd.rollout_batch(plants(), 1e-4), ParameterError, "duration must be at least 0.002"),
        (lambda: rd.rollout_batch(plants(), np.inf), ParameterError, "duration must be"),
        (lambda: rd.rollout_batch(plants(), 0.1, threads=0), ParameterError, "threads must be at least 1"),
        (lambda: rd.rollout_batch(plants(), 0.1, q_des=0.0), ParameterError, "q_des and kp go together"),
        (lambda: rd.rollout_batch(plants(), 0.1, kd=-1.0), ParameterError, "kd must be at least 0"),
        (lambda: rd.rollout_batch(plants(), 0.1, tau=np.zeros((7, 1))), ShapeError, r"\(N, T, n\) = \(5, 50, 1\)"),
        (lambda: rd.rollout_batch(plants(), 0.1, tau=[[1.0], [2.0, 3.0]]), ShapeError, "tau must broadcast"),
        (
            lambda: rd.rollout_batch(plants(), 0.1, tau=[[0.0], [np.nan]] * 25),
            ShapeError,
            r"tau must be finite, but tau\[1, 0\]",
        ),
        (lambda: plants()[0].follow(np.zeros((0, 5, 1)), np.zeros((3, 16))), ShapeError, "at least one command"),
        (lambda: plants()[0].follow(None, np.zeros((3, 17))), ShapeError, r"\(steps, 16 or 22\)"),
        (lambda: plants()[0].follow(-np.ones((1, 5, 1)), np.zeros((3, 16))), ParameterError, "gains in commands"),
    ],
)
def test_what_cannot_be_is_said(call, error, says):
    with pytest.raises(error, match=says):
        call()
