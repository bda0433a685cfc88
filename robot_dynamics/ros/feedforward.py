# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: joint efforts from the equations of motion, for a simulated robot or for motors."""

from collections import deque
from collections.abc import Set
from dataclasses import replace
from time import perf_counter

import numpy as np
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from ..control.feedforward import PARTS
from ..control.guard import InputGuard
from ..control.imu import ImuMount
from ..control.inputs import INPUTS, ROWS, write_inputs
from ..control.limbs import find_legs
from ..control.observer import ContactObserver
from ..control.payload import Payloads
from ..control.reference import Trajectory
from ..control.stance import SOLVER
from ..dynamics.kinematics import point_position
from ..errors import RobotDynamicsError
from . import convert, wire
from .component import ERROR, LATEST, NEWEST, RELIABLE, SENSOR, STALE, WARN, Component, quantiles, sender
from .feedforward_params import make_feeder, make_limiter
from .parameters import FeedforwardParameters
from .run import run
from .setups import tell_setup

LAST_WORDS = Duration(seconds=0.1)
"""How long the zeros of a node that ends may take to arrive; destroyed with their publisher they would be lost."""
SHOWN_PERIOD = 0.02
"""Time between two messages of the foot forces, which are for people [s]."""


CARRIED = "another node carries the weight (watch_only): with these efforts it would be carried twice"
LEVEL = "no odom, no imu/data: base taken as level and at rest, efforts are wrong where it leans or moves"


