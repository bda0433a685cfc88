# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The loop over DDS: plant and feed-forward at 1 kHz, and the feed-forward beside a bare echo of the same messages.

`python -m benchmark.loop` needs rclpy and a machine that does nothing else.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

os.environ.setdefault("ROS_DOMAIN_ID", "77")
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from rclpy.subscription import Subscription
from rclpy.task import Future
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from visualization_msgs.msg import MarkerArray

from robot_dynamics.ros import wire
from robot_dynamics.ros.realtime import Urgency
from robot_dynamics.ros.run import FastExecutor

URDF = Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf"
JOINTS = 12
Times = NDArray[np.int64]
LEGS = ("FR", "FL", "HR", "HL")
SPAN, PAIRS, BRIEF = 60.0, 6, 5.0
"""Seconds of the loop; pairs of feed-forward and echo, and seconds of each."""
WARM, CYCLE = 1000, 100
"""States of a pair that do not count; different states in a row."""
INSIDE = "inside callback p50 [us]"
FEEDFORWARD = (
    "robot_dynamics.ros.feedforward", "-p", "mode:=gravity", "-p", "dry_run:=false", "-p", "ramp_time:=0.0",
)  # fmt: skip


@contextmanager
def node(module: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run one node until the end of the block; begins when it says "ready"."""
    command = [sys.executable, "-m", module, "--ros-args", "-p", f"urdf_file:={URDF}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            if not any("ready" in line for line in process.stdout):
                raise SystemExit(f"{module} ended before it was ready")
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def cpu(process: subprocess.Popen[str]) -> float:
    """CPU time of a process so far [s]."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Listener:
    """Keeps the diagnostics, and lets DDS take everything a plant says, which nobody looks at."""

    def __init__(self) -> None:
        """Subscribe."""
        self.node, self.ears = rclpy.create_node("benchmark_listener"), rclpy.create_node("benchmark_ears")
        self.executor = FastExecutor()
        self.executor.add_node(self.node)
        self.figures: dict[str, dict[str, str]] = {}
        self.inside: list[float] = []
        self.pausing = self.node.create_client(SetBool, "plant/pause")
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self.diagnosed, 10)
        for kind, topic in (
            (JointState, "joint_states"), (Odometry, "odom"), (Imu, "imu/data"), (MultiDOFJointState, "contacts"),
            (Float64MultiArray, "plant/energy"), (MarkerArray, "plant/markers"),
        ):  # fmt: skip
            self.ears.create_subscription(kind, topic, lambda _: None, qos_profile_sensor_data)

    def diagnosed(self, msg: DiagnosticArray) -> None:
        """Keep the last values of every node, and each second's time inside the feed-forward's callback."""
        for status in msg.status:
            values = {v.key: v.value for v in status.values}
            self.figures[status.name.split(":")[0]] = values
            self.inside += [float(values[INSIDE])] if INSIDE in values else []

    def pause(self, on: bool) -> None:
        """Let the plant's clock stand or run."""
        while not self.pausing.wait_for_service(10.0):
            print("waiting for plant/pause")
        self.executor.spin_until_future_complete(self.pausing.call_async(SetBool.Request(data=on)), 10.0)

    def stand(self) -> tuple[dict[str, str], dict[str, str]]:
        """Let the plant's clock stand, and return what plant and feed-forward have counted."""
        self.pause(True)
        self.spin(3.0)
        return self.figures["plant"], self.figures["feedforward"]

    def spin(self, seconds: float) -> None:
        """Listen for so long."""
        self.executor.spin_until_future_complete(Future(), seconds)


def loop() -> dict[str, float]:
    """Plant and feed-forward for SPAN seconds with every topic heard, between two stops so that all can be counted."""
    arguments = ("-p", "use_sim_time:=true", "-p", "output:=commands")
    plant_alone = node("robot_dynamics.ros.plant", "-p", "efforts_alone:=false", "-p", "start_paused:=true")
    with plant_alone as plant, node(*FEEDFORWARD, *arguments) as feeder:
        listener = Listener()
        while not {"plant", "feedforward"} <= set(listener.figures):
            listener.spin(1.0)
        listener.pause(False)
        listener.spin(5.0)
        before, heard = listener.stand()
        listener.inside.clear()
        listener.pause(False)
        begun = time.monotonic(), cpu(plant), cpu(feeder)
        listener.spin(SPAN)
        span = time.monotonic() - begun[0]
        used = (cpu(plant) - begun[1]) / span, (cpu(feeder) - begun[2]) / span
        inside, running = float(np.median(listener.inside)), listener.figures["plant"]
        after, answered = listener.stand()
        ticks = int(after["ticks"]) - int(before["ticks"])
        return {
            "ticks": ticks,
            "on time": 1.0 - (int(after["late ticks"]) - int(before["late ticks"])) / ticks,
            "real-time factor": float(running["real-time factor"]),
            "states lost": ticks - (int(answered["states"]) - int(heard["states"])),
            "commands lost": int(answered["efforts sent"]) - int(after["commands"]),
            "command age p50 [s]": float(running["effort_controller/commands age p50 [s]"]),
            "command age p99 [s]": float(running["effort_controller/commands age p99 [s]"]),
            "plant CPU": used[0],
            "feedforward CPU": used[1],
            INSIDE: inside,
        }


