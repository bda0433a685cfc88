# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stand up and stand on any number of legs, and trot on four: joint targets and efforts as functions of time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from .limbs import Legs, find_stance, foot_jacobian, joint_rates_for_feet, joints_for_feet

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrotParameters:
    """Times [s]; `height` and `lift` over the legs' reach; `duty`: the fraction of the cycle a foot stands."""

    stand_time: float = 1.5
    height: float = 0.72
    cycle: float = 0.4
    duty: float = 0.55
    lift: float = 0.12
    weight: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """Joint positions, velocities and feed-forward efforts (n,), and which feet stand (k,)."""

    position: Array
    velocity: Array
    effort: Array
    stance: NDArray[np.bool_]


def smooth(s: float) -> tuple[float, float]:
    """Quintic step 10 s^3 - 15 s^4 + 6 s^5 (H6) from 0 to 1 and its derivative, at rest at both ends."""
    s = min(max(s, 0.0), 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0)), 30.0 * s * s * (1.0 - s) ** 2


def joint_gains(model: Model, reach: float) -> tuple[float, float]:
    """Position and velocity gain that carry the robot with little sag: 2.8 m g L, and 0.1 sqrt(L / g) of it (H8).

    L is the legs' reach. Mini Cheetah (9 kg, 0.4 m): 100 N m/rad and 2 N m s/rad.
    """
    g = float(np.linalg.norm(model.gravity)) or 9.81
    kp = 2.8 * model.mass * g * reach
    return kp, 0.1 * np.sqrt(reach / g) * kp


def diagonal_pairs(feet: Array) -> NDArray[np.bool_]:
    """(k,) True for one diagonal pair (front left and hind right), from foot positions (k, 3)."""
    x, y = (feet - feet.mean(axis=0)).T[:2]
    return x * y > 0


class StandTrot:
    """Stands up from where the joints are, then stands or trots; the caller gives the time [s].

    `phase` is one of waiting, rising, standing, trotting; `trots` says whether the legs can. `steer` = [v_x, v_y,
    omega_z] is the velocity of the trotting base in its own axes [m/s, rad/s]; 0, in place, unless the caller says
    otherwise.
    """

    def __init__(self, legs: Legs, parameters: TrotParameters = TrotParameters()):
        """Find the stance; raises ModelError if the robot has none."""
        self.legs, self.parameters = legs, parameters
        self.stance = find_stance(legs, parameters.height)
        self.trots = len(legs.feet) == 4
        self.pair = diagonal_pairs(self.stance.feet)
        self.trot = False
        self.steer = np.zeros(3)
        self.phase = "waiting"
        self._from = self.stance.joints
        self._last = self.stance.joints
        self._begun, self._elapsed = 0.0, 0.0

    def start(self, joints: Array, now: float) -> None:
        """Begin to rise from the joint positions (n,)."""
        self.phase, self._from, self._begun = "rising", joints.copy(), now

    def command(self, now: float) -> Command:
        """Targets and efforts at this time; `start` must have been called."""
        self._advance(now)
        if self.phase == "trotting":
            return self._trotting(now - self._begun)
        return self._rising(now - self._begun)

    def _advance(self, now: float) -> None:
        p, elapsed = self.parameters, now - self._begun
        if self.phase == "rising" and elapsed >= p.stand_time:
            self.phase = "standing"
        if self.phase == "standing" and self.trot and self.trots:
            self.phase, self._begun, self._last = "trotting", now, self.stance.joints
        elif self.phase == "trotting" and not self.trot and (elapsed % p.cycle) < (self._elapsed % p.cycle):
            self.phase, self._begun, self._from = "standing", now - p.stand_time, self.stance.joints
        self._elapsed = now - self._begun

    def _rising(self, t: float) -> Command:
        s, sdot = smooth(t / self.parameters.stand_time)
        way = self.stance.joints - self._from
        q, qd = self._from + s * way, sdot / self.parameters.stand_time * way
        stance = np.ones(len(self.stance.feet), dtype=bool)
        return Command(q, qd, self._weight(q, stance), stance)

    def _trotting(self, t: float) -> Command:
        """One diagonal pair half a cycle after the other, up and down on sin^2 arcs (H7)."""
        p = self.parameters
        phase = np.where(self.pair, t / p.cycle, t / p.cycle + 0.5) % 1.0
        swing = np.clip((phase - p.duty) / (1.0 - p.duty), 0.0, 1.0)
        rate = 1.0 / ((1.0 - p.duty) * p.cycle)
        target, velocity = self._strides(phase, swing, rate)
        lift = p.lift * self.stance.reach
        target[:, 2] += lift * np.sin(np.pi * swing) ** 2
        velocity[:, 2] = lift * np.pi * rate * np.sin(2.0 * np.pi * swing) * (swing > 0)
        q = joints_for_feet(self.legs, target, self._last, iterations=3)
        qd = joint_rates_for_feet(self.legs, velocity, q)
        self._last = q
        return Command(q, qd, self._weight(q, swing <= 0), swing <= 0)

    def _strides(self, phase: Array, swing: Array, rate: float) -> tuple[Array, Array]:
        """Places and velocities (4, 3) of the feet in base axes on level ground under a base that moves by `steer`."""
        p, feet = self.parameters, self.stance.feet
        ahead, speed = np.array([smooth(s) for s in swing]).T
        standing = swing <= 0
        ahead = np.where(standing, 0.5 - phase / p.duty, ahead - 0.5)
        speed = np.where(standing, -1.0, p.duty * p.cycle * rate * speed)
        vx, vy, wz = self.steer
        passing = np.column_stack([vx - wz * feet[:, 1], vy + wz * feet[:, 0], np.zeros(4)])
        return feet + p.duty * p.cycle * ahead[:, None] * passing, speed[:, None] * passing

    def _weight(self, q: Array, stance: NDArray[np.bool_]) -> Array:
        """Each standing foot carries an equal share: tau = -J^T (0, 0, m g / n)."""
        if not self.parameters.weight:
            return np.zeros(len(q))
        force = -self.legs.model.mass * self.legs.model.gravity / max(int(stance.sum()), 1)
        return -np.einsum("kin,i,k->n", foot_jacobian(self.legs, q), force, stance.astype(float))
