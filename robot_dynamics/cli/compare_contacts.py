# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics compare-contacts`: the same trot on several contact laws, a table, and an HTML page of plots."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ..contact.checks import check_range
from ..contact.impulse import Impulse
from ..contact.spring_damper import SpringDamper
from ..control.gait import Command, StandTrot, TrotParameters, joint_gains
from ..control.limbs import Legs, find_four_legs
from ..control.simulation import home_pose
from ..core import report
from ..core.arrays import Array
from ..core.extras import VIEW, lacking
from ..errors import DivergedError, ParameterError
from ..model.model import Model
from ..share import share_folder
from ..simulation.comparison import (
    LOADED,
    ContactFigures,
    ContactLog,
    deviations,
    figures,
    record,
    slips,
    stances,
    touchdowns,
)
from ..simulation.plant import Plant, PlantParams
from ..view.film import RATE, SHOWN, Picture
from ..warm_up import kind_of, warm_up_once
from .output import check_output, write_page
from .robots import load_robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "trot on several contact laws and timesteps under one command stream; a table and an HTML report"
SHORTEST, LONGEST = 2.0, 60.0
STAND = 0.5
"""The robot stands for so long, and for as long again its trot is not counted [s]."""
LAWS = ("linear", "explicit", "implicit", "impulse")
TIMED = 0.2
"""Simulated time of standing by which the cost of a step is taken [s]."""

Progress = Callable[[str, float], None]
"""Called with what is going on and the fraction done."""
Logs = Mapping[str, ContactLog]
"""Logs by the name of their case."""


@dataclass(frozen=True, slots=True)
class Case:
    """A contact law at a timestep, by the name that tables and pictures give it."""

    name: str
    params: PlantParams


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a case: its log, or None and why and when [s] the plant stopped; seconds of wall time per step.

    `pictures` are those of a film, as far as the plant got.
    """

    case: Case
    log: ContactLog | None
    stopped: str
    cost: float
    pictures: list[Picture]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "urdf", nargs="?", type=Path, help="URDF of a quadruped (default: the Mini Cheetah of this package)"
    )
    parser.add_argument(
        "--law",
        default="implicit,impulse",
        help=f"laws to compare, with commas: {', '.join(LAWS)} (default: %(default)s). The first three are "
        "spring-dampers: K z - D v, which sags like the others under the weight, and sqrt(z) (K z - D v) with the "
        "force of the start or of the end of a step",
    )
    parser.add_argument(
        "--timesteps",
        "--timestep",
        default="0.001",
        metavar="H,H",
        help="steps of the simulation [s], with commas between them (default: %(default)s)",
    )
    for name, default, text in (
        ("duration", 5.0, "simulated time [s]"),
        ("friction", 0.6, "friction coefficient"),
        ("stiffness", 5e5, "of the spring-damper [N/m^1.5]"),
        ("damping", 5e3, "of the spring-damper [N s/m^1.5]"),
    ):
        parser.add_argument(f"--{name}", type=float, default=default, help=f"{text} (default: %(default)g)")
    parser.add_argument("--feet", nargs=4, default=[], metavar="LINK", help="links that touch the ground")
    parser.add_argument(
        "--output", type=Path, default=Path("report/compare_contacts.html"), help="HTML page (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Run a plant for each case and write the report: 0 unless the input is bad or no plant gets to the end."""
    check_range("--duration", args.duration, SHORTEST, LONGEST)
    laws, timesteps = chosen(args.law), seconds(args.timesteps)
    urdf = args.urdf or share_folder() / "urdf" / "mini_cheetah.urdf"
    check_output(args.output)
    for law in laws:
        contact(law, args, 1.0)
    from rich.progress import Progress as Bar

    with Bar(transient=True) as bar:
        task = bar.add_task("reading the robot", total=1.0)
        model = load_robot(urdf)
        legs = find_four_legs(model, args.feet)
        warm_up_once(lambda what: bar.update(task, description=f"compiling (first time only): {what}"), kind_of(model))
        cases = [
            Case(
                law if len(timesteps) == 1 else f"{law}, {1e3 * h:g} ms",
                PlantParams(timestep=h, contact=contact(law, args, weight(model) / len(legs.feet))),
            )
            for h in timesteps
            for law in laws
        ]
        trials = compare(
            legs, cases, args.duration, lambda what, done: bar.update(task, description=what, completed=done)
        )
    title = f"{model.name}: {args.duration:g} s of trot, {' and '.join(f'{1e3 * h:g}' for h in timesteps)} ms"
    alike = [trials[i : i + len(laws)] for i in range(0, len(trials), len(laws))]
    show(title, alike)
    parts = film_of(legs.model, urdf, alike[0], args.friction)
    write_page(args.output, page(legs, title, alike, args.friction, parts))
    return 0 if any(trial.log for trial in trials) else 1


