"""Many plants at once: each does what it does alone, whatever happens to the others."""

from dataclasses import replace

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.errors import DivergedError, ParameterError, ShapeError
from robot_dynamics.plant import Plant

HOPPER = rd.load_urdf(
    '<robot name="hopper"><link name="body"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    '<link name="arm"><inertial><origin xyz="0 0 0.2"/><mass value="0.5"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><origin xyz="0 0 0.3"/><geometry><sphere radius="0.05"/></geometry></collision></link>'
    '<joint name="swing" type="revolute"><parent link="body"/><child link="arm"/><axis xyz="0 1 0"/>'
    '<limit lower="-9" upper="9" effort="10" velocity="0"/></joint></robot>',
    floating_base=True,
)
"""A ball with an arm that swings: one joint, two points."""

LAWS = {"spring_damper": rd.SpringDamper, "impulse": rd.Impulse}
COUNT, STEPS, H = 5, 40, 2e-3


def plants(law="spring_damper"):
    """Robots that differ in friction, slope, lag, delay and state."""
    rng = np.random.default_rng(7)
    out = []
    for i in range(COUNT):
        contact = LAWS[law](friction=rng.uniform(0.3, 1.0))
        terrain = (rd.Plane(normal=(0.1 * i, 0.0, 1.0)),)
        params = rd.PlantParams(H, contact, terrain, actuator_lag=0.003 * i, command_delay=i)
        plant = Plant(HOPPER, params)
        q = rd.neutral(HOPPER)
        q[2], q[7] = rng.uniform(0.1, 0.12), rng.uniform(0.5, 2.0)
        plant.reset(q, rng.standard_normal(7))
        out.append(plant)
    return out


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
