# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plant under commands: holds until told, obeys, pauses, steps, resets; all of the node but the messages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..contact.points import contact_points
from ..contact.terrain import Surface, clearances
from ..dynamics.kinematics import Points, neutral, point_position, points
from ..errors import DivergedError, ModelError, ParameterError
from ..model.model import Model
from ..simulation.plant import Plant
from .actuation import Actuation, Drive, spread
from .gait import joint_gains
from .guard import InputGuard
from .limbs import crouch, find_legs, find_stance
from .motion import Motion

Array = NDArray[np.float64]

LIFTS = 4
"""So often a robot that is put below the ground is lifted by its depth, which is measured along the slope's normal."""
BELOW = 1e-6
"""Depth from which on it counts as below the ground [m]."""
MOST_LOOKS = 10_000
UPWARD = 1e-3
"""Least step upwards out of the ground [m]: the nearest way out may be sideways."""
SINKING = 1e-3
"""So much deeper than before no point may be in a ground that comes to a standing robot [m]."""
EPOCH = 1.0
"""Simulated time at the start [s]: several ROS nodes take 0 for "no time yet"."""


class Simulation:
    """A plant with actuators, in ticks of one command period.

    `time` [s] starts at EPOCH and falls at `rewind` only, not at a reset; `problem` says why the simulation stopped by
    itself; `stopped` whether it was put to its start and has not gone on since; `motion` is the trajectory that it
    follows, if any, until a target comes or the robot is put elsewhere. `drive` is what the joints were told in the
    last tick, None before the first, and `driven` the number of ticks until then, which nothing takes back.
    """

    def __init__(self, plant: Plant, actuation: Actuation, home: Array, period: float):
        """Put the plant at `home` (nq,); one tick lasts `period` [s]."""
        self.plant, self.actuation, self.home, self.period = plant, actuation, home, period
        self.placing = InputGuard(plant.model.joint_names, 0.0)
        self.paused = False
        self.steps = 0
        self.problem = ""
        self.stopped = False
        self.motion: Motion | None = None
        self.drive: Drive | None = None
        self.driven = 0
        self._offset = EPOCH
        self.begin()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._offset + self.plant.time

    @property
    def offset(self) -> float:
        """What the time of the plant lacks of simulated time [s]."""
        return self._offset

    @property
    def ticks(self) -> int:
        """Periods since the EPOCH."""
        return round((self.time - EPOCH) / self.period)

    @property
    def joints(self) -> Array:
        """Joint positions (n,)."""
        return self.plant.q[self.plant.model.q_index]

    def begin(self) -> None:
        """Put the robot to its start as if nothing had been: it obeys the first command."""
        self.plant.reset(self.home, np.zeros(self.plant.model.nv))
        self.motion = None
        self._offset = EPOCH
        self.actuation.reset(self.joints)
        self.problem = ""

    def reset(self) -> None:
        """Put the robot back to where it started, holding; time goes on."""
        self.actuation.stopped = False
        self.place(self.home, np.zeros(self.plant.model.nv))
        self.problem = ""

    def stop(self, on: bool) -> None:
        """Latch the emergency stop, or release it: the robot then holds the pose it is in."""
        if self.actuation.stopped and not on:
            self.actuation.jump(self.joints, self.time)
        self.actuation.stop(on)
        self.motion = None

    def rewind(self) -> None:
        """Let time start again in the present state, holding: commands until now belong to another time."""
        self._offset = EPOCH - self.plant.time
        self.motion = None
        self.actuation.epoch = min(self.actuation.epoch, EPOCH)
        for guard in (self.actuation.targets, self.actuation.efforts, self.placing):
            guard.forget()

    def switch(self, on: bool) -> None:
        """Run or pause; steps that are left are not taken."""
        self.paused, self.steps = not on, 0

    def place(self, q: Array, qd: Array) -> None:
        """Put the robot into a state (nq,), (nv,), on the ground if it was below, to hold that pose; time goes on."""
        now = self.time
        self.plant.reset(q, qd)
        for _ in range(LIFTS if self.plant.model.floating_base else 0):
            if (depth := self.plant.contacts.depth.max(initial=0.0)) > BELOW:
                q = np.concatenate([q[:2], [q[2] + depth], q[3:]])
                self.plant.reset(q, qd)
        self._offset = now
        self.motion = None
        self.actuation.jump(self.joints, now)

    def carry(self, plant: Plant) -> None:
        """Go on in the same state with `plant`, the same robot under another load; pushes under way end."""
        now, before = self.time, self.plant
        plant.reset(before.q, before.qd, before.contacts.deflection)
        self.plant, self._offset = plant, now

    def change_ground(self, plant: Plant, home: Array) -> None:
        """Go on in the same state with `plant`, the same robot on another terrain, where it starts at `home` (nq,).

        Raises
        ------
        ParameterError
            A point of the robot would be in that ground, more than 1 mm deeper than it is in today's.
        """
        at = point_position(plant.model, plant.points, self.plant.q)
        today, then = (clearances(p.params.terrain, at) - plant.points.radius for p in (self.plant, plant))
        deeper = np.minimum(today, 0.0) - then
        if (worst := float(deeper.max(initial=0.0))) > SINKING:
            link = plant.contacts.link[int(deeper.argmax())]
            raise ParameterError(f"'{link}' would be {worst:.3g} m inside that ground: move the robot first")
        self.home = home
        self.carry(plant)

    def place_base(self, pose: Array) -> None:
        """Put the base to a pose (7,) = [x y z, qx qy qz qw], at rest, with the joints where they are.

        Raises
        ------
        ModelError
            The robot has a fixed base.
        """
        model = self.plant.model
        if not model.floating_base:
            raise ModelError(f"'{model.name}' has a fixed base and cannot be placed")
        q = self.plant.q
        q[:3], q[3:7] = pose[:3], pose[3:] / np.linalg.norm(pose[3:])
        self.place(q, np.zeros(model.nv))

    def place_joints(self, names: Sequence[str], position: Array, velocity: Array, now: float) -> bool:
        """Put joints by name to positions and velocities (rest if empty), all else where it is; hold them there.

        Returns whether that was possible; otherwise `placing.problem` says why not.
        """
        where = self.placing.accept_named(names, (position, velocity), 0.0, now)
        if where is None or not len(position):
            return False
        model = self.plant.model
        q, qd = self.plant.q, self.plant.qd
        q[model.q_index[where]] = position
        qd[model.v_index[where]] = velocity if len(velocity) else 0.0
        self.place(q, qd)
        return True

    def tick(self) -> bool:
        """Go on by one period if not paused; returns whether time went on."""
        if self.paused and not self.steps:
            return False
        self.steps = max(self.steps - 1, 0)
        if self.motion is not None:
            self.actuation.set_target(self.actuation.joints, *self.motion.at(self.time), 0.0, self.time)
        drive = self.actuation.drive(self.time, self.joints)
        if self.actuation.pausing:
            return self._end("paused: no command")
        self.plant.track(drive.position, drive.velocity, drive.kp, drive.kd, drive.effort)
        try:
            self.plant.advance(self.period)
        except DivergedError as problem:
            return self._end(str(problem))
        self.drive, self.driven = drive, self.driven + 1
        self.problem, self.stopped = "", False
        return True

    def _end(self, problem: str) -> bool:
        self.switch(False)
        self.problem = problem
        return False


