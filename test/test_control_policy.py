# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a policy observes and answers, against the declaration of its YAML file; each mistake in it is one sentence."""

import mini_cheetah
import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control.policy import TERMS, PlantPolicy, Policy, Sensed, load_policy, projected_gravity, read_spec
from robot_dynamics.errors import ParameterError, UnknownNameError
from robot_dynamics.share import share_folder

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")

SENSED = Sensed(*(10.0 * i + np.arange(1.0, 4.0) for i in range(3)), np.array([0.5, 0.7]), np.array([40.0, 50.0]))
COMMAND = np.array([0.1, 0.2, 0.3])
GOOD = {
    "policy": "net.npz",
    "joints": ["b", "a"],
    "default_positions": [0.4, 0.6],
    "action_scale": [0.5, 2.0],
    "kp": 20.0,
    "kd": [0.5, 0.6],
    "period": 0.5,
    "observation": [{"term": "base_linear_velocity", "scale": 2.0}, *TERMS[1:]],
}
SIZE = 3 + 3 + 3 + 2 + 2 + 3 + 2 + 2


def written(folder, **changes):
    given = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    (folder / "policy.yaml").write_text(yaml.safe_dump(given))
    return folder / "policy.yaml"


def with_network(folder, size=SIZE, **changes):
    rng = np.random.default_rng(5)
    layers = {
        "W0": rng.normal(size=(size, 8)),
        "b0": rng.normal(size=8),
        "W1": rng.normal(size=(8, 2)),
        "b1": np.ones(2),
    }
    np.savez(folder / "net.npz", **layers)
    return written(folder, **changes), layers


def test_terms_stand_in_the_order_of_the_file_with_their_scales(tmp_path):
    policy = Policy(read_spec(written(tmp_path)), lambda x: np.zeros(2))
    x = policy.observation.build(SENSED, COMMAND, np.array([7.0, 8.0]), 0.125)
    expected = [2, 4, 6, 11, 12, 13, 21, 22, 23, 0.1, 0.1, 40, 50, 0.1, 0.2, 0.3, 7, 8, 1, 0]
    np.testing.assert_allclose(x, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("order", "by", "expected"),
    [
        ("oldest_first", "observation", [1, 1, 1, 0, 0, 2, 2, 2, 5, 5]),
        ("newest_first", "observation", [2, 2, 2, 5, 5, 1, 1, 1, 0, 0]),
        ("oldest_first", "term", [1, 1, 1, 2, 2, 2, 0, 0, 5, 5]),
        ("newest_first", "term", [2, 2, 2, 1, 1, 1, 5, 5, 0, 0]),
    ],
)
def test_history_is_stacked_as_declared_and_begins_with_the_first(tmp_path, order, by, expected):
    spec = read_spec(
        written(tmp_path, history=2, history_order=order, history_by=by, observation=["command", "last_action"])
    )
    policy = Policy(spec, lambda x: np.full(2, 5.0))
    first = policy.observation.build(SENSED, np.ones(3), policy.action, 0.0)
    assert sorted(first) == [0.0] * 4 + [1.0] * 6
    policy.reset()
    policy.answer(SENSED, np.ones(3), 0.0)
    np.testing.assert_array_equal(policy.observation.build(SENSED, 2.0 * np.ones(3), policy.action, 0.02), expected)


def test_targets_are_default_plus_scaled_action(tmp_path):
    path, w = with_network(tmp_path)
    policy = load_policy(path)
    target = policy.answer(SENSED, COMMAND, 0.3)
    x = Policy(read_spec(path), policy.network).observation.build(SENSED, COMMAND, np.zeros(2), 0.3)
    action = np.tanh(x @ w["W0"] + w["b0"]) @ w["W1"] + w["b1"]
    np.testing.assert_allclose(target, [0.4, 0.6] + np.array([0.5, 2.0]) * action)
    np.testing.assert_allclose(policy.action, action)


