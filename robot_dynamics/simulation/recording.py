# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a run of the loop left behind, and the numbers read from it. No ROS: arrays in, numbers out.

Times are simulated seconds: the robot stands up from `begin`, is asked to trot at `trot_at`, is watched until `end`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SETTLED = 1.0
"""Span before the trot in which the robot stands still [s]."""
LOADED = 0.01
"""A foot stands while it carries more than this fraction of the weight."""
WEIGHT_TOLERANCE = 0.02
LOWEST = 0.6
"""Fraction of the standing height below which the robot has fallen."""
STEEPEST = 0.5
"""Tilt beyond which the robot has fallen [rad]."""
LOSS = 0.01
"""Fraction of messages that may get lost on a machine that keeps up."""


@dataclass(frozen=True)
class Recording:
    """One run. Rows are messages in the order of their stamps.

    weight [N]; friction mu of the ground; joint_time (N,), position (N, n) of the joints, effort (N, n) applied joint
    efforts; base_time (M,), base (M, 7) = [x y z, qx qy qz qw]; contact_time (K,), contact_position,
    contact_velocity, contact_force (K, k, 3) world axes, contact_links (k,);
    feedforward_time (F,), feedforward (F, n) joint efforts; tracking_time (C,), tracking (C, n) targets less positions
    of the joints where both carry the same stamp; torque_age, target_age (any,) wall time from when a state was sent to
    when the feed-forward, or the controller, sent its answer, by DDS; torque_rate, target_rate answers per second of
    wall time; wall_time that of all joint states; received, lost: messages by topic, -1 where ROS does not count.
    """

    robot: str
    weight: float
    friction: float
    feet: tuple[str, ...]
    joints: tuple[str, ...]
    begin: float
    trot_at: float
    end: float
    joint_time: Array
    position: Array
    effort: Array
    base_time: Array
    base: Array
    contact_links: tuple[str, ...]
    contact_time: Array
    contact_position: Array
    contact_velocity: Array
    contact_force: Array
    feedforward_time: Array
    feedforward: Array
    tracking_time: Array
    tracking: Array
    torque_age: Array
    target_age: Array
    torque_rate: float
    target_rate: float
    wall_time: float
    received: dict[str, int]
    lost: dict[str, int]

    @cached_property
    def foot_force(self) -> Array:
        """Vertical force of the ground on each foot (K, feet) [N]."""
        vertical = self.contact_force[:, :, 2]
        return np.stack([vertical[:, self.points_of(foot)].sum(axis=1) for foot in self.feet], axis=1)

    @cached_property
    def foot_speed(self) -> Array:
        """Sliding speed of each foot (K, feet) [m/s]: horizontal speeds of its points, weighted with their forces."""
        force = np.linalg.norm(self.contact_force, axis=2)
        sliding = force * np.linalg.norm(self.contact_velocity[:, :, :2], axis=2)
        columns = [self.points_of(foot) for foot in self.feet]
        return np.stack(
            [sliding[:, c].sum(axis=1) / np.maximum(force[:, c].sum(axis=1), 1e-12) for c in columns], axis=1
        )

    @property
    def tilt(self) -> Array:
        """Angle between the base's z axis and the vertical (M,) [rad]."""
        x, y = self.base[:, 3], self.base[:, 4]
        return np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))

    def points_of(self, link: str) -> list[int]:
        """Columns of the contact arrays that belong to a link."""
        return [i for i, name in enumerate(self.contact_links) if name == link]

    def stances(self) -> list[tuple[int, int, int]]:
        """Foot and first and last row of every stance after the robot has settled."""
        found = []
        for foot in range(len(self.feet)):
            loaded = (self.foot_force[:, foot] > LOADED * self.weight) & (self.contact_time > self.trot_at - SETTLED)
            edges = np.flatnonzero(np.diff(np.concatenate([[False], loaded, [False]]).astype(int)))
            found += [(foot, int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > 2]
        return found


@dataclass(frozen=True, slots=True)
class Measures:
    """The numbers of a run; SI units, forces as fractions of the weight."""

    standing_height: float
    lowest: float
    steepest: float
    standing_force: float
    trotting_force: float
    mean_slip: float
    largest_slip: float
    torque_rms: float
    feedforward_difference: float
    tracking_error: float
    real_time_factor: float
    state_rate: float
    torque_rate: float
    target_rate: float
    torque_age: tuple[float, float]
    target_age: tuple[float, float]
    received: int
    lost: int

    @property
    def problems(self) -> list[str]:
        """Why the run was not good; empty if it was."""
        found = []
        if not self.lowest > LOWEST * self.standing_height:
            found.append(f"the base sank to {self.lowest:.3f} m from {self.standing_height:.3f} m")
        if not self.steepest < STEEPEST:
            found.append(f"the base tilted by {self.steepest:.2f} rad")
        for phase, force in (("standing", self.standing_force), ("trotting", self.trotting_force)):
            if not abs(force - 1.0) <= WEIGHT_TOLERANCE:
                found.append(f"{phase}, the feet carried {100 * force:.1f} % of the weight")
        return found

    @property
    def overtaxed(self) -> bool:
        """Whether the machine was too slow, or too busy with other things, for the loop at this speed."""
        missed = self.state_rate - self.torque_rate
        return self.lost > LOSS * (self.received + self.lost) or missed > LOSS * self.state_rate

    def rows(self) -> list[tuple[str, str, str]]:
        """The table for people: quantity, value, and what it is. Long, for it is the table."""
        lost = "not counted" if self.lost < 0 else f"{self.lost} of {self.received + self.lost}"
        return [
            ("base height, standing", f"{self.standing_height:.3f} m", "of the base link above the ground"),
            ("base height, lowest", f"{self.lowest:.3f} m", "standing and trotting"),
            ("tilt, largest", f"{np.degrees(self.steepest):.1f} deg", "of the base's z axis from the vertical"),
            (
                "foot forces over weight, standing",
                f"{100 * self.standing_force:.2f} %",
                "vertical forces of the ground on all feet, mean; 100 % carries the robot",
            ),
            (
                "foot forces over weight, trotting",
                f"{100 * self.trotting_force:.2f} %",
                "the same; off by what the base rises and sinks between begin and end",
            ),
            (
                "slip per stance, mean",
                f"{1e3 * self.mean_slip:.2f} mm",
                "way that a foot slides while it carries, which a foot that rolls counts too",
            ),
            ("slip per stance, largest", f"{1e3 * self.largest_slip:.2f} mm", "the same"),
            ("joint torque, rms", f"{self.torque_rms:.2f} N m", "applied, over all joints"),
            (
                "torque minus feed-forward, rms",
                f"{self.feedforward_difference:.2f} N m",
                "what the PD gains add: the less, the better the model knows the robot",
            ),
            (
                "joint target minus position, trotting, rms",
                f"{1e3 * self.tracking_error:.2f} mrad",
                "how well the joints follow",
            ),
            ("real-time factor", f"{self.real_time_factor:.3f}", "simulated time over wall time"),
            ("states", f"{self.state_rate:.0f} Hz", "sent by the plant, per second of wall time"),
            ("torques fed forward", f"{self.torque_rate:.0f} Hz", "as many as states if none was missed"),
            (
                "joint targets",
                f"{self.target_rate:.0f} Hz",
                "the controller's parameter rate: 500 Hz",
            ),
            (
                "age of torques, p50, p99",
                f"{1e3 * self.torque_age[0]:.2f}, {1e3 * self.torque_age[1]:.2f} ms",
                "from when the plant sent a state to when the feed-forward sent its answer",
            ),
            (
                "age of targets, p50, p99",
                f"{1e3 * self.target_age[0]:.2f}, {1e3 * self.target_age[1]:.2f} ms",
                "the same of the controller",
            ),
            ("messages lost", lost, "on the way to the recorder of this page"),
        ]


def measure(r: Recording) -> Measures:
    """Read the numbers of a run."""
    settled = r.trot_at - SETTLED
    standing, watched = _within(r.base_time, settled, r.trot_at), _within(r.base_time, settled, r.end)
    total = r.foot_force.sum(axis=1) / r.weight
    slips = [slip(r, *stance) for stance in r.stances()] or [np.nan]
    moving = _within(r.joint_time, settled, r.end)
    real_time_factor = (r.joint_time[-1] - r.joint_time[0]) / r.wall_time
    return Measures(
        standing_height=_mean(r.base[standing, 2]),
        lowest=float(r.base[watched, 2].min(initial=np.inf)),
        steepest=float(r.tilt[watched].max(initial=0.0)),
        standing_force=_mean(total[_within(r.contact_time, settled, r.trot_at)]),
        trotting_force=_mean(total[_within(r.contact_time, r.trot_at, r.end)]),
        mean_slip=float(np.mean(slips)),
        largest_slip=float(np.max(slips)),
        torque_rms=_rms(r.effort[moving]),
        feedforward_difference=_rms(r.effort[moving] - feedforward_at(r, r.joint_time[moving])),
        tracking_error=_rms(r.tracking[_within(r.tracking_time, r.trot_at + SETTLED, r.end)]),
        real_time_factor=real_time_factor,
        state_rate=(len(r.joint_time) - 1 + max(r.lost.get("joint_states", 0), 0)) / r.wall_time,
        torque_rate=r.torque_rate,
        target_rate=r.target_rate,
        torque_age=_percentiles(r.torque_age),
        target_age=_percentiles(r.target_age),
        received=sum(r.received.values()),
        lost=-1 if min(r.lost.values(), default=-1) < 0 else sum(r.lost.values()),
    )


def feedforward_at(r: Recording, time: Array) -> Array:
    """Feed-forward efforts (len(time), n), the last ones sent before each time."""
    if not len(r.feedforward_time):
        return np.zeros((len(time), len(r.joints)))
    return r.feedforward[np.maximum(np.searchsorted(r.feedforward_time, time, side="right") - 1, 0)]


def _within(time: Array, begin: float, end: float) -> NDArray[np.bool_]:
    return (time >= begin) & (time <= end)


def slip(r: Recording, foot: int, first: int, last: int) -> float:
    """Distance a foot slides in one stance [m]: integral of its sliding speed."""
    rows = slice(first, last + 1)
    speed, time = r.foot_speed[rows, foot], r.contact_time[rows]
    return float(0.5 * ((speed[1:] + speed[:-1]) * np.diff(time)).sum())


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else np.nan


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values * values))) if len(values) else np.nan


def _percentiles(values: Array) -> tuple[float, float]:
    """Median and 99th percentile."""
    return (float(np.median(values)), float(np.percentile(values, 99))) if len(values) else (np.nan, np.nan)
