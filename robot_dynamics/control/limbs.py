# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Legs of any robot: which joints move which foot, how far it reaches, and the joint angles that put it somewhere.

Everything is seen from the base: the base frame stands still at the origin, foot positions are in base axes [m].
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..contact.points import contact_points
from ..dynamics.kinematics import Points, body_pose, point_jacobian, point_position, point_rows, points
from ..errors import ModelError
from ..kernels import inverse_kinematics
from ..kernels.bodies import point_jacobians
from ..model.model import Model

Array = NDArray[np.float64]

FEWEST, MOST = 2, 8
"""How many legs a robot may have."""
REACH = 0.7
"""Share of the longest limb's depth below the base that a leg reaches."""


@dataclass(frozen=True, slots=True)
class Legs:
    """Two to eight legs: their feet, and per foot the joints (k, n) that move it; n counts all joints of the model."""

    model: Model
    feet: Points
    joints: NDArray[np.bool_]
    rows: tuple[NDArray[np.int64], Array] = field(init=False)
    """Kernel rows (k,) of the feet and their positions (k, 3) in row axes."""

    def __post_init__(self) -> None:
        """Look the feet up once."""
        object.__setattr__(self, "rows", point_rows(self.model, self.feet))

    @property
    def names(self) -> tuple[str, ...]:
        """Links of the feet."""
        return self.feet.link


def find_legs(model: Model, links: Sequence[str] = ()) -> Legs:
    """Find the feet: the outermost contact point of each limb that reaches the ground, or the origins of `links`.

    A limb is a largest set of joints that moves a contact point, of any depth. One that reaches less far down than
    REACH of the longest is an arm.

    Raises
    ------
    ModelError
        Fixed base, or not two to eight legs with contact points.
    """
    if not model.floating_base:
        raise ModelError(f"'{model.name}' has a fixed base; a gait needs floating_base=True")
    candidates = points(model, {link: [(0.0, 0.0, 0.0)] for link in links}) if links else contact_points(model)
    moved = moving_joints(model, candidates)
    reach = np.linalg.norm(candidates.position, axis=1) + candidates.radius
    limbs: dict[bytes, int] = {}
    for i in np.argsort(-reach, kind="stable"):
        contained = moved[i] @ ~moved.T == 0
        if moved[i].any() and not (contained & (moved.sum(1) > moved[i].sum())).any():
            limbs.setdefault(moved[i].tobytes(), int(i))
    chosen = sorted(limbs.values())
    legs = Legs(model, _subset(candidates, chosen), moved[chosen])
    if not links and len(chosen) > FEWEST:
        legs = _without_arms(legs)
    if not FEWEST <= len(legs.feet) <= MOST:
        raise ModelError(f"a robot stands on {FEWEST} to {MOST} feet, {_found(legs)}")
    return legs


def find_four_legs(model: Model, links: Sequence[str] = ()) -> Legs:
    """Find the legs of a quadruped; raises ModelError as `find_legs`, and where there are not four."""
    legs = find_legs(model, links)
    if len(legs.feet) != 4:
        raise ModelError(f"a trot needs four feet, {_found(legs)}")
    return legs


def _found(legs: Legs) -> str:
    """Say which feet were found, and how to name others."""
    model, names = legs.model, ", ".join(legs.names) or "none"
    return (
        f"'{model.name}' has {len(legs.names)} ({names}); "
        f"name them in the parameter 'feet'; valid names: {', '.join(model.link_names)}"
    )


def _without_arms(legs: Legs) -> Legs:
    """Leave out limbs that do not reach far enough down to stand on."""
    depth = -foot_positions(legs, stretched(legs))[:, 2]
    kept = np.flatnonzero(depth >= REACH * depth.max())
    return Legs(legs.model, _subset(legs.feet, kept.tolist()), legs.joints[kept])


def moving_joints(model: Model, feet: Points) -> NDArray[np.bool_]:
    """(k, n) which joints move each point, at an arbitrary bent pose."""
    bent = np.linspace(0.3, 0.9, len(model.joint_names))
    return np.abs(point_jacobian(model, feet, configuration(bent))[:, :, 6:]).max(axis=1, initial=0.0) > 1e-9


def _subset(all_points: Points, rows: Sequence[int]) -> Points:
    index = list(rows)
    return Points(
        all_points.body[index],
        all_points.position[index],
        tuple(all_points.link[i] for i in index),
        all_points.radius[index],
    )


def configuration(joints: Array) -> Array:
    """Q (7 + n,) with the base frame at the origin."""
    return np.concatenate([(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), joints])


def foot_positions(legs: Legs, joints: Array) -> Array:
    """Foot points (k, 3)."""
    return point_position(legs.model, legs.feet, configuration(joints))


def foot_jacobian(legs: Legs, joints: Array) -> Array:
    """Foot velocities per joint velocity (k, 3, n), base at rest."""
    model = legs.model
    J = np.empty((len(legs.feet), 3, model.nv))
    point_jacobians(model.topology, model.parameters, *legs.rows, configuration(joints), J)
    return J[:, :, 6:]


