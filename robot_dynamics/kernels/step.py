# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""One step of the simulated plant (T1-T15): actuators, free motion, contacts and joint losses, motion of the state.

The bundles of arrays and their columns (`at.`) are those of `plant_memory`; nothing is allocated.
"""

import math

from ..compiler import abreast, anywhere, each, inline, lean, routine, spread, stack
from . import limbs, rows
from . import plant_memory as at
from .bodies import point_position, point_velocity, total_mass
from .contact import (
    IMPLICIT,
    IMPULSE,
    Scratch,
    U,
    below_target,
    eliminate,
    explicit_force,
    linear_force,
    next_deflection,
    predicted_target,
    solve_contacts,
    true_residual,
)
from .manifold import integrate, rotate_back, rotation_by, take_step
from .propagators import (
    add_motion_of,
    books_of,
    contact_paths,
    couple,
    displace_of,
    divide,
    free_motion_of,
    joint_path,
    place_of,
    respond,
    second_moment_of,
    show_of,
    twists_of,
)
from .rows import part3, part3_to, part4, row3, row9, set3, set9
from .scalar import ZERO3, add, cross, dot, inverse_symmetric, mul, quaternion_matrix, scale, smul, sub, tmul
from .terrain import DAMPING, FRICTION, STIFFNESS, even, nearest_surface, normal_of, other_surface
from .tree import place

EXPLICIT = 2
LINEAR = 3
"""Schemes without a coupled solve, beside IMPLICIT and IMPULSE of `contact`."""

MARGIN = 2e-3
"""A point (or a joint near its stop) this far off at the end of the step still enters the solve [m, rad]."""
MOST_SHIFT = 1e-3
"""A position-only shift that moves a point further than this is not made [m]: it is that of an impact, or of contacts
that contradict each other, and pushes points into the ground."""
STOP_RECOVERY = 0.2
STOP_RECOVERY_SPEED = 0.5
"""A joint beyond its stop comes back by this share per step, at most at this speed [rad/s, m/s]."""
SLOP = 1e-5
"""Depth that impulses leave alone [m, rad]: what a step's rotation leaves of a contact that does not sink in."""
AS_IT_IS, RECOVERING, MOVING = range(3)
"""What a position-only shift is for: nothing; contacts or stops that are too deep; what slides or lands, too."""
LEFT_OVER = 1e-12
"""A momentum per mass [m/s] that is left for the next step to correct."""
BRISK = 2e-3
"""Way of a joint in a step [rad, m] from which on a robot on a fixed base has the velocity products of mid-step."""
ATTEMPTS = 6
"""Most times that a step is solved: again where an effort left its range, or where a rebound gave energy."""
FINE, NOT_FINITE, ENERGY_JUMP = range(3)
"""What a run ends with."""


# ---- kinematics and contact detection -------------------------------------------------------------------------------


@inline
def row_of(ground, c):
    """Row that contact point c is fixed in."""
    return ground.row[c]


@inline
def v_of(joints, j):
    """Index in qd of joint j."""
    return joints.number[at.JOINT_V, j]


@inline
def first_dof(joints):
    """Dof of the first actuator."""
    return joints.dofs.shape[1] - joints.data.shape[1]


@inline
def actuator_of(joints, j):
    """Number of joint j's actuator."""
    return joints.number[at.ACTUATOR, j]


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
    """First point of bunch b."""
    return ground.bunches[b, at.FIRST_POINT]


@inline
def end_of(ground, b):
    """The point behind the last of bunch b."""
    return ground.bunches[b, at.END_POINT]


@inline
def end_of_stirring(ground, b):
    """As `end_of` where points touch, carry, carried or are deflected in any lane; else there is nothing to do."""
    return end_of(ground, b) if anywhere(ground.gaps[b, at.QUIET] == 0.0) else first_of(ground, b)


@inline
def clearance(robot, ground, b):
    """Least distance of all points of bunch b from even terrain, by that of their row's origin; 0: it says nothing."""
    row = ground.bunches[b, at.BUNCH_ROW]
    if row == at.LOOSE:
        return 0.0
    x = row3(robot.w, row, rows.XW)
    pen, _, _ = nearest_surface(ground.surfaces, ground.heights, x)
    return max(0.0, pen - ground.gaps[b, at.SPAN])


@inline
def spring_energy(points, c, scheme):
    """Energy in the springs of contact point c."""
    z = points[c, at.DEPTH]
    if z <= 0.0 or scheme == IMPULSE:
        return 0.0
    K = points[c, at.LAW]
    if scheme == LINEAR:
        return 0.5 * K * z * z
    d2 = points[c, at.DEFLECTION] ** 2 + points[c, at.DEFLECTION + 1] ** 2
    return math.sqrt(z) * K * (0.4 * z * z + 0.5 * d2)


@routine
def touch(robot, ground, scheme):
    """How deep every contact point is at the poses in the workspace, and the law of those that touch.

    Returns the energy in the contact springs.

    PEN of points that are clear of the ground with all of their bunch is only its clearance, or that of before.
    """
    points = ground.points
    elastic = 0.0
    smooth = even(ground.surfaces)
    for b in range(ground.bunches.shape[0]):
        clear = 0.0
        if smooth:
            clear = clearance(robot, ground, b)
        ground.gaps[b, at.CLEAR] = clear
        if not anywhere(clear <= 0.0 or ground.gaps[b, at.QUIET] == 0.0):
            continue
        busy = 0.0
        for c in range(first_of(ground, b), end_of(ground, b)):
            pen = clear
            if clear <= 0.0:
                pen = measure(robot, ground, c)
            points[c, at.PEN] = pen
            points[c, at.DEPTH] = max(0.0, -pen)
            elastic += spring_energy(points, c, scheme)
            busy += 1.0 if points[c, at.FORCE + 2] > 0.0 or deflected(points, c) else 0.0
        ground.gaps[b, at.QUIET] = 1.0 if clear > 0.0 and busy == 0.0 else 0.0
    return elastic


@inline
def wake(ground, b):
    """Let the points of bunch b take part again, if they do not."""
    if ground.gaps[b, at.QUIET] > 0.0:
        ground.gaps[b, at.QUIET] = 0.0
        for c in range(first_of(ground, b), end_of(ground, b)):
            keep_deflection(ground.points, c)


@inline
def keep_deflection(points, c):
    """Remember the deflection of contact point c."""
    for k in range(2):
        points[c, at.LAST_DEFLECTION + k] = points[c, at.DEFLECTION + k]


@inline
def measure(robot, ground, c):
    """Signed distance of contact point c; if it touches, its law is noted."""
    points = ground.points
    x = point_position(robot.w, row_of(ground, c), row3(points, c, at.PLACE))
    pen, _, surface = own_surface(ground, c, x)
    touches = pen < points[c, at.RADIUS]
    points[c, at.SURFACE] = surface if touches else -1.0
    if touches:
        set3(points, c, at.LAW, surface_law(ground.surfaces, surface, row3(points, c, at.OWN_LAW)))
    return pen - points[c, at.RADIUS]


@inline
def own_surface(ground, c, x):
    """Signed distance, frame and number of the surface that contact point c at x stands for (D9).

    A point stands for the surface that it is deepest in, its twin for the deepest of those that face elsewhere. They
    change places where one of them touches the other's already: forces and deflections belong to a surface.
    """
    half = ground.twins.shape[0]
    pen, frame, surface = nearest_surface(ground.surfaces, ground.heights, x)
    if half > 0:
        first = c if c < half else c - half
        other = other_surface(ground.surfaces, ground.heights, x, surface, normal_of(frame))
        was, twin_was = ground.points[first, at.SURFACE], ground.points[first + half, at.SURFACE]
        swapped = (twin_was == surface and surface >= 0) or (was == other[2] and other[2] >= 0)
        if swapped == (c < half):
            pen, frame, surface = other
    return pen, frame, surface


@inline
def touching(robot, ground, c):
    """Signed distance, surface axes, touching point in row axes and surface of contact point c."""
    i = row_of(ground, c)
    r = row3(ground.points, c, at.PLACE)
    pen, frame, surface = own_surface(ground, c, point_position(robot.w, i, r))
    normal = normal_of(frame)
    radius = ground.points[c, at.RADIUS]
    return pen - radius, frame, sub(r, scale(radius, tmul(row9(robot.w, i, rows.RW), normal))), surface


