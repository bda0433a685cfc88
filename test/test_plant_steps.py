# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Single steps and short runs of the plant, each against a formula of mechanics; cheap enough to run un-jitted."""

import numpy as np
import pytest
from random_robots import random_model, random_state

import robot_dynamics as rd
import robot_dynamics.simulation.plant
from robot_dynamics.dynamics.kinematics import Points
from robot_dynamics.errors import DivergedError, ParameterError, ShapeError, SingularModelError, UnknownNameError
from robot_dynamics.simulation.plant import Plant, PlantParams, SensorNoise
from robot_dynamics.spatial import rotation_from_quaternion

G = 9.81
MASS, SPIN = 2.0, 0.04
"""Of the wheel and of the ball."""


def wheel(effort=5.0, velocity=10.0, lower=-1e3, upper=1e3, friction=0.0, damping=0.0):
    """One joint about the vertical: J qdd = tau, and no weight on it."""
    return rd.load_urdf(
        f'<robot name="w"><link name="hub"/><link name="rim"><inertial><mass value="{MASS}"/>'
        f'<inertia ixx="0.03" iyy="0.03" izz="{SPIN}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="axle" type="revolute"><parent link="hub"/><child link="rim"/><axis xyz="0 0 1"/>'
        f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>'
        f'<dynamics friction="{friction}" damping="{damping}"/></joint></robot>'
    )


def body(geometry='<sphere radius="0.1"/>', inertia=(SPIN, SPIN, SPIN)):
    ixx, iyy, izz = inertia
    collision = f"<collision><geometry>{geometry}</geometry></collision>" if geometry else ""
    return rd.load_urdf(
        f'<robot name="b"><link name="b"><inertial><mass value="{MASS}"/>'
        f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial>{collision}</link></robot>',
        floating_base=True,
    )


def turning(model, speed, **figures):
    plant = Plant(model, PlantParams(**figures))
    plant.reset([0.0], [speed])
    return plant


def falling(model, height, qd, params=None):
    plant = Plant(model, params)
    q = rd.neutral(model)
    q[2] = height
    plant.reset(q, qd)
    return plant


# ---- actuators ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 3])
def test_lagging_effort_rises_as_the_exponential(delay):
    """tau(t) = tau* (1 - exp(-t / T)), exact at every step, later by the delay."""
    plant = turning(wheel(), 0.0, timestep=2e-3, actuator_lag=0.01, command_delay=delay)
    plant.command([2.0])
    efforts = []
    for _ in range(20):
        plant.step()
        efforts.append(plant.tau[0])
    steps = np.maximum(np.arange(1, 21) - delay, 0)
    np.testing.assert_allclose(efforts, 2.0 * (1.0 - np.exp(-steps * 2e-3 / 0.01)), rtol=1e-12)


def test_reset_empties_actuators_and_the_commands_on_their_way():
    plant = turning(wheel(), 0.0, actuator_lag=0.01, command_delay=2)
    plant.command([2.0])
    plant.advance(0.01)
    plant.reset([0.0], [0.0])
    plant.advance(0.005)
    assert plant.tau[0] == 0.0
    assert plant.qd[0] == 0.0


@pytest.mark.parametrize("speed", [-12.0, -8.0, -3.0, 0.0, 4.0, 5.0, 7.5, 9.0, 10.0, 15.0])
def test_torque_speed_curve(speed):
    """A driving motor has all its effort up to w0 / 2 and none from w0 on, linear between; a braking one has all."""
    share = min(1.0, max(0.0, 2.0 - 2.0 * speed / 10.0))
    for sign in (1.0, -1.0):
        plant = turning(wheel(), sign * speed, no_load_speed=10.0)
        plant.command([sign * 50.0])
        plant.step()
        assert sign * plant.tau[0] == pytest.approx(5.0 * share, abs=1e-12)
        assert sign * plant.qd[0] == pytest.approx(speed + 1e-3 * 5.0 * share / SPIN, rel=1e-12)


