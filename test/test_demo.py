# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The numbers read from a run, the page made of them, and the loop itself: processes over DDS."""

import re
import signal
import subprocess
import sys
from dataclasses import replace
from html import escape
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import cli
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.simulation.recording import Recording, measure

needs_ros = pytest.mark.skipif(find_spec("rclpy") is None, reason="rclpy cannot be imported")
needs_pictures = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")

FEET = ("FR", "FL", "HR", "HL")
WEIGHT = 80.0


def standing(**changes):
    """Ten seconds of a robot that stands still on four equally loaded feet; a fifth contact point never touches."""
    time = np.arange(0.0, 10.0, 0.01)
    rows = len(time)
    force = np.zeros((rows, 5, 3))
    force[:, 1:, 2] = WEIGHT / 4
    made = Recording(
        robot="box",
        weight=WEIGHT,
        friction=0.6,
        feet=FEET,
        joints=("a", "b", "c", "d"),
        begin=0.0,
        trot_at=4.0,
        end=10.0,
        joint_time=time,
        position=np.zeros((rows, 4)),
        effort=np.full((rows, 4), 2.0),
        base_time=time,
        base=np.tile([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0], (rows, 1)),
        contact_links=("base", *FEET),
        contact_time=time,
        contact_position=np.zeros((rows, 5, 3)),
        contact_velocity=np.zeros((rows, 5, 3)),
        contact_force=force,
        feedforward_time=time[::2],
        feedforward=np.full((rows // 2, 4), 1.5),
        tracking_time=time,
        tracking=np.full((rows, 4), 0.003),
        torque_age=np.linspace(0.001, 0.003, 1001),
        target_age=np.linspace(0.002, 0.004, 1001),
        torque_rate=50.0,
        target_rate=25.0,
        wall_time=20.0,
        received={"joint_states": 900, "odom": 50},
        lost={"joint_states": 3, "odom": 2},
    )
    return replace(made, **changes)


def test_a_standing_robot_is_fine():
    measures = measure(standing())
    assert measures.problems == []
    assert measures.standing_height == pytest.approx(0.3)
    assert measures.standing_force == pytest.approx(1.0)
    assert measures.trotting_force == pytest.approx(1.0)
    assert measures.largest_slip == 0.0
    assert measures.torque_rms == pytest.approx(2.0)
    assert measures.feedforward_difference == pytest.approx(0.5)
    assert measures.tracking_error == pytest.approx(0.003)
    assert measures.real_time_factor == pytest.approx(9.99 / 20.0)
    assert measures.state_rate == pytest.approx(1002 / 20.0)
    assert (measures.torque_rate, measures.target_rate) == (50.0, 25.0)
    assert measures.torque_age == pytest.approx((0.002, 0.00298))
    assert measures.target_age == pytest.approx((0.003, 0.00398))
    assert (measures.received, measures.lost) == (950, 5)


def test_slip_is_the_way_a_loaded_foot_slides():
    run = standing()
    velocity, force = run.contact_velocity.copy(), run.contact_force.copy()
    velocity[:, 2, 0] = 0.1
    force[(run.contact_time > 7.0) & (run.contact_time < 7.5), 2] = 0.0
    found = replace(run, contact_velocity=velocity, contact_force=force)
    assert [foot for foot, _, _ in found.stances()] == [0, 1, 1, 2, 3]
    measures = measure(found)
    assert measures.largest_slip == pytest.approx(0.1 * 3.99, rel=0.01)
    assert measures.mean_slip == pytest.approx(0.1 * (3.99 + 2.49) / 5, rel=0.01)


def fallen(run):
    base = run.base.copy()
    base[run.base_time > 8.0, 2] = 0.1
    return replace(run, base=base)


def tilted(run):
    base = run.base.copy()
    base[run.base_time > 8.0, 3:] = [np.sin(0.4), 0.0, 0.0, np.cos(0.4)]
    return replace(run, base=base)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (fallen, r"the base sank to 0\.100 m from 0\.300 m"),
        (tilted, r"the base tilted by 0\.80 rad"),
        (lambda run: replace(run, weight=0.95 * WEIGHT), r"trotting, the feet carried 105\.3 % of the weight"),
        (lambda run: replace(run, base=np.full_like(run.base, np.nan)), "the base sank to nan"),
    ],
    ids=["fallen", "tilted", "force", "nan"],
)
def test_a_bad_run_says_why(change, sentence):
    assert any(re.search(sentence, problem) for problem in measure(change(standing())).problems)