@inline
def look_closer(robot, ground, c):
    """What a step needs of contact point c."""
    points = ground.points
    pen, frame, arm, surface = touching(robot, ground, c)
    points[c, at.PEN] = pen
    set9(points, c, at.FRAME, frame)
    set3(points, c, at.ARM, arm)
    set3(points, c, at.LAW, surface_law(ground.surfaces, surface, row3(points, c, at.OWN_LAW)))
    set3(points, c, at.START, tmul(frame, point_velocity(robot.w, row_of(ground, c), arm, rows.W)))


@inline
def point_force(ground, c):
    """World force on point c and its twin."""
    f = row3(ground.points, c, at.FORCE_WORLD)
    half = ground.twins.shape[0]
    return add(f, row3(ground.points, c + half, at.FORCE_WORLD)) if half > 0 else f


@lean
def locate(robot, ground, position, velocity, force):
    """World position, velocity and force (k, 3) of every touching point, of the state that a run ended with."""
    robot, ground = at.Robot(*robot), at.Ground(*ground)
    for c in range(position.shape[0]):
        _, _, arm, _ = touching(robot, ground, c)
        set3(position, c, 0, point_position(robot.w, row_of(ground, c), arm))
        set3(velocity, c, 0, point_velocity(robot.w, row_of(ground, c), arm, rows.W))
        set3(force, c, 0, point_force(ground, c))


@inline
def surface_velocity(robot, ground, c):
    """Velocity of contact point c in surface axes, of the second twists in the workspace."""
    velocity = point_velocity(robot.w, row_of(ground, c), row3(ground.points, c, at.ARM), rows.NEXT)
    return tmul(row9(ground.points, c, at.FRAME), velocity)


@inline
def next_twists(levels, robot, qd):
    """Second twists of all rows that anyone looks at, of the velocity qd."""
    twists_of(levels, robot.limbed, robot.memory, robot.seen, robot.topology, robot.parameters, qd, rows.NEXT, robot.w)


@inline
def size1(x):
    """Sum of magnitudes: at least the length of x."""
    return abs(x[0]) + abs(x[1]) + abs(x[2])


@inline
def fastest(robot, i, reach):
    """Bound of the speed of what row i carries within `reach` of its origin, of the second twists in the workspace."""
    return size1(row3(robot.w, i, rows.NEXT + 3)) + size1(row3(robot.w, i, rows.NEXT)) * reach


@inline
def keep(source, target):
    """Copy a vector."""
    for k in range(source.shape[0]):
        target[k] = source[k]


# ---- actuators ------------------------------------------------------------------------------------------------------


@inline
def effort_range(limit, fall, speed):
    """Least and largest effort at a speed (F5): a driving motor falls off from half its no-load speed to 0 there."""
    forward = min(1.0, max(0.0, 2.0 - fall * speed))
    backward = min(1.0, max(0.0, 2.0 + fall * speed))
    return (-limit * backward if backward > 0.0 else 0.0), (limit * forward if forward > 0.0 else 0.0)


@inline
def turn(step, queue):
    """Whose turn it is in a queue that goes round."""
    return step % queue.shape[0] if queue.shape[0] > 1 else 0


@routine
def pass_on(joints, state, given, queue, acting):
    """Put joint commands [q_des, qd_des, kp, kd, effort] (5, n) into the queue, and take out those that act now."""
    for last in each(turn(state.counters[at.STEPS], queue)):
        for i in range(given.shape[0]):
            keep(given[i], queue[last, i])
    for first in each(turn(state.counters[at.STEPS] + 1, queue)):
        for i in range(given.shape[0]):
            for j in range(given.shape[1]):
                if joints.number[at.JOINT_ROW, j] >= 0:
                    acting[i, actuator_of(joints, j)] = queue[first, i, j]


@routine
def drive(joints, state, settings, command):
    """Efforts at the velocities of the start of the step, and what makes PD and joint damping implicit (F4, F6).

    A joint with SATURATED != 0 is held at that end of its range. Dofs before the first actuator's have neither.
    """
    dofs, data = joints.dofs, joints.data
    for i in abreast(data.shape[1]):
        data[at.POSITION, i] = state.q[joints.place[i]]
    for i in abreast(data.shape[1]):
        k = first_dof(joints) + i
        x, v = data[at.POSITION, i], state.qd[k]
        wanted = command[2, i] * (command[0, i] - x) + command[3, i] * (command[1, i] - v) + command[4, i]
        wanted = data[at.MOTOR, i] + settings.lag * (wanted - data[at.MOTOR, i])
        low, high = effort_range(data[at.EFFORT, i], data[at.FALL, i], v)
        end = beyond(wanted, low, high, data[at.SATURATED, i])
        effort = held_within(wanted, low, high, end)
        later = settings.lag * command[3, i] * (1.0 if end == 0.0 else 0.0)
        data[at.SATURATED, i] = end
        data[at.APPLIED, i] = effort
        data[at.LATER, i] = later
        dofs[at.TAU, k] = effort - dofs[at.DAMPING, k] * v
        dofs[at.ADDED, k] = settings.timestep * (dofs[at.DAMPING, k] + later)


@inline
def beyond(effort, low, high, before):
    """1 or -1 where an effort is beyond the upper or lower end of its range, else what was before."""
    return 1.0 if effort > high else (-1.0 if effort < low else before)


@inline
def held_within(effort, low, high, end):
    """The end of its range that an effort is held at, else itself."""
    return effort if end == 0.0 else (high if end > 0.0 else low)


@routine
def end_efforts(joints, state, settings, command):
    """Motor efforts with the velocity of the end of the step (F7); returns whether one of them left its range."""
    data = joints.data
    left = 0.0
    for i in abreast(data.shape[1]):
        k = first_dof(joints) + i
        v = state.qd[k]
        effort = data[at.APPLIED, i] - data[at.LATER, i] * (joints.dofs[at.AHEAD, k] - v)
        low, high = effort_range(data[at.EFFORT, i], data[at.FALL, i], v)
        before = data[at.SATURATED, i]
        end = beyond(effort, low, high, before) if before == 0.0 else before
        data[at.SATURATED, i] = end
        data[at.APPLIED, i] = held_within(effort, low, high, end)
        left += abs(end - before)
    return left > 0.0


# ---- wrenches given from outside ------------------------------------------------------------------------------------


@inline
def attack(robot, i, r, n, f):
    """Add a wrench (moment n, force f, world axes) at the point r of row i to f_ext (body axes, body origin)."""
    R = row9(robot.w, i, rows.RW)
    turn = row9(robot.parameters, i, rows.TURN)
    f = tmul(R, f)
    n = mul(turn, add(tmul(R, n), cross(r, f)))
    f = mul(turn, f)
    body = robot.topology[i, rows.BODY]
    for k in range(3):
        robot.f_ext[6 * body + k] += n[k]
        robot.f_ext[6 * body + 3 + k] += f[k]


@inline
def note_momentum(ledger, h, x, n, f):
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
def in_use(pushes, t):
    """Number of pushes up to the last one that does not end before time t."""
    count = 0
    for k in range(pushes.shape[0]):
        if pushes[k, at.PUSH_END] > t:
            count = k + 1
    return count


@inline
def pushing(pushes, k, t):
    """Row, point in it, moment and force (world axes) of push k at time t, which acts."""
    ramp = pushes[k, at.RAMP]
    rest = min(t - pushes[k, at.PUSH_START], pushes[k, at.PUSH_END] - t)
    g = min(1.0, rest / ramp) if ramp > 0.0 else 1.0
    n = scale(g, row3(pushes, k, at.PUSH_MOMENT))
    f = scale(g, row3(pushes, k, at.PUSH_FORCE))
    return int(pushes[k, at.PUSHED_ROW]), row3(pushes, k, at.PUSH_POINT), n, f


