# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Connectivity of a tree given by its parents ([RBDA] chapter 4): mu, nu and kappa of every body.

`parent[i] < i` and body 0 is the world, whose parent is -1.
"""

from collections.abc import Sequence


def children(parent: Sequence[int]) -> list[list[int]]:
    """mu(i): the bodies whose parent is i."""
    mu: list[list[int]] = [[] for _ in parent]
    for i in range(1, len(parent)):
        mu[parent[i]].append(i)
    return mu


def subtrees(parent: Sequence[int]) -> list[list[int]]:
    """nu(i): the bodies of the subtree rooted at i, i first."""
    nu = [[i] for i in range(len(parent))]
    for i in range(len(parent) - 1, 0, -1):
        nu[parent[i]] = [parent[i], *sorted(nu[parent[i]][1:] + nu[i])]
    return nu


def paths(parent: Sequence[int]) -> list[list[int]]:
    """kappa(i): the joints on the path from body i, included, to the world."""
    kappa: list[list[int]] = [[] for _ in parent]
    for i in range(1, len(parent)):
        kappa[i] = [i, *kappa[parent[i]]]
    return kappa
