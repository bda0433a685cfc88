# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The same robot in Pinocchio, an independent library, with states and results carried over by joint name.

Pinocchio stores a continuous joint as (cos, sin), orders joints by name and puts linear parts before angular ones.
Where its mimic joints cannot be built (it wants the followed joint first) its full tree is projected: v = G qd.
"""

import numpy as np
import pinocchio as pin

from robot_dynamics import Model
from robot_dynamics.model.model import mimic_law


class Judge:
    """Pinocchio's model of a URDF file, called with the states of `model`; `mimic`: with its mimic joints if it can."""

    def __init__(self, path: str, model: Model, mimic: bool = True):
        root = () if not model.floating_base else (pin.JointModelFreeFlyer(),)
        try:
            if not mimic:
                raise ValueError("project the full tree")
            self.pin = pin.buildModelFromUrdf(path, *root, mimic=True)
            self.projected = False
        except ValueError:
            self.pin = pin.buildModelFromUrdf(path, *root)
            self.projected = True
        self.data = self.pin.createData()
        self.model = model
        joints = {joint.name: joint for joint in model.robot.joints}
        self.laws = {name: (name, 1.0, 0.0) for name in model.joint_names}
        if self.projected:
            self.laws |= {name: mimic_law(joints[name], joints) for name in model.report.mimic}
        self.G = np.zeros((self.pin.nv, model.nv))
        if model.floating_base:
            self.G[[3, 4, 5, 0, 1, 2], range(6)] = 1.0
        for name, (followed, ratio, _) in self.laws.items():
            self.G[self.joint(name).idx_v, model.v_index[model.joint_index(followed)]] = ratio

    def joint(self, name: str) -> pin.JointModel:
        return self.pin.joints[self.pin.getJointId(name)]

    def q(self, q: np.ndarray) -> np.ndarray:
        """Configuration in Pinocchio's layout."""
        out = pin.neutral(self.pin)
        if self.model.floating_base:
            out[:7] = q[:7]
        for name, (followed, ratio, offset) in self.laws.items():
            joint = self.joint(name)
            x = ratio * q[self.model.q_index[self.model.joint_index(followed)]] + offset
            out[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x), np.sin(x)] if joint.nq == 2 else x
        return out

    def v(self, qd: np.ndarray) -> np.ndarray:
        """Velocity or acceleration in Pinocchio's layout."""
        return self.G @ qd

    def back(self, x: np.ndarray) -> np.ndarray:
        """Joint-space forces or a joint-space matrix in our layout."""
        return self.G.T @ x if x.ndim == 1 else self.G.T @ x @ self.G

    def body_frame(self, body: int) -> tuple[int, pin.SE3]:
        """Pinocchio joint that carries our body, and our body frame in its frame."""
        frame = self.pin.frames[self.pin.getFrameId(self.model.body_names[body], pin.BODY)]
        return frame.parentJoint, frame.placement

    def forces(self, f_ext: np.ndarray) -> pin.StdVec_Force:
        """External wrenches (nb, 6) as Pinocchio joint forces; those on the world are dropped."""
        out = [pin.Force.Zero() for _ in range(self.pin.njoints)]
        for body in range(1, self.model.nb):
            joint, placement = self.body_frame(body)
            out[joint] = out[joint] + placement.act(pin.Force(f_ext[body, 3:], f_ext[body, :3]))
        return out
