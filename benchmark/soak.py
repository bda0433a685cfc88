# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The loop for a long time: does the robot stay up and where it is, does memory grow, what came late and why.

`python -m benchmark.soak --minutes 30 --load 10` needs rclpy; `--load` busy processes run beside the loop.
"""

import argparse
import json
import multiprocessing
import os
import signal
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.task import Future
from std_srvs.srv import SetBool

from robot_dynamics.control.limbs import find_legs
from robot_dynamics.model.urdf import load_urdf
from robot_dynamics.ros.demo import AWAITED, Processes
from robot_dynamics.ros.domain import own_domain
from robot_dynamics.ros.run import FastExecutor
from robot_dynamics.share import share_folder

SETTLED = 60.0
"""Growth of memory counts from here on [s]."""
LOOK = 1.0
"""Between two looks [s]."""
PRIORITY = 10
"""Of the watcher, below those of the nodes."""


class Watcher:
    """Where the base is, and the last diagnostics of every node."""

    def __init__(self) -> None:
        """Subscribe."""
        self.node = Node("soak")
        self.executor = FastExecutor()
        self.executor.add_node(self.node)
        self.base: Odometry | None = None
        self.diagnostics: dict[str, dict[str, str]] = {}
        self.node.create_subscription(Odometry, "odom", self.on_odometry, qos_profile_sensor_data)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self.on_diagnostics, 10)
        self.gait = self.node.create_client(SetBool, "controller/gait")

    def on_odometry(self, msg: Odometry) -> None:
        """Keep the newest."""
        self.base = msg

    def on_diagnostics(self, msg: DiagnosticArray) -> None:
        """Keep the newest of every part of every node."""
        for status in msg.status:
            self.diagnostics[status.name] = {
                "message": status.message,
                **{value.key: value.value for value in status.values},
            }

    def spin(self, seconds: float) -> None:
        """Listen for so long."""
        self.executor.spin_until_future_complete(Future(), seconds)

    def trot(self) -> None:
        """Ask the controller to trot."""
        if not self.gait.wait_for_service(60.0):
            raise SystemExit("the controller has no service 'controller/gait'")
        self.executor.spin_until_future_complete(self.gait.call_async(SetBool.Request(data=True)), 10.0)

    def pose(self) -> list[float]:
        """x, y, z [m] of the base, and the cosine of its tilt."""
        assert self.base is not None
        p, o = self.base.pose.pose.position, self.base.pose.pose.orientation
        return [p.x, p.y, p.z, 1.0 - 2.0 * (o.x * o.x + o.y * o.y)]


def resident(pid: int) -> float:
    """Memory of a process that is neither shared nor swapped out [MB]."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines[1:])
    return sum(int(fields[key].split()[0]) for key in ("Private_Clean", "Private_Dirty")) / 1024.0


def set_realtime() -> None:
    """Look once a second beside busy processes too, where real-time priority is permitted; below all nodes."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))


def keep_busy() -> None:
    """Use a processor for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pass


def soak(minutes: float, load: int) -> dict[str, Any]:
    """Stand up, trot for so long beside so many busy processes."""
    urdf = share_folder() / "urdf" / "mini_cheetah.urdf"
    legs = find_legs(load_urdf(urdf, floating_base=True))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ.update(
            {"ROS_DOMAIN_ID": str(stack.enter_context(own_domain())), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        )
        rclpy.init()
        stack.callback(rclpy.shutdown)
        watcher = Watcher()
        processes = stack.enter_context(Processes(urdf, {"contact_links": list(legs.names)}, dict(os.environ), folder))
        for name in AWAITED:
            processes.start(name)
            watcher.spin(3.0)
        while watcher.base is None or len(watcher.diagnostics) < len(AWAITED):
            processes.check()
            watcher.spin(LOOK)
        watcher.spin(10.0)
        watcher.trot()
        for _ in range(load):
            busy = multiprocessing.Process(target=keep_busy, daemon=True)
            busy.start()
            stack.callback(busy.kill)
        set_realtime()
        poses, memory, times = [], [], []
        begun = time.monotonic()
        while time.monotonic() - begun < 60.0 * minutes:
            processes.check()
            watcher.spin(LOOK)
            times.append(time.monotonic() - begun)
            poses.append(watcher.pose())
            memory.append([resident(process.pid) for process in processes.running.values()])
            if len(poses) % 30 == 0:
                x, y, z, _ = poses[-1]
                at = f"{times[-1]:6.0f} s  base {x:+.3f} {y:+.3f} {z:.3f}"
                print(at, np.round(memory[-1], 2), flush=True)
        return figures(times, poses, memory, list(processes.running), watcher.diagnostics, load)


def figures(
    times: list[float],
    poses: list[list[float]],
    memory: list[list[float]],
    names: list[str],
    diagnostics: dict[str, dict[str, str]],
    load: int,
) -> dict[str, Any]:
    """What there is to say."""
    track, sizes = np.array(poses), np.array(memory)
    settled = sizes[np.searchsorted(times, min(SETTLED, times[-1]))]
    away = track[:, :2] - track[0, :2]
    return {
        "load": load,
        "looks": len(times),
        "lowest base [m]": track[:, 2].min(),
        "largest tilt [deg]": float(np.degrees(np.arccos(track[:, 3].min()))),
        "drift [m]": float(np.hypot(*away.T).max()),
        "growth [MB]": dict(zip(names, (sizes[-1] - settled).round(3).tolist(), strict=True)),
        "diagnostics": diagnostics,
    }


def main() -> int:
    """Soak, print, and write report/soak_<load>.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--load", type=int, default=0, help="busy processes beside the loop")
    arguments = parser.parse_args()
    found = soak(arguments.minutes, arguments.load)
    text = json.dumps(found, indent=2)
    print(text)
    Path("report").mkdir(exist_ok=True)
    Path(f"report/soak_{arguments.load}.json").write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
