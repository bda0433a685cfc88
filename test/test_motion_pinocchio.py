# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the recursions know, on random trees, against Pinocchio or dense matrices of it: 1e-10 relative."""

import re

import numpy as np
import pytest
from random_robots import random_robot, random_state
from urdf_text import numbers, written

import robot_dynamics as rd
from robot_dynamics.model.description import Robot
from robot_dynamics.model.model import build_model
from robot_dynamics.spatial import rotation_from_quaternion, rpy_from_rotation

pin = pytest.importorskip("pinocchio", reason="needs the `pin` wheel (extra `test`)")

from pinocchio_judge import Judge  # noqa: E402

KINDS = ("revolute", "continuous", "prismatic", "fixed")
trees = pytest.mark.parametrize("seed", range(100))


class Tree:
    """A random tree in a random state, here and in Pinocchio."""

    def __init__(self, seed, folder):
        robot = random_robot(seed, kinds=KINDS, mimic=False)
        path = folder / "tree.urdf"
        text = re.sub(r'quat_xyzw="([^"]+)"', turned, written(robot))
        path.write_text(re.sub(r'"-?inf"', '"9"', text))
        self.model = rd.load_urdf(path, floating_base=bool(seed % 2))
        self.q, self.qd, self.qdd, self.f_ext = random_state(self.model, seed)
        self.judge = Judge(str(path), self.model)
        self.pin, self.data = self.judge.pin, self.judge.data
        self.Q, self.V, self.A = self.judge.q(self.q), self.judge.v(self.qd), self.judge.v(self.qdd)
        pin.rnea(self.pin, self.data, self.Q, self.V, self.A, self.judge.forces(self.f_ext))
        pin.forwardKinematics(self.pin, self.data, self.Q, self.V, self.A)
        pin.updateFramePlacements(self.pin, self.data)
        self.bodies = range(1, self.model.nb)

    def mass_matrix(self):
        H = pin.crba(self.pin, self.data, self.Q)
        return self.judge.back(np.triu(H) + np.triu(H, 1).T)

    def jacobian(self, link):
        frame = self.pin.getFrameId(link, pin.BODY)
        return (
            pin.computeFrameJacobian(self.pin, self.data, self.Q, frame, pin.LOCAL)[[3, 4, 5, 0, 1, 2]] @ self.judge.G
        )


@pytest.fixture
def tree(seed, tmp_path):
    return Tree(seed, tmp_path)


def turned(quaternion):
    """Roll, pitch, yaw in place of a quaternion, which URDF parsers of others do not read."""
    return f'rpy="{numbers(*rpy_from_rotation(rotation_from_quaternion([*map(float, quaternion[1].split())])))}"'


def six(x):
    return np.r_[x.angular, x.linear]


def close(ours, theirs):
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * scale)


@trees
def test_twists_and_accelerations(tree):
    t = tree
    for kind, ours, theirs in (
        ("twist", rd.body_velocity(t.model, t.q, t.qd), pin.getFrameVelocity),
        ("spatial", rd.body_acceleration(t.model, t.q, t.qd, t.qdd), pin.getFrameAcceleration),
        ("classical", rd.body_acceleration(t.model, t.q, t.qd, t.qdd, "classical"), pin.getFrameClassicalAcceleration),
    ):
        for i in t.bodies:
            frame = t.pin.getFrameId(t.model.body_names[i], pin.BODY)
            close(ours[i], six(theirs(t.pin, t.data, frame, pin.LOCAL)))
        for link in t.model.link_names[1:]:
            frame = t.pin.getFrameId(link, pin.BODY)
            if kind == "twist":
                own = rd.link_velocity(t.model, t.q, t.qd, link)
            else:
                own = rd.link_acceleration(t.model, t.q, t.qd, t.qdd, link, kind)
            close(own, six(theirs(t.pin, t.data, frame, pin.LOCAL)))


@trees
def test_the_centre_of_mass(tree):
    t = tree
    pin.centerOfMass(t.pin, t.data, t.Q, t.V, t.A)
    if t.model.floating_base:  # with a fixed one Pinocchio leaves the base's mass out
        close(rd.center_of_mass_velocity(t.model, t.q, t.qd), t.data.vcom[0])
        close(rd.center_of_mass_acceleration(t.model, t.q, t.qd, t.qdd), t.data.acom[0])


