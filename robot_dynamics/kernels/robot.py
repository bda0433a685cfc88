# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A robot in memory, and the algorithms of the driver that takes it: `star` for equal limbs on a base, else `tree`."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import routine, stack
from .joints import nv_of
from .lanes import aligned
from .rows import FREE, IV, KIND, PARENT, WORKSPACE, W, part3_to
from .star import joint_space as star_space
from .star import motion as star_motion
from .star.layout import GROUP_MEMORY, Levels
from .tree import joint_space

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Robot(NamedTuple):
    """Packed robot and workspace of its driver.

    levels: those of `star`, or () if `tree` takes the robot. topology, parameters: of `tree`; limbed: of `star`.
    memory, w: workspaces of `star` and of `tree`. factor: that of H (see `tree.joint_space`). seen (rows,): rows whose
    poses and twists `star` leaves in w, then -1. f_ext (6 nb,): wrenches on bodies. free (m,): first dofs of free
    joints. carrier, depth (nv,): dof that carries each dof, -1: none, and how many do. last (rows,): last dof that
    moves a row, -1: none. coupled: mimic joints couple any two dofs.
    """

    levels: Levels
    topology: Integers
    parameters: Floats
    limbed: Floats
    memory: Floats
    seen: Integers
    w: Floats
    factor: Floats
    f_ext: Floats
    free: Integers
    carrier: Integers
    depth: Integers
    last: Integers
    coupled: bool


def robot_in_memory(
    driver: tuple[Levels, Floats],
    topology: Integers,
    parameters: Floats,
    nv: int,
    nb: int,
    mimic: bool,
) -> Robot:
    """Robot with fresh workspace; driver: `Model.lanes`."""
    levels, limbed = driver
    carrier, depth, last = carriers(topology, nv, mimic)
    return Robot(
        levels,
        topology,
        parameters,
        limbed,
        memory=aligned((len(levels[0]) * GROUP_MEMORY if levels else 0,)),
        seen=np.full(len(topology), -1),
        w=aligned((len(topology), WORKSPACE)),
        factor=aligned((nv, int(depth.max(initial=0)) + 1)),
        f_ext=np.zeros(6 * nb),
        free=topology[topology[:, KIND] == FREE, IV].copy(),
        carrier=carrier,
        depth=depth,
        last=last,
        coupled=mimic,
    )


def carriers(topology: Integers, nv: int, coupled: bool) -> tuple[Integers, Integers, Integers]:
    """Figures `carrier`, `depth`, `last` of a Robot; a coupled one has H's whole lower triangle for its factor."""
    if coupled:
        return np.arange(nv) - 1, np.arange(nv), np.full(len(topology), nv - 1)
    carrier, depth, last = np.full(nv, -1), np.zeros(nv, int), np.full(len(topology), -1)
    for i in range(1, len(topology)):
        before, first = last[topology[i, PARENT]], topology[i, IV]
        count = nv_of(topology[i, KIND])
        for k in range(first, first + count):
            carrier[k], depth[k] = before, depth[before] + 1 if before >= 0 else 0
            before = k
        last[i] = before
    return carrier, depth, last


def see(seen: Integers, wanted: Iterable[int]) -> None:
    """Add rows to those that are `seen`."""
    known = sorted({*seen.tolist(), *wanted} - {-1})
    seen[: len(known)] = known


@routine
def free_motion(robot, q, qd, tau, f_ext, added, there, qdd):
    """Joint accelerations qdd without contacts; leaves in the workspace what the paths of contacts need.

    added (nv,) joins the diagonal of H. there: `energy_and_momentum` has been at q and qd. Returns -1, or
    the first dof without inertia.
    """
    if not there:
        energy_and_momentum(robot, q, qd, stack(10))
    if len(robot.levels) > 0:
        star_space.free_motion(robot.levels, robot.limbed, qd, tau, f_ext, added, robot.memory, qdd)
        return -1
    return joint_space.free_motion(robot, qd, tau, f_ext, added, qdd)


@routine
def factorize_inertia(robot, q, wanted, still, answer):
    """What the paths of contacts on the rows `wanted` need at q; still (nv,): zeros; answer (nv,): workspace."""
    if len(robot.levels) == 0:
        free_motion(robot, q, still, still, still[:0], still, False, answer)
        return
    energy_and_momentum(robot, q, still, stack(10))
    star_space.factorize(robot.levels, robot.limbed, still, still, still[:0], still, robot.memory, answer)
    star_motion.write_world(robot.w)
    star_motion.write_rows(robot.levels, robot.limbed, robot.memory, wanted, robot.w)


@routine
def energy_and_momentum(robot, q, qd, out):
    """First moment, momenta and energy (K3) into `out` (10,), leaving poses, twists and inertias in the workspace."""
    if len(robot.levels) > 0:
        star_motion.update_motion(robot.levels, robot.limbed, robot.memory, q, qd, out)
        return
    moment, linear, angular, energy = joint_space.update_motion(robot.topology, robot.parameters, q, qd, robot.w)
    part3_to(out, 0, moment)
    part3_to(out, 3, linear)
    part3_to(out, 6, angular)
    out[9] = energy


@routine
def update_poses(robot, q, qd):
    """Poses and twists that a step finds in the workspace."""
    energy_and_momentum(robot, q, qd, stack(10))
    show_world(robot)
    show_rows(robot)


@routine
def second_moment_of(robot):
    """Rotational inertia about the world's origin of a robot with a floating base, after `energy_and_momentum`."""
    if len(robot.levels) > 0:
        return star_motion.second_moment(robot.levels, robot.limbed, robot.memory)
    return joint_space.second_moment(robot.topology, robot.parameters, robot.w)


@routine
def displace_base(robot, d):
    """Move a floating base and all it carries by d, world axes, after `energy_and_momentum`."""
    if len(robot.levels) > 0:
        star_motion.displace_all(robot.levels, robot.limbed, robot.memory, d)
    else:
        joint_space.displace(robot.topology, robot.w, d)


@routine
def update_base_twist(robot, qd):
    """Twists after a change of a floating base's velocity in qd, at the q of `energy_and_momentum`."""
    if len(robot.levels) > 0:
        star_motion.update_base_twist(robot.levels, robot.limbed, robot.memory, qd)
    else:
        joint_space.update_twists(robot.topology, robot.parameters, qd, W, robot.w)


@routine
def show_world(robot):
    """Have `star` leave in w pose and twist of the world, which steps leave as they are."""
    if len(robot.levels) > 0:
        star_motion.write_world(robot.w)


@routine
def show_rows(robot):
    """Have `star` leave in w poses and twists of the rows that are `seen`."""
    if len(robot.levels) > 0:
        star_motion.write_rows(robot.levels, robot.limbed, robot.memory, robot.seen, robot.w)


@routine
def update_twists(robot, qd, o):
    """Twists at the q of `free_motion`, world axes, into columns o of w; `star` gives those of rows that are `seen`."""
    if len(robot.levels) > 0:
        star_motion.twists(robot.levels, robot.limbed, robot.memory, robot.seen, qd, o, robot.w)
    else:
        joint_space.update_twists(robot.topology, robot.parameters, qd, o, robot.w)
