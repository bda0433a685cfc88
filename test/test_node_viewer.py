# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The viewer over DDS and over its page's own socket: whoever looks, whatever comes, it goes on."""

import re
import signal
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("viser", reason="the extra 'view' is not installed")
pytest.importorskip("yourdfpy", reason="the extra 'view' is not installed")

from geometry_msgs.msg import InertiaStamped, WrenchStamped
from nav_msgs.msg import Odometry
from page_client import opened
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_nodes import BEST_EFFORT, PATIENCE, URDF, Process, Sensors, peer, running
from std_msgs.msg import String

from robot_dynamics import body_pose, load_urdf, neutral
from robot_dynamics.spatial import quaternion_from_rotation
from robot_dynamics.view.looks import looks

pytestmark = pytest.mark.ros
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SLOW = ("-p", "update_rate:=100.0")
"""Of a plant that shares a processor with other tests."""


def viewer(*arguments: str, urdf: Path | None = URDF) -> Process:
    """Start a viewer on any port: tests run side by side."""
    return Process("viewer", "-p", "port:=0", *arguments, urdf=urdf)


def address(node: Process) -> str:
    """Where its page is."""
    node.await_line("shown at http://")
    return next(re.search(r"http://\S+", line)[0] for line in node.lines if "shown at" in line)


def pages(us, count: int) -> None:
    """Wait until the viewer says that so many look."""
    us.until(lambda: us.status("viewer").get("pages") == str(count), f"{count} pages")


def see(us, *sends: Callable[[], object]) -> None:
    """Send again and again until the viewer has joint states: what is sent while DDS still matches may be lost."""

    def seen() -> bool:
        for send in sends:
            send()
        return us.status("viewer").get("message") == "running"

    us.until(seen, "the viewer to see the robot")


def turned(angle: float):
    """Tell whether a message turns the frame of a knee to where it is with every joint at this angle."""
    model = load_urdf(URDF, floating_base=True)
    q = neutral(model)
    q[model.q_index] = angle
    R, _ = body_pose(model, q)
    knee = model.body_names.index("FR_knee")
    wanted = np.roll(quaternion_from_rotation(R[model.parent[knee]].T @ R[knee]), 1)

    def found(m: dict) -> bool:
        turns = m["type"] == "SetOrientationMessage" and m["name"].endswith("/FR_knee")
        return turns and np.allclose(m["wxyz"], wanted, atol=1e-3)

    return found


def places(node: str):
    """Tell whether a message moves a frame of this name."""
    return lambda m: m["type"] == "SetPositionMessage" and m["name"].endswith(node)


@cache
def mesh_of(link: str) -> str:
    """Node of the scene that is the first mesh of a link."""
    model = load_urdf(URDF, floating_base=True)
    found, _ = looks(model, URDF.read_text())
    number = next(i for i, look in enumerate(found) if look.link == link)
    return f"/robot/{model.body_names[found[number].body]}/{link} {number}"


def test_a_page_shows_the_joints_and_the_base_of_the_newest_messages():
    node = viewer()
    with running(node), peer() as us, opened(address(node), PATIENCE) as page:
        node.await_line("ready")
        base = Odometry(child_frame_id="base")
        base.pose.pose.orientation.w = 1.0
        base.pose.pose.position.x = 2.5
        sensors = Sensors(us)
        see(us, lambda: us.send("odom", base, BEST_EFFORT), lambda: sensors.send(0.4))
        page.until(turned(0.4))
        base.pose.pose.position.x = 3.5
        us.send("odom", base, BEST_EFFORT)
        assert page.until(places("/robot/base"))["position"][0] in (2.5, 3.5)
        assert node.end() == (0, [])


def test_whoever_looks_pushes_and_loads_and_the_plant_moves():
    plant, node = Process("plant", *SLOW), viewer("-p", "use_sim_time:=true")
    with running(plant, node), peer() as us, opened(address(node), PATIENCE) as page:
        us.listen(Odometry, "odom")
        pushes, loads = us.listen(WrenchStamped, "plant/push", 10), us.listen(InertiaStamped, "plant/payload", 10)
        labels = {}
        for label in ("paused", "payload [kg]", "load"):
            labels[label] = page.control(label)
        before = us.new("odom")[0].twist.twist.linear.y
        grabbed = (0.0, 0.0, us.heard["odom"][-1].pose.pose.position.z)
        page.drag("start", mesh_of("base"), grabbed, grabbed)
        page.drag("update", mesh_of("base"), grabbed, (0.0, 5.0, grabbed[2]))
        us.until(lambda: us.heard["odom"][-1].twist.twist.linear.y > before + 0.05, "the robot to be pulled")
        assert pushes[-1].header.frame_id == "base"
        assert pushes[-1].wrench.force.y > abs(pushes[-1].wrench.force.x)
        page.drag("end", mesh_of("base"), grabbed, grabbed)
        page.set(labels["payload [kg]"], 1.5)
        page.set(labels["load"], True)
        us.until(lambda: loads and loads[-1].inertia.m == 1.5, "a payload")
        us.until(lambda: float(us.status("plant").get("mass [kg]", 0.0)) > 9.5, "the plant to carry it")
        page.set(labels["paused"], True)
        us.until(lambda: us.status("plant").get("message", "").endswith("paused"), "the pause")
        assert node.end() == (0, [])


