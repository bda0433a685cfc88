# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The shipped gait on the plant, a MEMS unit's noise on its sensors, and an estimate beside the truth."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import robot_dynamics as rd
from robot_dynamics.control.feeder import Feeder
from robot_dynamics.control.feedforward import Feedforward
from robot_dynamics.control.gait import StandTrot, TrotParameters
from robot_dynamics.control.guard import EffortLimiter
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.control.observer import ContactObserver
from robot_dynamics.control.simulation import gains, home_pose
from robot_dynamics.control.state import MeasuredState, StanceFlags
from robot_dynamics.spatial import rotation_from_quaternion

RATE = 1000
NOISE = rd.SensorNoise(
    position=1e-4,
    velocity=0.01,
    gyro=3e-4 * np.sqrt(RATE),
    gyro_bias=5e-3,
    accelerometer=3e-3 * np.sqrt(RATE),
    accelerometer_bias=5e-2,
)
"""Densities of `rd.ImuNoise` at 1 kHz."""
BEARS = 1.0
"""Force from which a foot truly stands [N]."""


@dataclass
class Run:
    """States at times t (m,), from the plant and as estimated.

    torque (m, 3, n): of the feed-forward by the truth, by the estimated base with true contacts, and by the estimate
    alone; empty where nothing is fed forward.
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    pose: np.ndarray
    twist: np.ndarray
    covariance: np.ndarray
    stands: np.ndarray
    stance: np.ndarray
    torque: np.ndarray
    estimator: rd.BaseEstimator

    def after(self, start: float) -> "Run":
        """What came later than `start` [s]."""
        late = self.t >= start
        kept = [getattr(self, name)[late] for name in self.__dataclass_fields__ if name != "estimator"]
        return Run(*kept, self.estimator)

    @property
    def rotation(self) -> np.ndarray:
        """Error of the attitude (m, 3), world axes [rad]."""
        pairs = zip(self.pose[:, 3:], self.q[:, 3:7], strict=True)
        E = np.array([rotation_from_quaternion(a) @ rotation_from_quaternion(b).T for a, b in pairs])
        return 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)

    @property
    def velocity(self) -> np.ndarray:
        """Error of the velocity (m, 3), base axes [m/s]."""
        return self.twist[:, 3:] - self.qd[:, 3:6]

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Normalised squared errors (m,) of roll and pitch, and of the velocity: chi-square of 2 and 3 numbers."""
        tilt, v, P = self.rotation[:, :2, None], self.velocity[..., None], self.covariance
        pairs = (tilt, P[:, :2, :2]), (v, P[:, 9:, 9:])
        first, second = ((e.transpose(0, 2, 1) @ np.linalg.solve(C, e)).ravel() for e, C in pairs)
        return first, second

    def nees(self) -> tuple[float, float]:
        """Mean normalised squared errors per number of roll and pitch, and of the velocity; 1 is expected."""
        tilt, velocity = self.squares()
        return float(tilt.mean() / 2), float(velocity.mean() / 3)

    def recovered(self, since: float, velocity: float = 0.05, tilt: float = 0.6) -> float:
        """Time from `since` [s] on after which errors of velocity [m/s], roll and pitch [deg] stay below these."""
        off = np.linalg.norm(self.velocity, axis=1) > velocity
        off |= np.degrees(np.abs(self.rotation[:, :2])).max(axis=1) > tilt
        late = self.t[off & (self.t >= since)]
        return float(late[-1] - since) if len(late) else 0.0

    def torque_difference(self, by: int = 2) -> float:
        """Root mean square, over joints and time, of what the estimate changes in the torques, over that of them.

        by: 2: base and contacts are the estimate's; 1: the base alone.
        """
        true, other = self.torque[:, 0], self.torque[:, by]
        return float(np.sqrt(np.square(other - true).mean() / np.square(true).mean()))

    def figures(self) -> dict[str, float]:
        """Root mean squares of roll and pitch [deg], velocity [m/s], height [m]; shares of feet misjudged; NEES."""
        tilt, velocity = self.nees()
        return {
            "roll and pitch [deg]": float(np.degrees(np.sqrt(np.square(self.rotation[:, :2]).mean()))),
            "velocity [m/s]": float(np.sqrt(np.square(self.velocity).sum(axis=1).mean())),
            "height [m]": float(np.sqrt(np.square(self.pose[:, 2] - self.q[:, 2]).mean())),
            "false contact": float(((self.stance > 0.5) & ~self.stands).mean()),
            "missed contact": float(((self.stance <= 0.5) & self.stands).mean()),
            "NEES tilt": tilt,
            "NEES velocity": velocity,
        }


