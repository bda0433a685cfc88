# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the links of a robot look like: the visuals of its URDF, or collision shapes where these cannot be shown."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..core.extras import missing
from ..errors import RobotDynamicsError
from ..model.description import Robot, Shape
from ..model.mesh_files import find_mesh
from ..model.model import Model

MOST_VERTICES = 200_000
"""Vertices of a link beyond which a browser is slow: then its collision shapes are shown."""
PLAIN = (0.62, 0.64, 0.68, 1.0)
"""Colour of what has none."""
NAMED = 3
"""So many links a sentence names."""


@dataclass(frozen=True, slots=True)
class Look:
    """A mesh on a body: `glb` is a file of that format, `scale` (3,) its scale, R, p its pose in body axes."""

    body: int
    link: str
    glb: bytes
    scale: tuple[float, float, float]
    R: Array
    p: Array


@dataclass(frozen=True, slots=True)
class Visual:
    """A shape as a URDF draws it; `colour` (4,) 0 .. 1, None where it gives none."""

    shape: Shape
    colour: tuple[float, ...] | None


def looks(model: Model, text: str) -> tuple[list[Look], list[str]]:
    """What the robot of the URDF `text` looks like, and sentences on what could not be shown as it should.

    Links whose visuals are missing, unreadable or too detailed are shown by their collision shapes; links without
    either are not shown.
    """
    drawn, problems = _visuals(text)
    found: list[Look] = []
    causes: dict[str, list[str]] = {}
    for i, link in enumerate(model.link_names):
        collisions = [Visual(shape, None) for shape in model.shapes[i]]
        for visuals in (drawn.get(link, []), collisions):
            try:
                found += _link_looks(model, i, visuals)
            except _NotShown as problem:
                causes.setdefault(str(problem), []).append(link)
                continue
            if visuals:
                break
    return found, problems + [f"{cause}: {_listed(links)}" for cause, links in causes.items()]


class _NotShown(Exception):
    """Why a visual cannot be shown, as the beginning of a sentence that links end."""


def _listed(links: Sequence[str]) -> str:
    """Name the first few, each once."""
    names = list(dict.fromkeys(links))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}, drawn as collision shapes"


def _link_looks(model: Model, i: int, visuals: Sequence[Visual]) -> list[Look]:
    made, vertices = [], 0
    for visual in visuals:
        shape = visual.shape
        if shape.kind != "mesh" and not _extent(shape):
            continue
        glb, count = _glb(visual, model.robot)
        vertices += count
        if vertices > MOST_VERTICES:
            raise _NotShown(f"meshes of more than {MOST_VERTICES} vertices")
        R, p = model.link_R[i] @ shape.R, model.link_R[i] @ shape.p + model.link_p[i]
        sx, sy, sz = shape.size if shape.kind == "mesh" else (1.0, 1.0, 1.0)
        made.append(Look(int(model.link_bodies[i]), model.link_names[i], glb, (sx, sy, sz), R, p))
    return made


def _extent(shape: Shape) -> float:
    """Size of a primitive; 0 of a sphere that stands for a contact point, in which there is nothing to see."""
    return max(shape.size) if shape.kind == "box" else shape.size[0]


def _glb(visual: Visual, robot: Robot) -> tuple[bytes, int]:
    """Make a GLB file of one shape, before its scale, and count its vertices."""
    shape = visual.shape
    mesh = _mesh_file(shape.mesh, robot, visual.colour) if shape.kind == "mesh" else _primitive(shape)
    if shape.kind != "mesh":
        paint(mesh, visual.colour or PLAIN)
    if mesh.bounds is None or not np.isfinite(mesh.bounds).all():  # a browser would show an empty page
        raise _NotShown("shapes with vertices that are not finite, of")
    parts = mesh.geometry.values() if hasattr(mesh, "geometry") else [mesh]
    return glb_file(mesh), sum(len(part.vertices) for part in parts)


def glb_file(mesh: Any) -> bytes:
    """Write a trimesh mesh or scene as GLB."""
    data = io.BytesIO()
    mesh.export(data, file_type="glb")
    return data.getvalue()


