# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics topology`: who carries whom, and what that makes zero in the mass matrix."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..control.robot import load_robot
from ..dynamics.algorithms import sparse_mass_matrix
from ..dynamics.kinematics import neutral
from ..model.model import Model
from .output import check_output, compiling_shown
from .robots import add_robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "show a robot's tree: parents, paths, subtrees, and the zero pattern of its mass matrix"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--picture", type=Path, metavar="FILE.png", help="draw the pattern into a file")


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Print the sets of every body and the pattern; 0."""
    model = load_robot(args.urdf, floating_base=args.floating_base)
    pattern = zero_pattern(model)
    if args.picture:
        check_output(args.picture, "--picture")
        draw(model, pattern).savefig(args.picture, dpi=110)
    show(model, pattern)
    if args.picture:
        print(f"picture: {args.picture}")
    return 0


def paths(model: Model) -> list[list[int]]:
    """Bodies from the root to each body, itself included: kappa(i) of [RBDA] table 4.1; body 0 is the world."""
    found: list[list[int]] = [[]]
    for body in range(1, model.nb):
        found.append([*found[model.parent[body]], body])
    return found


def zero_pattern(model: Model) -> NDArray[np.bool_]:
    """Where structure allows other values than 0 in H (nv, nv)."""
    sparse = sparse_mass_matrix(model, neutral(model))
    lower = np.zeros((model.nv, model.nv), dtype=bool)
    for row in range(model.nv):
        lower[row, sparse.columns[sparse.starts[row] : sparse.starts[row + 1]]] = True
    both: NDArray[np.bool_] = lower | lower.T
    return both


def show(model: Model, pattern: NDArray[np.bool_]) -> None:
    """Print the robot for people."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False, emoji=False)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for header in ("i", "body", "parent λ(i)", "children μ(i)", "path κ(i)", "subtree \u03bd(i)"):
        table.add_column(header, overflow="fold")
    path = paths(model)
    for i in range(1, model.nb):
        children = [str(c) for c in range(1, model.nb) if model.parent[c] == i]
        subtree = [c for c in range(1, model.nb) if i in path[c]]
        table.add_row(
            str(i), model.body_names[i], str(model.parent[i]), " ".join(children) or "-",
            " ".join(map(str, path[i])), ranges(subtree),
        )  # fmt: skip
    console.print(table)
    nonzero, cells = int(pattern.sum()), max(1, pattern.size)
    depth = max((len(p) for p in path), default=0)
    console.print(
        f"\n{model.nb - 1} bodies, {sum(not np.any(model.parent[1:] == i) for i in range(1, model.nb))} ends, "
        f"{depth} deep; {nonzero} of {pattern.size} numbers of H may differ from 0 ({100 * nonzero / cells:.0f} %):\n"
    )
    for name, row in zip(coordinates(model), pattern, strict=True):
        console.print("".join("█" if x else "·" for x in row) + f"  {name}", soft_wrap=True)


def ranges(numbers: list[int]) -> str:
    """Write 2 3 4 7 as '2-4 7'."""
    parts: list[list[int]] = []
    for x in numbers:
        if parts and x == parts[-1][-1] + 1:
            parts[-1].append(x)
        else:
            parts.append([x])
    return " ".join(f"{p[0]}-{p[-1]}" if p[1:] else str(p[0]) for p in parts)


def coordinates(model: Model) -> list[str]:
    """Names of the degrees of freedom."""
    names = [f"base {axis}" for axis in ("ωx", "ωy", "ωz", "vx", "vy", "vz")] if model.floating_base else []
    out = [""] * model.nv
    out[: len(names)] = names
    for name, place in zip(model.joint_names, model.v_index, strict=True):
        out[place] = name
    return out


def draw(model: Model, pattern: NDArray[np.bool_]) -> "Figure":
    """Draw the pattern of H."""
    from matplotlib.figure import Figure

    names = coordinates(model)
    side = max(3.0, 0.22 * len(names) + 1.2)
    figure = Figure(figsize=(side, side), layout="constrained")
    plot = figure.subplots()
    plot.imshow(pattern, cmap="Blues", vmax=1.5)
    plot.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    plot.set_yticks(range(len(names)), names, fontsize=7)
    plot.set_title(f"{model.name}: where H may differ from 0", fontsize=9)
    return figure
