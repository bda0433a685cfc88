"""Feed-forward joint efforts from the equations of motion, split into the parts a person wants to see."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics import bias_forces, gravity_forces, inverse_dynamics
from ..kernels.bodies import point_jacobians
from ..kinematics import Points, point_rows
from ..model import Model
from .stance import FootForces

Array = NDArray[np.float64]
Mode = Literal["gravity", "bias", "inverse_dynamics", "stance"]
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
    """Joint efforts (n,) [N m or N], summing to `total`; forces (feet, 3) of the ground on the feet, world axes [N]."""

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
    """tau = H qdd + C qd + G - J^T f, by parts; the modes leave parts out."""

    def __init__(self, model: Model, mode: Mode, feet: Points | None = None, friction: float = 0.5):
        """Use `mode`; stance needs the feet and the friction coefficient assumed of the ground."""
        self.mode, self.feet = mode, feet
        self.distribution = None if feet is None else FootForces(len(feet), friction)
        self.accelerating = mode in ("inverse_dynamics", "stance")
        self._zero, self._no_forces = np.zeros(model.nv), np.zeros((0, 3))
        self.carry(model)

    def carry(self, model: Model) -> None:
        """Use `model` from now on: the same robot, under another load."""
        self.model = model
        self._feet = None if self.feet is None else point_rows(model, self.feet)

    def solve(self, q: Array, qd: Array, qdd: Array, stance: NDArray[np.bool_]) -> Solution:
        """Answer which forces the motion needs.

        Parameters
        ----------
        q (nq,), qd (nv,) : measured state; see `dynamics` for the conventions.
        qdd (nv,) : desired acceleration; used by inverse_dynamics and stance.
        stance (feet,) : which feet stand.
        """
        rates = self._zero if self.mode == "gravity" else qd
        moving = inverse_dynamics(self.model, q, rates, qdd if self.accelerating else self._zero)
        if self.mode != "stance":
            return Solution(q, qd, moving, self._zero, self._no_forces)
        return Solution(q, qd, moving, *self._contact(q, moving, stance))

    def torque(self, solution: Solution) -> Array:
        """Return the joint efforts (n,) of a solution, joints in the order of `model.joint_names`."""
        joints = self.model.v_index
        return solution.moving[joints] if self._feet is None else (solution.moving - solution.contact)[joints]

    def parts(self, solution: Solution) -> Parts:
        """Answer what the efforts of `torque` consist of."""
        v, q = self.model.v_index, solution.q
        gravity = gravity_forces(self.model, q)
        bias = gravity if self.mode == "gravity" else bias_forces(self.model, q, solution.qd)
        return Parts(
            gravity[v], (bias - gravity)[v], (solution.moving - bias)[v], -solution.contact[v], solution.forces
        )

    def _contact(self, q: Array, moving: Array, stance: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Sum of J^T f (nv,) and forces (feet, 3) that give the base what it needs for the motion."""
        if self._feet is None or self.distribution is None:
            return self._zero, self._no_forces
        model = self.model
        J = np.empty((len(stance), 3, model.nv))
        point_jacobians(model.topology, model.parameters, *self._feet, q, J)
        forces = self.distribution.solve(J[:, :, :6], moving[:6], stance)
        return forces.ravel() @ J.reshape(-1, model.nv), forces
