# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The install paths of the README, literally, and a newcomer's first hour: fresh environments, a home of their own."""

import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
MADE_HERE = ("build", "install", "log", "report", ".venv*", ".git", "*.egg-info", "__pycache__", ".*_cache")
EXTRAS = "ros,cli,report"
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.ros,
    pytest.mark.timeout(900),
    pytest.mark.skipif("ROS_DISTRO" in os.environ, reason="the wheels of rclpy do not go with a sourced ROS"),
]


def call(command, cwd, environment=None, code=0):
    """What a command prints; in the shell if it is a text."""
    shown = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )
    assert shown.returncode == code, f"{command}: {shown.stdout}{shown.stderr}"
    return shown.stdout + shown.stderr


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A clone of the source tree."""
    folder = tmp_path_factory.mktemp("clone") / "robot_dynamics"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*MADE_HERE))
    return folder


@pytest.fixture(scope="module")
def distributions(source, tmp_path_factory):
    """Wheel, and source distribution unpacked by pip itself."""
    folder = tmp_path_factory.mktemp("dist")
    call([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source], folder)
    call([sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", folder], source)
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": archive}


def fresh(folder):
    """An environment of variables for a new virtual environment and a new home."""
    venv, home = folder / "venv", folder / "home"
    home.mkdir()
    try:
        call([sys.executable, "-m", "venv", venv], folder)
    except AssertionError:
        pytest.skip("python3-venv is not installed")
    dropped = ("PYTHONPATH", "XDG_CACHE_HOME", "AMENT_PREFIX_PATH", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    path = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "HOME": str(home), "VIRTUAL_ENV": str(venv), "PATH": path, "COLUMNS": "80"}


@pytest.mark.parametrize("way", ["sdist", "editable"])
def test_the_command_the_nodes_and_the_default_mode_are_there(way, request, source, tmp_path):
    environment = fresh(tmp_path)
    if way == "editable":
        (typed,) = re.findall(r"`(pip install --editable [^`]*)`", README)
        call(typed, source, environment)
    else:
        archive = request.getfixturevalue("distributions")[way]
        call(f"pip install '{archive}[{EXTRAS}]'", tmp_path, environment)
    assert "robot_dynamics 0." in call("robot_dynamics --version", tmp_path, environment)
    for node in ("plant", "feedforward", "monitor", "controller", "estimator", "unitree_bridge", "viewer"):
        said = call(f"python -m robot_dynamics.ros.{node} --help", tmp_path, environment)
        assert said.startswith(f"{node}: ")
    exact = "from robot_dynamics.control.stance import SOLVER; print(SOLVER)"
    assert call(["python", "-c", exact], tmp_path, environment).strip() == "quadratic program"


def test_the_first_page_from_a_wheel(distributions, tmp_path):
    """What the README tells to type, in its order."""
    environment = fresh(tmp_path)
    (line,) = re.findall(r"^(pip install '\.\[.*)$", README, re.MULTILINE)
    assert line == f"pip install '.[{EXTRAS}]'"
    call(line.replace(".[", f"{distributions['wheel']}["), tmp_path, environment)
    prefix = Path(environment["VIRTUAL_ENV"])
    (export,) = re.findall(r"^export (AMENT_PREFIX_PATH)=\$VIRTUAL_ENV", README, re.MULTILINE)
    environment[export] = str(prefix)
    found = "from ament_index_python.packages import get_package_share_directory as f; print(f('robot_dynamics'))"
    assert call(["python", "-c", found], tmp_path, environment).strip() == str(prefix / "share" / "robot_dynamics")

    shutil.copy(ROOT / "urdf" / "mini_cheetah.urdf", tmp_path / "my_robot.urdf")
    for typed in re.findall(r"^robot_dynamics (?:inspect|suggest-contact).*$", README, re.MULTILINE):
        assert call(typed, tmp_path, environment)
    assert "pip install 'robot_dynamics[xacro]'" in call("robot_dynamics doctor", tmp_path, environment)
    for example in PYTHON:
        call(["python", "-c", example], tmp_path, environment)

    said = first_start(prefix / "lib" / "robot_dynamics" / "feedforward", tmp_path, environment)
    told = [text for text in said if "functions (first start only)" in text]
    assert len(told) > 1
    done, of_all = re.search(r"compiled (\d+) of (\d+) functions", told[-1]).groups()
    assert done == of_all
    if shutil.which("ros2") and find_spec("launch_ros"):
        call("ros2 launch robot_dynamics quadruped.launch.py --show-args", tmp_path, environment)


def first_start(command, cwd, environment):
    """Lines of a node with the mode it has by default until it is ready; it ends on Ctrl-C without an error."""
    arguments = ["--ros-args", "-p", f"urdf_file:={cwd / 'my_robot.urdf'}"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    node = subprocess.Popen([command, *arguments], cwd=cwd, env=environment, **pipe)
    lines = []
    try:
        while not lines or not lines[-1].endswith(": ready"):
            line = node.stdout.readline()
            assert line, lines
            lines.append(line.rstrip())
        node.send_signal(signal.SIGINT)
        assert node.wait(60) == 0
    finally:
        node.kill()
    return lines
