# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters of all bodies from a log, every body possible; base parameters with their standard errors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..model.model import Model
from ..symbolic.mechanism import (
    PARAMETER_BASIS,
    PARAMETER_NAMES,
    Mechanism,
    mechanism,
    parameters_of,
    regressor,
    root_link,
)
from .joint_fit import (
    LOSSES,
    SIGNED,
    blocks,
    loss_columns,
    rms,
    standard_errors,
)
from .joint_log import Motion

PRIOR_WEIGHTS = tuple(10.0**exponent for exponent in range(5, -2, -1))
"""Tried weights of the prior: the largest that predicts the last third of the log as well as the best does is taken."""
AS_WELL = 1.02
"""Squared error over the least one that still counts as equal."""
BARRIER = 1e-3
"""Weight of -log of losses that must not be negative, over that of the prior."""
NO_MASS, NO_RADIUS = 1e-6, 1e-3
"""Mass [kg] and radius of gyration [m] at or below which a body of the URDF is taken to lack it."""
USUAL_MASS, USUAL_RADIUS = 0.1, 0.03
"""What the prior has instead: fraction of the mean mass, radius of gyration [m]."""
STEPS, ENOUGH = 300, 1e-6
"""Most Newton steps for one weight; promised descent, in squared errors over their variance, at which they end."""
RESOLUTION = 1e-3
"""Fraction of a joint's effort below which errors do not matter."""


@dataclass(frozen=True, slots=True, eq=False)
class Inertias:
    """Inertial parameters that explain a log, and the losses that go with them.

    parameters, prior (10 k,): the bodies' parameters now and in the URDF, `PARAMETER_NAMES` each, in the axes of the
    links; losses (k, 4); effort (N, k) predicted; prior_weight: the one taken; unseen (k,): rms error on the last third
    of the log after a fit to the first two. Base parameters (b,), the combinations that show in the efforts: names,
    base now, base_prior in the URDF, base_error standard errors (inf: the log does not show it).
    """

    joints: tuple[str, ...]
    parameters: Array
    prior: Array
    losses: Array
    effort: Array
    prior_weight: float
    unseen: Array
    base_names: tuple[str, ...]
    base: Array
    base_prior: Array
    base_error: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Normal:
    """Normal equations of some samples: A^T A, A^T y, y^T y over x = (parameters (10 k), losses (k, 4))."""

    matrix: Array
    vector: Array
    square: float

    def misfit(self, x: Array) -> float:
        """|A x - y|^2."""
        return float(x @ self.matrix @ x - 2.0 * self.vector @ x + self.square)


def fit_inertias(model: Model, moved: Motion) -> Inertias:
    """Answer which inertias and losses explain the log best while every body stays possible and near the URDF.

    Minimises over parameters pi and losses phi (Y7, Y8; convex, one solution [Lee, Wensing and Park 2020])

        1/2 sum ((effort - Y pi - F phi) / sigma_j)^2 + w sum_i D(J_i, J_i of the URDF),   friction, armature >= 0

    with D(J, J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4, which keeps every pseudo-inertia J positive definite and leaves
    what the log does not show where the URDF has it; sigma_j: rms error of plain least squares; w: see `PRIOR_WEIGHTS`.
    Raises ModelError for joints without a Lagrange form (planar, floating, mimic and what they follow).
    """
    robot = mechanism(model, moved.joints, root_link(model))
    usual = USUAL_MASS * max(robot.J[1:, 3, 3].mean(), 1.0e-3)
    prior = np.array([possible(J, usual) for J in robot.J[1:]])
    parts = blocks(moved.stamp)
    sigma = _noise(robot, moved, parts)
    normals = [_normal_equations(robot, moved, part, sigma) for part in parts]
    split = 2 * len(parts) // 3
    seen, unseen = _total(normals[:split]), _total(normals[split:])
    trials = _path(seen, prior, PRIOR_WEIGHTS)
    misfit = {weight: unseen.misfit(x) for weight, x in trials.items()}
    weight = max(w for w in PRIOR_WEIGHTS if misfit[w] <= AS_WELL * min(misfit.values()))
    x = _path(_total(normals), prior, PRIOR_WEIGHTS[: PRIOR_WEIGHTS.index(weight) + 1])[weight]
    later = slice(parts[split].start, None)
    k = len(moved.joints)
    names, base, base_prior, base_error = _base_parameters(robot, normals, x)
    return Inertias(
        joints=moved.joints,
        parameters=x[: 10 * k],
        prior=robot.parameters,
        losses=x[10 * k :].reshape(k, len(LOSSES)),
        effort=_effort(robot, moved, x),
        prior_weight=weight,
        unseen=rms((moved.effort - _effort(robot, moved, trials[weight]))[later]),
        base_names=names,
        base=base,
        base_prior=base_prior,
        base_error=base_error,
    )


