# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The base wrench shared among the standing feet: a small quadratic program inside the friction cones (H2)."""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import ShapeError
from ..kernels.efforts import least_forces
from .guard import finite

try:
    import daqp
except ImportError:  # pip installs it with this package; rosdep has no key for it
    daqp = None

Array = NDArray[np.float64]

WEIGHT = 1e-4
"""Weight of the force norm against the base wrench in the cost."""
SCALE = np.array([10.0, 10.0, 10.0, 1.0, 1.0, 1.0])
"""Weight of the moment [1/m] against the force of the base wrench."""
EDGES = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


SOLVER = "quadratic program" if daqp else "clipped least squares, for the exact share: pip install daqp"
"""How the forces are found where the least squares alone leave a friction pyramid, as diagnostics say it."""


class FootForces:
    """min |A f - w|^2 + WEIGHT |f|^2 over f in the friction pyramid inside each foot's cone, f_z >= 0.

    Where the least squares alone lie inside, and a robot that stands well is there, they are the answer. Elsewhere daqp
    [Arnström, Bemporad and Axehill 2022] solves the program; without daqp `clip` answers from within the pyramids, at
    the price of a larger residual. `flag` is daqp's exit flag of the last solution (positive: solved), 2 without daqp.
    """

    def __init__(self, feet: int, friction: float):
        """Prepare for a number of feet and a friction coefficient."""
        self.feet, self.friction, self._slope = feet, friction, friction / math.sqrt(2.0)
        self.flag = 0
        self._rows = [pyramid(n, friction) for n in range(feet + 1)]
        self._weights = [WEIGHT * np.eye(3 * n) for n in range(feet + 1)]
        self._upper = [np.zeros(len(rows)) for rows in self._rows]
        self._last = np.zeros((feet, 3, 6)), np.zeros(6), np.zeros((feet, 3))

    def solve(self, base_jacobian: Array, wrench: Array, load: Array | NDArray[np.bool_]) -> Array:
        """Answer which ground forces (feet, 3), world axes, carry `wrench`.

        Parameters
        ----------
        base_jacobian : (feet, 3, 6) foot velocity per base twist.
        wrench : (6,) [n, f] that the base needs, base axes.
        load : (feet,) from 0, may not push, to 1, stands: between them a foot comes or goes (H18).

        Raises
        ------
        ShapeError
            A wrong shape.
        """
        if base_jacobian.shape != (self.feet, 3, 6) or wrench.shape != (6,) or load.shape != (self.feet,):
            raise ShapeError(f"expected ({self.feet}, 3, 6), (6,) and ({self.feet},)")
        A, w, forces = SCALE * base_jacobian, SCALE * wrench, np.zeros((self.feet, 3))
        self.flag = 1
        levels = sorted({0.0, *load.tolist()}, reverse=True)
        for level, below in pairwise(levels):
            forces += (level - below) * self._carried(A, w, load >= level)
        self._last = base_jacobian, wrench, forces
        return forces

    def _carried(self, A: Array, w: Array, stance: NDArray[np.bool_]) -> Array:
        """Forces (feet, 3) of the feet in `stance` (feet,) alone."""
        forces = np.empty((self.feet, 3))
        if not least_forces(A, w, stance, WEIGHT, self._slope, forces):
            if daqp is None:
                self.flag = 2
                clip(A, w, stance, self._slope, forces)
            else:
                forces[stance] = self._program(A[stance].reshape(-1, 6), w).reshape(-1, 3)
        return forces

    @property
    def residual(self) -> Array:
        """Base wrench (6,) that the last forces leave over."""
        base_jacobian, wrench, forces = self._last
        return wrench - forces.ravel() @ base_jacobian.reshape(-1, 6)

    def _program(self, A: Array, w: Array) -> Array:
        feet = len(A) // 3
        x, self.flag = solve_program(A @ A.T + self._weights[feet], -A @ w, self._rows[feet], self._upper[feet])
        return np.zeros(3 * feet) if x is None else x


def clip(A: Array, w: Array, stance: NDArray[np.bool_], slope: float, forces: Array) -> None:
    """Put least-squares `forces` (feet, 3) into their pyramids.

    Feet that would have to pull are left out and the others share the wrench anew, until none pulls; tangential forces
    are cut at slope f_z; all are scaled by the t >= 0 that minimises |t A^T f - w|^2, which leaves no pyramid.
    """
    standing = stance.copy()
    while (pulling := standing & ~(forces[:, 2] >= 0.0)).any():
        standing &= ~pulling
        least_forces(A, w, standing, WEIGHT, slope, forces)
    edge = slope * forces[:, 2:]
    np.clip(forces[:, :2], -edge, edge, out=forces[:, :2])
    reached = forces.ravel() @ A.reshape(-1, 6)
    if (squared := reached @ reached) > 0.0:
        forces *= max(float(reached @ w / squared), 0.0)


def pyramid(feet: int, friction: float) -> Array:
    """Rows (4 feet, 3 feet) with rows f <= 0: a pyramid inside each cone (H2); f_z >= 0 follows from opposite rows."""
    one = np.column_stack([EDGES, np.full(4, -friction / np.sqrt(2.0))])
    return np.kron(np.eye(feet), one)


def solve_program(H: Array, f: Array, A: Array, upper: Array) -> tuple[Array | None, int]:
    """Minimise x^T H x / 2 + f^T x under A x <= upper; returns x (None if there is no solution) and daqp's exit flag.

    daqp checks neither lengths nor finite values (it would read out of bounds), so this does.
    """
    n, m = len(f), len(upper)
    if H.shape != (n, n) or A.shape != (m, n):
        raise ShapeError(f"expected H ({n}, {n}) and A ({m}, {n}), got {H.shape} and {A.shape}")
    if not all(finite(x) for x in (H, f, A, upper)):
        return None, -99
    x, _, flag, _ = daqp.solve(H, f, A, upper, np.full(m, -1e30), np.zeros(m, dtype=np.int32))
    return (x, flag) if flag > 0 and finite(x) else (None, flag)
