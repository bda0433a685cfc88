# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wrenches of the environment on the bodies of a star. `f_ext` is [n, f] per body (6 nb,), link axes, or empty."""

from ...compiler import abreast, anywhere, inline, lane, to_lane
from ..lanes import quad3, quad9, to_quad3
from ..rows import PARAMETERS, TURN, nonzero, part3, part9
from ..scalar import sub, tmul
from .layout import GROUP, PASSED, PASSED_F, PASSED_T, parameter


@inline
def spread_wrenches(levels, own, limbs, i, f_ext, out):
    """Wrenches of the environment on the bodies of a group, the first with f_ext[i], row axes, for `less_wrench`.

    Returns how far a lane's numbers stand apart in `out`: 0 without wrenches, one zero serves all.
    """
    depth = len(levels)
    if not anywhere(nonzero(f_ext)):
        for limb in abreast(GROUP):
            to_lane(out, limb, 0.0)
        return 0
    for j in range(depth):
        t = depth - 1 - j
        o = t * 6 * GROUP
        for limb in range(limbs):
            f, n = wrench_on(levels, own, limb, j, i, f_ext)
            to_quad3(out, o + limb, f)
            to_quad3(out, o + 3 * GROUP + limb, n)
    return GROUP


@inline
def wrench_on(levels, own, limb, j, i, f_ext):
    """Force and moment of the environment on the body of a limb's joint j, counted from the base, row axes."""
    depth = len(levels)
    turn = quad9(own, parameter(depth - 1 - j, TURN, limb))
    i += 6 * (limb * depth + j)
    n = (lane(f_ext, i), lane(f_ext, i + 1), lane(f_ext, i + 2))
    f = (lane(f_ext, i + 3), lane(f_ext, i + 4), lane(f_ext, i + 5))
    return tmul(turn, f), tmul(turn, n)


@inline
def subtract_wrenches(levels, own, limbs, t, i, f_ext, memory):
    """Subtract the environment's wrenches on the bodies of joint t from what they feel; i: as in `spread_wrenches`."""
    for limb in range(limbs):
        f, n = wrench_on(levels, own, limb, len(levels) - 1 - t, i, f_ext)
        o = PASSED + limb
        to_quad3(memory, o + PASSED_F * GROUP, sub(quad3(memory, o + PASSED_F * GROUP), f))
        to_quad3(memory, o + PASSED_T * GROUP, sub(quad3(memory, o + PASSED_T * GROUP), n))


@inline
def less_wrench(f, n, wrench, t, limb):
    """Force of a body less the environment's; wrench: what `spread_wrenches` wrote and returned."""
    x, s = wrench
    o = t * 6 * s + limb
    fx = (lane(x, o), lane(x, o + s), lane(x, o + 2 * s))
    nx = (lane(x, o + 3 * s), lane(x, o + 4 * s), lane(x, o + 5 * s))
    return sub(f, fx), sub(n, nx)


@inline
def base_less_wrench(robot, f, n, f_ext):
    """Force of a free base less the environment's."""
    if f_ext.shape[0] == 0:
        return f, n
    turn = part9(robot, PARAMETERS + TURN)
    return sub(f, tmul(turn, part3(f_ext, 9))), sub(n, tmul(turn, part3(f_ext, 6)))
