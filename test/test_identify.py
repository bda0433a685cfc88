# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Identification: a real Panda log against Pinocchio and stated figures, robots whose losses are known, faults."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_robots import inertial, rotation
from robot_files import FILES

import robot_dynamics as rd
from robot_dynamics.cli import main
from robot_dynamics.cli.identify import Findings, find, page, show, suggestions
from robot_dynamics.errors import ModelError, ParameterError, UnknownNameError
from robot_dynamics.identification.inertial_fit import fit_inertias, possible, pseudo_inertias_of
from robot_dynamics.identification.joint_fit import (
    SMOOTH,
    correlation,
    fit_losses,
    predicted_effort,
    rms,
    standard_errors,
)
from robot_dynamics.identification.joint_log import Log, LogError, Motion, filtered, joint_map, motion, read_log
from robot_dynamics.model.description import (
    Inertial,
    Joint,
    Link,
    Mimic,
    Robot,
)
from robot_dynamics.model.model import build_model
from robot_dynamics.symbolic.mechanism import PARAMETER_BASIS, parameters_of

PANDA_LOG = Path(__file__).parent / "data" / "panda_joint_states.npz"


@pytest.fixture(scope="module")
def panda_file():
    path = next((path for path in FILES if path.stem == "panda"), None)
    if path is None:
        pytest.skip("needs example-robot-data (extra `test`)")
    return path


@pytest.fixture(scope="module")
def panda(panda_file):
    model = rd.load_urdf(panda_file)
    log = read_log(PANDA_LOG)
    return model, motion(log, model, joint_map(log.names, model))


def test_panda_without_any_fit(panda):
    model, moved = panda
    predicted = predicted_effort(model, moved)
    assert (correlation(moved.effort, predicted)[1:4] >= 0.96).all()
    assert (rms(moved.effort - predicted)[1:4] <= 2.3).all()


@pytest.mark.parametrize("armature", [False, True], ids=["friction-offset", "with-armature"])
def test_panda_with_losses(panda, armature):
    model, moved = panda
    unexplained = moved.effort - predicted_effort(model, moved)
    losses = fit_losses(moved, unexplained, armature)
    assert (rms(unexplained - losses.effort)[1:4] <= 1.2).all()
    assert (losses.value[:, :3] >= 0.0).all()
    assert (losses.value[:, 2] == 0.0).all() or armature


def test_panda_with_inertias(panda):
    model, moved = panda
    fit = fit_inertias(model, moved)
    unexplained = moved.effort - predicted_effort(model, moved)
    losses = fit_losses(moved, unexplained)
    assert (rms(moved.effort - fit.effort) <= rms(unexplained - losses.effort)).all()
    third = slice(len(moved.stamp) * 2 // 3, None)
    assert (fit.unseen[1:6] < rms((unexplained - losses.effort)[third])[1:6]).all()
    assert (np.linalg.eigvalsh(pseudo_inertias_of(fit.parameters)) > 0.0).all()
    assert len(fit.base) == 48  # the 43 of a Panda, and the armatures of joints 3 to 7


def test_panda_predictions_are_pinocchios(panda, panda_file):
    pin = pytest.importorskip("pinocchio", reason="needs the `pin` wheel (extra `test`)")
    model, moved = panda
    full = pin.buildModelFromUrdf(str(panda_file))
    data = full.createData()
    index = [full.joints[full.getJointId(joint)].idx_v for joint in moved.joints]
    states = np.zeros((3, len(moved.stamp), full.nv))
    states[:, :, index] = moved.q, moved.qd, moved.qdd
    theirs = np.array([pin.rnea(full, data, *state)[index] for state in zip(*states, strict=True)])
    np.testing.assert_allclose(predicted_effort(model, moved), theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1], ids="seed{}".format)
