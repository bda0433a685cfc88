# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact points from collision geometry (D1: a body and a position in body coordinates)."""

import warnings
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..dynamics.kinematics import Points
from ..model.description import Robot, Shape
from ..model.mesh_files import find_mesh, read_mesh
from ..model.model import Model
from .mesh import MOST_POINTS, support_points

RIM_POINTS = 8


@dataclass(frozen=True, slots=True, eq=False)
class MeshPoints:
    """What stands for a collision mesh: points (n, 3) of the `corners` of its triangles in mesh axes, scaled.

    `error`: by how much the convex hull of the points falls short of that of the mesh, at most [m]. `problem`: why the
    mesh could not be read; the one point is then its origin.
    """

    points: Array
    corners: int = 0
    error: float = 0.0
    problem: str = ""


def _corners(size: tuple[float, ...]) -> Array:
    """Corners of a box: x changes fastest, then y, then z, plus before minus."""
    signs = [(x, y, z) for z in (1.0, -1.0) for y in (1.0, -1.0) for x in (1.0, -1.0)]
    return 0.5 * np.array(signs) * size


def _rims(radius: float, length: float) -> Array:
    """Eight points on the upper rim of a cylinder along z, from +x towards +y, then eight on the lower one."""
    angle = 2.0 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.vstack([np.column_stack([circle, np.full(RIM_POINTS, z)]) for z in (0.5 * length, -0.5 * length)])


def mesh_points(shape: Shape, robot: Robot, most: int = MOST_POINTS) -> MeshPoints:
    """Find, read and reduce the mesh of a shape to at most `most` points (`support_points`)."""
    try:
        corners = read_mesh(find_mesh(shape.mesh, robot.folder, robot.mesh_path)) * shape.size
    except (OSError, ValueError) as problem:
        return MeshPoints(np.zeros((1, 3)), problem=str(problem))
    points, error = support_points(corners, most)
    return MeshPoints(points, len(corners), error)


def _primitive_points(shape: Shape) -> tuple[Array, float]:
    if shape.kind == "box":
        return _corners(shape.size), 0.0
    if shape.kind == "sphere":
        return np.zeros((1, 3)), shape.size[0]
    if shape.kind == "capsule":
        half = 0.5 * shape.size[1]
        return np.array([[0.0, 0.0, half], [0.0, 0.0, -half]]), shape.size[0]
    return _rims(shape.size[0], shape.size[1]), 0.0


def collision_meshes(model: Model) -> dict[tuple[str, tuple[float, ...]], MeshPoints]:
    """What stands for each collision mesh of the links that move, by its name and scale; each file is read once."""
    found: dict[tuple[str, tuple[float, ...]], MeshPoints] = {}
    for i, shapes in enumerate(model.shapes):
        for shape in shapes if model.link_bodies[i] else ():
            if shape.kind == "mesh" and (shape.mesh, shape.size) not in found:
                found[shape.mesh, shape.size] = mesh_points(shape, model.robot)
    return found


def contact_points(model: Model) -> Points:
    """Contact points of every collision shape, link by link in the order of `model.link_names`.

    Box: 8 corners. Sphere: its centre with its radius. Capsule: the centres of its two ends with its radius.
    Cylinder: 8 points on either rim. Mesh: at most 32 of its vertices (`support_points`); one that cannot be read: its
    origin, with a warning that says why.

    Returns
    -------
    Points
        Positions (k, 3) in body axes; links of the fixed base are left out, they cannot move.
    """
    return points_with(model, collision_meshes(model))


def points_with(model: Model, meshes: dict[tuple[str, tuple[float, ...]], MeshPoints]) -> Points:
    """Answer of `contact_points` with these points for the meshes."""
    body: list[int] = []
    position: list[Array] = []
    link: list[str] = []
    radius: list[float] = []
    unread: dict[str, list[str]] = {}
    for i, name in enumerate(model.link_names):
        if model.link_bodies[i] == 0:
            continue
        for shape in model.shapes[i]:
            if shape.kind == "mesh":
                mesh, size = meshes[shape.mesh, shape.size], 0.0
                local = mesh.points
                if mesh.problem:
                    unread.setdefault(mesh.problem, []).append(name)
            else:
                local, size = _primitive_points(shape)
            local = local @ shape.R.T + shape.p
            body += [int(model.link_bodies[i])] * len(local)
            position += list(local @ model.link_R[i].T + model.link_p[i])
            link += [name] * len(local)
            radius += [size] * len(local)
    for problem, links in unread.items():
        warnings.warn(f"{_named(links)}: {problem}; the mesh's origin is its contact point", stacklevel=3)
    return Points(
        body=np.array(body, dtype=np.int64),
        position=np.array(position).reshape(-1, 3),
        link=tuple(link),
        radius=np.array(radius),
    )


def _named(links: list[str]) -> str:
    """Name the links whose collision mesh it is about, the first three of many."""
    names = list(dict.fromkeys(links))
    more = f" and {len(names) - 3} more" if names[3:] else ""
    return f"collision mesh of link{'s' if names[1:] else ''} {', '.join(repr(name) for name in names[:3])}{more}"
