# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Foot forces without foot sensors: the observer of the generalised momentum (O1-O4) [De Luca and Mattone 2003]."""

import numpy as np
from numpy.typing import NDArray

from ..compiler import bound
from ..core.checks import checked
from ..dynamics.algorithms import NO_WRENCH, driver_of
from ..dynamics.kinematics import point_position, point_rows, point_velocity
from ..kernels.bodies import point_jacobians
from ..kernels.momentum import explain, observe
from ..kernels.world import coriolis_matrix
from ..model.model import Model
from .limbs import Legs

Array = NDArray[np.float64]

DAMPING = 1e-6
"""Damping of the least squares that turns leg efforts into a foot force, against a singular leg."""


class ContactObserver:
    """Estimates r = sum J^T f from d(H qd)/dt = tau + C^T qd - G + r, with r following at `bandwidth` [rad/s] (O2).

    The estimate is first order: after a step of the force it reaches 63 % within 1 / bandwidth.
    """

    def __init__(self, legs: Legs, bandwidth: float = 1000.0):
        """Start without contact."""
        self.bandwidth = bandwidth
        self.carry(legs)
        self.reset()

    def carry(self, legs: Legs) -> None:
        """Go on with the same legs under another load."""
        self.legs, model = legs, legs.model
        nv = model.nv
        self._q, self._qd, self._effort = np.zeros(model.nq), np.zeros(nv), np.zeros(nv)
        H, C, G, zero = np.zeros((nv, nv)), np.zeros((nv, nv)), np.zeros(nv), np.zeros(nv)
        self._matrices, self._forces = (H, C, G), np.zeros((len(legs.feet), 3))
        self._J = np.zeros((len(legs.feet), 3, nv))
        self._moved = np.zeros((len(legs.feet), nv), dtype=np.int64)
        self._moved[:, model.v_index] = legs.joints
        kernels, robot, memory = driver_of(model)
        self._terms = (
            bound(kernels.mass_matrix, *robot, self._q, *memory, H),
            bound(coriolis_matrix, model.topology, model.parameters, self._q, self._qd, C),
            bound(kernels.inverse_dynamics, *robot, self._q, zero, zero, NO_WRENCH, *memory, G),
            bound(point_jacobians, model.topology, model.parameters, *point_rows(model, legs.feet), self._q, self._J),
        )

    def reset(self) -> None:
        """Forget the past: the next state is the first."""
        self._begun = False
        self._momentum = np.zeros(self.legs.model.nv)
        self.residual = np.zeros(self.legs.model.nv)

    def update(self, q: Array, qd: Array, effort: Array, dt: float) -> Array:
        """Take a state (nq,), (nv,) with the joint efforts (n,) applied since the last one, `dt` [s] ago.

        Returns the estimated forces of the ground on the feet (k, 3), world axes [N].
        """
        model: Model = self.legs.model
        self._q[:], self._qd[:] = checked("q", q, (model.nq,)), checked("qd", qd, (model.nv,))
        self._effort[model.v_index] = effort
        for term in self._terms:
            term()
        elapsed = max(dt, 0.0) if self._begun else 0.0
        observe(self._matrices, self._qd, self._effort, (self._momentum, self.residual), self.bandwidth, elapsed)
        self._begun = True
        explain(self._J, self._moved, self.residual, DAMPING, self._forces)
        return self._forces.copy()

    def foot_positions(self, q: Array) -> Array:
        """Return the feet (k, 3), world axes [m]."""
        return point_position(self.legs.model, self.legs.feet, q)

    def foot_velocities(self, q: Array, qd: Array) -> Array:
        """Return the velocities of the feet (k, 3), world axes [m/s]."""
        return point_velocity(self.legs.model, self.legs.feet, q, qd)
