# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the bodies of a tree are, row by row, and what every algorithm on it asks for."""

from ...compiler import LINE, inline, lane, routine, stack, to_lane
from ..joints import nq_of, nv_of, one_dof, placement_of
from ..rows import DI, KIND, OFFSET, RATIO, TURN, UA, UL, E, M, P, U, finite, first_q, first_v, part3, row9, set3, set9
from ..scalar import sincos, tmul

TURNS = 8 * LINE
"""Joints whose sines are computed together; the vectors of a longer robot are cut."""
COSINE, SINE = UL, UA
"""Columns that hold a joint's turn until U = I^A S is known."""


@inline
def coordinates(topology, parameters, q, first, count, w, x):
    """Coordinates of the joints of `count` rows from `first` into column U and `x`; 0 where there is no single one.

    The store into `w`, which might overlap `q`, keeps this loop from becoming slow gathers.
    """
    for k in range(count):
        i = first + k
        single = one_dof(topology[i, KIND])
        w[i, U] = parameters[i, RATIO] * q[first_q(topology, i)] + parameters[i, OFFSET] if single else 0.0
        to_lane(x, k, w[i, U])


@inline
def placement(topology, parameters, i, q, w):
    """E, p of row i in its parent at q, kept in `w`; needs `turn`."""
    placed, p = placement_of(topology, parameters, i, q, w[i, U], w[i, COSINE], w[i, SINE])
    set9(w, i, E, placed)
    set3(w, i, P, p)
    return placed, p


@inline
def external(parameters, f_ext, i, body):
    """Wrench of the environment on row i in the row's axes: force, moment; `f_ext` is [n, f] per body, link axes."""
    turn = row9(parameters, i, TURN)
    return tmul(turn, part3(f_ext, 6 * body + 3)), tmul(turn, part3(f_ext, 6 * body))


@routine
def turn(topology, parameters, q, w):
    """Coordinates of all one-dof joints, their cosines and sines, into columns U, COSINE, SINE."""
    x, c, s = stack(TURNS), stack(TURNS), stack(TURNS)
    rows = topology.shape[0]
    for first in range(1, rows, TURNS):
        count = min(TURNS, rows - first)
        lanes = (count + LINE - 1) // LINE * LINE
        coordinates(topology, parameters, q, first, count, w, x)
        for k in range(count, lanes):
            to_lane(x, k, 0.0)
        for k in range(lanes):
            cosine, sine = sincos(lane(x, k))
            to_lane(c, k, cosine)
            to_lane(s, k, sine)
        for k in range(count):
            w[first + k, COSINE] = lane(c, k)
            w[first + k, SINE] = lane(s, k)


@routine
def place(topology, parameters, q, w):
    """Placement of every row in its parent."""
    turn(topology, parameters, q, w)
    for i in range(1, topology.shape[0]):
        placement(topology, parameters, i, q, w)


@inline
def clear_world(w):
    """Set the sums that children add to the world's row to zero."""
    for k in range(M, DI):
        w[0, k] = 0.0


@inline
def dimensions(topology):
    """nq and nv of the robot."""
    nq = nv = 0
    for i in range(1, topology.shape[0]):
        kind = topology[i, KIND]
        nq = max(nq, first_q(topology, i) + nq_of(kind))
        nv = max(nv, first_v(topology, i) + nv_of(kind))
    return nq, nv


@inline
def fits(topology, q, qd, u, f_ext):
    """Whether the vectors have the lengths nq, nv, nv, and all are finite."""
    nq, nv = dimensions(topology)
    if q.shape[0] != nq or qd.shape[0] != nv or u.shape[0] != nv:
        return False
    return finite(q) and finite(qd) and finite(u) and finite(f_ext)
