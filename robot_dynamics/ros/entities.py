# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The robot as the one entity of simulation_interfaces: found by filters, asked for its state, put into another."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..control.simulation import Simulation
from ..dynamics.kinematics import link_pose
from ..errors import ShapeError
from . import convert

Array = NDArray[np.float64]


class UnfitError(Exception):
    """A request that cannot be met: a result code of the standard, and why."""

    def __init__(self, code: int, text: str):
        """Take both."""
        super().__init__(text)
        self.code = code


class Entities:
    """Answers about the robot of one simulation, world axes of `frame`; `msg` are the message types of the standard."""

    def __init__(self, simulation: Simulation, frame: str, msg: Any):
        """Take the simulation and the name of its world frame."""
        self.simulation, self.frame, self.msg = simulation, frame, msg

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.simulation.plant.model.name

    def find(self, filters: Any) -> list[str]:
        """Names of the entities that all filters let pass.

        Raises
        ------
        UnfitError
            The name's filter is no regular expression, or the bounds are neither empty nor a sphere.
        """
        try:
            named = re.search(filters.filter, self.name) is not None
        except re.error as problem:
            text = f"filter '{filters.filter}' is no regular expression: {problem}"
            raise UnfitError(self.msg.Result.RESULT_OPERATION_FAILED, text) from None
        robot = self.msg.EntityCategory.CATEGORY_ROBOT
        fits = not filters.categories or any(c.category == robot for c in filters.categories)
        return [self.name] if named and fits and not filters.tags.tags and self._within(filters.bounds) else []

    def _within(self, bounds: Any) -> bool:
        """Whether the origin of a link lies in the bounds."""
        kind = self.msg.Bounds
        if bounds.type == kind.TYPE_EMPTY:
            return True
        if bounds.type != kind.TYPE_SPHERE or len(bounds.points) != 2:
            text = "bounds can be a sphere: its centre, and a point with the radius as x"
            raise UnfitError(self.msg.Result.RESULT_FEATURE_UNSUPPORTED, text)
        plant, (centre, size) = self.simulation.plant, bounds.points
        at = np.array([link_pose(plant.model, plant.q, link)[1] for link in plant.model.link_names])
        return bool(np.linalg.norm(at - [centre.x, centre.y, centre.z], axis=1).min() <= size.x)

    def known(self, name: str) -> None:
        """Raise UnfitError unless there is an entity of this name."""
        if name != self.name:
            raise UnfitError(self.msg.Result.RESULT_NOT_FOUND, f"there is no entity '{name}'; valid names: {self.name}")

    def write_info(self, info: Any) -> None:
        """Say that it is a robot, and which."""
        model = self.simulation.plant.model
        info.category.category = self.msg.EntityCategory.CATEGORY_ROBOT
        info.description = f"{model.name}: {len(model.joint_names)} joints, {model.mass:.3g} kg"

    def write_state(self, state: Any) -> None:
        """Write pose and twist of the base, or of the root link where that is fixed, with the time."""
        plant = self.simulation.plant
        model, q, qd = plant.model, plant.q, plant.qd
        state.header.frame_id = self.frame
        convert.write_stamp(state.header.stamp, round(1e9 * self.simulation.time))
        state.pose.orientation.w = 1.0
        if not model.floating_base:
            return
        p, o = state.pose.position, state.pose.orientation
        p.x, p.y, p.z, o.x, o.y, o.z, o.w = q[:7].tolist()
        R, _ = link_pose(model, q, model.link_names[0])
        turn, move = state.twist.angular, state.twist.linear
        turn.x, turn.y, turn.z = (R @ qd[:3]).tolist()
        move.x, move.y, move.z = (R @ qd[3:6]).tolist()

    def wanted(self, request: Any, invalid_pose: int) -> tuple[Array | None, Array | None]:
        """Pose (7,) and twist (6,) in world axes that a request of SetEntityState gives, None for what it leaves out.

        Raises
        ------
        UnfitError
            Unknown entity, another frame, a fixed base, or a pose that is none.
        """
        self.known(request.entity)
        result, state = self.msg.Result, request.state
        if state.header.frame_id not in ("", self.frame):
            raise UnfitError(result.RESULT_FEATURE_UNSUPPORTED, f"the frame must be '{self.frame}' or empty")
        if not self.simulation.plant.model.floating_base:
            raise UnfitError(result.RESULT_OPERATION_FAILED, f"'{self.name}' has a fixed base and cannot be placed")
        turn, move = state.twist.angular, state.twist.linear
        twist = np.array([turn.x, turn.y, turn.z, move.x, move.y, move.z])
        if request.set_twist and not np.isfinite(twist).all():
            raise UnfitError(result.RESULT_OPERATION_FAILED, "the twist must be finite")
        try:
            pose = convert.pose_from_msg(state.pose) if request.set_pose else None
        except ShapeError as problem:
            raise UnfitError(invalid_pose, str(problem)) from None
        return pose, twist if request.set_twist else None

    def put(self, pose: Array | None, twist: Array | None) -> None:
        """Put the base there, at rest unless a twist in world axes is given; runs in the simulation's thread."""
        plant = self.simulation.plant
        q, qd = plant.q, np.zeros(plant.model.nv)
        if pose is not None:
            q[:3], q[3:7] = pose[:3], pose[3:] / np.linalg.norm(pose[3:])
        if twist is not None:
            R, _ = link_pose(plant.model, q, plant.model.link_names[0])
            qd[:3], qd[3:6] = R.T @ twist[:3], R.T @ twist[3:]
        self.simulation.place(q, qd)
