# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How bodies and their centre of mass move: what the outward recursion of RNEA knows, in axes that users know."""

import numpy as np

from ..compiler import inline, kernel
from .bodies import total_mass, twists, world_poses
from .joints import nv_of
from .rows import AL, BODY, KIND, MASS, MOMENT, RW, TURN, WORKSPACE, A, V, W, first_v, parent, part3_to, row3, row9
from .scalar import ZERO3, acceleration_matrix, add, cross, mul, scale
from .tree.placement import place
from .tree.rnea import rnea_outward
from .world import axis


@inline
def to_bodies(topology, parameters, w, angular, linear, out):
    """Write two columns of each body's row into `out` (nb, 6), link axes; 0 for the world."""
    out[:, :] = 0.0
    for i in range(1, topology.shape[0]):
        b = topology[i, BODY]
        if b >= 0:
            turn = row9(parameters, i, TURN)
            part3_to(out[b], 0, mul(turn, row3(w, i, angular)))
            part3_to(out[b], 3, mul(turn, row3(w, i, linear)))


@kernel
def body_velocities(topology, parameters, q, qd, out):
    """Twist (R1) of every body, link axes."""
    w = np.empty((topology.shape[0], WORKSPACE))
    place(topology, parameters, q, w)
    twists(topology, parameters, qd, W, w)
    to_bodies(topology, parameters, w, W, V, out)


@kernel
def body_accelerations(topology, parameters, q, qd, qdd, out):
    """Angular acceleration and acceleration of the origin (R2) of every body, link axes."""
    w = np.empty((topology.shape[0], WORKSPACE))
    rnea_outward(topology, parameters, q, qd, qdd, ZERO3, w)
    to_bodies(topology, parameters, w, AL, A, out)


@kernel
def center_of_mass_motion(topology, parameters, q, qd, qdd, velocity, acceleration):
    """Velocity and acceleration of the centre of mass: sums of R (m v + w x h) and of R (m a + A(w, al) h) by mass."""
    w = np.empty((topology.shape[0], WORKSPACE))
    rnea_outward(topology, parameters, q, qd, qdd, ZERO3, w)
    world_poses(topology, w)
    twists(topology, parameters, qd, W, w)
    m = total_mass(topology, parameters)
    p, f = ZERO3, ZERO3
    for i in range(1, topology.shape[0]):
        mi, h, R = parameters[i, MASS], row3(parameters, i, MOMENT), row9(w, i, RW)
        wi = row3(w, i, W)
        p = add(p, mul(R, add(scale(mi, row3(w, i, V)), cross(wi, h))))
        f = add(f, mul(R, add(scale(mi, row3(w, i, A)), mul(acceleration_matrix(wi, row3(w, i, AL)), h))))
    part3_to(velocity, 0, scale(1.0 / m, p) if m > 0.0 else p)
    part3_to(acceleration, 0, scale(1.0 / m, f) if m > 0.0 else f)


@kernel
def body_jacobian(topology, parameters, q, row, J):
    """J (6, nv) with twist J qd of a row about the world's origin, world axes; its columns are joint axes (K1)."""
    w = np.empty((topology.shape[0], WORKSPACE))
    place(topology, parameters, q, w)
    world_poses(topology, w)
    J[:, :] = 0.0
    i = row
    while i > 0:
        for k in range(nv_of(topology[i, KIND])):
            angular, linear = axis(topology, parameters, w, i, k)
            for c in range(3):
                J[c, first_v(topology, i) + k] += angular[c]
                J[3 + c, first_v(topology, i) + k] += linear[c]
        i = parent(topology, i)
