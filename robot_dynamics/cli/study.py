# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics study`: thousands of runs with parameters that vary, a table and a page; any run again alone."""

import argparse
import math
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import report
from ..core.cores import count_cores
from ..errors import ParameterError
from ..model.model import Model
from ..model.urdf import load_urdf
from ..study.reading import read_study
from ..study.results import Results, read_table
from ..study.runs import UNITS, Row, Run, Study, judged, simulate
from ..study.summary import (
    Table,
    explained,
    figure_of,
    judged_columns,
    rank_correlation,
    shares,
    varied,
    worst,
)
from ..study.variation import JOINTS
from ..study.variation import UNITS as PARAMETER_UNITS
from ..study.workers import cluster, do_all, processes
from ..warm_up import kind_of, warm_up_once
from .output import write_page
from .robots import load_robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "thousands of runs of a robot whose parameters vary, as Parquet and a page; goes on after a kill"
PAGE = "index.html"
COLUMNS = 3
SHOWN = 4000
"""Dots in a picture of a figure over a parameter."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("study", type=Path, help="YAML file: robot, controller, parameters, judge, runs")
    parser.add_argument(
        "--output", type=Path, help="folder of the results, with which the same command goes on (default: report/STUDY)"
    )
    parser.add_argument("--workers", type=int, help="processes on this machine (default: one per core)")
    parser.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="dask scheduler whose workers do the runs")
    parser.add_argument(
        "--run",
        type=int,
        dest="number",
        metavar="N",
        help="do run N alone, compare it with the results, keep its motion",
    )


def run(args: argparse.Namespace) -> int:
    """Do what is missing of a study and write table and page, or do one run again: 0; 1 if it differs."""
    if args.workers is not None and not 1 <= args.workers <= 1024:
        raise ParameterError(f"--workers must be a whole number from 1 to 1024, got {args.workers}")
    if args.workers is not None and args.scheduler is not None:
        raise ParameterError("--workers are processes of this machine and do not go with --scheduler")
    folder = str(args.study.resolve().parent)
    sys.path.insert(0, folder)
    study = read_study(args.study, load)
    output = args.output or Path("report") / study.name
    if args.number is not None:
        return again(study, args.number, output)
    import matplotlib.figure  # noqa: F401 - say now, not after the runs, that it is missing

    if not (output.parent.exists() or args.output is None):
        raise ParameterError(f"--output: there is no folder '{output.parent}'")
    results = Results(output, study)
    with results.alone():
        do(study, results, args, folder)
        table = results.finish()
    print(f"results: {table}")
    command = shlex.join(["robot_dynamics", "study", str(args.study), *(["--output", str(output)] * bool(args.output))])
    columns = read_table(output)
    show(study, columns, command)
    write_page(output / PAGE, page(study, columns, command))
    return 0


def load(urdf: Path, floating_base: bool) -> Model:
    """Read a robot as the other commands do."""
    return load_robot(urdf) if floating_base else load_urdf(urdf)


def do(study: Study, results: Results, args: argparse.Namespace, folder: str) -> None:
    """Do the runs that are missing, with a progress bar; the first of them here, to find out what is wrong."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    missing = results.missing()
    left = sum(map(len, missing))
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, transient=True) as bar, ExitStack() as stack:
        task = bar.add_task("reading the robot", total=study.runs, completed=study.runs - left)
        if not missing:
            return
        say = "compiling (first time only): {}".format
        warm_up_once(lambda what: bar.update(task, description=say(what)), kind_of(study.model))
        bar.update(task, description="trying a run")
        judged(study, simulate(study, missing[0][0]))
        if args.scheduler is not None:
            executor, workers = stack.enter_context(cluster(args.scheduler, study.modules))
        else:
            workers = min(args.workers or count_cores(), len(missing))
            executor = stack.enter_context(processes(workers, folder))
        bar.update(task, description=f"runs, {workers} abreast")
        do_all(results, executor, workers, lambda count: bar.advance(task, count))