def chosen(text: str) -> list[str]:
    """Return the laws that `--law` names. Raises ParameterError."""
    laws = [word.strip() for word in text.split(",")]
    for law in laws:
        if law not in LAWS or laws.count(law) > 1:
            raise ParameterError(f"--law must name some of {', '.join(LAWS)}, each once, got '{text}'")
    return laws


def seconds(text: str) -> list[float]:
    """Return the timesteps that `--timesteps` lists [s]. Raises ParameterError."""
    try:
        steps = [float(word) for word in text.split(",")]
    except ValueError:
        raise ParameterError(f"--timesteps must be numbers with commas between them, got '{text}'") from None
    for h in steps:
        check_range("--timesteps", h, 1e-5, 0.02)
    return steps


def contact(law: str, args: argparse.Namespace, load: float) -> SpringDamper | Impulse:
    """Make a law from the options; the linear one sinks as deep as the others under `load` [N] per foot."""
    if law == "impulse":
        return Impulse(friction=args.friction)
    given = SpringDamper(args.stiffness, args.damping, args.friction)
    if law == "linear":
        root = (load / args.stiffness) ** (1.0 / 3.0)  # sqrt(z) where K z^1.5 = load
        return replace(given, stiffness=root * args.stiffness, damping=root * args.damping, scheme="linear")
    return replace(given, scheme="explicit") if law == "explicit" else given


def weight(model: Model) -> float:
    """Weight of the robot [N]."""
    return model.mass * float(np.linalg.norm(model.gravity))


def compare(legs: Legs, cases: Sequence[Case], duration: float, progress: Progress) -> list[Trial]:
    """Play one command stream, timed by each one's steps, to a plant for each case.

    Raises
    ------
    ModelError
        The robot has no stance.
    """
    streams = {}
    for case in cases:
        if (h := case.params.timestep) not in streams:
            streams[h] = commands(legs, h, round(duration / h), progress)
    return [attempt(legs, case, streams[case.params.timestep], progress) for case in cases]


def attempt(legs: Legs, case: Case, stream: Sequence[Command], progress: Progress) -> Trial:
    """Let the robot trot under one law, and time a step of it while the robot stands."""
    model = legs.model
    kp, kd = joint_gains(model, StandTrot(legs).stance.reach)
    plant = Plant(model, case.params, legs.feet)
    q = home_pose(model, "stance", {}, legs.feet, 0.0)

    pictures: list[Picture] = []

    def act(step: int) -> None:
        if step % 50 == 0:
            progress(f"trot on {case.name}", step / len(stream))
        if plant.time * RATE >= len(pictures) and plant.time < SHOWN:
            contacts = plant.contacts
            pictures.append(Picture(plant.q.copy(), contacts.position, contacts.force_world))
        c = stream[step]
        plant.track(c.position, c.velocity, kp, kd, c.effort)

    plant.reset(q, np.zeros(model.nv))
    try:
        log, stopped = record(plant, act, len(stream), 2.0 * STAND), ""
    except DivergedError as problem:
        log, stopped = None, str(problem)
    return Trial(case, log, stopped, cost(plant, q, stream[0], kp, kd), pictures)


def cost(plant: Plant, q: Array, stand: Command, kp: float, kd: float) -> float:
    """Wall time of a step while the robot stands, the shortest of three runs [s]; nan if it cannot."""
    times = []
    for _ in range(3):
        plant.reset(q, np.zeros(plant.model.nv))
        plant.track(stand.position, stand.velocity, kp, kd, stand.effort)
        begin = perf_counter()
        try:
            plant.advance(TIMED)
        except DivergedError:
            return np.nan
        times.append(perf_counter() - begin)
    return min(times) / round(TIMED / plant.params.timestep)


