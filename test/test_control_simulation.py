# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plant under commands: time that never falls, pauses, resets, points to stand on, and the pace of ticks."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control import pace
from robot_dynamics.control import simulation as simulation_module
from robot_dynamics.control.actuation import Actuation
from robot_dynamics.control.simulation import EPOCH, Simulation, chosen_points, fitting_gains, gains, home_pose
from robot_dynamics.control.support import convex_hull
from robot_dynamics.errors import ModelError, UnknownNameError
from robot_dynamics.simulation.plant import Plant, PlantParams

INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
SPHERE = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
TURRET = (
    '<robot name="turret"><link name="base">{0}{1}</link><link name="top">{0}</link>'
    '<joint name="turn" type="revolute"><parent link="base"/><child link="top"/><axis xyz="0 0 1"/>'
    '<limit lower="0.5" upper="3" effort="9" velocity="9"/></joint></robot>'
)


def turret(floating: bool, collision: str = SPHERE) -> rd.Model:
    return rd.load_urdf(TURRET.format(INERTIAL, collision), floating_base=floating)


def simulation(model: rd.Model, action: str = "hold", height: float = 0.0) -> Simulation:
    points = chosen_points(model, ())
    kp, kd = gains(model, [50.0], [5.0])
    actuation = Actuation(model.joint_names, kp, kd, timeout=0.01, action=action)
    plant = Plant(model, PlantParams(timestep=1e-3), points)
    return Simulation(plant, actuation, home_pose(model, "stance", {}, points, height), 0.002)


def test_it_holds_where_it_starts_and_time_starts_at_the_epoch():
    run = simulation(turret(floating=False))
    assert run.time == EPOCH
    assert run.joints == pytest.approx([0.5])
    for _ in range(5):
        assert run.tick()
    assert run.time == pytest.approx(EPOCH + 0.01)
    assert run.joints == pytest.approx([0.5], abs=1e-9)


def test_a_reset_forgets_the_motion_but_not_the_time():
    run = simulation(turret(floating=False))
    run.actuation.set_target(("turn",), np.array([1.5]), np.zeros(0), np.zeros(0), run.time, run.time)
    for _ in range(5):
        run.tick()
    assert run.joints[0] > 0.5
    before = run.time
    run.reset()
    assert run.time == pytest.approx(before)
    assert run.joints == pytest.approx([0.5])
    assert run.plant.time == 0.0


def test_paused_it_takes_the_steps_it_is_asked_for():
    run = simulation(turret(floating=False))
    run.paused, run.steps = True, 2
    assert [run.tick() for _ in range(3)] == [True, True, False]
    assert run.time == pytest.approx(EPOCH + 0.004)


def test_silence_may_pause_it():
    run = simulation(turret(floating=False), "pause")
    run.actuation.set_effort(np.zeros(1), run.time)
    while run.tick():
        assert run.time < EPOCH + 0.02
    assert run.paused
    assert run.problem == "paused: no command"


def test_divergence_pauses_it_with_the_reason():
    run = simulation(turret(floating=True), height=1.0)
    run.plant.push("base", [0.0, 0.0, 0.0, 1e300, 0.0, 0.0], 1.0)
    assert not run.tick()
    assert run.paused
    assert "the plant stopped" in run.problem
    run.reset()
    assert run.problem == ""


