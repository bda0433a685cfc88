# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the README and the pages in docs/ tell people to type, run, or open exists."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = PAGES[0].read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_row_of_a_table_has_its_columns(page):
    """A bar inside a cell has to be escaped."""
    tables = re.findall(r"(?:^\|.*\n)+", page.read_text(), re.MULTILINE)
    for table in tables:
        columns = [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()]
        assert len(set(columns)) == 1, table.splitlines()[columns.index(max(columns))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page):
    text = page.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)) <= targets
    assert set(re.findall(r"^robot_dynamics ([a-z-]+)", text, re.MULTILINE)) <= set(cli.COMMANDS)
    launched = set(re.findall(r"ros2 launch robot_dynamics (\w+\.launch\.py)", text))
    assert launched <= {path.name for folder in ("launch", "examples") for path in (ROOT / folder).rglob("*.launch.py")}


def test_the_diagnostics_of_the_fault_table_are_those_of_the_nodes():
    rows = [line for line in (ROOT / "docs" / "faults.md").read_text().splitlines() if line.startswith("|")]
    shown = [text for row in rows for text in re.findall(r"`([^`]+)`", row.split("|")[-2])]
    source = "".join(path.read_text() for path in sorted((ROOT / "robot_dynamics").rglob("*.py")))
    parts = {part.strip(" 2") for text in shown for part in text.removeprefix("refused ").split(":")}
    assert len(parts) > 20
    assert [part for part in parts if part not in source] == []


def test_first_screen_has_sentence_picture_commands_and_launch_line():
    screen = "\n".join(README.splitlines()[:16])
    parts = ("# robot_dynamics", "![", "make demo", "make test", "ros2 launch robot_dynamics quadruped.launch.py")
    places = [screen.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_run(number, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", EXAMPLES[number]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
