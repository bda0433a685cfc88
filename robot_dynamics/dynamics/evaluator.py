# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The hot path: one robot, its state and results in place, calls with all their arguments bound."""

import numpy as np

from ..compiler import bound
from ..core.arrays import Array
from ..core.checks import checked
from ..errors import ParameterError
from ..kernels import derivatives
from ..model.model import Model
from .algorithms import check_regular, driver_of, workspace
from .derivatives import Derivatives
from .kinematics import neutral


class Evaluator:
    """Dynamics of one robot for a caller at a high rate: write the state in place, call, read the result in place.

    The kernels are compiled when it is made; a call allocates nothing and checks nothing but finiteness. All arrays
    are the evaluator's own and stay the same objects: `evaluator.q[:] = ...`. Conventions are those of
    `robot_dynamics.inverse_dynamics`; not for use by two threads at once.

    q : (nq,) configuration, at first neutral; q[3:7] is a unit quaternion with a floating base.
    qd : (nv,) velocity.
    qdd : (nv,) acceleration; input of `inverse_dynamics`, output of `forward_dynamics`.
    tau : (nv,) generalised forces; output of `inverse_dynamics`, input of `forward_dynamics`.
    f_ext : (nb, 6) wrench [n, f] of the environment on every body, body axes; input of both.
    H : (nv, nv) joint-space inertia; output of `mass_matrix` and of `inverse_dynamics_derivatives`.

    Raises
    ------
    ParameterError
        The model has mimic joints, for which `forward_dynamics` needs a solve that allocates.
    SingularModelError
        A joint has no inertia about its axis.
    """

    __slots__ = (
        "H", "_aba", "_by_motion", "_by_state", "_crba", "_of_motion", "_of_tau", "_rnea", "f_ext", "q", "qd", "qdd",
        "tau",
    )  # fmt: skip

    def __init__(self, model: Model) -> None:
        """Evaluator of `model`, at rest in its neutral configuration."""
        if model.has_mimic:
            raise ParameterError(f"an Evaluator takes no robot with mimic joints, which '{model.name}' has")
        check_regular(model)
        self.q: Array = neutral(model)
        self.qd, self.qdd, self.tau = np.zeros((3, model.nv))
        self.f_ext = np.zeros((model.nb, 6))
        self._of_tau, self._of_motion = np.zeros((2, 3, model.nv, model.nv))
        self.H = self._of_tau[2]
        push = self.f_ext.ravel()
        driver, robot, memory = driver_of(model)
        self._rnea = bound(driver.inverse_dynamics, *robot, self.q, self.qd, self.qdd, push, *memory, self.tau)
        self._aba = bound(driver.forward_dynamics, *robot, self.q, self.qd, self.tau, push, *memory, self.qdd)
        self._crba = bound(driver.mass_matrix, *robot, self.q, *memory, self.H)
        point = model.topology, model.parameters, self.q, self.qd, self.qdd, push, workspace(model)
        self._by_motion = bound(derivatives.inverse_dynamics_derivatives, *point, self._of_tau)
        X = np.empty((model.nv, 3 * model.nv))
        self._by_state = bound(derivatives.forward_dynamics_derivatives, *point, X, self._of_motion)

    def inverse_dynamics(self) -> Array:
        """Set and return tau of q, qd, qdd, f_ext: RNEA (R1-R5). Raises ShapeError for what is not finite."""
        if not self._rnea():
            self._refuse("q", "qd", "qdd", "f_ext")
        return self.tau

    def forward_dynamics(self) -> Array:
        """Set and return qdd of q, qd, tau, f_ext: ABA (A1-A11). Raises ShapeError for what is not finite."""
        if not self._aba():
            self._refuse("q", "qd", "tau", "f_ext")
        return self.qdd

    def mass_matrix(self) -> Array:
        """Set and return H(q): CRBA (C1-C3). Raises ShapeError for what is not finite."""
        if not self._crba():
            self._refuse("q")
        return self.H

    def inverse_dynamics_derivatives(self) -> Derivatives:
        """Set and return dtau_dq, dtau_dqd, H of q, qd, qdd, f_ext (V1-V8). Raises as `inverse_dynamics`."""
        if not self._by_motion():
            self._refuse("q", "qd", "qdd", "f_ext")
        return self._of_tau[0], self._of_tau[1], self.H

    def forward_dynamics_derivatives(self) -> Derivatives:
        """Set qdd, and return dqdd_dq, dqdd_dqd, dqdd_dtau of q, qd, tau, f_ext (V9).

        Raises as `forward_dynamics`.
        """
        self.forward_dynamics()
        self._by_state()
        return self._of_motion[0], self._of_motion[1], self._of_motion[2]

    def _refuse(self, *names: str) -> None:
        """Say which number is not finite."""
        for name in names:
            checked(name, getattr(self, name), getattr(self, name).shape)
