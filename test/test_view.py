# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Robots in three dimensions without ROS: what links look like, where the scene has them, films."""

import io
import re
import socket
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="the extra 'view' is not installed")

pytest.importorskip("yourdfpy", reason="the extra 'view' is not installed")

import trimesh

import robot_dynamics as rd
from robot_dynamics.contact.terrain import Box, HeightField, Plane
from robot_dynamics.errors import ParameterError
from robot_dynamics.share import share_folder
from robot_dynamics.spatial import rotation_from_quaternion
from robot_dynamics.view import looks as looks_module
from robot_dynamics.view.film import RATE, Picture, Take, film
from robot_dynamics.view.forces import ForcePen
from robot_dynamics.view.looks import looks
from robot_dynamics.view.page import address, serve, stop
from robot_dynamics.view.scene import ForceFigure, Ground, RobotFigure
from robot_dynamics.view.surfaces import shape_of

CHEETAH = share_folder() / "urdf" / "mini_cheetah.urdf"
INERTIA = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINK = f'<link name="{{name}}"><inertial>{INERTIA}</inertial>'


def box_file(folder: Path) -> None:
    """Write a box of edges 1 as t.stl."""
    trimesh.creation.box((1.0, 1.0, 1.0)).export(folder / "t.stl")


def body(visual: str, collision: str = '<box size="0.1 0.2 0.3"/>') -> str:
    """A robot of one link."""
    drawn = f'<visual><origin xyz="1 2 3" rpy="0 0 1.5"/><geometry>{visual}</geometry></visual>' if visual else ""
    hit = f"<collision><geometry>{collision}</geometry></collision>" if collision else ""
    return f'<robot name="r">{LINK.format(name="a/b")}{drawn}{hit}</link></robot>'


def seen(text: str, tmp_path: Path):
    (tmp_path / "r.urdf").write_text(text)
    return looks(rd.load_urdf(tmp_path / "r.urdf", floating_base=True), text)


def extents(look) -> np.ndarray:
    """Edges of the box around a mesh, after its scale."""
    return trimesh.load(io.BytesIO(look.glb), file_type="glb").extents * look.scale


@pytest.fixture(scope="module")
def server():
    made = serve("127.0.0.1", 0)
    yield made
    stop(made)


@pytest.mark.parametrize(
    ("visual", "edges"),
    [
        ('<box size="1 2 3"/>', (1, 2, 3)),
        ('<sphere radius="0.5"/>', (1, 1, 1)),
        ('<cylinder radius="0.5" length="2"/>', (1, 1, 2)),
        ('<mesh filename="t.stl" scale="2 3 4"/>', (2, 3, 4)),
        ('<mesh filename="package://{package}/t.stl"/>', (1, 1, 1)),
        ('<mesh filename="file://{folder}/t.stl"/>', (1, 1, 1)),
    ],
)
def test_a_visual_has_the_size_and_pose_of_the_urdf(visual, edges, tmp_path):
    box_file(tmp_path)
    (look,), problems = seen(body(visual.format(folder=tmp_path, package=tmp_path.name)), tmp_path)
    assert problems == []
    np.testing.assert_allclose(extents(look), edges, atol=0.02)
    np.testing.assert_allclose(look.p, [1, 2, 3])
    np.testing.assert_allclose(look.R[:, 0], [np.cos(1.5), np.sin(1.5), 0], atol=1e-12)


@pytest.mark.parametrize(
    ("visual", "sentence"),
    [
        (
            '<mesh filename="package://nowhere/a.dae"/>',
            r"mesh files that are not found, such as 'package://nowhere/a.dae'",
        ),
        ('<mesh filename="broken.stl"/>', r"mesh files without triangles, such as 'broken.stl'"),
        ('<mesh filename="broken.dae"/>', r"mesh files that cannot be read, such as 'broken.dae'"),
        ('<mesh filename="nan.stl"/>', r"shapes with vertices that are not finite"),
        ('<box size="1 nan 1"/>', r"shapes with vertices that are not finite"),
    ],
)
def test_a_mesh_that_cannot_be_shown_is_named_and_drawn_as_its_collision_shape(visual, sentence, tmp_path):
    for name in ("broken.stl", "broken.dae"):
        (tmp_path / name).write_bytes(b"no mesh at all")
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, np.nan, 0)])
    (tmp_path / "nan.stl").write_bytes(trimesh.Trimesh(corners, [(0, 1, 2)], process=False).export(file_type="stl"))
    (look,), problems = seen(body(visual), tmp_path)
    np.testing.assert_allclose(extents(look), (0.1, 0.2, 0.3), rtol=1e-5)
    assert len(problems) == 1
    assert re.search(sentence, problems[0])
    assert "a/b, drawn as collision shapes" in problems[0]


