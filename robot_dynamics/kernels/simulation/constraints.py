# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows of contacts, joint friction and stops, their coupled solve, and its forces (Q1-Q9, F1-F3).

The bundles of arrays and their columns (`at.`) are those of `memory`; nothing is allocated.
"""

import math

from ...compiler import QUAD, abreast, alike, anywhere, differ, each, inline, routine
from ..contact.alone import lend, lend_paths, newton_alone, present, sweep_alone, take_forces
from ..contact.impulse import below_target, predicted_target
from ..contact.solver import (
    ABSENT,
    DEFLECTION,
    FRICTION,
    IMPLICIT,
    IMPULSE,
    STIFFNESS,
    ZETA,
    U,
    by_joints,
    has_range,
    is_present,
    solve_by_newton,
    sweep_until_good,
)
from ..contact.spring_damper import next_deflection
from ..contact_space import contact_paths, delassus_matrix, divide, joint_path, joint_response, write_paths
from ..rows import part3, row3, set3, set_column3
from ..scalar import ZERO3, add, dot, scale
from . import memory as at
from .actuators import actuator_of, add_rates, first_dof, v_of
from .detection import (
    MARGIN,
    end_of_active,
    find_contacts,
    first_of,
    next_twists,
    row_of,
    save_deflection,
    takes_part,
)

STOP_RECOVERY = 0.2
STOP_RECOVERY_SPEED = 0.5
"""A joint beyond its stop comes back by this share per step, at most at this speed [rad/s, m/s]."""


@inline
def force_unit(settings):
    """What the solver has for 1 N: impulses are forces times the timestep."""
    return settings.timestep if settings.scheme == IMPULSE else 1.0


@inline
def response_scale(settings):
    """What a row's velocity changes by in a step is this times J H^-1 J^T f."""
    return 1.0 if settings.scheme == IMPULSE else settings.timestep


@inline
def impulse_target(points, c, settings, bounce):
    """Normal velocity asked for of point c, and whether it lands softly; bounce: share of the restitution."""
    pen = points[c, at.PEN]
    u0 = points[c, at.START + 2]
    if settings.below:
        return below_target(pen, u0, bounce * settings.restitution, settings.recovery), False
    free = points[c, at.END + 2]
    h = settings.timestep
    return predicted_target(pen, u0, free, h, bounce * settings.restitution)


@inline
def contact_row(ground, settings, bounce, a, c, problem):
    """Data of contact a, that of point c."""
    points = ground.points
    for k in range(3):
        problem.system.b[3 * a + k] = points[c, at.END + k]
        problem.system.f[3 * a + k] = force_unit(settings) * points[c, at.FORCE + k]
    problem.system.points[ZETA, a] = -points[c, at.PEN]
    for k in range(2):
        problem.system.points[DEFLECTION + k, a] = points[c, at.DEFLECTION + k]
    set_column3(problem.system.points, STIFFNESS, a, row3(points, c, at.LAW))
    problem.picked[at.LANDED, a] = 0
    if settings.scheme == IMPULSE:
        target, lands = impulse_target(points, c, settings, bounce)
        problem.system.b[3 * a + 2] -= target
        problem.picked[at.LANDED, a] = 1 if lands else 0


@inline
def contact_rows(robot, ground, settings, bounce, count, problem):
    """Paths, free velocities less their targets, and law data of the active contacts; warm start from the last step."""
    for a in range(count):
        for c in each(problem.picked[at.ACTIVE, a]):
            problem.rows[a] = row_of(ground, c)
            contact_row(ground, settings, bounce, a, c, problem)
    contacts = count, problem.picked[at.ACTIVE], ground.row
    contact_paths(robot, contacts, (ground.points, at.FRAME), problem.z, problem.y)


@inline
def share_contacts(common, picked):
    """Have the contacts that plants in lanes have together as those of each; returns how many.

    Lanes then go together. Only up to QUAD, whose forces a sweep expects at once: those absent do not disturb them.
    """
    for a in range(common):
        picked[at.ACTIVE, a] = picked[at.COMMON, a]
    return common


@inline
def leave_out(common, problem):
    """Mark the contacts that are absent from a lane: only other plants have them."""
    for a in range(common):
        if problem.picked[at.PRESENT, a] == 0:
            problem.system.points[FRICTION, a] = ABSENT
            for k in range(3):
                problem.system.f[3 * a + k] = 0.0


@inline
def stop_target(gap, h):
    """Least speed away from a stop (F2): it may be reached but not passed."""
    return -gap / h if gap > 0.0 else 0.0


