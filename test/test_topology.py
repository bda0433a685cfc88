# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sets of a tree and the zero pattern of its mass matrix, as the command shows them."""

from pathlib import Path

import numpy as np
import pytest
from random_robots import random_model, random_state

import robot_dynamics as rd

pytest.importorskip("rich", reason="rich is not installed")

from robot_dynamics.cli import main
from robot_dynamics.cli.topology import paths, ranges, zero_pattern

ROBOT = str(Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf")


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_the_pattern_holds_every_number_and_the_paths_end_at_their_bodies(seed, floating):
    model = random_model(seed, floating_base=floating)
    q, *_ = random_state(model, seed)
    pattern = zero_pattern(model)
    assert not rd.mass_matrix(model, q)[~pattern].any()
    np.testing.assert_array_equal(pattern, pattern.T)
    for body, path in enumerate(paths(model)[1:], start=1):
        assert path[-1] == body
        assert [model.parent[b] for b in path[1:]] == path[:-1]


def test_numbers_in_a_row_are_a_range():
    assert ranges([1]) == "1"
    assert ranges([2, 3, 4, 7, 9, 10]) == "2-4 7 9-10"
    assert ranges([]) == ""


def test_the_command_shows_the_tree_and_draws_the_pattern(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "new" / "pattern.png"
    assert main(["topology", ROBOT, "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "13 bodies, 4 ends, 4 deep; 216 of 324 numbers of H may differ from 0 (67 %)" in out
    assert "██████···███······  FL_knee" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["topology", ROBOT, "--picture", "/proc/nowhere/a.png"]) == 2
    assert "--picture: '/proc/nowhere/a.png' cannot be written" in capsys.readouterr().err
