"""The same robot in Pinocchio, an independent library, with states and results carried over by joint name.

Pinocchio stores a continuous joint as (cos, sin), orders joints by name and puts linear parts before angular ones.
"""

import numpy as np
import pinocchio as pin

from robot_dynamics import Model


class Judge:
    """Pinocchio's model of a URDF file, called with the states of `model`."""

    def __init__(self, path: str, model: Model):
        root = pin.JointModelFreeFlyer() if model.floating_base else None
        args = (path,) if root is None else (path, root)
        self.pin = pin.buildModelFromUrdf(*args, mimic=True)
        self.data = self.pin.createData()
        self.model = model
        velocity = []
        if model.floating_base:
            velocity += [3, 4, 5, 0, 1, 2]
        for name in model.joint_names:
            velocity.append(self.joint(name).idx_v)
        self.velocity = np.array(velocity, int)

    def joint(self, name: str) -> pin.JointModel:
        return self.pin.joints[self.pin.getJointId(name)]

    def q(self, q: np.ndarray) -> np.ndarray:
        """Configuration in Pinocchio's layout."""
        out = pin.neutral(self.pin)
        if self.model.floating_base:
            out[:7] = q[:7]
        for name, iq in zip(self.model.joint_names, self.model.q_index, strict=True):
            joint = self.joint(name)
            if joint.nq == 2:
                out[joint.idx_q : joint.idx_q + 2] = np.cos(q[iq]), np.sin(q[iq])
            else:
                out[joint.idx_q] = q[iq]
        return out

    def v(self, qd: np.ndarray) -> np.ndarray:
        """Velocity, acceleration or force in Pinocchio's layout."""
        out = np.zeros(self.pin.nv)
        out[self.velocity] = qd
        return out

    def back(self, v: np.ndarray) -> np.ndarray:
        """A joint-space vector or matrix in our layout."""
        return v[self.velocity] if v.ndim == 1 else v[np.ix_(self.velocity, self.velocity)]

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
