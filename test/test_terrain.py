# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Terrain: distances and frames against the reference numbers and by their geometry."""

from pathlib import Path

import numpy as np
import pytest
from depth import every

from robot_dynamics.contact.terrain import Box, HeightField, Plane, pack
from robot_dynamics.errors import ParameterError
from robot_dynamics.kernels.terrain import FAR, query

ORACLE = np.load(Path(__file__).parent / "data" / "collision.npz")


def ask(terrain, points):
    """Penetration (k,), frames (k, 3, 3) with columns t1 t2 n, and surface number (k,) of points (k, 3)."""
    points = np.atleast_2d(np.asarray(points, dtype=float))
    pen, frames, found = np.empty(len(points)), np.empty((len(points), 9)), np.empty(len(points), dtype=np.int64)
    query(*pack(terrain), points, pen, frames, found)
    return pen, frames.reshape(-1, 3, 3), found


def assert_frames(frames):
    """Orthonormal and right-handed, normal of unit length."""
    products = np.einsum("kij,kil->kjl", frames, frames)
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(3), frames.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-12)


def quaternion(R):
    """Quaternion xyzw of a rotation matrix (3, 3)."""
    values, vectors = np.linalg.eigh(
        np.array(
            [
                [R[0, 0] - R[1, 1] - R[2, 2], 0, 0, 0],
                [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0, 0],
                [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], 0],
                [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], np.trace(R)],
            ]
        )
    )
    return tuple(vectors[:, np.argmax(values)])


def test_boxes_agree_with_the_reference():
    proper = 0
    for i in range(len(ORACLE["box_hit"])):
        box = Box(tuple(ORACLE["box_size"][i]), tuple(ORACLE["box_pos"][i]), quaternion(ORACLE["box_R_world"][i]))
        pen, frames, _ = ask([box], ORACLE["box_point"][i])
        assert_frames(frames)
        if not ORACLE["box_hit"][i]:
            assert pen[0] > 0.0
            continue
        np.testing.assert_allclose(pen[0], ORACLE["box_penetration"][i], atol=1e-12)
        if abs(np.linalg.det(ORACLE["box_frame"][i]) - 1.0) < 1e-9:
            np.testing.assert_allclose(frames[0], ORACLE["box_frame"][i], atol=1e-12)
            proper += 1
        else:
            np.testing.assert_allclose(frames[0][:, 2], ORACLE["box_frame"][i][:, 2], atol=1e-12)
    assert proper > 10


def test_reference_height_field():
    field = HeightField(
        ORACLE["mesh_height_map"], float(ORACLE["mesh_grid"]), tuple(ORACLE["mesh_left_corner"]), scheme="oracle"
    )
    pen, frames, _ = ask([field], ORACLE["mesh_point"])
    hit = ORACLE["mesh_hit"] == 1
    np.testing.assert_array_equal(pen < 0.0, hit)
    np.testing.assert_allclose(pen[hit], ORACLE["mesh_penetration"][hit], atol=1e-12)
    assert_frames(frames)
    normal = ORACLE["mesh_frame"][hit][:, :, 2]
    np.testing.assert_allclose(frames[hit][:, :, 2], normal / np.linalg.norm(normal, axis=1)[:, None], atol=1e-12)


def surface_of(field, spacing, count):
    """Places (count * count, 3) of the bilinear surface of a square field, evenly spread."""
    side = len(field.heights) - 1
    a = np.linspace(0.0, side, count)
    ix = np.minimum(np.floor(a).astype(int), side - 1)
    f = a - ix
    along = (1.0 - f)[:, None] * field.heights[ix] + f[:, None] * field.heights[ix + 1]
    h = along[:, ix] * (1.0 - f) + along[:, ix + 1] * f
    x, y = np.meshgrid(spacing * a, spacing * a, indexing="ij")
    return np.column_stack([x.ravel(), y.ravel(), h.ravel()])


