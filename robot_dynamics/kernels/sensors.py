# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A robot's motion on its way into messages: all of a tick in one call."""

from ..compiler import brief, inline
from .measured import ANGULAR, LINEAR, PLACE
from .rows import part3, part3_to, part4, part6, part9
from .scalar import ZERO3, add, cross, quaternion_matrix, sub, tmul
from .simulation import memory as at

TURN, LEVER, ATTITUDE, GRAVITY, MOUNT = 0, 9, 12, 16, 19
"""Where an IMU's mount holds its rotation, place and quaternion in the base, and gravity; how many numbers it has."""
MOTION_ATTITUDE, MOTION_OMEGA, MOTION_FORCE, MOTION = 0, 13, 25, 37
"""Where the numbers of an Imu hold attitude, angular velocity and specific force, between covariances; how many."""


@inline
def hamilton(a, b):
    """Quaternion xyzw of the rotation b followed by a."""
    return (
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@inline
def inertial(mount, base, qd, qdd):
    """Attitude of an IMU; angular velocity and specific force (M1) of the root link, and what the mount has more of it.

    base: quaternion of the root link, in whose axes all but the attitude is [REP-145]; qd, qdd (6,) = [omega, v].
    """
    w, v, turning, rate = part3(qd, 0), part3(qd, 3), part3(qdd, 0), part3(qdd, 3)
    place = part3(mount, LEVER)
    weight = tmul(quaternion_matrix(base[0], base[1], base[2], base[3]), part3(mount, GRAVITY))
    lever = add(cross(turning, place), cross(w, cross(w, place)))
    return hamilton(base, part4(mount, ATTITUDE)), w, sub(add(rate, cross(w, v)), weight), lever


@brief
def read_sensors(joints, state, mount, readings, odometry, imu):
    """Write what joints (n,), an Odometry and an Imu (numbers as they stand in the messages) read without noise.

    joints: number and data of the plant's bundle. state: q, qd, base_rate. readings: positions, velocities, efforts.
    A robot with a fixed base has an `odometry` without numbers.
    """
    (number, data), (q, qd, base_rate), (position, velocity, effort) = joints, state, readings
    for j in range(number.shape[1]):
        position[j], velocity[j] = q[number[at.JOINT_Q, j]], qd[number[at.JOINT_V, j]]
        effort[j] = data[at.MOTOR, number[at.ACTUATOR, j]]
    attitude, w, force = part4(mount, ATTITUDE), ZERO3, sub(ZERO3, part3(mount, GRAVITY))
    if odometry.shape[0]:
        attitude, w, root, lever = inertial(mount, part4(q, 3), part6(qd, 0), part6(base_rate, 0))
        force = add(root, lever)
        for i in range(7):
            odometry[PLACE + i] = q[i]
        part3_to(odometry, LINEAR, part3(qd, 3))
        part3_to(odometry, ANGULAR, w)
    for i in range(4):
        imu[MOTION_ATTITUDE + i] = attitude[i]
    part3_to(imu, MOTION_OMEGA, tmul(part9(mount, TURN), w))
    part3_to(imu, MOTION_FORCE, tmul(part9(mount, TURN), force))
