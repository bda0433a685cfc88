# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The robots of the benchmark, for us and for Pinocchio."""

import re
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pinocchio as pin

import robot_dynamics as rd

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from robot_files import FILES, robot_file

STATES = 64
ROBOTS = {
    "go2": ("go2", True),
    "anymal_c": ("anymal", True),
    "panda": ("panda", False),
    "g1": ("g1_29dof_rev_1_0", True),
    "talos": ("talos_reduced", True),
}
"""File name, and whether the base is free."""

__all__ = ["FILES", "ROBOTS", "STATES", "Case", "case", "go2_feet", "go2_points", "go2_stance"]


@dataclass(frozen=True)
class Case:
    """One robot: our model, Pinocchio's, and random states of ours."""

    name: str
    text: str
    floating: bool

    @cached_property
    def model(self) -> rd.Model:
        """Ours."""
        return rd.load_urdf(self.text, floating_base=self.floating)

    @cached_property
    def pinocchio(self) -> pin.Model:
        """Theirs."""
        root = (pin.JointModelFreeFlyer(),) if self.floating else ()
        return pin.buildModelFromXML(self.text, *root)

    @cached_property
    def states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """STATES configurations, velocities, and accelerations or efforts."""
        rng = np.random.default_rng(0)
        Q = np.array([rd.random_configuration(self.model, rng) for _ in range(STATES)])
        V, X = rng.standard_normal((2, STATES, self.model.nv))
        return Q, V, X


def case(name: str) -> Case:
    """One of ROBOTS, its mimic joints free, as Pinocchio's loader has them unless asked."""
    stem, floating = ROBOTS[name]
    return Case(name, re.sub(r"<mimic[^>]*/>", "", robot_file(stem).read_text()), floating)


LEGS = ("FL", "FR", "RL", "RR")
FOOT_RADIUS, SHANK, TRUNK = 0.022, 0.213, (0.3762, 0.0935, 0.114)
"""Of go2 [m]: ball of a foot, length of thigh and calf, edges of the trunk."""


def go2_feet(model: rd.Model) -> rd.Points:
    """The four feet."""
    feet = rd.points(model, {f"{leg}_foot": [(0.0, 0.0, 0.0)] for leg in LEGS})
    return replace(feet, radius=np.full(4, FOOT_RADIUS))


def go2_points(model: rd.Model) -> rd.Points:
    """Sixteen points: corners of the trunk, knees and feet."""
    signs = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    bare = rd.points(model, {"base": signs * TRUNK, **{f"{leg}_calf": [(0.0, 0.0, 0.0)] for leg in LEGS}})
    feet = go2_feet(model)
    return rd.Points(
        np.concatenate([bare.body, feet.body]),
        np.concatenate([bare.position, feet.position]),
        bare.link + feet.link,
        np.concatenate([bare.radius, feet.radius]),
    )


def go2_stance(model: rd.Model) -> np.ndarray:
    """q of the robot on its bent legs, feet under the hips and on the floor."""
    q = rd.neutral(model)
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    q[2] = 2.0 * SHANK * np.cos(0.8) + FOOT_RADIUS
    return q
