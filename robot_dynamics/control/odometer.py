# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The base state from messages of IMU, joints and contacts, as they come: the estimator node but for the messages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from .estimator import BaseEstimator
from .guard import LARGEST, NOT_FINITE, InputGuard, sane
from .state import MeasuredState

Array = NDArray[np.float64]


class Odometer:
    """Feeds an estimator with joint states, each with the mean of what the IMU read since the last one.

    `waiting` names what is needed and has not come. Measured forces older than `max_age` [s] count as none.
    """

    def __init__(self, estimator: BaseEstimator, max_age: float, tilt_deviation: float = 0.0):
        """Refuse messages older than `max_age` [s]; with a `tilt_deviation` [rad] use the gravity of IMUs."""
        model: Model = estimator.model
        self.estimator, self.tilt_deviation = estimator, tilt_deviation
        self.state = MeasuredState(model, max_age)
        self.imu = InputGuard(("imu",), max_age)
        self.forces = np.zeros(len(estimator.feet))
        self._links: tuple[str, ...] = ()
        self._below = np.zeros((len(estimator.feet), 0))
        self.forget()

    def forget(self) -> None:
        """Start anew with what comes next."""
        self.estimator.reset()
        self._sum, self._count, self._mean = np.zeros(6), 0, np.zeros(6)
        self._attitude: Array | None = None
        self._stamp: float | None = None
        self.forces_receipt: float | None = None

    def set_imu(self, numbers: Array, stamp: float, now: float) -> bool:
        """Take the numbers (37,) of an Imu as they stand in the message; returns whether they were used."""
        motion = np.concatenate([numbers[13:16], numbers[25:28]])
        if not sane(motion):
            self.imu.refuse(NOT_FINITE, f"a value is not a number below {LARGEST:g}")
            return False
        if not self.imu.timely(stamp, now):
            return False
        self.imu.accept(stamp, now)
        self._sum += motion
        self._count += 1
        known = self.tilt_deviation > 0.0 and numbers[4] != -1.0 and sane(numbers[:4])
        self._attitude = np.array(numbers[:4]) if known else None
        return True

    def set_forces(self, links: Sequence[str], force: Array, now: float) -> None:
        """Take contact forces (k, 3), world axes, of points named by link; those of a foot are added up."""
        if not sane(force):
            return
        if links != self._links:
            self._links = tuple(links)
            feet = self.estimator.feet.link
            self._below = np.array([[link == foot for link in links] for foot in feet], dtype=float)
        if self._below.any():
            self.forces = self._below.reshape(len(self.forces), len(links)) @ force[:, 2]
            self.forces_receipt = now

    def update(self, stamp: float, now: float) -> bool:
        """Go on to the joint state just taken; returns whether there is an estimate of that time.

        stamp [s]: of the joint state, or when it came.
        """
        last, self._stamp = self._stamp, stamp
        if self._count:
            self._mean, self._sum, self._count = self._sum / self._count, np.zeros(6), 0
        elif self.imu.receipt is None or self.imu.stale(now):
            return False
        if last is None or stamp <= last:
            return False
        s, known = self.state, self.forces_receipt
        measured = known is not None and abs(now - known) <= s.joints.max_age
        forces = self.forces if measured else None
        self.estimator.update(stamp - last, s.position, s.velocity, s.effort, self._mean[:3], self._mean[3:], forces)
        if self._attitude is not None:
            self.estimator.correct_tilt(self._attitude, self.tilt_deviation)
            self._attitude = None
        return True

    def measured(self, now: float) -> bool:
        """Tell whether forces under the feet are measured at present."""
        return self.forces_receipt is not None and abs(now - self.forces_receipt) <= self.state.joints.max_age

    def waiting(self, now: float) -> str:
        """Name the topic that is missing; empty if none is."""
        if self.state.joints.stale(now):
            return "joint_states"
        return "imu/data" if self.imu.stale(now) else ""

    def counts(self) -> dict[str, int]:
        """Return refusals per cause, named by input."""
        return self.state.counts() | {f"refused imu/data: {cause}": n for cause, n in self.imu.counts.items()}
