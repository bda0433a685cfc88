# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wrenches of the environment that sensors on the links measure: forces of tools, loads and people."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..dynamics.kinematics import body_pose
from ..errors import ParameterError
from ..model.model import Model
from .contacts import NO_CONTACT, Contact, on_bodies
from .guard import sane

Array = NDArray[np.float64]


class LinkWrenches:
    """The newest wrench of every link that has one; each counts for `max_age` [s]."""

    def __init__(self, model: Model, max_age: float):
        """Start without any."""
        self.model, self.max_age = model, max_age
        self._known: dict[str, tuple[float, Array]] = {}

    def put(self, link: str, wrench: ArrayLike, now: float) -> None:
        """Take the wrench (6,) = [moment; force] on a link, at its origin in its axes [N m, N]; 0 takes it away.

        Raises
        ------
        UnknownNameError, ParameterError
            No such link, or one of the fixed base; values that are not finite.
        """
        i, wrench = self.model.link_index(link), np.asarray(wrench, dtype=float)
        if self.model.link_bodies[i] == 0:
            raise ParameterError(f"link '{link}' belongs to the fixed base, which any wrench leaves where it is")
        if not sane(wrench):
            raise ParameterError(f"a wrench must be finite, got {wrench.tolist()} on '{link}'")
        self._known.pop(link, None)
        if wrench.any():
            self._known[link] = now, wrench

    def any(self) -> bool:
        """Whether any link has one, new or old."""
        return bool(self._known)

    def silent(self, now: float) -> str:
        """Name a link whose wrench is too old to count at the time `now` [s]; empty if there is none."""
        return next((link for link, (then, _) in self._known.items() if abs(now - then) > self.max_age), "")

    def on_bodies(self, now: float) -> Array:
        """Sum of the wrenches (nb, 6) on each body, at its origin in its axes: `f_ext` of the equations of motion."""
        out = np.zeros((self.model.nb, 6))
        for body, origin, moment, force in self._placed(now):
            out[body, :3] += moment + np.cross(origin, force)
            out[body, 3:] += force
        return out

    def contact(self, q: Array, now: float) -> Contact:
        """The same as forces, world axes, on points of the bodies of a robot at q (nq,); a moment is that of two."""
        placed = self._placed(now)
        if not placed:
            return NO_CONTACT
        R, _ = body_pose(self.model, q)
        rows = [
            (body, point, R[body] @ part)
            for body, origin, moment, force in placed
            for point, part in ((origin, force), *couple(origin, moment))
        ]
        bodies, points, forces = zip(*rows, strict=True)
        return on_bodies(np.array(bodies, dtype=np.int64), np.array(points), np.array(forces))

    def _placed(self, now: float) -> list[tuple[int, Array, Array, Array]]:
        """Body, origin of the link in it, moment and force in its axes, of every wrench that counts."""
        model, rows = self.model, []
        for link, (then, wrench) in self._known.items():
            if abs(now - then) <= self.max_age:
                i = model.link_index(link)
                R = model.link_R[i]
                rows.append((int(model.link_bodies[i]), model.link_p[i], R @ wrench[:3], R @ wrench[3:]))
        return rows


def couple(origin: Array, moment: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Two points 1 m to either side of `origin` with the opposite forces that make up `moment`."""
    least = np.zeros(3)
    least[np.argmin(np.abs(moment))] = 1.0
    arm = np.cross(moment, least)
    arm /= np.linalg.norm(arm) or 1.0
    force = 0.5 * np.cross(moment, arm)  # arm x (moment x arm) = moment, the arm being a unit vector across it
    return (origin + arm, force), (origin - arm, -force)
