# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A robot in memory, and the algorithms of the driver that takes it: `star` for equal limbs on a base, else `tree`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import routine, stack
from .bodies import add_motions, displace, momenta_and_energy, second_moment, twists, world_poses
from .dense import factorize, solve
from .lanes import aligned
from .rows import FREE, GRAVITY, IV, KIND, WORKSPACE, W, part3_to, row3
from .star import aba as star_aba
from .star import contact_space as star_contacts
from .star import motion as star_motion
from .star.layout import MEMORY
from .tree.aba import aba_accelerations, aba_inward, aba_outward
from .tree.crba import crba
from .tree.placement import clear_world, place
from .tree.rnea import rnea_inward, rnea_outward

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Robot(NamedTuple):
    """Packed robot and workspace of its driver.

    levels: those of `star`, or () if `tree` takes the robot. topology, parameters: of `tree`; limbed: of `star`.
    memory, w: workspaces of `star` and of `tree`. factor (nv, nv) or (0, 0): H's Cholesky factor of robots with mimic
    joints. seen (rows,): rows whose poses and twists `star` leaves in w, then -1. f_ext (6 nb,): wrenches on bodies.
    free (m,): first dofs of free joints.
    """

    levels: tuple[tuple[int, ...], ...]
    topology: Integers
    parameters: Floats
    limbed: Floats
    memory: Floats
    seen: Integers
    w: Floats
    factor: Floats
    f_ext: Floats
    free: Integers


def robot_in_memory(
    driver: tuple[tuple[tuple[int, ...], ...], Floats],
    topology: Integers,
    parameters: Floats,
    nv: int,
    nb: int,
    mimic: bool,
) -> Robot:
    """Robot with fresh workspace; driver: `Model.lanes`."""
    levels, limbed = driver
    return Robot(
        levels,
        topology,
        parameters,
        limbed,
        memory=aligned((MEMORY,)),
        seen=np.full(len(topology), -1),
        w=aligned((len(topology), WORKSPACE)),
        factor=np.zeros((nv, nv) if mimic else (0, 0)),
        f_ext=np.zeros(6 * nb),
        free=topology[topology[:, KIND] == FREE, IV].copy(),
    )


@routine
def free_motion(robot, q, qd, tau, f_ext, added, there, qdd):
    """Joint accelerations qdd without contacts; leaves in the workspace what the paths of contacts need.

    added (nv,) joins the diagonal of H. there: `energy_and_momentum` has been at q and qd. Returns -1, or
    the first dof without inertia.
    """
    if len(robot.levels) > 0:
        if not there:
            star_aba.place(robot.levels, robot.limbed, q, qd, robot.memory)
        star_aba.aba(robot.levels, robot.limbed, q, qd, (tau, f_ext, added), robot.memory, qdd)
        return -1
    return free_motion_of_tree(robot, q, qd, tau, f_ext, added, there, qdd)


@routine
def free_motion_of_tree(robot, q, qd, tau, f_ext, added, there, qdd):
    """`free_motion` by `tree`: ABA, or H qdd = tau - C where mimic joints couple distant branches."""
    topology, parameters, w, L = robot.topology, robot.parameters, robot.w, robot.factor
    clear_world(w)
    g = row3(parameters, 0, GRAVITY)
    if L.shape[0] == 0:
        aba_outward(topology, parameters, q, qd, f_ext, w, there)
        aba_inward(topology, parameters, qd, tau, added, w)
        aba_accelerations(topology, g, w, qdd)
        return -1
    for k in range(qd.shape[0]):
        qdd[k] = 0.0
    bias = L[0]
    rnea_outward(topology, parameters, q, qd, qdd, g, w)
    rnea_inward(topology, parameters, qd, qdd, f_ext, w, bias)
    for k in range(qd.shape[0]):
        qdd[k] = tau[k] - bias[k]
    crba(topology, parameters, w, L)
    for k in range(qd.shape[0]):
        L[k, k] += added[k]
    failed = factorize(L)
    if failed < 0:
        solve(L, qdd)
    return failed


@routine
def articulated_inertia(robot, q, still, answer):
    """What the paths of contacts need at q; still (nv,): zeros; answer (nv,): workspace of an acceleration."""
    if len(robot.levels) > 0:
        star_contacts.articulated_inertia(robot.levels, robot.limbed, q, robot.memory)
    else:
        free_motion_of_tree(robot, q, still, still, still[:0], still, False, answer)
        world_poses(robot.topology, robot.w)


@routine
def energy_and_momentum(robot, q, qd, out):
    """`bodies.momenta_and_energy` of a state into `out` (10,), leaving poses and twists in the workspace."""
    if len(robot.levels) > 0:
        star_motion.energy_and_momentum(robot.levels, robot.limbed, robot.memory, q, qd, out)
        return
    place(robot.topology, robot.parameters, q, robot.w)
    world_poses(robot.topology, robot.w)
    twists(robot.topology, robot.parameters, qd, W, robot.w)
    moment, linear, angular, energy = momenta_and_energy(robot.topology, robot.parameters, qd, robot.w)
    part3_to(out, 0, moment)
    part3_to(out, 3, linear)
    part3_to(out, 6, angular)
    out[9] = energy


@routine
def update_poses(robot, q, qd):
    """Poses and twists that a step finds in the workspace."""
    energy_and_momentum(robot, q, qd, stack(10))
    show_rows(robot)


@routine
def second_moment_of(robot):
    """`bodies.second_moment` of a robot with a floating base, after `energy_and_momentum`."""
    if len(robot.levels) > 0:
        return star_motion.second_moment(robot.levels, robot.limbed, robot.memory)
    return second_moment(robot.topology, robot.parameters, robot.w)


@routine
def displace_base(robot, d):
    """Move a floating base and all it carries by d, world axes, after `energy_and_momentum`."""
    if len(robot.levels) > 0:
        star_motion.displace_all(robot.levels, robot.limbed, robot.memory, d)
    else:
        displace(robot.w, d)


@routine
def add_rigid_motion(robot, x, v, spin):
    """Add the rigid motion (v at x, spin), world axes, to the twists of a floating base and all it carries."""
    if len(robot.levels) > 0:
        star_motion.add_motions(robot.levels, robot.limbed, robot.memory, x, v, spin)
    else:
        add_motions(robot.w, x, v, spin)


@routine
def show_rows(robot):
    """Have `star` leave in w poses and twists of the rows that are `seen`."""
    if len(robot.levels) > 0:
        star_motion.write_rows(robot.levels, robot.limbed, robot.memory, robot.seen, robot.w)


@routine
def update_twists(robot, qd, o):
    """`bodies.twists` at the q of `free_motion` into columns o of w; `star` gives those of rows that are `seen`."""
    if len(robot.levels) > 0:
        star_motion.twists(robot.levels, robot.limbed, robot.memory, robot.seen, qd, o, robot.w)
    else:
        twists(robot.topology, robot.parameters, qd, o, robot.w)
