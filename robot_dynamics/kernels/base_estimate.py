# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact-aided right-invariant extended Kalman filter of a legged base (Z1-Z9, Z11) [Hartley et al. 2020].

The estimate `x` is that of the IMU: quaternion xyzw, velocity and position in the world, biases of gyroscope and
accelerometer, then the centre of every foot's ball in the world. `P` is the covariance of its right-invariant error
[rotation, velocity, position, biases, feet]. A foot without a landmark has its variance 1 and no correlation.
"""

import numpy as np

from ..compiler import inline, kernel, routine
from .bodies import point_jacobian, point_position, twists, world_poses
from .manifold import rotation_by, screw_translation, turned
from .rows import RW, WORKSPACE, W, finite, part3, part3_to, part4, part4_to, part9, row3, row9, set3
from .scalar import add, cross, dot, inverse_symmetric, mul, quaternion_matrix, scale, smul, sub, tmul
from .tree.placement import place

X_TURN, X_VELOCITY, X_PLACE, X_GYRO, X_ACCELEROMETER, X_FEET = 0, 4, 7, 10, 13, 16
"""Where the parts of the estimate begin."""
TURN, VELOCITY, PLACE, GYRO, ACCELEROMETER, FEET = 0, 3, 6, 9, 12, 15
"""Where the parts of its error begin."""
MOUNT_TURN, MOUNT_PLACE, MOUNT_INVERSE, MOUNT = 0, 9, 12, 16
"""Where an IMU's mount holds its rotation and place in the base, and the inverse rotation's quaternion; how many."""
(
    GYRO_NOISE, ACCELEROMETER_NOISE, GYRO_WALK, ACCELEROMETER_WALK, ENCODER, KINEMATICS, CREEP, COMPLIANCE, SLIP, GATE,
    THRESHOLD, GROUND, LEVEL, GRAVITY, SETTINGS,
) = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16)  # fmt: skip
"""Numbers of the settings: see `control.estimator`."""
FORCE, LOAD, AGE, SPEED, SQUARED, GATED, GROUNDED, FOOT = 0, 1, 2, 3, 6, 7, 8, 9
"""Columns of a foot's row: normal force [N], and the same smoothed; time since its landmark was placed, negative
without one [s]; smoothed velocity against the ground (3,); squared normalised innovation; updates left out; whether its
height was used."""
AFLOAT, HEIGHT = 0, 1
"""Of the ground: 1 while its height is not set, by the first foot that stands; its height [m]."""
SETTLED = 0.06
"""Age from which a foothold has the height of the ground [s]."""
SMOOTHING = 0.005
"""Time constant of a foot's load and of its velocity [s]."""
UNTIED = 1.0
"""Most that a foot's variance grows [m^2/s], whatever its force is said to be: it then holds nothing."""
LARGEST = 1e12
"""Variance beyond which an estimate is none."""


@inline
def skew_to(M, i, o, s, a):
    """Write s [a]x into M from row i and column o on."""
    set3(M, i, o, (0.0, -s * a[2], s * a[1]))
    set3(M, i + 1, o, (s * a[2], 0.0, -s * a[0]))
    set3(M, i + 2, o, (-s * a[1], s * a[0], 0.0))


@kernel
def foot_kinematics(topology, parameters, feet, mount, q, qd, out):
    """Into out: place (k, 3), Jacobian (k, 3, nv) of points and spin (k, 3) of their bodies against the base, IMU axes.

    q, qd have the base at the origin, at rest.
    """
    rows, r = feet
    place_out, jacobian, spin = out
    w = np.empty((topology.shape[0], WORKSPACE))
    place(topology, parameters, q, w)
    world_poses(topology, w)
    twists(topology, parameters, qd, W, w)
    R, p = part9(mount, MOUNT_TURN), part3(mount, MOUNT_PLACE)
    for k in range(rows.shape[0]):
        i = rows[k]
        at = part3(r[k], 0)
        part3_to(place_out[k], 0, tmul(R, sub(point_position(w, i, at), p)))
        part3_to(spin[k], 0, tmul(R, mul(row9(w, i, RW), row3(w, i, W))))
        point_jacobian(topology, parameters, w, i, at, jacobian[k])
        for j in range(qd.shape[0]):
            turned_column = tmul(R, (jacobian[k, 0, j], jacobian[k, 1, j], jacobian[k, 2, j]))
            jacobian[k, 0, j], jacobian[k, 1, j], jacobian[k, 2, j] = turned_column


