# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures about a running robot: inertia, energy, and how well the model explains the measured efforts."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..dynamics.algorithms import (
    center_of_mass,
    centroidal_momentum,
    forward_dynamics,
    inverse_dynamics,
    joint_wrenches,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from ..dynamics.kinematics import difference, integrate, point_motion
from ..model.model import Model
from .contacts import NO_CONTACT, Contact, combined, generalised, wrenches

Array = NDArray[np.float64]

LONGEST = 0.1
"""A gap between states after which accounts begin anew [s]."""
LOST = 1.5
"""An interval so many times the usual one has lost states."""
AHEAD = 0.05
"""Clocks may differ by so much [s]."""
MOST_WAITING = 1000
"""So many messages wait for their joint state at most."""
RECENT = 10.0
"""Span of the errors that are told beside those since the beginning [s]."""


@dataclass(frozen=True, slots=True)
class Inertia:
    """Mass matrix (nv, nv), its eigenvalues (nv,) rising, condition, and joint inertias (n,): 1 / (H^-1)_jj (M6)."""

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


def transmitted(model: Model, q: Array, qd: Array, effort: Array, contact: Contact = NO_CONTACT) -> Array:
    """Answer what every joint transmits to its body: [n, f] (nb, 6), body axes, about the body-frame origin (R4).

    The accelerations are those that the measured efforts (n,), less the losses of the URDF, and the contacts make up.
    """
    tau, v = np.zeros(model.nv), model.v_index
    tau[v] = effort - losses(model, qd[v])
    f_ext = wrenches(model, contact, q)
    return joint_wrenches(model, q, qd, forward_dynamics(model, q, qd, tau, f_ext), f_ext)


def losses(model: Model, qd: Array) -> Array:
    """Damping and friction of the URDF at joint velocities (n,) [N m or N]; near rest the friction fades."""
    lost: Array = model.damping * qd + model.friction * np.tanh(qd / SLOW)
    return lost


def delay_margin(inertia: ArrayLike, kp: ArrayLike, kd: ArrayLike) -> Array:
    """Answer how late the commands of a PD loop may come before the joint oscillates by itself [s], joint by joint.

    Open loop (kp + kd s) / (I s^2) (M7): unit gain at w^2 = (kd^2 + sqrt(kd^4 + 4 I^2 kp^2)) / (2 I^2), with a phase
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


SLOW = 0.05
"""Below this speed the friction of a joint may have any value up to Coulomb's [rad/s or m/s]."""
FEWEST = 50
"""So many residuals are needed before they are explained."""
SHARE, WORTH = 0.5, 0.02
"""What an explanation must account for: of the residual's variance, and of the joint's effort."""
SIMPLER = 2.0
"""An explanation by fewer causes may leave so many times the variance that the best one leaves."""


