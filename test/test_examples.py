# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every textbook example prints what it says that it prints, and draws what it says that it draws."""

import ast
import re
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples" / "textbook").glob("*.py"))
DRAWN = [path for path in EXAMPLES if "sys.argv" in path.read_text()]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_the_numbers_that_it_promises(path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    promised = ast.get_docstring(ast.parse(path.read_text())).split("It prints:\n\n")[1]
    assert capsys.readouterr().out.rstrip() == dedent(promised).rstrip()


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_an_example_draws_its_picture(path, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path / "picture.png")])
    runpy.run_path(str(path), run_name="__main__")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_with_an_lqr_the_robot_tilts_less_and_is_upright_sooner(capsys, monkeypatch, tmp_path):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["push_recovery", str(picture)])
    runpy.run_path(str(ROOT / "examples" / "control" / "push_recovery.py"), run_name="__main__")
    rows = capsys.readouterr().out.splitlines()[1:]
    alone, both = ([float(x) for x in re.findall(r"\d+\.?\d*", row)] for row in rows)
    assert both[0] < 0.8 * alone[0]
    assert both[1] < alone[1] < 2.0
    assert picture.read_bytes().startswith(b"\x89PNG")


MPC = runpy.run_path(str(ROOT / "examples" / "control" / "sampling_mpc.py"))


@pytest.mark.slow
def test_with_plans_the_robot_walks_on_after_a_push_that_throws_the_trot_over():
    ticks = round(2.2 / (MPC["H"] * MPC["TICK"]))
    trot, _ = MPC["walk"](2.2, plans=False, samples=8)
    assert len(trot) < ticks
    planned, spent = MPC["walk"](2.2, samples=32)
    assert len(planned) == ticks + 1
    assert planned[-1, 0] > 0.5
    assert np.abs(planned[:, 1]).max() < 0.4
    assert planned[:, 2].min() > 0.22
    assert spent > 0.0


@pytest.mark.slow
def test_a_walk_is_the_same_on_any_number_of_threads():
    one, two = (MPC["walk"](0.3, samples=24, threads=k, seed=4)[0] for k in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_a_plan_is_linear_between_its_knots_and_goes_on_where_it_was():
    spline, knots = MPC["between_knots"], np.random.default_rng(1).standard_normal((MPC["KNOTS"], 3))
    ticks, places = np.arange(MPC["HORIZON"] + 20), np.linspace(0.0, MPC["HORIZON"], MPC["KNOTS"])
    expected = np.column_stack([np.interp(ticks, places, knots[:, j]) for j in range(3)])
    np.testing.assert_allclose(spline(ticks) @ knots, expected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_the_robot_walks_by_sampling_beside_a_trot_and_beside_a_stance(capsys, monkeypatch, tmp_path):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["sampling_mpc", str(picture)])
    runpy.run_path(str(ROOT / "examples" / "control" / "sampling_mpc.py"), run_name="__main__")
    alone, trot, stance = capsys.readouterr().out.splitlines()
    assert "fallen" in alone
    for row, least in ((trot, 1.6), (stance, 0.8)):
        assert "on its feet" in row
        assert float(re.search(r"at \((-?[\d.]+), ", row)[1]) > least
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_every_example_is_on_its_page():
    page = (ROOT / "docs" / "guides" / "textbook.md").read_text()
    assert [path.stem for path in EXAMPLES if f"textbook/{path.name}" not in page] == []