@pytest.mark.parametrize("speed", [-12.0, -8.0, 0.0, 6.0, 8.0, 8.5, 9.5, 10.0, 15.0])
def test_torque_speed_curve_with_a_knee(speed):
    """A driving motor has all its effort up to w1 = 8 and none from w0 = 10 on, linear between."""
    share = min(1.0, max(0.0, (10.0 - speed) / 2.0))
    for sign in (1.0, -1.0):
        plant = turning(wheel(), sign * speed, no_load_speed=10.0, full_effort_speed=8.0)
        plant.command([sign * 50.0])
        plant.step()
        assert sign * plant.tau[0] == pytest.approx(5.0 * share, abs=1e-12)


def test_a_knee_beyond_the_no_load_speed_is_refused():
    with pytest.raises(ParameterError, match="full_effort_speed must be below no_load_speed, got 12 and 10"):
        Plant(wheel(), PlantParams(no_load_speed=10.0, full_effort_speed=12.0))


def test_a_motor_runs_up_to_its_no_load_speed():
    """Uniformly to w0 / 2 at t1 = J w0 / 2 L, then w = w0 - w0 / 2 exp(-(t - t1) / t1); the limits are the URDF's."""
    t1 = SPIN * 10.0 / (2.0 * 5.0)
    plant = turning(wheel(effort=5.0, velocity=10.0), 0.0, timestep=4e-4, no_load_speed="urdf")
    plant.command([50.0])
    plant.advance(t1)
    assert plant.qd[0] == pytest.approx(5.0, rel=1e-9)
    plant.advance(2.0 * t1)
    assert plant.qd[0] == pytest.approx(10.0 - 5.0 * np.exp(-2.0), rel=5e-3)
    np.testing.assert_allclose(plant.energy.balance_error, 0.0, atol=1e-12)


@pytest.mark.parametrize("lag", [0.0, 3e-3])
@pytest.mark.parametrize("seed", range(12))
def test_reported_effort_explains_the_motion_and_follows_the_command(seed, lag):
    """J (w1 - w0) / h = tau - d w1, tau = PD of the end of the step where that is within reach, else the limit."""
    rng = np.random.default_rng(seed)
    kp, kd, damping = 10.0 ** rng.uniform([0.0, -1.0, -2.0], [2.0, 2.0, 0.0])
    q, qd, target, speed, ahead = rng.uniform(-2.0, 2.0, 5)
    h, limit, share = 1e-3, 5.0, 1.0 if lag == 0.0 else -np.expm1(-1e-3 / lag)
    plant = Plant(wheel(effort=limit, damping=damping), PlantParams(timestep=h, actuator_lag=lag))
    plant.reset([q], [qd])
    plant.track([target], [speed], kp, kd, [ahead])
    motor = 0.0
    for _ in range(5):
        q, w0 = plant.q[0], plant.qd[0]
        plant.step()
        tau, w1 = plant.tau[0], plant.qd[0]
        assert SPIN * (w1 - w0) / h == pytest.approx(tau - damping * w1, abs=1e-9)
        asked = motor + share * (kp * (target - q) + kd * (speed - w1) + ahead - motor)
        if abs(tau) == limit:
            assert abs(motor + share * (kp * (target - q) + kd * (speed - w0) + ahead - motor)) >= limit or (
                abs(asked) >= limit
            )
        else:
            assert tau == pytest.approx(asked, abs=1e-9)
            assert abs(tau) < limit
        motor = tau


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_motor_that_a_push_overpowers_ends_at_its_limit(side):
    """At its target at the start of the step it need do nothing; at the end it would have to do more than it can."""
    plant = turning(wheel(effort=5.0), 1.0)
    plant.track([0.0], [1.0], 0.0, 10.0)
    plant.push("rim", [0.0, 0.0, side * 40.0, 0.0, 0.0, 0.0], 0.01)
    plant.step()
    assert plant.tau[0] == -side * 5.0
    assert plant.qd[0] == pytest.approx(1.0 + side * 1e-3 * (40.0 - 5.0) / SPIN, rel=1e-12)


# ---- joint friction and stops ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("contact", [rd.SpringDamper(), rd.Impulse()], ids=["soft", "hard"])
def test_dry_friction_holds_below_and_is_overcome_above(contact):
    plant = turning(wheel(friction=1.0), 0.0, contact=contact)
    plant.command([0.9])
    plant.advance(0.01)
    assert abs(plant.qd[0]) < 1e-15
    plant.command([3.0])
    plant.advance(0.01)
    assert plant.qd[0] == pytest.approx(0.01 * (3.0 - 1.0) / SPIN, rel=1e-9)
    assert plant.energy.dissipated_joint == pytest.approx(1.0 * 0.5 * 0.01 * plant.qd[0], rel=1e-9)


