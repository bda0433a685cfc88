# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward and monitor over a bag: the plant's own run leaves no model error, a hidden payload shows, and what
nodes answered beside the recorder is answered again to the last bit."""

from collections.abc import Callable
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="needs rosbags (extra `bag`)")
pytest.importorskip("rich", reason="needs rich (extra `cli`)")

from robot_dynamics.bags.accounts import ENERGIES, Watcher, watch
from robot_dynamics.bags.answers import Answerer, agreement, feed
from robot_dynamics.bags.heard import Base, Seen, Total, Touch, Wanted, find_topics, heard
from robot_dynamics.bags.messages import Messages
from robot_dynamics.bags.setups import read_setup
from robot_dynamics.cli import main
from robot_dynamics.cli.bag_robot import robot_of
from robot_dynamics.control.inputs import INPUTS, ROWS, write_inputs
from robot_dynamics.control.record import SETUP, setup_text
from robot_dynamics.core.bag import Bag, BagWriter
from robot_dynamics.ros.parameters import FeedforwardParameters, MonitorParameters, PlantParameters

JOINT_STATE, DIAGNOSTICS = "sensor_msgs/msg/JointState", "diagnostic_msgs/msg/DiagnosticArray"


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A robot that stands up, without noise."""
    folder = tmp_path_factory.mktemp("answers") / "run"
    assert main(["make-bag", str(folder), "--duration", "1.5", "--gait", "stand"]) == 0
    return folder


def watched(path: Path, urdf: str = "") -> Any:
    """What the monitor finds in a bag."""
    with Bag(path) as found:
        return watch(robot_of(found, urdf), MonitorParameters(), found, find_topics(found, ""), "")


def test_a_run_of_the_plant_is_explained(bag):
    found = watched(bag)
    assert found.states == 1501
    assert found.rms.max() < 0.02  # [N m], of efforts of several
    assert found.account is not None
    assert abs(found.account.momentum_error) < 1e-6
    assert not found.live


def test_the_feed_forward_carries_a_robot_that_stands(bag):
    with Bag(bag) as found:
        fed = feed(robot_of(found, ""), FeedforwardParameters(), found, find_topics(found, ""))
    assert fed.measured.shape == (1501, 12)
    np.testing.assert_allclose(fed.parts[:4].sum(axis=0), fed.parts[4], atol=1e-9)
    weight = np.abs(fed.measured[-1]).max()
    assert np.abs(fed.measured[-1] - fed.parts[-1, -1]).max() < 0.25 * weight
    assert not fed.live


def test_a_robot_that_is_lighter_in_the_urdf_leaves_an_error(bag, tmp_path):
    urdf = (Path(__file__).parent.parent / "urdf" / "mini_cheetah.urdf").read_text()
    lighter = tmp_path / "lighter.urdf"
    lighter.write_text(urdf.replace('<mass value="3.3"', '<mass value="1.3"'))
    error = watched(bag, str(lighter)).account
    assert error is not None
    assert error.momentum_error > 10.0  # 2 kg of weight over a second


