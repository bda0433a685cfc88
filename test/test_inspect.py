# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics inspect`: the totals, one JSON object, 100 columns, one sentence on bad input."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from random_robots import random_robot
from urdf_text import chain_text, joint_text, link_text, robot_text, written

from robot_dynamics import load_urdf
from robot_dynamics.cli import main

MINI_CHEETAH = Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf"


def inspect(capsys, path: Path, *options: str) -> str:
    assert main(["inspect", str(path), *options]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def saved(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    return path


def test_mini_cheetah_for_people(capsys):
    lines = inspect(capsys, MINI_CHEETAH, "--floating-base").splitlines()
    assert lines[0] == "mini_cheetah"
    assert lines[1] == "13 links, 12 joints, floating base: nq 19, nv 18"
    assert lines[2].startswith("8.252 kg, centre of mass at (0.0000 0.0000 -0.0145) m")
    assert any(line.split() == ["FR_knee", "revolute", "y", "-2.705", "2.705", "27.99", "25.72"] for line in lines)
    assert any(line.split()[:4] == ["├", "FR_abad", "1", "0.54"] for line in lines)
    assert "  base 8, FR_hip 1, FR_knee 1, FL_hip 1" in "\n".join(lines)
    assert max(map(len, lines)) <= 100


def test_json_holds_the_same(capsys):
    robot = json.loads(inspect(capsys, MINI_CHEETAH, "--floating-base", "--json"))
    model = load_urdf(MINI_CHEETAH, floating_base=True)
    assert (robot["nq"], robot["nv"], robot["root"]) == (19, 18, "base")
    assert [body["name"] for body in robot["bodies"]] == list(model.body_names)
    assert sum(body["mass"] for body in robot["bodies"]) == pytest.approx(robot["mass"])
    assert [joint["name"] for joint in robot["joints"]] == list(model.joint_names)
    assert [joint["effort"] for joint in robot["joints"]] == model.effort_limit.tolist()
    assert sum(robot["contact_points"].values()) == 16
    assert robot["bodies"][2]["com"] == pytest.approx([0.0, -0.036, 0.0])


def test_links_on_fixed_joints_share_a_body(capsys, tmp_path):
    ball = '<inertial><origin xyz="0 0 1"/><mass value="{}"/></inertial>'
    moved = joint_text("b", "c", '<origin xyz="0 0 3"/>', kind="fixed")
    links = (link_text("a"), link_text("b", ball.format(1)), link_text("c", ball.format(3)))
    path = saved(tmp_path, robot_text(*links, joint_text("a", "b"), moved))
    body = json.loads(inspect(capsys, path, "--json"))["bodies"][1]
    assert body == {"name": "b", "parent": "world", "mass": 4.0, "com": [0.0, 0.0, 3.25], "links": ["b", "c"]}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [(), ("--floating-base",)])
def test_every_kind_of_joint(capsys, tmp_path, seed, options):
    robot = random_robot(seed, count=25)
    path = saved(tmp_path, written(robot))
    text = inspect(capsys, path, *options)
    described = json.loads(inspect(capsys, path, "--json", *options))
    for name in (
        *(body["name"] for body in described["bodies"][1:]),
        *(joint["name"] for joint in described["joints"]),
    ):
        assert name in text
    assert max(map(len, text.splitlines())) <= 100
    mass = sum(link.inertial.mass for link in robot.links)
    assert described["mass"] == pytest.approx(mass)
    assert np.isfinite(described["com"]).all()


def test_what_is_odd_is_said(capsys, tmp_path):
    mass = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="9"/></inertial>'
    mesh = '<collision><geometry><mesh filename="none.stl"/></geometry></collision>'
    links = (link_text("a"), link_text("[bold]b", mass, mesh), link_text("c"), link_text("d", mass, mesh))
    mimic = joint_text("[bold]b", "d", '<axis xyz="0 0 1"/>', '<mimic joint="x" multiplier="2"/>', name="y")
    joints = (joint_text("a", "[bold]b", name="x"), mimic, joint_text("d", "c", name="tip"))
    path = saved(tmp_path, robot_text(*links, *joints, "<gazebo/>"))
    text = inspect(capsys, path)
    assert "mimic joints:\n  y = 2 x" in text
    assert "refuses this robot:\n  tip" in text
    assert "link '[bold]b' breaks the triangle inequality" in text
    assert "links '[bold]b', 'd'" in text
    assert "not used:\n  gazebo 1" in text
    robot = json.loads(inspect(capsys, path, "--json"))
    assert robot["mimic"] == {"y": "2 x"}
    assert robot["singular"] == ["tip"]
    assert (len(robot["nonphysical"]), len(robot["unread_meshes"])) == (2, 1)
    assert robot["joints"][0]["effort"] is None


def test_the_base_is_that_of_the_nodes(capsys, tmp_path):
    """It moves, unless it has no mass, is called world, or is said to stand."""
    assert json.loads(inspect(capsys, MINI_CHEETAH, "--json"))["floating_base"]
    assert not json.loads(inspect(capsys, MINI_CHEETAH, "--json", "--no-floating-base"))["floating_base"]
    bolted = saved(tmp_path, MINI_CHEETAH.read_text().replace('"base"', '"world"'))
    assert not json.loads(inspect(capsys, bolted, "--json"))["floating_base"]


def test_friction_that_no_motor_overcomes_is_said(capsys, tmp_path):
    text = MINI_CHEETAH.read_text().replace("<limit", '<dynamics friction="10000"/><limit')
    path = saved(tmp_path, text)
    assert "joint 'FR_knee' has a friction of 10000 and an effort limit of 27.99" in inspect(capsys, path)
    assert len(json.loads(inspect(capsys, path, "--json"))["immovable"]) == 12


def test_a_robot_without_joints(capsys, tmp_path):
    assert "1 links, 0 joints" in inspect(capsys, saved(tmp_path, chain_text("a")))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [(None, "there is no URDF file"), ("<robot/>", "the robot has no name"), (chain_text("ab")[:-9], "well-formed")],
)
def test_bad_input_is_one_sentence(capsys, tmp_path, text, sentence):
    path = tmp_path / "none.urdf" if text is None else saved(tmp_path, text)
    assert main(["inspect", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1


def test_without_rich(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(["inspect", str(MINI_CHEETAH)]) == 2
    assert "pip install 'robot_dynamics[cli]'" in capsys.readouterr().err
    assert main(["inspect", str(MINI_CHEETAH), "--json"]) == 0
