# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every robot of example-robot-data against Pinocchio, floating and fixed, at random states: 1e-9 relative."""

import numpy as np
import pytest
from depth import every
from numba import config
from robot_files import FILES, robot_file

import robot_dynamics as rd

pin = pytest.importorskip("pinocchio", reason="needs the `pin` wheel (extra `test`)")

from pinocchio_judge import Judge  # noqa: E402

pytestmark = pytest.mark.skipif(not FILES, reason="needs example-robot-data (extra `test`)")
STATES = 1 if config.DISABLE_JIT else 20
"""Per robot; un-jitted, twenty would take an hour."""


def close(what, ours, theirs):
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * scale, err_msg=what)


def full(H):
    """Pinocchio fills the upper triangle only."""
    return np.triu(H) + np.triu(H, 1).T


def check_forward(judge, model, q, qd, tau, f_ext):
    Q, V = judge.q(q), judge.v(qd)
    qdd = rd.forward_dynamics(model, q, qd, tau, f_ext)
    if model.has_mimic:  # Pinocchio has no ABA for mimic joints: its H and RNEA judge
        H = judge.back(full(pin.crba(judge.pin, judge.data, Q)))
        bias = judge.back(pin.rnea(judge.pin, judge.data, Q, V, 0 * V, judge.forces(f_ext)))
        close("H qdd + bias = tau", H @ qdd + bias, tau)
    else:
        theirs = judge.back(pin.aba(judge.pin, judge.data, Q, V, judge.v(tau), judge.forces(f_ext)))
        close("aba", qdd, theirs)


