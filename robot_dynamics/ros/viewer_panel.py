# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The page's controls: what people do there becomes services, topics and parameters of the other nodes."""

from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from std_msgs.msg import UInt32
from std_srvs.srv import SetBool, Trigger

from ..model.model import Model
from .component import RELIABLE, Component

SERVICES: dict[str, type] = {
    "plant/pause": SetBool,
    "plant/reset": Trigger,
    "plant/estop": SetBool,
    "plant/set_parameters": SetParameters,
    "controller/gait": SetBool,
    "feedforward/enable": SetBool,
    "feedforward/estop": SetBool,
}
FACTORS = {"0.1": 0.1, "0.25": 0.25, "0.5": 0.5, "1": 1.0, "2": 2.0, "as fast as possible": 0.0}
STEPS = (1, 10, 100)
SHOWN = {
    "forces": "contact forces",
    "wanted": "forces that the feed-forward asks for",
    "cones": "friction cones",
    "polygon": "support polygon",
    "com": "centre of mass",
}
"""What can be hidden, by the name of its node in the scene."""
LOAD_SIZE = 0.1
"""Edge of the cube that a payload is taken for [m]."""
Done = Callable[[Any], None]
Ask = Callable[[Callable[[], None]], None]
"""Has something done by the node's own thread."""


class Remote:
    """The other nodes of the loop, as far as the page commands them; every method is called by the node's own thread.

    `tell` says a sentence to those who look.
    """

    def __init__(self, node: Component, tell: Callable[[str], None]):
        """Make clients and publishers; nobody needs to be there."""
        self.node, self.tell = node, tell
        self.clients = {name: node.client(kind, name) for name, kind in SERVICES.items()}
        self.steps = node.publisher(UInt32, "plant/step", RELIABLE)
        topics = ("plant/payload", "feedforward/payload")
        self.payloads = [node.publisher(InertiaStamped, topic, RELIABLE) for topic in topics]

    def call(self, name: str, request: Any, done: Done = lambda answer: None) -> None:
        """Call a service; `done` gets the answer, who looks is told where there is none or it is a refusal."""
        client = self.clients[name]
        if not client.service_is_ready():
            self.tell(f"nobody answers {name}")
            return

        def answered(future: Any) -> None:
            answer = future.result()
            if answer is None:
                return
            if not getattr(answer, "success", True):
                self.tell(f"{name}: {answer.message}")
            done(answer)

        client.call_async(request).add_done_callback(answered)

    def switch(self, name: str, on: bool) -> None:
        """Call a service that takes a SetBool."""
        self.call(name, SetBool.Request(data=on))

    def reset(self) -> None:
        """Put the robot back to its start."""
        self.call("plant/reset", Trigger.Request())

    def step(self, ticks: int) -> None:
        """Go on by so many ticks of a paused plant."""
        self.steps.publish(UInt32(data=ticks))

    def stop(self, on: bool) -> None:
        """Emergency stop of the plant, and of the feed-forward where there is one; or their release."""
        for name in ("plant/estop", "feedforward/estop"):
            if self.clients[name].service_is_ready():
                self.switch(name, on)
        if not any(self.clients[name].service_is_ready() for name in ("plant/estop", "feedforward/estop")):
            self.tell("nobody answers plant/estop or feedforward/estop")

    def pace(self, factor: float) -> None:
        """Ask for a real-time factor."""
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=factor)
        wanted = [Parameter(name="real_time_factor", value=value)]

        def done(answer: Any) -> None:
            for result in answer.results:
                if not result.successful:
                    self.tell(f"real_time_factor: {result.reason}")

        self.call("plant/set_parameters", SetParameters.Request(parameters=wanted), done)

    def load(self, link: str, mass: float) -> None:
        """Fix a cube of this mass [kg] at the origin of a link, or take it away with mass 0."""
        msg = InertiaStamped()
        msg.header.frame_id = link
        msg.inertia.m = mass
        msg.inertia.ixx = msg.inertia.iyy = msg.inertia.izz = mass * LOAD_SIZE**2 / 6.0
        for publisher in self.payloads:
            publisher.publish(msg)


