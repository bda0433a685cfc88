# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node `viewer`: the running robot in a browser, with its forces and the ground, plots, and controls."""

import os
import time
from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import GetParameters
from rclpy.time_source import CLOCK_TOPIC
from sensor_msgs.msg import JointState, MultiDOFJointState
from visualization_msgs.msg import Marker, MarkerArray

from ..contact.points import contact_points
from ..control.state import MeasuredState
from ..core.arrays import Array
from ..dynamics.algorithms import center_of_mass
from ..dynamics.kinematics import link_pose, point_position
from ..view.forces import ForcePen
from ..view.looks import description_text, looks
from ..view.page import address, on_page, serve
from ..view.scene import REAL, WANTED, ForceFigure, Ground, RobotFigure, size_of
from ..view.surfaces import Cuboid
from . import wire
from .component import LATCHED, NEWEST, OK, RELIABLE, STALE, Component
from .parameters import ViewerParameters
from .run import run
from .viewer_panel import Panel, Remote
from .viewer_plots import Plot, Sources

NICENESS = 10
"""Whoever closes the loop comes first."""
TEXT_PERIOD = 0.5
"""Wall time from one line of state to the next [s]."""
STRONGEST = 3.0
"""Largest pull by the mouse, in weights of the robot."""
LENGTH = 0.8
"""Length of the arrow of a force as large as the weight [m], for a robot of one metre."""
PLANT = ("friction", "push_duration", "real_time_factor")
"""Parameters that a plant is asked for."""
FORCES_EVERY = 3
"""Forces are drawn in one picture of so many."""
TOLD = 1.2
"""Wall time after which a plant has told that it is paused [s]."""
TICKS = {
    "controller": {"standing": False, "trotting": True},
    "feedforward": {"dry run": False, "emergency stop": False, "enabled": True},
}
"""What the box of a node shows where the node says so."""
LEVELS = {0: "", 1: "⚠ ", 2: "✖ ", 3: "… "}


@dataclass
class Pull:
    """A link that a mouse holds: taken at `start`, mouse at `end`, world axes; `held` is `start` in link axes."""

    link: str
    start: Array
    end: Array
    held: Array | None = None


