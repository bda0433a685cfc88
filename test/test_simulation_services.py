# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The services of simulation_interfaces, asked of a plant that runs; all but their way over DDS.

Where that package is not installed, stand-ins with the same fields take the place of its types.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
import stand_in_interfaces
from geometry_msgs.msg import Quaternion, Twist, Vector3
from ros_nodes import PATIENCE, URDF, Process, compile_kernels, peer, running
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robot_dynamics.control.simulation import EPOCH
from robot_dynamics.ros import convert, simulation_services
from robot_dynamics.ros import plant as plant_module
from robot_dynamics.ros.plant import PlantNode
from robot_dynamics.share import share_folder

pytestmark = pytest.mark.ros
PERIOD = 0.002
PARAMETERS = (f"urdf_file:={URDF}", f"update_rate:={1.0 / PERIOD}", f"timestep:={PERIOD}")
STATE = (simulation_services.msg or stand_in_interfaces).SimulationState


class Asked:
    """A plant and the answers of its services."""

    def __init__(self, plant: PlantNode, services: dict[str, tuple[Any, Callable[[Any, Any], Any]]]):
        self.plant, self.simulation, self.services = plant, plant.simulation, services

    def ask(self, name: str, **fields: Any) -> Any:
        kind, callback = self.services[name]
        return callback(kind.Request(**fields), kind.Response())

    def set_state(self, state: int) -> int:
        return self.ask("set_simulation_state", state=STATE(state=state)).result.result

    @property
    def state(self) -> int:
        return self.ask("get_simulation_state").state.state


@pytest.fixture
def asked(monkeypatch) -> Iterator[Asked]:
    compile_kernels()
    services: dict[str, Any] = {}
    if simulation_services.srv is None:
        for name in ("msg", "srv", "action"):
            monkeypatch.setattr(simulation_services, name, stand_in_interfaces)

    def offer(_, kind, name, callback):
        services[name] = kind, callback

    def offer_action(_, name, callback):
        services[name] = None, callback

    monkeypatch.setattr(simulation_services.SimulationServices, "offer", offer)
    monkeypatch.setattr(simulation_services.SimulationServices, "offer_action", offer_action)
    rclpy.init(args=["--ros-args", *(word for p in PARAMETERS for word in ("-p", p))])
    plant = PlantNode("plant")
    try:
        plant.begin()
        yield Asked(plant, services)
    finally:
        plant.quit()
        plant.destroy_node()
        rclpy.try_shutdown()


def test_the_features_are_numbers_of_the_standard_and_all_services_are_offered(asked):
    assert asked.ask("get_simulator_features").features.features[:5] == [8, 10, 11, 12, 20]
    assert set(asked.services) == {
        "get_simulator_features",
        "get_simulation_state",
        "set_simulation_state",
        "reset_simulation",
        "step_simulation",
        "simulate_steps",
        "get_entities",
        "get_entities_states",
        "get_entity_state",
        "set_entity_state",
        "get_entity_info",
        "load_world",
    }


def test_play_pause_and_stop(asked):
    s = asked.simulation
    assert asked.state == STATE.STATE_PLAYING
    assert asked.set_state(STATE.STATE_PAUSED) == 1
    assert asked.set_state(STATE.STATE_PAUSED) == 101
    assert asked.state == STATE.STATE_PAUSED
    assert asked.ask("step_simulation", steps=1).result.result == 1
    assert s.time > EPOCH
    assert asked.set_state(STATE.STATE_STOPPED) == 1
    assert asked.state == STATE.STATE_STOPPED
    assert s.time == EPOCH
    assert s.plant.q.tolist() == s.home.tolist()
    assert asked.set_state(STATE.STATE_PAUSED) == 1
    assert asked.state == STATE.STATE_PAUSED
    assert s.time == EPOCH
    assert asked.set_state(STATE.STATE_PLAYING) == 1
    assert asked.state == STATE.STATE_PLAYING
    answer = asked.ask("set_simulation_state", state=STATE(state=STATE.STATE_QUITTING)).result
    assert (answer.result, "stopped, playing, paused" in answer.error_message) == (0, True)


