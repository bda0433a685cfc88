# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Operational-space inertia: what a robot weighs at its points and frames ([Khatib 1987])."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..errors import ShapeError, SingularModelError
from ..model.model import Model
from .algorithms import check_regular, mass_matrix
from .kinematics import Points, link_jacobian, point_jacobian


def operational_inertia(model: Model, frames: Points | Sequence[str], q: ArrayLike) -> tuple[Array, Array]:
    """Answer what the robot weighs at points or link frames: Lambda = (J H^-1 J^T)^-1, and its inverse.

    Both are (3k, 3k) for k Points, world axes, or (6k, 6k) for k names of links, [angular; linear] of each in the
    link's own axes as `link_jacobian`.

    Raises
    ------
    SingularModelError
        A joint has no inertia about its axis, or the robot cannot move these frames in all directions at this q, so
        that Lambda does not exist.
    UnknownNameError
        There is no such link.
    """
    inverse = operational_inertia_inverse(model, frames, q)
    if (rank := np.linalg.matrix_rank(inverse, hermitian=True)) < len(inverse):
        raise SingularModelError(
            f"'{model.name}' moves these frames in {rank} of {len(inverse)} directions at this q: no Lambda; "
            "see operational_inertia_inverse"
        )
    root = np.linalg.inv(np.linalg.cholesky(inverse))
    return root.T @ root, inverse


def operational_inertia_inverse(model: Model, frames: Points | Sequence[str], q: ArrayLike) -> Array:
    """Answer how points or link frames give way to forces: J H^-1 J^T, axes and errors as in `operational_inertia`."""
    check_regular(model)
    if isinstance(frames, str) or not len(frames):
        raise ShapeError(f"frames must be Points or a sequence of link names, at least one, got {frames!r}")
    if isinstance(frames, Points):
        J = point_jacobian(model, frames, q).reshape(-1, model.nv)
    else:
        J = np.vstack([link_jacobian(model, q, link) for link in frames])
    half = np.linalg.solve(np.linalg.cholesky(mass_matrix(model, q)), J.T)
    out: Array = half.T @ half
    return out
