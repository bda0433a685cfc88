# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Centred differences of steps of the plant, LANES perturbed plants abreast (V13); bundles as in `memory`."""

import numpy as np

from ...compiler import LANES, Lanes, inline, kernel, lane, lean, routine, spread, to_lane
from ..batch import read, write
from ..contact.solver import Scratch, System
from ..manifold import difference, integrate
from ..robot import Robot
from . import memory as at
from .ledger import start_ledger
from .run import take


@kernel
def starts(topology, q, qd, effort, eps, out):
    """States and efforts of all perturbed plants: +eps and -eps in each tangent of q, in qd, in the efforts.

    out: rows of q, qd, effort, a multiple of LANES of them; the last ones stay where the plant is.
    """
    Q, QD, U = out
    n, m = qd.shape[0], effort.shape[0]
    for e in range(Q.shape[0]):
        k, d = e // 2, eps if e % 2 == 0 else -eps
        Q[e] = q
        QD[e] = qd
        U[e] = effort
        if k < n:
            QD[e] = 0.0
            QD[e, k] = d
            integrate(topology, q, QD[e], 1.0, Q[e])
            QD[e] = qd
        elif k < 2 * n:
            QD[e, k - n] += d
        elif k < 2 * n + m:
            U[e, k - 2 * n] += d


@kernel
def slopes(topology, Q, QD, eps, A, B):
    """A (2 nv, 2 nv) and B (2 nv, n) of the states that the plants of `starts` end in."""
    n = QD.shape[1]
    out = np.empty(n)
    for k in range(A.shape[1] + B.shape[1]):
        plus, minus = 2 * k, 2 * k + 1
        difference(topology, Q[minus], Q[plus], out)
        for r in range(n):
            x, v = out[r] / (2.0 * eps), (QD[plus, r] - QD[minus, r]) / (2.0 * eps)
            if k < 2 * n:
                A[r, k], A[n + r, k] = x, v
            else:
                B[r, k - 2 * n], B[n + r, k - 2 * n] = x, v


@inline
def to_all(x, laned, first, end):
    """Give every lane the numbers of x from `first` to `end`, both flat."""
    for k in range(first, end):
        value = lane(x, k)
        for o in range(LANES):
            to_lane(laned, k * LANES + o, value)


@inline
def carry_over(data, points, actuators):
    """What a step takes over from the last one of efforts and contacts; each a pair, of the plant and of the lanes."""
    to_all(data[0], data[1], at.MOTOR * actuators, (at.HELD + 2) * actuators)
    for first in range(0, points[0].shape[0], at.POINT_COLUMNS):
        to_all(points[0], points[1], first + at.DEFLECTION, first + at.LAST_DEFLECTION)
        to_all(points[0], points[1], first + at.SURFACE, first + at.SURFACE + 1)


@routine
def begin_and_take(plant, steps, log, status):
    """`take` from a state that no step has ended in."""
    for k in range(at.LEDGER):
        plant.state.ledger[k] = 0.0
    start_ledger(plant.robot, plant.ground, plant.state, plant.settings)
    status[0] = take(plant, steps, log)


take_lanes = spread(begin_and_take)


@lean
def take_perturbed(plant, carried, moved, steps, log, status):
    """Take all plants of `starts` through `steps` steps, LANES at a time.

    plant: as for `run.named`, arrays that steps write as `Lanes`, what no step writes that of the one plant. carried:
    figures in arrays that steps write, and what a step takes over from the last one besides the state: counters and
    flat arrays, each of the plant and of the lanes. moved: rows of `starts`, which become those of the end, and the
    lanes of q, qd and of the efforts commanded. log (0, 0, LANES), status (1, LANES): workspace. Returns
    FINE, or why one of the plants stopped.
    """
    robot, joints, ground, state, settings, command, problem, system, work = plant
    bundles = Robot(*robot), at.Joints(*joints), at.Ground(*ground), at.State(*state), at.Settings(*settings)
    solve = at.Problem(*problem, System(*system, Scratch(*work)))  # type: ignore[call-arg]
    laned = at.Plant(*bundles, at.Command(*command), solve)
    (counters, counters_of_lanes), data, points, queue, now, dofs, gaps = carried
    (Q, QD, U), (q, qd, effort) = moved
    nq, nv, n = Q.shape[1], QD.shape[1], U.shape[1]
    for x, lanes in (data, points, now, dofs, gaps):
        to_all(x, lanes, 0, x.shape[0])
    for begin in range(0, Q.shape[0], LANES):
        for k in range(counters.shape[0]):
            counters_of_lanes[k] = counters[k]
        carry_over(data, points, data[0].shape[0] // at.JOINT_FIGURES)
        to_all(queue[0], queue[1], 0, queue[0].shape[0])
        read(Q, nq, begin, q)
        read(QD, nv, begin, qd)
        read(U, n, begin, effort)
        take_lanes(laned, steps, Lanes(log), Lanes(status))
        write(q, nq, begin, Q)
        write(qd, nv, begin, QD)
        for o in range(LANES):
            if status[0, o] != 0:
                return status[0, o]
    return 0
