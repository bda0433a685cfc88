# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the model promises: conventions of q and qd, merging, mimic laws, reports, and one sentence per mistake."""

import numpy as np
import pytest
from random_robots import random_model, random_state

import robot_dynamics as rd
from robot_dynamics.errors import ModelError, ShapeError, SingularModelError, UnknownNameError
from robot_dynamics.model.description import (
    Inertial,
    Joint,
    Link,
    Robot,
)
from robot_dynamics.model.model import build_model

BODY = '<inertial><mass value="{m}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name, m=1.0, i=0.1):
    return f'<link name="{name}">{BODY.format(m=m, i=i)}</link>'


def joint(name, parent, child, kind="revolute", axis="0 0 1", extra=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        f'<origin xyz="0.1 0.2 0.3"/>{extra}</joint>'
    )


def robot(*parts):
    return "<robot name='r'>" + "".join(parts) + "</robot>"


FOLLOW = '<mimic joint="grip" multiplier="-2" offset="0.1"/><dynamics damping="5" friction="7"/>'
ARM = robot(
    link("base"), link("upper"), link("hand"), link("left", 0.1, 0.01), link("right", 0.1, 0.01),
    joint("shoulder", "base", "upper", axis="0 1 0", extra='<dynamics damping="0.5" friction="0.2"/>'),
    joint("wrist", "upper", "hand", "fixed"),
    joint("grip", "hand", "left", "prismatic", "1 0 0", '<dynamics damping="2" friction="3"/>'),
    joint("follow", "hand", "right", "prismatic", "1 0 0", FOLLOW),
)  # fmt: skip


def test_names_and_sizes():
    model = rd.load_urdf(ARM, floating_base=True)
    assert model.joint_names == ("shoulder", "grip")
    assert model.body_names == ("world", "base", "upper", "left", "right")
    assert model.link_names == ("base", "upper", "hand", "left", "right")
    assert list(model.parent) == [-1, 0, 1, 2, 2]
    assert (model.nb, model.nq, model.nv) == (5, 9, 8)
    assert model.mass == pytest.approx(3.2)
    assert rd.load_urdf(ARM).body_names == ("world", "upper", "left", "right")


def test_mimic_joints_follow_and_their_losses_are_projected():
    model = rd.load_urdf(ARM)
    assert model.report.mimic == {"follow": "-2 grip +0.1"}
    q = np.array([0.0, 0.3])
    hand, left, right = (rd.link_pose(model, q, name)[1] for name in ("hand", "left", "right"))
    np.testing.assert_allclose(left - hand, [0.1 + 0.3, 0.2, 0.3])
    np.testing.assert_allclose(right - hand, [0.1 - 0.6 + 0.1, 0.2, 0.3])
    np.testing.assert_allclose(model.damping, [0.5, 2 + 4 * 5])
    np.testing.assert_allclose(model.friction, [0.2, 3 + 2 * 7])


def test_mimic_of_a_mimic():
    text = ARM.replace(
        "</robot>",
        link("third", 0.1, 0.01)
        + joint("again", "hand", "third", "prismatic", "1 0 0", '<mimic joint="follow" multiplier="3"/>')
        + "</robot>",
    )
    assert rd.load_urdf(text).report.mimic["again"] == "-6 grip +0.3"


