"""Many states of one robot in one call, by the driver that fits the robot."""

import numpy as np

from . import limbs
from .jit import kernel
from .rows import GRAVITY, WORKSPACE, row3
from .tree import aba_accelerations, aba_inward, aba_outward, clear_world, rnea_inward, rnea_outward


@kernel
def inverse_dynamics(topology, parameters, Q, QD, QDD, tau):
    """RNEA of every row of Q, QD, QDD."""
    w = np.zeros((topology.shape[0], WORKSPACE))
    none = np.empty(0)
    for k in range(Q.shape[0]):
        clear_world(w)
        rnea_outward(topology, parameters, Q[k], QD[k], QDD[k], row3(parameters, 0, GRAVITY), w)
        rnea_inward(topology, parameters, QD[k], QDD[k], none, w, tau[k])


@kernel
def forward_dynamics(topology, parameters, Q, QD, tau, QDD):
    """ABA of every row of Q, QD, tau. Not for models with mimic joints."""
    w = np.empty((topology.shape[0], WORKSPACE))
    none = np.empty(0)
    added = np.zeros(QD.shape[1])
    for k in range(Q.shape[0]):
        clear_world(w)
        aba_outward(topology, parameters, Q[k], QD[k], none, w)
        aba_inward(topology, parameters, QD[k], tau[k], added, w)
        aba_accelerations(topology, row3(parameters, 0, GRAVITY), w, QDD[k])


@kernel
def limbed_inverse_dynamics(levels, robot, Q, QD, QDD, tau):
    """RNEA of every row for a robot of equal limbs, a SIMD lane per limb."""
    none = np.empty(0)
    for k in range(Q.shape[0]):
        limbs.inverse_dynamics(levels, robot, Q[k], QD[k], QDD[k], none, tau[k])


@kernel
def limbed_forward_dynamics(levels, robot, Q, QD, tau, QDD):
    """ABA of every row for a robot of equal limbs, a SIMD lane per limb."""
    none = np.empty(0)
    for k in range(Q.shape[0]):
        limbs.forward_dynamics(levels, robot, Q[k], QD[k], tau[k], none, QDD[k])
