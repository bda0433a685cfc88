# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Joint commands and what actuators make of them (F4-F7).

The bundles of arrays and their columns (`at.`) are those of `memory`; nothing is allocated.
"""

from ...compiler import abreast, each, inline, routine
from . import memory as at


@inline
def v_of(joints, j):
    """Index in qd of joint j."""
    return joints.number[at.JOINT_V, j]


@inline
def first_dof(joints):
    """Dof of the first actuator."""
    return joints.dofs.shape[1] - joints.data.shape[1]


@inline
def add_rates(joints, v, g, change, out):
    """out = v + g change of all dofs, those of actuators abreast: what is written of them at once is read at once."""
    for k in range(first_dof(joints)):
        out[k] = v[k] + g * change[k]
    for i in abreast(joints.data.shape[1]):
        k = first_dof(joints) + i
        out[k] = v[k] + g * change[k]


@inline
def actuator_of(joints, j):
    """Number of joint j's actuator."""
    return joints.number[at.ACTUATOR, j]


@inline
def effort_range(limit, slope, offset, speed):
    """Least and largest effort at a speed (F5): that of a driving motor falls linearly to 0 at its no-load speed."""
    forward = min(1.0, max(0.0, offset - slope * speed))
    backward = min(1.0, max(0.0, offset + slope * speed))
    return (-limit * backward if backward > 0.0 else 0.0), (limit * forward if forward > 0.0 else 0.0)


@inline
def queue_slot(step, queue):
    """Whose turn it is in a queue that goes round."""
    return step % queue.shape[0] if queue.shape[0] > 1 else 0


@routine
def delay_command(joints, state, given, queue, acting):
    """Put joint commands [q_des, qd_des, kp, kd, effort] (5, n) into the queue, and take out those that act now."""
    for last in each(queue_slot(state.counters[at.STEPS], queue)):
        for i in range(given.shape[0]):
            queue[last, i] = given[i]
    for first in each(queue_slot(state.counters[at.STEPS] + 1, queue)):
        for j in range(given.shape[1]):
            if joints.number[at.JOINT_ROW, j] >= 0:
                for i in range(given.shape[0]):
                    acting[i, actuator_of(joints, j)] = queue[first, i, j]


@routine
def actuate(joints, state, settings, command):
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
        low, high = effort_range(data[at.EFFORT, i], data[at.SPEED_SLOPE, i], data[at.SPEED_OFFSET, i], v)
        end = beyond(wanted, low, high, data[at.SATURATED, i])
        effort = held_within(wanted, low, high, end)
        later = settings.lag * command[3, i] * (1.0 if end == 0.0 else 0.0)
        data[at.SATURATED, i] = end
        data[at.APPLIED, i] = effort
        data[at.PD_DAMPING, i] = later
        data[at.LEAST, i], data[at.MOST, i] = low, high
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
def update_efforts(joints, state, settings, command):
    """Motor efforts with the velocity of the end of the step (F7); returns whether one of them left its range."""
    data = joints.data
    left = 0.0
    for i in abreast(data.shape[1]):
        k = first_dof(joints) + i
        low, high = data[at.LEAST, i], data[at.MOST, i]
        effort = data[at.APPLIED, i] - data[at.PD_DAMPING, i] * (joints.dofs[at.V_NEXT, k] - state.qd[k])
        before = data[at.SATURATED, i]
        end = beyond(effort, low, high, before)  # one that is held has no PD_DAMPING, and stays
        data[at.SATURATED, i] = end
        data[at.APPLIED, i] = min(max(effort, low), high)
        left += abs(end - before)
    return left > 0.0
