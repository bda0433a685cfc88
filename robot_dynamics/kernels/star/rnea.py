# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a star: RNEA, a limb by recursion on `levels`, so that all of it stays in registers."""

from ...compiler import abreast, brief, inline, lane, routine, stack, to_lane
from ..link import body_force, force_to_parent, revolute_motion
from ..rows import ARMATURE, part3, part3_to
from ..scalar import ZERO3, acceleration_matrix, add, mul, tmul
from .layout import (
    GROUP,
    WRENCH_SIZE,
    base_body,
    base_motion,
    collect,
    dimensions,
    fits,
    group,
    parameter,
    placement,
    rigid_body,
)
from .wrenches import base_less_wrench, less_wrench, spread_wrenches


@inline
def rnea_limb(levels, robot, limb, place, state, wrench, motion, tau):
    """Force of the limb ahead on its contact_rows, which moves with w, al, A = [al] + [w]^2 and a (R1-R5).

    place: of its first joint in q and in qd. state: q, qd, qdd. motion: w, al, A, a.
    """
    if len(levels) == 0:
        return ZERO3, ZERO3
    iq, iv = place
    q, qd, qdd = state
    w, al, A, a = motion
    t = len(levels) - 1
    E_, p = placement(robot, t, limb, lane(q, iq))
    acceleration = lane(qdd, iv)
    wi, ai, ca = revolute_motion(E_, w, add(a, mul(A, p)), lane(qd, iv))
    ali = add(add(tmul(E_, al), ca), (0.0, 0.0, acceleration))
    m, h, inertia = rigid_body(robot, t, limb)
    Ai = acceleration_matrix(wi, ali)
    f, n = body_force(m, h, inertia, wi, ali, Ai, ai)
    f, n = less_wrench(f, n, wrench, t, limb)
    ft, nt = rnea_limb(levels[1:], robot, limb, (iq + 1, iv + 1), state, wrench, (wi, ali, Ai, ai), tau)
    f = add(f, ft)
    n = add(n, nt)
    to_lane(tau, t * GROUP + limb, n[2] + lane(robot, parameter(t, ARMATURE, limb)) * acceleration)
    return force_to_parent(E_, p, f, n)


@routine
def rnea(levels, robot, q, qd, qdd, f_ext, tau):
    """RNEA: tau of q, qd, qdd."""
    _, iq, iv = dimensions(levels)
    spread, x = stack(WRENCH_SIZE, levels), stack(GROUP, levels)
    w, a = base_motion(levels, robot, q, qd)
    al = ZERO3
    if iv > 0:
        al = part3(qdd, 0)
        a = add(a, part3(qdd, 3))
    A = acceleration_matrix(w, al)
    m, h, inertia = base_body(robot)
    f, n = body_force(m, h, inertia, w, al, A, a)
    for g, _ in enumerate(levels[0]):
        own, count, first = group(levels, robot, g)
        wrench = spread, spread_wrenches(levels, own, count, 6 + iv + 6 * first, f_ext, spread)
        for limb in abreast(count):
            k = first + limb * len(levels)
            fl, nl = rnea_limb(levels, own, limb, (iq + k, iv + k), (q, qd, qdd), wrench, (w, al, A, a), x)
            f = add(f, fl)
            n = add(n, nl)
        collect(levels, count, x, iv + first, tau)
    if iv > 0:
        f, n = base_less_wrench(robot, f, n, f_ext)
        part3_to(tau, 0, n)
        part3_to(tau, 3, f)


@brief
def inverse_dynamics(levels, robot, q, qd, qdd, f_ext, tau):
    """RNEA for unvalidated input."""
    if not fits(levels, q, qd, qdd, f_ext):
        return False
    rnea(levels, robot, q, qd, qdd, f_ext, tau)
    return True