def test_planar_joint_moves_in_its_plane_then_turns():
    text = robot(link("base"), link("cart"), joint("deck", "base", "cart", "planar"))
    model = rd.load_urdf(text)
    assert (model.nq, model.nv, model.nb) == (3, 3, 2)
    R, p = rd.link_pose(model, [0.5, -0.4, np.pi / 2], "cart")
    np.testing.assert_allclose(p, [0.6, -0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_floating_joint_has_the_coordinates_of_a_floating_base():
    text = robot(link("world_link"), link("body"), joint("free", "world_link", "body", "floating"))
    model = rd.load_urdf(text)
    base = rd.load_urdf(robot(link("body")), floating_base=True)
    assert (model.nq, model.nv) == (7, 6)
    rng = np.random.default_rng(0)
    q, qd, tau = rd.random_configuration(base, rng), *rng.standard_normal((2, 6))
    np.testing.assert_allclose(
        rd.forward_dynamics(model, q, qd, tau), rd.forward_dynamics(base, q, qd, tau), rtol=1e-12
    )
    shifted = rd.link_pose(model, q, "body")[1] - rd.link_pose(base, q, "body")[1]
    np.testing.assert_allclose(shifted, [0.1, 0.2, 0.3])


def test_root_takes_the_subtree():
    model = rd.load_urdf(ARM, root="hand", floating_base=True)
    assert model.body_names == ("world", "hand", "left", "right")
    assert model.mass == pytest.approx(1.2)


def test_armature_counts_once_everywhere():
    plain, geared = rd.load_urdf(ARM), rd.load_urdf(ARM, armature={"shoulder": 0.7})
    q, qd, qdd = np.array([0.2, 0.1]), np.array([1.0, 2.0]), np.array([3.0, 4.0])
    np.testing.assert_allclose(rd.mass_matrix(geared, q) - rd.mass_matrix(plain, q), np.diag([0.7, 0.0]), atol=1e-15)
    tau = rd.inverse_dynamics(geared, q, qd, qdd)
    np.testing.assert_allclose(tau - rd.inverse_dynamics(plain, q, qd, qdd), [0.7 * 3.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(rd.forward_dynamics(geared, q, qd, tau), qdd, rtol=1e-12)


def test_unknown_effort_is_infinite_and_the_model_is_read_only():
    limit = '<limit effort="0" velocity="0" lower="-1" upper="2"/>'
    model = rd.load_urdf(robot(link("a"), link("b"), joint("j", "a", "b", extra=limit)))
    assert model.effort_limit[0] == model.velocity_limit[0] == np.inf
    assert (model.lower[0], model.upper[0]) == (-1.0, 2.0)
    with pytest.raises(ValueError, match="read-only"):
        model.lower[0] = 3.0
    with pytest.raises(AttributeError):
        model.name = "other"


def test_report_names_odd_inertias_and_goes_on():
    odd = link("b", 1, 1).replace('izz="1"', 'izz="5"')
    negative = odd.replace('izz="5"', 'izz="-1"')
    massless = link("b", 0, 1)
    for text, words in ((odd, "triangle"), (negative, "negative principal"), (massless, "no mass")):
        model = rd.load_urdf(robot(link("a"), text, joint("j", "a", "b")))
        (sentence,) = model.report.nonphysical
        assert "link 'b'" in sentence
        assert words in sentence


def test_report_of_mass_and_com_counts_the_fixed_base():
    model = rd.load_urdf(ARM)
    assert model.report.mass == pytest.approx(3.2)
    assert model.mass == pytest.approx(2.2)
    com = rd.center_of_mass(rd.load_urdf(ARM, floating_base=True), rd.neutral(rd.load_urdf(ARM, floating_base=True)))
    np.testing.assert_allclose(model.report.com, com)


@pytest.mark.parametrize("dense", [False, True], ids=["tree", "mimic"])
def test_a_joint_without_inertia_is_named(dense):
    empty = '<link name="tip"/>'
    extra = link("f", 0.1, 0.01) + joint("m", "base", "f", extra='<mimic joint="shoulder"/>') if dense else ""
    text = robot(
        link("base"), link("upper"), empty, joint("shoulder", "base", "upper"), joint("idle", "upper", "tip"), extra
    )
    model = rd.load_urdf(text)
    assert model.report.singular == ("idle",)
    zero = np.zeros(2)
    assert np.isfinite(rd.inverse_dynamics(model, zero, zero, zero)).all()
    points = rd.points(model, {"tip": [(0, 0, 0)]})
    for call in (
        lambda: rd.forward_dynamics(model, zero, zero, zero),
        lambda: rd.forward_dynamics_batch(model, [zero], [zero], [zero]),
        lambda: rd.contact_inertia_inverse(model, points, zero),
        lambda: rd.test_force_response(model, points, zero),
    ):
        with pytest.raises(SingularModelError, match="'idle'"):
            call()
    assert rd.load_urdf(text, armature={"idle": 0.01}).report.singular == ()


def test_a_floating_base_without_mass_is_named():
    assert rd.load_urdf("<robot name='r'><link name='ghost'/></robot>", floating_base=True).report.singular == (
        "ghost",
    )


def test_a_mimic_joint_may_be_massless_when_its_leader_is_not():
    text = robot(
        link("a"), link("b"), '<link name="c"/>',
        joint("lead", "a", "b"), joint("follow", "a", "c", extra='<mimic joint="lead"/>'),
    )  # fmt: skip
    model = rd.load_urdf(text)
    assert model.report.singular == ()
    assert np.isfinite(rd.forward_dynamics(model, [0.0], [0.0], [1.0])).all()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"armature": {"elbow": 1.0}}, UnknownNameError, "'elbow'; valid names: follow, grip, shoulder"),
        ({"armature": {"wrist": 1.0}}, UnknownNameError, "'wrist'"),
        ({"armature": {"grip": -1.0}}, ModelError, "'grip' must be finite and >= 0, got -1"),
        ({"armature": {"grip": float("nan")}}, ModelError, "'grip' must be finite"),
        ({"rotors": {"elbow": rd.Rotor(6, 1e-3)}}, UnknownNameError, "'elbow'"),
        ({"rotors": {"grip": rd.Rotor(6, -1e-3)}}, ModelError, "'grip' needs"),
        ({"rotors": {"grip": rd.Rotor(6, 1e-3, (0, 0, 0))}}, ModelError, "non-zero axis"),
        ({"rotors": {"grip": rd.Rotor(6, 1e-3)}, "armature": {"grip": 1.0}}, ModelError, "count twice"),
        ({"root": "elbow"}, UnknownNameError, "no link 'elbow'"),
        ({"root": "right"}, None, ""),
        ({"keep_links": ["foot"]}, UnknownNameError, "no link 'foot'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_arguments(arguments, error, words):
    if error is None:
        rd.load_urdf(ARM, **arguments)
        return
    with pytest.raises(error, match=words):
        rd.load_urdf(ARM, **arguments)


def test_a_mimic_that_leaves_the_subtree_is_refused():
    text = robot(
        link("a"), link("b"), link("c"), joint("lead", "a", "b"),
        joint("mid", "a", "c"), link("d"), joint("tail", "c", "d", extra='<mimic joint="lead"/>'),
    )  # fmt: skip
    with pytest.raises(ModelError, match="'tail' mimics 'lead', which is outside"):
        rd.load_urdf(text, root="c")


MODEL = random_model(0)
Q, QD, X, F = random_state(MODEL, 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: rd.inverse_dynamics(MODEL, Q[:-1], QD, X),
            rf"q must have shape \({MODEL.nq},\), got \({MODEL.nq - 1},\)",
        ),
        (lambda: rd.inverse_dynamics(MODEL, Q, np.full_like(QD, np.nan), X), r"qd must be finite, but qd\[0\] is nan"),
        (lambda: rd.inverse_dynamics(MODEL, Q, QD, "fast"), "qdd must be an array of numbers"),
        (lambda: rd.forward_dynamics(MODEL, Q, QD, X, F[1:]), "f_ext must have shape"),
        (lambda: rd.inverse_dynamics_batch(MODEL, [Q], [QD, QD], [X]), "QD must have shape"),
        (lambda: rd.integrate(MODEL, Q, QD, np.inf), "dt must be finite"),
        (lambda: rd.points(MODEL, {"base": [(0, 0)]}), r"points of link 'base' must have shape \(k, 3\)"),
    ],
    ids=range(7),
)
def test_wrong_arrays(call, words):
    with pytest.raises(ShapeError, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: rd.link_pose(MODEL, Q, "foot"),
        lambda: rd.points(MODEL, {"foot": [(0, 0, 0)]}),
        lambda: MODEL.joint_index("foot"),
    ],
)
def test_unknown_names(call):
    with pytest.raises(UnknownNameError, match="'foot'; valid names:"):
        call()


