# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the equations of motion: check the input, allocate the result, call a kernel.

Conventions of `q`, `qd`, `qdd`, `tau` and `f_ext` as in `algorithms`. A change of q is a vector d (nv,) of the tangent
space, q (+) d = integrate(model, q, d, 1): the first six of a floating base are a twist in base axes. Column k of a
derivative belongs to d_k; `f_ext` is held fixed in the axes of its bodies.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..core.checks import checked
from ..errors import SingularModelError
from ..kernels import batch, centroidal, derivatives
from ..model.model import Model
from .algorithms import by_tiles, check_regular, checked_states, flat_wrench, forward_dynamics, workspace

Derivatives = tuple[Array, Array, Array]


def inverse_dynamics_derivatives(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None
) -> Derivatives:
    """Answer how the forces of `inverse_dynamics` change with the motion (V1-V8, [Carpentier and Mansard 2018]).

    O(n d), for every tree: free, planar, prismatic and mimic joints, rotors and armature.

    Returns
    -------
    dtau_dq, dtau_dqd, H : (nv, nv)
        tau(q (+) d, qd + e, qdd + f) = tau + dtau_dq d + dtau_dqd e + H f, to first order.

    Raises
    ------
    ShapeError
        Wrong length, or values that are not finite.
    """
    state = checked("q", q, (model.nq,)), checked("qd", qd, (model.nv,)), checked("qdd", qdd, (model.nv,))
    out = np.empty((3, model.nv, model.nv))
    push = flat_wrench(model, f_ext)
    derivatives.inverse_dynamics_derivatives(model.topology, model.parameters, *state, push, workspace(model), out)
    return out[0], out[1], out[2]


def forward_dynamics_derivatives(
    model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None
) -> Derivatives:
    """Answer how the motion of `forward_dynamics` changes with state and forces (V9, [Carpentier and Mansard 2018]).

    Returns
    -------
    dqdd_dq, dqdd_dqd, dqdd_dtau : (nv, nv)
        qdd(q (+) d, qd + e, tau + f) = qdd + dqdd_dq d + dqdd_dqd e + dqdd_dtau f, to first order; dqdd_dtau = H^-1.

    Raises
    ------
    ShapeError
        Wrong length, or values that are not finite.
    SingularModelError
        A joint has no inertia about its axis.
    """
    qdd = forward_dynamics(model, q, qd, tau, f_ext)
    state = checked("q", q, (model.nq,)), checked("qd", qd, (model.nv,)), qdd
    X, out = np.empty((model.nv, 3 * model.nv)), np.empty((3, model.nv, model.nv))
    push, w = flat_wrench(model, f_ext), workspace(model)
    dof = derivatives.forward_dynamics_derivatives(model.topology, model.parameters, *state, push, w, X, out)
    if dof >= 0:
        raise SingularModelError(f"H of '{model.name}' is not positive definite at dof {dof}: no derivatives here")
    return out[0], out[1], out[2]


def inverse_dynamics_derivatives_batch(model: Model, Q: ArrayLike, QD: ArrayLike, QDD: ArrayLike) -> Derivatives:
    """Return dtau_dq, dtau_dqd, H (N, nv, nv) of N states at once, on all cores, as `inverse_dynamics_derivatives`."""
    return _in_lanes(model, batch.inverse_dynamics_derivatives, checked_states(model, Q, QD, "QDD", QDD))


def forward_dynamics_derivatives_batch(model: Model, Q: ArrayLike, QD: ArrayLike, TAU: ArrayLike) -> Derivatives:
    """Return dqdd_dq, dqdd_dqd, dqdd_dtau (N, nv, nv) of N states at once, as `forward_dynamics_derivatives`."""
    states = checked_states(model, Q, QD, "TAU", TAU)
    check_regular(model)
    if not model.has_mimic:
        return _in_lanes(model, batch.forward_dynamics_derivatives, states)
    single = [forward_dynamics_derivatives(model, *state) for state in zip(*states, strict=True)]
    out = np.array(single).reshape(len(single), 3, model.nv, model.nv)
    return out[:, 0], out[:, 1], out[:, 2]


def _in_lanes(model: Model, kernel: Callable[..., None], states: tuple[Array, Array, Array]) -> Derivatives:
    """What a kernel of `batch` makes of states; each thread has memory of its own."""

    def run(*arrays: Array) -> None:
        workspace = batch.workspace_of_derivatives(model.nq, model.nv, len(model.topology))
        kernel(model.topology, model.parameters, *arrays, workspace)

    out = by_tiles(run, states, (3, model.nv, model.nv))
    return out[:, 0], out[:, 1], out[:, 2]


def centroidal_map(model: Model, q: ArrayLike) -> Array:
    """Return A (6, nv) with A qd = `centroidal_momentum`, [angular; linear] about the centre of mass (V10)."""
    return _centroidal(model, q, np.zeros(model.nv))[0][0]


def centroidal_map_rate(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Adot qd (6,): the rate of `centroidal_momentum` at qdd = 0, world axes [N m, N] (V11).

    The rate of the centroidal momentum is A qdd + Adot qd, the sum of all outer forces about the centre of mass.
    """
    return _centroidal(model, q, qd)[1]


def centroidal_momentum_derivatives(model: Model, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    """Return the derivatives (6, nv) of `centroidal_momentum` in q (V12) and in qd, which is `centroidal_map`."""
    (A, dh_dq), _ = _centroidal(model, q, qd)
    return dh_dq, A


def _centroidal(model: Model, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    out, rate = np.empty((2, 6, model.nv)), np.empty((6, 1))
    state = checked("q", q, (model.nq,)), checked("qd", qd, (model.nv,))
    centroidal.centroidal(model.topology, model.parameters, *state, out, rate)
    return out, rate[:, 0]
