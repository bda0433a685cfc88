# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the launch files share: their arguments, where the robot comes from, how a node of this package is started."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory, get_packages_with_prefixes
from launch.action import Action
from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo, Shutdown
from launch.events.process import ProcessExited
from launch.launch_context import LaunchContext
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ..core.extras import VIEW as VIEW_NEEDS
from ..core.extras import lacking, missing
from ..errors import RobotDynamicsError
from ..share import actuator_file, parameter_files, share_folder

SHARE = share_folder()
SWITCH = ["true", "false"]
PARTS = ["all", "plant", "control"]
AS_IN_FILES = "empty: as in the parameter files."
FROM_TOPIC = "topic"
MINI_CHEETAH = str(SHARE / "urdf" / "mini_cheetah.urdf")

ARGUMENTS: dict[str, tuple[str, str, list[str] | None]] = {
    "namespace": ("", "Namespace of every node.", None),
    "own_clock": ("false", "Whether /clock and /tf go into the namespace, for several simulated robots.", SWITCH),
    "urdf_file": (MINI_CHEETAH, f"URDF or .xacro file, or '{FROM_TOPIC}': the topic robot_description.", None),
    "description_package": ("", "Package in whose share folder urdf_file lies; empty: urdf_file is a path.", None),
    "xacro_args": ("", "Arguments of a .xacro file, as 'name:=value name:=value'.", None),
    "robot_config": (
        "",
        "Actuators of the robot: go2, a1, b1, anymal_c, mini_cheetah, g1 or a parameter file; empty: without.",
        None,
    ),
    "params_file": ("", "Parameter file read after those in config/.", None),
    "use_sim_time": ("true", "Whether nodes other than the plant follow /clock.", SWITCH),
    "log_level": ("info", "Log level of the nodes of this package.", ["debug", "info", "warn", "error", "fatal"]),
    "rviz": ("false", "Whether to start rviz2.", SWITCH),
    "view": ("none", "Whether to show the robot in a browser: the log says at which address.", ["none", "browser"]),
    "rviz_config": (str(SHARE / "rviz" / "quadruped.rviz"), "Configuration of rviz2.", None),
    "contact_model": ("", f"Contact law of the plant; {AS_IN_FILES}", ["", "spring_damper", "impulse"]),
    "real_time_factor": ("", f"Simulated over wall time, 0: as fast as possible; {AS_IN_FILES}", None),
    "paused": ("false", "Whether the plant starts with a paused clock; ~/pause runs it.", SWITCH),
    "world": (
        "",
        "File of the ground (docs/guides/ground.md), or one of stairs.yaml, rough.yaml; empty: a plane.",
        None,
    ),
    "clearance": ("", f"Height of the lowest contact point above the ground at start [m]; {AS_IN_FILES}", None),
    "joints": ("", "Joint order of messages without names, comma separated; empty: order of the URDF.", None),
    "feet": ("", "Foot links, comma separated; empty: found from the collision geometry.", None),
    "part": ("all", "Nodes to start here: all, the plant alone, or all but the plant (control).", PARTS),
    "trot": ("false", "Whether to trot as soon as the robot stands; ~/gait changes it later.", SWITCH),
    "crawl": ("false", "Whether to crawl ahead as soon as the robot stands; ~/crawl changes it later.", SWITCH),
    "controller": ("effort_controller", "Controller whose topic <controller>/commands takes the efforts.", None),
    "reference_topic": ("", f"JointState stream whose velocities are the wanted motion; {AS_IN_FILES}", None),
    "record": ("", "Folder of a bag to record into (docs/guides/record_and_replay.md); empty: none.", None),
    "odometry": (
        "true",
        "Where odom comes from: the plant (true), or the estimator by noisy sensors (estimated); then the plant's is "
        "ground_truth/odom.",
        ["true", "estimated"],
    ),
    "estimate_base": ("false", "Whether to start the estimator, for robots without odom.", SWITCH),
    "estimate_contacts": (
        "false",
        "Whether the feed-forward publishes contacts found from joint efforts, for robots without foot sensors.",
        SWITCH,
    ),
    "imu_link": ("", "Link in whose frame imu/data is; empty: the root link.", None),
    "dry_run": ("true", "Publish only ~/torque until ~/enable is called.", SWITCH),
}
"""Launch argument -> default, description, valid values."""

GROUND_TRUTH = ("odom", "ground_truth/odom")
"""How odom of the plant is remapped where it is estimated."""
SENSOR_NOISE = {
    "noise_position": 1e-4,
    "noise_velocity": 0.01,
    "noise_gyro": 0.0095,
    "noise_gyro_bias": 0.005,
    "noise_accelerometer": 0.095,
    "noise_accelerometer_bias": 0.05,
}
"""Of a MEMS unit and encoders at 1 kHz: 0.0003 rad/s/sqrt(Hz) and 0.003 m/s^2/sqrt(Hz)."""

VIEW = ("use_sim_time", "rviz", "rviz_config", "view")
ROBOT = (
    "namespace",
    "own_clock",
    "urdf_file",
    "description_package",
    "xacro_args",
    "joints",
    "robot_config",
    "params_file",
    "log_level",
    "record",
)
PLANT = ("contact_model", "real_time_factor", "paused", "clearance", "world")