def possible(J: Array, usual_mass: float) -> Array:
    """Return J (4, 4), with a usual mass and usual second moments about c for those that no body can have."""
    m = J[3, 3] if J[3, 3] > NO_MASS else usual_mass
    c = J[:3, 3] / m
    moments, axes = np.linalg.eigh(J[:3, :3] - m * np.outer(c, c))
    moments = np.where(moments > m * NO_RADIUS**2, moments, m * USUAL_RADIUS**2)
    out = np.empty((4, 4))
    out[:3, :3] = (axes * moments) @ axes.T + m * np.outer(c, c)
    out[:3, 3] = out[3, :3] = m * c
    out[3, 3] = m
    return out


def pseudo_inertias_of(parameters: Array) -> Array:
    """Return J (k, 4, 4) of parameters (10 k,); the inverse of `parameters_of`."""
    J: Array = np.tensordot(parameters.reshape(-1, 10), PARAMETER_BASIS, 1)
    return J


def _design(robot: Mechanism, moved: Motion, part: slice) -> Array:
    """A (samples, k, 14 k) with effort = A x."""
    k = len(moved.joints)
    Y = regressor(robot, moved.q[part], moved.qd[part], moved.qdd[part])
    F = np.zeros((len(Y), k, k, len(LOSSES)))
    for j in range(k):
        F[:, j, j] = loss_columns(moved, j)[part]
    return np.concatenate([Y, F.reshape(len(Y), k, -1)], axis=2)


def _normal_equations(robot: Mechanism, moved: Motion, part: slice, sigma: Array) -> _Normal:
    A = (_design(robot, moved, part) / sigma[:, None]).reshape(-1, 14 * len(sigma))
    y = (moved.effort[part] / sigma).ravel()
    return _Normal(A.T @ A, A.T @ y, float(y @ y))


def _noise(robot: Mechanism, moved: Motion, parts: Sequence[slice]) -> Array:
    """Root mean square (k,) of what no parameters explain, at least `RESOLUTION` of the effort."""
    total = _total([_normal_equations(robot, moved, part, np.ones(len(moved.joints))) for part in parts])
    x = np.linalg.lstsq(total.matrix, total.vector, rcond=1e-12)[0].astype(np.float64)
    noise: Array = np.maximum(rms(moved.effort - _effort(robot, moved, x)), RESOLUTION * rms(moved.effort)) + 1e-9
    return noise


def _total(normals: Sequence[_Normal]) -> _Normal:
    matrix = np.sum([normal.matrix for normal in normals], axis=0)
    vector = np.sum([normal.vector for normal in normals], axis=0)
    return _Normal(matrix, vector, sum(normal.square for normal in normals))


def _effort(robot: Mechanism, moved: Motion, x: Array) -> Array:
    """Efforts (N, k) of parameters and losses x."""
    return np.concatenate([_design(robot, moved, part) @ x for part in blocks(moved.stamp)])


def _path(normal: _Normal, prior: Array, weights: Sequence[float]) -> dict[float, Array]:
    """Minimise the objective of `fit_inertias` for falling weights of the prior, each from the solution before."""
    k = len(prior)
    prior_inverse = np.linalg.inv(prior).astype(np.float64)
    x = np.concatenate([*map(parameters_of, prior), np.where(np.tile(~SIGNED, k), 0.1, 0.0)])
    found = {}
    for weight in weights:
        x = found[weight] = _newton(x, normal, prior_inverse, weight)
    return found


def _newton(x: Array, normal: _Normal, prior_inverse: Array, weight: float) -> Array:
    """Newton steps of the length that self-concordance allows (Y10), doubled while that descends further."""
    for _ in range(STEPS):
        gradient, hessian = _slopes(x, normal, prior_inverse, weight)
        scale = 1.0 / np.sqrt(np.diagonal(hessian))
        step = -scale * np.linalg.solve(hessian * scale * scale[:, None], scale * gradient)
        promise = -float(gradient @ step)
        if promise < ENOUGH:
            break
        length = 1.0 / (1.0 + np.sqrt(promise / (BARRIER * weight)))
        value = _objective(x + length * step, normal, prior_inverse, weight)
        while (further := _objective(x + 2.0 * length * step, normal, prior_inverse, weight)) < value:
            length, value = 2.0 * length, further
        x = x + length * step
    return x