def test_steps_are_done_when_the_answer_comes(asked):
    s = asked.simulation
    answer = asked.ask("step_simulation", steps=1).result
    assert (answer.result, answer.error_message) == (3, "only a paused simulation can be stepped")
    asked.set_state(STATE.STATE_STOPPED)
    for steps in (1, 0, 25):
        before = s.time
        assert asked.ask("step_simulation", steps=steps).result.result == 1
        assert s.time - before == pytest.approx(steps * PERIOD)
    assert asked.state == STATE.STATE_PAUSED


def test_steps_that_cannot_be_done_are_answered_with_the_reason(asked):
    asked.set_state(STATE.STATE_PAUSED)
    asked.plant.do(lambda: asked.plant.plant.push("base", [0.0, 0.0, 0.0, 1e300, 0.0, 0.0], 1.0))
    answer = asked.ask("step_simulation", steps=3).result
    assert (answer.result, "the plant stopped" in answer.error_message) == (4, True)
    assert asked.ask("reset_simulation").result.result == 1
    assert asked.ask("step_simulation", steps=3).result.result == 1


class Goal:
    """A goal of the action as rclpy hands it over; `cancel_after` so many steps it is asked to end."""

    def __init__(self, steps: int, cancel_after: int = -1):
        self.request, self.cancel_after = SimpleNamespace(steps=steps), cancel_after
        self.heard: list[tuple[int, int]] = []
        self.end = ""

    @property
    def is_cancel_requested(self) -> bool:
        return len(self.heard) == self.cancel_after

    def publish_feedback(self, feedback: Any) -> None:
        self.heard.append((feedback.completed_steps, feedback.remaining_steps))

    def succeed(self) -> None:
        self.end = "succeeded"

    def abort(self) -> None:
        self.end = "aborted"

    def canceled(self) -> None:
        self.end = "cancelled"


def test_the_action_tells_of_every_step_and_ends_paused(asked):
    simulate, s = asked.services["simulate_steps"][1], asked.simulation
    goal = Goal(3)
    result = simulate(goal).result
    assert (goal.end, result.result, goal.heard) == ("aborted", 4, [])
    assert result.error_message == "only a paused simulation can be stepped"
    asked.set_state(STATE.STATE_STOPPED)
    before, goal = s.time, Goal(3)
    assert simulate(goal).result.result == 1
    assert (goal.end, goal.heard) == ("succeeded", [(1, 2), (2, 1), (3, 0)])
    assert s.time - before == pytest.approx(3 * PERIOD)
    assert asked.state == STATE.STATE_PAUSED
    before, goal = s.time, Goal(10**9, cancel_after=2)
    assert simulate(goal).result.error_message == "cancelled"
    assert goal.end == "cancelled"
    assert s.time - before == pytest.approx(2 * PERIOD)


@pytest.mark.parametrize("how", ["resumed", "ended"])
def test_who_waits_for_steps_gets_an_answer_whatever_happens(asked, how):
    asked.set_state(STATE.STATE_PAUSED)
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(asked.ask("step_simulation", steps=10**9).result))
    waiting.start()
    before = asked.simulation.time
    while asked.simulation.time == before:
        waiting.join(0.001)
    if how == "resumed":
        asked.plant.on_pause(SimpleNamespace(data=False), SimpleNamespace())
    else:
        asked.plant.quit()
    waiting.join(PATIENCE)
    assert answers[0].result == 4
    assert answers[0].error_message == {"resumed": "the simulation was resumed", "ended": "the plant ends"}[how]


def test_a_reset_has_the_scope_that_is_asked_for(asked):
    s, plant = asked.simulation, asked.plant
    asked.set_state(STATE.STATE_PAUSED)
    plant.do(lambda: plant.carry(type(plant.plant)(plant.payloads.put("base", 2.0, np.zeros(3), np.eye(3)))))
    asked.ask("step_simulation", steps=10)
    mass = plant.model.mass
    before, q = s.time, s.plant.q
    asked.ask("reset_simulation", scope=1)
    assert s.time == EPOCH
    assert s.plant.q.tolist() == q.tolist() != s.home.tolist()
    asked.ask("step_simulation", steps=10)
    before = s.time
    asked.ask("reset_simulation", scope=2)
    assert s.time == before
    assert s.plant.q.tolist() == s.home.tolist()
    assert s.plant.model.mass == pytest.approx(mass + 2.0)
    asked.ask("reset_simulation", scope=4)
    assert s.plant.model.mass == pytest.approx(mass)
    asked.ask("step_simulation", steps=10)
    asked.ask("reset_simulation", scope=0)
    assert s.time == EPOCH
    assert s.plant.q.tolist() == s.home.tolist()
    assert plant.status()[:2] == (0, "paused")