def joints_for_feet(legs: Legs, target: Array, joints: Array, iterations: int = 60) -> Array:
    """Joint positions (n,) that bring the feet to `target` (k, 3), by damped least squares (H9) from `joints` (n,).

    Where a target is out of reach or beyond a joint stop, the nearest pose that the steps reach is returned.
    """
    model, out = legs.model, np.array(joints, dtype=float)
    limits = model.lower, model.upper
    inverse_kinematics.joints_for_feet(model.topology, model.parameters, legs.rows, target, limits, iterations, out)
    return out


def joint_rates_for_feet(legs: Legs, velocity: Array, joints: Array) -> Array:
    """Joint velocities (n,) that move the feet at `velocity` (k, 3) where the joints are at `joints` (n,)."""
    model, out = legs.model, np.empty(len(joints))
    inverse_kinematics.joint_rates_for_feet(model.topology, model.parameters, legs.rows, velocity, joints, out)
    return out


@dataclass(frozen=True, slots=True)
class Stance:
    """A pose to stand in: joint positions (n,), feet (k, 3), base height above the ground, reach of the legs [m]."""

    joints: Array
    feet: Array
    height: float
    reach: float


def find_stance(legs: Legs, fraction: float = 0.72) -> Stance:
    """Find a stance: each foot under its hip at `fraction` of the reach, knees bent backwards if the joints allow.

    Raises
    ------
    ModelError
        No pose within the joint limits does it.
    """
    hips, lowest = hip_positions(legs), foot_positions(legs, stretched(legs))
    reach = float((hips - lowest)[:, 2].min())
    target = hips - (0.0, 0.0, fraction * reach)
    joints = _bent_backwards(legs, target)
    error = np.abs(foot_positions(legs, joints) - target).max()
    if error > 0.02 * reach:
        raise ModelError(
            f"no stance found for '{legs.model.name}': a foot misses its place under the hip by {error:.3f} m"
        )
    return Stance(joints, target, float((legs.feet.radius - target[:, 2]).max()), reach)


def crouch(legs: Legs, stance: Stance, fraction: float = 0.4, steps: int = 10) -> Array:
    """Joint positions (n,) of the stance lowered until the hips are at `fraction` of the reach above the feet."""
    joints = stance.joints
    top = hip_positions(legs)[:, 2:]
    for s in np.linspace(0.0, 1.0, steps + 1)[1:]:
        target = stance.feet.copy()
        target[:, 2:] += s * (top - fraction * stance.reach - target[:, 2:])
        joints = joints_for_feet(legs, target, joints)
    return joints


def hip_positions(legs: Legs) -> Array:
    """Return points (k, 3) above the feet of a stance: the second joint of each leg, moved to the side of its foot."""
    model = legs.model
    hanging = configuration(np.clip(np.zeros(len(model.joint_names)), model.lower, model.upper))
    origin, feet = body_pose(model, hanging)[1], point_position(model, legs.feet, hanging)
    hips = np.empty((len(feet), 3))
    for i, body in enumerate(legs.feet.body):
        chain = [int(body)]
        while model.parent[chain[-1]] > 1:
            chain.append(int(model.parent[chain[-1]]))
        hip = origin[chain[-2] if len(chain) > 2 else chain[-1]]
        hips[i] = hip[0], feet[i, 1], hip[2]
    return hips


def stretched(legs: Legs, sweeps: int = 20) -> Array:
    """Joint positions (n,) with the feet as low as they go, one joint after the other.

    Turning one revolute joint moves a foot on a circle: z = A + B cos q + C sin q, lowest at q = atan2(-C, -B) (H10).
    """
    model = legs.model
    joints = np.clip(np.full(len(model.joint_names), 0.2), model.lower, model.upper)
    for j in np.tile(np.flatnonzero(legs.joints.any(axis=0)), sweeps):
        foot = int(np.argmax(legs.joints[:, j]))

        def depth(angle: float, j: int = j, foot: int = foot) -> float:
            turned = np.where(np.arange(len(joints)) == j, angle, joints)
            return float(foot_positions(legs, turned)[foot, 2])

        A, C = 0.5 * (depth(0.0) + depth(np.pi)), depth(0.5 * np.pi)
        lowest = np.arctan2(A - C, A - depth(0.0))
        if not model.lower[j] <= lowest <= model.upper[j]:
            lowest = min(model.lower[j], model.upper[j], key=depth)
        joints[j] = lowest
    return joints


def _bent_backwards(legs: Legs, target: Array, starts: int = 24, margin: float = 2.0) -> Array:
    """Of many solutions of the leg kinematics the one near the middle whose bodies lie furthest back, leg by leg."""
    model, rng = legs.model, np.random.default_rng(0)
    low, high = np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0)
    best = np.clip(np.zeros(len(low)), model.lower, model.upper)
    solutions = [joints_for_feet(legs, target, rng.uniform(low, np.maximum(low, high))) for _ in range(starts)]
    for i, moved in enumerate(legs.joints):
        missed = np.array([np.abs(foot_positions(legs, s) - target)[i].max() for s in solutions])
        angles = np.array([np.square(s[moved]).sum() for s in solutions])
        behind = np.array([body_pose(model, configuration(s))[1][legs.feet.body[i], 0] for s in solutions])
        good = missed < missed.min() + 1e-6
        good &= angles < angles[good].min() + margin
        best[moved] = solutions[int(np.argmin(np.where(good, behind, np.inf)))][moved]
    return best
