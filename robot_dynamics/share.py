"""Where the files are that come with the package: config, launch, rviz, urdf."""

from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError


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
