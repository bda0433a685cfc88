# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark compares like with like: both sides are given the same robot in the same state."""

import ast
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

import message_packages  # noqa: E402
from robot_files import FILES  # noqa: E402

if not FILES:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

import robot_dynamics as rd  # noqa: E402
from benchmark import meshes  # noqa: E402
from benchmark.cpp import Cpp, their_states  # noqa: E402
from benchmark.growth import robot  # noqa: E402
from benchmark.kernels import ALGORITHMS, contact, loops, many  # noqa: E402
from benchmark.robots import ROBOTS, case, go2_points, go2_stance  # noqa: E402
from benchmark.rounds import Row, compared, interleaved  # noqa: E402
from benchmark.simulation import mjcf  # noqa: E402
from robot_dynamics.compiler import QUAD  # noqa: E402


@pytest.mark.parametrize("name", [*ROBOTS, "chain", "random tree"])
def test_pinocchio_is_given_the_same_states(name):
    """Its power of q, qd, qdd is ours, and its efforts are those of our joints."""
    given = case(name) if name in ROBOTS else robot(name, 6)
    Q, V, X = (values[:3] for values in given.states)
    q, v, x = (values[:3] for values in their_states(given))
    model = given.pinocchio
    if any("RUB" in joint.shortname() for joint in model.joints):
        q = np.array([two_numbers_per_turning_joint(model, values) for values in q])
    data = model.createData()
    theirs = np.array([pin.rnea(model, data, *state) for state in zip(q, v, x, strict=True)])
    ours = rd.inverse_dynamics_batch(given.model, Q, V, X)
    if not given.model.has_mimic:  # theirs are free joints
        np.testing.assert_allclose((ours * V).sum(axis=1), (theirs * v).sum(axis=1), rtol=1e-9)
        np.testing.assert_allclose(np.sort(ours, axis=1), np.sort(theirs, axis=1), rtol=1e-9, atol=1e-9)


def two_numbers_per_turning_joint(model, q):
    """Pinocchio's own q, where a continuous joint is (cos, sin); the C++ side is built with one angle."""
    out = []
    values = iter(q)
    for joint in list(model.joints)[1:]:
        if joint.nq == 2:
            angle = next(values)
            out += [np.cos(angle), np.sin(angle)]
        else:
            out += [next(values) for _ in range(joint.nq)]
    return np.array(out)


def test_mujoco_is_given_the_same_robot():
    mujoco = pytest.importorskip("mujoco")
    ours = case("go2").model
    q = go2_stance(ours)
    model = mujoco.MjModel.from_xml_string(mjcf(ours))
    data = mujoco.MjData(model)
    data.qpos[:] = np.r_[q[:3], q[[6, 3, 4, 5]], q[7:]]
    mujoco.mj_forward(model, data)
    H = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, H)
    order = [3, 4, 5, 0, 1, 2, *range(6, model.nv)]
    np.testing.assert_allclose(rd.mass_matrix(ours, q), H[np.ix_(order, order)], atol=1e-9)


def test_the_stance_has_its_feet_and_nothing_else_on_the_floor():
    model = case("go2").model
    points = go2_points(model)
    height = rd.point_position(model, points, go2_stance(model))[:, 2] - points.radius
    assert len(points) == 16
    np.testing.assert_allclose(height[12:], 0.0, atol=1e-12)
    assert height[:12].min() > 0.05


@pytest.mark.parametrize("driver", ["tree", "limbs"])
def test_every_algorithm_is_timed_with_every_driver(driver):
    calls = loops(case("go2"), driver)
    assert set(calls) == set(ALGORITHMS)
    assert min(call() for call in calls.values()) > 0.0


@pytest.mark.parametrize("lines", [contact, many])
def test_lines_are_measured_also_without_the_other_side(lines, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)  # no compiler
    assert all(row.ours > 0.0 for row in lines(case("go2"), Cpp(tmp_path)))


