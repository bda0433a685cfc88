"""Contact forces measured elsewhere, as generalised forces on our model."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..kinematics import Points, body_pose, point_jacobian
from ..model import Model
from .guard import sane

Array = NDArray[np.float64]


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

    def generalised(self, q: Array) -> Array:
        """Return the sum of J^T f (nv,) with the robot at q (nq,)."""
        if not len(self._bodies):
            return np.zeros(self.model.nv)
        R, p = body_pose(self.model, q)
        local = np.einsum("kji,kj->ki", R[self._bodies], self._position - p[self._bodies])
        feet = Points(self._bodies, local, ("",) * len(local), np.zeros(len(local)))
        return np.einsum("kiv,ki->v", point_jacobian(self.model, feet, q), self._force)
