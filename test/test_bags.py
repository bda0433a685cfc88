# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bags: made twice alike, read by others, put through the plant again to the last bit, damaged in twenty ways."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depth import every

pytest.importorskip("rosbags", reason="needs rosbags (extra `bag`)")
pytest.importorskip("rich", reason="needs rich (extra `cli`)")

from robot_dynamics import load_urdf
from robot_dynamics.bags.make import TOPICS
from robot_dynamics.bags.messages import Messages
from robot_dynamics.bags.replay import Memory, Replay, Tick, read_run
from robot_dynamics.cli import main, refuse
from robot_dynamics.core.bag import MAGIC, Bag, BagError, BagWriter, salvage
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.identification.commanded_log import read_commanded_log
from robot_dynamics.identification.joint_log import joint_map, motion, read_log
from robot_dynamics.simulation.snapshot import SnapshotError, read_snapshot
from robot_dynamics.study.controllers import bag_stream

DURATION = 1.0
URDF = Path(__file__).parent.parent / "urdf" / "mini_cheetah.urdf"


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with everything: noise, delay, lag, pushes, a trot."""
    folder = tmp_path_factory.mktemp("bags") / "run"
    options = ["--noise", "1", "--pushes", "2", "--seed", "4", "--param", "command_delay:=2"]
    assert main(["make-bag", str(folder), "--duration", str(DURATION), *options]) == 0
    return folder


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is read soon."""
    folder = tmp_path_factory.mktemp("short") / "run"
    assert main(["make-bag", str(folder), "--duration", "0.2", "--noise", "1"]) == 0
    return folder


def copied(bag: Path, folder: Path, change: Callable[[str, int, Any], Any]) -> Path:
    """Copy a bag; `change` gives each message back, another one, or None to leave it out."""
    counts: dict[str, int] = {}
    with Bag(bag) as source, BagWriter(folder) as target:
        for topic, kind in source.topics.items():
            target.add(topic, kind)
        for topic, time, msg in source.messages():
            k = counts[topic] = counts.get(topic, -1) + 1
            if (new := change(topic, k, msg)) is not None:
                target.put(topic, time, new)
    return folder


def test_the_same_seed_gives_the_same_bytes(bag, tmp_path):
    options = ["--noise", "1", "--pushes", "2", "--seed", "4", "--param", "command_delay:=2"]
    assert main(["make-bag", str(tmp_path / "run"), "--duration", str(DURATION), *options]) == 0
    for name in ("run.mcap", "metadata.yaml"):
        assert (tmp_path / "run" / name).read_bytes() == (bag / name).read_bytes()


def test_every_topic_is_there_and_truth_differs_from_measurements_by_the_noise(bag):
    with Bag(bag) as found:
        assert found.topics == TOPICS
        counts = found.counts()
        states, truths = ([m for *_, m in found.messages(t)] for t in ("/joint_states", "/ground_truth/joint_states"))
    ticks = round(1000 * DURATION)
    assert counts["/joint_states"] == counts["/clock"] == ticks + 1
    assert counts["/plant/drive"] == ticks
    assert counts["/plant/push"] == 2
    error = np.array([a.position - b.position for a, b in zip(states, truths, strict=True)])
    assert 4e-4 < error.std() < 6e-4


def test_a_replay_is_identical_and_says_so(bag, capsys):
    for _ in range(2):
        assert main(["replay", str(bag)]) == 0
        assert "identical" in capsys.readouterr().out


def test_an_altered_drive_is_named_with_its_tick(bag, tmp_path, capsys):
    def change(topic: str, k: int, msg: Any) -> Any:
        if topic == "/plant/drive" and k == 700:
            msg.position = msg.position + 1e-9 * (np.arange(len(msg.position)) == 4)
        return msg

    assert main(["replay", str(copied(bag, tmp_path / "run", change))]) == 1
    said = capsys.readouterr().out
    assert "altered, tick 701" in said
    assert "they part in tick 703" in said
    assert "the bag was altered" in said
    assert "FL_hip" in said


def test_an_altered_command_is_named_with_its_tick(bag, tmp_path, capsys):
    def change(topic: str, k: int, msg: Any) -> Any:
        if topic == "/joint_commands" and k == 300:
            msg.position = np.nextafter(msg.position, np.where(np.arange(12) == 0, 1.0, msg.position))
        return msg

    assert main(["replay", str(copied(bag, tmp_path / "run", change))]) == 1
    said = capsys.readouterr().out
    assert "altered, tick 601" in said
    assert "FR_abad in joint_commands of 1.600000 s" in said
    assert "they part" not in said


