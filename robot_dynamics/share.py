# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the files are that come with the package: config, launch, rviz, urdf."""

from pathlib import Path

from .errors import RobotDynamicsError

LOOP = "simulated_loop"
"""Parameter file of the nodes when plant, controller and feedforward run together."""


def parameter_files(node: str, urdf: Path | None, loop: bool = False) -> list[Path]:
    """Parameter files of a node in the order they are read: its own, the robot's if there is one, the loop's."""
    config = share_folder() / "config"
    of_robot = config / f"{'' if urdf is None else urdf.stem}.yaml"
    of_loop = config / f"{LOOP}.yaml"
    return [config / f"{node}.yaml", *([of_robot] if of_robot.is_file() else []), *([of_loop] if loop else [])]


def actuator_file(name: str) -> Path:
    """Parameter file with the actuators of a robot: a path, or one of those that come with the package by its name.

    Raises
    ------
    RobotDynamicsError
        There is no such file.
    """
    shipped = share_folder() / "config" / "robots"
    for path in (Path(name).expanduser(), shipped / f"{name}.yaml"):
        if path.is_file():
            return path
    known = ", ".join(sorted(path.stem for path in shipped.glob("*.yaml")))
    raise RobotDynamicsError(f"there is no file '{name}' with actuators of a robot; the package brings {known}")


def share_folder() -> Path:
    """Folder with `config`, `launch`, `rviz` and `urdf`: the source tree, or share/robot_dynamics of the prefix.

    Raises
    ------
    RobotDynamicsError
        The Python package was installed without them.
    """
    source = Path(__file__).resolve().parent
    for folder in (source.parent, *(prefix / "share" / "robot_dynamics" for prefix in source.parents)):
        if (folder / "package.xml").is_file():
            return folder
    raise RobotDynamicsError(
        f"there is no share/robot_dynamics above {source}; install with pip or colcon, not by copying"
    )