def test_filter_is_exact_on_cubics_at_uneven_stamps(seed):
    rng = np.random.default_rng(seed)
    stamp = np.cumsum(rng.uniform(0.002, 0.05, 200))
    c = rng.standard_normal((4, 2))
    u = stamp[:, None]
    x, v, a = filtered(stamp, c[0] + c[1] * u + c[2] * u**2 + c[3] * u**3)
    np.testing.assert_allclose(x, c[0] + c[1] * u + c[2] * u**2 + c[3] * u**3, atol=1e-9)
    np.testing.assert_allclose(v, c[1] + 2 * c[2] * u + 3 * c[3] * u**2, atol=1e-8)
    np.testing.assert_allclose(a, 2 * c[2] + 6 * c[3] * u, atol=1e-6)


def arm(seed: int, armature: float = 0.0) -> rd.Model:
    rng = np.random.default_rng(seed)
    links, joints = [Link("base")], []
    for i in range(3):
        axis = rng.standard_normal(3)
        links.append(Link(f"link{i}", inertial(rng)))
        axis /= np.linalg.norm(axis)
        joints.append(Joint(f"j{i}", "revolute", links[i].name, f"link{i}", rotation(rng), 0.3 * np.ones(3), axis))
    robot = Robot(f"arm{seed}", tuple(links), tuple(joints))
    return build_model(robot, armature={joint.name: armature for joint in joints} if armature else None)


def excited(model: rd.Model, seed: int, samples: int = 900) -> Motion:
    """A smooth motion with exact rates and the model's own efforts."""
    rng = np.random.default_rng(seed)
    n = len(model.joint_names)
    stamp = np.linspace(0.0, 18.0, samples)
    w = rng.uniform(0.5, 4.0, (4, 1, n))
    a, phase = rng.uniform(0.2, 0.6, (4, 1, n)), rng.uniform(0.0, 6.0, (4, 1, n))
    angle = w * stamp[:, None] + phase
    q = (a * np.sin(angle)).sum(axis=0)
    qd, qdd = (a * w * np.cos(angle)).sum(axis=0), -(a * w * w * np.sin(angle)).sum(axis=0)
    still = Motion(model.joint_names, stamp, q, qd, qdd, np.zeros_like(q))
    return replace(still, effort=predicted_effort(model, still))


@pytest.mark.parametrize("seed", [0, 1, 2], ids="seed{}".format)
def test_known_losses_are_found(seed):
    model = arm(seed)
    moved = excited(model, seed)
    rng = np.random.default_rng(seed)
    truth = np.column_stack([*rng.uniform(0.05, 1.0, (3, 3)), rng.standard_normal(3)])
    truth[0, 1] = 0.0
    columns = np.stack([moved.qd, np.tanh(moved.qd / SMOOTH), moved.qdd, np.ones_like(moved.q)], axis=-1)
    effort = (columns * truth).sum(axis=-1)
    losses = fit_losses(moved, effort)
    np.testing.assert_allclose(losses.value, truth, atol=1e-9)
    noisy = fit_losses(moved, effort + rng.normal(0.0, 0.1, effort.shape))
    assert (np.abs(noisy.value - truth) < 5.0 * noisy.error + 1e-12).all()
    assert (noisy.error < 0.05).all()


def test_negative_friction_is_not_believed():
    moved = excited(arm(0), 0)
    losses = fit_losses(moved, -0.5 * moved.qd + 2.0)
    np.testing.assert_allclose(losses.value, np.tile([0.0, 0.0, 0.0, 2.0], (3, 1)), atol=0.1)
    assert (losses.value[:, :3] >= 0.0).all()


@pytest.mark.parametrize("seed", [0, 1], ids="seed{}".format)
def test_wrong_inertias_are_found(seed):
    """The log of one robot, the URDF of another with the same joints: the base parameters are those of the robot."""
    truth = arm(seed, armature=0.05)
    joints = arm(seed).robot.joints
    rng = np.random.default_rng(seed + 100)
    other = [Link("base"), *(Link(link.name, inertial(rng)) for link in truth.robot.links[1:])]
    moved = excited(truth, seed)
    moved = replace(moved, effort=moved.effort + rng.normal(0.0, 1e-3, moved.effort.shape))
    suspect = build_model(Robot("suspect", tuple(other), joints))
    fit = fit_inertias(suspect, moved)
    assert (rms(moved.effort - predicted_effort(suspect, moved)) > 0.1).all()
    assert (rms(moved.effort - fit.effort) < 2e-3).all()
    assert (fit.unseen < 2e-3).all()
    assert (np.linalg.eigvalsh(pseudo_inertias_of(fit.parameters)) > 0.0).all()
    real = fit_inertias(truth, moved)
    assert fit.base_names == real.base_names
    np.testing.assert_allclose(fit.base, real.base_prior, rtol=1e-3, atol=1e-3)


