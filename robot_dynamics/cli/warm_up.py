"""`robot_dynamics warm-up`: compile now instead of at the first start of a node."""

import argparse

from ..kernels.jit import CACHE_FOLDER
from ..warm_up import KINDS, warm_up_once

HELP = "compile all kernels and keep the machine code, so that nodes start fast"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(args: argparse.Namespace) -> int:
    """Compile, and say where the machine code is kept."""
    for kind in KINDS:
        warm_up_once(lambda what: print(f"compiling {what}", flush=True), kind)
    print(f"machine code: {CACHE_FOLDER or 'no folder can be written, so every start compiles'}")
    return 0