def test_nothing_is_offered_without_the_package(monkeypatch, asked):
    asked.plant._deactivate()
    monkeypatch.setattr(simulation_services, "srv", None)
    asked.plant._activate()
    assert asked.plant.simulation_services is None


OVER_DDS = f"""
import sys
sys.path.insert(0, "{Path(__file__).parent}")
import stand_in_interfaces
from std_srvs.srv import Trigger
from robot_dynamics.ros import plant, run, simulation_services as services

def answered(self, kind, name, callback):
    def answer(_, response):
        said = callback(kind.Request(), kind.Response())
        response.success = said.result.result == 1 if hasattr(said, "result") else True
        return response
    offer(self, Trigger, name, answer)

offer, services.SimulationServices.offer = services.SimulationServices.offer, answered
services.SimulationServices.offer_action = lambda *_: None
services.msg = services.srv = stand_in_interfaces
parameters = ["urdf_file:={URDF}", "start_paused:=true"]
sys.exit(run.run(plant.PlantNode, "plant", ["", "--ros-args", *(w for p in parameters for w in ("-p", p))]))
"""


ROBOT = "mini_cheetah"


def filters(points=(), kind=0, categories=(), tags=(), name=""):
    types = simulation_services.msg
    return types.EntityFilters(
        filter=name,
        categories=[types.EntityCategory(category=c) for c in categories],
        tags=types.TagsFilter(tags=list(tags)),
        bounds=types.Bounds(type=kind, points=[Vector3(x=x, y=y, z=z) for x, y, z in points]),
    )


@pytest.mark.parametrize(
    ("asked_for", "found"),
    [
        ({}, True),
        ({"name": "^mini_.*h$"}, True),
        ({"name": "maxi"}, False),
        ({"categories": (0, 1)}, True),
        ({"categories": (2,)}, False),
        ({"tags": ("red",)}, False),
        ({"kind": 3, "points": ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))}, True),
        ({"kind": 3, "points": ((9.0, 0.0, 0.0), (1.0, 0.0, 0.0))}, False),
    ],
)
def test_the_robot_is_found_by_filters(asked, asked_for, found):
    expected = [ROBOT] if found else []
    assert asked.ask("get_entities", filters=filters(**asked_for)).entities == expected
    answer = asked.ask("get_entities_states", filters=filters(**asked_for))
    assert (answer.result.result, answer.entities, len(answer.states)) == (1, expected, found)


def test_the_robot_is_put_where_it_is_asked_to_be_and_says_so(asked):
    asked.set_state(STATE.STATE_PAUSED)
    state = asked.ask("get_entity_state", entity=ROBOT).state
    assert state.header.frame_id == "odom"
    state.pose.position.x, state.pose.position.z = 2.0, 1.5
    state.pose.orientation = Quaternion(z=float(np.sin(0.7)), w=float(np.cos(0.7)))
    state.twist = Twist(linear=Vector3(x=0.5), angular=Vector3(z=0.25))
    assert asked.ask("set_entity_state", entity=ROBOT, state=state, set_pose=True, set_twist=True).result.result == 1
    answer = asked.ask("get_entity_state", entity=ROBOT).state
    assert convert.pose_from_msg(answer.pose) == pytest.approx(convert.pose_from_msg(state.pose), abs=1e-12)
    assert answer.twist.angular.z == pytest.approx(0.25)
    assert [answer.twist.linear.x, answer.twist.linear.y] == pytest.approx([0.5, 0.0], abs=1e-12)
    assert asked.plant.plant.qd[3:6] == pytest.approx([0.5 * np.cos(1.4), -0.5 * np.sin(1.4), 0.0])
    assert asked.ask("set_entity_state", entity=ROBOT, state=state).result.result == 1
    info = asked.ask("get_entity_info", entity=ROBOT).info
    assert (info.category.category, info.description) == (1, "mini_cheetah: 12 joints, 8.25 kg")


