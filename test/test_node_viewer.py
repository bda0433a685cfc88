# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The viewer over DDS and over its page's own socket: whoever looks, whatever comes, it goes on."""

import re
import signal
import socket
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("viser", reason="the extra 'view' is not installed")
pytest.importorskip("yourdfpy", reason="the extra 'view' is not installed")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from nav_msgs.msg import Odometry
from page_client import Page, opened
from rcl_interfaces.srv import SetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_nodes import BEST_EFFORT, PATIENCE, URDF, Process, Sensors, peer, running
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout, String, UInt32
from std_srvs.srv import SetBool, Trigger
from websockets.exceptions import InvalidStatus

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
    plant, node = Process("plant", *SLOW, "-p", "real_time_factor:=0.9"), viewer("-p", "use_sim_time:=true")
    with running(plant, node), peer() as us, opened(address(node), PATIENCE) as page:
        us.listen(Odometry, "odom")
        pushes, loads = us.listen(WrenchStamped, "plant/push", 10), us.listen(InertiaStamped, "plant/payload", 10)
        labels = {}
        for label in ("paused", "payload [kg]", "load"):
            labels[label] = page.control(label)
        page.until(lambda m: m.get("updates", {}).get("value") == "0.9")
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


CONTROLS = {
    "paused": ("plant/pause", (True, False)),
    "reset": ("plant/reset", (True,)),
    "real-time factor": ("plant/set_parameters", ("0.5", "as fast as possible")),
    "trot": ("controller/gait", (True, False)),
    "feed-forward enabled": ("feedforward/enable", (False, True)),
    "emergency stop": ("plant/estop", (True,)),
    "release the stop": ("feedforward/estop", (True,)),
}
"""The service that each control calls, and values that it can have."""
KINDS = {"plant/reset": Trigger, "plant/set_parameters": SetParameters}


def offer(us, name: str) -> list[Any]:
    """Offer a service that agrees to everything; returns its requests."""
    kind, requests = KINDS.get(name, SetBool), []

    def agree(request: Any, response: Any) -> Any:
        requests.append(request)
        return response

    us.node.create_service(kind, name, agree)
    return requests


def meant(label: str, request: Any) -> Any:
    """What a request asks for, as the value of its control."""
    if isinstance(request, SetParameters.Request):
        (parameter,) = request.parameters
        assert parameter.name == "real_time_factor"
        return {0.0: "as fast as possible"}.get(parameter.value.double_value, f"{parameter.value.double_value:g}")
    return (not request.data if label == "release the stop" else request.data) if hasattr(request, "data") else True


def test_every_control_calls_its_service_with_what_it_says():
    node = viewer()
    with running(node), peer() as us:
        names = {name for name, _ in CONTROLS.values()} | {"feedforward/estop"}
        offered = {name: offer(us, name) for name in sorted(names)}
        steps = us.listen(UInt32, "plant/step", 10)
        node.await_line("ready")
        with opened(address(node), PATIENCE) as page:
            identifiers = controls(page, "ticks", *CONTROLS)
            for label, (name, values) in CONTROLS.items():
                operate(us, page, identifiers[label], values, lambda name=name, label=label: [
                    meant(label, request) for request in offered[name]
                ])  # fmt: skip
            operate(us, page, identifiers["ticks"], ("10", "100"), lambda: [str(step.data) for step in steps])
        assert offered["feedforward/estop"][-1].data is False
        assert node.end() == (0, [])


def controls(page: Page, *labels: str) -> dict[str, str]:
    """Identifiers of controls by label, in whatever order they come."""
    found: dict[str, str] = {}

    def noted(m: dict[str, Any]) -> bool:
        if (label := m.get("props", {}).get("label")) in labels:
            found[label] = m["uuid"]
        return len(found) == len(labels)

    page.until(noted)
    return found


def operate(us, page: Page, control: str, values: tuple[Any, ...], asked: Callable[[], list[Any]]) -> None:
    """Work a control until somebody hears it, and then give it each value once and wait for what it asks for."""
    attempts = cycle(values)

    def heard() -> bool:
        page.set(control, next(attempts))
        us.spin(0.3)
        return bool(asked())

    us.until(heard, "anything that the control asks for")
    for value in values:
        page.set(control, value)
        us.until(lambda value=value: asked()[-1] == value, f"the control to ask for {value}")


def test_plots_show_the_numbers_of_their_topics():
    node = viewer()
    with running(node), peer() as us, opened(address(node), PATIENCE) as page:
        node.await_line("ready")
        sensors = Sensors(us)

        def state() -> None:
            sensors.now += 0.01
            sensors.send(0.1)

        chosen = controls(page, "plot", "joint")
        see(us, state)
        page.set(chosen["joint"], "FR_knee")
        label = "kinetic [J], lost [s], balance_error [J]"
        energy = Float64MultiArray(
            layout=MultiArrayLayout(dim=[MultiArrayDimension(label=label, size=3)]), data=[3.5, 0.25, -0.5]
        )
        joints = JointState(name=["FR_hip", "FR_knee"], effort=[7.0, 1.25])
        for plot, topics, wanted in (
            ("torque of a joint", {"feedforward/torque/contact": joints}, {"contact": 1.25, "measured": 0.0}),
            ("residual of a joint", {"monitor/residual": joints}, {"residual": 1.25}),
            ("energy", {"monitor/energy": energy}, {"kinetic": 3.5, "balance_error": -0.5}),
        ):
            page.set(chosen["plot"], plot)
            sends = [lambda topic=topic, msg=msg: us.send(topic, msg) for topic, msg in topics.items()]
            assert shown(us, page, [*sends, state], wanted.keys()) == wanted
        label = MultiArrayLayout(dim=[MultiArrayDimension(label="elastic [J], unknown [J]", size=2)])
        later = [lambda: us.send("plant/energy", Float64MultiArray(layout=label, data=[0.5, np.nan])), *sends, state]
        assert shown(us, page, later, ("kinetic", "elastic")) == {"kinetic": 3.5, "elastic": 0.5}
        assert node.end() == (0, [])


