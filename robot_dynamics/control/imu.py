"""What an inertial measurement unit on the base reads (REP-145)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..kernels.scalar import add, cross, quaternion_matrix, sub, tmul
from ..model import Model
from ..plant import Measurement
from ..spatial import hamilton, quaternion_from_rotation

Array = NDArray[np.float64]
Vector = Sequence[float]
ZERO = (0.0, 0.0, 0.0)


class ImuMount:
    """An IMU fixed to the base: in the frame of `link`, or of the root link if empty."""

    def __init__(self, model: Model, link: str = ""):
        """Find the link; raises UnknownNameError, or ParameterError if it moves against the base."""
        index = model.link_index(link) if link else 0
        if model.link_bodies[index] != model.link_bodies[0]:
            raise ParameterError(f"imu_link '{link}' must be fixed to the root link '{model.link_names[0]}'")
        self.model, self.R = model, model.link_R[index].ravel().tolist()
        self.place = model.link_p[index].tolist()
        self.quaternion = quaternion_from_rotation(model.link_R[index]).tolist()
        self.gravity = model.gravity.tolist()

    def measure(
        self, q: Array, qd: Array, qdd: Array, reading: Measurement | None = None
    ) -> tuple[Vector, Vector, Vector]:
        """Answer attitude (quaternion xyzw), angular velocity and specific force (3,), both in IMU axes.

        Specific force = acceleration - gravity: +9.81 on z when level at rest, 0 in free fall. A noisy `reading` of the
        same instant stands for what the root link does; its own motion moves the mount.
        """
        if self.model.floating_base:
            base = q[3:7].tolist()
            attitude: Vector = hamilton(base, self.quaternion)
            w, root, lever = self._moving(base, qd[:6].tolist(), qdd[:6].tolist())
        else:
            attitude, w, root, lever = self.quaternion, ZERO, sub(ZERO, self.gravity), ZERO
        if reading is not None:
            w, root = reading.angular_velocity.tolist(), reading.linear_acceleration.tolist()
        return attitude, tmul(self.R, w), tmul(self.R, add(root, lever))

    def _moving(self, base: Vector, qd: Vector, qdd: Vector) -> tuple[Vector, Vector, Vector]:
        """Angular velocity and specific force of the root link, and what the mount has more of it, base axes."""
        w, v, turning, rate = qd[:3], qd[3:], qdd[:3], qdd[3:]
        weight = tmul(quaternion_matrix(*base), self.gravity)
        lever = add(cross(turning, self.place), cross(w, cross(w, self.place)))
        return w, sub(add(rate, cross(w, v)), weight), lever