@routine
def push(robot, ledger, h, t, pushes):
    """Add the pushes of this step to f_ext; returns whether there is one, and notes their momentum."""
    pushed = False
    for k in range(pushes.shape[0]):
        if acts(pushes, k, t):
            i, r, n, f = pushing(pushes, k, t)
            attack(robot, i, r, n, f)
            note_momentum(ledger, h, point_position(robot.w, i, r), n, f)
            pushed = True
    return pushed


@routine
def push_power(w, o, t, pushes):
    """Power of the pushes at the twists in column o of the workspace [W]."""
    power = 0.0
    for k in range(pushes.shape[0]):
        if acts(pushes, k, t):
            i, r, n, f = pushing(pushes, k, t)
            power += dot(f, point_velocity(w, i, r, o)) + dot(n, mul(row9(w, i, rows.RW), row3(w, i, o)))
    return power


@inline
def deflected(points, c):
    """Whether contact point c has a tangential deflection; what is less than an atom's size no longer relaxes."""
    return abs(points[c, at.DEFLECTION]) + abs(points[c, at.DEFLECTION + 1]) > 1e-15


@routine
def explicit_contacts(robot, ground, settings):
    """Forces of the start of the step (E1-E4) into f_ext; returns whether any point carries one."""
    points = ground.points
    carried = False
    for b in range(ground.bunches.shape[0]):
        for c in range(first_of(ground, b), end_of_stirring(ground, b)):
            set3(points, c, at.FORCE, ZERO3)
            if points[c, at.PEN] >= 0.0 and not deflected(points, c):
                continue
            look_closer(robot, ground, c)
            law = row3(points, c, at.LAW)
            u = row3(points, c, at.START)
            if settings.scheme == LINEAR:
                f = linear_force(-points[c, at.PEN], u, law)
            else:
                d = (points[c, at.DEFLECTION], points[c, at.DEFLECTION + 1])
                f, rate = explicit_force(-points[c, at.PEN], u, d, law)
                points[c, at.DEFLECTION] += settings.timestep * rate[0]
                points[c, at.DEFLECTION + 1] += settings.timestep * rate[1]
            set3(points, c, at.FORCE, f)
            if f[2] > 0.0:
                attack(robot, row_of(ground, c), row3(points, c, at.ARM), ZERO3, mul(row9(points, c, at.FRAME), f))
                carried = True
    return carried


# ---- the coupled solve ----------------------------------------------------------------------------------------------


@inline
def consider(robot, ground, settings, c, count, active):
    """Append contact point c to the list if it may touch within the step; returns how many are on it.

    A full list gives up the point that is least deep, and is one longer.
    """
    points = ground.points
    look_closer(robot, ground, c)
    u = surface_velocity(robot, ground, c)
    set3(points, c, at.END, u)
    pen = points[c, at.PEN]
    near = pen < 0.0 if settings.below else pen + settings.timestep * min(u[2], 0.0) < MARGIN
    most = min(ground.row.shape[0], at.MOST_CONTACTS)
    if near and count < most:
        active[count] = c
        count += 1
    elif near:
        count = most + 1
        worst = 0
        for a in range(1, most):
            if points[active[a], at.PEN] > points[active[worst], at.PEN]:
                worst = a
        if pen < points[active[worst], at.PEN]:
            active[worst] = c
    return count


@routine
def find_contacts(robot, ground, settings, active):
    """Number of points that may touch within the step, listed in `active`; their velocities without contact."""
    points = ground.points
    count = 0
    for b in range(ground.bunches.shape[0]):
        clear = ground.gaps[b, at.CLEAR]
        if clear > 0.0:
            reach = settings.timestep * fastest(robot, ground.bunches[b, at.BUNCH_ROW], ground.gaps[b, at.SPAN])
            if clear - reach >= MARGIN:
                continue
            wake(ground, b)
        for c in range(first_of(ground, b), end_of(ground, b)):
            pen = clear if clear > 0.0 else points[c, at.PEN]
            if pen - settings.timestep * fastest(robot, row_of(ground, c), points[c, at.SIZE]) < MARGIN:
                count = consider(robot, ground, settings, c, count, active)
    return count


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


@routine
def contact_row(robot, ground, settings, bounce, a, c, problem):
    """Data of contact a, that of point c."""
    points = ground.points
    unit = settings.timestep if settings.scheme == IMPULSE else 1.0
    for k in range(3):
        problem.b[3 * a + k] = points[c, at.END + k]
        problem.f[3 * a + k] = unit * points[c, at.FORCE + k]
    problem.points[a, 0] = -points[c, at.PEN]
    problem.points[a, 1] = points[c, at.DEFLECTION]
    problem.points[a, 2] = points[c, at.DEFLECTION + 1]
    set3(problem.points, a, 3, row3(points, c, at.LAW))
    problem.picked[at.LANDED, a] = 0
    if settings.scheme == IMPULSE:
        target, lands = impulse_target(points, c, settings, bounce)
        problem.b[3 * a + 2] -= target
        problem.picked[at.LANDED, a] = 1 if lands else 0


@routine
def contact_rows(levels, robot, ground, settings, bounce, count, problem):
    """Paths, free velocities less their targets, and law data of the active contacts; warm start from the last step."""
    for a in range(count):
        for c in each(problem.picked[at.ACTIVE, a]):
            problem.carrier[a] = row_of(ground, c)
            set3(problem.seat, a, 0, row3(ground.points, c, at.ARM))
            set9(problem.seat, a, 3, row9(ground.points, c, at.FRAME))
    contact_paths(
        levels, robot.limbed, robot.memory, robot.topology, robot.parameters, robot.factor, robot.w,
        count, problem.carrier, problem.seat, problem.z, problem.y,
    )  # fmt: skip
    for a in range(count):
        for c in each(problem.picked[at.ACTIVE, a]):
            contact_row(robot, ground, settings, bounce, a, c, problem)


@inline
def stop_target(gap, h):
    """Least speed away from a stop (F2): it may be reached but not passed."""
    return -gap / h if gap > 0.0 else 0.0


@inline
def taken_back(depth, rate, speed):
    """Speed of a position-only shift that takes back a depth, without velocity: no kinetic energy comes of it (J3)."""
    return min(rate * (depth - SLOP), speed) if depth > SLOP else 0.0


@routine
def add_row(levels, robot, joints, unit, j, stop, low, high, target, n, count, problem):
    """Append the scalar row of joint j's friction or stop: effort within [low, high], wanting the rate `target`."""
    s = n - 3 * count
    row, dof, i = joints.number[at.JOINT_ROW, j], v_of(joints, j), actuator_of(joints, j)
    if len(levels) > 0:
        limbs.joint_path(levels, robot.limbed, robot.memory, dof, n, problem.z, problem.y)
    else:
        joint_path(robot.topology, robot.parameters, robot.factor, robot.w, row, n, problem.z, problem.y)
    problem.carrier[count + s] = row
    problem.b[n] = joints.dofs[at.AHEAD, dof] - target
    problem.f[n] = unit * joints.data[at.HELD + stop, i]
    problem.bounds[s, 0] = unit * low
    problem.bounds[s, 1] = unit * high
    problem.picked[at.ROW_INDEX, s] = 2 * i + stop
    return n + 1


@routine
def hindered(joints, h):
    """Whether a joint has friction or comes near a stop."""
    data = joints.data
    count = 0.0
    for i in abreast(data.shape[1]):
        x, v = data[at.POSITION, i], joints.dofs[at.AHEAD, first_dof(joints) + i]
        gap = min(x - data[at.LOWER, i], data[at.UPPER, i] - x) - h * abs(v)
        count += 1.0 if data[at.COULOMB, i] > 0.0 else (1.0 if gap < MARGIN else 0.0)
    return count > 0.0