def test_a_right_urdf_is_left_alone():
    model = arm(3)
    fit = fit_inertias(model, excited(model, 3))
    np.testing.assert_allclose(fit.base, fit.base_prior, atol=1e-3)
    np.testing.assert_allclose(fit.parameters, fit.prior, atol=0.05)


@pytest.mark.parametrize("seed", range(3), ids="seed{}".format)
def test_parameters_and_pseudo_inertias(seed):
    rng = np.random.default_rng(seed)
    pi = rng.standard_normal(10)
    np.testing.assert_allclose(parameters_of(np.tensordot(pi, PARAMETER_BASIS, 1)), pi, atol=1e-14)
    good = possible(pseudo_inertias_of(pi)[0], 0.01)
    assert np.linalg.eigvalsh(good)[0] > 0.0
    np.testing.assert_allclose(possible(good, 0.01), good, rtol=1e-12, atol=1e-15)


def test_standard_errors_of_white_noise_and_of_nothing():
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.standard_normal((4000, 2)), np.zeros(4000)])
    r = rng.normal(0.0, 0.2, 4000)
    scores = (A * r[:, None]).reshape(100, 40, 3).sum(axis=1)
    errors = standard_errors(A.T @ A, scores)
    np.testing.assert_allclose(errors[:2], 0.2 / math.sqrt(4000), rtol=0.3)
    assert np.isinf(errors[2])


def test_names_are_matched_by_their_ending(panda_file):
    model = rd.load_urdf(panda_file)
    assert joint_map(["fer_joint1", "fer_joint7", "gripper"], model) == {
        "fer_joint1": "panda_joint1",
        "fer_joint7": "panda_joint7",
    }
    assert joint_map(["panda_finger_joint1"], model) == {"panda_finger_joint1": "panda_finger_joint1"}
    assert joint_map(["a", "b"], model, {"b": "panda_joint2"}) == {"b": "panda_joint2"}
    with pytest.raises(ParameterError, match="l_joint1, r_joint1 in the log all look like joint 'panda_joint1'"):
        joint_map(["l_joint1", "r_joint1"], model)
    with pytest.raises(UnknownNameError, match="no joint in the log 'c'; valid names: a, b"):
        joint_map(["a", "b"], model, {"c": "panda_joint2"})
    with pytest.raises(UnknownNameError, match="no joint 'elbow'"):
        joint_map(["a"], model, {"a": "elbow"})


def log_of(moved: Motion, names=None) -> Log:
    return Log(moved.stamp, names or moved.joints, moved.q, moved.qd, moved.effort)


def test_motion_drops_bad_samples_and_refuses_too_few():
    model = arm(0)
    log = log_of(excited(model, 0, 200))
    log.effort[3, 1] = np.nan
    stamp = log.stamp.copy()
    stamp[10] = stamp[9]
    moved = motion(replace(log, stamp=stamp), model, joint_map(log.names, model))
    assert len(moved.stamp) == 198
    assert np.isfinite(moved.qdd).all()
    with pytest.raises(LogError, match="49 usable samples of j0, j1, j2; 50 are needed"):
        motion(log_of(excited(model, 0, 49)), model, joint_map(log.names, model))
    with pytest.raises(LogError, match=r"no name of the log \(x, y, z\) is a joint of 'arm0' \(j0, j1, j2\)"):
        motion(log_of(excited(model, 0), ("x", "y", "z")), model, {})


