# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where a legged base is and how it moves, from its IMU and its legs (Z1-Z11) [Hartley et al. 2020]."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import bound
from ..contact.checks import check_range
from ..core.checks import checked
from ..dynamics.kinematics import Points, point_rows, points
from ..errors import ModelError, ShapeError
from ..kernels import base_estimate as at
from ..model.model import Model
from ..spatial import quaternion_from_rotation, rotation_from_quaternion, skew
from .imu import ImuMount
from .limbs import Legs, moving_joints
from .observer import ContactObserver

Array = NDArray[np.float64]

LONGEST = 0.1
"""Longest step [s]; after a longer silence the velocity and the landmarks are worth nothing."""
MOST_FEET = 8
TILT, HEADING, SPEED = 0.1, 1e-4, 0.5
"""Standard deviations at the start [rad, rad, m/s]."""
PLACE, HEIGHT = 1e-4, 0.02
"""Those of the place, which defines the frame, and of the height, which is that of a foot while the tilt is vague [m].
"""
FALLING, VAGUE = 0.3, 0.3
"""Share of gravity below which an accelerometer does not know the vertical; what it is more vague for all else [rad].
"""
LOST, SMOOTHING = 0.5, 0.02
"""So long [s] feet bear weight and none is accepted before the motion is forgotten: a robot may slide on all its feet,
and then its accelerometer does not know the vertical; smoothing of the accelerometer [s].
"""
LEAST = 1e-16
"""Least variance at the start."""


@dataclass(frozen=True, slots=True)
class ImuNoise:
    """Noise of an inertial unit and of the encoders, standard deviations.

    gyro [rad/s/sqrt(Hz)] and accelerometer [m/s^2/sqrt(Hz)]: density of the white noise, as data sheets have it;
    gyro_bias, accelerometer_bias [rad/s, m/s^2]: of the bias when switched on; gyro_walk, accelerometer_walk
    [rad/s^2/sqrt(Hz), m/s^3/sqrt(Hz)]: of its random walk;
    encoder: of a joint position [rad, m].
    """

    gyro: float = 3e-4
    gyro_bias: float = 5e-3
    gyro_walk: float = 1e-5
    accelerometer: float = 3e-3
    accelerometer_bias: float = 5e-2
    accelerometer_walk: float = 1e-4
    encoder: float = 1e-4

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in self.__slots__:
            check_range(f"{name} of ImuNoise", getattr(self, name), 0.0)


@dataclass(frozen=True, slots=True)
class ContactNoise:
    """How far standing feet are to be trusted.

    Parameters
    ----------
    threshold : float
        Normal force above which a foot stands [N]; off below half of it. 0: a twentieth of the weight.
    creep : float
        Density of a standing foot's velocity [m/s/sqrt(Hz)].
    compliance : float
        How far ground, foot and leg give way to the force on a foot [m/N]: it moves while the force changes (Z11).
    slip : float
        Standard deviation of a foot's velocity [m/s] that still counts as standing.
    kinematics : float
        Standard deviation of a foot's place by the joints, beside the encoders [m].
    gate : float
        Largest squared normalised innovation that is used.
    ground : float
        Standard deviation of the height of footholds about a level ground [m]; 0: nothing is known of the ground, and
        the height drifts.
    level : bool
        Whether the heights of the feet may also correct the attitude: true on a level floor only.
    """

    threshold: float = 0.0
    creep: float = 1.5e-4
    compliance: float = 1.5e-5
    slip: float = 0.03
    kinematics: float = 3e-4
    gate: float = 25.0
    ground: float = 0.005
    level: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("threshold", "creep", "compliance", "slip", "kinematics", "ground"):
            check_range(f"{name} of ContactNoise", getattr(self, name), 0.0)
        check_range("gate of ContactNoise", self.gate, 1e-6)