def test_dry_friction_stops_a_wheel_for_good():
    """w0 - t M / J until it is at rest, and never back."""
    plant = turning(wheel(friction=1.0), 0.5)
    plant.advance(0.01)
    assert plant.qd[0] == pytest.approx(0.5 - 0.01 / SPIN, rel=1e-9)
    plant.advance(0.02)
    assert abs(plant.qd[0]) < 1e-15


@pytest.mark.parametrize("contact", [rd.SpringDamper(), rd.Impulse()], ids=["soft", "hard"])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_stop_is_reached_and_not_passed(side, contact):
    plant = turning(wheel(lower=-0.2, upper=0.2), 0.0, contact=contact)
    plant.reset([side * 0.19], [side * 3.0])
    plant.command([side * 2.0])
    for _ in range(8):
        plant.step()
        assert side * plant.q[0] <= 0.2 + 1e-12
    assert plant.q[0] == pytest.approx(side * 0.2, abs=1e-12)
    assert abs(plant.qd[0]) < 1e-12


@pytest.mark.parametrize("friction", [0.0, 1.0])
@pytest.mark.parametrize("depth", [1e-4, 0.05])
def test_from_beyond_a_stop_a_joint_comes_back_at_a_bounded_speed(depth, friction):
    """By a fifth of the way per step but for the last 1e-5 rad, at most at 0.5 rad/s, and without gaining speed.

    Friction does not hold it there.
    """
    plant = turning(wheel(lower=-0.2, upper=0.2, friction=friction), 0.0)
    plant.reset([0.2 + depth], [0.0])
    plant.step()
    assert plant.qd[0] == 0.0
    assert plant.q[0] == pytest.approx(0.2 + depth - min(0.2 * (depth - 1e-5), 0.5e-3), rel=1e-7)


def test_a_joint_between_close_stops_settles_in_the_middle():
    plant = turning(wheel(lower=0.0, upper=1e-3), 0.0)
    plant.reset([0.0], [0.2])
    plant.advance(0.06)
    assert plant.q[0] == pytest.approx(0.5e-3, abs=1e-6)


def test_stops_and_friction_can_be_left_out():
    plant = turning(wheel(lower=-0.2, upper=0.2, friction=1.0), 0.5, stops=False, joint_friction=False)
    plant.advance(0.5)
    assert plant.q[0] == pytest.approx(0.25, rel=1e-12)


# ---- integrators ----------------------------------------------------------------------------------------------------


def order(ends):
    """Order of convergence that three runs show, each with half the step of the one before."""
    return np.log2(np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2]))


def test_runge_kutta_is_of_fourth_order_on_a_tree():
    model = random_model(0, count=4, floating_base=False, mimic=False)
    free = {"stops": False, "joint_friction": False, "integrator": "rk4"}
    q, qd, tau, _ = random_state(model, 0)
    ends = []
    for steps in (8, 16, 32):
        plant = Plant(model, PlantParams(timestep=0.16 / steps, **free))
        plant.reset(q, qd)
        plant.command(tau[model.v_index])
        plant.advance(0.16)
        ends.append(plant.qd)
    assert order(ends) == pytest.approx(4.0, abs=0.5)


def test_runge_kutta_turns_a_free_body_as_euler_says():
    """Kinetic energy and |L| of a body that tumbles about its middle axis stay, to fourth order."""
    model = body(geometry="", inertia=(0.02, 0.03, 0.04))
    plant = falling(model, 1.0, [0.1, 6.0, 0.2, 1.0, 0.0, 0.0], PlantParams(timestep=5e-3, integrator="rk4"))
    inertia = np.array([0.02, 0.03, 0.04])
    before = inertia * plant.qd[:3] ** 2, (inertia * plant.qd[:3]) ** 2
    plant.advance(0.2)
    after = inertia * plant.qd[:3] ** 2, (inertia * plant.qd[:3]) ** 2
    np.testing.assert_allclose(np.sum(after, axis=1), np.sum(before, axis=1), rtol=1e-6)
    assert plant.q[2] == pytest.approx(1.0 - 0.5 * G * 0.2**2, rel=1e-9)
    assert np.linalg.norm(plant.q[3:7]) == pytest.approx(1.0, abs=1e-15)