def test_messages_that_ros_does_not_number_are_not_counted():
    measures = measure(standing(lost={"joint_states": -1, "odom": 0}))
    assert ("messages lost", "not counted") in [row[:2] for row in measures.rows()]


@pytest.mark.parametrize(("lost", "slower"), [(5, False), (-1, False), (500, True)])
@pytest.mark.parametrize("change", [lambda run: run, fallen], ids=["passed", "failed"])
def test_a_machine_that_did_not_keep_up_is_told_of(change, lost, slower):
    from robot_dynamics.cli.demo import verdict

    said = verdict(measure(change(standing(lost={"joint_states": lost}))))
    assert ("--real-time-factor" in said) == slower


def test_a_feedforward_that_misses_states_is_a_machine_that_did_not_keep_up():
    assert not measure(standing()).overtaxed
    assert measure(standing(torque_rate=40.0)).overtaxed


@needs_pictures
def test_page_holds_everything_it_shows():
    from robot_dynamics.cli.demo import page

    run = standing()
    text = page(run, measure(run), {"nothing": 0.02, "gravity": 0.01})
    assert all(escape(cell) in text for row in measure(run).rows() for cell in row)
    sources = re.findall(r'(?:src|href)="([^"]{0,30})', text)
    assert len(sources) == 5
    assert all(source.startswith("data:image/png;base64,") for source in sources)


@needs_ros
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--duration", "1"], "--duration must lie in 6 .. 600 s, got 1"),
        (["--duration", "nan"], "--duration must lie in 6 .. 600 s, got nan"),
        (["--real-time-factor", "0"], "--real-time-factor must lie in 0 .. 1, got 0"),
        (["--robot", "/nowhere/a.urdf"], "/nowhere/a.urdf"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence, capsys):
    assert cli.main(["demo", *arguments]) == cli.BAD_INPUT
    printed = capsys.readouterr().err
    assert sentence in printed
    assert printed.count("\n") == 1


@needs_ros
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('<robot name="a"><link name="b"/>', "not well-formed"),
        (
            '<robot name="a"><link name="b"><inertial><mass value="1"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
            "2 to 8 feet",
        ),
    ],
    ids=["broken", "no feet"],
)
def test_a_robot_that_cannot_trot_is_one_sentence(text, sentence, tmp_path, capsys):
    (tmp_path / "a.urdf").write_text(text)
    assert cli.main(["demo", "--robot", str(tmp_path / "a.urdf")]) == cli.BAD_INPUT
    assert sentence in capsys.readouterr().err


@needs_ros
def test_a_node_that_ends_is_noticed_with_its_last_words(tmp_path):
    from robot_dynamics.ros.demo import Processes

    with Processes(tmp_path / "missing.urdf", {}, {}, tmp_path) as processes:
        processes.start("plant")
        processes.running["plant"].wait(120)
        with pytest.raises(RobotDynamicsError, match=r"node 'plant' ended with exit code 2: .*missing\.urdf"):
            processes.check()


@needs_ros
def test_every_process_has_ended_when_the_block_is_left(tmp_path, monkeypatch):
    from robot_dynamics.ros import demo

    deaf = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); print(flush=True); signal.pause()"
    monkeypatch.setattr(demo, "STOP_TIMEOUT", 0.1)
    with demo.Processes(tmp_path, {}, {}, tmp_path) as processes:
        process = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
        process.stdout.readline()
        processes.running["deaf"] = process
    assert process.returncode == -signal.SIGKILL


@needs_ros
@needs_pictures
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.thorough
def test_the_loop_stands_and_trots(tmp_path):
    page = tmp_path / "folder" / "demo.html"
    options = ["--duration", "6", "--real-time-factor", "0.5", "--output", str(page)]
    command = [sys.executable, "-m", "robot_dynamics", "demo", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert page.read_text().startswith("<!DOCTYPE html>")
