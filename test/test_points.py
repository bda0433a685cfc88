# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact points from collision shapes, and meshes found as ROS finds them."""

import struct

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.contact.mesh import find_mesh, read_stl, support_points
from robot_dynamics.contact.points import contact_points

TETRAHEDRON = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))


def robot(geometry, origin=""):
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><mass value="1"/>{inertia}</inertial>'
    collision = f"<collision>{origin}<geometry>{geometry}</geometry></collision>"
    return f'<robot name="r"><link name="base">{inertial}{collision}</link></robot>'


def found(geometry, origin=""):
    return contact_points(rd.load_urdf(robot(geometry, origin), floating_base=True))


def binary_stl(path):
    triangles = b"".join(struct.pack("<12fH", *np.zeros(3), *TETRAHEDRON[list(f)].ravel(), 0) for f in FACES)
    path.write_bytes(b"x" * 80 + struct.pack("<I", len(FACES)) + triangles)


def ascii_stl(path):
    corners = "\n".join(f"vertex {x} {y} {z}" for f in FACES for x, y, z in TETRAHEDRON[list(f)])
    path.write_text(f"solid t\n{corners}\nendsolid t\n")


def test_box_corners_come_x_first_plus_before_minus():
    points = found('<box size="0.38 0.098 0.1"/>')
    signs = [(x, y, z) for z in (1, -1) for y in (1, -1) for x in (1, -1)]
    np.testing.assert_allclose(points.position, np.array(signs) * [0.19, 0.049, 0.05])
    assert points.link == ("base",) * 8
    np.testing.assert_array_equal(points.radius, 0.0)


def test_sphere_is_its_centre_with_a_radius():
    points = found('<sphere radius="0.02"/>', '<origin xyz="0 0 -0.2"/>')
    np.testing.assert_allclose(points.position, [[0.0, 0.0, -0.2]])
    np.testing.assert_allclose(points.radius, [0.02])


def test_cylinder_has_eight_points_on_either_rim():
    points = found('<cylinder radius="0.1" length="0.4"/>', '<origin rpy="1.5707963267948966 0 0"/>')
    assert len(points) == 16
    np.testing.assert_allclose(np.hypot(points.position[:, 0], points.position[:, 2]), 0.1)
    np.testing.assert_allclose(np.abs(points.position[:, 1]), 0.2)


def test_capsule_is_its_two_ends_with_a_radius():
    points = found('<capsule radius="0.1" length="0.4"/>', '<origin xyz="1 0 0" rpy="1.5707963267948966 0 0"/>')
    np.testing.assert_allclose(points.position, [[1.0, -0.2, 0.0], [1.0, 0.2, 0.0]], atol=1e-15)
    np.testing.assert_array_equal(points.radius, 0.1)


@pytest.mark.parametrize("write", [binary_stl, ascii_stl])
def test_stl_files_give_their_extremes(tmp_path, write):
    write(tmp_path / "t.stl")
    points = found(f'<mesh filename="{tmp_path}/t.stl" scale="2 2 2"/>')
    np.testing.assert_allclose(np.unique(points.position, axis=0), np.unique(2.0 * TETRAHEDRON, axis=0))


def test_packages_are_found_upwards_and_on_the_paths(tmp_path, monkeypatch):
    binary = tmp_path / "share" / "robot_description" / "meshes"
    binary.mkdir(parents=True)
    binary_stl(binary / "t.stl")
    mesh = "package://robot_description/meshes/t.stl"
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    assert find_mesh(mesh, str(binary.parent / "urdf")).is_file()
    with pytest.raises(FileNotFoundError, match="robot_description"):
        find_mesh(mesh, "/")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert find_mesh(mesh, "/").is_file()
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    for path in ("share", "share/robot_description"):
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / path))
        assert find_mesh(mesh, "/").is_file()


def test_an_unreadable_mesh_becomes_its_origin_with_a_warning():
    with pytest.warns(UserWarning, match=r"nowhere\.stl"):
        points = found('<mesh filename="nowhere.stl"/>', '<origin xyz="1 2 3"/>')
    np.testing.assert_allclose(points.position, [[1.0, 2.0, 3.0]])


def test_a_file_without_triangles_is_refused(tmp_path):
    (tmp_path / "t.stl").write_text("solid nothing\nendsolid\n")
    with pytest.raises(ValueError, match="no STL file"):
        read_stl(tmp_path / "t.stl")


def test_support_points_carry_the_mesh_in_their_directions():
    x = np.random.default_rng(0).standard_normal((500, 3))
    chosen = support_points(x)
    assert len(chosen) <= 32
    for axis in np.eye(3):
        assert (chosen @ axis).max() > 0.8 * (x @ axis).max()