@routine
def transition(P, x, feet, gravity, dt):
    """Overwrite every row e of P with Phi e, the error a step later (Z4)."""
    turn = part4(x, X_TURN)
    R = quaternion_matrix(turn[0], turn[1], turn[2], turn[3])
    v, p = part3(x, X_VELOCITY), part3(x, X_PLACE)
    for i in range(P.shape[0]):
        e = P[i]
        drift, push = mul(R, part3(e, GYRO)), mul(R, part3(e, ACCELEROMETER))
        fall = cross(gravity, part3(e, TURN))
        for k in range(feet.shape[0]):
            if feet[k, AGE] >= 0.0:
                o = FEET + 3 * k
                part3_to(e, o, sub(part3(e, o), scale(dt, cross(part3(x, X_FEET + 3 * k), drift))))
        change = sub(add(part3(e, VELOCITY), scale(0.5 * dt, sub(fall, push))), cross(p, drift))
        part3_to(e, PLACE, add(part3(e, PLACE), scale(dt, change)))
        change = sub(sub(fall, push), cross(v, drift))
        part3_to(e, VELOCITY, add(part3(e, VELOCITY), scale(dt, change)))
        part3_to(e, TURN, sub(part3(e, TURN), scale(dt, drift)))


@routine
def flip(P):
    """Transpose in place."""
    for i in range(P.shape[0]):
        for j in range(i):
            P[i, j], P[j, i] = P[j, i], P[i, j]


@routine
def even(P):
    """Make P symmetric, which rounding is not."""
    for i in range(P.shape[0]):
        for j in range(i):
            mean = 0.5 * (P[i, j] + P[j, i])
            P[i, j] = mean
            P[j, i] = mean


@routine
def add_noise(P, x, feet, settings, dt, X):
    """Add to P what a step adds (Z5, Z11): gyroscope by the stack X (n, 3), accelerometer, biases, moving feet."""
    turning = settings[GYRO_NOISE] * settings[GYRO_NOISE] * dt
    pushing = settings[ACCELEROMETER_NOISE] * settings[ACCELEROMETER_NOISE] * dt
    X[:, :] = 0.0
    skew_to(X, VELOCITY, 0, 1.0, part3(x, X_VELOCITY))
    skew_to(X, PLACE, 0, 1.0, part3(x, X_PLACE))
    for i in range(3):
        X[TURN + i, i] = 1.0
        P[VELOCITY + i, VELOCITY + i] += pushing
        P[PLACE + i, PLACE + i] += pushing * dt * dt / 3.0
        P[VELOCITY + i, PLACE + i] += 0.5 * pushing * dt
        P[PLACE + i, VELOCITY + i] += 0.5 * pushing * dt
        P[GYRO + i, GYRO + i] += settings[GYRO_WALK] * settings[GYRO_WALK] * dt
        P[ACCELEROMETER + i, ACCELEROMETER + i] += settings[ACCELEROMETER_WALK] * settings[ACCELEROMETER_WALK] * dt
    for k in range(feet.shape[0]):
        if feet[k, AGE] >= 0.0:
            o = FEET + 3 * k
            skew_to(X, o, 0, 1.0, part3(x, X_FEET + 3 * k))
            sinking, v = settings[COMPLIANCE] * (feet[k, FORCE] - feet[k, LOAD]) / SMOOTHING, part3(feet[k], SPEED)
            sliding = max(dot(v, v) - settings[SLIP] * settings[SLIP], 0.0)
            creep = settings[CREEP] * settings[CREEP] + 2.0 * SMOOTHING * (sinking * sinking + sliding)
            for i in range(3):
                P[o + i, o + i] += min(creep, UNTIED) * dt
    for i in range(P.shape[0]):
        a = row3(X, i, 0)
        for j in range(P.shape[0]):
            P[i, j] += turning * dot(a, row3(X, j, 0))


