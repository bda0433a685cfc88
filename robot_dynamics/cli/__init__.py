# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics`: one file per subcommand, imported only when it is asked for."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from ..core.extras import EXTRAS, missing
from ..errors import RobotDynamicsError

COMMANDS = {
    "inspect": "inspect",
    "demo": "demo",
    "compare-contacts": "compare_contacts",
    "suggest-contact": "suggest_contact",
    "closed-form": "closed_form",
    "topology": "topology",
    "record": "record",
    "replay": "replay",
    "make-bag": "make_bag",
    "feedforward": "feedforward",
    "monitor": "monitor",
    "identify": "identify",
    "study": "study",
    "estimate": "estimate",
    "warm-up": "warm_up",
    "doctor": "doctor",
}
"""Subcommand -> module of `robot_dynamics.cli` with HELP, add_arguments(parser) and run(args) -> exit code."""

BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code: 2 with one sentence on stderr for bad input, 130 after Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        args = build_parser(arguments).parse_args(arguments)
        code = args.run(args)
        sys.stdout.flush()
        return code
    except RobotDynamicsError as error:
        return refuse(str(error))
    except ModuleNotFoundError as error:
        return refuse(missing_extra(error))
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser with the subcommands that `arguments` needs."""
    parser = argparse.ArgumentParser(prog="robot_dynamics", description="Rigid-body dynamics of a URDF robot.")
    parser.add_argument("--version", action="version", version=f"robot_dynamics {package_version()}")
    subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)
    for command in needed(arguments):
        module = importlib.import_module(f"robot_dynamics.cli.{COMMANDS[command]}")
        subparser = subparsers.add_parser(command, help=module.HELP, description=module.HELP)
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run)
    return parser


def needed(arguments: Sequence[str]) -> Sequence[str]:
    """Subcommands whose modules have to be imported."""
    first = arguments[0] if arguments else "--help"
    if first == "--version":
        return []
    return [first] if first in COMMANDS else list(COMMANDS)


def package_version() -> str:
    """Version of the installed package."""
    try:
        return version("robot_dynamics")
    except PackageNotFoundError:
        return "(not installed)"


def missing_extra(error: ModuleNotFoundError) -> str:
    """Say what to install, or raise `error` again when no extra brings the missing module."""
    module = (error.name or "").split(".")[0]
    if module.endswith("_msgs") or module == "std_srvs":
        module = "rclpy"
    if module not in EXTRAS:
        raise error
    return missing(module)


def refuse(sentence: str) -> int:
    """Print `sentence` on stderr and return the exit code for bad input."""
    print(f"robot_dynamics: {sentence}", file=sys.stderr)
    return BAD_INPUT
