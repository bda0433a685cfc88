# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The services of simulation_interfaces, which the plant offers where that package is installed (it is not on PyPI)."""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor

from ..control.simulation import Simulation
from ..errors import RobotDynamicsError
from .entities import Entities, UnfitError

try:
    from simulation_interfaces import action, msg, srv
except ImportError:
    action = msg = srv = None

FEATURES = (
    "ENTITY_CATEGORIES",
    "ENTITY_STATE_GETTING",
    "ENTITY_STATE_SETTING",
    "ENTITY_INFO_GETTING",
    "SIMULATION_RESET",
    "SIMULATION_RESET_TIME",
    "SIMULATION_RESET_STATE",
    "SIMULATION_RESET_SPAWNED",
    "SIMULATION_STATE_GETTING",
    "SIMULATION_STATE_SETTING",
    "SIMULATION_STATE_PAUSE",
    "STEP_SIMULATION_SINGLE",
    "STEP_SIMULATION_MULTIPLE",
    "STEP_SIMULATION_ACTION",
    "WORLD_LOADING",
)
PATIENCE = 0.1
"""Wall time between looks whether the plant still runs [s]."""


class SimulatingNode(Protocol):
    """What the services ask of the plant's node."""

    context: rclpy.Context
    simulation: Simulation
    stopping: bool
    values: Any

    def get_name(self) -> str:
        """Its name, to which the services belong."""

    def get_namespace(self) -> str:
        """Where it is."""

    def resolve_service_name(self, name: str) -> str:
        """Name of a service of its own, remapped as the user asks."""

    def do(self, request: Callable[[], None]) -> threading.Event:
        """Ask the simulation's thread for something; the event tells when it is done."""

    def step(self, ticks: int) -> threading.Event:
        """Ask for so many ticks while paused; the event tells when they are done, or will not be."""

    def start_again(self) -> None:
        """Stop as if just started, but paused."""

    def unload(self) -> None:
        """Take all payloads away."""

    def load_world(self, path: str) -> Callable[[], None]:
        """Read a ground from a file; the result puts it under the robot, or raises, in the simulation's thread."""