@routine
def propagate(x, P, feet, settings, imu, balls, dt, X):
    """Move the estimate on by what the IMU read (Z3), standing feet by what their balls roll (Z6), and P with it.

    balls: spin (k, 3) and radius (k,).
    """
    spin, radius = balls
    transition(P, x, feet, part3(settings, GRAVITY), dt)
    flip(P)
    transition(P, x, feet, part3(settings, GRAVITY), dt)
    add_noise(P, x, feet, settings, dt, X)
    turn = part4(x, X_TURN)
    w = sub(part3(imu, 0), part3(x, X_GYRO))
    middle = turned(turn, rotation_by(scale(0.5 * dt, w)))
    R = quaternion_matrix(middle[0], middle[1], middle[2], middle[3])
    a = add(mul(R, sub(part3(imu, 3), part3(x, X_ACCELEROMETER))), part3(settings, GRAVITY))
    v = part3(x, X_VELOCITY)
    part3_to(x, X_PLACE, add(part3(x, X_PLACE), add(scale(dt, v), scale(0.5 * dt * dt, a))))
    part3_to(x, X_VELOCITY, add(v, scale(dt, a)))
    part4_to(x, X_TURN, turned(turn, rotation_by(scale(dt, w))))
    for k in range(feet.shape[0]):
        feet[k, LOAD] += dt / (SMOOTHING + dt) * (feet[k, FORCE] - feet[k, LOAD])
        if feet[k, AGE] >= 0.0:
            feet[k, AGE] += dt
            o = X_FEET + 3 * k
            rolling = cross(mul(R, add(w, part3(spin[k], 0))), (0.0, 0.0, radius[k]))
            part3_to(x, o, add(part3(x, o), scale(dt, rolling)))


@routine
def retract(x, feet, delta):
    """Correct the estimate by an error vector: exp of its part in SE_K(3) from the left, biases by a sum (Z2)."""
    w = part3(delta, TURN)
    turn = rotation_by(w)
    R = quaternion_matrix(turn[0], turn[1], turn[2], turn[3])
    part4_to(x, X_TURN, turned(turn, part4(x, X_TURN)))
    v, p = screw_translation(w, part3(delta, VELOCITY)), screw_translation(w, part3(delta, PLACE))
    part3_to(x, X_VELOCITY, add(mul(R, part3(x, X_VELOCITY)), v))
    part3_to(x, X_PLACE, add(mul(R, part3(x, X_PLACE)), p))
    for k in range(feet.shape[0]):
        if feet[k, AGE] >= 0.0:
            o = X_FEET + 3 * k
            part3_to(x, o, add(mul(R, part3(x, o)), screw_translation(w, part3(delta, FEET + 3 * k))))
    for i in range(6):
        x[X_GYRO + i] += delta[GYRO + i]


@routine
def place_noise(x, jacobian, settings, N):
    """Noise (3, 3) of a foot's place by the joints, world axes: R (J J^T encoder^2 + kinematics^2) R^T (Z7)."""
    turn = part4(x, X_TURN)
    R = quaternion_matrix(turn[0], turn[1], turn[2], turn[3])
    N[:, :] = 0.0
    encoder = settings[ENCODER] * settings[ENCODER]
    for j in range(6, jacobian.shape[1]):
        c = mul(R, (jacobian[0, j], jacobian[1, j], jacobian[2, j]))
        for a in range(3):
            for b in range(3):
                N[a, b] += encoder * c[a] * c[b]
    for a in range(3):
        N[a, a] += settings[KINEMATICS] * settings[KINEMATICS]


