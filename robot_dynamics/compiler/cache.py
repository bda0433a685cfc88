# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The folder that machine code is kept in between processes.

numba serves stale code when a callee in another file changes, so the folder's name holds a hash of all sources that
machine code depends on.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .choice import BACKEND

PACKAGE = Path(__file__).parents[1]
SOURCES = PACKAGE / "compiler", PACKAGE / "kernels"
"""Folders whose sources, those of sub-folders too, machine code depends on."""


def source_hash(folders: Sequence[Path], backend: str) -> str:
    """Hash of a backend's name and of all Python files in `folders` and below them."""
    digest = hashlib.sha256(backend.encode())
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder.parent).as_posix()
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _cache_roots() -> Iterator[Path]:
    """Yield where machine code may be kept: the user's cache, ROS's home or log folder, a temporary folder."""
    for variable, inside in (("XDG_CACHE_HOME", ""), ("HOME", ".cache"), ("ROS_HOME", ""), ("ROS_LOG_DIR", "")):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / inside / "robot_dynamics"
    yield Path(tempfile.gettempdir()) / f"robot_dynamics-{os.getuid()}"


def _usable(folder: Path) -> bool:
    """Tell whether `folder` can be written and is ours: code is loaded from it, so nobody else may own it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return False
    return status.st_uid == os.getuid() and not status.st_mode & stat.S_IWOTH


def _cache_folder() -> Path | None:
    name = source_hash(SOURCES, BACKEND)
    return next((root / name for root in _cache_roots() if _usable(root)), None)


CACHE_FOLDER = _cache_folder()
"""Where machine code is kept between processes; None when no folder can be written (every start then compiles)."""
