# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What setup.cfg cannot say: the packages, and the files that `ros2 run` and `ros2 launch` look for."""

from glob import glob

from setuptools import find_packages, setup

NAME = "robot_dynamics"
SHARE = f"share/{NAME}"

setup(
    python_requires=">=3.10",  # read from setup.cfg it becomes an object that colcon cannot parse
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (SHARE, ["package.xml"]),
        (f"{SHARE}/config", sorted(glob("config/*.*"))),
        (f"{SHARE}/examples/policy", sorted(glob("examples/policy/*.*"))),
        (f"{SHARE}/config/robots", sorted(glob("config/robots/*.yaml"))),
        (f"{SHARE}/examples/ros2_control", sorted(glob("examples/ros2_control/*.*"))),
        (f"{SHARE}/examples/textbook", sorted(glob("examples/textbook/*.py"))),
        (f"{SHARE}/examples/control", sorted(glob("examples/control/*.py"))),
        (f"{SHARE}/examples/study", sorted(glob("examples/study/*.*"))),
        (f"{SHARE}/launch", sorted(glob("launch/*.launch.py"))),
        (f"{SHARE}/rviz", sorted(glob("rviz/*.rviz"))),
        (f"{SHARE}/worlds", sorted(glob("worlds/*.*"))),
        (f"{SHARE}/urdf", sorted(glob("urdf/*.urdf"))),
        # Not console_scripts: pip would put `plant` and `monitor` into bin, where ros2 run does not look.
        (f"lib/{NAME}", sorted(glob("scripts/*"))),
    ],
)