def echo() -> None:
    """Answer every joint state with twelve efforts, and do nothing else."""
    rclpy.init()
    bare = rclpy.create_node("echo")
    publisher = bare.create_publisher(Float64MultiArray, "effort_controller/commands", QoSProfile(depth=1))
    answer = Float64MultiArray(data=[0.0] * JOINTS)

    def on_state(msg: JointState) -> None:
        answer.data[:] = msg.effort
        publisher.publish(answer)

    bare.create_subscription(JointState, "joint_states", on_state, QoSProfile(depth=5))
    print("ready", flush=True)
    executor = FastExecutor()
    executor.add_node(bare)
    executor.spin_until_future_complete(Future(), 1e8)


@contextmanager
def bare() -> Iterator[subprocess.Popen[str]]:
    """Run the echo."""
    command = [sys.executable, "-m", "benchmark.loop", "echo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def feedforward() -> AbstractContextManager[subprocess.Popen[str]]:
    """Run the feed-forward for a fixed base: it needs joint states alone."""
    return node(*FEEDFORWARD, "-p", "floating_base:=false")


def latency() -> tuple[float, float, int]:
    """Answer as `delays` how long efforts take to answer joint states at 1 kHz.

    DDS notes when an answer arrives, so nothing here but the driver's ticks takes processor time. Which state it
    answers is seen from the first effort: it follows from the first joint's angle, another one in CYCLE states.
    Processors stay awake as far as that is permitted, whoever answers: the feed-forward would ask for it anyway.
    """
    urgency = Urgency()
    urgency.ask(latency=0.0)
    driver = rclpy.create_node("benchmark_driver")
    publisher = driver.create_publisher(JointState, "joint_states", QoSProfile(depth=5))
    subscription = driver.create_subscription(
        Float64MultiArray, "effort_controller/commands", lambda _: None, QoSProfile(depth=1000)
    )
    while not (publisher.get_subscription_count() and subscription.get_publisher_count()):
        time.sleep(0.1)
    state = wire.JointStateWriter([f"{leg}_{joint}" for leg in LEGS for joint in ("abad", "hip", "knee")])
    sent, answers = [], []
    deadline = time.monotonic()
    for k in range(WARM + round(BRIEF * 1e3)):
        state.position[0] = state.effort[0] = 0.2 + 0.1 * (k % CYCLE) / CYCLE
        sent.append(time.time_ns())
        publisher.publish(state.stamped(sent[-1]))
        answers += taken(subscription)
        deadline = max(deadline + 1e-3, time.monotonic())  # a late tick is not made up for: sensors do not send bursts
        time.sleep(max(deadline - time.monotonic(), 0.0))
    time.sleep(0.5)
    answers += taken(subscription)
    urgency.ask()
    driver.destroy_node()
    arrived, efforts = zip(*((when, effort) for when, effort in answers if effort), strict=True)  # 0: after the end
    return delays(np.array(sent), np.array(arrived), np.array(efforts))


def taken(subscription: Subscription) -> list[tuple[int, float]]:
    """Answers since the last call: time of arrival [ns], first effort."""
    found = []
    while (message := subscription.handle.take_message(Float64MultiArray, False)) is not None:
        found.append((message[1]["received_timestamp"], message[0].data[0]))
    return found


def delays(sent: Times, arrived: Times, efforts: NDArray[np.float64]) -> tuple[float, float, int]:
    """p50 and p99 [us] from a state [ns] to the arrival [ns] of its answer, and how many states got none."""
    different, place = np.unique(efforts, return_inverse=True)
    if len(different) != CYCLE:
        raise SystemExit(f"expected {CYCLE} different efforts, got {len(different)}")
    if np.median(np.diff(place)) < 0:
        place = CYCLE - 1 - place
    newest = np.searchsorted(sent, arrived) - 1
    answered = newest - (newest - place) % CYCLE
    counted = answered >= WARM
    delay = 1e-3 * (arrived - sent[answered])[counted]
    p50, p99 = np.quantile(delay, [0.5, 0.99])
    return float(p50), float(p99), len(sent) - WARM - len(np.unique(answered[counted]))


def main() -> int:
    """Measure, print, and write report/loop.json."""
    if sys.argv[1:2] == ["echo"]:
        echo()
        return 0
    rclpy.init()
    rows: dict[str, list[tuple[float, float, int]]] = {"echo": [], "feedforward": []}
    for pair in range(PAIRS):
        for name, running in (("echo", bare), ("feedforward", feedforward)):
            with running():
                rows[name].append(latency())
            p50, p99, lost = rows[name][-1]
            print(f"pair {pair + 1}: {name:12} p50 {p50:6.0f} us  p99 {p99:6.0f} us  lost {lost}", flush=True)
    medians = {name: np.median(values, axis=0) for name, values in rows.items()}
    ratio = medians["feedforward"][:2] / medians["echo"][:2]
    print(f"feed-forward over echo, medians: p50 {ratio[0]:.2f}, p99 {ratio[1]:.2f}", flush=True)
    figures = loop()
    for name, value in figures.items():
        print(f"{name:28} {value:.6g}")
    Path("report").mkdir(exist_ok=True)
    Path("report/loop.json").write_text(json.dumps({"latency": rows, "loop": figures}, indent=2))
    rclpy.shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
