"""What an inertial measurement unit on the base reads (REP-145)."""

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..model import Model
from ..spatial import quaternion_from_rotation, rotation_from_quaternion, skew

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

    def measure(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
        """Answer attitude (quaternion xyzw), angular velocity and specific force (3,), both in IMU axes.

        Specific force = acceleration - gravity: +9.81 on z when level at rest, 0 in free fall.
        """
        if not self.model.floating_base:
            return self.quaternion, np.zeros(3), -self.R.T @ self.model.gravity
        omega, velocity = qd[:3], qd[3:6] + self.lever @ qd[:3]
        acceleration = qdd[3:6] + self.lever @ qdd[:3] + skew(omega) @ velocity
        force = acceleration - rotation_from_quaternion(q[3:7]).T @ self.model.gravity
        return quaternion_product(q[3:7], self.quaternion), self.R.T @ omega, self.R.T @ force


def quaternion_product(a: Array, b: Array) -> Array:
    """Return the quaternion xyzw of the rotation b followed by a."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a.tolist(), b.tolist()
    return np.array([
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ])  # fmt: skip
