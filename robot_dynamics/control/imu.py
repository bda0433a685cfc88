"""What an inertial measurement unit on the base reads (REP-145)."""

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..model import Model
from ..spatial import particle_acceleration, quaternion_from_rotation, rotation_from_quaternion

Array = NDArray[np.float64]


class ImuMount:
    """An IMU fixed to the base: in the frame of `link`, or of the root link if empty."""

    def __init__(self, model: Model, link: str = ""):
        """Find the link; raises UnknownNameError, or ParameterError if it moves against the base."""
        index = model.link_index(link) if link else 0
        if model.link_bodies[index] != model.link_bodies[0]:
            raise ParameterError(f"imu_link '{link}' must be fixed to the root link '{model.link_names[0]}'")
        self.model, self.R, self.p = model, model.link_R[index], model.link_p[index]

    def measure(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
        """Answer attitude (quaternion xyzw), angular velocity and specific force (3,), both in IMU axes.

        Specific force = acceleration - gravity: +9.81 on z when level at rest, 0 in free fall.
        """
        if not self.model.floating_base:
            return quaternion_from_rotation(self.R), np.zeros(3), -self.R.T @ self.model.gravity
        R = rotation_from_quaternion(q[3:7])
        force = particle_acceleration(qd[:6], qdd[:6], self.p) - R.T @ self.model.gravity
        return quaternion_from_rotation(R @ self.R), self.R.T @ qd[:3], self.R.T @ force
