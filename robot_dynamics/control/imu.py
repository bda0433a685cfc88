"""What an inertial measurement unit on the base reads (REP-145)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..model import Model
from ..plant import Measurement
from ..spatial import quaternion_from_rotation, quaternion_product

Array = NDArray[np.float64]
Vector = list[float]


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
        lever = _sum(_cross(turning, self.place), _cross(w, _cross(w, self.place)))
        if reading is None:
            root = _sum(rate, _cross(w, v), _in_base(q[3:7].tolist(), -self.model.gravity))
        else:
            w, root = reading.angular_velocity.tolist(), reading.linear_acceleration.tolist()
        return quaternion_product(q[3:7], self.quaternion), w @ self.R, _sum(root, lever) @ self.R


# Three numbers at a time are faster without numpy.


def _cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    (ax, ay, az), (bx, by, bz) = a, b
    return [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]


def _sum(*vectors: Vector) -> Vector:
    """Return the sum."""
    return [sum(column) for column in zip(*vectors, strict=True)]


def _in_base(quaternion: Sequence[float], x: Array) -> Vector:
    """Return R^T x = x - 2 w u x + 2 u (u x) with the unit quaternion [u, w]."""
    *u, w = quaternion
    across = _cross(u, x.tolist())
    return [a - 2.0 * w * b + 2.0 * c for a, b, c in zip(x.tolist(), across, _cross(u, across), strict=True)]
