# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact points from collision shapes, and meshes found as ROS finds them."""

import struct
import sys

import numpy as np
import pytest
from robot_files import FILES

import robot_dynamics as rd
from robot_dynamics.contact.mesh import DIRECTIONS, face_normals, support_points
from robot_dynamics.contact.points import collision_meshes, contact_points
from robot_dynamics.control.robot import load_robot
from robot_dynamics.model.mesh_files import find_mesh, read_mesh, read_stl

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


@pytest.mark.parametrize("mesh", ["meshes/t.stl", "file://meshes/t.stl", "package://of_another_name/meshes/t.stl"])
@pytest.mark.parametrize("below", ["urdf", "urdf/hands/left"])
def test_names_from_the_root_of_a_package_are_found_from_any_depth(tmp_path, mesh, below):
    """As in many published robots: `meshes/` beside the folder `urdf/`, of which the URDF's names know nothing."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / below).mkdir(parents=True)
    binary_stl(tmp_path / "meshes" / "t.stl")
    assert find_mesh(mesh, str(tmp_path / below)) == tmp_path / "meshes" / "t.stl"


def test_an_unreadable_mesh_becomes_its_origin_with_a_warning():
    with pytest.warns(UserWarning, match=r"nowhere\.stl"):
        points = found('<mesh filename="nowhere.stl"/>', '<origin xyz="1 2 3"/>')
    np.testing.assert_allclose(points.position, [[1.0, 2.0, 3.0]])


def test_a_file_without_triangles_is_refused(tmp_path):
    (tmp_path / "t.stl").write_text("solid nothing\nendsolid\n")
    with pytest.raises(ValueError, match="no STL file"):
        read_stl(tmp_path / "t.stl")


COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">0 0 0 100 0 0 0 100 0 0 0 100</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="4" material="paint"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 1 2 3 0 3 2</p></triangles>
<lines count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1</p></lines>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="x"><node><translate>0 0 50</translate><instance_geometry url="#g">
<bind_material><technique_common><instance_material symbol="paint" target="#none"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#x"/></scene></COLLADA>
"""
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n" + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 4\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
    + "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES)
)


TEXTS = {"dae": COLLADA, "obj": OBJ, "ply": PLY}


@pytest.mark.parametrize(("kind", "up"), [("dae", 0.5), ("obj", 0.0), ("ply", 0.0)])
def test_other_formats_give_the_same_triangles(tmp_path, kind, up):
    """Collada in its unit, moved as its scene says and not turned by its `up_axis`; a material that lacks is none."""
    pytest.importorskip("collada" if kind == "dae" else "trimesh")
    (tmp_path / f"t.{kind}").write_text(TEXTS[kind])
    corners = read_mesh(tmp_path / f"t.{kind}")
    assert corners.shape == (12, 3)
    np.testing.assert_allclose(np.unique(corners - [0, 0, up], axis=0), np.unique(TETRAHEDRON, axis=0), atol=1e-9)


@pytest.mark.parametrize("kind", ["stl", "dae", "obj", "ply", "glb", "step"])
def test_a_file_of_another_kind_than_its_name_is_one_sentence(tmp_path, kind):
    (tmp_path / f"t.{kind}").write_bytes(b"\x00\xffnothing of the kind" * 9)
    with pytest.raises(ValueError, match=rf"t\.{kind}|python package|needs"):
        read_mesh(tmp_path / f"t.{kind}")


@pytest.mark.parametrize(("kind", "module"), [("dae", "collada"), ("obj", "trimesh")])
def test_without_the_extra_a_warning_says_what_to_type(tmp_path, monkeypatch, kind, module):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    (tmp_path / f"t.{kind}").write_text("")
    with pytest.warns(UserWarning, match=r"link 'base': .*pip install 'robot_dynamics\[meshes\]'.*origin"):
        found(f'<mesh filename="{tmp_path}/t.{kind}"/>')


