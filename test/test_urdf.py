# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The loader: what a URDF means, what is forgiven, and one sentence for every mistake."""

import math
from pathlib import Path

import numpy as np
import pytest
import robot_files
from mini_cheetah import FIGURES
from random_robots import random_robot
from urdf_text import chain_text, joint_text, link_text, numbers, robot_text, written

from robot_dynamics.contact.points import contact_points
from robot_dynamics.errors import ModelError
from robot_dynamics.model.description import (
    Inertial,
    Joint,
    Mimic,
    Robot,
    Shape,
)
from robot_dynamics.model.urdf import load_urdf, read_urdf
from robot_dynamics.spatial import quaternion_from_rotation, rotation_from_rpy, spatial_inertia

MINI_CHEETAH = Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf"


def hinge(*inside: str, kind: str = "revolute") -> Joint:
    """The joint of a robot of two links."""
    return read_urdf(robot_text(link_text("a"), link_text("b"), joint_text("a", "b", *inside, kind=kind))).joints[0]


def inertial(*inside: str) -> Inertial:
    return read_urdf(robot_text(link_text("a", "<inertial>", *inside, "</inertial>"))).links[0].inertial


def shapes(*collisions: str) -> tuple[Shape, ...]:
    return read_urdf(robot_text(link_text("a", *collisions))).links[0].shapes


def follower(kind: str, target: str) -> str:
    """Link c on a joint 'bc' that mimics the target."""
    return link_text("c") + joint_text("b", "c", f'<mimic joint="{target}"/>', kind=kind)


# ---- what a URDF means ----------------------------------------------------------------------------------------------


def test_text_and_file_are_told_apart(tmp_path):
    text = chain_text("ab")
    path = tmp_path / "r.urdf"
    path.write_text(text)
    assert read_urdf(text).folder == ""
    assert read_urdf(f"  \n{text}").name == "r"
    for source in (path, str(path)):
        read = read_urdf(source)
        assert read.folder == str(tmp_path)
        assert [link.name for link in read.links] == ["a", "b"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_files_in_the_encoding_they_declare(tmp_path, encoding):
    path = tmp_path / "r.urdf"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{robot_text(link_text("é"))}'.encode(encoding))
    assert read_urdf(path).links[0].name == "é"


def test_text_is_unicode_whatever_it_declares():
    text = f'<?xml version="1.0" encoding="utf-16"?>{robot_text(link_text("é"))}'
    assert read_urdf(text).links[0].name == "é"


def test_links_and_joints_keep_document_order():
    read = read_urdf(
        robot_text(link_text("b"), joint_text("b", "c"), link_text("a"), joint_text("a", "b"), link_text("c"))
    )
    assert [link.name for link in read.links] == ["b", "a", "c"]
    assert [joint.name for joint in read.joints] == ["bc", "ab"]


def test_namespaces_are_no_obstacle():
    text = chain_text("ab", "<sensor:camera/>", "<gazebo/>")
    read = read_urdf(text.replace("<robot", '<robot xmlns="u" xmlns:xacro="x" xmlns:sensor="s"'))
    assert read.dropped == {"sensor:camera": 1, "gazebo": 1}


def test_inertial_without_origin_sits_at_the_link():
    read = inertial('<mass value="2"/>', '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="3"/>')
    assert read.mass == 2.0
    np.testing.assert_array_equal(read.com, np.zeros(3))
    np.testing.assert_array_equal(read.inertia, [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]])


def test_mass_without_inertia_is_a_point():
    read = inertial('<origin xyz="1 2 3"/>', '<mass value="2"/>')
    np.testing.assert_array_equal(read.inertia, np.zeros((3, 3)))
    np.testing.assert_array_equal(read.com, [1, 2, 3])


def test_inertia_is_turned_into_link_axes():
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="3"/>'
    R = rotation_from_rpy([0.1, 0.2, 0.3])
    read = inertial('<origin rpy="0.1 0.2 0.3"/>', '<mass value="2"/>', inertia)
    np.testing.assert_allclose(read.inertia, R @ np.diag([1, 2, 3]) @ R.T, atol=1e-15)


