# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every source file says whose it is and under which licence, in two lines."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmark", "docs", "examples", "launch", "robot_dynamics", "scripts", "test")
NOT_SOURCE = (".pyc", ".md", ".png", ".svg", ".yaml", ".xml", ".urdf", ".xacro", ".npz", ".onnx", ".json", ".typed")
SOURCES = [
    ROOT / "setup.py",
    *(
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and path.suffix not in NOT_SOURCE
    ),
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_first_lines_are_copyright_and_licence(path):
    lines = [line for line in path.read_text().splitlines()[:3] if not line.startswith("#!")]
    mark = "//" if path.suffix == ".cpp" else "#"
    assert lines[:2] == [
        f"{mark} Copyright 2026 robot_dynamics maintainers",
        f"{mark} SPDX-License-Identifier: Apache-2.0",
    ]
