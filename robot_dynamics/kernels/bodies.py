# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows from the motion of the bodies: poses, points, Jacobians, energies, momentum. Workspace as in `tree`."""

import numpy as np

from ..compiler import inline, kernel, routine
from .joints import add_along, one_dof, point_column
from .rows import (
    AL,
    BODY,
    FREE,
    GRAVITY,
    KIND,
    MASS,
    MOMENT,
    RATIO,
    RW,
    TURN,
    WORKSPACE,
    XW,
    A,
    E,
    P,
    W,
    first_v,
    parent,
    part3,
    part3_to,
    row3,
    row9,
    set3,
    set9,
)
from .scalar import (
    IDENTITY,
    ZERO3,
    acceleration_matrix,
    add,
    cross,
    dot,
    matmul,
    mul,
    scale,
    sub,
    tmul,
    transpose,
)
from .tree.joint_space import update_motion
from .tree.placement import place
from .tree.rnea import rnea_outward


@routine
def world_poses(topology, w):
    """Attitude and position of every row in the world; needs `place`."""
    set9(w, 0, RW, IDENTITY)
    set3(w, 0, XW, ZERO3)
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        R = row9(w, j, RW)
        set9(w, i, RW, matmul(R, row9(w, i, E)))
        set3(w, i, XW, add(row3(w, j, XW), mul(R, row3(w, i, P))))


@routine
def twists(topology, parameters, qd, o, w):
    """Angular velocity and velocity of the origin of every row, its own axes (R1), from column o; needs `place`."""
    set3(w, 0, o, ZERO3)
    set3(w, 0, o + 3, ZERO3)
    for i in range(1, topology.shape[0]):
        j = parent(topology, i)
        kind = topology[i, KIND]
        iv = first_v(topology, i)
        placed = row9(w, i, E)
        wj = row3(w, j, o)
        wi = tmul(placed, wj)
        v = tmul(placed, add(row3(w, j, o + 3), cross(wj, row3(w, i, P))))
        if kind == FREE:
            wi = add(wi, part3(qd, iv))
            v = add(v, part3(qd, iv + 3))
        elif one_dof(kind):
            v, wi = add_along(kind, v, wi, parameters[i, RATIO] * qd[iv])
        set3(w, i, o, wi)
        set3(w, i, o + 3, v)


@inline
def point_position(w, i, r):
    """World position of the point r fixed in row i."""
    return add(row3(w, i, XW), mul(row9(w, i, RW), r))


@inline
def point_velocity(w, i, r, o):
    """World velocity of the point r fixed in row i, by the twist at column o."""
    return mul(row9(w, i, RW), add(row3(w, i, o + 3), cross(row3(w, i, o), r)))


@inline
def velocity_at(w, i, arm, o):
    """World velocity of the point at `arm`, world axes, from row i's origin, by the twist in world axes at column o."""
    return add(row3(w, i, o + 3), cross(row3(w, i, o), arm))


@routine
def point_jacobian(topology, parameters, w, i, r, J):
    """J (3, nv): world velocity of the point r of row i is J qd (K1); needs `world_poses`."""
    J[:, :] = 0.0
    x = point_position(w, i, r)
    while i > 0:
        kind = topology[i, KIND]
        iv = first_v(topology, i)
        R = row9(w, i, RW)
        if kind == FREE:
            arm = tmul(R, sub(x, row3(w, i, XW)))
            # velocity R (omega x arm + v)
            for k in range(3):
                J[k, iv] = R[3 * k + 2] * arm[1] - R[3 * k + 1] * arm[2]
                J[k, iv + 1] = R[3 * k] * arm[2] - R[3 * k + 2] * arm[0]
                J[k, iv + 2] = R[3 * k + 1] * arm[0] - R[3 * k] * arm[1]
                J[k, iv + 3] = R[3 * k]
                J[k, iv + 4] = R[3 * k + 1]
                J[k, iv + 5] = R[3 * k + 2]
        elif one_dof(kind):
            column = point_column(kind, (R[2], R[5], R[8]), sub(x, row3(w, i, XW)))
            for k in range(3):
                J[k, iv] += parameters[i, RATIO] * column[k]
        i = parent(topology, i)


