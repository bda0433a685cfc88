# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Configurations, poses and points: check the input, allocate the result, call a kernel.

Conventions of `q` and `qd` as in `dynamics`. World results carry no suffix where the world is the only sensible frame.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import Array
from ..core.checks import checked
from ..errors import ParameterError, ShapeError
from ..kernels import bodies, body_motion, manifold, rows
from ..kernels import contact_space as paths
from ..model.model import Model
from ..spatial import adjoint, change_twist, inverse_pose
from .algorithms import check_regular

Acceleration = Literal["spatial", "classical"]
KINDS = "spatial", "classical"
"""Of accelerations, see `body_acceleration`."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points fixed in bodies, in the order given: `body` (k,), `position` (k, 3) in body frames [m], `link` names.

    `radius` (k,) [m] is that of a ball around the point, 0 for a bare point.
    """

    body: NDArray[np.int64]
    position: Array
    link: tuple[str, ...]
    radius: Array

    def __len__(self) -> int:
        return len(self.link)


def points(model: Model, positions: Mapping[str, ArrayLike]) -> Points:
    """Return Points from link-frame coordinates {link: [(x, y, z), ...]} [m], link by link. Raises UnknownNameError."""
    body, position, links = [], [], []
    for link, given in positions.items():
        i = model.link_index(link)
        for r in checked(f"points of link '{link}'", given, (-1, 3)):
            body.append(model.link_bodies[i])
            position.append(model.link_R[i] @ r + model.link_p[i])
            links.append(link)
    return Points(
        np.array(body, np.int64), np.array(position, float).reshape(-1, 3), tuple(links), np.zeros(len(links))
    )


def point_rows(model: Model, points: Points) -> tuple[NDArray[np.int64], Array]:
    """Return kernel rows (k,) and positions (k, 3) in row axes of `points`."""
    row = model.row_body[points.body]
    turn = model.parameters[row, rows.TURN : rows.TURN + 9].reshape(-1, 3, 3)
    turn[row == 0] = np.eye(3)
    return row, (points.position[:, None] @ turn)[:, 0]


def neutral(model: Model) -> Array:
    """Return q (nq,) with joints at 0 and free bases at the origin, level."""
    q = np.zeros(model.nq)
    q[_quaternions(model) + 3] = 1.0
    return q


def _quaternions(model: Model) -> NDArray[np.int64]:
    """First index in q of every quaternion."""
    free = model.topology[:, rows.KIND] == rows.FREE
    index: NDArray[np.int64] = model.topology[free, rows.IQ] + 3
    return index


def random_configuration(model: Model, rng: np.random.Generator) -> Array:
    """Return q (nq,): joints uniform inside their limits (or +-pi, +-1 m), positions in +-1 m, uniform attitudes."""
    q = rng.uniform(-1.0, 1.0, model.nq)
    for i, (kind, iq) in enumerate(zip(model.joint_kinds, model.q_index, strict=True)):
        if kind in ("revolute", "continuous", "prismatic"):
            reach = 1.0 if kind == "prismatic" else np.pi
            q[iq] = rng.uniform(
                max(model.lower[i], -reach), max(min(model.upper[i], reach), max(model.lower[i], -reach))
            )
        elif kind == "planar":
            q[iq + 2] = rng.uniform(-np.pi, np.pi)
    for iq in _quaternions(model):
        x = rng.standard_normal(4)
        q[iq : iq + 4] = x / np.linalg.norm(x)
    return q


def integrate(model: Model, q: ArrayLike, qd: ArrayLike, dt: float) -> Array:
    """Return q (+) dt qd: straight lines for joints, T exp([V] dt) on SE(3) for free bodies with twist V."""
    q = checked("q", q, (model.nq,))
    qd = checked("qd", qd, (model.nv,))
    if not np.isfinite(dt):
        raise ShapeError(f"dt must be finite, got {dt}")
    out = np.empty(model.nq)
    manifold.integrate(model.topology, q, qd, float(dt), out)
    return out


