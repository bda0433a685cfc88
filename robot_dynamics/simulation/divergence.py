# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Why a simulation stopped: in which step, at which joint and contact, and the state to see it again."""

import math
from dataclasses import dataclass
from typing import Any

from ..core.arrays import Array

BASE = "the floating base"


@dataclass(frozen=True, slots=True, eq=False)
class Divergence:
    """The step that a plant could not take, and the state that it began with.

    Parameters
    ----------
    reason : str
        What was wrong with where it ended.
    step, time : int, float
        Number of the step since the reset, from 1, and the time at its start [s].
    joint, acceleration : str, float
        The joint whose acceleration in that step is the largest, or not a number [rad/s^2, m/s^2]; of a singular mass
        matrix the one that carries no inertia.
    link, depth, force : str, float, float
        Link of the contact point with the largest force, its depth at the start [m], its force [N]; "" without contact.
    q, qd, deflection, command : ndarray
        Configuration (nq,), velocity (nv,), deflection of the contact points (k, 2) [m] and command (5, n)
        [q_des, qd_des, kp, kd, tau_ff] at the start: `plant.reset(d.q, d.qd, d.deflection)`, `plant.track(*d.command)`
        and `plant.step()` go there again.
    """

    reason: str
    step: int
    time: float
    joint: str
    acceleration: float
    link: str
    depth: float
    force: float
    q: Array
    qd: Array
    deflection: Array
    command: Array

    @property
    def start(self) -> dict[str, list[Any]]:
        """State and command to see it again, as lists."""
        return {name: getattr(self, name).tolist() for name in ("q", "qd", "deflection", "command")}

    def __str__(self) -> str:
        """One sentence."""
        where = f"{self.reason} at t = {self.time:.6g} s in step {self.step}"
        name = self.joint if self.joint == BASE else f"joint '{self.joint}'"
        motion = f"{name} accelerates most, by {self.acceleration:.3g}"
        if not self.link:
            return f"{where}: {motion}, without contact"
        depth = f"{1e3 * self.depth:.3g} mm deep" if math.isfinite(self.depth) else "at no finite depth"
        return f"{where}: {motion}; the largest contact force is {self.force:.3g} N on '{self.link}', {depth}"
