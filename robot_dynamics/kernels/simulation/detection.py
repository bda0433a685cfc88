# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact points near the terrain: distance, frame, velocity (D1-D9).

The bundles of arrays and their columns (`at.`) are those of `memory`; nothing is allocated.
"""

import math

from ...compiler import QUAD, anywhere, differ, each, inline, routine
from .. import rows
from ..bodies import velocity_at
from ..contact.solver import IMPULSE
from ..robot import update_twists
from ..rows import row3, row9, set3, set9
from ..scalar import add, mul, scale, sub, tmul
from ..terrain import DAMPING, FAR, FRICTION, STIFFNESS, nearest_surface, normal_of, other_surface
from . import memory as at

MARGIN = 2e-3
"""A point (or a joint near its stop) this far off at the end of the step still enters the solve [m, rad]."""

NEAR = 1e-2
"""Distances of contact points to a height field that are right [m]: more than they go in a step."""


@inline
def row_of(ground, c):
    """Row that contact point c is fixed in."""
    return ground.row[c]


@inline
def surface_law(surfaces, i, law):
    """Stiffness, damping and friction: the surface's own where it has them, else the point's."""
    if i < 0:
        return law
    K = surfaces[i, STIFFNESS]
    D = surfaces[i, DAMPING]
    mu = surfaces[i, FRICTION]
    return (K if K >= 0.0 else law[0], D if D >= 0.0 else law[1], mu if mu >= 0.0 else law[2])


@inline
def first_of(ground, b):
    """First point of cluster b."""
    return ground.clusters[b, at.FIRST_POINT]


@inline
def end_of(ground, b):
    """The point behind the last of cluster b."""
    return ground.clusters[b, at.END_POINT]


@inline
def end_of_active(ground, b):
    """As `end_of` where points touch, carry, carried or are deflected in any lane; else there is nothing to do."""
    return end_of(ground, b) if anywhere(ground.gaps[b, at.QUIET] == 0.0) else first_of(ground, b)


@inline
def clearance(robot, ground, b):
    """Least distance of all points of cluster b from the terrain, by that of their row's origin; 0: unknown."""
    row, span = ground.clusters[b, at.CLUSTER_ROW], ground.gaps[b, at.SPAN]
    if row == at.LOOSE:
        return 0.0
    if not anywhere(span < FAR):
        return 0.0
    x = row3(robot.w, row, rows.XW)
    pen, _, _ = nearest_surface(ground.surfaces, ground.heights, x, 0.0)
    return max(0.0, pen - span)


@inline
def spring_energy(points, c, scheme):
    """Energy in the springs of contact point c."""
    z = points[c, at.DEPTH]
    if scheme == IMPULSE or not anywhere(z > 0.0):
        return 0.0
    K = points[c, at.LAW]
    if scheme == at.LINEAR:
        return 0.5 * K * z * z
    d2 = points[c, at.DEFLECTION] ** 2 + points[c, at.DEFLECTION + 1] ** 2
    return math.sqrt(z) * K * (0.4 * z * z + 0.5 * d2)


@inline
def takes_part(points, c):
    """Whether contact point c carries or is deflected."""
    return points[c, at.FORCE + 2] > 0.0 or deflected(points, c)


@routine
def detect_contacts(robot, ground, scheme):
    """How deep every contact point is at the poses in the workspace, and the law of those that touch.

    Returns the energy in the contact springs.
    PEN of points that are clear of the ground with all of their cluster is only its clearance, or that of before.
    """
    points = ground.points
    elastic = 0.0
    for b in range(ground.clusters.shape[0]):
        clear = clearance(robot, ground, b)
        ground.gaps[b, at.CLEAR] = clear
        took_part = ground.gaps[b, at.QUIET] == 0.0
        if not anywhere(clear <= 0.0 or took_part):
            continue
        busy = 0.0
        for c in range(first_of(ground, b), end_of(ground, b)):
            pen = clear
            if anywhere(clear <= 0.0):
                measured = measure_point(robot, ground, c)
                pen = measured if clear <= 0.0 else clear
            else:
                points[c, at.SURFACE] = -1.0
            points[c, at.PEN] = pen
            points[c, at.DEPTH] = max(0.0, -pen)
            elastic += spring_energy(points, c, scheme)
            busy += points[c, at.DEPTH]
            if anywhere(took_part):
                busy += 1.0 if took_part and takes_part(points, c) else 0.0
        ground.gaps[b, at.QUIET] = 1.0 if busy == 0.0 else 0.0
    return elastic