class Cadence:
    """Intervals between stamps, beside the usual one: that which a fifth of the last fifty do not exceed."""

    def __init__(self) -> None:
        """Know no stamp."""
        self._last: float | None = None
        self._intervals: deque[float] = deque(maxlen=50)

    def lasted(self, stamp: float) -> tuple[float, bool]:
        """Return the time since the last stamp [s], nan where accounts begin anew, and whether states were lost in it.

        A stamp that goes back, or LONGEST ahead, begins anew.
        """
        h = stamp - self._last if self._last is not None else np.nan
        self._last = stamp
        if not 0.0 <= h <= LONGEST:
            self._intervals.clear()
            return np.nan, False
        known = sorted(self._intervals)
        lost = bool(known) and h > LOST * known[len(known) // 5]
        if h > 0.0:
            self._intervals.append(h)
        return h, lost


class Stamped(Protocol):
    """A message with a stamp [s]."""

    @property
    def stamp(self) -> float:
        """Time of what it tells [s]."""


M = TypeVar("M", bound=Stamped)


class Companions(Generic[M]):
    """Messages that come beside the joint states, each for the one of its stamp."""

    def __init__(self) -> None:
        """Start without any."""
        self._messages: deque[M] = deque(maxlen=MOST_WAITING)
        self._exact = -np.inf

    def put(self, message: M) -> None:
        """Keep a message until it is due."""
        self._messages.append(message)

    def due(self, stamp: float, now: float) -> Iterator[M]:
        """Take the messages up to the joint state of `stamp` [s]; later ones stay, unless ahead of the time `now`."""
        messages = self._messages
        while messages and not stamp < messages[0].stamp <= now + AHEAD:
            message = messages.popleft()
            if message.stamp == stamp:
                self._exact = stamp
            yield message

    def missing(self, stamp: float) -> bool:
        """Whether the message of this stamp was lost, `due` ones being taken: there are some for states around it."""
        passed = stamp - self._exact
        return 0.0 < passed <= LONGEST or (0.0 < passed < np.inf and bool(self._messages))


@dataclass(frozen=True, slots=True)
class Account:
    """Energy [J] and momentum since the first state (M3, M4).

    kinetic + potential = initial + work_in - dissipated_joint + work_contact + balance_error. momentum_error [N s] and
    angular_momentum_error [N m s] (about the centre of mass): what weight and contacts do not explain of a floating
    robot's momentum; nan with a fixed base. recent_*: how much each error changed in the last 10 s. lost [s]: time
    between states in which others were lost, which is left out: `initial` grows by what the energy changed in it.
    since: stamp of the first state [s].
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
    recent_balance_error: float
    recent_momentum_error: float
    recent_angular_momentum_error: float
    lost: float
    since: float


class State(NamedTuple):
    """A measured state: stamp [s], q (nq,), qd (nv,)."""

    stamp: float
    q: Array
    qd: Array


class MassState(NamedTuple):
    """A state with what follows from it: centre of mass (3,), momentum about it [angular; linear] (6,), world axes."""

    stamp: float
    q: Array
    qd: Array
    centre: Array
    momentum: Array


class Ledger:
    """Accounts for energy and momentum of a measured robot, from every state to the next.

    Effort and contact forces of a state count for the whole interval that ends at it: a plant tells those of the step
    that led to the state, and where they jump, at a touchdown, the trapezoidal rule would miss half a step's impulse.
    Power takes mean velocities, so that constant forces do the work by which the kinetic energy changes. What weight
    does along another way, that of a plant whose contacts hold it, is work of the contacts. Of smooth
    sampled signals, as hardware tells them, this rule is off by half a period of delay: impulses by h / 2 times the
    change of force since the first state, which does not add up, the work by as much as that delay in the drives.
    """

    def __init__(self, model: Model):
        """Begin with the next state."""
        self.model = model
        self._cadence = Cadence()
        self._last: MassState | None = None
        self._initial, self._accounted, self._lost, self._since = np.zeros(7), np.zeros(9), 0.0, 0.0
        self._errors: deque[tuple[float, Array]] = deque()

    def update(self, stamp: float, q: Array, qd: Array, effort: Array, contact: Contact = NO_CONTACT) -> None:
        """Take a state: stamp [s], q (nq,), qd (nv,), effort (n,) measured, contact forces."""
        centre, momentum = center_of_mass(self.model, q), centroidal_momentum(self.model, q, qd)
        before, now = self._last, MassState(stamp, q.copy(), qd.copy(), centre, momentum)
        self._last = now
        h, lost = self._cadence.lasted(stamp)
        if before is None or np.isnan(h):
            self._initial, self._accounted, self._lost, self._since = self._stock(now), np.zeros(9), 0.0, stamp
            self._errors.clear()
        elif lost:
            self._initial = self._initial + self._stock(now) - self._stock(before)
            self._lost += h
        elif h > 0.0:
            self._accounted = self._accounted + h * self._rates(before, now, effort, contact)
        if not self._errors or stamp - self._errors[-1][0] >= 0.01 * RECENT:
            self._errors.append((stamp, self._error(self._stock(now))))
            while stamp - self._errors[0][0] > RECENT:
                self._errors.popleft()

    def account(self) -> Account | None:
        """Return the account at the last state, None before the first."""
        if self._last is None:
            return None
        stock = self._stock(self._last)
        error = self._error(stock)
        recent = error - self._errors[0][1]
        work, lost, pushed = self._accounted[:3].tolist()
        potential = potential_energy(self.model, self._last.q)
        return Account(
            float(stock[0]) - potential, potential, float(self._initial[0]), work, lost, pushed,
            *_sizes(error), *_sizes(recent), self._lost, self._since,
        )  # fmt: skip

    def _stock(self, state: MassState) -> Array:
        """Energy, angular momentum about the centre of mass and momentum (7,); these nan with a fixed base."""
        model, (_, q, qd, _, momentum) = self.model, state
        told = momentum if model.floating_base else np.full(6, np.nan)
        return np.array([kinetic_energy(model, q, qd) + potential_energy(model, q), *told])

    def _error(self, stock: Array) -> Array:
        """What of `stock` (7,) is not accounted for."""
        work, lost, pushed = self._accounted[:3]
        return stock - self._initial - np.array([work - lost + pushed, *self._accounted[3:]])

    def _rates(self, before: MassState, now: MassState, effort: Array, contact: Contact) -> Array:
        """Mean power of efforts, losses, contacts; moment about the centre of mass and force (9,) of an interval."""
        model = self.model
        joints = 0.5 * (before.qd + now.qd)[model.v_index]
        lost = joints @ (model.damping * joints) + model.friction @ np.abs(joints)
        pushed, moment, force = 0.0, np.zeros(3), model.mass * model.gravity
        if len(contact.points):
            (x0, v0, _), (x1, v1, _) = (point_motion(model, contact.points, at.q, at.qd) for at in (before, now))
            pushed = 0.5 * float(np.vdot(contact.force, v0 + v1))
            arm = 0.5 * (x0 + x1 - before.centre - now.centre)
            M = arm.T @ contact.force  # sum x f^T; np.cross would cost as much as all the rest
            moment = np.array([M[1, 2] - M[2, 1], M[2, 0] - M[0, 2], M[0, 1] - M[1, 0]])
            way = model.mass * (now.centre - before.centre) / (now.stamp - before.stamp)
            pushed -= float(model.gravity @ (way - 0.5 * (before.momentum + now.momentum)[3:]))
            force = force + contact.force.sum(axis=0)
        return np.array([effort @ joints, lost, pushed, *moment, *force])


def _sizes(error: Array) -> tuple[float, float, float]:
    """Error of the energy, size of that of the momentum and of the angular momentum."""
    angular, linear = np.linalg.norm(error[1:].reshape(2, 3), axis=1)
    return float(error[0]), float(linear), float(angular)


class Motion(NamedTuple):
    """A residual (n,) with what it may come from: accelerations, velocities, efforts (n,); whether contacts stayed."""

    residual: Array
    qdd: Array
    qd: Array
    effort: Array
    steady: bool


class Residual:
    """Measured effort minus what the equations of motion ask for (M5), joint by joint.

    A residual spans states over `period`: means of effort and contact forces, each counted for the interval that ends
    at its state (see `Ledger`), accelerations from the velocities at both ends, and the equations of motion, with
    damping and friction of the URDF, in the middle.
    """

    def __init__(self, model: Model, span: int, period: float = 0.0):
        """Keep statistics over the last `span` residuals, each over at least `period` [s]; 0: over every interval."""
        self.model, self.period = model, period
        self._cadence = Cadence()
        self._first: State | None = None
        self._since: list[tuple[float, Array, Contact]] = []
        self._recent: deque[Motion] = deque(maxlen=span)

    def update(self, stamp: float, q: Array, qd: Array, effort: Array, contact: Contact = NO_CONTACT) -> Array | None:
        """Take a state and return the residual (n,) [N m or N] at the end of a period, else None.

        Parameters
        ----------
        stamp : [s]. q (nq,), qd (nv,), effort (n,) measured.
        contact : forces of the contacts.
        """
        first, now = self._first, State(stamp, q.copy(), qd.copy())
        h, lost = self._cadence.lasted(stamp)
        if first is None or np.isnan(h) or lost:
            self._first, self._since = now, []
            return None
        if h > 0.0:
            self._since.append((h, effort.copy(), contact))
        if not self._since or stamp - first.stamp < 0.999 * self.period:
            return None
        self._recent.append(self._motion(first, now))
        self._first, self._since = now, []
        return self._recent[-1].residual

    def restart(self) -> None:
        """Begin with the next state, of whatever rate."""
        self._cadence, self._first, self._since = Cadence(), None, []

    def begin(self, stamp: float, q: Array, qd: Array) -> None:
        """Let a period begin at this state, which has been taken."""
        self._first, self._since = State(stamp, q.copy(), qd.copy()), []

    def _motion(self, first: State, now: State) -> Motion:
        """Residual between two states and what goes with it."""
        model, v = self.model, self.model.v_index
        share = np.array([h for h, _, _ in self._since]) / (now.stamp - first.stamp)
        effort = share @ np.array([effort for _, effort, _ in self._since])
        q = integrate(model, first.q, difference(model, first.q, now.q), 0.5)
        qd, qdd = 0.5 * (first.qd + now.qd), (now.qd - first.qd) / (now.stamp - first.stamp)
        contacts = [contact for _, _, contact in self._since]
        tau = (inverse_dynamics(model, q, qd, qdd) - generalised(model, combined(contacts, share), q))[v]
        return Motion(effort - tau - losses(model, qd[v]), qdd[v], qd[v], effort, steady(contacts))

    def rms(self) -> Array:
        """Return the root mean square (n,) over the span."""
        n = len(self.model.joint_names)
        return np.sqrt(np.mean([np.square(m.residual) for m in self._recent], axis=0)) if self._recent else np.zeros(n)

    def suggestion(self) -> Array:
        """Suggest armature [kg m^2], viscous [N m s/rad] and Coulomb friction [N m] per joint (n, 3) for the residual.

        Least squares of residual = constant + armature qdd + viscous qd + Coulomb sign(qd), none of the three negative,
        over residuals with steady contacts. 0 until there is motion enough, and where the three explain less than half
        of the residual's variance or less than 2 % of the joint's effort.
        """
        out = np.zeros((len(self.model.joint_names), 3))
        kept = [m for m in self._recent if m.steady]
        if len(kept) < FEWEST:
            return out
        columns = zip(*(np.transpose([getattr(m, name) for m in kept]) for name in Motion._fields[:4]), strict=True)
        for j, (residual, qdd, qd, effort) in enumerate(columns):
            moving = (np.abs(qd) > 2.0 * SLOW) & (np.abs(qdd) <= 4.0 * np.sqrt(np.mean(np.square(qdd))))
            if moving.sum() >= FEWEST:
                A = np.column_stack([qdd, qd, np.sign(qd)])[moving]
                out[j] = explained(A, residual[moving], WORTH * np.sqrt(np.mean(np.square(effort[moving]))))
        return out


def steady(contacts: Sequence[Contact]) -> bool:
    """Whether the same points touch throughout and no force jumps by more than a quarter of all forces."""
    first = contacts[0].points.body
    if any(not np.array_equal(contact.points.body, first) for contact in contacts):
        return False
    force = np.array([contact.force for contact in contacts])
    jumps = np.linalg.norm(np.diff(force, axis=0), axis=2)
    return bool(jumps.max(initial=0.0) <= 0.25 * np.linalg.norm(force.mean(axis=0), axis=1).sum())


def explained(A: Array, b: Array, least: float) -> Array:
    """Coefficients x >= 0 (k,) of b = A x + constant by least squares; 0 for those, or all, that explain too little.

    Every subset of the few columns is tried; of those that leave little more than the best the smallest is taken.
    A (m, k), b (m,); the explanation must have a root mean square of `least`.
    """
    A, b = A - A.mean(axis=0), b - b.mean()
    count, total = A.shape[1], float(b @ b)
    found = [(total, np.zeros(count))]
    for size in range(1, count + 1):
        for columns in map(list, combinations(range(count), size)):
            x = np.zeros(count)
            x[columns] = np.linalg.lstsq(A[:, columns], b, rcond=1e-6)[0]
            if (x >= 0.0).all():
                found.append((float(np.square(b - A @ x).sum()), x))
    left = min(left for left, _ in found)
    if total - left < max(SHARE * total, len(b) * least**2):
        return np.zeros(count)
    return next(x for more, x in found if more <= SIMPLER * left)