# ---- pushes ---------------------------------------------------------------------------------------------------------


def test_a_push_with_ramps_gives_the_impulse_of_its_trapezoid():
    """Force times (duration - ramp), moment likewise, and the ledger knows it."""
    plant = falling(body(), 50.0, np.zeros(6), PlantParams(timestep=0.01))
    plant.push("b", [0.0, 0.0, 0.3, 4.0, -2.0, 0.0], duration=0.1, ramp=0.03)
    plant.advance(0.2)
    np.testing.assert_allclose(plant.qd[2], 0.3 * 0.07 / SPIN, rtol=1e-9)
    np.testing.assert_allclose(np.hypot(*plant.qd[3:5]), np.hypot(4.0, 2.0) * 0.07 / MASS, rtol=1e-9)
    assert plant.energy.momentum_error < 1e-12
    assert plant.energy.work_in == pytest.approx(0.5 * (MASS * (plant.qd[3:5] ** 2).sum() + SPIN * plant.qd[2] ** 2))


def test_pushes_add_up_and_end():
    plant = falling(body(), 50.0, np.zeros(6))
    for _ in range(16):
        plant.push("b", [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], 0.005)
    with pytest.raises(ParameterError, match="at most 16 pushes at once"):
        plant.push("b", np.ones(6), 0.005)
    plant.advance(0.01)
    assert plant.qd[3] == pytest.approx(16.0 * 0.005 / MASS, rel=1e-9)
    plant.push("b", np.ones(6), 0.005)


# ---- contacts -------------------------------------------------------------------------------------------------------


def test_linear_spring_damper_rebounds_as_the_damped_oscillator():
    """Schwager and Poeschel 2007: e = exp(-b / w (pi - atan(2 b w / (w0^2 - 2 b^2)))), b = D / 2 m, without weight."""
    K, D = 2e3, 20.0
    b, w0 = D / (2.0 * MASS), np.sqrt(K / MASS)
    w = np.sqrt(w0**2 - b**2)
    restitution = np.exp(-b / w * (np.pi - np.arctan2(2.0 * b * w, w0**2 - 2.0 * b**2)))
    contact = rd.SpringDamper(stiffness=K, damping=D, friction=0.0, scheme="linear")
    plant = falling(body(), 0.1, [0.0, 0.0, 0.0, 0.0, 0.0, -3.0], PlantParams(timestep=2e-4, contact=contact))
    while plant.qd[5] < 0.0 or plant.contacts.force_world[0, 2] > 0.0:
        plant.command([])
        plant.push("b", [0.0, 0.0, 0.0, 0.0, 0.0, MASS * G], 2e-4)
        plant.step()
    assert plant.qd[5] == pytest.approx(3.0 * restitution, rel=5e-3)


def test_linear_friction_is_viscous_below_the_slip_speed_and_coulombs_above():
    """|f_t| = mu f_n min(|v_t| / 0.01, 1) against the slip (E1)."""
    contact = rd.SpringDamper(stiffness=2e3, damping=20.0, friction=0.5, scheme="linear")
    for speed, share in ((0.004, 0.4), (0.5, 1.0)):
        plant = falling(body(), 0.09, [0.0, 0.0, 0.0, 0.6 * speed, -0.8 * speed, 0.0], PlantParams(contact=contact))
        plant.step()
        normal = 2e3 * 0.01
        expected = [-0.5 * normal * share * 0.6, 0.5 * normal * share * 0.8, normal]
        np.testing.assert_allclose(plant.contacts.force_world[0], expected, rtol=1e-12)