def commands(legs: Legs, timestep: float, steps: int, progress: Progress) -> list[Command]:
    """Compute the commands of every step: stand, then trot in place."""
    gait = StandTrot(legs, TrotParameters(stand_time=STAND))
    gait.trot = True
    gait.start(gait.stance.joints, 0.0)
    stream = []
    for step in range(steps):
        if step % 50 == 0:
            progress("computing the commands", step / steps)
        stream.append(gait.command(step * timestep))
    return stream


def table_rows(trials: Sequence[Trial]) -> list[tuple[str, ...]]:
    """Give one row per figure, one column per case."""
    labels = ContactFigures.labels()
    columns = [
        [text for _, text in figures(trial.log).rows()] if trial.log else ["-"] * len(labels) for trial in trials
    ]
    costs = ("step of the standing robot", *(f"{1e6 * trial.cost:.1f} us" for trial in trials))
    return [*zip(labels, *columns, strict=True), costs]


def show(title: str, alike: Sequence[Sequence[Trial]]) -> None:
    """Print a table for each timestep, and which plants stopped."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for trials in alike:
        table = Table(title=title)
        table.add_column("quantity")
        for trial in trials:
            table.add_column(trial.case.name, justify="right")
        for row in table_rows(trials):
            table.add_row(*row)
        console.print(table)
        for sentence in failures(trials):
            console.print(sentence)


def failures(trials: Sequence[Trial]) -> list[str]:
    """Say which plants stopped, and why."""
    return [f"{trial.case.name}: {trial.stopped}" for trial in trials if trial.stopped]


def film_of(model: Model, urdf: Path, trials: Sequence[Trial], friction: float) -> list[str]:
    """Show the runs of one timestep side by side, in three dimensions, or say what is missing for it."""
    from ..view.film import Take, caption, film

    if sentence := lacking(VIEW):
        return [report.paragraph(f"There is no film of the runs: {sentence}")]
    text = urdf.read_text()
    takes = [Take(trial.case.name, model, text, trial.pictures, friction) for trial in trials if trial.pictures]
    return [report.embedded(film(takes), caption(max(len(take.pictures) for take in takes) / RATE))]


def page(legs: Legs, title: str, alike: Sequence[Sequence[Trial]], friction: float, film: Sequence[str] = ()) -> str:
    """Give the HTML page: a table for each timestep, film and pictures of the first."""
    logs = {trial.case.name: trial.log for trial in alike[0] if trial.log}
    parts = [
        report.paragraph(
            f"All plants got the same commands at the same times. Figures count from {2.0 * STAND:g} s on; "
            f"feet: {', '.join(legs.feet.link)}."
        ),
        *(part for trials in alike for part in tabled(trials)),
        *([report.heading("Film"), *film] if film else []),
        *(pictures(legs, logs, friction) if logs else []),
    ]
    return report.page(title, parts)


def tabled(trials: Sequence[Trial]) -> list[str]:
    """Lay out the figures of one timestep, and say which plants stopped."""
    table = report.table(("quantity", *(trial.case.name for trial in trials)), table_rows(trials))
    return [table, *map(report.paragraph, failures(trials))]


def pictures(legs: Legs, logs: Logs, friction: float) -> list[str]:
    """Draw the logs that got to the end."""
    return [
        report.heading("Foot forces"),
        report.picture(
            plot_forces(logs, weight(legs.model)),
            "Vertical force on the first foot over two cycles, and on all feet over the weight.",
        ),
        report.heading("Slip"),
        report.picture(
            plot_stances(logs, slips, 1e3, "slip [mm]", True), "Way that each foot slides in each of its stances."
        ),
        report.heading("Force directions"),
        report.picture(
            plot_directions(logs, friction),
            "Horizontal over vertical force of the feet in every tenth step, and the friction circle; beside it how "
            "often a force deviates by how much from the mean direction of its foot.",
        ),
        report.heading("Touchdown peaks"),
        report.picture(
            plot_stances(logs, touchdowns, 1.0, "force [N]", False),
            "Largest vertical force in the first 20 ms of each stance. An impulse is reported as its mean over a step, "
            "so it grows as the step shrinks.",
        ),
        report.heading("Body"),
        report.picture(plot_body(logs), "Height and angular rate of the base, deepest penetration."),
        report.heading("Energy"),
        report.picture(plot_energy(logs), "Energy lost in the contacts, and what the balance of energy misses."),
    ]


def axes(rows: int, height: float, labels: Sequence[str]) -> tuple["Figure", Array]:
    """Make a figure of `rows` plots over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, height), layout="constrained")
    plots = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for plot, label in zip(plots, labels, strict=True):
        plot.set_ylabel(label)
        plot.grid(alpha=0.3)
    plots[-1].set_xlabel("time [s]")
    return figure, plots


