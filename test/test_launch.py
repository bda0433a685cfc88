# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The launch files under ROS's own launch, which is not on PyPI: skipped where it cannot be imported."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="ROS's launch and launch_ros are not on PyPI; source a ROS 2 installation")
from ament_index_python.packages import get_packages_with_prefixes
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.launch_description_sources import PythonLaunchDescriptionSource

from robot_dynamics.ros import launching
from robot_dynamics.warm_up import KINDS, warm_up_once

ROOT = Path(__file__).resolve().parents[1]
RUNNER = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
arguments = [tuple(word.split(":=", 1)) for word in sys.argv[2:]]
service = LaunchService()
source = PythonLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)]))
sys.exit(service.run())
"""
LAUNCHES = {"plant": 1, "feedforward": 2, "quadruped": 4, "compare_contacts": 6}
"""Launch file -> nodes of this package that it starts."""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An install prefix that runs this source tree: where ament finds the package and its executables."""
    prefix = tmp_path_factory.mktemp("prefix")
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    shutil.copy(ROOT / "resource" / "robot_dynamics", index)
    shutil.copytree(ROOT / "scripts", prefix / "lib" / "robot_dynamics")
    return prefix


def start(prefix, name, *arguments):
    """A launch file in a process of its own."""
    environment = {
        **os.environ,
        "AMENT_PREFIX_PATH": os.pathsep.join([str(prefix), *os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-c", RUNNER, str(ROOT / "launch" / f"{name}.launch.py"), *arguments]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
    return subprocess.Popen(command, env=environment, cwd=prefix, start_new_session=True, **pipe)


def refusal(prefix, name, *arguments, started=False):
    """What a launch file prints that cannot start, or whose node cannot."""
    process = start(prefix, name, *arguments)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert ("process started" in printed) == started
    return printed


@pytest.mark.parametrize("name", LAUNCHES)
def test_arguments_are_described(name):
    description = PythonLaunchDescriptionSource(str(ROOT / "launch" / f"{name}.launch.py"))
    declared = [
        entity
        for entity in description.get_launch_description(LaunchContext()).entities
        if isinstance(entity, DeclareLaunchArgument)
    ]
    names = {argument.name for argument in declared}
    assert {"namespace", "urdf_file", "use_sim_time", "params_file", "log_level"} <= names
    assert ("own_clock" in names) == (name != "compare_contacts"), "two robots always have a clock each"
    assert all(argument.description.startswith(launching.ARGUMENTS[argument.name][1]) for argument in declared)


@pytest.mark.parametrize("name", LAUNCHES)
def test_missing_robot_is_one_sentence(name, prefix):
    assert "there is no file '/nowhere/a.urdf'" in refusal(prefix, name, "urdf_file:=/nowhere/a.urdf")


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("contact_model:=soft", "spring_damper"),
        ("clearance:=high", "launch argument 'clearance' must be a number, got 'high'"),
        ("world:=moon.yaml", "there is no file 'moon.yaml'; the package brings rough.yaml, stairs.yaml"),
        ("description_package:=nowhere", "package 'nowhere' not found"),
        ("params_file:=/nowhere/a.yaml", "launch argument 'params_file': there is no file '/nowhere/a.yaml'"),
    ],
)
def test_bad_argument_is_one_sentence(argument, sentence, prefix):
    assert sentence in refusal(prefix, "quadruped", argument)


def test_a_node_that_refuses_its_parameters_ends_the_launch_with_an_error(prefix):
    printed = refusal(prefix, "quadruped", "joints:=FR_abad,elbow", started=True)
    assert "there is no joint 'elbow'" in printed
    assert re.search(r"Caught exception in launch .*: \w+-\d ended with exit code 2", printed)


def test_broken_xacro_is_one_sentence(prefix, tmp_path):
    pytest.importorskip("xacro", reason="xacro is not installed")
    (tmp_path / "a.xacro").write_text('<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="${nobody}"/>')
    assert "nobody" in refusal(prefix, "plant", f"urdf_file:={tmp_path / 'a.xacro'}")
    assert "'xacro_args'" in refusal(prefix, "plant", f"urdf_file:={tmp_path / 'a.xacro'}", "xacro_args:=a")


def test_arguments_for_xacro_need_a_xacro_file(prefix):
    for file in (launching.MINI_CHEETAH, "topic"):
        printed = refusal(prefix, "plant", f"urdf_file:={file}", "xacro_args:=a:=1")
        assert f"launch argument 'xacro_args' is for a .xacro file, got 'urdf_file:={file}'" in printed


@pytest.mark.parametrize(
    ("distribution", "remedy"),
    [("kilted", "sudo apt install ros-kilted-xacro"), ("", "pip install 'robot_dynamics[xacro]'")],
)
def test_without_xacro_it_is_said_what_to_type(prefix, tmp_path, monkeypatch, distribution, remedy):
    (tmp_path / "xacro.py").write_text("raise ModuleNotFoundError")
    (tmp_path / "a.xacro").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("ROS_DISTRO", distribution)
    assert remedy in refusal(prefix, "plant", f"urdf_file:={tmp_path / 'a.xacro'}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_nodes_end_with_a_launch_that_is_told_or_made_to(prefix, number):
    for kind in KINDS:
        warm_up_once(print, kind)
    process, lines = start(prefix, "quadruped"), []
    try:
        while sum(line.rstrip().endswith(": ready") for line in lines) < LAUNCHES["quadruped"]:
            line = process.stdout.readline()
            assert line, "".join(lines)
            lines.append(line)
        started = [int(pid) for pid in re.findall(r"process started with pid \[(\d+)\]", "".join(lines))]
        process.send_signal(number)
        process.communicate(timeout=60)
        assert len(started) >= LAUNCHES["quadruped"]
        deadline = time.monotonic() + 60
        while left := [pid for pid in started if runs(pid)]:
            assert time.monotonic() < deadline, f"processes {left} go on"
            time.sleep(0.05)
    finally:
        process.kill()


def runs(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def shown():
    """Whether a launch that is asked for a view starts the viewer: without its packages it goes on without."""
    return find_spec("viser") is not None and find_spec("yourdfpy") is not None


def test_without_its_packages_there_is_no_view_and_a_sentence_says_what_to_type(monkeypatch):
    monkeypatch.setattr(launching, "lacking", lambda modules: "type this")
    context = LaunchContext()
    context.launch_configurations["view"] = "browser"
    (said,) = launching.browser(context)
    assert "".join(x.perform(context) for x in said.msg) == "view:=browser: type this"
    context.launch_configurations["view"] = "none"
    assert launching.browser(context) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plant", ["view:=browser"]),
        ("plant", ["paused:=true", "clearance:=0.1", "contact_model:=impulse", "world:=stairs.yaml"]),
        ("feedforward", [f"urdf_file:={launching.MINI_CHEETAH}", "controller:=my_controller", "reference_topic:=goal"]),
        ("quadruped", ["namespace:=my_robot", "own_clock:=true", "trot:=true"]),
        ("quadruped", ["odometry:=estimated"]),
        ("feedforward", ["estimate_base:=true", "estimate_contacts:=true", f"urdf_file:={launching.MINI_CHEETAH}"]),
        ("quadruped", ["part:=plant"]),
        ("quadruped", ["part:=control"]),
        ("compare_contacts", ["log_level:=info"]),
    ],
)
def test_nodes_become_ready_and_end_on_ctrl_c(name, arguments, prefix):
    special = {"part:=plant": 1, "part:=control": 3, "odometry:=estimated": 5, "estimate_base:=true": 3}
    special["view:=browser"] = 1 + shown()
    nodes = special.get(arguments[0], LAUNCHES[name])
    for kind in KINDS:
        warm_up_once(print, kind)
    process = start(prefix, name, *arguments)
    lines = []
    try:
        while sum(line.rstrip().endswith(": ready") for line in lines) < nodes:
            line = process.stdout.readline()
            assert line, "".join(lines)
            lines.append(line)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert len(re.findall(r"process has (finished cleanly|died)", rest)) == nodes, rest
    assert "Traceback" not in "".join(lines) + rest


def test_the_ros2_control_example_names_the_packages_that_are_missing(prefix):
    if "controller_manager" in get_packages_with_prefixes():
        pytest.skip("controller_manager is installed")
    said = refusal(prefix, "../examples/ros2_control/ros2_control")
    assert "packages that are not installed: controller_manager, joint_state_topic_hardware_interface" in said
