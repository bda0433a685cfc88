# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Studies: samples that follow from seed and number, runs that do too, results that survive a kill."""

import math
import os
import pickle
import re
import runpy
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from robot_dynamics.cli import main
from robot_dynamics.cli.study import load
from robot_dynamics.control.policy import load_policy, read_spec
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.study.controllers import Learned
from robot_dynamics.study.reading import read_study
from robot_dynamics.study.results import Results, read_table
from robot_dynamics.study.runs import StudyError, judged, rows_of, simulate
from robot_dynamics.study.sampling import Parameter, cells, run_seed, sample
from robot_dynamics.study.summary import explained, rank_correlation, shares, worst
from robot_dynamics.study.variation import NAMES, check_name, set_up

pytest.importorskip("yaml", reason="needs PyYAML (extra `study`)")
needs_arrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow (extra `study`)")

ROOT = Path(__file__).resolve().parents[1]

SHORT = """
robot: mini_cheetah.urdf
controller: {gait: {stand_time: 0.05}}
contact: {law: impulse}
timestep: 0.002
period: 0.01
duration: 0.1
seed: 5
"""
VARIED = """
runs: 120
parameters:
  friction: {uniform: [0.2, 1.0]}
  mass.base: {normal: [1.0, 0.1]}
  push.force: {uniform: [0, 300]}
"""


def study_of(folder, text, name="study.yaml"):
    path = folder / name
    path.write_text(dedent(text))
    return path


def study(folder, text):
    return read_study(study_of(folder, SHORT + text))


# sampling -------------------------------------------------------------------------------------------------------------


PARAMETERS = [
    Parameter("a", "uniform", (-1.0, 3.0)),
    Parameter("b", "log_uniform", (0.1, 10.0)),
    Parameter("c", "normal", (2.0, 0.5), (1.5, 4.0)),
    Parameter("d", "choice", (1.0, 2.0, 5.0)),
    Parameter("e", "fixed", (7.0,)),
]


@pytest.mark.parametrize("sampling", ["random", "sobol"])
def test_a_run_has_the_values_of_its_number_alone(sampling):
    if sampling == "sobol":
        pytest.importorskip("scipy", reason="needs scipy (extra `study`)")
    forward = [sample(PARAMETERS, sampling, 3, i) for i in range(20)]
    backward = [sample(PARAMETERS, sampling, 3, i) for i in reversed(range(20))][::-1]
    assert forward == backward
    assert len({v["a"] for v in forward}) == 20
    assert sample(PARAMETERS, sampling, 4, 0) != forward[0]


def test_a_sobol_study_is_the_sequence_of_scipy():
    qmc = pytest.importorskip("scipy.stats.qmc", reason="needs scipy (extra `study`)")
    box = [Parameter(name, "uniform", (0.0, 1.0)) for name in "xyz"]
    ours = np.array([list(sample(box, "sobol", 11, i).values()) for i in range(64)])
    np.testing.assert_array_equal(ours, qmc.Sobol(3, scramble=True, seed=11).random(64))
    assert qmc.discrepancy(ours) < 0.3 * qmc.discrepancy(np.random.default_rng(0).random((64, 3)))


@pytest.mark.parametrize("parameter", PARAMETERS[:3], ids=lambda p: p.kind)
def test_distributions_are_those_of_scipy(parameter):
    stats = pytest.importorskip("scipy.stats", reason="needs scipy (extra `test`)")
    a, b = parameter.figures
    judge = {
        "uniform": stats.uniform(a, b - a),
        "log_uniform": stats.loguniform(a, b),
        "normal": stats.truncnorm((1.5 - a) / b, (4.0 - a) / b, a, b),
    }[parameter.kind]
    for share in (0.0, 0.01, 0.3, 0.5, 0.99):
        assert parameter.at(share) == pytest.approx(judge.ppf(share), rel=1e-9)


