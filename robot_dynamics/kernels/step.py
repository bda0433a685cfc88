"""One step of the simulated plant (SPEC 6, 9): actuators, free motion, contacts and joint losses, motion of the state.

Everything a step touches is owned by the caller and handed in as the named tuples below; nothing is allocated.
Joints: one entry per name in `Model.joint_names`; entries of planar and floating joints take no command.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bodies import kinetic, mass_moment, momentum, point_position, point_velocity, twists, world_poses
from .contact import (
    CONTACT_COLUMNS,
    IMPLICIT,
    IMPULSE,
    Scratch,
    below_target,
    eliminate,
    explicit_force,
    linear_force,
    next_deflection,
    predicted_target,
    scratch,
    solve_contacts,
)
from .jit import inline, kernel, routine
from .link import body_blocks
from .manifold import integrate
from .propagators import dot_rows, free_motion_of, joint_path, over_inertia, path, respond
from .rows import (
    BODY,
    FIXED,
    FREE,
    GRAVITY,
    IQ,
    IV,
    KIND,
    PARENT,
    RW,
    TURN,
    UA,
    WORKSPACE,
    XW,
    H,
    M,
    N,
    W,
    part3,
    part3_to,
    part4,
    row3,
    row6,
    row9,
    set3,
    set9,
)
from .scalar import ZERO3, add, apply_blocks, cross, dot, inverse_blocks, mul, quaternion_matrix, scale, sub, tmul
from .terrain import nearest_surface
from .terrain import DAMPING as OWN_DAMPING
from .terrain import FRICTION as OWN_FRICTION
from .terrain import STIFFNESS as OWN_STIFFNESS
from .tree import composite, place

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EXPLICIT = 2
LINEAR = 3
"""Schemes without a coupled solve, beside IMPLICIT and IMPULSE of `contact`."""

MARGIN = 2e-3
"""A point (or a joint near its stop) this far off at the end of the step still enters the solve [m, rad]."""
MOST_CONTACTS = 64
"""So many contacts are solved at once; of more, those that are deepest."""
STOP_RECOVERY = 0.2
STOP_RECOVERY_SPEED = 0.5
"""A joint beyond its stop comes back by this share per step, at most at this speed [rad/s, m/s]."""
ATTEMPTS = 4
"""So often a step is taken again because an effort left its range at the end of it."""
PUSHES = 16
PUSH_COLUMNS = 14
"""Columns of a push: body, start, end, ramp [s], moment and force in world axes, their point in body axes."""

FINE, NOT_FINITE, ENERGY_JUMP = range(3)
"""What a run ends with."""

KINETIC, POTENTIAL, ELASTIC, WORK, DISSIPATED_JOINT, DISSIPATED_CONTACT, THROUGHPUT, INITIAL = range(8)
LINEAR_MOMENTUM, ANGULAR_MOMENTUM = 8, 11
LEDGER = 14
COM, MASS_OF_ALL = 6, 9
"""Columns of the ledger; the last two (3 each) are the momentum the impulses of all forces since the reset account for."""

STEPS, ITERATIONS, UNCONVERGED = range(3)
COUNTERS = 3


class Machine(NamedTuple):
    """Robot, points and terrain: what stays the same during a run."""

    topology: Integers
    parameters: Floats
    joint_q: Integers
    joint_v: Integers
    joint_row: Integers
    """(n,) -1 for joints without a single axis."""
    damping: Floats
    """(nv,)."""
    friction: Floats
    lower: Floats
    upper: Floats
    effort: Floats
    no_load_speed: Floats
    """(n,) Coulomb friction, stops, largest effort, speed at which a driving motor has no effort left."""
    point_row: Integers
    point_r: Floats
    radius: Floats
    law: Floats
    """(k, 3) stiffness, damping, friction of each point."""
    surfaces: Floats
    heights: Floats


class Settings(NamedTuple):
    """Figures of the scheme."""

    timestep: float
    scheme: int
    below: bool
    restitution: float
    recovery: float
    recovery_speed: float
    sweeps: int
    tolerance: float
    lag: float
    """Share of the way to its command that an actuator goes in one step."""
    delay: int
    runge_kutta: bool


class State(NamedTuple):
    """What a step changes."""

    q: Floats
    qd: Floats
    qdd: Floats
    motor: Floats
    """(n,) effort of the actuators."""
    deflection: Floats
    force: Floats
    """(k, 3) contact force of the last step in surface axes [N]."""
    force_world: Floats
    row_force: Floats
    """(2 n,) friction and stop of each joint in the last step [N m or N]."""
    position: Floats
    velocity: Floats
    depth: Floats
    ledger: Floats
    counters: Integers
    residual: Floats
    """(1,) residual of the solver in the last step."""


class Command(NamedTuple):
    """Joint command (5, n): q_des, qd_des, kp, kd, effort; `queue` (delay + 1, 5, n) on its way; pushes."""

    now: Floats
    queue: Floats
    pushes: Floats


class Memory(NamedTuple):
    """Workspace, contents meaningless between steps except the kinematics in `w` and the contacts found."""

    w: Floats
    factor: Floats
    f_ext: Floats
    tau: Floats
    added: Floats
    free: Floats
    """(nv,) velocity at the end of the step without contacts."""
    change: Floats
    whole: Floats
    """Momentum (linear, angular about the world's origin), centre of mass, mass."""
    kept_q: Floats
    kept_qd: Floats
    kept_deflection: Floats
    kept_ledger: Floats
    kept_momentum: Floats
    applied: Floats
    saturated: Integers
    pen: Floats
    frame: Floats
    arm: Floats
    law: Floats
    active: Integers
    landed: Integers
    chosen: Integers
    row_index: Integers
    start: Floats
    ahead: Floats
    """(k, 3) velocity at the start of the step, and at its end without contacts; surface axes."""
    z: Floats
    y: Floats
    A: Floats
    b: Floats
    f: Floats
    points: Floats
    bounds: Floats
    stage_q: Floats
    stage: Floats
    rate_q: Floats
    rate: Floats
    solver: Scratch


def memory(nv: int, nq: int, rows: int, bodies: int, joints: int, points: int, dense: bool) -> Memory:
    """Workspace for a robot of these sizes."""
    contacts = min(points, MOST_CONTACTS)
    n = 3 * contacts + 2 * joints
    return Memory(
        w=np.zeros((rows, WORKSPACE)),
        factor=np.zeros((nv, nv)) if dense else np.zeros((0, 0)),
        f_ext=np.zeros((bodies, 6)),
        tau=np.zeros(nv),
        added=np.zeros(nv),
        free=np.zeros(nv),
        change=np.zeros(nv),
        whole=np.zeros(10),
        kept_q=np.zeros(nq),
        kept_qd=np.zeros(nv),
        kept_deflection=np.zeros((points, 2)),
        kept_ledger=np.zeros(LEDGER),
        kept_momentum=np.zeros(6),
        applied=np.zeros(joints),
        saturated=np.zeros(joints, np.int64),
        pen=np.zeros(points),
        frame=np.zeros((points, 9)),
        arm=np.zeros((points, 3)),
        law=np.zeros((points, 3)),
        active=np.zeros(contacts, np.int64),
        landed=np.zeros(contacts, np.int64),
        chosen=np.zeros(3 * contacts, np.int64),
        row_index=np.zeros(2 * joints, np.int64),
        start=np.zeros((points, 3)),
        ahead=np.zeros((points, 3)),
        z=np.zeros((n, nv)),
        y=np.zeros((n, nv)),
        A=np.zeros((n, n)),
        b=np.zeros(n),
        f=np.zeros(n),
        points=np.zeros((contacts, CONTACT_COLUMNS)),
        bounds=np.zeros((2 * joints, 2)),
        stage_q=np.zeros(nq),
        stage=np.zeros(nv),
        rate_q=np.zeros((4, nq)),
        rate=np.zeros((4, nv)),
        solver=scratch(contacts, 2 * joints),
    )


# ---- kinematics and contact detection -------------------------------------------------------------------------------


@inline
def surface_law(surfaces, i, law):
    """Stiffness, damping and friction: the surface's own where it has them, else the point's."""
    if i < 0:
        return law
    K = surfaces[i, OWN_STIFFNESS]
    D = surfaces[i, OWN_DAMPING]
    mu = surfaces[i, OWN_FRICTION]
    return (K if K >= 0.0 else law[0], D if D >= 0.0 else law[1], mu if mu >= 0.0 else law[2])


@routine
def observe(m, s, mem):
    """Poses and velocities of the state, and of every contact point its place on the terrain."""
    place(m.topology, m.parameters, s.q, mem.w)
    world_poses(m.topology, mem.w)
    twists(m.topology, m.parameters, s.qd, mem.w)
    for c in range(m.point_row.shape[0]):
        i = m.point_row[c]
        r = row3(m.point_r, c, 0)
        pen, frame, surface = nearest_surface(m.surfaces, m.heights, point_position(mem.w, i, r))
        normal = (frame[2], frame[5], frame[8])
        arm = sub(r, scale(m.radius[c], tmul(row9(mem.w, i, RW), normal)))
        velocity = point_velocity(mem.w, i, arm)
        mem.pen[c] = pen - m.radius[c]
        set9(mem.frame, c, 0, frame)
        set3(mem.arm, c, 0, arm)
        set3(mem.law, c, 0, surface_law(m.surfaces, surface, row3(m.law, c, 0)))
        set3(mem.start, c, 0, tmul(frame, velocity))
        set3(s.position, c, 0, point_position(mem.w, i, arm))
        set3(s.velocity, c, 0, velocity)
        s.depth[c] = max(0.0, -mem.pen[c])


# ---- actuators ------------------------------------------------------------------------------------------------------


@inline
def effort_range(limit, no_load, speed):
    """Least and largest effort at a speed: a driving motor falls off from half its no-load speed to nothing there."""
    forward = limit
    backward = -limit
    if no_load < math.inf:
        forward = limit * min(1.0, max(0.0, 2.0 - 2.0 * speed / no_load))
        backward = -limit * min(1.0, max(0.0, 2.0 + 2.0 * speed / no_load))
    return backward, forward


@routine
def drive(m, s, settings, c, mem):
    """Efforts at the velocities of the start of the step, and what makes PD and joint damping implicit (SPEC 6.4).

    mem.applied (n,) motor effort; a joint with mem.saturated != 0 is held at that end of its range.
    """
    h = settings.timestep
    for k in range(s.qd.shape[0]):
        mem.tau[k] = -m.damping[k] * s.qd[k]
        mem.added[k] = h * m.damping[k]
    for j in range(m.joint_v.shape[0]):
        if m.joint_row[j] < 0:
            continue
        k = m.joint_v[j]
        v = s.qd[k]
        wanted = c[2, j] * (c[0, j] - s.q[m.joint_q[j]]) + c[3, j] * (c[1, j] - v) + c[4, j]
        wanted = s.motor[j] + settings.lag * (wanted - s.motor[j])
        low, high = effort_range(m.effort[j], m.no_load_speed[j], v)
        if wanted > high:
            mem.saturated[j] = 1
        elif wanted < low:
            mem.saturated[j] = -1
        if mem.saturated[j] == 0:
            mem.added[k] += h * settings.lag * c[3, j]
        else:
            wanted = high if mem.saturated[j] > 0 else low
        mem.applied[j] = wanted
        mem.tau[k] += wanted


@routine
def end_efforts(m, s, settings, c, mem):
    """Motor efforts with the velocity of the end of the step; returns whether one of them left its range."""
    left = False
    for j in range(m.joint_v.shape[0]):
        if m.joint_row[j] < 0 or mem.saturated[j] != 0:
            continue
        k = m.joint_v[j]
        mem.applied[j] -= settings.lag * c[3, j] * (mem.free[k] - s.qd[k])
        low, high = effort_range(m.effort[j], m.no_load_speed[j], s.qd[k])
        if mem.applied[j] > high:
            mem.saturated[j] = 1
            left = True
        elif mem.applied[j] < low:
            mem.saturated[j] = -1
            left = True
    return left


@inline
def attack(m, mem, i, r, n, f):
    """Add a wrench (moment n, force f, world axes) at the point r of row i to mem.f_ext (body axes, body origin)."""
    R = row9(mem.w, i, RW)
    turn = row9(m.parameters, i, TURN)
    f = tmul(R, f)
    n = mul(turn, add(tmul(R, n), cross(r, f)))
    f = mul(turn, f)
    body = m.topology[i, BODY]
    for k in range(3):
        mem.f_ext[body, k] += n[k]
        mem.f_ext[body, 3 + k] += f[k]


@inline
def pushing(s, settings, pushes, k):
    """Row, point in it, moment and force (world axes) of push k at the middle of the step, and whether it acts."""
    t = (s.counters[STEPS] + 0.5) * settings.timestep
    start = pushes[k, 1]
    end = pushes[k, 2]
    ramp = pushes[k, 3]
    g = min(1.0, (t - start) / ramp, (end - t) / ramp) if ramp > 0.0 else 1.0
    n = scale(g, row3(pushes, k, 4))
    f = scale(g, row3(pushes, k, 7))
    return int(pushes[k, 0]), row3(pushes, k, 10), n, f, start < t < end


@routine
def push(m, s, settings, pushes, mem):
    """Add the pushes of this step to mem.f_ext; returns whether there is one, and notes their momentum."""
    pushed = False
    for k in range(pushes.shape[0]):
        i, r, n, f, acts = pushing(s, settings, pushes, k)
        if acts:
            attack(m, mem, i, r, n, f)
            note_momentum(s, settings.timestep, point_position(mem.w, i, r), n, f)
            pushed = True
    return pushed


@routine
def push_power(s, settings, pushes, mem):
    """Power of the pushes at the velocities in mem.w [W]."""
    power = 0.0
    for k in range(pushes.shape[0]):
        i, r, n, f, acts = pushing(s, settings, pushes, k)
        if acts:
            power += dot(f, point_velocity(mem.w, i, r)) + dot(n, mul(row9(mem.w, i, RW), row3(mem.w, i, W)))
    return power


@inline
def note_momentum(s, h, x, n, f):
    """Count the impulse of a moment n and a force f at x, about the world's origin."""
    n = add(n, cross(x, f))
    for k in range(3):
        s.ledger[LINEAR_MOMENTUM + k] += h * f[k]
        s.ledger[ANGULAR_MOMENTUM + k] += h * n[k]


# ---- contacts -------------------------------------------------------------------------------------------------------


@routine
def explicit_contacts(m, s, settings, mem):
    """Forces of the start of the step (SPEC 6.1, 6.2) into mem.f_ext; returns whether any point carries one."""
    carried = False
    for c in range(m.point_row.shape[0]):
        law = row3(mem.law, c, 0)
        u = row3(mem.start, c, 0)
        if settings.scheme == LINEAR:
            f = linear_force(-mem.pen[c], u, law)
        else:
            f, rate = explicit_force(-mem.pen[c], u, (s.deflection[c, 0], s.deflection[c, 1]), law)
            s.deflection[c, 0] += settings.timestep * rate[0]
            s.deflection[c, 1] += settings.timestep * rate[1]
        set3(s.force, c, 0, f)
        if f[2] > 0.0:
            attack(m, mem, m.point_row[c], row3(mem.arm, c, 0), ZERO3, mul(row9(mem.frame, c, 0), f))
            carried = True
    return carried


@routine
def find_contacts(m, settings, mem):
    """Number of points that may touch within the step, listed in mem.active; their velocities without contact."""
    h = settings.timestep
    most = mem.active.shape[0]
    count = 0
    for c in range(m.point_row.shape[0]):
        u = tmul(row9(mem.frame, c, 0), point_velocity(mem.w, m.point_row[c], row3(mem.arm, c, 0)))
        set3(mem.ahead, c, 0, u)
        if settings.below:
            near = mem.pen[c] < 0.0
        else:
            near = mem.pen[c] + h * min(u[2], 0.0) < MARGIN
        if near and count < most:
            mem.active[count] = c
            count += 1
        elif near:
            worst = 0
            for a in range(1, most):
                if mem.pen[mem.active[a]] > mem.pen[mem.active[worst]]:
                    worst = a
            if mem.pen[c] < mem.pen[mem.active[worst]]:
                mem.active[worst] = c
    return count


@routine
def contact_rows(m, s, settings, count, mem):
    """Paths, free velocities less their targets, and law data of the active contacts; warm start from the last step."""
    h = settings.timestep
    for a in range(count):
        c = mem.active[a]
        frame = row9(mem.frame, c, 0)
        arm = row3(mem.arm, c, 0)
        for k in range(3):
            d = (frame[k], frame[3 + k], frame[6 + k])
            path(m.topology, m.parameters, mem.factor, mem.w, m.point_row[c], arm, d, mem.z[3 * a + k])
            mem.b[3 * a + k] = mem.ahead[c, k]
            mem.f[3 * a + k] = s.force[c, k] * (h if settings.scheme == IMPULSE else 1.0)
        mem.points[a, 0] = -mem.pen[c]
        mem.points[a, 1] = s.deflection[c, 0]
        mem.points[a, 2] = s.deflection[c, 1]
        set3(mem.points, a, 3, row3(mem.law, c, 0))
        mem.landed[a] = 0
        if settings.scheme == IMPULSE:
            u0 = mem.start[c, 2]
            if settings.below:
                target = below_target(mem.pen[c], u0, settings.restitution, settings.recovery)
            else:
                target, lands = predicted_target(
                    mem.pen[c],
                    u0,
                    mem.ahead[c, 2],
                    h,
                    settings.restitution,
                    settings.recovery,
                    settings.recovery_speed,
                )
                mem.landed[a] = 1 if lands else 0
            mem.b[3 * a + 2] -= target


@inline
def stop_target(gap, h):
    """Least speed away from a stop: it may be reached but not passed; from beyond it, a bounded recovery."""
    return -gap / h if gap > 0.0 else min(-STOP_RECOVERY * gap / h, STOP_RECOVERY_SPEED)


@routine
def add_row(m, s, settings, index, j, low, high, target, n, count, mem):
    """Append the scalar row of joint j: effort within [low, high], rate wanted `target`; `index` in s.row_force."""
    unit = settings.timestep if settings.scheme == IMPULSE else 1.0
    joint_path(m.topology, mem.factor, mem.w, m.joint_row[j], mem.z[n])
    mem.b[n] = mem.free[m.joint_v[j]] - target
    mem.f[n] = s.row_force[index] * unit
    mem.bounds[n - 3 * count, 0] = low * unit
    mem.bounds[n - 3 * count, 1] = high * unit
    mem.row_index[n - 3 * count] = index


@routine
def joint_rows(m, s, settings, count, mem):
    """Rows of joint friction and of stops within reach, after 3 `count` contact rows; returns the number of all rows."""
    h = settings.timestep
    n = 3 * count
    for j in range(m.joint_v.shape[0]):
        if m.joint_row[j] < 0:
            continue
        if m.friction[j] > 0.0:
            add_row(m, s, settings, 2 * j, j, -m.friction[j], m.friction[j], 0.0, n, count, mem)
            n += 1
        x = s.q[m.joint_q[j]]
        v = mem.free[m.joint_v[j]]
        low = x - m.lower[j]
        high = m.upper[j] - x
        at_low = low + h * min(v, 0.0) < MARGIN
        at_high = high - h * max(v, 0.0) < MARGIN
        if at_low and at_high:
            target = STOP_RECOVERY * 0.5 * (high - low) / h
            add_row(m, s, settings, 2 * j + 1, j, -math.inf, math.inf, target, n, count, mem)
            n += 1
        elif at_low:
            add_row(m, s, settings, 2 * j + 1, j, 0.0, math.inf, stop_target(low, h), n, count, mem)
            n += 1
        elif at_high:
            add_row(m, s, settings, 2 * j + 1, j, -math.inf, 0.0, -stop_target(high, h), n, count, mem)
            n += 1
    return n


@routine
def couple(m, settings, n, mem):
    """A = h W or W from the paths (P6-P8)."""
    g = 1.0 if settings.scheme == IMPULSE else settings.timestep
    for a in range(n):
        over_inertia(m.topology, mem.factor, mem.w, mem.z[a], mem.y[a])
        for b in range(a + 1):
            mem.A[a, b] = g * dot_rows(mem.z[b], mem.y[a])
            mem.A[b, a] = mem.A[a, b]


@routine
def apply(m, g, n, f, mem):
    """mem.change = g H^-1 J^T f over all rows (P12)."""
    nv = mem.change.shape[0]
    total = mem.tau
    for k in range(nv):
        total[k] = 0.0
    for a in range(n):
        if f[a] != 0.0:
            for k in range(nv):
                total[k] += g * f[a] * mem.y[a, k]
    respond(m.topology, mem.factor, mem.w, total, mem.change)


@routine
def keep_forces(m, s, settings, count, n, mem):
    """Forces of the solve into the state: contacts and joint rows, deflections at the end of the step (N5)."""
    h = settings.timestep
    g = 1.0 / h if settings.scheme == IMPULSE else 1.0
    points = m.point_row.shape[0]
    if settings.scheme == IMPLICIT or settings.scheme == IMPULSE:
        for c in range(points):
            set3(s.force, c, 0, ZERO3)
        for a in range(count):
            set3(s.force, mem.active[a], 0, scale(g, part3(mem.f, 3 * a)))
    for k in range(s.row_force.shape[0]):
        s.row_force[k] = 0.0
    for a in range(3 * count, n):
        s.row_force[mem.row_index[a - 3 * count]] = g * mem.f[a]
    if settings.scheme != IMPLICIT:
        return
    for a in range(count):
        mem.ahead[mem.active[a], 2] = mem.solver.velocity[3 * a + 2]
    for c in range(points):
        depth = -mem.pen[c] - h * mem.ahead[c, 2]
        d = (s.deflection[c, 0], s.deflection[c, 1])
        d = next_deflection(depth, row3(s.force, c, 0), d, h, row3(mem.law, c, 0))
        s.deflection[c, 0] = d[0]
        s.deflection[c, 1] = d[1]


@routine
def land(m, settings, count, mem):
    """Position-only shift that ends the way of softly landed points on the surface (SPEC 6.5): added to mem.change.

    (W_AA + 1e-9 tr W) pi = r over the contacts that carry, r = -pen / h in the normal row of a landed one.
    """
    n = 0
    landed = False
    trace = 0.0
    for a in range(count):
        if mem.f[3 * a + 2] > 0.0:
            landed = landed or mem.landed[a] == 1
            for k in range(3):
                mem.chosen[n] = 3 * a + k
                trace += mem.A[3 * a + k, 3 * a + k]
                n += 1
    for k in range(mem.change.shape[0]):
        mem.change[k] = 0.0
    if not landed:
        return
    M, pi = mem.solver.matrix, mem.solver.best
    for i in range(n):
        a = mem.chosen[i]
        pi[i] = -mem.pen[mem.active[a // 3]] / settings.timestep if a % 3 == 2 and mem.landed[a // 3] == 1 else 0.0
        for j in range(n):
            M[i, j] = mem.A[a, mem.chosen[j]]
        M[i, i] += 1e-9 * trace
    eliminate(M, n, pi)
    for a in range(3 * count):
        mem.f[a] = 0.0
    for i in range(n):
        mem.f[mem.chosen[i]] = pi[i]
    apply(m, 1.0, 3 * count, mem.f, mem)


# ---- one step -------------------------------------------------------------------------------------------------------


@routine
def solve(m, s, settings, mem):
    """End velocity in mem.free from the free one: contacts, joint friction and stops. Returns contact rows and all rows."""
    count = 0
    if settings.scheme == IMPLICIT or settings.scheme == IMPULSE:
        twists(m.topology, m.parameters, mem.free, mem.w)
        count = find_contacts(m, settings, mem)
        contact_rows(m, s, settings, count, mem)
    n = joint_rows(m, s, settings, count, mem)
    s.counters[ITERATIONS] = 0
    s.residual[0] = 0.0
    if n > 0:
        couple(m, settings, n, mem)
        model = IMPULSE if settings.scheme == IMPULSE else IMPLICIT
        iterations, error, missed = solve_contacts(
            model,
            mem.A,
            mem.b,
            mem.points,
            mem.bounds,
            settings.timestep,
            count,
            n,
            settings.sweeps,
            settings.tolerance,
            mem.f,
            mem.solver,
        )
        s.counters[ITERATIONS] = iterations
        s.counters[UNCONVERGED] += 1 if missed else 0
        s.residual[0] = error
        apply(m, 1.0 if settings.scheme == IMPULSE else settings.timestep, n, mem.f, mem)
        for k in range(mem.free.shape[0]):
            mem.free[k] += mem.change[k]
    return count, n


@routine
def move(m, s, settings, command, mem):
    """Velocity and forces of one step: end velocity in mem.free, position-only one in mem.change.

    Returns FINE or NOT_FINITE, and whether the robot was left to itself.
    """
    h = settings.timestep
    mem.f_ext[:, :] = 0.0
    pushed = push(m, s, settings, command.pushes, mem)
    s.ledger[WORK] += 0.5 * h * push_power(s, settings, command.pushes, mem)
    if settings.scheme == EXPLICIT or settings.scheme == LINEAR:
        pushed = explicit_contacts(m, s, settings, mem) or pushed
    f_ext = mem.f_ext if pushed else mem.f_ext[:0]
    delayed = command.queue[(s.counters[STEPS] + 1) % command.queue.shape[0]]
    for j in range(mem.saturated.shape[0]):
        mem.saturated[j] = 0
    count = 0
    n = 0
    for _ in range(ATTEMPTS):
        drive(m, s, settings, delayed, mem)
        failed = free_motion_of(
            m.topology, m.parameters, s.q, s.qd, mem.tau, f_ext, mem.added, mem.factor, mem.w, s.qdd
        )
        if failed >= 0:
            return NOT_FINITE, False
        for k in range(s.qd.shape[0]):
            mem.free[k] = s.qd[k] + h * s.qdd[k]
        count, n = solve(m, s, settings, mem)
        if not end_efforts(m, s, settings, delayed, mem):
            break
    keep_forces(m, s, settings, count, n, mem)
    if settings.scheme == IMPULSE and not settings.below:
        land(m, settings, count, mem)
    else:
        for k in range(mem.change.shape[0]):
            mem.change[k] = 0.0
    return FINE, n == 0 and not pushed


@routine
def account(m, s, settings, pushes, mem):
    """Work and dissipation of the step from mean velocities, and the impulses that change the momentum."""
    h = settings.timestep
    twists(m.topology, m.parameters, mem.free, mem.w)
    work = 0.5 * h * push_power(s, settings, pushes, mem)
    lost = 0.0
    for k in range(s.qd.shape[0]):
        lost += h * m.damping[k] * mem.free[k] * 0.5 * (s.qd[k] + mem.free[k])
    for j in range(m.joint_v.shape[0]):
        s.motor[j] = mem.applied[j]
        if m.joint_row[j] >= 0:
            v = 0.5 * (s.qd[m.joint_v[j]] + mem.free[m.joint_v[j]])
            work += h * mem.applied[j] * v
            lost -= h * (s.row_force[2 * j] + s.row_force[2 * j + 1]) * v
    s.ledger[WORK] += work
    s.ledger[DISSIPATED_JOINT] += lost
    s.ledger[THROUGHPUT] += abs(work) + abs(lost)
    for c in range(m.point_row.shape[0]):
        f = row3(s.force, c, 0)
        frame = row9(mem.frame, c, 0)
        f_world = mul(frame, f)
        set3(s.force_world, c, 0, f_world)
        if f[2] > 0.0:
            u = tmul(frame, point_velocity(mem.w, m.point_row[c], row3(mem.arm, c, 0)))
            s.ledger[DISSIPATED_CONTACT] -= 0.5 * h * dot(f, add(u, row3(mem.start, c, 0)))
            note_momentum(s, h, row3(s.position, c, 0), ZERO3, f_world)
    mass = mem.whole[MASS_OF_ALL]
    com = add(part3(mem.whole, COM), scale(0.5 * h / max(mass, 1e-300), part3(mem.whole, 0)))
    note_momentum(s, h, com, ZERO3, scale(mass, row3(m.parameters, 0, GRAVITY)))


@inline
def in_flight(m, s):
    """Whether a floating base is carried by no contact."""
    if m.topology.shape[0] < 2 or m.topology[1, KIND] != FREE or m.topology[1, PARENT] != 0:
        return False
    for c in range(m.point_row.shape[0]):
        if s.force[c, 2] > 0.0:
            return False
    return True


@routine
def advance_state(m, s, settings, alone, mem):
    """qd, qdd and q <- q (+) h (v + w) (SPEC 6.5, 9); in flight the base moves by the mean of its twists."""
    h = settings.timestep
    flight = in_flight(m, s)
    for k in range(s.qd.shape[0]):
        s.qdd[k] = (mem.free[k] - s.qd[k]) / h
        mem.change[k] += mem.free[k]
    if flight:
        for k in range(6):
            mem.change[k] = 0.5 * (s.qd[k] + mem.free[k])
    if alone and settings.runge_kutta:
        runge_kutta(m, s, h, mem)
    else:
        for k in range(s.qd.shape[0]):
            s.qd[k] = mem.free[k]
        integrate(m.topology, s.q, mem.change, h, s.q)
    if flight:
        fly(m, s, h, mem)


@routine
def fly(m, s, h, mem):
    """Flight correction (SPEC 6.4, widened): momentum and centre of mass of a floating robot become exact.

    The base takes up what the first-order step left over: its twist the momentum about the centre of mass, its position
    the centre of mass. For one body that does not turn this is p <- p - h^2 g / 2.
    """
    place(m.topology, m.parameters, s.q, mem.w)
    world_poses(m.topology, mem.w)
    twists(m.topology, m.parameters, s.qd, mem.w)
    mass, moment = mass_moment(m.topology, m.parameters, mem.w)
    linear, angular = momentum(m.topology, m.parameters, s.qd, mem.w)
    com = scale(1.0 / mass, moment)
    impulse = sub(part3(s.ledger, LINEAR_MOMENTUM), part3(mem.kept_momentum, 0))
    turning = sub(part3(s.ledger, ANGULAR_MOMENTUM), part3(mem.kept_momentum, 3))
    wanted = add(part3(mem.whole, 0), impulse)
    there = add(part3(mem.whole, COM), scale(h / mass, sub(wanted, scale(0.5, impulse))))
    spin = sub(add(part3(mem.whole, 3), turning), cross(there, wanted))
    df = sub(wanted, linear)
    dn = add(sub(spin, sub(angular, cross(com, linear))), cross(sub(com, row3(mem.w, 1, XW)), df))
    composite(m.topology, m.parameters, mem.w)
    Mi, Hi, Ni = inverse_blocks(*body_blocks(mem.w[1, M], row3(mem.w, 1, H), row6(mem.w, 1, N)))
    R = row9(mem.w, 1, RW)
    dv, dw = apply_blocks(Mi, Hi, Ni, tmul(R, df), tmul(R, dn))
    for k in range(3):
        s.qd[k] += dw[k]
        s.qd[3 + k] += dv[k]
        s.q[k] += there[k] - com[k]


@routine
def configuration_rate(topology, q, v, out):
    """dq/dt: joint rates, world velocity of a free body, rate of its quaternion."""
    for i in range(1, topology.shape[0]):
        iq = topology[i, IQ]
        iv = topology[i, IV]
        if topology[i, KIND] == FREE:
            x = part4(q, iq + 3)
            w = part3(v, iv)
            part3_to(out, iq, mul(quaternion_matrix(x[0], x[1], x[2], x[3]), part3(v, iv + 3)))
            out[iq + 3] = 0.5 * (x[3] * w[0] + x[1] * w[2] - x[2] * w[1])
            out[iq + 4] = 0.5 * (x[3] * w[1] + x[2] * w[0] - x[0] * w[2])
            out[iq + 5] = 0.5 * (x[3] * w[2] + x[0] * w[1] - x[1] * w[0])
            out[iq + 6] = -0.5 * (x[0] * w[0] + x[1] * w[1] + x[2] * w[2])
        elif topology[i, KIND] != FIXED:
            out[iq] = v[iv]


@routine
def runge_kutta(m, s, h, mem):
    """Classical fourth-order step with the motor efforts held; quaternions as four numbers, normalised at the end."""
    q, v, dq, dv = mem.stage_q, mem.stage, mem.rate_q, mem.rate
    for stage in range(4):
        g = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
        for k in range(s.q.shape[0]):
            q[k] = s.q[k] + g * dq[max(stage - 1, 0), k]
        for k in range(s.qd.shape[0]):
            v[k] = s.qd[k] + g * dv[max(stage - 1, 0), k]
            mem.tau[k] = -m.damping[k] * v[k]
            mem.added[k] = 0.0
        for j in range(m.joint_v.shape[0]):
            if m.joint_row[j] >= 0:
                mem.tau[m.joint_v[j]] += mem.applied[j]
        configuration_rate(m.topology, q, v, dq[stage])
        free_motion_of(
            m.topology, m.parameters, q, v, mem.tau, mem.f_ext[:0], mem.added, mem.factor, mem.w, dv[stage]
        )
    for k in range(s.q.shape[0]):
        s.q[k] += h / 6.0 * (dq[0, k] + 2.0 * dq[1, k] + 2.0 * dq[2, k] + dq[3, k])
    for k in range(s.qd.shape[0]):
        s.qd[k] += h / 6.0 * (dv[0, k] + 2.0 * dv[1, k] + 2.0 * dv[2, k] + dv[3, k])
    for i in range(1, m.topology.shape[0]):
        if m.topology[i, KIND] == FREE:
            o = m.topology[i, IQ] + 3
            g = 1.0 / math.sqrt(s.q[o] ** 2 + s.q[o + 1] ** 2 + s.q[o + 2] ** 2 + s.q[o + 3] ** 2)
            for k in range(4):
                s.q[o + k] *= g


# ---- a run ----------------------------------------------------------------------------------------------------------


@routine
def weigh(m, s, settings, mem):
    """Energies and momentum of the state, after `observe`: ledger and mem.whole. Returns the energy."""
    mass, moment = mass_moment(m.topology, m.parameters, mem.w)
    linear, angular = momentum(m.topology, m.parameters, s.qd, mem.w)
    part3_to(mem.whole, 0, linear)
    part3_to(mem.whole, 3, angular)
    part3_to(mem.whole, COM, scale(1.0 / max(mass, 1e-300), moment))
    mem.whole[MASS_OF_ALL] = mass
    elastic = 0.0
    if settings.scheme != IMPULSE:
        for c in range(m.point_row.shape[0]):
            z = s.depth[c]
            if settings.scheme == LINEAR:
                elastic += 0.5 * mem.law[c, 0] * z * z
            elif z > 0.0:
                d2 = s.deflection[c, 0] ** 2 + s.deflection[c, 1] ** 2
                elastic += math.sqrt(z) * mem.law[c, 0] * (0.4 * z * z + 0.5 * d2)
    s.ledger[KINETIC] = kinetic(m.topology, m.parameters, s.qd, mem.w)
    s.ledger[POTENTIAL] = -dot(row3(m.parameters, 0, GRAVITY), moment)
    s.ledger[ELASTIC] = elastic
    return s.ledger[KINETIC] + s.ledger[POTENTIAL] + elastic


@kernel
def begin(m, s, settings, mem):
    """Start the ledger at the state as it is."""
    observe(m, s, mem)
    for k in range(LEDGER):
        s.ledger[k] = 0.0
    for k in range(COUNTERS):
        s.counters[k] = 0
    s.ledger[INITIAL] = weigh(m, s, settings, mem)
    part3_to(s.ledger, LINEAR_MOMENTUM, part3(mem.whole, 0))
    part3_to(s.ledger, ANGULAR_MOMENTUM, part3(mem.whole, 3))


@inline
def finite(x):
    """Whether all numbers are finite and below 1e12."""
    total = 0.0
    for k in range(x.shape[0]):
        total += abs(x[k])
    return total < 1e12


@inline
def keep(source, target):
    """Copy a vector."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@routine
def verdict(s, energy, kept, mem):
    """Whether the step just taken can be believed: finite, and no energy from nothing."""
    if not (finite(s.q) and finite(s.qd) and energy < math.inf):
        return NOT_FINITE
    mass = mem.whole[MASS_OF_ALL]
    work = s.ledger[WORK] - kept[WORK]
    if energy - (kept[KINETIC] + kept[POTENTIAL] + kept[ELASTIC]) - work > kept[KINETIC] + kept[ELASTIC] + mass:
        return ENERGY_JUMP
    if energy - s.ledger[INITIAL] - s.ledger[WORK] > 10.0 * mass + 0.01 * s.ledger[THROUGHPUT]:
        return ENERGY_JUMP
    return FINE


@kernel
def run(m, s, settings, command, mem, steps):
    """Take `steps` steps. Returns FINE, or why it stopped: the state is then that of the last good step."""
    observe(m, s, mem)
    weigh(m, s, settings, mem)
    for _ in range(steps):
        slot = s.counters[STEPS] % command.queue.shape[0]
        for i in range(command.now.shape[0]):
            keep(command.now[i], command.queue[slot, i])
        keep(s.q, mem.kept_q)
        keep(s.qd, mem.kept_qd)
        keep(s.ledger, mem.kept_ledger)
        for c in range(s.deflection.shape[0]):
            keep(s.deflection[c], mem.kept_deflection[c])
        for k in range(6):
            mem.kept_momentum[k] = s.ledger[LINEAR_MOMENTUM + k]
        status, alone = move(m, s, settings, command, mem)
        if status == FINE:
            account(m, s, settings, command.pushes, mem)
            advance_state(m, s, settings, alone, mem)
            observe(m, s, mem)
            energy = weigh(m, s, settings, mem)
            s.ledger[DISSIPATED_CONTACT] -= s.ledger[ELASTIC] - mem.kept_ledger[ELASTIC]
            status = verdict(s, energy, mem.kept_ledger, mem)
        if status != FINE:
            keep(mem.kept_q, s.q)
            keep(mem.kept_qd, s.qd)
            keep(mem.kept_ledger, s.ledger)
            for c in range(s.deflection.shape[0]):
                keep(mem.kept_deflection[c], s.deflection[c])
            observe(m, s, mem)
            return status
        s.counters[STEPS] += 1
    return FINE
