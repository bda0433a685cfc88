# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The bridge to Unitree's robots at 500 Hz: is any message lost in a minute, and how soon is silence damped.

`python -m benchmark.bridge` needs rclpy, messages of unitree_go (or a compiler), and a machine that does nothing else.
First the plant is the robot and a controller of ours speaks lowcmd; then we are the robot, and speak joint_commands.
"""

import json
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from robot_dynamics.control.actuation import Drive
from robot_dynamics.control.unitree import Command, Motors, State
from robot_dynamics.ros import wire
from robot_dynamics.ros.component import RELIABLE, STREAM, sender
from robot_dynamics.ros.realtime import Urgency
from robot_dynamics.ros.run import FastExecutor
from robot_dynamics.ros.unitree_bridge import message_types

from .loop import JOINTS, LEGS, SPAN, cpu, node

TEST = Path(__file__).parents[1] / "test"
MOTORS = [f"{leg}_{joint}" for leg in LEGS for joint in ("abad", "hip", "knee")]
"""The joints of our robot in the order of a Unitree quadruped."""
RATE, SILENCES, FOLLOWED = 500.0, 50, 0.4
"""Of commands [Hz]; times that they fall silent, and seconds of commands before each."""
WITHIN = 20.0
"""How soon silence is to be damped [ms]."""
KP, KD = 40.0, 1.0
PRIORITY = 51
"""Between the plant and the bridge."""
BRIDGE = ("robot_dynamics.ros.unitree_bridge", "-p", f"motors:=[{','.join(MOTORS)}]")
PLANT = ("robot_dynamics.ros.plant", "-p", "sensor_rate:=500.0", "-p", "start_paused:=true")


def find_messages() -> None:
    """Let us and the nodes that we start import unitree_go: as installed, else made from the tests' definitions."""
    if find_spec("unitree_go"):
        return
    sys.path.insert(0, str(TEST))
    import message_packages

    if missing := message_packages.missing():
        raise SystemExit(f"messages of unitree_go are not installed, and making them {missing}")
    place = str(message_packages.built(TEST / "unitree_messages" / "unitree_go"))
    sys.path.insert(0, place)
    os.environ["PYTHONPATH"] = os.pathsep.join([place, *filter(None, [os.environ.get("PYTHONPATH")])])


class End:
    """One end of the line: what it sends and hears, and how long after its last command the joints are damped."""

    def __init__(self, name: str) -> None:
        self.node, self.executor = rclpy.create_node(name), FastExecutor()
        self.executor.add_node(self.node)
        self.command_type, self.state_type = message_types("unitree_go")
        motors = Motors("go2", MOTORS, MOTORS)
        self.state, self.command = State(motors), Command(motors, JOINTS)
        self.talks, self.sent, self.heard, self.last = False, 0, 0, 0
        self.damped: list[float] = []
        self.figures: dict[str, dict[str, str]] = {}
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self.on_diagnostics, 10)

    def on_diagnostics(self, msg: DiagnosticArray) -> None:
        """Keep the newest of every node."""
        for status in msg.status:
            self.figures[status.name.split(":")[0]] = {v.key: v.value for v in status.values}

    def spin(self, seconds: float) -> None:
        """Work for so long."""
        self.executor.spin_until_future_complete(Future(), seconds)

    def await_nodes(self, *names: str) -> None:
        """Work until the nodes have told of themselves."""
        while not set(names) <= set(self.figures):
            self.spin(0.5)

    def silences(self) -> list[float]:
        """Fall silent again and again; answer from the last command to the first that damps [ms]."""
        self.damped.clear()
        for k in range(SILENCES):
            self.talks = True
            self.spin(FOLLOWED + 0.002 * k / SILENCES)
            self.talks = False
            self.spin(0.1)
        if len(self.damped) != SILENCES:
            raise SystemExit(f"{SILENCES} silences, {len(self.damped)} times damped")
        return self.damped

    def on_gains(self, kp: np.ndarray) -> None:
        """Note the first gains without stiffness after a silence began."""
        if not self.talks and self.last and not np.any(kp):
            self.damped.append(1e-6 * (time.time_ns() - self.last))
            self.last = 0


class Controller(End):
    """Holds the pose in which it finds the robot, by lowcmd: one for each lowstate."""

    def __init__(self) -> None:
        super().__init__("benchmark_controller")
        self.target: np.ndarray | None = None
        self.ticks: list[int] = []
        self.gains = wire.Reader(JointState)
        self.send = sender(self.node.create_publisher(self.command_type, "lowcmd", STREAM))
        self.node.create_subscription(self.state_type, "lowstate", self.on_state, STREAM, raw=True)
        self.node.create_subscription(JointState, "joint_gains", self.on_joint_gains, STREAM, raw=True)
        self.pausing = self.node.create_client(SetBool, "plant/pause")

    def on_state(self, data: bytes) -> None:
        """Answer a state."""
        self.state.read(data)
        self.heard += 1
        self.ticks.append(self.state.tick)
        if self.target is None:
            self.target = self.state.joints[0]
        if self.talks:
            zero = np.zeros(JOINTS)
            self.send(self.command.write(Drive(self.target, zero, np.full(JOINTS, KP), np.full(JOINTS, KD), zero)))
            self.sent, self.last = self.sent + 1, time.time_ns()

    def on_joint_gains(self, data: bytes) -> None:
        """What the bridge passes on to the plant."""
        self.on_gains(np.asarray(self.gains.read(data).blocks[0]))

    def pause(self, on: bool) -> None:
        """Let the plant's clock stand or run."""
        self.pausing.wait_for_service(10.0)
        self.executor.spin_until_future_complete(self.pausing.call_async(SetBool.Request(data=on)), 10.0)

    def counts(self) -> dict[str, int]:
        """Let the plant's clock stand, and count what everybody has sent and heard."""
        self.pause(True)
        self.spin(3.0)
        plant, bridge = self.figures["plant"], self.figures["unitree_bridge"]
        return {
            "states of the plant": int(plant["ticks"]) // 2,
            "states at the bridge": int(bridge["states"]),
            "lowstate at the controller": self.heard,
            "lowcmd of the controller": self.sent,
            "lowcmd at the bridge": int(bridge["commands"]),
            "commands at the plant": int(plant["commands"]),
        }