def test_rpy_turns_about_fixed_axes():
    joint = hinge('<origin xyz="1 2 3" rpy="1.5707963267948966 0 1.5707963267948966"/>')
    np.testing.assert_allclose(joint.R, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)
    np.testing.assert_array_equal(joint.p, [1, 2, 3])


@pytest.mark.parametrize("rpy", [(0.1, -0.2, 0.3), (0.4, math.pi / 2, 1.0), (0.0, -math.pi / 2, 0.7)])
def test_quaternion_origin(rpy):
    R = rotation_from_rpy(rpy)
    joint = hinge(f'<origin quat_xyzw="{numbers(*3.0 * quaternion_from_rotation(R))}"/>')
    np.testing.assert_allclose(joint.R, R, atol=1e-15)


def test_axis_is_made_unit_and_defaults_to_x():
    np.testing.assert_allclose(hinge('<axis xyz="0 -3 4"/>').axis, [0, -0.6, 0.8], atol=1e-16)
    np.testing.assert_array_equal(hinge().axis, [1, 0, 0])
    np.testing.assert_array_equal(hinge('<axis xyz="0 0 0"/>', kind="fixed").axis, [1, 0, 0])
    np.testing.assert_array_equal(hinge("<axis/>", kind="fixed").axis, [1, 0, 0])


def test_tags_of_xacro_left_in_what_is_not_read_do_not_matter():
    """xacro leaves what it does not know inside a visual or an extension of an already expanded file."""
    left = '<visual><xacro:mesh name="x"/><geometry/></visual>'
    text = robot_text(link_text("a", left), "<gazebo><xacro:if value='1'/></gazebo>")
    assert read_urdf(text).dropped == {"gazebo": 1}


INF = math.inf


@pytest.mark.parametrize(
    ("limit", "kind", "expected"),
    [
        ("", "revolute", (-INF, INF, INF, INF)),
        ("<limit/>", "revolute", (-INF, INF, INF, INF)),
        ('<limit lower="-1" upper="2" effort="3" velocity="4"/>', "revolute", (-1, 2, 3, 4)),
        ('<limit lower="-1" upper="2" effort="0" velocity="0"/>', "prismatic", (-1, 2, INF, INF)),
        ('<limit lower="-1" effort="-1" velocity="inf"/>', "revolute", (-1, 0, INF, INF)),
        ('<limit upper="2"/>', "prismatic", (0, 2, INF, INF)),
        ('<limit lower="-1e16" upper="1e16" effort="1e308"/>', "revolute", (-INF, INF, INF, INF)),
        ('<limit lower="-1" upper="2" effort="3"/>', "continuous", (-INF, INF, 3, INF)),
    ],
)
def test_limits(limit, kind, expected):
    joint = hinge(limit, kind=kind)
    assert (joint.lower, joint.upper, joint.effort, joint.velocity) == expected


def test_losses():
    assert (hinge().damping, hinge().friction) == (0.0, 0.0)
    joint = hinge('<dynamics damping="0.5" friction="0.25"/>')
    assert (joint.damping, joint.friction) == (0.5, 0.25)
    assert hinge('<dynamics friction="0.25"/>').damping == 0.0


def test_mimic():
    mimic = '<mimic joint="ab" multiplier="-2" offset="3"/>'
    read = read_urdf(chain_text("ab", link_text("c"), joint_text("b", "c", mimic, kind="prismatic")))
    assert read.joints[1].mimic == Mimic("ab", -2.0, 3.0)
    assert read_urdf(chain_text("ab", follower("revolute", "ab"))).joints[1].mimic == Mimic("ab", 1.0, 0.0)


def test_mimic_of_a_joint_that_cannot_move_is_dropped():
    read = read_urdf(chain_text("ab", follower("fixed", "ab")))
    assert read.joints[1].mimic is None
    assert read.dropped == {"mimic": 1}


