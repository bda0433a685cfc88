# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics feedforward`: what the node of that name would answer to a bag, beside what was measured."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bags.answers import Fed, feed
from ..bags.heard import find_topics
from ..control.feedforward import PARTS
from ..control.inputs import INPUTS
from ..core import report
from ..core.bag import Bag
from ..model.model import Model
from ..ros.parameters import FeedforwardParameters
from .bag_robot import add_arguments as add_bag
from .bag_robot import beside, choose, prepare
from .output import compiling_shown, write_page
from .replay import bar, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "answer every joint state of a bag with the efforts its motion needs, at full speed"
MODES = ("gravity", "bias", "inverse_dynamics", "stance")
HEAD = ("joint", *(f"{part}\nrms" for part in PARTS), "measured\nrms", "measured less\ntotal, rms")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bag(parser)
    parser.add_argument("--mode", choices=MODES, help="as the node's (default: that of the bag's node, else stance)")
    parser.add_argument("--reference", help="JointState topic of wanted velocities (default: that node's, else none)")


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Print root mean squares of the parts, write the page: 0."""
    prepare(args.output)
    with bar() as show, Bag(args.bag) as bag:
        chosen = choose(bag, args, INPUTS, FeedforwardParameters())
        model, v, node = chosen.model, chosen.parameters, chosen.node
        changed = bool(args.urdf or args.mode or args.reference)
        followed = resolved(node, v.reference_topic) if node else ""
        reference = args.reference or (followed if followed in bag.topics else "")
        topics = find_topics(bag, args.topic, "" if args.reference else node, reference)
        found = feed(model, replace(v, mode=args.mode or v.mode), bag, topics, lambda done: show("answering", done))
    said = [summary(found, args.bag), *([] if changed else beside(found.live, chosen.foreign))]
    print("\n".join(said))
    show_table(HEAD, rows(model, found))
    if args.output is not None:
        write_page(args.output, page(model, found, said, args.bag))
    return 0


def resolved(node: str, topic: str) -> str:
    """Name of a topic of a node in full; what it was remapped to is not known."""
    if topic.startswith("~/"):
        return f"{node}{topic[1:]}"
    return topic if topic.startswith("/") else f"{node.rsplit('/', 1)[0]}/{topic}"


def summary(found: Fed, bag: Path) -> str:
    """One sentence."""
    refused = "; ".join(f"{what}: {count}" for what, count in found.refused.items())
    span = found.stamp[-1] - found.stamp[0]
    return f"{bag}: {len(found.stamp)} joint states in {span:.2f} s answered{f'; {refused}' if refused else ''}"


def show_table(head: tuple[str, ...], cells: list[tuple[str, ...]]) -> None:
    """Print a table."""
    from rich.console import Console

    from .inspect import new_table

    table = new_table(*head, left=1)
    for row in cells:
        table.add_row(*row)
    Console(markup=False, highlight=False, emoji=False).print(table)


def rms(x: Any) -> Any:
    """Root mean square over time."""
    return np.sqrt(np.mean(np.square(x), axis=-2))


def rows(model: Model, found: Fed) -> list[tuple[str, ...]]:
    """Root mean squares of each joint [N m or N]."""
    figures = np.vstack([rms(found.parts), rms(found.measured), rms(found.measured - found.parts[-1])]).T
    return [
        (joint, *("-" if np.isnan(x) else f"{x:.3f}" for x in row))
        for joint, row in zip(model.joint_names, figures, strict=True)
    ]


def page(model: Model, found: Fed, said: Sequence[str], bag: Path) -> str:
    """Write the HTML page."""
    head = [title.replace("\n", " ") for title in HEAD]
    parts = [*map(report.paragraph, said), report.table(head, rows(model, found))]
    for j, joint in enumerate(model.joint_names):
        parts += [
            report.heading(joint),
            report.picture(plot(found, j), f"Effort of {joint}: measured, needed, and what that consists of."),
        ]
    return report.page(f"{model.name}: feed-forward of {bag.name}", parts)


def plot(found: Fed, j: int) -> "Figure":
    """Measured and needed effort of a joint, and the parts of the latter."""
    figure, (above, below) = figure_of(2, 4.0)
    above.plot(found.stamp, found.measured[:, j], color="0.2", linewidth=0.8, label="measured")
    above.plot(found.stamp, found.parts[-1, :, j], linewidth=0.9, label="total")
    for part, values in zip(PARTS[:-1], found.parts, strict=False):
        below.plot(found.stamp, values[:, j], linewidth=0.8, label=part)
    for axes in (above, below):
        axes.set_ylabel("effort [N m, N]")
        axes.legend(ncols=4, fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure
