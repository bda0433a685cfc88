# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Collision meshes of published robots: which are found and read, what stands for them, and how long that takes.

`python -m benchmark.meshes FOLDER...` loads every URDF below the folders; equal URDFs and equal meshes count once.
"""

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import robot_dynamics as rd
from robot_dynamics.contact.mesh import support_points
from robot_dynamics.control.robot import load_robot
from robot_dynamics.model.mesh_files import find_mesh, read_mesh

from .machine import OUTPUT, machine

Key = tuple[bytes, tuple[float, ...]]
SMALL = 0.01
"""Meshes up to this size say nothing by the share of it that is missing [m]."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """One file at one scale: `error` and `size` [m], `read` and `reduced` [s of this process]; `problem`: not read."""

    file: str
    kind: str
    triangles: int = 0
    points: int = 0
    error: float = 0.0
    size: float = 0.0
    read: float = 0.0
    reduced: float = 0.0
    problem: str = ""


class Robots:
    """What came of the URDFs looked at so far."""

    def __init__(self) -> None:
        self.models = 0
        self.meshed = 0
        self.seen: set[bytes] = set()
        self.refused: dict[str, str] = {}
        self.meshes: dict[Key, Mesh] = {}
        self.lost: dict[str, list[str]] = {}

    def look(self, urdf: Path, folder: Path) -> None:
        """Load one URDF and its collision meshes, with the folder as mesh_path."""
        content = hashlib.sha256(urdf.read_bytes()).digest()
        if content in self.seen:
            return
        self.seen.add(content)
        try:
            model = load_robot(urdf, mesh_path=[str(folder)])
        except rd.RobotDynamicsError as problem:
            self.refused[str(urdf)] = str(problem)
            return
        self.models += 1
        moving = [shapes for body, shapes in zip(model.link_bodies, model.shapes, strict=True) if body]
        meshes = {(shape.mesh, shape.size) for shapes in moving for shape in shapes if shape.kind == "mesh"}
        self.meshed += bool(meshes)
        for name, scale in sorted(meshes):
            try:
                path = find_mesh(name, model.robot.folder, model.robot.mesh_path)
            except OSError:
                self.lost.setdefault(str(urdf), []).append(name)
                continue
            key = hashlib.sha256(path.read_bytes()).digest(), scale
            if key not in self.meshes:
                self.meshes[key] = measured(path, scale)


def measured(path: Path, scale: tuple[float, ...]) -> Mesh:
    """Read and reduce one mesh."""
    kind = path.suffix.lower().removeprefix(".")
    begin = time.process_time()
    try:
        corners = read_mesh(path) * scale
    except (OSError, ValueError) as problem:
        return Mesh(str(path), kind, problem=str(problem))
    middle = time.process_time()
    points, error = support_points(corners)
    end = time.process_time()
    size = float(np.ptp(corners, axis=0).max())
    return Mesh(str(path), kind, len(corners) // 3, len(points), error, size, middle - begin, end - middle)


def urdfs(folders: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Every URDF, with the folder it is below."""
    for folder in folders:
        for urdf in sorted(folder.rglob("*.urdf")):
            yield urdf, folder


def table(robots: Robots) -> Table:
    """The meshes by their format."""
    out = Table(title="each file at each scale once; CPU time; share: of the size of meshes above 1 cm")
    for head in ("files", "meshes", "read", "triangles", "points", "read in", "reduced in", "short", "share", "median"):
        out.add_column(head, justify="left" if head == "files" else "right")
    for kind, _ in Counter(mesh.kind for mesh in robots.meshes.values()).most_common():
        all_of_it = [mesh for mesh in robots.meshes.values() if mesh.kind == kind]
        good = [mesh for mesh in all_of_it if not mesh.problem]
        shares = [mesh.error / mesh.size for mesh in good if mesh.size > SMALL] or [0.0]
        out.add_row(
            kind.upper(),
            str(len(all_of_it)),
            str(len(good)),
            str(sum(mesh.triangles for mesh in good)),
            str(sum(mesh.points for mesh in good)),
            f"{sum(mesh.read for mesh in good):.2f} s",
            f"{sum(mesh.reduced for mesh in good):.1f} s",
            f"{1e3 * max((mesh.error for mesh in good), default=0.0):.1f} mm",
            f"{max(shares):.1%}",
            f"{np.median(shares):.2%}",
        )
    return out


def failures(robots: Robots) -> Iterator[str]:
    """One sentence each."""
    yield from (f"refused: {urdf}: {problem}" for urdf, problem in robots.refused.items())
    for urdf, names in robots.lost.items():
        yield f"not found: {urdf}: {len(names)}, as {names[0]}"
    yield from (f"not read: {mesh.problem}" for mesh in robots.meshes.values() if mesh.problem)


def main() -> int:
    """Look at all, print the table and what failed, write report/meshes.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.meshes", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds URDFs and their meshes")
    folders = parser.parse_args().folders
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    robots, files = Robots(), list(urdfs(folders))
    with Progress(console=console, transient=True) as bar:
        for urdf, folder in bar.track(files, description="robots"):
            robots.look(urdf, folder)
    for sentence in failures(robots):
        console.print(sentence, markup=False, soft_wrap=True)
    console.print(table(robots))
    console.print(
        f"{len(files)} files, {len(robots.seen)} different URDFs, {robots.models} of them models, "
        f"{robots.meshed} with collision meshes; {robots.meshed - len(robots.lost)} of these find all of them"
    )
    console.print(", ".join(f"{what}: {which}" for what, which in machine().items()))
    OUTPUT.mkdir(exist_ok=True)
    meshes = [asdict(mesh) for mesh in robots.meshes.values()]
    text = {"machine": machine(), "refused": robots.refused, "lost": robots.lost, "meshes": meshes}
    (OUTPUT / "meshes.json").write_text(json.dumps(text, indent=2))
    console.print(f"written: {OUTPUT / 'meshes.json'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
