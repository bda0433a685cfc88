# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers of messages on their way into a robot's state: all are looked at before the first is written."""

import math

from ..compiler import brief, strict

LARGEST = 1e9
"""Magnitude of a measurement or command that is none: powers of it would overflow in the dynamics [SI]."""
POSITION, VELOCITY, EFFORT, Q, QD = range(5)
"""Rows of `places`: where the numbers of joint j stand in a message, and where they go in q and qd."""
WITH_EFFORT, WITHOUT_EFFORT = -1, -2
PLACE, TURN, LINEAR, ANGULAR, ODOMETRY = 0, 3, 43, 46, 85
"""Where the numbers of an Odometry hold position, quaternion and twist, between covariances; how many they are."""


@brief
def take_joints(places, numbers, q, qd, position, velocity, effort):
    """Take positions, velocities, efforts of the joints that `places` (5, n) finds in `numbers`, others stay.

    A velocity that is NaN counts as 0, efforts count where none is NaN. Returns the place of a number that is none, and
    nothing is taken; else WITH_EFFORT or WITHOUT_EFFORT.
    """
    answer = WITHOUT_EFFORT
    for j in range(places.shape[1]):
        for row in range(3):
            at = places[row, j]
            if at >= 0 and not (abs(numbers[at]) < LARGEST or (row > POSITION and math.isnan(numbers[at]))):
                return at
        if places[EFFORT, j] >= 0:
            answer = WITH_EFFORT
    for j in range(places.shape[1]):
        if places[EFFORT, j] >= 0 and math.isnan(numbers[places[EFFORT, j]]):
            answer = WITHOUT_EFFORT
    for j in range(places.shape[1]):
        if places[POSITION, j] >= 0:
            rate = numbers[places[VELOCITY, j]]
            q[places[Q, j]] = position[j] = numbers[places[POSITION, j]]
            qd[places[QD, j]] = velocity[j] = 0.0 if math.isnan(rate) else rate
            if answer == WITH_EFFORT:
                effort[j] = numbers[places[EFFORT, j]]
    return answer


@strict
def unit(x, y, z, w):
    """The quaternion divided by its length, and the length."""
    size = math.sqrt(x * x + y * y + z * z + w * w)
    return (x / size, y / size, z / size, w / size), size


@brief
def take_base(numbers, pose, twist):
    """Take pose (7,) and twist (6,) = [omega, v] of an Odometry; returns whether they are those of a body."""
    turn, size = unit(numbers[TURN], numbers[TURN + 1], numbers[TURN + 2], numbers[TURN + 3])
    reach = 0.0
    for i in range(3):
        reach += numbers[PLACE + i] ** 2 + numbers[LINEAR + i] ** 2 + numbers[ANGULAR + i] ** 2
    if not (0.5 < size < 2.0 and reach < LARGEST * LARGEST):
        return False
    for i in range(3):
        pose[i], twist[i], twist[3 + i] = numbers[PLACE + i], numbers[ANGULAR + i], numbers[LINEAR + i]
    for i in range(4):
        pose[3 + i] = turn[i]
    return True
