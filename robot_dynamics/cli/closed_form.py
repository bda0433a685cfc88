# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics closed-form`: the equations of a leg or arm as formulas or source code, and what they cost."""

import argparse
import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..model.urdf import load_urdf
from ..symbolic.closed_form import ORDERS, ClosedForm, closed_form, unreduced_matrices
from .output import check_output, compiling_shown

HELP = "print the mass matrix, potential and gravity forces of a serial path as formulas, or as source code"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("urdf", help="URDF file")
    parser.add_argument("--base", required=True, metavar="LINK", help="link the path starts at; it is held still")
    parser.add_argument("--tip", required=True, metavar="LINK", help="link the path ends at, at most 8 joints further")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--latex", action="store_true", help="print an align* environment")
    form.add_argument("--source", choices=("python", "c"), help="print a function that computes the mass matrix")
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default="reduced",
        help="order in which the coefficients are built; all give the same, at different cost (default: %(default)s)",
    )
    parser.add_argument(
        "--matrices",
        type=Path,
        metavar="FILE.npz",
        help="write the coefficients of every matrix U_ijk, of at most 6 joints, into a file of numpy",
    )


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Print the formulas on stdout; beside source code and LaTeX the cost goes to stderr."""
    form = closed_form(load_urdf(args.urdf), args.base, args.tip, args.order)
    aside = sys.stderr if args.source or args.latex else sys.stdout
    if args.matrices:
        write_matrices(form, args.matrices)
    print(form.to_source(args.source) if args.source else form.to_text(args.latex), end="")
    print("\n" + cost(form), file=aside)
    if args.matrices:
        print(f"matrices: {args.matrices}", file=aside)
    return 0


def write_matrices(form: ClosedForm, path: Path) -> None:
    """Write all U_ijk, counted from 1 as in the book: names 'U_3_1_2' are body, row, column."""
    check_output(path, "--matrices")
    matrices: dict[str, Any] = {f"U_{i + 1}_{j + 1}_{k + 1}": U for (i, j, k), U in unreduced_matrices(form).items()}
    with path.open("wb") as file:
        np.savez(file, **matrices)


def cost(form: ClosedForm) -> str:
    """Say what it took to build the coefficients and what an evaluation takes."""
    source = form.to_source("c")
    body = source[source.index("{") :]
    stored = (form.inertia.nbytes + form.potential_energy.nbytes) / 1024
    kept, stored_now = size(bytes_of_matrices(form)), size(128 * form.matrices)
    return (
        f"cost: {form.steps} coefficient steps with {form.matrices} stored 4x4 matrices, order '{form.order}'; "
        f"{len(form.terms())} nonzero of {form.inertia.size} coefficients of H ({stored:.0f} KiB);\n"
        f"memory: {stored_now} for these matrices, {kept} if every U_ijk were kept, "
        f"{size(8 * coefficients(form))} for the coefficients of H that the structure leaves;\n"
        f"one evaluation of H: {body.count('cos(') + body.count('sin(')} sines and cosines, "
        f"{body.count(' * ')} products, {body.count(' + ')} sums"
    )


def bytes_of_matrices(form: ClosedForm) -> int:
    """Memory of the coefficients of all U_ijk: (i + 1) (i + 2) / 2 matrices for each multi-index of body i."""
    sizes = form.inertia.shape[1:]
    return sum(128 * prod(sizes[: i + 1]) * (i + 1) * (i + 2) // 2 for i in range(len(sizes)))


def coefficients(form: ClosedForm) -> int:
    """Count the coefficients of H that the structure leaves (L15): joint m has degree 0 to j, 1 to k, 2 beyond."""
    sizes = form.inertia.shape[1:]
    low = [(size + 1) // 2 for size in sizes]
    return sum(prod(low[j + 1 : k + 1]) * prod(sizes[k + 1 :]) for k in range(len(sizes)) for j in range(k + 1))


def size(count: int) -> str:
    """Write a number of bytes."""
    power = min(2, max(0, count.bit_length() - 1) // 10)
    return f"{count / 1024**power:.3g} {('B', 'KiB', 'MiB')[power]}"
