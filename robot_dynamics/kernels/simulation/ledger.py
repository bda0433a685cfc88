# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Energy, momentum and dissipation of steps (T3, T7-T9, T18, W1-W9).

The bundles of arrays and their columns (`at.`) are those of `memory`; nothing is allocated.
"""

import math

from ...compiler import abreast, anywhere, inline, routine, stack
from .. import rows
from ..bodies import total_mass
from ..contact.solver import IMPULSE
from ..manifold import rotate_back, rotation_by, turned
from ..robot import displace_base, energy_and_momentum, second_moment_of, show_rows, show_world, update_base_twist
from ..rows import part3, part3_to, part4, part4_to, row3, row9, set3
from ..scalar import ZERO3, add, cross, dot, inverse_symmetric, mul, scale, smul, sub, tmul
from . import memory as at
from .actuators import first_dof
from .detection import detect_contacts, end_of_active, first_of, next_twists, origin_of, size1, surface_velocity
from .integrators import base_matrix, is_floating
from .position_shift import MOVING, RECOVERING
from .wrenches import account_impulse, push_power

LEFT_OVER = 1e-12
"""A momentum per mass [m/s] that is left for the next step to correct."""

FINE, NOT_FINITE, ENERGY_JUMP, SINGULAR = range(4)
"""What a run ends with."""


@inline
def account_step(robot, joints, ground, state, settings, pushes, pushed):
    """Work and dissipation of the step (W3, W4, W8), and the impulses that change the momentum (T3).

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
        next_twists(robot, dofs[at.V_NEXT])
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
        mean = 0.5 * h * (state.qd[k] + dofs[at.V_NEXT, k])
        more = share * (h * (dofs[at.V_NEXT, k] + dofs[at.CHANGE, k]) - mean)
        losing = dofs[at.DAMPING, k] * dofs[at.V_NEXT, k] - data[at.HELD, i] - data[at.HELD + 1, i]
        data[at.MOTOR, i] = data[at.APPLIED, i]
        work += (mean + more) * data[at.APPLIED, i]
        lost += (mean + more) * losing
        taken += more * (data[at.APPLIED, i] - losing)
    weight = scale(ledger[at.MASS], row3(robot.parameters, 0, rows.GRAVITY))
    account_impulse(ledger, h, part3(ledger, at.COM), ZERO3, weight)
    if carried and is_floating(robot) and not settings.below:
        taken += gyroscopic_work(joints.dofs, state, h)
    ledger[at.WORK] += work
    ledger[at.DISSIPATED_JOINT] += lost
    ledger[at.THROUGHPUT] += abs(work) + abs(lost)
    ledger[at.DISSIPATED_CONTACT] += taken - by_contacts
    return carried


@inline
def gyroscopic_work(dofs, state, h):
    """Work of the moment k x omega along the turn of the base that is not that of the mean velocity (W8)."""
    omega, end = part3(state.qd, 0), part3(dofs[at.V_NEXT], 0)
    mean = scale(0.5, add(omega, end))
    more = scale(h, sub(add(end, part3(dofs[at.CHANGE], 0)), mean))
    k = scale(0.5, add(part3(state.ledger, at.MOMENTUM + 3), part3(state.ledger, at.ACCOUNTED + 3)))
    return dot(more, cross(tmul(base_matrix(state.q), k), mean))


@inline
def contact_work(robot, ground, ledger, h, pushed):
    """Work of the contacts by mean velocities (W4), and whether any carries; notes their world forces and impulses."""
    points = ground.points
    work = 0.0
    carried = False
    for b in range(ground.clusters.shape[0]):
        for c in range(first_of(ground, b), end_of_active(ground, b)):
            f = row3(points, c, at.FORCE)
            carries = f[2] > 0.0
            set3(points, c, at.FORCE_WORLD, ZERO3)
            # lanes stay together: f is 0 where the point does not carry
            if anywhere(carries):
                carried = carried or carries
                f_world = mul(row9(points, c, at.FRAME), f)
                set3(points, c, at.FORCE_WORLD, f_world)
                end = row3(points, c, at.END)
                if anywhere(pushed):
                    end = surface_velocity(robot, ground, c, rows.NEXT) if pushed else end
                work += 0.5 * h * dot(f, add(end, row3(points, c, at.START)))
                x = add(origin_of(robot, ground, c), row3(points, c, at.ARM))
                account_impulse(ledger, h, x, ZERO3, f_world)
    return work, carried


@inline
def central_inertia(com, second, mass):
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
def missing_spin(ledger, com, totals):
    """Angular momentum about the centre of mass that a state of these `totals` lacks, k* - k (T3)."""
    return sub(part3(ledger, at.ACCOUNTED + 3), sub(part3(totals, 6), cross(com, part3(totals, 3))))


@inline
def conserve_momentum(robot, state, h, flight, totals):
    """Give a floating base the momentum, about the centre of mass, that the step left over (T3, T7-T9).

    totals (10,): of `energy_and_momentum`, updated. In flight the centre of mass goes where the mean momentum takes it.
    """
    ledger = state.ledger
    mass = ledger[at.MASS]
    com = scale(1.0 / mass, part3(totals, 0))
    push = sub(part3(ledger, at.ACCOUNTED), part3(totals, 3))
    spin = missing_spin(ledger, com, totals)
    if size1(push) + size1(spin) > LEFT_OVER * mass:
        correct_base(robot, state, com, push, spin, totals)
    if flight:
        momentum = add(part3(ledger, at.MOMENTUM), part3(totals, 3))
        d = sub(add(part3(ledger, at.COM), scale(0.5 * h / mass, momentum)), com)
        displace_base(robot, d)
        part3_to(state.q, 0, add(part3(state.q, 0), d))
        part3_to(totals, 0, scale(mass, add(com, d)))
        part3_to(totals, 6, add(part3(totals, 6), cross(d, part3(totals, 3))))


