# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A figure of a model that is replaced is what every driver computes with; any other field refuses to be replaced."""

import copy
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
import quadrupeds
from random_robots import random_model

import robot_dynamics as rd
from robot_dynamics.errors import ModelError, RobotDynamicsError, ShapeError
from robot_dynamics.model.description import Mimic
from robot_dynamics.model.model import Model, build_model

MOON = (0.3, -0.2, -1.62)
FIGURES = ("gravity", "effort_limit", "velocity_limit", "lower", "upper", "damping", "friction", "armature")
DERIVED = [f.name for f in fields(Model) if f.name not in (*FIGURES, "tree", "limbs")]


def cheetah(floating: bool, limbed: bool, **options) -> Model:
    model = rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=floating, **options)
    return model if limbed else replace(model, limbs=None)


@pytest.fixture(params=["floating", "fixed"])
def floating(request) -> bool:
    return request.param == "floating"


@pytest.fixture(params=["limbs", "tree"])
def limbed(request) -> bool:
    return request.param == "limbs"


def dynamics(model: Model) -> list[np.ndarray]:
    """What every driver makes of one state: functions, batch, evaluator, plant."""
    rng = np.random.default_rng(5)
    q, (qd, u) = rd.random_configuration(model, rng), rng.standard_normal((2, model.nv))
    at = rd.Evaluator(model)
    at.q[:], at.qd[:], at.tau[:] = q, qd, u
    plant = rd.Plant(model, rd.PlantParams(terrain=()))
    plant.reset(q, qd)
    plant.step()
    results = [
        rd.inverse_dynamics(model, q, qd, u),
        rd.inverse_dynamics_world(model, q, qd, u)[0],
        rd.inverse_dynamics_batch(model, [q], [qd], [u]),
        rd.forward_dynamics(model, q, qd, u),
        rd.forward_dynamics_batch(model, [q], [qd], [u]),
        rd.mass_matrix(model, q),
        rd.gravity_forces(model, q),
        rd.potential_energy(model, q),
        rd.kinetic_energy(model, q, qd),
        at.forward_dynamics().copy(),
        at.mass_matrix().copy(),
        plant.qd,
        plant.energy.total,
    ]
    return [np.asarray(x) for x in results]


def same(a: Model, b: Model) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(dynamics(a), dynamics(b), strict=True))


@pytest.mark.parametrize(
    ("figure", "value", "option"),
    [
        ("gravity", MOON, {"gravity": MOON}),
        (
            "armature",
            np.full(12, 0.07),
            {"armature": {f"{a}_{b}": 0.07 for a in ("FR", "FL", "HR", "HL") for b in ("abad", "hip", "knee")}},
        ),
    ],
)
def test_every_driver_computes_with_a_replaced_figure(floating, limbed, figure, value, option):
    plain, asked = cheetah(floating, limbed), cheetah(floating, limbed, **option)
    replaced = replace(plain, **{figure: value})
    assert same(replaced, asked)
    assert not same(replaced, plain)
    assert same(replace(replaced, **{figure: getattr(plain, figure)}), plain)
    assert same(pickle.loads(pickle.dumps(replaced)), replaced)
    assert same(copy.deepcopy(replaced), replaced)


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("effort_limit", 0.5),
        ("velocity_limit", 2.0),
        ("lower", -0.6),
        ("upper", 0.4),
        ("damping", 0.7),
        ("friction", 0.6),
    ],
)
def test_a_plant_moves_as_one_whose_description_has_the_figure(floating, limbed, figure, value):
    plain, n = cheetah(floating, limbed), 12
    field = {"effort_limit": "effort", "velocity_limit": "velocity"}.get(figure, figure)
    joints = tuple(replace(j, **{field: value}) if j.kind == "revolute" else j for j in plain.robot.joints)
    described = build_model(replace(plain.robot, joints=joints), floating_base=floating)
    described = described if limbed else replace(described, limbs=None)

    def end(model: Model) -> np.ndarray:
        plant = rd.Plant(model, rd.PlantParams(terrain=(), no_load_speed="urdf"))
        plant.command(np.tile([2.0, -2.0, 2.0], 4))
        plant.advance(0.1)
        return np.concatenate([plant.q, plant.qd])

    replaced = replace(plain, **{figure: np.full(n, value)})
    assert np.array_equal(end(replaced), end(described))
    assert not np.array_equal(end(replaced), end(plain))


