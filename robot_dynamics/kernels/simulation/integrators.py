# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Velocity and configuration of the end of a step (T1, T2, T11-T17).

The bundles of arrays and their columns (`at.`) are those of `memory`; nothing is allocated.
"""

import math

from ...compiler import abreast, anywhere, inline, routine
from .. import rows
from ..joints import one_dof
from ..manifold import integrate, rotate_back, rotation_by, take_step
from ..robot import free_motion, update_twists
from ..rows import part3, part3_to, part4
from ..scalar import ZERO3, add, cross, mul, quaternion_matrix, scale, sub, tmul
from . import memory as at
from .actuators import actuate, add_rates, first_dof

FAST_JOINT = 2e-3
"""Way of a joint in a step [rad, m] from which on a robot on a fixed base has the velocity products of mid-step."""


@inline
def free_velocity(robot, joints, state, settings, command, pushed):
    """End velocity without coupled contacts in dofs[V_NEXT] (T1); returns -1, or the first dof without inertia."""
    actuate(joints, state, settings, command.acting)
    f_ext = robot.f_ext if anywhere(pushed) else robot.f_ext[:0]
    failed = free_motion(robot, state.q, state.qd, joints.dofs[at.TAU], f_ext, joints.dofs[at.ADDED], True, state.qdd)
    if joints_are_fast(robot, state, settings):
        use_mid_step_products(robot, joints, state, settings, pushed)
    add_rates(joints, state.qd, settings.timestep, state.qdd, joints.dofs[at.V_NEXT])
    if not settings.below:
        for i in range(robot.free.shape[0]):
            k = robot.free[i]
            turning = scale(settings.timestep, turning_rate(robot, state, k))
            part3_to(joints.dofs[at.V_NEXT], k + 3, add(part3(joints.dofs[at.V_NEXT], k + 3), turning))
    return failed


@inline
def turning_rate(robot, state, k):
    """Acceleration of the free body of dof k in axes that stand still, less v': omega x (v + omega x r) (T1)."""
    omega = part3(state.qd, k)
    return cross(omega, add(part3(state.qd, k + 3), cross(omega, base_com(robot, state, k))))


@inline
def base_com(robot, state, k):
    """Centre of mass r of the robot, from the origin and in the axes of a floating base; 0 for other free bodies."""
    return part3(state.ledger, at.BASE_COM) if k == 0 and is_floating(robot) else ZERO3


@inline
def is_first_order(settings):
    """Whether the scheme is kept to compare with others: it stays of first order."""
    return settings.runge_kutta or settings.below or settings.scheme == at.EXPLICIT or settings.scheme == at.LINEAR


@inline
def joints_are_fast(robot, state, settings):
    """Whether joints of a robot on a fixed base turn so far in a step that an explicit one would make energy."""
    if is_floating(robot) or is_first_order(settings):
        return False
    fastest = 0.0
    for k in range(state.qd.shape[0]):
        fastest = max(fastest, abs(state.qd[k]))
    return settings.timestep * fastest > FAST_JOINT


@routine
def use_mid_step_products(robot, joints, state, settings, pushed):
    """The acceleration at (q, v + h a / 2) in place of a, that at (q, v), into qdd (T16).

    A robot moves by the velocity of the end of the step, and its H changes with it: with the velocity products of the
    mean velocity the energy and the momenta of joints that nothing drives stay, to second order.
    """
    dofs, v = joints.dofs, joints.dofs[at.STAGE]
    for k in range(v.shape[0]):
        v[k] = state.qd[k] + 0.5 * settings.timestep * state.qdd[k]
    f_ext = robot.f_ext if anywhere(pushed) else robot.f_ext[:0]
    free_motion(robot, state.q, v, dofs[at.TAU], f_ext, dofs[at.ADDED], False, state.qdd)
    if len(robot.levels) == 0:
        update_twists(robot, state.qd, rows.W)


@inline
def is_floating(robot):
    """Whether the robot has a floating base."""
    topology = robot.topology
    return topology.shape[0] > 1 and topology[1, rows.KIND] == rows.FREE and topology[1, rows.PARENT] == 0


@routine
def may_be_explicit(joints, settings, command):
    """Whether a step without contact may be explicit: no gains, no damping."""
    if is_first_order(settings):
        return False
    stiff = 0.0
    for j in range(joints.data.shape[1]):
        stiff += command[2, j] + command[3, j]
    for k in range(joints.dofs.shape[1]):
        stiff += joints.dofs[at.DAMPING, k]
    return stiff == 0.0


