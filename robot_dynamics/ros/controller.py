# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node `controller`: stands up on any number of legs; on four it trots in place or crawls ahead on request."""

from collections.abc import Set

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool

from ..contact.terrain import Plane
from ..contact.world import load_world
from ..control.crawl import CrawlParameters
from ..control.gait import TrotParameters
from ..control.guard import InputGuard
from ..control.limbs import find_legs
from ..control.quadruped import QuadrupedController
from ..control.state import MeasuredState
from ..errors import RobotDynamicsError
from . import wire
from .component import LATEST, NEWEST, RELIABLE, SENSOR, STALE, WARN, Component, quantiles
from .parameters import ControllerParameters
from .run import run

CARRIES = "a crawl carries the weight itself: start the controller with weight:=true, and leave the feedforward dry"
"""Why it does not crawl where another node carries the weight: on the feet that touch, not on those that are meant."""


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
        crawl = CrawlParameters(stride=v.stride, lift=v.lift, weight=v.weight)
        terrain = load_world(v.world) if v.world else (Plane(),)
        self.control = QuadrupedController(legs, gait, v.state_timeout, crawl, terrain)
        self.control.gait.trot = v.trot
        self.ask_to_crawl(v.crawl)
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
        self.subscription(String, "~/load_world", self.on_world, RELIABLE)
        self.service(SetBool, "~/gait", self.on_gait)
        self.service(SetBool, "~/crawl", self.on_crawl)
        self.set_realtime(self.values.thread_priority)

    def stop(self) -> None:
        """Come no longer before others."""
        self.set_realtime()

    def changed(self, names: Set[str]) -> None:
        """Trot, crawl or stand."""
        v = self.values
        if "crawl" in names:
            self.ask_to_crawl(v.crawl)
        if "trot" in names:
            self.control.gait.trot = v.trot
        if self.active and "thread_priority" in names:
            self.set_realtime(v.thread_priority)
        self.guard.max_age = self.state.base.max_age = self.control.silence = v.state_timeout

    def ask_to_crawl(self, crawl: bool) -> None:
        """Crawl as the parameter asks, or say why not."""
        self.control.crawling = crawl and self.values.weight
        if crawl and not self.values.weight:
            self.get_logger().warning(CARRIES)

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

    def on_crawl(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Crawl ahead (true), or stand on all feet where it is (false)."""
        control = self.control
        if request.data and control.crawl is None:
            response.message = f"a crawl needs four feet, '{self.model.name}' has {len(control.gait.legs.feet)}"
        elif request.data and not self.values.weight:
            response.message = CARRIES
        elif request.data and not self.state.base.accepted:
            response.message = "a crawl needs the place of the base: there is no odom"
        else:
            response.success, control.crawling = True, request.data
        return response

    def on_world(self, msg: String) -> None:
        """Crawl over the ground of the file that the message names from the next step on."""
        try:
            if self.control.crawl is not None:
                self.control.crawl.stand_on(load_world(msg.data))
        except RobotDynamicsError as problem:
            self.refuse("~/load_world", problem)

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
        if self.control.crawl is not None and self.control.crawling and self.control.crawl.problem:
            return WARN, f"{phase}: {self.control.crawl.problem}", values
        return (WARN if phase == "fallen" else level), phase, values


def main() -> int:
    """Run the node; returns the exit code."""
    return run(ControllerNode, "controller")


if __name__ == "__main__":
    raise SystemExit(main())
