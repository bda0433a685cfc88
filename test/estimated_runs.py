# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The shipped gait on the plant, a MEMS unit's noise on its sensors, and an estimate beside the truth."""

from dataclasses import dataclass

import numpy as np

import robot_dynamics as rd
from robot_dynamics.control.gait import StandTrot
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.control.simulation import gains, home_pose
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
    """States at times t (m,), from the plant and as estimated; `*_variance` of the estimate."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    pose: np.ndarray
    twist: np.ndarray
    covariance: np.ndarray
    stands: np.ndarray
    stance: np.ndarray
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

    def nees(self) -> tuple[float, float]:
        """Mean normalised squared errors per number of roll and pitch, and of the velocity; 1 is expected."""
        tilt, v, P = self.rotation[:, :2, None], self.velocity[..., None], self.covariance
        squares = [e.transpose(0, 2, 1) @ np.linalg.solve(C, e) for e, C in ((tilt, P[:, :2, :2]), (v, P[:, 9:, 9:]))]
        return float(squares[0].mean() / 2), float(squares[1].mean() / 3)

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


def run(model, seed, duration, *, trot, drop=0.0, friction=0.6, push=None, measured=False, every=5, **options):
    """Let the robot stand or trot for `duration` [s] from `drop` [m] above the ground; push: time, wrench, duration."""
    legs = find_legs(model)
    contact = rd.SpringDamper(friction=friction)
    plant = rd.Plant(model, rd.PlantParams(timestep=1 / RATE, contact=contact, noise=NOISE, seed=seed), legs.feet)
    plant.reset(home_pose(model, "stance", {}, legs.feet, drop), np.zeros(model.nv))
    gait, (kp, kd) = StandTrot(legs), gains(model, [0.0], [0.0])
    gait.trot = trot
    gait.start(plant.q[model.q_index], 0.0)
    estimator = rd.BaseEstimator(model, legs.feet, **options)
    rows = []
    for i in range(round(duration * RATE)):
        if i % 2 == 0:
            command = gait.command(i / RATE)
            plant.track(command.position, command.velocity, kp, kd, command.effort)
        if push is not None and i == round(push[0] * RATE):
            plant.push(model.link_names[0], *push[1:])
        plant.step()
        reading, force = plant.measure(), np.array(plant.contacts.force_world)[:, 2]
        joints, imu = (
            (reading.position, reading.velocity, reading.effort),
            (reading.angular_velocity, reading.linear_acceleration),
        )
        estimator.update(1 / RATE, *joints, *imu, force if measured else None)
        if i % every == 0:
            e = estimator
            rows.append(((i + 1) / RATE, plant.q, plant.qd, e.pose, e.twist, e.covariance, force > BEARS, e.stance))
    return Run(*map(np.array, zip(*rows, strict=True)), estimator)