def _objective(x: Array, normal: _Normal, prior_inverse: Array, weight: float) -> float:
    """Value; inf outside the possible parameters."""
    k = len(prior_inverse)
    J, losses = pseudo_inertias_of(x[: 10 * k]), x[10 * k :].reshape(k, -1)[:, ~SIGNED]
    if losses.min() <= 0.0 or np.linalg.eigvalsh(J)[:, 0].min() <= 0.0:
        return np.inf
    distance = np.sum(prior_inverse * J) - np.linalg.slogdet(J)[1].sum()
    return 0.5 * normal.misfit(x) + weight * float(distance - BARRIER * np.log(losses).sum())


def _slopes(x: Array, normal: _Normal, prior_inverse: Array, weight: float) -> tuple[Array, Array]:
    """Gradient and Hessian (Y9): d log det J = tr(J^-1 dJ), d J^-1 = -J^-1 dJ J^-1."""
    k = len(prior_inverse)
    inverse = np.linalg.inv(pseudo_inertias_of(x[: 10 * k]))
    gradient = normal.matrix @ x - normal.vector
    hessian = normal.matrix.copy()
    gradient[: 10 * k] += weight * np.einsum("pab,kab->kp", PARAMETER_BASIS, prior_inverse - inverse).ravel()
    turned = inverse[:, None] @ PARAMETER_BASIS  # J^-1 E_p
    for i in range(k):
        body = slice(10 * i, 10 * i + 10)
        hessian[body, body] += weight * np.einsum("pab,qba->pq", turned[i], turned[i])
    bounded = 10 * k + np.flatnonzero(np.tile(~SIGNED, k))
    gradient[bounded] -= weight * BARRIER / x[bounded]
    hessian[bounded, bounded] += weight * BARRIER / x[bounded] ** 2
    return gradient, hessian


def _base_parameters(
    robot: Mechanism, normals: Sequence[_Normal], x: Array
) -> tuple[tuple[str, ...], Array, Array, Array]:
    """Names, values in x and in the URDF, standard errors of the combinations of parameters and armatures that show."""
    k = len(robot.joint_names)
    armature = 10 * k + np.arange(k) * len(LOSSES) + LOSSES.index("armature")
    columns = np.concatenate([np.arange(10 * k), armature])
    chosen, others, K = _independent(robot)
    value = x[columns]
    prior = np.concatenate([robot.parameters, robot.armature])
    labels = [f"{joint}: {name}" for joint in robot.joint_names for name in PARAMETER_NAMES]
    labels += [f"{joint}: armature" for joint in robot.joint_names]
    shared = (np.abs(K) > 1e-9).sum(axis=1)
    names = tuple(labels[c] + (f" and {n} more" if n else "") for c, n in zip(chosen, shared, strict=True))
    rest = np.setdiff1d(np.arange(len(x)), columns)
    index = np.concatenate([columns[chosen], rest])
    total = _total(normals)
    matrix = total.matrix[np.ix_(index, index)]
    solution = np.linalg.lstsq(matrix, total.vector[index], rcond=1e-12)[0]
    scores = np.array([n.vector[index] - n.matrix[np.ix_(index, index)] @ solution for n in normals])
    error = standard_errors(matrix, scores)[: len(chosen)]
    return names, value[chosen] + K @ value[others], prior[chosen] + K @ prior[others], error


def _independent(robot: Mechanism) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Columns of (parameters, armatures) that are independent in any motion, the others, and these in terms of those.

    Found at random states: a column that depends on earlier ones has no diagonal entry in R of Q R (Y11,
    [Gautier 1991]).
    """
    k = len(robot.joint_names)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-np.pi, np.pi, (3, 20 * k, k))
    motors = qdd[:, :, None] * np.eye(k)
    samples = np.concatenate([regressor(robot, q, qd, qdd), motors], axis=2).reshape(-1, 11 * k)
    size = np.linalg.norm(samples, axis=0)
    R = np.linalg.qr(samples / np.where(size > 1e-9 * size.max(), size, np.inf), mode="r")
    free = np.abs(np.diagonal(R)) > 1e-9
    chosen, others = np.flatnonzero(free), np.flatnonzero(~free)
    return chosen, others, np.linalg.lstsq(samples[:, chosen], samples[:, others], rcond=None)[0]
