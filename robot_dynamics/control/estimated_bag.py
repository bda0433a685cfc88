# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The estimator over a recorded bag, beside the ground truth where the bag has it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.bag import Bag, BagError
from ..errors import ParameterError
from ..identification.joint_log import LogError
from .estimator import BaseEstimator
from .odometer import Odometer

Array = NDArray[np.float64]

JOINTS, IMU, CONTACTS, TRUTH, ODOM = "joint_states", "imu/data", "contacts", "ground_truth/odom", "odom"
TOPICS = {
    JOINTS: "sensor_msgs/msg/JointState",
    IMU: "sensor_msgs/msg/Imu",
    CONTACTS: "sensor_msgs/msg/MultiDOFJointState",
    TRUTH: "nav_msgs/msg/Odometry",
    ODOM: "nav_msgs/msg/Odometry",
}
"""What is heard -> its type."""
NEEDED = (JOINTS, IMU)
SETTLED = 0.5
LONGEST_AGE = 0.1
"""Contacts older than this [s] count as none."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """What the estimator said at the stamps (N,) of the joint states [s], from 0 on.

    pose (N, 7), twist (N, 6); biases (N, 6) of gyroscope and accelerometer; stance and innovation (N, feet); truth
    (N, 13) = [pose, twist] of the same stamps, NaN where there is none; `reference` is the topic it comes from.
    """

    stamp: Array
    pose: Array
    twist: Array
    biases: Array
    stance: Array
    innovation: Array
    truth: Array
    reference: str

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where (N,) there is a truth."""
        return np.asarray(np.isfinite(self.truth).all(axis=1))


def estimate_bag(
    path: str | os.PathLike[str],
    estimator: BaseEstimator,
    namespace: str = "",
    progress: Callable[[float], None] = lambda share: None,
) -> Estimates:
    """Run the estimator over a rosbag2 recording (db3, mcap), from the pose of the ground truth if there is one.

    Heard are joint_states, imu/data, contacts, ground_truth/odom (else odom) in `namespace`.

    Raises
    ------
    LogError
        The bag cannot be read, lacks what is needed, or holds no estimate.
    """
    odometer, reference = Odometer(estimator, LONGEST_AGE), ""
    rows: list[tuple[Any, ...]] = []
    truth: dict[int, Array] = {}
    for topic, stamp, msg, share in messages(Path(path), namespace):
        progress(share)
        if topic in (TRUTH, ODOM):
            reference, base = topic, _base(msg)
            if not truth:
                estimator.set_pose([*base[:2], 0.0, *base[3:7]])  # the height is that of the legs
            truth[round(1e9 * stamp)] = base
        elif topic == IMU:
            odometer.set_imu(_imu(msg), stamp, stamp)
        elif topic == CONTACTS:
            odometer.set_forces(tuple(msg.joint_names), _forces(msg), stamp)
        elif _take(odometer, msg, stamp):
            e = estimator
            biases = np.concatenate([e.gyro_bias, e.accelerometer_bias])
            rows.append((stamp, e.pose, e.twist, biases, e.stance, e.innovation))
    if not rows:
        causes = ", ".join(f"{cause} {n}" for cause, n in odometer.counts().items())
        raise LogError(f"'{path}' holds nothing to estimate from: {causes or 'no imu/data beside joint_states'}")
    times, pose, twist, biases, stance, innovation = (np.array(column) for column in zip(*rows, strict=True))
    beside = np.array([truth.get(round(1e9 * t), np.full(13, np.nan)) for t in times])
    return Estimates(times - times[0], pose, twist, biases, stance, innovation, beside, reference)


def _take(odometer: Odometer, msg: Any, stamp: float) -> bool:
    """Go on to a JointState; returns whether there is an estimate of it."""
    columns = msg.position, msg.velocity, msg.effort
    return odometer.state.set_joints(tuple(msg.name), *columns, stamp, stamp) and odometer.update(stamp, stamp)