def test_a_search_path_finds_packages_and_their_folders(tmp_path, monkeypatch):
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "packages" / "robot").mkdir(parents=True)
    binary_stl(tmp_path / "packages" / "robot" / "t.stl")
    for path in ("packages", "packages/robot"):
        for mesh in ("package://robot/t.stl", "model://robot/t.stl"):
            assert find_mesh(mesh, "", (str(tmp_path / path),)).is_file()
    assert find_mesh("t.stl", "", (str(tmp_path / "packages" / "robot"),)).is_file()
    renamed = tmp_path / "packages" / "robot"
    assert find_mesh("package://another_name/t.stl", str(renamed / "urdf")).is_file()
    with pytest.raises(FileNotFoundError, match=r"package://robot/none\.stl.*/packages"):
        find_mesh("package://robot/none.stl", "", (str(tmp_path / "packages"),))
    model = load_robot(robot('<mesh filename="package://robot/t.stl"/>'), mesh_path=[str(tmp_path / "packages")])
    assert len(contact_points(model)) == 4


@pytest.mark.parametrize("seed", range(5))
def test_the_support_error_is_the_distance_between_the_hulls(seed):
    """That of the farthest vertex from the hull of the chosen, by non-negative least squares."""
    nnls = pytest.importorskip("scipy.optimize").nnls
    x = np.random.default_rng(seed).standard_normal((300, 3))
    x *= np.array([0.2, 0.05, 0.1]) / np.linalg.norm(x, axis=1)[:, None]
    chosen, error = support_points(x)
    weights = np.vstack([chosen.T, np.full(len(chosen), 1e3)])
    exact = max(nnls(weights, np.append(p, 1e3))[1] for p in x)
    assert len(chosen) == 32
    assert {tuple(p) for p in chosen} <= {tuple(p) for p in x}
    assert 0.9 * exact < error < exact + 1e-6


@pytest.mark.parametrize("most", [8, 16, 32])
def test_more_points_carry_a_ball_better(most):
    ball = 0.02 * DIRECTIONS
    chosen, error = support_points(ball, most)
    assert len(chosen) == most
    assert error < 0.02 * 6.0 / most


def test_a_box_of_triangles_touches_with_its_corners():
    corners = np.array([(x, y, z) for x in (0.1, -0.1) for y in (0.2, -0.2) for z in (0.0, 0.4)])
    inside = np.random.default_rng(1).uniform([-0.09, -0.09, 0.1], [0.09, 0.09, 0.3], (50, 3))
    chosen, error = support_points(np.vstack([inside, corners]))
    np.testing.assert_allclose(np.unique(chosen, axis=0), np.unique(corners, axis=0))
    assert error < 1e-12
    faces = np.unique(np.round(face_normals(corners), 9), axis=0)
    np.testing.assert_allclose(faces, np.unique(np.vstack([np.eye(3), -np.eye(3)]), axis=0), atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_mesh_of_hardly_any_vertices_keeps_them(count):
    chosen, error = support_points(TETRAHEDRON[:count])
    assert (len(chosen), error) == (count, 0.0)


def test_meshes_of_one_name_and_scale_are_read_once(tmp_path):
    binary_stl(tmp_path / "t.stl")
    model = rd.load_urdf(robot(f'<mesh filename="{tmp_path}/t.stl" scale="2 2 2"/>'), floating_base=True)
    ((name, scale),) = collision_meshes(model)
    assert (name, scale) == (f"{tmp_path}/t.stl", (2.0, 2.0, 2.0))


@pytest.mark.thorough
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_published_robot_has_all_its_meshes(path):
    """Found, read, and reduced to points whose hull falls short by less than 7 % of the mesh's size.

    The worst, 6.7 %, is a wrist of romeo, nearly a ball.
    """
    pytest.importorskip("collada")
    try:
        model = rd.load_urdf(path, floating_base=True)
    except rd.RobotDynamicsError:
        pytest.skip("no robot that a model can be made of")
    for (mesh, _), made in collision_meshes(model).items():
        assert not made.problem, mesh
        assert 4 <= len(made.points) <= 32, mesh
        assert made.error < 0.07 * np.ptp(made.points, axis=0).max(), mesh
