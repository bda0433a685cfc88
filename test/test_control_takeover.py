# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A robot that is put elsewhere or let go under a commander at work: it holds, and is taken over within bounds."""

import copy
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import quadrupeds
from depth import every

from robot_dynamics.contact.impulse import Impulse
from robot_dynamics.contact.spring_damper import SpringDamper
from robot_dynamics.contact.terrain import Plane
from robot_dynamics.control.actuation import Actuation, Drive
from robot_dynamics.control.gait import TrotParameters
from robot_dynamics.control.posture import Posture
from robot_dynamics.control.quadruped import QuadrupedController
from robot_dynamics.control.simulation import Simulation, chosen_points, fitting_gains, gains, home_pose
from robot_dynamics.control.takeover import SPEED, TIME, Takeover
from robot_dynamics.simulation.plant import Plant, PlantParams

PERIOD = 0.002
JOINTS = ("a", "b")
Q = np.array([0.3, -0.4])
NONE = np.zeros(0)
LAWS = {"spring_damper": SpringDamper(), "impulse": Impulse()}
LEVEL_GROUND = Plane()
LEVEL = [0.0, 0.0, 0.0, 1.0]
ON_ITS_SIDE = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]


def actuation() -> Actuation:
    made = Actuation(JOINTS, 100.0, 2.0, timeout=0.1, action="hold")
    made.jump(Q, 5.0)
    return made