@inline
def save_deflection(points, c):
    """Remember the deflection of contact point c."""
    for k in range(2):
        points[c, at.LAST_DEFLECTION + k] = points[c, at.DEFLECTION + k]


@inline
def middle(robot, ground, c):
    """Contact point c from its row's origin, world axes."""
    return mul(row9(robot.w, row_of(ground, c), rows.RW), row3(ground.points, c, at.PLACE))


@inline
def origin_of(robot, ground, c):
    """World position of the origin of contact point c's row."""
    return row3(robot.w, row_of(ground, c), rows.XW)


@inline
def surface_below(robot, ground, c):
    """Signed distance, surface axes, touching point from the row's origin in world axes, and surface, of point c."""
    radius, arm = ground.points[c, at.RADIUS], middle(robot, ground, c)
    pen, frame, surface = own_surface(ground, c, add(origin_of(robot, ground, c), arm))
    return pen - radius, frame, sub(arm, scale(radius, normal_of(frame))), surface


@inline
def measure_point(robot, ground, c):
    """Signed distance of contact point c; notes where and what it touches, if it does."""
    pen, frame, arm, surface = surface_below(robot, ground, c)
    touches = pen < 0.0
    if anywhere(touches):
        note_frame(ground, c, frame, arm)
        for i in each(surface):
            ground.points[c, at.SURFACE] = float(i) if touches else -1.0
            law = law_on(ground, c, i)
            set3(ground.points, c, at.LAW, law if touches else row3(ground.points, c, at.LAW))
    else:
        ground.points[c, at.SURFACE] = -1.0
    return pen


@inline
def note_frame(ground, c, frame, arm):
    """Write axes of the surface that contact point c touches or comes near, and where it touches."""
    set9(ground.points, c, at.FRAME, frame)
    set3(ground.points, c, at.ARM, arm)


@inline
def law_on(ground, c, i):
    """Law of contact point c on surface i."""
    return surface_law(ground.surfaces, i, row3(ground.points, c, at.OWN_LAW))


@inline
def own_surface(ground, c, x):
    """Signed distance, frame and number of the surface that contact point c at x stands for (D9).

    A point stands for the surface that it is deepest in, its twin for the deepest of those that face elsewhere. They
    change places where one of them touches the other's already: forces and deflections belong to a surface.
    """
    half = ground.twins.shape[0]
    reach = ground.points[c, at.RADIUS] + NEAR
    pen, frame, surface = nearest_surface(ground.surfaces, ground.heights, x, reach)
    if half > 0:
        first = c if c < half else c - half
        other = other_surface(ground.surfaces, ground.heights, x, reach, surface, normal_of(frame))
        was, twin_was = ground.points[first, at.SURFACE], ground.points[first + half, at.SURFACE]
        swapped = (twin_was == surface and surface >= 0) or (was == other[2] and other[2] >= 0)
        if swapped == (c < half):
            pen, frame, surface = other
    return pen, frame, surface


@inline
def update_contact_frame(robot, ground, c, close, measured):
    """What a step needs of contact point c, if it is close.

    measured: whether `measure_point` was asked at these poses.
    """
    points = ground.points
    if close and (not measured or points[c, at.SURFACE] < 0.0):
        pen, frame, arm, surface = surface_below(robot, ground, c)
        points[c, at.PEN] = pen
        note_frame(ground, c, frame, arm)
        for i in each(surface):
            set3(points, c, at.LAW, law_on(ground, c, i))
    set3(points, c, at.START, surface_velocity(robot, ground, c, rows.W))


