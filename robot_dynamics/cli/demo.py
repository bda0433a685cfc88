# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics demo`: the whole loop over DDS for some seconds, a table, and an HTML page of plots."""

import argparse
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core import report
from ..core.extras import VIEW, lacking
from ..errors import ParameterError
from ..share import share_folder
from ..simulation.recording import Measures, Recording, feedforward_at, measure, slip
from .output import check_output, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "stand and trot in simulation, every node a process of its own; prints a table and writes an HTML report"
SHORTEST, LONGEST = 6.0, 600.0
"""Standing up, settling, and some cycles of trot need the one, memory the other [s]."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--robot", type=Path, help="URDF of a quadruped (default: the Mini Cheetah of this package)")
    parser.add_argument("--duration", type=float, default=10.0, help="simulated seconds (default: %(default)g)")
    parser.add_argument(
        "--real-time-factor",
        type=float,
        default=1.0,
        help="simulated over wall time; less for slow machines (default: 1)",
    )
    parser.add_argument(
        "--view", action="store_true", help="show the robot in a browser while it runs, at the address that is printed"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("report/demo.html"), help="HTML page (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Run the loop: 0 if the robot stayed up and its feet carried its weight, else 1."""
    if not SHORTEST <= args.duration <= LONGEST:
        raise ParameterError(f"--duration must lie in {SHORTEST:g} .. {LONGEST:g} s, got {args.duration:g}")
    if not 0.0 < args.real_time_factor <= 1.0:
        raise ParameterError(f"--real-time-factor must lie in 0 .. 1, got {args.real_time_factor:g}")
    check_output(args.output)
    urdf = args.robot or share_folder() / "urdf" / "mini_cheetah.urdf"
    recording, worth = record(urdf.resolve(), args.duration, args.real_time_factor, args.view)
    measures = measure(recording)
    show(recording, measures)
    write_page(args.output, page(recording, measures, worth, film_of(recording, urdf)))
    return 1 if measures.problems else 0


def record(
    urdf: Path, duration: float, real_time_factor: float, view: bool = False
) -> tuple[Recording, dict[str, float]]:
    """Check the robot, run the loop, then its trot with less and less feed-forward, with a progress bar."""
    from rich.progress import Progress

    from .. import load_urdf
    from ..control.limbs import find_four_legs
    from ..control.tracking import tracking_errors
    from ..ros.demo import run_loop
    from ..warm_up import kind_of, warm_up_once

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the nodes end with us
    with Progress(transient=True) as bar:
        task = bar.add_task("reading the robot", total=1.0)
        model = load_urdf(urdf, floating_base=True)
        legs = find_four_legs(model)
        warm_up_once(lambda what: bar.update(task, description=f"compiling (first time only): {what}"), kind_of(model))

        def progress(what: str, done: float) -> None:
            bar.update(task, description=what, completed=done)

        def say(text: str) -> None:
            bar.console.print(text, markup=False, soft_wrap=True)

        if sentence := lacking(VIEW) if view else "":
            say(f"the robot is not shown: {sentence}")
        shown = say if view and not sentence else None
        recording = run_loop(urdf, legs, duration, real_time_factor, progress, shown)
        return recording, tracking_errors(legs, lambda what, done: progress(f"trot with {what} fed forward", done))


def show(recording: Recording, measures: Measures) -> None:
    """Print the table and the verdict."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{recording.robot}: {recording.end - recording.begin:g} s of stand and trot")
    table.add_column("quantity")
    table.add_column("value", justify="right")
    for quantity, value, _ in measures.rows():
        table.add_row(quantity, value)
    console = Console()
    console.print(table)
    console.print(verdict(measures))


def verdict(measures: Measures) -> str:
    """One sentence, and another if the machine did not keep up."""
    found = "; ".join(measures.problems)
    said = f"failed: {found}" if found else "passed: the robot stayed up and its feet carried its weight"
    slower = "robot_dynamics demo --real-time-factor 0.25"
    return f"{said}. The machine did not keep up with the loop; slower: {slower}" if measures.overtaxed else said


def film_of(r: Recording, urdf: Path) -> list[str]:
    """The run in three dimensions, or a sentence on what is missing for it."""
    from .. import load_urdf
    from ..view.film import RATE, SHOWN, Picture, Take, caption, film

    if sentence := lacking(VIEW):
        return [report.paragraph(f"There is no film of the run: {sentence}")]
    model = load_urdf(urdf, floating_base=True)
    times = np.arange(r.begin, min(r.end, r.begin + SHOWN), 1.0 / RATE)
    joints, bases, contacts = (latest(known, times) for known in (r.joint_time, r.base_time, r.contact_time))
    q = np.zeros((len(times), model.nq))
    q[:, :7], q[:, model.q_index] = r.base[bases], r.position[joints]
    pictures = [
        Picture(*picture) for picture in zip(q, r.contact_position[contacts], r.contact_force[contacts], strict=True)
    ]
    take = Take(r.robot, model, urdf.read_text(), pictures, r.friction)
    return [report.embedded(film([take]), caption(times[-1] - times[0]))]


def latest(known: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Rows (len(times),) of the last of `known` at each time, the first one where there is none before."""
    found: np.ndarray = np.maximum(np.searchsorted(known, times, side="right") - 1, 0)
    return found


