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


def test_every_example_is_on_its_page():
    page = (ROOT / "docs" / "guides" / "textbook.md").read_text()
    assert [path.stem for path in EXAMPLES if f"textbook/{path.name}" not in page] == []
