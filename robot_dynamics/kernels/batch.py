"""Many states of one robot in one call, by the driver that fits the robot."""

import numpy as np

from . import limbs, tree
from .jit import kernel
from .rows import WORKSPACE


@kernel
def inverse_dynamics(topology, parameters, Q, QD, QDD, tau):
    """RNEA of every row of Q, QD, QDD."""
    w = np.empty((topology.shape[0], WORKSPACE))
    none = np.empty(0)
    for k in range(Q.shape[0]):
        tree.rnea(topology, parameters, Q[k], QD[k], QDD[k], none, w, tau[k])


@kernel
def forward_dynamics(topology, parameters, Q, QD, tau, QDD):
    """ABA of every row of Q, QD, tau. Not for models with mimic joints."""
    w = np.empty((topology.shape[0], WORKSPACE))
    none = np.empty(0)
    for k in range(Q.shape[0]):
        tree.aba(topology, parameters, Q[k], QD[k], tau[k], none, w, QDD[k])


@kernel
def limbed_inverse_dynamics(levels, robot, Q, QD, QDD, tau):
    """RNEA of every row for a robot of equal limbs, a SIMD lane per limb."""
    none = np.empty(0)
    for k in range(Q.shape[0]):
        limbs.rnea(levels, robot, Q[k], QD[k], QDD[k], none, tau[k])


@kernel
def limbed_forward_dynamics(levels, robot, Q, QD, tau, QDD):
    """ABA of every row for a robot of equal limbs, a SIMD lane per limb."""
    none = np.empty(0)
    for k in range(Q.shape[0]):
        limbs.aba(levels, robot, Q[k], QD[k], tau[k], none, QDD[k])
