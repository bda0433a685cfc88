# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact forces measured elsewhere, on the bodies of our model and as generalised forces."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..dynamics.kinematics import Points, body_pose, point_jacobian
from ..model.model import Model
from .guard import sane

Array = NDArray[np.float64]


class Contact(NamedTuple):
    """Forces (k, 3) of the ground, world axes, on points fixed to bodies."""

    points: Points
    force: Array


def on_bodies(body: NDArray[np.int64], position: Array, force: Array) -> Contact:
    """Contact at `position` (k, 3) in the axes of the bodies."""
    return Contact(Points(body, position, ("",) * len(body), np.zeros(len(body))), force)


NO_CONTACT = on_bodies(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3)))


def combined(contacts: Sequence[Contact], share: ArrayLike) -> Contact:
    """All points of several contacts, each with its share of the force."""
    return on_bodies(
        np.concatenate([contact.points.body for contact in contacts]),
        np.concatenate([contact.points.position for contact in contacts]),
        np.concatenate([part * contact.force for part, contact in zip(np.asarray(share), contacts, strict=True)]),
    )


def wrenches(model: Model, contact: Contact, q: Array) -> Array:
    """Sum of the forces as wrenches (nb, 6) on the bodies of a robot at q (nq,), at their origins in their axes."""
    out = np.zeros((model.nb, 6))
    if len(contact.points):
        R, _ = body_pose(model, q)
        body, place = contact.points.body, contact.points.position
        force = np.einsum("kji,kj->ki", R[body], contact.force)
        np.add.at(out, body, np.hstack([np.cross(place, force), force]))
    return out


def generalised(model: Model, contact: Contact, q: Array) -> Array:
    """Sum of J^T f (nv,) with the robot at q (nq,)."""
    if not len(contact.points):
        return np.zeros(model.nv)
    return np.einsum("kiv,ki->v", point_jacobian(model, contact.points, q), contact.force)


class ContactForces:
    """The last contact message: forces on links at world points."""

    def __init__(self, model: Model):
        """Start without contact."""
        self.model = model
        self._body_of = {link: int(body) for link, body in zip(model.link_names, model.link_bodies, strict=True)}
        self._bodies = np.zeros(0, dtype=np.int64)
        self._position, self._force = np.zeros((0, 3)), np.zeros((0, 3))

    def set_forces(self, links: Sequence[str], position: Array, force: Array) -> None:
        """Take positions and forces (k, 3), world axes; unknown links and zero forces are left out."""
        used = [i for i in np.flatnonzero(force.any(axis=1)).tolist() if links[i] in self._body_of]
        if not sane(position, force):
            used = []
        self._bodies = np.array([self._body_of[links[i]] for i in used], dtype=np.int64)
        self._position, self._force = position[used], force[used]

    def at(self, q: Array) -> Contact:
        """Return the forces on the bodies of the robot at q (nq,)."""
        if not len(self._bodies):
            return NO_CONTACT
        R, p = body_pose(self.model, q)
        local = np.einsum("kji,kj->ki", R[self._bodies], self._position - p[self._bodies])
        return on_bodies(self._bodies, local, self._force)
