# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where pip and colcon put the package, and what the command does with bad input."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import xml.etree.ElementTree as ET
from configparser import ConfigParser
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from depth import every

from robot_dynamics import cli
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.share import share_folder

ROOT = Path(__file__).resolve().parents[1]
NODES = ("plant", "feedforward", "monitor", "controller", "estimator", "unitree_bridge", "viewer")
LAUNCHES = ("plant", "feedforward", "quadruped", "compare_contacts")
MADE_HERE = ("build", "install", "log", "report", ".venv*", ".git", "*.egg-info", "__pycache__", ".*_cache")

needs_ros = pytest.mark.skipif(find_spec("rclpy") is None, reason="rclpy cannot be imported")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the source tree: setuptools writes into the folder it builds."""
    folder = tmp_path_factory.mktemp("source") / "robot_dynamics"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*MADE_HERE))
    return folder


@pytest.fixture(scope="module")
def pip_prefix(source, tmp_path_factory):
    """What `pip install .` leaves behind, in a prefix of its own."""
    prefix = tmp_path_factory.mktemp("pip")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    call([sys.executable, "-m", "pip", "install", *options, "--ignore-installed", "--prefix", str(prefix), str(source)])
    return prefix


@pytest.fixture(scope="module")
def colcon_prefix(source, tmp_path_factory):
    """What `colcon build` leaves behind."""
    pytest.importorskip("colcon_ros", reason="colcon is not installed")
    base = tmp_path_factory.mktemp("colcon")
    places = [f"--{name}-base" for name in ("build", "install")]
    options = [text for place in places for text in (place, str(base / place.strip("-")))]
    main = "import sys; from colcon_core.command import main; sys.exit(main())"
    call([sys.executable, "-c", main, "--log-base", str(base / "log"), "build", "--base-paths", str(source), *options])
    return base / "install-base" / "robot_dynamics"


@pytest.fixture(params=every(2, ["pip", "colcon"]))
def prefix(request):
    return request.getfixturevalue(f"{request.param}_prefix")


def call(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(prefix):
    """Environment in which Python finds the package in `prefix` first."""
    site = next(prefix.glob("**/robot_dynamics/__init__.py")).parents[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "PATH": path}


def test_share_is_where_launch_looks(prefix):
    share = prefix / "share" / "robot_dynamics"
    assert (prefix / "share/ament_index/resource_index/packages/robot_dynamics").is_file()
    assert (share / "package.xml").is_file()
    assert {path.name for path in (share / "launch").glob("*.py")} == {f"{name}.launch.py" for name in LAUNCHES}
    assert {f"{name}.yaml" for name in NODES} <= {path.name for path in (share / "config").iterdir()}
    assert (share / "urdf" / "mini_cheetah.urdf").is_file()
    assert (share / "rviz" / "quadruped.rviz").is_file()
    example = {path.name for path in (share / "examples" / "ros2_control").glob("*.*")}
    assert example == {"controllers.yaml", "mini_cheetah.xacro", "ros2_control.launch.py"}


@needs_ros
def test_nodes_start_where_ros2_run_looks(prefix, tmp_path):
    for name in NODES:
        path = prefix / "lib" / "robot_dynamics" / name
        assert os.access(path, os.X_OK)
        assert f"{name}: " in call([str(path), "--help"], env=environment(prefix), cwd=tmp_path)


def test_command_is_in_bin_and_knows_its_files(prefix, tmp_path):
    command = [str(prefix / "bin" / "robot_dynamics"), "--version"]
    assert call(command, env=environment(prefix), cwd=tmp_path).split() == ["robot_dynamics", version()]
    code = "from robot_dynamics.share import share_folder; print(share_folder())"
    found = call([sys.executable, "-c", code], env=environment(prefix), cwd=tmp_path)
    assert Path(found.strip()) == prefix / "share" / "robot_dynamics"


def test_only_the_start_of_the_command_is_installed_beside_the_package(pip_prefix):
    site = Path(sysconfig.get_path("purelib", vars={"base": str(pip_prefix)}))
    found = {path.name for path in site.iterdir() if "dist-info" not in path.name} - {"__pycache__"}
    assert found == {"robot_dynamics", "robot_dynamics_command.py"}


def test_source_distribution_can_be_built_from(source, tmp_path):
    call([sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(tmp_path)], cwd=source)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames() if "/" in name}
    assert {"package.xml", "LICENSE", "urdf/mini_cheetah.urdf", "scripts/monitor", "launch/plant.launch.py"} <= names


def version():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config["metadata"]["version"]


def test_manifest_agrees_with_setup():
    manifest = ET.parse(ROOT / "package.xml").getroot()
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    assert manifest.findtext("name") == config["metadata"]["name"]
    assert manifest.findtext("version") == version()
    assert manifest.findtext("license") == config["metadata"]["license"]
    assert manifest.find("maintainer").get("email") == config["metadata"]["maintainer_email"]


def test_manifest_names_every_ros_package_that_is_imported():
    manifest = ET.parse(ROOT / "package.xml").getroot()
    declared = {element.text for element in manifest if element.tag.endswith("depend")}
    imported = re.compile(
        r"^\s*(?:from|import) "
        r"(\w+_msgs|std_srvs|builtin_interfaces|simulation_interfaces|rclpy|launch|launch_ros|ament_index_python|xacro)\b",
        re.M,
    )
    used = {name for path in ROOT.glob("robot_dynamics/**/*.py") for name in imported.findall(path.read_text())}
    assert used <= declared


def test_manifest_has_a_place_for_questions_and_every_python_package_that_rosdep_knows():
    manifest = ET.parse(ROOT / "package.xml").getroot()
    assert {url.get("type") for url in manifest.iter("url")} == {"website", "repository", "bugtracker"}
    declared = {element.text for element in manifest if element.tag.endswith("depend")}
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    needed = {re.split(r"[<>=]", line)[0] for line in config["options"]["install_requires"].split()}
    keys = {name: f"python3-{name}" for name in needed} | {"urdf-parser-py": "urdfdom_py"}
    assert {keys[name] for name in needed - {"daqp"}} <= declared


def test_the_changelog_is_catkin_s():
    lines = (ROOT / "CHANGELOG.rst").read_text().splitlines()
    title = f"Changelog for package {ET.parse(ROOT / 'package.xml').findtext('name')}"
    assert lines[:3] == ["^" * len(title), title, "^" * len(title)]
    headings = [above for above, below in pairwise(lines) if below and set(below) == {"-"}]
    assert headings[0] == "Forthcoming" or headings[0].startswith(version())


def test_types_are_shipped(pip_prefix):
    assert next(pip_prefix.glob("**/robot_dynamics/py.typed")).is_file()


def test_share_folder_missing_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("robot_dynamics.share.__file__", str(tmp_path / "robot_dynamics" / "share.py"))
    with pytest.raises(RobotDynamicsError, match="install with pip or colcon"):
        share_folder()


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        cli.main([command, "--help"])
    assert exit_.value.code == 0
    assert f"robot_dynamics {command}" in capsys.readouterr().out


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    listed = capsys.readouterr().out
    assert all(command in listed for command in cli.COMMANDS)


def test_unknown_command_names_the_valid_ones(capsys):
    with pytest.raises(SystemExit) as exit_:
        cli.main(["dance"])
    assert exit_.value.code == cli.BAD_INPUT
    error = capsys.readouterr().err
    assert "dance" in error
    assert all(command in error for command in cli.COMMANDS)


class Command:
    """A subcommand that raises what it is told to."""

    HELP = "raises"

    def __init__(self, error):
        self.error = error

    def add_arguments(self, parser):
        pass

    def run(self, args):
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (RobotDynamicsError("the sentence"), 2, "the sentence"),
        (FileNotFoundError(2, "No such file or directory", "a.urdf"), 2, "a.urdf: No such file or directory"),
        (ModuleNotFoundError("x", name="matplotlib.figure"), 2, "robot_dynamics[report]"),
        (ModuleNotFoundError("x", name="sensor_msgs"), 2, "source a ROS 2 installation"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=["own error", "file", "extra", "ros", "ctrl-c"],
)
def test_errors_become_one_sentence_and_an_exit_code(error, code, text, monkeypatch, capsys):
    monkeypatch.setattr("robot_dynamics.cli.importlib.import_module", lambda name: Command(error))
    assert cli.main(["inspect"]) == code
    printed = capsys.readouterr().err
    assert text in printed
    assert printed.count("\n") <= 1


@pytest.mark.parametrize(("module", "command"), [("numpy", "inspect"), ("rosbags", "record"), ("rclpy", "record")])
def test_ctrl_c_while_modules_are_imported_is_answered_by_an_exit_code_alone(tmp_path, module, command):
    """The module is of our own making: it says that its import has begun, and never ends it."""
    (tmp_path / f"{module}.py").write_text("import signal\nprint('begun', flush=True)\nsignal.pause()\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    line = [sys.executable, "-m", "robot_dynamics_command", command, str(tmp_path / "nothing")]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    # a test run in the background ignores Ctrl-C, and so would what it starts
    with subprocess.Popen(line, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert (*process.communicate(timeout=60), process.returncode) == ("", "", 130)


def test_a_mistake_of_ours_is_not_hidden(monkeypatch):
    monkeypatch.setattr(
        "robot_dynamics.cli.importlib.import_module", lambda name: Command(ModuleNotFoundError("x", name="numpyy"))
    )
    with pytest.raises(ModuleNotFoundError):
        cli.main(["inspect"])


def test_closed_pipe_is_silent(tmp_path):
    command = f"{sys.executable} -m robot_dynamics --help | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