@pytest.mark.skipif(find_spec("rclpy") is None, reason="rclpy cannot be imported")
@pytest.mark.slow
@pytest.mark.thorough
def test_the_loop_is_measured():
    script = "import rclpy; from benchmark import loop; loop.SPAN = 2.0; rclpy.init(); print(loop.loop())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert "'ticks': " in done.stdout, done.stderr


@pytest.mark.skipif(bool(message_packages.missing()), reason=message_packages.missing())
@pytest.mark.skipif(find_spec("rclpy") is None, reason="rclpy cannot be imported")
@pytest.mark.thorough
def test_the_bridge_is_measured():
    script = "from benchmark import bridge; bridge.SPAN, bridge.SILENCES = 2.0, 2; bridge.main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.stdout.count("damped after, most [ms]") == 2, done.stderr


def test_meshes_of_robots_are_counted_once_and_what_fails_is_said(tmp_path, monkeypatch, capsys):
    cube = (
        "<robot name='{0}'><link name='base'><inertial><mass value='1'/>"
        "<inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>{1}</link></robot>"
    )
    shape = "<collision><geometry><mesh filename='{0}'/></geometry></collision>"
    (tmp_path / "t.stl").write_text("vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n")
    (tmp_path / "a.urdf").write_text(cube.format("a", 2 * shape.format("t.stl")))
    (tmp_path / "b.urdf").write_text(cube.format("b", shape.format("t.stl") + shape.format("none.stl")))
    (tmp_path / "c.urdf").write_text(cube.format("a", 2 * shape.format("t.stl")))
    (tmp_path / "d.urdf").write_text("<robot/>")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["meshes", str(tmp_path)])
    assert meshes.main() == 0
    said = capsys.readouterr().out
    assert "4 files, 3 different URDFs, 2 of them models, 2 with collision meshes; 1 of these find all" in said
    assert f"not found: {tmp_path / 'b.urdf'}: 1, as none.stl" in said
    assert f"refused: {tmp_path / 'd.urdf'}: the robot has no name" in said
    (mesh,) = json.loads((tmp_path / "report" / "meshes.json").read_text())["meshes"]
    assert (mesh["kind"], mesh["triangles"], mesh["points"], mesh["problem"]) == ("stl", 1, 3, "")


def test_rounds_take_turns():
    order = []
    times = interleaved({"a": lambda: order.append("a") or 1.0, "b": lambda: order.append("b") or 2.0}, rounds=3)
    assert "".join(order) == "ab" * 4  # one to warm up
    assert times["b"].tolist() == [2.0] * 3


@pytest.mark.parametrize(("ours", "held"), [(0.9, "aim"), (1.9, "must"), (2.1, "NOT HELD")])
def test_a_line_says_whether_the_promise_holds(ours, held):
    row = compared("r", "w", np.array([ours, 0.5, 9.0]), np.array([1.0, 1.0, 1.0]), "x", (2.0, 1.0))
    assert row.figure == pytest.approx(ours)
    assert row.least == 0.5
    assert row.held == held
    assert Row("r", "w", ours, must=2.0, aim=1.0).held == held
    assert compared("r", "w", np.array([ours]), None, "x", (2.0, 1.0)).held == ""


@pytest.mark.parametrize(
    ("name", "registers", "lanes"),
    [("nehalem", "128 bit", 4), ("haswell", "256 bit", 4), ("skylake-avx512", "512 bit", 8)],
)
def test_the_benchmark_says_what_it_was_compiled_for(name, registers, lanes):
    show = "from benchmark.machine import machine; print(machine())"
    environment = os.environ | {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run(
        [sys.executable, "-c", show], env=environment, cwd=Path(__file__).parents[1], capture_output=True, text=True
    )
    said = ast.literal_eval(done.stdout)
    assert said["processor"]
    assert said["compiled for"] == name
    assert said["registers"] == registers
    assert said["lanes"] == f"{lanes} robots, {QUAD} limbs"
