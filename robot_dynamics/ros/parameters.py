# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of every node, declared once; nodes, --help, YAML templates and the reference page read it here.

A parameter is a dataclass field: its type, its default, and in the metadata its unit, range and sentence. A field of
type dict[str, float] stands for one ROS parameter per joint, `armature.<joint>`. Nothing here imports ROS.
"""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from ..errors import ParameterError

P = TypeVar("P")


def parameter(
    default: Any,
    sentence: str,
    unit: str = "",
    *,
    low: float = -math.inf,
    high: float = math.inf,
    fixed: bool = False,
) -> Any:
    """Declare one parameter; `fixed` ones are read at start and cannot change while the node runs."""
    metadata = {"sentence": sentence, "unit": unit, "low": low, "high": high, "fixed": fixed}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class RobotParameters:
    """Which robot, and how its description is read: the same for every node."""

    urdf_file: str = parameter("", "Path of the URDF; empty: the parameter or topic robot_description.", fixed=True)
    robot_description: str = parameter("", "URDF text; empty: urdf_file or the topic robot_description.", fixed=True)
    floating_base: bool = parameter(
        True, "Whether the root link moves freely; one without mass, or that is called world, never does.", fixed=True
    )
    joint_damping: tuple[float, ...] = parameter(
        (-1.0,),
        "Viscous friction in place of the URDF's, one or per joint; -1: as in the URDF.",
        "N m s/rad",
        low=-1,
        fixed=True,
    )
    joint_friction: tuple[float, ...] = parameter(
        (-1.0,),
        "Coulomb friction in place of the URDF's, one or per joint; -1: as in the URDF.",
        "N m",
        low=-1,
        fixed=True,
    )
    armature: dict[str, float] = parameter(  # noqa: RUF009 - a field
        {},
        "Reflected rotor inertia of each joint, gear ratio squared times the rotor's inertia.",
        "kg m^2",
        low=0,
        fixed=True,
    )
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81), "Free fall, world axes; the same for every node.", "m/s^2", fixed=True
    )
    joints: tuple[str, ...] = parameter(
        ("",), 'Joint order of messages without names; [""]: order of the URDF.', fixed=True
    )
    mesh_path: tuple[str, ...] = parameter(
        ("",),
        "Folders in which collision meshes are looked for, each a package or one that holds packages, after the "
        "URDF's own and those above it.",
        fixed=True,
    )
    autostart: bool = parameter(
        True, "Configure and activate at once; false: wait for lifecycle transitions.", fixed=True
    )
    end_with_process: int = parameter(
        0,
        "Number of the process with which the node ends; 0: none. Launch files give their own.",
        low=0,
        fixed=True,
    )


@dataclass(frozen=True, slots=True)
class PlantParameters(RobotParameters):
    """Simulates the robot: forward dynamics, contacts, clock and sensors."""

    timestep: float = parameter(0.001, "Step of the simulation.", "s", low=1e-5, high=0.02, fixed=True)
    update_rate: float = parameter(1000.0, "Rate of commands in and states out.", "Hz", low=1, high=10000, fixed=True)
    sensor_rate: float = parameter(
        0.0,
        "Rate of joint_states, odom, imu/data and contacts, a whole fraction of update_rate; 0: update_rate.",
        "Hz",
        low=0,
        high=10000,
        fixed=True,
    )
    real_time_factor: float = parameter(1.0, "Simulated over wall time; 0: as fast as possible.", low=0, high=100)
    clock_rate: float = parameter(
        0.0,
        "Rate of /clock in simulated time, but 10 Hz of wall time at least: silent for longer it counts as lost; 0: "
        "every tick, for controllers that run on it.",
        "Hz",
        low=0,
        fixed=True,
    )
    thread_priority: int = parameter(
        50,
        "SCHED_FIFO priority while active, where the system permits it, one less for threads of DDS; 0: ordinary "
        "threads, as with real_time_factor 0.",
        low=0,
        high=99,
    )
    wake_latency: float = parameter(
        0.0,
        "Processors wake from idleness within this time while active, where the system permits it; 0: they do not "
        "sleep; 1: as they like, as with real_time_factor 0.",
        "s",
        low=0,
        high=1,
    )
    start_paused: bool = parameter(False, "Start with a paused clock; call ~/pause to run.", fixed=True)
    contact_model: Literal["spring_damper", "impulse"] = parameter(
        "spring_damper", "Law of the contact forces.", fixed=True
    )
    scheme: Literal["implicit", "explicit", "linear"] = parameter(
        "implicit",
        "Integration of the spring-damper law: with the force of the end of the step, of its start, or of its start by "
        "the linear law K z - D v, whose K is in N/m and D in N s/m. Only implicit is stable at any usual timestep.",
        fixed=True,
    )
    stiffness: float = parameter(5e5, "Stiffness K of the spring-damper contact.", "N/m^1.5", low=0, fixed=True)
    damping: float = parameter(5e3, "Damping D of the spring-damper contact.", "N s/m^1.5", low=0, fixed=True)
    restitution: float = parameter(0.0, "Restitution e of the impulse contact.", low=0, high=1, fixed=True)
    recovery: float = parameter(
        -1.0,
        "Rate k_r at which the impulse contact leaves penetration; 0: not at all; -1: 0.2 per timestep.",
        "1/s",
        low=-1,
        fixed=True,
    )
    recovery_speed: float = parameter(
        0.5, "Largest speed v_r at which the impulse contact leaves penetration.", "m/s", low=0, fixed=True
    )
    iterations: int = parameter(
        20, "Most sweeps of the contact solver before Newton's method takes over.", low=1, high=200, fixed=True
    )
    tolerance: float = parameter(
        0.0,
        "Error of a contact's velocity at which the solver is done; 0: 3e-8 spring-damper, 1e-8 impulse.",
        "m/s",
        low=0,
        high=1,
        fixed=True,
    )
    integrator: Literal["semi_implicit", "rk4"] = parameter(
        "semi_implicit", "Rule for steps in which nothing touches, sticks or pushes.", fixed=True
    )
    friction: float = parameter(0.6, "Coulomb friction mu of every contact point.", low=0, high=10, fixed=True)
    ground_height: float = parameter(0.0, "Height of the ground plane.", "m", fixed=True)
    ground_normal: tuple[float, ...] = parameter((0.0, 0.0, 1.0), "Normal of the ground plane, world axes.", fixed=True)
    world: str = parameter("", "File of the ground in place of ground_height and ground_normal.", fixed=True)
    map_height: float = parameter(0.1, "Height of the occupied cells of a map on ~/ground_map.", "m", low=-10, high=10)
    map_layer: str = parameter("elevation", "Layer of a GridMap on ~/grid_map that holds the heights.")
    contact_links: tuple[str, ...] = parameter(
        ("",), 'Links that touch the ground; [""]: every link with collision geometry.', fixed=True
    )
    initial_pose: Literal["crouch", "stance", "neutral"] = parameter(
        "crouch",
        "Pose at start and reset; robots without legs take neutral.",
        fixed=True,
    )
    initial_positions: dict[str, float] = parameter(  # noqa: RUF009 - a field
        {}, "Joint positions at start and reset, over initial_pose.", "rad", fixed=True
    )
    clearance: float = parameter(0.0, "Height of the lowest contact point above the ground at reset.", "m", fixed=True)
    kp: tuple[float, ...] = parameter(
        (0.0,),
        "Position gain of joint_commands and hold, one or per joint; 0: from weight and leg length.",
        "N m/rad",
        low=0,
    )
    kd: tuple[float, ...] = parameter(
        (0.0,), "Velocity gain of joint_commands and hold, one or per joint; 0: from kp.", "N m s/rad", low=0
    )
    command_timeout: float = parameter(
        0.1,
        "Age of the last command at which timeout_action runs; 0: never. Send every tick, also unchanged values.",
        "s",
        low=0,
    )
    timeout_action: Literal["hold", "zero", "damp", "pause"] = parameter(
        "hold",
        "What a stale command leads to: hold the pose, zero effort, damp the joints, pause.",
    )
    actuator_lag: float = parameter(
        0.0, "Time constant T of the joint efforts behind what is commanded; 0: none.", "s", low=0, high=1, fixed=True
    )
    command_delay: int = parameter(0, "Timesteps that a command travels before it acts.", low=0, high=10000, fixed=True)
    no_load_speed: tuple[float, ...] = parameter(
        (0.0,),
        "Speed qd_0 at which a driving motor has no effort left, one or per joint; 0: no such limit; -1: the velocity "
        "limit of the URDF.",
        "rad/s",
        low=-1,
        fixed=True,
    )
    full_effort_speed: tuple[float, ...] = parameter(
        (0.0,),
        "Speed qd_1 up to which a driving motor has its full effort, one or per joint; from there on it falls linearly "
        "to none at no_load_speed; 0: half of that.",
        "rad/s",
        low=0,
        fixed=True,
    )
    efforts_alone: bool = parameter(
        True,
        "Whether effort_controller/commands ends the hold; false where it adds to joint_commands and waits for them.",
        fixed=True,
    )
    effort_scale: float = parameter(1.0, "Fraction of the URDF effort limits that commands may use.", low=0, high=1)
    max_command_age: float = parameter(
        0.0,
        "Simulated time stands still rather than let the commands that are followed become older than this, for "
        "lockstep_timeout of wall time at most; 0: it goes on.",
        "s",
        low=0,
    )
    lockstep: bool = parameter(
        False, "Wait in every tick for joint_commands stamped with its state; time stands until the first.", fixed=True
    )
    lockstep_timeout: float = parameter(
        0.5, "Wall time after which a plant that waits for a command goes on without.", "s", low=0.001
    )
    push_duration: float = parameter(0.1, "Duration of a wrench from ~/push.", "s", low=0, high=10)
    odom_frame: str = parameter("odom", "Frame of odom.", fixed=True)
    base_frame: str = parameter("", "Child frame of odom; empty: the root link.", fixed=True)
    imu_link: str = parameter("", "Link that carries the IMU; empty: the root link.", fixed=True)
    noise_position: float = parameter(
        0.0, "Standard deviation of the white noise on joint positions.", "rad", low=0, fixed=True
    )
    noise_position_bias: float = parameter(
        0.0, "Standard deviation of the bias of joint positions, drawn at every reset.", "rad", low=0, fixed=True
    )
    noise_velocity: float = parameter(
        0.0, "Standard deviation of the white noise on joint velocities.", "rad/s", low=0, fixed=True
    )
    noise_velocity_bias: float = parameter(
        0.0, "Standard deviation of the bias of joint velocities, drawn at every reset.", "rad/s", low=0, fixed=True
    )
    noise_gyro: float = parameter(
        0.0, "Standard deviation of the white noise on the angular velocity of imu/data.", "rad/s", low=0, fixed=True
    )
    noise_gyro_bias: float = parameter(
        0.0,
        "Standard deviation of the bias of the angular velocity of imu/data, drawn at every reset.",
        "rad/s",
        low=0,
        fixed=True,
    )
    noise_accelerometer: float = parameter(
        0.0, "Standard deviation of the white noise on the acceleration of imu/data.", "m/s^2", low=0, fixed=True
    )
    noise_accelerometer_bias: float = parameter(
        0.0,
        "Standard deviation of the bias of the acceleration of imu/data, drawn at every reset.",
        "m/s^2",
        low=0,
        fixed=True,
    )
    seed: int = parameter(0, "Of the noise: the same seed gives the same noise.", low=0, high=2**31 - 1, fixed=True)
    marker_rate: float = parameter(20.0, "Rate of ~/markers and ~/energy.", "Hz", low=0.1, high=200, fixed=True)
    frame_prefix: str = parameter("", "Put before link names in frames.", fixed=True)


@dataclass(frozen=True, slots=True)
class FeedforwardParameters(RobotParameters):
    """Turns states and references into feed-forward joint efforts."""

    mode: Literal["gravity", "bias", "inverse_dynamics", "stance"] = parameter(
        "stance",
        "gravity; bias: gravity and Coriolis; inverse_dynamics: with the reference's accelerations; "
        "stance: inverse_dynamics and the weight shared among the feet in contact.",
        fixed=True,
    )
    dry_run: bool = parameter(True, "Publish only ~/torque until ~/enable is called.", fixed=True)
    watch_only: bool = parameter(
        False, "Another node carries the weight: publish only ~/torque, and refuse ~/enable.", fixed=True
    )
    output: Literal["commands", "joint_commands", "both"] = parameter(
        "commands",
        "Where efforts go: effort_controller/commands, joint_commands, or both.",
        fixed=True,
    )
    ramp_time: float = parameter(1.0, "Time in which the gain goes from 0 to 1 after enabling.", "s", low=0, high=60)
    effort_scale: float = parameter(1.0, "Fraction of the URDF effort limits that may be commanded.", low=0, high=1)
    effort_rate: float = parameter(0.0, "Largest change of an effort; 0: unlimited.", "N m/s", low=0)
    velocity_taper: float = parameter(
        0.9, "Fraction of the velocity limit at which driving efforts start to fade.", low=0, high=1
    )
    position_taper: float = parameter(
        0.0, "Distance to a joint stop in which efforts into it fade.", "rad", low=0, high=1
    )
    state_timeout: float = parameter(
        0.1, "Age of joint_states (and odom) at which timeout_action runs.", "s", low=0.001
    )
    timeout_action: Literal["zero", "hold"] = parameter("zero", "What a stale state leads to.")
    friction: float = parameter(
        0.5, "Coulomb friction assumed of the ground under the feet.", low=0.01, high=10, fixed=True
    )
    reference_topic: str = parameter(
        "~/reference",
        "JointState stream whose velocities are the motion that is wanted; joint_commands: what a controller asks for.",
        fixed=True,
    )
    reference_filter: float = parameter(
        0.005, "Time constant of the low-pass on the accelerations of that stream.", "s", low=0, high=1, fixed=True
    )
    base_frame: str = parameter(
        "", "Child frame that odom must have; odom of another is refused; empty: the root link.", fixed=True
    )
    imu_link: str = parameter(
        "", "Link in whose frame imu/data is, used where there is no odom; empty: the root link.", fixed=True
    )
    feet: tuple[str, ...] = parameter(("",), 'Foot links; [""]: found from the collision geometry.', fixed=True)
    contact_threshold: float = parameter(
        5.0, "Normal force above which a foot of `contacts` counts as standing.", "N", low=0
    )
    estimate_contacts: bool = parameter(
        False, "Publish contacts estimated from joint efforts, for robots without foot sensors.", fixed=True
    )
    thread_priority: int = parameter(
        52,
        "SCHED_FIFO priority while active, where the system permits it, one less for threads of DDS; 0: ordinary "
        "threads. Before the plant, 50: whoever simulates does not keep the loop waiting.",
        low=0,
        high=99,
    )
    wake_latency: float = parameter(
        0.0,
        "Processors wake from idleness within this time while active, where the system permits it; 0: they do not "
        "sleep; 1: as they like.",
        "s",
        low=0,
        high=1,
    )


@dataclass(frozen=True, slots=True)
class MonitorParameters(RobotParameters):
    """Watches the robot: mass matrix, energies, model error, diagnostics."""

    rate: float = parameter(10.0, "Rate of ~/mass_matrix and ~/energy.", "Hz", low=0.1, high=100, fixed=True)
    residual_rate: float = parameter(100.0, "Highest rate of ~/residual.", "Hz", low=1, high=1000, fixed=True)
    window: float = parameter(5.0, "Span of the running statistics.", "s", low=0.5, high=60, fixed=True)
    state_timeout: float = parameter(0.5, "Age of joint_states at which the diagnostic turns stale.", "s", low=0.001)
    base_frame: str = parameter(
        "", "Child frame that odom must have; odom of another is refused; empty: the root link.", fixed=True
    )
    kp: tuple[float, ...] = parameter(
        (0.0,),
        "Position gain for the delay margin, one or per joint; 0: that of the plant, from weight and leg length.",
        "N m/rad",
        low=0,
        fixed=True,
    )
    kd: tuple[float, ...] = parameter(
        (0.0,),
        "Velocity gain for the delay margin, one or per joint; 0: that of the plant, from kp.",
        "N m s/rad",
        low=0,
        fixed=True,
    )
    condition_limit: float = parameter(1e6, "Condition number of the mass matrix that warns.", low=1)
    consistency_limit: float = parameter(
        1e-6, "Largest difference between tau and RNEA(ABA(tau)) that is fine.", "N m", low=0
    )
    thread_priority: int = parameter(
        40,
        "SCHED_FIFO priority while active, where the system permits it, one less for threads of DDS; 0: ordinary "
        "threads. Behind all that closes the loop.",
        low=0,
        high=99,
    )
    closed_form: bool = parameter(
        True, "Check the mass matrix of limbs of at most 4 joints against their closed form, once a second.", fixed=True
    )


@dataclass(frozen=True, slots=True)
class ControllerParameters(RobotParameters):
    """Stands up and trots in place, so that the loop runs out of the box."""

    rate: float = parameter(
        500.0, "Highest rate of joint_commands; one per joint_states at most.", "Hz", low=10, high=2000, fixed=True
    )
    feet: tuple[str, ...] = parameter(("",), 'Foot links; [""]: found from the collision geometry.', fixed=True)
    trot: bool = parameter(False, "Trot as soon as the robot stands; ~/gait changes it later.")
    crawl: bool = parameter(
        False,
        "Crawl straight ahead, foot by foot, as soon as it stands and does not trot; ~/crawl changes it later.",
    )
    stride: float = parameter(
        0.5, "Way of the crawl in a cycle of four steps over the reach of the legs.", low=0.05, high=0.8, fixed=True
    )
    world: str = parameter("", "File of the ground for the crawl, as of the plant; empty: z = 0 of odom.", fixed=True)
    stand_time: float = parameter(
        1.5, "Time to stand up from the pose found at start.", "s", low=0.1, high=30, fixed=True
    )
    height: float = parameter(0.72, "Stance height over the reach of the legs.", low=0.3, high=0.95, fixed=True)
    cycle: float = parameter(0.4, "Period of the trot.", "s", low=0.1, high=5, fixed=True)
    duty: float = parameter(0.55, "Fraction of the cycle a foot stands.", low=0.5, high=0.9, fixed=True)
    lift: float = parameter(0.12, "Lift of a swinging foot over the reach of the legs.", low=0, high=0.5, fixed=True)
    weight: bool = parameter(True, "Carry the weight by effort; false where the feedforward node does.", fixed=True)
    base_frame: str = parameter(
        "", "Child frame that odom must have; odom of another is refused; empty: the root link.", fixed=True
    )
    state_timeout: float = parameter(0.1, "Age at which joint_states is refused.", "s", low=0.001)
    thread_priority: int = parameter(
        54,
        "SCHED_FIFO priority while active, where the system permits it, one less for threads of DDS; 0: ordinary "
        "threads. Before the plant, 50: whoever simulates does not keep the loop waiting.",
        low=0,
        high=99,
    )


@dataclass(frozen=True, slots=True)
class UnitreeBridgeParameters(RobotParameters):
    """Stands between joints with names and the motors of a Unitree robot."""

    robot: Literal["go2", "a1", "b2", "g1"] = parameter(
        "go2", "Which robot: its messages, the order of its motors, the mode in which they obey.", fixed=True
    )
    role: Literal["controller", "robot"] = parameter(
        "controller",
        "controller: joint_commands go to a robot as lowcmd; robot: the lowcmd of a controller goes to the plant.",
        fixed=True,
    )
    motors: tuple[str, ...] = parameter(
        ("",), 'Joint of every motor, in the order of motor_cmd; [""]: as in the URDFs of Unitree.', fixed=True
    )
    rate: float = parameter(
        500.0, "Rate of lowcmd between and without new commands.", "Hz", low=50, high=1000, fixed=True
    )
    command_timeout: float = parameter(
        0.012,
        "Age of the last command at which the motors are damped, a period later at most.",
        "s",
        low=0.002,
        high=1,
    )
    damping: float = parameter(2.0, "Velocity gain of motors that are damped.", "N m s/rad", low=0, high=100)
    kp: tuple[float, ...] = parameter(
        (0.0,),
        "Position gain of joint_commands without joint_gains, one or per joint; 0: from weight and leg length.",
        "N m/rad",
        low=0,
    )
    kd: tuple[float, ...] = parameter(
        (0.0,), "Velocity gain of the same, one or per joint; 0: from kp.", "N m s/rad", low=0
    )
    effort_scale: float = parameter(1.0, "Fraction of the URDF effort limits that commands may use.", low=0, high=1)
    state_timeout: float = parameter(
        0.1, "Age of lowstate (joint_states) at which the diagnostic turns stale.", "s", low=0.001
    )
    imu_link: str = parameter("", "Link that carries the IMU; empty: the root link.", fixed=True)
    frame_prefix: str = parameter("", "Put before link names in frames.", fixed=True)
    thread_priority: int = parameter(
        54,
        "SCHED_FIFO priority while active, where the system permits it, one less for threads of DDS; 0: ordinary "
        "threads.",
        low=0,
        high=99,
    )


@dataclass(frozen=True, slots=True)
class ViewerParameters(RobotParameters):
    """Shows the robot in a browser: meshes, forces, ground, plots, and controls of the other nodes."""

    host: str = parameter(
        "127.0.0.1",
        "Address at which the page is served; others than this computer's own reach it by 0.0.0.0, without a password.",
        fixed=True,
    )
    port: int = parameter(
        8080, "Port of the page; where it is taken, the next free one; 0: any.", low=0, high=65535, fixed=True
    )
    rate: float = parameter(30.0, "Rate at which the page is drawn.", "Hz", low=1, high=60, fixed=True)
    controls: bool = parameter(
        True, "Whether the page has controls; false: whoever opens it can only look.", fixed=True
    )
    friction: float = parameter(
        0.6, "Friction coefficient of the cones, unless a plant tells its own.", low=0, high=10, fixed=True
    )
    state_timeout: float = parameter(0.5, "Age of joint_states at which the diagnostic turns stale.", "s", low=0.001)


@dataclass(frozen=True, slots=True)
class EstimatorParameters(RobotParameters):
    """Estimates the base state of a legged robot from IMU and joints."""

    imu_link: str = parameter(
        "", "Link in whose frame the IMU reads, fixed to the root link; empty: the root link.", fixed=True
    )
    feet: tuple[str, ...] = parameter(("",), 'Foot links; [""]: found from the collision geometry.', fixed=True)
    base_frame: str = parameter("", "Child frame of odom; empty: the root link.", fixed=True)
    odom_frame: str = parameter("odom", "Frame of odom.", fixed=True)
    frame_prefix: str = parameter("", "Put before link names in frames.", fixed=True)
    publish_tf: bool = parameter(False, "Publish the base in odom_frame on /tf.", fixed=True)
    gyro_noise: float = parameter(
        3e-4, "Density of the gyroscope's white noise, as its data sheet has it.", "rad/s/sqrt(Hz)", low=0, fixed=True
    )
    gyro_bias: float = parameter(
        5e-3, "Standard deviation of the gyroscope's bias when switched on.", "rad/s", low=0, fixed=True
    )
    gyro_walk: float = parameter(
        1e-5, "Density of the random walk of that bias.", "rad/s^2/sqrt(Hz)", low=0, fixed=True
    )
    accelerometer_noise: float = parameter(
        3e-3, "Density of the accelerometer's white noise.", "m/s^2/sqrt(Hz)", low=0, fixed=True
    )
    accelerometer_bias: float = parameter(
        5e-2, "Standard deviation of the accelerometer's bias when switched on.", "m/s^2", low=0, fixed=True
    )
    accelerometer_walk: float = parameter(
        1e-4, "Density of the random walk of that bias.", "m/s^3/sqrt(Hz)", low=0, fixed=True
    )
    encoder_noise: float = parameter(1e-4, "Standard deviation of a joint position.", "rad", low=0, fixed=True)
    kinematics: float = parameter(
        3e-4, "Standard deviation of a foot's place by the joints, beside the encoders.", "m", low=0, fixed=True
    )
    creep: float = parameter(1.5e-4, "Density of the velocity of a standing foot.", "m/s/sqrt(Hz)", low=0, fixed=True)
    compliance: float = parameter(
        1.5e-5, "How far ground, foot and leg give way to the force on a foot.", "m/N", low=0, fixed=True
    )
    slip: float = parameter(
        0.03, "Standard deviation of a foot's velocity that still counts as standing.", "m/s", low=0, fixed=True
    )
    contact_threshold: float = parameter(
        0.0,
        "Normal force above which a foot stands, and below half of which it does not; 0: a twentieth of the weight.",
        "N",
        low=0,
        fixed=True,
    )
    ground: float = parameter(
        5e-3,
        "Standard deviation of the heights of footholds about a level ground; 0: unknown ground, the height drifts.",
        "m",
        low=0,
        fixed=True,
    )
    level_ground: bool = parameter(
        False, "Whether heights of footholds may correct roll and pitch, too: on a level floor only.", fixed=True
    )
    use_orientation: bool = parameter(
        False, "Use the gravity direction, and nothing else, of the orientation in imu/data."
    )
    orientation_noise: float = parameter(0.02, "Standard deviation of that direction.", "rad", low=1e-4, high=1)
    state_timeout: float = parameter(
        0.1, "Age at which joint_states, imu/data and contacts are refused, or missed.", "s", low=0.001
    )
    thread_priority: int = parameter(
        53,
        "SCHED_FIFO priority while active, where the system permits it, one less for threads of DDS; 0: ordinary "
        "threads. Before the feed-forward, 52, which wants what it says.",
        low=0,
        high=99,
    )
    wake_latency: float = parameter(
        0.0,
        "Processors wake from idleness within this time while active, where the system permits it; 0: they do not "
        "sleep; 1: as they like.",
        "s",
        low=0,
        high=1,
    )


NODES: dict[str, type[RobotParameters]] = {
    "plant": PlantParameters,
    "feedforward": FeedforwardParameters,
    "monitor": MonitorParameters,
    "controller": ControllerParameters,
    "unitree_bridge": UnitreeBridgeParameters,
    "viewer": ViewerParameters,
    "estimator": EstimatorParameters,
}
MINI_CHEETAH = {
    f"{leg}_{joint}": inertia
    for leg in ("FR", "FL", "HR", "HL")
    for joint, inertia in (("abad", 0.002268), ("hip", 0.002268), ("knee", 0.005484))
}
"""Rotor inertia 6.3e-5 kg m^2 times 6^2 (abad, hip) and 9.33^2 (knee) [kg m^2]."""


def checked(kind: type[P], given: Mapping[str, Any]) -> P:
    """Build parameters from the values a user gave.

    Parameters
    ----------
    kind : one of the dataclasses above.
    given : values by name; a dict[str, float] field comes as a mapping.

    Raises
    ------
    ParameterError
        Unknown name, wrong type, outside the range or the choices; the sentence names the parameter.
    """
    return updated(kind(), given)


def updated(values: P, given: Mapping[str, Any]) -> P:
    """Return `values` with those that a user gave in their place; raises as `checked`."""
    known = {f.name: f for f in fields(values)}  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise ParameterError(f"there is no parameter '{name}'; valid names: {', '.join(sorted(known))}")
    return replace(values, **{name: _value(known[name], value) for name, value in given.items()})  # type: ignore[type-var]


def _value(f: Field, given: Any) -> Any:
    if get_origin(f.type) is dict:
        return {key: _scalar(f, f"{f.name}.{key}", float, item) for key, item in given.items()}
    if get_origin(f.type) is tuple:
        if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
            given = (given,)
        return tuple(_scalar(f, f.name, get_args(f.type)[0], item) for item in given)
    return _scalar(f, f.name, str if choices(f) else f.type, given)


def _scalar(f: Field, name: str, kind: Any, given: Any) -> Any:
    if kind is float and isinstance(given, int) and not isinstance(given, bool):
        given = float(given)
    if not isinstance(given, kind):
        raise ParameterError(f"parameter '{name}' must be of type {kind.__name__}, got {given!r}")
    low, high, valid = f.metadata["low"], f.metadata["high"], choices(f)
    if kind in (float, int) and not (math.isfinite(given) and low <= given <= high):
        raise ParameterError(f"parameter '{name}' must lie in {range_text(f)}, got {given:g}")
    if valid and given not in valid:
        raise ParameterError(f"parameter '{name}' must be one of {', '.join(valid)}, got '{given}'")
    return given


def choices(f: Field) -> tuple[str, ...]:
    """Return the valid values of a field of type Literal, none for others."""
    return get_args(f.type) if get_origin(f.type) is Literal else ()


def range_text(f: Field) -> str:
    """Range with unit, like `0 .. 1 N m`; the choices of a choice; empty where there is none."""
    low, high, unit = f.metadata["low"], f.metadata["high"], f.metadata["unit"]
    if choices(f):
        return " | ".join(choices(f))
    if math.isinf(low) and math.isinf(high):
        return unit
    span = (
        f"{low:g} .. {high:g}"
        if math.isfinite(high) and math.isfinite(low)
        else f">= {low:g}"
        if math.isinf(high)
        else f"<= {high:g}"
    )
    return f"{span} {unit}".strip()


def help_text(kind: type, node: str) -> str:
    """Return what `--help` of a node prints: its parameters, one paragraph each."""
    lines = [
        f"{node}: {(kind.__doc__ or '').strip()}",
        "",
        f"usage: {node} [--help] [--ros-args -p NAME:=VALUE ... --params-file FILE -r FROM:=TO ...]",
        "",
        "parameters:",
    ]
    for f in fields(kind):
        name = f.name + (".<joint>" if get_origin(f.type) is dict else "")
        default = "" if get_origin(f.type) is dict else f" (default {_yaml(f.default)})"
        limits = f" [{range_text(f)}]" if range_text(f) else ""
        lines += [f"  {name}{limits}{default}", f"      {f.metadata['sentence']}"]
    return "\n".join(lines)


def yaml_text(kind: type, node: str) -> str:
    """Return a parameter file with the default of every parameter, its sentence and range."""
    lines = [f"# {node}: {(kind.__doc__ or '').strip()}", "/**:", "  ros__parameters:"]
    for f in fields(kind):
        limits = f" [{range_text(f)}]" if range_text(f) else ""
        per_joint = get_origin(f.type) is dict
        value = f"# {f.name}: {{<joint>: 0.0}}" if per_joint else f"{f.name}: {_yaml(f.default)}"
        lines += [f"    # {f.metadata['sentence']}{limits}", f"    {value}"]
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(_yaml(item) for item in value)}]"
    digits, e, exponent = repr(value).partition("e")
    return digits + ".0" * (bool(e) and "." not in digits) + e + exponent  # YAML 1.1 reads 1e-06 as text


def config_text(name: str) -> str:
    """Return the text of config/<name>.yaml: the parameters of a node, or what only the Mini Cheetah needs."""
    if name in NODES:
        return yaml_text(NODES[name], name)
    lines = ["# mini_cheetah: what its URDF cannot say, for every node; read after the node's own file.", "/**:"]
    lines += ["  ros__parameters:", "    # Reflected rotor inertia of each joint [kg m^2]", "    armature:"]
    return "\n".join([*lines, *(f"      {joint}: {inertia}" for joint, inertia in MINI_CHEETAH.items())]) + "\n"


INTRODUCTION = """# Parameters