def again(study: Study, number: int, output: Path) -> int:
    """Do one run alone: print its values and figures, keep its motion, compare it with the results if there are any."""
    if not 0 <= number < study.runs:
        raise ParameterError(f"--run must be from 0 to {study.runs - 1}, got {number}")
    outcome = simulate(study, number)
    row = judged(study, outcome)
    from rich.console import Console
    from rich.table import Table as Lines

    lines = Lines(title=f"{study.name}, run {number}")
    lines.add_column("quantity")
    lines.add_column("value", justify="right")
    for name, value in row.items():
        lines.add_row(name, f"{value:.6g}" if isinstance(value, float) else str(value))
    Console(markup=False, highlight=False, emoji=False).print(lines)
    output.mkdir(parents=True, exist_ok=True)
    print(f"motion: {keep_motion(outcome, output / f'run_{number}.npz')}")
    return compare(row, output)


def keep_motion(outcome: Run, path: Path) -> Path:
    """Write the motion of a run: joint states as `identify` reads them, and the whole state."""
    model = outcome.model
    np.savez_compressed(
        path,
        stamp=outcome.time,
        name=np.array(model.joint_names),
        position=outcome.q[:, model.q_index],
        velocity=outcome.qd[:, model.v_index],
        effort=outcome.tau,
        q=outcome.q,
        qd=outcome.qd,
        force=outcome.force,
        target=outcome.target,
    )
    return path


def compare(row: Row, output: Path) -> int:
    """Say whether a run is, to the last bit, what the results hold: 0, or 1 where it is not."""
    try:
        table = read_table(output)
    except ParameterError:
        return 0
    here = table["run"].index(row["run"]) if row["run"] in table["run"] else None
    if here is None:
        return 0
    other = [name for name, value in row.items() if name in table and not _same(value, table[name][here])]
    if other:
        print(f"differs from {output} in {', '.join(other)}: another processor, another version, or another study")
        return 1
    print(f"equal, to the last bit, to its row in {output}")
    return 0


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def summary_rows(study: Study, table: Table) -> list[tuple[str, ...]]:
    """Mean, middle and extremes of every figure."""
    rows: list[tuple[str, ...]] = [("fell", f"{100.0 * figure_of(table, 'fell').mean():.2f} %", "", "", "")]
    for name in judged_columns(study)[1:]:
        x = figure_of(table, name)
        x = x[np.isfinite(x)]
        cells = [f"{f(x):.4g}" if len(x) else "-" for f in (np.mean, np.median, np.min, np.max)]
        rows.append((label(name), *cells))
    return rows


def label(name: str) -> str:
    """A figure or a parameter with its unit."""
    kind = name.partition(".")[0]
    unit = UNITS.get(name) or PARAMETER_UNITS.get(kind if kind in JOINTS else name)
    return f"{name} [{unit}]" if unit else name


SUMMARY_HEAD = ("figure", "mean", "median", "least", "largest")


def sensitivity_rows(study: Study, table: Table) -> list[tuple[str, ...]]:
    """What share of each figure's variance each parameter explains alone, and which way it goes."""
    return [
        (name, *(_sensitivity(table[name], figure_of(table, figure)) for figure in judged_columns(study)))
        for name in varied(study)
    ]


def _sensitivity(values: Sequence[Any], figure: Any) -> str:
    whole = np.isfinite(figure)
    if whole.sum() < 3:
        return "-"
    values, figure = [v for v, good in zip(values, whole, strict=True) if good], figure[whole]
    part, rank = explained(values, figure), rank_correlation(values, figure)
    if math.isnan(part):
        return "-"
    return f"{part:.2f}" + ("" if math.isnan(rank) else f" ({rank:+.2f})")


def worst_rows(study: Study, table: Table, command: str) -> list[tuple[str, ...]]:
    """The ten worst runs: what varied, how they went, how to see them again."""
    names = [*varied(study), *judged_columns(study)]
    return [(str(i), *(_cell(table[name][i]) for name in names), f"{command} --run {i}") for i in worst(study, table)]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def show(study: Study, table: Table, command: str) -> None:
    """Print the figures, what decides them, and how to see the worst run."""
    from rich.console import Console
    from rich.table import Table as Lines

    console = Console(markup=False, highlight=False, emoji=False)
    for title, head, rows in (
        (f"{study.name}: {study.runs} runs", SUMMARY_HEAD, summary_rows(study, table)),
        ("variance explained alone (rank correlation)", sensitivity_head(study), sensitivity_rows(study, table)),
    ):
        lines = Lines(title=title)
        for i, name in enumerate(head):
            lines.add_column(name, justify="right" if i else "left")
        for row in rows:
            lines.add_row(*row)
        console.print(lines)
    print(f"worst run: {command} --run {worst(study, table)[0]}")


