# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The crawl over stairs and rough ground: it arrives, its centre of mass stays over the triangle, its feet stay put."""

import numpy as np
import pytest
import quadrupeds

import robot_dynamics as rd
from robot_dynamics.contact.terrain import GroundHeight, clearances
from robot_dynamics.control.crawl import CrawlParameters, Move, stepping_order
from robot_dynamics.control.gait import TrotParameters
from robot_dynamics.control.quadruped import QuadrupedController
from robot_dynamics.control.simulation import above_ground, chosen_points, fitting_gains, home_pose
from robot_dynamics.control.support import convex_hull, nearest_in_triangle, shrunk_triangle

PERIOD = 4e-3
LAWS = {"spring_damper": rd.SpringDamper(), "impulse": rd.Impulse()}
SETTLING = 0.1
"""So long [s] after it has been lifted a foot may still be on the ground, and those that stand take its load."""


def inside(corners: np.ndarray, place: np.ndarray) -> float:
    """Distance of a place inside a convex polygon from its nearest edge, corners counter-clockwise."""
    along, to = np.roll(corners, -1, axis=0) - corners, place - corners
    return float(((along[:, 0] * to[:, 1] - along[:, 1] * to[:, 0]) / np.linalg.norm(along, axis=1)).min())


@pytest.mark.parametrize("seed", range(5))
def test_the_shrunk_triangle_is_the_margin_inside_all_round(seed):
    triangle = convex_hull(np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 2)))
    shrunk = shrunk_triangle(triangle, 0.02)
    assert [inside(triangle, corner) for corner in shrunk] == pytest.approx([0.02] * 3)
    middle = shrunk_triangle(triangle, 9.0)
    assert np.ptp(middle, axis=0) == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_no_place_of_the_triangle_is_nearer(seed):
    rng = np.random.default_rng(seed)
    triangle, place = rng.uniform(-1.0, 1.0, (3, 2)), rng.uniform(-2.0, 2.0, 2)
    found = nearest_in_triangle(triangle, place)
    others = rng.dirichlet(np.ones(3), 2000) @ triangle
    assert np.linalg.norm(found - place) <= np.linalg.norm(others - place, axis=1).min() + 1e-12
    assert inside(convex_hull(triangle), found) > -1e-9
    assert nearest_in_triangle(triangle, others[0]) == pytest.approx(others[0])


def test_the_height_of_the_ground_below_is_that_of_its_highest_surface():
    terrain = (rd.Plane(), *rd.stairs((1.0, 0.0, 0.0), steps=3, rise=0.12, run=0.3, width=1.0))
    places = np.array([[0.0, 0.0, 2.0], [1.01, 0.0, 2.0], [1.29, 0.4, 2.0], [1.31, 0.0, 2.0], [1.7, 0.0, 2.0]])
    assert GroundHeight(terrain).below(places) == pytest.approx([0.0, 0.12, 0.12, 0.24, 0.36], abs=2e-4)
    slope = GroundHeight((rd.Plane(0.1, (-0.5, 0.0, 1.0)),))
    assert slope.below([[1.0, 2.0, 3.0]]) == pytest.approx([0.6], abs=3e-4)
    assert GroundHeight(rd.rough_ground((0, 0, 0), (1, 1), 0.1, 0.1)).below([[5.0, 0.0, 1.0]])[0] < 1.0


def test_nothing_below_is_infinitely_deep():
    assert GroundHeight(()).below([[0.0, 0.0, 1.0]])[0] == -np.inf


@pytest.mark.parametrize("up", [None, np.array([0.2, 0.1, np.sqrt(0.95)])], ids=["base", "swing"])
def test_velocities_of_a_move_are_the_rate_of_its_places_and_it_ends_where_it_should(up):
    start, end = np.zeros((4, 3)), np.zeros((4, 3))
    end[2] = 0.2, 0.05, 0.1
    move, h = Move(1.0, 0.6, start, end, -1 if up is None else 2, 0.2, up), 1e-6
    for t in np.linspace(1.01, 1.59, 20):
        rate = (move.at(t + h)[0] - move.at(t - h)[0]) / (2 * h)
        np.testing.assert_allclose(move.at(t)[1], rate, atol=1e-6)
    np.testing.assert_allclose(move.at(1.6)[0], end, atol=1e-12)
    np.testing.assert_allclose(move.at(1.0)[0], start)
    if up is not None:
        assert move.at(1.3)[0][2] @ up == pytest.approx(0.2)


def test_a_hind_foot_steps_before_the_front_one_of_its_side():
    feet = np.array([[1, -1, 0], [1, 1, 0], [-1, -1, 0], [-1, 1, 0]], dtype=float)
    assert stepping_order(feet) == [3, 1, 2, 0]


def up_and_down(rise: float, run: float, steps: int, landing: float) -> tuple[tuple, float]:
    """Stairs up and down behind 0.5 m of level ground, and a place beyond them."""
    edge = 0.5 + 2 * (steps - 1) * run + landing
    up = rd.stairs((0.5, 0, 0), steps=steps, rise=rise, run=run, width=2.0, landing=landing)
    down = rd.stairs((edge, 0, 0), steps=steps, rise=rise, run=run, width=2.0, heading=np.pi, landing=0.1)
    return (rd.Plane(), *up, *down), edge + 0.35


