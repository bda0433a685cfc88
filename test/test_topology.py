# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Connectivity sets, and the zero pattern of H on the tree lambda(1..6) = (0, 1, 2, 1, 4, 4) ([RBDA] chapter 4)."""

import numpy as np
import pytest
from random_robots import random_robot

import robot_dynamics as rd
from robot_dynamics.description import Robot
from robot_dynamics.model import build_model
from robot_dynamics.topology import children, paths, subtrees

REFERENCE = [-1, 0, 1, 2, 1, 4, 4]


def test_sets_of_the_reference_tree():
    assert children(REFERENCE)[:5] == [[1], [2, 4], [3], [], [5, 6]]
    nu = subtrees(REFERENCE)
    assert (nu[1], nu[2], nu[4]) == ([1, 2, 3, 4, 5, 6], [2, 3], [4, 5, 6])
    assert paths(REFERENCE)[6] == [6, 4, 1]


@pytest.mark.parametrize("seed", range(3))
def test_mass_matrix_is_zero_between_branches(seed):
    """Two joints share an entry of H exactly when one supports the other."""
    robot = random_robot(seed, kinds=("revolute", "prismatic"), count=12, mimic=False)
    model = build_model(robot)
    H = rd.mass_matrix(model, rd.random_configuration(model, np.random.default_rng(seed)))
    kappa = paths(model.parent)
    related = np.array([[i in kappa[j] or j in kappa[i] for j in range(1, model.nb)] for i in range(1, model.nb)])
    assert (H[~related] == 0).all()
    assert (H[related] != 0).all()
    assert related.sum() == sum(2 * len(kappa[i]) - 1 for i in range(1, model.nb))


def test_reference_tree_in_the_mass_matrix():
    base = random_robot(0, kinds=("revolute",), count=6, mimic=False)
    names = ["base", *[f"link_{i}" for i in range(6)]]
    joints = tuple(
        type(j)(j.name, j.kind, names[REFERENCE[i + 1]], j.child, j.R, j.p, j.axis) for i, j in enumerate(base.joints)
    )
    model = build_model(Robot("reference", base.links, joints))
    assert list(model.parent) == REFERENCE
    H = rd.mass_matrix(model, np.linspace(0.1, 0.9, 6))
    assert H[1, 4] == H[2, 4] == H[1, 3] == H[2, 5] == 0.0
    assert np.count_nonzero(H) == sum(2 * len(kappa) - 1 for kappa in paths(REFERENCE)[1:])
