# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics closed-form`: the equations of a leg or arm as formulas or source code, and what they cost."""

import argparse
import sys

from ..closed_form import ClosedForm, closed_form
from ..urdf import load_urdf
from .output import compiling_shown

HELP = "print the mass matrix, potential and gravity forces of a serial path as formulas, or as source code"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("urdf", help="URDF file")
    parser.add_argument("--base", required=True, metavar="LINK", help="link the path starts at; it is held still")
    parser.add_argument("--tip", required=True, metavar="LINK", help="link the path ends at, at most 8 joints further")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--latex", action="store_true", help="print an align* environment")
    form.add_argument("--source", choices=("python", "c"), help="print a function that computes the mass matrix")


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Print the formulas on stdout; beside source code and LaTeX the cost goes to stderr."""
    form = closed_form(load_urdf(args.urdf), args.base, args.tip)
    print(form.to_source(args.source) if args.source else form.to_text(args.latex), end="")
    print("\n" + cost(form), file=sys.stderr if args.source or args.latex else sys.stdout)
    return 0


def cost(form: ClosedForm) -> str:
    """Say what it took to build the coefficients and what an evaluation takes."""
    source = form.to_source("c")
    body = source[source.index("{") :]
    stored = (form.inertia.nbytes + form.potential_energy.nbytes) / 1024
    return (
        f"cost: {form.steps} coefficient steps with {form.matrices} stored 4x4 matrices; "
        f"{len(form.terms())} nonzero of {form.inertia.size} coefficients of H ({stored:.0f} KiB);\n"
        f"one evaluation of H: {body.count('cos(') + body.count('sin(')} sines and cosines, "
        f"{body.count(' * ')} products, {body.count(' + ')} sums"
    )
