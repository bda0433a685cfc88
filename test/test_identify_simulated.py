# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Identification without torques: parameters of our plant and of MuJoCo found again; logs of all formats; faults."""

from dataclasses import replace

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.cli import main
from robot_dynamics.errors import ParameterError, UnknownNameError
from robot_dynamics.identification.commanded_log import CommandedLog, kind_of, read_commanded_log, tracked
from robot_dynamics.identification.joint_log import LogError
from robot_dynamics.identification.simulated_fit import FITTED, Problem, delayed, fit_simulated

LINK = (
    '<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/><origin xyz="{at}"/>'
    '<axis xyz="{axis}"/><limit lower="-9" upper="9" effort="60" velocity="30"/></joint>'
    '<link name="{name}_link"><inertial>'
    '<origin xyz="0.02 0.01 -0.12"/><mass value="{mass}"/>'
    '<inertia ixx="0.006" iyy="0.006" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
LEG = (
    '<robot name="leg"><link name="base"/>'
    + LINK.format(name="hip", parent="base", at="0 0 0", axis="1 0 0", mass=0.8)
    + LINK.format(name="thigh", parent="hip_link", at="0 0.05 0", axis="0 1 0", mass=1.2)
    + LINK.format(name="knee", parent="thigh_link", at="0 0 -0.22", axis="0 1 0", mass=0.5)
    + "</robot>"
)
MODEL = rd.load_urdf(LEG)
NAMES = MODEL.joint_names
KP, KD, DT, TICKS = 20.0, 1.5, 5e-3, 1600
TRUE = {
    "armature": np.array([0.012, 0.02, 0.03]),
    "viscous": np.array([0.1, 0.2, 0.3]),
    "coulomb": np.array([0.1, 0.2, 0.3]),
    "gain": 0.9,
    "delay": 0.007,
    "payload": 0.4,
}
"""Of the robot that is to be found; the gains of a Go2's controller and its rate."""


def commands():
    """Sweeps with steps between them, each joint its own (TICKS, 3)."""
    t = DT * np.arange(TICKS)
    out = np.zeros((TICKS, 3))
    for j in range(3):
        sweep = 0.5 * np.sin(2.0 * np.pi * (0.3 + (2.0 + j) * t / (2.0 * t[-1])) * t)
        out[:, j] = sweep + 0.2 * j * (np.floor(1.3 * t + 0.3 * j) % 2)
    return out


def fine_commands(h):
    """The same every h, as late as they are."""
    late = np.arange(round(TICKS * DT / h)) * h - TRUE["delay"]
    return commands()[np.maximum(np.floor(late / DT + 1e-6), 0).astype(int)]


def with_payload(model, mass):
    links = [
        replace(x, inertial=replace(x.inertial, mass=x.inertial.mass + mass)) if x.name == "knee_link" else x
        for x in model.robot.links
    ]
    return model.with_links(links)


def ours(payload=0.0, seed=0):
    """Positions (TICKS, 3) of our plant at a third of the timestep of the fit, with noise."""
    h = 1e-3 / 3.0
    figures = {"armature": TRUE["armature"], "damping": TRUE["viscous"], "friction": TRUE["coulomb"]}
    real = rd.Plant(replace(with_payload(MODEL, payload), **figures), rd.PlantParams(h, terrain=()))
    wanted = fine_commands(h)
    stream = np.zeros((len(wanted), 5, 3))
    stream[:, 0], stream[:, 2], stream[:, 3] = wanted, TRUE["gain"] * KP, TRUE["gain"] * KD
    log = np.zeros((len(wanted), 9))
    real.follow(stream, log)
    every = round(DT / h)
    q = np.concatenate([np.zeros((1, 3)), log[every - 1 :: every, :3]])[:TICKS]
    return q + 5e-4 * np.random.default_rng(seed).standard_normal(q.shape)


def mujocos():
    """Positions of MuJoCo's robot with the same figures."""
    mujoco = pytest.importorskip("mujoco")
    text = LEG.replace(
        '<robot name="leg">', '<robot name="leg"><mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(text)
    h = model.opt.timestep = 2e-4
    model.dof_armature[:], model.dof_damping[:], model.dof_frictionloss[:] = (
        TRUE[kind] for kind in ("armature", "viscous", "coulomb")
    )
    data, q = mujoco.MjData(model), []
    for k, wanted in enumerate(fine_commands(h)):
        if k % round(DT / h) == 0:
            q.append(data.qpos.copy())
        data.qfrc_applied[:] = TRUE["gain"] * (KP * (wanted - data.qpos) - KD * data.qvel)
        mujoco.mj_step(model, data)
    return np.array(q) + 5e-4 * np.random.default_rng(1).standard_normal((TICKS, 3))


def problem(q, fitted=FITTED[:-1], columns=(0, 1, 2), **more):
    log = CommandedLog(
        DT * np.arange(TICKS), tuple(NAMES[j] for j in columns), q[:, list(columns)], commands()[:, list(columns)]
    )
    moved = tracked(log, MODEL, {name: name for name in log.names})
    k = len(columns)
    return Problem(MODEL, moved, np.full(k, KP), np.full(k, KD), fitted, **more)


def expect_truth(fit, within=0.05):
    for kind in dict.fromkeys(fit.kinds):
        np.testing.assert_allclose(fit.of(kind), TRUE[kind], within, err_msg=kind)


def test_our_plant_is_found_again_through_noise():
    fit = fit_simulated(problem(ours()))
    expect_truth(fit)
    assert (fit.after < 6e-4).all()
    assert (fit.before > 5.0 * fit.after).all()
    assert list(fit.cost) == sorted(fit.cost, reverse=True)
    assert (fit.error < 0.05 * fit.value).all()


@pytest.mark.thorough
def test_a_payload_is_found_again():
    fit = fit_simulated(
        problem(
            ours(TRUE["payload"]), ("armature", "viscous", "coulomb", "payload", "gain", "delay"), payload="knee_link"
        )
    )
    expect_truth(fit)


def test_the_robot_of_another_simulator_is_found_again():
    fit = fit_simulated(problem(mujocos()))
    expect_truth(fit)
    assert (fit.after < 1e-3).all()


def test_joints_that_are_not_in_the_log_do_not_move():
    one = problem(np.zeros((TICKS, 3)), columns=(2,))
    (_, seen, _), *_ = one.simulate(one.start()[None])
    assert np.abs(seen).max() > 0.1
    plant = one.plant(one.start())
    plant.advance(1.0)
    assert np.abs(plant.q[:2]).max() < 1e-4


@pytest.mark.parametrize("delay", [0.0, 0.0023, 0.005, 0.0131])
def test_a_delay_shifts_the_mean_of_a_command(delay):
    """(Y13): that of a held command, sampled finely."""
    command, h = np.random.default_rng(0).standard_normal((40, 2)), 1e-3
    mean = delayed(command, 5e-3, h, 5, delay)
    middle = (np.arange(200 * 100) + 0.5) * h / 100 - delay
    fine = command[np.maximum(np.floor(middle / 5e-3 + 1e-12), 0).astype(int)]
    np.testing.assert_allclose(mean, fine.reshape(200, 100, 2).mean(axis=1), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("FL_hip_joint_position", ("position", "FL_hip_joint")),
        ("FL_hip_joint.cmd", ("command", "FL_hip_joint")),
        ("q_des_3", ("command", "3")),
        ("des_dof_pos", ("command", "")),
        ("dof_pos", ("position", "")),
        ("tau_3", ("", "tau_3")),
    ],
)
def test_names_say_what_a_column_holds(name, meant):
    assert kind_of(name) == meant


def write_npz(path, q, **more):
    arrays = {"time": DT * np.arange(TICKS), "dof_pos": q, "des_dof_pos": commands(), "name": NAMES} | more
    np.savez(path, **{key: x for key, x in arrays.items() if x is not None})
    return path


def write_csv(path, q):
    head = ["t", *(f"{name}_position" for name in NAMES), *(f"{name}_command" for name in NAMES)]
    rows = np.column_stack([DT * np.arange(TICKS), q, commands()])
    np.savetxt(path, rows, delimiter=",", header=",".join(head), comments="", fmt="%.17g")
    return path


def write_bag(path, q):
    rosbag2, typesys = (pytest.importorskip(f"rosbags.{name}") for name in ("rosbag2", "typesys"))
    store = typesys.get_typestore(typesys.Stores.ROS2_KILTED)
    kinds = {name: store.types[name] for name in store.types}
    state = "sensor_msgs/msg/JointState"
    with rosbag2.Writer(path, version=9) as writer:
        topics = [writer.add_connection(name, state, typestore=store) for name in ("/joint_states", "/joint_commands")]
        for i in range(TICKS):
            nanoseconds = round(1e9 * (1.0 + DT * i))
            stamp = kinds["builtin_interfaces/msg/Time"](nanoseconds // 10**9, nanoseconds % 10**9)
            header = kinds["std_msgs/msg/Header"](stamp, "")
            for topic, x in zip(topics[::-1], (commands()[i], q[i]), strict=True):
                message = kinds[state](header, list(NAMES), x, np.empty(0), np.empty(0))
                writer.write(topic, nanoseconds, store.serialize_cdr(message, state))
    return path


@pytest.mark.parametrize(("write", "end"), [(write_npz, "a.npz"), (write_csv, "a.csv"), (write_bag, "bag")])
def test_all_kinds_of_logs_hold_the_same(write, end, tmp_path):
    q = np.random.default_rng(0).standard_normal((TICKS, 3))
    log = read_commanded_log(write(tmp_path / end, q))
    assert log.names == NAMES
    np.testing.assert_allclose(log.stamp - log.stamp[0], DT * np.arange(TICKS), atol=1e-9)
    np.testing.assert_array_equal(log.position, q)
    np.testing.assert_array_equal(log.command, commands())


def test_uneven_stamps_are_put_on_ticks_and_pauses_left_out():
    rng = np.random.default_rng(0)
    stamp = DT * np.arange(TICKS) + 0.1 * DT * rng.uniform(-1, 1, TICKS)
    stamp[400:] += 3.0
    q = np.sin(stamp)[:, None] * [1.0, 2.0, 3.0]
    q[700] = np.nan
    moved = tracked(CommandedLog(stamp, NAMES, q, commands()), MODEL, {name: name for name in NAMES})
    assert moved.dt == pytest.approx(DT, 1e-2)
    assert moved.skipped == pytest.approx(5.0, abs=0.05)
    ticks = stamp[400] + moved.dt * np.arange(len(moved.q))
    np.testing.assert_allclose(moved.q[:, 0], np.sin(ticks), atol=1e-4)
    np.testing.assert_allclose(moved.start_rate, np.cos(ticks[0]) * np.array([1.0, 2.0, 3.0]), atol=0.05)


@pytest.fixture(scope="module")
def leg_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("leg") / "leg.urdf"
    path.write_text(LEG)
    return path


def test_the_command_says_what_it_found(leg_file, tmp_path, capsys):
    write_npz(tmp_path / "log.npz", ours(), name=None)
    given = ["--simulate", "--kp", "20", "--kd", "1.5", "--kd", "knee=1.5", "--names", ",".join(NAMES)]
    more = ["--fit", "armature,viscous,gain,delay", "--output", str(tmp_path / "page.html")]
    assert main(["identify", str(tmp_path / "log.npz"), str(leg_file), *given, *more]) == 0
    said = capsys.readouterr().out
    assert "armature of thigh" in said
    assert "ros__parameters" in said
    assert (tmp_path / "page.html").read_text().count("<img") == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "--kp must say the gain"),
        (["--kp", "20"], "--kd must say the gain"),
        (["--kp", "-1", "--kd", "1"], "--kp takes a number of at least 0"),
        (["--kp", "elbow=1", "--kd", "1"], "joint of --kp in the log 'elbow'"),
        (["--kp", "1", "--kd", "1", "--fit", "mass"], "parameter to fit 'mass'"),
        (["--kp", "1", "--kd", "1", "--payload", "hand"], "link 'hand'"),
    ],
)
def test_options_that_cannot_be(options, says, leg_file, tmp_path, capsys):
    write_npz(tmp_path / "log.npz", np.zeros((TICKS, 3)))
    assert main(["identify", str(tmp_path / "log.npz"), str(leg_file), "--simulate", *options]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.npz", None, "there is no log"),
        ("log.txt", "1", "is no log: expected"),
        ("log.npz", "1", "cannot read"),
        ("log.csv", "", "one line of names"),
        ("log.csv", "t,a_position,a_command\n0,1,x\n", "cannot read"),
        ("log.csv", "a_position,a_command\n0,1\n", "lacks a column stamp"),
        ("log.csv", "t,a_position,b_command\n0,1,2\n", "columns like hip_position and hip_command"),
    ],
)
def test_logs_that_cannot_be_read(name, content, says, tmp_path):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(LogError, match=says):
        read_commanded_log(tmp_path / name)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"des_dof_pos": None}, "lacks command; it holds time, dof_pos, name"),
        ({"name": None}, "lacks name"),
        ({"dof_pos": np.zeros((3, 3))}, r"'position' .* must be numbers of shape \(1600, 3\)"),
    ],
)
def test_arrays_that_do_not_fit(arrays, says, tmp_path):
    with pytest.raises(LogError, match=says):
        read_commanded_log(write_npz(tmp_path / "log.npz", np.zeros((TICKS, 3)), **arrays))


def test_too_little_and_strangers_are_refused():
    log = CommandedLog(DT * np.arange(20), NAMES, np.zeros((20, 3)), np.zeros((20, 3)))
    with pytest.raises(LogError, match="20 usable samples"):
        tracked(log, MODEL, {name: name for name in NAMES})
    with pytest.raises(LogError, match="no name of the log"):
        tracked(log, MODEL, {})
    with pytest.raises(UnknownNameError):
        problem(np.zeros((TICKS, 3)), ("mass",))
    moving = rd.load_urdf(LEG, floating_base=True)
    with pytest.raises(ParameterError, match="base must be fixed"):
        replace(problem(np.zeros((TICKS, 3))), model=moving)