def test_every_collision_shape():
    collision = '<collision name="c"><origin xyz="1 2 3"/><geometry>{}</geometry></collision>'
    tags = {
        '<box size="1 2 3"/>': ("box", (1, 2, 3), ""),
        '<sphere radius="0"/>': ("sphere", (0,), ""),
        '<cylinder radius="1" length="2"/>': ("cylinder", (1, 2), ""),
        '<capsule radius="1" length="2"/>': ("capsule", (1, 2), ""),
        '<mesh filename="package://a/b.stl"/>': ("mesh", (1, 1, 1), "package://a/b.stl"),
        '<mesh filename="c.dae" scale="1 2 -3"/>': ("mesh", (1, 2, -3), "c.dae"),
    }
    read = shapes(*map(collision.format, tags))
    assert [(shape.kind, shape.size, shape.mesh) for shape in read] == list(tags.values())
    for shape in read:
        np.testing.assert_array_equal(shape.p, [1, 2, 3])


def test_a_shape_we_do_not_know_is_dropped_and_counted():
    collision = "<collision><geometry>{}</geometry></collision>"
    tags = ("<cone/>", "", '<capsule radius="1" length="2"/>')
    read = read_urdf(robot_text(link_text("a", *map(collision.format, tags))))
    assert [shape.kind for shape in read.links[0].shapes] == ["capsule"]
    assert read.dropped == {"cone": 1}


def test_what_dynamics_does_not_use_is_dropped_without_a_word(capfd):
    text = chain_text(
        "ab",
        '<material name="m"><texture filename="t.png"/></material>',
        '<transmission name="t"><type>T</type></transmission>',
        "<gazebo><plugin><deep><robot/></deep></plugin></gazebo><gazebo/>",
        '<link name="c" type="x"><visual><geometry><torus/></geometry></visual><contact/></link>',
        joint_text("b", "c", '<limit effort="1" current="2"/>', '<safety_controller k_velocity="1"/>'),
    )
    assert read_urdf(text).dropped == {"transmission": 1, "gazebo": 2, "contact": 1, "safety_controller": 1}
    assert capfd.readouterr() == ("", "")