def declare(*names: str, **defaults: str) -> list[DeclareLaunchArgument]:
    """Declare launch arguments from the table above; `defaults` replace the table's."""
    declared = []
    for name in names:
        default, description, choices = ARGUMENTS[name]
        declared.append(
            DeclareLaunchArgument(
                name, default_value=defaults.get(name, default), description=description, choices=choices
            )
        )
    return declared


def given(context: LaunchContext, name: str) -> str:
    """Value of a launch argument as text."""
    return LaunchConfiguration(name).perform(context).strip()


def switched(context: LaunchContext, name: str) -> bool:
    """Value of a launch argument that is true or false."""
    return given(context, name) == "true"


def number(context: LaunchContext, name: str) -> float | None:
    """Value of a launch argument that is a number, or None if it is empty.

    Raises
    ------
    RobotDynamicsError
        It is neither.
    """
    text = given(context, name)
    try:
        return float(text) if text else None
    except ValueError:
        raise RobotDynamicsError(f"launch argument '{name}' must be a number, got '{text}'") from None


def robot(context: LaunchContext) -> dict[str, Any]:
    """Parameters that tell a node its robot: a path, the text of a processed xacro, or nothing for the topic.

    Raises
    ------
    RobotDynamicsError
        The file is missing, or xacro cannot process it.
    """
    path = urdf_path(context)
    if path is None:
        return {}
    if path.suffix == ".xacro":
        text = ParameterValue(description(context, path), value_type=str)
        return {"robot_description": text, "mesh_path": [str(path.parent)]}
    return {"urdf_file": ParameterValue(str(path), value_type=str)}


def urdf_path(context: LaunchContext) -> Path | None:
    """Path of the robot's file, None if its description comes by topic.

    Raises
    ------
    RobotDynamicsError
        There is no such file, or arguments for xacro come with another.
    """
    file, package = given(context, "urdf_file"), given(context, "description_package")
    if given(context, "xacro_args") and not file.endswith(".xacro"):
        raise RobotDynamicsError(f"launch argument 'xacro_args' is for a .xacro file, got 'urdf_file:={file}'")
    if file == FROM_TOPIC:
        return None
    path = Path(get_package_share_directory(package), file) if package else Path(file).expanduser()
    if not path.is_file():
        raise RobotDynamicsError(f"launch argument 'urdf_file': there is no file '{path}'")
    return path.resolve()


def description(context: LaunchContext, path: Path) -> str:
    """Text of the URDF in `path`, processed by xacro if it is a .xacro file."""
    if path.suffix != ".xacro":
        return path.read_text()
    try:
        import xacro
    except ModuleNotFoundError:
        raise RobotDynamicsError(missing("xacro")) from None
    words = [word.split(":=", 1) for word in shlex.split(given(context, "xacro_args"))]
    if any(len(word) != 2 for word in words):
        raise RobotDynamicsError(
            f"launch argument 'xacro_args' must be 'name:=value ...', got '{given(context, 'xacro_args')}'"
        )
    try:
        return xacro.process_file(str(path), mappings=dict(words)).toxml()
    except Exception as error:  # xacro raises whatever the evaluated expression raised
        raise RobotDynamicsError(f"xacro cannot process '{path}': {error}") from error


def own_clock(context: LaunchContext) -> list[tuple[str, str]]:
    """Remaps that keep the time and the frames of one simulated robot from others."""
    return [(f"/{topic}", topic) for topic in ("clock", "tf", "tf_static")] if switched(context, "own_clock") else []


def node(
    context: LaunchContext,
    name: str,
    overrides: Mapping[str, Any],
    *,
    loop: bool,
    remappings: Sequence[tuple[str, str]] = (),
    needed: bool = True,
) -> Node:
    """One node of this package: its files in config/, `robot_config`, `params_file`, the `overrides` that are not None.

    `loop` says whether plant, controller and feedforward run together. The launch ends when a `needed` node does, and
    as the node does; the node ends with the launch, also with one that is killed.
    """
    actuators = [actuator_file(given(context, "robot_config"))] if given(context, "robot_config") else []
    files = [*parameter_files(name, urdf_path(context), loop), *actuators, *own_parameters(context)]
    joints = {"joints": listed(context, "joints")}
    given_here = {**robot(context), "end_with_process": os.getpid(), **joints, **overrides}
    values = {key: value for key, value in given_here.items() if value is not None}
    return Node(
        package="robot_dynamics",
        executable=name,
        name=name,
        namespace=given(context, "namespace"),
        parameters=[*map(str, files), values],
        ros_arguments=["--log-level", given(context, "log_level")],
        output="screen",
        on_exit=end_as_it_did if needed else None,
        remappings=[*own_clock(context), *remappings],
    )


