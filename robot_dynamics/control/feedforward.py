"""Feed-forward joint efforts from the equations of motion, split into the parts a person wants to see."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..dynamics import bias_forces, gravity_forces, inverse_dynamics
from ..kinematics import Points, point_jacobian
from ..model import Model
from .stance import FootForces

Array = NDArray[np.float64]
Mode = Literal["gravity", "bias", "inverse_dynamics", "stance"]
PARTS = ("gravity", "coriolis", "inertia", "contact", "total")


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
        self.model, self.mode, self.feet = model, mode, feet
        self.distribution = None if feet is None else FootForces(len(feet), friction)

    def parts(self, q: Array, qd: Array, qdd: Array, stance: NDArray[np.bool_]) -> Parts:
        """Answer which joint efforts the motion needs.

        Parameters
        ----------
        q (nq,), qd (nv,) : measured or desired state; see `dynamics` for the conventions.
        qdd (nv,) : desired acceleration; used by inverse_dynamics and stance.
        stance (feet,) : which feet stand.

        Returns
        -------
        Parts, joints in the order of `model.joint_names`.
        """
        zero = np.zeros(self.model.nv)
        gravity = gravity_forces(self.model, q)
        coriolis = zero if self.mode == "gravity" else bias_forces(self.model, q, qd) - gravity
        inertia = zero
        if self.mode in ("inverse_dynamics", "stance"):
            inertia = inverse_dynamics(self.model, q, qd, qdd) - gravity - coriolis
        contact, forces = zero, np.zeros((0 if self.feet is None else len(self.feet), 3))
        if self.mode == "stance" and self.feet is not None and self.distribution is not None:
            J = point_jacobian(self.model, self.feet, q)
            forces = self.distribution.solve(J[:, :, :6], (gravity + coriolis + inertia)[:6], stance)
            contact = -np.einsum("kiv,ki->v", J, forces)
        v = self.model.v_index
        return Parts(gravity[v], coriolis[v], inertia[v], contact[v], forces)