Set them in a parameter file (`params_file:=my.yaml` of every launch file; `config/` holds one to copy for each
node), with `-p name:=value` behind `ros2 run robot_dynamics <node> --ros-args`, or, those with a star, with
`ros2 param set` while the node runs. What is misspelt or out of range is refused with the reason.
`ros2 run robot_dynamics <node> --help` says the same as this page, which is written by
`python -m robot_dynamics.ros.parameters config docs`."""


def page_text() -> str:
    """Return the text of docs/parameters.md: what all nodes share once, then a table for each."""
    common = {f.name for f in fields(RobotParameters)}
    lines = [INTRODUCTION]
    lines += _table("Of every node", (RobotParameters.__doc__ or "").strip(), fields(RobotParameters))
    for name, kind in NODES.items():
        lines += _table(f"`{name}`", (kind.__doc__ or "").strip(), [f for f in fields(kind) if f.name not in common])
    return "\n".join(lines) + "\n"


def _table(title: str, sentence: str, rows: Iterable[Field]) -> list[str]:
    lines = ["", f"## {title}", "", sentence, "", "| parameter | default | range | meaning |", "|---|---|---|---|"]
    for f in rows:
        per_joint = get_origin(f.type) is dict
        name = f.name + (".<joint>" if per_joint else "")
        default = "" if per_joint else f"`{_yaml(f.default)}`"
        star = "" if f.metadata["fixed"] else " *"
        limits = range_text(f).replace("|", "\\|")
        lines.append(f"| `{name}`{star} | {default} | {limits} | {f.metadata['sentence']} |")
    return lines


if __name__ == "__main__":  # python -m robot_dynamics.ros.parameters config docs
    for file_name in (*NODES, "mini_cheetah"):
        (Path(sys.argv[1]) / f"{file_name}.yaml").write_text(config_text(file_name))
    (Path(sys.argv[2]) / "parameters.md").write_text(page_text())