class Robot(End):
    """Stands still and sends lowstate at 500 Hz; whoever hears joint_states from the bridge answers at once."""

    def __init__(self) -> None:
        super().__init__("benchmark_robot")
        self.target = wire.JointStateWriter(MOTORS)
        self.reader = wire.Reader(JointState)
        self.states = 0
        self.send_state = sender(self.node.create_publisher(self.state_type, "lowstate", STREAM))
        self.send_target = sender(self.node.create_publisher(JointState, "joint_commands", STREAM))
        self.node.create_subscription(JointState, "joint_states", self.on_joints, RELIABLE, raw=True)
        self.node.create_subscription(self.command_type, "lowcmd", self.on_command, STREAM, raw=True)
        self.timer = self.node.create_timer(1.0 / RATE, self.tell)

    def tell(self) -> None:
        """Send a state."""
        imu = np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3), np.array([0.0, 0.0, 9.81])
        zero = np.zeros(JOINTS)
        self.send_state(self.state.write((zero, zero, zero), imu, self.states / RATE))
        self.states += 1

    def on_joints(self, data: bytes) -> None:
        """Answer a state of the joints."""
        self.heard += 1
        if self.talks:
            self.send_target(self.target.stamped(self.reader.read(data).nanoseconds))
            self.sent, self.last = self.sent + 1, time.time_ns()

    def on_command(self, data: bytes) -> None:
        """What the motors are told."""
        self.on_gains(self.command.read(data).kp)

    def counts(self) -> dict[str, int]:
        """Fall silent, and count what everybody has sent and heard."""
        self.talks = False
        self.timer.cancel()
        self.spin(3.0)
        bridge = self.figures["unitree_bridge"]
        self.timer.reset()
        return {
            "lowstate of the robot": self.states,
            "lowstate at the bridge": int(bridge["states"]),
            "joint_states at the controller": self.heard,
            "joint_commands of the controller": self.sent,
            "joint_commands at the bridge": int(bridge["commands"]),
        }


def refused(figures: dict[str, str]) -> dict[str, float]:
    """What the bridge did not take, by cause."""
    return {name: int(value) for name, value in figures.items() if name.startswith("refused")}


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, float]:
    """What was counted in between."""
    return {name: after[name] - before[name] for name in after}


def watchdog(delays: list[float]) -> dict[str, float]:
    """From the last command to the first that damps."""
    late = sum(delay > WITHIN for delay in delays)
    figures = {"damped after, median [ms]": float(np.median(delays)), "damped after, most [ms]": max(delays)}
    return figures | {f"silences of {len(delays)} damped after {WITHIN:g} ms": late}


def plant_behind_bridge(span: float) -> dict[str, float]:
    """A controller of lowcmd, the bridge, the plant."""
    plant_node = node(*PLANT)
    with plant_node as plant, node(*BRIDGE, "-p", "role:=robot", "-p", "use_sim_time:=true") as bridge:
        controller = Controller()
        controller.await_nodes("plant", "unitree_bridge")
        controller.pause(False)
        controller.spin(1.0)
        controller.talks = True
        controller.spin(4.0)
        before = controller.counts()
        controller.ticks.clear()
        controller.pause(False)
        begun = cpu(plant), cpu(bridge), time.monotonic()
        controller.spin(span)
        lasted = time.monotonic() - begun[2]
        shares = {"plant CPU": (cpu(plant) - begun[0]) / lasted, "bridge CPU": (cpu(bridge) - begun[1]) / lasted}
        factor = float(controller.figures["plant"]["real-time factor"])
        figures = difference(controller.counts(), before) | refused(controller.figures["unitree_bridge"])
        steps = np.diff(controller.ticks)
        figures |= {"steps of tick other than 2 ms": int(np.sum(steps != 2)), "real-time factor": factor, **shares}
        controller.pause(False)
        figures |= watchdog(controller.silences())
        controller.node.destroy_node()
        return figures


def robot_before_bridge(span: float) -> dict[str, float]:
    """The robot, the bridge, a controller of joint_commands."""
    with node(*BRIDGE) as bridge:
        robot = Robot()
        robot.await_nodes("unitree_bridge")
        robot.talks = True
        robot.spin(4.0)
        before = robot.counts()
        robot.talks = True
        begun, start = cpu(bridge), time.monotonic()
        robot.spin(span)
        share = (cpu(bridge) - begun) / (time.monotonic() - start)
        figures = difference(robot.counts(), before) | refused(robot.figures["unitree_bridge"])
        figures |= {"bridge CPU": share, **watchdog(robot.silences())}
        robot.node.destroy_node()
        return figures


def main() -> int:
    """Measure, print, and write report/bridge.json."""
    find_messages()
    rclpy.init()
    urgency = Urgency()
    for sentence in urgency.ask(PRIORITY, 0.0):
        print(sentence)
    figures = {}
    for name, measure in (("robot", plant_behind_bridge), ("controller", robot_before_bridge)):
        figures[name] = measure(SPAN)
        print(f"role {name}")
        for what, value in figures[name].items():
            print(f"  {what:34} {value:.6g}", flush=True)
    Path("report").mkdir(exist_ok=True)
    Path("report/bridge.json").write_text(json.dumps(figures, indent=2))
    rclpy.shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