@routine
def correct_foot(x, P, feet, k, place_k, N, gate, memory):
    """Use the place of a standing foot by the joints (Z7) in Joseph's form (Z8), unless it lies beyond the gate."""
    n = P.shape[0]
    A, K, delta, _ = memory
    o = FEET + 3 * k
    turn = part4(x, X_TURN)
    R = quaternion_matrix(turn[0], turn[1], turn[2], turn[3])
    z = sub(add(mul(R, place_k), part3(x, X_PLACE)), part3(x, X_FEET + 3 * k))
    for i in range(3):
        for j in range(n):
            A[i, j] = P[o + i, j] - P[PLACE + i, j]
    S = (
        A[0, o] - A[0, PLACE] + N[0, 0], A[0, o + 1] - A[0, PLACE + 1] + N[0, 1],
        A[0, o + 2] - A[0, PLACE + 2] + N[0, 2], A[1, o + 1] - A[1, PLACE + 1] + N[1, 1],
        A[1, o + 2] - A[1, PLACE + 2] + N[1, 2], A[2, o + 2] - A[2, PLACE + 2] + N[2, 2],
    )  # fmt: skip
    inverse = inverse_symmetric(S)
    feet[k, SQUARED] = dot(z, smul(inverse, z))
    if not feet[k, SQUARED] < gate:
        feet[k, GATED] += 1.0
        return False
    for j in range(n):
        gain = smul(inverse, (A[0, j], A[1, j], A[2, j]))
        K[0, j], K[1, j], K[2, j] = gain
        delta[j] = dot(gain, z)
    for i in range(n):
        a, b, c = K[0, i], K[1, i], K[2, i]
        for j in range(n):
            P[i, j] -= a * A[0, j] + b * A[1, j] + c * A[2, j]
    for i in range(n):
        a = P[i, o] - P[i, PLACE] - (K[0, i] * N[0, 0] + K[1, i] * N[1, 0] + K[2, i] * N[2, 0])
        b = P[i, o + 1] - P[i, PLACE + 1] - (K[0, i] * N[0, 1] + K[1, i] * N[1, 1] + K[2, i] * N[2, 1])
        c = P[i, o + 2] - P[i, PLACE + 2] - (K[0, i] * N[0, 2] + K[1, i] * N[1, 2] + K[2, i] * N[2, 2])
        A[0, i], A[1, i], A[2, i] = a, b, c
    for i in range(n):
        a, b, c = A[0, i], A[1, i], A[2, i]
        for j in range(n):
            P[i, j] -= a * K[0, j] + b * K[1, j] + c * K[2, j]
    even(P)
    retract(x, feet, delta)
    return True


@routine
def correct_number(x, P, feet, z, noise, shifting, gate, memory):
    """Use one number z = -h xi + n (Z8), h the last of `memory`.

    `shifting` changes nothing but the height of base and feet together, by the covariance of the base's (Z9).
    """
    n = P.shape[0]
    A, K, delta, h = memory
    S = noise
    for j in range(n):
        A[0, j] = 0.0
        for i in range(n):
            A[0, j] += h[i] * P[i, j]
    for j in range(n):
        S += A[0, j] * h[j]
    if not z * z < gate * S:
        return False
    if shifting:
        gain = (A[0, PLACE + 2] + x[X_PLACE + 1] * A[0, TURN] - x[X_PLACE] * A[0, TURN + 1]) / S
        for j in range(n):
            K[0, j] = 0.0
        K[0, PLACE + 2] = gain
        for k in range(feet.shape[0]):
            if feet[k, AGE] >= 0.0:
                K[0, FEET + 3 * k + 2] = gain
    else:
        for j in range(n):
            K[0, j] = A[0, j] / S
    for j in range(n):
        delta[j] = K[0, j] * z
    for i in range(n):
        for j in range(n):
            P[i, j] -= K[0, i] * A[0, j]
    for i in range(n):
        A[1, i] = -noise * K[0, i]
        for j in range(n):
            A[1, i] += P[i, j] * h[j]
    for i in range(n):
        for j in range(n):
            P[i, j] -= A[1, i] * K[0, j]
    even(P)
    retract(x, feet, delta)
    return True


@routine
def lift(P, feet, k):
    """Forget the landmark of a foot."""
    o = FEET + 3 * k
    feet[k, AGE] = -1.0
    feet[k, GROUNDED] = 0.0
    for i in range(3):
        for j in range(P.shape[0]):
            P[o + i, j] = 0.0
            P[j, o + i] = 0.0
        P[o + i, o + i] = 1.0