def test_an_onnx_network_answers_as_its_layers_do(tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    policy = load_policy(share_folder() / "examples" / "policy" / "walk.yaml")
    rng = np.random.default_rng(2)
    for _ in range(5):
        x = rng.normal(size=policy.spec.size)
        layers = load_policy(numpy_twin(policy.spec, tmp_path))
        np.testing.assert_allclose(policy.network(x), layers.network(x), atol=1e-4)


def numpy_twin(spec, folder):
    declaration = spec.policy.with_name("walk.yaml").read_text().replace("walk.onnx", "walk.npz")
    (folder / "walk.npz").write_bytes(spec.policy.with_name("walk.npz").read_bytes())
    (folder / "walk.yaml").write_text(declaration)
    return folder / "walk.yaml"


def test_projected_gravity_is_down_in_the_axes_of_each_base():
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    turns = rotation.random(20, random_state=4)
    np.testing.assert_allclose(projected_gravity(turns.as_quat()), turns.inv().apply([0.0, 0.0, -1.0]), atol=1e-12)
    np.testing.assert_array_equal(projected_gravity(np.array([0.0, 0.0, 0.0, 1.0])), [0.0, 0.0, -1.0])


def test_on_a_plant_joints_go_by_their_names_and_those_it_does_not_know_are_limp(tmp_path):
    plant = rd.Plant(rd.load_urdf(mini_cheetah.URDF, floating_base=True))
    q = rd.neutral(plant.model)
    q[7:] = 0.1 * np.arange(12)
    plant.reset(q, np.arange(18.0))
    names = plant.model.joint_names
    spec = read_spec(written(tmp_path, joints=[names[7], names[2]], observation=list(TERMS[:5])))
    seen = []
    policy = PlantPolicy(Policy(spec, lambda x: seen.append(x) or np.ones(2)), plant.model)
    q_des, qd_des, kp, kd = policy.command(plant, COMMAND, 0.0)
    np.testing.assert_allclose(seen[0], [3, 4, 5, 0, 1, 2, 0, 0, -1, 0.7 - 0.4, 0.2 - 0.6, 13, 8], atol=1e-12)
    assert dict(zip(np.flatnonzero(kp), q_des[kp > 0], strict=True)) == {2: 0.6 + 2.0, 7: 0.4 + 0.5}
    assert (kd[[7, 2]] == [0.5, 0.6]).all()
    assert not qd_des.any()
    with pytest.raises(UnknownNameError, match="there is no joint 'b'"):
        PlantPolicy(Policy(read_spec(written(tmp_path)), lambda x: x), plant.model)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kp": None}, "the key 'kp' is missing"),
        ({"joints": None}, "the key 'joints' is missing"),
        ({"gain": 3}, "no key 'gain'; valid keys: policy, joints"),
        ({"kd": [1, 2, 3]}, "kd' must have 1 or 2 values, got 3"),
        ({"kp": "stiff"}, "kp must be a number or 2 of them, got 'stiff'"),
        ({"observation": ["height_scan"]}, "terms: base_linear_velocity, .* got 'height_scan'"),
        ({"observation": [{"term": "command", "factor": 2}]}, "an observation is a term, or"),
        ({"history": 0}, "'history' must be a number above 0, got 0"),
        ({"history_order": "last"}, "'history_order' must be one of oldest_first, newest_first"),
        ({"period": None}, "'clock' needs a 'period'"),
        ({"policy": "net.h5"}, "must end in one of .onnx, .pt, .npz"),
        ({"policy": "other.npz"}, "there is no file"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path, changes, said):
    with pytest.raises(ParameterError, match=said):
        load_policy(with_network(tmp_path, **changes)[0])


def test_a_network_of_another_size_and_one_that_breaks_are_said(tmp_path):
    with pytest.raises(ParameterError, match=f"does not take the {SIZE} numbers"):
        load_policy(with_network(tmp_path, size=SIZE + 1)[0])
    policy = Policy(read_spec(written(tmp_path)), lambda x: np.array([np.nan, 0.0]))
    with pytest.raises(ParameterError, match="2 finite actions"):
        policy.answer(SENSED, COMMAND, 0.0)
    with pytest.raises(ParameterError, match="there is no policy file"):
        load_policy(tmp_path / "none.yaml")