def test_pauses_of_the_recording_are_not_differentiated():
    model = arm(0)
    exact = excited(model, 0)
    stamp = exact.stamp + np.where(np.arange(900) < 400, 0.0, 10.0)
    log = replace(log_of(replace(exact, stamp=stamp)), velocity=np.full((900, 3), np.nan))
    moved = motion(log, model, joint_map(log.names, model))
    assert len(moved.stamp) == 896
    np.testing.assert_allclose(np.delete(exact.qd, range(398, 402), axis=0)[5:-5], moved.qd[5:-5], atol=0.1)


def test_rates_come_from_positions_where_velocities_are_missing():
    model = arm(0)
    exact = excited(model, 0)
    log = replace(log_of(exact), velocity=None)
    moved = motion(log, model, joint_map(log.names, model))
    np.testing.assert_allclose(moved.qd[5:-5], exact.qd[5:-5], atol=0.02)
    np.testing.assert_allclose(moved.qdd[5:-5], exact.qdd[5:-5], atol=1.0)


def write_npz(folder: Path, **changes) -> Path:
    arrays = {"stamp": np.arange(60.0), "name": np.array(["a", "b"]), "position": np.zeros((60, 2))}
    arrays |= {"effort": np.zeros((60, 2))} | changes
    np.savez(folder / "log.npz", **{key: value for key, value in arrays.items() if value is not None})
    return folder / "log.npz"


def test_files_that_are_no_logs(tmp_path):
    with pytest.raises(LogError, match="there is no log"):
        read_log(tmp_path / "nothing.npz")
    (tmp_path / "log.csv").write_text("a,b\n")
    with pytest.raises(LogError, match=r"expected an \.npz file, a rosbag2 folder"):
        read_log(tmp_path / "log.csv")
    for content in (b"PK\x03\x04 torn", b"", b"stamp,name"):
        (tmp_path / "torn.npz").write_bytes(content)
        with pytest.raises(LogError, match="cannot read"):
            read_log(tmp_path / "torn.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(LogError, match="lacks stamp, position, effort, name"):
        read_log(tmp_path / "one.npz")
    with pytest.raises(LogError, match="cannot read"):
        read_log(write_npz(tmp_path, stamp=np.array(["now"] * 60)))
    with pytest.raises(LogError, match="lacks effort; it holds stamp, name, position"):
        read_log(write_npz(tmp_path, effort=None))
    with pytest.raises(LogError, match=r"'position' .* must have shape \(60, 2\).* got \(60, 3\)"):
        read_log(write_npz(tmp_path, position=np.zeros((60, 3))))
    assert read_log(write_npz(tmp_path)).velocity is None


def write_bag(folder: Path, plugin: str, topics: dict[str, Motion]) -> Path:
    """Joint states as a robot would record them: a gripper message without efforts in between, names turned round."""
    rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="needs rosbags (extra `bag`)")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_KILTED)
    types, kind = store.types, "sensor_msgs/msg/JointState"
    with rosbag2.Writer(folder, version=9, storage_plugin=getattr(rosbag2.StoragePlugin, plugin)) as writer:
        for topic, moved in topics.items():
            connection = writer.add_connection(topic, kind, typestore=store)
            for i, stamp in enumerate(moved.stamp):
                time = types["builtin_interfaces/msg/Time"](sec=7 + int(stamp), nanosec=int(stamp % 1.0 * 1e9))
                header = types["std_msgs/msg/Header"](stamp=time, frame_id="")
                arrays = [moved.q[i], moved.qd[i], moved.effort[i]]
                if i % 2:
                    arrays = [array[::-1] for array in arrays]
                names = list(moved.joints[::-1] if i % 2 else moved.joints)
                message = types[kind](header, names, *map(np.ascontiguousarray, arrays))
                writer.write(connection, int(1e9 * (7 + stamp)), store.serialize_cdr(message, kind))
                gripper = types[kind](header, ["gripper"], np.zeros(1), np.zeros(0), np.zeros(0))
                writer.write(connection, int(1e9 * (7 + stamp)), store.serialize_cdr(gripper, kind))
    return folder


def write_strings(folder: Path) -> Path:
    """A bag of another type."""
    from rosbags import rosbag2
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_KILTED)
    message = store.types["std_msgs/msg/String"]("hello")
    with rosbag2.Writer(folder, version=9) as writer:
        connection = writer.add_connection("/chatter", message.__msgtype__, typestore=store)
        writer.write(connection, 1, store.serialize_cdr(message, message.__msgtype__))
    return folder


