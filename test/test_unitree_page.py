# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tables of the Unitree page say what the bridge does."""

from pathlib import Path

from robot_dynamics.control.unitree import HUMANOID, NO_POSITION, NO_VELOCITY, QUADRUPED, ROBOTS
from robot_dynamics.ros.parameters import UnitreeBridgeParameters

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "unitree.md").read_text()


def test_the_table_of_motors_is_the_order_of_the_bridge():
    row = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in PAGE.splitlines()
        if line.startswith("| ")
    }
    names = tuple(f"{leg}_{joint}_joint" for leg, joint in zip(row["leg"], row["joint"], strict=True))
    assert row["index"] == [str(i) for i in range(12)]
    assert names == QUADRUPED
    assert len(HUMANOID) == 29


def test_figures_on_the_page_are_those_of_the_bridge():
    values = UnitreeBridgeParameters()
    assert f"`rate` ({values.rate:g} Hz)" in PAGE
    assert f"`command_timeout` ({1e3 * values.command_timeout:g} ms)" in PAGE
    assert (f"{NO_POSITION / 1e9:g}e9" in PAGE, str(NO_VELOCITY) in PAGE) == (True, True)
    assert {name: kind.mode for name, kind in ROBOTS.items()} == {"go2": 1, "a1": 10, "b2": 10, "g1": 1}