class SimulationServices:
    """Answers for one plant in a thread of its own: steps are answered when done, and commands come meanwhile.

    A node of its own, because rclpy answers the services of one node one after the other; its leading underscore hides
    it from lists.
    """

    def __init__(self, plant: SimulatingNode):
        """Offer the services under the plant's name."""
        self.plant = plant
        self.node = rclpy.create_node(
            f"_{plant.get_name()}_services",
            context=plant.context,
            namespace=plant.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self.entities = Entities(plant.simulation, plant.values.odom_frame, msg)
        self.offer(srv.GetSimulatorFeatures, "get_simulator_features", self.on_features)
        self.offer(srv.GetSimulationState, "get_simulation_state", self.on_get_state)
        self.offer(srv.SetSimulationState, "set_simulation_state", self.on_set_state)
        self.offer(srv.ResetSimulation, "reset_simulation", self.on_reset)
        self.offer(srv.StepSimulation, "step_simulation", self.on_step)
        self.offer(srv.GetEntities, "get_entities", self.on_entities)
        self.offer(srv.GetEntitiesStates, "get_entities_states", self.on_entities)
        self.offer(srv.GetEntityState, "get_entity_state", self.on_entity_state)
        self.offer(srv.SetEntityState, "set_entity_state", self.on_set_entity_state)
        self.offer(srv.GetEntityInfo, "get_entity_info", self.on_entity_info)
        self.offer(srv.LoadWorld, "load_world", self.on_load_world)
        self.offer_action("simulate_steps", self.on_simulate_steps)
        self.executor = MultiThreadedExecutor(num_threads=3, context=plant.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.answer, name="simulation services", daemon=True)
        self.thread.start()

    def offer(self, kind: type, name: str, callback: Any) -> None:
        """Create one service, named and remapped as if it were the plant's."""
        self.node.create_service(kind, self.plant.resolve_service_name(f"~/{name}"), callback)

    def offer_action(self, name: str, callback: Any) -> None:
        """Create the action; one goal is carried out while services and its cancellation are answered beside it."""
        self.steps_action = ActionServer(
            self.node,
            action.SimulateSteps,
            self.plant.resolve_service_name(f"~/{name}"),
            callback,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def answer(self) -> None:
        """Answer until closed."""
        with contextlib.suppress(ExternalShutdownException):
            self.executor.spin()

    def close(self) -> None:
        """Stop answering."""
        self.executor.shutdown(timeout_sec=PATIENCE)
        self.thread.join(timeout=2.0 * PATIENCE)
        self.node.destroy_node()

    def on_features(self, _: Any, response: Any) -> Any:
        """Say which parts of the standard there are."""
        response.features.features = [getattr(msg.SimulatorFeatures, name) for name in FEATURES]
        response.features.custom_info = "robot_dynamics plant: payloads count as spawned"
        return response

    def on_get_state(self, _: Any, response: Any) -> Any:
        """Say whether the plant is stopped, playing or paused."""
        response.state.state = self.state()
        return done(response)

    def state(self) -> int:
        """Return the state of the plant; stopped is paused at the start."""
        simulation = self.plant.simulation
        if not simulation.paused:
            return msg.SimulationState.STATE_PLAYING
        return msg.SimulationState.STATE_STOPPED if simulation.stopped else msg.SimulationState.STATE_PAUSED

    def on_set_state(self, request: Any, response: Any) -> Any:
        """Play, pause, or stop, which is pause and reset."""
        wanted, kind = request.state.state, msg.SimulationState
        names = {kind.STATE_STOPPED: "stopped", kind.STATE_PLAYING: "playing", kind.STATE_PAUSED: "paused"}
        if wanted not in names:
            text = f"the plant can be {', '.join(names.values())}; its lifecycle or a signal ends it"
            return failed(response, msg.Result.RESULT_FEATURE_UNSUPPORTED, text)
        if wanted == self.state():
            text = f"already {names[wanted]}"
            return failed(response, srv.SetSimulationState.Response.ALREADY_IN_TARGET_STATE, text)
        self.obeyed(self.plant.do(lambda: self.enter(wanted)))
        return done(response)

    def enter(self, state: int) -> None:
        """Play, pause, or stop; runs in the simulation's thread."""
        if state == msg.SimulationState.STATE_STOPPED:
            self.plant.start_again()
        else:
            self.plant.simulation.switch(state == msg.SimulationState.STATE_PLAYING)
            self.plant.simulation.stopped = False

    def on_reset(self, request: Any, response: Any) -> Any:
        """Put back the time, the robot, or take payloads away; all of it by default."""
        kind, simulation = srv.ResetSimulation.Request, self.plant.simulation
        scope = request.scope or kind.SCOPE_ALL
        parts = {
            kind.SCOPE_SPAWNED: self.plant.unload,
            kind.SCOPE_STATE: simulation.reset,
            kind.SCOPE_TIME: simulation.rewind,
        }
        for part, reset in parts.items():
            if scope & part:
                self.obeyed(self.plant.do(reset))
        return done(response)

    def on_step(self, request: Any, response: Any) -> Any:
        """Go on by so many ticks; only while paused."""
        if not self.plant.simulation.paused:
            return failed(response, msg.Result.RESULT_INCORRECT_STATE, "only a paused simulation can be stepped")
        problem = self.stepped(request.steps)
        return failed(response, msg.Result.RESULT_OPERATION_FAILED, problem) if problem else done(response)

    def stepped(self, ticks: int) -> str:
        """Go on by so many ticks while paused; returns what kept it from that, if anything did."""
        simulation = self.plant.simulation
        if not self.obeyed(self.plant.step(ticks)):
            return "the plant ends"
        return simulation.problem or ("" if simulation.paused else "the simulation was resumed")

    def on_simulate_steps(self, goal: Any) -> Any:
        """Go on tick by tick, with word after each, until all are done, cancelled or something keeps it from that."""
        result, feedback = action.SimulateSteps.Result(), action.SimulateSteps.Feedback()
        steps = goal.request.steps
        problem = "" if self.plant.simulation.paused else "only a paused simulation can be stepped"
        for completed in range(1, steps + 1):
            if problem or goal.is_cancel_requested:
                break
            if problem := self.stepped(1):
                break
            feedback.completed_steps, feedback.remaining_steps = completed, steps - completed
            goal.publish_feedback(feedback)
        if problem:
            goal.abort()
            return failed(result, msg.Result.RESULT_OPERATION_FAILED, problem)
        if goal.is_cancel_requested:
            goal.canceled()
            return failed(result, msg.Result.RESULT_OPERATION_FAILED, "cancelled")
        goal.succeed()
        return done(result)

    def on_entities(self, request: Any, response: Any) -> Any:
        """Return the robot if all filters let it pass, with its state where that is asked for."""
        try:
            response.entities = self.entities.find(request.filters)
        except UnfitError as problem:
            return failed(response, problem.code, str(problem))
        if response.entities and hasattr(response, "states"):
            response.states = [msg.EntityState()]
            self.obeyed(self.plant.do(lambda: self.entities.write_state(response.states[0])))
        return done(response)

    def on_entity_state(self, request: Any, response: Any) -> Any:
        """Return pose and twist of the robot's base."""
        try:
            self.entities.known(request.entity)
        except UnfitError as problem:
            return failed(response, problem.code, str(problem))
        self.obeyed(self.plant.do(lambda: self.entities.write_state(response.state)))
        return done(response)

    def on_set_entity_state(self, request: Any, response: Any) -> Any:
        """Put the robot's base there, as `~/set_pose` does, with a twist if that is asked for."""
        try:
            pose, twist = self.entities.wanted(request, srv.SetEntityState.Response.INVALID_POSE)
        except UnfitError as problem:
            return failed(response, problem.code, str(problem))
        if pose is not None or twist is not None:
            self.obeyed(self.plant.do(lambda: self.entities.put(pose, twist)))
        return done(response)

    def on_entity_info(self, request: Any, response: Any) -> Any:
        """Say what the robot is."""
        try:
            self.entities.known(request.entity)
        except UnfitError as problem:
            return failed(response, problem.code, str(problem))
        self.entities.write_info(response.info)
        return done(response)

    def on_load_world(self, request: Any, response: Any) -> Any:
        """Put the ground of a file under the robot, as `~/load_world` does."""
        kind, uri = srv.LoadWorld.Response, request.world_resource.uri
        if not uri:
            return failed(response, kind.NO_RESOURCE, "world_resource.uri must name a file, see docs/guides/ground.md")
        problems: list[RobotDynamicsError] = []
        try:
            put = self.plant.load_world(uri.removeprefix("file://"))
        except RobotDynamicsError as problem:
            return failed(response, kind.RESOURCE_PARSE_ERROR, str(problem))

        def try_it() -> None:
            try:
                put()
            except RobotDynamicsError as problem:
                problems.append(problem)

        self.obeyed(self.plant.do(try_it))
        if problems:
            return failed(response, msg.Result.RESULT_OPERATION_FAILED, str(problems[0]))
        response.world.name, response.world.world_resource.uri = Path(uri).stem, uri
        return done(response)

    def obeyed(self, event: threading.Event) -> bool:
        """Wait until the simulation's thread has done something; False if it ends before."""
        while not event.wait(PATIENCE):
            if self.plant.stopping:
                return False
        return True


def done(response: Any) -> Any:
    """Say that all went well."""
    response.result.result = msg.Result.RESULT_OK
    return response


def failed(response: Any, code: int, text: str) -> Any:
    """Say why not."""
    response.result.result, response.result.error_message = code, text
    return response
