# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics replay`: a recorded run put through the plant again, identical or not, or with something changed."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bags.replay import Comparison, Recorded, Replay, changed_plant, read_run
from ..core import report
from ..core.bag import Bag
from ..errors import ParameterError
from .output import check_output, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "put the commands of a recorded run through the plant again, tick by tick, and compare"
HEAD = ("joint", "position\n[rad, m]", "at [s]", "velocity\n[rad/s, m/s]", "at [s]", "effort\n[N m, N]", "at [s]")
DIFFERENT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bag", type=Path, help="bag of `robot_dynamics record` or `robot_dynamics make-bag`")
    parser.add_argument("--urdf", default="", help="URDF of another robot with the same joints, in place of that one")
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME:=VALUE",
        help="parameter of the plant to change, as in docs/parameters.md",
    )
    parser.add_argument("--output", type=Path, help="HTML page with both runs")


def run(args: argparse.Namespace) -> int:
    """Replay: 0 if identical, or if something was changed on purpose; 1 if not."""
    if args.output is not None:
        import matplotlib.figure  # noqa: F401 - say now, not after the replay, that it is missing

        check_output(args.output)
    given = parameters(args.param)
    with bar() as show, Bag(args.bag) as bag:
        if bag.salvaged:
            print(bag.salvaged)
        recorded = read_run(bag, lambda done: show("reading", done))
        what_if = bool(args.urdf or given)
        changed = changed_plant(recorded.setup, args.urdf, given) if what_if else None
        found = Replay(recorded, changed).go(lambda done: show("replaying", done))
    changes = [*([f"robot {args.urdf}"] if args.urdf else []), *args.param]
    print(said := verdict(found, recorded, changes))
    if not found.identical:
        show_table(found)
    if args.output is not None:
        write_page(args.output, page(found, said, args.bag))
    return 0 if found.identical or (what_if and not found.altered and found.compared) else DIFFERENT


def parameters(texts: Sequence[str]) -> dict[str, Any]:
    """Read NAME:=VALUE as ROS does: numbers, true and false, lists in brackets, else text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition(":=")
        if not (name and sign and value):
            raise ParameterError(f"--param takes NAME:=VALUE, got '{text}'")
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        head, _, rest = name.partition(".")
        if rest:
            found.setdefault(head, {})[rest] = read
        else:
            found[name] = read
    return found


@contextmanager
def bar() -> Iterator[Any]:
    """Show a bar with what is going on on a terminal."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(transient=True, console=console, disable=not console.is_terminal) as shown:
        task = shown.add_task("opening", total=1.0)

        def show(what: str, done: float) -> None:
            shown.update(task, description=what, completed=done)

        yield show


def verdict(found: Comparison, recorded: Recorded, changes: Sequence[str]) -> str:
    """One sentence about both runs, and where they part and why."""
    said = [f"{found.ticks} ticks redone, {found.compared} joint states compared"]
    if found.lost or found.skipped:
        said.append(f"{found.lost} ticks are not in the bag, {found.skipped} stand before a snapshot")
    if not found.compared:
        said.append("nothing could be compared")
    elif found.identical:
        said.append("identical")
    if found.altered is not None:
        a = found.altered
        said.append(
            f"altered, tick {a.tick}, at {a.stamp:.6f} s: {a.what} is {a.recorded!r} in the bag, "
            f"but the plant was told {a.replayed!r}"
        )
    if found.first is not None:
        said.append(f"they part in {found.first}; {cause(found, recorded, changes)}")
    if found.ended:
        said.append(f"the replay ended early: {found.ended}")
    return "; ".join(said)


def cause(found: Comparison, recorded: Recorded, changes: Sequence[str]) -> str:
    """Say why two runs part."""
    if changes:
        return f"changed: {', '.join(changes)}"
    if foreign := recorded.setup.foreign():
        return f"cause: recorded elsewhere, {foreign}"
    if found.of_another_version:
        return "cause: recorded by another version of this package, whose plant remembers otherwise"
    if found.altered is not None:
        return "cause: the bag was altered"
    return (
        "cause: what the bag tells of this tick (drive or joint_states) is not what the plant did; versions and "
        "processor are the same"
    )


def rows(found: Comparison) -> Iterator[tuple[str, ...]]:
    """Largest deviations of each joint."""
    top, when = found.largest()
    for j, joint in enumerate(found.model.joint_names):
        cells = ((f"{top[i, j]:.3g}", f"{when[i, j]:.3f}") for i in range(3))
        yield joint, *(cell for pair in cells for cell in pair)


def show_table(found: Comparison) -> None:
    """Print the largest deviations."""
    from rich.console import Console

    from .inspect import new_table

    table = new_table(*HEAD, left=1)
    for row in rows(found):
        table.add_row(*row)
    Console(markup=False, highlight=False, emoji=False).print("Largest deviation of each joint", table, sep="\n")


def page(found: Comparison, said: str, bag: Path) -> str:
    """Write the HTML page."""
    parts = [
        report.paragraph(said),
        report.heading("Largest deviation of each joint"),
        report.table([title.replace("\n", " ") for title in HEAD], rows(found)),
    ]
    if np.isfinite(found.height).any():
        parts += [report.heading("Base"), report.picture(plot_height(found), "Height of the base.")]
    parts += [report.heading("Deviation over time"), report.picture(plot_deviation(found), "Largest of all joints.")]
    for j, joint in enumerate(found.model.joint_names):
        parts += [report.heading(joint), report.picture(plot_joint(found, j), f"{joint}, recorded and replayed.")]
    return report.page(f"{found.model.name}: replay of {bag.name}", parts)


def figure_of(count: int, height: float) -> tuple["Figure", Any]:
    """A figure of `count` plots over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, height), layout="constrained")
    plots = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for plot in plots:
        plot.grid(alpha=0.3)
    plots[-1].set_xlabel("time [s]")
    return figure, plots


LABELS: Mapping[str, int] = {"position [rad, m]": 0, "velocity [rad/s, m/s]": 1, "effort [N m, N]": 2}


def plot_height(found: Comparison) -> "Figure":
    """Height of the base in both runs."""
    figure, (plot,) = figure_of(1, 2.6)
    for column, label, style in ((0, "recorded", "-"), (1, "replayed", "--")):
        plot.plot(found.stamp, found.height[:, column], style, linewidth=1.0, label=label)
    plot.set_ylabel("height [m]")
    plot.legend(loc="lower right", ncols=2)
    return figure


def plot_deviation(found: Comparison) -> "Figure":
    """Largest deviation of all joints over time, by quantity."""
    figure, plots = figure_of(3, 5.0)
    apart = np.abs(found.replayed - found.recorded).max(axis=2, initial=0.0)
    for plot, (label, i) in zip(plots, LABELS.items(), strict=True):
        plot.plot(found.stamp, apart[:, i], linewidth=0.8, color="C3")
        plot.set_ylabel(label)
        if found.first is not None:
            plot.axvline(found.first.stamp, color="0.5", linestyle=":", linewidth=1.0)
    return figure


def plot_joint(found: Comparison, j: int) -> "Figure":
    """Position and effort of one joint in both runs."""
    figure, plots = figure_of(2, 3.6)
    for plot, label in zip(plots, ("position [rad, m]", "effort [N m, N]"), strict=True):
        i = LABELS[label]
        plot.plot(found.stamp, found.recorded[:, i, j], linewidth=0.9, label="recorded")
        plot.plot(found.stamp, found.replayed[:, i, j], "--", linewidth=0.9, label="replayed")
        plot.set_ylabel(label)
    figure.legend(*plots[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure
