# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The joints somebody asks about and the bodies they carry, as 4x4 matrices (L7-L9): input of the Lagrange formulas.

Link transforms are A(q) = A_1 + A_2 f_2(q) + A_3 f_3(q), (f_2, f_3) = (cos q, sin q) or (q, 0), dA/dq = A D. A joint
that is not asked about does not move: it stays in the neutral posture (0, or the offset of a mimic joint) and what
hangs on it rides along, so a mass matrix of some joints is the block of the whole robot's mass matrix in that posture.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..errors import ModelError
from ..kernels.rows import ROTOR
from ..model.description import Inertial, Joint
from ..model.model import Model, mimic_law
from ..spatial import skew

SINGLE = ("revolute", "continuous", "prismatic")
PARAMETER_NAMES = ("m", "m cx", "m cy", "m cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""The ten inertial parameters of a body, inertia about the link-frame origin, in the order Pinocchio uses too."""


def _parameter_basis() -> Array:
    """Pseudo-inertia (10, 4, 4) of each parameter alone: J = [[tr(I) 1 / 2 - I, m c], [m c^T, m]]."""
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for a in range(3):
        basis[1 + a, a, 3] = basis[1 + a, 3, a] = 1.0
    for parameter, (a, b) in zip(range(4, 10), ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)), strict=True):
        if a == b:
            basis[parameter, :3, :3] = 0.5 * np.eye(3)
        basis[parameter, a, b] -= 1.0
        basis[parameter, b, a] = basis[parameter, a, b]
    return basis


PARAMETER_BASIS = _parameter_basis()


@dataclass(frozen=True, slots=True, eq=False)
class Mechanism:
    """Joints, parents first, each with the body behind it; body and joint share a number, -1 is the base.

    parent (n,), revolute (n,), A (n, 3, 4, 4), D (n, 4, 4), J (n + 1, 4, 4) pseudo-inertias with the base's first,
    armature (n,) [kg m^2], gravity (3,) in base axes [m/s^2]. Body frames are those of the links behind the joints.
    """

    joint_names: tuple[str, ...]
    parent: NDArray[np.int64]
    revolute: NDArray[np.bool_]
    A: Array
    D: Array
    J: Array
    armature: Array
    gravity: Array

    @property
    def parameters(self) -> Array:
        """Inertial parameters (10 n,) of the bodies, `PARAMETER_NAMES` for each."""
        return np.concatenate([parameters_of(J) for J in self.J[1:]])

    def transform(self, i: int, q: Array) -> Array:
        """A_i (..., 4, 4) at joint angles or lengths q (...)."""
        f = (np.cos(q), np.sin(q)) if self.revolute[i] else (q, np.zeros_like(q))
        return self.A[i, 0] + f[0][..., None, None] * self.A[i, 1] + f[1][..., None, None] * self.A[i, 2]


