"""Node `controller`: stands up, stands, and trots in place on request."""

from collections.abc import Set

import numpy as np
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from ..control.gait import StandTrot, TrotParameters
from ..control.guard import InputGuard
from ..control.limbs import find_legs
from . import wire
from .component import LATEST, OK, SENSOR, STALE, WARN, Component
from .parameters import ControllerParameters
from .run import run


class ControllerNode(Component):
    """Answers every joint state (at most at `rate`) with joint targets stamped like it.

    The gait is a function of the time since it began: after a silence of the state its targets would be far ahead.
    """

    kind = ControllerParameters

    def build(self) -> None:
        """Find legs and stance, and warm the kinematics up."""
        v = self.values
        legs = find_legs(self.model, [link for link in v.feet if link])
        gait = TrotParameters(v.stand_time, v.height, v.cycle, v.duty, v.lift, v.weight)
        self.gait = StandTrot(legs, gait)
        self.gait.trot = v.trot
        self.guard = InputGuard(self.model.joint_names, v.state_timeout)
        self.message, self.reader = wire.JointStateWriter(self.model.joint_names), wire.Reader(JointState)
        self.last = -np.inf

    def start(self) -> None:
        """Listen; the first joint state starts the gait."""
        self.gait.phase = "waiting"
        self.commands = self.publisher(JointState, "joint_commands", LATEST)
        self.subscription(JointState, "joint_states", self.on_state, SENSOR, raw=True)
        self.service(SetBool, "~/gait", self.on_gait)

    def changed(self, names: Set[str]) -> None:
        """Trot or stand."""
        self.gait.trot, self.guard.max_age = self.values.trot, self.values.state_timeout

    def on_state(self, data: bytes) -> None:
        """Answer a state with targets and efforts for its time; after a silence rise from where the joints are now."""
        msg = self.reader.read(data)
        stamp, (q, _, _) = msg.stamp, wire.columns_from_joint_state(msg)
        where = self.guard.accept_named(msg.names, (q,), stamp, self.now() or stamp)
        if where is None:
            return self.warn(f"joint_states {self.guard.problem}")
        if 0.0 < stamp - self.last < 0.999 / self.values.rate:
            return None
        if self.gait.phase == "waiting" or not 0.0 <= stamp - self.last <= self.values.state_timeout:
            self.gait.start(self.positions(q, where), stamp)
        self.last = stamp
        command, m = self.gait.command(stamp), self.message
        m.position[:], m.velocity[:], m.effort[:] = command.position, command.velocity, command.effort
        return self.commands.publish(m.stamped(msg.nanoseconds))

    def positions(self, q: np.ndarray, where: np.ndarray) -> np.ndarray:
        """Positions (n,) in the model's order; the stance's for joints that the state leaves out."""
        out = self.gait.stance.joints.copy()
        out[where] = q
        return out

    def on_gait(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Trot (true) or stand (false)."""
        self.gait.trot, response.success = request.data, True
        return response

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Report the phase of the gait, its input, and refused states."""
        age = self.guard.age(self.now())
        refused = {f"refused: {cause}": n for cause, n in self.guard.counts.items()}
        values: dict[str, object] = {"state age [s]": age, "states": self.guard.accepted, **refused}
        if age > self.values.state_timeout:
            return STALE, "no joint_states", values
        if (publishers := self.sources("joint_states")) > 1:
            return WARN, f"{publishers} publishers on joint_states: {self.gait.phase}", values
        return (WARN if refused else OK), self.gait.phase, values


def main() -> int:
    """Run the node; returns the exit code."""
    return run(ControllerNode, "controller")


if __name__ == "__main__":
    raise SystemExit(main())