class ViewerNode(Component):
    """Draws the newest messages at `rate` while somebody looks; what happens on the page waits for the next drawing."""

    kind, follows = ViewerParameters, True

    def __init__(self, name: str):
        """Serve the page before there is a robot. Raises as Component, and where the page cannot be served."""
        self.stamp = 0.0  # told as the time by diagnostics, also before there is a robot
        super().__init__(name)
        v = self.values
        self.server = serve(v.host, v.port)
        self.figure: RobotFigure | None = None
        self.requests: deque[Callable[[], None]] = deque()
        self.pulls: dict[int, Pull] = {}
        self.server.on_client_disconnect(lambda client: self.ask(lambda: self.let_go(client.client_id)))
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.server.gui.add_markdown("Waiting for a robot.")
        self.server.scene.add_light_hemisphere("/light", intensity=0.6)
        if v.port and self.server.get_port() != v.port:
            self.get_logger().warning(f"port {v.port} is taken")
        self.get_logger().info(f"the robot is shown at {address(self.server)}")

    def build(self) -> None:
        """Read what the robot looks like, and put it and the panel into the page."""
        v, model = self.values, self.model
        found, problems = looks(model, description_text(self.description()))
        for problem in problems:
            self.get_logger().warning(problem)
        self.state = MeasuredState(model, np.inf)
        self.patience = v.state_timeout
        self.readers = {kind: wire.Reader(kind) for kind in (JointState, Odometry)}
        self.contact_reader, self.force_reader = wire.Reader(MultiDOFJointState), wire.Reader(MultiDOFJointState)
        self.weight = max(float(model.mass * np.linalg.norm(model.gravity)), 1e-6)
        self.size = size_of(model, self.state.q)
        self.push_duration, self.pulling = 0.1, False
        self.pen = ForcePen(v.friction, self.weight, LENGTH * self.size)
        self.statuses: dict[str, tuple[int, str]] = {}
        self.drawings, self.receipt, self.stamp = 0, -np.inf, 0.0  # the second by the steady clock of this computer
        on_page(self.server, lambda: self._put_figures(found))

    def _put_figures(self, found: Any) -> None:
        server, model = self.server, self.model
        server.scene.reset()
        server.scene.set_up_direction("+z")
        self.figure = RobotFigure(server.scene, model, found)
        self.forces, self.ground = ForceFigure(server.scene, "/forces", self.size), Ground(server.scene)
        if model.floating_base:
            self.state.q[2] = self._standing_height()
        self.figure.pose(self.state.q)
        x, y, z = self.state.q[:3] if model.floating_base else (0.0, 0.0, 0.5 * self.size)
        server.initial_camera.position = (x + 1.3 * self.size, y - 1.3 * self.size, z + 0.7 * self.size)
        server.initial_camera.look_at = (x, y, z - 0.1 * self.size)
        if self.values.controls:
            for mesh, link in zip(self.figure.meshes, self.figure.links, strict=True):
                mesh.on_drag("left")(self._dragged(link))

    def _standing_height(self) -> float:
        """Height of the base at which the lowest contact point touches z = 0 [m]: until odom tells better."""
        points = contact_points(self.model)
        if not len(points):
            return 0.0
        return -float((point_position(self.model, points, self.state.q)[:, 2] - points.radius).min())

    def _put_panel(self) -> None:
        gui = self.server.gui
        gui.reset()
        self.requests.clear()  # they and the mice that hold links meant what was there until now
        self.pulls.clear()
        gui.set_panel_label(self.model.name)
        self.panel = Panel(gui, self.model, self.ask, self.hide)
        if self.values.controls:
            self.panel.add_controls(Remote(self, self.tell))
        with gui.add_folder("Plot", expand_by_default=False):
            self.plot = Plot(gui, Sources(self), self.model, self.ask)

    def start(self) -> None:
        """Listen; nothing wakes up when a message comes."""
        self.update_joints = self.latest(JointState, "joint_states", self.on_state, NEWEST)
        self.update_base: Callable[[], None] | None = None
        self.contacts: tuple[Array, Array] = (np.zeros((0, 3)), np.zeros((0, 3)))
        self.wanted = self.contacts
        self.force_updates: list[Callable[[], None]] = []
        self.subscription(MarkerArray, "plant/ground", self.on_ground, LATCHED)
        self.subscription(DiagnosticArray, "/diagnostics", self.on_status, RELIABLE)
        self.pushes = self.publisher(WrenchStamped, "plant/push", RELIABLE)
        self.pushed_at = self.said_at = 0.0
        on_page(self.server, self._put_panel)
        self.asked = self.client(GetParameters, "plant/get_parameters")
        self.learnt = False
        self.timer(1.0, self.learn)
        self.timer(1.0 / self.values.rate, self.on_draw)
        self.plot.choose()

    def stop(self) -> None:
        """Say on the page that nothing moves any more."""
        on_page(self.server, lambda: self.panel.say("inactive", {}))
        self.plot.forget()

    def ask(self, request: Callable[[], None]) -> None:
        """Have something done by the node's thread: called by those of the page."""
        self.requests.append(request)

    def let_go(self, client: int) -> None:
        """Pull no more for a page that has let go or was closed."""
        self.pulls.pop(client, None)

    def hide(self, kind: str, hidden: bool) -> None:
        """Hide or show a part of the scene from the next drawing on."""
        (self.forces.hidden.add if hidden else self.forces.hidden.discard)(kind)

    def tell(self, sentence: str) -> None:
        """Say something to all who look."""

        def show() -> None:
            for client in self.server.get_clients().values():
                client.add_notification("robot_dynamics", sentence, auto_close_seconds=6.0)

        on_page(self.server, show)

    def learn(self) -> None:
        """Ask a plant once for what it knows better."""
        if self.learnt or not self.asked.service_is_ready():
            return
        self.learnt = True
        self.asked.call_async(GetParameters.Request(names=list(PLANT))).add_done_callback(self.on_learnt)

    def on_learnt(self, future: Any) -> None:
        """Take the plant's friction, how long a push of it lasts, and its pace."""
        if (answer := future.result()) is not None and len(answer.values) == len(PLANT):
            friction, self.push_duration, pace = (value.double_value for value in answer.values)
            on_page(self.server, lambda: self.panel.show_pace(pace))
            self.pen = ForcePen(friction, self.weight, LENGTH * self.size)

    # Messages.

    def on_state(self, data: bytes) -> None:
        """Take joint positions; whatever their stamp is, they are shown."""
        msg = self.readers[JointState].read(data)
        if self.state.set_joints(msg.names, *wire.columns_from_joint_state(msg), 0.0, time.monotonic()):
            self.stamp, self.receipt = msg.stamp, time.monotonic()
        else:
            self.warn(f"joint_states {self.state.joints.problem}")

    def on_base(self, data: bytes) -> None:
        """Take the base's pose."""
        msg = self.readers[Odometry].read(data)
        pose, twist = wire.base_from_odometry(msg)
        if self.model.floating_base and not self.state.set_base(pose, twist, 0.0, time.monotonic()):
            self.warn(f"odom {self.state.base.problem}")

    def on_contacts(self, data: bytes) -> None:
        """Take forces of the ground."""
        self.contacts = finite(*wire.points_from_contacts(self.contact_reader.read(data))[::2])

    def on_wanted(self, data: bytes) -> None:
        """Take the forces that the feed-forward asks for."""
        self.wanted = finite(*wire.points_from_contacts(self.force_reader.read(data))[::2])

    def on_ground(self, msg: MarkerArray) -> None:
        """Draw another ground."""
        shapes = [shape for marker in msg.markers if (shape := shape_from_marker(marker)) is not None]
        on_page(self.server, lambda: self.ground.show(shapes))

    def on_status(self, msg: DiagnosticArray) -> None:
        """Remember what the nodes beside this one say."""
        space = self.get_namespace().strip("/")
        for status in msg.status:
            path = status.name.split(":")[0]
            where, _, name = path.rpartition("/")
            if where == space and name != self.get_name():
                self.statuses[name] = status.level[0], status.message

    # Drawing.

    def on_draw(self) -> None:
        """Have the page's thread do what was asked for on it, and draw; without it where nobody looks."""
        if self.requests or self.update_base or self.server.get_clients():
            on_page(self.server, self.update_page)
        else:
            self.update_joints()

    def update_page(self) -> None:
        """Do what was asked for on the page, and draw the newest state if anybody looks; this node's thread waits."""
        while self.requests:
            self.requests.popleft()()
        self.update_joints()
        looked_at = bool(self.server.get_clients())
        if looked_at != (self.update_base is not None):
            self.hear_more(looked_at)
        if not looked_at:
            return
        self.drawings += 1
        now = time.monotonic()
        with self.server.atomic():
            self.draw()
        if self.plot.chosen:
            self.plot.sample(self.stamp, now)
        if now - self.said_at >= TEXT_PERIOD:
            self.said_at = now
            self.panel.say(self.text(), self.ticks())

    def hear_more(self, listen: bool) -> None:
        """Subscribe to base and forces while somebody looks: they are the most of what comes."""
        for update in (self.update_base, *self.force_updates):
            if update is not None:
                self.release(update)
        self.update_base = self.latest(Odometry, "odom", self.on_base, NEWEST) if listen else None
        topics = {"contacts": self.on_contacts, "feedforward/foot_forces": self.on_wanted} if listen else {}
        self.force_updates = [self.latest(MultiDOFJointState, topic, on, NEWEST) for topic, on in topics.items()]

    def draw(self) -> None:
        """Put everything where it is now."""
        if self.figure is None:
            return
        if self.update_base is not None:
            self.update_base()
        self.figure.pose(self.state.q)
        if not self.drawings % FORCES_EVERY:
            self.draw_forces(self.pen)
        if self.pulls or self.pulling:
            self.pull(self.pen)

    def draw_forces(self, pen: ForcePen) -> None:
        """Put the forces where they are now."""
        for update in self.force_updates:
            update()
        self.forces.show(pen.draw(*self.contacts, center_of_mass(self.model, self.state.q)))
        position, force = self.wanted
        asked = np.linalg.norm(force, axis=1) > 1e-3 * self.weight
        self.forces.arrows("wanted", pen.arrows(position[asked], force[asked]), WANTED)

    def pull(self, pen: ForcePen) -> None:
        """Push the links that mice hold towards these."""
        arrows = []
        due = abs(self.stamp - self.pushed_at) >= self.push_duration
        for pull in list(self.pulls.values()):
            R, p = link_pose(self.model, self.state.q, pull.link)
            if pull.held is None:
                pull.held = R.T @ (pull.start - p)
            at = p + R @ pull.held
            force = self.panel.strength.value * self.weight * (pull.end - at)
            force *= min(1.0, STRONGEST * self.weight / max(float(np.linalg.norm(force)), 1e-9))
            arrows.append((at, at + pen.scale * force))
            if due:
                self.pushes.publish(push(pull.link, np.cross(at - p, force), force))
                self.pushed_at = self.stamp
        self.forces.arrows("pull", np.array(arrows).reshape(-1, 2, 3), REAL)
        self.pulling = bool(arrows)

    def _dragged(self, link: str) -> Callable[[Any], Any]:
        """Take what a mouse does with a link; asynchronous, for viser calls others in any order."""

        async def dragged(event: Any) -> None:
            end = np.array(event.end_position, dtype=float)
            start, client, over = np.array(event.start_position, dtype=float), event.client_id, event.phase == "end"

            def follow() -> None:
                if over:
                    self.let_go(client)
                elif client in self.pulls:
                    self.pulls[client].end = end
                else:
                    self.pulls[client] = Pull(link, start, end)

            self.ask(follow)

        return dragged

    def text(self) -> str:
        """State in words: time, and what every node says."""
        lines = [f"**{self.missing() or f'{self.stamp:.1f} s'}**"]
        lines += [f"{name}: {LEVELS.get(level, '')}{said}" for name, (level, said) in sorted(self.statuses.items())]
        return "  \n".join(lines)

    def ticks(self) -> dict[str, bool]:
        """What the nodes' words say of the boxes that switch them; nothing of those that say something else."""
        said = {name: words for name, (_, words) in self.statuses.items()}
        known = {name: words[said[name]] for name, words in TICKS.items() if said.get(name) in words}
        return known | ({"plant": said["plant"].endswith("paused")} if "plant" in said else {})

    def changed(self, names: Set[str]) -> None:
        """Use a new timeout."""
        self.patience = self.values.state_timeout

    def missing(self) -> str:
        """Say whether joint states have fallen silent, without a plant that is paused."""
        _, plant = self.statuses.get("plant", (OK, ""))
        patience = max(self.patience, TOLD) if plant else self.patience
        late = time.monotonic() - self.receipt > patience and not plant.endswith("paused")
        return "no joint_states" if late else ""

    def nanoseconds(self) -> int:
        """Time of the newest joint state where time is simulated."""
        return round(1e9 * self.stamp) if self.get_parameter("use_sim_time").value else super().nanoseconds()

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[..., None], qos_profile: Any, **options: Any
    ) -> Any:
        """Do without /clock: as many messages again as joint states, for what these tell as well."""
        if topic == CLOCK_TOPIC:
            return None
        return super().create_subscription(msg_type, topic, callback, qos_profile, **options)

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Report who looks, and refused messages."""
        level, doubts = self.doubts(self.state.counts())
        values = {"address": address(self.server), "pages": len(self.server.get_clients()), "drawings": self.drawings}
        if missing := self.missing():
            return STALE, missing, values | doubts
        return level, "inputs refused" if level != OK else "running", values | doubts


def finite(position: Array, force: Array) -> tuple[Array, Array]:
    """Points (k, 3) and forces (k, 3) that can be drawn."""
    good = np.isfinite(position).all(axis=1) & np.isfinite(force).all(axis=1)
    return position[good], force[good]


def push(link: str, moment: Array, force: Array) -> WrenchStamped:
    """Make a wrench on a link at its origin, world axes."""
    msg = WrenchStamped()
    msg.header.frame_id = link
    msg.wrench.torque.x, msg.wrench.torque.y, msg.wrench.torque.z = moment.tolist()
    msg.wrench.force.x, msg.wrench.force.y, msg.wrench.force.z = force.tolist()
    return msg


def shape_from_marker(marker: Marker) -> Cuboid | Array | None:
    """Cuboid or corners of triangles (3 k, 3) that a marker of the plant's ground stands for; None for others."""
    if marker.action != Marker.ADD:
        return None
    if marker.type == Marker.TRIANGLE_LIST:
        return np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3)
    size, p, o = marker.scale, marker.pose.position, marker.pose.orientation
    at, turn = np.array([p.x, p.y, p.z]), np.array([o.x, o.y, o.z, o.w])
    return Cuboid(np.array([size.x, size.y, size.z]), at, turn) if marker.type == Marker.CUBE else None


def main() -> int:
    """Run the node; returns the exit code."""
    os.nice(NICENESS)
    return run(ViewerNode, "viewer")


if __name__ == "__main__":
    raise SystemExit(main())
