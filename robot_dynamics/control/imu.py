"""What an inertial measurement unit on the base reads (REP-145)."""

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..model import Model
from ..plant import Measurement
from ..spatial import quaternion_from_rotation, quaternion_product, rotation_from_quaternion, skew

Array = NDArray[np.float64]


class ImuMount:
    """An IMU fixed to the base: in the frame of `link`, or of the root link if empty."""

    def __init__(self, model: Model, link: str = ""):
        """Find the link; raises UnknownNameError, or ParameterError if it moves against the base."""
        index = model.link_index(link) if link else 0
        if model.link_bodies[index] != model.link_bodies[0]:
            raise ParameterError(f"imu_link '{link}' must be fixed to the root link '{model.link_names[0]}'")
        self.model, self.R = model, model.link_R[index]
        self.lever = -skew(model.link_p[index])
        self.quaternion = quaternion_from_rotation(self.R)

    def measure(
        self, q: Array, qd: Array, qdd: Array, reading: Measurement | None = None
    ) -> tuple[Array, Array, Array]:
        """Answer attitude (quaternion xyzw), angular velocity and specific force (3,), both in IMU axes.

        Specific force = acceleration - gravity: +9.81 on z when level at rest, 0 in free fall. A noisy `reading` of the
        same instant stands for what the root link does; its own motion moves the mount.
        """
        if not self.model.floating_base:
            omega, force = np.zeros(3), -self.model.gravity
            if reading is not None:
                omega, force = reading.angular_velocity, reading.linear_acceleration
            return self.quaternion, self.R.T @ omega, self.R.T @ force
        omega, turning = qd[:3], skew(qd[:3])
        if reading is None:
            force = qdd[3:6] + turning @ qd[3:6] - rotation_from_quaternion(q[3:7]).T @ self.model.gravity
        else:
            omega, force = reading.angular_velocity, reading.linear_acceleration
        force = force + self.lever @ qdd[:3] + turning @ (self.lever @ qd[:3])
        return quaternion_product(q[3:7], self.quaternion), self.R.T @ omega, self.R.T @ force
