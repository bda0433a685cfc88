# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""From measured state and reference to efforts that may go to motors: the feedforward node but for messages."""

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from .feedforward import Feedforward, Solution
from .guard import EffortLimiter
from .reference import StreamedReference, Trajectory
from .state import MeasuredState, StanceFlags
from .wrenches import LinkWrenches

Array = NDArray[np.float64]


class Feeder:
    """Computes efforts for each new state; silent states lead to the timeout action.

    `trajectory` runs from `begun` [s]; without one the desired accelerations come from `reference`.
    """

    def __init__(
        self,
        model: Model,
        feedforward: Feedforward,
        state: MeasuredState,
        stance: StanceFlags,
        limiter: EffortLimiter,
        filter_time: float = 0.0,
    ):
        """Put the parts together; `filter_time` [s] smooths the accelerations of a streamed reference."""
        self.model, self.feedforward, self.state, self.stance, self.limiter = model, feedforward, state, stance, limiter
        self.trajectory: Trajectory | None = None
        self.begun = 0.0
        self.wrenches = LinkWrenches(model, state.joints.max_age)
        self.reference = StreamedReference(len(model.joint_names), 0.1, filter_time)
        self._last: float | None = None

    def enable(self, on: bool) -> None:
        """Start the ramp with the next state, whose effort is still 0 however long the state was silent; or go dry."""
        self.limiter.enable(on)
        self._last = None

    def carry(self, model: Model) -> None:
        """Go on with the same robot under another load."""
        self.model = model
        self.feedforward.carry(model)

    def acceleration(self, now: float) -> Array:
        """Return the desired joint accelerations (n,) at this time."""
        if self.trajectory is not None:
            return self.trajectory.at(now - self.begun)[2]
        return self.reference.acceleration(now)

    def wanted(self, now: float) -> Solution:
        """Answer which forces the motion needs, before any limit."""
        feedforward = self.feedforward
        if feedforward.accelerating:
            feedforward.qdd[self.model.v_index] = self.acceleration(now)
        if self.wrenches.any() or feedforward.bearing:
            feedforward.bear(self.wrenches.on_bodies(now))
        return feedforward.solve(self.stance.load(now))

    def efforts(self, now: float) -> Array:
        """Answer which joint efforts (n,) may go out now; `solution` then holds the forces they come from.

        The next call writes the same memory again.
        """
        self.solution = self.wanted(now)
        tau = self.feedforward.torque(self.solution)
        dt = 0.0 if self._last is None else min(max(now - self._last, 0.0), 0.1)
        self._last = now
        return self.limiter.apply(tau, dt, self.state.position, self.state.velocity)

    def efforts_along(self, path: Trajectory, now: float) -> Array:
        """Joint efforts (m, n) at the points of a trajectory, with base and stance as they are now; without limits."""
        v, stance = self.model.v_index, self.stance.at(now)
        q, qd = self.state.q.copy(), self.state.qd.copy()
        feedforward, efforts = self.feedforward.elsewhere(q, qd), []
        for position, velocity, acceleration in zip(*path.points(), strict=True):
            q[self.model.q_index], qd[v], feedforward.qdd[v] = position, velocity, acceleration
            efforts.append(feedforward.torque(feedforward.solve(stance)).copy())
        return np.array(efforts)

    def timed_out(self, now: float) -> bool:
        """Tell whether the joint state, or what was known of the base, is too old."""
        return self.state.joints.stale(now) or self.state.base_lost(now)