@pytest.mark.parametrize("name", DERIVED)
def test_a_field_that_follows_from_the_description_cannot_be_replaced(name):
    model = cheetah(True, True)
    with pytest.raises((TypeError, ValueError), match=f"field {name} is declared with init=False"):
        replace(model, **{name: getattr(model, name)})


def test_a_payload_keeps_replaced_figures():
    model = replace(cheetah(True, False), gravity=MOON, friction=np.full(12, 0.3), armature=np.full(12, 0.02))
    links = [replace(link, inertial=link.inertial and replace(link.inertial, mass=2.0)) for link in model.robot.links]
    heavy = model.with_links(links)
    assert heavy.mass == pytest.approx(26.0)
    assert heavy.limbs is None
    for name in FIGURES:
        np.testing.assert_array_equal(getattr(heavy, name), getattr(model, name))


def test_the_tree_of_another_robot_takes_its_place():
    model, other = cheetah(True, True), rd.load_urdf(quadrupeds.MINI_CHEETAH, floating_base=True, root="FR_abad")
    with pytest.raises(RobotDynamicsError, match=r"must have shape \(2,\), got \(12,\)"):
        replace(model, tree=other.tree)
    heavy = model.with_links([replace(link, inertial=replace(link.inertial, mass=2.0)) for link in model.robot.links])
    assert same(replace(model, tree=heavy.tree), heavy)


def test_limbs_of_another_robot_are_refused():
    model, tree = cheetah(True, True), random_model(3)
    with pytest.raises(ModelError, match="limbs must be None or those of this robot"):
        replace(tree, limbs=model.limbs)


def test_armature_of_a_joint_that_a_mimic_joint_follows_leaves_that_of_the_follower():
    model = cheetah(False, False)
    joints = tuple(replace(j, mimic=Mimic("FR_knee", 2.0)) if j.name == "FL_knee" else j for j in model.robot.joints)
    follower = {"FL_knee": 0.01}
    plain = build_model(replace(model.robot, joints=joints), armature=follower)
    asked = build_model(replace(model.robot, joints=joints), armature={**follower, "FR_knee": 0.03})
    armature = [0.03 if name == "FR_knee" else 0.0 for name in plain.joint_names]
    q = np.zeros(11)
    np.testing.assert_array_equal(rd.mass_matrix(replace(plain, armature=armature), q), rd.mass_matrix(asked, q))


@pytest.mark.parametrize(
    ("figure", "value", "kind", "sentence"),
    [
        ("gravity", (0.0, -9.81), ShapeError, r"gravity must have shape \(3,\), got \(2,\)"),
        ("gravity", (0.0, 0.0, np.nan), ShapeError, r"gravity must be finite, but gravity\[2\] is nan"),
        ("gravity", "down", ShapeError, "gravity must be an array of numbers"),
        ("friction", np.full(12, -1.0), ModelError, "friction must be 0 or more, got -1"),
        ("effort_limit", np.full(12, np.nan), ModelError, "effort_limit must not be NaN"),
        ("lower", np.full(12, 9.0), ModelError, "lower must not be above upper"),
        ("armature", np.zeros(3), ShapeError, r"armature must have shape \(12,\), got \(3,\)"),
    ],
)
def test_a_figure_that_no_robot_has_is_refused(figure, value, kind, sentence):
    with pytest.raises(kind, match=sentence):
        replace(cheetah(True, True), **{figure: value})
    if figure == "gravity":
        with pytest.raises(kind, match=sentence):
            rd.load_urdf(quadrupeds.MINI_CHEETAH, gravity=value)