@pytest.mark.parametrize("plugin", ["SQLITE3", "MCAP"])
def test_bags_give_what_was_recorded(tmp_path, plugin):
    moved = excited(arm(0), 0, 120)
    log = read_log(write_bag(tmp_path / "run", plugin, {"/joint_states": moved}))
    assert log.names == moved.joints
    np.testing.assert_allclose(log.stamp, moved.stamp, atol=1e-8)
    np.testing.assert_array_equal(log.position, moved.q)
    np.testing.assert_array_equal(log.velocity, moved.qd)
    np.testing.assert_array_equal(log.effort, moved.effort)


def test_bags_with_several_topics_or_none(tmp_path):
    first, second = excited(arm(0), 0, 60), excited(arm(0), 1, 60)
    bag = write_bag(tmp_path / "two", "MCAP", {"/left": first, "/right": second})
    with pytest.raises(LogError, match=r"2 topics of type sensor_msgs/msg/JointState \(/left, /right\)"):
        read_log(bag)
    with pytest.raises(LogError, match="choose with --topic"):
        read_log(bag, "/middle")
    np.testing.assert_array_equal(read_log(bag, "/right").position, second.q)
    with pytest.raises(LogError, match=r"has no topic of type sensor_msgs/msg/JointState; it holds no topic at all"):
        read_log(write_bag(tmp_path / "none", "MCAP", {}))
    with pytest.raises(LogError, match=r"no topic of type sensor_msgs/msg/JointState; it holds /chatter \(std_msgs"):
        read_log(write_strings(tmp_path / "talk"))
    mute = replace(first, effort=np.zeros((60, 0)))
    with pytest.raises(LogError, match=r"no message in .* holds position and effort"):
        read_log(write_bag(tmp_path / "mute", "MCAP", {"/joint_states": mute}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="cannot read the bag"):
        read_log(tmp_path / "empty")


def test_mimic_robots_get_losses_but_no_inertias(tmp_path):
    model = arm(0)
    follower = Joint("j3", "revolute", "link2", "link3", np.eye(3), np.zeros(3), np.array([0.0, 0, 1]))
    follower = replace(follower, mimic=Mimic("j2", 0.5))
    links = (*model.robot.links, Link("link3", inertial(np.random.default_rng(9))))
    geared = build_model(Robot("geared", links, (*model.robot.joints, follower)))
    moved = excited(geared, 0)
    assert fit_losses(moved, moved.effort - predicted_effort(geared, moved)).value == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ModelError, match="'j3' follows joint 'j2'"):
        fit_inertias(geared, moved)


def test_a_urdf_with_impossible_inertias_is_a_prior_all_the_same():
    model = arm(0)
    bad = replace(model.robot.links[1], inertial=Inertial(1.0, np.zeros(3), np.diag([1.0, 0.1, 0.1])))
    massless = replace(model.robot.links[2], inertial=None)
    robot = replace(model.robot, links=(model.robot.links[0], bad, massless, model.robot.links[3]))
    fit = fit_inertias(build_model(robot), excited(model, 0))
    assert (np.linalg.eigvalsh(pseudo_inertias_of(fit.parameters)) > 0.0).all()
    moved = excited(model, 0)
    assert (rms(moved.effort - fit.effort) < 0.02 * rms(moved.effort)).all()


def test_suggestions_are_parameters_of_the_nodes(panda_file):
    yaml = pytest.importorskip("yaml")
    findings = find(PANDA_LOG, str(panda_file), {}, "")
    armature = yaml.safe_load(suggestions(findings))["/**"]["ros__parameters"]["armature"]
    assert list(armature) == list(findings.moved.joints)
    assert all(isinstance(value, float) for value in armature.values())
    rd.load_urdf(panda_file, armature=armature)


