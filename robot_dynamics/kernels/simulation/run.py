# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps of the simulated plant (T1-T18): actuators, free motion, contacts and joint losses, motion of the state.

The bundles of arrays and their columns (`at.`) are those of `memory`; nothing is allocated.
"""

from ...compiler import LINE, abreast, alike, anywhere, inline, lean, prefetch, routine
from .. import rows
from ..bodies import velocity_at
from ..contact.solver import IMPULSE, Scratch, System, largest_residual
from ..robot import Robot, update_poses
from ..rows import part3_to, row3, set3
from ..scalar import add
from . import memory as at
from .actuators import actuator_of, delay_command, update_efforts
from .constraints import any_row, apply_response, assemble, rebounds_give_energy, solve, store_forces
from .detection import end_of_active, first_of, origin_of, row_of, save_deflection, surface_below
from .integrators import advance_state, free_velocity, heun, is_floating, may_be_explicit, note_base_rate
from .ledger import (
    FINE,
    SINGULAR,
    account_step,
    book_given_energy,
    is_one_body,
    motion_energy,
    start_ledger,
    update_ledger,
    verdict,
)
from .position_shift import shift_positions
from .wrenches import apply_pushes, count_pushes, explicit_contacts, push_power

ATTEMPTS = 6
"""Most times that a step is solved: again where an effort left its range, or where a rebound gave energy."""


@inline
def named(plant):
    """The bundle `memory.Plant` of plain tuples, those of its fields, the problem's system and the system's scratch."""
    robot, joints, ground, state, settings, command, problem, system, work = plant
    return at.Plant(
        Robot(*robot),
        at.Joints(*joints),
        at.Ground(*ground),
        at.State(*state),
        at.Settings(*settings),
        at.Command(*command),
        at.Problem(*problem, System(*system, Scratch(*work))),  # type: ignore[call-arg]
    )


@inline
def point_force(ground, c):
    """World force on point c and its twin."""
    f = row3(ground.points, c, at.FORCE_WORLD)
    half = ground.twins.shape[0]
    return add(f, row3(ground.points, c + half, at.FORCE_WORLD)) if half > 0 else f


@inline
def locate_point(robot, ground, c):
    """World position and velocity of contact point c, where it touches."""
    _, _, arm, _ = surface_below(robot, ground, c)
    return add(origin_of(robot, ground, c), arm), velocity_at(robot.w, row_of(ground, c), arm, rows.W)


@routine
def locate_plain(plant, position, velocity, force):
    """`locate`, within kernels."""
    plant = named(plant)
    for c in range(position.shape[0]):
        x, v = locate_point(plant.robot, plant.ground, c)
        set3(position, c, 0, x)
        set3(velocity, c, 0, v)
        set3(force, c, 0, point_force(plant.ground, c))


@lean
def locate(plant, position, velocity, force):
    """World position, velocity and force (k, 3) of every touching point, of the state that a run ended with."""
    locate_plain(plant, position, velocity, force)


@inline
def set_all(x, value):
    """Have one value everywhere in a vector."""
    for k in abreast(x.shape[0]):
        x[k] = value


@inline
def prepare(robot, joints, ground, state, settings, command, pushes, k):
    """What is known before the motion of step k of a run: command, pushes, explicit contacts.

    Returns whether f_ext counts.
    """
    h = settings.timestep
    t = (state.counters[at.STEPS] + 0.5) * h
    if k == 0 or command.now.shape[0] > 1 or command.queue.shape[0] > 1:
        delay_command(joints, state, command.now[min(k, command.now.shape[0] - 1)], command.queue, command.acting)
    set_all(joints.data[at.SATURATED], 0.0)
    explicit = settings.scheme == at.EXPLICIT or settings.scheme == at.LINEAR
    if anywhere(explicit or pushes.shape[0] > 0):
        set_all(robot.f_ext, 0.0)
    pushed = apply_pushes(robot, state.ledger, h, t, pushes)
    state.ledger[at.WORK] += 0.5 * h * push_power(robot.w, rows.W, t, pushes)
    if explicit:
        pushed = explicit_contacts(robot, ground, settings) or pushed
    return pushed


@inline
def save_state(joints, state):
    """Keep the state for `restore_state`, but for deflections, which are kept where they change."""
    joints.configurations[at.LAST_Q] = state.q
    joints.dofs[at.LAST_QD] = state.qd
    state.last_ledger[:] = state.ledger


@routine
def restore_state(joints, ground, state):
    """Go back to the state of `save_state`."""
    state.q[:] = joints.configurations[at.LAST_Q]
    state.qd[:] = joints.dofs[at.LAST_QD]
    state.ledger[:] = state.last_ledger
    for b in range(ground.clusters.shape[0]):
        for c in range(first_of(ground, b), end_of_active(ground, b)):
            for k in range(2):
                ground.points[c, at.DEFLECTION + k] = ground.points[c, at.LAST_DEFLECTION + k]


@inline
def write_log(joints, ground, state, row):
    """Write q, qd, motor efforts and, if the row has room for them, the points' forces (world axes)."""
    nq = state.q.shape[0]
    joint = nq + state.qd.shape[0]
    point = joint + joints.number.shape[1]
    row[:nq] = state.q
    row[nq:joint] = state.qd
    for j in range(point - joint):
        row[joint + j] = joints.data[at.MOTOR, actuator_of(joints, j)]
    for c in range((row.shape[0] - point) // 3):
        part3_to(row, point + 3 * c, point_force(ground, c))


@inline
def prefetch_row(row):
    """Have a row of the log at hand: a store that waits for its cache line holds up all stores behind it."""
    for k in range(0, row.shape[0], LINE):
        prefetch(row, k)
    prefetch(row, row.shape[0] - 1)


@inline
def end_velocities(plant, pushed):
    """End velocity, with contacts and joint losses, in dofs[V_NEXT], again while an effort leaves its range there.

    Returns how many contacts and rows there are, the solver's iterations, whether it missed its tolerance, and -1 or
    the first dof without inertia.
    """
    robot, joints, ground, state, settings, command, problem = plant
    count = 0
    n = 0
    failed = -1
    iterations, missed = 0, False
    bounce = 1.0
    for k in range(ATTEMPTS):
        failed = max(failed, free_velocity(robot, joints, state, settings, command, pushed))
        count, n, full = assemble(robot, joints, ground, settings, bounce, problem)
        for contacts, total in alike(count, n):
            iterations, missed = solve(robot, settings, contacts, total, problem)
            apply_response(robot, joints, settings, contacts, total, problem)
        missed = missed or full
        gives = (
            settings.scheme == IMPULSE and settings.restitution > 0.0 and rebounds_give_energy(ground, count, problem)
        )
        bounce *= (0.5 if k < ATTEMPTS - 2 else 0.0) if gives else 1.0
        # lanes stay together: taken again, a step ends as it did where no effort left its range
        if not anywhere(update_efforts(joints, state, settings, command.acting) or gives):
            break
    return count, n, iterations, missed, failed


@inline
def count_step(counters, iterations, missed):
    """Count a step that ended well, and whether its solve missed the tolerance."""
    counters[at.STEPS] += 1
    counters[at.ITERATIONS] = iterations
    counters[at.UNCONVERGED] += 1 if missed else 0


@routine
def take(plant, steps, log):
    """`run` of a named bundle."""
    robot, joints, ground, state, settings, command, problem = plant
    pushes = command.pushes[: count_pushes(command.pushes, state.counters[at.STEPS] * settings.timestep)]
    for k in range(steps):
        save_state(joints, state)
        pushed = prepare(robot, joints, ground, state, settings, command, pushes, k)
        count, n, iterations, missed, failed = end_velocities(plant, pushed)
        unread = settings.motion_only and k == steps - 1
        if k == steps - 1 and not unread:  # that of another step could not be read
            state.ledger[at.RESIDUAL] = largest_residual(problem.system, count, n)
        held = False
        for contacts, total in alike(count, n):
            store_forces(joints, ground, settings, contacts, total, problem)
            held = any_row(contacts, total, problem)
        purpose = shift_positions(robot, joints, ground, settings, count, n, problem)
        alone = not held and not pushed
        # without `anywhere` the gains of all lanes would be looked at even where none of them is alone
        for (explicit,) in alike(anywhere(alone) and alone and may_be_explicit(joints, settings, command.acting)):
            if explicit:
                heun(robot, joints, state, settings)
        carried = account_step(robot, joints, ground, state, settings, pushes, pushed)
        advance_state(robot, joints, state, settings, carried, alone)
        if log.shape[0] > 0:
            prefetch_row(log[k])
        energy = (
            motion_energy(robot, state, settings, carried)
            if unread
            else update_ledger(robot, ground, state, settings, carried)
        )
        book_given_energy(state, settings, purpose, carried and is_one_body(robot, state), energy)
        status = verdict(state, energy) if failed < 0 else SINGULAR
        if status != FINE:
            restore_state(joints, ground, state)
            state.counters[at.SINGULAR_DOF] = failed
            update_ledger(robot, ground, state, settings, None)
        else:
            count_step(state.counters, iterations, missed)
            if k == steps - 1 and is_floating(robot):
                note_base_rate(joints, state, settings.timestep)
        if log.shape[0] > 0:
            write_log(joints, ground, state, log[k])
        if anywhere(status != FINE):
            return status
    return FINE


@routine
def clear(joints, ground, state, command):
    """Forget what was before the state at hand: forces, motors, commands, pushes, time and ledger."""
    for _, array in enumerate((state.qdd, state.base_rate, state.ledger, state.last_ledger)):
        set_all(array, 0.0)
    for k in range(at.COUNTERS):
        state.counters[k] = 0
    for k in range(at.MOTOR, at.JOINT_FIGURES):
        set_all(joints.data[k], 0.0)
    for c in range(ground.points.shape[0]):
        set_all(ground.points[c, at.FORCE : at.FORCE_WORLD + 3], 0.0)
        ground.points[c, at.SURFACE] = -1.0
        save_deflection(ground.points, c)
    for i in range(5):
        set_all(command.acting[i], 0.0)
        for k in range(command.now.shape[0]):
            set_all(command.now[k, i], 0.0)
        for k in range(command.queue.shape[0]):
            set_all(command.queue[k, i], 0.0)
    for k in range(at.PUSHES):
        set_all(command.pushes[k], 0.0)


@routine
def begin_plain(plant):
    """`begin`, within kernels."""
    plant = named(plant)
    clear(plant.joints, plant.ground, plant.state, plant.command)
    start_ledger(plant.robot, plant.ground, plant.state, plant.settings)


@lean
def begin(plant):
    """Start anew at q, qd and the points' deflection: no command, no push, a new ledger; plant: as for `named`."""
    begin_plain(plant)


@routine
def look_plain(plant):
    """`look`, within kernels."""
    plant = named(plant)
    update_poses(plant.robot, plant.state.q, plant.state.qd)


@lean
def look(plant):
    """Poses and twists of a state that another memory was stepped to; plant: as for `named`."""
    look_plain(plant)


@routine
def run_plain(plant, steps, log):
    """`run`, within kernels."""
    return take(named(plant), steps, log)


@lean
def run(plant, steps, log):
    """Take `steps` steps from where `begin` or the last run ended, each noted in its row of `log` unless that is empty.

    plant: as for `named`. Returns FINE, or why it stopped: the state is then that of the last good step.
    """
    return run_plain(plant, steps, log)
