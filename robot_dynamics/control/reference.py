# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The desired joint motion as a function of time, with the spline conventions of ROS trajectories."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ShapeError, UnknownNameError

Array = NDArray[np.float64]


class Trajectory:
    """Joint motion through points: linear through positions, cubic with velocities, quintic with accelerations.

    Before the first point and after the last one it stands still at that point.
    """

    def __init__(
        self,
        joints: Sequence[str],
        names: Sequence[str],
        times: Array,
        q: Array,
        qd: Array | None,
        qdd: Array | None,
        hold: Array,
    ):
        """Take strictly rising times (m,) [s] and positions, velocities, accelerations (m, k) of the k joints named.

        `hold` (n,) gives the position of joints that are not named.

        Raises
        ------
        UnknownNameError, ShapeError
            Unknown joint; no points, unequal lengths, falling times, values that are not finite.
        """
        for name in names:
            if name not in joints:
                raise UnknownNameError("joint", name, joints)
        shape = (len(times), len(names))
        given = [x for x in (q, qd, qdd) if x is not None]
        if not len(times) or len(set(names)) != len(names) or any(x.shape != shape for x in given):
            raise ShapeError(f"a trajectory needs points with {shape[1]} values each for joints named once")
        if not all(np.isfinite(x).all() for x in (times, *given)) or (np.diff(times) <= 0).any():
            raise ShapeError("a trajectory needs finite values and strictly rising times")
        self.where = np.array([list(joints).index(name) for name in names], dtype=np.intp)
        self.times, self.q, self.hold = times, q, hold.copy()
        self.qd, self.qdd = (qd, qdd if qd is not None else None)

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (n,) at time t [s] from the start."""
        out = np.stack([self.hold, np.zeros_like(self.hold), np.zeros_like(self.hold)])
        if t <= self.times[0] or t >= self.times[-1]:
            out[0, self.where] = self.q[0 if t <= self.times[0] else -1]
        else:
            i = int(np.searchsorted(self.times, t, side="right")) - 1
            out[:, self.where] = self._segment(i, t - self.times[i])
        return out[0], out[1], out[2]

    def points(self) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (m, n) at the points; what is not given is that of the segment after."""
        m = len(self.times)
        out = np.zeros((3, m, len(self.hold)))
        out[0] = self.hold
        out[0][:, self.where] = self.q
        for i, t in enumerate(self.times if m > 1 else ()):
            k = min(i, m - 2)
            out[:, i, self.where] = self._segment(k, t - self.times[k])
        return out[0], out[1], out[2]

    def _segment(self, i: int, t: float) -> Array:
        """(3, k) on segment i, t seconds in: the polynomial that meets what both ends give (H5)."""
        T = self.times[i + 1] - self.times[i]
        order = 1 + (self.qd is not None) + (self.qdd is not None)
        ends = [x[i : i + 2] for x in (self.q, self.qd, self.qdd)[:order] if x is not None]
        A = np.array([_powers(2 * order, s, d) for s in (0.0, T) for d in range(order)])
        coefficients = np.linalg.solve(A, np.array([e[side] for side in (0, 1) for e in ends]))
        return np.array([_powers(2 * order, t, d) @ coefficients for d in range(3)])


class StreamedReference:
    """Desired accelerations from a stream of desired velocities: their difference quotient through a low-pass (H13).

    A gap longer than `max_gap` [s] or no velocities give 0; `filter_time` [s] is the time constant of the low-pass.
    """

    def __init__(self, joints: int, max_gap: float, filter_time: float = 0.0):
        """Start without a reference for this number of joints."""
        self.max_gap, self.filter_time = max_gap, filter_time
        self._rest = np.zeros(joints)
        self._qd = self._qdd = self._rest
        self._stamp = -np.inf

    def set_velocity(self, where: NDArray[np.intp], qd: Array, stamp: float) -> None:
        """Take desired velocities of the joints `where` at time `stamp` [s]."""
        new = self._qd.copy()
        new[where] = qd
        gap = stamp - self._stamp
        if 0.0 < gap <= self.max_gap:
            self._qdd = self._qdd + (new - self._qd - gap * self._qdd) / (self.filter_time + gap)
        else:
            self._qdd = self._rest
        self._qd, self._stamp = new, stamp

    def acceleration(self, now: float) -> Array:
        """Return desired accelerations (n,), 0 when the stream is older than `max_gap`."""
        return self._qdd if abs(now - self._stamp) <= self.max_gap else self._rest


def _powers(n: int, t: float, derivative: int) -> Array:
    """Row with the derivative of (1, t, t^2, ...) at t."""
    row = np.zeros(n)
    for k in range(derivative, n):
        row[k] = np.prod(np.arange(k - derivative + 1, k + 1)) * t ** (k - derivative)
    return row
