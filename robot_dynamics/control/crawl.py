# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Walk over ground that is known, one foot at a time: the centre of mass stays above the triangle of the other three.

A statically stable gait [McGhee and Frank 1968] with footholds chosen from the heights of the ground, as
[Kolter, Rodgers and Ng 2008]: the base moves over the next triangle, then a foot goes up, over and down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..contact.terrain import GroundHeight, Plane, Surface
from ..dynamics.algorithms import center_of_mass
from ..dynamics.kinematics import body_pose
from ..spatial import quaternion_from_rotation, rotation_from_quaternion, rotation_from_rpy
from .feedforward import Feedforward
from .gait import Command, smooth
from .home import planar
from .limbs import (
    Legs,
    Stance,
    configuration,
    foot_positions,
    hip_positions,
    joint_rates_for_feet,
    joints_for_feet,
)
from .support import nearest_in_triangle, shrunk_triangle

Array = NDArray[np.float64]

UP, OVER, DOWN = (0.0, 0.4), (0.2, 0.8), (0.6, 1.0)
"""When a swinging foot rises, travels and comes down, in shares of its time."""
STRETCH = 0.93
"""Share of the reach beyond which no leg is asked to go."""
MISS = 0.01
"""A foot that cannot come nearer than this to its place [m] has no foothold."""
CELL = 0.02
"""Spacing of the places that are looked at for a foothold [m]."""
AHEAD, ASIDE = 5, 2
"""So many cells from the wanted place they lie, along the heading and across."""
EDGE = 2
"""So many cells around a foothold the ground is to be level."""
UNEVEN = 4.0
"""Way that a foothold may be off for each metre of unevenness around it, and of ground in which the shin would be."""
SHIN_ROOM = 0.03
"""Between the shin and the ground [m]."""
ASTRAY = 0.02
"""A foot this far above or below the ground that is known [m] is believed, not the ground."""
UPWARD = np.array([0.0, 0.0, 1.0])
PAUSE = 0.1
"""Time between two looks whether to go on [s]."""


@dataclass(frozen=True, slots=True)
class CrawlParameters:
    """`stride` per cycle of four steps and `lift` above the ground on the way, over the legs' reach; times [s].

    `margin` [m]: what lies between the centre of mass and the nearest edge of the triangle, as far as there is room.
    """

    stride: float = 0.5
    lift: float = 0.12
    swing_time: float = 0.6
    shift_time: float = 0.5
    margin: float = 0.04
    weight: bool = True


class Pose(NamedTuple):
    """Attitude (3, 3) and place (3,) of the base in the world."""

    R: Array
    p: Array


class Step(NamedTuple):
    """Number of a foot, the place (3,) in the world where it goes, and the height [m] that it passes."""

    foot: int
    foothold: Array
    apex: float


@dataclass(frozen=True, slots=True)
class Move:
    """Feet (4, 3) in base axes go from `start` to `end`, beginning at `begun` [s], within `lasts` [s].

    All stand and the base moves, or `foot` swings: it rises by `rise` along `up` (3,), travels and comes down (H17).
    """

    begun: float
    lasts: float
    start: Array
    end: Array
    foot: int = -1
    rise: float = 0.0
    up: Array | None = None

    def at(self, now: float) -> tuple[Array, Array]:
        """Places and velocities (4, 3) at the time `now` [s]."""
        s, way = (now - self.begun) / self.lasts, self.end - self.start
        if self.up is None:
            share, rate = smooth(s)
            return self.start + share * way, rate / self.lasts * way
        (risen, rising), (gone, going), (sunk, sinking) = (
            (share, rate / ((e - b) * self.lasts))
            for b, e in (UP, OVER, DOWN)
            for share, rate in [smooth((s - b) / (e - b))]
        )
        climb = float(way[self.foot] @ self.up)
        level = way.copy()
        level[self.foot] -= climb * self.up
        place, velocity = self.start + gone * level, going * level
        place[self.foot] += (risen * self.rise + sunk * (climb - self.rise)) * self.up
        velocity[self.foot] += (rising * self.rise + sinking * (climb - self.rise)) * self.up
        return place, velocity


