# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Position-only shift of a step: what contacts and stops leave out of their way (T13, T14, J3).

The bundles of arrays and their columns (`at.`) are those of `memory`; nothing is allocated.
"""

import math

from ...compiler import abreast, alike, each, inline, lane, routine
from .. import rows
from ..bodies import velocity_at
from ..contact.alone import lend, lend_paths, lend_slopes, present, relax_alone, take_forces
from ..contact.friction import slides
from ..contact.solver import (
    FRICTION,
    IMPULSE,
    ZETA,
    U,
    relax,
)
from ..rows import part3, row3, set3
from ..scalar import ZERO3, dot, scale
from . import memory as at
from .constraints import STOP_RECOVERY, STOP_RECOVERY_SPEED, prepare_paths, response, response_scale
from .detection import middle, next_twists, row_of, size1

MOST_SHIFT = 1e-3
"""A position-only shift that moves a point further than this is not made [m]: it is that of an impact, or of contacts
that contradict each other, and pushes points into the ground."""
SLOP = 1e-5
"""Depth that impulses leave alone [m, rad]: what a step's rotation leaves of a contact that does not sink in."""

AS_IT_IS, RECOVERING, MOVING = range(3)
"""What a position-only shift is for: nothing; contacts or stops that are too deep; what slides or lands, too."""


@inline
def recovery_rate(depth, rate, speed):
    """Speed of a position-only shift that takes back a depth, without velocity: no kinetic energy comes of it (J3)."""
    return min(rate * (depth - SLOP), speed) if depth > SLOP else 0.0


@inline
def recovers(settings):
    """Whether contacts that are too deep come back."""
    return settings.scheme == IMPULSE and not settings.below


@inline
def way_is_missing(settings, count, problem):
    """Whether a contact that carries slides, has landed or is too deep: else `missing_way` is 0 for all."""
    f = problem.system.f
    slop = SLOP if recovers(settings) else math.inf
    number = 0.0
    for (contacts,) in alike(count):
        for a in abreast(contacts):
            force = (lane(f, 3 * a), lane(f, 3 * a + 1), lane(f, 3 * a + 2))
            off = problem.system.points[ZETA, a] > slop or problem.picked[at.LANDED, a] == 1
            missing = off or slides(force, problem.system.points[FRICTION, a])
            number += 1.0 if missing and force[2] > 0.0 else 0.0
    return number > 0.0


@routine
def missing_way(ground, settings, a, problem):
    """What the end velocity leaves out of the way of contact a in this step, over h, in surface axes.

    Along the normal, softly landed: -pen / h, so that it ends on the surface (T13); too deep: its recovery.
    Sliding: (u_start - u_end) / 2 along the surface, so that it goes by the mean of its velocities and comes to rest
    after v^2 / (2 mu g).
    """
    pen = -problem.system.points[ZETA, a]
    if problem.picked[at.LANDED, a] == 1:
        return (0.0, 0.0, -pen / settings.timestep)
    up = 0.0
    if recovers(settings):
        up = recovery_rate(-pen, settings.recovery, settings.recovery_speed)
    if not slides(part3(problem.system.f, 3 * a), problem.system.points[FRICTION, a]):
        return (0.0, 0.0, up)
    x, y = 0.0, 0.0
    for c in each(problem.picked[at.ACTIVE, a]):
        x = 0.5 * (ground.points[c, at.START] - problem.system.work.rows[U, 3 * a])
        y = 0.5 * (ground.points[c, at.START + 1] - problem.system.work.rows[U, 3 * a + 1])
    far = (x * x + y * y) * settings.timestep * settings.timestep > MOST_SHIFT * MOST_SHIFT
    return (0.0, 0.0, up) if far else (x, y, up)


@inline
def missing_stop_way(joints, settings, i):
    """As `missing_way` for the joint of actuator i, which comes back from beyond its stop."""
    x, h = joints.data[at.POSITION, i], settings.timestep
    up = recovery_rate(joints.data[at.LOWER, i] - x, STOP_RECOVERY / h, STOP_RECOVERY_SPEED)
    down = recovery_rate(x - joints.data[at.UPPER, i], STOP_RECOVERY / h, STOP_RECOVERY_SPEED)
    return up - down


@inline
def holds(problem, count, s):
    """Whether the friction or stop of scalar row s is within its bounds."""
    return problem.system.bounds[s, 0] < problem.system.f[3 * count + s] < problem.system.bounds[s, 1]


