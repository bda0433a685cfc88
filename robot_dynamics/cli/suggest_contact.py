# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics suggest-contact`: spring-damper parameters of a robot's feet from their sag and their bounce."""

import argparse
import json
import math
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..contact.suggest import Suggestion, suggest
from ..model.model import Model
from ..simulation.rebound import tuned
from .inspect import counts, new_table
from .output import compiling_shown
from .robots import load_robot, standing

HELP = "stiffness, damping and largest stable timestep of the spring-damper contact for a robot"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("urdf", type=Path, help="URDF file")
    parser.add_argument("--timestep", type=float, required=True, metavar="H", help="step of the simulation [s]")
    parser.add_argument("--sag", type=float, required=True, metavar="S", help="depth of a foot at rest [m]")
    parser.add_argument(
        "--bounce", type=float, required=True, metavar="E", help="speed after over speed before a foot's vertical blow"
    )
    parser.add_argument("--speed", type=float, default=1.0, help="speed of that blow [m/s] (default: %(default)g)")
    parser.add_argument(
        "--scheme",
        choices=("implicit", "explicit"),
        default="implicit",
        help="explicit: refuse a pair that is unstable at this timestep (default: %(default)s)",
    )
    parser.add_argument("--feet", nargs="+", default=[], metavar="LINK", help="links that carry the weight")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Print the suggestion: 0, or 2 through a ParameterError that says what is impossible."""
    model = load_robot(args.urdf)
    feet, q = standing(model, args.feet)
    found = suggest(
        model, feet, q, timestep=args.timestep, sag=args.sag, bounce=args.bounce, speed=args.speed, scheme=args.scheme
    )
    found = tuned(model, feet, q, found, timestep=args.timestep, scheme=args.scheme)
    if args.json:
        print(
            json.dumps({"robot": model.name, "feet": feet.link, "parameters": parameters(found, args), **asdict(found)})
        )
    else:
        show(model, feet.link, found, args)
    return 0


def parameters(found: Suggestion, args: argparse.Namespace) -> dict[str, Any]:
    """Give the parameters of the plant node; stiffness and damping to four digits."""
    return {
        "contact_model": "spring_damper",
        "scheme": args.scheme,
        "timestep": args.timestep,
        "stiffness": rounded(found.stiffness),
        "damping": rounded(found.damping),
    }


def rounded(value: float) -> float:
    """Keep four significant digits."""
    return round(value, 3 - math.floor(math.log10(value)))


def show(model: Model, feet: tuple[str, ...], found: Suggestion, args: argparse.Namespace) -> None:
    """Print the table for people and the YAML for the plant."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
    console.print(f"{model.name}: {model.mass:.4g} kg on {len(feet)} contact points", style="bold")
    console.print(", ".join(counts(Counter(feet))), style="dim")
    table = new_table("quantity", "value", left=1)
    for row in rows(found, args.timestep):
        table.add_row(*row)
    console.print()
    console.print(table)
    console.print(
        "\nThe bounce was measured on the plant at this timestep: the mean of all feet, joints free.",
        style="dim",
    )
    console.print("\nparameters of the plant:\n")
    lines = ["/**:", "  ros__parameters:", *(f"    {name}: {value}" for name, value in parameters(found, args).items())]
    console.print("\n".join(lines))


def rows(found: Suggestion, timestep: float) -> list[tuple[str, str]]:
    """The table."""
    return [
        ("stiffness K", f"{found.stiffness:.4g} N/m^1.5"),
        ("damping D", f"{found.damping:.4g} N s/m^1.5"),
        ("load of a foot", f"{found.load:.4g} N"),
        ("depth at rest (load / K)^(2/3)", f"{1e3 * found.sag:.4g} mm"),
        ("effective mass of a foot, vertical", f"{found.effective_mass:.4g} kg"),
        (f"bounce after a blow at {found.speed:g} m/s, measured at {1e3 * timestep:g} ms", f"{found.bounce:.3g}"),
        ("depth of that blow", f"{1e3 * found.depth:.4g} mm"),
        ("duration of that blow", f"{1e3 * found.duration:.4g} ms, {found.duration / timestep:.3g} steps"),
        ("stable timestep, explicit scheme, at rest", f"< {1e3 * found.standing_limit:.3g} ms"),
        (f"stable timestep, explicit scheme, at {1e3 * found.depth:.3g} mm", f"< {1e3 * found.landing_limit:.3g} ms"),
        ("stable timestep, implicit scheme", "any"),
    ]