def test_a_grid_is_walked_whole_with_its_last_parameter_fastest():
    grid = [Parameter("x", "grid", (1.0, 2.0)), Parameter("y", "grid", (1.0, 2.0, 3.0))]
    assert cells(grid) == 6
    seen = [tuple(sample(grid, "random", 0, i).values()) for i in range(7)]
    assert seen[:6] == [(x, y) for x in (1.0, 2.0) for y in (1.0, 2.0, 3.0)]
    assert seen[6] == seen[0]


def test_choices_are_equally_likely_and_runs_have_seeds_of_their_own():
    values = [sample([PARAMETERS[3]], "random", 0, i)["d"] for i in range(3000)]
    assert all(abs(values.count(x) - 1000) < 4 * math.sqrt(3000 * 2 / 9) for x in (1.0, 2.0, 5.0))
    assert len({run_seed(0, i) for i in range(3000)} | {run_seed(1, i) for i in range(3000)}) == 6000


# what varies ----------------------------------------------------------------------------------------------------------


def test_mass_and_inertia_are_those_of_the_link_times_their_factors(tmp_path):
    s = study(tmp_path, "")
    one = set_up(s.model, s.params, {}, {"mass": 2.0, "mass.base": 1.5, "inertia.base": 3.0}, 0).model
    for before, after in zip(s.model.robot.links, one.robot.links, strict=True):
        if before.inertial is None:
            continue
        mass, inertia = (3.0, 9.0) if before.name == "base" else (2.0, 2.0)
        assert after.inertial.mass == pytest.approx(mass * before.inertial.mass)
        np.testing.assert_allclose(after.inertial.inertia, inertia * before.inertial.inertia)


def test_every_name_reaches_the_plant(tmp_path):
    """A value of each kind changes what the kernels are given, and nothing else than what it names."""
    s = study(tmp_path, "")
    values = {"joint_friction": 0.7, "joint_friction.FR_hip": 0.2, "effort_limit": 0.5, "armature": 0.01}
    values |= {"joint_damping": 0.3, "command_delay": 0.011, "actuator_lag": 0.004, "kp": 0.5, "kd": 2.0}
    values |= {
        "friction": 0.9,
        "restitution": 0.1,
        "noise.gyro": 0.02,
        "push.force": 10.0,
        "push.direction": math.pi / 2,
    }
    made = set_up(s.model, s.params, {}, values, 9)
    hip = s.model.joint_index("FR_hip")
    assert made.model.friction[hip] == 0.2
    assert set(np.delete(made.model.friction, hip)) == {0.7}
    np.testing.assert_array_equal(made.model.effort_limit, 0.5 * s.model.effort_limit)
    assert set(made.model.armature) == {0.01}
    assert set(made.model.damping) == {0.3}
    assert (made.params.command_delay, made.params.actuator_lag, made.params.seed) == (6, 0.004, 9)
    assert (made.kp, made.kd, made.params.contact.friction, made.params.contact.restitution) == (0.5, 2.0, 0.9, 0.1)
    assert made.params.noise.gyro == 0.02
    np.testing.assert_allclose(made.push.force, [0.0, 10.0], atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_that_an_error_lists_can_vary(name, tmp_path):
    law = "spring_damper" if name in ("stiffness", "damping") else "impulse"
    s = read_study(study_of(tmp_path, SHORT.replace("law: impulse", f"law: {law}")))
    check_name(name, s.model)
    value = "flat" if name == "terrain" else 0.3
    assert set_up(s.model, s.params, {"flat": s.params.terrain}, {name: value}, 0)


def test_rough_ground_is_that_of_the_run_and_the_robot_stands_on_it(tmp_path):
    s = study(tmp_path, "parameters: {roughness: 0.05}")
    first, second, again = (simulate(s, i) for i in (0, 1, 0))
    assert not np.array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.q, again.q)
    assert first.q[0, 2] > s.start[2]


