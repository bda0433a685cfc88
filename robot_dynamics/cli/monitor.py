# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics monitor`: model error, energy and momentum of a bag, and what would explain the error."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..bags.accounts import ENERGIES, Watched, watch
from ..bags.heard import RESIDUAL, find_topics
from ..core import report
from ..core.bag import Bag
from ..model.model import Model
from ..ros.parameters import MonitorParameters
from .bag_robot import add_arguments as add_bag
from .bag_robot import beside, choose, prepare
from .feedforward import show_table
from .output import compiling_shown, write_page
from .replay import bar, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "hold every joint state of a bag against the model: error per joint, suggested friction and armature"
HEAD = (
    "joint", "model error\nrms", "largest", "suggested\narmature\n[kg m^2]", "viscous\n[N m s/rad]", "Coulomb\n[N m]",
)  # fmt: skip
ACCOUNT = {
    "balance_error": "energy unexplained [J]",
    "momentum_error": "momentum unexplained [N s]",
    "angular_momentum_error": "angular momentum unexplained [N m s]",
    "lost": "time between states that were lost [s]",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bag(parser)


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Print errors and suggestions, write the page: 0."""
    prepare(args.output)
    with bar() as show, Bag(args.bag) as bag:
        chosen = choose(bag, args, RESIDUAL, MonitorParameters())
        model, node = chosen.model, chosen.node
        energies = f"{node}/{ENERGIES}" if f"{node}/{ENERGIES}" in bag.topics else ""
        topics = find_topics(bag, args.topic, node)
        found = watch(model, chosen.parameters, bag, topics, energies, lambda done: show("accounting", done))
    said = [summary(found, args.bag), *([] if args.urdf else beside(found.live, chosen.foreign)), *account(found)]
    print("\n".join(said))
    show_table(HEAD, rows(model, found))
    if args.output is not None:
        write_page(args.output, page(model, found, said, args.bag))
    return 0


def summary(found: Watched, bag: Path) -> str:
    """One sentence."""
    refused = "; ".join(f"{what}: {count}" for what, count in found.refused.items())
    text = f"{bag}: {found.states} joint states, {len(found.stamp)} model errors"
    return text + (f"; {refused}" if refused else "")


def account(found: Watched) -> list[str]:
    """What energy and momentum leave unexplained, a line each."""
    values = {label: getattr(found.account, name) for name, label in ACCOUNT.items()} if found.account else {}
    return [f"{label}: {value:.4g}" for label, value in values.items() if not np.isnan(value)]


def rows(model: Model, found: Watched) -> list[tuple[str, ...]]:
    """Model error [N m or N] and suggestions of each joint."""
    largest = np.abs(found.residual).max(axis=0)
    figures = zip(model.joint_names, found.rms, largest, found.suggestion.T, strict=True)
    return [
        (joint, f"{error:.4f}", f"{worst:.3f}", *(f"{x:.4f}" if x else "-" for x in suggested))
        for joint, error, worst, suggested in figures
    ]


def page(model: Model, found: Watched, said: Sequence[str], bag: Path) -> str:
    """Write the HTML page."""
    head = [title.replace("\n", " ") for title in HEAD]
    parts = [*map(report.paragraph, said), report.table(head, rows(model, found))]
    text = "Measured effort less that of the equations of motion, with damping and friction of the URDF."
    parts += [report.heading("Model error"), report.paragraph(text), report.picture(plot(model, found), "Each joint.")]
    return report.page(f"{model.name}: {bag.name} held against the model", parts)


def plot(model: Model, found: Watched) -> "Figure":
    """Model error over time, a plot for each joint."""
    n = len(model.joint_names)
    figure, plots = figure_of(n, 1.1 * n + 0.8)
    for axes, name, residual in zip(plots, model.joint_names, found.residual.T, strict=True):
        axes.plot(found.stamp, residual, linewidth=0.7)
        axes.set_ylabel(name, rotation=0, ha="right", va="center")
    return figure
