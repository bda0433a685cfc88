# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The packed robot and the workspace: which column holds what, and how a tuple is read from and written to a row.

A robot is `topology` (rows, 6) int64 and `parameters` (rows, PARAMETERS) float64, one row per body in an order where
parents come first; row 0 is the world. A workspace is (rows, WORKSPACE) float64, owned by the caller.
"""

import math

from ..compiler import inline

# columns of `topology`
PARENT, KIND, IQ, IV, BODY, FOLLOWS = range(6)
"""Parent row; joint kind; first index in q and in qd; body number outside the kernels (-1: massless body);
1 where the joint mimics another one whose IQ and IV it then shares."""

REVOLUTE, PRISMATIC, FREE, FIXED = range(4)

# columns of `parameters`
R0, P0, MASS, MOMENT, INERTIA = 0, 9, 12, 13, 16
"""Placement at q = 0 in the parent row's frame; m; h = m c; I about the origin (xx, xy, xz, yy, yz, zz)."""
RATIO, OFFSET, ARMATURE, ROTOR, TURN = 22, 23, 24, 25, 28
"""Mimic: joint coordinate = ratio q + offset; reflected rotor inertia; rotor momentum per joint rate, gear I_s b, in
the parent row's axes; rotation of this row's axes in the axes of the body's link."""
PARAMETERS = 37
GRAVITY = P0
"""Row 0 has no joint: its P0 columns hold the gravity vector, world axes."""

# columns of a workspace row
E, P, W, V, CL, CA = 0, 9, 12, 15, 18, 21
"""Placement; twist: angular velocity, velocity of the origin; velocity-product accelerations c (linear, angular)."""
M, H, N, F, T = 24, 30, 39, 45, 48
"""Articulated (or composite: m, h, I) inertia; force and moment (bias p^A, then whatever is propagated inwards)."""
DI, U, UL, UA = 51, 52, 53, 56
"""1/D; u; U = I^A S (linear, angular)."""
A, AL = 59, 62
"""Acceleration of the origin; angular acceleration."""
RW, XW = 65, 74
"""Attitude and position in the world."""
G = 77
"""Inverse of a free joint's articulated inertia (6 + 9 + 6)."""
NEXT = 98
"""A second twist, as at W: that of the end of a step."""
WORKSPACE = 104


@inline
def parent(topology, i):
    """Parent of row i."""
    return topology[i, PARENT]


@inline
def first_q(topology, i):
    """First index in q of row i's joint."""
    return topology[i, IQ]


@inline
def first_v(topology, i):
    """First index in qd of row i's joint."""
    return topology[i, IV]


@inline
def row3(A, i, o):
    """Three numbers of row i from column o."""
    return (A[i, o], A[i, o + 1], A[i, o + 2])


@inline
def row6(A, i, o):
    """Six numbers of row i from column o."""
    return (A[i, o], A[i, o + 1], A[i, o + 2], A[i, o + 3], A[i, o + 4], A[i, o + 5])


@inline
def row9(A, i, o):
    """Nine numbers of row i from column o."""
    return (
        A[i, o],
        A[i, o + 1],
        A[i, o + 2],
        A[i, o + 3],
        A[i, o + 4],
        A[i, o + 5],
        A[i, o + 6],
        A[i, o + 7],
        A[i, o + 8],
    )


@inline
def part3(x, o):
    """Three numbers of a vector from index o."""
    return (x[o], x[o + 1], x[o + 2])


@inline
def part4(x, o):
    """Four numbers of a vector from index o."""
    return (x[o], x[o + 1], x[o + 2], x[o + 3])


@inline
def part6(x, o):
    """Six numbers of a vector from index o."""
    return (x[o], x[o + 1], x[o + 2], x[o + 3], x[o + 4], x[o + 5])


@inline
def part9(x, o):
    """Nine numbers of a vector from index o."""
    return (x[o], x[o + 1], x[o + 2], x[o + 3], x[o + 4], x[o + 5], x[o + 6], x[o + 7], x[o + 8])


@inline
def set3(A, i, o, x):
    """Write three numbers into row i from column o."""
    A[i, o] = x[0]
    A[i, o + 1] = x[1]
    A[i, o + 2] = x[2]


@inline
def set_column3(A, i, o, x):
    """Write three numbers into column o from row i."""
    A[i, o] = x[0]
    A[i + 1, o] = x[1]
    A[i + 2, o] = x[2]


@inline
def set6(A, i, o, x):
    """Write six numbers into row i from column o."""
    A[i, o] = x[0]
    A[i, o + 1] = x[1]
    A[i, o + 2] = x[2]
    A[i, o + 3] = x[3]
    A[i, o + 4] = x[4]
    A[i, o + 5] = x[5]


@inline
def set9(A, i, o, x):
    """Write nine numbers into row i from column o."""
    A[i, o] = x[0]
    A[i, o + 1] = x[1]
    A[i, o + 2] = x[2]
    A[i, o + 3] = x[3]
    A[i, o + 4] = x[4]
    A[i, o + 5] = x[5]
    A[i, o + 6] = x[6]
    A[i, o + 7] = x[7]
    A[i, o + 8] = x[8]


@inline
def add3(A, i, o, x):
    """Add three numbers to row i from column o."""
    A[i, o] += x[0]
    A[i, o + 1] += x[1]
    A[i, o + 2] += x[2]


@inline
def add6(A, i, o, x):
    """Add six numbers to row i from column o."""
    A[i, o] += x[0]
    A[i, o + 1] += x[1]
    A[i, o + 2] += x[2]
    A[i, o + 3] += x[3]
    A[i, o + 4] += x[4]
    A[i, o + 5] += x[5]


@inline
def add9(A, i, o, x):
    """Add nine numbers to row i from column o."""
    A[i, o] += x[0]
    A[i, o + 1] += x[1]
    A[i, o + 2] += x[2]
    A[i, o + 3] += x[3]
    A[i, o + 4] += x[4]
    A[i, o + 5] += x[5]
    A[i, o + 6] += x[6]
    A[i, o + 7] += x[7]
    A[i, o + 8] += x[8]


@inline
def part3_to(x, o, value):
    """Write three numbers into a vector from index o."""
    x[o] = value[0]
    x[o + 1] = value[1]
    x[o + 2] = value[2]


@inline
def part4_to(x, o, value):
    """Write four numbers into a vector from index o."""
    x[o] = value[0]
    x[o + 1] = value[1]
    x[o + 2] = value[2]
    x[o + 3] = value[3]


@inline
def part6_to(x, o, value):
    """Write six numbers into a vector from index o."""
    part3_to(x, o, (value[0], value[1], value[2]))
    part3_to(x, o + 3, (value[3], value[4], value[5]))


@inline
def part9_to(x, o, value):
    """Write nine numbers into a vector from index o."""
    part3_to(x, o, (value[0], value[1], value[2]))
    part3_to(x, o + 3, (value[3], value[4], value[5]))
    part3_to(x, o + 6, (value[6], value[7], value[8]))


@inline
def nonzero(x):
    """Whether any number is not 0."""
    count = 0
    for k in range(x.shape[0]):
        count += x[k] != 0.0
    return count > 0


@inline
def finite(x):
    """Whether all numbers are finite."""
    count = 0
    for k in range(x.shape[0]):
        count += not abs(x[k]) < math.inf
    return count == 0