def difference(model: Model, q0: ArrayLike, q1: ArrayLike) -> Array:
    """Return the qd (nv,) that carries q0 to q1 in 1 s: q1 = integrate(model, q0, qd, 1)."""
    q0 = checked("q0", q0, (model.nq,))
    q1 = checked("q1", q1, (model.nq,))
    out = np.empty(model.nv)
    manifold.difference(model.topology, q0, q1, out)
    return out


def body_pose(model: Model, q: ArrayLike) -> tuple[Array, Array]:
    """Return R (nb, 3, 3) and p (nb, 3) of every body frame in the world; x_world = R x + p."""
    R = np.empty((model.nb, 3, 3))
    p = np.empty((model.nb, 3))
    bodies.body_poses(model.topology, model.parameters, checked("q", q, (model.nq,)), R, p)
    return R, p


def link_pose(model: Model, q: ArrayLike, link: str) -> tuple[Array, Array]:
    """Return R (3, 3) and p (3,) of a link's frame in the world, also of links merged by fixed joints."""
    i = model.link_index(link)
    R, p = body_pose(model, q)
    b = model.link_bodies[i]
    return R[b] @ model.link_R[i], R[b] @ model.link_p[i] + p[b]


def body_velocity(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the twist of every body (R1), (nb, 6) = [angular; linear of the body-frame origin], body axes."""
    out = np.empty((model.nb, 6))
    q = checked("q", q, (model.nq,))
    body_motion.body_velocities(model.topology, model.parameters, q, checked("qd", qd, (model.nv,)), out)
    return out


def body_acceleration(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, kind: Acceleration = "spatial"
) -> Array:
    """Return the acceleration of every body (R2), (nb, 6) = [angular; linear], body axes; gravity is not in it.

    A "spatial" one is the componentwise derivative of the twist, a "classical" one has the acceleration of the origin
    as a point, which is larger by omega x v ([RBDA] 2.11).

    Raises
    ------
    ParameterError
        Another kind.
    """
    spatial = _named(kind) == "spatial"
    out = np.empty((model.nb, 6))
    state = checked("q", q, (model.nq,)), checked("qd", qd, (model.nv,)), checked("qdd", qdd, (model.nv,))
    body_motion.body_accelerations(model.topology, model.parameters, *state, out)
    if spatial:
        twist = body_velocity(model, q, qd)
        out[:, 3:] -= np.cross(twist[:, :3], twist[:, 3:])
    return out


def _named(kind: str) -> str:
    if kind not in KINDS:
        raise ParameterError(f"kind of acceleration must be one of {', '.join(KINDS)}, got '{kind}'")
    return kind


def link_velocity(model: Model, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
    """Return the twist (6,) of a link's frame as `body_velocity`, link axes, also of links merged by fixed joints."""
    i = model.link_index(link)
    return _at_link(model, i, body_velocity(model, q, qd)[model.link_bodies[i]])


def link_acceleration(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, link: str, kind: Acceleration = "spatial"
) -> Array:
    """Return the acceleration (6,) of a link's frame as `body_acceleration`, link axes."""
    classical = _named(kind) == "classical"
    i = model.link_index(link)
    out = _at_link(model, i, body_acceleration(model, q, qd, qdd)[model.link_bodies[i]])
    if classical:
        twist = link_velocity(model, q, qd, link)
        out[3:] += np.cross(twist[:3], twist[3:])
    return out


def _at_link(model: Model, link: int, twist: Array) -> Array:
    """A body's twist, or spatial acceleration, about the origin and in the axes of a link fixed in it."""
    return change_twist(*inverse_pose(model.link_R[link], model.link_p[link]), twist)


def link_jacobian(model: Model, q: ArrayLike, link: str) -> Array:
    """Return J (6, nv) with twist = J qd of a link's frame, [angular; linear], link axes (K1)."""
    i = model.link_index(link)
    J = np.empty((6, model.nv))
    row = int(model.row_body[model.link_bodies[i]])
    body_motion.body_jacobian(model.topology, model.parameters, checked("q", q, (model.nq,)), row, J)
    out: Array = adjoint(*inverse_pose(*link_pose(model, q, link))) @ J
    return out


def center_of_mass_velocity(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the velocity (3,) of the centre of mass, world axes [m/s]."""
    return _center_of_mass_motion(model, q, qd, np.zeros(model.nv))[0]


def center_of_mass_acceleration(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return the acceleration (3,) of the centre of mass, world axes [m/s^2]; gravity is not in it."""
    return _center_of_mass_motion(model, q, qd, qdd)[1]


def _center_of_mass_motion(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array]:
    velocity, acceleration = np.empty(3), np.empty(3)
    state = checked("q", q, (model.nq,)), checked("qd", qd, (model.nv,)), checked("qdd", qdd, (model.nv,))
    body_motion.center_of_mass_motion(model.topology, model.parameters, *state, velocity, acceleration)
    return velocity, acceleration


def point_motion(model: Model, points: Points, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array, Array]:
    """Return world positions [m], velocities [m/s] and Jdot qd [m/s^2] (k, 3) of points, in one walk."""
    q = checked("q", q, (model.nq,))
    qd = checked("qd", qd, (model.nv,))
    position, velocity, bias = np.empty((3, len(points), 3))
    row, r = point_rows(model, points)
    bodies.point_motion(model.topology, model.parameters, (row, r), q, qd, position, velocity, bias)
    return position, velocity, bias


def point_position(model: Model, points: Points, q: ArrayLike) -> Array:
    """Return world positions (k, 3) [m]."""
    return point_motion(model, points, q, np.zeros(model.nv))[0]


def point_velocity(model: Model, points: Points, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return world velocities (k, 3) [m/s]."""
    return point_motion(model, points, q, qd)[1]


def point_bias(model: Model, points: Points, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Jdot qd (k, 3), the world acceleration of each point at qdd = 0 [m/s^2]."""
    return point_motion(model, points, q, qd)[2]


def point_jacobian(model: Model, points: Points, q: ArrayLike) -> Array:
    """Return J (k, 3, nv) with world velocity = J qd."""
    J = np.empty((len(points), 3, model.nv))
    row, r = point_rows(model, points)
    bodies.point_jacobians(model.topology, model.parameters, row, r, checked("q", q, (model.nq,)), J)
    return J


def contact_space(model: Model, points: Points, q: ArrayLike) -> tuple[Array, Array]:
    """Answer both `contact_inertia_inverse` and `test_force_response`, for little more than the price of one.

    Raises
    ------
    SingularModelError
        A joint has no inertia about its axis.
    """
    inertia, response = _inertia_room(points), _response_room(model, points)
    _contact_space(model, points, q, inertia, response)
    return inertia, response


def contact_inertia_inverse(model: Model, points: Points, q: ArrayLike) -> Array:
    """Answer how points give way to forces: J H^-1 J^T (3k, 3k) by the factors of H (P5-P8, P16), world axes [1/kg].

    Raises
    ------
    SingularModelError
        A joint has no inertia about its axis.
    """
    inertia = _inertia_room(points)
    _contact_space(model, points, q, inertia, np.empty((0, model.nv)))
    return inertia


def test_force_response(model: Model, points: Points, q: ArrayLike) -> Array:
    """Answer how the robot reacts to unit forces: rows H^-1 J^T (k, 3, nv), world axes (P9-P13).

    Raises
    ------
    SingularModelError
        A joint has no inertia about its axis.
    """
    response = _response_room(model, points)
    _contact_space(model, points, q, np.empty((0, 0)), response)
    return response


def _inertia_room(points: Points) -> Array:
    return np.empty((3 * len(points), 3 * len(points)))


def _response_room(model: Model, points: Points) -> Array:
    return np.empty((len(points), 3, model.nv))


def _contact_space(model: Model, points: Points, q: ArrayLike, inertia: Array, response: Array) -> None:
    check_regular(model)
    row, r = point_rows(model, points)
    q = checked("q", q, (model.nq,))
    robot, workspace = paths.workspace(model, len(points))
    paths.contact_space(robot, workspace, row, r, q, inertia, response.reshape(-1, model.nv))


test_force_response.__test__ = False  # type: ignore[attr-defined]  # the name is the field's; pytest must not collect it
