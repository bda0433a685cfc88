# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics identify`: a joint-state log against the model: errors, losses, inertias, suggested parameters."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core import report
from ..core.arrays import Array
from ..errors import ModelError, ParameterError
from ..identification.inertial_fit import Inertias, fit_inertias
from ..identification.joint_fit import SMOOTH, Losses, correlation, fit_losses, predicted_effort, rms
from ..identification.joint_log import DEGREE, WINDOW, Motion, joint_map, motion, read_log
from ..model.model import Model
from ..model.urdf import load_urdf
from . import identify_simulated
from .inspect import new_table
from .output import check_output, compiling_shown, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELP = "compare measured joint efforts with the model; fit friction, armature, offsets and inertias to a log"

ERROR_HEAD = (
    "joint", "measured\nrms", "model\nerror", "correlation", "with\nlosses", "with\ninertias", "unseen\nthird",
)  # fmt: skip
LOSS_HEAD = ("joint", "viscous\n[N m s/rad]", "Coulomb\n[N m]", "armature\n[kg m^2]", "offset\n[N m]")
ALONE = "Losses of each joint alone that explain the rest, and standard errors"
ABSORBED = (
    "Alone means with the inertias of the URDF: an armature takes up what these lack about the axis of its joint, also "
    "of all links behind it, and friction what moves along with the speed."
)
TOGETHER = "Losses found together with the inertias of all bodies"
BASE_HEAD = ("base parameter", "log", "URDF", "standard error")


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """Everything the command says; `inertias` is None when `refusal` says why they were not fitted."""

    model: Model
    names: Mapping[str, str]
    moved: Motion
    predicted: Array
    losses: Losses
    inertias: Inertias | None
    refusal: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "log", type=Path, help="joint states: .npz (stamp, name, position, velocity, effort) or rosbag2"
    )
    parser.add_argument("urdf", help="URDF file of the robot, its root fixed and level")
    parser.add_argument(
        "--map", action="append", default=[], metavar="NAME=JOINT", help="joint of the URDF for a name in the log"
    )
    parser.add_argument("--topic", default="", help="JointState topic of the bag, if there are several")
    parser.add_argument("--output", type=Path, help="HTML page with plots and the base parameters")
    identify_simulated.add_arguments(parser)


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Print the findings and the suggested parameters, write the page: 0."""
    if args.simulate:
        return identify_simulated.run(args, dict(map(pair, args.map)))
    if args.output is not None:
        import matplotlib.figure  # noqa: F401 - say now, not after the fit, that it is missing

        check_output(args.output)
    findings = find(args.log, args.urdf, dict(map(pair, args.map)), args.topic)
    show(findings)
    if args.output is not None:
        write_page(args.output, page(findings, args.log))
    return 0


def pair(text: str) -> tuple[str, str]:
    """Split NAME=JOINT."""
    name, equals, joint = text.partition("=")
    if not (name and equals and joint):
        raise ParameterError(f"--map takes NAME=JOINT, got '{text}'")
    return name, joint


def find(log_file: Path, urdf: str, given: Mapping[str, str], topic: str) -> Findings:
    """Read, filter, compare, fit."""
    model = load_urdf(urdf)
    log = read_log(log_file, topic)
    names = joint_map(log.names, model, given)
    moved = motion(log, model, names)
    predicted = predicted_effort(model, moved)
    losses = fit_losses(moved, moved.effort - predicted)
    try:
        return Findings(model, names, moved, predicted, losses, fit_inertias(model, moved), "")
    except ModelError as error:
        return Findings(model, names, moved, predicted, losses, None, str(error))


def notes(findings: Findings) -> list[str]:
    """Say how the log was read: names, filter, joints at rest."""
    moved, names = findings.moved, findings.names
    span = moved.stamp[-1] - moved.stamp[0]
    rest = [joint for joint in findings.model.joint_names if joint not in moved.joints]
    lines = [
        f"{len(moved.stamp)} samples in {span:.1f} s ({(len(moved.stamp) - 1) / span:.0f} Hz)",
        "names: " + ", ".join(f"{name} -> {joint}" for name, joint in names.items()),
        f"filter: Savitzky-Golay, {WINDOW:g} s (at least {DEGREE + 2} samples), degree {DEGREE}; "
        "positions smoothed, velocities smoothed and differentiated, efforts as measured",
        f"Coulomb friction is modelled as tanh(qd / {SMOOTH:g}); the root link is taken to be fixed and level",
    ]
    lines += [f"not in the log, taken to rest at 0: {', '.join(rest)}"] if rest else []
    lines += [f"inertias not fitted: {findings.refusal}"] if findings.refusal else []
    return lines


def error_rows(findings: Findings) -> list[Sequence[str]]:
    """Root mean squares per joint [N m or N]: measured, error of the model, of model and losses, with new inertias."""
    moved, fit = findings.moved, findings.inertias
    columns = [rms(moved.effort), rms(moved.effort - findings.predicted)]
    columns += [correlation(moved.effort, findings.predicted)]
    columns += [rms(moved.effort - findings.predicted - findings.losses.effort)]
    columns += [rms(moved.effort - fit.effort), fit.unseen] if fit else []
    missing = () if fit else ("-", "-")
    rows = zip(moved.joints, *columns, strict=True)
    return [(joint, *(f"{value:.3f}" for value in values), *missing) for joint, *values in rows]


def loss_rows(findings: Findings) -> list[Sequence[str]]:
    """Losses per joint with their standard errors, inertias as in the URDF."""
    losses = findings.losses
    rows = zip(findings.moved.joints, losses.value, losses.error, strict=True)
    return [(joint, *(f"{v:.3f} ± {e:.2g}" for v, e in zip(*figures, strict=True))) for joint, *figures in rows]


def together_rows(findings: Findings) -> list[Sequence[str]]:
    """Losses per joint that were fitted together with all inertias; none if these were not."""
    fit = findings.inertias
    return [(joint, *(f"{v:.3f}" for v in x)) for joint, x in zip(fit.joints, fit.losses, strict=True)] if fit else []


def suggestions(findings: Findings) -> str:
    """YAML for every node; what the plant reads from the URDF stands beside it.

    The losses are those found together with the inertias, where these could be fitted.
    """
    joints, fit = findings.moved.joints, findings.inertias
    values = findings.losses.value if fit is None else fit.losses
    found = "of each joint alone, with the inertias of the URDF" if fit is None else "found together with the inertias"
    lines = [f"# losses {found}", "# armature: parameter of plant, feedforward and monitor [kg m^2]"]
    lines += ["/**:", "  ros__parameters:"]
    lines += ["    armature:", *(f"      {joint}: {v[2]:.5f}" for joint, v in zip(joints, values, strict=True))]
    lines += ["# damping and friction: in the URDF, where the plant reads them"]
    lines += [
        f'#   <joint name="{joint}"> <dynamics damping="{v[0]:.5f}" friction="{v[1]:.5f}"/>'
        for joint, v in zip(joints, values, strict=True)
    ]
    return "\n".join(lines)


def show(findings: Findings) -> None:
    """Print notes, tables and suggestions."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    for note in notes(findings):
        console.print(note)
    for title, head, rows, note in (
        ("Joint efforts, root mean square", ERROR_HEAD, error_rows(findings), ""),
        (ALONE, LOSS_HEAD, loss_rows(findings), ABSORBED),
        (TOGETHER, LOSS_HEAD, together_rows(findings), ""),
    ):
        if not rows:
            continue
        table = new_table(*head, left=1)
        for row in rows:
            table.add_row(*row)
        console.print("", title, style="bold", sep="\n")
        console.print(table)
        if note:
            console.print(note, style="dim")
    if findings.inertias is not None:
        shown = int(np.sum(findings.inertias.base_error < np.abs(findings.inertias.base) / 3.0))
        console.print(f"\n{shown} of {len(findings.inertias.base)} base parameters are known to a third or better")
    print("\n" + suggestions(findings))


