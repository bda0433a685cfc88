# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wrenches on bodies: pushes, explicit contacts, and their momentum.

The bundles of arrays and their columns (`at.`) are those of `memory`; nothing is allocated.
"""

from ...compiler import inline, routine
from .. import rows
from ..bodies import velocity_at
from ..contact.spring_damper import explicit_force, linear_force
from ..rows import part3, row3, row9, set3
from ..scalar import ZERO3, add, cross, dot, mul, scale, sub, tmul
from . import memory as at
from .detection import deflected, end_of_active, first_of, row_of, save_deflection, update_contact_frame


@inline
def apply_wrench(robot, i, arm, n, f):
    """Add a wrench at `arm` from row i's origin, all in world axes, to f_ext (body axes, body origin)."""
    R = row9(robot.w, i, rows.RW)
    turn = row9(robot.parameters, i, rows.TURN)
    n = mul(turn, tmul(R, add(n, cross(arm, f))))
    f = mul(turn, tmul(R, f))
    body = robot.topology[i, rows.BODY]
    for k in range(3):
        robot.f_ext[6 * body + k] += n[k]
        robot.f_ext[6 * body + 3 + k] += f[k]


@inline
def account_impulse(ledger, h, x, n, f):
    """Count the impulse of a moment n and a force f at x about the centre of mass, both of the start of the step."""
    n = add(n, cross(sub(x, part3(ledger, at.COM)), f))
    for k in range(3):
        ledger[at.ACCOUNTED + k] += h * f[k]
        ledger[at.ACCOUNTED + 3 + k] += h * n[k]


@inline
def acts(pushes, k, t):
    """Whether push k acts at time t."""
    return pushes[k, at.PUSH_START] < t < pushes[k, at.PUSH_END]


@routine
def count_pushes(pushes, t):
    """Number of pushes up to the last one that does not end before time t."""
    count = 0
    for k in range(pushes.shape[0]):
        if pushes[k, at.PUSH_END] > t:
            count = k + 1
    return count


@inline
def push_wrench(pushes, k, t):
    """Row, point in it, moment and force (world axes) of push k at time t, which acts."""
    ramp = pushes[k, at.RAMP]
    rest = min(t - pushes[k, at.PUSH_START], pushes[k, at.PUSH_END] - t)
    g = min(1.0, rest / ramp) if ramp > 0.0 else 1.0
    n = scale(g, row3(pushes, k, at.PUSH_MOMENT))
    f = scale(g, row3(pushes, k, at.PUSH_FORCE))
    return int(pushes[k, at.PUSHED_ROW]), row3(pushes, k, at.PUSH_POINT), n, f


@routine
def apply_pushes(robot, ledger, h, t, pushes):
    """Add the pushes of this step to f_ext; returns whether there is one, and notes their momentum."""
    pushed = False
    for k in range(pushes.shape[0]):
        if acts(pushes, k, t):
            i, r, n, f = push_wrench(pushes, k, t)
            arm = mul(row9(robot.w, i, rows.RW), r)
            apply_wrench(robot, i, arm, n, f)
            account_impulse(ledger, h, add(row3(robot.w, i, rows.XW), arm), n, f)
            pushed = True
    return pushed


@routine
def push_power(w, o, t, pushes):
    """Power of the pushes at the twists in column o of the workspace [W]."""
    power = 0.0
    for k in range(pushes.shape[0]):
        if acts(pushes, k, t):
            i, r, n, f = push_wrench(pushes, k, t)
            arm = mul(row9(w, i, rows.RW), r)
            power += dot(f, velocity_at(w, i, arm, o)) + dot(n, row3(w, i, o))
    return power


@routine
def explicit_contacts(robot, ground, settings):
    """Forces of the start of the step (E1-E4) into f_ext; returns whether any point carries one."""
    points = ground.points
    carried = False
    for b in range(ground.clusters.shape[0]):
        for c in range(first_of(ground, b), end_of_active(ground, b)):
            set3(points, c, at.FORCE, ZERO3)
            save_deflection(points, c)
            if points[c, at.PEN] >= 0.0 and not deflected(points, c):
                continue
            update_contact_frame(robot, ground, c, True, points[c, at.PEN] < 0.0)
            law = row3(points, c, at.LAW)
            u = row3(points, c, at.START)
            if settings.scheme == at.LINEAR:
                f = linear_force(-points[c, at.PEN], u, law)
            else:
                d = (points[c, at.DEFLECTION], points[c, at.DEFLECTION + 1])
                f, rate = explicit_force(-points[c, at.PEN], u, d, law)
                points[c, at.DEFLECTION] += settings.timestep * rate[0]
                points[c, at.DEFLECTION + 1] += settings.timestep * rate[1]
            set3(points, c, at.FORCE, f)
            if f[2] > 0.0:
                f = mul(row9(points, c, at.FRAME), f)
                apply_wrench(robot, row_of(ground, c), row3(points, c, at.ARM), ZERO3, f)
                carried = True
    return carried
