# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The robot's state as it comes in by messages: joints by name, base and stance beside it, ages noticed."""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import bound
from ..dynamics.kinematics import neutral
from ..kernels.measured import (
    ANGULAR,
    EFFORT,
    LINEAR,
    ODOMETRY,
    PLACE,
    POSITION,
    QD,
    VELOCITY,
    WITH_EFFORT,
    Q,
    take_base,
    take_joints,
)
from ..model.model import Model
from ..spatial import quaternion_from_rotation, rotation_from_quaternion
from .guard import FRAME, LARGEST, LENGTH, NO_ATTITUDE, NOT_FINITE, Column, Indices, InputGuard, sane

Array = NDArray[np.float64]

NO_POSE = f"a value is not a number below {LARGEST:g}, or a quaternion has no length"


class Arrangement(NamedTuple):
    """Joint states of one kind: write the `numbers` (m,) of one in place, then `take` writes them into the state.

    columns : where positions, velocities, efforts stand among the numbers; each may be empty.
    take : `kernels.measured.take_joints`.
    """

    columns: tuple[slice, ...]
    numbers: Array
    take: Callable[[], int]


class MeasuredState:
    """Joint state, base state and the efforts measured with it.

    `q` (nq,), `qd` (nv,), `effort` (n,) are the last good values, `position` and `velocity` (n,) the joints' part of q
    and qd: always the same arrays, written in place. `has_effort` tells whether efforts came, `has_base` whether a base
    state came (until then the base is taken as level and at rest).
    """

    def __init__(self, model: Model, max_age: float, base_frame: str = ""):
        """Refuse messages older than `max_age` [s], and base states of other frames (the root link's if empty)."""
        self.model = model
        self.base_frame = base_frame or model.link_names[0]
        self.joints = InputGuard(model.joint_names, max_age)
        self.mimic = frozenset(model.report.mimic)
        self.base, self.attitude = InputGuard(("base",), max_age), InputGuard(("imu",), max_age)
        self.q, self.qd = neutral(model), np.zeros(model.nv)
        self.position, self.velocity = self.q[model.q_index], self.qd[model.v_index]
        self.effort = np.zeros(len(model.joint_names))
        self.has_effort = False
        self.odometry = np.zeros(ODOMETRY)
        free = model.floating_base
        pose, twist = (self.q[:7], self.qd[:6]) if free else (np.zeros(7), np.zeros(6))
        self._take_base = bound(take_base, self.odometry, pose, twist)
        self._names: Sequence[str] = ()
        self._known: Arrangement | None = None

    @property
    def has_base(self) -> bool:
        """Whether the base state is known, by measurement or because it is fixed."""
        return not self.model.floating_base or self.base.receipt is not None

    def set_joints(self, names: Sequence[str], q: Column, qd: Column, effort: Column, stamp: float, now: float) -> bool:
        """Take positions, velocities and efforts by name and return whether they were used.

        Velocities that are missing or NaN (a driver without that interface) count as 0. Mimic joints may be named: they
        follow from the others and are left out.
        """
        ends = [0, *accumulate(map(len, (q, qd, effort)))]
        columns = tuple(slice(a, b) for a, b in pairwise(ends))
        known = self._known
        if known is None or names is not self._names or columns != known.columns:
            known = self._known = self.expect(names, columns, ends[-1])
            self._names = names
        if known is None:
            return False
        for column, x in zip(columns, (q, qd, effort), strict=True):
            known.numbers[column] = x
        return self.take_joints(known, stamp, now)

    def expect(self, names: Sequence[str], columns: Sequence[slice], size: int) -> Arrangement | None:
        """Prepare for joint states of `size` numbers that name these joints; None if they must not be used."""
        kept = [i for i, name in enumerate(names) if name not in self.mimic]
        lengths = [column.stop - column.start for column in columns]
        if any(length not in (0, len(names)) for length in lengths):
            self.joints.refuse(LENGTH, f"{len(names)} names, {', '.join(map(str, lengths))} values")
            return None
        where = self.joints.places([names[i] for i in kept], ())
        if where is None:
            return None
        places = np.full((5, len(self.effort)), -1)
        places[VELOCITY, where] = size  # behind all stands 0, for velocities that are left out
        for row, column in zip((POSITION, VELOCITY, EFFORT), columns, strict=True):
            if column.stop > column.start:
                places[row, where] = column.start + np.array(kept)
        places[Q], places[QD] = self.model.q_index, self.model.v_index
        numbers = np.zeros(size + 1)
        state = self.q, self.qd, self.position, self.velocity, self.effort
        return Arrangement(tuple(columns), numbers[:size], bound(take_joints, places, numbers, *state))

    def take_joints(self, arrangement: Arrangement, stamp: float, now: float) -> bool:
        """Take the joint state whose numbers are there; returns whether it was used."""
        if not self.joints.timely(stamp, now):
            return False
        found = arrangement.take()
        columns = arrangement.columns
        if found >= 0:
            start = next(column.start for column in columns if column.start <= found < column.stop)
            self.joints.refuse(NOT_FINITE, f"value {found - start} is not a number below {LARGEST:g}")
            return False
        self.joints.accept(stamp, now)
        self.has_effort = found == WITH_EFFORT
        return columns[0].stop > columns[0].start

    def set_base(
        self, pose: Sequence[float], twist: Sequence[float], stamp: float, now: float, frame: str = ""
    ) -> bool:
        """Take the base pose (7,) and twist (6,) = [omega, v] in base axes; returns whether they were used."""
        self.odometry[PLACE : PLACE + 7] = pose
        self.odometry[LINEAR : LINEAR + 3], self.odometry[ANGULAR : ANGULAR + 3] = twist[3:], twist[:3]
        return self.take_base(stamp, now, frame)

    def take_base(self, stamp: float, now: float, frame: str = "") -> bool:
        """Take the base state of `odometry`, of a `frame` if it is named; returns whether it was used.

        Pose and twist of another frame on the robot are those of a robot that stands and turns elsewhere.
        """
        if frame not in ("", self.base_frame):
            self.base.refuse(FRAME, f"it is about '{frame}', not '{self.base_frame}'; see base_frame")
            return False
        if not self.base.timely(stamp, now):
            return False
        if not self._take_base():
            self.base.refuse(NOT_FINITE, NO_POSE)
            return False
        self.base.accept(stamp, now)
        return self.model.floating_base

    def take_attitude(self, mount: Array, numbers: Array, stamp: float, now: float) -> bool:
        """Take attitude and angular velocity of an IMU where no base state comes; returns whether the message is good.

        mount: the `ImuMount`'s; numbers (37,): those of an Imu as they stand in the message. One without attitude, its
        first covariance is -1 [REP-145], is refused. The base is then taken as not moving along.
        """
        attitude, omega = numbers[:4], numbers[13:16]
        size = float(np.linalg.norm(attitude)) if sane(attitude) else 0.0
        if not (sane(omega) and 0.5 < size < 2.0):
            self.attitude.refuse(
                NOT_FINITE, f"a value is not a number below {LARGEST:g}, or a quaternion has no length"
            )
            return False
        if numbers[4] == -1.0:
            self.attitude.refuse(NO_ATTITUDE, "it says that it has no orientation; the node 'estimator' needs none")
            return False
        if not self.attitude.timely(stamp, now):
            return False
        self.attitude.accept(stamp, now)
        if self.model.floating_base and self.base.receipt is None:
            B = mount[:9].reshape(3, 3)
            self.q[3:7] = quaternion_from_rotation(rotation_from_quaternion(attitude / size) @ B.T)
            self.qd[:3] = B @ omega
        return True

    def base_lost(self, now: float) -> bool:
        """Tell whether what was known of the base, by its state or else by an IMU, is too old."""
        source = self.base if self.base.receipt is not None else self.attitude
        return self.model.floating_base and source.receipt is not None and source.stale(now)

    def counts(self) -> dict[str, int]:
        """Return refusals per cause, named by input."""
        guards = (("joint_states", self.joints), ("odom", self.base), ("imu/data", self.attitude))
        return {f"refused {name}: {cause}": n for name, guard in guards for cause, n in guard.counts.items()}


