# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Mass, centre and inertia of the shapes of a link, if they were solid and of one density."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..core.arrays import Array
from ..model.description import Inertial, Shape
from ..model.mesh_files import find_mesh, read_mesh
from ..spatial import rotated_inertia, shifted_inertia

LEAK = 1e-3
"""A mesh whose triangles' area vectors leave over more than this share of its area is not closed."""


def solid(shapes: Iterable[Shape], density: float, folder: str, path: Sequence[str] = ()) -> Inertial:
    """Mass, centre and inertia of shapes as solids, in the axes of their link (S13-S15); overlaps count twice.

    Parameters
    ----------
    density : [kg/m^3].
    folder, path : of the URDF, for meshes; see `find_mesh`.

    Raises
    ------
    OSError, ValueError
        A mesh that cannot be read, is not closed, or encloses nothing.
    """
    parts = [solid_shape(shape, density, folder, path) for shape in shapes]
    mass = sum(part.mass for part in parts)
    if not mass:
        return Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    com: Array = sum((part.mass * part.com for part in parts), np.zeros(3)) / mass
    inertia: Array = sum((shifted_inertia(p.mass, p.inertia, p.com - com) for p in parts), np.zeros((3, 3)))
    return Inertial(mass, com, inertia)


def solid_shape(shape: Shape, density: float, folder: str, path: Sequence[str] = ()) -> Inertial:
    """Answer for one shape; raises as `solid`."""
    if shape.kind == "mesh":
        own = _solid_mesh(read_mesh(find_mesh(shape.mesh, folder, path)) * shape.size, shape.mesh)
    else:
        own = _PRIMITIVES[shape.kind](*shape.size)
    inertia = rotated_inertia(shape.R.T, own.inertia)
    return Inertial(density * own.mass, shape.R @ own.com + shape.p, density * inertia)


def _upright(volume: float, across: float, along: float) -> Inertial:
    """A body of revolution about z with its centre at the origin, of unit density."""
    return Inertial(volume, np.zeros(3), np.diag([across, across, along]))


def _box(x: float, y: float, z: float) -> Inertial:
    squares = np.array([x, y, z]) ** 2
    return Inertial(x * y * z, np.zeros(3), x * y * z / 12.0 * np.diag(squares.sum() - squares))


def _sphere(r: float) -> Inertial:
    volume = 4.0 / 3.0 * np.pi * r**3
    return _upright(volume, 0.4 * volume * r**2, 0.4 * volume * r**2)


def _cylinder(r: float, length: float) -> Inertial:
    volume = np.pi * r**2 * length
    return _upright(volume, volume * (3.0 * r**2 + length**2) / 12.0, 0.5 * volume * r**2)


def _capsule(r: float, length: float) -> Inertial:
    """A cylinder and two half balls, whose centres are 3 r / 8 beyond its ends."""
    middle, ends = _cylinder(r, length), _sphere(r)
    across = 0.4 * r**2 + 0.25 * length**2 + 0.375 * r * length  # 83/320 r^2 + (L/2 + 3r/8)^2, both halves
    return _upright(
        middle.mass + ends.mass, middle.inertia[0, 0] + ends.mass * across, middle.inertia[2, 2] + ends.inertia[2, 2]
    )


_PRIMITIVES: dict[str, Callable[..., Inertial]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
}


def _solid_mesh(corners: Array, name: str) -> Inertial:
    """Sum over the tetrahedra between the origin and the triangles (3 k, 3), signed by their orientation (S15)."""
    a, b, c = np.moveaxis(corners.reshape(-1, 3, 3), 1, 0)
    normals = np.cross(b - a, c - a)
    if np.linalg.norm(normals.sum(axis=0)) > LEAK * np.linalg.norm(normals, axis=1).sum():
        raise ValueError(f"mesh {name} is not closed: it encloses no volume")
    volumes = np.einsum("ki,ki->k", a, np.cross(b, c)) / 6.0
    volume, middle = float(volumes.sum()), a + b + c
    if volume == 0.0:
        raise ValueError(f"mesh {name} encloses no volume")
    com = volumes @ middle / (4.0 * volume)
    seconds = sum(np.einsum("k,ki,kj->ij", volumes, x, x) for x in (a, b, c, middle)) / 20.0
    about_com = (seconds - volume * np.outer(com, com)) * np.sign(volume)  # inside out: the normals point inwards
    return Inertial(abs(volume), com, np.trace(about_com) * np.eye(3) - about_com)
