# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stiffness, damping and stable timestep of the spring-damper contact for a robot, from its sag and its bounce."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.kinematics import Points, contact_inertia_inverse
from ..errors import ParameterError
from ..model.model import Model
from .checks import check_choice, check_range

SMALLEST_BOUNCE, LARGEST_BOUNCE = 0.01, 0.99
LARGEST_SAG = 0.1


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Parameters of `SpringDamper` and what follows from them; SI units.

    load [N]: share of the weight that a foot carries. effective_mass [kg]: what a foot's vertical blow meets,
    1 / Lambda^-1_zz. depth [m], duration [s]: of a landing at `speed` [m/s]. standing_limit, landing_limit [s]: largest
    stable step of the explicit scheme at the depth of standing and of that landing.
    """

    stiffness: float
    damping: float
    sag: float
    bounce: float
    speed: float
    load: float
    effective_mass: float
    depth: float
    duration: float
    standing_limit: float
    landing_limit: float


def suggest(
    model: Model, feet: Points, q: ArrayLike, *, timestep: float, sag: float, bounce: float, speed: float, scheme: str
) -> Suggestion:
    """Answer which pair lets a foot sag by `sag` under its share of the weight and rebound with `bounce` of `speed`.

    K = W / sag^(3/2) (E6); D so that a foot with the pose's effective mass m rebounds with e (E7), in short steps:
    `robot_dynamics.simulation.rebound.tuned` finds the one for `timestep`.

    Parameters
    ----------
    feet : the points that carry the weight, in equal parts.
    q : (nq,) pose in which they do.
    timestep : h [s] that the pair is for.
    sag : depth of a foot at rest [m].
    bounce : e, speed after over speed before a foot's vertical blow.
    speed : that speed [m/s].
    scheme : implicit (stable at any step) or explicit.

    Raises
    ------
    ParameterError
        A figure outside its range, or a pair that is unstable at this step with the explicit scheme.
    """
    check_range("timestep", timestep, 0.0, 0.1, open_low=True)
    check_range("sag", sag, 0.0, LARGEST_SAG, open_low=True)
    check_range("bounce", bounce, SMALLEST_BOUNCE, LARGEST_BOUNCE)
    check_range("speed", speed, 0.0, open_low=True)
    check_choice("scheme", scheme, ("implicit", "explicit"))
    if not len(feet):
        raise ParameterError("a robot without feet cannot sag: expected at least one contact point")
    W = contact_inertia_inverse(model, feet, q)
    load = model.mass * float(np.linalg.norm(model.gravity)) / len(feet)
    check_range("weight of the robot", load, 0.0, open_low=True)
    mass = 1.0 / float(np.mean(np.diag(W)[2::3]))
    stiffness = load / sag**1.5
    beta = damping_ratio(bounce)
    unit = (mass * speed**2 / stiffness) ** 0.4
    damping = beta * stiffness * unit / speed
    _, depth, duration = rebound(beta)
    softest = float(np.linalg.eigvalsh(W)[-1])
    found = Suggestion(
        stiffness, damping, sag, bounce, speed, load, mass, unit * depth, unit / speed * duration,
        stable_step(stiffness, damping, sag, softest), stable_step(stiffness, damping, unit * depth, softest),
    )  # fmt: skip
    if scheme == "explicit":
        refuse_unstable(found, timestep)
    return found


def refuse_unstable(found: Suggestion, timestep: float) -> None:
    """Raise ParameterError if the explicit scheme is unstable with this pair."""
    limit = min(found.standing_limit, found.landing_limit)
    if timestep >= limit:
        raise ParameterError(
            f"sag {1e3 * found.sag:g} mm and bounce {found.bounce:g} need K = {found.stiffness:.3g} N/m^1.5 and "
            f"D = {found.damping:.3g} N s/m^1.5, which is unstable at a timestep of {1e3 * timestep:g} ms with scheme "
            f"'explicit': stable below {1e3 * found.standing_limit:.3g} ms standing and "
            f"{1e3 * found.landing_limit:.3g} ms landing at {found.speed:g} m/s; "
            "take a smaller timestep, a larger sag, or scheme 'implicit'"
        )


def stable_step(stiffness: float, damping: float, depth: float, inertia_inverse: float) -> float:
    """Largest stable step [s] of the explicit scheme at a depth [m], for the largest eigenvalue of Lambda^-1 [1/kg].

    Depth: v <- v - h (c v + k x), x <- x + h v is stable for h c + h^2 k / 2 < 2, with c = D sqrt(z) Lambda^-1 and the
    slope k = 3/2 K sqrt(z) Lambda^-1 (E8); that is below both h < 2 / c and h < 2 / sqrt(k). The deflection goes by the
    velocity of the start of the step: h < D / K (E9).
    """
    c = damping * math.sqrt(depth) * inertia_inverse
    k = 1.5 * stiffness * math.sqrt(depth) * inertia_inverse
    return min(4.0 / (c + math.sqrt(c * c + 4.0 * k)), damping / stiffness)


def rebound(beta: float) -> tuple[float, float, float]:
    """Restitution e of the law (E7), depth and duration of the contact, for a mass that strikes it; weight left out.

    m z'' = -sqrt(z) (K z + D z') with z = Z x, t = Z / v0 s and Z = (m v0^2 / K)^(2/5) becomes
    x'' = -sqrt(x) (x + beta x'), x(0) = 0, x'(0) = 1, beta = D v0 / (K Z): one number decides. The contact ends where
    its force does, x + beta x' = 0 on the way out, with x' = -e: the loss m v0^2 (1 - e^2) / 2 is D int sqrt(z) z' dz
    and what is left in the spring, 1 - e^2 = 4/5 x^(5/2) + 2 beta int sqrt(x) x' dx.

    Returns
    -------
    e, depth over Z, duration over Z / v0.
    """
    step = 0.02 / (1.0 + beta)
    x, v, s, deepest = 0.0, 1.0, 0.0, 0.0
    while v > 0.0 or x + beta * v > 0.0:
        before = x, v
        x, v = _next(x, v, beta, step)
        deepest = max(deepest, x)
        s += step
    inside, outside = before[0] + beta * before[1], x + beta * v
    part = inside / (inside - outside)
    return -(before[1] + part * (v - before[1])), deepest, s


def _next(x: float, v: float, beta: float, h: float) -> tuple[float, float]:
    """One step of the fourth-order rule for x'' = -sqrt(x) (x + beta x')."""

    def slope(x: float, v: float) -> float:
        return -math.sqrt(max(x, 0.0)) * (x + beta * v)

    a1 = slope(x, v)
    v2 = v + 0.5 * h * a1
    a2 = slope(x + 0.5 * h * v, v2)
    v3 = v + 0.5 * h * a2
    a3 = slope(x + 0.5 * h * v2, v3)
    v4 = v + h * a3
    a4 = slope(x + h * v3, v4)
    return x + h * (v + 2.0 * v2 + 2.0 * v3 + v4) / 6.0, v + h * (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0


def damping_ratio(bounce: float) -> float:
    """Give the beta whose `rebound` keeps `bounce` of the speed; e falls as beta grows."""
    low, high = math.log(1e-3), math.log(100.0)
    for _ in range(40):
        middle = 0.5 * (low + high)
        if rebound(math.exp(middle))[0] > bounce:
            low = middle
        else:
            high = middle
        if high - low < 1e-6:
            break
    return math.exp(0.5 * (low + high))