def assert_same(a: object, b: object, where: str = "robot") -> None:
    """Equal field by field, numbers to rounding."""
    if isinstance(a, np.ndarray | float):
        np.testing.assert_allclose(a, b, atol=1e-14, rtol=1e-14, err_msg=where)
    elif isinstance(a, tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif hasattr(a, "__dataclass_fields__"):
        for name in a.__dataclass_fields__:
            assert_same(getattr(a, name), getattr(b, name), f"{where}.{name}")
    else:
        assert a == b, where


@pytest.mark.parametrize("seed", range(5))
def test_written_and_read_again(seed):
    robot = random_robot(seed, count=20)
    moving = {j.name for j in robot.joints if j.kind not in ("floating", "fixed")}
    read = read_urdf(written(robot))
    for a, b in zip(read.joints, robot.joints, strict=True):
        if a.name in moving:
            assert_same(a.axis, b.axis)
    plain = [Robot(r.name, r.links, tuple(map(without_axis, r.joints)), {}) for r in (read, robot)]
    assert_same(*plain)


def without_axis(joint: Joint) -> Joint:
    fields = {name: getattr(joint, name) for name in joint.__dataclass_fields__}
    return Joint(**fields | {"axis": np.zeros(3)})


# ---- one sentence for every mistake ---------------------------------------------------------------------------------

A, B, AB = link_text("a"), link_text("b"), joint_text("a", "b")
MASS = "<inertial><mass {}/></inertial>"


def jointed(*inside: str, kind: str = "continuous") -> str:
    """Links a and b on joint 'ab'."""
    return robot_text(A, B, joint_text("a", "b", *inside, kind=kind))


MISTAKES = {
    "no robot name": ("<robot/>", "the robot has no name"),
    "blank robot name": ('<robot name=" "/>', "the robot has no name"),
    "no links": (robot_text(), "the robot has no links"),
    "another language": ("<sdf><robot/></sdf>", "the outermost element of a URDF is 'robot', got 'sdf'"),
    "truncated": (robot_text(A)[:-3], "not well-formed XML"),
    "not XML": ("<", "not well-formed XML"),
    "surrogates": ("<\ud800", "not well-formed XML"),
    "doctype": (f"<!DOCTYPE robot []>{robot_text(A)}", "DOCTYPE"),
    "xacro tag": (robot_text(A, "<xacro:macro/>"), "'xacro:macro': it is a xacro file, run xacro"),
    "xacro number": (robot_text(link_text("a", MASS.format('value="${m}"'))), "link 'a': <mass>", "run xacro"),
    "link without name": (robot_text(A, "<link/>"), "link number 2 has no name"),
    "joint without name": (jointed().replace('name="ab" ', ""), "joint number 1 has no name"),
    "control character": (robot_text(link_text("a&#127;")), "'a\\x7f'", "control character"),
    "endless name": (robot_text(link_text("a" * 5000)), "aaa...'", "too long"),
    "two links of one name": (robot_text(A, A), "two links have the name 'a'"),
    "two joints of one name": (chain_text("abc").replace('"bc"', '"ab"'), "two joints have the name 'ab'"),
    "joint without type": (jointed().replace(' type="continuous"', ""), "joint 'ab' has no type"),
    "unknown type": (jointed(kind="ball"), "joint 'ab' has the unknown type 'ball'; valid types: revolute"),
    "no parent": (jointed().replace('<parent link="a"/>', ""), "joint 'ab' has no <parent>"),
    "no child": (jointed().replace('<child link="b"/>', ""), "joint 'ab' has no <child>"),
    "parent without link": (jointed().replace('<parent link="a"/>', "<parent/>"), "joint 'ab': <parent> has no link"),
    "unknown parent": (robot_text(B, AB), "joint 'ab': there is no link 'a'; valid names: b"),
    "unknown child": (robot_text(A, AB), "joint 'ab': there is no link 'b'; valid names: a"),
    "two parents": (
        robot_text(A, B, AB, AB.replace('"ab"', '"k"')),
        "link 'b' is the child of two joints, 'ab' and 'k'",
    ),
    "two roots": (robot_text(A, B), "the robot has 2 roots, 'a', 'b'"),
    "loop": (chain_text("abc", joint_text("c", "a")), "these links form a loop: 'b', 'a', 'c'"),
    "loop aside": (robot_text(A, B, joint_text("b", "b")), "these links form a loop: 'b'"),
    "two origins": (jointed("<origin/><origin/>"), "joint 'ab' has more than one <origin>"),
    "two attitudes": (jointed('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'), "<origin> has both rpy and quat_xyzw"),
    "zero quaternion": (jointed('<origin quat_xyzw="0 0 0 0"/>'), "joint 'ab'", "of length 1"),
    "two shapes": (
        robot_text(
            link_text("a", '<collision><geometry><sphere radius="1"/><box size="1 1 1"/></geometry></collision>')
        ),
        "link 'a': <geometry> has more than one shape: sphere, box",
    ),
    "no geometry": (robot_text(link_text("a", "<collision/>")), "link 'a': <collision> has no <geometry>"),
    "no mass": (robot_text(link_text("a", "<inertial/>")), "link 'a': <inertial> has no <mass>"),
    "mass without value": (robot_text(link_text("a", MASS.format(""))), "link 'a': <mass> has no value"),
    "negative mass": (robot_text(link_text("a", MASS.format('value="-1"'))), "value='-1' should not be negative"),
    "NaN mass": (robot_text(link_text("a", MASS.format('value="nan"'))), "link 'a': <mass>: value='nan'", "finite"),
    "infinite": (jointed('<origin xyz="inf 0 0"/>'), "joint 'ab': <origin>: xyz='inf 0 0' should be 3 numbers, finite"),
    "huge": (jointed('<origin xyz="1e99 0 0"/>'), "joint 'ab'", "not huge"),
    "NaN limit": (jointed('<limit lower="nan"/>'), "joint 'ab': <limit>: lower='nan'"),
    "no number": (jointed('<dynamics damping="much"/>'), "damping='much' should be a number"),
    "two numbers": (jointed('<axis xyz="1 0"/>'), "joint 'ab': <axis>: xyz='1 0' should be 3 numbers"),
    "axis without numbers": (jointed("<axis/>"), "joint 'ab': <axis> has no xyz"),
    "endless number": (jointed(f'<axis xyz="{"1" * 5000} 0 0"/>'), "joint 'ab'", "3 numbers"),
    "zero axis": (jointed('<axis xyz="0 0 0"/>'), "joint 'ab' has a zero axis, but it is continuous"),
    "crossed limits": (
        jointed('<limit lower="1" upper="-1"/>', kind="revolute"),
        "joint 'ab': lower limit 1 is above upper limit -1",
    ),
    "mimic of nothing": (chain_text("ab", follower("revolute", "x")), "'bc'", "no joint 'x'; valid names: ab, bc"),
    "mimic of itself": (chain_text("ab", follower("revolute", "bc")), "mimic each other in a loop: 'bc'"),
    "mimic loop": (
        robot_text(A, B, joint_text("a", "b", '<mimic joint="bc"/>'), follower("revolute", "ab")),
        "these joints mimic each other in a loop: 'ab', 'bc'",
    ),
    "mimic of a fixed joint": (
        robot_text(A, B, joint_text("a", "b", kind="fixed"), follower("revolute", "ab")),
        "joint 'bc' mimics 'ab', but 'ab' is fixed",
    ),
    "mimic by a floating joint": (chain_text("ab", follower("floating", "ab")), "but 'bc' is floating"),
    "nested too deep": (robot_text(A, "<x>" * 200), "more than 100 deep"),
    "endless comment": (robot_text(A, f"<!--{' ' * (3 << 20)}-->"), "longer than 1 MiB"),
    "too many elements": (robot_text("<x/>" * 250_001), "more than 250000 elements"),
    "too large": (" " * (64 << 20) + "<robot/>", "larger than 64 MiB"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_sentence_for_every_mistake(mistake, capfd):
    text, *words = MISTAKES[mistake]
    with pytest.raises(ModelError) as caught:
        read_urdf(text)
    sentence = str(caught.value)
    for word in words:
        assert word in sentence
    assert "\n" not in sentence
    assert len(sentence) < 300
    assert capfd.readouterr() == ("", "")


def test_no_such_file(tmp_path):
    for source in (tmp_path / "x.urdf", "", str(tmp_path), "a\0b", "x" * 5000):
        with pytest.raises(ModelError, match=r"URDF file '.*'") as caught:
            read_urdf(source)
        assert len(str(caught.value)) < 300


def test_not_a_path():
    with pytest.raises(ModelError, match="cannot be read"):
        read_urdf(None)


def test_binary_file(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ModelError, match="not well-formed XML"):
        read_urdf(path)


def test_empty_lines_before_the_declaration(tmp_path):
    """Published so, and read by ROS's own parser."""
    text = f'\r\n \n<?xml version="1.0"?>\n{robot_text(A)}'
    (tmp_path / "r.urdf").write_bytes(text.encode())
    for source in (text, tmp_path / "r.urdf"):
        assert [link.name for link in read_urdf(source).links] == ["a"]


# ---- robots ---------------------------------------------------------------------------------------------------------

REFUSED = {
    "ur3": "the robot has no name",
    "alex_psyonic_hands": "joint 'Left_index_q2' mimics nothing: there is no joint 'index_q1'",
}
FILES = robot_files.FILES or [pytest.param(None, marks=pytest.mark.skip("example-robot-data is not installed"))]


def robot_id(path: Path | None) -> str:
    return "/".join(path.parts[-3:]) if path else "none"


@pytest.mark.parametrize("path", FILES, ids=robot_id)
def test_every_robot_reads_as_in_pinocchio_or_is_refused(path, capfd):
    """Masses, poses, inertias, limits and losses of `example-robot-data`."""
    pinocchio = pytest.importorskip("pinocchio")
    if path.stem in REFUSED:
        with pytest.raises(ModelError, match=REFUSED[path.stem]):
            read_urdf(path)
        return
    robot = read_urdf(path)
    assert capfd.readouterr() == ("", "")
    other = pinocchio.buildModelFromUrdf(str(path))
    data = other.createData()
    pinocchio.framesForwardKinematics(other, data, pinocchio.neutral(other))
    total = sum((other.inertias[i].se3Action(data.oMi[i]) for i in range(1, other.njoints)), other.inertias[0])
    poses = poses_at_zero(robot)
    for name, (R, p) in poses.items():
        frame = data.oMf[other.getFrameId(name, pinocchio.FrameType.BODY)]
        np.testing.assert_allclose(frame.rotation, R, atol=1e-13)
        np.testing.assert_allclose(frame.translation, p, atol=1e-13)
    scale = max(1.0, np.abs(total.matrix()).max())
    swap = [3, 4, 5, 0, 1, 2]
    np.testing.assert_allclose(total.matrix()[np.ix_(swap, swap)], total_inertia(robot, poses), atol=1e-13 * scale)
    for joint in robot.joints:
        if other.existJointName(joint.name):
            assert_same_limits(joint, other, other.joints[other.getJointId(joint.name)])


def poses_at_zero(robot: Robot) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pose of every link with all joints at 0."""
    joint_to = {joint.child: joint for joint in robot.joints}
    poses: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def pose(name: str) -> tuple[np.ndarray, np.ndarray]:
        if name not in poses:
            joint = joint_to.get(name)
            R, p = pose(joint.parent) if joint else (np.eye(3), np.zeros(3))
            poses[name] = (R @ joint.R, R @ joint.p + p) if joint else (R, p)
        return poses[name]

    return {link.name: pose(link.name) for link in robot.links}


def total_inertia(robot: Robot, poses: dict[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    total = np.zeros((6, 6))
    for link in robot.links:
        if link.inertial:
            R, p = poses[link.name]
            own = link.inertial
            total += spatial_inertia(own.mass, R @ own.com + p, R @ own.inertia @ R.T)
    return total


def assert_same_limits(joint: Joint, other: object, place: object) -> None:
    if place.nq == 1 and not (joint.lower == -INF and joint.upper == INF):
        assert (joint.lower, joint.upper) == (
            other.lowerPositionLimit[place.idx_q],
            other.upperPositionLimit[place.idx_q],
        )
    assert joint.effort == (other.effortLimit[place.idx_v] or INF)
    assert joint.velocity == (other.velocityLimit[place.idx_v] or INF)
    assert (joint.damping, joint.friction) == (other.damping[place.idx_v], other.friction[place.idx_v])


def test_mini_cheetah_has_the_figures_of_the_reference():
    robot = read_urdf(MINI_CHEETAH)
    for link, body in zip(robot.links, FIGURES["bodies"], strict=True):
        assert link.name == body["name"]
        assert link.inertial.mass == body["mass"]
        np.testing.assert_allclose(link.inertial.com, body["com"], atol=1e-15)
        np.testing.assert_allclose(link.inertial.inertia, body["inertia_about_com"], atol=1e-15)
    for joint, body in zip(robot.joints, FIGURES["bodies"][1:], strict=True):
        assert (joint.name, joint.child, joint.parent) == (body["name"], body["name"], body["parent_name"])
        np.testing.assert_allclose(joint.p, body["urdf_origin_xyz"], atol=1e-15)
        np.testing.assert_allclose(joint.R, np.transpose(body["Xtree_E_parent_to_child"]), atol=1e-15)
        np.testing.assert_array_equal(joint.axis, body["joint_axis"])
        assert joint.effort == pytest.approx(FIGURES["actuator"]["motor_tau_max"] * body["gear_ratio"])
    assert [joint.name for joint in robot.joints] == FIGURES["conventions"]["joint_order"]


def test_mini_cheetah_has_the_contact_points_of_the_reference_in_order():
    model = load_urdf(MINI_CHEETAH, floating_base=True)
    points = contact_points(model)
    expected = FIGURES["ground_contact_points"]
    np.testing.assert_allclose(points.position, [point["position_in_body"] for point in expected], atol=1e-15)
    assert [model.body_names[body] for body in points.body] == [point["body_name"] for point in expected]
    np.testing.assert_array_equal(points.radius, np.zeros(16))
