# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an inertial measurement unit on the base reads (M1, [REP-145])."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..kernels.scalar import ZERO3, add, sub, tmul
from ..kernels.sensors import ATTITUDE, GRAVITY, LEVER, TURN, inertial
from ..model.model import Model
from ..simulation.plant import Measurement
from ..spatial import quaternion_from_rotation

Array = NDArray[np.float64]
Vector = Sequence[float]


class ImuMount:
    """An IMU fixed to the base: in the frame of `link`, or of the root link if empty.

    mount : (MOUNT,) the numbers that `kernels.sensors` wants of it.
    """

    def __init__(self, model: Model, link: str = ""):
        """Find the link; raises UnknownNameError, or ParameterError if it moves against the base."""
        index = model.link_index(link) if link else 0
        if model.link_bodies[index] != model.link_bodies[0]:
            raise ParameterError(f"imu_link '{link}' must be fixed to the root link '{model.link_names[0]}'")
        self.model, R = model, model.link_R[index]
        self.mount = np.concatenate([R.ravel(), model.link_p[index], quaternion_from_rotation(R), model.gravity])

    def measure(
        self, q: Array, qd: Array, qdd: Array, reading: Measurement | None = None
    ) -> tuple[Vector, Vector, Vector]:
        """Answer attitude (quaternion xyzw), angular velocity and specific force (3,), both in IMU axes.

        Specific force = acceleration - gravity: +9.81 on z when level at rest, 0 in free fall. A noisy `reading` of the
        same instant stands for what the root link does; its own motion moves the mount.
        """
        mount: list[float] = self.mount.tolist()
        R = mount[TURN:LEVER]
        if self.model.floating_base:
            attitude, w, root, lever = inertial(mount, q[3:7].tolist(), qd[:6].tolist(), qdd[:6].tolist())
        else:
            attitude, w, root, lever = mount[ATTITUDE:GRAVITY], ZERO3, sub(ZERO3, mount[GRAVITY:]), ZERO3
        if reading is not None:
            w, root = reading.angular_velocity.tolist(), reading.linear_acceleration.tolist()
        return attitude, tmul(R, w), tmul(R, add(root, lever))