def page(recording: Recording, measures: Measures, worth: dict[str, float], film: Sequence[str] = ()) -> str:
    """The HTML page; `worth`: tracking errors by feed-forward [rad]; `film`: what stands under that heading."""
    parts = [
        report.paragraph(verdict(measures)),
        report.table(("quantity", "value", "what it is"), measures.rows()),
        *([report.heading("Film"), *film] if film else []),
        report.heading("Base height"),
        report.picture(plot_height(recording), "Height of the base above the ground."),
        report.heading("Foot forces"),
        report.picture(plot_forces(recording), "Vertical force of the ground on each foot, and the weight."),
        report.heading("Joint torques"),
        report.picture(plot_torques(recording), "Applied torques of the first leg, and those fed forward."),
        report.heading("What the feed-forward is worth"),
        report.picture(
            plot_worth(worth),
            "How far the joints are from their targets, rms over two seconds of the same trot with the same gains; "
            "simulated without the nodes. The weight of the legs alone is little: gravity and Coriolis terms are of no "
            "help without the forces with which the ground carries the robot.",
        ),
        report.heading("Slip"),
        report.picture(plot_slip(recording), "Distance each foot slid in each of its stances."),
    ]
    return report.page(f"{recording.robot}: stand and trot", parts)


def axes(rows: int, height: float, recording: Recording) -> tuple["Figure", np.ndarray]:
    """A figure of `rows` plots over time; the trot is shaded."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, height), layout="constrained")
    plots = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for plot in plots:
        plot.axvspan(recording.trot_at - recording.begin, recording.end - recording.begin, color="#f2f4f8")
        plot.grid(alpha=0.3)
        plot.set_xlim(0.0, recording.end - recording.begin)
    plots[-1].set_xlabel("time since the first command [s]; the trot is shaded")
    return figure, plots


def plot_height(r: Recording) -> "Figure":
    """Base height over time."""
    figure, (plot,) = axes(1, 2.6, r)
    plot.plot(r.base_time - r.begin, r.base[:, 2])
    plot.set_ylabel("height [m]")
    plot.set_ylim(bottom=0.0)
    return figure


def plot_forces(r: Recording) -> "Figure":
    """Foot forces over time, one plot a foot."""
    figure, plots = axes(len(r.feet) + 1, 1.4 * (len(r.feet) + 1) + 0.6, r)
    time = r.contact_time - r.begin
    for plot, foot, force in zip(plots, r.feet, r.foot_force.T, strict=False):
        plot.plot(time, force, linewidth=0.8)
        plot.set_ylabel(f"{foot} [N]")
    plots[-1].plot(time, r.foot_force.sum(axis=1), linewidth=0.8)
    plots[-1].axhline(r.weight, color="k", linestyle="--", label=f"weight {r.weight:.1f} N")
    plots[-1].set_ylabel("sum [N]")
    plots[-1].set_ylim(0.0, 3.0 * r.weight)
    plots[-1].legend(loc="upper right")
    return figure


def plot_torques(r: Recording) -> "Figure":
    """Torques of the first leg's joints: applied, and fed forward."""
    n = max(1, len(r.joints) // len(r.feet))
    figure, plots = axes(n, 1.7 * n + 0.6, r)
    time, fed = r.joint_time - r.begin, feedforward_at(r, r.joint_time)
    for j, plot in enumerate(plots):
        plot.plot(time, r.effort[:, j], linewidth=0.8, label="applied")
        plot.plot(time, fed[:, j], linewidth=0.8, label="feed-forward")
        plot.set_ylabel(f"{r.joints[j]} [N m]")
    figure.legend(*plots[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


def plot_slip(r: Recording) -> "Figure":
    """Slip of each stance at its end."""
    figure, (plot,) = axes(1, 2.8, r)
    for foot, name in enumerate(r.feet):
        stances = [s for s in r.stances() if s[0] == foot]
        ends = [r.contact_time[last] - r.begin for _, _, last in stances]
        plot.plot(ends, [1e3 * slip(r, *s) for s in stances], "o", markersize=4, label=name)
    plot.set_ylabel("slip [mm]")
    plot.set_ylim(bottom=0.0)
    figure.legend(loc="outside upper right", ncols=len(r.feet))
    return figure


def plot_worth(worth: dict[str, float]) -> "Figure":
    """Bars of the tracking error, one per feed-forward."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 2.4), layout="constrained")
    plot = figure.subplots()
    bars = plot.barh(list(worth), [1e3 * error for error in worth.values()], height=0.6)
    plot.bar_label(bars, fmt="%.1f", padding=4)
    plot.invert_yaxis()
    plot.set_xlabel("target minus position, rms [mrad]")
    plot.margins(x=0.1)
    return figure