def test_suggested_losses_do_not_absorb_wrong_inertias():
    """A joint alone takes for armature what the URDF lacks of the links behind it; all together they do not."""
    truth = build_model(arm(0).robot, armature={f"j{i}": 0.05 for i in range(3)})
    light = [replace(x, inertial=x.inertial and scaled(x.inertial, 0.2)) for x in truth.robot.links]
    suspect = build_model(replace(truth.robot, links=tuple(light)))
    moved = excited(truth, 0)
    losses = fit_losses(moved, moved.effort - predicted_effort(suspect, moved))
    fit = fit_inertias(suspect, moved)
    names = {joint: joint for joint in moved.joints}
    findings = Findings(suspect, names, moved, predicted_effort(suspect, moved), losses, fit, "")
    assert (losses.value[:, 2] > 5.0 * 0.05).all()
    np.testing.assert_allclose(fit.losses[1:, 2], 0.05, rtol=1e-3)
    assert fit.losses[0, 2] < 0.5 * losses.value[0, 2], "of the first joint only the sum with its link shows"
    assert f"j0: {fit.losses[0, 2]:.5f}" in suggestions(findings)
    alone = suggestions(replace(findings, inertias=None, refusal="a reason"))
    assert f"j0: {losses.value[0, 2]:.5f}" in alone
    assert "of each joint alone" in alone


def scaled(part: Inertial, share: float) -> Inertial:
    return Inertial(share * part.mass, part.com, share * part.inertia)


def test_joints_keep_their_whole_names_in_a_pipe(capsys, monkeypatch):
    pytest.importorskip("rich", reason="needs rich (extra `cli`)")
    monkeypatch.setenv("COLUMNS", "80")
    long = "left_front_leg_upper_hip_joint_number_"
    joints = tuple(replace(joint, name=long + joint.name) for joint in arm(0).robot.joints)
    model = build_model(replace(arm(0).robot, joints=joints))
    moved = excited(model, 0)
    names = {joint: joint for joint in moved.joints}
    losses = fit_losses(moved, 0.1 * moved.qd)
    show(Findings(model, names, moved, moved.effort, losses, fit_inertias(model, moved), ""))
    lines = capsys.readouterr().out.partition("\n\n#")[0].splitlines()
    assert max(map(len, lines)) <= 80
    first = "".join(line.split(" ")[0] for line in lines[lines.index("Joint efforts, root mean square") :])
    for joint in moved.joints:
        assert first.count(joint) == 3


@pytest.mark.slow
def test_page_is_complete_and_fetches_nothing(panda_file):
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra `report`)")
    findings = find(PANDA_LOG, str(panda_file), {}, "")
    html = page(findings, PANDA_LOG)
    assert html.count("<img ") == 7
    assert "http" not in html.replace("data:image", "")
    assert "fer_joint1 -&gt; panda_joint1" in html
    assert "Savitzky-Golay, 0.1 s" in html
    assert "panda_joint2: m cy and 6 more" in html
    refused = page(replace(findings, inertias=None, refusal="a reason"), PANDA_LOG)
    assert "inertias not fitted: a reason" in refused


@pytest.mark.slow
def test_command(panda_file, capsys, tmp_path):
    pytest.importorskip("rich", reason="needs rich (extra `cli`)")
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra `report`)")
    output = tmp_path / "new" / "report.html"
    assert main(["identify", str(PANDA_LOG), str(panda_file), "--output", str(output)]) == 0
    out = capsys.readouterr().out
    assert "727 samples in 24.2 s (30 Hz)" in out
    assert "panda_joint7" in out
    assert output.read_text().startswith("<!DOCTYPE html>")


def test_command_says_what_is_wrong(panda_file, capsys, tmp_path, monkeypatch):
    assert main(["identify", str(tmp_path / "no.npz"), str(panda_file)]) == 2
    assert "there is no log" in capsys.readouterr().err
    assert main(["identify", str(PANDA_LOG), str(panda_file), "--map", "fer_joint1"]) == 2
    assert "--map takes NAME=JOINT, got 'fer_joint1'" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "rosbags", None)
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    assert main(["identify", str(tmp_path), str(panda_file)]) == 2
    assert "pip install 'robot_dynamics[bag]'" in capsys.readouterr().err
