# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How contacts feel each other: by test forces, one run of forward dynamics for each, or all in one sweep.

The contact inertia's inverse J H^-1 J^T says how each contact point accelerates under a unit force at every other one.
Naively each force is tried: k points cost 3 k runs of ABA. The factors of H carry all forces to the root in one sweep.
Twelve contact points on the feet of a standing quadruped. Times depend on the machine and go to stderr.

It prints:

    12 contact points on a robot with 18 degrees of freedom
    naive: 37 runs of forward dynamics; by the factors of H: one sweep
    largest difference of both, over the largest entry: below 1e-12
"""

import sys
from time import perf_counter

import numpy as np

import robot_dynamics as rd
from robot_dynamics.share import share_folder

robot = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
feet = ("FR_knee", "FL_knee", "HR_knee", "HL_knee")
contacts = rd.points(robot, {foot: [(0.02, 0, -0.2), (-0.02, 0.01, -0.2), (-0.02, -0.01, -0.2)] for foot in feet})
q = rd.neutral(robot)
q[robot.q_index] = [0.1, -0.8, 1.6] * 4
rest = np.zeros(robot.nv)


def naive() -> np.ndarray:
    """J H^-1 J^T (3k, 3k): column by column, the accelerations under a unit force, less those without."""
    J = rd.point_jacobian(robot, contacts, q).reshape(-1, robot.nv)
    free = rd.forward_dynamics(robot, q, rest, rest)
    return np.array([J @ (rd.forward_dynamics(robot, q, rest, force) - free) for force in J]).T


def by_factors() -> np.ndarray:
    """The same in one sweep through the tree."""
    return rd.contact_inertia_inverse(robot, contacts, q)


def timed(way) -> tuple[np.ndarray, float]:
    """Result and shortest of ten times [s]."""
    times = []
    for _ in range(10):
        begin = perf_counter()
        found = way()
        times.append(perf_counter() - begin)
    return found, min(times)


print(f"{len(contacts)} contact points on a robot with {robot.nv} degrees of freedom")
print(f"naive: {3 * len(contacts) + 1} runs of forward dynamics; by the factors of H: one sweep")
(A, slow), (B, fast) = timed(naive), timed(by_factors)
assert np.abs(A - B).max() < 1e-12 * np.abs(A).max()
print("largest difference of both, over the largest entry: below 1e-12")
print(f"naive {1e6 * slow:.0f} us, one sweep {1e6 * fast:.0f} us: {slow / fast:.0f} times faster", file=sys.stderr)