def test_a_sphere_that_is_a_contact_point_is_not_drawn(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert seen(body("", '<sphere radius="0"/>'), tmp_path) == ([], [])


def test_too_detailed_a_mesh_is_drawn_as_its_collision_shape(tmp_path, monkeypatch):
    box_file(tmp_path)
    monkeypatch.setattr(looks_module, "MOST_VERTICES", 3)
    _, problems = seen(body('<mesh filename="t.stl"/>', ""), tmp_path)
    assert problems == ["meshes of more than 3 vertices: a/b, drawn as collision shapes"]


def test_visuals_that_yourdfpy_cannot_read_are_drawn_as_collision_shapes(tmp_path):
    (look,), problems = seen(body('<sphere radius="big"/>'), tmp_path)
    np.testing.assert_allclose(extents(look), (0.1, 0.2, 0.3), rtol=1e-5)
    assert "yourdfpy cannot read the visuals of this URDF" in problems[0]


@pytest.mark.parametrize("seed", range(3))
def test_every_frame_of_the_scene_is_where_kinematics_has_its_body(seed, server):
    model = rd.load_urdf(CHEETAH, floating_base=True)
    found, problems = looks(model, CHEETAH.read_text())
    assert problems == []
    figure = RobotFigure(server.scene, model, found, f"/robot{seed}")
    rng = np.random.default_rng(seed)
    for _ in range(2):
        q = rd.random_configuration(model, rng)
        figure.pose(q)
    R, p = rd.body_pose(model, q)
    turn, place = [np.eye(3)], [np.zeros(3)]
    for i in range(1, model.nb):
        w, *xyz = figure.frames[i].wxyz
        up = model.parent[i]
        turn.append(turn[up] @ rotation_from_quaternion([*xyz, w]))
        place.append(place[up] + turn[up] @ figure.frames[i].position)
    np.testing.assert_allclose(turn, R, atol=1e-4)  # viser leaves out what changes by less than 1e-5
    np.testing.assert_allclose(place, p, atol=1e-4)
    assert {mesh.name.rsplit("/", 1)[0] for mesh in figure.meshes} <= {frame.name for frame in figure.frames}
    figure.remove()


def test_forces_that_end_are_hidden_and_come_back(server):
    forces, pen = ForceFigure(server.scene, "/forces", 1.0), ForcePen(0.5, 10.0, 0.3)
    at, f = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0.0, 0, 10], [0, 0, 5], [0, 0, 0]])
    for force, visible in ((f, True), (0.0 * f, False), (f, True)):
        forces.show(pen.draw(at, force, np.array([0.3, 0.3, 1.0])))
        assert forces._nodes["forces"].visible == visible
    np.testing.assert_allclose(forces._nodes["forces"].points[0, 1], [0, 0, 0.3])
    forces.hidden.add("forces")
    forces.show(pen.draw(at, f, np.zeros(3)))
    assert not forces._nodes["forces"].visible


def test_another_ground_replaces_the_first(server):
    ground = Ground(server.scene)
    field = HeightField(np.arange(6.0).reshape(2, 3), 0.1)
    ground.show([shape_of(surface) for surface in (Plane(), Box((1.0, 1.0, 1.0)), field)])
    names = [node.name for node in ground._nodes]
    assert names == ["/ground/0", "/ground/0/lines", "/ground/1", "/ground/2"]
    ground.show([])
    assert ground._nodes == []


def test_a_page_takes_the_next_free_port_of_this_computer_alone():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = serve("127.0.0.1", port)
        try:
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)", address(server))
            assert found
            assert port < int(found[1]) <= port + 100
        finally:
            stop(server)


def test_an_address_of_another_computer_is_one_sentence():
    with pytest.raises(ParameterError, match=r"'host' must be an address of this computer, got '192\.0\.2\.1'"):
        serve("192.0.2.1", 8080)


def test_a_film_holds_all_it_needs():
    model = rd.load_urdf(CHEETAH, floating_base=True)
    q = rd.neutral(model)
    pictures = [Picture(q + 0.01 * i, np.zeros((4, 3)), np.full((4, 3), 20.0)) for i in range(round(RATE))]
    takes = [Take(name, model, CHEETAH.read_text(), pictures, 0.6) for name in ("one", "other")]
    page = film(takes)
    assert page.lower().startswith("<!doctype html>")
    assert "__VISER_EMBED_DATA__" in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//[^"]+"', page)
    assert len(page) < 4e6