class Walk:
    """A crawl to `goal` [m], and what is to be said of it; `problem` where it stopped."""

    def __init__(self, terrain, law: str, goal: float, seconds: float):
        model = quadrupeds.model("mini_cheetah")
        self.legs = quadrupeds.stance("mini_cheetah")[0]
        points, (kp, kd) = chosen_points(model, ()), fitting_gains(model)
        self.control = QuadrupedController(self.legs, TrotParameters(stand_time=0.5), 0.1, terrain=terrain)
        self.control.crawling = True
        self.plant = rd.Plant(model, rd.PlantParams(contact=LAWS[law], terrain=terrain), points)
        home = above_ground(model, home_pose(model, "stance", {}, points, 0.0), points, terrain, 0.0)
        self.plant.reset(home, np.zeros(model.nv))
        self.margin, self.slip, self.shin, self.highest, self.lean = np.inf, 0.0, np.inf, 0.0, 0.0
        self.terrain, self.lifted, self.put, self.now = terrain, -np.inf, np.zeros((4, 3)), 0.0
        while self.now < seconds and self.place[0] < goal and not (self.problem or self.control.posture.fallen):
            self.step(kp, kd)

    @property
    def place(self) -> np.ndarray:
        """Of the base (3,)."""
        return self.plant.q[:3]

    @property
    def problem(self) -> str:
        """What the crawl says."""
        return self.control.crawl.problem

    def step(self, kp: float, kd: float) -> None:
        q, model = self.plant.q, self.legs.model
        self.control.see_base(q[:7].tolist(), self.now)
        command = self.control.answer(q[model.q_index], self.now)
        if command is None:
            return
        self.plant.track(command.position, command.velocity, kp, kd, command.effort)
        self.plant.advance(PERIOD)
        self.now += PERIOD
        self.look(command.stance)

    def look(self, stance: np.ndarray) -> None:
        q, model = self.plant.q, self.legs.model
        feet = rd.point_position(model, self.legs.feet, q)
        self.highest, self.lean = max(self.highest, q[2]), max(self.lean, float(np.hypot(q[3], q[4])))
        if stance.all():
            self.lifted = -np.inf
            return
        if self.lifted < 0.0:
            self.lifted, self.put = self.now, feet
        self.margin = min(self.margin, inside(convex_hull(feet[stance][:, :2]), rd.center_of_mass(model, q)[:2]))
        if self.now - self.lifted > SETTLING:
            knees = rd.body_pose(model, q)[1][self.legs.feet.body]
            shins = np.concatenate([feet + share * (knees - feet) for share in (0.3, 0.6, 1.0)])
            self.shin = min(self.shin, float(clearances(self.terrain, shins).min()))
            self.slip = max(self.slip, float(np.linalg.norm((feet - self.put)[stance], axis=1).max()))


def holds(walk: Walk, goal: float) -> None:
    """What is true of every walk that arrives."""
    assert walk.place[0] >= goal, (walk.place, walk.now, walk.problem)
    assert abs(walk.place[1]) < 0.06
    assert walk.margin > 0.01
    assert walk.slip < 0.04
    assert walk.shin > -0.01


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_it_crawls_over_steps_of_12_cm(law):
    terrain, goal = up_and_down(0.12, 0.3, 2, 0.5)
    walk = Walk(terrain, law, goal, 60.0)
    holds(walk, goal)
    assert walk.highest > 0.45


@pytest.mark.thorough
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("rise", "run"), [(0.08, 0.27), (0.12, 0.27), (0.12, 0.35)])
def test_it_crawls_up_and_down_four_steps(law, rise, run):
    terrain, goal = up_and_down(rise, run, 4, 0.6)
    holds(Walk(terrain, law, goal, 120.0), goal)


@pytest.mark.thorough
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", range(3))
def test_it_crawls_over_rough_ground(law, seed):
    terrain = (rd.Plane(), *rd.rough_ground((0.3, -1.0, 0.0), (2.0, 2.0), 0.1, 0.06, seed=seed))
    holds(Walk(terrain, law, 2.3, 90.0), 2.3)


@pytest.mark.slow
def test_before_a_wall_it_stops_on_all_feet_and_says_so():
    terrain = (rd.Plane(), rd.Box((1.0, 4.0, 2.0), (0.85, 0.0, 0.0)))
    walk = Walk(terrain, "impulse", 1.0, 30.0)
    assert walk.problem.startswith("no foothold for '")
    assert not walk.control.posture.fallen
    assert walk.control.phase == "standing"


def test_asked_to_stand_it_puts_its_foot_down_and_stays():
    control = QuadrupedController(quadrupeds.stance("mini_cheetah")[0], TrotParameters(stand_time=0.1), 0.1)
    pose, joints, phases = [0.0, 0.0, control.gait.stance.height, 0.0, 0.0, 0.0, 1.0], control.gait.stance.joints, []
    for k in range(400):
        now, control.crawling = 0.01 * k, 0.2 < 0.01 * k < 1.0
        control.see_base(pose, now)
        command = control.answer(joints, now)
        joints = command.position
        phases.append(control.phase)
    assert list(dict.fromkeys(phases)) == ["rising", "standing", "crawling"]
    assert phases[-1] == "standing"
    assert command.stance.all()
    assert command.velocity == pytest.approx(np.zeros(12), abs=1e-9)


def test_without_its_place_it_does_not_crawl():
    control = QuadrupedController(quadrupeds.stance("mini_cheetah")[0], TrotParameters(stand_time=0.1), 0.1)
    control.crawling = True
    for k in range(100):
        control.answer(control.gait.stance.joints, 0.01 * k)
    assert control.phase == "standing"


def test_the_efforts_carry_the_robot_unless_the_feed_forward_does():
    legs = quadrupeds.stance("mini_cheetah")[0]
    for weight in (True, False):
        control = QuadrupedController(legs, TrotParameters(), 0.1, CrawlParameters(weight=weight))
        crawl, joints = control.crawl, control.gait.stance.joints
        pose = [0.0, 0.0, control.gait.stance.height, 0.0, 0.0, 0.0, 1.0]
        crawl.begin(0.0, pose, joints)
        effort = crawl.command(0.0, pose, joints, False).effort
        assert effort.any() == weight