def test_the_base_is_placed_at_rest_with_the_joints_where_they_are():
    run = simulation(turret(floating=True), height=1.0)
    run.tick()
    before = run.time
    run.place_base(np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 2.0]))
    assert run.plant.q[:7] == pytest.approx([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    assert not run.plant.qd.any()
    assert run.time == pytest.approx(before)
    with pytest.raises(ModelError, match="'turret' has a fixed base and cannot be placed"):
        simulation(turret(floating=False)).place_base(np.zeros(7))


def test_points_are_those_of_the_links_asked_for():
    """A link without geometry touches with its origin."""
    model = turret(floating=True)
    both = chosen_points(model, ("base", "top"))
    assert both.link == ("base", "top")
    np.testing.assert_array_equal(both.radius, [0.1, 0.0])
    assert chosen_points(model, ("top",)).link == ("top",)
    with pytest.raises(UnknownNameError, match="no link 'feet'; valid names: base, top"):
        chosen_points(model, ("feet",))
    with pytest.raises(ModelError, match=r"'turret' has no collision geometry to stand on.*valid names: base, top"):
        chosen_points(turret(floating=True, collision=""), ())


@pytest.mark.parametrize("pose", ["crouch", "stance", "neutral"])
def test_home_is_at_the_height_asked_for_and_takes_joint_positions(pose):
    model = turret(floating=True)
    points = chosen_points(model, ())
    q = home_pose(model, pose, {"turn": 1.25}, points, 0.3)
    assert q[model.q_index] == pytest.approx([1.25])
    assert rd.point_position(model, points, q)[:, 2].min() - 0.1 == pytest.approx(0.3)
    with pytest.raises(UnknownNameError, match="no joint 'twist'; valid names: turn"):
        home_pose(model, pose, {"twist": 0.0}, points, 0.3)


def test_gains_left_out_fit_the_weight():
    """2.8 m g L for robots without legs, L = 0.5 m; the ratio of both is kept for a stiffness of one's own."""
    model = turret(floating=True)
    kp, kd = gains(model, [0.0], [0.0])
    assert kp == pytest.approx([2.8 * 4.0 * 9.81 * 0.5])
    doubled, damping = gains(model, list(2.0 * kp), [0.0])
    assert doubled == pytest.approx(2.0 * kp)
    assert damping == pytest.approx(2.0 * kd)
    assert gains(model, [3.0], [4.0]) == (pytest.approx([3.0]), pytest.approx([4.0]))


def test_gains_set_at_run_time_search_no_stance(monkeypatch):
    """The search takes a third of a second, in which the plant would miss its ticks."""
    model = turret(floating=True)
    fitting = fitting_gains(model)
    expected = gains(model, [0.0], [0.0])
    monkeypatch.setattr(simulation_module, "find_legs", lambda _: pytest.fail("a search"))
    np.testing.assert_array_equal(gains(model, [0.0], [0.0], fitting), expected)


class Clock:
    """Wall time that passes only by sleeping, and by `late` [s] more at each sleep."""

    def __init__(self) -> None:
        self.now, self.late = 100.0, 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, duration: float) -> None:
        self.now += duration + self.late


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(pace, "time", found)
    return found


def test_deadlines_are_absolute(clock):
    """A sleep that is late now makes the next one shorter: no drift at half the speed of the world."""
    ticks = pace.Pace(0.01, factor=0.5)
    for _ in range(50):
        clock.late = 0.0005
        ticks.wait()
    assert clock.now == pytest.approx(100.0 + 50 * 0.02 + 0.0005)
    figures = ticks.figures()
    assert (figures["ticks"], figures["late ticks"]) == (50, 0)
    assert figures["rate [Hz]"] == pytest.approx(50.0)
    assert figures["real-time factor"] == pytest.approx(0.5)


def test_late_ticks_are_counted_and_a_lost_while_is_not_caught_up(clock):
    ticks = pace.Pace(0.01)
    ticks.wait()
    clock.late = 0.002
    ticks.wait()
    ticks.wait()
    assert ticks.late == 1  # the third comes late as well, but a period after the second
    clock.now += 5.0
    clock.late = 0.0
    ticks.wait()
    behind = clock.now
    ticks.wait()
    assert clock.now == pytest.approx(behind + 0.01)


def test_a_short_while_is_caught_up_at_twice_the_rate(clock):
    """As fast as the processor can, the plant would run away from its controller."""
    ticks = pace.Pace(0.01)
    ticks.wait()
    begin = clock.now
    clock.now += 0.08
    came = [ticks.wait() or clock.now for _ in range(20)]
    assert np.diff(came).min() == pytest.approx(0.005)
    assert came[-5:] == pytest.approx(begin + 0.01 * np.arange(16, 21))


def test_what_passes_before_the_first_tick_and_in_a_pause_is_not_caught_up(clock):
    """Ticks in a burst would overflow the receivers' sockets: what comes then is lost, /clock too."""
    ticks = pace.Pace(0.01)
    for prepare in (lambda: None, ticks.restart):
        prepare()
        clock.now += 0.09
        for _ in range(3):
            before = clock.now
            ticks.wait()
            assert clock.now == pytest.approx(before + 0.01)


@pytest.mark.parametrize("needed", [0.0101, 0.02, 0.5])
def test_ticks_that_cannot_keep_up_leave_some_time_to_others(clock, needed):
    ticks, slept = pace.Pace(0.01), 0.0
    for _ in range(1000):
        clock.now += needed
        before = clock.now
        ticks.wait()
        slept += clock.now - before
    assert 0.009 < slept / (clock.now - 100.0) < 0.06


def test_time_that_goes_slower_than_asked_is_named_until_it_keeps_up(clock):
    ticks = pace.Pace(0.01)
    for needed, expected in ((0.001, 0.0), (0.02, 0.475), (0.001, 0.0)):
        for _ in range(1000):
            clock.now += needed
            ticks.wait()
        assert ticks.slow() == pytest.approx(expected, rel=0.06)
    ticks.ask(2.0)
    for _ in range(1000):
        ticks.wait()
    assert ticks.slow() == 0.0
    assert ticks.figures()["real-time factor"] == pytest.approx(2.0)


def test_as_fast_as_possible_never_sleeps(clock):
    ticks = pace.Pace(0.01, factor=0.0)
    for _ in range(3):
        ticks.wait()
    assert clock.now == 100.0
    assert ticks.figures()["rate [Hz]"] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_a_hull_holds_all_points_and_turns_left_at_every_corner(seed):
    points = np.random.default_rng(seed).standard_normal((30, 2))
    hull = convex_hull(np.vstack([points, points[:5]]))
    edges = np.roll(hull, -1, axis=0) - hull
    turns = edges[:, 0] * np.roll(edges, -1, axis=0)[:, 1] - edges[:, 1] * np.roll(edges, -1, axis=0)[:, 0]
    assert (turns > 0.0).all()
    to = points[:, None] - hull
    assert (edges[:, 0] * to[..., 1] - edges[:, 1] * to[..., 0] >= -1e-12).all()


def test_a_hull_of_less_than_a_triangle_is_its_points():
    assert convex_hull(np.zeros((0, 2))).shape == (0, 2)
    assert convex_hull(np.array([[1.0, 2.0], [0.0, 5.0]])).tolist() == [[0.0, 5.0], [1.0, 2.0]]