@routine
def land(x, P, feet, k, place_k, N):
    """Place the landmark of a foot where the joints say it is (Z6)."""
    o = FEET + 3 * k
    turn = part4(x, X_TURN)
    R = quaternion_matrix(turn[0], turn[1], turn[2], turn[3])
    part3_to(x, X_FEET + 3 * k, add(part3(x, X_PLACE), mul(R, place_k)))
    feet[k, AGE] = 0.0
    feet[k, GROUNDED] = 0.0
    for j in range(P.shape[0]):
        part3_to(P[j], o, part3(P[j], PLACE))
    for i in range(3):
        for j in range(P.shape[0]):
            P[o + i, j] = P[PLACE + i, j]
    for i in range(3):
        for j in range(3):
            P[o + i, o + j] += N[i, j]


@routine
def slips(x, P, foot, settings, omega, leg, dt):
    """Smooth a foot's velocity against the ground, and tell whether it is more than noise and creep (Z7).

    omega: angular velocity, IMU axes; leg: place of the foot, its velocity by the joints, its spin, and radius.
    """
    at, motion, spin, radius = leg
    turn = part4(x, X_TURN)
    R = quaternion_matrix(turn[0], turn[1], turn[2], turn[3])
    v = add(part3(x, X_VELOCITY), mul(R, add(cross(omega, at), motion)))
    v = sub(v, cross(mul(R, add(omega, spin)), (0.0, 0.0, radius)))
    was = part3(foot, SPEED)
    now = add(was, scale(dt / (SMOOTHING + dt), sub(v, was)))
    part3_to(foot, SPEED, now)
    variance = (P[VELOCITY, VELOCITY] + P[VELOCITY + 1, VELOCITY + 1] + P[VELOCITY + 2, VELOCITY + 2]) / 3.0
    return dot(now, now) > settings[GATE] * (settings[SLIP] * settings[SLIP] + variance)


@routine
def step_on(x, P, feet, k, at, N, radius, ground):
    """Place the landmark of a foot; the first of all sets the height of the ground."""
    land(x, P, feet, k, at, N)
    if ground[AFLOAT] > 0.0:
        shift = ground[HEIGHT] + radius - x[X_FEET + 3 * k + 2]
        x[X_PLACE + 2] += shift
        for m in range(feet.shape[0]):
            x[X_FEET + 3 * m + 2] += shift
        ground[AFLOAT] = 0.0


@routine
def use_ground(x, P, feet, k, settings, height, memory):
    """Take it that a new foothold is as high as the ground (Z9)."""
    _, _, _, h = memory
    h[:] = 0.0
    d = part3(x, X_FEET + 3 * k)
    h[TURN], h[TURN + 1], h[FEET + 3 * k + 2] = d[1], -d[0], 1.0
    feet[k, GROUNDED] = 1.0
    variance = settings[GROUND] * settings[GROUND]
    correct_number(x, P, feet, height - d[2], variance, settings[LEVEL] == 0.0, settings[GATE], memory)


@kernel
def update(estimate, feet, settings, imu, kinematics, joint_rate, geometry, dt):
    """Move the estimate (x, P) on by dt and correct it by the feet that stand; returns whether it is one.

    feet (k, FOOT) as above, FORCE written by the caller; imu (6,): gyroscope, accelerometer; kinematics as
    `foot_kinematics` answers them; joint_rate (nv,); geometry: radius (k,) of the feet's balls, and the ground (2,).
    """
    x, P = estimate
    place_of, jacobian, spin = kinematics
    radius, ground = geometry
    n = P.shape[0]
    memory = np.empty((3, n)), np.empty((3, n)), np.empty(n), np.empty(n)
    N = np.empty((3, 3))
    propagate(x, P, feet, settings, imu, (spin, radius), dt, np.empty((n, 3)))
    omega = sub(part3(imu, 0), part3(x, X_GYRO))
    for k in range(feet.shape[0]):
        at, motion = part3(place_of[k], 0), (0.0, 0.0, 0.0)
        for j in range(6, joint_rate.shape[0]):
            motion = add(motion, scale(joint_rate[j], (jacobian[k, 0, j], jacobian[k, 1, j], jacobian[k, 2, j])))
        leg = at, motion, part3(spin[k], 0), radius[k]
        slipping = slips(x, P, feet[k], settings, omega, leg, dt)
        placed = feet[k, AGE] >= 0.0
        bears = feet[k, FORCE] > settings[THRESHOLD] * (0.5 if placed else 1.0)
        feet[k, GATED] += 1.0 if bears and slipping else 0.0
        place_noise(x, jacobian[k], settings, N)
        if (placed and (slipping or not bears)) or (
            placed and not correct_foot(x, P, feet, k, at, N, settings[GATE], memory)
        ):
            lift(P, feet, k)
        elif bears and not placed and not slipping:
            step_on(x, P, feet, k, at, N, radius[k], ground)
        if settings[GROUND] > 0.0 and feet[k, GROUNDED] == 0.0 and feet[k, AGE] > SETTLED:
            use_ground(x, P, feet, k, settings, ground[HEIGHT] + radius[k], memory)
    return sound(x, P)