def plot_forces(logs: Logs, weight: float) -> "Figure":
    """Vertical forces over two cycles in the middle of the trot."""
    figure, (one, all_feet) = axes(2, 4.2, ("one foot [N]", "all feet / weight"))
    for law, log in logs.items():
        middle = 0.5 * (log.start + log.time[-1])
        shown = np.abs(log.time - middle) < TrotParameters().cycle
        one.plot(log.time[shown], log.force[shown, 0, 2], linewidth=0.9, label=law)
        all_feet.plot(log.time[shown], log.force[shown, :, 2].sum(axis=1) / weight, linewidth=0.9)
    all_feet.axhline(1.0, color="k", linestyle="--", linewidth=0.8)
    figure.legend(loc="outside upper right", ncols=4)
    return figure


def plot_stances(
    logs: Logs, values: Callable[[ContactLog], Array], scale: float, label: str, logarithmic: bool
) -> "Figure":
    """Draw one number per stance."""
    figure, (plot,) = axes(1, 2.8, (label,))
    for law, log in logs.items():
        ends = [log.time[part.stop - 1] for _, part in stances(log)]
        plot.plot(ends, scale * values(log), "o", markersize=4, label=law)
    if logarithmic:
        plot.set_yscale("log")
    else:
        plot.set_ylim(bottom=0.0)
    figure.legend(loc="outside upper right", ncols=4)
    return figure


def plot_directions(logs: Logs, friction: float) -> "Figure":
    """Draw f_x / f_z and f_y / f_z inside the friction circle, and the deviations from the mean."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    *discs, spread = figure.subplots(1, len(logs) + 1)
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    for i, (plot, (law, log)) in enumerate(zip(discs, logs.items(), strict=True)):
        force = log.force[log.late][::10].reshape(-1, 3)
        force = force[force[:, 2] > LOADED]
        plot.plot(friction * np.cos(angle), friction * np.sin(angle), "k--", linewidth=0.8)
        plot.plot(force[:, 0] / force[:, 2], force[:, 1] / force[:, 2], ".", markersize=2, color=f"C{i}")
        plot.set_title(law)
        plot.set_aspect("equal")
        plot.grid(alpha=0.3)
        plot.set_xlabel("f_x / f_z")
        bins = np.arange(0.0, 31.0)
        spread.hist(np.degrees(deviations(log)), bins, density=True, histtype="step", label=law)
    discs[0].set_ylabel("f_y / f_z")
    spread.set_xlabel("deviation from the mean [deg]")
    figure.legend(loc="outside upper right", ncols=4)
    return figure


def plot_body(logs: Logs) -> "Figure":
    """Draw height, angular rate, depth."""
    figure, plots = axes(3, 5.6, ("height [m]", "angular rate [rad/s]", "depth [mm]"))
    for law, log in logs.items():
        plots[0].plot(log.time, log.height, linewidth=0.9, label=law)
        plots[1].plot(log.time, np.linalg.norm(log.spin, axis=1), linewidth=0.9)
        plots[2].plot(log.time, 1e3 * log.depth.max(axis=1), linewidth=0.9)
    figure.legend(loc="outside upper right", ncols=4)
    return figure


def plot_energy(logs: Logs) -> "Figure":
    """Draw what contacts took and what the balance misses."""
    figure, (lost, missing) = axes(2, 4.2, ("lost in contacts [J]", "balance error [J]"))
    for law, log in logs.items():
        lost.plot(log.time, log.dissipated, linewidth=0.9, label=law)
        missing.plot(log.time, log.balance_error, linewidth=0.9)
    figure.legend(loc="outside upper right", ncols=4)
    return figure