def chosen_points(model: Model, links: Sequence[str]) -> Points:
    """Return the contact points of `links` (all links if empty); a link without geometry touches with its origin.

    Raises
    ------
    ModelError
        A floating robot with nothing to stand on.
    """
    found = contact_points(model)
    if links:
        for link in links:
            model.link_index(link)
        bare = points(model, {link: [(0.0, 0.0, 0.0)] for link in links if link not in found.link})
        keep = np.array([link in links for link in found.link], dtype=bool)
        found = Points(
            np.concatenate([found.body[keep], bare.body]),
            np.concatenate([found.position[keep], bare.position]),
            tuple(link for link in found.link if link in links) + bare.link,
            np.concatenate([found.radius[keep], bare.radius]),
        )
    if model.floating_base and not len(found):
        raise ModelError(
            f"'{model.name}' has no collision geometry to stand on, so no feet; "
            f"name links in the parameter 'contact_links'; valid names: {', '.join(model.link_names)}"
        )
    return found


def home_pose(model: Model, pose: str, positions: dict[str, float], feet: Points, height: float) -> Array:
    """Answer where the robot starts.

    Parameters
    ----------
    pose : crouch, stance or neutral; robots without legs take neutral.
    positions : joint positions [rad or m] that replace those of the pose.
    feet : contact points; the lowest comes to `height` [m].
    """
    joints = np.clip(np.zeros(len(model.joint_names)), model.lower, model.upper)
    if pose != "neutral" and model.floating_base:
        try:
            legs = find_legs(model)
            stance = find_stance(legs)
            joints = stance.joints if pose == "stance" else crouch(legs, stance)
        except ModelError:
            pass
    for name, value in positions.items():
        joints[model.joint_index(name)] = value
    q = neutral(model)
    q[model.q_index] = joints
    if model.floating_base:
        q[2] = height - (point_position(model, feet, q)[:, 2] - feet.radius).min()
    return q


def above_ground(model: Model, q: Array, feet: Points, terrain: Sequence[Surface], clearance: float) -> Array:
    """Return `q` with a free base moved up or down until the lowest of `feet` is `clearance` [m] above the terrain.

    Raises
    ------
    ParameterError
        No surface lies below the robot.
    """
    if not model.floating_base:
        return q
    q = q.copy()
    for _ in range(MOST_LOOKS):
        gap = float((clearances(terrain, point_position(model, feet, q)) - feet.radius).min()) - clearance
        if abs(gap) < BELOW:
            return q
        q[2] += max(-gap, UPWARD) if gap < 0.0 else -gap
    raise ParameterError("the world has no surface below the place where the robot starts, (0, 0)")


def fitting_gains(model: Model) -> tuple[float, float]:
    """Return the gains that fit the robot's weight and size: a search for its stance, so ask once per model."""
    return joint_gains(model, leg_reach(model))


def gains(
    model: Model, kp: Sequence[float], kd: Sequence[float], fitting: tuple[float, float] | None = None
) -> tuple[Array, Array]:
    """Gains (n,), (n,) as given, one or per joint; 0 stands for `fitting`, else for those of `fitting_gains`."""
    n = len(model.joint_names)
    own_kp, own_kd = fitting_gains(model) if fitting is None else fitting
    given = spread(kp, n, "kp")
    stiff = np.where(given > 0, given, own_kp)
    given = spread(kd, n, "kd")
    return stiff, np.where(given > 0, given, stiff * own_kd / own_kp)


def leg_reach(model: Model) -> float:
    """Reach of the legs [m]; half a metre for robots without legs."""
    try:
        return find_stance(find_legs(model)).reach
    except ModelError:
        return 0.5
