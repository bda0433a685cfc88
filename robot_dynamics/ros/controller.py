# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node `controller`: stands up on any number of legs, and trots in place on four on request."""

from collections.abc import Set

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from ..control.gait import TrotParameters
from ..control.guard import InputGuard
from ..control.limbs import find_legs
from ..control.quadruped import QuadrupedController
from ..control.state import MeasuredState
from . import wire
from .component import LATEST, NEWEST, SENSOR, STALE, WARN, Component, quantiles
from .parameters import ControllerParameters
from .run import run


class ControllerNode(Component):
    """Answers every joint state (at most at `rate`) with joint targets stamped like it.

    The base's attitude and jumps come from `odom`, where somebody publishes it.
    """

    kind = ControllerParameters

    def build(self) -> None:
        """Find legs and stance, and warm the kinematics up."""
        v = self.values
        legs = find_legs(self.model, [link for link in v.feet if link])
        gait = TrotParameters(v.stand_time, v.height, v.cycle, v.duty, v.lift, v.weight)
        self.control = QuadrupedController(legs, gait, v.state_timeout)
        self.control.gait.trot = v.trot
        self.state = MeasuredState(self.model, v.state_timeout, v.base_frame)
        self.guard = InputGuard(self.model.joint_names, v.state_timeout)
        self.message, self.reader = wire.JointStateWriter(self.model.joint_names), wire.Reader(JointState)
        self.damping = wire.JointStateWriter(self.model.joint_names, position=False, effort=False)
        self.odometry = wire.Reader(Odometry)
        self.last = -np.inf

    def start(self) -> None:
        """Listen; the first joint state starts the gait."""
        self.control.forget()
        self.commands = self.publisher(JointState, "joint_commands", LATEST)
        self.subscription(JointState, "joint_states", self.on_state, SENSOR, raw=True)
        self.update_base = self.latest(Odometry, "odom", self.on_base, NEWEST)
        self.service(SetBool, "~/gait", self.on_gait)
        self.set_realtime(self.values.thread_priority)

    def stop(self) -> None:
        """Come no longer before others."""
        self.set_realtime()

    def changed(self, names: Set[str]) -> None:
        """Trot or stand."""
        v = self.values
        if "trot" in names:
            self.control.gait.trot = v.trot
        if self.active and "thread_priority" in names:
            self.set_realtime(v.thread_priority)
        self.guard.max_age = self.state.base.max_age = self.control.silence = v.state_timeout

    def on_state(self, data: bytes) -> None:
        """Answer a state with targets and efforts for its time, or with damping for a robot that has fallen."""
        msg = self.reader.read(data)
        stamp, (q, _, _) = msg.stamp, wire.columns_from_joint_state(msg)
        where = self.guard.accept_named(msg.names, (q,), stamp, self.received(msg.nanoseconds))
        if where is None:
            return self.warn(f"joint_states {self.guard.problem}")
        if 0.0 < stamp - self.last < 0.999 / self.values.rate:
            return None
        self.last = stamp
        self.update_base()
        command, m = self.control.answer(self.positions(q, where), stamp), self.message
        if command is None:
            return self.commands.publish(self.damping.stamped(msg.nanoseconds))
        m.position[:], m.velocity[:], m.effort[:] = command.position, command.velocity, command.effort
        return self.commands.publish(m.stamped(msg.nanoseconds))

    def on_base(self, data: bytes) -> None:
        """Take the base state."""
        msg, s = self.odometry.read(data), self.state
        if s.set_base(*wire.base_from_odometry(msg), msg.stamp, self.received(msg.nanoseconds), msg.names[1]):
            self.control.see_base(s.q[:7].tolist(), msg.stamp)
        else:
            self.warn(f"odom {s.base.problem}")

    def positions(self, q: np.ndarray, where: np.ndarray) -> np.ndarray:
        """Positions (n,) in the model's order; the stance's for joints that the state leaves out."""
        out = self.control.gait.stance.joints.copy()
        out[where] = q
        return out

    def on_gait(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Trot (true) or stand (false)."""
        gait = self.control.gait
        response.success = gait.trots or not request.data
        if response.success:
            gait.trot = request.data
        else:
            response.message = f"a trot needs four feet, '{self.model.name}' has {len(gait.legs.feet)}: it stands"
        return response

    def missing(self) -> str:
        """Say whether joint states have fallen silent."""
        return self.silent("joint_states") if self.guard.stale(self.waited()) else ""

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Report the phase of the gait, its input, and refused states."""
        age, phase = self.guard.age(self.waited()), self.control.phase
        refused = {f"refused: {cause}": n for cause, n in self.guard.counts.items()} | self.state.counts()
        level, doubts = self.doubts(refused)
        starts = {"starts from where the joints were": self.control.starts}
        values: dict[str, object] = {
            "state age [s]": age,
            **quantiles("state age on arrival", self.guard.arrival_ages),
            "states": self.guard.accepted,
            **starts,
            **doubts,
        }
        if missing := self.missing():
            return STALE, missing, values
        if (publishers := self.sources("joint_states")) > 1:
            return WARN, f"{publishers} publishers on joint_states: {phase}", values
        return (WARN if phase == "fallen" else level), phase, values


def main() -> int:
    """Run the node; returns the exit code."""
    return run(ControllerNode, "controller")


if __name__ == "__main__":
    raise SystemExit(main())
