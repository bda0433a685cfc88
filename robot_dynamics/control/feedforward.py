# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward joint efforts from the equations of motion, split into the parts a person wants to see."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import bound
from ..dynamics.algorithms import NO_WRENCH, bias_forces, driver_of, gravity_forces, inverse_dynamics
from ..dynamics.kinematics import Points, point_rows
from ..errors import ShapeError
from ..kernels.bodies import point_jacobians
from ..model.model import Model
from .stance import FootForces
from .state import span

Array = NDArray[np.float64]
Mode = Literal["gravity", "bias", "inverse_dynamics", "stance"]
Rows = tuple[NDArray[np.int64], Array]
PARTS = ("gravity", "coriolis", "inertia", "contact", "total")


class Solution(NamedTuple):
    """What carries a motion: state q (nq,), qd (nv,); H qdd + C qd + G (nv,), as far as the mode goes; J^T f (nv,).

    forces (feet, 3) of the ground on the feet, world axes [N].
    """

    q: Array
    qd: Array
    moving: Array
    contact: Array
    forces: Array


@dataclass(frozen=True, slots=True)
class Parts:
    """Joint efforts (n,) [N m or N], summing to `total`; forces (feet, 3) of the ground on the feet, world axes [N].

    `contact` is that of the feet and of wrenches that sensors measure.
    """

    gravity: Array
    coriolis: Array
    inertia: Array
    contact: Array
    forces: Array

    @property
    def total(self) -> Array:
        """Their sum (n,)."""
        return self.gravity + self.coriolis + self.inertia + self.contact


class Feedforward:
    """tau = H qdd + C qd + G - J^T f (H1), by parts; the modes leave parts out."""

    def __init__(
        self, model: Model, mode: Mode, q: Array, qd: Array, feet: Points | None = None, friction: float = 0.5
    ):
        """Use `mode`; stance needs the feet and the friction coefficient assumed of the ground.

        q (nq,), qd (nv,) are the measured state and `qdd` (nv,) the desired acceleration, used by inverse_dynamics and
        stance: whoever knows them writes them there, in place. See `dynamics` for the conventions.
        """
        self.mode, self.q, self.qd = mode, q, qd
        self.feet = feet if mode == "stance" else None
        self.distribution = None if self.feet is None else FootForces(len(self.feet), friction)
        self.accelerating = mode in ("inverse_dynamics", "stance")
        self.qdd, self._moving, self._zero = np.zeros((3, model.nv))
        self._free = Solution(q, qd, self._moving, self._zero, np.zeros((0, 3)))
        self._joints = span(model.v_index)
        self._wrench = NO_WRENCH
        self.carry(model)

    def carry(self, model: Model) -> None:
        """Use `model` from now on: the same robot, under another load."""
        self.model = model
        self._feet = None if self.feet is None else point_rows(model, self.feet)
        rates = self._zero if self.mode == "gravity" else self.qd
        motion = self.q, rates, self.qdd if self.accelerating else self._zero, self._wrench
        kernels, robot, memory = driver_of(model)
        self._move = bound(kernels.inverse_dynamics, *robot, *motion, *memory, self._moving)

    @property
    def bearing(self) -> bool:
        """Whether it reckons with wrenches, 0 or not."""
        return len(self._wrench) > 0

    def bear(self, f_ext: Array) -> None:
        """Reckon with the wrenches (nb, 6) of the environment on the bodies from now on, body axes."""
        if not self.bearing:
            self._wrench = np.empty(f_ext.size)
            self.carry(self.model)
        self._wrench[:] = f_ext.ravel()

    def solve(self, load: Array | NDArray[np.bool_]) -> Solution:
        """Answer which forces the motion needs; which feet stand is told by load (feet,), see `FootForces`.

        The next call writes the same memory again.

        Raises
        ------
        ShapeError
            The state or the acceleration is not finite.
        """
        if not self._move():
            raise ShapeError(f"expected finite numbers, got q = {self.q}, qd = {self.qd}, qdd = {self.qdd}")
        if self._feet is None or self.distribution is None:
            return self._free
        contact, forces = self._contact(self._feet, self.distribution, load)
        return Solution(self.q, self.qd, self._moving, contact, forces)

    def torque(self, solution: Solution) -> Array:
        """Return the joint efforts (n,) of a solution, joints in the order of `model.joint_names`."""
        moving = solution.moving
        return moving[self._joints] if solution is self._free else (moving - solution.contact)[self._joints]

    def elsewhere(self, q: Array, qd: Array) -> "Feedforward":
        """Return the same feed-forward for another state (nq,), (nv,), which is to be written there, in place."""
        friction = 0.0 if self.distribution is None else self.distribution.friction
        other = Feedforward(self.model, self.mode, q, qd, self.feet, friction)
        if self.bearing:
            other.bear(self._wrench)
        return other

    def parts(self, solution: Solution) -> Parts:
        """Answer what the efforts of `torque` consist of."""
        v, q = self.model.v_index, solution.q
        gravity = gravity_forces(self.model, q)
        bias = gravity if self.mode == "gravity" else bias_forces(self.model, q, solution.qd)
        borne = self._borne(q) - gravity if self.bearing else self._zero
        inertia, contact = solution.moving - bias - borne, borne - solution.contact
        return Parts(gravity[v], (bias - gravity)[v], inertia[v], contact[v], solution.forces)

    def _borne(self, q: Array) -> Array:
        """G - J^T f_ext (nv,) at q (nq,)."""
        rest = np.zeros(self.model.nv)
        return inverse_dynamics(self.model, q, rest, rest, self._wrench.reshape(-1, 6))

    def _contact(self, feet: Rows, distribution: FootForces, load: Array | NDArray[np.bool_]) -> tuple[Array, Array]:
        """Sum of J^T f (nv,) and forces (feet, 3) that give the base what it needs for the motion (H4)."""
        model = self.model
        J = np.empty((len(load), 3, model.nv))
        point_jacobians(model.topology, model.parameters, *feet, self.q, J)
        forces = distribution.solve(J[:, :, :6], self._moving[:6], load)
        return forces.ravel() @ J.reshape(-1, model.nv), forces