def test_points_keep_their_order_and_links():
    points = rd.points(MODEL, {"link_3": [(1, 0, 0), (2, 0, 0)], "base": [(3, 0, 0)]})
    assert points.link == ("link_3", "link_3", "base")
    assert len(points) == 3
    np.testing.assert_array_equal(points.radius, 0)
    R, p = rd.link_pose(MODEL, Q, "link_3")
    np.testing.assert_allclose(rd.point_position(MODEL, points, Q)[1], R @ [2, 0, 0] + p, atol=1e-14)


def test_array_likes_come_in_and_new_arrays_go_out():
    tau = rd.inverse_dynamics(MODEL, list(Q), tuple(QD), X.astype(np.float32))
    assert tau.dtype == np.float64
    assert tau is not rd.inverse_dynamics(MODEL, Q, QD, X)
    many = np.asfortranarray(np.array([QD, QD]))
    np.testing.assert_array_equal(rd.inverse_dynamics(MODEL, Q, many[0], X), rd.inverse_dynamics(MODEL, Q, QD, X))


def test_random_configurations_stay_inside_their_limits():
    limit = '<limit effort="1" velocity="1" lower="0.2" upper="0.3"/>'
    model = rd.load_urdf(robot(link("a"), link("b"), joint("j", "a", "b", extra=limit)), floating_base=True)
    for seed in range(20):
        q = rd.random_configuration(model, np.random.default_rng(seed))
        assert 0.2 <= q[7] <= 0.3
        assert np.linalg.norm(q[3:7]) == pytest.approx(1.0)


def test_a_joint_of_an_unknown_kind_is_refused_before_any_kernel_takes_it_for_another():
    links = Link("base"), Link("tip", Inertial(1.0, np.zeros(3), np.eye(3)))
    screw = Joint("drive", "screw", "base", "tip", np.eye(3), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    with pytest.raises(ModelError, match="joint 'drive' is of the unknown kind 'screw'; valid kinds: revolute, "):
        build_model(Robot("press", links, (screw,)))
