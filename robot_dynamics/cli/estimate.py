# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics estimate`: the base state of a recorded run from its IMU and joints, beside the truth if recorded."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..control.estimated_bag import Estimates, estimate_bag, figures, rotation_leans
from ..control.estimator import BaseEstimator, ContactNoise
from ..control.limbs import find_legs
from ..control.robot import load_robot
from ..core import report
from ..core.arrays import Array
from .inspect import new_table
from .output import check_output, compiling_shown, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "estimate base pose, velocity and stance of a recorded run from IMU and joint states"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bag", type=Path, help="rosbag2 folder, .db3 or .mcap with joint_states and imu/data")
    parser.add_argument("--urdf", required=True, help="URDF file of the robot")
    parser.add_argument("--namespace", default="", help="namespace of the topics")
    parser.add_argument("--feet", nargs="*", default=[], metavar="LINK", help="foot links; else found")
    parser.add_argument("--imu-link", default="", help="link in whose frame the IMU reads; else the root link")
    parser.add_argument("--level-ground", action="store_true", help="the floor is level: feet correct roll and pitch")
    parser.add_argument("--output", type=Path, default=Path("estimate.html"), help="HTML page (%(default)s)")


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Estimate, print the figures, write the page: 0."""
    import matplotlib.figure  # noqa: F401 - say now that it is missing
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    check_output(args.output)
    model = load_robot(args.urdf)
    feet = find_legs(model, args.feet).feet
    estimator = BaseEstimator(model, feet, contact=ContactNoise(level=args.level_ground), imu_link=args.imu_link)
    with Progress(transient=True) as bar:
        task = bar.add_task("estimating", total=1.0)
        found = estimate_bag(args.bag, estimator, args.namespace, lambda share: bar.update(task, completed=share))
    rows = summary(found, estimator)
    table = new_table("of the estimate", "", left=2)
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)
    write_page(args.output, page(found, estimator, rows, args.bag))
    return 0


def summary(found: Estimates, estimator: BaseEstimator) -> list[tuple[str, str]]:
    """Say what was found, line by line."""
    names, n = estimator.feet.link, len(found.stamp)
    rows = [
        ("states", f"{n} in {found.stamp[-1]:.1f} s"),
        ("gyro bias [rad/s]", " ".join(f"{x:.4f}" for x in found.biases[-1, :3])),
        ("accelerometer bias [m/s^2]", " ".join(f"{x:.4f}" for x in found.biases[-1, 3:])),
        ("share of time on the ground", by_name(names, (f"{x:.2f}" for x in found.stance.mean(axis=0)))),
        ("updates left out", by_name(names, map(str, estimator.gated))),
        ("restarts", str(estimator.restarts)),
    ]
    if found.known.any():
        rows += [(f"{name}, against {found.reference}", f"{value:.4g}") for name, value in figures(found).items()]
    return rows


def by_name(names: Iterable[str], values: Iterable[str]) -> str:
    """Names with their values."""
    return ", ".join(" ".join(pair) for pair in zip(names, values, strict=True))


def page(found: Estimates, estimator: BaseEstimator, rows: list[tuple[str, str]], bag: Path) -> str:
    """Return the HTML page."""
    pictures = [
        report.picture(base_figure(found), "Velocity in base axes, roll and pitch, height"),
        report.picture(path_figure(found), "Way over ground"),
        report.picture(filter_figure(found, estimator.feet.link), "Stance, squared innovations, biases"),
    ]
    return report.page(f"Base estimate of {bag.name}", [report.table(("", ""), rows), *pictures])


def base_figure(found: Estimates) -> "Figure":
    """Draw velocity, lean and height over time, truth in grey."""
    from matplotlib.figure import Figure

    truth, t = found.truth, found.stamp
    names = ("forward [m/s]", "left [m/s]", "up [m/s]", "roll [deg]", "pitch [deg]", "height [m]")
    ours = series(found.pose, found.twist)
    theirs = series(truth[:, :7], truth[:, 7:])
    figure = Figure(figsize=(10.0, 9.0), layout="constrained")
    for axes, name, estimate, true in zip(figure.subplots(6, 1, sharex=True), names, ours, theirs, strict=True):
        axes.plot(t, true, color="0.6", linewidth=1.6, label=found.reference or "truth")
        axes.plot(t, estimate, linewidth=0.8, label="estimate")
        axes.set_ylabel(name, fontsize="small")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(ncols=2, fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
    figure.axes[-1].set_xlabel("time [s]")
    return figure


def series(pose: Array, twist: Array) -> list[Array]:
    """Velocity, roll and pitch in degrees, height."""
    return [*twist[:, 3:].T, *np.degrees(rotation_leans(pose[:, 3:])).T, pose[:, 2]]


def path_figure(found: Estimates) -> "Figure":
    """Draw the way from above."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.plot(*found.truth[:, :2].T, color="0.6", linewidth=1.6, label=found.reference or "truth")
    axes.plot(*found.pose[:, :2].T, linewidth=0.8, label="estimate")
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure


def filter_figure(found: Estimates, feet: tuple[str, ...]) -> "Figure":
    """Draw which feet stand, innovations and biases."""
    from matplotlib.figure import Figure

    t = found.stamp
    figure = Figure(figsize=(10.0, 8.0), layout="constrained")
    stance, innovation, gyro, accelerometer = figure.subplots(4, 1, sharex=True)
    extent = (t[0], t[-1], len(feet) - 0.5, -0.5)
    stance.imshow(found.stance.T, aspect="auto", extent=extent, vmin=0.0, vmax=1.0, cmap="Greys", interpolation="none")
    stance.set_yticks(range(len(feet)), feet, fontsize="small")
    innovation.semilogy(t, np.maximum(found.innovation, 1e-3), linewidth=0.5)
    innovation.set_ylabel("z^T S^-1 z")
    for axes, columns, name in ((gyro, slice(0, 3), "gyro [rad/s]"), (accelerometer, slice(3, 6), "accel. [m/s^2]")):
        axes.plot(t, found.biases[:, columns], linewidth=0.9, label=("x", "y", "z"))
        axes.set_ylabel(f"bias, {name}")
        axes.legend(fontsize="small", ncols=3)
    for axes in (innovation, gyro, accelerometer):
        axes.grid(alpha=0.3)
    accelerometer.set_xlabel("time [s]")
    return figure
