# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Inertia of solid shapes: against sums over many small parts, and meshes against the shapes that they are."""

import numpy as np
import pytest
from random_robots import rotation

from robot_dynamics.contact.solids import solid, solid_shape
from robot_dynamics.model.description import Shape

SIZES = {"box": (0.3, 0.2, 0.5), "sphere": (0.2,), "cylinder": (0.15, 0.4), "capsule": (0.1, 0.3)}
DENSITY = 2700.0


def placed(kind: str, seed: int, mesh: str = "", size: tuple[float, ...] = ()) -> Shape:
    rng = np.random.default_rng(seed)
    return Shape(kind, size or SIZES[kind], rotation(rng), rng.standard_normal(3), mesh)


def inside(kind: str, x: np.ndarray) -> np.ndarray:
    """Which places (k, 3) are in the shape at the origin."""
    size = SIZES[kind]
    if kind == "box":
        return (np.abs(x) < 0.5 * np.array(size)).all(axis=1)
    if kind == "sphere":
        return (x**2).sum(axis=1) < size[0] ** 2
    beyond = np.maximum(np.abs(x[:, 2]) - 0.5 * size[1], 0.0)
    if kind == "cylinder":
        return (np.hypot(x[:, 0], x[:, 1]) < size[0]) & (beyond == 0.0)
    return x[:, 0] ** 2 + x[:, 1] ** 2 + beyond**2 < size[0] ** 2


@pytest.mark.parametrize("kind", SIZES)
def test_a_shape_is_the_sum_of_its_parts(kind):
    n, half = 120, 0.3
    axis = half * (2.0 * (np.arange(n) + 0.5) / n - 1.0)
    x = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    shape = placed(kind, 1)
    x = x[inside(kind, x)] @ shape.R.T + shape.p
    part, com = DENSITY * (2.0 * half / n) ** 3, x.mean(axis=0)
    r = x - com
    second = part * r.T @ r
    found = solid_shape(shape, DENSITY, "")
    assert found.mass == pytest.approx(part * len(x), rel=5e-3)
    np.testing.assert_allclose(found.com, com, atol=1e-3)
    expected = np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(found.inertia, expected, atol=1e-2 * np.abs(expected).max())


def stl(path, triangles: np.ndarray) -> str:
    """Write triangles (k, 3, 3) as an ASCII STL file."""
    facets = ("".join(f"vertex {' '.join(map(repr, corner))}\n" for corner in t) for t in triangles.tolist())
    path.write_text("solid s\n" + "".join(f"facet\nouter loop\n{f}endloop\nendfacet\n" for f in facets) + "endsolid\n")
    return path.name


def box_triangles(size) -> np.ndarray:
    """Twelve triangles whose normals point outwards."""
    corners = np.array([[x, y, z] for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)]) * size
    quads = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    return np.array([corners[[a, b, c]] for q in quads for a, b, c in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))])


@pytest.mark.parametrize("turned", [False, True], ids=["outwards", "inside out"])
@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_a_mesh_of_a_box_is_a_box(tmp_path, turned, offset):
    triangles = box_triangles(SIZES["box"]) + offset
    name = stl(tmp_path / "box.stl", triangles[:, ::-1] if turned else triangles)
    mesh = placed("mesh", 3, name, (2.0, 1.0, 0.5))
    found = solid_shape(mesh, DENSITY, str(tmp_path))
    size = tuple(np.array(SIZES["box"]) * mesh.size)
    box = Shape("box", size, mesh.R, mesh.p + mesh.R @ (offset * np.array(mesh.size)))
    expected = solid_shape(box, DENSITY, "")
    assert found.mass == pytest.approx(expected.mass, rel=1e-6)
    np.testing.assert_allclose(found.com, expected.com, atol=1e-6)
    np.testing.assert_allclose(found.inertia, expected.inertia, rtol=1e-4, atol=1e-4 * np.abs(expected.inertia).max())


def test_a_mirrored_mesh_keeps_its_mass(tmp_path):
    name = stl(tmp_path / "box.stl", box_triangles(SIZES["box"]))
    found = solid_shape(placed("mesh", 3, name, (-1.0, 1.0, 1.0)), DENSITY, str(tmp_path))
    assert found.mass == pytest.approx(DENSITY * 0.03, rel=1e-6)
    assert np.linalg.eigvalsh(found.inertia)[0] > 0.0


def test_parts_add_up_to_the_whole():
    halves = [Shape("box", (0.3, 0.2, 0.25), np.eye(3), np.array([0.0, 0.0, z])) for z in (-0.125, 0.125)]
    found = solid(halves, DENSITY, "")
    whole = solid([Shape("box", SIZES["box"], np.eye(3), np.zeros(3))], DENSITY, "")
    assert found.mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(found.inertia, whole.inertia, atol=1e-12)
    assert solid([], DENSITY, "").mass == 0.0


@pytest.mark.parametrize(
    ("triangles", "sentence"),
    [(box_triangles((1.0, 1.0, 1.0))[:-1], "is not closed"), (np.zeros((4, 3, 3)), "encloses no volume")],
    ids=["open", "flat"],
)
def test_a_mesh_that_encloses_nothing_is_refused(tmp_path, triangles, sentence):
    name = stl(tmp_path / "open.stl", triangles)
    with pytest.raises(ValueError, match=sentence):
        solid_shape(placed("mesh", 1, name, (1.0, 1.0, 1.0)), DENSITY, str(tmp_path))