@routine
def correct_base(robot, state, com, push, spin, totals):
    """Add the rigid motion with the momentum `push`, and `spin` about the centre of mass, to the base (T7, T8)."""
    mass = state.ledger[at.MASS]
    second = second_moment_of(robot)
    dv, dw = scale(1.0 / mass, push), smul(inverse_symmetric(central_inertia(com, second, mass)), spin)
    x = part3(state.q, 0)
    v = add(dv, cross(dw, sub(x, com)))
    R = base_matrix(state.q)
    part3_to(state.qd, 0, add(part3(state.qd, 0), tmul(R, dw)))
    part3_to(state.qd, 3, add(part3(state.qd, 3), tmul(R, v)))
    update_base_twist(robot, state.qd)
    linear, angular = part3(totals, 3), part3(totals, 6)
    about = sub(angular, cross(com, linear))
    totals[9] += dot(dv, add(linear, scale(0.5, push))) + dot(dw, add(about, scale(0.5, spin)))
    part3_to(totals, 3, add(linear, push))
    part3_to(totals, 6, add(angular, add(spin, cross(com, push))))


@routine
def turn_by_mean(robot, state, h, totals):
    """Turn one body in flight by the mean of the angular velocities that it has, not of those of Heun's rule (T18).

    totals as in `conserve_momentum`, updated.
    """
    com = scale(1.0 / state.ledger[at.MASS], part3(totals, 0))
    spin = missing_spin(state.ledger, com, totals)
    if size1(spin) > LEFT_OVER * state.ledger[at.MASS]:
        inertia = central_inertia(com, second_moment_of(robot), state.ledger[at.MASS])
        more = smul(inverse_symmetric(inertia), scale(0.5 * h, spin))
        y = rotation_by(tmul(base_matrix(state.q), more))
        part4_to(state.q, 3, turned(part4(state.q, 3), y))
        part3_to(state.qd, 3, rotate_back(y, part3(state.qd, 3)))
        energy_and_momentum(robot, state.q, state.qd, totals)


@inline
def is_one_body(robot, state):
    """Whether all that moves is one free body."""
    return is_floating(robot) and state.qd.shape[0] == 6


@routine
def update_motion(robot, state, settings, carried, totals):
    """Poses and velocities, and `totals` (10,) of `energy_and_momentum`; carried as in `update_ledger`."""
    energy_and_momentum(robot, state.q, state.qd, totals)
    if carried is not None and is_floating(robot) and not settings.below:
        if not carried and is_one_body(robot, state) and not settings.runge_kutta:
            turn_by_mean(robot, state, settings.timestep, totals)
        conserve_momentum(robot, state, settings.timestep, not carried, totals)


@routine
def motion_energy(robot, state, settings, carried):
    """Poses and velocities. Returns the energy, its potential part that of the step's start."""
    totals = stack(10)
    update_motion(robot, state, settings, carried, totals)
    return totals[9] + state.ledger[at.POTENTIAL] + state.ledger[at.ELASTIC]


@routine
def update_ledger(robot, ground, state, settings, carried):
    """Poses and velocities; energies, momentum and centre of mass into the ledger. Returns the energy.

    carried: whether contacts carry in the step that ends here; None: no step ends here.
    """
    ledger = state.ledger
    h = settings.timestep
    out = stack(10)
    update_motion(robot, state, settings, carried, out)
    show_rows(robot)
    elastic = detect_contacts(robot, ground, settings.scheme)
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
    if is_floating(robot):
        part3_to(ledger, at.BASE_COM, tmul(base_matrix(state.q), sub(com, part3(state.q, 0))))
    ledger[at.KINETIC] = energy
    ledger[at.POTENTIAL] = -dot(gravity, moment)
    ledger[at.ELASTIC] = elastic
    return energy + ledger[at.POTENTIAL] + elastic


@routine
def start_ledger(robot, ground, state, settings):
    """Initialise the energy ledger at the state as it is."""
    for b in range(ground.clusters.shape[0]):
        ground.gaps[b, at.QUIET] = 0.0
    show_world(robot)
    state.ledger[at.MASS] = total_mass(robot.topology, robot.parameters)
    state.ledger[at.INITIAL] = update_ledger(robot, ground, state, settings, None)
    for k in range(6):
        state.ledger[at.ACCOUNTED + k] = state.ledger[at.MOMENTUM + k]


@inline
def finite(x):
    """Whether all numbers are finite and below 1e12."""
    total = 0.0
    for k in abreast(x.shape[0]):
        total += abs(x[k])
    return total < 1e12


@inline
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


@inline
def book_given_energy(state, settings, purpose, one_body, energy):
    """Count as work what recovery lifts (W7), and apart what contacts give for no reason: they can only take energy.

    one_body: whether contacts carry one body of this energy: what is not explained is then theirs (W9).
    """
    ledger, last = state.ledger, state.last_ledger
    if one_body:
        lost = last[at.KINETIC] + last[at.POTENTIAL] + last[at.ELASTIC] - energy
        ledger[at.DISSIPATED_CONTACT] = last[at.DISSIPATED_CONTACT] + lost + ledger[at.WORK] - last[at.WORK]
    given = last[at.DISSIPATED_CONTACT] - ledger[at.DISSIPATED_CONTACT]
    if given > 0.0:
        if purpose == RECOVERING or (purpose == MOVING and settings.scheme == IMPULSE):
            ledger[at.WORK] += given
            ledger[at.DISSIPATED_CONTACT] = last[at.DISSIPATED_CONTACT]
        else:
            ledger[at.GIVEN] += given
