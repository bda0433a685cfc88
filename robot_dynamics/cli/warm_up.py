# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics warm-up`: compile now instead of at the first start of a node."""

import argparse

from ..compiler.cache import CACHE_FOLDER
from ..warm_up import KINDS, LIBRARY, LIMBS, LOADER, TREES, warm_up_once

WHAT = {
    LOADER: "reading a robot",
    LIMBS: "robots of equal limbs",
    TREES: "other robots",
    LIBRARY: "calls from Python",
}
HELP = "compile all kernels and keep the machine code, so that nodes start fast"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(args: argparse.Namespace) -> int:
    """Compile, and say where the machine code is kept."""
    for kind in KINDS:

        def report(how_far: str, what: str = WHAT[kind]) -> None:
            print(f"compiled {how_far} for {what}", flush=True)

        warm_up_once(report, kind)
    print(f"machine code: {CACHE_FOLDER or 'no folder can be written, so every start compiles'}")
    return 0