def messages(path: Path, namespace: str = "") -> Iterator[tuple[str, float, Any, float]]:
    """Topic, stamp [s], message and share of the bag's time, in the order of recording."""
    prefix = "/" + namespace.strip("/") + "/" if namespace.strip("/") else "/"
    try:
        with Bag(path) as bag:
            wanted = {prefix + name: name for name, kind in TOPICS.items() if bag.topics.get(prefix + name) == kind}
            if TRUTH in wanted.values():
                wanted.pop(prefix + ODOM, None)
            if missing := [prefix + name for name in NEEDED if name not in wanted.values()]:
                held = ", ".join(sorted(bag.topics)) or "no topic at all"
                raise LogError(f"'{path}' lacks {' and '.join(missing)}; it holds {held}")
            begin, end = bag.span()
            for topic, t, msg in bag.messages(*wanted):
                stamp = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
                yield wanted[topic], stamp or 1e-9 * t, msg, (t - begin) / max(end - begin, 1)
    except BagError as error:
        raise LogError(str(error)) from None


def figures(run: Estimates) -> dict[str, float]:
    """Root mean square errors beside the truth: roll and pitch [deg], velocity [m/s], height [m]; way and drift [m].

    They count from SETTLED [s] after a foot first stood: before, the height is unknown.

    Raises
    ------
    ParameterError
        There is no truth.
    """
    stood = run.stance.max(axis=1) > 0.5
    known = run.known & (run.stamp > run.stamp[int(stood.argmax())] + SETTLED)
    if not (stood.any() and known.any()):
        raise ParameterError("the bag holds no ground_truth/odom and no odom of the stamps of joint_states")
    truth, pose, twist = run.truth[known], run.pose[known], run.twist[known]
    leans = [rotation_leans(pose[:, 3:]), rotation_leans(truth[:, 3:7])]
    way = float(np.linalg.norm(np.diff(truth[:, :2], axis=0), axis=1).sum())
    off = pose[:, :3] - truth[:, :3]
    return {
        "roll and pitch [deg]": float(np.degrees(np.sqrt(np.square(leans[0] - leans[1]).mean()))),
        "velocity [m/s]": float(np.sqrt(np.square(twist[:, 3:] - truth[:, 10:]).sum(axis=1).mean())),
        "height [m]": float(np.sqrt(np.square(off[:, 2]).mean())),
        "way [m]": way,
        "drift of place [m]": float(np.linalg.norm(off[-1, :2] - off[0, :2])),
    }


def rotation_leans(quaternion: Array) -> Array:
    """Roll and pitch (N, 2) [rad] of attitudes (N, 4) xyzw."""
    x, y, z, w = quaternion.T
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    return np.stack([roll, np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))], axis=1)


def _base(msg: Any) -> Array:
    """[pose, twist] (13,) of an Odometry, our order."""
    p, q, t = msg.pose.pose.position, msg.pose.pose.orientation, msg.twist.twist
    return np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w, t.angular.x, t.angular.y, t.angular.z,
                     t.linear.x, t.linear.y, t.linear.z])  # fmt: skip


def _imu(msg: Any) -> Array:
    """Numbers (37,) of an Imu as they stand in the message."""
    numbers, q, w, a = np.zeros(37), msg.orientation, msg.angular_velocity, msg.linear_acceleration
    numbers[:4], numbers[13:16], numbers[25:28] = (q.x, q.y, q.z, q.w), (w.x, w.y, w.z), (a.x, a.y, a.z)
    return numbers


def _forces(msg: Any) -> Array:
    """Forces (k, 3) of contacts; 0 where they are left out."""
    forces = [(w.force.x, w.force.y, w.force.z) for w in msg.wrench]
    return np.array(forces) if len(forces) == len(msg.joint_names) and forces else np.zeros((len(msg.joint_names), 3))
