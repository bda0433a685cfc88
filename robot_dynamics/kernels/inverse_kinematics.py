# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Joints that bring the feet of a robot where they are wanted, seen from its floating base (H9).

Feet are rows (k,) and positions (k, 3) in row axes, as `bodies.point_jacobians` takes them.
"""

import numpy as np

from ..compiler import abreast, kernel, routine
from .bodies import point_jacobian, point_position, world_poses
from .dense import factorize, solve
from .rows import WORKSPACE, part3, part3_to
from .scalar import sub
from .tree.placement import place

CLOSE = 1e-10
"""Distance of the feet from their targets that is none [m]."""
LONGEST = 0.5
"""Most that a joint turns in one step [rad]."""
DAMPING = 1e-6
"""Of joint rates near a stretched leg [m^2]."""


@routine
def place_feet(topology, parameters, joints, q, w):
    """Poses of all rows for a base at the origin."""
    for j in range(joints.shape[0]):
        q[7 + j] = joints[j]
    place(topology, parameters, q, w)
    world_poses(topology, w)


@routine
def feet_jacobian(topology, parameters, feet, w, J):
    """J (3k, nv) of the feet; needs `place_feet`."""
    point_rows, point_r = feet
    for k in range(point_rows.shape[0]):
        point_jacobian(topology, parameters, w, point_rows[k], part3(point_r[k], 0), J[3 * k : 3 * k + 3])


@routine
def least_squares(J, damping, A, e, x):
    """x = J^T (J J^T + damping 1)^-1 e of the joints' columns of J, by way of A; e is overwritten."""
    m, n = e.shape[0], x.shape[0]
    for a in range(m):
        for b in range(a + 1):
            total = 0.0
            for c in abreast(n):
                total += J[a, 6 + c] * J[b, 6 + c]
            A[a, b] = total
        A[a, a] += damping
    factorize(A)
    solve(A, e)
    for c in range(n):
        x[c] = 0.0
    for a in range(m):
        for c in abreast(n):
            x[c] += J[a, 6 + c] * e[a]


@kernel
def joints_for_feet(topology, parameters, feet, target, limits, iterations, joints):
    """Bring `joints` (n,), within limits (lower, upper), to where the feet are at `target` (k, 3) or near it (H9)."""
    point_rows, point_r = feet
    lower, upper = limits
    n, m = joints.shape[0], 3 * point_rows.shape[0]
    w, q = np.empty((topology.shape[0], WORKSPACE)), np.zeros(7 + n)
    J, A, e, step = np.empty((m, 6 + n)), np.empty((m, m)), np.empty(m), np.empty(n)
    q[6] = 1.0
    for _ in range(iterations):
        place_feet(topology, parameters, joints, q, w)
        size = 0.0
        for k in range(point_rows.shape[0]):
            d = sub(part3(target[k], 0), point_position(w, point_rows[k], part3(point_r[k], 0)))
            part3_to(e, 3 * k, d)
            size = max(size, max(abs(d[0]), max(abs(d[1]), abs(d[2]))))
        if size < CLOSE:
            break
        feet_jacobian(topology, parameters, feet, w, J)
        least_squares(J, 1e-8 + 0.01 * min(size * size, 0.01), A, e, step)
        longest = LONGEST
        for j in range(n):
            longest = max(longest, abs(step[j]))
        for j in range(n):
            joints[j] = min(max(joints[j] + step[j] * (LONGEST / longest), lower[j]), upper[j])


@kernel
def joint_rates_for_feet(topology, parameters, feet, velocity, joints, rates):
    """Joint rates (n,) that move the feet at `velocity` (k, 3) where the joints are, by damped least squares."""
    n, m = joints.shape[0], 3 * velocity.shape[0]
    w, q = np.empty((topology.shape[0], WORKSPACE)), np.zeros(7 + n)
    J, A, e = np.empty((m, 6 + n)), np.empty((m, m)), np.empty(m)
    q[6] = 1.0
    place_feet(topology, parameters, joints, q, w)
    feet_jacobian(topology, parameters, feet, w, J)
    for k in range(velocity.shape[0]):
        part3_to(e, 3 * k, part3(velocity[k], 0))
    least_squares(J, DAMPING, A, e, rates)
