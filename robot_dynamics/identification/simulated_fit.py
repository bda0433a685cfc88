# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What makes a simulated plant follow a log of positions under the same commands: no torques are needed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..dynamics.kinematics import neutral, points
from ..errors import ParameterError, UnknownNameError
from ..model.description import Link
from ..model.model import Model
from ..simulation.batch import PlantBatch
from ..simulation.plant import Plant, PlantParams
from .commanded_log import Tracked
from .joint_fit import standard_errors
from .joint_log import LogError

ARMATURE, VISCOUS, COULOMB, GAIN, DELAY, PAYLOAD = FITTED = (
    "armature", "viscous", "coulomb", "gain", "delay", "payload",
)  # fmt: skip
PER_JOINT = (ARMATURE, VISCOUS, COULOMB)
UNITS = dict(zip(FITTED, ("kg m^2", "N m s/rad", "N m", "", "s", "kg"), strict=True))
LEAST = dict(zip(FITTED, (2e-4, 2e-3, 5e-3, 1e-2, 2e-4, 5e-3), strict=True))
"""Half of the smallest difference that is taken, and the smallest value: a fit that ends there found none."""
START = dict(zip(FITTED, (5e-3, 2e-2, 5e-2, 1.0, 2e-3, 5e-3), strict=True))
"""Where the fit begins, if the URDF does not say."""
SHARE = 0.02
"""Half of a difference over the value."""
TIMESTEP = 5e-4
"""Longest timestep [s]."""
BLOCK = 1.0
"""Residuals further apart [s] count as independent in the standard errors."""
SETTLING = 1.0
"""Time [s], at most a fifth of the log, after which it counts: the first state is not known exactly."""
DAMPINGS = 10.0 ** np.arange(-6.0, 2.0)
"""Trial damping factors, as many as there are SIMD lanes."""
ITERATIONS, ENOUGH = 30, 1e-4
"""Most iterations; share of the squared error that the last one improves by less than."""
IMMOBILE = 1e6
"""Armature of joints that are not in the log."""


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedFit:
    """Parameters (p,) with their names, kinds and standard errors, where the fit began, and how well the plant follows.

    position (T, k) of the plant with them, [rad or m]; before, after (k,): rms errors of position; cost: squared error
    after each iteration.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    value: Array
    start: Array
    error: Array
    position: Array
    before: Array
    after: Array
    cost: tuple[float, ...]

    def of(self, kind: str) -> Array:
        """Values of one kind, by joint where there are several."""
        return self.value[[name == kind for name in self.kinds]]


@dataclass(frozen=True)
class Problem:
    """A log, the gains kp, kd (k,) of the robot's own controllers, and what is fitted."""

    model: Model
    log: Tracked
    kp: Array
    kd: Array
    fitted: Sequence[str] = FITTED[:-1]
    payload: str = ""
    """Link that carries a mass at its centre of mass, if `fitted` holds PAYLOAD."""

    def __post_init__(self) -> None:
        """Check names. Raises UnknownNameError, ParameterError."""
        for kind in self.fitted:
            if kind not in FITTED:
                raise UnknownNameError("parameter to fit", kind, FITTED)
        if PAYLOAD in self.fitted:
            self.model.link_index(self.payload)
        if self.model.floating_base:
            raise ParameterError("the base must be fixed: the log says nothing of where it is")

    @cached_property
    def layout(self) -> list[tuple[str, int]]:
        """Kind and joint (-1: none) of each parameter."""
        k = len(self.log.joints)
        return [(kind, j) for kind in FITTED if kind in self.fitted for j in (range(k) if kind in PER_JOINT else [-1])]

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """Joints of the log, in the model."""
        return np.array([self.model.joint_index(joint) for joint in self.log.joints])

    @cached_property
    def substeps(self) -> int:
        """Timesteps in a tick."""
        return int(np.ceil(self.log.dt / TIMESTEP - 1e-9))

    def start(self) -> Array:
        """Where the fit begins: what the URDF says, if it says anything."""
        own = {ARMATURE: self.model.armature, VISCOUS: self.model.damping, COULOMB: self.model.friction}
        said = [own[kind][self.index[j]] if kind in own else 0.0 for kind, j in self.layout]
        return np.array([x if x > LEAST[kind] else START[kind] for x, (kind, _) in zip(said, self.layout, strict=True)])

    def plant(self, x: Array) -> Plant:
        """A plant with parameters x."""
        model = self.model
        figures = {ARMATURE: model.armature.copy(), VISCOUS: model.damping.copy(), COULOMB: model.friction.copy()}
        figures[ARMATURE][np.setdiff1d(np.arange(len(model.joint_names)), self.index)] = IMMOBILE
        for (kind, j), value in zip(self.layout, x, strict=True):
            if kind in PER_JOINT:
                figures[kind][self.index[j]] = value
            elif kind == PAYLOAD:
                model = model.with_links([loaded(link, value, self.payload) for link in model.robot.links])
        armature, damping, friction = (figures[kind] for kind in PER_JOINT)
        model = replace(model, limbs=None, armature=armature, damping=damping, friction=friction)
        params = PlantParams(self.log.dt / self.substeps, terrain=())
        return Plant(model, params, points(model, {}))

    def single(self, kind: str, X: Array, default: float) -> Array:
        """Column of a parameter that there is once, of sets X (m, p)."""
        where = [k for k, (name, _) in enumerate(self.layout) if name == kind]
        return X[:, where[0]] if where else np.full(len(X), default)

    def errors(self, part: slice, seen: Array) -> Array:
        """Positions (ticks, m, k) of plants less those of the log (ticks', m, k), from SETTLING on."""
        lead = min(round(SETTLING / self.log.dt), len(self.log.q) // 5)
        return (seen - self.log.q[part, None])[max(0, lead - part.start) :]

    def simulate(self, X: Array) -> Iterator[tuple[slice, Array, NDArray[np.bool_]]]:
        """Yield ticks, positions (ticks, m, k) and which of m plants with parameters X (m, p) still go on.

        A block of BLOCK seconds at a time, all from the log's first state, under its commands.
        """
        batch = PlantBatch([self.plant(x) for x in X])
        n, k, h = len(self.model.joint_names), self.index, self.log.dt / self.substeps
        q, qd = neutral(self.model), np.zeros(self.model.nv)
        q[self.model.q_index[k]], qd[self.model.v_index[k]] = self.log.start, self.log.start_rate
        batch.reset(None, q, qd)
        gain = self.single(GAIN, X, 1.0)[:, None]
        kp, kd, q_des = np.zeros((3, len(X), n))
        kp[:, k], kd[:, k] = gain * self.kp, gain * self.kd
        delays, which = np.unique(self.single(DELAY, X, 0.0), return_inverse=True)
        # half a timestep: by so much positions of a semi-implicit step are early (Y13)
        streams = np.stack([delayed(self.log.command, self.log.dt, h, self.substeps, d + 0.5 * h) for d in delays])
        columns, block = self.model.q_index[k], max(1, round(BLOCK / self.log.dt))
        for begin in range(0, len(self.log.q), block):
            part = slice(begin, min(begin + block, len(self.log.q)))
            seen = np.empty((part.stop - begin, len(X), len(k)))
            for t in range(begin, part.stop):
                seen[t - begin] = batch.q[:, columns]
                for s in range(t * self.substeps, (t + 1) * self.substeps):
                    q_des[:, k] = streams[which, s]
                    batch.step(q_des, None, kp, kd)
            alive = np.ones(len(X), bool)
            alive[list(batch.diverged)] = False
            yield part, seen, alive


def loaded(link: Link, mass: float, name: str) -> Link:
    """The link of this name with so much more mass at its centre of mass, any other as it is."""
    own = link.inertial
    return link if link.name != name or own is None else replace(link, inertial=replace(own, mass=own.mass + mass))


def delayed(command: Array, dt: float, h: float, substeps: int, delay: float) -> Array:
    """Mean of a command (T, k), held from tick to tick, over each timestep h, `delay` later: (T substeps, k) (Y13)."""
    total = np.concatenate([np.zeros((1, command.shape[1])), np.cumsum(command, axis=0)]) * dt
    edges = h * np.arange(len(command) * substeps + 1) - delay
    tick = np.clip(np.floor(edges / dt + 1e-9).astype(int), 0, len(command) - 1)
    integral = total[tick] + command[tick] * (edges - tick * dt)[:, None]
    mean: Array = np.diff(integral, axis=0) / h
    return mean


def fit_simulated(problem: Problem, told: Callable[[str, float], None] = lambda what, share: None) -> SimulatedFit:
    """Answer which parameters make the plant follow the log: least squares of positions by Levenberg-Marquardt (Y12).

    Sensitivities are centred differences, all plants abreast in one `PlantBatch`; so are the trial steps of an
    iteration, for DAMPINGS. `told` hears what is being done, and the share of it that is.

    Raises
    ------
    LogError
        The plant does not survive the log with any parameters tried.
    """
    kinds = [kind for kind, _ in problem.layout]
    least = np.array([LEAST[kind] for kind in kinds])
    x = first = problem.start()
    costs: list[float] = []
    for iteration in range(ITERATIONS):
        say = partial(told, f"iteration {iteration + 1}")
        normal, gradient, scores, cost = _sensitivities(problem, x, least, say)
        if not costs:
            costs.append(cost)
        trials = np.array([_step(x, normal, gradient, least, damping) for damping in DAMPINGS])
        found = _costs(problem, trials, say)
        best = int(np.argmin(found))
        if found[best] < cost:
            x = trials[best]
            costs.append(float(found[best]))
        if not found[best] < (1.0 - ENOUGH) * cost:
            break
    seen = np.concatenate([y for _, y, _ in problem.simulate(np.array([first, x]))])
    before, after = np.sqrt(np.mean(problem.errors(slice(0, None), seen) ** 2, axis=0))
    names = tuple(f"{kind} of {problem.log.joints[j]}" if j >= 0 else kind for kind, j in problem.layout)
    error = standard_errors(normal, scores)
    return SimulatedFit(names, tuple(kinds), x, first, error, seen[:, 1], before, after, tuple(costs))


def _sensitivities(
    problem: Problem, x: Array, least: Array, told: Callable[[float], None]
) -> tuple[Array, Array, Array, float]:
    """J^T J, J^T r, J^T r of each block, |r|^2 with r the plant's positions less those of the log. Raises LogError."""
    p = len(x)
    half = np.maximum(SHARE * x, least) * np.ones(p)
    X = np.concatenate([x[None], x + np.diag(half), x - np.diag(half)])
    normal, scores, cost = np.zeros((p, p)), [], 0.0
    for part, seen, alive in problem.simulate(X):
        if not alive.all():
            raise LogError("the simulated plant does not survive the log: are gains, map and URDF those of the robot?")
        off = problem.errors(part, seen)
        J = ((off[:, 1 : p + 1] - off[:, p + 1 :]) / (2.0 * half[:, None])).transpose(0, 2, 1).reshape(-1, p)
        r = off[:, 0].ravel()
        normal += J.T @ J
        scores.append(J.T @ r)
        cost += float(r @ r)
        told(part.stop / len(problem.log.q))
    return normal, np.sum(scores, axis=0), np.array(scores), cost


def _step(x: Array, normal: Array, gradient: Array, least: Array, damping: float) -> Array:
    """A damped Gauss-Newton step that stays at or above the least values; what would leave them stays (Y12)."""
    free = np.ones(len(x), bool)
    for _ in range(len(x)):
        step = np.zeros(len(x))
        matrix = normal[np.ix_(free, free)]
        scale = 1.0 / np.sqrt(np.diagonal(matrix) + np.finfo(float).tiny)
        scaled = matrix * scale * scale[:, None] + damping * np.eye(len(scale))
        step[free] = -scale * np.linalg.lstsq(scaled, scale * gradient[free], rcond=1e-12)[0]
        held = free & (x <= least) & (step < 0.0)
        if not held.any():
            break
        free &= ~held
    return np.maximum(x + step, least)


def _costs(problem: Problem, X: Array, told: Callable[[float], None]) -> Array:
    """|r|^2 of each set of parameters; inf where the plant does not survive."""
    total = np.zeros(len(X))
    for part, seen, alive in problem.simulate(X):
        total += np.sum(problem.errors(part, seen) ** 2, axis=(0, 2))
        total[~alive] = np.inf
        told(part.stop / len(problem.log.q))
    return total
