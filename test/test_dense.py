# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Factors of dense mass matrices: H = L^T L from the last joint to the first, as mimic robots need it."""

import numpy as np
import pytest

from robot_dynamics.kernels import dense

N = 5


def spd(seed):
    root = np.random.default_rng(seed).standard_normal((N, N))
    return root @ root.T + 0.1 * np.eye(N)


@pytest.mark.parametrize("seed", range(5))
def test_solutions_solve_and_factors_multiply(seed):
    H = spd(seed)
    b = np.random.default_rng(seed).standard_normal(N)
    factor, x = H.copy(), b.copy()
    assert dense.solve_spd(factor, x) == -1
    L = np.tril(factor)
    np.testing.assert_allclose(L.T @ L, H, atol=1e-12)
    np.testing.assert_allclose(H @ x, b, atol=1e-10)


@pytest.mark.parametrize("joint", range(N))
def test_the_joint_that_makes_it_indefinite_is_named(joint):
    """H = U^T D U with unit lower U: D_i <= 0 belongs to joint i, whatever the joints before it."""
    D = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    D[joint] = -1.0
    U = np.eye(N) + np.tril(np.random.default_rng(joint).standard_normal((N, N)), -1)
    x = np.ones(N)
    assert dense.solve_spd(U.T @ np.diag(D) @ U, x) == joint
    np.testing.assert_array_equal(x, np.ones(N))


@pytest.mark.parametrize("seed", range(5))
def test_pivots_are_the_inertias_left_when_later_joints_are_free(seed):
    """D_i = 1 / ((H_ii..)^-1) of the block from i on; a joint without inertia has none, and the rest is unharmed."""
    H = spd(seed)
    D = H.diagonal().copy()
    dense.pivots(H.copy(), D)
    for i in range(N):
        behind = H[i + 1 :, i]
        left = H[i, i] - behind @ np.linalg.solve(H[i + 1 :, i + 1 :], behind)
        assert D[i] == pytest.approx(left, rel=1e-9)
    H[3, :], H[:, 3] = H[2, :], H[:, 2]
    H[3, 3] = H[2, 2]
    D = H.diagonal().copy()
    dense.pivots(H.copy(), D)
    assert D[2] == 0.0
    assert (D[[0, 1, 3, 4]] > 0.0).all()