class Beside:
    """Nodes that hear a recorded trot, each topic with delays of its own, and what they tell, put into a copy of it."""

    def __init__(self, path: Path):
        self.rng, self.bag = np.random.default_rng(27), Bag(path)
        with self.bag as bag:
            told = read_setup(bag, "/plant", PlantParameters())
            self.urdf, self.armature, self.model = told.urdf, told.parameters.armature, told.model()
            topics = replace(find_topics(bag, ""), reference="/joint_commands")
            self.events = [x for x in heard(bag, topics, lambda _: None) if isinstance(x, Seen | Base | Touch | Wanted)]
            self.raw = [(*x, bag.topics[x[0]]) for x in bag.raw()]
        self.made: list[tuple[str, float, Callable[[Messages], Any]]] = []

    def feedforward(self, stalls: float = np.inf) -> None:
        """A feed-forward that hears what comes up to 3 ms late; single states and a burst of commands never come.

        It `stalls` at a time [s]: then no state comes for 20 ms, and no command in the midst of them.
        """
        v = FeedforwardParameters(reference_topic="joint_commands", armature=self.armature, contact_threshold=7.0)
        self.tell_setup("/feedforward", v)
        node = Answerer(self.model, v)
        node.feeder.enable(True)
        last: dict[type, float] = {}
        arrivals = []
        for x in self.events:
            last[type(x)] = arrival = max(last.get(type(x), 0.0), x.stamp + self.rng.uniform(0.0, 3e-3))
            arrivals.append((arrival, len(arrivals), x))
        for arrival, _, x in sorted(arrivals, key=lambda a: a[:2]):
            if 1.4 < arrival < 1.43 if isinstance(x, Wanted) else self.rng.uniform() < 0.02:
                continue
            if 0.0 < arrival - stalls < 0.02 and (isinstance(x, Seen) or 0.006 < arrival - stalls < 0.014):
                continue
            if not isinstance(x, Seen):
                node.use(x)
                continue
            assert node.answer(x)
            position, velocity = np.zeros((2, len(ROWS)))
            write_inputs(node.feeder, node.references, position, velocity)
            _, _, parts, efforts = node.rows[-1]
            self.joints(f"/feedforward/{INPUTS}", x.stamp, arrival, ROWS, position, velocity)
            self.joints("/feedforward/torque/total", x.stamp, arrival, self.model.joint_names, effort=parts[-1])
            self.joints("/feedforward/efforts", x.stamp, arrival, self.model.joint_names, effort=efforts)

    def monitor(self, late: int = 60) -> None:
        """A monitor that was there some states later than the recorder, and did not hear so many bases more."""
        v = MonitorParameters(armature=self.armature)
        self.tell_setup("/monitor", v)
        node = Watcher(self.model, v, 1000, {}, {})
        begin = next(k for k, x in enumerate(self.events) if k > 100 and isinstance(x, Base))
        for k, x in enumerate(self.events[begin:]):
            if isinstance(x, Base):
                late -= 1
                if late < 0:
                    node.bases.put(x)
            elif isinstance(x, Touch):
                node.touches.put(x)
            elif isinstance(x, Seen):
                before = len(node.rows)
                node.see(x)
                for stamp, residual in node.rows[before:]:
                    self.joints("/monitor/residual", stamp, stamp, self.model.joint_names, effort=residual)
                if not k % 31:
                    self.account(x.stamp, astuple(node.ledger.account()))

    def account(self, stamp: float, numbers: tuple[float, ...]) -> None:
        """Tell an account."""

        def make(m: Messages) -> Any:
            pairs = [m.make("diagnostic_msgs/KeyValue", "", repr(float(x))) for x in numbers]
            status = m.make("diagnostic_msgs/DiagnosticStatus", 0, "", "", "", pairs)
            return m.make("diagnostic_msgs/DiagnosticArray", m.header(round(1e9 * stamp)), [status])

        self.made.append((f"/monitor/{ENERGIES}", stamp, make))

    def tell_setup(self, node: str, v: Any) -> None:
        """Tell parameters."""
        self.made.append((f"{node}/{SETUP}", 1.0, lambda m: m.text(setup_text(self.urdf, asdict(v)))))

    def joints(self, topic: str, stamp: float, arrival: float, names: Any, *columns: Any, **more: Any) -> None:
        """Tell a JointState of this stamp."""
        self.made.append((topic, arrival, lambda m: m.joints(round(1e9 * stamp), names, *columns, **more)))

    def write(self, folder: Path, keep: Callable[[str, int], bool] = lambda topic, k: True) -> Path:
        """Write the bag; `keep` tells which messages of a topic the recorder got."""
        numbers: dict[str, int] = {}
        with BagWriter(folder) as writer:
            messages, kinds = Messages(writer.store.types), {topic: kind for topic, _, _, kind in self.raw}
            for topic, _, _ in self.made:
                text, diagnostic = topic.endswith(SETUP), topic.endswith(ENERGIES)
                kinds[topic] = "std_msgs/msg/String" if text else DIAGNOSTICS if diagnostic else JOINT_STATE
            for topic, kind in kinds.items():
                writer.add(topic, kind)
            rows = [(time, topic, lambda data=data: data) for topic, time, data, _ in self.raw]
            for topic, arrival, make in self.made:
                msg = make(messages)
                rows.append(
                    (round(1e9 * arrival) + 1, topic, lambda m=msg: writer.store.serialize_cdr(m, m.__msgtype__))
                )
            for time, topic, data in sorted(rows, key=lambda row: row[0]):
                numbers[topic] = numbers.get(topic, -1) + 1
                if keep(topic, numbers[topic]):
                    writer.write(topic, time, bytes(data()))
        return folder


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Beside:
    """A trot with both nodes."""
    folder = tmp_path_factory.mktemp("beside") / "run"
    assert main(["make-bag", str(folder), "--duration", "1.5", "--gait", "trot"]) == 0
    made = Beside(folder)
    made.feedforward()
    made.monitor()
    return made


