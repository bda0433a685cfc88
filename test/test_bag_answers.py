# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward and monitor over a bag: the plant's own run leaves no model error, and a hidden payload shows."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="needs rosbags (extra `bag`)")
pytest.importorskip("rich", reason="needs rich (extra `cli`)")

from robot_dynamics.bags.answers import feed, watch
from robot_dynamics.cli import main
from robot_dynamics.cli.bag_robot import robot_of
from robot_dynamics.core.bag import Bag, BagWriter


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A robot that stands up, without noise."""
    folder = tmp_path_factory.mktemp("answers") / "run"
    assert main(["make-bag", str(folder), "--duration", "1.5", "--gait", "stand"]) == 0
    return folder


def test_a_run_of_the_plant_is_explained(bag):
    with Bag(bag) as found:
        watched = watch(robot_of(found, ""), found, "")
    assert watched.states == 1501
    assert watched.rms.max() < 0.02  # [N m], of efforts of several
    assert watched.account is not None
    assert abs(watched.account.momentum_error) < 1e-6


def test_the_feed_forward_carries_a_robot_that_stands(bag):
    with Bag(bag) as found:
        model = robot_of(found, "")
        fed = feed(model, "stance", found, "")
    assert fed.measured.shape == (1501, 12)
    np.testing.assert_allclose(fed.parts[:4].sum(axis=0), fed.parts[4], atol=1e-9)
    weight = np.abs(fed.measured[-1]).max()
    assert np.abs(fed.measured[-1] - fed.parts[-1, -1]).max() < 0.25 * weight


def test_a_robot_that_is_lighter_in_the_urdf_leaves_an_error(bag, tmp_path):
    urdf = (Path(__file__).parent.parent / "urdf" / "mini_cheetah.urdf").read_text()
    lighter = tmp_path / "lighter.urdf"
    lighter.write_text(urdf.replace('<mass value="3.3"', '<mass value="1.3"'))
    with Bag(bag) as found:
        error = watch(robot_of(found, str(lighter)), found, "").account
    assert error is not None
    assert error.momentum_error > 10.0  # 2 kg of weight over a second


@pytest.mark.parametrize("command", ["feedforward", "monitor"])
def test_pages_and_sentences(bag, tmp_path, capsys, command):
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra `report`)")
    page = tmp_path / "page.html"
    assert main([command, str(bag), "--output", str(page)]) == 0
    assert "1501 joint states" in capsys.readouterr().out
    assert "data:image/png" in page.read_text()
    with BagWriter(tmp_path / "foreign") as writer:
        writer.add("/chatter", "std_msgs/msg/String")
        writer.put("/chatter", 1, writer.store.types["std_msgs/msg/String"]("hello"))
    for arguments, sentence in {
        (str(tmp_path / "foreign"),): "does not say which robot",
        (str(tmp_path / "nothing"),): "there is no bag",
        (str(bag), "--topic", "/odom"): "on '/odom'",
        (str(bag), "--urdf", "nowhere.urdf"): "there is no file",
    }.items():
        assert main([command, *arguments]) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
