# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stands for msg and srv of simulation_interfaces 2.1, which is not on PyPI: the names and fields the plant uses."""

from dataclasses import dataclass, field
from typing import Any

from geometry_msgs.msg import Accel, Pose, Twist
from std_msgs.msg import Header


@dataclass
class Result:
    RESULT_FEATURE_UNSUPPORTED = 0
    RESULT_OK = 1
    RESULT_NOT_FOUND = 2
    RESULT_INCORRECT_STATE = 3
    RESULT_OPERATION_FAILED = 4
    result: int = 0
    error_message: str = ""


@dataclass
class SimulationState:
    STATE_STOPPED = 0
    STATE_PLAYING = 1
    STATE_PAUSED = 2
    STATE_QUITTING = 3
    state: int = 0


@dataclass
class SimulatorFeatures:
    ENTITY_CATEGORIES = 8
    ENTITY_STATE_GETTING = 10
    ENTITY_STATE_SETTING = 11
    ENTITY_INFO_GETTING = 12
    SIMULATION_RESET = 20
    SIMULATION_RESET_TIME = 21
    SIMULATION_RESET_STATE = 22
    SIMULATION_RESET_SPAWNED = 23
    SIMULATION_STATE_GETTING = 24
    SIMULATION_STATE_SETTING = 25
    SIMULATION_STATE_PAUSE = 26
    STEP_SIMULATION_SINGLE = 31
    STEP_SIMULATION_MULTIPLE = 32
    STEP_SIMULATION_ACTION = 33
    WORLD_LOADING = 40
    features: list[int] = field(default_factory=list)
    custom_info: str = ""


class GetSimulatorFeatures:
    class Request:
        pass

    @dataclass
    class Response:
        features: SimulatorFeatures = field(default_factory=SimulatorFeatures)


class GetSimulationState:
    class Request:
        pass

    @dataclass
    class Response:
        state: SimulationState = field(default_factory=SimulationState)
        result: Result = field(default_factory=Result)


class SetSimulationState:
    @dataclass
    class Request:
        state: SimulationState = field(default_factory=SimulationState)

    @dataclass
    class Response:
        ALREADY_IN_TARGET_STATE = 101
        result: Result = field(default_factory=Result)


class ResetSimulation:
    @dataclass
    class Request:
        SCOPE_DEFAULT = 0
        SCOPE_TIME = 1
        SCOPE_STATE = 2
        SCOPE_SPAWNED = 4
        SCOPE_ALL = 255
        scope: int = 0

    @dataclass
    class Response:
        result: Result = field(default_factory=Result)


class StepSimulation:
    @dataclass
    class Request:
        steps: int = 1

    @dataclass
    class Response:
        result: Result = field(default_factory=Result)


@dataclass
class EntityCategory:
    CATEGORY_OBJECT = 0
    CATEGORY_ROBOT = 1
    category: int = 0


@dataclass
class TagsFilter:
    tags: list[str] = field(default_factory=list)
    filter_mode: int = 0


@dataclass
class Bounds:
    TYPE_EMPTY = 0
    TYPE_BOX = 1
    TYPE_SPHERE = 3
    type: int = 0
    points: list[Any] = field(default_factory=list)


@dataclass
class EntityFilters:
    filter: str = ""
    categories: list[EntityCategory] = field(default_factory=list)
    tags: TagsFilter = field(default_factory=TagsFilter)
    bounds: Bounds = field(default_factory=Bounds)


@dataclass
class EntityState:
    header: Header = field(default_factory=Header)
    pose: Pose = field(default_factory=Pose)
    twist: Twist = field(default_factory=Twist)
    acceleration: Accel = field(default_factory=Accel)


@dataclass
class EntityInfo:
    category: EntityCategory = field(default_factory=EntityCategory)
    description: str = ""
    tags: list[str] = field(default_factory=list)


class GetEntities:
    @dataclass
    class Request:
        filters: EntityFilters = field(default_factory=EntityFilters)

    @dataclass
    class Response:
        result: Result = field(default_factory=Result)
        entities: list[str] = field(default_factory=list)


class GetEntitiesStates:
    Request = GetEntities.Request

    @dataclass
    class Response:
        result: Result = field(default_factory=Result)
        entities: list[str] = field(default_factory=list)
        states: list[EntityState] = field(default_factory=list)


class GetEntityState:
    @dataclass
    class Request:
        entity: str = ""

    @dataclass
    class Response:
        result: Result = field(default_factory=Result)
        state: EntityState = field(default_factory=EntityState)


class SetEntityState:
    @dataclass
    class Request:
        entity: str = ""
        state: EntityState = field(default_factory=EntityState)
        set_pose: bool = False
        set_twist: bool = False
        set_acceleration: bool = False

    @dataclass
    class Response:
        INVALID_POSE = 101
        result: Result = field(default_factory=Result)


class GetEntityInfo:
    Request = GetEntityState.Request

    @dataclass
    class Response:
        result: Result = field(default_factory=Result)
        info: EntityInfo = field(default_factory=EntityInfo)


@dataclass
class Resource:
    uri: str = ""
    resource_string: str = ""


@dataclass
class WorldResource:
    name: str = ""
    world_resource: Resource = field(default_factory=Resource)


class LoadWorld:
    @dataclass
    class Request:
        world_resource: Resource = field(default_factory=Resource)

    @dataclass
    class Response:
        NO_RESOURCE = 102
        RESOURCE_PARSE_ERROR = 103
        result: Result = field(default_factory=Result)
        world: WorldResource = field(default_factory=WorldResource)


class SimulateSteps:
    @dataclass
    class Goal:
        steps: int = 0

    @dataclass
    class Result:
        result: Result = field(default_factory=Result)

    @dataclass
    class Feedback:
        completed_steps: int = 0
        remaining_steps: int = 0
