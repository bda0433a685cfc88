# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics identify --simulate`: with which parameters a simulated plant follows a log of commands."""

import argparse
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core import report
from ..core.arrays import Array
from ..errors import ParameterError, UnknownNameError
from ..identification.commanded_log import Tracked, read_commanded_log, tracked
from ..identification.joint_log import joint_map
from ..identification.simulated_fit import FITTED, LEAST, PAYLOAD, UNITS, Problem, SimulatedFit, fit_simulated
from ..model.model import Model
from ..model.urdf import load_urdf
from .inspect import new_table
from .output import check_output, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ERROR_HEAD = ("joint", "where the\nfit began", "fitted")
VALUE_HEAD = ("parameter", "began at", "fitted", "standard error", "unit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that --simulate brings."""
    group = parser.add_argument_group("without torques", "have a simulated plant follow commanded positions")
    group.add_argument(
        "--simulate", action="store_true", help="fit to positions and commanded positions: .npz, .csv or rosbag2"
    )
    for name, unit in (("--kp", "N m/rad"), ("--kd", "N m s/rad")):
        group.add_argument(
            name,
            action="append",
            default=[],
            metavar="[JOINT=]VALUE",
            help=f"gain of the robot's own controller [{unit}]",
        )
    group.add_argument("--fit", default=",".join(FITTED[:-1]), help=f"what is fitted (%(default)s); also {PAYLOAD}")
    group.add_argument("--payload", default="", metavar="LINK", help="link that carries an unknown mass, and fit it")
    group.add_argument("--names", default="", metavar="A,B,...", help="names of the columns of an .npz without names")
    group.add_argument("--command-topic", default="", help="JointState topic of the commands (/joint_commands)")


def run(args: argparse.Namespace, given: Mapping[str, str]) -> int:
    """Fit, print, write the page: 0."""
    if args.output is not None:
        import matplotlib.figure  # noqa: F401 - say now, not after the fit, that it is missing

        check_output(args.output)
    model = load_urdf(args.urdf)
    log = read_commanded_log(args.log, args.topic, args.command_topic, [x for x in args.names.split(",") if x])
    moved = tracked(log, model, joint_map(log.names, model, given))
    fitted = [x.strip() for x in args.fit.split(",") if x.strip()] + ([PAYLOAD] if args.payload else [])
    kp, kd = (gains(option, values, model, moved) for option, values in (("--kp", args.kp), ("--kd", args.kd)))
    problem = Problem(model, moved, kp, kd, tuple(dict.fromkeys(fitted)), args.payload)
    fit = with_progress(problem)
    show(problem, fit)
    if args.output is not None:
        write_page(args.output, page(problem, fit, args.log))
    return 0


def gains(option: str, values: Sequence[str], model: Model, moved: Tracked) -> Array:
    """Gains (k,) of the joints of the log. Raises ParameterError, UnknownNameError."""
    by_joint: dict[str, float] = {}
    for text in values:
        joint, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = np.nan
        if not 0.0 <= value < np.inf:
            raise ParameterError(f"{option} takes a number of at least 0, or JOINT=NUMBER; got '{text}'")
        if joint and joint not in moved.joints:
            raise UnknownNameError(f"joint of {option} in the log", joint, moved.joints)
        by_joint[joint] = value
    missing = [joint for joint in moved.joints if joint not in by_joint and "" not in by_joint]
    if missing:
        raise ParameterError(
            f"{option} must say the gain of the robot's own controller, not given: {', '.join(missing)}"
        )
    return np.array([by_joint.get(joint, by_joint.get("", 0.0)) for joint in moved.joints])


def with_progress(problem: Problem) -> SimulatedFit:
    """Fit with a bar that says how far an iteration is."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("simulating", total=1.0)
        return fit_simulated(problem, lambda what, share: progress.update(task, description=what, completed=share))


def notes(problem: Problem, fit: SimulatedFit) -> list[str]:
    """Say what was simulated."""
    log = problem.log
    rest = [joint for joint in problem.model.joint_names if joint not in log.joints]
    lines = [
        f"{len(log.q)} ticks of {1e3 * log.dt:.3g} ms, {problem.substeps} steps each; {len(fit.value)} parameters, "
        f"{len(fit.cost) - 1} iterations; the root link is taken to be fixed and level",
    ]
    lines += [f"left out: {log.skipped:.1f} s beyond a pause of the recording"] if log.skipped > 0.5 * log.dt else []
    return lines + ([f"not in the log, held at 0: {', '.join(rest)}"] if rest else [])


def error_rows(problem: Problem, fit: SimulatedFit) -> list[Sequence[str]]:
    """Rms errors of position per joint [rad or m], before and after."""
    rows = zip(problem.log.joints, fit.before, fit.after, strict=True)
    return [(joint, f"{a:.5f}", f"{b:.5f}") for joint, a, b in rows]


def value_rows(fit: SimulatedFit) -> list[Sequence[str]]:
    """What was found, and with what standard error; a value at its least is none."""
    out: list[Sequence[str]] = []
    for name, kind, x, start, error in zip(fit.names, fit.kinds, fit.value, fit.start, fit.error, strict=True):
        least = x <= LEAST[kind] * (1.0 + 1e-9)
        found = f"below {LEAST[kind]:g}" if least else f"{x:.5f}"
        out.append((name, f"{start:.5f}", found, "-" if least else f"{error:.2g}", UNITS[kind]))
    return out


def suggestions(problem: Problem, fit: SimulatedFit) -> str:
    """YAML for the nodes, what belongs into the URDF, and the rest of what was found."""
    values = {kind: fit.of(kind) for kind in FITTED if kind in fit.kinds}
    joints, lines = problem.log.joints, ["# armature: parameter of plant, feedforward and monitor [kg m^2]"]
    if "armature" in values:
        lines += ["/**:", "  ros__parameters:", "    armature:"]
        lines += [f"      {joint}: {x:.5f}" for joint, x in zip(joints, values["armature"], strict=True)]
    loss = [values.get(kind, np.full(len(joints), np.nan)) for kind in ("viscous", "coulomb")]
    lines += ["# damping and friction: in the URDF, where the plant reads them"]
    for joint, *figures in zip(joints, *loss, strict=True):
        said = zip(("damping", "friction"), figures, strict=True)
        text = " ".join(f'{what}="{x:.5f}"' for what, x in said if np.isfinite(x))
        lines += [f'#   <joint name="{joint}"> <dynamics {text}/>'] if text else []
    if "delay" in values:
        lines += [
            f"# commands act {1e3 * values['delay'][0]:.2f} ms late: command_delay of the plant, in its timesteps"
        ]
    if "gain" in values:
        lines += [f"# motors give {values['gain'][0]:.4f} of the effort that kp and kd ask for"]
    return "\n".join(lines)


def show(problem: Problem, fit: SimulatedFit) -> None:
    """Print notes, tables and suggestions."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    for note in notes(problem, fit):
        console.print(note)
    for title, head, rows in (
        ("Error of the simulated position, root mean square [rad or m]", ERROR_HEAD, error_rows(problem, fit)),
        ("Parameters with which the plant follows the log best", VALUE_HEAD, value_rows(fit)),
    ):
        table = new_table(*head, left=1)
        for row in rows:
            table.add_row(*row)
        console.print("", title, style="bold", sep="\n")
        console.print(table)
    print("\n" + suggestions(problem, fit))


def page(problem: Problem, fit: SimulatedFit, log_file: Path) -> str:
    """Write the HTML page."""
    parts = [report.paragraph(note) for note in notes(problem, fit)]
    parts += [report.heading("Error of the simulated position, root mean square [rad or m]")]
    parts += [report.table(ERROR_HEAD, error_rows(problem, fit))]
    parts += [report.heading("Parameters"), report.table(VALUE_HEAD, value_rows(fit))]
    parts += [report.heading("Suggested parameters"), f"<pre>{escape(suggestions(problem, fit))}</pre>"]
    for j, joint in enumerate(problem.log.joints):
        caption = f"Position of {joint} as logged and as simulated, and the error."
        parts += [report.heading(joint), report.picture(plot(problem.log, fit, j), caption)]
    return report.page(f"{problem.model.name}: {log_file.name}", parts)


def plot(log: Tracked, fit: SimulatedFit, j: int) -> "Figure":
    """Draw commanded, logged and simulated position of a joint over time, and the error."""
    from matplotlib.figure import Figure

    time = log.dt * np.arange(len(log.q))
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    above.plot(time, log.command[:, j], color="0.7", linewidth=0.7, label="commanded")
    above.plot(time, log.q[:, j], color="0.2", linewidth=0.9, label="logged")
    above.plot(time, fit.position[:, j], linewidth=0.9, label="simulated")
    below.plot(time, fit.position[:, j] - log.q[:, j], linewidth=0.7)
    above.set_ylabel("position [rad]")
    above.legend(ncols=3, fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
    below.set_ylabel("error [rad]")
    below.set_xlabel("time [s]")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    return figure
