# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a command shows besides its answer: that it compiles, and the HTML page it leaves behind.

Whether the page can be written is known before the work, not after.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..compiler.events import on_compile
from ..errors import ParameterError


def check_output(path: Path, option: str = "--output") -> None:
    """Make the folder of a file and see whether the file can be written.

    Raises
    ------
    ParameterError
        It cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.exists()
        path.open("ab").close()
        if not before:
            path.unlink()
    except OSError as error:
        raise ParameterError(f"{option}: '{path}' cannot be written: {error.strerror}") from None


def write_page(path: Path, html: str) -> None:
    """Write the page and say where it is."""
    path.write_text(html)
    print(f"report: {path}")


@contextmanager
def compiling_shown() -> Iterator[None]:
    """Say on a terminal that kernels are being compiled, for as long as they are: the first time takes a while."""
    if not sys.stderr.isatty():
        yield
        return
    with on_compile(
        lambda: print("compiling (first time only) ...", end="", file=sys.stderr, flush=True),
        lambda: print("\r\x1b[K", end="", file=sys.stderr, flush=True),
    ):
        yield
