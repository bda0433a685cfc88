"""What an inertial measurement unit on the base reads (REP-145)."""

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..kernels.scalar import add, cross, quaternion_matrix, sub, tmul
from ..model import Model
from ..plant import Measurement
from ..spatial import quaternion_from_rotation, quaternion_product

Array = NDArray[np.float64]


class ImuMount:
    """An IMU fixed to the base: in the frame of `link`, or of the root link if empty."""

    def __init__(self, model: Model, link: str = ""):
        """Find the link; raises UnknownNameError, or ParameterError if it moves against the base."""
        index = model.link_index(link) if link else 0
        if model.link_bodies[index] != model.link_bodies[0]:
            raise ParameterError(f"imu_link '{link}' must be fixed to the root link '{model.link_names[0]}'")
        self.model, self.R = model, model.link_R[index]
        self.place = model.link_p[index].tolist()
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
        w, v, turning, rate = (x.tolist() for x in (qd[:3], qd[3:6], qdd[:3], qdd[3:6]))
        lever = add(cross(turning, self.place), cross(w, cross(w, self.place)))
        if reading is None:
            weight = tmul(quaternion_matrix(*q[3:7].tolist()), self.model.gravity.tolist())
            root = sub(add(rate, cross(w, v)), weight)
        else:
            w, root = reading.angular_velocity.tolist(), reading.linear_acceleration.tolist()
        return quaternion_product(q[3:7], self.quaternion), w @ self.R, add(root, lever) @ self.R
