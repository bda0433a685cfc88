# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lagrange's equations of a serial path in closed form: constant coefficients on {1, c, s, c^2, c s} and {1, q, q^2}.

(L1-L16), [Hollerbach 1980]. Joint m enters H_jk with degree 0 for m <= j, 1 for j < m <= k and 2 for m > k (j <= k), so
the number of coefficients grows like 5^n: made for legs and for arms of up to six joints; beyond, `mass_matrix` and its
kin serve.
"""

from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import Array
from ..core.checks import checked
from ..errors import ModelError, ParameterError
from ..kernels import projections
from ..model.model import Model
from ..spatial import skew
from . import formula
from .mechanism import PARAMETER_BASIS, Mechanism, joint_path, mechanism, regressor, root_link

ORDERS = ("reduced", "direct", "chainwise", "literal")
MOST_COEFFICIENTS = 30_000_000
"""Largest result, 240 MB: 8 revolute joints."""
MOST_LITERAL = 6
"""Longest path for the literal order: about 4 s for 6 joints, ten times more for each further one."""
MOST_LIMB = 7
"""Longest limb of `closed_form_tree`: with a base, 7 joints already have 7 million coefficients."""
NEGLIGIBLE = 1e-12
"""Coefficients below this fraction of the largest are numerical noise."""


@dataclass(frozen=True, slots=True)
class Term:
    """One monomial of H: coefficient times a basis function of each joint, named 1, c, s, c^2, c s or 1, q, q^2."""

    row: int
    column: int
    coefficient: float
    factors: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForm:
    """Mass matrix, gravity and velocity terms of a path as polynomials in sines, cosines, lengths; see `closed_form`.

    `inertia` (n (n + 1) / 2, sizes) holds the coefficients of H_jk, j <= k, in row k (k + 1) / 2 + j, and
    `potential_energy` (low sizes) those of V; sizes: 5 per revolute and 3 per prismatic joint, low sizes: 3 and 2.
    `steps` and `matrices` count the coefficient steps and the 4x4 matrices of the evaluation order (L13, L15).
    """

    mechanism: Mechanism
    order: str
    inertia: Array
    potential_energy: Array
    steps: int
    matrices: int

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints along the path from the base outwards: the order of q, qd and every result."""
        return self.mechanism.joint_names

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return H(q) (n, n) = sum_l h_jk^l phi_l(q) (L1), armature included [kg m^2]; q (n,) [rad or m]."""
        phi, _ = self._basis(q)
        return _unpacked(_value(self.inertia, phi))

    def mass_matrix_derivative(self, q: ArrayLike) -> Array:
        """Return dH_jk/dq_m at [j, k, m] (n, n, n) (L3) [kg m^2/rad]; q (n,)."""
        return _unpacked(_gradient(self.inertia, *self._basis(q)))

    def coriolis(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return C (n, n) with C qd the velocity forces and H' - 2 C skew: C_jk = sum_m gamma_jkm qd_m (L4).

        gamma_jkm = (dH_jk/dq_m + dH_jm/dq_k - dH_km/dq_j) / 2; q, qd (n,).
        """
        qd = self._checked("qd", qd)
        dH = self.mass_matrix_derivative(q)
        gamma = 0.5 * (dH + dH.transpose(0, 2, 1) - dH.transpose(2, 1, 0))
        return gamma @ qd

    def gravity(self, q: ArrayLike) -> Array:
        """Return the joint forces (n,) that hold the path at q against gravity, dV/dq_j (L2) [N m or N]; q (n,)."""
        phi, slope = self._basis(q)
        return _gradient(self.potential_energy[None], _low(phi), _low(slope))[0]

    def potential(self, q: ArrayLike) -> float:
        """Return the potential energy V(q) of the bodies on the path, 0 at the base link's origin (L2) [J]."""
        phi, _ = self._basis(q)
        return float(_value(self.potential_energy[None], _low(phi))[0])

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return Y (n, 10 n) with tau = Y pi + armature * qdd (L6); pi: `parameters`; q, qd, qdd (n,).

        Columns go body by body: m, m c (x, y, z), I about the link-frame origin (xx, xy, yy, xz, yz, zz).
        """
        return regressor(self.mechanism, self._checked("q", q), self._checked("qd", qd), self._checked("qdd", qdd))

    @property
    def parameters(self) -> Array:
        """Inertial parameters pi (10 n,) of the bodies on the path, in the axes of their links; see `regressor`."""
        return self.mechanism.parameters

    def identifiable_rank(self) -> int:
        """Count the combinations of the 10 n parameters that show in the joint forces: rank of their coefficients (L6).

        Exact: rows are the coefficients of H and V, columns the parameters; the constant of V exerts no force.
        """
        pattern = _pattern(self.mechanism.revolute)
        columns = []
        for body, basis in product(range(len(self.joint_names)), PARAMETER_BASIS):
            J = np.zeros_like(self.mechanism.J)
            J[body + 1] = basis
            H, V, _, _ = _coefficients(self.mechanism, J, "reduced")
            columns.append(np.concatenate([H[pattern], V.ravel()[1:]]))
        matrix = np.array(columns).T
        size = np.abs(matrix).max(axis=0)
        return int(np.linalg.matrix_rank(matrix / np.where(size > NEGLIGIBLE * size.max(), size, np.inf)))

    def terms(self) -> tuple[Term, ...]:
        """List the monomials of H, upper triangle without noise (1e-12 of the largest), by row, column, factors."""
        names = formula.factor_names(self.mechanism.revolute)
        return tuple(
            Term(j, k, float(tensor[tuple(digits)]), tuple(name[d] for name, d in zip(names, digits, strict=True)))
            for (j, k), tensor in self._entries().items()
            for digits in np.argwhere(tensor)
        )

    def to_text(self, latex: bool = False) -> str:
        """Write H, V and G = dV/dq as formulas in q1 .. qn, noise dropped, sums of angles where that is shorter."""
        V, revolute = _denoised(self.potential_energy), self.mechanism.revolute
        gravity = [_derived(V, revolute, j) for j in range(len(revolute))]
        return formula.text(self.joint_names, revolute, self._entries(), V, gravity, latex)

    def to_source(self, language: str = "python") -> str:
        """Write a stand-alone function that fills H(q), for numba ("python") or in C99 ("c"). Raises ParameterError."""
        writers = {"python": formula.python_source, "c": formula.c_source}
        if language not in writers:
            raise ParameterError(f"language must be one of {', '.join(writers)}; got {language!r}")
        return writers[language](self.joint_names, self.mechanism.revolute, self._entries())

    def _entries(self) -> dict[tuple[int, int], Array]:
        """Coefficients (sizes) without noise of H_jk, j <= k, row by row."""
        clean = _denoised(self.inertia)
        n = len(self.joint_names)
        return {(j, k): clean[k * (k + 1) // 2 + j] for j in range(n) for k in range(j, n)}

    def _checked(self, name: str, value: ArrayLike) -> Array:
        return checked(name, value, (len(self.joint_names),))

    def _basis(self, q: ArrayLike) -> tuple[list[Array], list[Array]]:
        return _basis(self.mechanism.revolute, self._checked("q", q))


@dataclass(frozen=True, slots=True, eq=False)
class Limb:
    """Coefficients (pairs, sizes) of the mass matrix of one limb; `index` (m + n,): its rows in the robot's."""

    joints: NDArray[np.int64]
    revolute: NDArray[np.bool_]
    index: NDArray[np.int64]
    inertia: Array