@pytest.mark.parametrize("kind", every(2, ["rough", "stairs"]))
def test_a_height_field_is_as_far_as_its_nearest_place(kind):
    """Above and below, at edges and inner corners, against 801 x 801 places of the surface; cells of rough ground are
    twisted, where the distance is right to first order. The places are up to 2 mm apart."""
    rng = np.random.default_rng(5)
    spacing = 0.05
    heights = np.repeat(0.1 * (np.arange(17) // 4.0)[:, None], 17, axis=1)
    if kind == "rough":
        heights = 0.05 * rng.random((17, 17))
    field = HeightField(heights, spacing)
    places = surface_of(field, spacing, 801)
    x = places[rng.integers(len(places), size=400)] + rng.uniform(-0.03, 0.03, (400, 3))
    x = x[((x[:, :2] > 0.1) & (x[:, :2] < 0.7)).all(axis=1)]
    pen, frames, _ = ask([field], x)
    assert_frames(frames)
    nearest = np.array([np.linalg.norm(places - point, axis=1).min() for point in x])
    np.testing.assert_allclose(np.abs(pen), nearest, atol=1.2e-3 if kind == "stairs" else 2.5e-3)
    assert (pen > 0.0).sum() > 50
    assert (pen < 0.0).sum() > 50


@pytest.mark.parametrize("seed", range(3))
def test_every_box_face_has_a_proper_frame_that_points_outwards(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, (300, 3))
    size = np.array([0.6, 0.4, 0.2])
    pen, frames, _ = ask([Box(tuple(size))], x)
    assert_frames(frames)
    beyond = np.maximum(np.abs(x) - size / 2, 0.0)
    inside = (beyond == 0.0).all(axis=1)
    np.testing.assert_allclose(pen[~inside], np.linalg.norm(beyond[~inside], axis=1), atol=1e-14)
    np.testing.assert_allclose(pen[inside], -(size / 2 - np.abs(x[inside])).min(axis=1), atol=1e-14)
    step = 1e-6 * frames[:, :, 2]
    np.testing.assert_allclose(ask([Box(tuple(size))], x + step)[0] - pen, 1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_bilinear_field_of_a_plane_is_the_plane(seed):
    rng = np.random.default_rng(seed)
    slope = rng.uniform(-0.5, 0.5, 2)
    grid = np.arange(12) * 0.1
    field = HeightField(slope[0] * grid[:, None] + slope[1] * grid[None, :], 0.1, (0.0, 0.0, 0.2))
    x = np.column_stack([rng.uniform(0.01, 1.09, (100, 2)), rng.uniform(-0.5, 0.9, 100)])
    normal = np.array([-slope[0], -slope[1], 1.0])
    pen, frames, _ = ask([field], x)
    expected, plane_frames, _ = ask([Plane(0.2, tuple(normal))], x)
    side = np.minimum(x[:, :2], 1.1 - x[:, :2]).min(axis=1)
    top = expected > -side
    foot = x - expected[:, None] * plane_frames[:, :, 2]
    within = ((foot[:, :2] > 0.0) & (foot[:, :2] < 1.1)).all(axis=1)
    x, pen, frames, expected, plane_frames, side, top = (
        values[within] for values in (x, pen, frames, expected, plane_frames, side, top)
    )
    assert 30 < top.sum() < 95
    np.testing.assert_allclose(pen, np.maximum(expected, -side), atol=1e-12)
    np.testing.assert_allclose(frames[top], plane_frames[top], atol=1e-12)


TILTS = 10.0 ** -np.arange(1.0, 17.0)


@pytest.mark.parametrize("up", [1.0, -1.0])
def test_frames_of_normals_near_z_are_proper(up):
    """To rounding, of planes (packed by Python) and of a box seen past its edges (found by the kernel)."""
    rng = np.random.default_rng(3)
    across = np.column_stack([rng.standard_normal((16, 2)) * TILTS[:, None], np.full(16, up)])
    normals = across / np.linalg.norm(across, axis=1)[:, None]
    of_planes = np.concatenate([ask([Plane(normal=tuple(n))], np.zeros(3))[1] for n in normals])
    corner = np.sign(across) * 0.5
    of_box = ask([Box((1.0, 1.0, 1.0))], corner + 0.1 * across)[1]
    for frames, precision in ((of_planes, 1e-15), (of_box, 1e-15)):
        np.testing.assert_allclose(np.einsum("kij,kil->kjl", frames, frames), [np.eye(3)] * 16, atol=2 * precision)
        np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=2 * precision)
    np.testing.assert_allclose(of_planes[:, :, 2], normals, atol=1e-15)


@pytest.mark.parametrize("tilt", TILTS)
def test_frames_near_a_ceiling_turn_with_the_normal(tilt):
    """Once around -z the tangents turn twice, evenly; a frame can jump at -z itself and nowhere else."""
    around = np.linspace(0.0, 2.0 * np.pi, 361)
    normals = np.column_stack([tilt * np.cos(around), tilt * np.sin(around), np.full(361, -1.0)])
    frames = np.concatenate([ask([Plane(normal=tuple(n))], np.zeros(3))[1] for n in normals])
    apart = np.linalg.norm(np.diff(frames, axis=0), axis=(1, 2))
    assert apart.max() < 1.01 * np.sqrt(2.0) * 2.0 * np.deg2rad(1.0)


def test_level_plane_has_the_world_axes_and_its_height():
    pen, frames, found = ask([Plane(0.3)], [1.0, 2.0, 0.25])
    assert pen[0] == pytest.approx(-0.05)
    assert found[0] == 0
    np.testing.assert_array_equal(frames[0], np.eye(3))


def test_the_deepest_surface_wins():
    field = HeightField(np.full((3, 3), 0.1), 1.0, (-1.0, -1.0, 0.0))
    terrain = [Plane(), Box((1.0, 1.0, 0.4), (0.0, 0.0, 0.0)), field]
    pen, _, found = ask(terrain, [[0.0, 0.0, 0.19], [0.9, 0.9, 0.05], [5.0, 5.0, -0.01], [5.0, 5.0, 1.0]])
    np.testing.assert_array_equal(found, [1, 2, 0, 0])
    np.testing.assert_allclose(pen, [-0.01, -0.05, -0.01, 1.0], atol=1e-15)


@pytest.mark.parametrize(
    ("place", "distance", "normal"),
    [
        ([-0.1, 1.0, -5.0], 0.1, [-1, 0, 0]),
        ([0.05, 1.0, -5.0], -0.05, [-1, 0, 0]),
        ([1.0, 2.3, 0.0], 0.3, [0, 1, 0]),
        ([1.0, 1.97, -0.04], -0.03, [0, 1, 0]),
        ([-0.3, 1.0, 0.4], 0.5, [-0.6, 0, 0.8]),
    ],
)
def test_a_height_field_has_upright_sides(place, distance, normal):
    """Below its edge a point is as far from it as from the side, above it as from the edge."""
    pen, frames, _ = ask([HeightField(np.zeros((3, 3)), 1.0)], place)
    assert pen[0] == pytest.approx(distance, rel=1e-12)
    np.testing.assert_allclose(frames[0][:, 2], normal, atol=1e-12)
    assert_frames(frames)


def test_no_ground_beside_the_field_of_the_reference_or_without_terrain():
    assert ask([HeightField(np.zeros((3, 3)), 1.0, scheme="oracle")], [-0.1, 1.0, -5.0])[0][0] == FAR
    assert ask([], [0.0, 0.0, 0.0])[2][0] == -1


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Plane(normal=(0, 0, 0)), "normal of Plane must not be zero"),
        (lambda: Plane(height=float("nan")), "height of Plane"),
        (lambda: Plane(friction=-0.1), "friction of Plane must be at least 0"),
        (lambda: Box((1.0, 0.0, 1.0)), "size of Box must be above 0"),
        (lambda: Box((1.0, 1.0)), "size of Box must be 3 finite numbers"),
        (lambda: Box((1.0, 1.0, 1.0), orientation=(0, 0, 0, 0)), "orientation of Box must not be zero"),
        (lambda: HeightField(np.zeros(4), 0.1), "at least 2 x 2"),
        (lambda: HeightField(np.zeros((2, 2)), 0.0), "spacing of HeightField must be above 0"),
        (lambda: HeightField(np.zeros((2, 2)), 0.1, scheme="cubic"), "one of bilinear, oracle"),
        (lambda: pack(["ground"]), "terrain must hold Plane, Box and HeightField"),
        (lambda: pack(Plane()), r"terrain must be a sequence, such as \(Plane\(\),\)"),
    ],
)
def test_bad_figures_are_named(build, words):
    with pytest.raises(ParameterError, match=words):
        build()