@routine
def joint_rows(levels, robot, joints, settings, count, problem):
    """Rows of joint friction and of stops within reach, behind 3 `count` contact rows; returns how many there are."""
    h = settings.timestep
    unit = h if settings.scheme == IMPULSE else 1.0
    n = 3 * count
    if not anywhere(hindered(joints, h)):
        return n
    for j in range(joints.number.shape[1]):
        if joints.number[at.JOINT_ROW, j] < 0:
            continue
        i = actuator_of(joints, j)
        friction = joints.data[at.COULOMB, i]
        if friction > 0.0:
            n = add_row(levels, robot, joints, unit, j, 0, -friction, friction, 0.0, n, count, problem)
        x = joints.data[at.POSITION, i]
        v = joints.dofs[at.AHEAD, v_of(joints, j)]
        low = x - joints.data[at.LOWER, i]
        high = joints.data[at.UPPER, i] - x
        at_low = low + h * min(v, 0.0) < MARGIN
        at_high = high - h * max(v, 0.0) < MARGIN
        if at_low and at_high:
            target = 0.5 * STOP_RECOVERY * (high - low) / h
            n = add_row(levels, robot, joints, unit, j, 1, -math.inf, math.inf, target, n, count, problem)
        elif at_low:
            n = add_row(levels, robot, joints, unit, j, 1, 0.0, math.inf, stop_target(low, h), n, count, problem)
        elif at_high:
            n = add_row(levels, robot, joints, unit, j, 1, -math.inf, 0.0, -stop_target(high, h), n, count, problem)
    return n


@routine
def response(levels, robot, dofs, g, n, problem):
    """dofs[CHANGE] = g H^-1 J^T f over n rows (P12)."""
    for k in range(dofs.shape[1]):
        total = 0.0
        for a in range(n):
            total += problem.y[k, a] * problem.f[a]
        dofs[at.CHANGE, k] = g * total
    if len(levels) > 0:
        limbs.respond(levels, robot.limbed, robot.memory, dofs[at.CHANGE])
    else:
        change = dofs[at.CHANGE : at.CHANGE + 1]
        respond(robot.topology, robot.factor, robot.w, change, robot.w[:, rows.A : rows.A + 6])


@routine
def gather(levels, robot, joints, ground, settings, bounce, problem):
    """Collect the rows of contacts, joint friction and stops, and couple them.

    Returns how many contacts and rows there are, and whether there was no room for all contacts.
    """
    count = 0
    full = False
    if settings.scheme == IMPLICIT or settings.scheme == IMPULSE:
        next_twists(levels, robot, joints.dofs[at.AHEAD])
        count = find_contacts(robot, ground, settings, problem.picked[at.ACTIVE])
        full = count > at.MOST_CONTACTS
        count = min(count, at.MOST_CONTACTS)
        contact_rows(levels, robot, ground, settings, bounce, count, problem)
    n = joint_rows(levels, robot, joints, settings, count, problem)
    g = 1.0 if settings.scheme == IMPULSE else settings.timestep
    divide(levels, robot.limbed, robot.memory, robot.factor, n, problem.z, problem.y)
    couple(
        levels, robot.limbed, robot.topology, robot.factor, g, count, n, problem.carrier, problem.z, problem.y,
        problem.A,
    )  # fmt: skip
    return count, n, full


@routine
def react(levels, robot, joints, settings, n, problem):
    """Add what the forces of all rows do to the velocity of the end of the step (Q8)."""
    if n > 0:
        response(levels, robot, joints.dofs, 1.0 if settings.scheme == IMPULSE else settings.timestep, n, problem)
        for k in range(joints.dofs.shape[1]):
            joints.dofs[at.AHEAD, k] += joints.dofs[at.CHANGE, k]


