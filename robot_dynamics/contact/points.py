# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact points from collision geometry (D1: a body and a position in body coordinates)."""

import warnings

import numpy as np

from ..core.arrays import Array
from ..dynamics.kinematics import Points
from ..model.description import Shape
from ..model.model import Model
from .mesh import find_mesh, read_stl, support_points

RIM_POINTS = 8


def _corners(size: tuple[float, ...]) -> Array:
    """Corners of a box: x changes fastest, then y, then z, plus before minus."""
    signs = [(x, y, z) for z in (1.0, -1.0) for y in (1.0, -1.0) for x in (1.0, -1.0)]
    return 0.5 * np.array(signs) * size


def _rims(radius: float, length: float) -> Array:
    """Eight points on the upper rim of a cylinder along z, from +x towards +y, then eight on the lower one."""
    angle = 2.0 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.vstack([np.column_stack([circle, np.full(RIM_POINTS, z)]) for z in (0.5 * length, -0.5 * length)])


def _mesh_points(shape: Shape, link: str, folder: str) -> Array:
    try:
        vertices = read_stl(find_mesh(shape.mesh, folder))
    except (OSError, ValueError) as error:
        warnings.warn(f"collision mesh of link '{link}': {error}; its origin is used as a contact point", stacklevel=3)
        return np.zeros((1, 3))
    return support_points(vertices * shape.size)


def shape_points(shape: Shape, link: str, folder: str) -> tuple[Array, float]:
    """Points (k, 3) of one shape in link axes, and the radius of the ball around each [m].

    Box: 8 corners. Sphere: its centre with its radius. Capsule: the centres of its two ends with its radius.
    Cylinder: 8 points on either rim. Mesh: its extremes in 32 directions; unreadable, its origin with a warning.
    """
    radius = 0.0
    if shape.kind == "box":
        local = _corners(shape.size)
    elif shape.kind == "sphere":
        local, radius = np.zeros((1, 3)), shape.size[0]
    elif shape.kind == "capsule":
        half = 0.5 * shape.size[1]
        local, radius = np.array([[0.0, 0.0, half], [0.0, 0.0, -half]]), shape.size[0]
    elif shape.kind == "cylinder":
        local = _rims(shape.size[0], shape.size[1])
    else:
        local = _mesh_points(shape, link, folder)
    return local @ shape.R.T + shape.p, radius


def contact_points(model: Model) -> Points:
    """Contact points of every collision shape, link by link in the order of `model.link_names` (see `shape_points`).

    Returns
    -------
    Points
        Positions (k, 3) in body axes; links of the fixed base are left out, they cannot move.
    """
    body: list[int] = []
    position: list[Array] = []
    link: list[str] = []
    radius: list[float] = []
    for i, name in enumerate(model.link_names):
        if model.link_bodies[i] == 0:
            continue
        for shape in model.shapes[i]:
            local, size = shape_points(shape, name, model.robot.folder)
            body += [int(model.link_bodies[i])] * len(local)
            position += list(local @ model.link_R[i].T + model.link_p[i])
            link += [name] * len(local)
            radius += [size] * len(local)
    return Points(
        body=np.array(body, dtype=np.int64),
        position=np.array(position).reshape(-1, 3),
        link=tuple(link),
        radius=np.array(radius),
    )