def span(index: Indices) -> slice | Indices:
    """Return what picks the entries `index`: a slice, which costs less, if they follow each other."""
    first = int(index[0]) if len(index) else 0
    return slice(first, first + len(index)) if (np.diff(index) == 1).all() else index


FADE = 0.01
"""Time in which a foot takes over its load, or gives it up [s]."""


class StanceFlags:
    """Which feet stand, from normal forces: on above `threshold` [N], off below half of it; all after `max_age` [s].

    `accepted` counts the forces that were used, `receipt` is the time of the last ones [s], None before the first.
    Their loads follow within FADE [s] (H18), so that efforts do not jump with a decision that is late by a millisecond.
    """

    def __init__(self, feet: Sequence[str], threshold: float, max_age: float):
        """Watch the links `feet`."""
        self.feet, self.threshold, self.max_age = tuple(feet), threshold, max_age
        self.all = np.ones(len(self.feet), dtype=bool)
        self.standing = self.all
        self._share = np.ones(len(self.feet))
        self.receipt: float | None = None
        self.accepted = 0
        self._links: tuple[str, ...] = ()
        self._below = np.zeros((len(self.feet), 0))

    def set_forces(self, links: Sequence[str], force: Array, now: float) -> None:
        """Take the contact forces (k, 3), world axes, of points named by link; other links are ignored."""
        if not sane(force):
            return
        if links != self._links:
            self._links = tuple(links)
            self._below = np.array([[link == foot for link in links] for foot in self.feet], dtype=float)
        normal = self._below.reshape(len(self.feet), len(links)) @ force[:, 2]
        limit = np.where(self.standing, 0.5, 1.0) * self.threshold
        gap = self.max_age if self.receipt is None else abs(now - self.receipt)
        change = gap / FADE if gap < self.max_age else 1.0
        self.standing, self.receipt = normal > limit, now
        self.accepted += 1
        self._share = np.clip(self._share + np.where(self.standing, change, -change), 0.0, 1.0)

    def at(self, now: float) -> NDArray[np.bool_]:
        """Return which feet stand (feet,): all of them while nothing recent is known.

        Forces may be newer than the state they are wanted for, where that was late.
        """
        return self.standing if self._known(now) else self.all

    def load(self, now: float) -> Array:
        """Return what part of its load each foot may bear (feet,), 1 for the one that stands most (H18)."""
        if not self._known(now):
            return self.all.astype(float)
        most = self._share.max()  # 0 where feet touch in the instant in which all had left
        return self._share / most if self.standing.any() and most > 0.0 else self.standing.astype(float)

    def _known(self, now: float) -> bool:
        return self.receipt is not None and abs(now - self.receipt) <= self.max_age