@inline
def shift_purpose(joints, ground, settings, count, n, problem):
    """What a position-only shift would be for."""
    purpose = AS_IT_IS
    for a in range(count if way_is_missing(settings, count, problem) else 0):
        if problem.system.f[3 * a + 2] > 0.0:
            way = missing_way(ground, settings, a, problem)
            sideways = problem.picked[at.LANDED, a] == 1 or abs(way[0]) + abs(way[1]) > 0.0
            purpose = max(purpose, (MOVING if sideways else RECOVERING) if size1(way) > 0.0 else AS_IT_IS)
    for s in range(n - 3 * count):
        back = missing_stop_way(joints, settings, problem.picked[at.ROW_INDEX, s] // 2)
        purpose = max(purpose, RECOVERING if abs(back) > 0.0 else AS_IT_IS)
    return purpose


@inline
def ask_row(problem, i, k, way):
    """Note that row i, number k of its contact, moves by `way` and not otherwise; returns A_ii."""
    problem.system.work.slopes[i, k] = 1.0
    problem.system.b[i] = -way
    return problem.system.A[i, i]


@routine
def held_rows(joints, ground, settings, count, n, problem):
    """E = 1 of the rows that may not move and -b what is left over of their way; 0 of all others. Returns tr A_BB.

    Those are the rows of contacts that carry, of friction and stops within their bounds, and of the stops that joints
    are beyond: friction does not hold these joints.
    """
    for i in range(n):
        set3(problem.system.work.slopes, i, 0, ZERO3)
        problem.system.b[i] = 0.0
    trace = 0.0
    for a in range(count):
        if problem.system.f[3 * a + 2] > 0.0:
            for k, way in enumerate(missing_way(ground, settings, a, problem)):
                trace += ask_row(problem, 3 * a + k, k, way)
    for s in range(n - 3 * count):
        index = problem.picked[at.ROW_INDEX, s]
        back = missing_stop_way(joints, settings, index // 2)
        beyond, is_stop = abs(back) > 0.0, index % 2 == 1
        if (beyond and is_stop) or (not beyond and holds(problem, count, s)):
            trace += ask_row(problem, 3 * count + s, 0, back)
    return trace


@routine
def hold_rows(robot, settings, count, n, trace, problem):
    """Forces pi, into f, that move the rows B that hold by r: (A_BB + 1e-9 tr(A_BB) 1) pi = r (T14).

    Over all rows f + E (b + A f) = 0 with b = -r.
    """
    system, own = problem.system, problem.own
    E = system.work.slopes
    for i in range(n):
        set3(E, i, 0, scale(1e9 / trace, row3(E, i, 0)))
    prepare_paths(robot, settings, count, n, problem)
    if len(problem.own) > 0:
        lend(system, count, n, own)
        lend_paths(system, count, n, own)
        lend_slopes(system, count, n, own)
        contacts, rows = present(system, count, n)
        relax_alone(own, contacts, rows)
        take_forces(own, count, n, system)
    else:
        relax(system, count, n)


@inline
def shift_positions(robot, joints, ground, settings, count, n, problem):
    """Position-only shift by what `missing_way` says, in dofs[CHANGE]; all other rows that hold stay where they are.

    Returns what it is for. A recovery longer than MOST_SHIFT goes that far.
    """
    purpose = shift_purpose(joints, ground, settings, count, n, problem)
    if purpose == AS_IT_IS:
        scale_shift(joints, 0.0)
        return AS_IT_IS
    trace = held_rows(joints, ground, settings, count, n, problem)
    hold_rows(robot, settings, count, n, trace, problem)
    for contacts, total in alike(count, n):
        response(robot, joints.dofs, response_scale(settings), contacts, total, problem)
    way = longest_shift(robot, joints, ground, settings)
    if not way <= MOST_SHIFT:
        scale_shift(joints, MOST_SHIFT / way if purpose == RECOVERING and way < math.inf else 0.0)
    return purpose


@inline
def scale_shift(joints, g):
    """Shorten the position-only shift; by 0: give it up."""
    for k in abreast(joints.dofs.shape[1]):
        joints.dofs[at.CHANGE, k] = g * joints.dofs[at.CHANGE, k] if g > 0.0 else 0.0


@routine
def longest_shift(robot, joints, ground, settings):
    """How far the shift in dofs[CHANGE] moves the point, touching or not, that it moves most."""
    next_twists(robot, joints.dofs[at.CHANGE])
    longest = 0.0
    for c in range(ground.row.shape[0]):
        u = velocity_at(robot.w, row_of(ground, c), middle(robot, ground, c), rows.NEXT)
        longest = max(longest, dot(u, u))
    return settings.timestep * math.sqrt(longest)