def shown(us, page: Page, sends: list[Callable[[], object]], curves: Any) -> dict[str, float]:
    """Last values of curves of a plot, which is drawn from what is sent meanwhile."""
    labels: list[str] = []

    def drawn() -> dict[str, float]:
        for send in sends:
            send()
        data = None
        for m in page.poll():
            if m["type"] == "GuiUplotMessage":
                labels[:] = [series["label"] for series in m["props"]["series"]]
            data = m.get("updates", m.get("props", {})).get("data", data)
        assert data is None or np.isfinite(data).all()  # one gap blanks the plot
        whole = data is not None and set(curves) <= set(labels)
        return {curve: float(data[labels.index(curve)][-1]) for curve in curves} if whole else {}

    return us.until(drawn, f"curves {sorted(curves)}")


def test_pages_of_other_sites_are_refused():
    """Also those that give their own name the address of this computer."""
    node = viewer(urdf=None)
    with running(node):
        port = int(address(node).rpartition(":")[2])
        for name, origin, welcome in (
            ("127.0.0.1", f"http://127.0.0.1:{port}", True),
            ("localhost", f"http://localhost:{port}", True),
            ("127.0.0.1", "http://elsewhere.example", False),
            ("127.0.0.1", "http://127.0.0.1:1", False),
            ("127.0.0.1", "null", False),
            ("elsewhere.example", f"http://elsewhere.example:{port}", False),
        ):
            line = socket.create_connection(("127.0.0.1", port))
            refusal = nullcontext() if welcome else pytest.raises(InvalidStatus, match="403")
            with line, refusal, opened(f"http://{name}:{port}", PATIENCE, sock=line, origin=origin) as page:
                page.until(lambda m: True)
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


def test_a_viewer_shows_the_robot_that_comes_and_the_next_one_instead():
    node = viewer("-p", "use_sim_time:=true", urdf=None)
    first = URDF.read_text()
    second = first.replace("mini_cheetah", "other").replace("FR_knee", "FR_elbow")
    with running(node), peer() as us, opened(address(node), PATIENCE) as page:
        page.until(lambda m: "Waiting for a robot." in str(m.get("props", {}).get("_markdown", m)))
        us.until(lambda: us.status("viewer").get("message") == "waiting for robot_description", "it to say so")
        for text, joint in ((first, "FR_knee"), (second, "FR_elbow"), (first, "FR_knee")):
            us.send("robot_description", String(data=text), LATCHED)
            page.until(lambda m, joint=joint: m.get("name", "").endswith(f"/{joint}"))
            page.until(lambda m: m.get("props", {}).get("label") == "plot")
        us.send("robot_description", String(data="<robot"), LATCHED)
        us.until(lambda: "refused" in us.status("viewer").get("message", ""), "the broken one to be refused")
        us.send("robot_description", String(data=second), LATCHED)
        page.until(lambda m: m.get("name", "").endswith("/FR_elbow"))
        assert node.end() == (0, [])
    assert not [line for line in node.lines if "timers" in line]  # rclpy says it when those of before are still there


def test_a_mouse_holds_nothing_of_a_robot_that_is_replaced():
    node = viewer(urdf=None)
    with running(node), peer() as us, opened(address(node), PATIENCE) as page:
        us.send("robot_description", String(data=URDF.read_text()), LATCHED)
        page.until(lambda m: m.get("props", {}).get("label") == "plot")
        page.drag("start", mesh_of("base"), (0.0, 0.0, 0.3), (0.0, 1.0, 0.3))
        page.until(lambda m: m.get("name", "").startswith("/forces/pull"))
        us.send("robot_description", String(data=URDF.read_text().replace('"base"', '"body"')), LATCHED)
        page.until(lambda m: m.get("name", "").endswith("/body"))
        drawn = int(us.status("viewer").get("drawings", 0))
        us.until(lambda: 0 < int(us.status("viewer").get("drawings", 0)) != drawn, "it to draw on")
        assert node.end() == (0, [])


def test_a_box_is_ticked_as_its_node_says():
    node = viewer()
    with running(node), peer() as us, opened(address(node), PATIENCE) as page:
        box = controls(page, "feed-forward enabled")["feed-forward enabled"]
        for message, ticked in (("emergency stop", False), ("enabled", True), ("dry run", False)):
            status = DiagnosticStatus(name="feedforward: feedforward", message=message)
            us.send("/diagnostics", DiagnosticArray(status=[status]))
            told = page.until(lambda m: m["type"] == "GuiUpdateMessage" and m["uuid"] == box)
            assert told["updates"]["value"] is ticked
        assert node.end() == (0, [])


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
