# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stands for msg and srv of simulation_interfaces 2.1, which is not on PyPI: the names and fields the plant uses."""

from dataclasses import dataclass, field


@dataclass
class Result:
    RESULT_FEATURE_UNSUPPORTED = 0
    RESULT_OK = 1
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
    SIMULATION_RESET = 20
    SIMULATION_RESET_TIME = 21
    SIMULATION_RESET_STATE = 22
    SIMULATION_RESET_SPAWNED = 23
    SIMULATION_STATE_GETTING = 24
    SIMULATION_STATE_SETTING = 25
    SIMULATION_STATE_PAUSE = 26
    STEP_SIMULATION_SINGLE = 31
    STEP_SIMULATION_MULTIPLE = 32
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