@pytest.mark.parametrize("scheme", ["implicit", "explicit", "linear"])
def test_statics_are_an_equilibrium_of_every_scheme(scheme):
    """A ball that stands at the depth of its weight, (m g / K)^(2/3) or m g / K, stays there."""
    K = 2e4
    depth = MASS * G / K if scheme == "linear" else (MASS * G / K) ** (2.0 / 3.0)
    contact = rd.SpringDamper(stiffness=K, damping=20.0, scheme=scheme)
    plant = falling(body(), 0.1 - depth, np.zeros(6), PlantParams(contact=contact))
    plant.advance(0.005)
    assert np.abs(plant.qd).max() < 1e-9
    np.testing.assert_allclose(plant.contacts.depth, depth, rtol=1e-9)
    np.testing.assert_allclose(plant.contacts.force_world[0], [0.0, 0.0, MASS * G], atol=1e-6)
    np.testing.assert_allclose(plant.measure().linear_acceleration, [0.0, 0.0, G], atol=1e-6)
    stored = 0.5 * K * depth**2 if scheme == "linear" else 0.4 * K * depth**2.5
    assert plant.energy.elastic == pytest.approx(stored, rel=1e-9)


def test_explicit_and_implicit_forces_meet_as_the_step_goes_to_zero():
    """One step from the same state, sliding and sinking: the difference falls with h (N1-N5)."""
    apart = []
    for h in (1e-5, 5e-6):
        forces = []
        for scheme in ("explicit", "implicit"):
            params = PlantParams(timestep=h, contact=rd.SpringDamper(scheme=scheme))
            plant = falling(body(), 0.099, [0.0, 0.0, 0.0, 0.3, 0.1, -0.2], params)
            plant.step()
            forces.append(plant.contacts.force_world[0])
        apart.append(np.linalg.norm(forces[0] - forces[1]))
    assert apart[0] < 0.02 * np.linalg.norm(forces[0])
    assert apart[1] == pytest.approx(0.5 * apart[0], rel=0.05)


@pytest.mark.parametrize("friction", [0.2, 0.6])
def test_a_ball_struck_sideways_slides_or_rolls(friction):
    """Impulse mu m v_n against the slip, but never more than stops it: 2/7 m v_t of a ball, here by m J."""
    plant = falling(body(), 0.1, [0.0, 0.0, 0.0, 1.0, 0.0, -1.0], PlantParams(contact=rd.Impulse(friction=friction)))
    plant.step()
    normal = MASS * (1.0 + 1e-3 * G)
    rolling = 1.0 / (1.0 / MASS + 0.1**2 / SPIN)
    impulse = min(friction * normal, rolling)
    velocity = rotation_from_quaternion(plant.q[3:7]) @ plant.qd[3:6]
    assert velocity[0] == pytest.approx(1.0 - impulse / MASS, rel=1e-9)
    assert plant.qd[1] == pytest.approx(0.1 * impulse / SPIN, rel=1e-9)
    assert abs(velocity[2]) < 1e-12


@pytest.mark.parametrize("contact", [rd.SpringDamper(friction=0.0), rd.Impulse(friction=0.0)], ids=["soft", "hard"])
def test_on_ice_nothing_but_the_fall_changes(contact):
    plant = falling(body(), 0.0995, [0.0, 0.0, 0.0, 1.0, -2.0, -0.5], PlantParams(contact=contact))
    plant.step()
    assert plant.contacts.force_world[0, 2] > MASS * G
    np.testing.assert_allclose(plant.qd[:5], [0.0, 0.0, 0.0, 1.0, -2.0], atol=1e-12)


def test_soft_landing_ends_on_the_ground_and_at_rest():
    """(J5): what arrives within the step is on the surface at its end, in one step, without a rebound."""
    plant = falling(body(), 0.1002, [0.0, 0.0, 0.0, 0.0, 0.0, -0.5], PlantParams(contact=rd.Impulse()))
    plant.step()
    assert plant.q[2] == pytest.approx(0.1, abs=1e-9)
    assert abs(plant.qd[5]) < 1e-12


def test_below_the_surface_speed_is_turned_and_depth_given_back():
    """v' = e |v| + k_r depth (I1); from above the surface nothing acts, though it is passed in this step."""
    contact = rd.Impulse(0.5, recovery=100.0, activation="below")
    plant = falling(body(), 0.099, [0.0, 0.0, 0.0, 0.0, 0.0, -1.0], PlantParams(contact=contact))
    plant.step()
    assert plant.qd[5] == pytest.approx(0.5 * 1.0 + 100.0 * 1e-3, rel=1e-9)
    plant = falling(body(), 0.1002, [0.0, 0.0, 0.0, 0.0, 0.0, -1.0], PlantParams(contact=contact))
    plant.step()
    assert plant.qd[5] == pytest.approx(-1.0 - 1e-3 * G, rel=1e-9)