@routine
def sound(x, P):
    """Whether an estimate can be gone on with."""
    good = finite(x)
    for i in range(P.shape[0]):
        good = good and 0.0 < P[i, i] < LARGEST
    return good


@kernel
def see_gravity(estimate, feet, up, deviation, gate):
    """Correct the attitude by the world's vertical in IMU axes (Z9), of that deviation [rad]; returns whether used."""
    x, P = estimate
    n = P.shape[0]
    memory = np.empty((3, n)), np.empty((3, n)), np.empty(n), np.empty(n)
    _, _, _, h = memory
    h[:] = 0.0
    used = True
    for axis in range(2):
        turn = part4(x, X_TURN)
        z = mul(quaternion_matrix(turn[0], turn[1], turn[2], turn[3]), part3(up, 0))
        h[TURN], h[TURN + 1] = (0.0, 1.0) if axis == 0 else (-1.0, 0.0)
        used = used and z[2] > 0.0
        if used:
            used = correct_number(x, P, feet, -z[axis], deviation * deviation, False, gate, memory)
    return used and sound(x, P)


@kernel
def report(estimate, mount, imu, gyro_variance, pose, twist, covariance):
    """Pose (7,), twist (6,) of the base, and covariance (12, 12) of the errors of both, out of those of the IMU (Z10).

    Errors: rotation and position in world axes, angular velocity and velocity in base axes.
    """
    x, P = estimate
    B, lever = part9(mount, MOUNT_TURN), part3(mount, MOUNT_PLACE)
    turn = turned(part4(x, X_TURN), part4(mount, MOUNT_INVERSE))
    R = quaternion_matrix(turn[0], turn[1], turn[2], turn[3])
    place_of_base = sub(part3(x, X_PLACE), mul(R, lever))
    w = mul(B, sub(part3(imu, 0), part3(x, X_GYRO)))
    part3_to(pose, 0, place_of_base)
    part4_to(pose, 3, turn)
    part3_to(twist, 0, w)
    part3_to(twist, 3, sub(tmul(R, part3(x, X_VELOCITY)), cross(w, lever)))
    T, M = np.zeros((12, FEET)), np.empty((12, FEET))
    skew_to(T, 3, TURN, -1.0, place_of_base)
    for i in range(3):
        T[i, TURN + i], T[3 + i, PLACE + i] = 1.0, 1.0
        for j in range(3):
            T[6 + i, GYRO + j] = -B[3 * i + j]
            T[9 + i, VELOCITY + j] = R[3 * j + i]
    for j in range(3):
        column = cross(lever, (T[6, GYRO + j], T[7, GYRO + j], T[8, GYRO + j]))
        T[9, GYRO + j], T[10, GYRO + j], T[11, GYRO + j] = column
    for i in range(12):
        for j in range(FEET):
            M[i, j] = gyro_variance * T[i, j] if GYRO <= j < ACCELEROMETER else 0.0
            for k in range(FEET):
                M[i, j] += T[i, k] * P[k, j]
    for i in range(12):
        for j in range(12):
            covariance[i, j] = 0.0
            for k in range(FEET):
                covariance[i, j] += M[i, k] * T[j, k]