def check_points(judge, model, q, qd):
    links = model.link_names[:: max(1, len(model.link_names) // 4)]
    points = rd.points(model, {link: [(0.1, -0.2, 0.3)] for link in links})
    J = rd.point_jacobian(model, points, q)
    pin.computeJointJacobians(judge.pin, judge.data, judge.q(q))
    pin.updateFramePlacements(judge.pin, judge.data)
    for k, link in enumerate(links):
        frame = judge.pin.frames[judge.pin.getFrameId(link, pin.BODY)]
        placement = frame.placement * pin.SE3(np.eye(3), np.array([0.1, -0.2, 0.3]))
        theirs = pin.getFrameJacobian(judge.pin, judge.data, frame.parentJoint, placement, pin.LOCAL_WORLD_ALIGNED)[:3]
        close(f"Jacobian of '{link}'", J[k], theirs @ judge.G)
        ours = rd.link_pose(model, q, link)
        close(f"pose of '{link}'", ours[1], judge.data.oMf[judge.pin.getFrameId(link, pin.BODY)].translation)


def check_motion(judge, model, q, qd, qdd, f_ext):
    """Twists and accelerations of links, the centre of mass, what joints transmit, operational inertia of a link."""
    P, data = judge.pin, judge.data
    Q, V, A = judge.q(q), judge.v(qd), judge.v(qdd)
    pin.forwardKinematics(P, data, Q, V, A)
    for link in model.link_names[:: max(1, len(model.link_names) // 4)]:
        frame = P.getFrameId(link, pin.BODY)
        for what, ours, theirs in (
            ("twist", rd.link_velocity(model, q, qd, link), pin.getFrameVelocity),
            ("acceleration", rd.link_acceleration(model, q, qd, qdd, link), pin.getFrameAcceleration),
            (
                "classical",
                rd.link_acceleration(model, q, qd, qdd, link, "classical"),
                pin.getFrameClassicalAcceleration,
            ),
        ):
            motion = theirs(P, data, frame, pin.LOCAL)
            close(f"{what} of '{link}'", ours, np.r_[motion.angular, motion.linear])
    if model.mass > 0:
        pin.centerOfMass(P, data, Q, V, A)
        close("velocity of the com", rd.center_of_mass_velocity(model, q, qd), data.vcom[0])
        close("acceleration of the com", rd.center_of_mass_acceleration(model, q, qd, qdd), data.acom[0])
    pin.rnea(P, data, Q, V, A, judge.forces(f_ext))
    wrench = rd.joint_wrenches(model, q, qd, qdd, f_ext)
    for body in range(1, model.nb):
        joint, placement = judge.body_frame(body)
        force = placement.actInv(data.f[joint])
        close(f"wrench on '{model.body_names[body]}'", wrench[body], np.r_[force.angular, force.linear])


def check_operational(judge, model, q, link):
    P, data, Q = judge.pin, judge.data, judge.q(q)
    J = pin.computeFrameJacobian(P, data, Q, P.getFrameId(link, pin.BODY), pin.LOCAL)[[3, 4, 5, 0, 1, 2]] @ judge.G
    H = judge.back(full(pin.crba(P, data, Q)))
    theirs = J @ np.linalg.solve(H, J.T)
    close(f"Jacobian of '{link}'", rd.link_jacobian(model, q, link), J)
    close("operational inertia", rd.operational_inertia_inverse(model, [link], q), theirs)


def check_state(judge, model, rng):
    q = rd.random_configuration(model, rng)
    qd, qdd = rng.standard_normal((2, model.nv))
    f_ext = rng.standard_normal((model.nb, 6))
    P, data, Q, V = judge.pin, judge.data, judge.q(q), judge.v(qd)
    zero = 0 * V
    rnea = pin.rnea(P, data, Q, V, judge.v(qdd), judge.forces(f_ext))
    close("rnea", rd.inverse_dynamics(model, q, qd, qdd, f_ext), judge.back(rnea))
    close("rnea, absolute coordinates", rd.inverse_dynamics_world(model, q, qd, qdd, f_ext)[0], judge.back(rnea))
    close("crba", rd.mass_matrix(model, q), judge.back(full(pin.crba(P, data, Q))))
    close("nle", rd.bias_forces(model, q, qd), judge.back(pin.rnea(P, data, Q, V, zero)))
    close("gravity", rd.gravity_forces(model, q), judge.back(pin.rnea(P, data, Q, zero, zero)))
    if not model.has_mimic:
        C = judge.back(pin.computeCoriolisMatrix(P, data, Q, V))
        close("Coriolis forces", rd.coriolis_matrix(model, q, qd) @ qd, C @ qd)
    if model.mass > 0:
        close("com", rd.center_of_mass(model, q), pin.centerOfMass(P, data, Q))
        momentum = pin.computeCentroidalMomentum(P, data, Q, V)
        close("momentum", rd.centroidal_momentum(model, q, qd), np.r_[momentum.angular, momentum.linear])
    check_points(judge, model, q, qd)
    check_motion(judge, model, q, qd, qdd, f_ext)
    if not model.report.singular:
        check_forward(judge, model, q, qd, qdd, f_ext)
        check_operational(judge, model, q, model.link_names[-1])


@pytest.mark.parametrize("floating", [True, False], ids=["floating", "fixed"])
@pytest.mark.parametrize("path", every(4, FILES), ids=lambda path: path.stem)
def test_robot(path, floating):
    try:
        model = rd.load_urdf(path, floating_base=floating)
    except rd.RobotDynamicsError as refusal:
        pytest.skip(f"refused: {refusal}")
    if model.nv == 0:
        pytest.skip("no moving joint")
    judge = Judge(str(path), model)
    rng = np.random.default_rng(FILES.index(path))
    for _ in range(STATES):
        check_state(judge, model, rng)


LINK = (
    '<link name="{}"><inertial><origin xyz="0.1 -0.2 0.05"/><mass value="1.5"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>'
)
JOINT = (
    '<joint name="j{0}" type="{1}"><parent link="l{0}"/><child link="l{2}"/><axis xyz="{3!r} {4!r} {5!r}"/>'
    '<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.4 0.5"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
)


@pytest.mark.parametrize("up", [1.0, -1.0])
def test_axes_near_z(tmp_path, up):
    """Axes that miss z and -z by 1e-1 to 1e-16: H and ABA of a chain of three such joints to 1e-11."""
    rng = np.random.default_rng(4)
    for exponent in range(1, 17):
        x, y = (rng.standard_normal(2) * 10.0**-exponent).tolist()
        kinds = enumerate(("revolute", "prismatic", "revolute"))
        parts = [LINK.format(f"l{i}") for i in range(4)] + [JOINT.format(i, k, i + 1, x, y, up) for i, k in kinds]
        path = tmp_path / f"{exponent}.urdf"
        path.write_text(f"<robot name='near'>{''.join(parts)}</robot>")
        model = rd.load_urdf(path, floating_base=True)
        judge = Judge(str(path), model)
        q, (qd, tau) = rd.random_configuration(model, rng), rng.standard_normal((2, model.nv))
        H = judge.back(full(pin.crba(judge.pin, judge.data, judge.q(q))))
        qdd = judge.back(pin.aba(judge.pin, judge.data, judge.q(q), judge.v(qd), judge.v(tau)))
        np.testing.assert_allclose(rd.mass_matrix(model, q), H, rtol=0, atol=1e-11)
        ours = rd.forward_dynamics(model, q, qd, tau)
        np.testing.assert_allclose(ours, qdd, rtol=0, atol=1e-11 * max(1.0, np.abs(qdd).max()))


def test_only_two_files_are_refused():
    """ur3.urdf is empty; alex_psyonic_hands.urdf mimics a joint that does not exist."""
    refused = []
    for path in FILES:
        try:
            rd.load_urdf(path)
        except rd.RobotDynamicsError:
            refused.append(path.stem)
    assert refused == ["alex_psyonic_hands", "ur3"]


@pytest.mark.parametrize("name", ["romeo", "romeo_laas_small", "icub"])
def test_singular_models_are_refused_by_joint_name(name):
    model = rd.load_urdf(robot_file(name))
    assert model.report.singular
    q = rd.neutral(model)
    rd.inverse_dynamics(model, q, np.zeros(model.nv), np.zeros(model.nv))
    with pytest.raises(rd.RobotDynamicsError, match=model.report.singular[0]):
        rd.forward_dynamics(model, q, np.zeros(model.nv), np.zeros(model.nv))