class Consistency(NamedTuple):
    """Mean of what is chi-square distributed, per number, bounds of 95 %, and at what share of times it is off them."""

    low: float
    mean: float
    high: float
    below: float
    above: float


def consistency(squares, numbers: int) -> Consistency:
    """Hold normalised squared errors of several runs (runs, m) of so many numbers against chi-square.

    At each time the sum over the runs, which do not know of each other, has runs * numbers degrees of freedom; errors
    of one run at two times are too much alike to count as two.
    """
    from scipy.stats import chi2

    sums, free = np.sum(squares, axis=0), len(squares) * numbers
    low, high = chi2.ppf([0.025, 0.975], free)
    off = float((sums < low).mean()), float((sums > high).mean())
    return Consistency(float(low / free), float(sums.mean() / free), float(high / free), *off)


class Feeding:
    """The feed-forward node but for its messages, in the mode stance and by default values."""

    def __init__(self, model, legs):
        """Know nothing yet; contacts that are not told are found by an observer as with `estimate_contacts`."""
        self.state, self.stance = MeasuredState(model, 1.0), StanceFlags(legs.feet.link, 5.0, 1.0)
        feedforward = Feedforward(model, "stance", self.state.q, self.state.qd, legs.feet, 0.5)
        limiter = EffortLimiter(model.effort_limit)
        limiter.enable(True)
        self.feeder = Feeder(model, feedforward, self.state, self.stance, limiter, 0.005)
        self.observer = ContactObserver(legs)
        self.all = np.arange(len(model.joint_names))

    def efforts(self, now, reading, base, wanted, force=None):
        """Efforts (n,) for a reading and base (pose, twist); wanted (n,) joint velocities, force (k, 3) at the feet."""
        state, model = self.state, self.observer.legs.model
        assert state.set_joints(model.joint_names, reading.position, reading.velocity, reading.effort, now, now)
        assert state.set_base(*base, now, now)
        found = self.observer.update(state.q, state.qd, state.effort, 1 / RATE)
        self.stance.set_forces(self.stance.feet, found if force is None else force, now)
        self.feeder.reference.set_velocity(self.all, wanted, now)
        return self.feeder.efforts(now).copy()


def run(
    model, seed, duration, *, trot, drop=0.0, friction=0.6, push=None, measured=False, every=5, feed=False, **options
):
    """Let the robot stand or trot for `duration` [s] from `drop` [m] above the ground; push: time, wrench, duration.

    feed: a feed-forward on the estimate alone carries the weight, else the gait by equal shares.
    """
    legs = find_legs(model)
    contact = rd.SpringDamper(friction=friction)
    plant = rd.Plant(model, rd.PlantParams(timestep=1 / RATE, contact=contact, noise=NOISE, seed=seed), legs.feet)
    plant.reset(home_pose(model, "stance", {}, legs.feet, drop), np.zeros(model.nv))
    gait, (kp, kd) = StandTrot(legs, TrotParameters(weight=not feed)), gains(model, [0.0], [0.0])
    gait.trot = trot
    gait.start(plant.q[model.q_index], 0.0)
    estimator, feedings = rd.BaseEstimator(model, legs.feet, **options), [Feeding(model, legs) for _ in range(3 * feed)]
    rows, command, torque = [], gait.command(0.0), np.zeros((0, len(model.joint_names)))
    for i in range(round(duration * RATE)):
        plant.track(command.position, command.velocity, kp, kd, torque[-1] if feed and i else command.effort)
        if push is not None and i == round(push[0] * RATE):
            plant.push(model.link_names[0], *push[1:])
        plant.step()
        now, reading, force = (i + 1) / RATE, plant.measure(), np.array(plant.contacts.force_world)
        joints, imu = (
            (reading.position, reading.velocity, reading.effort),
            (reading.angular_velocity, reading.linear_acceleration),
        )
        estimator.update(1 / RATE, *joints, *imu, force[:, 2] if measured else None)
        command, e = gait.command(now) if feed or i % 2 else command, estimator
        if feed:
            true, found, v = (plant.q[:7], plant.qd[:6]), (e.pose, e.twist), command.velocity
            told = (true, v, force), (found, v, force), (found, v)
            torque = np.array([f.efforts(now, reading, *t) for f, t in zip(feedings, told, strict=True)])
        if i % every == 0:
            stands = force[:, 2] > BEARS
            rows.append((now, plant.q, plant.qd, e.pose, e.twist, e.covariance, stands, e.stance, torque))
    return Run(*map(np.array, zip(*rows, strict=True)), estimator)
