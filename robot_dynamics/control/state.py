"""The robot's state as it comes in by messages: joints by name, base and stance beside it, ages noticed."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..kinematics import neutral
from ..model import Model
from .guard import FRAME, LARGEST, LENGTH, InputGuard, sane

Array = NDArray[np.float64]


class MeasuredState:
    """Joint state, base state and the efforts measured with it.

    `q` (nq,), `qd` (nv,), `effort` (n,) are the last good values; `has_effort` tells whether efforts came, `has_base`
    whether a base state came (until then the base is taken as level and at rest).
    """

    def __init__(self, model: Model, max_age: float, base_frame: str = ""):
        """Refuse messages older than `max_age` [s], and base states of other frames (the root link's if empty)."""
        self.model = model
        self.base_frame = base_frame or model.link_names[0]
        self.joints = InputGuard(model.joint_names, max_age)
        self.mimic = frozenset(model.report.mimic)
        self.base = InputGuard(("base",), max_age)
        self.q, self.qd = neutral(model), np.zeros(model.nv)
        self.effort = np.zeros(len(model.joint_names))
        self.has_effort = False

    @property
    def has_base(self) -> bool:
        """Whether the base state is known, by measurement or because it is fixed."""
        return not self.model.floating_base or self.base.receipt is not None

    def set_joints(self, names: Sequence[str], q: Array, qd: Array, effort: Array, stamp: float, now: float) -> bool:
        """Take positions, velocities and efforts by name and return whether they were used.

        Velocities that are missing or NaN (a driver without that interface) count as 0. Mimic joints may be named: they
        follow from the others and are left out.
        """
        if self.mimic and not self.mimic.isdisjoint(names):
            if any(len(x) not in (0, len(names)) for x in (q, qd, effort)):
                self.joints.refuse(LENGTH, f"{len(names)} names, {len(q)}, {len(qd)}, {len(effort)} values")
                return False
            keep = [i for i, name in enumerate(names) if name not in self.mimic]
            names, (q, qd, effort) = [names[i] for i in keep], (x[keep] if len(x) else x for x in (q, qd, effort))
        self.has_effort = len(effort) > 0
        if not (proven := sane(q, qd, effort)):
            self.has_effort = self.has_effort and not np.isnan(effort).any()
            qd, effort = (np.where(np.isnan(x), 0.0, x) for x in (qd, effort))
        where = self.joints.accept_named(names, (q, qd, effort), stamp, now, proven)
        if where is None or not len(q):
            return False
        self.q[self.model.q_index[where]] = q
        self.qd[self.model.v_index[where]] = qd if len(qd) else 0.0
        if self.has_effort:
            self.effort[where] = effort
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
        x, y, z, *quaternion = pose
        size = math.hypot(*quaternion)
        good = math.hypot(*pose, *twist) < LARGEST and 0.5 < size < 2.0
        if not self.base.accept_unnamed(good, stamp, now) or not self.model.floating_base:
            return False
        self.q[:7] = [x, y, z, *(component / size for component in quaternion)]
        self.qd[:6] = twist
        return True

    def counts(self) -> dict[str, int]:
        """Return refusals per cause, named by input."""
        guards = (("joint_states", self.joints), ("odom", self.base))
        return {f"refused {name}: {cause}": n for name, guard in guards for cause, n in guard.counts.items()}


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
