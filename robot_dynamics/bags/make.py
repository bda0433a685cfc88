# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs with their truth, made without ROS as fast as they can be computed: the same seed gives the same bytes."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..control.gait import TrotParameters
from ..control.imu import ImuMount
from ..control.limbs import find_legs
from ..control.quadruped import QuadrupedController
from ..control.record import (
    DRIVE,
    SETUP,
    SNAPSHOT,
    columns,
    drive_names,
    due,
    setup_text,
    take_snapshot,
    write_drive,
)
from ..core.arrays import Array
from ..core.bag import BagWriter
from ..errors import DivergedError
from ..model.model import Model
from ..ros.parameters import PlantParameters
from ..ros.plant_params import sense_every, simulation
from ..simulation.plant import Measurement
from .messages import Messages

PLANT = "/plant"
TOPICS = {
    "/clock": "rosgraph_msgs/msg/Clock",
    "/robot_description": "std_msgs/msg/String",
    "/joint_states": "sensor_msgs/msg/JointState",
    "/imu/data": "sensor_msgs/msg/Imu",
    "/contacts": "sensor_msgs/msg/MultiDOFJointState",
    "/odom": "nav_msgs/msg/Odometry",
    "/ground_truth/odom": "nav_msgs/msg/Odometry",
    "/ground_truth/joint_states": "sensor_msgs/msg/JointState",
    "/joint_commands": "sensor_msgs/msg/JointState",
    f"{PLANT}/push": "geometry_msgs/msg/WrenchStamped",
    f"{PLANT}/{SETUP}": "std_msgs/msg/String",
    f"{PLANT}/{DRIVE}": "sensor_msgs/msg/JointState",
    f"{PLANT}/{SNAPSHOT}": "std_msgs/msg/UInt8MultiArray",
}
LATCHED = ("/robot_description", f"{PLANT}/{SETUP}")
COMMAND_PERIOD = 0.002
"""Of the gait [s]."""
SILENCE = 0.1
PUSH_TIME, HARDEST = 0.1, 0.4
"""Duration of a push [s]; its largest force over the robot's weight."""
CALM = 0.3, 0.95
"""Part of the run in which pushes come."""
NOISE = {
    "noise_position": 5e-4,
    "noise_velocity": 0.02,
    "noise_gyro": 5e-3,
    "noise_gyro_bias": 0.01,
    "noise_accelerometer": 0.05,
    "noise_accelerometer_bias": 0.05,
}
"""Sensors of a quadruped with magnetic encoders and a small inertial unit, in the units of the plant's parameters."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to make: duration [s]; gait stand, trot or hold (no command at all); number of pushes; seed of these."""

    duration: float
    gait: str
    pushes: int
    seed: int