@dataclass(frozen=True, slots=True, eq=False)
class ClosedFormTree:
    """Mass matrix of a base with serial limbs as a polynomial in the joint angles; see `closed_form_tree`."""

    model: Model
    base: Array
    parts: tuple[Limb, ...]

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return H(q) (nv, nv): the base's own inertia plus each limb's tensor at its joint angles; q (nq,)."""
        q = checked("q", q, (self.model.nq,))[self.model.q_index]
        H = np.zeros((self.model.nv, self.model.nv))
        m = len(self.base)
        H[:m, :m] = self.base
        for limb in self.parts:
            phi, _ = _basis(limb.revolute, q[limb.joints])
            H[np.ix_(limb.index, limb.index)] += _unpacked(_value(limb.inertia, phi))
        return H


def closed_form(model: Model, base_link: str, tip_link: str, order: str = "reduced") -> ClosedForm:
    """Answer what the equations of motion of the path between two links are, as formulas (L1-L10).

    Parameters
    ----------
    model : Model
    base_link, tip_link : str
        The path's joints are those between the two links, revolute, continuous or prismatic. The base link is held
        still in the attitude it has when the robot's root is level and every joint above it is at 0. Joints that are
        not on the path stay at 0 (mimic joints at their offset) and carry their bodies along, so the result is the
        block of the whole robot's equations in that posture.
    order : {"reduced", "direct", "chainwise", "literal"}
        Order of evaluation (L13-L15); all give the same numbers. "literal" up to 6 joints, for study.

    Raises
    ------
    UnknownNameError
        A link that is not in the model.
    ModelError
        The tip does not hang on the base, nothing moves in between, a joint is planar, floating or mimic, or there
        are too many joints.
    ParameterError
        An unknown order.
    """
    names = joint_path(model, base_link, tip_link)
    if not names:
        raise ModelError(f"no joint moves between link '{base_link}' and link '{tip_link}'")
    path = mechanism(model, names, base_link)
    _check_size(path, order)
    inertia, potential, steps, matrices = _coefficients(path, path.J, order)
    for j, armature in enumerate(path.armature):
        inertia[j * (j + 3) // 2].flat[0] += armature  # (L5)
    return ClosedForm(path, order, inertia, potential, steps, matrices)


def closed_form_tree(model: Model) -> ClosedFormTree:
    """Answer what the mass matrix of a base with serial limbs is, as formulas (L16).

    For a floating base the generators of the base twist join those of each limb: its tensor has 6 + n rows over the
    basis of its n joints, and the base's coordinates do not occur. Raises ModelError when a limb branches, is too
    long, or has a joint that `closed_form` does not take.
    """
    robot = mechanism(model, model.joint_names, root_link(model))
    generators = _base_generators() if model.floating_base else np.empty((0, 4, 4))
    base = np.einsum("jba,ac,kbc->jk", generators, robot.J[0], generators)  # <J_0, G_j^T G_k>
    parts = tuple(_limb(model, robot, generators, joints) for joints in _serial_limbs(robot))
    return ClosedFormTree(model, base, parts)


def short_limbs(model: Model, longest: int = 4) -> tuple[ClosedForm, ...]:
    """Return the closed form of every serial limb of at most `longest` joints on the root, to cross-check H with.

    Limbs that branch or hold a joint that `closed_form` does not take are left out.
    """
    root = root_link(model)
    found = []
    for first in np.flatnonzero(model.parent == model.link_bodies[model.link_index(root)]):
        bodies = _chain(model.parent, first)
        if bodies and len(joint_path(model, root, tip := model.body_names[bodies[-1]])) <= longest:
            with suppress(ModelError):
                found.append(closed_form(model, root, tip))
    return tuple(found)


def cross_check(model: Model, limb: ClosedForm, q: ArrayLike, H: ArrayLike) -> float:
    """Return how far the limb's block of H (nv, nv) at q (nq,) is from its closed form, over its largest entry."""
    index = [model.joint_index(name) for name in limb.joint_names]
    rows = model.v_index[index]
    expected = limb.mass_matrix(checked("q", q, (model.nq,))[model.q_index[index]])
    block = checked("H", H, (model.nv, model.nv))[np.ix_(rows, rows)]
    return float(np.abs(block - expected).max() / np.abs(expected).max())


