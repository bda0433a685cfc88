# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""URDF files of real robots, from the PyPI package `example-robot-data` (extra `test`); empty when it is missing."""

from importlib import metadata
from pathlib import Path

import pytest


def _folder() -> Path | None:
    try:
        found = metadata.distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")
    except metadata.PackageNotFoundError:
        return None
    return Path(str(found))


FOLDER = _folder()
FILES = sorted(FOLDER.rglob("*.urdf")) if FOLDER else []


def robot_file(stem: str) -> Path:
    """The one URDF whose file name is `stem`.urdf; skips the test where there are none."""
    if not FILES:
        pytest.skip("example-robot-data is not installed")
    return next(path for path in FILES if path.stem == stem)