def test_answers_beside_the_recorder_are_given_again_bit_by_bit(beside, tmp_path, capsys):
    run = str(beside.write(tmp_path / "run"))
    assert main(["feedforward", run]) == 0
    said = capsys.readouterr().out
    answers = sum(topic == "/feedforward/efforts" for topic, _, _ in beside.made)
    assert f"total as live: {answers} of {answers} (100 %) are the same bit by bit" in said
    assert f"efforts as live: {answers} of {answers} (100 %) are the same bit by bit" in said
    assert main(["monitor", run]) == 0
    said = capsys.readouterr().out
    assert "(100 %) are the same bit by bit" in said.split("model error as live: ")[1].splitlines()[0]
    assert "(100 %) are the same bit by bit" in said.split("energy as live: ")[1].splitlines()[0]
    with Bag(run) as found:
        energies = f"/monitor/{ENERGIES}"
        topics = find_topics(found, "", "/monitor")
        live = watch(beside.model, MonitorParameters(armature=beside.armature), found, topics, energies).live
    errors = sum(topic == "/monitor/residual" for topic, _, _ in beside.made)
    assert 4 <= live["model error"].unknown <= 6  # in the time in which the monitor did not know of the base
    assert live["model error"].compared + live["model error"].unknown == errors
    assert live["work"].compared > 10
    assert live["work"].largest < 1e-9


def test_without_what_the_node_tells_the_order_of_messages_is_a_guess(beside, tmp_path):
    with Bag(beside.write(tmp_path / "run", lambda topic, k: not topic.endswith(INPUTS))) as found:
        v = FeedforwardParameters(contact_threshold=7.0)
        topics = replace(find_topics(found, "", "/feedforward", "/joint_commands"), inputs="")
        fed = feed(beside.model, v, found, topics)
        told = {x.stamp: x.effort for x in heard(found, topics, lambda _: None) if isinstance(x, Total)}
    apart = [np.abs(told[t] - x).max() for t, x in zip(fed.stamp, fed.parts[-1], strict=True) if t in told]
    assert len(fed.stamp) == 1501
    assert not fed.live
    assert max(apart) > 0.05  # [N m]


def test_what_the_recorder_lost_is_counted_and_left_out(beside, tmp_path):
    def keep(topic: str, k: int) -> bool:
        return not (topic in ("/odom", "/contacts", "/joint_commands") and 300 <= k < 310) and not (
            topic == "/joint_states" and 800 <= k < 803
        )

    with Bag(beside.write(tmp_path / "run", keep)) as found:
        v = read_setup(found, "/feedforward", FeedforwardParameters()).parameters
        fed = feed(beside.model, v, found, find_topics(found, "", "/feedforward", "/joint_commands"))
    total = fed.live["total"]
    assert 100 < total.unknown < 400  # until the low-pass of the reference has forgotten
    assert total.same == total.compared > 1000


@pytest.mark.parametrize("lost", [range(500, 580), range(300)], ids=["160 ms of them", "those before it listened"])
def test_answers_do_not_count_while_commands_that_the_recorder_lost_are_in_the_low_pass(beside, tmp_path, lost):
    with Bag(beside.write(tmp_path / "run", lambda topic, k: topic != "/joint_commands" or k not in lost)) as found:
        v = read_setup(found, "/feedforward", FeedforwardParameters()).parameters
        total = feed(beside.model, v, found, find_topics(found, "", "/feedforward", "/joint_commands")).live["total"]
    assert total.unknown > 400
    assert total.same == total.compared > 400


def test_what_the_node_lost_between_two_answers_is_counted_and_left_out(beside, tmp_path):
    """Of ten commands it lost four in the midst, and tells the stamp of the last and that it had six."""
    stalled = Beside(beside.bag.path)
    stalled.feedforward(stalls=1.2)
    with Bag(stalled.write(tmp_path / "run")) as found:
        v = read_setup(found, "/feedforward", FeedforwardParameters()).parameters
        total = feed(beside.model, v, found, find_topics(found, "", "/feedforward", "/joint_commands")).live["total"]
    assert total.unknown > 100
    assert total.same == total.compared > 1000


def test_how_numbers_compare_is_said():
    a = np.zeros(2)
    pairs = [(a, a), (a, a + 1e-9), (a, a + 1.0)]
    assert str(agreement(pairs)) == (
        "1 of 3 (33.33 %) are the same bit by bit, 1 of the other 2 within 1e-06, 1 at most"
    )
    assert "of 4 more, bag and node did not have the same" in str(agreement(pairs, 4))
    assert str(agreement([], 4)) == "none of 4 could be compared: bag and node did not have the same"


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