def sensitivity_head(study: Study) -> tuple[str, ...]:
    """Columns of the sensitivities."""
    return ("parameter", *judged_columns(study))


def page(study: Study, table: Table, command: str) -> str:
    """Write the HTML page."""
    stops = sum(bool(text) for text in table["stopped"])
    parts = [
        report.paragraph(
            f"{study.runs} runs of {study.duration:g} s, {study.model.name}, seed {study.seed}, "
            f"{study.sampling} sampling. A robot has fallen that tilts by 60 degrees, sinks below half its height, or "
            "whose simulation stops" + (f", as that of {stops} did." if stops else ".")
        ),
        report.table(SUMMARY_HEAD, summary_rows(study, table)),
    ]
    if varied(study):
        parts += [
            report.heading("Falls over each parameter"),
            report.picture(
                plot_falls(study, table), "Share of runs that fell, in parts of equal count, with standard errors."
            ),
            report.heading("What decides"),
            report.table(sensitivity_head(study), sensitivity_rows(study, table)),
            report.paragraph(
                "The share of a figure's variance that a parameter explains alone (first-order Sobol index, estimated "
                "from parts of equal count), and in brackets Spearman's rank correlation: + where the figure rises "
                "with the parameter. What is left is explained by parameters together, and by seeds."
            ),
            report.heading("Figures over each parameter"),
            *(
                report.picture(plot_figure(study, table, name), f"{label(name)}; runs that fell are red.")
                for name in judged_columns(study)[1:]
            ),
        ]
    head = ("run", *varied(study), *judged_columns(study), "see it again")
    parts += [
        report.heading("The ten worst runs"),
        report.paragraph("Those that fell first; then those that tracked their commands worst."),
        report.table(head, worst_rows(study, table, command)),
    ]
    return report.page(f"Study {study.name}", parts)


@contextmanager
def grid_of(names: Sequence[str], height: float) -> Iterator[tuple["Figure", Mapping[str, Any]]]:
    """Make a plot for each name, three in a row."""
    from matplotlib.figure import Figure

    rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(10.0, height * rows), layout="constrained")
    plots = figure.subplots(rows, COLUMNS, squeeze=False, sharey=True).ravel()
    for plot, name in zip(plots, names, strict=False):
        plot.set_xlabel(label(name))
        plot.grid(alpha=0.3)
    for plot in plots[len(names) :]:
        plot.set_visible(False)
    yield figure, dict(zip(names, plots, strict=False))


def plot_falls(study: Study, table: Table) -> "Figure":
    """Share of falls over every parameter."""
    with grid_of(varied(study), 2.4) as (figure, plots):
        for name, plot in plots.items():
            found = shares(table[name], table["fell"])
            style = "o" if isinstance(found.middle[0], str) else "o-"
            plot.errorbar(
                found.middle, 100.0 * found.share, 100.0 * found.error, fmt=style, markersize=4, linewidth=1, capsize=2
            )
        first = next(iter(plots.values()))
        first.set_ylim(bottom=0.0)
        figure.supylabel("fell [%]")
    return figure


def plot_figure(study: Study, table: Table, name: str) -> "Figure":
    """Draw one figure of all runs, or of evenly chosen ones, over every parameter."""
    some = np.unique(np.linspace(0, study.runs - 1, min(study.runs, SHOWN)).astype(int))
    y, fell = figure_of(table, name)[some], figure_of(table, "fell")[some] > 0.0
    with grid_of(varied(study), 2.4) as (figure, plots):
        for parameter, plot in plots.items():
            x = np.asarray(table[parameter])[some]
            for chosen, colour in ((~fell, "C0"), (fell, "C3")):
                plot.plot(x[chosen], y[chosen], ".", markersize=2, color=colour, alpha=0.5)
        figure.supylabel(label(name))
    return figure
