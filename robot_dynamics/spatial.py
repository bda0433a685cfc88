# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""One rigid body: twists, wrenches, inertias and their change of frame, for people (S1-S14).

Spatial vectors are [angular; linear]. A pose (R, p) of frame a in frame b maps x_b = R x_a + p. Twists and wrenches are
those of a frame fixed in the body, in its axes, about its origin. [RBDA] chapter 2; [Murray, Li, Sastry] chapter 2.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ShapeError

Array = NDArray[np.float64]


def skew(a: ArrayLike) -> Array:
    """Matrix [a] of the cross product, [a] b = a x b; a (3,)."""
    x, y, z = _checked("a", a, 3)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def crm(twist: ArrayLike) -> Array:
    """Matrix (6, 6) of the cross product of a motion with motions, ad_V: [[[w], 0], [[v], [w]]] ([RBDA] 2.31)."""
    twist = _checked("twist", twist, 6)
    w, v = skew(twist[:3]), skew(twist[3:])
    return np.block([[w, np.zeros((3, 3))], [v, w]])


def crf(twist: ArrayLike) -> Array:
    """Matrix (6, 6) of the cross product of a motion with forces, -crm(V)^T ([RBDA] 2.32)."""
    return -crm(twist).T


def adjoint(R: ArrayLike, p: ArrayLike) -> Array:
    """Matrix (6, 6) that takes twists from frame a to frame b, V_b = Ad V_a; (R, p) pose of a in b."""
    R, p = _checked("R", R, 3, 3), _checked("p", p, 3)
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def inverse_pose(R: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
    """Pose (R, p) of b in a from the pose of a in b."""
    R, p = _checked("R", R, 3, 3), _checked("p", p, 3)
    return R.T.copy(), -R.T @ p


def change_twist(R: ArrayLike, p: ArrayLike, twist_a: ArrayLike) -> Array:
    """Twist (6,) of the same motion seen from frame b, Ad V_a; (R, p) pose of a in b."""
    return adjoint(R, p) @ _checked("twist_a", twist_a, 6)


def change_wrench(R: ArrayLike, p: ArrayLike, wrench_b: ArrayLike) -> Array:
    """Wrench (6,) seen from frame a, F_a = Ad^T F_b (S10); (R, p) pose of a in b."""
    return adjoint(R, p).T @ _checked("wrench_b", wrench_b, 6)


def change_inertia(R: ArrayLike, p: ArrayLike, inertia_b: ArrayLike) -> Array:
    """Spatial inertia (6, 6) seen from frame a, G_a = Ad^T G_b Ad (S11); (R, p) pose of a in b."""
    X = adjoint(R, p)
    return X.T @ _checked("inertia_b", inertia_b, 6, 6) @ X


def spatial_inertia(mass: float, com: ArrayLike, inertia_about_com: ArrayLike) -> Array:
    """Spatial inertia (6, 6) about the frame origin (S6, [RBDA] 2.63).

    [[I + m [c][c]^T, m [c]], [m [c]^T, m 1]] with mass m [kg], centre of mass c (3,) [m] and inertia I (3, 3)
    [kg m^2] about the centre of mass, both in the axes of the frame.
    """
    c, inertia = skew(com), _checked("inertia_about_com", inertia_about_com, 3, 3)
    return np.block([[inertia + mass * c @ c.T, mass * c], [mass * c.T, mass * np.eye(3)]])


def particle_inertia(masses: ArrayLike, positions: ArrayLike) -> Array:
    """Inertia (3, 3) of particles about the origin, -sum m [r]^2 (S3); masses (n,) [kg], positions (n, 3) [m]."""
    m = np.asarray(masses, dtype=np.float64)
    r = _checked("positions", positions, len(m), 3)
    return np.eye(3) * (m @ (r * r).sum(axis=1)) - (r.T * m) @ r


def rotated_inertia(R: ArrayLike, inertia_b: ArrayLike) -> Array:
    """Inertia (3, 3) in the axes of c, R^T I_b R (S12); R attitude of c in b."""
    R = _checked("R", R, 3, 3)
    return R.T @ _checked("inertia_b", inertia_b, 3, 3) @ R


def shifted_inertia(mass: float, inertia_about_com: ArrayLike, q: ArrayLike) -> Array:
    """Inertia (3, 3) about the point q (3,) seen from the centre of mass, I + m (q^T q 1 - q q^T) (S13, Steiner)."""
    q = _checked("q", q, 3)
    return _checked("inertia_about_com", inertia_about_com, 3, 3) + mass * (q @ q * np.eye(3) - np.outer(q, q))


def moved_inertia(mass: float, inertia_about_com: ArrayLike, R: ArrayLike, q: ArrayLike) -> Array:
    """Inertia (3, 3) in a frame at q with attitude R, both seen from the centre-of-mass frame (S14)."""
    return rotated_inertia(R, shifted_inertia(mass, inertia_about_com, q))


def particle_velocity(twist: ArrayLike, r: ArrayLike) -> Array:
    """Velocity of the body's particles at r (..., 3), body axes, v + w x r (S1) [m/s]."""
    V = _checked("twist", twist, 6)
    velocity: Array = V[3:] + np.asarray(r, dtype=np.float64) @ skew(V[:3]).T
    return velocity


def particle_acceleration(twist: ArrayLike, twist_rate: ArrayLike, r: ArrayLike) -> Array:
    """Acceleration of the body's particles at r (..., 3), body axes (S2) [m/s^2].

    v' + w' x r + w x v + w x (w x r); `twist_rate` (6,) holds the componentwise derivatives of the twist (6,).
    """
    centripetal = particle_velocity(twist, r) @ skew(np.asarray(twist)[:3]).T
    return particle_velocity(twist_rate, r) + centripetal


def body_inverse_dynamics(inertia: ArrayLike, twist: ArrayLike, twist_rate: ArrayLike) -> Array:
    """Wrench (6,) that gives the twist rate, F = G V' - ad_V^T G V (S8; S4 and S5 at the centre of mass).

    `inertia` (6, 6), `twist` and `twist_rate` (6,) in any frame fixed in the body; F includes gravity.
    """
    G, V = _checked("inertia", inertia, 6, 6), _checked("twist", twist, 6)
    return G @ _checked("twist_rate", twist_rate, 6) + crf(V) @ G @ V


def body_forward_dynamics(inertia: ArrayLike, twist: ArrayLike, wrench: ArrayLike) -> Array:
    """Twist rate (6,) under a wrench (6,), V' = G^-1 (F + ad_V^T G V) (S9); G (6, 6) positive definite."""
    G, V = _checked("inertia", inertia, 6, 6), _checked("twist", twist, 6)
    twist_rate = np.linalg.solve(G, _checked("wrench", wrench, 6) - crf(V) @ G @ V)
    return np.asarray(twist_rate, dtype=np.float64)


def gravity_wrench(inertia: ArrayLike, R: ArrayLike, gravity: ArrayLike) -> Array:
    """Wrench (6,) of gravity in the body frame, G [0; R^T g]; R attitude of the body in the world, g (3,) [m/s^2]."""
    uniform = np.concatenate([np.zeros(3), _checked("R", R, 3, 3).T @ _checked("gravity", gravity, 3)])
    return _checked("inertia", inertia, 6, 6) @ uniform


def body_kinetic_energy(inertia: ArrayLike, twist: ArrayLike) -> float:
    """Kinetic energy, V^T G V / 2 (S7) [J]; the same in every frame fixed in the body."""
    V = _checked("twist", twist, 6)
    return 0.5 * float(V @ _checked("inertia", inertia, 6, 6) @ V)


def body_momentum_world(R: ArrayLike, p: ArrayLike, inertia: ArrayLike, twist: ArrayLike) -> Array:
    """Momentum (6,) about the world origin, world axes, Ad_{T_bw}^T G V; (R, p) pose of the body in the world."""
    momentum = _checked("inertia", inertia, 6, 6) @ _checked("twist", twist, 6)
    return change_wrench(*inverse_pose(R, p), momentum)


def rotation_from_vector(phi: ArrayLike) -> Array:
    """Rotation (3, 3) by |phi| about phi (3,) [rad], exp([phi]) (X2, Rodrigues)."""
    phi = _checked("phi", phi, 3)
    return np.eye(3) + _sinc(phi) * skew(phi) + _cosc(phi) * skew(phi) @ skew(phi)


def pose_from_twist(displacement: ArrayLike) -> tuple[Array, Array]:
    """Pose (R, p) reached along a constant twist, exp of (phi; rho) = h V (6,) (X1, [Murray, Li, Sastry] 2.36)."""
    displacement = _checked("displacement", displacement, 6)
    phi, rho = displacement[:3], displacement[3:]
    left = np.eye(3) + _cosc(phi) * skew(phi) + _sincc(phi) * skew(phi) @ skew(phi)
    return rotation_from_vector(phi), left @ rho


def free_body_step(
    R: ArrayLike, p: ArrayLike, twist: ArrayLike, inertia: ArrayLike, wrench: ArrayLike, timestep: float
) -> tuple[Array, Array, Array]:
    """Pose and twist (R, p, V) one timestep [s] later, by the midpoint rule: V' of S9, then T exp(h V_mid).

    (R, p) pose of the body in the world, `twist` and `wrench` (6,) and `inertia` (6, 6) in the body frame; the wrench
    keeps its body components over the step. The error of one step is of third order.
    """
    R, p, V = _checked("R", R, 3, 3), _checked("p", p, 3), _checked("twist", twist, 6)
    V_mid = V + 0.5 * timestep * body_forward_dynamics(inertia, V, wrench)
    V_next = V + timestep * body_forward_dynamics(inertia, V_mid, wrench)
    R_step, p_step = pose_from_twist(timestep * V_mid)
    return R @ R_step, R @ p_step + p, V_next


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation (3, 3) = Rz(yaw) Ry(pitch) Rx(roll), the angles of a URDF origin [rad]."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip


def rpy_from_rotation(R: ArrayLike) -> Array:
    """Roll, pitch, yaw (3,) [rad] of a rotation (3, 3), pitch in [-pi/2, pi/2]; roll = 0 where pitch = +-pi/2."""
    R = _checked("R", R, 3, 3)
    level = np.hypot(R[0, 0], R[1, 0])
    pitch = np.arctan2(-R[2, 0], level)
    if level < 1e-12:
        return np.array([0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def rotation_from_quaternion(quaternion: ArrayLike) -> Array:
    """Rotation (3, 3) of a quaternion x y z w (4,), which is normalised first."""
    q = _checked("quaternion", quaternion, 4)
    norm = float(np.linalg.norm(q))
    if norm == 0.0:
        raise ShapeError("quaternion should have a length, but all four components are zero")
    x, y, z, w = q / norm
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def quaternion_from_rotation(R: ArrayLike) -> Array:
    """Unit quaternions x y z w (.., 4) of rotations (.., 3, 3), w >= 0.

    [Shepperd 1978]: divide by the largest component.
    """
    R = _checked("R", R, *np.shape(R)[:-2], 3, 3)
    x, y, z = np.moveaxis(R, (-2, -1), (0, 1))
    # 4 q q^T, of which the column with the largest diagonal entry is q up to its length
    K = np.array([
        [1 + x[0] - y[1] - z[2], x[1] + y[0], x[2] + z[0], z[1] - y[2]],
        [x[1] + y[0], 1 - x[0] + y[1] - z[2], y[2] + z[1], x[2] - z[0]],
        [x[2] + z[0], y[2] + z[1], 1 - x[0] - y[1] + z[2], y[0] - x[1]],
        [z[1] - y[2], x[2] - z[0], y[0] - x[1], 1 + x[0] + y[1] + z[2]],
    ])  # fmt: skip
    largest = np.argmax(np.diagonal(K), axis=-1)
    q: Array = np.take_along_axis(np.moveaxis(K, (0, 1), (-1, -2)), largest[..., None, None], axis=-2)[..., 0, :]
    return q * (np.copysign(1.0, q[..., 3:]) / np.linalg.norm(q, axis=-1, keepdims=True))


def _sinc(phi: Array) -> float:
    """sin(a) / a with a = |phi|; half angles keep every digit near 0."""
    return float(np.sinc(np.linalg.norm(phi) / np.pi))


def _cosc(phi: Array) -> float:
    """(1 - cos a) / a^2 = (sin(a/2) / (a/2))^2 / 2."""
    return 0.5 * _sinc(0.5 * phi) ** 2


def _sincc(phi: Array) -> float:
    """(a - sin a) / a^3, by its series where the difference cancels."""
    square = float(phi @ phi)
    if square < 1e-2:
        return 1 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110)))
    return (1.0 - _sinc(phi)) / square


def _checked(name: str, value: ArrayLike, *shape: int) -> Array:
    """Finite float64 array of the given shape, or a ShapeError that names it."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} should be numbers of shape {shape}, got {value!r}") from None
    if array.shape != shape:
        raise ShapeError(f"{name} should have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ShapeError(f"{name} should be finite, got {array.tolist()}")
    return array