@routine
def keep_forces(joints, ground, settings, count, n, problem):
    """Forces of the solve into points and joints, and the deflections of the end of the step (N5)."""
    h = settings.timestep
    g = 1.0 / h if settings.scheme == IMPULSE else 1.0
    points = ground.points
    for stop in range(2):
        for j in range(joints.data.shape[1]):
            joints.data[at.HELD + stop, j] = 0.0
    for s in range(n - 3 * count):
        index = problem.picked[at.ROW_INDEX, s]
        joints.data[at.HELD + index % 2, index // 2] = g * problem.f[3 * count + s]
    if settings.scheme == EXPLICIT or settings.scheme == LINEAR:
        return
    for b in range(ground.bunches.shape[0]):
        for c in range(first_of(ground, b), end_of_stirring(ground, b)):
            set3(points, c, at.FORCE, ZERO3)
    for a in range(count):
        for c in each(problem.picked[at.ACTIVE, a]):
            set3(points, c, at.FORCE, scale(g, part3(problem.f, 3 * a)))
            target = points[c, at.END + 2] - problem.b[3 * a + 2]
            set3(points, c, at.END, add(row3(problem.work.rows, U, 3 * a), (0.0, 0.0, target)))
    if settings.scheme != IMPLICIT:
        return
    for b in range(ground.bunches.shape[0]):
        for c in range(first_of(ground, b), end_of_stirring(ground, b)):
            if points[c, at.FORCE + 2] <= 0.0 and not deflected(points, c):
                continue
            depth = -points[c, at.PEN] - h * points[c, at.END + 2]
            d = (points[c, at.DEFLECTION], points[c, at.DEFLECTION + 1])
            d = next_deflection(depth, row3(points, c, at.FORCE), d, h, row3(points, c, at.LAW))
            points[c, at.DEFLECTION] = d[0]
            points[c, at.DEFLECTION + 1] = d[1]


@routine
def left_over(ground, settings, a, problem):
    """What the end velocity leaves out of the way of contact a in this step, over h, in surface axes.

    Along the normal, softly landed: -pen / h, so that it ends on the surface (T13); too deep: its recovery.
    Sliding: (u_start - u_end) / 2 along the surface, so that it goes by the mean of its velocities and comes to rest
    after v^2 / (2 mu g).
    """
    c = problem.picked[at.ACTIVE, a]
    pen = ground.points[c, at.PEN]
    if problem.picked[at.LANDED, a] == 1:
        return (0.0, 0.0, -pen / settings.timestep)
    up = 0.0
    if settings.scheme == IMPULSE and not settings.below:
        up = taken_back(-pen, settings.recovery, settings.recovery_speed)
    f = part3(problem.f, 3 * a)
    rim = (1.0 - 1e-9) * ground.points[c, at.LAW + 2] * f[2]
    if f[0] * f[0] + f[1] * f[1] < rim * rim:
        return (0.0, 0.0, up)
    x = 0.5 * (ground.points[c, at.START] - problem.work.rows[U, 3 * a])
    y = 0.5 * (ground.points[c, at.START + 1] - problem.work.rows[U, 3 * a + 1])
    far = (x * x + y * y) * settings.timestep * settings.timestep > MOST_SHIFT * MOST_SHIFT
    return (0.0, 0.0, up) if far else (x, y, up)


@inline
def stop_left_over(joints, settings, index):
    """As `left_over` for a scalar row, picked[ROW_INDEX]: a joint beyond its stop comes back."""
    i = index // 2
    x, h = joints.data[at.POSITION, i], settings.timestep
    up = taken_back(joints.data[at.LOWER, i] - x, STOP_RECOVERY / h, STOP_RECOVERY_SPEED)
    down = taken_back(x - joints.data[at.UPPER, i], STOP_RECOVERY / h, STOP_RECOVERY_SPEED)
    return up - down if index % 2 == 1 else 0.0


@routine
def holding(joints, ground, settings, count, n, problem):
    """List the rows that may not move in picked[CHOSEN], and in b what is left over of their way.

    Those are the rows of contacts that carry, and of joints whose friction or stop is within its bounds, or that are
    beyond their stop. Returns their number, and what a shift would be for.
    """
    chosen, r = problem.picked[at.CHOSEN], problem.b
    m = 0
    purpose = AS_IT_IS
    for a in range(count):
        if problem.f[3 * a + 2] <= 0.0:
            continue
        way = left_over(ground, settings, a, problem)
        sideways = problem.picked[at.LANDED, a] == 1 or abs(way[0]) + abs(way[1]) > 0.0
        purpose = max(purpose, (MOVING if sideways else RECOVERING) if size1(way) > 0.0 else AS_IT_IS)
        part3_to(r, m, way)
        for k in range(3):
            chosen[m + k] = 3 * a + k
        m += 3
    for s in range(n - 3 * count):
        back = stop_left_over(joints, settings, problem.picked[at.ROW_INDEX, s])
        if problem.bounds[s, 0] < problem.f[3 * count + s] < problem.bounds[s, 1] or abs(back) > 0.0:
            chosen[m] = 3 * count + s
            r[m] = back
            purpose = max(purpose, RECOVERING if abs(r[m]) > 0.0 else AS_IT_IS)
            m += 1
    return m, purpose


@routine
def complete_way(levels, robot, joints, ground, settings, count, n, problem):
    """Position-only shift by what `left_over` says, in dofs[CHANGE]; all other rows that hold stay where they are.

    Returns what it is for.

    (W_AA + 1e-9 tr W) pi = r over the rows A that hold (T14). A recovery longer than MOST_SHIFT goes that far.
    """
    m, purpose = holding(joints, ground, settings, count, n, problem)
    if purpose == AS_IT_IS:
        scale_shift(joints, 0.0)
        return AS_IT_IS
    chosen, r, M = problem.picked[at.CHOSEN], problem.b, problem.work.matrix
    trace = 0.0
    for i in range(m):
        trace += problem.A[chosen[i], chosen[i]]
    for i in range(m):
        for j in range(m):
            M[i, j] = problem.A[chosen[i], chosen[j]]
        M[i, i] += 1e-9 * trace
    eliminate(M, m, r)
    for i in range(n):
        problem.f[i] = 0.0
    for i in range(m):
        problem.f[chosen[i]] = r[i]
    response(levels, robot, joints.dofs, 1.0 if settings.scheme == IMPULSE else settings.timestep, n, problem)
    way = longest_way(levels, robot, joints, ground, settings)
    if not way <= MOST_SHIFT:
        scale_shift(joints, MOST_SHIFT / way if purpose == RECOVERING and way < math.inf else 0.0)
    return purpose


@inline
def scale_shift(joints, g):
    """Shorten the position-only shift; by 0: give it up."""
    for k in range(joints.dofs.shape[1]):
        joints.dofs[at.CHANGE, k] = g * joints.dofs[at.CHANGE, k] if g > 0.0 else 0.0


@routine
def longest_way(levels, robot, joints, ground, settings):
    """How far the shift in dofs[CHANGE] moves the point, touching or not, that it moves most."""
    next_twists(levels, robot, joints.dofs[at.CHANGE])
    longest = 0.0
    for c in range(ground.row.shape[0]):
        u = point_velocity(robot.w, row_of(ground, c), row3(ground.points, c, at.PLACE), rows.NEXT)
        longest = max(longest, dot(u, u))
    return settings.timestep * math.sqrt(longest)


# ---- one step -------------------------------------------------------------------------------------------------------


@routine
def prepare(robot, joints, ground, state, settings, command, pushes, k):
    """What is known before the motion of step k of a run: command, pushes, explicit contacts.

    Returns whether f_ext counts.
    """
    h = settings.timestep
    t = (state.counters[at.STEPS] + 0.5) * h
    if k == 0 or command.now.shape[0] > 1 or command.queue.shape[0] > 1:
        pass_on(joints, state, command.now[min(k, command.now.shape[0] - 1)], command.queue, command.acting)
    for i in range(robot.f_ext.shape[0]):
        robot.f_ext[i] = 0.0
    for j in range(joints.data.shape[1]):
        joints.data[at.SATURATED, j] = 0.0
    pushed = push(robot, state.ledger, h, t, pushes)
    state.ledger[at.WORK] += 0.5 * h * push_power(robot.w, rows.W, t, pushes)
    if settings.scheme == EXPLICIT or settings.scheme == LINEAR:
        pushed = explicit_contacts(robot, ground, settings) or pushed
    return pushed


@routine
def free_motion(levels, robot, joints, state, settings, command, pushed):
    """End velocity without coupled contacts in dofs[AHEAD] (T1); returns whether H was regular."""
    drive(joints, state, settings, command.acting)
    failed = free_motion_of(
        levels, robot.limbed, robot.memory, robot.topology, robot.parameters, state.q, state.qd, joints.dofs[at.TAU],
        robot.f_ext if anywhere(pushed) else robot.f_ext[:0], joints.dofs[at.ADDED], robot.factor, robot.w, True,
        state.qdd,
    )  # fmt: skip
    if brisk(robot, state, settings):
        free_motion_ahead(levels, robot, joints, state, settings, pushed)
    for k in range(state.qd.shape[0]):
        joints.dofs[at.AHEAD, k] = state.qd[k] + settings.timestep * state.qdd[k]
    if not settings.below:
        for i in range(robot.free.shape[0]):
            k = robot.free[i]
            turning = scale(settings.timestep, cross(part3(state.qd, k), part3(state.qd, k + 3)))
            part3_to(joints.dofs[at.AHEAD], k + 3, add(part3(joints.dofs[at.AHEAD], k + 3), turning))
    return failed < 0


@inline
def compared(settings):
    """Whether the scheme is kept to compare with others: it stays of first order."""
    return settings.runge_kutta or settings.below or settings.scheme == EXPLICIT or settings.scheme == LINEAR


@routine
def brisk(robot, state, settings):
    """Whether joints of a robot on a fixed base turn so far in a step that an explicit one would make energy."""
    if floats(robot) or compared(settings):
        return False
    fastest = 0.0
    for k in range(state.qd.shape[0]):
        fastest = max(fastest, abs(state.qd[k]))
    return settings.timestep * fastest > BRISK


@routine
def free_motion_ahead(levels, robot, joints, state, settings, pushed):
    """The acceleration at (q, v + h a / 2) in place of a, that at (q, v), into qdd (T16).

    A robot moves by the velocity of the end of the step, and its H changes with it: with the velocity products of the
    mean velocity the energy and the momenta of joints that nothing drives stay, to second order.
    """
    dofs, v = joints.dofs, joints.dofs[at.STAGE]
    for k in range(v.shape[0]):
        v[k] = state.qd[k] + 0.5 * settings.timestep * state.qdd[k]
    free_motion_of(
        levels, robot.limbed, robot.memory, robot.topology, robot.parameters, state.q, v, dofs[at.TAU],
        robot.f_ext if anywhere(pushed) else robot.f_ext[:0], dofs[at.ADDED], robot.factor, robot.w, False, state.qdd,
    )  # fmt: skip
    if len(levels) == 0:
        twists_of(
            levels, robot.limbed, robot.memory, robot.seen, robot.topology, robot.parameters, state.qd, rows.W, robot.w,
        )  # fmt: skip


@inline
def floats(robot):
    """Whether the robot has a floating base."""
    topology = robot.topology
    return topology.shape[0] > 1 and topology[1, rows.KIND] == rows.FREE and topology[1, rows.PARENT] == 0


@routine
def account(levels, robot, joints, ground, state, settings, pushes, pushed):
    """Work and dissipation of the step (W3, W4), and the impulses that change the momentum (T3).

    Forces change the velocity while the robot moves by the mean velocity v, and do their work along the way it goes.
    Without contact the two ways are one. Where contacts carry, the robot goes by the velocity of the end of the step:
    what all other forces do along way - h v is taken by the contacts.
    Without pushes and explicit contacts (`pushed`) the solver has left the points' velocities of its end.
    Returns whether contacts carry.
    """
    h = settings.timestep
    ledger = state.ledger
    dofs, data = joints.dofs, joints.data
    work = 0.0
    taken = 0.0
    if pushed:
        next_twists(levels, robot, dofs[at.AHEAD])
    by_contacts, carried = contact_work(robot, ground, ledger, h, pushed)
    if pushed:
        t = (state.counters[at.STEPS] + 0.5) * h
        end = 0.5 * h * push_power(robot.w, rows.NEXT, t, pushes)
        taken = end - 0.5 * h * push_power(robot.w, rows.W, t, pushes) if carried else 0.0
        work += end + taken
    share = 1.0 if carried else 0.0
    lost = 0.0
    for i in abreast(data.shape[1]):
        k = first_dof(joints) + i
        mean = 0.5 * h * (state.qd[k] + dofs[at.AHEAD, k])
        more = share * (h * (dofs[at.AHEAD, k] + dofs[at.CHANGE, k]) - mean)
        losing = dofs[at.DAMPING, k] * dofs[at.AHEAD, k] - data[at.HELD, i] - data[at.HELD + 1, i]
        data[at.MOTOR, i] = data[at.APPLIED, i]
        work += (mean + more) * data[at.APPLIED, i]
        lost += (mean + more) * losing
        taken += more * (data[at.APPLIED, i] - losing)
    ledger[at.WORK] += work
    ledger[at.DISSIPATED_JOINT] += lost
    ledger[at.THROUGHPUT] += abs(work) + abs(lost)
    ledger[at.DISSIPATED_CONTACT] += taken - by_contacts
    weight = scale(ledger[at.MASS], row3(robot.parameters, 0, rows.GRAVITY))
    note_momentum(ledger, h, part3(ledger, at.COM), ZERO3, weight)
    return carried


@routine
def contact_work(robot, ground, ledger, h, pushed):
    """Work of the contacts by mean velocities (W4), and whether any carries; notes their world forces and impulses."""
    points = ground.points
    work = 0.0
    carried = False
    for b in range(ground.bunches.shape[0]):
        for c in range(first_of(ground, b), end_of_stirring(ground, b)):
            f = row3(points, c, at.FORCE)
            set3(points, c, at.FORCE_WORLD, ZERO3)
            if f[2] > 0.0:
                carried = True
                f_world = mul(row9(points, c, at.FRAME), f)
                set3(points, c, at.FORCE_WORLD, f_world)
                end = surface_velocity(robot, ground, c) if pushed else row3(points, c, at.END)
                work += 0.5 * h * dot(f, add(end, row3(points, c, at.START)))
                x = point_position(robot.w, row_of(ground, c), row3(points, c, at.ARM))
                note_momentum(ledger, h, x, ZERO3, f_world)
    return work, carried


@routine
def unhindered(joints, settings, command):
    """Whether a step without contact may be explicit: no gains, no damping."""
    if compared(settings):
        return False
    stiff = 0.0
    for j in range(joints.data.shape[1]):
        stiff += command[2, j] + command[3, j]
    for k in range(joints.dofs.shape[1]):
        stiff += joints.dofs[at.DAMPING, k]
    return stiff == 0.0


@routine
def heun(levels, robot, joints, state, settings):
    """Mean of the accelerations at both ends into dofs[AHEAD]; the way goes by the mean velocity, through dofs[CHANGE].

    v' = v + h (a(q, v) + a(q (+) h v, v + h a)) / 2 (T11); the forces are those of the first-order step.
    """
    h = settings.timestep
    dofs, q, v = joints.dofs, joints.configurations[at.STAGE_Q], joints.dofs[at.STAGE]
    if brisk(robot, state, settings):
        free_motion_of(
            levels, robot.limbed, robot.memory, robot.topology, robot.parameters, state.q, state.qd, dofs[at.TAU],
            robot.f_ext[:0], dofs[at.ADDED], robot.factor, robot.w, False, state.qdd,
        )  # fmt: skip
    for k in range(v.shape[0]):
        v[k] = state.qd[k] + h * state.qdd[k]
    integrate(robot.topology, state.q, state.qd, h, q)
    free_motion_of(
        levels, robot.limbed, robot.memory, robot.topology, robot.parameters, q, v, dofs[at.TAU],
        robot.f_ext[:0], dofs[at.ADDED], robot.factor, robot.w, False, dofs[at.RATE],
    )  # fmt: skip
    for k in range(v.shape[0]):
        dofs[at.AHEAD, k] = state.qd[k] + 0.5 * h * (state.qdd[k] + dofs[at.RATE, k])
    for i in range(robot.free.shape[0]):
        # v' is in the axes of the end of the step: into those of its start
        k = robot.free[i]
        way = scale(-0.5 * h, add(part3(state.qd, k), part3(dofs[at.AHEAD], k)))
        part3_to(dofs[at.AHEAD], k + 3, rotate_back(rotation_by(way), part3(dofs[at.AHEAD], k + 3)))
    for k in range(v.shape[0]):
        dofs[at.CHANGE, k] = 0.5 * (state.qd[k] - dofs[at.AHEAD, k])


@routine
def advance_state(levels, robot, joints, state, settings, carried, alone):
    """qd, qdd and q at the end of the step (T2, T15); a base that nothing carries moves by the mean of its twists.

    The step of the reference simulator (`below`) is taken in the base's own axes, as if they did not turn.
    """
    h = settings.timestep
    ahead, shift = joints.dofs[at.AHEAD], joints.dofs[at.CHANGE]
    for k in range(state.qd.shape[0]):
        state.qdd[k] = (ahead[k] - state.qd[k]) / h
        shift[k] += ahead[k]
    if floats(robot) and not carried:
        for k in range(6):
            shift[k] = 0.5 * (state.qd[k] + ahead[k])
    if not settings.below:
        for i in range(robot.free.shape[0]):
            k = robot.free[i]
            turning = cross(part3(state.qd, k), part3(state.qd, k + 3))
            part3_to(state.qdd, k + 3, sub(part3(state.qdd, k + 3), turning))
    if alone and settings.runge_kutta:
        runge_kutta(levels, robot, joints, state, h)
        return
    for k in range(state.qd.shape[0]):
        state.qd[k] = ahead[k]
    if settings.below:
        integrate(robot.topology, state.q, shift, h, state.q)
    else:
        take_step(robot.topology, state.q, shift, h, state.qd)


@inline
def central(com, second, mass):
    """Rotational inertia about the centre of mass, of that about the origin."""
    x, y, z = com
    return (
        second[0] - mass * (y * y + z * z),
        second[1] + mass * x * y,
        second[2] + mass * x * z,
        second[3] - mass * (x * x + z * z),
        second[4] + mass * y * z,
        second[5] - mass * (x * x + y * y),
    )


@inline
def conserve(levels, robot, state, h, flight, books):
    """Give a floating base the momentum, about the centre of mass, that the step left over (T3, T7-T9).

    books (10,): of `books_of`, updated. In flight the centre of mass is put where the mean momentum takes it.
    """
    ledger = state.ledger
    mass = ledger[at.MASS]
    com = scale(1.0 / mass, part3(books, 0))
    push = sub(part3(ledger, at.ACCOUNTED), part3(books, 3))
    spin = sub(part3(ledger, at.ACCOUNTED + 3), sub(part3(books, 6), cross(com, part3(books, 3))))
    if size1(push) + size1(spin) > LEFT_OVER * mass:
        correct_base(levels, robot, state, com, push, spin, books)
    if flight:
        momentum = add(part3(ledger, at.MOMENTUM), part3(books, 3))
        d = sub(add(part3(ledger, at.COM), scale(0.5 * h / mass, momentum)), com)
        displace_of(levels, robot.limbed, robot.memory, robot.w, d)
        part3_to(state.q, 0, add(part3(state.q, 0), d))
        part3_to(books, 0, scale(mass, add(com, d)))
        part3_to(books, 6, add(part3(books, 6), cross(d, part3(books, 3))))


@routine
def correct_base(levels, robot, state, com, push, spin, books):
    """Add the rigid motion that has the momentum `push`, and `spin` about the centre of mass, to the base (T7, T8)."""
    mass = state.ledger[at.MASS]
    second = second_moment_of(levels, robot.limbed, robot.memory, robot.topology, robot.parameters, robot.w)
    dv, dw = scale(1.0 / mass, push), smul(inverse_symmetric(central(com, second, mass)), spin)
    x = part3(state.q, 0)
    v = add(dv, cross(dw, sub(x, com)))
    add_motion_of(levels, robot.limbed, robot.memory, robot.w, x, v, dw)
    R = base_matrix(state.q)
    part3_to(state.qd, 0, add(part3(state.qd, 0), tmul(R, dw)))
    part3_to(state.qd, 3, add(part3(state.qd, 3), tmul(R, v)))
    linear, angular = part3(books, 3), part3(books, 6)
    about = sub(angular, cross(com, linear))
    books[9] += dot(dv, add(linear, scale(0.5, push))) + dot(dw, add(about, scale(0.5, spin)))
    part3_to(books, 3, add(linear, push))
    part3_to(books, 6, add(angular, add(spin, cross(com, push))))


@routine
def configuration_rate(topology, q, v, out):
    """dq/dt: joint rates, world velocity of a free body, rate of its quaternion (X5)."""
    for i in range(1, topology.shape[0]):
        iq = rows.first_q(topology, i)
        iv = rows.first_v(topology, i)
        if topology[i, rows.KIND] == rows.FREE:
            x = part4(q, iq + 3)
            w = part3(v, iv)
            part3_to(out, iq, mul(quaternion_matrix(x[0], x[1], x[2], x[3]), part3(v, iv + 3)))
            out[iq + 3] = 0.5 * (x[3] * w[0] + x[1] * w[2] - x[2] * w[1])
            out[iq + 4] = 0.5 * (x[3] * w[1] + x[2] * w[0] - x[0] * w[2])
            out[iq + 5] = 0.5 * (x[3] * w[2] + x[0] * w[1] - x[1] * w[0])
            out[iq + 6] = -0.5 * (x[0] * w[0] + x[1] * w[1] + x[2] * w[2])
        elif topology[i, rows.KIND] != rows.FIXED:
            out[iq] = v[iv]


@routine
def runge_kutta(levels, robot, joints, state, h):
    """Classical fourth-order step (T12), motor efforts held; quaternions as four numbers, normalised at the end."""
    dofs, configurations = joints.dofs, joints.configurations
    q, v = configurations[at.STAGE_Q], dofs[at.STAGE]
    for stage in range(4):
        g = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
        before = max(stage - 1, 0)
        for k in range(q.shape[0]):
            q[k] = state.q[k] + g * configurations[at.RATE_Q + before, k]
        for k in range(v.shape[0]):
            v[k] = state.qd[k] + g * dofs[at.RATE + before, k]
            dofs[at.TAU, k] = -dofs[at.DAMPING, k] * v[k]
            dofs[at.ADDED, k] = 0.0
        for i in range(joints.data.shape[1]):
            dofs[at.TAU, first_dof(joints) + i] += joints.data[at.APPLIED, i]
        configuration_rate(robot.topology, q, v, configurations[at.RATE_Q + stage])
        free_motion_of(
            levels, robot.limbed, robot.memory, robot.topology, robot.parameters, q, v, dofs[at.TAU],
            robot.f_ext[:0], dofs[at.ADDED], robot.factor, robot.w, False, dofs[at.RATE + stage],
        )  # fmt: skip
    weighted_sum(state.q, configurations[at.RATE_Q :], h / 6.0)
    weighted_sum(state.qd, dofs[at.RATE :], h / 6.0)
    for i in range(1, robot.topology.shape[0]):
        if robot.topology[i, rows.KIND] == rows.FREE:
            o = rows.first_q(robot.topology, i) + 3
            x = part4(state.q, o)
            g = 1.0 / math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3])
            for k in range(4):
                state.q[o + k] = g * x[k]