@routine
def write_joint_row(robot, joints, settings, which, wanted, count, n, problem):
    """Write the scalar row of a joint's friction or stop as number n, behind those of `count` contacts.

    which: joint, and 0 for friction or 1 for stop. wanted: least and largest effort, and the rate asked for; where both
    efforts are 0 the row is absent: only other plants in lanes have it.
    """
    j, stop = which
    s = n - 3 * count
    unit = force_unit(settings)
    low, high, target = wanted
    row, dof, i = joints.number[at.JOINT_ROW, j], v_of(joints, j), actuator_of(joints, j)
    joint_path(robot, row, count, n, problem.z, problem.y)
    problem.rows[count + s] = row
    problem.system.b[n] = joints.dofs[at.V_NEXT, dof] - target
    problem.system.bounds[s, 0] = unit * low
    problem.system.bounds[s, 1] = unit * high
    problem.system.f[n] = unit * joints.data[at.HELD + stop, i] if has_range(problem.system.bounds, s) else 0.0
    problem.picked[at.ROW_INDEX, s] = 2 * i + stop


@inline
def any_joint_row(joints, h):
    """Whether a joint has friction or comes near a stop."""
    data = joints.data
    count = 0.0
    for i in abreast(data.shape[1]):
        x, v = data[at.POSITION, i], joints.dofs[at.V_NEXT, first_dof(joints) + i]
        gap = min(x - data[at.LOWER, i], data[at.UPPER, i] - x) - h * abs(v)
        count += 1.0 if data[at.COULOMB, i] > 0.0 else (1.0 if gap < MARGIN else 0.0)
    return count > 0.0


@inline
def add_joint_rows(robot, joints, settings, count, together, problem):
    """Rows of joint friction and of stops within reach, behind 3 `count` contact rows; returns how many there are.

    together: plants in lanes have those of each.
    """
    h = settings.timestep
    n = 3 * count
    if not anywhere(any_joint_row(joints, h)):
        return n
    for j in range(joints.number.shape[1]):
        if joints.number[at.JOINT_ROW, j] < 0:
            continue
        i = actuator_of(joints, j)
        friction = joints.data[at.COULOMB, i]
        if anywhere(friction > 0.0):
            write_joint_row(robot, joints, settings, (j, 0), (-friction, friction, 0.0), count, n, problem)
            n += 1 if friction > 0.0 or together else 0  # else the next one takes its place
        x = joints.data[at.POSITION, i]
        v = joints.dofs[at.V_NEXT, v_of(joints, j)]
        low = x - joints.data[at.LOWER, i]
        high = joints.data[at.UPPER, i] - x
        wanted = (0.0, 0.0, 0.0)
        at_low = low + h * min(v, 0.0) < MARGIN
        at_high = high - h * max(v, 0.0) < MARGIN
        if at_low and at_high:
            wanted = (-math.inf, math.inf, 0.5 * STOP_RECOVERY * (high - low) / h)
        elif at_low:
            wanted = (0.0, math.inf, stop_target(low, h))
        elif at_high:
            wanted = (-math.inf, 0.0, -stop_target(high, h))
        if anywhere(at_low or at_high):
            write_joint_row(robot, joints, settings, (j, 1), wanted, count, n, problem)
            n += 1 if at_low or at_high or together else 0
    return n


@inline
def response(robot, dofs, g, count, n, problem):
    """dofs[CHANGE] = g H^-1 J^T f over n rows, those of `count` contacts first (P12)."""
    joint_response(robot, g, count, n, problem.rows, problem.system.f, problem.y, dofs[at.CHANGE])


@inline
def couple(robot, settings, count, n, problem):
    """y and the Delassus matrix of all rows."""
    g, z, y = response_scale(settings), problem.z, problem.y
    divide(robot, count, n, z, y)
    delassus_matrix(robot, g, count, n, problem.rows, z, y, problem.system.A)


@inline
def assemble(robot, joints, ground, settings, bounce, problem):
    """Collect the rows of contacts, joint friction and stops, and couple them.

    Returns how many contacts and rows there are, and whether there was no room for all contacts.
    """
    count, common, full = 0, 0, False
    if settings.scheme == IMPLICIT or settings.scheme == IMPULSE:
        next_twists(robot, joints.dofs[at.V_NEXT])
        count, common = find_contacts(robot, ground, settings, problem.picked)
        full = count > at.MOST_CONTACTS
        count = min(count, at.MOST_CONTACTS)
        shared = differ(count) and common <= QUAD and anywhere(count < common)
        if shared:
            count = share_contacts(common, problem.picked)
        for (contacts,) in alike(count):
            contact_rows(robot, ground, settings, bounce, contacts, problem)
        if shared:
            leave_out(common, problem)
    n = add_joint_rows(robot, joints, settings, count, not anywhere(count < common), problem)
    for contacts, total in alike(count, n):
        couple(robot, settings, contacts, total, problem)
    return count, n, full


@routine
def prepare_paths(robot, settings, count, n, problem):
    """Paths for equations of all rows, where these are more than the joints (Q10)."""
    if by_joints(problem.system.work, n):
        g, paths = response_scale(settings), problem.system.work.paths
        write_paths(robot, g, count, n, problem.rows, problem.z, problem.y, paths)


