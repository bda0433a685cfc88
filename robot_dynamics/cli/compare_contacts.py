# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics compare-contacts`: the same trot on both contact laws, a table, and an HTML page of plots."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import report
from ..comparison import LOADED, ContactFigures, ContactLog, deviations, figures, record, slips, stances, touchdowns
from ..contact.checks import check_range
from ..contact.impulse import Impulse
from ..contact.spring_damper import SpringDamper
from ..control.gait import Command, StandTrot, TrotParameters, joint_gains
from ..control.limbs import Legs, find_legs
from ..control.simulation import home_pose
from ..description import Array
from ..plant import Plant, PlantParams
from ..share import share_folder
from ..warm_up import kind_of, warm_up_once
from .output import check_output, write_page
from .robots import load_robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "trot on spring-damper and on impulse contacts under one command stream; a table and an HTML report"
SHORTEST, LONGEST = 2.0, 60.0
STAND = 0.5
"""The robot stands for so long, and for as long again its trot is not counted [s]."""
LAWS = ("spring-damper", "impulse")

Progress = Callable[[str, float], None]
"""Called with what is going on and the fraction done."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "urdf", nargs="?", type=Path, help="URDF of a quadruped (default: the Mini Cheetah of this package)"
    )
    for name, default, text in (
        ("duration", 5.0, "simulated time [s]"),
        ("timestep", 1e-3, "step of the simulation [s]"),
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
    """Run both plants and write the report: 0 unless the input is bad or a plant diverges."""
    check_range("--duration", args.duration, SHORTEST, LONGEST)
    check_range("--timestep", args.timestep, 1e-5, 0.02)
    check_output(args.output)
    contacts = SpringDamper(args.stiffness, args.damping, args.friction), Impulse(friction=args.friction)
    from rich.progress import Progress as Bar

    with Bar(transient=True) as bar:
        task = bar.add_task("reading the robot", total=1.0)
        model = load_robot(args.urdf or share_folder() / "urdf" / "mini_cheetah.urdf")
        legs = find_legs(model, args.feet)
        warm_up_once(lambda what: bar.update(task, description=f"compiling (first time only): {what}"), kind_of(model))
        logs = compare(
            legs,
            [PlantParams(timestep=args.timestep, contact=contact) for contact in contacts],
            args.duration,
            lambda what, done: bar.update(task, description=what, completed=done),
        )
    found = [figures(log) for log in logs]
    title = f"{model.name}: {args.duration:g} s of trot on both contact laws, {1e3 * args.timestep:g} ms"
    show(title, found)
    write_page(args.output, page(legs, title, logs, found, args.friction))
    return 0


def compare(legs: Legs, params: Sequence[PlantParams], duration: float, progress: Progress) -> list[ContactLog]:
    """Play one command stream to a plant with each of `params`, which differ in nothing but the contact.

    Raises
    ------
    ModelError, DivergedError
        The robot has no stance, or a simulation broke down.
    """
    model, timestep = legs.model, params[0].timestep
    steps = round(duration / timestep)
    stream = commands(legs, timestep, steps, progress)
    kp, kd = joint_gains(model, StandTrot(legs).stance.reach)
    q = home_pose(model, "stance", {}, legs.feet, 0.0)
    logs = []
    for law, settings in zip(LAWS, params, strict=True):
        plant = Plant(model, settings, legs.feet)
        plant.reset(q, np.zeros(model.nv))

        def act(step: int, plant: Plant = plant, law: str = law) -> None:
            if step % 50 == 0:
                progress(f"trot on {law} contacts", step / steps)
            c = stream[step]
            plant.track(c.position, c.velocity, kp, kd, c.effort)

        logs.append(record(plant, act, steps, 2.0 * STAND))
    return logs


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


def table_rows(found: Sequence[ContactFigures]) -> list[tuple[str, ...]]:
    """Give one row per figure, one column per law."""
    columns = [one.rows() for one in found]
    return [(cells[0][0], *(text for _, text in cells)) for cells in zip(*columns, strict=True)]


def show(title: str, found: Sequence[ContactFigures]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    table.add_column("quantity")
    for law in LAWS:
        table.add_column(law, justify="right")
    for row in table_rows(found):
        table.add_row(*row)
    Console().print(table)


def page(legs: Legs, title: str, logs: Sequence[ContactLog], found: Sequence[ContactFigures], friction: float) -> str:
    """Give the HTML page."""
    weight = legs.model.mass * float(-legs.model.gravity[2])
    parts = [
        report.paragraph(
            "Both plants got the same commands at the same times. Figures count from "
            f"{logs[0].start:g} s on; feet: {', '.join(legs.feet.link)}."
        ),
        report.table(("quantity", *LAWS), table_rows(found)),
        report.heading("Foot forces"),
        report.picture(
            plot_forces(logs, weight),
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
    return report.page(title, parts)


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


def plot_forces(logs: Sequence[ContactLog], weight: float) -> "Figure":
    """Vertical forces over two cycles in the middle of the trot."""
    figure, (one, all_feet) = axes(2, 4.2, ("one foot [N]", "all feet / weight"))
    for log, law in zip(logs, LAWS, strict=True):
        middle = 0.5 * (log.start + log.time[-1])
        shown = np.abs(log.time - middle) < TrotParameters().cycle
        one.plot(log.time[shown], log.force[shown, 0, 2], linewidth=0.9, label=law)
        all_feet.plot(log.time[shown], log.force[shown, :, 2].sum(axis=1) / weight, linewidth=0.9)
    all_feet.axhline(1.0, color="k", linestyle="--", linewidth=0.8)
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def plot_stances(
    logs: Sequence[ContactLog], values: Callable[[ContactLog], Array], scale: float, label: str, logarithmic: bool
) -> "Figure":
    """Draw one number per stance."""
    figure, (plot,) = axes(1, 2.8, (label,))
    for log, law in zip(logs, LAWS, strict=True):
        ends = [log.time[part.stop - 1] for _, part in stances(log)]
        plot.plot(ends, scale * values(log), "o", markersize=4, label=law)
    if logarithmic:
        plot.set_yscale("log")
    else:
        plot.set_ylim(bottom=0.0)
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def plot_directions(logs: Sequence[ContactLog], friction: float) -> "Figure":
    """Draw f_x / f_z and f_y / f_z inside the friction circle, and the deviations from the mean."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    *discs, spread = figure.subplots(1, 3)
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    for plot, log, law, color in zip(discs, logs, LAWS, ("C0", "C1"), strict=True):
        force = log.force[log.late][::10].reshape(-1, 3)
        force = force[force[:, 2] > LOADED]
        plot.plot(friction * np.cos(angle), friction * np.sin(angle), "k--", linewidth=0.8)
        plot.plot(force[:, 0] / force[:, 2], force[:, 1] / force[:, 2], ".", markersize=2, color=color)
        plot.set_title(law)
        plot.set_aspect("equal")
        plot.grid(alpha=0.3)
        plot.set_xlabel("f_x / f_z")
        bins = np.arange(0.0, 31.0)
        spread.hist(np.degrees(deviations(log)), bins, density=True, histtype="step", label=law)
    discs[0].set_ylabel("f_y / f_z")
    spread.set_xlabel("deviation from the mean [deg]")
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def plot_body(logs: Sequence[ContactLog]) -> "Figure":
    """Draw height, angular rate, depth."""
    figure, plots = axes(3, 5.6, ("height [m]", "angular rate [rad/s]", "depth [mm]"))
    for log, law in zip(logs, LAWS, strict=True):
        plots[0].plot(log.time, log.height, linewidth=0.9, label=law)
        plots[1].plot(log.time, np.linalg.norm(log.spin, axis=1), linewidth=0.9)
        plots[2].plot(log.time, 1e3 * log.depth.max(axis=1), linewidth=0.9)
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def plot_energy(logs: Sequence[ContactLog]) -> "Figure":
    """Draw what contacts took and what the balance misses."""
    figure, (lost, missing) = axes(2, 4.2, ("lost in contacts [J]", "balance error [J]"))
    for log, law in zip(logs, LAWS, strict=True):
        lost.plot(log.time, log.dissipated, linewidth=0.9, label=law)
        missing.plot(log.time, log.balance_error, linewidth=0.9)
    figure.legend(loc="outside upper right", ncols=2)
    return figure