def test_requests_about_entities_that_cannot_be_met_say_why(asked):
    lost, frame = simulation_services.msg.EntityState(), simulation_services.msg.EntityState()
    lost.pose.position.x, frame.header.frame_id = float("nan"), "map"
    for name, fields, code, text in (
        ("get_entity_state", {"entity": "dog"}, 2, "there is no entity 'dog'; valid names: mini_cheetah"),
        ("get_entity_info", {"entity": ""}, 2, "there is no entity ''"),
        ("set_entity_state", {"entity": "dog"}, 2, "there is no entity 'dog'"),
        ("set_entity_state", {"entity": ROBOT, "state": frame}, 0, "the frame must be 'odom' or empty"),
        ("set_entity_state", {"entity": ROBOT, "state": lost, "set_pose": True}, 101, "a pose must be finite"),
        ("get_entities", {"filters": filters(name="(")}, 4, "is no regular expression"),
        ("get_entities", {"filters": filters(kind=1, points=((0.0, 0.0, 0.0),) * 2)}, 0, "bounds can be a sphere"),
    ):
        result = asked.ask(name, **fields).result
        assert (result.result, text in result.error_message) == (code, True), result


def test_a_world_is_loaded_or_refused(asked):
    pytest.importorskip("yaml", reason="pyyaml is not installed")
    worlds = share_folder() / "worlds"

    def load(uri: str) -> Any:
        return asked.ask("load_world", world_resource=simulation_services.msg.Resource(uri=uri))

    answer = load(f"file://{worlds / 'stairs.yaml'}")
    assert (answer.result.result, answer.world.name) == (1, "stairs")
    assert len(asked.plant.plant.params.terrain) == 6
    assert load("").result.result == 102
    assert load("/nowhere.yaml").result.result == 103
    answer = load(str(worlds / "rough.yaml")).result
    assert (answer.result, "inside that ground" in answer.error_message) == (4, True)
    assert len(asked.plant.plant.params.terrain) == 6


def test_the_way_over_dds_and_the_end():
    """With std_srvs/Trigger for every type, as a stand-in cannot travel: one step each, answered by the second node."""
    plant = Process("plant", command=[sys.executable, "-c", OVER_DDS])
    with running(plant), peer() as us:
        plant.await_line("ready")
        us.listen(JointState, "joint_states", 10)
        us.until(lambda: us.status("plant").get("message") == "paused", "the diagnostic")
        for _ in range(3):
            assert us.call(Trigger, "plant/step_simulation").success
        us.until(lambda: len(us.heard["joint_states"]) == 3, "a state after every step")
        assert us.call(Trigger, "plant/get_simulation_state").success
        assert us.call(Trigger, "plant/reset_simulation").success
        assert us.call(Trigger, "plant/get_simulator_features").success
        assert {name for name in us.node.get_node_names() if "peer" not in name} == {"_plant_services", "plant"}
        assert plant.end() == (0, [])


def test_the_transform_of_the_base_is_that_of_odom(monkeypatch, asked):
    """Where tf2_msgs is installed; here a stand-in takes its place, whose messages are kept instead of sent."""
    sent: list[Any] = []
    monkeypatch.setattr(plant_module, "TFMessage", SimpleNamespace)
    asked.set_state(STATE.STATE_PAUSED)
    asked.plant.transforms = SimpleNamespace(publish=sent.append)
    q = asked.simulation.plant.q
    asked.plant.publish_slowly(1_500_000_000, q)
    (transform,) = sent[0].transforms
    t, r = transform.transform.translation, transform.transform.rotation
    assert [t.x, t.y, t.z, r.x, r.y, r.z, r.w] == q[:7].tolist()
    assert (transform.header.frame_id, transform.child_frame_id) == ("odom", "base")
    assert (transform.header.stamp.sec, transform.header.stamp.nanosec) == (1, 500_000_000)
