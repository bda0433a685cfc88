# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameters are declared once; checks, help and YAML files follow from the declarations."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml

import robot_dynamics as rd
from robot_dynamics.errors import ParameterError
from robot_dynamics.ros.parameters import NODES, PlantParameters, checked, config_text, help_text, page_text, range_text
from robot_dynamics.ros.plant_params import UNLIMITED, plant_params

CONFIG = Path(__file__).parent.parent / "config"


@pytest.mark.parametrize("name", [*NODES, "mini_cheetah"])
def test_the_files_in_config_are_the_declarations(name):
    assert (CONFIG / f"{name}.yaml").read_text() == config_text(name), (
        "run python -m robot_dynamics.ros.parameters config docs"
    )


def test_the_page_in_docs_is_the_declarations():
    page = (CONFIG.parent / "docs" / "parameters.md").read_text()
    assert page == page_text(), "run python -m robot_dynamics.ros.parameters config docs"
    for kind in NODES.values():
        assert all(f.metadata["sentence"] in page for f in dataclasses.fields(kind))


@pytest.mark.parametrize("name", NODES)
def test_a_file_in_config_gives_the_defaults(name):
    given = yaml.safe_load(config_text(name))["/**"]["ros__parameters"]
    assert checked(NODES[name], given) == NODES[name]()


@pytest.mark.parametrize("name", NODES)
def test_help_names_every_parameter_with_its_sentence(name):
    text = help_text(NODES[name], name)
    for f in dataclasses.fields(NODES[name]):
        assert f.name in text
        assert f.metadata["sentence"] in text


@pytest.mark.parametrize("name", NODES)
def test_every_default_is_a_valid_value(name):
    defaults = {f.name: getattr(NODES[name](), f.name) for f in dataclasses.fields(NODES[name])}
    assert checked(NODES[name], defaults) == NODES[name]()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"timestep": 1.0}, r"parameter 'timestep' must lie in 1e-05 .. 0.02 s, got 1"),
        ({"timestep": float("nan")}, "parameter 'timestep' must lie in"),
        ({"timestep": "fast"}, "parameter 'timestep' must be of type float, got 'fast'"),
        ({"lockstep": 1}, "parameter 'lockstep' must be of type bool"),
        ({"contact_model": "jelly"}, "must be one of spring_damper, impulse, got 'jelly'"),
        ({"kp": [1.0, -1.0]}, r"parameter 'kp' must lie in >= 0 N m/rad, got -1"),
        ({"armature": {"knee": -1.0}}, "parameter 'armature.knee' must lie in"),
        ({"time_step": 1e-3}, "there is no parameter 'time_step'; valid names: actuator_lag, armature, "),
    ],
)
def test_a_bad_value_is_refused_with_name_range_and_value(given, sentence):
    with pytest.raises(ParameterError, match=sentence):
        checked(PlantParameters, given)


def test_integers_and_single_values_are_taken_where_floats_and_lists_are_meant():
    v = checked(PlantParameters, {"real_time_factor": 2, "kp": 100, "armature": {"knee": 1}})
    assert v.real_time_factor == 2.0
    assert v.kp == (100.0,)
    assert v.armature == {"knee": 1.0}


def test_ranges_read_well():
    ranges = {f.name: range_text(f) for f in dataclasses.fields(PlantParameters)}
    assert ranges["real_time_factor"] == "0 .. 100"
    assert ranges["stiffness"] == ">= 0 N/m^1.5"
    assert ranges["ground_height"] == "m"
    assert ranges["timeout_action"] == "hold | zero | damp | pause"


CHEETAH = rd.load_urdf(CONFIG.parent / "urdf" / "mini_cheetah.urdf")


@pytest.mark.parametrize(
    ("given", "value", "reached"),
    [
        ({"scheme": "linear"}, "linear", lambda p: p.contact.scheme),
        ({"scheme": "explicit"}, "explicit", lambda p: p.contact.scheme),
        ({"stiffness": 7e4}, 7e4, lambda p: p.contact.stiffness),
        ({"damping": 70.0}, 70.0, lambda p: p.contact.damping),
        ({"friction": 0.3}, 0.3, lambda p: p.contact.friction),
        ({"iterations": 7}, 7, lambda p: p.contact.iterations),
        ({"tolerance": 1e-5}, 1e-5, lambda p: p.contact.tolerance),
        ({}, rd.SpringDamper().tolerance, lambda p: p.contact.tolerance),
        ({"contact_model": "impulse"}, rd.Impulse().tolerance, lambda p: p.contact.tolerance),
        ({"contact_model": "impulse", "iterations": 7}, 7, lambda p: p.contact.iterations),
        ({"contact_model": "impulse", "restitution": 0.4}, 0.4, lambda p: p.contact.restitution),
        ({"contact_model": "impulse"}, None, lambda p: p.contact.recovery),
        ({"contact_model": "impulse", "recovery": 0.0}, 0.0, lambda p: p.contact.recovery),
        ({"contact_model": "impulse", "recovery": 30.0}, 30.0, lambda p: p.contact.recovery),
        ({"contact_model": "impulse", "recovery_speed": 0.1}, 0.1, lambda p: p.contact.recovery_speed),
        ({"timestep": 2e-3}, 2e-3, lambda p: p.timestep),
        ({"integrator": "rk4"}, "rk4", lambda p: p.integrator),
        ({"actuator_lag": 0.02}, 0.02, lambda p: p.actuator_lag),
        ({"command_delay": 3}, 3, lambda p: p.command_delay),
        ({}, None, lambda p: p.no_load_speed),
        ({"no_load_speed": 9.0}, [9.0] * 12, lambda p: p.no_load_speed.tolist()),
        ({"no_load_speed": [9.0, 0.0] * 6}, [9.0, UNLIMITED] * 6, lambda p: p.no_load_speed.tolist()),
        ({"ground_height": 0.2}, 0.2, lambda p: p.terrain[0].height),
        ({"noise_gyro": 0.2}, 0.2, lambda p: p.noise.gyro),
        ({"seed": 5}, 5, lambda p: p.seed),
    ],
    ids=lambda x: str(x) if isinstance(x, dict) else "",
)
def test_a_parameter_of_the_node_reaches_the_plant(given, value, reached):
    assert reached(plant_params(CHEETAH, checked(PlantParameters, given))) == value


def test_a_no_load_speed_of_minus_one_is_that_of_the_urdf():
    params = plant_params(CHEETAH, checked(PlantParameters, {"no_load_speed": -1.0}))
    np.testing.assert_array_equal(params.no_load_speed, np.minimum(CHEETAH.velocity_limit, UNLIMITED))


def test_a_wrong_number_of_no_load_speeds_is_refused():
    with pytest.raises(ParameterError, match="no_load_speed"):
        plant_params(CHEETAH, checked(PlantParameters, {"no_load_speed": [1.0, 2.0, 3.0]}))
