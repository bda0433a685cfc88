# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives and centroidal maps of every robot of example-robot-data against Pinocchio: 1e-9 relative."""

import numpy as np
import pytest
from depth import every
from numba import config
from robot_files import FILES

import robot_dynamics as rd

pin = pytest.importorskip("pinocchio", reason="needs the `pin` wheel (extra `test`)")

from pinocchio_judge import Judge  # noqa: E402

pytestmark = pytest.mark.skipif(not FILES, reason="needs example-robot-data (extra `test`)")
STATES = 1 if config.DISABLE_JIT else 10
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def close(what, ours, theirs):
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * scale, err_msg=what)


def full(H):
    """Pinocchio fills the upper triangle only."""
    return np.triu(H) + np.triu(H, 1).T


def check_inverse(judge, model, state, f_ext):
    P, data = judge.pin, judge.data
    Q, (V, A) = judge.q(state[0]), map(judge.v, state[1:])
    dq, dv, H = pin.computeRNEADerivatives(P, data, Q, V, A, judge.forces(f_ext))
    ours = rd.inverse_dynamics_derivatives(model, *state, f_ext)
    for what, mine, theirs in zip(("dtau_dq", "dtau_dqd", "H"), ours, (dq, dv, full(H)), strict=True):
        close(what, mine, judge.back(theirs))


def check_forward(judge, model, state, f_ext):
    P, data = judge.pin, judge.data
    Q, (V, tau) = judge.q(state[0]), map(judge.v, state[1:])
    dq, dv, dtau = pin.computeABADerivatives(P, data, Q, V, tau, judge.forces(f_ext))
    ours = rd.forward_dynamics_derivatives(model, *state, f_ext)
    for what, mine, theirs in zip(("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), ours, (dq, dv, full(dtau)), strict=True):
        close(what, mine, judge.back(theirs))


def check_centroidal(judge, model, q, qd):
    P, data = judge.pin, judge.data
    Q, V = judge.q(q), judge.v(qd)
    A = rd.centroidal_map(model, q)
    close("centroidal map", A, (pin.computeCentroidalMap(P, data, Q) @ judge.G)[ANGULAR_FIRST])
    dh_dq, dh_dqd = rd.centroidal_momentum_derivatives(model, q, qd)
    close("dh_dqd", dh_dqd, A)
    close("A qd", A @ qd, rd.centroidal_momentum(model, q, qd))
    close("Jacobian of the com", A[3:] / model.mass, pin.jacobianCenterOfMass(P, data, Q) @ judge.G)
    pin.dccrba(P, data, Q, V)
    close("rate", rd.centroidal_map_rate(model, q, qd), (data.dAg @ V)[ANGULAR_FIRST])
    theirs = pin.computeCentroidalDynamicsDerivatives(P, data, Q, V, 0 * V)[0]
    close("dh_dq", dh_dq, (theirs @ judge.G)[ANGULAR_FIRST])


@pytest.mark.parametrize("floating", [True, False], ids=["floating", "fixed"])
@pytest.mark.parametrize("path", every(4, FILES), ids=lambda path: path.stem)
def test_robot(path, floating):
    try:
        model = rd.load_urdf(path, floating_base=floating)
    except rd.RobotDynamicsError as refusal:
        pytest.skip(f"refused: {refusal}")
    if model.nv == 0:
        pytest.skip("no moving joint")
    judge = Judge(str(path), model, mimic=False)  # its derivatives take no mimic joints
    rng = np.random.default_rng(29)
    for _ in range(STATES):
        state = rd.random_configuration(model, rng), *rng.standard_normal((2, model.nv))
        f_ext = rng.standard_normal((model.nb, 6))
        check_inverse(judge, model, state, f_ext)
        if model.mass > 0:
            check_centroidal(judge, model, *state[:2])
        if not (model.has_mimic or model.report.singular):
            check_forward(judge, model, state, f_ext)