class Crawl:
    """Crawls straight ahead on four legs from where it begins, over the `terrain`; the caller gives time and state.

    `active` from `begin` on, until the caller ends it; `walking` while a step is under way; `problem` says why none is
    possible ahead. World axes are those of the base's pose.
    """

    def __init__(
        self,
        legs: Legs,
        stance: Stance,
        parameters: CrawlParameters = CrawlParameters(),
        terrain: Sequence[Surface] = (Plane(),),
    ):
        """Take the `stance` as the pose of the legs on level ground."""
        self.legs, self.stance, self.parameters = legs, stance, parameters
        self.active, self.walking, self.problem = False, False, ""
        self._hips = hip_positions(legs)
        self._shin = body_pose(legs.model, configuration(stance.joints))[1][legs.feet.body] - stance.feet
        self._order = stepping_order(stance.feet)
        self._state = np.zeros(legs.model.nq), np.zeros(legs.model.nv)
        self._effort = Feedforward(legs.model, "stance", *self._state, legs.feet)
        self.stand_on(terrain)
        self._joints, self._turn = stance.joints, 0
        self._step: Step | None = None
        self._way = 0.0, 0.0, 0.0
        self._move = Move(0.0, PAUSE, stance.feet, stance.feet)

    def stand_on(self, terrain: Sequence[Surface]) -> None:
        """Use another ground from the next foothold on."""
        self._ground = GroundHeight(terrain)
        self._ground.below(np.zeros((1, 3)))

    def begin(self, now: float, pose: Sequence[float], joints: Array) -> None:
        """Begin with the base at `pose` (7,) = [x y z, qx qy qz qw] and the targets of the joints at `joints` (n,)."""
        self.active, self.walking, self.problem = True, False, ""
        self._joints, self._turn, self._step, self._way = joints, 0, None, planar(pose)
        feet = foot_positions(self.legs, joints)
        self._move = Move(now - PAUSE, PAUSE, feet, feet)

    def command(self, now: float, pose: Sequence[float], joints: Array, on: bool) -> Command:
        """Targets and efforts at this time for the measured `pose` (7,) and `joints` (n,); not `on`: stand still."""
        if now - self._move.begun >= self._move.lasts:
            self._move = self._next(now, Pose(rotation_from_quaternion(pose[3:7]), np.array(pose[:3])), joints, on)
        place, velocity = self._move.at(now)
        q = joints_for_feet(self.legs, place, self._joints, iterations=3)
        qd = joint_rates_for_feet(self.legs, velocity, q)
        self._joints = q
        standing = np.arange(4) != self._move.foot
        return Command(q, qd, self._carry(pose, q, standing), standing)

    def _carry(self, pose: Sequence[float], joints: Array, standing: NDArray[np.bool_]) -> Array:
        """Efforts (n,) with which the standing feet carry the robot at rest (H2)."""
        if not self.parameters.weight:
            return np.zeros(len(joints))
        q, model = self._state[0], self.legs.model
        q[:7], q[model.q_index] = pose, joints
        return self._effort.torque(self._effort.solve(standing)).copy()

    def _next(self, now: float, base: Pose, joints: Array, on: bool) -> Move:
        """Plan a step and move the base for it, swing the foot, or stay."""
        feet, p = self._move.at(now)[0], self.parameters
        if self._step is not None and self._move.foot < 0:
            foot, foothold, apex = self._step
            end = feet.copy()
            end[foot] = (foothold - base.p) @ base.R
            from_height = float(base.p[2] + base.R[2] @ feet[foot])
            return Move(now, p.swing_time, feet, end, foot, apex - from_height, base.R[2])
        standing = self._standing_feet(base, joints)
        planned = self._plan(standing) if on else None
        was_walking, self._step, self.walking = self.walking, None, planned is not None
        if planned is not None:
            self._step, goal = planned
        elif was_walking:
            goal = self._base_over(standing, None)
        else:
            return Move(now, PAUSE, feet, feet)
        return Move(now, p.shift_time, feet, (standing - goal.p) @ goal.R)

    def _standing_feet(self, base: Pose, joints: Array) -> Array:
        """Places (4, 3) of the feet in the world, on the ground that they are to press on."""
        feet = base.p + foot_positions(self.legs, joints) @ base.R.T
        ground = self._ground.below(feet + ASTRAY * UPWARD) + self.legs.feet.radius
        feet[:, 2] = np.where(np.abs(ground - feet[:, 2]) < ASTRAY, ground, feet[:, 2])
        return feet

    def _plan(self, feet: Array) -> tuple[Step, Pose] | None:
        """Next step from `feet` (4, 3) on and the base's pose for it; None where there is no foothold within reach."""
        foot, stride = self._order[self._turn], self.parameters.stride * self.stance.reach
        x, y, heading = self._way
        way = x + 0.25 * stride * np.cos(heading), y + 0.25 * stride * np.sin(heading), heading
        foothold = self._foothold(foot, way, feet[:, 2].max() + self.stance.height)
        self.problem = f"no foothold for '{self.legs.names[foot]}'"
        if not np.isfinite(foothold).all():
            return None
        step = Step(foot, foothold, self._apex(foot, feet[foot], foothold))
        base = self._base_over(feet, step)
        for place in (feet[foot], foothold):
            goal = feet.copy()
            goal[foot] = place
            goal = (goal - base.p) @ base.R
            joints = joints_for_feet(self.legs, goal, self._joints)
            if np.abs(foot_positions(self.legs, joints) - goal).max() > MISS:
                return None
        self.problem, self._way, self._turn = "", way, (self._turn + 1) % 4
        return step, base

    def _foothold(self, foot: int, way: tuple[float, float, float], top: float) -> Array:
        """Place (3,) near the foot's own on the way, off the edges of steps and with no step behind the shin (H16)."""
        around = EDGE + int(np.ceil(np.abs(self._shin[foot, :2]).max() / CELL))
        u, v = (np.arange(-n - around, n + around + 1) * CELL for n in (AHEAD, ASIDE))
        c, s = np.cos(way[2]), np.sin(way[2])
        turn = np.array([[c, -s], [s, c]])
        grid = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1) + self.stance.feet[foot, :2]
        places = np.dstack([grid @ turn.T + way[:2], np.full(grid.shape[:2], top)])
        height = self._ground.below(places.reshape(-1, 3)).reshape(grid.shape[:2])
        inner = slice(around, -around), slice(around, -around)
        near = sliding_window_view(height, (2 * EDGE + 1, 2 * EDGE + 1))
        cut = slice(around - EDGE, EDGE - around or None), slice(around - EDGE, EDGE - around or None)
        with np.errstate(invalid="ignore"):
            uneven = (near.max(axis=(2, 3)) - near.min(axis=(2, 3)))[cut]
            buried = self._buried(height, foot, around)
            off = np.hypot(*np.meshgrid(u[around:-around], v[around:-around], indexing="ij"))
            cost = np.nan_to_num(off + UNEVEN * (uneven + buried), nan=np.inf)
        best = np.unravel_index(int(np.argmin(cost)), cost.shape)
        place: Array = places[inner][best].copy()
        place[2] = height[inner][best] + self.legs.feet.radius[foot] if np.isfinite(cost[best]) else np.nan
        return place

    def _buried(self, height: Array, foot: int, around: int) -> Array:
        """How deep the shin would be in the ground at each place within the frame of `around` cells."""
        nx, ny = height.shape
        own, deepest = height[around:-around, around:-around], np.zeros((nx - 2 * around, ny - 2 * around))
        for share in (0.25, 0.5, 0.75, 1.0):
            di, dj = np.rint(share * self._shin[foot, :2] / CELL).astype(int)
            under = height[around + di : nx - around + di, around + dj : ny - around + dj]
            deepest = np.maximum(deepest, under - own - share * self._shin[foot, 2] + SHIN_ROOM)
        return deepest

    def _apex(self, foot: int, start: Array, end: Array) -> float:
        """Height that foot and shin are to pass: what is highest below their way, and the lift."""
        heading = self._way[2]
        c, s = np.cos(heading), np.sin(heading)
        shin = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ self._shin[foot]
        top = max(start[2], end[2]) + self.stance.height
        way = start + np.linspace(0.0, 1.0, 21)[:, None] * (end - start)
        way = np.concatenate([way + np.array([0.0, aside, 0.0]) for aside in (-CELL, 0.0, CELL)])
        highest = max(start[2], end[2])
        for share in (0.0, 0.5, 1.0):
            below = way + share * shin
            below[:, 2] = top
            highest = max(highest, float(self._ground.below(below).max()) - share * shin[2])
        return highest + self.parameters.lift * self.stance.reach

    def _base_over(self, feet: Array, step: Step | None) -> Pose:
        """Pose of the base over `feet` (4, 3): parallel to their plane, its centre of mass in the triangle (H15)."""
        both = feet.copy() if step is None else np.vstack([feet, step.foothold])
        middle = feet.copy()
        if step is not None:
            middle[step.foot] = 0.5 * (feet[step.foot] + step.foothold)
        R, centre, slope = self._attitude(middle)
        wish = centre[:2]
        if step is not None:
            others = np.delete(feet, step.foot, axis=0)[:, :2]
            wish = nearest_in_triangle(shrunk_triangle(others, self.parameters.margin), wish)
        legs = [*range(4)] if step is None else [*range(4), step.foot]
        hips = self._hips[legs] @ R.T
        p, q = centre.copy(), np.zeros(self.legs.model.nq)
        joints = self._joints
        for _ in range(3):
            p[2] = centre[2] + slope @ (p[:2] - centre[:2]) - self.stance.feet[:, 2].mean()
            off = ((p + hips - both)[:, :2] ** 2).sum(axis=1)
            room = np.sqrt(np.maximum((STRETCH * self.stance.reach) ** 2 - off, 0.0))
            p[2] = min(p[2], float((both[:, 2] + room - hips[:, 2]).min()))
            joints = joints_for_feet(self.legs, (feet - p) @ R, joints, iterations=8)
            q[:3], q[3:7], q[self.legs.model.q_index] = p, quaternion_from_rotation(R), joints
            p[:2] += wish - center_of_mass(self.legs.model, q)[:2]
        return Pose(R, p)

    def _attitude(self, feet: Array) -> tuple[Array, Array, Array]:
        """Attitude (3, 3) along the heading and parallel to the plane through feet (4, 3), their middle, its slopes."""
        centre, heading = feet.mean(axis=0), self._way[2]
        slope = np.linalg.lstsq((feet - centre)[:, :2], (feet - centre)[:, 2], rcond=None)[0]
        c, s = np.cos(heading), np.sin(heading)
        ahead, aside = c * slope[0] + s * slope[1], c * slope[1] - s * slope[0]
        return rotation_from_rpy([np.arctan(aside), -np.arctan(ahead), heading]), centre, slope


def stepping_order(feet: Array) -> list[int]:
    """Order of four steps, hind before front on one side and then on the other, from foot positions (4, 3)."""
    x, y = (feet - feet.mean(axis=0)).T[:2]
    return np.lexsort((x, -np.sign(y))).tolist()
