# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node `unitree_bridge`: joint_commands to a Unitree robot, or a Unitree controller's commands to the plant."""

import importlib
from collections.abc import Set
from typing import Any

import numpy as np
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from ..control.actuation import Actuation, Drive
from ..control.guard import InputGuard
from ..control.simulation import fitting_gains, gains
from ..control.unitree import Command, Commander, Motors, State
from ..errors import ParameterError, RobotDynamicsError
from . import wire
from .component import ERROR, OK, RELIABLE, STALE, STREAM, WARN, Component, quantiles, sender
from .parameters import UnitreeBridgeParameters
from .run import run

CHECKSUM = "bad checksum"
SOON, EARLY = 0.75, 0.45
"""Share of a period after which a command is sent again, and before which a new one waits for its turn."""


class UnitreeBridgeNode(Component):
    """In the role `controller` it commands a robot; in the role `robot` it is one, with the plant as its body."""

    kind = UnitreeBridgeParameters

    def build(self) -> None:
        """Match motors and joints, and make every message once."""
        v, joints = self.values, self.model.joint_names
        self.motors = Motors(v.robot, joints, [name for name in v.motors if name] and v.motors)
        self.types = message_types(self.motors.kind.package)
        self.low_command, self.low_state = Command(self.motors, len(joints)), State(self.motors)
        self.low_guard = InputGuard(self.motors.names, v.command_timeout, parameter="command_timeout")
        self.state_guard = InputGuard(joints, v.state_timeout)
        self.q = np.zeros(len(joints))
        self.reader, self.imu_reader, self.efforts = wire.Reader(JointState), wire.Reader(Imu), wire.ArrayReader()
        link = v.imu_link or self.model.link_names[0]
        self.imu_message = wire.ImuWriter(v.frame_prefix + link)
        self.sent, self.received_states, self.missed, self.at = 0, 0, 0, -np.inf
        if v.role == "controller":
            self._build_commander()
        else:
            self._build_robot()
        self.say_motors()

    def _build_commander(self) -> None:
        v, model = self.values, self.model
        self.fitting = fitting_gains(model)
        kp, kd = gains(model, v.kp, v.kd, self.fitting)
        limit = v.effort_scale * model.effort_limit
        timeout = v.command_timeout
        actuation = Actuation(model.joint_names, kp, kd, timeout=timeout, action="damp", limit=limit, order=self.order)
        self.commander = Commander(actuation, v.damping)
        self.joint_message = wire.JointStateWriter(self.motors.names)
        self.tick_before: int | None = None

    def _build_robot(self) -> None:
        names, n = self.motors.names, len(self.motors.names)
        self.places = self.motors.index
        self.target_message = wire.JointStateWriter(names)
        self.gain_message = wire.JointStateWriter(names, effort=False)
        self.imu: tuple[Any, Any, Any] = (np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3))
        self.joints = np.zeros((3, n))
        self.silent_since = False
        self.state_stamp = 0

    def say_motors(self) -> None:
        """Print the motor map, and which joints have none."""
        m = self.motors
        table = ", ".join(f"{slot} {name}" for slot, name in zip(m.slots, m.names, strict=True))
        self.get_logger().info(f"{self.values.robot}, role {self.values.role}, motors: {table}")
        if m.left_out:
            self.get_logger().info(f"joints without a motor here: {', '.join(m.left_out)}")

    def start(self) -> None:
        """Open the topics."""
        command, state = self.types
        if self.values.role == "controller":
            self.joint_states = self.publisher(JointState, "joint_states", RELIABLE)
            self.imus = self.publisher(Imu, "imu/data", RELIABLE)
            self.low_commands = self.publisher(command, "lowcmd", STREAM)
            self.send_joints, self.send_imu = sender(self.joint_states), sender(self.imus)
            self.send_command = sender(self.low_commands)
            self.subscription(JointState, "joint_gains", self.on_gains, STREAM, raw=True)
            self.subscription(JointState, "joint_commands", self.on_target, STREAM, raw=True)
            self.subscription(Float64MultiArray, "effort_controller/commands", self.on_effort, STREAM, raw=True)
            self.subscription(state, "lowstate", self.on_low_state, STREAM, raw=True)
            self.service(SetBool, "~/estop", self.on_estop)
        else:
            self.low_states = self.publisher(state, "lowstate", STREAM)
            self.targets = self.publisher(JointState, "joint_commands", STREAM)
            self.gains = self.publisher(JointState, "joint_gains", STREAM)
            self.send_state, self.send_target = sender(self.low_states), sender(self.targets)
            self.send_gains = sender(self.gains)
            self.subscription(Imu, "imu/data", self.on_imu, STREAM, raw=True)
            self.subscription(JointState, "joint_states", self.on_joints, STREAM, raw=True)
            self.subscription(command, "lowcmd", self.on_low_command, STREAM, raw=True)
        self.timer(1.0 / self.values.rate, self.tick)
        self.set_realtime(self.values.thread_priority)

    def stop(self) -> None:
        """Leave the motors damped, and come no longer before others."""
        if self.values.role == "controller" and self.commander.begun:
            self.commander.actuation.stop(True)
            self.send(self.now())
        self.set_realtime()

    def changed(self, names: Set[str]) -> None:
        """Use new gains and timeouts."""
        v = self.values
        self.low_guard.max_age, self.state_guard.max_age = v.command_timeout, v.state_timeout
        if v.role == "controller":
            a = self.commander.actuation
            a.set_gains(*gains(self.model, v.kp, v.kd, self.fitting))
            a.limit = v.effort_scale * self.model.effort_limit
            a.targets.max_age = a.efforts.max_age = v.command_timeout
            self.commander.damp_with(v.damping)
        if self.active and "thread_priority" in names:
            self.set_realtime(v.thread_priority)

    def tick(self) -> None:
        """Send what is due in this period, and notice silence."""
        now = self.waited()
        if self.values.role == "robot":
            self.damp_plant(now)
        elif now - self.at >= SOON / self.values.rate or now < self.at:
            self.send(now)

    # Role controller.

    def on_low_state(self, data: bytes) -> None:
        """Copy a state of the robot to joint_states and imu/data, stamped with the time at which it came."""
        if not self.low_state.read(data):
            self.state_guard.refuse(CHECKSUM, "the checksum of lowstate does not fit")
            return self.warn(f"lowstate {self.state_guard.problem}")
        nanoseconds, columns, m = self.nanoseconds(), self.low_state.joints, self.joint_message
        if self.state_guard.accept_named(self.motors.names, columns, 0.0, 1e-9 * nanoseconds) is None:
            return self.warn(f"lowstate {self.state_guard.problem}")
        self.q[self.motors.index] = columns[0]
        m.position[:], m.velocity[:], m.effort[:] = columns
        self.send_joints(m.stamped(nanoseconds))
        self.imu_message.write(*self.low_state.imu)
        self.send_imu(self.imu_message.stamped(nanoseconds))
        self.received_states += 1
        return None

    def on_target(self, data: bytes) -> None:
        """Positions, velocities and efforts by joint name; sent on at once unless they come too fast."""
        msg, now, a = self.reader.read(data), self.now(), self.commander.actuation
        if not a.set_target(msg.names, *wire.columns_from_joint_state(msg), msg.stamp, now):
            return self.warn(f"joint_commands {a.targets.problem}")
        if now - self.at >= EARLY / self.values.rate or now < self.at:
            self.send(now)
        return None

    def on_gains(self, data: bytes) -> None:
        """Gains of the targets by joint name."""
        msg, a = self.reader.read(data), self.commander.actuation
        kp, kd, _ = wire.columns_from_joint_state(msg)
        if not a.set_own_gains(msg.names, kp, kd, msg.stamp, self.now()):
            self.warn(f"joint_gains {a.gains.problem}")

    def on_effort(self, data: bytes) -> None:
        """One effort per joint, in the order of the parameter `joints`."""
        a = self.commander.actuation
        if not a.set_effort(self.efforts.read(data), self.now()):
            self.warn(f"effort_controller/commands {a.efforts.problem}")

    def on_estop(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Damp the joints and obey nothing until released."""
        self.commander.actuation.stop(request.data)
        self.send(self.now())
        response.success = True
        return response

    def send(self, now: float) -> None:
        """Send the motors what they are to do at the time `now` [s]; nothing to a robot that was never heard."""
        if self.state_guard.receipt is None:
            return
        before = self.commander.state
        drive = self.commander.drive(now, self.q)
        if (state := self.commander.state) != before:
            self.tell_change(state, now)
        if drive is not None:
            self.send_command(self.low_command.write(drive, self.low_state.machine))
            self.at, self.sent = now, self.sent + 1

    def tell_change(self, state: str, now: float) -> None:
        """Log that commands begin, end, or come too seldom or too late to be followed."""
        late = self.commander.actuation.targets.lateness(now)
        if state == "damping":
            self.get_logger().warning(f"joint_commands {late or 'are silent'}: the motors are damped")
        else:
            self.get_logger().info(f"{state} joint_commands")

    # Role robot.

    def on_imu(self, data: bytes) -> None:
        """Keep what the IMU read."""
        floats = np.asarray(self.imu_reader.read(data).blocks[0])
        self.imu = floats[:4], floats[13:16], floats[25:28]

    def on_joints(self, data: bytes) -> None:
        """Answer a state of the plant with lowstate."""
        msg = self.reader.read(data)
        columns = wire.columns_from_joint_state(msg)
        where = self.state_guard.accept_named(msg.names, columns, msg.stamp, self.received(msg.nanoseconds))
        if where is None:
            return self.warn(f"joint_states {self.state_guard.problem}")
        every = np.zeros((3, len(self.q)))
        for row, column in zip(every, columns, strict=True):
            if len(column):
                row[where] = column
        self.joints, self.state_stamp = every[:, self.places], msg.nanoseconds
        q, qd, tau = self.joints
        self.send_state(self.low_state.write((q, qd, tau), self.imu, 1e-9 * msg.nanoseconds))
        self.received_states += 1
        return None

    def on_low_command(self, data: bytes) -> None:
        """Let the plant do what the motors are told; a robot ignores what has a wrong checksum, and so does this."""
        command, guard = self.low_command, self.low_guard
        try:
            drive = command.read(data)
        except RobotDynamicsError as problem:
            return self.refuse("lowcmd", problem)
        if not command.frame.sound:
            guard.refuse(CHECKSUM, "the checksum of lowcmd does not fit: see motor_crc of unitree_ros2")
        elif guard.accept_named(self.motors.names, [x[self.places] for x in drive], 0.0, self.now()) is not None:
            self.silent_since = False
            return self.pass_on(drive)
        return self.warn(f"lowcmd {guard.problem}")

    def damp_plant(self, now: float) -> None:
        """Damp the joints when lowcmd has fallen silent; until it was there the plant holds by itself."""
        guard = self.low_guard
        if guard.receipt is None or not guard.stale(now):
            return
        if not self.silent_since:
            self.get_logger().warning(f"lowcmd is silent for {guard.age(now):.3g} s: the joints are damped")
        self.silent_since = True
        zero = np.zeros(len(self.q))
        self.pass_on(Drive(zero, zero, zero, np.full(len(self.q), self.values.damping), zero))

    def pass_on(self, drive: Drive) -> None:
        """Send the plant targets with their gains; a target without gain is where the joint is."""
        t, g, at = self.target_message, self.gain_message, self.places
        g.position[:], g.velocity[:] = drive.kp[at], drive.kd[at]
        t.position[:] = np.where(drive.kp[at] > 0.0, drive.position[at], self.joints[0])
        t.velocity[:], t.effort[:] = drive.velocity[at], drive.effort[at]
        self.send_gains(g.stamped(self.state_stamp))
        self.send_target(t.stamped(self.state_stamp))
        self.sent += 1

    # Diagnostics.

    def missing(self) -> str:
        """Say whether the robot, or the plant, has fallen silent."""
        topic = "lowstate" if self.values.role == "controller" else "joint_states"
        return self.silent(topic) if self.state_guard.stale(self.waited()) else ""

    def activity(self) -> tuple[int, str]:
        """Level and sentence of what the bridge does."""
        if missing := self.missing():
            return STALE, missing
        if self.values.role == "controller":
            state, late = self.commander.state, self.commander.actuation.targets.lateness(self.now())
            level = {"stopped": ERROR, "damping": WARN}.get(state, OK)
            if late:
                return max(level, WARN), f"joint_commands {late}: {state}"
            rivals = self.sources("lowcmd") - 1
            return (WARN, f"{rivals + 1} publishers on lowcmd: {state}") if rivals > 0 else (level, state)
        if self.low_guard.receipt is None:
            return OK, "waiting for lowcmd"
        return (WARN, "damping") if self.silent_since else (OK, "following")

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Report what is done, ages, counts and what was refused."""
        guards = {"states": self.state_guard, "lowcmd": self.low_guard}
        values: dict[str, object] = {"states": self.received_states, "commands sent": self.sent}
        if self.values.role == "controller":
            a = self.commander.actuation
            guards = {"states": self.state_guard, "targets": a.targets, "efforts": a.efforts, "gains": a.gains}
            values |= {"commands": a.targets.accepted, "command age [s]": a.targets.age(self.now())}
            values |= quantiles("joint_commands round trip", a.targets.arrival_ages)
        else:
            values |= {"commands": self.low_guard.accepted, "command age [s]": self.low_guard.age(self.now())}
        refused = {f"refused {name}: {cause}": n for name, g in guards.items() for cause, n in dict(g.counts).items()}
        (doubtful, counts), (level, message) = self.doubts(refused), self.activity()
        return max(level, doubtful) if level != STALE else level, message, values | counts


def message_types(package: str) -> tuple[type, type]:
    """Return LowCmd and LowState of a package. Raises ParameterError, with what to type, where it is not installed."""
    try:
        messages = importlib.import_module(f"{package}.msg")
    except ModuleNotFoundError:
        raise ParameterError(
            f"the ROS package '{package}' is not installed: clone unitree_ros2 of unitreerobotics, build the packages "
            "of its cyclonedds_ws with colcon, and source that workspace before this node starts"
        ) from None
    return messages.LowCmd, messages.LowState


def main() -> int:
    """Run the node; returns the exit code."""
    return run(UnitreeBridgeNode, "unitree_bridge")


if __name__ == "__main__":
    raise SystemExit(main())
