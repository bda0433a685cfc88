# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node `estimator`: the base state of a legged robot from its IMU and its joints, as odom."""

from collections import deque
from collections.abc import Set
from time import perf_counter

import numpy as np
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_srvs.srv import Trigger

from ..control.estimator import BaseEstimator, ContactNoise, ImuNoise
from ..control.limbs import find_legs
from ..control.odometer import Odometer
from ..errors import RobotDynamicsError
from . import convert, wire
from .component import NEWEST, RELIABLE, SENSOR, STALE, WARN, Component, quantiles, sender
from .parameters import EstimatorParameters
from .run import run

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

TURNED = np.array([3, 4, 5, 0, 1, 2])
"""Messages have the linear part first."""


class EstimatorNode(Component):
    """Answers every joint state with an odom of its stamp."""

    kind = EstimatorParameters

    def build(self) -> None:
        """Find the feet and put the estimator together."""
        v, model = self.values, self.model
        feet = find_legs(model, [f for f in v.feet if f]).feet
        imu = ImuNoise(v.gyro_noise, v.gyro_bias, v.gyro_walk, v.accelerometer_noise, v.accelerometer_bias,
                       v.accelerometer_walk, v.encoder_noise)  # fmt: skip
        contact = ContactNoise(threshold=v.contact_threshold, creep=v.creep, compliance=v.compliance, slip=v.slip,
                               kinematics=v.kinematics, ground=v.ground, level=v.level_ground)  # fmt: skip
        self.odometer = Odometer(
            BaseEstimator(model, feet, imu, contact, v.imu_link), v.state_timeout, self.tilt_deviation
        )
        base = v.frame_prefix + (v.base_frame or model.link_names[0])
        self.frame, self.base = v.odom_frame, base
        self.joint_states = wire.Intake(JointState, self.expect_joints)
        self.imu_reader, self.contact_reader = wire.Reader(Imu), wire.Reader(MultiDOFJointState)
        self.message = wire.OdometryWriter(self.frame, base)
        self.stance_message = wire.JointStateWriter(feet.link, velocity=False)
        self.pose_covariance = self.message.numbers[7:43].reshape(6, 6)
        self.twist_covariance = self.message.numbers[49:85].reshape(6, 6)
        self.seconds_inside: deque[float] = deque(maxlen=1000)
        self.sent = 0

    @property
    def tilt_deviation(self) -> float:
        """Deviation of the gravity direction of IMUs with attitude [rad]; 0: not used."""
        return float(self.values.orientation_noise) if self.values.use_orientation else 0.0

    def start(self) -> None:
        """Listen; the IMU and the contacts come just before the joint states."""
        self.odometer.forget()
        self.publisher_odom = self.publisher(Odometry, "odom", RELIABLE)
        self.send_odom = sender(self.publisher_odom)
        self.stances = self.publisher(JointState, "~/stance", RELIABLE)
        tf = self.values.publish_tf and TFMessage
        self.transforms = self.publisher(TFMessage, "/tf", QoSProfile(depth=100)) if tf else None
        self.subscription(Imu, "imu/data", self.on_imu, SENSOR, raw=True)
        self.subscription(MultiDOFJointState, "contacts", self.on_contacts, NEWEST, raw=True)
        self.subscription(JointState, "joint_states", self.on_state, SENSOR, raw=True)
        self.subscription(PoseStamped, "~/set_pose", self.on_pose, RELIABLE)
        self.subscription(PoseWithCovarianceStamped, "initialpose", self.on_initial_pose, RELIABLE)
        self.service(Trigger, "~/reset", self.on_reset)
        self.set_realtime(self.values.thread_priority, self.values.wake_latency)
        if self.values.publish_tf and TFMessage is None:
            self.get_logger().warning("publish_tf: tf2_msgs is not installed, so nothing goes to /tf")

    def stop(self) -> None:
        """Come no longer before others."""
        self.set_realtime()

    def on_imu(self, data: bytes) -> None:
        """Take a reading, for the joint state that follows."""
        msg, odometer = self.imu_reader.read(data), self.odometer
        numbers = np.asarray(msg.blocks[0])
        if not odometer.set_imu(numbers, msg.stamp, self.received(msg.nanoseconds)):
            self.warn(f"imu/data {odometer.imu.problem}")

    def on_contacts(self, data: bytes) -> None:
        """Take the forces under the feet."""
        msg = self.contact_reader.read(data)
        _, _, force = wire.points_from_contacts(msg)
        self.odometer.set_forces(msg.names, force, self.received(msg.nanoseconds))

    def expect_joints(self, layout: wire.Layout) -> convert.Array | None:
        """Prepare for joint states of another kind than the last; what is refused has no numbers."""
        arrangement = self.odometer.state.expect(layout.names, layout.parts, layout.length)
        if arrangement is None:
            return None
        self.arrangement = arrangement
        return arrangement.numbers

    def on_state(self, data: bytes) -> None:
        """Answer a joint state with the base state of its time."""
        began, intake, state = perf_counter(), self.joint_states, self.odometer.state
        taken = intake.take(data)
        received = self.received(intake.nanoseconds)
        if not (taken and state.take_joints(self.arrangement, intake.stamp, received)):
            return self.warn(f"joint_states {state.joints.problem}")
        if not self.odometer.update(intake.stamp or received, received):
            return None
        stamp = intake.nanoseconds or round(1e9 * received)
        self.publish(stamp)
        self.seconds_inside.append(perf_counter() - began)
        return None

    def publish(self, nanoseconds: int) -> None:
        """Publish pose, twist and covariances, and what else somebody wants."""
        estimator, numbers = self.odometer.estimator, self.message.numbers
        pose, twist, covariance = estimator.pose, estimator.twist, estimator.covariance
        numbers[:7], numbers[43:46], numbers[46:49] = pose, twist[3:], twist[:3]
        self.pose_covariance[:] = covariance[:6, :6][TURNED][:, TURNED]
        self.twist_covariance[:] = covariance[6:, 6:][TURNED][:, TURNED]
        self.send_odom(self.message.stamped(nanoseconds))
        self.sent += 1
        if self.heard(self.stances):
            self.stance_message.position[:], self.stance_message.effort[:] = estimator.stance, estimator.forces
            self.stances.publish(self.stance_message.stamped(nanoseconds))
        if self.transforms is not None:
            made = convert.transform_from_base(self.frame, self.base, nanoseconds, pose)
            self.transforms.publish(TFMessage(transforms=[made]))

    def on_pose(self, msg: PoseStamped) -> None:
        """Put the base to a place and heading; the tilt stays what it is."""
        try:
            self.odometer.estimator.set_pose(convert.pose_from_msg(msg.pose))
        except RobotDynamicsError as problem:
            self.refuse("~/set_pose", problem)

    def on_initial_pose(self, msg: PoseWithCovarianceStamped) -> None:
        """Put the base to a place and heading on the map; the height stays what it is."""
        try:
            pose = convert.pose_from_msg(msg.pose.pose)
            pose[2] = self.odometer.estimator.pose[2]
            self.odometer.estimator.set_pose(pose)
        except RobotDynamicsError as problem:
            self.refuse("initialpose", problem)

    def on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Forget everything: the next joint state is the first, at the origin."""
        self.odometer.forget()
        response.success, response.message = True, "the estimate starts anew"
        return response

    def changed(self, names: Set[str]) -> None:
        """Use new timeouts."""
        v, odometer = self.values, self.odometer
        odometer.state.joints.max_age = odometer.imu.max_age = v.state_timeout
        odometer.tilt_deviation = self.tilt_deviation
        if self.active and names & {"thread_priority", "wake_latency"}:
            self.set_realtime(v.thread_priority, v.wake_latency)

    def missing(self) -> str:
        """Say what has fallen silent."""
        topic = self.odometer.waiting(self.waited())
        return self.silent(topic) if topic else ""

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Report the feet, biases, innovations, refusals and the time inside the callback."""
        odometer, e, now = self.odometer, self.odometer.estimator, self.waited()
        level, doubts = self.doubts(odometer.counts())
        feet, inside = e.feet.link, sorted(self.seconds_inside) or [0.0]
        standing = ", ".join(foot for foot, on in zip(feet, e.standing, strict=True) if on)
        tilt = float(np.degrees(np.sqrt(e.covariance[[0, 1], [0, 1]].max())))
        values: dict[str, object] = {
            "standing": standing or "none",
            "contacts from": "forces" if odometer.measured(now) else "joint efforts",
            **{f"left out: {foot}": int(n) for foot, n in zip(feet, e.gated, strict=True)},
            **{f"innovation: {foot}": float(x) for foot, x in zip(feet, e.innovation, strict=True)},
            "gyro bias [rad/s]": " ".join(f"{x:.4f}" for x in e.gyro_bias),
            "accelerometer bias [m/s^2]": " ".join(f"{x:.4f}" for x in e.accelerometer_bias),
            "tilt deviation [deg]": tilt,
            "restarts": e.restarts,
            "states": odometer.state.joints.accepted,
            "odom sent": self.sent,
            **quantiles("state age on arrival", odometer.state.joints.arrival_ages),
            "inside callback p50 [us]": 1e6 * inside[len(inside) // 2],
        }
        if missing := self.missing():
            return STALE, missing, values | doubts
        for topic in ("joint_states", "imu/data", "odom"):
            if (publishers := self.sources(topic)) > 1:
                return WARN, f"{publishers} publishers on {topic}", values | doubts
        if not (odometer.measured(now) or odometer.state.has_effort):
            return WARN, "neither contacts nor joint efforts: no foot is known to stand", values | doubts
        return level, f"{int(e.standing.sum())} of {len(feet)} feet stand", values | doubts


def main() -> int:
    """Run the node; returns the exit code."""
    return run(EstimatorNode, "estimator")


if __name__ == "__main__":
    raise SystemExit(main())
