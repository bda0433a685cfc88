# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The model against a log of a real robot: how far its efforts are off, and which losses and inertias explain them.

Measured joint efforts are compared with inverse dynamics of the filtered motion. What is left is explained first by
losses of each joint (viscous and Coulomb friction, armature, offset), then by the inertial parameters of all bodies.
"""

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..dynamics.algorithms import inverse_dynamics
from ..dynamics.kinematics import neutral
from ..model.model import Model
from .joint_log import Motion

SMOOTH = 0.05
"""Speed [rad/s or m/s] over which Coulomb friction changes sign: tanh(qd / SMOOTH)."""
LOSSES = ("viscous", "coulomb", "armature", "offset")
SIGNED = np.array([False, False, False, True])
BLOCK = 1.0
"""Residuals further apart than this [s] count as independent in the standard errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Losses of every joint: value and standard error (k, 4) in the order of `LOSSES`, and their effort (N, k)."""

    value: Array
    error: Array
    effort: Array


def predicted_effort(model: Model, moved: Motion) -> Array:
    """Return the efforts (N, k) that the model needs for the motion, joints that were not logged at rest at 0."""
    index = [model.joint_index(joint) for joint in moved.joints]
    Q = np.tile(neutral(model), (len(moved.stamp), 1))
    QD, QDD = np.zeros((2, len(moved.stamp), model.nv))
    Q[:, model.q_index[index]] = moved.q
    QD[:, model.v_index[index]], QDD[:, model.v_index[index]] = moved.qd, moved.qdd
    tau = np.array([inverse_dynamics(model, *state) for state in zip(Q, QD, QDD, strict=True)])
    return tau[:, model.v_index[index]]


def rms(error: Array) -> Array:
    """Return the root mean square (k,) of errors (N, k)."""
    value: Array = np.sqrt(np.mean(error**2, axis=0))
    return value


def correlation(a: Array, b: Array) -> Array:
    """Return the correlation (k,) of two signals (N, k); 0 for one that does not vary."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    value: Array = (a * b).sum(axis=0) / np.where(size > 0.0, size, 1.0)
    return value


def fit_losses(moved: Motion, unexplained: Array, armature: bool = True) -> Losses:
    """Explain what the model leaves (N, k) by losses of each joint: least squares, friction and armature >= 0.

    effort = viscous qd + coulomb tanh(qd / SMOOTH) + armature qdd + offset (Y5). Standard errors (Y6) hold for
    residuals that are correlated within `BLOCK` (sandwich estimate); inf for a loss that the log does not show.
    """
    used = np.array([True, True, armature, True])
    value, error = np.zeros((2, len(moved.joints), len(LOSSES)))
    fitted = np.empty_like(unexplained)
    for j in range(len(moved.joints)):
        columns = loss_columns(moved, j)
        value[j, used] = _least_squares(columns[:, used], unexplained[:, j], SIGNED[used])
        fitted[:, j] = columns @ value[j]
        normal = columns[:, used].T @ columns[:, used]
        scores = [columns[b][:, used].T @ (unexplained - fitted)[b, j] for b in blocks(moved.stamp)]
        error[j, used] = standard_errors(normal, np.array(scores))
    return Losses(value, error, fitted)


def blocks(stamp: Array) -> list[slice]:
    """Cut a log into stretches of `BLOCK`, at least nine."""
    count = max(9, int((stamp[-1] - stamp[0]) / BLOCK))
    edges = np.searchsorted(stamp, np.linspace(stamp[0], stamp[-1], count + 1)[1:-1])
    bounds = [0, *edges.tolist(), len(stamp)]
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]


def loss_columns(moved: Motion, joint: int) -> Array:
    """Return what each loss of a joint would exert at size 1, (N, 4) in the order of `LOSSES`."""
    qd, qdd = moved.qd[:, joint], moved.qdd[:, joint]
    return np.column_stack([qd, np.tanh(qd / SMOOTH), qdd, np.ones_like(qd)])


def standard_errors(normal: Array, scores: Array) -> Array:
    """Return standard errors (p,) of least squares with normal matrix A^T A (p, p): (Y6), [Liang and Zeger 1986].

    scores (b, p): A^T r of every block of residuals. inf where the data determine nothing.
    """
    scale = 1.0 / np.sqrt(np.diagonal(normal) + np.finfo(float).tiny)
    size, axes = np.linalg.eigh(normal * scale * scale[:, None])
    known = size > 1e-12 * size[-1]
    inverse = (axes[:, known] / size[known]) @ axes[:, known].T * scale * scale[:, None]
    spread = inverse @ (scores.T @ scores) @ inverse
    hidden = (np.abs(axes[:, ~known]) > 1e-6).any(axis=1)
    errors: Array = np.where(hidden, np.inf, np.sqrt(np.diagonal(spread)))
    return errors


def _least_squares(A: Array, b: Array, signed: NDArray[np.bool_]) -> Array:
    """Minimise |A x - b| with x >= 0 where not signed: the best of the solutions with some of these left at 0."""
    best, least = np.zeros(A.shape[1]), np.inf
    for kept in product((True, False), repeat=int((~signed).sum())):
        used = signed.copy()
        used[~signed] = kept
        x = np.zeros(A.shape[1])
        x[used] = np.linalg.lstsq(A[:, used], b, rcond=1e-10)[0]
        cost = float(np.sum((A @ x - b) ** 2))
        if (x[~signed] >= 0.0).all() and cost < least:
            best, least = x, cost
    return best
