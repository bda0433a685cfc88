# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`inspect --density`: inertias of a URDF beside those of its shapes, flagged where they are odd, ready to paste."""

import json
import re

import numpy as np
import pytest

import robot_dynamics as rd

pytest.importorskip("rich", reason="rich is not installed")

from robot_dynamics.cli import main

PLATE = '<origin xyz="0.1 0 0"/><geometry><box size="0.4 0.2 0.02"/></geometry>'
ROD = '<geometry><cylinder radius="0.01" length="0.5"/></geometry>'
INERTIA = '<inertia ixx="{0}" ixy="0" ixz="0" iyy="{1}" iyz="0" izz="{2}"/>'
ROBOT = f"""
<robot name="odd">
  <link name="good">
    <inertial><origin xyz="0.1 0 0"/><mass value="4"/>{INERTIA.format(0.0135, 0.0535, 0.0667)}</inertial>
    <collision>{PLATE}</collision></link>
  <link name="heavy">
    <inertial><origin xyz="0.1 0 0"/><mass value="40"/>{INERTIA.format(0.135, 0.535, 0.667)}</inertial>
    <collision>{PLATE}</collision></link>
  <link name="wrong"><inertial><origin xyz="0.9 0 0"/><mass value="4"/>{INERTIA.format(1, 1, 1)}</inertial>
    <collision>{PLATE}</collision><visual>{ROD}<material name="grey"/></visual></link>
  <link name="bare"><collision>{PLATE}</collision></link>
  <link name="broken"><collision><geometry><mesh filename="nowhere.stl"/></geometry></collision></link>
  <link name="flat"><collision><geometry><sphere radius="0"/></geometry></collision></link>
  <link name="ghost"/>
  {"".join(f'<joint name="to_{x}" type="fixed"><parent link="good"/><child link="{x}"/></joint>'
           for x in ("heavy", "wrong", "bare", "broken", "flat", "ghost"))}
</robot>
"""  # fmt: skip


@pytest.fixture
def urdf(tmp_path) -> str:
    (tmp_path / "odd.urdf").write_text(ROBOT)
    return str(tmp_path / "odd.urdf")


def solids(capsys, *arguments: str) -> dict[str, dict]:
    assert main(["inspect", *arguments, "--json"]) == 0
    return {row["link"]: row for row in json.loads(capsys.readouterr().out)["solids"]}


def test_links_whose_inertia_is_not_that_of_their_shapes_are_flagged(capsys, urdf):
    rows = solids(capsys, urdf, "--density", "2700")
    odd = {link: row["odd"] for link, row in rows.items() if row["solid"]}
    assert odd == {
        "good": [], "heavy": ["mass"], "wrong": ["inertia", "centre"], "bare": ["no inertia in the URDF"],
    }  # fmt: skip
    assert rows["good"]["solid"]["mass"] == pytest.approx(2700 * 0.0016)
    assert "nowhere.stl" in rows["broken"]["problem"]
    assert rows["flat"]["problem"] == "its shapes have no volume"
    assert "ghost" not in rows


def test_visual_shapes_serve_as_well(capsys, urdf):
    rows = solids(capsys, urdf, "--density", "1000", "--shapes", "visual")
    assert list(rows) == ["wrong"]
    assert rows["wrong"]["solid"]["mass"] == pytest.approx(1000 * np.pi * 1e-4 * 0.5)


def test_what_is_there_to_paste_is_the_inertia_of_the_shapes(capsys, urdf, tmp_path):
    assert main(["inspect", urdf, "--density", "2700"]) == 0
    out = capsys.readouterr().out
    tag = re.search(r"<!-- bare -->\n(<inertial>.*</inertial>)", out).group(1)
    robot = rd.load_urdf(f'<robot name="r"><link name="l">{tag}</link></robot>', floating_base=True)
    H = rd.mass_matrix(robot, rd.neutral(robot))
    assert H[5, 5] == pytest.approx(4.32, rel=1e-5)
    assert H[2, 2] == pytest.approx(4.32 * (0.2 / 12 + 0.01), rel=1e-5)
    assert "flat: its shapes have no volume" in out


@pytest.mark.parametrize("density", ["0", "-1", "nan"])
def test_a_density_that_is_none_is_refused(capsys, urdf, density):
    assert main(["inspect", urdf, "--density", density]) == 2
    assert "--density must be above 0" in capsys.readouterr().err


def test_a_robot_without_such_shapes_is_told_of(capsys, tmp_path):
    (tmp_path / "a.urdf").write_text('<robot name="a"><link name="l"/></robot>')
    assert main(["inspect", str(tmp_path / "a.urdf"), "--density", "1000"]) == 2
    assert "no link has a collision shape" in capsys.readouterr().err