@pytest.mark.parametrize("contact", [rd.SpringDamper(iterations=1), rd.Impulse(iterations=1)], ids=["soft", "hard"])
def test_one_sweep_and_newton_find_what_many_sweeps_find(contact):
    """A turning stool that slides on three feet (four would share the load in many ways)."""
    feet = rd.points(body(), {"b": [(0.2, 0.0, -0.1), (-0.1, 0.15, -0.1), (-0.1, -0.15, -0.1)]})
    ends = []
    for law in (contact, type(contact)(iterations=200, tolerance=1e-10)):
        plant = Plant(body(), PlantParams(contact=law), feet)
        plant.reset([0.0, 0.0, 0.0999, 0.0, 0.0, 0.0, 1.0], [0.1, 0.2, 0.3, 1.0, 0.5, -0.3])
        plant.step()
        assert plant.solver.unconverged == 0
        ends.append(plant.qd)
    np.testing.assert_allclose(*ends, atol=1e-5)


def test_near_points_do_not_crowd_out_those_that_touch():
    """Of 70 points within reach only 64 are solved: the deepest, wherever they stand in the list."""
    model = body()
    touching = np.array([[0.1, 0.0, -0.1], [-0.1, 0.1, -0.1], [-0.1, -0.1, -0.1]])
    near = np.column_stack([np.linspace(-0.2, 0.2, 67), np.zeros(67), np.full(67, -0.0985)])
    ends = []
    for position in (np.vstack([near, touching]), touching):
        k = len(position)
        points = Points(np.ones(k, dtype=np.int64), position, ("b",) * k, np.zeros(k))
        plant = Plant(model, points=points)
        plant.reset([0.0, 0.0, 0.0995, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.1, 0.0, 0.0])
        plant.step()
        ends.append(plant)
    np.testing.assert_allclose(ends[0].qd, ends[1].qd, atol=1e-9)
    np.testing.assert_allclose(ends[0].contacts.force_world[67:], ends[1].contacts.force_world, atol=1e-4)
    assert not ends[0].contacts.force_world[:67].any()


def thrown(terrain, contact):
    """Two boxes on a hinge, thrown down with a spin."""
    rng = np.random.default_rng(0)
    box = (
        '<link name="{name}"><inertial><mass value="2"/><inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0"'
        ' iyz="0"/></inertial><collision><origin xyz="{at} 0 0"/><geometry><box size="0.4 0.2 0.1"/></geometry>'
        '</collision><collision><origin xyz="{at} 0 0.1"/><geometry><sphere radius="0.05"/></geometry></collision>'
        "</link>"
    )
    model = rd.load_urdf(
        f'<robot name="r">{box.format(name="a", at=0.0)}{box.format(name="b", at=0.3)}<joint name="hinge"'
        ' type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-2" upper="2" effort="5" velocity="99"/></joint></robot>',
        floating_base=True,
    )
    plant = Plant(model, PlantParams(contact=contact, terrain=terrain))
    q = rd.neutral(model)
    q[2] = rng.uniform(0.6, 1.0)
    plant.reset(q, np.r_[rng.uniform(-9.0, 9.0, 3), rng.uniform(-3.0, 3.0, 2), -4.0, 0.0])
    return plant


TERRAINS = {
    "level": (rd.Plane(),),
    "boxes": (rd.Plane(normal=(0.2, 0.1, 1.0)), rd.Box(size=(0.5, 0.5, 0.4), position=(0.3, 0.0, 0.0))),
    "uneven": (rd.HeightField(np.random.default_rng(0).uniform(-0.1, 0.1, (9, 9)), 0.5, (-2.0, -2.0, 0.0)),),
}
CONTACTS = {
    "implicit": rd.SpringDamper(),
    "explicit": rd.SpringDamper(stiffness=2e4, damping=2e2, scheme="explicit"),
    "linear": rd.SpringDamper(stiffness=2e4, damping=2e2, scheme="linear"),
    "impulse": rd.Impulse(restitution=0.5),
}