@inline
def weighted_sum(x, rates, g):
    """Add g (r0 + 2 r1 + 2 r2 + r3) to x."""
    for k in range(x.shape[0]):
        x[k] += g * (rates[0, k] + 2.0 * rates[1, k] + 2.0 * rates[2, k] + rates[3, k])


# ---- a run ----------------------------------------------------------------------------------------------------------


@routine
def observe(levels, robot, ground, state, settings, carried):
    """Poses and velocities; energies, momentum and centre of mass into the ledger. Returns the energy.

    carried: whether contacts carry in the step that ends here; None: no step ends here.
    """
    ledger = state.ledger
    h = settings.timestep
    out = stack(10)
    books_of(
        levels, robot.limbed, robot.memory, robot.topology, robot.parameters, state.q, state.qd, robot.w, out,
    )  # fmt: skip
    if carried is not None and floats(robot) and not settings.below:
        conserve(levels, robot, state, h, not carried, out)
    show_of(levels, robot.limbed, robot.memory, robot.seen, robot.w)
    elastic = touch(robot, ground, settings.scheme)
    moment, linear, energy = part3(out, 0), part3(out, 3), out[9]
    com = scale(1.0 / max(ledger[at.MASS], 1e-300), moment)
    gravity = row3(robot.parameters, 0, rows.GRAVITY)
    if carried is not None:
        # of the weight along the way that is not that of the mean velocity
        way = scale(ledger[at.MASS], sub(com, part3(ledger, at.COM)))
        taken = dot(gravity, sub(way, scale(0.5 * h, add(linear, part3(ledger, at.MOMENTUM)))))
        ledger[at.DISSIPATED_CONTACT] += (taken if carried else 0.0) + ledger[at.ELASTIC] - elastic
    part3_to(ledger, at.MOMENTUM, linear)
    part3_to(ledger, at.MOMENTUM + 3, sub(part3(out, 6), cross(com, linear)))
    part3_to(ledger, at.COM, com)
    ledger[at.KINETIC] = energy
    ledger[at.POTENTIAL] = -dot(gravity, moment)
    ledger[at.ELASTIC] = elastic
    return energy + ledger[at.POTENTIAL] + elastic