@kernel
def body_poses(topology, parameters, q, R_out, p_out):
    """Pose of every body's link frame in the world."""
    w = np.empty((topology.shape[0], WORKSPACE))
    place(topology, parameters, q, w)
    world_poses(topology, w)
    for i in range(topology.shape[0]):
        b = topology[i, BODY]
        if b >= 0:
            turn = row9(parameters, i, TURN) if i > 0 else IDENTITY
            R = matmul(row9(w, i, RW), transpose(turn))
            for k in range(9):
                R_out[b, k // 3, k % 3] = R[k]
            part3_to(p_out[b], 0, row3(w, i, XW))


@kernel
def point_motion(topology, parameters, points, q, qd, position, velocity, bias):
    """World position, velocity and Jdot qd (K2) of points: rows (k,) that they are fixed in, r (k, 3) in row axes."""
    point_rows, point_r = points
    w = np.empty((topology.shape[0], WORKSPACE))
    rnea_outward(topology, parameters, q, qd, np.zeros(qd.shape[0]), ZERO3, w)
    world_poses(topology, w)
    twists(topology, parameters, qd, W, w)
    for k in range(point_rows.shape[0]):
        i = point_rows[k]
        r = part3(point_r[k], 0)
        part3_to(position[k], 0, point_position(w, i, r))
        part3_to(velocity[k], 0, point_velocity(w, i, r, W))
        acceleration = add(row3(w, i, A), mul(acceleration_matrix(row3(w, i, W), row3(w, i, AL)), r))
        part3_to(bias[k], 0, mul(row9(w, i, RW), acceleration))


@kernel
def point_jacobians(topology, parameters, point_rows, point_r, q, J):
    """J (k, 3, nv) of points fixed in rows; r in row axes."""
    w = np.empty((topology.shape[0], WORKSPACE))
    place(topology, parameters, q, w)
    world_poses(topology, w)
    for k in range(point_rows.shape[0]):
        point_jacobian(topology, parameters, w, point_rows[k], part3(point_r[k], 0), J[k])


@routine
def total_mass(topology, parameters):
    """Mass of all moving bodies."""
    m = 0.0
    for i in range(1, topology.shape[0]):
        m += parameters[i, MASS]
    return m


@kernel
def center_of_mass(topology, parameters, q, com):
    """Centre of mass of the moving bodies, world axes; returns their mass."""
    w = np.empty((topology.shape[0], WORKSPACE))
    place(topology, parameters, q, w)
    world_poses(topology, w)
    m = total_mass(topology, parameters)
    moment = ZERO3
    for i in range(1, topology.shape[0]):
        h = mul(row9(w, i, RW), row3(parameters, i, MOMENT))
        moment = add(moment, add(h, scale(parameters[i, MASS], row3(w, i, XW))))
    part3_to(com, 0, scale(1.0 / m, moment) if m > 0.0 else moment)
    return m


@kernel
def energies(topology, parameters, q, qd):
    """Kinetic and potential energy; the latter is -g . (sum m c), zero at the world origin."""
    w = np.empty((topology.shape[0], WORKSPACE))
    moment, _, _, energy = update_motion(topology, parameters, q, qd, w)
    return energy, -dot(row3(parameters, 0, GRAVITY), moment)


@kernel
def centroidal_momentum(topology, parameters, q, qd, out):
    """[angular; linear] momentum about the centre of mass, world axes."""
    w = np.empty((topology.shape[0], WORKSPACE))
    moment, linear, angular, _ = update_motion(topology, parameters, q, qd, w)
    m = total_mass(topology, parameters)
    if m > 0.0:
        angular = sub(angular, cross(scale(1.0 / m, moment), linear))
    part3_to(out, 0, angular)
    part3_to(out, 3, linear)
