"""The robot's state as it comes in by messages: joints by name, base and stance beside it, ages noticed."""

import math
import struct
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..kinematics import neutral
from ..model import Model
from .guard import FRAME, LARGEST, LENGTH, Column, Indices, InputGuard, sane

Array = NDArray[np.float64]

NOWHERE = np.zeros(0, dtype=np.intp)
POSE, TWIST = struct.Struct("7d"), struct.Struct("6d")


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
        self.base = InputGuard(("base",), max_age)
        self.q, self.qd = neutral(model), np.zeros(model.nv)
        self.position, self.velocity = part(self.q, model.q_index), part(self.qd, model.v_index)
        self.effort = np.zeros(len(model.joint_names))
        self.has_effort = False
        self._where, self._runs = NOWHERE, runs(NOWHERE)
        self._q, self._qd = self.q.data, self.qd.data
        self._columns = self.position.data, self.velocity.data, self.effort.data
        self._apart = [
            (whole, column, runs(index))
            for whole, column, index in zip(
                (self._q, self._qd), self._columns[:2], (model.q_index, model.v_index), strict=True
            )
            if not np.shares_memory(whole, column)
        ]

    @property
    def has_base(self) -> bool:
        """Whether the base state is known, by measurement or because it is fixed."""
        return not self.model.floating_base or self.base.receipt is not None

    def set_joints(
        self,
        names: Sequence[str],
        q: Column,
        qd: Column,
        effort: Column,
        stamp: float,
        now: float,
        proven: bool = False,
    ) -> bool:
        """Take positions, velocities and efforts by name and return whether they were used.

        Velocities that are missing or NaN (a driver without that interface) count as 0. Mimic joints may be named: they
        follow from the others and are left out. `proven`: whether all are known to be `sane`.
        """
        if self.mimic and not self.mimic.isdisjoint(names):
            if any(len(x) not in (0, len(names)) for x in (q, qd, effort)):
                self.joints.refuse(LENGTH, f"{len(names)} names, {len(q)}, {len(qd)}, {len(effort)} values")
                return False
            keep = [i for i, name in enumerate(names) if name not in self.mimic]
            names = [names[i] for i in keep]
            q, qd, effort = (np.asarray(x)[keep] if len(x) else x for x in (q, qd, effort))
        self.has_effort = len(effort) > 0
        if not (proven := proven or sane(q, qd, effort)):
            self.has_effort = self.has_effort and not np.isnan(effort).any()
            qd, effort = (np.where(np.isnan(x), 0.0, x) for x in (qd, effort))
        where = self.joints.accept_named(names, (q, qd, effort), stamp, now, proven)
        if where is None or not len(q):
            return False
        if where is not self._where:
            self._where, self._runs = where, runs(where)
        if not len(qd):
            qd = np.zeros(len(q))
        position, velocity, efforts = self._columns
        for here, there in self._runs:
            position[there], velocity[there] = q[here], qd[here]
            if self.has_effort:
                efforts[there] = effort[here]
        for whole, column, places in self._apart:
            for here, there in places:
                whole[there] = column[here]
        return True

    def set_base(
        self, pose: Sequence[float], twist: Sequence[float], stamp: float, now: float, frame: str = ""
    ) -> bool:
        """Take the base pose (7,) and twist (6,) in base axes, of a `frame` if it is named; returns if they were used.

        Pose and twist of another frame on the robot are those of a robot that stands and turns elsewhere.
        """
        if frame not in ("", self.base_frame):
            self.base.refuse(FRAME, f"it is about '{frame}', not '{self.base_frame}'; see base_frame")
            return False
        x, y, z, qx, qy, qz, qw = pose
        size = math.hypot(qx, qy, qz, qw)
        good = 0.5 < size < 2.0 and math.hypot(x, y, z, *twist) < LARGEST
        if not self.base.accept_unnamed(good, stamp, now) or not self.model.floating_base:
            return False
        POSE.pack_into(self._q, 0, x, y, z, qx / size, qy / size, qz / size, qw / size)
        TWIST.pack_into(self._qd, 0, *twist)
        return True

    def counts(self) -> dict[str, int]:
        """Return refusals per cause, named by input."""
        guards = (("joint_states", self.joints), ("odom", self.base))
        return {f"refused {name}: {cause}": n for name, guard in guards for cause, n in guard.counts.items()}


def part(x: Array, index: Indices) -> Array:
    """Return `x[index]`, as a view of x if the indices follow each other."""
    return x[index[0] : index[-1] + 1] if len(index) and len(runs(index)) == 1 else x[index]


def runs(places: Indices) -> list[tuple[slice, slice]]:
    """Return slices (here, there), few where places follow each other, that bring entry i to `places[i]`."""
    starts = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
    return [(slice(a, b), slice(int(places[a]), int(places[a]) + b - a)) for a, b in pairwise(starts) if a < b]


class StanceFlags:
    """Which feet stand, from normal forces: on above `threshold` [N], off below half of it; all after `max_age` [s]."""

    def __init__(self, feet: Sequence[str], threshold: float, max_age: float):
        """Watch the links `feet`."""
        self.feet, self.threshold, self.max_age = tuple(feet), threshold, max_age
        self.all = np.ones(len(self.feet), dtype=bool)
        self.standing = self.all
        self.receipt: float | None = None
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
        self.standing, self.receipt = normal > limit, now

    def at(self, now: float) -> NDArray[np.bool_]:
        """Return which feet stand (feet,): all of them while nothing recent is known.

        Forces may be newer than the state they are wanted for, where that was late.
        """
        known = self.receipt is not None and abs(now - self.receipt) <= self.max_age
        return self.standing if known else self.all