def page(findings: Findings, log_file: Path) -> str:
    """Write the HTML page."""
    fit = findings.inertias
    parts = [report.paragraph(note) for note in notes(findings)]
    parts += [report.heading("Joint efforts, root mean square"), report.table(ERROR_HEAD, error_rows(findings))]
    parts += [report.heading(ALONE), report.table(LOSS_HEAD, loss_rows(findings)), report.paragraph(ABSORBED)]
    if fit is not None:
        parts += [report.heading(TOGETHER), report.table(LOSS_HEAD, together_rows(findings))]
    parts += [report.heading("Suggested parameters"), f"<pre>{escape(suggestions(findings))}</pre>"]
    for j, joint in enumerate(findings.moved.joints):
        parts += [
            report.heading(joint),
            report.picture(plot(findings, j), f"Effort of {joint} and what remains of it."),
        ]
    if fit is not None:
        figures = zip(fit.base_names, fit.base, fit.base_prior, fit.base_error, strict=True)
        rows = [(name, f"{value:.4f}", f"{prior:.4f}", f"{error:.2g}") for name, value, prior, error in figures]
        text = (
            "Combinations of inertial parameters that show in the efforts, in link frames, SI units. The fit keeps "
            f"every body possible and near the URDF (weight {fit.prior_weight:g}); the errors are those of plain least "
            "squares, with residuals within 1 s taken as correlated."
        )
        parts += [report.heading("Base parameters"), report.paragraph(text), report.table(BASE_HEAD, rows)]
    return report.page(f"{findings.model.name}: {log_file.name}", parts)


def plot(findings: Findings, j: int) -> "Figure":
    """Draw measured and predicted effort of a joint over time, and the errors."""
    from matplotlib.figure import Figure

    moved, fit = findings.moved, findings.inertias
    time = moved.stamp - moved.stamp[0]
    predicted = findings.predicted[:, j]
    curves = {"model": predicted, "with losses": predicted + findings.losses.effort[:, j]}
    curves |= {} if fit is None else {"with losses and inertias": fit.effort[:, j]}
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    above.plot(time, moved.effort[:, j], color="0.2", linewidth=0.8, label="measured")
    for label, effort in curves.items():
        above.plot(time, effort, linewidth=0.9, label=label)
        below.plot(time, moved.effort[:, j] - effort, linewidth=0.7)
    above.set_ylabel("effort [N m]")
    above.legend(ncols=4, fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
    below.set_ylabel("error [N m]")
    below.set_xlabel("time [s]")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    return figure
