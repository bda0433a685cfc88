# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bad input to every subcommand: one sentence that names it, exit code 2, and nothing run in vain."""

from pathlib import Path

import pytest
from numba.core import event

from robot_dynamics.cli import main
from robot_dynamics.cli.output import compiling_shown

ROBOT = str(Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf")
SUGGEST = ("--timestep=0.001", "--sag=0.001", "--bounce=0.5")
ESTIMATE = ("estimate", "run", f"--urdf={ROBOT}")
READERS = {
    "inspect": ("{}",),
    "closed-form": ("{}", "--base=base", "--tip=FR_knee"),
    "topology": ("{}",),
    "suggest-contact": ("{}", *SUGGEST),
    "compare-contacts": ("{}",),
    "demo": ("--robot={}",),
    "identify": ("log.npz", "{}"),
    "estimate": ("run", "--urdf={}"),
}
"""Subcommand -> its arguments, with {} where the URDF stands."""


def refused(capsys, *arguments: str) -> str:
    """What a command says on stderr that must not run."""
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("robot_dynamics: ")
    return said


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with files that are no robots."""
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "text").write_text("a robot")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("file", ["missing", "empty", "binary", "text", "folder", "text/inside"])
@pytest.mark.parametrize("command", READERS)
def test_a_file_that_is_no_robot_is_named(folder, capsys, command, file):
    needed = "rclpy" if command == "demo" else "rich"
    pytest.importorskip(needed, reason=f"{needed} is not installed")
    arguments = (word.format(file) for word in READERS[command])
    assert f"{file}'" in refused(capsys, command, *arguments)


@pytest.mark.parametrize("file", ["missing.npz", "empty.npz", "binary.npz", "folder.npz", "empty", "folder"])
def test_a_file_that_is_no_log_is_named(folder, capsys, file):
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    if file.endswith(".npz") and "missing" not in file:
        (folder / file).symlink_to(folder / file.removesuffix(".npz"))
    assert f"'{file}'" in refused(capsys, "identify", file, ROBOT)


@pytest.mark.parametrize("output", ["text/page.html", "folder", "/proc/nowhere/page.html"])
@pytest.mark.parametrize("command", [("compare-contacts",), ("demo",), ("identify", "log.npz", ROBOT), ESTIMATE])
def test_a_page_that_cannot_be_written_is_known_before_the_work(folder, capsys, command, output):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert f"--output: '{output}' cannot be written" in refused(capsys, *command, f"--output={output}")


def test_a_page_that_was_not_written_leaves_nothing(folder, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    refused(capsys, "identify", "log.npz", ROBOT, "--output=new/page.html")
    assert list((folder / "new").iterdir()) == []


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((("suggest-contact", ROBOT, *SUGGEST), option) for option in ("timestep", "sag", "bounce", "speed")),
        *((("compare-contacts",), option) for option in ("duration", "timestep", "friction", "stiffness", "damping")),
        *((("demo",), option) for option in ("duration", "real-time-factor")),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_number_that_is_none_is_named_with_what_is_expected(folder, capsys, command, option, value):
    said = refused(capsys, *command, f"--{option}={value}")
    assert option in said
    assert str(float(value)).removesuffix(".0") in said


@pytest.mark.parametrize("terminal", [True, False])
def test_compiling_is_told_to_a_terminal_and_taken_back(terminal, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with compiling_shown():
        for _ in range(2):
            with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
                pass
    with event.trigger_event("numba:compile"):
        pass
    told = "compiling (first time only) ...\r\x1b[K"
    assert capsys.readouterr().err == (2 * told if terminal else "")
