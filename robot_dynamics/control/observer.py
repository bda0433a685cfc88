# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Foot forces without foot sensors: the observer of the generalised momentum (O1-O4) [De Luca and Mattone 2003]."""

import numpy as np
from numpy.typing import NDArray

from ..dynamics.algorithms import coriolis_matrix, gravity_forces, mass_matrix
from ..dynamics.kinematics import point_jacobian, point_position, point_velocity
from .limbs import Legs

Array = NDArray[np.float64]

DAMPING = 1e-6
"""Damping of the least squares that turns leg efforts into a foot force, against a singular leg."""


class ContactObserver:
    """Estimates r = sum J^T f from d(H qd)/dt = tau + C^T qd - G + r, with r following at `bandwidth` [rad/s] (O2).

    The estimate is first order: after a step of the force it reaches 63 % within 1 / bandwidth.
    """

    def __init__(self, legs: Legs, bandwidth: float = 100.0):
        """Start without contact."""
        self.legs, self.bandwidth = legs, bandwidth
        self.reset()

    def reset(self) -> None:
        """Forget the past: the next state is the first."""
        self._momentum: Array | None = None
        self.residual = np.zeros(self.legs.model.nv)

    def update(self, q: Array, qd: Array, effort: Array, dt: float) -> Array:
        """Take a state (nq,), (nv,) with the joint efforts (n,) applied since the last one, `dt` [s] ago.

        Returns the estimated forces of the ground on the feet (4, 3), world axes [N].
        """
        model = self.legs.model
        momentum: Array = mass_matrix(model, q) @ qd
        if self._momentum is not None and dt > 0.0:
            known = coriolis_matrix(model, q, qd).T @ qd - gravity_forces(model, q)
            known[model.v_index] += effort
            gain = self.bandwidth * dt
            change = momentum - self._momentum - known * dt
            self.residual = (self.residual + self.bandwidth * change) / (1.0 + gain)
        self._momentum = momentum
        return self.foot_forces(q)

    def foot_forces(self, q: Array) -> Array:
        """Return the forces (4, 3) that explain the residual of each leg's joints: J^T f = r (O4)."""
        J = point_jacobian(self.legs.model, self.legs.feet, q)
        columns = self.legs.model.v_index
        forces = np.zeros((len(J), 3))
        for i, moved in enumerate(self.legs.joints):
            A = J[i][:, columns[moved]]
            forces[i] = np.linalg.solve(A @ A.T + DAMPING * np.eye(3), A @ self.residual[columns[moved]])
        return forces

    def foot_positions(self, q: Array) -> Array:
        """Return the feet (4, 3), world axes [m]."""
        return point_position(self.legs.model, self.legs.feet, q)

    def foot_velocities(self, q: Array, qd: Array) -> Array:
        """Return the velocities of the feet (4, 3), world axes [m/s]."""
        return point_velocity(self.legs.model, self.legs.feet, q, qd)