def test_slope_rises_along_x(tmp_path):
    s = study(tmp_path, "parameters: {slope: 0.2}")
    (plane,) = set_up(s.model, s.params, {}, {"slope": 0.2}, 0).params.terrain
    assert -plane.normal[0] / plane.normal[2] == pytest.approx(math.tan(0.2))


# a run ----------------------------------------------------------------------------------------------------------------


def test_a_run_depends_on_its_number_alone(tmp_path):
    s = study(tmp_path, VARIED)
    together = rows_of(s, range(6))
    alone = [rows_of(pickle.loads(pickle.dumps(s)), [i])[0] for i in (5, 0, 3)]
    assert repr(alone) == repr([together[i] for i in (5, 0, 3)])


def test_figures_are_those_of_the_motion(tmp_path):
    """Each judge against its definition, summed in a plain loop."""
    run = simulate(study(tmp_path, VARIED), 4)
    row = judged(study(tmp_path, VARIED), run)
    rates = run.qd[:, 6:]
    work = sum(abs(float(run.tau[i, j] * rates[i, j])) for i in range(50) for j in range(12)) * 0.002
    assert row["energy"] == pytest.approx(work, rel=1e-12)
    assert row["peak_torque"] == np.abs(run.tau).max()
    errors = [run.q[5 * i + 4, 7:] - run.target[i] for i in range(10)]
    assert row["tracking"] == pytest.approx(float(np.sqrt(np.mean(np.square(errors)))), rel=1e-12)
    assert row["slip"] == pytest.approx(0.01 * float(run.slide.sum()))
    assert row["fell"] is False
    assert math.isnan(row["fell_at"])


def test_a_robot_that_is_thrown_over_has_fallen_and_one_whose_knees_give_in_has_sunk(tmp_path):
    hurled = study(tmp_path, "parameters: {push.force: 2000, push.time: 0.01, push.duration: 0.1}")
    hurled = replace(hurled, duration=0.6)
    row = judged(hurled, simulate(hurled, 0))
    assert row["fell"]
    assert 0.0 < row["fell_at"] <= 0.6
    limp = replace(study(tmp_path, "parameters: {kp: 0, kd: 0, effort_limit: 0}"), duration=0.6)
    motion = simulate(limp, 0)
    assert judged(limp, motion)["fell"]
    assert np.abs(motion.q[:, 3:5]).max() < 0.3


def test_a_plant_that_stops_is_a_fall_with_its_reason(tmp_path):
    text = SHORT.replace("law: impulse", "law: spring_damper, stiffness: 1.0e+9, damping: 1.0e+8")
    s = read_study(study_of(tmp_path, text + "parameters: {push.force: 1.0e+9, push.time: 0.03}"))
    row = judged(s, simulate(s, 0))
    assert row["fell"]
    if row["stopped"]:
        assert "the plant stopped" in row["stopped"]


# controllers ----------------------------------------------------------------------------------------------------------