class BaseEstimator:
    """Estimates pose and twist of a floating base from IMU, joints and the feet that stand (Z1-Z11).

    The frame of the pose begins under the base where the estimate starts: x ahead, z up, z = 0 on
    the ground. Heading and place drift, as they must.
    """

    def __init__(
        self,
        model: Model,
        feet: Points | Sequence[str],
        noise: ImuNoise = ImuNoise(),
        contact: ContactNoise = ContactNoise(),
        imu_link: str = "",
        bandwidth: float = 300.0,
    ):
        """Estimate the base of `model`, which stands on 1 to 8 `feet`: points, or links that touch with their origins.

        The IMU is fixed to the base in the frame of `imu_link`, of the root link if empty. Without measured forces an
        observer of the momentum finds them at `bandwidth` [rad/s].

        Raises
        ------
        ModelError
            Fixed base, no feet or more than 8.
        UnknownNameError, ParameterError
            There is no such link, or it moves against the base.
        """
        if not model.floating_base:
            raise ModelError(f"'{model.name}' has a fixed base: there is nothing to estimate")
        if not isinstance(feet, Points):
            feet = points(model, {link: [(0.0, 0.0, 0.0)] for link in feet})
        if not 1 <= len(feet) <= MOST_FEET:
            raise ModelError(f"an estimate takes 1 to {MOST_FEET} feet, got {len(feet)}")
        self.model, self.feet, self.noise, self.contact = model, feet, noise, contact
        self.mount = _mount(ImuMount(model, imu_link))
        self.observer = ContactObserver(Legs(model, feet, moving_joints(model, feet)), bandwidth)
        k, n = len(feet), at.FEET + 3 * len(feet)
        self._x, self._P = np.zeros(at.X_FEET + 3 * k), np.eye(n)
        self._feet, self._imu, self._ground = np.zeros((k, at.FOOT)), np.zeros(6), np.zeros(2)
        self._q, self._qd = np.zeros(model.nq), np.zeros(model.nv)
        self._q[6] = 1.0
        self._pose, self._twist, self._covariance = np.zeros(7), np.zeros(6), np.zeros((12, 12))
        self._settings = self._numbers()
        kinematics = np.zeros((k, 3)), np.zeros((k, 3, model.nv)), np.zeros((k, 3))
        rows = point_rows(model, feet)
        self._places = kinematics[0]
        self._look = bound(
            at.foot_kinematics, model.topology, model.parameters, rows, self.mount, self._q, self._qd, kinematics
        )
        self._estimate = self._x, self._P
        self._rest = self._feet, self._settings, self._imu, kinematics, self._qd, (feet.radius.copy(), self._ground)
        self.restarts, self._gyro_variance = 0, 0.0
        self.reset()

    def _numbers(self) -> Array:
        """Settings (SETTINGS,) as the kernel reads them."""
        c, s, model = self.contact, self.noise, self.model
        weight = model.mass * float(np.linalg.norm(model.gravity))
        threshold = c.threshold or 0.05 * weight
        white = s.gyro, s.accelerometer, s.gyro_walk, s.accelerometer_walk, s.encoder
        feet = c.kinematics, c.creep, c.compliance, c.slip, c.gate, threshold, c.ground, float(c.level)
        return np.array([*white, *feet, *model.gravity])

    def reset(self) -> None:
        """Forget everything: the next update starts anew, at the origin."""
        self._started, self._wanted = False, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        self._x[:] = 0.0
        self._x[at.X_TURN + 3] = 1.0
        self._ground[:] = 1.0, 0.0
        self._forget_motion()
        self._report()

    def _forget_motion(self, tilt: float = TILT) -> None:
        """Leave of what is known no more than the accelerometer says, to `tilt` [rad]."""
        s, self._lost = self.noise, 0.0
        self._P[:] = np.eye(len(self._P))
        biases = [s.gyro_bias] * 3 + [s.accelerometer_bias] * 3
        deviations = [tilt, tilt, HEADING] + [SPEED] * 3 + [PLACE, PLACE, HEIGHT] + biases
        index = np.arange(at.FEET)
        self._P[index, index] = np.maximum(np.square(deviations), LEAST)
        self._feet[:] = 0.0
        self._feet[:, at.AGE] = -1.0
        self.observer.reset()

    def _begin(self, accelerometer: Array) -> None:
        """Take the tilt from the accelerometer unless it falls; heading, place and biases stay, the velocity is 0."""
        x, gravity = self._x, self.model.gravity
        R = rotation_from_quaternion(x[at.X_TURN : at.X_TURN + 4])
        up = R @ (accelerometer - x[at.X_ACCELEROMETER : at.X_ACCELEROMETER + 3])
        share = float(np.linalg.norm(up)) / max(float(np.linalg.norm(gravity)), LEAST)
        if share > FALLING:
            x[at.X_TURN : at.X_TURN + 4] = quaternion_from_rotation(_turn_between(up, -gravity) @ R)
        x[at.X_VELOCITY : at.X_VELOCITY + 3] = 0.0
        self._forget_motion(TILT + VAGUE * min(abs(share - 1.0), 1.0))
        first, self._started = not self._started, True
        if first:
            self._report()
            self.set_pose(self._wanted)

    def set_pose(self, pose: ArrayLike) -> None:
        """Let the base be at the place and heading of `pose` (7,) = [x y z, qx qy qz qw]; tilt and covariance stay.

        The ground comes along. Before the first update it is where the base starts.

        Raises
        ------
        ShapeError
            A wrong shape, a number that is not finite, a quaternion without length.
        """
        pose = checked("pose", pose, (7,))
        if not np.linalg.norm(pose[3:]) > LEAST:
            raise ShapeError(f"the quaternion of a pose must have a length, got {pose[3:]}")
        self._wanted = pose.copy()
        if self._started:
            wanted, now = (rotation_from_quaternion(p[3:] / np.linalg.norm(p[3:])) for p in (pose, self._pose))
            G = _about_z(_heading(wanted) - _heading(now))
            self._move(G, pose[:3] - G @ self._pose[:3])

    def _move(self, G: Array, t: Array) -> None:
        """Turn by G (3, 3) about the vertical and shift by t (3,): X <- T X, and the error is turned by Ad_T."""
        x, n = self._x, len(self._P)
        adjoint = np.eye(n)
        x[at.X_TURN : at.X_TURN + 4] = quaternion_from_rotation(
            G @ rotation_from_quaternion(x[at.X_TURN : at.X_TURN + 4])
        )
        x[at.X_VELOCITY : at.X_VELOCITY + 3] = G @ x[at.X_VELOCITY : at.X_VELOCITY + 3]
        adjoint[:3, :3] = adjoint[at.VELOCITY : at.VELOCITY + 3, at.VELOCITY : at.VELOCITY + 3] = G
        feet: list[tuple[int, int]] = [(at.X_FEET + 3 * k, at.FEET + 3 * k) for k in range(len(self.feet))]
        feet = [pair for pair, stands in zip(feet, self.standing, strict=True) if stands]
        for value, error in ((at.X_PLACE, at.PLACE), *feet):
            x[value : value + 3] = G @ x[value : value + 3] + t
            adjoint[error : error + 3, error : error + 3] = G
            adjoint[error : error + 3, :3] = skew(t) @ G
        P = adjoint @ self._P @ adjoint.T
        self._P[:] = 0.5 * (P + P.T)
        self._ground[at.HEIGHT] += t[2]
        self._report()

    def correct_tilt(self, orientation: ArrayLike, deviation: float = 0.02) -> bool:
        """Use the gravity direction of an attitude (4,) xyzw that the IMU reports, of that deviation [rad] (Z9).

        Its heading is not used. Returns whether it was near enough to be used.
        """
        quaternion = checked("orientation", orientation, (4,))
        size = float(np.linalg.norm(quaternion))
        if not (self._started and size > LEAST):
            return False
        up = rotation_from_quaternion(quaternion / size)[2].copy()
        used = bool(at.see_gravity(self._estimate, self._feet, up, deviation, self.contact.gate))
        self._report()
        return used

    def update(
        self,
        dt: float,
        position: ArrayLike,
        velocity: ArrayLike,
        effort: ArrayLike,
        gyro: ArrayLike,
        accelerometer: ArrayLike,
        contact: ArrayLike | None = None,
    ) -> None:
        """Go on by `dt` [s] to what joints and IMU now say.

        Parameters
        ----------
        position, velocity, effort : (n,) of the joints, in the order of `model.joint_names`.
        gyro, accelerometer : (3,) angular velocity [rad/s] and specific force [m/s^2], IMU axes, mean over the step.
        contact : (feet,) measured normal forces [N]; without them an observer of the momentum finds them.

        Raises
        ------
        ShapeError
            A wrong shape, a number that is not finite, a step that is not positive. Nothing has changed then.
        """
        n = len(self.model.joint_names)
        position, velocity = checked("position", position, (n,)), checked("velocity", velocity, (n,))
        effort = checked("effort", effort, (n,))
        gyro, accelerometer = checked("gyro", gyro, (3,)), checked("accelerometer", accelerometer, (3,))
        forces = None if contact is None else checked("contact", contact, (len(self.feet),))
        if not 0.0 < dt < math.inf:
            raise ShapeError(f"dt must be positive, got {dt}")
        self._imu[:3], self._imu[3:] = gyro, accelerometer
        self._q[self.model.q_index], self._qd[self.model.v_index] = position, velocity
        if not self._started or dt > LONGEST:
            self._smooth = accelerometer.copy()
            self._begin(accelerometer)
        self._feet[:, at.FORCE] = self._forces(effort, dt) if forces is None else forces
        self._look()
        if not at.update(self._estimate, *self._rest, dt):
            self.restarts += 1
            self.reset()
        self._notice_loss(accelerometer, dt)
        self._gyro_variance = self.noise.gyro**2 / dt
        self._report()

    def _notice_loss(self, accelerometer: Array, dt: float) -> None:
        """Begin anew in place where feet bear weight and for long none agrees with the estimate."""
        self._smooth += dt / (SMOOTHING + dt) * (accelerometer - self._smooth)
        agrees = (self._feet[:, at.AGE] >= 0.0).any() or not (
            self._feet[:, at.FORCE] > self._settings[at.THRESHOLD]
        ).any()
        self._lost = 0.0 if agrees else self._lost + dt
        if self._lost > LOST:
            self.restarts += 1
            self._begin(self._smooth)

    def _forces(self, effort: Array, dt: float) -> Array:
        """Normal forces (feet,) that the observer finds [N], in the state estimated so far."""
        q, qd = self._q.copy(), self._qd.copy()
        q[:7], qd[:6] = self._pose, self._twist
        force: Array = self.observer.update(q, qd, effort, min(dt, LONGEST))[:, 2]
        return force

    def _report(self) -> None:
        at.report(self._estimate, self.mount, self._imu, self._gyro_variance, self._pose, self._twist, self._covariance)

    @property
    def pose(self) -> Array:
        """Pose (7,) = [x y z, qx qy qz qw] of the base."""
        return self._pose.copy()

    @property
    def twist(self) -> Array:
        """Twist (6,) = [omega, v] of the base, base axes."""
        return self._twist.copy()

    @property
    def covariance(self) -> Array:
        """Covariance (12, 12) of the errors of rotation and position, world axes, and of the twist, base axes (Z10)."""
        return self._covariance.copy()

    @property
    def stance(self) -> Array:
        """Probability (feet,) that a foot stands, from its normal force."""
        force, threshold = self._feet[:, at.FORCE], self._settings[at.THRESHOLD]
        u = 4.0 * (force / threshold - 0.75)
        likely: Array = 0.5 * (1.0 + u / np.sqrt(1.0 + u * u))
        return likely

    @property
    def forces(self) -> Array:
        """Normal forces (feet,) of the last update, measured or found [N]."""
        return self._feet[:, at.FORCE].copy()

    @property
    def standing(self) -> NDArray[np.bool_]:
        """Which feet (feet,) hold the base at present."""
        return self._feet[:, at.AGE] >= 0.0

    @property
    def gyro_bias(self) -> Array:
        """Bias (3,) of the gyroscope, IMU axes [rad/s]."""
        return self._x[at.X_GYRO : at.X_GYRO + 3].copy()

    @property
    def accelerometer_bias(self) -> Array:
        """Bias (3,) of the accelerometer, IMU axes [m/s^2]."""
        return self._x[at.X_ACCELEROMETER : at.X_ACCELEROMETER + 3].copy()

    @property
    def innovation(self) -> Array:
        """Squared normalised innovations (feet,) of the last update."""
        return self._feet[:, at.SQUARED].copy()

    @property
    def gated(self) -> NDArray[np.int64]:
        """How often each foot (feet,) was left out though it bore weight."""
        return self._feet[:, at.GATED].astype(np.int64)


def _mount(imu: ImuMount) -> Array:
    """Numbers (MOUNT,) of where the IMU is in the base."""
    R, p = imu.mount[:9].reshape(3, 3), imu.mount[9:12]
    return np.concatenate([R.ravel(), p, quaternion_from_rotation(R.T)])


def _turn_between(a: Array, b: Array) -> Array:
    """Smallest rotation (3, 3) that turns the direction of a (3,) into that of b; none if there is no direction."""
    size = np.linalg.norm(a) * np.linalg.norm(b)
    if not size > 1e-9:
        return np.eye(3)
    c, axis = a @ b / size, np.cross(a, b) / size
    if c < -1.0 + 1e-9:
        across = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        across /= np.linalg.norm(across)
        half: Array = 2.0 * np.outer(across, across) - np.eye(3)
        return half
    K = skew(axis)
    turn: Array = np.eye(3) + K + K @ K / (1.0 + c)
    return turn


def _heading(R: Array) -> float:
    """Angle of the x axis about the vertical."""
    return math.atan2(R[1, 0], R[0, 0])


def _about_z(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