def unreduced_matrices(form: ClosedForm) -> dict[tuple[int, int, int], Array]:
    """Return U_ijk, j <= k <= i, each as coefficients (sizes of joints 0 .. i, 4, 4): H_jk = sum_i <J_i, U_ijk> (L10).

    What the orders of evaluation never hold at once: 5^(i + 1) matrices for body i behind revolute joints; for study.

    Raises
    ------
    ParameterError
        More than 6 joints.
    """
    path, n = form.mechanism, len(form.joint_names)
    if n > MOST_LITERAL:
        raise ParameterError(f"all matrices are for paths of up to {MOST_LITERAL} joints; this one has {n}")
    sizes, derived, out = _sizes(path.revolute), path.A @ path.D[:, None], {}
    for j, k in combinations_with_replacement(range(n), 2):
        U = np.eye(4)[None]
        for i in range(n):
            left, right = (derived[i] if i == derivative else path.A[i] for derivative in (j, k))
            U = _expanded(bool(path.revolute[i]), left, U, right)
            if i >= k:
                out[i, j, k] = U.reshape(*sizes[: i + 1], 4, 4)
    return out


def _expanded(revolute: bool, left: Array, W: Array, right: Array) -> Array:
    """Coefficients (m size, 4, 4) of L(q)^T W R(q), of one joint more than W (m, 4, 4) (L11, L12)."""
    table = projections.PRODUCTS[int(revolute)][: 5 if revolute else 3]
    terms = [sum(sign * left[a].T @ W @ right[b] for a, b, sign in digit if sign) for digit in table]
    return np.stack(terms, axis=1).reshape(-1, 4, 4)


