"""Figures about a running robot: inertia, energy, and how well the model explains the measured efforts."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..dynamics import forward_dynamics, inverse_dynamics, mass_matrix
from ..model import Model

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Inertia:
    """Mass matrix (nv, nv), its eigenvalues (nv,) rising, condition, and joint inertias (n,): 1 / (H^-1)_jj."""

    matrix: Array
    eigenvalues: Array
    condition: float
    reflected: Array


def inertia(model: Model, q: Array) -> Inertia:
    """Answer how the robot resists acceleration at q (nq,).

    The reflected inertia of a joint is what its motor feels with all other joints and the base free to move.
    """
    H = mass_matrix(model, q)
    eigenvalues = np.asarray(np.linalg.eigvalsh(H), dtype=np.float64)
    condition = float(eigenvalues[-1] / eigenvalues[0]) if eigenvalues[0] > 0 else np.inf
    reflected = (
        1.0 / np.diag(np.linalg.inv(H))[model.v_index] if np.isfinite(condition) else np.zeros(len(model.joint_names))
    )
    return Inertia(H, eigenvalues, condition, reflected)


def consistency(model: Model, q: Array, qd: Array, tau: Array) -> float:
    """Answer whether both algorithms are one model: the largest |tau - RNEA(ABA(tau))| over joints [N m or N]."""
    wrench = np.zeros(model.nv)
    wrench[model.v_index] = tau
    back = inverse_dynamics(model, q, qd, forward_dynamics(model, q, qd, wrench))
    return float(np.abs(back - wrench).max())


class Residual:
    """Measured effort minus what the equations of motion ask for, joint by joint.

    Accelerations come from differences of the measured velocities over the last two states; the residual belongs to the
    state in between, with averaged positions, velocities, efforts and contact forces.
    """

    def __init__(self, model: Model, span: int):
        """Keep statistics over the last `span` residuals."""
        self.model = model
        self.last: tuple[float, Array, Array, Array, Array] | None = None
        self._recent: deque[Array] = deque(maxlen=span)
        self._motion: deque[tuple[Array, Array]] = deque(maxlen=span)

    def update(self, stamp: float, q: Array, qd: Array, effort: Array, contact: Array) -> Array | None:
        """Take a state and return the residual (n,) [N m or N], None for the first state or after a gap.

        Parameters
        ----------
        stamp : [s]. q (nq,), qd (nv,), effort (n,) measured.
        contact : (nv,) generalised force of the contacts, sum of J^T f.
        """
        before, self.last = self.last, (stamp, q.copy(), qd.copy(), effort.copy(), contact.copy())
        if before is None or not 0.0 < stamp - before[0] <= 0.1:
            return None
        h = stamp - before[0]
        qdd = (qd - before[2]) / h
        middle = 0.5 * (qd + before[2])
        tau = inverse_dynamics(self.model, q, middle, qdd) - 0.5 * (contact + before[4])
        v = self.model.v_index
        residual: Array = 0.5 * (effort + before[3]) - tau[v]
        self._recent.append(residual)
        self._motion.append((qdd[v], middle[v]))
        return residual

    def rms(self) -> Array:
        """Return the root mean square (n,) over the span."""
        n = len(self.model.joint_names)
        return np.sqrt(np.mean(np.square(self._recent), axis=0)) if self._recent else np.zeros(n)

    def suggestion(self) -> Array:
        """Suggest armature [kg m^2], viscous [N m s/rad] and Coulomb friction [N m] per joint (n, 3) for the residual.

        Least squares of residual = armature qdd + viscous qd + Coulomb tanh(qd / 0.05); 0 until there is motion enough.
        """
        out = np.zeros((len(self.model.joint_names), 3))
        if len(self._recent) < 50:
            return out
        residual = np.array(self._recent)
        qdd, qd = np.array(self._motion).transpose(1, 0, 2)
        for j in np.flatnonzero(np.abs(qd).max(axis=0) > 0.1):
            A = np.column_stack([qdd[:, j], qd[:, j], np.tanh(qd[:, j] / 0.05)])
            out[j] = np.linalg.lstsq(A, residual[:, j], rcond=1e-6)[0]
        return out
