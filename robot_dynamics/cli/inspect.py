# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics inspect`: what the dynamics sees of a URDF."""

import argparse
import json
import math
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contact.checks import check_range
from ..contact.points import MeshPoints, collision_meshes, points_with
from ..control.robot import immovable, load_robot, root_link
from ..model.model import Model
from . import solids
from .output import compiling_shown
from .robots import add_robot

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

HELP = "show a URDF as the dynamics sees it: bodies, joints, limits, odd inertias, contact candidates"
WIDTH = 100
DEEPEST_GUIDES = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument(
        "--mesh-path",
        action="append",
        default=[],
        metavar="FOLDER",
        help="also look for collision meshes there: a package or a folder of packages; may be repeated",
    )
    parser.add_argument(
        "--density",
        type=float,
        metavar="KG_M3",
        help="also integrate over the shapes of each link as solids of this density (aluminium: 2700), "
        "beside the inertia that the URDF gives, with the <inertial> to paste",
    )
    parser.add_argument(
        "--shapes",
        choices=("collision", "visual"),
        default="collision",
        help="shapes for --density (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Print the robot: 0 also when there is something to warn of."""
    if args.density is not None:
        check_range("--density", args.density, 0.0, open_low=True)
    robot, rows = describe(load_robot(args.urdf, floating_base=args.floating_base, mesh_path=args.mesh_path)), []
    if args.density is not None:
        shaped = replace(solids.shaped(args.urdf, args.shapes), mesh_path=tuple(args.mesh_path))
        rows = list(solids.beside(shaped, args.density))
        robot["solids"] = [row.values() for row in rows]
    if args.json:
        print(json.dumps(robot, indent=2))
        return 0
    console = wide_console()
    show(console, robot)
    if args.density is not None:
        solids.show(console, rows, args.density, args.shapes)
    return 0


def describe(model: Model) -> dict[str, Any]:
    """Give the model as plain values; what is unlimited or unknown is None."""
    report = model.report
    with warnings.catch_warnings(record=True) as unread:
        warnings.simplefilter("always")
        points = points_with(model, meshes := collision_meshes(model))
    return {
        "name": model.name,
        "root": root_link(model.robot),
        "mass": report.mass,
        "com": report.com.tolist(),
        "floating_base": model.floating_base,
        "nq": model.nq,
        "nv": model.nv,
        "bodies": list(bodies(model)),
        "joints": list(joints(model)),
        "mimic": dict(report.mimic),
        "contact_points": dict(Counter(points.link)),
        "meshes": [row(mesh, found) for (mesh, _), found in meshes.items() if not found.problem],
        "nonphysical": list(report.nonphysical),
        "singular": list(report.singular),
        "immovable": list(immovable(model)),
        "unread_meshes": [str(warning.message) for warning in unread],
        "dropped": dict(report.dropped),
    }


def row(mesh: str, found: MeshPoints) -> dict[str, Any]:
    """Say what stands for a collision mesh."""
    return {"mesh": mesh, "triangles": found.corners // 3, "points": len(found.points), "error": found.error}


def bodies(model: Model) -> Iterator[dict[str, Any]]:
    """Yield the bodies with their merged links; centre of mass in body axes, None without mass."""
    inertials = {link.name: link.inertial for link in model.robot.links}
    for body, name in enumerate(model.body_names):
        mass, moment = 0.0, np.zeros(3)
        own = np.flatnonzero(model.link_bodies == body)
        for link in own:
            inertial = inertials[model.link_names[link]]
            if inertial is not None:
                mass += inertial.mass
                moment += inertial.mass * (model.link_R[link] @ inertial.com + model.link_p[link])
        yield {
            "name": name,
            "parent": model.body_names[model.parent[body]] if body else None,
            "mass": mass,
            "com": (moment / mass).tolist() if mass > 0.0 else None,
            "links": [model.link_names[link] for link in own],
        }


def joints(model: Model) -> Iterator[dict[str, Any]]:
    """Yield the moving joints in the order of q."""
    described = {joint.name: joint for joint in model.robot.joints}
    for i, name in enumerate(model.joint_names):
        joint = described[name]
        yield {
            "name": name,
            "kind": joint.kind,
            "parent": joint.parent,
            "child": joint.child,
            "axis": None if joint.kind == "floating" else joint.axis.tolist(),
            "lower": known(model.lower[i]),
            "upper": known(model.upper[i]),
            "effort": known(model.effort_limit[i]),
            "velocity": known(model.velocity_limit[i]),
            "damping": float(model.damping[i]),
            "friction": float(model.friction[i]),
            "armature": float(model.armature[i]),
        }


def known(value: float) -> float | None:
    """Return the number, or None for an infinite one."""
    return float(value) if math.isfinite(value) else None


def wide_console() -> "Console":
    """Make a console of at most WIDTH columns."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def show(console: "Console", robot: dict[str, Any]) -> None:
    """Print the robot for people."""
    console.print(robot["name"], style="bold")
    links = sum(len(body["links"]) for body in robot["bodies"])
    base = "floating" if robot["floating_base"] else "fixed"
    console.print(f"{links} links, {len(robot['joints'])} joints, {base} base: nq {robot['nq']}, nv {robot['nv']}")
    com = " ".join(triple(robot["com"]).split())
    console.print(f"{robot['mass']:.5g} kg, centre of mass at ({com}) m in the axes of {robot['root']}, joints at 0\n")
    console.print(body_table(robot))
    if robot["joints"]:
        console.print("\nrad, N m and seconds; m and N for prismatic joints; - is unlimited or unknown\n", style="dim")
        console.print(joint_table(robot["joints"]))
    notes(console, robot)


def body_table(robot: dict[str, Any]) -> "Table":
    """Lay out the bodies as a tree."""
    table = new_table("body", "links", "mass kg", "centre of mass m", left=1)
    shown = robot["bodies"][1:] if robot["floating_base"] else robot["bodies"]
    for guide, body in zip(guides(shown), shown, strict=True):
        com = triple(body["com"]) if body["com"] else "-"
        table.add_row(guide + body["name"], str(len(body["links"])), f"{body['mass']:.4g}", com)
    return table


def guides(tree: list[dict[str, Any]]) -> list[str]:
    """Lines before each name: a chain stands below its first body, branches are drawn and moved in."""
    children: dict[str | None, list[str]] = {}
    for body in tree[1:]:
        children.setdefault(body["parent"], []).append(body["name"])
    before, below = {tree[0]["name"]: ""}, {tree[0]["name"]: ""}
    for body in tree[1:]:
        name, left = body["name"], below[body["parent"]][-DEEPEST_GUIDES:]
        siblings = children[body["parent"]]
        branch, on = ("", "") if len(siblings) == 1 else ("└ ", "  ") if name == siblings[-1] else ("├ ", "│ ")
        before[name], below[name] = left + branch, left + on
    return [before[body["name"]] for body in tree]


def joint_table(joints: list[dict[str, Any]]) -> "Table":
    """Lay out the joints; a column that would hold nothing is left out."""
    optional = [key for key in ("effort", "velocity", "damping", "friction", "armature") if any(j[key] for j in joints)]
    table = new_table("joint", "kind", "axis", "lower", "upper", *optional, left=3)
    for joint in joints:
        table.add_row(
            joint["name"],
            joint["kind"],
            axis(joint["axis"]),
            *(number(joint[key]) for key in ("lower", "upper", *optional)),
        )
    return table


def new_table(*headers: str, left: int) -> "Table":
    """Make an empty table whose first `left` columns hold words."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for i, header in enumerate(headers):
        table.add_column(header, justify="left" if i < left else "right", no_wrap=i > 0, overflow="fold")
    return table


def notes(console: "Console", robot: dict[str, Any]) -> None:
    """Print what is worth knowing besides the numbers."""
    unread = robot["unread_meshes"]
    more = f"; {len(unread) - 1} more like it" if unread[1:] else ""
    listed(console, "mimic joints", [f"{name} = {law}" for name, law in robot["mimic"].items()])
    listed(console, "contact candidates", counts(robot["contact_points"]) or ["none"])
    mesh_notes(console, robot["meshes"])
    listed(console, "without inertia: forward dynamics refuses this robot", robot["singular"], "red")
    sentences(console, "odd inertias, used as they are", robot["nonphysical"])
    sentences(console, "no motor moves these joints; see the parameter joint_friction", robot["immovable"])
    sentences(console, "collision meshes not read", [sentence + more for sentence in unread[:1]])
    listed(console, "tags of the URDF not used", counts(robot["dropped"]))


def mesh_notes(console: "Console", meshes: list[dict[str, Any]]) -> None:
    """Lay out what stands for each collision mesh."""
    if not meshes:
        return
    table = new_table("collision mesh", "triangles", "points", "hull falls short by mm", left=1)
    for mesh in meshes:
        name = "/".join(mesh["mesh"].split("/")[-2:])
        table.add_row(name, str(mesh["triangles"]), str(mesh["points"]), f"{1e3 * mesh['error']:.2f}")
    console.print()
    console.print(table)


def listed(console: "Console", title: str, items: list[str], style: str = "") -> None:
    """Print a title and its items in a row; no line breaks inside an item."""
    if items:
        console.print(f"\n{title}:", style=style)
        row = ", ".join(items).replace(" ", "\xa0").replace(",\xa0", ", ")
        console.print(indented(row, console.width).replace("\xa0", " "))


def sentences(console: "Console", title: str, items: list[str]) -> None:
    """Print a warning and its items, each on a line of its own."""
    if items:
        console.print(f"\n{title}:", style="yellow")
        for item in items:
            console.print(indented(item, console.width))


def indented(text: str, width: int) -> str:
    """Wrap text between words, moved in by two spaces."""
    return textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def counts(counted: dict[str, int]) -> list[str]:
    """Write 'name 3' for each entry."""
    return [f"{name} {count}" for name, count in counted.items()]


def triple(vector: list[float]) -> str:
    """Write three coordinates under each other's."""
    return " ".join(f"{value + 0.0:8.4f}" for value in np.round(vector, 4))


def axis(vector: list[float] | None) -> str:
    """Write x, -y, ... for an axis of the frame, else its coordinates."""
    if vector is None:
        return ""
    for name, unit in zip("xyz", np.eye(3), strict=True):
        for sign in ("", "-"):
            if np.abs(vector - (-unit if sign else unit)).max() < 1e-9:
                return sign + name
    return " ".join(f"{value:.3g}" for value in vector)


def number(value: float | None) -> str:
    """Write a number, or a dash for none."""
    return "-" if value is None else f"{value:.4g}"
