# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every code block of README and docs/ runs, or a comment in front of it says why it cannot; the site builds."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?P<comment><!-- not run: [^\n]+ -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.M
)


class Block(NamedTuple):
    """One code block of a page."""

    page: Path
    language: str
    text: str
    skipped: bool

    def __str__(self) -> str:
        return f"{self.page.name}-{self.text.splitlines()[0][:30]}"


BLOCKS = [
    Block(page, found["language"], found["text"], bool(found["comment"]))
    for page in PAGES
    for found in BLOCK.finditer(page.read_text())
]
PYTHON = [block for block in BLOCKS if block.language == "python" and not block.skipped]
COMMANDS = [
    (block, line)
    for block in BLOCKS
    if block.language in ("", "bash") and not block.skipped
    for line in block.text.splitlines()
    if line.startswith("robot_dynamics ")
]


def environment():
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "80"}


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_runs(block, tmp_path):
    command = [sys.executable, "-c", block.text]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=200)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", sorted({line for _, line in COMMANDS}))
def test_commands_run(line, tmp_path):
    shutil.copy(ROOT / "urdf" / "mini_cheetah.urdf", tmp_path / "my_robot.urdf")
    command = f"{sys.executable} -m {line}"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=280
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_the_site_builds_without_a_warning(tmp_path):
    if find_spec("sphinx") is None:
        pytest.skip("Sphinx is not installed: make docs")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--nitpicky", "--builder", "html"]
    done = subprocess.run([*command, ROOT / "docs", tmp_path], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    fetched = re.compile(r'(?:src|href)="(?:https?:)?//[^"]+\.(?:js|css|woff2?)"')
    assert [page.name for page in tmp_path.glob("*.html") if fetched.search(page.read_text())] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_external_links_are_addresses(page):
    for address in re.findall(r"\]\((https?:[^)]*)\)", page.read_text()):
        assert re.fullmatch(r"https://[\w.-]+\.[a-z]+(/[\w./#?=&%~+-]*)?", address), address
