# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The inertias of a URDF beside those that its shapes would have: the part of `robot_dynamics inspect --density`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

import numpy as np

from ..contact.solids import solid
from ..errors import ModelError
from ..model.description import Inertial, Link, Robot
from ..model.urdf import read_urdf

if TYPE_CHECKING:
    from rich.console import Console

ODD = 3.0
"""Factor between both masses, or both principal moments at the URDF's mass, from which on a link is flagged."""


SIX = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Attributes of <inertia>, the upper triangle row by row."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A link's inertia in the URDF (None without) and that of its shapes, or `problem` why there is none."""

    link: str
    given: Inertial | None
    solid: Inertial | None
    problem: str = ""

    def odd(self) -> list[str]:
        """Say what differs by more than a factor of ODD, or lies outside."""
        if self.solid is None:
            return []
        if self.given is None or not self.given.mass:
            return ["no inertia in the URDF"]
        found = []
        if beyond(self.given.mass / self.solid.mass):
            found.append("mass")
        ratio = self.given.mass / self.solid.mass
        moments = zip(principal(self.given), ratio * principal(self.solid), strict=True)
        if any(beyond(a / b) for a, b in moments):
            found.append("inertia")
        if np.linalg.norm(self.given.com - self.solid.com) > 2.0 * gyration(self.solid):
            found.append("centre")
        return found

    def values(self) -> dict[str, object]:
        """Both as plain values."""
        return {
            "link": self.link,
            "given": plain(self.given),
            "solid": plain(self.solid),
            "odd": self.odd(),
            "problem": self.problem or None,
        }


def beyond(ratio: float) -> bool:
    """Whether two figures of this ratio are odd beside each other."""
    return not 1.0 / ODD <= ratio <= ODD


def principal(inertial: Inertial) -> np.ndarray:
    """Principal moments (3,), the least first [kg m^2]; never 0, so that they can be compared."""
    return np.maximum(np.linalg.eigvalsh(inertial.inertia), 1e-12)


def gyration(inertial: Inertial) -> float:
    """Radius of gyration about the centre of mass [m]."""
    return float(np.sqrt(0.5 * np.trace(inertial.inertia) / inertial.mass))


def plain(inertial: Inertial | None) -> dict[str, object] | None:
    """Mass, centre, and the six numbers of the inertia in link axes."""
    if inertial is None:
        return None
    six = inertial.inertia[np.triu_indices(3)].tolist()
    return {"mass": inertial.mass, "com": inertial.com.tolist(), **dict(zip(SIX, six, strict=True))}


def shaped(source: str, which: Literal["collision", "visual"]) -> Robot:
    """Read a URDF whose shapes are its collision or its visual ones. Raises ModelError."""
    if which == "collision":
        return read_urdf(source)
    read_urdf(source)  # says what is wrong with the file
    document = ElementTree.parse(source).getroot()
    for link in document.iter("link"):
        for collision in link.findall("collision"):
            link.remove(collision)
        for visual in link.findall("visual"):
            visual.tag = "collision"
            for material in visual.findall("material"):
                visual.remove(material)
    return replace(read_urdf(ElementTree.tostring(document, "unicode")), folder=str(Path(source).resolve().parent))


def beside(robot: Robot, density: float) -> Iterator[Beside]:
    """Integrate over the shapes of every link that has some."""
    for link in robot.links:
        if link.shapes:
            yield one(link, density, robot.folder, robot.mesh_path)


def one(link: Link, density: float, folder: str, path: Sequence[str] = ()) -> Beside:
    """Answer for one link."""
    try:
        found = solid(link.shapes, density, folder, path)
    except (OSError, ValueError) as problem:
        return Beside(link.name, link.inertial, None, str(problem))
    if not found.mass:
        return Beside(link.name, link.inertial, None, "its shapes have no volume")
    return Beside(link.name, link.inertial, found)


def tag(found: Inertial, mass: float) -> str:
    """Write the <inertial> to paste into the link: that of its shapes, at this mass."""
    com = " ".join(f"{x:.6g}" for x in np.round(found.com, 9) + 0.0)
    inertia = mass / found.mass * found.inertia[np.triu_indices(3)]
    six = " ".join(f'{name}="{x:.6g}"' for name, x in zip(SIX, np.round(inertia, 12) + 0.0, strict=True))
    return f'<inertial><origin xyz="{com}"/><mass value="{mass:.6g}"/><inertia {six}/></inertial>'


def show(console: "Console", rows: list[Beside], density: float, which: str) -> None:
    """Print both, what is odd, and the tags to paste."""
    from rich import box
    from rich.table import Table

    if not rows:
        raise ModelError(f"--density: no link has a {which} shape")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("link", overflow="fold")
    for header in ("mass kg", "solid", "centres apart mm", "moments g m^2", "solid, same mass", "odd"):
        table.add_column(header, justify="right" if header != "odd" else "left", overflow="fold")
    for row in rows:
        table.add_row(row.link, *cells(row))
    console.print(f"\nsolid {which} shapes of {density:g} kg/m^3 beside the inertias of the URDF:\n")
    console.print(table)
    for problem in dict.fromkeys(row.problem for row in rows if row.problem):
        links = ", ".join(row.link for row in rows if row.problem == problem)
        console.print(f"{links}: {problem}", style="yellow")
    console.print("\nto paste; the mass is that of the URDF where it has one:\n")
    for row in rows:
        if row.solid is not None:
            mass = row.given.mass if row.given and row.given.mass else row.solid.mass
            console.print(f"<!-- {row.link} -->\n{tag(row.solid, mass)}", soft_wrap=True)


def cells(row: Beside) -> tuple[str, ...]:
    """Figures of a link; - where there is none."""
    given, found = row.given, row.solid
    mass = f"{given.mass:.4g}" if given else "-"
    moments = three(principal(given)) if given else "-"
    if found is None:
        return mass, "-", "-", moments, "-", ""
    if given is None or not given.mass:
        return mass, f"{found.mass:.4g}", "-", moments, three(principal(found)), ", ".join(row.odd())
    apart = f"{1e3 * np.linalg.norm(given.com - found.com):.1f}"
    scaled = three(given.mass / found.mass * principal(found))
    return mass, f"{found.mass:.4g}", apart, moments, scaled, ", ".join(row.odd())


def three(moments: np.ndarray) -> str:
    """Write three moments [g m^2]."""
    return " ".join(f"{1e3 * x:.3g}" for x in moments)
