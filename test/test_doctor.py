# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics doctor` with and without what it looks for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics.cli import doctor, main

WITHOUT = """
import sys
from importlib.util import find_spec
real = find_spec
import importlib.util
importlib.util.find_spec = lambda name, package=None: None if name in {modules!r} else real(name, package)
for name in {modules!r}:
    sys.modules[name] = None
from robot_dynamics.cli import main
sys.exit(main(["doctor"]))
"""
REMEDIES = {
    "rich": "pip install 'robot_dynamics[cli]'",
    "matplotlib": "pip install 'robot_dynamics[report]'",
    "rosbags": "pip install 'robot_dynamics[bag]'",
    "xacro": "pip install 'robot_dynamics[xacro]'",
    "daqp": "pip install daqp",
    "rclpy": "pip install 'robot_dynamics[ros]'",
}


def without(*modules, columns="80"):
    """What the command prints where these modules cannot be imported."""
    environment = {**os.environ, "COLUMNS": columns}
    environment.pop("ROS_DISTRO", None)
    command = [sys.executable, "-c", WITHOUT.format(modules=set(modules))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("module", REMEDIES)
def test_what_is_missing_is_named_with_the_line_to_type(module):
    if module == "rclpy" and list(Path("/opt/ros").glob("*/setup.bash")):
        pytest.skip("a ROS installation is there to be sourced")
    said = without(module).splitlines()
    row = next(i for i, line in enumerate(said) if line.startswith(f"{module} "))
    assert "--" in said[row]
    assert f"    {REMEDIES[module]}" in said[row + 1 : row + 3]


def test_everything_missing_is_one_table_within_eighty_columns_but_for_lines_to_type():
    said = without(*REMEDIES).splitlines()
    assert all(len(line) <= 80 for line in said if not line.startswith("    ") or line.startswith(" " * 10))


def test_with_everything_nothing_is_to_be_installed(capsys):
    for module in ("rich", "matplotlib", "rosbags", "xacro", "daqp"):
        pytest.importorskip(module)
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "robot_dynamics[" not in said
    assert "\x1b" not in said


def test_ros2_launch_that_does_not_find_the_package_is_told_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGE", tmp_path / "lib" / "python3" / "site-packages" / "robot_dynamics")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "elsewhere"))
    assert doctor.ros2_launch().remedy.startswith("pip install .")
    (tmp_path / doctor.MARKER).parent.mkdir(parents=True)
    (tmp_path / doctor.MARKER).touch()
    assert doctor.ros2_launch().remedy == f"export AMENT_PREFIX_PATH={tmp_path}:$AMENT_PREFIX_PATH"
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere{os.pathsep}{tmp_path}")
    assert doctor.ros2_launch() == ("ros2 launch", True, f"finds robot_dynamics in {tmp_path}", "")


def test_wheels_beside_a_sourced_ros_are_named(monkeypatch):
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    monkeypatch.setattr(doctor, "installed", lambda name: "9.1.2")
    monkeypatch.setenv("ROS_DISTRO", "")
    assert next(doctor.ros()) == ("rclpy", True, "9.1.2 from PyPI, of Kilted", "")
    monkeypatch.setenv("ROS_DISTRO", "humble")
    assert "humble is sourced too" in next(doctor.ros()).found


@pytest.mark.parametrize(
    ("there", "found", "remedy"),
    [(0, "limbs", "robot_dynamics warm-up"), (4, "compiled", "")],
    ids=["not compiled", "compiled"],
)
def test_kernels_that_are_not_compiled_are_named(there, found, remedy, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(doctor, "finished", lambda folder, kind: bool(there))
    (finding,) = doctor.machine_code()
    assert found in finding.found
    assert finding.remedy == remedy


def test_without_a_folder_every_start_compiles(monkeypatch):
    monkeypatch.setattr(doctor, "CACHE_FOLDER", None)
    assert "every start compiles" in next(doctor.machine_code()).found


def test_leftovers_in_shared_memory_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "SHARED_MEMORY", tmp_path)
    assert next(doctor.shared_memory()).well
    (tmp_path / "fastrtps_abc").write_bytes(bytes(2_000_000))
    (tmp_path / "sem.fastrtps_abc").write_bytes(b"")
    finding = next(doctor.shared_memory())
    assert finding.found == "2 files of Fast DDS, 2 MB"
    assert finding.remedy.startswith(f"rm {tmp_path}/")


@pytest.mark.parametrize(
    ("setting", "backend", "remedy"),
    [
        ({"NUMBA_DISABLE_JIT": "1"}, "backend python", "unset NUMBA_DISABLE_JIT ROBOT_DYNAMICS_BACKEND"),
        ({"ROBOT_DYNAMICS_BACKEND": "numba"}, "backend numba", "unset ROBOT_DYNAMICS_BACKEND"),
        ({"ROBOT_DYNAMICS_BACKEND": "llvm"}, "backend llvm", ""),
    ],
    ids=["none", "numba", "llvm"],
)
def test_the_backend_is_named_with_the_line_that_brings_the_fast_one(setting, backend, remedy):
    environment = {**os.environ, "COLUMNS": "120", "NUMBA_DISABLE_JIT": "0", **setting}
    command = [sys.executable, "-m", "robot_dynamics", "doctor"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=True).stdout
    lines = said.splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("numba "))
    assert backend in "".join(lines[row : row + 2])
    assert not remedy or f"    {remedy}" in lines[row + 1 : row + 3]