def test_controls_whose_node_is_not_there_say_so_and_a_page_without_controls_has_none():
    node, silent = viewer(), Process("viewer", "-p", "port:=0", "-p", "controls:=false", "-r", "__node:=silent")
    with running(node, silent):
        with opened(address(node), PATIENCE) as page:
            page.set(page.control("trot"), True)
            said = page.until(lambda m: m["type"] == "NotificationShowMessage" or "body" in m.get("props", {}))
            assert said["props"]["body"] == "nobody answers controller/gait"
        with opened(address(silent), PATIENCE) as page:
            labels = []
            page.until(lambda m: labels.append(m.get("props", {}).get("label")) or labels[-1] == "joint")
            assert "trot" not in labels
            assert "friction cones" in labels
        assert node.end() == (0, [])


def test_ten_pages_come_and_go_and_one_that_comes_back_sees_the_robot():
    node = viewer()
    with running(node), peer() as us:
        node.await_line("ready")
        sensors, where = Sensors(us), address(node)
        see(us, lambda: sensors.send(0.1))
        for _ in range(2):
            with ExitStack() as stack:
                open_pages = [stack.enter_context(opened(where, PATIENCE)) for _ in range(10)]
                pages(us, 10)
                for angle in (0.2, 0.3):
                    sensors.send(angle)
                for page in open_pages:
                    page.until(turned(0.3))
            pages(us, 0)
        assert node.end() == (0, [])


def test_a_viewer_that_is_there_before_its_robot_shows_it_when_it_comes_and_keeps_it():
    node = viewer(urdf=None)
    with running(node), peer() as us, opened(address(node), PATIENCE) as page:
        page.until(lambda m: "Waiting for a robot." in str(m.get("props", {}).get("_markdown", m)))
        us.send("robot_description", String(data=URDF.read_text()), LATCHED)
        page.until(lambda m: m.get("name", "").endswith("/FR_knee"))
        us.send("robot_description", String(data=URDF.read_text().replace("mini_cheetah", "other")), LATCHED)
        us.until(lambda: us.status("viewer").get("ignored robot_description") == "1", "the second robot to be ignored")
        assert node.end()[0] == 0


def test_what_cannot_be_shown_is_refused_and_counted():
    node = viewer()
    with running(node), peer() as us, opened(address(node), PATIENCE) as page:
        node.await_line("ready")
        sensors = Sensors(us)
        see(us, lambda: sensors.send(0.1))
        for changes in ({"position": [float("nan")] * 12}, {"name": ["elbow"] * 12}, {"position": [0.1] * 11}):
            sensors.send(0.1, **changes)
        us.until(lambda: any(k.startswith("refused joint_states") for k in us.status("viewer")), "the refusal")
        sensors.send(0.3)
        page.until(turned(0.3))
        assert us.status("viewer")["level"] in "13"


def test_the_next_viewer_takes_the_next_port():
    first = viewer()
    with running(first):
        port = int(address(first).rpartition(":")[2])
        second = Process("viewer", "-p", f"port:={port}", "-r", "__ns:=/other")
        with running(second):
            assert int(address(second).rpartition(":")[2]) > port
            assert any(f"port {port} is taken" in line for line in second.lines)
            assert b"<html" in urllib.request.urlopen(address(second), timeout=PATIENCE).read()


def test_a_robot_that_is_not_there_is_one_sentence():
    node = viewer(urdf=Path("nowhere.urdf"))
    with running(node):
        code, lines = node.result()
        assert (code, [line for line in lines if "shown at" not in line]) == (
            2,
            ["viewer: there is no URDF file 'nowhere.urdf'"],
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_without_a_word_whoever_looks(number):
    node = viewer()
    with running(node), opened(address(node), PATIENCE):
        node.await_line("ready")
        assert node.end(number) == (0, [])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-p", "host:=192.0.2.1"), "viewer: 'host' must be an address of this computer, got '192.0.2.1'"),
        (("-p", "port:=70000"), "viewer: parameter 'port' must lie in 0 .. 65535, got 70000"),
    ],
)
def test_a_page_that_cannot_be_served_is_one_sentence(arguments, sentence):
    node = Process("viewer", *arguments)
    with running(node):
        code, lines = node.result()
        assert (code, len(lines)) == (2, 1)
        assert lines[0].startswith(sentence)