OWN = """
import numpy as np

def hold(model, seed, stiffness=60.0):
    pose = np.array(4 * [0.0, -0.8, 1.6])
    def act(time, measurement):
        assert measurement.position.shape == (12,)
        return pose, np.zeros(12), stiffness, 1.0
    return act

def height(run):
    return run.q[-1, 2]

def broken(*anything):
    raise KeyError("nobody")

def silent(run):
    return None
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    name = f"own_{abs(hash(tmp_path.name)) % 10**8}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_python_function_commands_and_another_judges(tmp_path, own_module):
    text = SHORT.replace("{gait: {stand_time: 0.05}}", f"{{function: {{name: '{own_module}:hold', stiffness: 50}}}}")
    s = read_study(
        study_of(tmp_path, text + f"judge: ['{own_module}:height', energy]\nparameters: {{noise.position: 0.1}}")
    )
    run = simulate(s, 0)
    assert judged(s, run)["height"] == run.q[-1, 2]
    assert s.modules == (str(tmp_path / f"{own_module}.py"),)


@pytest.mark.parametrize(
    ("controller", "judge", "said"),
    [
        ("broken", "height", "raised KeyError"),
        ("hold", "broken", "raised KeyError"),
        ("hold", "silent", "must answer a number"),
    ],
)
def test_what_a_users_function_does_wrong_is_one_sentence(controller, judge, said, tmp_path, own_module):
    text = SHORT.replace("{gait: {stand_time: 0.05}}", f"{{function: '{own_module}:{controller}'}}")
    s = read_study(study_of(tmp_path, text + f"judge: ['{own_module}:{judge}']"))
    with pytest.raises(StudyError, match=f"run 3: .*{said}"):
        judged(s, simulate(s, 3))


def test_a_bags_commands_are_held_until_the_next(tmp_path):
    rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="needs rosbags (extra `bag`)")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_KILTED)
    kind = store.types["sensor_msgs/msg/JointState"]
    header = store.types["std_msgs/msg/Header"](stamp=store.types["builtin_interfaces/msg/Time"](0, 0), frame_id="")
    with rosbag2.Writer(tmp_path / "bag", version=9) as writer:
        topic = writer.add_connection("/joint_commands", "sensor_msgs/msg/JointState", typestore=store)
        for t, angle in ((0.0, 0.1), (0.025, 0.2)):
            message = kind(header, ["FL_hip"], np.array([angle]), np.array([]), np.array([]))
            writer.write(topic, int(5e9 + 1e9 * t), store.serialize_cdr(message, "sensor_msgs/msg/JointState"))
    s = read_study(study_of(tmp_path, SHORT.replace("{gait: {stand_time: 0.05}}", "{bag: {path: bag, kp: 40, kd: 1}}")))
    target = simulate(s, 0).target
    hip = s.model.joint_index("FL_hip")
    np.testing.assert_array_equal(target[:, hip], [0.1, 0.1, 0.1, *7 * [0.2]])
    np.testing.assert_array_equal(np.delete(target, hip, 1), np.tile(np.delete(s.start[7:], hip), (10, 1)))
    with pytest.raises(ParameterError, match=r"line 3.* no JointState topic '/nothing'; it has /joint_commands"):
        read_study(
            study_of(tmp_path, SHORT.replace("{gait: {stand_time: 0.05}}", "{bag: {path: bag, topic: /nothing}}"))
        )


POLICY = ROOT / "examples" / "policy"


def test_a_policy_walks_as_its_own_example_does(tmp_path):
    given = f"{{policy: {{file: {POLICY / 'walk.yaml'}, command: [0.4, 0, 0]}}}}"
    text = SHORT.replace("{gait: {stand_time: 0.05}}", given).replace("law: impulse", "friction: 0.6")
    s = read_study(study_of(tmp_path, text.replace("duration: 0.1", "duration: 1.0")))
    assert pickle.loads(pickle.dumps(s.controller)).network == (POLICY / "walk.onnx").read_bytes()
    offline = runpy.run_path(str(POLICY / "offline.py"))
    path, stood = offline["walk"](load_policy(POLICY / "walk.yaml"), s.model, [0.4, 0.0, 0.0], 1.0)
    run = simulate(s, 0)
    assert stood
    assert np.array_equal(run.q[9::10, :3], path)
    assert np.array_equal(run.target[::2], run.target[1::2])  # 50 Hz, 100 Hz


def test_noise_is_seen_by_a_policy(tmp_path):
    given = f"{{policy: {{file: {POLICY / 'walk.yaml'}}}}}"
    text = SHORT.replace("{gait: {stand_time: 0.05}}", given)
    exact = read_study(study_of(tmp_path, text))
    noisy = read_study(study_of(tmp_path, text + "parameters: {noise.position: 0.01}"))
    assert not np.array_equal(simulate(exact, 0).target[0], simulate(noisy, 0).target[0])
    assert np.array_equal(simulate(noisy, 0).target, simulate(noisy, 0).target)


@pytest.mark.parametrize("period", [0.015, 0.04])
def test_a_period_that_does_not_divide_that_of_the_policy_is_refused(period):
    policy = Learned(read_spec(POLICY / "walk.yaml"), b"", period)
    with pytest.raises(ParameterError, match=rf"every 0.02 s, no whole number of periods of {period:g} s"):
        policy.ticks()


# mistakes in the file -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("robots: x", r"line 9: there is no 'robots'; valid names: robot, "),
        ("runs: many", r"line 9: runs: must be a whole number from 1 to"),
        ("duration: -1", r"line 9: .*duration"),
        ("seed: 1", r"line 9: 'seed' is there twice"),
        ("sampling: halton", r"line 9: sampling: must be one of random, sobol, got 'halton'"),
        (
            "terrain: moon.yaml",
            r"line 9: terrain: there is no file '.*moon.yaml'; the package has rough",
        ),
        (
            "parameters: {weight: 1}",
            r"line 9: parameters.weight: there is no parameter 'weight'; valid",
        ),
        ("parameters: {mass.tail: 1}", r"line 9: parameters.mass.tail: there is no link 'tail'; valid names: "),
        ("parameters:\n  friction: {uniform: [1, 0]}", r"line 10: parameters.friction.uniform: uniform must rise"),
        (
            "parameters:\n  friction: {even: [1, 0]}",
            r"line 10: parameters.friction: there is no 'even'; valid",
        ),
        (
            "parameters:\n  friction: {uniform: [1, two]}",
            r"line 10: .*uniform\[1\]: must be a number",
        ),
        ("parameters:\n  friction: {uniform: [0, 1], limits: [0, 1]}", r"line 10: .*limits go with normal"),
        ("parameters:\n  terrain: {uniform: [0, 1]}", r"line 10: "),
        ("judge: [beauty]", r"line 9: judge\[0\]: there is no 'beauty'; valid names: fell, slip, energy"),
        ("judge: ['nowhere:f']", r"line 9: judge\[0\]: cannot import 'nowhere'"),
        ("feet: [tail]", r"line 9: feet: there is no link 'tail'"),
        ("[", r"line \d+: this is no YAML"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(text, said, tmp_path):
    with pytest.raises(RobotDynamicsError, match=said) as caught:
        study(tmp_path, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        ("{gait: {speed: 1}}", r"line 3: controller.gait: there is no 'speed'; valid names: trot, stand_time"),
        ("{dance: {}}", r"line 3: controller: there is no 'dance'; valid names: gait, bag, function, policy"),
        ("{function: nothing}", r"line 3: .*module:function"),
        ("{policy: {file: urdf/mini_cheetah.urdf}}", r"line 3: controller.policy.file: .* is no YAML"),
        ("{policy: {file: examples/policy/walk.yaml, command: [1]}}", r"line 3: controller.policy.command: must be 3"),
        ("{bag: {topic: /x}}", r"line 3: controller.bag: 'path' is required"),
    ],
)
def test_a_mistake_in_the_controller_is_one_sentence_with_its_line(controller, said, tmp_path):
    with pytest.raises(RobotDynamicsError, match=said):
        read_study(study_of(tmp_path, SHORT.replace("{gait: {stand_time: 0.05}}", controller)))


def test_a_value_out_of_range_names_the_run(tmp_path):
    with pytest.raises(StudyError, match=r"run 2: friction must be at least 0, got -1"):
        simulate(study(tmp_path, "parameters: {friction: -1}"), 2)


EXAMPLES = sorted((ROOT / "examples" / "study").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_is_what_the_page_shows(path, monkeypatch):
    monkeypatch.syspath_prepend(str(path.parent))
    s = read_study(path)
    assert judged(s, simulate(s, 1))["stopped"] == ""
    shown = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "guides" / "studies.md").read_text(), re.M | re.DOTALL)
    assert path.read_text().partition("\n")[2] in shown


def test_the_page_names_what_can_vary():
    page = (ROOT / "docs" / "guides" / "studies.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in page and not name.startswith("noise.")] == []


# what it says ---------------------------------------------------------------------------------------------------------


def test_first_order_indices_of_ishigamis_function_are_found():
    """S = 0.314, 0.442, 0 for a = 7, b = 0.1 [Saltelli]; the effect of the third is all with the first."""
    x = np.random.default_rng(0).uniform(-np.pi, np.pi, (20000, 3))
    y = np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    np.testing.assert_allclose([explained(x[:, i], y) for i in range(3)], [0.314, 0.442, 0.0], atol=0.02)
    assert explained(x[:, 0], np.ones(20000)) != explained(x[:, 0], np.ones(20000))


def test_rank_correlation_is_spearmans():
    stats = pytest.importorskip("scipy.stats", reason="needs scipy (extra `test`)")
    rng = np.random.default_rng(2)
    x = rng.integers(0, 9, 200).astype(float)
    y = np.exp(x) + rng.normal(size=200) * 50
    assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-12)
    assert math.isnan(rank_correlation(["a", "b"] * 100, y))


def test_shares_count_falls_in_parts_of_equal_count():
    x = np.linspace(0.0, 1.0, 1200)
    found = shares(x, x > 0.5)
    np.testing.assert_array_equal(found.share, [0] * 6 + [1] * 6)
    assert (found.error > 0.0).all()
    names = shares(["rough", "flat"] * 10, [True, False] * 10)
    assert dict(zip(names.middle, names.share, strict=True)) == {"rough": 1.0, "flat": 0.0}


def test_the_worst_fell_first(tmp_path):
    s = study(tmp_path, VARIED)
    table = {"run": [0, 1, 2, 3], "fell": [False, True, True, False], "fell_at": [math.nan, 0.5, 0.2, math.nan]}
    assert worst(s, table | {"tracking": [0.3, 0.1, 0.1, 0.9]}) == [2, 1, 3, 0]


# results --------------------------------------------------------------------------------------------------------------


def command(folder, *more):
    return [sys.executable, "-m", "robot_dynamics", "study", str(folder / "study.yaml"), *map(str, more)]


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def done(folder, *more):
    finished = subprocess.run(command(folder, *more), capture_output=True, text=True, env=environment(), timeout=280)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def serially(s, folder):
    """Results of a study that this process did alone, chunk by chunk."""
    results = Results(folder, s)
    for numbers in results.missing():
        results.keep(numbers, rows_of(s, numbers))
    return results.finish().read_bytes()


@needs_arrow
@pytest.mark.slow
@pytest.mark.thorough
def test_a_study_that_is_killed_goes_on_and_ends_as_one_that_was_not(tmp_path):
    pytest.importorskip("rich", reason="needs rich (extra `cli`)")
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra `report`)")
    path = study_of(tmp_path, SHORT + VARIED.replace("120", "400"))
    expected = serially(read_study(path, load), tmp_path / "serial")
    chunks = tmp_path / "out" / "chunks"
    killed = subprocess.Popen(command(tmp_path, "--output", tmp_path / "out", "--workers", 2), env=environment())
    while not list(chunks.glob("0*.parquet")) and killed.poll() is None:
        time.sleep(0.001)
    children = workers_of(killed.pid)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    for child in children:  # they notice that they are alone
        while Path(f"/proc/{child}").exists() and "Z" not in state_of(child):
            time.sleep(0.01)
    kept = {file.name: file.stat().st_mtime_ns for file in chunks.glob("0*.parquet")}
    assert kept
    said = done(tmp_path, "--output", tmp_path / "out", "--workers", 1)
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == expected
    for name, written in kept.items():  # what was done was not done again
        assert (chunks / name).stat().st_mtime_ns == written
    worst_run = re.search(r"worst run: .* --run (\d+)", said)[1]
    assert "equal, to the last bit" in done(tmp_path, "--output", tmp_path / "out", "--run", worst_run)
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count("<img") == 5
    assert page.count("--run ") == 10


def workers_of(pid):
    lists = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return [int(child) for text in lists for child in text.split()]


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@needs_arrow
def test_a_longer_study_goes_on_from_a_shorter_and_a_broken_chunk_is_done_again(tmp_path):
    short, whole = (study(tmp_path, VARIED.replace("120", runs)) for runs in ("70", "120"))
    expected = serially(whole, tmp_path / "whole")
    serially(short, tmp_path / "out")
    missing = Results(tmp_path / "out", whole).missing()
    assert [list(part) for part in missing] == [list(range(50, 100)), list(range(100, 120))]
    first = tmp_path / "out" / "chunks" / "00000000.parquet"
    first.write_bytes(first.read_bytes()[:-9])
    assert serially(whole, tmp_path / "out") == expected
    table = read_table(tmp_path / "out")
    assert table["run"] == list(range(120))
    assert list(table)[:6] == ["run", "seed", "friction", "mass.base", "push.force", "fell"]


@needs_arrow
def test_results_of_another_study_are_not_overwritten(tmp_path, capsys):
    path = study_of(tmp_path, SHORT + VARIED)
    Results(tmp_path / "out", read_study(path, load))
    path.write_text(path.read_text().replace("seed: 5", "seed: 6"))
    assert main(["study", str(path), "--output", str(tmp_path / "out")]) == 2
    assert "holds runs of another study" in capsys.readouterr().err


@needs_arrow
def test_two_processes_do_not_write_to_one_folder(tmp_path):
    s = study(tmp_path, VARIED)
    first, second = Results(tmp_path / "out", s), Results(tmp_path / "out", s)
    with first.alone(), pytest.raises(ParameterError, match="another process is writing"), second.alone():
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--run", "500"], "--run must be from 0 to 119, got 500"),
        (["--workers", "0"], "--workers must be a whole number"),
        (["--workers", "1", "--scheduler", "tcp://127.0.0.1:1"], "do not go with --scheduler"),
    ],
)
def test_options_that_cannot_be_are_refused(options, said, tmp_path, capsys):
    assert main(["study", str(study_of(tmp_path, SHORT + VARIED)), *options]) == 2
    assert said in capsys.readouterr().err


@needs_arrow
@pytest.mark.thorough
def test_a_cluster_that_loses_a_worker_ends_with_the_same_bytes(tmp_path, own_module):
    distributed = pytest.importorskip("distributed", reason="needs dask.distributed (extra `cluster`)")
    text = SHORT + VARIED.replace("120", "300") + f"judge: [fell, energy, '{own_module}:height']"
    expected = serially(read_study(study_of(tmp_path, text), load), tmp_path / "serial")
    chunks = tmp_path / "out" / "chunks"
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        options = "--output", tmp_path / "out", "--scheduler", cluster.scheduler_address
        study_process = subprocess.Popen(command(tmp_path, *options), env=environment())
        while len(list(chunks.glob("0*.parquet"))) < 2 and study_process.poll() is None:
            time.sleep(0.001)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        assert study_process.wait(280) == 0
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == expected


@needs_arrow
def test_a_scheduler_that_does_not_answer_is_one_sentence(tmp_path, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="needs dask.distributed (extra `cluster`)")
    monkeypatch.setattr("robot_dynamics.study.workers.ANSWER", 0.5)
    path = study_of(tmp_path, SHORT + VARIED)
    assert main(["study", str(path), "--output", str(tmp_path / "out"), "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert "no dask scheduler answers at 'tcp://127.0.0.1:1'" in capsys.readouterr().err