def _check_size(path: Mechanism, order: str) -> None:
    """Refuse what would take gigabytes or hours."""
    n = len(path.joint_names)
    count = prod(_sizes(path.revolute)) * n * (n + 1) // 2
    if count > MOST_COEFFICIENTS:
        raise ModelError(
            f"the closed form of {n} joints ({', '.join(path.joint_names)}) has {count:.3g} coefficients, more than "
            f"{MOST_COEFFICIENTS:.3g}; take a shorter path, or mass_matrix, whose cost grows with the joints only"
        )
    if order not in ORDERS:
        raise ParameterError(f"order must be one of {', '.join(ORDERS)}; got {order!r}")
    if order == "literal" and n > MOST_LITERAL:
        raise ParameterError(f"order 'literal' is for paths of up to {MOST_LITERAL} joints; this one has {n}")


def _coefficients(path: Mechanism, J: Array, order: str) -> tuple[Array, Array, int, int]:
    """Coefficients of H and V for pseudo-inertias J, with the steps and the 4x4 matrices that took."""
    n = len(path.joint_names)
    sizes = _sizes(path.revolute)
    H = np.zeros((n * (n + 1) // 2, prod(sizes)))
    V = np.zeros(tuple((size + 1) // 2 for size in sizes))
    store = np.empty((_matrices(n, order), 4, 4))
    B = path.A @ path.D[:, None]  # dA_i/dq = A_i D_i
    if order == "direct":
        steps = projections.direct(path.A, B, path.revolute, J, path.gravity, H, V.reshape(-1), store)
    else:
        projections.potential(path.A, path.revolute, J, path.gravity, V.reshape(-1))
    if order == "reduced":
        steps = projections.reduced(path.A, path.D, path.revolute, J, H, store)
    elif order == "chainwise":
        steps = projections.chainwise(path.A, B, path.revolute, J, H, store)
    elif order == "literal":
        steps = projections.literal(path.A, B, path.revolute, J, H, store)
    return H.reshape(-1, *sizes), V, int(steps), len(store)


def _matrices(n: int, order: str, base: int = 0) -> int:
    """How many 4x4 matrices an order stores for n joints (L13; reduced: V and the columns of each level)."""
    return {
        "direct": 2 + sum(i * (i + 1) // 2 + i + 2 for i in range(1, n + 1)),
        "reduced": sum(1 + base + i for i in range(0 if base else 1, n + 1)),
        "chainwise": 2,
        "literal": n + 1,
    }[order]


def _limb(model: Model, robot: Mechanism, generators: Array, joints: list[int]) -> Limb:
    """Tensor of one limb, rows: base twist (if it moves), then its joints."""
    n, m = len(joints), len(generators)
    J = np.concatenate([np.zeros((1, 4, 4)), robot.J[1:][joints]])
    D = np.concatenate([generators, robot.D[joints]])
    sizes = _sizes(robot.revolute[joints])
    H = np.zeros(((m + n) * (m + n + 1) // 2, prod(sizes)))
    projections.reduced(robot.A[joints], D, robot.revolute[joints], J, H, np.empty((_matrices(n, "reduced", m), 4, 4)))
    for k, joint in enumerate(joints, start=m):
        H[k * (k + 3) // 2, 0] += robot.armature[joint]
    index = np.concatenate([np.arange(m), model.v_index[joints]])
    return Limb(np.array(joints), robot.revolute[joints], index, H.reshape(-1, *sizes))


def _serial_limbs(robot: Mechanism) -> list[list[int]]:
    """Joint numbers of every limb on the base. Raises ModelError when one branches or is too long."""
    found = [_chain(robot.parent, first) for first in np.flatnonzero(robot.parent == -1)]
    lost = set(range(len(robot.joint_names))) - {joint for joints in found for joint in joints}
    if lost:
        names = ", ".join(robot.joint_names[joint] for joint in sorted(lost))
        raise ModelError(f"a limb branches, so it is no serial path: the closed form does not cover the joints {names}")
    for joints in found:
        if len(joints) > MOST_LIMB:
            names = ", ".join(robot.joint_names[joint] for joint in joints)
            raise ModelError(f"the closed form takes limbs of up to {MOST_LIMB} joints, not {len(joints)}: {names}")
    return found


def _chain(parent: NDArray[np.int64], first: np.int64) -> list[int]:
    """List `first` and what follows it outwards to the tip; empty when there is a branch."""
    chain, behind = [], [int(first)]
    while len(behind) == 1:
        chain += behind
        behind = np.flatnonzero(parent == chain[-1]).tolist()
    return [] if behind else chain


def _base_generators() -> Array:
    """List the generators (6, 4, 4) of the base twist [omega; v] in base axes: dT/dt = T sum_b G_b v_b."""
    G = np.zeros((6, 4, 4))
    for a, unit in enumerate(np.eye(3)):
        G[a, :3, :3] = skew(unit)
        G[3 + a, :3, 3] = unit
    return G


def _sizes(revolute: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(5 if r else 3 for r in revolute)


def _pattern(revolute: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which coefficients (pairs, sizes) can differ from 0: degree 0 for m <= j, 1 for j < m <= k, 2 for m > k (L15)."""
    n, sizes = len(revolute), _sizes(revolute)
    pattern = np.zeros((n * (n + 1) // 2, *sizes), np.bool_)
    for k in range(n):
        for j in range(k + 1):
            low = [(size + 1) // 2 for size in sizes[j + 1 : k + 1]]
            used = (*[1] * (j + 1), *low, *sizes[k + 1 :])
            pattern[k * (k + 1) // 2 + j][tuple(map(slice, used))] = True
    return pattern


def _basis(revolute: NDArray[np.bool_], q: Array) -> tuple[list[Array], list[Array]]:
    """Basis functions of every joint at q, and their derivatives (L3)."""
    phi, slope = [], []
    for is_revolute, x in zip(revolute, q, strict=True):
        if is_revolute:
            c, s = np.cos(x), np.sin(x)
            phi.append(np.array([1.0, c, s, c * c, c * s]))
            slope.append(np.array([0.0, -s, c, -2.0 * c * s, 2.0 * c * c - 1.0]))
        else:
            phi.append(np.array([1.0, x, x * x]))
            slope.append(np.array([0.0, 1.0, 2.0 * x]))
    return phi, slope


def _low(basis: list[Array]) -> list[Array]:
    """Keep the functions of degree up to one."""
    return [f[: (len(f) + 1) // 2] for f in basis]


def _value(tensor: Array, phi: list[Array]) -> Array:
    """sum_l tensor (rows, sizes) phi_l, contracted axis by axis; returns (rows,)."""
    for f in reversed(phi):
        tensor = tensor.reshape(-1, len(f)) @ f
    return tensor


def _gradient(tensor: Array, phi: list[Array], slope: list[Array]) -> Array:
    """Differentiate sum_l tensor (rows, sizes) phi_l by each joint; returns (rows, n)."""
    value = tensor
    slopes: list[Array] = []
    for f, df in zip(reversed(phi), reversed(slope), strict=True):
        value = value.reshape(-1, len(f))
        slopes = [value @ df] + [earlier.reshape(-1, len(f)) @ f for earlier in slopes]
        value = value @ f
    return np.stack(slopes, axis=1)


def _unpacked(packed: Array) -> Array:
    """Symmetric matrix (n, n, ...) from its upper triangle, pair (j, k) in row k (k + 1) / 2 + j."""
    n = int(np.sqrt(2 * len(packed)))
    k, j = np.tril_indices(n)
    full = np.empty((n, n, *packed.shape[1:]))
    full[j, k] = full[k, j] = packed
    return full


def _denoised(tensor: Array) -> Array:
    """Set what is below 1e-12 of the largest coefficient to 0."""
    return np.where(np.abs(tensor) > NEGLIGIBLE * np.abs(tensor).max(), tensor, 0.0)


def _derived(tensor: Array, revolute: NDArray[np.bool_], joint: int) -> Array:
    """Coefficients of the derivative of V by a joint (L3): (0, a_s, -a_c) on 1, c, s; (a_q, 0) on 1, q."""
    delta = np.array([[0, 0, 0], [0, 0, 1], [0, -1, 0]]) if revolute[joint] else np.array([[0, 1], [0, 0]])
    return np.moveaxis(np.tensordot(delta, tensor, (1, joint)), 0, joint)