@inline
def sweeps_of(settings, count, n, problem):
    """`sweep_until_good`; where lanes differ in their rows, one after the other."""
    if len(problem.own) == 0:
        return sweep_until_good(problem.system, count, n, settings.sweeps, settings.tolerance)
    if differ(count, n):
        lend(problem.system, count, n, problem.own)
        contacts, rows = present(problem.system, count, n)
        iterations, error = sweep_alone(problem.own, contacts, rows, settings.sweeps, settings.tolerance)
        take_forces(problem.own, count, n, problem.system)
        return iterations, error
    return sweep_until_good(problem.system, count, n, settings.sweeps, settings.tolerance)


@inline
def newton_of(settings, count, n, sweeps, problem):
    """`solve_by_newton`; of plants in lanes, of which few need it, one after the other."""
    if len(problem.own) > 0:
        if not differ(count, n):  # else it was lent for sweeps
            lend(problem.system, count, n, problem.own)
        lend_paths(problem.system, count, n, problem.own)
        contacts, rows = present(problem.system, count, n)
        iterations, missed = newton_alone(problem.own, contacts, rows, sweeps, settings.tolerance)
        take_forces(problem.own, count, n, problem.system)
        return iterations, missed
    return solve_by_newton(problem.system, count, n, sweeps, settings.tolerance)


@inline
def any_row(count, n, problem):
    """Whether the plant has any of n rows, those of `count` contacts first."""
    if len(problem.own) == 0:
        return n > 0
    _, rows = present(problem.system, count, n)
    return rows > 0


@inline
def solve(robot, settings, count, n, problem):
    """Forces of all rows that obey their laws (Q1-Q7); returns iterations, and whether they missed the tolerance."""
    if n == 0:
        return 0, False
    iterations, error = sweeps_of(settings, count, n, problem)
    missed = False
    if error > settings.tolerance:
        prepare_paths(robot, settings, count, n, problem)
        more, missed = newton_of(settings, count, n, iterations, problem)
        iterations += more
    return iterations if any_row(count, n, problem) else 0, missed


@routine
def apply_response(robot, joints, settings, count, n, problem):
    """Add what the forces of all rows do to the velocity of the end of the step (Q8)."""
    if n > 0:
        response(robot, joints.dofs, response_scale(settings), count, n, problem)
        v = joints.dofs[at.V_NEXT]
        add_rates(joints, v, 1.0, joints.dofs[at.CHANGE], v)


@inline
def store_forces(joints, ground, settings, count, n, problem):
    """Forces of the solve into points and joints, and the deflections of the end of the step (N5)."""
    h = settings.timestep
    g = 1.0 / h if settings.scheme == IMPULSE else 1.0
    points = ground.points
    for stop in range(2):
        for j in range(joints.data.shape[1]):
            joints.data[at.HELD + stop, j] = 0.0
    for s in range(n - 3 * count):
        index = problem.picked[at.ROW_INDEX, s]
        joints.data[at.HELD + index % 2, index // 2] = g * problem.system.f[3 * count + s]
    if settings.scheme == at.EXPLICIT or settings.scheme == at.LINEAR:
        return
    for b in range(ground.clusters.shape[0]):
        for c in range(first_of(ground, b), end_of_active(ground, b)):
            set3(points, c, at.FORCE, ZERO3)
    for a in range(count):
        for c in each(problem.picked[at.ACTIVE, a]):
            if is_present(problem.system.points, a):
                set3(points, c, at.FORCE, scale(g, part3(problem.system.f, 3 * a)))
                target = points[c, at.END + 2] - problem.system.b[3 * a + 2]
                set3(points, c, at.END, add(row3(problem.system.work.rows, U, 3 * a), (0.0, 0.0, target)))
    if settings.scheme != IMPLICIT:
        return
    for b in range(ground.clusters.shape[0]):
        for c in range(first_of(ground, b), end_of_active(ground, b)):
            save_deflection(points, c)
            if takes_part(points, c):
                depth = -points[c, at.PEN] - h * points[c, at.END + 2]
                d = (points[c, at.DEFLECTION], points[c, at.DEFLECTION + 1])
                d = next_deflection(depth, row3(points, c, at.FORCE), d, h, row3(points, c, at.LAW))
                points[c, at.DEFLECTION] = d[0]
                points[c, at.DEFLECTION + 1] = d[1]


@routine
def rebounds_give_energy(ground, count, problem):
    """Whether the impulses of all contacts together do work: with friction, restitution by velocities may.

    p . (u_start + u_end) / 2 is what they add to the kinetic energy (J11).
    """
    work = 0.0
    scale_of_it = 0.0
    for a in range(count):
        for c in each(problem.picked[at.ACTIVE, a]):
            p = part3(problem.system.f, 3 * a)
            target = ground.points[c, at.END + 2] - problem.system.b[3 * a + 2]
            end = add(row3(problem.system.work.rows, U, 3 * a), (0.0, 0.0, target))
            start = row3(ground.points, c, at.START)
            work += 0.5 * dot(p, add(start, end))
            scale_of_it += abs(dot(p, start)) + abs(dot(p, end))
    return work > 1e-9 * scale_of_it
