# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""THE dynamics functions: check the input, allocate the result, call a kernel. No maths here.

Conventions for every function: `q` (nq,) = [x y z, qx qy qz qw, joints] with a floating base, else [joints];
`qd` (nv,) = [omega, v of the base origin, both in base axes, joint rates]; `qdd` its componentwise derivative (true
motion: 0 at rest on the ground, R^T g in free fall); `tau` (nv,) the base wrench [n, f] in base axes, then joint
efforts [N m or N]; `f_ext` (nb, 6) the wrench [n, f] of the environment on each body, body axes, about the body-frame
origin. SI units, float64. Wrong shapes and values that are not finite raise ShapeError.
"""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import LANES
from ..core.arrays import Array
from ..core.checks import checked
from ..core.cores import in_slices
from ..errors import ParameterError, SingularModelError
from ..kernels import batch, bodies, body_motion, dense, rows, star, tree, world
from ..kernels.joints import nv_of
from ..kernels.rows import WORKSPACE
from ..model.model import Model

Kernels = tuple[Callable[..., bool], Callable[..., bool]]

NO_WRENCH = np.empty(0)


def flat_wrench(model: Model, f_ext: ArrayLike | None) -> Array:
    """Return f_ext as (6 nb,), or empty. Raises ShapeError."""
    return NO_WRENCH if f_ext is None else checked("f_ext", f_ext, (model.nb, 6)).flatten()


def workspace(model: Model) -> Array:
    """Return memory for a call of the driver for any tree."""
    return np.empty((len(model.topology), WORKSPACE))


class Driver(NamedTuple):
    """`kernels.star` or `kernels.tree`, what their kernels take before the state, and workspace behind all input."""

    kernels: ModuleType
    robot: tuple[object, ...]
    memory: tuple[Array, ...]


def driver_of(model: Model) -> Driver:
    """Return the driver that takes this model, with workspace of its own."""
    if (limbed := model.limbs) is not None:
        return Driver(star, (limbed.levels, limbed.robot), ())
    return Driver(tree, (model.topology, model.parameters), (workspace(model),))


def _drive(model: Model, kernels: Kernels, name: str, q: ArrayLike, qd: ArrayLike, u: ArrayLike, push: Array) -> Array:
    """Call RNEA or ABA by the driver that fits the model; `name` is that of u.

    Arrays of float64 go to the kernel as they are. It looks at them itself; only what it refuses is looked at, and
    copied, here. The choice is that of `driver_of`, written out: a call takes 2 us, and a tuple would add 0.5 us.
    """
    out = np.empty(model.nv)
    try:
        if (limbed := model.limbs) is not None:
            fine = kernels[0](limbed.levels, limbed.robot, q, qd, u, push, out)
        else:
            fine = kernels[1](model.topology, model.parameters, q, qd, u, push, workspace(model), out)
    except TypeError:
        fine = False
    if fine:
        return out
    nq, nv = model.nq, model.nv
    given = [np.array(checked(*x)) for x in (("q", q, (nq,)), ("qd", qd, (nv,)), (name, u, (nv,)))]
    return _drive(model, kernels, name, given[0], given[1], given[2], push)


RNEA = star.inverse_dynamics, tree.inverse_dynamics
ABA = star.forward_dynamics, tree.forward_dynamics


def inverse_dynamics(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None
) -> Array:
    """Answer which forces produce the motion qdd: RNEA in link coordinates (R1-R5, [RBDA] table 5.1).

    tau = H(q) qdd + C(q, qd) + G(q) - J^T f_ext. Returns (nv,); with a floating base the first six are the wrench the
    base would need, 0 for a motion that is physically possible.
    """
    return _drive(model, RNEA, "qdd", q, qd, qdd, flat_wrench(model, f_ext))


def inverse_dynamics_world(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Answer the same in absolute coordinates (R1-R5, [Featherstone 1984]), with what every joint transmits.

    Returns tau (nv,) and wrench (nb, 6): [n, f] that body i receives through its joint, world axes, about the world's
    origin; row 0 is 0. Rotor torques act between a joint's motor and its parent and are in tau, not in wrench.
    """
    tau, (_, transmitted) = _in_world(model, q, qd, qdd, f_ext)
    return tau, transmitted


