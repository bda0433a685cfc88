# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A trajectory that the joints of the plant follow without a commander."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ShapeError
from .reference import Trajectory

Array = NDArray[np.float64]


class Motion:
    """Targets of all joints along a trajectory, from where they are; the last point holds.

    As joint_trajectory_controller does it: a first point at a later time than 0 is approached from the present
    positions, and efforts are interpolated linearly between the points. Joints that are not named hold theirs.
    """

    def __init__(
        self,
        joints: Sequence[str],
        names: Sequence[str],
        times: Array,
        columns: tuple[Array, Array | None, Array | None, Array | None],
        present: Array,
        begun: float,
    ):
        """Take times (m,) [s] from `begun` [s] on, and positions, velocities, accelerations, efforts (m, k) or None.

        `present` (n,) are the positions of all `joints` now.

        Raises
        ------
        UnknownNameError, ShapeError
            As of `Trajectory`; efforts of another shape, or not finite.
        """
        q, qd, qdd, effort = columns
        checked = Trajectory(joints, names, times, q, qd, qdd, present)
        if effort is not None and (effort.shape != q.shape or not np.isfinite(effort).all()):
            raise ShapeError(f"efforts of a trajectory must be {q.shape} finite numbers, got shape {effort.shape}")
        if times[0] > 0.0:
            rest = np.zeros((1, len(names)))
            times = np.concatenate([[0.0], times])
            q = np.concatenate([present[None, checked.where], q])
            qd, qdd, effort = (None if x is None else np.concatenate([rest, x]) for x in (qd, qdd, effort))
        self.trajectory = Trajectory(joints, names, times, q, qd, qdd, present)
        self._effort, self._begun = effort, begun

    def at(self, now: float) -> tuple[Array, Array, Array]:
        """Position, velocity and effort (n,) at the time `now` [s]."""
        t, trajectory = now - self._begun, self.trajectory
        q, qd, _ = trajectory.at(t)
        effort = np.zeros(len(q))
        if self._effort is not None:
            effort[trajectory.where] = [np.interp(t, trajectory.times, column) for column in self._effort.T]
        return q, qd, effort