def paint(mesh: Any, colour: Sequence[float]) -> None:
    """Give a mesh of trimesh one colour (3 or 4,), 0 .. 1."""
    from trimesh.visual import TextureVisuals
    from trimesh.visual.material import PBRMaterial

    rgba = [*colour, 1.0][:4]
    material = PBRMaterial(baseColorFactor=[round(255 * c) for c in rgba], metallicFactor=0.0, roughnessFactor=0.7)
    mesh.visual = TextureVisuals(material=material)


def _mesh_file(mesh: str, robot: Robot, colour: Sequence[float] | None) -> Any:
    """Load a mesh file; its own colours count where it has any."""
    import trimesh

    try:
        path = find_mesh(mesh, robot.folder, robot.mesh_path)
    except FileNotFoundError:
        raise _NotShown(f"mesh files that are not found, such as '{mesh}', of") from None
    try:
        loaded = trimesh.load(path)
    except Exception as problem:  # whatever a reader of somebody's file raises
        raise _NotShown(f"mesh files that cannot be read, such as '{path.name}' ({problem!r}), of") from None
    if not getattr(loaded, "is_empty", True) and path.suffix.lower() == ".stl":
        paint(loaded, colour or PLAIN)
    if loaded.is_empty:
        raise _NotShown(f"mesh files without triangles, such as '{path.name}', of")
    return loaded


def _primitive(shape: Shape) -> Any:
    """Mesh of a box, sphere, cylinder or capsule."""
    from trimesh import creation

    if shape.kind == "box":
        return creation.box(shape.size)
    if shape.kind == "sphere":
        return creation.icosphere(subdivisions=2, radius=shape.size[0])
    if shape.kind == "cylinder":
        return creation.cylinder(radius=shape.size[0], height=shape.size[1], sections=24)
    return creation.capsule(radius=shape.size[0], height=shape.size[1], count=[16, 16])


def _visuals(text: str) -> tuple[dict[str, list[Visual]], list[str]]:
    """Visuals by link, as yourdfpy reads them, and a sentence where it cannot."""
    try:
        import yourdfpy
    except ImportError:
        raise RobotDynamicsError(missing("yourdfpy")) from None
    try:
        read = yourdfpy.URDF.load(io.BytesIO(text.encode()), build_scene_graph=False, load_meshes=False)
    except Exception as problem:  # its own readers raise KeyError and others for what they do not know
        return {}, [f"yourdfpy cannot read the visuals of this URDF ({problem!r}): links are drawn as collision shapes"]
    named = {m.name: m for m in read.robot.materials}
    return {link.name: list(_drawn(link.visuals, named)) for link in read.robot.links}, []


def _drawn(visuals: Iterable[Any], named: dict[str, Any]) -> Iterator[Visual]:
    for visual in visuals:
        geometry, T = visual.geometry, np.eye(4) if visual.origin is None else np.asarray(visual.origin)
        material = visual.material
        if material is not None and material.color is None:
            material = named.get(material.name)
        colour = None if material is None or material.color is None else tuple(map(float, material.color.rgba))
        shape = None if geometry is None else _shape(geometry, T[:3, :3], T[:3, 3])
        if shape is not None:
            yield Visual(shape, colour)


def _shape(geometry: Any, R: ArrayLike, p: ArrayLike) -> Shape | None:
    pose = np.asarray(R), np.asarray(p)
    if geometry.box is not None:
        return Shape("box", tuple(map(float, geometry.box.size)), *pose)
    if geometry.sphere is not None:
        return Shape("sphere", (float(geometry.sphere.radius),), *pose)
    if geometry.cylinder is not None:
        return Shape("cylinder", (float(geometry.cylinder.radius), float(geometry.cylinder.length)), *pose)
    if geometry.mesh is None:
        return None
    scale = np.broadcast_to(1.0 if geometry.mesh.scale is None else geometry.mesh.scale, 3)
    return Shape("mesh", tuple(map(float, scale)), *pose, mesh=geometry.mesh.filename)


def description_text(source: str) -> str:
    """Text of a URDF given as its path or as text."""
    return source if source.lstrip().startswith("<") else Path(source).read_text()