def _in_world(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None
) -> tuple[Array, tuple[Array, Array]]:
    q = checked("q", q, (model.nq,))
    qd = checked("qd", qd, (model.nv,))
    qdd = checked("qdd", qdd, (model.nv,))
    tau = np.empty(model.nv)
    wrenches = np.zeros((model.nb, 6)), np.zeros((model.nb, 6))
    f_ext = flat_wrench(model, f_ext)
    world.inverse_dynamics_world(model.topology, model.parameters, q, qd, qdd, f_ext, tau, wrenches)
    return tau, wrenches


def net_wrenches(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Answer what moves each body: the rate of its momentum, I a + v x* I v (R3) with the true acceleration a.

    Returns (nb, 6): [n, f] of all that acts on body i (joints, gravity, environment), world axes, about the world's
    origin. Rotors apart, their sum is the rate of the robot's momentum.
    """
    return _in_world(model, q, qd, qdd, None)[1][0]


def joint_wrenches(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None) -> Array:
    """Answer what every joint transmits (R4): its motor's effort and what its bearing carries, six numbers.

    Returns (nb, 6): [n, f] that body i receives through its joint, body axes, about the body-frame origin; row 0, the
    world's, is 0. Rotor torques act between a joint's motor and its parent and are not part of it.
    """
    _, (_, transmitted) = _in_world(model, q, qd, qdd, f_ext)
    R, p = np.empty((model.nb, 3, 3)), np.empty((model.nb, 3))
    bodies.body_poses(model.topology, model.parameters, checked("q", q, (model.nq,)), R, p)
    force = transmitted[:, 3:]
    moment = transmitted[:, :3] - np.cross(p, force)
    return np.hstack([np.einsum("bji,bj->bi", R, x) for x in (moment, force)])


def articulated_inertia(model: Model, q: ArrayLike) -> Array:
    """Answer how each body resists while all joints behind it are free to move: I^A (A5-A8, [RBDA] table 7.1).

    Returns (nb, 6, 6), [angular; linear], body axes, about the body-frame origin; entry 0, the world's, is 0.

    Raises
    ------
    SingularModelError
        A joint has no inertia about its axis.
    ParameterError
        The model has mimic joints: they couple distant branches, and no body has an articulated inertia of its own.
    """
    zero = np.zeros(model.nv)
    return articulated_body(model, q, zero, zero)[0]


def articulated_body(
    model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Return I^A as `articulated_inertia` and the bias force p^A (nb, 6): its joint transmits I^A a + p^A (A5).

    a is the spatial acceleration of the body less gravity, [angular; linear], body axes. Raises as
    `articulated_inertia`.
    """
    check_regular(model)
    if model.has_mimic:
        raise ParameterError(f"no articulated inertias for robots with mimic joints, which '{model.name}' has")
    state = checked("q", q, (model.nq,)), checked("qd", qd, (model.nv,)), checked("tau", tau, (model.nv,))
    inertia, bias = np.empty((model.nb, 6, 6)), np.empty((model.nb, 6))
    tree.articulated(model.topology, model.parameters, *state, flat_wrench(model, f_ext), inertia, bias)
    twist = np.empty((model.nb, 6))
    body_motion.body_velocities(model.topology, model.parameters, *state[:2], twist)
    # the kernel's p^A is that of classical accelerations, larger by omega x v
    bias += np.einsum("bij,bj->bi", inertia[:, :, 3:], np.cross(twist[:, :3], twist[:, 3:]))
    return inertia, bias


def bias_forces(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Answer which forces hold qdd = 0: C(q, qd) + G(q) = RNEA(q, qd, 0). Returns (nv,)."""
    return inverse_dynamics(model, q, qd, np.zeros(model.nv))


def gravity_forces(model: Model, q: ArrayLike) -> Array:
    """Answer which forces hold the robot at rest: G(q) = RNEA(q, 0, 0). Returns (nv,)."""
    zero = np.zeros(model.nv)
    return inverse_dynamics(model, q, zero, zero)


def forward_dynamics(
    model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None
) -> Array:
    """Answer which motion the forces produce: ABA (A1-A11, [RBDA] table 7.1). Returns qdd (nv,).

    With mimic joints, which couple distant branches, H qdd = tau - bias is solved instead (C1-C3 and L^T L).

    Raises
    ------
    SingularModelError
        A joint has no inertia about its axis; the message names it.
    """
    check_regular(model)
    if model.has_mimic:
        return _forward_dynamics_of_mimics(model, q, qd, tau, f_ext)
    return _drive(model, ABA, "tau", q, qd, tau, flat_wrench(model, f_ext))


def _forward_dynamics_of_mimics(
    model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None
) -> Array:
    qdd: Array = checked("tau", tau, (model.nv,)) - inverse_dynamics(model, q, qd, np.zeros(model.nv), f_ext)
    if (dof := dense.solve_spd(mass_matrix(model, q), qdd)) >= 0:
        raise SingularModelError(
            f"forward dynamics of '{model.name}' has no answer here: H is not positive definite at dof {dof}; "
            "see the inertias that `model.report.nonphysical` names"
        )
    return qdd


def checked_states(model: Model, Q: ArrayLike, QD: ArrayLike, name: str, X: ArrayLike) -> tuple[Array, Array, Array]:
    """Return states (N, nq), (N, nv) and what `name` gives of each (N, nv). Raises ShapeError."""
    Q = checked("Q", Q, (-1, model.nq))
    return Q, checked("QD", QD, (len(Q), model.nv)), checked(name, X, (len(Q), model.nv))


def inverse_dynamics_batch(model: Model, Q: ArrayLike, QD: ArrayLike, QDD: ArrayLike) -> Array:
    """Return tau (N, nv) of N states at once, on all cores, rows as in `inverse_dynamics`."""
    Q, QD, QDD = checked_states(model, Q, QD, "QDD", QDD)
    return _in_lanes(model, batch.inverse_dynamics, Q, QD, QDD)


def forward_dynamics_batch(model: Model, Q: ArrayLike, QD: ArrayLike, TAU: ArrayLike) -> Array:
    """Return qdd (N, nv) of N states at once, on all cores, rows as in `forward_dynamics`; raises as that."""
    Q, QD, TAU = checked_states(model, Q, QD, "TAU", TAU)
    check_regular(model)
    if model.has_mimic:
        return np.array([forward_dynamics(model, *state) for state in zip(Q, QD, TAU, strict=True)]).reshape(QD.shape)
    if (limbed := model.limbs) is None:
        return _in_lanes(model, batch.forward_dynamics, Q, QD, TAU)
    by_limb = partial(batch.limbed_forward_dynamics, limbed.levels, model.parameters, model.nq, model.nv)
    return by_tiles(by_limb, (Q, QD, TAU), (model.nv,))


def _in_lanes(model: Model, kernel: Callable[..., None], Q: Array, QD: Array, X: Array) -> Array:
    """What a kernel of `batch` makes of states (N, nq), (N, nv), (N, nv) of any robot; a workspace per thread."""

    def run(*states: Array) -> None:
        kernel(model.topology, model.parameters, *states, batch.workspace(model.nq, model.nv, len(model.topology)))

    return by_tiles(run, (Q, QD, X), (model.nv,))


def by_tiles(kernel: Callable[..., None], given: tuple[Array, Array, Array], shape: tuple[int, ...]) -> Array:
    """What a kernel that takes LANES states or more makes of N of them, on all cores; fewer are repeated.

    given: Q, QD and a third vector of each. Returns N results of `shape`.
    """
    count = len(given[0])
    out = np.empty((count, *shape))

    def run(part: slice) -> None:
        states = [x[part] for x in (*given, out)]
        some = len(states[0])
        if some < LANES:
            states = [np.resize(x, (LANES, *x.shape[1:])) for x in states]
        kernel(*(x.reshape(-1) for x in states))
        out[part] = states[-1][:some]

    if out.size:
        in_slices(run, count)
    return out


def check_regular(model: Model) -> None:
    """Raise SingularModelError when a joint carries no inertia, so that forward dynamics has no answer."""
    if model.report.singular:
        names = ", ".join(f"'{name}'" for name in model.report.singular)
        raise SingularModelError(
            f"forward dynamics of '{model.name}' has no answer: no inertia about the axis of joint {names}; "
            "give the links behind it an inertia or the joint an armature"
        )


def mass_matrix(model: Model, q: ArrayLike) -> Array:
    """Answer how forces and accelerations are tied: H(q) by CRBA (C1-C3, [RBDA] table 6.2). Returns (nv, nv)."""
    H = np.empty((model.nv, model.nv))
    try:
        if (limbed := model.limbs) is not None:
            fine = star.mass_matrix(limbed.levels, limbed.robot, q, H)
        else:
            fine = tree.mass_matrix(model.topology, model.parameters, q, workspace(model), H)
    except TypeError:
        fine = False
    return H if fine else mass_matrix(model, np.array(checked("q", q, (model.nq,))))


class SparseMatrix(NamedTuple):
    """Compressed rows: `values` and `columns` of row i as scipy.sparse.csr_array takes them.

    Row i of the lower triangle is (columns[starts[i]:starts[i + 1]], values[starts[i]:starts[i + 1]]).
    """

    values: Array
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]


def sparse_mass_matrix(model: Model, q: ArrayLike) -> SparseMatrix:
    """Return the lower triangle of H(q) where structure allows other values than 0 ([RBDA] 6.4).

    Row i holds the columns of its ancestors, the same at every q; mimic joints couple all that follow them.
    """
    row, column = np.nonzero(np.tril(_coupled(model)))
    starts = np.searchsorted(row, np.arange(model.nv + 1))
    return SparseMatrix(mass_matrix(model, q)[row, column], column, starts)


def _coupled(model: Model) -> NDArray[np.bool_]:
    """Which degrees of freedom (nv, nv) share a branch: where one joint carries the other, or they are one."""

    def dofs(row: int) -> slice:
        first = int(model.topology[row, rows.IV])
        return slice(first, first + nv_of(int(model.topology[row, rows.KIND])))

    out = np.zeros((model.nv, model.nv), dtype=bool)
    for row in range(1, len(model.topology)):
        ancestor = row
        while ancestor:
            out[dofs(row), dofs(ancestor)] = out[dofs(ancestor), dofs(row)] = True
            ancestor = int(model.topology[ancestor, rows.PARENT])
    return out


def coriolis_matrix(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return C (nv, nv) with C qd = bias - gravity and dH/dt - 2 C skew (K4-K6, [Echeandia and Wensing 2021])."""
    C = np.empty((model.nv, model.nv))
    q = checked("q", q, (model.nq,))
    world.coriolis_matrix(model.topology, model.parameters, q, checked("qd", qd, (model.nv,)), C)
    return C


def kinetic_energy(model: Model, q: ArrayLike, qd: ArrayLike) -> float:
    """Return qd^T H qd / 2 [J], rotors included."""
    q = checked("q", q, (model.nq,))
    kinetic, _ = bodies.energies(model.topology, model.parameters, q, checked("qd", qd, (model.nv,)))
    return float(kinetic)


def potential_energy(model: Model, q: ArrayLike) -> float:
    """Return -g . (sum of m c) [J] of the moving bodies, 0 with all mass at the world origin."""
    q = checked("q", q, (model.nq,))
    _, potential = bodies.energies(model.topology, model.parameters, q, np.zeros(model.nv))
    return float(potential)


def center_of_mass(model: Model, q: ArrayLike) -> Array:
    """Return the centre of mass (3,) of the moving bodies, world axes [m]."""
    com = np.empty(3)
    bodies.center_of_mass(model.topology, model.parameters, checked("q", q, (model.nq,)), com)
    return com


def centroidal_momentum(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return [angular; linear] momentum (6,) about the centre of mass, world axes [N m s, N s]."""
    out = np.empty(6)
    q = checked("q", q, (model.nq,))
    bodies.centroidal_momentum(model.topology, model.parameters, q, checked("qd", qd, (model.nv,)), out)
    return out
