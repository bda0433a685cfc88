# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Between joints with names and the motors of a Unitree robot: who moves what, what the motors are told and when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import asin, atan2
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .actuation import Actuation, Drive
from .unitree_messages import Frame

Array = NDArray[np.float64]

NO_POSITION, NO_VELOCITY = 2.146e9, 16000.0
"""Unitree's targets that mean: none."""
HEAD, LOW_LEVEL = (0xFE, 0xEF), 0xFF
"""What begins each message of a quadruped, and the level of single motors."""
QUADRUPED = tuple(f"{leg}_{joint}_joint" for leg in ("FR", "FL", "RR", "RL") for joint in ("hip", "thigh", "calf"))
HUMANOID = (
    *(
        f"{side}_{joint}_joint"
        for side in ("left", "right")
        for joint in ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
    ),
    *(f"waist_{axis}_joint" for axis in ("yaw", "roll", "pitch")),
    *(
        f"{side}_{joint}_joint"
        for side in ("left", "right")
        for joint in (
            "shoulder_pitch",
            "shoulder_roll",
            "shoulder_yaw",
            "elbow",
            "wrist_roll",
            "wrist_pitch",
            "wrist_yaw",
        )
    ),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A robot of Unitree: package of its messages, joint of every motor, and the `mode` in which motors obey."""

    package: str
    motors: tuple[str, ...]
    mode: int


ROBOTS: Mapping[str, Kind] = MappingProxyType(
    {
        "go2": Kind("unitree_go", QUADRUPED, 0x01),
        "a1": Kind("unitree_go", QUADRUPED, 0x0A),
        "b2": Kind("unitree_go", QUADRUPED, 0x0A),
        "g1": Kind("unitree_hg", HUMANOID, 0x01),
    }
)
"""Order of the motors as in Unitree's examples, names as in Unitree's URDFs."""


class Motors:
    """Which motor moves which joint of a model: `index` (k,) into its joints, of the motors `slots` (k,).

    `left_out`: joints of the model without a motor, such as those of hands, which have messages of their own.
    """

    def __init__(self, robot: str, joints: Sequence[str], names: Sequence[str] = ()):
        """Match by name; `names` are the joints of the motors in their order where they are not those of `robot`.

        Raises
        ------
        ParameterError
            No such robot, too many or repeated names, or no motor moves any of the joints.
        """
        if robot not in ROBOTS:
            raise ParameterError(f"there is no Unitree robot '{robot}'; valid names: {', '.join(ROBOTS)}")
        self.kind = ROBOTS[robot]
        motors = tuple(names) or self.kind.motors
        room = len(Frame(f"{self.kind.package}/LowCmd").fields["motor_cmd"])
        if len(motors) > room:
            raise ParameterError(f"'motors' may name {room} joints at most, got {len(motors)}")
        if len({name for name in motors if name}) < sum(map(bool, motors)):
            raise ParameterError("'motors' names a joint twice")
        self.names = tuple(name for name in motors if name in joints)
        if not self.names:
            raise ParameterError(
                f"no motor of '{robot}' ({', '.join(motors)}) moves a joint of this URDF ({', '.join(joints)}); "
                "name the joint of every motor in the parameter 'motors'"
            )
        self.slots = np.array([motors.index(name) for name in self.names])
        self.index = np.array([list(joints).index(name) for name in self.names])
        self.left_out = tuple(name for name in joints if name not in motors)


class Command:
    """LowCmd of a robot, written from drives and read into them."""

    def __init__(self, motors: Motors, joints: int):
        """Start with every motor passive; `joints` is the number of the model's."""
        self.motors, self._joints = motors, joints
        self.frame = Frame(f"{motors.kind.package}/LowCmd")
        self._cmd = self.frame.fields["motor_cmd"]
        if motors.kind.package == "unitree_go":
            self.frame.fields["head"] = HEAD
            self.frame.fields["level_flag"] = LOW_LEVEL
        self._cmd["q"], self._cmd["dq"] = NO_POSITION, NO_VELOCITY

    def write(self, drive: Drive, machine: int = 0) -> bytes:
        """Return the message that makes the motors follow `drive`; `machine` is a humanoid's mode_machine.

        A motor without position gain gets no target position, one without any gain no target velocity.
        """
        cmd, slots, index = self._cmd, self.motors.slots, self.motors.index
        kp, kd = drive.kp[index], drive.kd[index]
        cmd["mode"][slots] = self.motors.kind.mode
        cmd["q"][slots] = np.where(kp > 0.0, drive.position[index], NO_POSITION)
        cmd["dq"][slots] = np.where(kd > 0.0, drive.velocity[index], NO_VELOCITY)
        cmd["kp"][slots], cmd["kd"][slots], cmd["tau"][slots] = kp, kd, drive.effort[index]
        if self.motors.kind.package == "unitree_hg":
            self.frame.fields["mode_machine"] = machine
        return self.frame.message()

    def read(self, data: bytes) -> Drive:
        """Return what a message asks of the joints of the model, 0 for those without a motor.

        Motors whose mode is 0 are free, and a target that says none has no gain. Raises ShapeError as `Frame.read`.
        """
        self.frame.read(data)
        cmd, index = self._cmd[self.motors.slots], self.motors.index
        obeys = cmd["mode"] != 0
        placed = obeys & (cmd["q"] < 0.5 * NO_POSITION)
        moved = obeys & (cmd["dq"] < 0.5 * NO_VELOCITY)
        drive = Drive(*np.zeros((5, self._joints)))
        for column, values, where in (
            (drive.position, cmd["q"], placed),
            (drive.velocity, cmd["dq"], moved),
            (drive.kp, cmd["kp"], placed),
            (drive.kd, cmd["kd"], moved),
            (drive.effort, cmd["tau"], obeys),
        ):
            column[index] = np.where(where, values, 0.0)
        return drive


class State:
    """LowState of a robot, read into joint values and written from them; motors in the order of `motors.names`."""

    def __init__(self, motors: Motors):
        """Start at rest."""
        self.motors = motors
        self.frame = Frame(f"{motors.kind.package}/LowState")
        self._motor, self._imu = self.frame.fields["motor_state"], self.frame.fields["imu_state"]
        self._imu["quaternion"] = 1.0, 0.0, 0.0, 0.0
        if motors.kind.package == "unitree_go":
            self.frame.fields["head"] = HEAD
            self.frame.fields["level_flag"] = LOW_LEVEL

    def read(self, data: bytes) -> bool:
        """Take a message and tell whether its checksum fits; raises ShapeError as `Frame.read`."""
        self.frame.read(data)
        return self.frame.sound

    @property
    def joints(self) -> tuple[Array, Array, Array]:
        """Position [rad], velocity [rad/s] and estimated effort [N m] of the joints with a motor, each (k,)."""
        motor = self._motor[self.motors.slots]
        return motor["q"].astype(float), motor["dq"].astype(float), motor["tau_est"].astype(float)

    @property
    def imu(self) -> tuple[Array, Array, Array]:
        """Attitude x y z w, angular velocity [rad/s] and specific force [m/s^2] in IMU axes."""
        w, x, y, z = self._imu["quaternion"].astype(float)
        return np.array([x, y, z, w]), self._imu["gyroscope"].astype(float), self._imu["accelerometer"].astype(float)

    @property
    def machine(self) -> int:
        """A humanoid's mode_machine, which has to go back with every command; 0 of a quadruped."""
        return int(self.frame.fields["mode_machine"]) if self.motors.kind.package == "unitree_hg" else 0

    @property
    def tick(self) -> int:
        """The robot's clock [ms], modulo 2^32."""
        return int(self.frame.fields["tick"])

    def write(self, joints: tuple[Array, Array, Array], imu: tuple[Array, Array, Array], time: float) -> bytes:
        """Return the message of a state: `joints` and `imu` as the properties of the same names, time [s]."""
        motor, slots = self._motor, self.motors.slots
        motor["mode"][slots] = self.motors.kind.mode
        for name, values in zip(("q", "dq", "tau_est"), joints, strict=True):
            motor[name][slots] = values
        (x, y, z, w), self._imu["gyroscope"], self._imu["accelerometer"] = imu
        self._imu["quaternion"] = w, x, y, z
        self._imu["rpy"] = roll_pitch_yaw(x, y, z, w)
        self.frame.fields["tick"] = round(1e3 * time) % 2**32
        return self.frame.message()


def roll_pitch_yaw(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """Angles [rad] of R = R_z(yaw) R_y(pitch) R_x(roll), from a unit quaternion."""
    roll = atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0))
    return roll, pitch, atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


class Commander:
    """What the motors are told in each tick: nothing before the first command, damping whenever commands are silent.

    Whatever comes after either takes over gradually from a hold of the pose that the robot is in (`Takeover`).
    """

    def __init__(self, actuation: Actuation, damping: float):
        """Follow `actuation`; its timeout says what silence is, `damping` [N m s/rad] what is done in it."""
        self.actuation = actuation
        self.begun = False
        self.damp_with(damping)

    def damp_with(self, damping: float) -> None:
        """Use another velocity gain [N m s/rad] in silence."""
        n = len(self.actuation.joints)
        self._damped = Drive(np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, damping), np.zeros(n))

    @property
    def state(self) -> str:
        """One of waiting, following, damping, stopped."""
        a = self.actuation
        if a.state in ("following", "stopped"):
            return a.state
        return "damping" if self.begun else "waiting"

    def drive(self, now: float, q: Array) -> Drive | None:
        """Return what to do at the time `now` [s], the joints being at `q` (n,); None: send nothing."""
        drive = self.actuation.drive(now, q)
        if self.actuation.state == "following":
            self.begun = True
            return drive
        self.actuation.let_go(q)
        return self._damped if self.begun or self.actuation.stopped else None