def effort(drive: Drive, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return drive.kp * (drive.position - q) + drive.kd * (drive.velocity - qd) + drive.effort


def test_commands_from_before_a_jump_are_left_out_and_counted():
    a = actuation()
    for stamp in (4.9, 5.0):
        assert a.set_target(JOINTS, Q + 1.0, NONE, NONE, stamp, 5.01)
        a.drive(5.01, Q)
        assert (a.state, a.epoch) == ("holding", 5.0)
    assert a.outdated == 2
    assert not a.targets.counts
    assert a.set_target(JOINTS, Q + 1.0, NONE, NONE, 5.002, 5.01)
    a.drive(5.01, Q)
    assert a.state == "following"


@pytest.mark.parametrize("stamped", [True, False])
def test_targets_take_over_with_bounded_speed_and_then_count_in_full(stamped: bool):
    a, wanted = actuation(), Q + np.array([0.2, -1.6])
    position = []
    for now in np.arange(5.002, 8.0, PERIOD):
        a.set_target(JOINTS, wanted, NONE, np.array([3.0, 3.0]), now if stamped else 0.0, now)
        drive = a.drive(now, Q)
        position.append(drive.position)
        assert drive.kp == pytest.approx([100.0, 100.0])
    assert position[0] == pytest.approx(Q)
    assert np.abs(np.diff(position, axis=0)).max() == pytest.approx(SPEED * PERIOD, rel=0.01)
    assert position[-1] == pytest.approx(wanted)
    assert drive.effort.tolist() == [3.0, 3.0]
    assert a.takeover is None


def test_efforts_take_over_from_the_hold_as_a_blend_of_both():
    a, q, qd, tau = actuation(), Q + 0.1, np.ones(2), np.array([5.0, -5.0])
    hold = -100.0 * (q - Q) - 2.0 * qd
    shares = []
    for now in np.arange(5.0, 5.0 + TIME + 2 * PERIOD, PERIOD):
        a.set_effort(tau, now)
        felt = effort(a.drive(now, q), q, qd)
        share = (felt - hold) / (tau - hold)
        assert share == pytest.approx(share[0])
        shares.append(share[0])
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert (np.diff(shares) >= 0.0).all()


def test_a_commander_that_falls_silent_meanwhile_takes_over_from_the_start_again():
    a = actuation()
    for now in np.arange(5.002, 5.6, PERIOD):
        a.set_target(JOINTS, Q + 0.1, NONE, NONE, now, now)
        a.drive(now, Q)
    held = Q + 0.05
    a.drive(5.8, held)
    assert a.state == "timed out"
    a.set_target(JOINTS, Q + 0.1, NONE, NONE, 5.9, 5.9)
    assert a.drive(5.9, Q).position == pytest.approx(held)


def test_without_a_jump_commands_count_at_once():
    a = actuation()
    a.reset(Q)
    a.set_target(JOINTS, Q + 1.0, NONE, NONE, 1.0, 1.0)
    assert a.drive(1.0, Q).position == pytest.approx(Q + 1.0)


def test_time_that_stands_or_falls_takes_nothing_over():
    takeover = Takeover()
    assert [takeover.share(now, 0.0) for now in (1.0, 1.0, 0.0)] == [0.0, 0.0, 0.0]


def test_a_robot_has_fallen_beyond_sixty_degrees_until_it_is_within_forty_five():
    posture = Posture()

    def fallen(degrees: float) -> bool:
        half = np.radians(0.5 * degrees)
        return posture.see([0.0, np.sin(half), 0.0, np.cos(half)])

    assert [fallen(angle) for angle in (0.0, 59.0, 61.0, 180.0, 50.0, 44.0, 59.0)] == [0, 0, 1, 1, 1, 0, 0]


@cache
def mini_cheetah() -> tuple:
    model = quadrupeds.model("mini_cheetah")
    points = chosen_points(model, ())
    return model, points, gains(model, [0.0], [0.0], fitting_gains(model)), home_pose(model, "crouch", {}, points, 0.0)


@cache
def new_controller() -> QuadrupedController:
    return QuadrupedController(quadrupeds.stance("mini_cheetah")[0], TrotParameters(stand_time=0.8), 0.1)


def controller() -> QuadrupedController:
    """One of its own; to find the stance anew for each would take seconds, un-jitted."""
    return copy.deepcopy(new_controller())


def simulation(law: str, terrain: Plane = LEVEL_GROUND) -> Simulation:
    model, points, (kp, kd), home = mini_cheetah()
    plant = Plant(model, PlantParams(timestep=1e-3, contact=LAWS[law], terrain=(terrain,)), points)
    actuation = Actuation(model.joint_names, kp, kd, timeout=0.1, action="hold", limit=model.effort_limit)
    return Simulation(plant, actuation, home, PERIOD)


class Moment(NamedTuple):
    """What happens to the robot, when [s], and who commands it."""

    law: str
    commander: str
    event: str
    trot: bool
    begin: float
    seed: int


class Loop:
    """A plant and its commander, who sees a state a tick after it was."""

    def __init__(self, moment: Moment):
        self.moment, self.run, self.control = moment, simulation(moment.law), controller()
        self.control.gait.trot = moment.trot
        self.names = self.run.plant.model.joint_names
        self.seen = self.run.time, self.run.plant.q, self.run.plant.qd
        self.last = self.control.answer(self.run.joints, self.run.time)
        self.foreign = False

    def go(self, duration: float) -> list[float]:
        """Go on; returns the height of the base in every tick [m]."""
        heights = []
        for _ in range(round(duration / PERIOD)):
            self.command(*self.seen)
            self.seen = self.run.time, self.run.plant.q, self.run.plant.qd
            assert self.run.tick(), self.run.problem
            heights.append(self.run.plant.q[2])
        return heights

    def command(self, stamp: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Answer a state as our controller does, or as one that knows its last target alone."""
        run, who = self.run, self.moment.commander
        target = run.actuation.set_target
        if not self.foreign:
            self.control.see_base(q[:7], stamp)
            self.last = self.control.answer(q[7:], stamp)
        c = self.last
        if c is None:
            target(self.names, NONE, np.zeros(len(self.names)), NONE, stamp, run.time)
        elif self.foreign and who == "repeats efforts":
            run.actuation.set_effort(40.0 * (c.position - q[7:]) - 0.5 * qd[6:] + c.effort, run.time)
        else:
            unstamped = self.foreign and who == "repeats without stamps"
            at = 0.0 if unstamped else run.time if self.foreign else stamp
            target(self.names, c.position, c.velocity, c.effort, at, run.time)

    def happen(self) -> None:
        """Reset the robot, put it somewhere near the ground, or stop it for a while and let go."""
        rng, q = np.random.default_rng(self.moment.seed), self.run.plant.q
        self.foreign = self.moment.commander != "ours"
        if self.moment.event == "reset":
            self.run.reset()
        elif self.moment.event == "estop":
            self.run.stop(True)
            self.go(rng.uniform(0.05, 1.5))
            self.run.stop(False)
        else:
            yaw, lean = 0.5 * rng.uniform(-3.0, 3.0), 0.5 * rng.uniform(-0.3, 0.3)
            turned = np.sin(lean) * np.cos(yaw), np.sin(lean) * np.sin(yaw), np.cos(lean) * np.sin(yaw)
            q[:2] += rng.uniform(-1.0, 1.0, 2)
            self.run.place_base(np.array([*q[:2], q[2] * rng.uniform(0.4, 1.1), *turned, np.cos(lean) * np.cos(yaw)]))


def moments(count: int) -> list[Moment]:
    rng = np.random.default_rng(22)
    commanders = ("ours", "repeats its target", "repeats without stamps", "repeats efforts")
    cases = [(law, who, event) for event in ("reset", "set_pose", "estop") for who in commanders for law in LAWS]
    return [
        Moment(*cases[i % len(cases)], bool(rng.integers(2)), rng.uniform(0.1, 3.5), 1000 + i) for i in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", every(4, moments(100)), ids=lambda m: f"{m.law}, {m.commander}, {m.event}, {m.begin:.2f} s"
)
def test_whenever_the_robot_is_put_elsewhere_it_is_not_thrown(moment: Moment):
    loop, height = Loop(moment), quadrupeds.stance("mini_cheetah")[1].height
    loop.go(moment.begin)
    loop.happen()
    assert max(loop.go(3.0)) < 1.3 * height
    speed = np.abs(loop.run.plant.qd[3:6]).max()
    assert speed < 1.0
    if moment.commander == "ours" and not loop.control.posture.fallen:
        assert loop.run.plant.q[2] == pytest.approx(height, rel=0.05)
        assert loop.control.phase == ("trotting" if moment.trot else "standing")


@pytest.mark.slow
@pytest.mark.parametrize("seed", every(10, range(100)))
@pytest.mark.parametrize("law", LAWS)
def test_a_trot_whose_line_is_cut_sinks_down_and_goes_on_after_it(law: str, seed: int):
    """With joints damped at once. Held as they were, feet stay in the air, and one of thirty robots tips over."""
    loop, rng = Loop(Moment(law, "ours", "none", True, 0.0, seed)), np.random.default_rng(seed)
    loop.run.actuation.action = "damp"
    loop.go(rng.uniform(1.0, 3.0))
    for _ in range(round(rng.uniform(0.3, 5.0) / PERIOD)):
        assert loop.run.tick()
    loop.seen = loop.run.time, loop.run.plant.q, loop.run.plant.qd
    starts = loop.control.starts
    loop.go(3.0)
    assert (loop.control.phase, loop.control.starts) == ("trotting", starts + 1)
    assert loop.run.plant.q[2] == pytest.approx(quadrupeds.stance("mini_cheetah")[1].height, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_a_trot_in_place_stays_in_place(law: str):
    """Feet that slip the same way in every step took it 4 mm/s away."""
    loop = Loop(Moment(law, "ours", "none", True, 0.0, 0))
    loop.go(1.5)
    begun = loop.run.plant.q
    loop.go(10.0)
    assert np.hypot(*(loop.run.plant.q - begun)[:2]) < 0.015
    assert abs(loop.run.plant.q[5] - begun[5]) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_robot_put_into_the_ground_comes_to_lie_on_it(law: str, slope: float):
    normal = (-np.sin(slope), 0.0, np.cos(slope))
    run = simulation(law, Plane(0.0, normal))
    run.place_base(np.array([0.0, 0.0, -0.2, *LEVEL]))
    assert run.plant.contacts.depth.max() == pytest.approx(0.0, abs=1e-4)
    placed = run.plant.q[2]
    for _ in range(250):
        run.tick()
        assert run.plant.q[2] < placed + 0.02


def lying() -> np.ndarray:
    q = mini_cheetah()[3].copy()
    q[2], q[3:7] = 0.2, ON_ITS_SIDE
    return q


def answers(control: QuadrupedController, see: Callable[[float], tuple], times: np.ndarray) -> list:
    """What it answers to the states (pose, joints) of some times."""
    out = []
    for now in times:
        pose, joints = see(now)
        control.see_base(pose, now)
        out.append(control.answer(joints, now))
    return out


def test_the_controller_stays_soft_on_its_side_and_rises_anew_when_it_is_upright():
    home, control = mini_cheetah()[3], controller()
    control.gait.trot = True
    answers(control, lambda _: (home[:7], control._target), np.arange(1.0, 3.0, PERIOD))
    assert control.phase == "trotting"
    assert answers(control, lambda _: (lying()[:7], home[7:]), np.arange(3.0, 3.099, PERIOD)) == [None] * 50
    assert control.phase == "fallen"
    first = answers(control, lambda _: (home[:7], home[7:]), np.array([3.102]))[0]
    assert first.position == pytest.approx(home[7:])
    assert control.phase == "rising"


@pytest.mark.parametrize(
    ("change", "starts"),
    [
        ({}, 1),
        ({"joints": 0.3}, 2),
        ({"base": 0.2}, 2),
        ({"silence": 0.2}, 2),
        ({"silence": -1.0}, 2),
    ],
    ids=["nothing", "joints", "base", "silence", "time back"],
)
def test_the_controller_begins_anew_where_it_finds_the_robot_after_a_jump(change: dict, starts: int):
    home, control = mini_cheetah()[3], controller()
    answers(control, lambda _: (home[:7], control._target), np.arange(1.0, 3.0, PERIOD))
    found = control.gait.stance.joints + change.get("joints", 0.0)
    pose = home[:7] + np.array([change.get("base", 0.0), 0, 0, 0, 0, 0, 0])
    command = answers(control, lambda _: (pose, found), np.array([3.0 + change.get("silence", 0.0)]))[0]
    assert control.starts == starts
    assert command.position == pytest.approx(found)


def test_the_controller_begins_anew_where_something_else_holds_the_joints():
    home, control = mini_cheetah()[3], controller()
    commands = answers(control, lambda _: (home[:7], home[7:]), np.arange(1.0, 2.5, PERIOD))
    assert control.starts > 1
    assert max(np.abs(c.position - home[7:]).max() for c in commands) < 0.85


def test_the_velocity_of_a_target_fades_when_no_other_follows():
    a = actuation()
    a.reset(Q)
    a.set_target(JOINTS, Q, np.array([2.0, -4.0]), NONE, 1.0, 1.0)
    for age, share in ((0.0, 1.0), (0.025, 1.0), (0.0375, 0.5), (0.05, 0.0), (0.09, 0.0)):
        drive = a.drive(1.0 + age, Q)
        assert drive.velocity == pytest.approx([2.0 * share, -4.0 * share])
        assert drive.kd.tolist() == [2.0, 2.0]
    assert a.state == "following"


@pytest.mark.parametrize("instant", every(4, np.arange(0.0, 0.4, 0.0125).round(4).tolist()))
def test_a_trotting_robot_whose_commander_is_cut_off_does_not_fall(instant):
    loop = Loop(Moment("spring_damper", "ours", "cut", trot=True, begin=0.0, seed=0))
    loop.go(2.0 + instant)
    for _ in range(500):
        assert loop.run.tick(), loop.run.problem
    assert loop.run.actuation.state == "timed out"
    x, y = loop.run.plant.q[3:5]
    assert np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y))) < 30.0