@routine
def heun(robot, joints, state, settings):
    """Mean of the accelerations at both ends into dofs[V_NEXT]; by dofs[CHANGE] the way goes by the mean velocity.

    v' = v + h (a(q, v) + a(q (+) h v, v + h a)) / 2 (T11); the forces are those of the first-order step.
    """
    h = settings.timestep
    dofs, q, v = joints.dofs, joints.configurations[at.STAGE_Q], joints.dofs[at.STAGE]
    if joints_are_fast(robot, state, settings):
        free_motion(robot, state.q, state.qd, dofs[at.TAU], robot.f_ext[:0], dofs[at.ADDED], False, state.qdd)
    for k in range(v.shape[0]):
        v[k] = state.qd[k] + h * state.qdd[k]
    integrate(robot.topology, state.q, state.qd, h, q)
    free_motion(robot, q, v, dofs[at.TAU], robot.f_ext[:0], dofs[at.ADDED], False, dofs[at.RATE])
    for k in range(v.shape[0]):
        dofs[at.V_NEXT, k] = state.qd[k] + 0.5 * h * (state.qdd[k] + dofs[at.RATE, k])
    for i in range(robot.free.shape[0]):
        # v' is in the axes of the end of the step: into those of its start
        k = robot.free[i]
        way = scale(-0.5 * h, add(part3(state.qd, k), part3(dofs[at.V_NEXT], k)))
        part3_to(dofs[at.V_NEXT], k + 3, rotate_back(rotation_by(way), part3(dofs[at.V_NEXT], k + 3)))
    for k in range(v.shape[0]):
        dofs[at.CHANGE, k] = 0.5 * (state.qd[k] - dofs[at.V_NEXT, k])


@inline
def advance_state(robot, joints, state, settings, carried, alone):
    """qd, qdd and q at the end of the step (T2, T15); a base that nothing carries moves by the mean of its twists."""
    h = settings.timestep
    per_step = 1.0 / h
    ahead, shift = joints.dofs[at.V_NEXT], joints.dofs[at.CHANGE]
    for k in abreast(state.qd.shape[0]):
        state.qdd[k] = per_step * (ahead[k] - state.qd[k])
        shift[k] += ahead[k]
    if is_floating(robot) and not carried:
        for k in range(6):
            shift[k] = 0.5 * (state.qd[k] + ahead[k])
    if not settings.below:
        for i in range(robot.free.shape[0]):
            k = robot.free[i]
            part3_to(state.qdd, k + 3, sub(part3(state.qdd, k + 3), turning_rate(robot, state, k)))
    if not settings.runge_kutta:
        move_state(robot, joints, state, settings)
    elif alone:
        runge_kutta(robot, joints, state, h)
    else:
        move_state(robot, joints, state, settings)


@routine
def move_state(robot, joints, state, settings):
    """qd from dofs[V_NEXT], and q by the velocity in dofs[CHANGE] (T2, T15).

    A floating base is moved at the centre of mass of the robot, which the velocity in dofs[CHANGE] is then that of.
    The step of the reference simulator (`below`) is taken in the base's own axes, as if they did not turn.
    """
    h = settings.timestep
    ahead, shift = joints.dofs[at.V_NEXT], joints.dofs[at.CHANGE]
    state.qd[:] = ahead
    if settings.below:
        integrate(robot.topology, state.q, shift, h, state.q)
    elif is_floating(robot):
        r = part3(state.ledger, at.BASE_COM)
        move_twist(shift, r)
        move_twist(state.qd, r)
        part3_to(state.q, 0, part3(state.ledger, at.COM))
        step_joints(robot, joints, state, shift, h)
        part3_to(state.q, 0, sub(part3(state.q, 0), mul(base_matrix(state.q), r)))
        move_twist(state.qd, scale(-1.0, r))
    else:
        step_joints(robot, joints, state, shift, h)


@inline
def step_joints(robot, joints, state, shift, h):
    """`take_step` of all joints, those of a star abreast: they are revolute, and behind the base."""
    count = joints.data.shape[1] if len(robot.levels) > 0 else 0
    iq, iv = state.q.shape[0] - count, shift.shape[0] - count
    take_step(robot.topology[: robot.topology.shape[0] - count], state.q, shift, h, state.qd)
    for i in abreast(count):
        state.q[iq + i] += h * shift[iv + i]


@inline
def move_twist(v, r):
    """Give the twist of a floating base at r from where it was given, its own axes."""
    part3_to(v, 3, add(part3(v, 3), cross(part3(v, 0), r)))


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
        elif one_dof(topology[i, rows.KIND]):
            out[iq] = v[iv]


@routine
def runge_kutta(robot, joints, state, h):
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
        free_motion(robot, q, v, dofs[at.TAU], robot.f_ext[:0], dofs[at.ADDED], False, dofs[at.RATE + stage])
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
