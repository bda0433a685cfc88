# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The recorder beside a plant over DDS: the bag is redone to the last bit, also where the recorder was killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")
pytest.importorskip("rosbags", reason="needs rosbags (extra `bag`)")
pytest.importorskip("rich", reason="needs rich (extra `cli`)")

from depth import every
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_nodes import PATIENCE, Process, peer, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.bags.accounts import watch
from robot_dynamics.bags.answers import feed
from robot_dynamics.bags.heard import find_topics
from robot_dynamics.bags.replay import Replay, read_run
from robot_dynamics.bags.setups import read_setup
from robot_dynamics.core.bag import Bag, BagWriter
from robot_dynamics.ros.parameters import FeedforwardParameters, MonitorParameters
from robot_dynamics.ros.recorder import Recorder

pytestmark = pytest.mark.ros
ACCOUNTS = "/monitor/energy_stamped"
ROOT = Path(__file__).resolve().parents[1]


def recorder(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start `robot_dynamics record`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "robot_dynamics", "record", str(folder), *arguments]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


def grown(folder: Path, size: int) -> None:
    """Wait until the file of a bag has so many bytes."""
    file, end = folder / f"{folder.name}.mcap", time.monotonic() + PATIENCE
    while not file.exists() or file.stat().st_size < size:
        assert time.monotonic() < end, "the recorder writes nothing"
        time.sleep(0.05)


@pytest.mark.parametrize("number", every(2, [signal.SIGKILL, signal.SIGINT]), ids=lambda n: n.name)
def test_what_was_recorded_is_redone(tmp_path, number):
    folder = tmp_path / "run"
    process = recorder(folder)
    plant = Process("plant")
    try:
        grown(folder, 1_000_000)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        plant.end()
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 0, err
        assert "messages, 0 lost" in out
        assert (folder / "metadata.yaml").exists()
    with Bag(folder) as bag:
        assert bool(bag.salvaged) == (number == signal.SIGKILL)
        assert {"/joint_states", "/odom", "/plant/drive", "/plant/setup", "/robot_description"} <= set(bag.topics)
        comparison = Replay(read_run(bag)).go()
    assert comparison.identical
    assert comparison.ticks > 200


def test_what_nodes_answered_is_answered_again(tmp_path):
    """The same numbers as live, before limits and after, whatever came in what order."""
    folder, simulated = tmp_path / "run", ("-p", "use_sim_time:=true")
    process = recorder(folder)
    paced = ("update_rate:=500.0", "timestep:=0.002", "real_time_factor:=0.5", "efforts_alone:=false")
    fed = ("dry_run:=false", "ramp_time:=0.3", "reference_topic:=joint_commands")
    nodes = [
        Process("plant", *(x for text in paced for x in ("-p", text))),
        Process("feedforward", *simulated, *(x for text in fed for x in ("-p", text))),
        Process("monitor", *simulated),
        Process("controller", *simulated, "-p", "stand_time:=0.4", "-p", "weight:=false"),
    ]
    try:
        with running(*nodes), peer() as us:
            us.listen(DiagnosticArray, ACCOUNTS)
            us.until(lambda: us.heard[ACCOUNTS], "the monitor, the last to be ready")
            grown(folder, 2_500_000)
            us.new(ACCOUNTS, 20)  # which the recorder hears as well
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, err
    with Bag(folder) as bag:
        setup = read_setup(bag, "/feedforward", FeedforwardParameters())
        topics = find_topics(bag, "", "/feedforward", "/joint_commands")
        live = feed(setup.model(), setup.parameters, bag, topics).live
        watched = read_setup(bag, "/monitor", MonitorParameters())
        topics = find_topics(bag, "", "/monitor")
        live |= watch(watched.model(), watched.parameters, bag, topics, ACCOUNTS).live
    assert live.keys() == {"total", "efforts", "model error", "energy", "work"}
    for name in ("total", "efforts"):
        assert live[name].compared > 500
        assert live[name].same == live[name].compared, live[name]
    for name in ("model error", "energy"):
        assert live[name].same == live[name].compared > 5, live[name]
    assert live["work"].close > 0, live["work"]  # but for where the monitor itself lost states, which it leaves out


def test_it_asks_publishers_of_other_computers_alone_to_send_again(tmp_path):
    with peer() as us, BagWriter(tmp_path / "run") as bag:
        recorder, kept = Recorder(us.node, bag), QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        us.node.create_publisher(JointState, "states", 10)
        us.node.create_publisher(String, "description", kept)
        (here,) = us.node.get_publishers_info_by_topic("states")
        (latched,) = us.node.get_publishers_info_by_topic("description")
        elsewhere = SimpleNamespace(endpoint_gid=list(here.endpoint_gid), qos_profile=here.qos_profile)
        elsewhere.endpoint_gid[2] ^= 1
        for ends, reliability in (
            ([here], ReliabilityPolicy.BEST_EFFORT),
            ([here, elsewhere], ReliabilityPolicy.RELIABLE),
            ([elsewhere], ReliabilityPolicy.RELIABLE),
            ([latched], ReliabilityPolicy.RELIABLE),
        ):
            assert recorder.quality(ends).reliability == reliability


def test_a_folder_that_exists_is_refused(tmp_path):
    process = recorder(tmp_path)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "exists already" in err
    assert err.count("\n") == 1


def test_the_recorder_ends_with_the_process_that_started_it(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = recorder(tmp_path / "run", "--end-with-process", str(other.pid))
    other.communicate(b"\n", timeout=PATIENCE)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "messages" in out