class FeedforwardNode(Component):
    """Answers every joint state with efforts; dry (only ~/torque) until enabled unless told otherwise."""

    kind = FeedforwardParameters

    def build(self) -> None:
        """Put the feeder together and warm the dynamics up."""
        v, model = self.values, self.model
        self.feeder = make_feeder(model, v)
        legs = find_legs(model, [f for f in v.feet if f]) if v.estimate_contacts else None
        self.observer = None if legs is None else ContactObserver(legs)
        self.payloads = Payloads(model)
        self.estimate = wire.ContactWriter(() if legs is None else legs.names, "odom")
        self.joint_states = wire.Intake(JointState, self.expect_joints)
        self.odometry = wire.Intake(Odometry, self.expect_base)
        self.imu_mount, self.imu_reader = ImuMount(model, v.imu_link), wire.Reader(Imu)
        self.contact_reader, self.reference_reader = wire.Reader(MultiDOFJointState), wire.Reader(JointState)
        self.foot_forces_message = wire.ContactWriter(self.feeder.stance.feet, "odom")
        self.observed, self.shown = 0.0, 0.0
        self.references = InputGuard(model.joint_names, v.state_timeout)
        self.feeder.limiter.enable(not (v.dry_run or v.watch_only))
        self.feeder.efforts(0.0)
        self.places = np.array([model.joint_index(name) for name in self.order], dtype=np.intp)
        self.ordered = self.order == model.joint_names
        self.efforts_message = wire.ArrayWriter("joints", len(self.order))
        self.command_message = wire.JointStateWriter(model.joint_names, position=False, velocity=False)
        self.torque_message = wire.JointStateWriter(model.joint_names, position=False, velocity=False)
        self.inputs_message = wire.JointStateWriter(ROWS, effort=False)
        self.seconds_inside: deque[float] = deque(maxlen=1000)
        self.answered = self.sent = self.answered_stamp = 0

    def start(self) -> None:
        """Listen, and watch the age of the state."""
        output = self.values.output
        self.efforts, self.commands = None, None
        if output != "joint_commands":
            self.efforts = self.publisher(Float64MultiArray, "effort_controller/commands", LATEST)
            self.send_efforts = sender(self.efforts)
        if output != "commands":
            self.commands = self.publisher(JointState, "joint_commands", LATEST)
            self.send_command = sender(self.commands)
        self.sent_efforts = self.publisher(JointState, "~/efforts", LATEST)
        self.torques = {part: self.publisher(JointState, f"~/torque/{part}", LATEST) for part in PARTS}
        self.foot_forces = self.publisher(MultiDOFJointState, "~/foot_forces", LATEST)
        self.inputs = self.publisher(JointState, f"~/{INPUTS}", RELIABLE)
        tell_setup(self)
        # base and contacts come just before the joint states: who is up already answers these sooner
        if self.model.floating_base:
            self.subscription(Odometry, "odom", self.on_base, NEWEST, raw=True)
            self.update_attitude = self.latest(Imu, "imu/data", self.on_imu, NEWEST)
        if self.observer is not None:
            self.observer.reset()
            self.contacts = self.publisher(MultiDOFJointState, "contacts", RELIABLE)
        elif self.feeder.stance.feet:
            self.subscription(MultiDOFJointState, "contacts", self.on_contacts, NEWEST, raw=True)
        self.subscription(JointState, "joint_states", self.on_state, SENSOR, raw=True)
        self.update_reference = self.waiting(JointState, self.values.reference_topic, self.on_reference, SENSOR)
        self.with_effort = self.publisher(JointTrajectory, "~/joint_trajectory_with_effort", RELIABLE)
        self.subscription(JointTrajectory, "~/joint_trajectory", self.on_trajectory, RELIABLE)
        self.update_wrenches = self.waiting(WrenchStamped, "~/wrench", self.on_wrench, SENSOR)
        self.subscription(InertiaStamped, "~/payload", self.on_payload, RELIABLE)
        self.service(SetBool, "~/enable", self.on_enable)
        self.service(SetBool, "~/estop", self.on_estop)
        self.timer(0.5 * self.values.state_timeout, self.on_watch)
        self.closely = self.timer(0.1 * self.values.state_timeout, self.on_silence)
        self.closely.cancel()
        self.set_realtime(self.values.thread_priority, self.values.wake_latency)
        self.tell()

    def tell(self) -> None:
        """Say whether efforts are sent."""
        dry = "dry: another node carries the weight" if self.values.watch_only else "dry: call ~/enable to send efforts"
        enabled = f"enabled, up within {self.values.ramp_time:g} s"
        self.get_logger().info(enabled if self.feeder.limiter.enabled else dry)

    def stop(self) -> None:
        """Leave zeros behind, for effort controllers hold what they got last; ramp up again when reactivated."""
        self.send_unasked(np.zeros(len(self.order)))
        for publisher in filter(None, (self.efforts, self.commands)):
            publisher.wait_for_all_acked(LAST_WORDS)
        self.feeder.enable(self.feeder.limiter.enabled)
        self.set_realtime()

    def on_state(self, data: bytes) -> None:
        """Answer a joint state with efforts; base and contacts are those known by now."""
        began, intake = perf_counter(), self.joint_states
        taken, state, stamp = intake.take(data), self.feeder.state, intake.stamp
        received = self.received(intake.nanoseconds)
        if not (taken and state.take_joints(self.arrangement, stamp, received)):
            return self.warn(f"joint_states {state.joints.problem}")
        now = stamp or received
        if self.model.floating_base and state.base.receipt is None:
            self.update_attitude()
        self.update_reference()
        self.update_wrenches()
        if self.observer is not None:
            self.observe(self.observer, now)
        self.send(self.feeder.efforts(now), intake.nanoseconds)
        self.seconds_inside.append(perf_counter() - began)
        self.answered += 1
        self.answered_stamp = intake.nanoseconds
        if self.inputs in self.listened:
            message = self.inputs_message
            write_inputs(self.feeder, self.references, message.position, message.velocity)
            self.inputs.publish(message.stamped(intake.nanoseconds))
        if self.foot_forces in self.listened:
            self.show_forces(intake.nanoseconds, now)
        return self.show_parts(intake.nanoseconds)

    def expect_joints(self, layout: wire.Layout) -> convert.Array | None:
        """Prepare for joint states of another kind than the last; what is refused has no numbers."""
        arrangement = self.feeder.state.expect(layout.names, layout.parts, layout.length)
        if arrangement is None:
            return None
        self.arrangement = arrangement
        return arrangement.numbers

    def expect_base(self, layout: wire.Layout) -> convert.Array:
        """Prepare for base states of another frame than the last."""
        self.child = layout.names[1]
        return self.feeder.state.odometry

    def show_parts(self, nanoseconds: int) -> None:
        """Publish the parts of the wanted effort to whoever listens."""
        if self.listened.isdisjoint(self.torques.values()):
            return
        wanted = {part: p for part, p in self.torques.items() if self.heard(p)}
        feedforward, solution = self.feeder.feedforward, self.feeder.solution
        parts = None if list(wanted) == ["total"] else feedforward.parts(solution)
        for part, publisher in wanted.items():
            self.torque_message.effort[:] = getattr(parts, part) if parts else feedforward.torque(solution)
            publisher.publish(self.torque_message.stamped(nanoseconds))

    def show_forces(self, nanoseconds: int, now: float) -> None:
        """Publish now and then the forces that the efforts ask of the ground, at the feet."""
        feet, message = self.feeder.feedforward.feet, self.foot_forces_message
        if feet is None or abs(now - self.shown) < SHOWN_PERIOD:
            return
        self.shown = now
        message.position[:] = point_position(self.model, feet, self.feeder.state.q)
        message.force[:] = self.feeder.solution.forces
        self.foot_forces.publish(message.stamped(nanoseconds))

    def observe(self, observer: ContactObserver, now: float) -> None:
        """Estimate foot forces from the measured efforts, use them as stance and publish them as contacts."""
        state = self.feeder.state
        force = observer.update(state.q, state.qd, state.effort, min(max(now - self.observed, 0.0), 0.1))
        self.observed = now
        self.feeder.stance.set_forces(observer.legs.names, force, now)
        if self.heard(self.contacts):
            self.estimate.position[:], self.estimate.force[:] = observer.foot_positions(state.q), force
            self.estimate.velocity[:] = observer.foot_velocities(state.q, state.qd)
            self.contacts.publish(self.estimate.stamped(round(1e9 * now)))

    def send(self, efforts: convert.Array, nanoseconds: int) -> None:
        """Publish efforts (n,) where `output` says, unless dry."""
        if not self.feeder.limiter.enabled:
            return
        if self.efforts is not None:
            ordered = efforts if self.ordered else efforts[self.places]
            self.send_efforts(self.efforts_message.message(ordered))
            self.sent += 1
        named = self.sent_efforts in self.listened
        if self.commands is None and not named:
            return
        self.command_message.effort[:] = efforts
        message = self.command_message.stamped(nanoseconds)
        if self.commands is not None:
            self.send_command(message)
        if named:
            self.sent_efforts.publish(message)

    def send_unasked(self, efforts: convert.Array) -> None:
        """Publish efforts (n,) that answer no state; a stamp before that of the last answer would be refused."""
        self.send(efforts, max(self.nanoseconds(), self.answered_stamp))

    def on_base(self, data: bytes) -> None:
        """Take the base state, for the joint states that follow."""
        intake, state = self.odometry, self.feeder.state
        intake.take(data)
        if not state.take_base(intake.stamp, self.received(intake.nanoseconds), self.child):
            self.warn(f"odom {state.base.problem}")

    def on_imu(self, data: bytes) -> None:
        """Take attitude and angular velocity from an IMU: there is no odom."""
        msg, state = self.imu_reader.read(data), self.feeder.state
        numbers = np.asarray(msg.blocks[0])
        if not state.take_attitude(self.imu_mount.mount, numbers, msg.stamp, self.received(msg.nanoseconds)):
            self.warn(f"imu/data {state.attitude.problem}")

    def on_contacts(self, data: bytes) -> None:
        """Take which feet stand."""
        msg = self.contact_reader.read(data)
        _, _, force = wire.points_from_contacts(msg)
        self.feeder.stance.set_forces(msg.names, force, msg.stamp)

    def on_reference(self, data: bytes) -> None:
        """Take desired velocities by joint name; their rate of change is the desired acceleration."""
        msg = self.reference_reader.read(data)
        q, qd, _ = wire.columns_from_joint_state(msg)
        if not len(qd):
            return  # efforts, as our own on joint_commands
        received = self.received(msg.nanoseconds)
        where = self.references.accept_named(msg.names, (q, qd), msg.stamp, received)
        if where is None:
            self.warn(f"{self.values.reference_topic} {self.references.problem}")
        else:
            self.feeder.reference.set_velocity(where, np.asarray(qd), msg.stamp or received)

    def on_trajectory(self, msg: JointTrajectory) -> None:
        """Follow a trajectory from its stamp, or from now if it has none; an empty one ends the present one."""
        begun = convert.seconds_from_stamp(msg.header.stamp) or self.now()
        if not msg.points:
            self.feeder.trajectory = None
            return
        try:
            times, (q, qd, qdd, _) = convert.trajectory_from_msg(msg)
            held = self.feeder.state.q[self.model.q_index]
            trajectory = Trajectory(self.model.joint_names, msg.joint_names, times, q, qd, qdd, held)
        except RobotDynamicsError as problem:
            self.refuse("~/joint_trajectory", problem)
        else:
            self.feeder.trajectory, self.feeder.begun = trajectory, begun
            self.fill(msg, trajectory)

    def fill(self, msg: JointTrajectory, trajectory: Trajectory) -> None:
        """Publish the trajectory with the efforts of its points, for a controller that feeds them forward."""
        if not self.with_effort.get_subscription_count():
            return
        efforts = self.feeder.efforts_along(trajectory, self.now())[:, trajectory.where]
        for point, effort in zip(msg.points, efforts.tolist(), strict=True):
            point.effort = effort
        self.with_effort.publish(msg)

    def on_wrench(self, data: bytes) -> None:
        """Reckon with the wrench of the environment on the link that the frame names, in its axes."""
        self.take_wrench(self.feeder.wrenches, data)

    def on_payload(self, msg: InertiaStamped) -> None:
        """Carry a payload on the link that the frame names; mass 0 takes it away."""
        try:
            model = self.payloads.put(msg.header.frame_id, *convert.payload_from_msg(msg.inertia))
        except RobotDynamicsError as problem:
            self.warn(f"~/payload refused: {problem}")
            return
        self.feeder.carry(model)
        if self.observer is not None:
            self.observer.carry(replace(self.observer.legs, model=model))
            self.observer.reset()

    def on_watch(self) -> None:
        """Look closely at a state that is about to be too old; a look costs as much as half an answer."""
        self.update_wrenches()
        self.update_reference()  # lest what comes while no state does is stale when it is read
        if not self.feeder.timed_out(self.waited() + 0.5 * self.values.state_timeout):
            self.closely.cancel()
        elif self.closely.is_canceled():
            self.closely.reset()

    def on_silence(self) -> None:
        """Run the timeout action while the state is silent."""
        feeder = self.feeder
        if self.answered and feeder.timed_out(self.waited()):
            if self.values.timeout_action == "zero":
                feeder.limiter.last[:] = 0.0
            self.send_unasked(feeder.limiter.last)

    def on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Ramp up, or back to zero efforts and dry."""
        stopped = "stopped: release ~/estop first" if self.feeder.limiter.stopped else ""
        if request.data and (obstacle := CARRIED if self.values.watch_only else stopped):
            response.success, response.message = False, obstacle
            return response
        if not request.data:
            self.send_unasked(np.zeros(len(self.order)))
        self.feeder.enable(request.data)
        self.tell()
        response.success = True
        return response

    def on_estop(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Latch the emergency stop: zero efforts at once, dry until released and enabled again."""
        if request.data:
            self.send_unasked(np.zeros(len(self.order)))
        self.feeder.limiter.stop(request.data)
        self.get_logger().warning("emergency stop" if request.data else "emergency stop released: enable to go on")
        response.success = True
        return response

    def changed(self, names: Set[str]) -> None:
        """Use new limits, thresholds and timeouts."""
        v, feeder = self.values, self.feeder
        enabled, gain, stopped = feeder.limiter.enabled, feeder.limiter.gain, feeder.limiter.stopped
        feeder.limiter = make_limiter(self.model, v)
        feeder.limiter.enabled, feeder.limiter.gain, feeder.limiter.stopped = enabled, gain, stopped
        state = feeder.state
        for guard in (state.joints, state.base, state.attitude, self.references):
            guard.max_age = v.state_timeout
        feeder.stance.threshold, feeder.wrenches.max_age = v.contact_threshold, v.state_timeout
        feeder.stance.max_age = v.state_timeout
        if self.active and names & {"thread_priority", "wake_latency"}:
            self.set_realtime(v.thread_priority, v.wake_latency)

    def missing(self) -> str:
        """Say what has fallen silent."""
        feeder, now = self.feeder, self.waited()
        if not feeder.timed_out(now):
            return ""
        base = "imu/data" if feeder.state.base.receipt is None else "odom"
        return self.silent("joint_states" if feeder.state.joints.stale(now) else base)

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Report the limiter, ages, time inside the callback, and refusals."""
        feeder, now = self.feeder, self.waited()
        refused = feeder.state.counts()
        if self.payloads.refused:
            refused["refused payload"] = self.payloads.refused
        refused |= {f"refused {self.values.reference_topic}: {cause}": n for cause, n in self.references.counts.items()}
        level, doubts = self.doubts(refused)
        feet = feeder.stance.feet
        standing = ", ".join(foot for foot, on in zip(feet, feeder.stance.at(now), strict=True) if on)
        inside = sorted(self.seconds_inside) or [0.0]  # np.median keeps the interpreter from the next state
        values: dict[str, object] = {
            "mode": feeder.feedforward.mode,
            **({"standing": standing or "none", "forces outside their cones": SOLVER} if feet else {}),
            "gain": feeder.limiter.gain,
            "clamped": feeder.limiter.clamped,
            "states": self.answered,
            "efforts sent": self.sent,
            "mass [kg]": feeder.model.mass,
            "state age [s]": feeder.state.joints.age(now),
            **quantiles("state age on arrival", feeder.state.joints.arrival_ages),
            "inside callback p50 [us]": 1e6 * inside[len(inside) // 2],
        }
        if feeder.limiter.stopped:
            return ERROR, "emergency stop", values | doubts
        if missing := self.missing():
            return STALE, missing, values | doubts
        if (publishers := self.sources("joint_states")) > 1:
            return WARN, f"{publishers} publishers on joint_states", values | doubts
        message = "enabled" if feeder.limiter.enabled else "dry run"
        if not feeder.state.has_base:
            if feeder.state.attitude.receipt is None:
                return WARN, LEVEL, values | doubts
            message += ", no odom: attitude from imu/data, velocity taken as 0"
        if link := feeder.wrenches.silent(now):
            return WARN, f"no wrench on '{link}' any more", values | doubts
        return level, message, values | doubts


def main() -> int:
    """Run the node; returns the exit code."""
    return run(FeedforwardNode, "feedforward")


if __name__ == "__main__":
    raise SystemExit(main())
