# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Quadrupeds for tests: our Mini Cheetah and, where the package `example-robot-data` is installed, others."""

from functools import cache
from pathlib import Path

import pytest
from robot_files import FILES

import robot_dynamics as rd
from robot_dynamics.control.limbs import Legs, Stance, find_legs, find_stance

MINI_CHEETAH = Path(__file__).parent.parent / "urdf" / "mini_cheetah.urdf"
OTHERS = {"a1": "a1", "anymal_b": "anymal"}
NAMES = ("mini_cheetah", *OTHERS)
EACH = ("mini_cheetah", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS))
"""All of them; un-jitted ours alone, a stance takes seconds."""


def urdf(name: str) -> Path:
    """Path of a robot's URDF; skips the test if it is not installed."""
    if name == "mini_cheetah":
        return MINI_CHEETAH
    if not FILES:
        pytest.skip("example-robot-data is not installed")
    return next(path for path in FILES if path.stem == OTHERS[name] and name in str(path))


@cache
def model(name: str) -> rd.Model:
    """A robot with a floating base."""
    return rd.load_urdf(urdf(name), floating_base=True)


@cache
def stance(name: str) -> tuple[Legs, Stance]:
    """Legs of a robot and the stance they find."""
    legs = find_legs(model(name))
    return legs, find_stance(legs)