@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize("terrain", TERRAINS)
def test_points_looked_at_together_are_those_looked_at_one_by_one(contact, terrain, monkeypatch):
    """To the last bit, from the flight through impacts to rest; a point seen too late would change everything."""
    together = thrown(TERRAINS[terrain], CONTACTS[contact])
    monkeypatch.setattr(robot_dynamics.simulation.plant, "CLUSTER", 1000)
    one_by_one = thrown(TERRAINS[terrain], CONTACTS[contact])
    for _ in range(20):
        for plant in (together, one_by_one):
            plant.advance(0.02)
        mine, theirs = together.contacts, one_by_one.contacts
        assert together.q.tobytes() == one_by_one.q.tobytes()
        assert mine.force_world.tobytes() == theirs.force_world.tobytes()
        assert mine.deflection.tobytes() == theirs.deflection.tobytes()
        assert mine.depth.tobytes() == theirs.depth.tobytes()
        assert together.energy.total == pytest.approx(one_by_one.energy.total, rel=1e-12)
    assert together.energy.dissipated_contact > 1.0


def test_without_ground_a_ball_falls_on():
    plant = falling(body(), 0.01, np.zeros(6), PlantParams(terrain=()))
    plant.advance(0.1)
    assert plant.q[2] == pytest.approx(0.01 - 0.5 * G * 0.1**2, rel=1e-9)
    assert not plant.contacts.depth.any()


def test_figures_of_single_points():
    """Friction per point: two feet that slide, one of them on ice."""
    points = rd.points(body(), {"b": [(0.0, 0.1, -0.1), (0.0, -0.1, -0.1)]})
    plant = Plant(body(), PlantParams(contact=rd.Impulse(friction=np.array([0.5, 0.0]))), points)
    plant.reset([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 3.0, 0.0, -0.5])
    plant.step()
    force = plant.contacts.force_world
    assert force[0, 0] == pytest.approx(-0.5 * force[0, 2], rel=1e-9)
    assert force[1, 2] > 0.0
    assert not force[1, :2].any()


# ---- what cannot be believed or is wrong ----------------------------------------------------------------------------


def test_energy_from_nothing_stops_the_plant_at_its_last_good_state():
    """The explicit scheme beyond h < 2 / (D s W) (E8)."""
    contact = rd.SpringDamper(stiffness=5e7, damping=5e6, scheme="explicit")
    plant = falling(body(), 0.1, [0.0, 0.0, 0.0, 0.0, 0.0, -2.0], PlantParams(timestep=4e-3, contact=contact))
    with pytest.raises(
        DivergedError,
        match=r"energy appeared from nothing at t = 0\.\d+ s in step \d+: .*; its last good state is kept",
    ):
        plant.advance(0.4)
    kept = plant.time, plant.q, plant.qd, plant.energy
    why = plant.explain()
    assert (why.step, why.link, why.joint) == (round(plant.time / 4e-3) + 1, "b", "the floating base")
    assert why.depth > 0.0
    assert why.force > 100.0 * plant.model.mass * G
    again = Plant(plant.model, plant.params, plant.points)
    again.reset(why.q, why.qd, why.deflection)
    with pytest.raises(DivergedError, match="in step 1"):
        again.step()
    assert again.explain().acceleration == pytest.approx(why.acceleration, rel=1e-9)
    assert np.isfinite(plant.q).all()
    with pytest.raises(DivergedError, match="reset it first"):
        plant.step()
    assert (plant.time, plant.energy) == (kept[0], kept[3])
    np.testing.assert_array_equal(plant.q, kept[1])
    plant.reset([0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0], np.zeros(6))
    plant.step()
    assert plant.qd[5] == pytest.approx(-4e-3 * G)


@pytest.mark.parametrize(
    "contact",
    [rd.SpringDamper(), rd.SpringDamper(scheme="explicit"), rd.Impulse()],
    ids=["implicit", "explicit", "impulse"],
)
def test_a_step_that_fails_leaves_the_deflections_of_the_last_one(contact):
    plant = Plant(body(), PlantParams(contact=contact), rd.points(body(), {"b": [(0.0, 0.0, -0.1)]}))
    plant.reset([0.0, 0.0, 0.099, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.1, 0.0, 0.0], [(2e-4, 1e-4)])
    for _ in range(3):
        plant.step()
    kept = plant.contacts.deflection.copy()
    assert kept.all()
    plant.push("b", [0.0, 0.0, 0.0, 1e100, 0.0, 0.0], 1.0)
    with pytest.raises(DivergedError):
        plant.step()
    np.testing.assert_array_equal(plant.contacts.deflection, kept)