def end_as_it_did(event: ProcessExited, context: LaunchContext) -> Action | None:
    """End the launch with a node, unless it ends already; `ros2 launch` returns 1 only where something is raised.

    Raises
    ------
    RobotDynamicsError
        The node did not end well.
    """
    if context.is_shutdown:
        return None
    if event.returncode:
        raise RobotDynamicsError(f"{event.process_name} ended with exit code {event.returncode}")
    return Shutdown(reason=f"{event.process_name} has ended")


def own_parameters(context: LaunchContext) -> list[Path]:
    """Parameter file of the user, if one is given: launch itself starts the nodes with their defaults if it is missing.

    Raises
    ------
    RobotDynamicsError
        There is no such file.
    """
    file = given(context, "params_file")
    if file and not Path(file).expanduser().is_file():
        raise RobotDynamicsError(f"launch argument 'params_file': there is no file '{file}'")
    return [Path(file).expanduser()] if file else []


def listed(context: LaunchContext, name: str) -> list[str] | None:
    """Value of a launch argument that is a comma separated list, or None if it is empty."""
    words = [word.strip() for word in given(context, name).split(",") if word.strip()]
    return words or None


def plant(context: LaunchContext, *, loop: bool = False, alone: bool = False, estimated: bool = False) -> Node:
    """Start the simulated robot; it makes /clock, so it follows none.

    alone: its controllers are on another computer. How late their commands come is then a figure to see, not to hide.
    estimated: its sensors are noisy, and odom is left to the estimator.
    """
    overrides = {
        "contact_model": given(context, "contact_model") or None,
        "real_time_factor": number(context, "real_time_factor"),
        "start_paused": switched(context, "paused"),
        "clearance": number(context, "clearance"),
        "world": world(context),
        "max_command_age": 0.0 if alone else None,
    }
    noise = SENSOR_NOISE if estimated else {}
    remappings = [GROUND_TRUTH] if estimated else []
    return node(context, "plant", overrides | noise, loop=loop, remappings=remappings)


def world(context: LaunchContext) -> str | None:
    """Path of the ground's file: as given, or one of those that the package brings.

    Raises
    ------
    RobotDynamicsError
        There is no such file.
    """
    file = given(context, "world")
    if not file:
        return None
    for path in (Path(file).expanduser(), SHARE / "worlds" / file):
        if path.is_file():
            return str(path.resolve())
    shipped = ", ".join(sorted(path.name for path in (SHARE / "worlds").glob("*.yaml")))
    raise RobotDynamicsError(f"launch argument 'world': there is no file '{file}'; the package brings {shipped}")


def browser(context: LaunchContext, *, controls: bool = True) -> list[Action]:
    """Start the viewer if it is asked for; where its packages are missing, a sentence that says what to type."""
    if given(context, "view") != "browser":
        return []
    if sentence := lacking(VIEW_NEEDS):
        return [LogInfo(msg=f"view:=browser: {sentence}")]
    overrides = {"use_sim_time": switched(context, "use_sim_time"), "controls": controls}
    return [node(context, "viewer", overrides, loop=False, needed=False)]


def view(context: LaunchContext, *, frames: bool = True) -> list[Action]:
    """The viewer and rviz2 if they are asked for; robot_state_publisher unless `frames` come from elsewhere.

    Raises
    ------
    RobotDynamicsError
        rviz2 is asked for and not installed: said before any process has started, for that would go on running.
    """
    installed, actions = get_packages_with_prefixes(), browser(context)
    time = {"use_sim_time": switched(context, "use_sim_time")}
    common = {"namespace": given(context, "namespace"), "output": "screen", "remappings": own_clock(context)}
    path = urdf_path(context) if frames else None
    if path is not None and "robot_state_publisher" in installed:
        text = ParameterValue(description(context, path), value_type=str)
        kind = {"package": "robot_state_publisher", "executable": "robot_state_publisher"}
        actions.append(Node(**kind, parameters=[{"robot_description": text}, time], **common))
    elif path is not None:
        actions.append(LogInfo(msg="robot_state_publisher is not installed: no link frames on /tf"))
    if switched(context, "rviz") and "rviz2" not in installed:
        raise RobotDynamicsError("launch argument 'rviz': the package rviz2 is not installed")
    if switched(context, "rviz"):
        arguments = ["-d", given(context, "rviz_config")]
        actions.append(Node(package="rviz2", executable="rviz2", arguments=arguments, parameters=[time], **common))
    return actions


def recording(context: LaunchContext) -> list[Action]:
    """Record every topic of the namespace if that is asked for; the loop goes on where the recorder cannot.

    Raises
    ------
    RobotDynamicsError
        There is such a folder already, or rosbags is not installed: said before any process has started.
    """
    text = given(context, "record")
    if not text:
        return []
    if find_spec("rosbags") is None:
        raise RobotDynamicsError(missing("rosbags"))
    if Path(text).expanduser().exists():
        raise RobotDynamicsError(f"launch argument 'record': '{text}' exists already; a bag is written to a new folder")
    words = ["robot_dynamics_command", "record", str(Path(text).expanduser()), "--end-with-process", str(os.getpid())]
    namespace = given(context, "namespace")
    command = [sys.executable, "-m", *words, *(["--namespace", namespace] if namespace else [])]
    return [ExecuteProcess(cmd=command, name="record", output="screen")]
