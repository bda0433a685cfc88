# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a plant owns: bundles of arrays and which column holds what. A step allocates nothing.

Bundles are named tuples: routines are handed their place, and read what they need.
Joints: one entry per name in `Model.joint_names`; those of planar and floating joints take no command. Actuators: one
for each of the last m dofs, from that of the first joint on; those of such joints do nothing.
"""

from typing import NamedTuple

import numpy as np

from ...compiler import LINE, QUAD
from ..contact.solver import CONTACT_ROWS, IMPLICIT, IMPULSE, System, scratch
from ..contact_space import path_columns
from ..lanes import aligned, whole
from ..robot import Floats, Integers, Robot

EXPLICIT, LINEAR = 2, 3
"""Schemes without a coupled solve, beside IMPLICIT and IMPULSE of `kernels.contact.solver`."""
MOST_CONTACTS = 512
"""So many contacts are solved at once; a step that meets more takes the deepest, and counts as unconverged."""
PUSHES = 16

# rows of Joints.number (., n) and of Joints.data (., m)
JOINT_Q, JOINT_V, JOINT_ROW, ACTUATOR = range(4)
"""Index in q and in qd, kernel row, actuator; the row is -1 for joints without a single axis."""
COULOMB, LOWER, UPPER, EFFORT, SPEED_SLOPE, SPEED_OFFSET = range(6)
"""Coulomb friction, stops, largest effort; share of it that a driving motor has, OFFSET - SLOPE times its speed."""
MOTOR, HELD, APPLIED, SATURATED, PD_DAMPING, POSITION, LEAST, MOST = 6, 7, 9, 10, 11, 12, 13, 14
"""Effort of the actuator after the last step; that of friction and of the stop; effort of this step; 1 or -1 where it
is held at the upper or lower end of its range; by how much it falls per velocity that the step adds; position at the
start of the step; least and largest effort at the velocity there."""
JOINT_FIGURES = 15

# rows of Joints.dofs (., nv) and of Joints.configurations (., nq)
DAMPING, TAU, ADDED, V_NEXT, CHANGE, LAST_QD, STAGE, RATE = range(8)
"""Joint damping; forces; what is added to H's diagonal; velocity at the end of the step; change by contacts, then the
velocity of a position-only shift; velocity at its start; Runge-Kutta: state and four rates."""
DOF_ROWS = 11
LAST_Q, STAGE_Q, RATE_Q = range(3)
CONFIGURATION_ROWS = 6

# columns of Ground.points
PLACE, RADIUS, PEN, DEPTH = 0, 3, 4, 5
"""Position in row axes and radius of the point; signed distance; depth below the surface."""
DEFLECTION, FORCE, FORCE_WORLD, LAST_DEFLECTION = 6, 8, 11, 14
"""Deflection and force in surface axes; force in world axes."""
SIZE, OWN_LAW, LAW = 16, 17, 20
"""Bound of the distance from the row's origin to the touching point; stiffness, damping and friction of the point, and
with what the surface overrides, of points that touch or come near."""
FRAME, ARM, START, END, SURFACE = 23, 32, 35, 38, 41
"""Of points that come near in the step: surface axes; touching point from the row's origin, world axes; velocity at the
start of the step and at its end, first without contacts, in surface axes. Number of the surface that the point touches,
else -1. Contact paths read axes and arm as one: ARM follows FRAME."""
POINT_COLUMNS = 48
"""Whole cache lines, of which a point that is near no ground needs two."""

# columns of Ground.clusters and Ground.gaps
CLUSTER_ROW, FIRST_POINT, END_POINT = range(3)
LOOSE = -1
"""Kernel row, first point and the one behind the last, of points that follow each other on one body; LOOSE instead of
the row: of any bodies."""
SPAN, CLEAR, QUIET = range(3)
"""Bound of the distance from the row's origin to all of them, FAR over terrain to which the distance may jump; least
distance to it, 0 where not known; 1 where none of them touches, comes near, carries, carried in the last step or is
deflected."""

# rows of Problem.picked
ACTIVE, LANDED, ROW_INDEX, COMMON, PRESENT = range(5)
"""Points of the contacts; whether they land softly; 2 joint + (0 friction, 1 stop) of scalar rows; the first points
that plants in lanes have together, and whether each has them."""

# columns of State.ledger
KINETIC, POTENTIAL, ELASTIC, WORK, DISSIPATED_JOINT, DISSIPATED_CONTACT, THROUGHPUT, INITIAL = range(8)
ACCOUNTED, MOMENTUM, COM, MASS, RESIDUAL, GIVEN, BASE_COM = 8, 14, 20, 23, 24, 25, 26
"""Momentum (linear, angular about the centre of mass) that the impulses since the reset account for, and the actual
one; centre of mass and mass; residual of the solver; energy that contacts gave in steps in which they should take;
centre of mass from the origin of a floating base, its axes."""
LEDGER = 29
STEPS, ITERATIONS, UNCONVERGED, SINGULAR_DOF = range(4)
COUNTERS = 4
"""SINGULAR_DOF: the dof without inertia that ended a run."""

# columns of Command.pushes
PUSHED_ROW, PUSH_START, PUSH_END, RAMP, PUSH_MOMENT, PUSH_FORCE, PUSH_POINT = 0, 1, 2, 3, 4, 7, 10
"""Row; times [s]; moment and force in world axes; their point in row axes."""
PUSH_COLUMNS = 13


class Joints(NamedTuple):
    """Joints: number (4, n); of actuators: place (m,), index in q, and data (JOINT_FIGURES, m).

    dofs (DOF_ROWS, nv), configurations (CONFIGURATION_ROWS, nq).
    """

    number: Integers
    place: Integers
    data: Floats
    dofs: Floats
    configurations: Floats


class Ground(NamedTuple):
    """Contact points: kernel row (k,), points (k, POINT_COLUMNS); terrain as `kernels.terrain` reads it.

    clusters (m, 3), gaps (m, 3): points that follow each other. twins (k / 2,) or (0,): where there are several
    surfaces, the second half of the points stands for the second surface that a point of the first half touches.
    """

    row: Integers
    points: Floats
    clusters: Integers
    gaps: Floats
    surfaces: Floats
    heights: Floats
    twins: Integers


class State(NamedTuple):
    """What is simulated, and its ledger.

    base_rate (6,): derivative of a floating base's twist, base axes, that explains the change of its motion in a step.
    """

    q: Floats
    qd: Floats
    qdd: Floats
    base_rate: Floats
    ledger: Floats
    last_ledger: Floats
    counters: Integers


class Command(NamedTuple):
    """Joint commands [q_des, qd_des, kp, kd, effort] of the steps of a run (T, 5, n), the last one held; pushes.

    `queue` (delay + 1, 5, n): those on their way; `acting` (5, m): what actuators do in the step at hand.
    """

    now: Floats
    queue: Floats
    acting: Floats
    pushes: Floats


class Problem(NamedTuple):
    """The coupled solve: paths z, D^-1 z (nv, their columns), where paths start, what contacts there are, the system.

    Explicit schemes leave the system joint friction and stops. own: of plants in lanes, a system of each alone.
    """

    z: Floats
    y: Floats
    rows: Integers
    picked: Integers
    own: System | tuple[()]
    system: System


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
    runge_kutta: bool
    motion_only: bool
    """Whether contacts and ledger at the end of a run are left out: those of its last step stay as they were."""


class Plant(NamedTuple):
    """All that a step reads and writes."""

    robot: Robot
    joints: Joints
    ground: Ground
    state: State
    settings: Settings
    command: Command
    problem: Problem


def state(nq: int, nv: int) -> State:
    """State of zeros."""
    ledgers = np.zeros(LEDGER), np.zeros(LEDGER), np.zeros(COUNTERS, np.int64)
    return State(np.zeros(nq), np.zeros(nv), np.zeros(nv), np.zeros(6), *ledgers)


def row_length(n: int) -> int:
    """Length of the rows of a matrix with n of them: an odd number of cache lines, so that columns use all sets."""
    return whole(n) if whole(n) // LINE % 2 else whole(n) + LINE


def problem(settings: Settings, nv: int, joints: int, points: int) -> Problem:
    """Room for the contacts of `points` and two rows per joint, in whole cache lines."""
    contacts = min(points, MOST_CONTACTS)
    n = row_length(3 * contacts + 2 * joints + QUAD)
    wide = row_length(path_columns(contacts, 2 * joints))
    system = System(
        model=IMPULSE if settings.scheme == IMPULSE else IMPLICIT,
        h=settings.timestep,
        A=aligned((n, n)),
        b=aligned((n,)),
        f=aligned((n,)),
        points=aligned((CONTACT_ROWS, whole(contacts))),
        bounds=np.zeros((2 * joints, 2)),
        work=scratch(n, nv),
    )
    rows, picked = np.zeros(n, np.int64), np.zeros((5, n), np.int64)
    return Problem(aligned((nv, wide)), aligned((nv, wide)), rows, picked, (), system)
