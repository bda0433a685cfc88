# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a robot carries: bodies fixed to its links while it runs."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParameterError
from ..model.description import Inertial, Link
from ..model.model import Model, nonphysical_inertia
from ..spatial import shifted_inertia

Array = NDArray[np.float64]


class Payloads:
    """Payloads by link and the robot that carries them; `refused` counts payloads that cannot be."""

    def __init__(self, model: Model):
        """Start with the bare `model`."""
        self.model = model
        self.carried: dict[str, Inertial] = {}
        self.refused = 0

    def put(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> Model:
        """Fix a payload to a link in place of the one there, or take it away with mass 0; returns the robot with all.

        Parameters
        ----------
        mass : [kg].
        com : (3,) link axes [m].
        inertia : (3, 3) about the centre of mass, link axes [kg m^2]; 0 is a point mass.

        Raises
        ------
        UnknownNameError, ParameterError
            No such link; values that are not finite, or that no rigid body has.
        """
        self.refused += 1
        self.model.link_index(link)
        payload = Inertial(float(mass), np.array(com, float), np.array(inertia, float))
        if not all(np.isfinite(x).all() for x in (payload.mass, payload.com, payload.inertia)) or payload.mass < 0.0:
            raise ParameterError(f"a payload must be finite with a mass of 0 or more, got {mass:g} kg on '{link}'")
        problem = nonphysical_inertia(Link(link, payload)) if payload.mass else None
        if problem:
            raise ParameterError(f"no rigid body is this payload: {problem}")
        self.refused -= 1
        self.carried.pop(link, None)
        if payload.mass:
            self.carried[link] = payload
        return self._loaded()

    def _loaded(self) -> Model:
        return self.model.with_links(
            [
                replace(link, inertial=joined(link.inertial, self.carried[link.name]))
                if link.name in self.carried
                else link
                for link in self.model.robot.links
            ]
        )


def joined(a: Inertial | None, b: Inertial) -> Inertial:
    """Return two bodies of one link as one (M2, S13)."""
    if a is None or a.mass == 0.0:
        return b if a is None else replace(b, inertia=b.inertia + a.inertia)
    mass = a.mass + b.mass
    com = (a.mass * a.com + b.mass * b.com) / mass
    inertia = shifted_inertia(a.mass, a.inertia, a.com - com) + shifted_inertia(b.mass, b.inertia, b.com - com)
    return Inertial(mass, com, inertia)
