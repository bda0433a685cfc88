"""Figures about a running robot: inertia, energy, and how well the model explains the measured efforts."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..dynamics import (
    center_of_mass,
    centroidal_momentum,
    forward_dynamics,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from ..model import Model
from ..spatial import rotation_from_quaternion, skew

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


def delay_margin(inertia: ArrayLike, kp: ArrayLike, kd: ArrayLike) -> Array:
    """Answer how late the commands of a PD loop may come before the joint oscillates by itself [s], joint by joint.

    Open loop (kp + kd s) / (I s^2): it has unit gain at w^2 = (kd^2 + sqrt(kd^4 + 4 I^2 kp^2)) / (2 I^2), with a phase
    margin of atan(kd w / kp), which a delay of that angle over w uses up. Infinite without gains.

    Parameters
    ----------
    inertia (n,) about the joints [kg m^2 or kg]; kp [N m/rad or N/m], kd [N m s/rad or N s/m] (n,).
    """
    inertia, kp, kd = (np.asarray(x, dtype=float) for x in (inertia, kp, kd))
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.sqrt((kd**2 + np.sqrt(kd**4 + 4.0 * inertia**2 * kp**2)) / 2.0) / inertia
        margin: Array = np.arctan2(kd * crossing, kp) / crossing
    return np.where((kp > 0.0) | (kd > 0.0), margin, np.inf)


@dataclass(frozen=True, slots=True)
class Account:
    """Energy [J] and momentum since the first state.

    kinetic + potential = initial + work_in - dissipated_joint + work_contact + balance_error. momentum_error [N s] and
    angular_momentum_error [N m s] (about the centre of mass): what weight and contacts do not explain of a floating
    robot's momentum; nan with a fixed base.
    """

    kinetic: float
    potential: float
    initial: float
    work_in: float
    dissipated_joint: float
    work_contact: float
    balance_error: float
    momentum_error: float
    angular_momentum_error: float


class Ledger:
    """Accounts for energy and momentum of a measured robot, by the trapezoidal rule between states."""

    def __init__(self, model: Model, longest: float = 0.1):
        """Begin anew after a gap of more than `longest` [s]."""
        self.model, self.longest = model, longest
        self._last: tuple[float, Array] | None = None
        self._energy, self._momentum, self._accounted = 0.0, np.zeros(6), np.zeros(9)

    def update(self, stamp: float, q: Array, qd: Array, effort: Array, contact: Array) -> Account:
        """Take a state: stamp [s], q (nq,), qd (nv,), effort (n,) measured, contact (nv,) sum of J^T f."""
        model, rate = self.model, self._rates(q, qd, effort, contact)
        kinetic, potential = kinetic_energy(model, q, qd), potential_energy(model, q)
        momentum = centroidal_momentum(model, q, qd) if model.floating_base else np.full(6, np.nan)
        if self._last is None or not 0.0 <= stamp - self._last[0] <= self.longest:
            self._energy, self._momentum, self._accounted = kinetic + potential, momentum, np.zeros(9)
        else:
            self._accounted = self._accounted + 0.5 * (stamp - self._last[0]) * (rate + self._last[1])
        self._last = stamp, rate
        work, lost, pushed = self._accounted[:3].tolist()
        angular, linear = np.linalg.norm((momentum - self._momentum - self._accounted[3:]).reshape(2, 3), axis=1)
        error = kinetic + potential - (self._energy + work - lost + pushed)
        return Account(kinetic, potential, self._energy, work, lost, pushed, error, float(linear), float(angular))

    def _rates(self, q: Array, qd: Array, effort: Array, contact: Array) -> Array:
        """Return power of efforts, losses, contacts, and moment about the centre of mass and force (9,)."""
        model, joints = self.model, qd[self.model.v_index]
        lost = joints @ (model.damping * joints) + model.friction @ np.abs(joints)
        wrench = np.zeros(6)
        if model.floating_base:
            R = rotation_from_quaternion(q[3:7])
            force, lever = R @ contact[3:6], q[:3] - center_of_mass(model, q)
            wrench[:3], wrench[3:] = R @ contact[:3] + skew(lever) @ force, force + model.mass * model.gravity
        return np.array([effort @ joints, lost, contact @ qd, *wrench])


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