@lean
def begin(levels, robot, ground, state, settings):
    """Start the books at the state as it is; arguments as in `run`."""
    robot, ground, state, settings = at.Robot(*robot), at.Ground(*ground), at.State(*state), at.Settings(*settings)
    for b in range(ground.bunches.shape[0]):
        ground.gaps[b, at.QUIET] = 0.0
    state.ledger[at.MASS] = total_mass(robot.topology, robot.parameters)
    state.ledger[at.INITIAL] = observe(levels, robot, ground, state, settings, None)
    for k in range(6):
        state.ledger[at.ACCOUNTED + k] = state.ledger[at.MOMENTUM + k]


@routine
def remember(joints, ground, state):
    """Keep the state for `restore`."""
    keep(state.q, joints.configurations[at.LAST_Q])
    keep(state.qd, joints.dofs[at.LAST_QD])
    keep(state.ledger, state.last_ledger)
    for b in range(ground.bunches.shape[0]):
        for c in range(first_of(ground, b), end_of_stirring(ground, b)):
            keep_deflection(ground.points, c)


@routine
def restore(joints, ground, state):
    """Go back to the state of `remember`."""
    keep(joints.configurations[at.LAST_Q], state.q)
    keep(joints.dofs[at.LAST_QD], state.qd)
    keep(state.last_ledger, state.ledger)
    for b in range(ground.bunches.shape[0]):
        for c in range(first_of(ground, b), end_of_stirring(ground, b)):
            for k in range(2):
                ground.points[c, at.DEFLECTION + k] = ground.points[c, at.LAST_DEFLECTION + k]


@inline
def finite(x):
    """Whether all numbers are finite and below 1e12."""
    total = 0.0
    for k in range(x.shape[0]):
        total += abs(x[k])
    return total < 1e12


@routine
def verdict(state, energy):
    """Whether the step just taken can be believed (W6): finite, and no energy from nothing.

    Allowed in one step: ten times what moved already and 10 J per kg, but anything in the first step, whose state may
    stand deep in the ground; since the reset: 1000 J per kg and 1 % of all work.
    """
    ledger, last = state.ledger, state.last_ledger
    if not (finite(state.q) and finite(state.qd) and energy < math.inf):
        return NOT_FINITE
    moving = last[at.KINETIC] + last[at.ELASTIC]
    gain = energy - moving - last[at.POTENTIAL] - (ledger[at.WORK] - last[at.WORK])
    if state.counters[at.STEPS] > 0 and gain > 10.0 * (moving + ledger[at.MASS]):
        return ENERGY_JUMP
    if energy - ledger[at.INITIAL] - ledger[at.WORK] > 1000.0 * ledger[at.MASS] + 0.01 * ledger[at.THROUGHPUT]:
        return ENERGY_JUMP
    return FINE