def test_lost_messages_are_counted_and_the_run_taken_up_at_the_next_snapshot(bag, tmp_path, capsys):
    lost = copied(bag, tmp_path / "run", lambda topic, k, m: None if topic == "/plant/drive" and 100 <= k < 110 else m)
    assert main(["replay", str(lost)]) == 0
    said = capsys.readouterr().out
    assert "10 ticks are not in the bag" in said
    assert "identical" in said


def test_another_parameter_gives_another_run_and_a_page_of_both(bag, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra `report`)")
    page = tmp_path / "page.html"
    assert main(["replay", str(bag), "--param", "friction:=0.1", "--output", str(page)]) == 0
    said = capsys.readouterr().out
    assert "they part in tick" in said
    assert "changed: friction:=0.1" in said
    assert page.read_text().count("data:image/png") == 14


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--param", "friktion:=0.1"], "there is no parameter 'friktion'"),
        (["--param", "friction=0.1"], "--param takes NAME:=VALUE"),
        (["--param", "update_rate:=500.0"], "'update_rate' belongs to the commands"),
        (["--urdf", "nowhere.urdf"], "nowhere.urdf"),
    ],
)
def test_what_cannot_be_changed_is_said(bag, capsys, options, sentence):
    assert main(["replay", str(bag), *options]) == 2
    assert sentence in capsys.readouterr().err


def test_another_robot_shows_where_the_runs_part(bag, tmp_path, capsys):
    with Bag(bag) as found:
        urdf = next(m.data for *_, m in found.messages("/robot_description"))
    heavier = tmp_path / "heavier.urdf"
    heavier.write_text(urdf.replace('<mass value="3.3"', '<mass value="5.3"'))
    assert heavier.read_text() != urdf
    assert main(["replay", str(bag), "--urdf", str(heavier)]) == 0
    assert f"changed: robot {heavier}" in capsys.readouterr().out


def test_other_readers_find_the_same_messages(bag):
    mcap = pytest.importorskip("mcap.reader", reason="needs mcap")
    decoder = pytest.importorskip("mcap_ros2.decoder", reason="needs mcap-ros2-support")
    with open(bag / "run.mcap", "rb") as file, Bag(bag) as ours:
        theirs = mcap.make_reader(file, decoder_factories=[decoder.DecoderFactory()]).iter_decoded_messages()
        stamps = [(c.topic, m.log_time) for _, c, m, _ in theirs]
        assert sorted(stamps) == sorted((topic, time) for topic, time, _ in ours.raw())


@pytest.mark.ros
def test_rclpy_reads_what_was_written(bag):
    serialization = pytest.importorskip("rclpy.serialization")
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
    from std_msgs.msg import UInt8MultiArray

    kinds = {
        "/joint_states": JointState,
        "/odom": Odometry,
        "/imu/data": Imu,
        "/contacts": MultiDOFJointState,
        "/plant/drive": JointState,
        "/plant/snapshot": UInt8MultiArray,
    }
    with Bag(bag) as found:
        for (topic, _, data), (_, _, msg) in zip(found.raw(*kinds), found.messages(*kinds), strict=True):
            theirs = serialization.deserialize_message(bytes(data), kinds[topic])
            if topic != "/plant/snapshot":
                assert theirs.header.stamp.nanosec == msg.header.stamp.nanosec
            if kinds[topic] is JointState:
                assert theirs.name == list(msg.name)
                assert np.array_equal(theirs.effort, msg.effort)


def test_a_bag_of_another_version_is_replayed_from_its_motion(bag, tmp_path, capsys):
    """Where the memory is laid out otherwise there is a deviation and its cause, no refusal."""

    def change(topic: str, k: int, msg: Any) -> Any:
        if topic == "/plant/snapshot":
            head, rest = msg.data.tobytes().split(b"\n", 1)
            told = json.loads(head)
            kind, shape = told["arrays"]["Joints.data"]
            n = int(np.prod(shape))
            at = list(told["arrays"]).index("Joints.data")
            before = sum(8 * int(np.prod(x)) for _, x in list(told["arrays"].values())[:at])
            told["arrays"]["Joints.data"] = kind, [shape[0] - 1, shape[1]]
            rest = rest[: before + 8 * (n - shape[1])] + rest[before + 8 * n :]
            msg.data = np.frombuffer(json.dumps(told).encode() + b"\n" + rest, np.uint8)
        return msg

    assert main(["replay", str(copied(bag, tmp_path / "run", change))]) == 1
    said = capsys.readouterr().out
    assert "another version of this package" in said
    assert "Largest deviation" in said