@inline
def surface_velocity(robot, ground, c, o):
    """Velocity of contact point c in surface axes, by the twist at column o of the workspace."""
    velocity = velocity_at(robot.w, row_of(ground, c), row3(ground.points, c, at.ARM), o)
    return tmul(row9(ground.points, c, at.FRAME), velocity)


@inline
def next_twists(robot, qd):
    """Second twists of all rows that anyone looks at, of the velocity qd."""
    update_twists(robot, qd, rows.NEXT)


@inline
def size1(x):
    """Sum of magnitudes: at least the length of x."""
    return abs(x[0]) + abs(x[1]) + abs(x[2])


@inline
def fastest(robot, i, reach):
    """Bound of the speed of what row i carries within `reach` of its origin, of the second twists in the workspace."""
    return size1(row3(robot.w, i, rows.NEXT + 3)) + size1(row3(robot.w, i, rows.NEXT)) * reach


@inline
def comes_near(robot, ground, c, pen, h):
    """Whether contact point c, so far from the terrain, may come near it within a time h."""
    near = pen < MARGIN
    if anywhere(not near):
        near = near or pen - h * fastest(robot, row_of(ground, c), ground.points[c, at.SIZE]) < MARGIN
    return near


@inline
def deflected(points, c):
    """Whether contact point c has a tangential deflection; what is less than an atom's size no longer relaxes."""
    return abs(points[c, at.DEFLECTION]) + abs(points[c, at.DEFLECTION + 1]) > 1e-15


@inline
def add_if_near(robot, ground, settings, c, close, measured, count, active):
    """Append contact point c, if it is close, to the list if it may touch within the step; returns how many are on it.

    measured: as in `update_contact_frame`. A full list gives up the point that is least deep, and is one longer.
    """
    points = ground.points
    update_contact_frame(robot, ground, c, close, measured)
    u = surface_velocity(robot, ground, c, rows.NEXT)
    set3(points, c, at.END, u)
    pen = points[c, at.PEN]
    near = close and (pen < 0.0 if settings.below else pen + settings.timestep * min(u[2], 0.0) < MARGIN)
    most = min(ground.row.shape[0], at.MOST_CONTACTS)
    active[count] = c  # where it is not near, the next one takes its place
    if near and count >= most:
        count = most
        worst = 0
        for a in range(1, most):
            if points[active[a], at.PEN] > points[active[worst], at.PEN]:
                worst = a
        if pen < points[active[worst], at.PEN]:
            active[worst] = c
    return count + (1 if near else 0)


@inline
def note_common(c, near, common, picked):
    """Append contact point c, near in some lane, to the points that lanes have together, if these are still few."""
    a = min(common, QUAD)
    picked[at.COMMON, a] = c
    picked[at.PRESENT, a] = 1 if near else 0


@inline
def find_contacts(robot, ground, settings, picked):
    """Number of points that may touch within the step, listed in `picked`; their velocities without contact.

    And the number of those that plants in lanes have together.
    """
    points = ground.points
    h = settings.timestep
    count = 0
    common = 0
    for b in range(ground.clusters.shape[0]):
        clear = ground.gaps[b, at.CLEAR]
        away = False
        if clear > 0.0:
            reach = h * fastest(robot, ground.clusters[b, at.CLUSTER_ROW], ground.gaps[b, at.SPAN])
            away = clear - reach >= MARGIN
        if not anywhere(not away):
            continue
        for c in range(first_of(ground, b), end_of(ground, b)):
            pen = clear if clear > 0.0 else points[c, at.PEN]
            close = comes_near(robot, ground, c, pen, h) and not away
            # lanes stay together: where the point is not close nobody reads what is noted of it
            if anywhere(close):
                ground.gaps[b, at.QUIET] = 0.0  # its points take part again
                more = add_if_near(robot, ground, settings, c, close, clear <= 0.0, count, picked[at.ACTIVE])
                if differ(more) and anywhere(more > count):
                    note_common(c, more > count, common, picked)
                    common += 1
                count = more
    return count, common