@routine
def note_base_rate(joints, state, h):
    """Rate of a floating base's twist whose acceleration omega' and v' + omega x v is the step's mean one (T17)."""
    R, R0 = base_matrix(state.q), base_matrix(joints.configurations[at.LAST_Q])
    before = joints.dofs[at.LAST_QD]
    w, v = part3(state.qd, 0), part3(state.qd, 3)
    a = scale(1.0 / h, sub(v, tmul(R, mul(R0, part3(before, 3)))))
    part3_to(state.base_rate, 0, scale(1.0 / h, sub(w, part3(before, 0))))
    part3_to(state.base_rate, 3, sub(a, cross(w, v)))


@inline
def base_matrix(q):
    """Attitude of a floating base."""
    x = part4(q, 3)
    return quaternion_matrix(x[0], x[1], x[2], x[3])


@inline
def judge_contacts(state, settings, purpose):
    """Count as work what recovery lifts (W7), and apart what contacts give for no reason: they can only take energy."""
    ledger, last = state.ledger, state.last_ledger
    given = last[at.DISSIPATED_CONTACT] - ledger[at.DISSIPATED_CONTACT]
    if given > 0.0:
        if purpose == RECOVERING or (purpose == MOVING and settings.scheme == IMPULSE):
            ledger[at.WORK] += given
            ledger[at.DISSIPATED_CONTACT] = last[at.DISSIPATED_CONTACT]
        else:
            ledger[at.GIVEN] += given


@inline
def note(joints, ground, state, row):
    """Write q, qd, motor efforts and, if the row has room for them, the points' forces (world axes)."""
    nq = state.q.shape[0]
    joint = nq + state.qd.shape[0]
    point = joint + joints.number.shape[1]
    for k in range(nq):
        row[k] = state.q[k]
    for k in range(joint - nq):
        row[nq + k] = state.qd[k]
    for j in range(point - joint):
        row[joint + j] = joints.data[at.MOTOR, actuator_of(joints, j)]
    for c in range((row.shape[0] - point) // 3):
        part3_to(row, point + 3 * c, point_force(ground, c))


@inline
def solver_model(settings):
    """What the solver solves for; explicit schemes leave it joint friction and stops."""
    return IMPULSE if settings.scheme == IMPULSE else IMPLICIT


@routine
def rebounds_give(ground, count, problem):
    """Whether the impulses of all contacts together do work: with friction, restitution by velocities may.

    p . (u_start + u_end) / 2 is what they add to the kinetic energy (J11).
    """
    work = 0.0
    scale_of_it = 0.0
    for a in range(count):
        for c in each(problem.picked[at.ACTIVE, a]):
            p = part3(problem.f, 3 * a)
            target = ground.points[c, at.END + 2] - problem.b[3 * a + 2]
            end = add(row3(problem.work.rows, U, 3 * a), (0.0, 0.0, target))
            start = row3(ground.points, c, at.START)
            work += 0.5 * dot(p, add(start, end))
            scale_of_it += abs(dot(p, start)) + abs(dot(p, end))
    return work > 1e-9 * scale_of_it


@routine
def end_velocities(levels, robot, joints, ground, state, settings, command, problem, pushed):
    """End velocity, with contacts and joint losses, in dofs[AHEAD], again while an effort leaves its range there.

    Returns how many contacts and rows there are, the solver's iterations, whether it missed its tolerance, and whether
    H was regular.
    """
    count = 0
    n = 0
    regular = True
    iterations, missed = 0, False
    bounce = 1.0
    for k in range(ATTEMPTS):
        possible = free_motion(levels, robot, joints, state, settings, command, pushed)
        regular = regular and possible
        count, n, full = gather(levels, robot, joints, ground, settings, bounce, problem)
        iterations, missed = solve_contacts(
            solver_model(settings), problem.A, problem.b, problem.points, problem.bounds, settings.timestep, count, n,
            settings.sweeps, settings.tolerance, problem.f, problem.work,
        )  # fmt: skip
        missed = missed or full
        react(levels, robot, joints, settings, n, problem)
        gives = settings.scheme == IMPULSE and settings.restitution > 0.0 and rebounds_give(ground, count, problem)
        bounce *= (0.5 if k < ATTEMPTS - 2 else 0.0) if gives else 1.0
        # lanes stay together: taken again, a step ends as it did where no effort left its range
        if not anywhere(end_efforts(joints, state, settings, command.acting) or gives):
            break
    return count, n, iterations, missed, regular


@routine
def take(levels, robot, joints, ground, state, settings, command, problem, steps, log):
    """`run` of named bundles."""
    pushes = command.pushes[: in_use(command.pushes, state.counters[at.STEPS] * settings.timestep)]
    for k in range(steps):
        remember(joints, ground, state)
        pushed = prepare(robot, joints, ground, state, settings, command, pushes, k)
        count, n, iterations, missed, regular = end_velocities(
            levels, robot, joints, ground, state, settings, command, problem, pushed
        )
        if k == steps - 1:  # nobody could read that of another step
            state.ledger[at.RESIDUAL] = true_residual(
                solver_model(settings), problem.A, problem.b, problem.points, problem.bounds, settings.timestep, count,
                n, problem.f, problem.work,
            )  # fmt: skip
        keep_forces(joints, ground, settings, count, n, problem)
        purpose = complete_way(levels, robot, joints, ground, settings, count, n, problem)
        if n == 0 and not pushed and unhindered(joints, settings, command.acting):
            heun(levels, robot, joints, state, settings)
        carried = account(levels, robot, joints, ground, state, settings, pushes, pushed)
        advance_state(levels, robot, joints, state, settings, carried, n == 0 and not pushed)
        energy = observe(levels, robot, ground, state, settings, carried)
        judge_contacts(state, settings, purpose)
        status = verdict(state, energy) if regular else NOT_FINITE
        if status != FINE:
            restore(joints, ground, state)
            observe(levels, robot, ground, state, settings, None)
        else:
            state.counters[at.STEPS] += 1
            state.counters[at.ITERATIONS] = iterations
            state.counters[at.UNCONVERGED] += 1 if missed else 0
            if k == steps - 1 and floats(robot):
                note_base_rate(joints, state, settings.timestep)
            if log.shape[0] > 0:
                note(joints, ground, state, log[k])
        if anywhere(status != FINE):
            return status
    return FINE


@routine
def take_each(levels, robot, joints, ground, state, settings, command, problem, steps, log, status):
    """`take` of LANES robots; status (1,): why each one stopped."""
    place(robot.topology, robot.parameters, state.q, robot.w)
    status[0] = take(levels, robot, joints, ground, state, settings, command, problem, steps, log)


take_lanes = spread(take_each)


@lean
def look(levels, robot, state):
    """Poses and twists of a state that another memory was stepped to; arguments as in `run`."""
    robot, state = at.Robot(*robot), at.State(*state)
    place_of(
        levels, robot.limbed, robot.memory, robot.seen, robot.topology, robot.parameters, state.q, state.qd, robot.w,
    )  # fmt: skip


@lean
def run(levels, robot, joints, ground, state, settings, command, problem, work, steps, log):
    """Take `steps` steps from where `begin` or the last run ended, each noted in its row of `log` unless that is empty.

    levels: those of `limbs`, or (). The bundles come as plain tuples: a named one costs numba 4 us to recognise.
    Returns FINE, or why it stopped: the state is then that of the last good step.
    """
    robot, joints, ground = at.Robot(*robot), at.Joints(*joints), at.Ground(*ground)
    state, settings, command = at.State(*state), at.Settings(*settings), at.Command(*command)
    problem = at.Problem(*problem, Scratch(*work))  # type: ignore[call-arg]
    return take(levels, robot, joints, ground, state, settings, command, problem, steps, log)


@lean
def run_lanes(robot, joints, ground, state, settings, command, problem, work, steps, log, status):
    """`run` of LANES robots at once, one per SIMD lane; arrays that are not the same for all come as `Lanes`.

    Ends with the step in which any of them stops. status (1, LANES): FINE, or why each one stopped.
    """
    robot, joints, ground = at.Robot(*robot), at.Joints(*joints), at.Ground(*ground)
    state, settings, command = at.State(*state), at.Settings(*settings), at.Command(*command)
    problem = at.Problem(*problem, Scratch(*work))  # type: ignore[call-arg]
    take_lanes((), robot, joints, ground, state, settings, command, problem, steps, log, status)