def test_bytes_behind_a_message_are_left_out(tmp_path):
    """As rclpy leaves them behind a JointState without positions."""
    with BagWriter(tmp_path / "run") as writer:
        writer.add("/efforts", "sensor_msgs/msg/JointState")
        messages = Messages(writer.store.types)
        for k, surplus in enumerate((0, 8, 8, 4, 0)):
            msg = messages.joints(k, ["knee"], effort=np.array([0.5 * k]))
            data = bytes(writer.store.serialize_cdr(msg, msg.__msgtype__))
            writer.write("/efforts", k, data + bytes(range(surplus)))
    with Bag(tmp_path / "run") as found:
        assert [float(msg.effort[0]) for _, _, msg in found.messages()] == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_identify_takes_the_bag(bag):
    log = read_log(bag)
    assert len(log.stamp) == round(1000 * DURATION) + 1
    assert len(log.names) == 12


def test_a_file_without_its_end_is_read_up_to_its_last_chunk(bag, tmp_path, capsys):
    whole = (bag / "run.mcap").read_bytes()
    killed = tmp_path / "run"
    killed.mkdir()
    (killed / "run.mcap").write_bytes(whole[: len(whole) * 3 // 4])  # and no metadata.yaml
    with Bag(killed) as found:
        assert "no proper end" in found.salvaged
        stamps = [time for _, time, _ in found.raw("/joint_states")]
    assert len(stamps) > 200
    assert main(["replay", str(killed)]) == 0
    assert "identical" in capsys.readouterr().out


def mutations() -> list[Any]:
    """Twenty ways to damage the file of a bag."""
    rng = np.random.default_rng(27)

    def cut(share: float) -> Callable[[bytes], bytes]:
        return lambda data: data[: int(share * len(data))]

    def flipped(share: float) -> Callable[[bytes], bytes]:
        def flip(data: bytes) -> bytes:
            new = bytearray(data)
            for at in (int(share * len(data)) + rng.integers(0, 200, 40)).tolist():
                new[at % len(new)] ^= 0x5A
            return bytes(new)

        return flip

    def zeroed(share: float) -> Callable[[bytes], bytes]:
        def zero(data: bytes) -> bytes:
            at = int(share * len(data))
            return data[:at] + bytes(5000) + data[at + 5000 :]

        return zero

    found = {f"cut at {share:g}": cut(share) for share in (0.0, 1e-6, 2e-5, 1e-4, 0.01)}
    found |= {f"flipped at {share:g}": flipped(share) for share in (0.0, 1e-4, 0.02, 0.3, 0.6, 0.9)}
    found |= {f"zeroed at {share:g}": zeroed(share) for share in (0.0, 0.05, 0.5, 0.95)}
    found["text"] = lambda data: b"joint,position\nFR_hip,0.1\n"
    found["magic alone"] = lambda data: MAGIC
    found["magic twice"] = lambda data: MAGIC + MAGIC
    found["huge length"] = lambda data: MAGIC + b"\x06" + (2**62).to_bytes(8, "little") + data[17:]
    found["sqlite"] = lambda data: b"SQLite format 3\0" + data[16:]
    assert len(found) == 20
    return [pytest.param(change, id=name) for name, change in found.items()]


def study_commands(path: Path) -> None:
    """What a study reads of a bag."""
    model = load_urdf(URDF, floating_base=True)
    bag_stream(path, model, 0.002, 100, np.zeros(12), 40.0, 1.0)


def takers(folder: Path) -> list[Callable[[Path], int]]:
    """Whatever takes a bag, as the exit code that it ends with; pages go into the folder."""
    urdf, page = ["--urdf", str(URDF)], ["--output", str(folder / "page.html")]

    def read(reader: Callable[[Path], object]) -> Callable[[Path], int]:
        def code(path: Path) -> int:
            try:
                reader(path)
            except RobotDynamicsError as problem:
                return refuse(str(problem))
            return 0

        return code

    def find_losses(path: Path) -> None:
        log = read_log(path)
        motion(log, load_urdf(URDF), joint_map(log.names, load_urdf(URDF), {}))

    return [
        lambda path: main(["replay", str(path)]),
        lambda path: main(["feedforward", str(path), *urdf]),
        lambda path: main(["monitor", str(path), *urdf]),
        lambda path: main(["estimate", str(path), *urdf, *page]),
        read(find_losses),  # identify
        read(lambda path: read_commanded_log(path)),  # identify --simulate
        read(study_commands),
    ]


@pytest.mark.parametrize("change", every(2, mutations()))
def test_a_damaged_bag_gives_one_sentence_or_what_is_left(short, tmp_path, capsys, change):
    folder = tmp_path / "run"
    shutil.copytree(short, folder)
    (folder / "run.mcap").write_bytes(change((folder / "run.mcap").read_bytes()))
    for path in (folder, folder / "run.mcap"):
        for taken in takers(tmp_path):
            code, said = taken(path), capsys.readouterr()
            assert code == 0 or (code == 2 and said.err.count("\n") == 1), said.err


def test_foreign_and_empty_bags_give_one_sentence(tmp_path, capsys):
    kind = "std_msgs/msg/String"
    with BagWriter(tmp_path / "empty"):
        pass
    with BagWriter(tmp_path / "foreign") as writer:
        writer.add("/chatter", kind)
        writer.put("/chatter", 1, writer.store.types[kind]("hello"))
    with BagWriter(tmp_path / "of other types") as writer:
        for topic in TOPICS:
            writer.add(topic, kind)
            writer.put(topic, 1, writer.store.types[kind]("hello"))
    (tmp_path / "folder").mkdir()
    for name, sentence in {
        "empty": "no plant that can be redone",
        "foreign": "got /chatter",
        "of other types": "",
        "folder": "cannot read the bag",
        "nothing": "there is no bag",
    }.items():
        for number, taken in enumerate(takers(tmp_path)):
            assert taken(tmp_path / name) == 2
            said = capsys.readouterr().err
            assert sentence in said or number > 0
            assert said.count("\n") == 1


def test_a_setup_that_is_none_and_a_snapshot_that_is_none_are_refused(bag, tmp_path):
    def other_setup(topic: str, k: int, msg: Any) -> Any:
        if topic == "/plant/setup":
            msg.data = json.dumps({"parameters": {"friktion": 1}})
        return msg

    def other_snapshot(topic: str, k: int, msg: Any) -> Any:
        if topic == "/plant/snapshot":
            msg.data = np.zeros_like(msg.data)
        return msg

    for name, change, sentence in (("a", other_setup, "no setup of a node"), ("b", other_snapshot, "no snapshot")):
        with Bag(copied(bag, tmp_path / name, change)) as found, pytest.raises(BagError, match=sentence):
            read_run(found)
    with pytest.raises(SnapshotError):
        read_snapshot(b"")


def test_a_bag_is_never_written_over(bag, capsys):
    assert main(["make-bag", str(bag)]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--duration", "0"], "--duration"),
        (["--noise", "-1"], "must be 0 or more"),
        (["--urdf", "nowhere.urdf"], "there is no file"),
        (["--world", "nowhere.yaml"], "nowhere.yaml"),
        (["--param", "timestep:=7.0"], "timestep"),
    ],
)
def test_bags_that_cannot_be_made(tmp_path, capsys, options, sentence):
    assert main(["make-bag", str(tmp_path / "run"), *options]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_salvage_keeps_whole_records_only(bag, tmp_path):
    data = (bag / "run.mcap").read_bytes()
    for size in (len(MAGIC), 30, 1000, len(data) // 2, len(data)):
        (tmp_path / "cut.mcap").write_bytes(data[:size])
        assert salvage(tmp_path / "cut.mcap", tmp_path / "copy.mcap") == (size > 1000)


def test_a_snapshot_in_the_middle_is_that_of_the_replay(bag):
    """The whole state, not the joints alone, is the same where the plant told it."""
    with Bag(bag) as found:
        run = read_run(found)
    replay = Replay(run)
    for event in run.events:
        if isinstance(event, Tick):
            replay.redo(event)
            continue
        if isinstance(event, Memory) and event.notes["tick"]:
            assert np.array_equal(replay.exact.plant.q, event.arrays["State.q"])
            assert np.array_equal(replay.exact.plant.qd, event.arrays["State.qd"])
        replay.see(event)
