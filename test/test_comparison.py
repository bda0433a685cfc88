# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures that compare contact laws, on logs whose answers are known; the command on the Mini Cheetah."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.cli import main
from robot_dynamics.simulation.comparison import (
    ContactLog,
    deviations,
    figures,
    record,
    slips,
    stances,
    touchdowns,
    turning_rates,
)

BALL = (
    '<robot name="b"><link name="b"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)


def log_of(loaded, h=1e-3, start=0.0):
    """A log of one point that pushes with 10 N straight up where `loaded`."""
    T = len(loaded)
    force = np.zeros((T, 1, 3))
    force[:, 0, 2] = np.where(loaded, 10.0, 0.0)
    zeros = np.zeros(T)
    return ContactLog(
        h * np.arange(1.0, T + 1.0),
        np.zeros((T, 1, 3)),
        force,
        np.zeros((T, 1)),
        zeros,
        np.zeros((T, 3)),
        zeros,
        zeros,
        start,
    )


def steps(T, *spans):
    loaded = np.zeros(T, dtype=bool)
    for a, b in spans:
        loaded[a:b] = True
    return loaded


def test_a_stance_begins_and_ends_in_the_log_after_its_start_and_is_no_bounce():
    log = log_of(steps(300, (0, 30), (40, 90), (100, 110), (150, 200), (250, 300)), start=0.045)
    assert stances(log) == [(0, slice(150, 200))]


def test_slip_is_the_whole_way_back_and_forth_while_loaded():
    log = log_of(steps(200, (50, 100)))
    log.way[50:75, 0], log.way[75:100, 0] = [3e-5, 4e-5, -1.0], [-3e-5, -4e-5, 1.0]
    log.way[:50], log.way[100:] = 7.0, 7.0
    np.testing.assert_allclose(slips(log), [50 * 5e-5], rtol=1e-12)


def test_a_rolling_ball_does_not_slip():
    model = rd.load_urdf(BALL, floating_base=True)
    ball = rd.Points(np.array([1]), np.zeros((1, 3)), ("b",), np.array([0.1]))
    plant = rd.Plant(model, rd.PlantParams(contact=rd.Impulse()), ball)
    plant.reset([0, 0, 0.1, 0, 0, 0, 1], [0, 5.0, 0, 0.5, 0, 0])
    log = record(plant, lambda step: None, 100, 0.0)
    assert plant.q[0] == pytest.approx(0.05, rel=1e-3)
    assert np.abs(log.way[:, :, :2]).max() < 1e-5 * (0.5 * log.timestep)


def test_touchdown_is_the_peak_of_the_first_20_ms():
    log = log_of(steps(200, (50, 150)))
    log.force[60, 0, 2], log.force[80, 0, 2] = 70.0, 90.0
    np.testing.assert_array_equal(touchdowns(log), [70.0])


@pytest.mark.parametrize("tilt", [1e-9, 0.1])
def test_directions_on_a_cone_deviate_by_its_half_angle_and_turn_along_it(tilt):
    log = log_of(np.ones(360, dtype=bool))
    turn = np.radians(np.arange(360.0))
    log.force[:, 0, :2] = 10.0 * np.tan(tilt) * np.column_stack([np.cos(turn), np.sin(turn)])
    np.testing.assert_allclose(deviations(log), tilt, rtol=1e-6)
    between = 2.0 * np.arcsin(np.sin(tilt) * np.sin(np.radians(0.5)))
    np.testing.assert_allclose(turning_rates(log), between / 1e-3, rtol=1e-6)


def test_figures_of_a_body_at_rest_and_of_one_that_never_lands():
    log = log_of(np.zeros(50, dtype=bool))
    found = figures(log)
    assert np.isnan(found.slip)
    assert np.isnan(found.touchdown)
    assert (found.height_spread, found.spin, found.depth) == (0.0, 0.0, 0.0)
    assert found.rows()[0] == ("slip per stance", "nan mm")


def test_record_logs_the_state_at_the_end_of_every_step_and_tells_each_step():
    model = rd.load_urdf(BALL, floating_base=True)
    plant = rd.Plant(model, rd.PlantParams(), rd.points(model, {"b": [(0, 0, 0)]}))
    plant.reset([0, 0, 0.01, 0, 0, 0, 1], [0, 0, 0.5, 0, 0, 0])
    told = []
    log = record(plant, told.append, 100, 0.05)
    assert told == list(range(100))
    assert log.time[-1] == pytest.approx(plant.time)
    assert log.late.sum() == 50
    assert log.height[-1] == plant.q[2]
    np.testing.assert_array_equal(log.spin[-1], plant.qd[:3])
    np.testing.assert_array_equal(log.force[-1], plant.contacts.force_world)
    assert log.dissipated[-1] == plant.energy.dissipated_contact


@pytest.mark.slow
def test_command_writes_a_table_and_a_page(capsys, tmp_path):
    page = tmp_path / "new" / "page.html"
    assert main(["compare-contacts", "--duration", "2", "--timestep", "0.002", "--output", str(page)]) == 0
    out = capsys.readouterr().out
    assert f"report: {page}" in out.replace("\n", "")
    text = page.read_text()
    for label, _ in figures(log_of(np.zeros(50, dtype=bool))).rows():
        assert label in out
        assert label in text
    assert text.count("<img") == 6


@pytest.mark.slow
def test_laws_and_timesteps_are_columns_and_a_plant_that_stops_says_why(capsys, tmp_path):
    page = tmp_path / "page.html"
    laws = ["--law", "linear,explicit,implicit,impulse", "--timesteps", "0.0005,0.004"]
    monster = ["--stiffness", "5e6", "--damping", "5e5"]
    assert main(["compare-contacts", "--duration", "2", *laws, *monster, "--output", str(page)]) == 0
    out, text = capsys.readouterr().out.replace("\n", " "), page.read_text()
    for h in ("0.5", "4"):
        for law in laws[1].split(","):
            assert f"<th>{law}, {h} ms</th>" in text
    assert "explicit, 4 ms: the plant stopped" in out
    assert "explicit, 4 ms: the plant stopped" in text
    assert "step of the standing robot" in text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--duration", "1"), "--duration must be at least 2 and at most 60, got 1.0"),
        (("--timestep", "nan"), "--timesteps must be at least 1e-05"),
        (("--timesteps", "1e-3,"), "--timesteps must be numbers with commas between them, got '1e-3,'"),
        (("--law", "implicit,jelly"), "--law must name some of linear, explicit, implicit, impulse, each once"),
        (("--friction", "-1"), "friction must be at least 0"),
        (("no_such.urdf",), "no_such.urdf"),
    ],
)
def test_command_refuses_in_one_sentence(capsys, options, sentence, tmp_path):
    assert main(["compare-contacts", "--output", str(tmp_path / "page.html"), *options]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert err.count("\n") == 1
    assert out.strip() == ""