@trees
def test_wrenches(tree):
    """Transmitted in body and world axes; net: I a + v x* I v of Pinocchio's inertias and motions."""
    t = tree
    transmitted = rd.joint_wrenches(t.model, t.q, t.qd, t.qdd, t.f_ext)
    tau, in_world = rd.inverse_dynamics_world(t.model, t.q, t.qd, t.qdd, t.f_ext)
    net = rd.net_wrenches(t.model, t.q, t.qd, t.qdd)
    for i in t.bodies:
        joint, placement = t.judge.body_frame(i)
        close(transmitted[i], six(placement.actInv(t.data.f[joint])))
        close(in_world[i], six(t.data.oMi[joint].act(t.data.f[joint])))
        inertia, v = t.pin.inertias[joint], t.data.v[joint]
        close(net[i], six(t.data.oMi[joint].act(inertia * t.data.a[joint] + v.cross(inertia * v))))
    close(tau, t.judge.back(t.data.tau))


@trees
def test_operational_inertia(tree):
    t = tree
    link = t.model.link_names[-1]
    J = t.jacobian(link)
    close(rd.link_jacobian(t.model, t.q, link), J)
    inverse = J @ np.linalg.solve(t.mass_matrix(), J.T)
    close(rd.operational_inertia_inverse(t.model, [link], t.q), inverse)
    if np.linalg.cond(inverse) < 1e5:
        close(rd.operational_inertia(t.model, [link], t.q)[0], np.linalg.inv(inverse))
    points = rd.points(t.model, {link: [(0.1, -0.2, 0.3)]})
    frame = t.pin.frames[t.pin.getFrameId(link, pin.BODY)]
    placement = frame.placement * pin.SE3(np.eye(3), np.array([0.1, -0.2, 0.3]))
    pin.computeJointJacobians(t.pin, t.data, t.Q)
    J = pin.getFrameJacobian(t.pin, t.data, frame.parentJoint, placement, pin.LOCAL_WORLD_ALIGNED)[:3] @ t.judge.G
    close(rd.operational_inertia_inverse(t.model, points, t.q), J @ np.linalg.solve(t.mass_matrix(), J.T))


@trees
def test_the_sparse_mass_matrix(tree):
    H, lower = rd.sparse_mass_matrix(tree.model, tree.q), np.zeros((tree.model.nv, tree.model.nv))
    for i, (begin, end) in enumerate(zip(H.starts, H.starts[1:], strict=False)):
        lower[i, H.columns[begin:end]] = H.values[begin:end]
    close(lower, np.tril(tree.mass_matrix()))


@trees
def test_articulated_bodies_are_the_schur_complements_of_their_subtrees(seed, tree):
    """I^A = H_bb - H_bs H_ss^-1 H_sb of the subtree set free; p^A = f - I^A a with Pinocchio's f and a."""
    t = tree
    tau = rd.inverse_dynamics(t.model, t.q, t.qd, t.qdd, t.f_ext)
    inertia, bias = rd.articulated_body(t.model, t.q, t.qd, tau, t.f_ext)
    R, _ = rd.body_pose(t.model, t.q)
    for i in t.bodies:
        free = build_model(subtree(t.model.robot, t.model.body_names[i]), floating_base=True)
        q = rd.neutral(free)
        for name in free.joint_names:
            q[free.q_index[free.joint_index(name)]] = t.q[t.model.q_index[t.model.joint_index(name)]]
        H = rd.mass_matrix(free, q)
        close(inertia[i], H[:6, :6] - H[:6, 6:] @ np.linalg.solve(H[6:, 6:], H[6:, :6]))
        joint, placement = t.judge.body_frame(i)
        a = six(placement.actInv(t.data.a[joint]))
        a[3:] -= R[i].T @ t.model.gravity
        close(bias[i], six(placement.actInv(t.data.f[joint])) - inertia[i] @ a)


def subtree(robot, root):
    """The robot that begins with a link."""
    links = {root}
    while more := {j.child for j in robot.joints if j.parent in links} - links:
        links |= more
    return Robot(
        root,
        tuple(sorted((x for x in robot.links if x.name in links), key=lambda x: x.name != root)),
        tuple(j for j in robot.joints if j.parent in links),
    )