def test_measured_noise_has_the_deviation_asked_for():
    """A bias that stays, noise that does not; the effort is not noisy."""
    noise = SensorNoise(position=0.1, position_bias=1.0, velocity=0.2, velocity_bias=2.0)
    plant = turning(wheel(), 0.0, noise=noise, seed=3)
    readings = [plant.measure() for _ in range(400)]
    position = np.array([r.position[0] for r in readings])
    velocity = np.array([r.velocity[0] for r in readings])
    assert np.std(position) == pytest.approx(0.1, rel=0.15)
    assert np.std(velocity) == pytest.approx(0.2, rel=0.15)
    assert abs(position.mean()) > 0.02
    assert abs(velocity.mean()) > 0.04
    np.testing.assert_array_equal(readings[0].linear_acceleration, [0.0, 0.0, G])
    assert readings[0].effort == [0.0]


def test_faults_of_a_plant():
    robot = wheel()
    plant = Plant(robot)
    with pytest.raises(ParameterError, match="'hub' belongs to the fixed base"):
        plant.push("hub", np.ones(6), 1.0)
    with pytest.raises(UnknownNameError, match="no link 'tyre'; valid names: hub, rim"):
        plant.push("tyre", np.ones(6), 1.0)
    with pytest.raises(ParameterError, match="kp must be at least 0"):
        plant.track([0.0], [0.0], -1.0, 1.0)
    with pytest.raises(ShapeError, match="tau"):
        plant.command([1.0, 2.0])
    with pytest.raises(ParameterError, match="contact must be a SpringDamper or an Impulse, got 'mud'"):
        PlantParams(contact="mud")
    with pytest.raises(ParameterError, match="timestep must be a number, got 'fast'"):
        PlantParams(timestep="fast")
    with pytest.raises(ParameterError, match="no_load_speed must be one number or 1, got shape"):
        Plant(robot, PlantParams(no_load_speed=np.ones(2)))
    with pytest.raises(ParameterError, match="no_load_speed must be one of urdf, got 'fast'"):
        PlantParams(no_load_speed="fast")
    weightless = (
        '<robot name="w"><link name="hub"/><link name="rim"/><joint name="axle" type="continuous">'
        '<parent link="hub"/><child link="rim"/><axis xyz="0 0 1"/></joint></robot>'
    )
    with pytest.raises(SingularModelError, match="these joints carry no inertia: axle"):
        Plant(rd.load_urdf(weightless))


@pytest.mark.parametrize("contact", [rd.SpringDamper(), rd.Impulse()], ids=["spring-damper", "impulse"])
@pytest.mark.parametrize("axis", ["0 0 1", "1 0 0"], ids=["falling", "held above"])
def test_a_point_on_a_rail_rests_on_the_floor_or_ignores_it(contact, axis):
    """It cannot move sideways, or not along the normal at all: no friction or no force, and nothing infinite."""
    rail = rd.load_urdf(
        f'<robot name="r"><link name="rail"/><link name="cart"><inertial><mass value="{MASS}"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><geometry><sphere radius="0.1"/></geometry></collision></link><joint name="slide" type="prismatic">'
        f'<parent link="rail"/><child link="cart"/><axis xyz="{axis}"/>'
        '<limit lower="-5" upper="5" effort="100" velocity="0"/></joint></robot>'
    )
    plant = Plant(rail, PlantParams(contact=contact))
    start = 0.12 if axis == "0 0 1" else 0.0
    plant.reset([start], [0.0])
    plant.advance(0.5)
    assert np.isfinite(plant.contacts.force_world).all()
    if axis == "0 0 1":
        assert plant.contacts.force_world[0, 2] == pytest.approx(MASS * G, rel=1e-3)
        assert abs(plant.q[0] - 0.1) < 0.01
    else:
        assert plant.q[0] == 0.0