class Maker:
    """One run on its way into a bag."""

    bag: BagWriter
    messages: Messages

    def __init__(self, model: Model, v: PlantParameters, plan: Plan):
        """Put the robot to its start."""
        self.model, self.values = model, v
        self.simulation = simulation(model, v)
        self.plant, self.every = self.simulation.plant, sense_every(v)
        self.mount = ImuMount(model, v.imu_link)
        self.control = controller(model, plan)
        self.pushes = planned_pushes(model, plan)
        self.disturbed, self.answered = True, -np.inf
        self.names, self.drive = drive_names(model.joint_names), columns(len(model.joint_names))
        self.base = v.base_frame or model.link_names[0]

    def begin(self, bag: BagWriter, description: str) -> None:
        """Write what stands before the run."""
        self.bag, self.messages = bag, Messages(bag.store.types)
        for topic, kind in TOPICS.items():
            bag.add(topic, kind, latched=topic in LATCHED)
        self.put("/robot_description", self.messages.text(description))
        told = asdict(self.values) | {"urdf_file": ""}  # where it lay says nothing about the run
        self.put(f"{PLANT}/{SETUP}", self.messages.text(setup_text(description, told)))
        self.sense()

    @property
    def now(self) -> int:
        """Simulated time [ns]."""
        return round(1e9 * self.simulation.time)

    def put(self, topic: str, msg: Any) -> None:
        """Write a message at this time."""
        self.bag.put(topic, self.now, msg)

    def tick(self) -> None:
        """Push if it is time, go on by a tick, and write what a plant publishes.

        Raises
        ------
        DivergedError
            The simulation broke down.
        """
        s, m = self.simulation, self.messages
        while self.pushes and self.pushes[0][0] <= s.time:
            _, wrench = self.pushes.pop(0)
            self.plant.push(self.model.link_names[0], wrench, PUSH_TIME)
            self.put(f"{PLANT}/push", m.wrench(self.now, self.model.link_names[0], wrench))
            self.disturbed = True
        if self.disturbed or due(s):
            self.put(f"{PLANT}/{SNAPSHOT}", m.bytes(take_snapshot(s, self.disturbed, self.disturbed)))
            self.disturbed = False
        if not s.tick():
            raise DivergedError(s.problem)
        write_drive(s, *self.drive)
        self.put(f"{PLANT}/{DRIVE}", m.joints(self.now, self.names, *self.drive))
        if s.ticks % self.every == 0:
            self.sense()

    def sense(self) -> None:
        """Write what sensors read, and the truth beside it; then what the gait answers."""
        plant, model, m, now, v = self.plant, self.model, self.messages, self.now, self.values
        q, qd, reading = plant.q, plant.qd, plant.measure()
        self.put("/clock", m.clock(now))
        if model.floating_base:
            odometry = m.odometry(now, v.odom_frame, self.base, q[:7], qd[:6])
            self.put("/odom", odometry)
            self.put("/ground_truth/odom", odometry)
        self.put("/contacts", m.contacts(now, v.odom_frame, plant.contacts))
        self.put("/imu/data", m.imu(now, v.imu_link or model.link_names[0], *self.inertial(q, qd, reading)))
        truth = q[model.q_index], qd[model.v_index], plant.tau
        self.put("/ground_truth/joint_states", m.joints(now, model.joint_names, *truth, frame=self.base))
        measured = reading.position, reading.velocity, reading.effort
        self.put("/joint_states", m.joints(now, model.joint_names, *measured, frame=self.base))
        self.answer(reading, q)

    def inertial(self, q: Array, qd: Array, reading: Measurement) -> tuple[Any, Any, Any]:
        """Attitude, angular velocity and specific force of the IMU."""
        return self.mount.measure(q, qd, self.plant.base_rate, reading)

    def answer(self, reading: Measurement, q: Array) -> None:
        """Let the gait answer what sensors read."""
        s = self.simulation
        if self.control is None or 0.0 < s.time - self.answered < 0.999 * COMMAND_PERIOD:
            return
        self.answered = s.time
        self.control.see_base(q[:7].tolist(), s.time)
        command = self.control.answer(reading.position, s.time)
        names, n, stamp = self.model.joint_names, len(reading.position), 1e-9 * self.now
        none = np.zeros(0)
        columns = (none, np.zeros(n), none) if command is None else (command.position, command.velocity, command.effort)
        self.put("/joint_commands", self.messages.joints(self.now, names, *columns))
        s.actuation.set_target(names, *columns, stamp, s.time)


def controller(model: Model, plan: Plan) -> QuadrupedController | None:
    """Return the gait; None where nobody commands. Raises ModelError where the robot has no four legs to do it."""
    if plan.gait == "hold":
        return None
    control = QuadrupedController(find_legs(model), TrotParameters(), SILENCE)
    control.gait.trot = plan.gait == "trot"
    return control


def planned_pushes(model: Model, plan: Plan) -> list[tuple[float, Array]]:
    """Draw times [s] and wrenches (6,) of the pushes: level forces of any direction on the root link."""
    rng = np.random.default_rng(plan.seed)
    begin, end = (1.0 + share * plan.duration for share in CALM)
    times = np.sort(rng.uniform(begin, end, plan.pushes))
    weight = model.mass * float(np.linalg.norm(model.gravity))
    found = []
    for time in times.tolist():
        force, angle = rng.uniform(0.25, 1.0) * HARDEST * weight, rng.uniform(0.0, 2.0 * np.pi)
        found.append((time, np.array([0.0, 0.0, 0.0, force * np.cos(angle), force * np.sin(angle), 0.0])))
    return found


def make_bag(
    path: Path,
    model: Model,
    description: str,
    v: PlantParameters,
    plan: Plan,
    progress: Callable[[float], None] = lambda _: None,
) -> int:
    """Write a run to a new bag, and return how many ticks it has.

    Raises
    ------
    BagError, ModelError, DivergedError
        The bag cannot be written; the robot has no gait; the simulation broke down, and the bag ends there.
    """
    ticks = round(plan.duration * v.update_rate)
    maker = Maker(model, v, plan)
    with BagWriter(path, {"seed": str(plan.seed), "gait": plan.gait, "pushes": str(plan.pushes)}) as bag:
        maker.begin(bag, description)
        for k in range(ticks):
            maker.tick()
            if not k % 200:
                progress(k / ticks)
    return ticks