def parameters_of(J: Array) -> Array:
    """Ten parameters of a pseudo-inertia J (4, 4): m, m c, I about the frame origin with I = tr(S) 1 - S."""
    inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.array([J[3, 3], *J[:3, 3], *inertia[(0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]])


def pseudo_inertias(inertials: Sequence[Inertial]) -> Array:
    """J (k, 4, 4) about the link-frame origins: [[tr(I_o) 1 / 2 - I_o, m c], [m c^T, m]] (L9)."""
    m = np.array([inertial.mass for inertial in inertials])
    c = np.array([inertial.com for inertial in inertials])
    inertia = np.array([inertial.inertia for inertial in inertials])
    J = np.empty((len(m), 4, 4))
    J[:, :3, :3] = m[:, None, None] * c[:, :, None] * c[:, None, :] - inertia  # I_o = I_c + m (c^T c 1 - c c^T)
    J[:, (0, 1, 2), (0, 1, 2)] += 0.5 * np.trace(inertia, axis1=1, axis2=2)[:, None]
    J[:, :3, 3] = J[:, 3, :3] = m[:, None] * c
    J[:, 3, 3] = m
    return J


def mechanism(model: Model, joint_names: Sequence[str], base_link: str) -> Mechanism:
    """Gather the bodies that the named joints move below `base_link`, every other joint at rest.

    `joint_names` in an order with parents first, all of them below `base_link`.

    Raises
    ------
    ModelError
        A joint has no coefficient basis (planar, floating), mimics another one or leads one, or has a rotor.
    """
    joints = {joint.name: joint for joint in model.robot.joints}
    _check_joints(model, joints, joint_names)
    placement = dict(zip(joints, _placements(tuple(joints.values())), strict=True))
    children: dict[str, list[Joint]] = {}
    for joint in joints.values():
        children.setdefault(joint.parent, []).append(joint)
    number = {name: i for i, name in enumerate(joint_names)}
    parent, A = np.full(len(number), -1), np.empty((len(number), 3, 4, 4))
    todo: list[tuple[str, int, Array]] = [(base_link, -1, np.eye(4))]
    carried: dict[str, tuple[int, Array]] = {}
    while todo:
        link, body, T = todo.pop()
        carried[link] = (body, T)
        for joint in children.get(link, ()):
            i = number.get(joint.name)
            P = T @ placement[joint.name]
            if i is None:
                todo.append((joint.child, body, _at_rest(P, joint, joints)))
            else:
                parent[i], A[i] = body, P @ _motion(joint)
                todo.append((joint.child, i, np.eye(4)))
    return Mechanism(
        joint_names=tuple(joint_names),
        parent=parent,
        revolute=np.array([joints[name].kind != "prismatic" for name in joint_names]),
        A=A,
        D=np.array([_generator(joints[name]) for name in joint_names]).reshape(-1, 4, 4),
        J=_merged(model, carried, len(number)),
        armature=np.array([model.armature[model.joint_index(name)] for name in joint_names]),
        gravity=_gravity_in(model, base_link, placement, joints),
    )


def joint_path(model: Model, base_link: str, tip_link: str) -> tuple[str, ...]:
    """Names of the moving joints from `base_link` outwards to `tip_link`.

    Raises UnknownNameError for a link that is not there, ModelError when the tip does not hang on the base.
    """
    model.link_index(base_link)
    model.link_index(tip_link)
    above = _joints_above(model)
    path, link = [], tip_link
    while link != base_link:
        if link not in above:
            raise ModelError(f"link '{tip_link}' does not hang on link '{base_link}'; name the inner link first")
        path.append(above[link])
        link = above[link].parent
    return tuple(joint.name for joint in reversed(path) if joint.kind != "fixed")


def regressor(mechanism: Mechanism, q: Array, qd: Array, qdd: Array) -> Array:
    """Return Y (..., n, 10 n) with tau = Y pi the joint forces of the bodies (Y1-Y3; Lagrange's equations).

    Body i adds tr( dT_i/dq_j J_i (T_i'' - [0, g; 0, 0])^T ) to tau_j, linear in its parameters pi (`PARAMETER_NAMES`).
    q, qd, qdd (..., n): one state, or many at once. Armature is not in pi: add armature * qdd.
    """
    n = len(mechanism.joint_names)
    fall = np.zeros((4, 4))
    fall[:3, 3] = mechanism.gravity
    T, rate, growth, generator = {-1: np.eye(4)}, {-1: np.zeros((4, 4))}, {-1: np.zeros((4, 4))}, {}
    Y = np.zeros((*np.shape(q), n, 10))
    for i, p in enumerate(mechanism.parent):
        T[i] = T[p] @ mechanism.transform(i, q[..., i])
        S = T[i] @ mechanism.D[i] @ np.linalg.inv(T[i])  # dT/dq_i = S T for every body behind joint i
        v, a = qd[..., i, None, None], qdd[..., i, None, None]
        generator[i] = S
        rate[i] = rate[p] + S * v  # T' = rate T
        growth[i] = growth[p] + S * a + (rate[p] @ S - S @ rate[p]) * v  # T'' = (growth + rate^2) T
        force = (growth[i] + rate[i] @ rate[i]) @ T[i] - fall
        j = i
        while j >= 0:
            moment = np.swapaxes(generator[j] @ T[i], -1, -2) @ force
            Y[..., j, i, :] = np.einsum("pab,...ab->...p", PARAMETER_BASIS, moment)
            j = mechanism.parent[j]
    return Y.reshape(*np.shape(q), 10 * n)


def _merged(model: Model, carried: Mapping[str, tuple[int, Array]], n: int) -> Array:
    """Pseudo-inertias (n + 1, 4, 4) of the bodies, base first: T J T^T of each link at T in its body's frame."""
    J = np.zeros((n + 1, 4, 4))
    links = [link for link in model.robot.links if link.name in carried and link.inertial is not None]
    if links:
        body, T = (np.array(column) for column in zip(*(carried[link.name] for link in links), strict=True))
        own = pseudo_inertias([link.inertial for link in links if link.inertial is not None])
        np.add.at(J, body + 1, T @ own @ T.transpose(0, 2, 1))
    return J


def _placements(joints: Sequence[Joint]) -> Array:
    """[[R, p], [0, 1]] (k, 4, 4) of each joint."""
    P = np.zeros((len(joints), 4, 4))
    if joints:
        P[:, :3, :3] = [joint.R for joint in joints]
        P[:, :3, 3] = [joint.p for joint in joints]
    P[:, 3, 3] = 1.0
    return P


def _check_joints(model: Model, joints: Mapping[str, Joint], joint_names: Sequence[str]) -> None:
    for name in joint_names:
        kind = joints[name].kind if joints[name].mimic is None else "mimic"
        if kind not in SINGLE:
            raise ModelError(f"joint '{name}' is a {kind} joint; a closed form is known for {', '.join(SINGLE)} joints")
    for joint in joints.values():
        leader = mimic_law(joint, joints)[0]
        if joint.mimic is not None and leader in joint_names:
            raise ModelError(f"joint '{joint.name}' follows joint '{leader}' (mimic): the two have no closed form")
    if model.parameters[:, ROTOR : ROTOR + 3].any():
        raise ModelError("the closed form knows armature but no rotors; load the model with `armature` instead")


def _generator(joint: Joint) -> Array:
    """D (4, 4): [[a], 0; 0, 0] revolute, [0, a; 0, 0] prismatic."""
    D = np.zeros((4, 4))
    if joint.kind == "prismatic":
        D[:3, 3] = joint.axis
    else:
        D[:3, :3] = skew(joint.axis)
    return D


def _motion(joint: Joint) -> Array:
    """E_1, E_2, E_3 (3, 4, 4) of exp(a q) = E_1 + E_2 f_2(q) + E_3 f_3(q)."""
    E = np.zeros((3, 4, 4))
    if joint.kind == "prismatic":
        E[0] = np.eye(4)
        E[1, :3, 3] = joint.axis
    else:
        along = np.outer(joint.axis, joint.axis)
        E[0, :3, :3], E[0, 3, 3] = along, 1.0
        E[1, :3, :3] = np.eye(3) - along
        E[2, :3, :3] = skew(joint.axis)
    return E


def _at_rest(P: Array, joint: Joint, joints: Mapping[str, Joint]) -> Array:
    """P exp(a q) (4, 4) of a joint in the neutral posture."""
    rest = mimic_law(joint, joints)[2]
    if rest == 0.0:
        return P
    f = (rest, 0.0) if joint.kind == "prismatic" else (np.cos(rest), np.sin(rest))
    return np.tensordot((1.0, *f), P @ _motion(joint), 1)


def root_link(model: Model) -> str:
    """Name of the link that no joint carries."""
    above = _joints_above(model)
    return next(link for link in model.link_names if link not in above)


def _joints_above(model: Model) -> dict[str, Joint]:
    """Joint that carries each link of the model."""
    links = frozenset(model.link_names)
    return {joint.child: joint for joint in model.robot.joints if joint.parent in links}


def _gravity_in(model: Model, link: str, placement: Mapping[str, Array], joints: Mapping[str, Joint]) -> Array:
    """Gravity (3,) in the axes of `link`, with the root level and the joints above the link at rest."""
    above = _joints_above(model)
    T = np.eye(4)
    while link in above:
        joint = above[link]
        T = _at_rest(placement[joint.name], joint, joints) @ T
        link = joint.parent
    return T[:3, :3].T @ model.gravity