class Panel:
    """What stands in the page's panel."""

    def __init__(self, gui: Any, model: Model, ask: Ask, hide: Callable[[str, bool], None]):
        """Make what everybody may use; `hide` hides a part of the scene, or shows it again."""
        self.gui, self.model, self.ask = gui, model, ask
        self.state = gui.add_markdown("")
        self.boxes: dict[str, Any] = {}
        self.told: Mapping[str, bool] = {}
        self.factor: Any = None
        self.pace = 1.0
        """Real-time factor that the plant began with; one of the choices, if not among FACTORS."""
        with gui.add_folder("Show", expand_by_default=False):
            for kind, label in SHOWN.items():
                box = gui.add_checkbox(label, initial_value=kind != "cones")
                box.on_update(lambda event, kind=kind: hide(kind, not event.target.value))
                hide(kind, not box.value)

    def add_controls(self, remote: Remote) -> None:
        """Add what commands the other nodes."""
        with self.gui.add_folder("Simulation"):
            paused = self._checkbox("paused", False, lambda on: remote.switch("plant/pause", on))
            steps = self.gui.add_button_group("ticks", tuple(map(str, STEPS)))
            steps.on_click(lambda event: self.ask(lambda: remote.step(int(event.target.value))))
            self.factor = self.gui.add_dropdown("real-time factor", tuple(FACTORS), initial_value="1")
            self.factor.on_update(self._by_people(lambda value: remote.pace(FACTORS.get(value, self.pace))))
            self._button("reset", remote.reset)
        with self.gui.add_folder("Control"):
            trot = self._checkbox("trot", False, lambda on: remote.switch("controller/gait", on))
            enabled = self._checkbox("feed-forward enabled", True, lambda on: remote.switch("feedforward/enable", on))
            self._button("emergency stop", lambda: remote.stop(True), color="red")
            self._button("release the stop", lambda: remote.stop(False))
        self.boxes = {"plant": paused, "controller": trot, "feedforward": enabled}
        with self.gui.add_folder("Push and load"):
            self.gui.add_markdown("Drag a link with the mouse to pull it.")
            self.strength = self.gui.add_slider("weights per metre", min=0.5, max=10.0, step=0.5, initial_value=3.0)
            self._pushes_and_loads(remote)

    def _pushes_and_loads(self, remote: Remote) -> None:
        model = self.model
        moving = tuple(name for name, body in zip(model.link_names, model.link_bodies, strict=True) if body)
        if not moving:
            return
        link = self.gui.add_dropdown("link", moving)
        most = round(max(0.5 * model.mass, 0.1), 1)
        mass = self.gui.add_slider("payload [kg]", min=0.0, max=most, step=0.1, initial_value=0.0)
        self._button("load", lambda: remote.load(link.value, float(mass.value)))

    def _button(self, label: str, do: Callable[[], None], **options: Any) -> None:
        self.gui.add_button(label, **options).on_click(lambda _: self.ask(do))

    def _checkbox(self, label: str, value: bool, do: Callable[[bool], None]) -> Any:
        box = self.gui.add_checkbox(label, initial_value=value)
        box.on_update(self._by_people(do))
        return box

    def _by_people(self, do: Callable[[Any], None]) -> Callable[[Any], None]:
        """Call `do` with the new value where a browser changed it, not where we did."""

        def changed(event: Any) -> None:
            value = event.target.value
            if event.client is not None:
                self.ask(lambda: do(value))

        return changed

    def show_pace(self, factor: float) -> None:
        """Choose the real-time factor that the plant has."""
        if self.factor is None:
            return
        self.pace = factor
        text = next((text for text, x in FACTORS.items() if x == factor), f"{factor:g}")
        self.factor.options = tuple(dict.fromkeys((*FACTORS, text)))
        self.factor.value = text

    def say(self, text: str, told: Mapping[str, bool]) -> None:
        """Show a state in words, and `told` by nodes in their boxes where it is news: older than a click it is none."""
        if self.state.content != text:
            self.state.content = text
        for name, box in self.boxes.items():
            if told.get(name, self.told.get(name)) != self.told.get(name) and box.value != told[name]:
                box.value = told[name]
        self.told = {**self.told, **told}
