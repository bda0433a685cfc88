# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node `plant`: the simulated robot. Commands in, states out, once per tick of a thread on absolute deadlines."""

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, PoseStamped, PoseWithCovarianceStamped, WrenchStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray, String, UInt32
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from ..contact.terrain import Surface
from ..contact.world import load_world
from ..control.actuation import SAME_INSTANT, Actuation
from ..control.guard import NONE
from ..control.imu import ImuMount
from ..control.motion import Motion
from ..control.pace import Pace
from ..control.patience import Patience
from ..control.payload import Payloads
from ..control.posture import Posture
from ..control.robot import immovable
from ..control.simulation import EPOCH, fitting_gains, gains
from ..dynamics.algorithms import center_of_mass
from ..dynamics.kinematics import link_pose
from ..errors import RobotDynamicsError
from ..simulation.divergence import Divergence
from ..simulation.plant import Measurement, Plant, SensorNoise
from . import convert, interface_commands, simulation_services, wire
from .component import (
    CLOCK_PERIOD,
    ERROR,
    LATCHED,
    LATEST,
    OK,
    RELIABLE,
    SENSOR,
    STREAM,
    WARN,
    WARN_PERIOD,
    Component,
    InvalidHandle,
    RCLError,
    quantiles,
    sender,
)
from .ground_maps import ground_from_grid_map, ground_from_occupancy
from .markers import Scene, ground_markers
from .parameters import PlantParameters
from .plant_params import sense_every, simulation, start
from .plant_record import PlantRecord
from .run import run

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # not on PyPI
    TFMessage = None
try:
    from grid_map_msgs.msg import GridMap
except ImportError:  # not on PyPI
    GridMap = None

ENERGIES = (
    "kinetic",
    "potential",
    "elastic",
    "initial",
    "work_in",
    "dissipated_joint",
    "dissipated_contact",
    "balance_error",
)
COMMANDS = ("joint_commands", "joint_gains", "effort_controller/commands", *interface_commands.TOPICS)
"""What tells the joints something; all else that is heard changes the plant besides."""
SWITCH = 1e-4
"""Wall time after which a callback leaves the interpreter to the tick that waits for it [s]; Python's own are 5 ms."""
CLOCK_GAP = 0.1
"""Largest wall time between two messages of a running clock [s], whatever its `clock_rate`."""


class PlantNode(Component):
    """Owns the simulation in one thread; callbacks only post to its inbox."""

    kind = PlantParameters

    def build(self) -> None:
        """Make the plant, warm it up, and build every message once."""
        v, model = self.values, self.model
        self.sense_every = sense_every(v)
        self.fitting = fitting_gains(model)
        self.simulation = simulation(model, v, self.order, self.fitting)
        self.plant, actuation = self.simulation.plant, self.simulation.actuation
        self.simulation.tick()
        self.simulation.begin()
        self.simulation.paused = v.start_paused
        self.pace = Pace(1.0 / v.update_rate, v.real_time_factor, self.tell_time)
        self.imu_mount = ImuMount(model, v.imu_link)
        self.payloads = Payloads(model)
        self.posture, self.immovable = Posture(), len(immovable(model))
        self.noisy = self.plant.params.noise != SensorNoise()
        self._memory(actuation)
        self._messages()

    def _memory(self, actuation: Actuation) -> None:
        """What the node remembers from tick to tick, and what waits for the next one."""
        self.reading: Measurement | None = None
        self.sensed = -np.inf
        self.streams = {"joint_commands": actuation.targets, "effort_controller/commands": actuation.efforts}
        self.ages: dict[str, deque[float]] = {name: deque(maxlen=1000) for name in self.streams}
        self.patience = Patience(list(self.streams.values()))
        self.late, self.late_at = "", -np.inf
        self.reported: Divergence | None = None
        self.slowed = False
        self.inbox: deque[tuple[str, Callable[[Any], None], Any]] = deque(maxlen=1024)
        self.requests: deque[Callable[[], None]] = deque()
        self.steppers: list[threading.Event] = []
        self.revision: Callable[[], None] | None = None
        self.ground_asked = 0
        self.arrived = threading.Event()

    def _messages(self) -> None:
        v, model = self.values, self.model
        base = v.frame_prefix + (v.base_frame or model.link_names[0])
        self.base_frame = base
        self.joint_message = wire.JointStateWriter(model.joint_names, base)
        self.odometry = wire.OdometryWriter(v.odom_frame, base)
        self.imu_message = wire.ImuWriter(v.frame_prefix + (v.imu_link or model.link_names[0]))
        links = self.plant.contacts.link
        self.contact_message = wire.ContactWriter(links, v.odom_frame)
        self.wrenches = {link: wire.ForceWriter(v.odom_frame) for link in dict.fromkeys(links)}
        self.rows = {link: [i for i, name in enumerate(links) if name == link] for link in self.wrenches}
        self.clock_message = wire.Writer(ClockMessage())
        self.targets, self.commanded = wire.Reader(JointState), wire.ArrayReader()
        self.energy_message = convert.MultiArrayWriter([", ".join(ENERGIES) + " [J]"], [len(ENERGIES)])
        self.scene = Scene(v.odom_frame, v.friction, model.mass * float(np.linalg.norm(model.gravity)))
        self.clock_every = clock_every(v)
        self.slow_every = max(1, round(v.update_rate / v.marker_rate))
        self.connect_sensors()

    def connect_sensors(self) -> None:
        """Let the plant's readings go straight into the messages."""
        joints, base = self.joint_message, self.odometry.numbers if self.model.floating_base else NONE
        columns = joints.position, joints.velocity, joints.effort
        self.read_sensors = self.plant.readings(self.imu_mount.mount, *columns, base, self.imu_message.numbers)

    def start(self) -> None:
        """Open the topics and let the thread run."""
        self.clocks = self.publisher(ClockMessage, "/clock", RELIABLE)
        self.joint_states = self.publisher(JointState, "joint_states", RELIABLE)
        self.odometries = self.publisher(Odometry, "odom", RELIABLE)
        self.imus = self.publisher(Imu, "imu/data", RELIABLE)
        self.contact_sets = self.publisher(MultiDOFJointState, "contacts", RELIABLE)
        self.energies = self.publisher(Float64MultiArray, "~/energy", LATEST)
        self.stamped_energies = self.publisher(DiagnosticArray, "~/energy_stamped", LATEST)
        self.markers = self.publisher(MarkerArray, "~/markers", LATEST)
        self.grounds = self.publisher(MarkerArray, "~/ground", LATCHED)
        self.transforms = self.publisher(TFMessage, "/tf", QoSProfile(depth=100)) if TFMessage else None
        self.contact_wrenches = {
            link: self.publisher(WrenchStamped, f"contacts/{link}/wrench", RELIABLE) for link in self.wrenches
        }
        self.record = PlantRecord(self)
        self.touching = frozenset({self.contact_sets, *self.contact_wrenches.values()})
        self.send_clock = sender(self.clocks)
        self.stream = [(publisher, sender(publisher), message) for publisher, message in self.written()]
        self.listen()
        self.show_ground()
        self.stopping = False
        sys.setswitchinterval(SWITCH)
        self.simulation_services = simulation_services.SimulationServices(self) if simulation_services.srv else None
        self.thread = threading.Thread(target=self.live, name="plant", daemon=True)
        self.thread.start()
        self.keep_pace()

    def listen(self) -> None:
        """Hear commands, and whatever else changes the plant."""
        self.commands = [
            self.command(Float64MultiArray, "effort_controller/commands", self.on_effort),
            self.command(JointState, "joint_gains", self.on_gains),
            self.command(JointState, "joint_commands", self.on_target),
            *interface_commands.subscribe(self),
        ]
        self.posted(WrenchStamped, "~/push", self.on_push, RELIABLE)
        self.posted(WrenchStamped, "~/wrench", self.on_wrench, SENSOR)
        self.posted(PoseStamped, "~/set_pose", self.on_pose, RELIABLE)
        self.posted(PoseWithCovarianceStamped, "initialpose", self.on_initial_pose, RELIABLE)
        self.posted(JointState, "~/set_joint_state", self.on_joints, RELIABLE)
        self.posted(JointTrajectory, "~/joint_trajectory", self.on_trajectory, RELIABLE)
        self.posted(UInt32, "~/step", self.on_step, RELIABLE)
        self.subscription(InertiaStamped, "~/payload", self.on_payload, RELIABLE)
        self.subscription(String, "~/load_world", self.on_world, RELIABLE)
        self.subscription(OccupancyGrid, "~/ground_map", self.on_map, LATCHED)
        if GridMap is not None:
            self.subscription(GridMap, "~/grid_map", self.on_grid_map, RELIABLE)
        self.service(SetBool, "~/pause", self.on_pause)
        self.service(SetBool, "~/estop", self.on_estop)
        self.service(Trigger, "~/reset", self.on_reset)

    def written(self) -> Iterator[tuple[Publisher, wire.Writer]]:
        """Yield what is published in every tick, in this order."""
        if self.model.floating_base:
            yield self.odometries, self.odometry
        yield self.contact_sets, self.contact_message
        for link, publisher in self.contact_wrenches.items():
            yield publisher, self.wrenches[link]
        yield self.imus, self.imu_message
        yield self.joint_states, self.joint_message

    def keep_pace(self) -> None:
        """Come before other processes, unless as fast as possible: then nothing else would run on this core."""
        v = self.values
        if v.real_time_factor:
            self.set_realtime(v.thread_priority, v.wake_latency)
        else:
            self.set_realtime()

    def stop(self) -> None:
        """End the thread; one that hangs inside DDS is left behind."""
        self.set_realtime()
        self.stopping = True
        self.arrived.set()
        if self.simulation_services is not None:
            self.simulation_services.close()
        self.thread.join(timeout=0.5)

    def changed(self, names: Set[str]) -> None:
        """Use new gains, rates and timeouts, all of one request from the same tick on.

        rclpy calls this for each parameter of a request by itself: what the last call says counts, once all are done.
        """
        v, actuation = self.values, self.simulation.actuation
        kp, kd = gains(self.model, v.kp, v.kd, self.fitting)
        limit = v.effort_scale * self.model.effort_limit

        def use() -> None:
            actuation.set_gains(kp, kd)
            actuation.action, actuation.limit = v.timeout_action, limit
            actuation.targets.max_age = actuation.efforts.max_age = v.command_timeout
            self.pace.ask(v.real_time_factor)
            self.clock_every = clock_every(v)

        if self.revision is None:
            self.executor.create_task(self.revise)
        self.revision = use
        if self.active and names & {"real_time_factor", "thread_priority", "wake_latency"}:
            self.keep_pace()

    def revise(self) -> None:
        """Let the simulation's thread use what was changed."""
        use, self.revision = self.revision, None
        if use is not None:
            self.do(use)

    def posted(self, kind: type, topic: str, handler: Callable[[Any], None], qos: Any, raw: bool = False) -> None:
        """Subscribe; the handler runs in the simulation's thread before its next tick."""

        def post(msg: Any) -> None:
            self.inbox.append((topic, handler, msg))
            self.arrived.set()

        self.subscription(kind, topic, post, qos, raw)

    def command(self, kind: type, topic: str, handler: Callable[[bytes], None]) -> Callable[[], None]:
        """Subscribe to commands; the result hands over what has come. Lockstep waits for them and may lose none."""
        if not self.values.lockstep:
            return self.waiting(kind, topic, handler, STREAM)
        self.posted(kind, topic, handler, RELIABLE, raw=True)
        return lambda: None

    # The simulation's thread.

    def live(self) -> None:
        """Run until stopped; what ends the thread otherwise is said and shown, not swallowed."""
        try:
            self.loop()
        except (RCLError, InvalidHandle) as problem:
            if self.context.ok() and not self.stopping:
                self.simulation.problem = str(problem)
                self.get_logger().error(f"the simulation ended: {problem}")

    def loop(self) -> None:
        """Take the messages, go on by a tick, publish, wait for the deadline."""
        self.publish()
        while not self.stopping:
            if self.values.lockstep:
                self.await_command()
            self.read_inbox()
            if self.values.max_command_age:
                self.hold_for_commands(self.values.max_command_age)
            self.note_age()
            if self.simulation.paused:
                self.count_listeners()  # a single step is for whoever listens by now
            self.record.before_tick()
            if self.simulation.tick():
                self.record.after_tick()
                self.publish()
                self.answer_steppers()
                self.pace.wait()
            else:
                self.answer_steppers()
                self.report_divergence()
                self.tell_time()
                self.arrived.wait(CLOCK_PERIOD)
                self.arrived.clear()
                self.pace.restart()

    def report_divergence(self) -> None:
        """Log once why the plant stopped, and the state to see it again."""
        found = self.plant.explain()
        if found is not None and found is not self.reported:
            self.get_logger().error(f"the plant stopped: {found}; to see it again: {json.dumps(found.start)}")
        self.reported = found

    def tell_time(self) -> None:
        """Publish the clock, again if it stands."""
        self.send_clock(self.clock_message.stamped(round(1e9 * self.simulation.time)))

    def answer_steppers(self) -> None:
        """Tell who asked for steps that they are done, or will not be."""
        while self.steppers and not self.simulation.steps:
            self.steppers.pop().set()

    def read_inbox(self) -> None:
        """Handle what was asked for and posted since the last tick."""
        for take in self.commands:
            take()
        while self.requests:
            self.record.disturbed = True
            self.requests.popleft()()
        while self.inbox:
            topic, handler, msg = self.inbox.popleft()
            self.record.disturbed |= topic not in COMMANDS
            try:
                handler(msg)
            except RobotDynamicsError as problem:
                self.refuse(topic, problem)

    def hold_for_commands(self, limit: float) -> None:
        """Let time stand still while the commands that are followed are older than `limit` [s]."""
        began = told = time.monotonic()
        while self.held_up(limit):
            time.sleep(self.pace.period)
            self.read_inbox()
            now = time.monotonic()
            if now - told > CLOCK_PERIOD:
                self.patience.waited(now - told, now)
                told = now
                self.tell_time()
            if now - began > self.values.lockstep_timeout:
                self.patience.give_up(self.simulation.time, limit)
        if (now := time.monotonic()) - began > self.pace.period:
            self.patience.waited(now - told, now)
            self.pace.put_off(now - began)

    def held_up(self, limit: float) -> bool:
        """Whether commands that are followed are older than `limit` [s], and the robot would have to do with them."""
        s = self.simulation
        if self.stopping or s.paused or s.actuation.state != "following":
            return False
        return self.patience.runs_out(s.time, limit)

    def note_age(self) -> None:
        """Remember how old the commands are that this tick uses, and say once that they come too old to be used."""
        now, a = self.simulation.time, self.simulation.actuation
        if a.state != "following" and (late := a.targets.lateness(now)):
            if not self.recently_late():
                self.get_logger().warning(f"joint_commands {late}: {a.state}")
            self.late, self.late_at = late, time.monotonic()
        for name, guard in self.streams.items():
            if guard.receipt is not None:
                self.ages[name].append(guard.age(now))

    def recently_late(self) -> bool:
        """Whether targets have lately come too old to be used."""
        return time.monotonic() - self.late_at < WARN_PERIOD

    def await_command(self) -> None:
        """Lockstep: wait for a target stamped with the last state; the first may take as long as it likes."""
        actuation, end = self.simulation.actuation, time.monotonic() + self.values.lockstep_timeout
        targets = actuation.targets
        while not (self.stopping or self.simulation.paused):
            self.read_inbox()
            state = min(self.sensed, self.simulation.time) - SAME_INSTANT
            if self.simulation.motion is not None or (targets.stamp is not None and targets.stamp >= state):
                return
            if actuation.epoch >= state:
                return  # where the robot was just put nobody has seen it
            waiting = targets.receipt is None
            left = np.inf if waiting else end - time.monotonic()
            came = self.arrived.wait(min(max(left, 0.0), CLOCK_PERIOD))
            self.arrived.clear()
            if came:
                continue
            self.tell_time()
            if waiting:
                self.publish()
            elif left <= 0.0:
                self.warn("lockstep: no target stamped with this state within lockstep_timeout")
                return

    def publish(self) -> None:
        """Publish what is due in this tick, to whoever listens.

        All is written first: a send right after another finds its code in the cache and the receiver awake.
        """
        ticks, due = self.pace.ticks, self.simulation.ticks % self.sense_every == 0
        if due:
            self.sense()
        if ticks % self.clock_every == 0:
            self.tell_time()
        if due:
            self.send_sensors()
        if ticks % self.slow_every == 0:
            self.publish_slowly(round(1e9 * self.simulation.time), self.plant.q)

    def sense(self) -> None:
        """Write what sensors read into the messages; noise is drawn once for each time, and depends on nothing else."""
        if self.simulation.time != self.sensed:
            self.sensed, self.reading = self.simulation.time, self.plant.measure() if self.noisy else None
        self.read_sensors()
        if self.reading is not None:
            self.add_noise(self.reading)
        if not self.listened.isdisjoint(self.touching):
            self.write_contacts(self.listened)

    def send_sensors(self) -> None:
        """Publish what was sensed; joint states, which controllers answer, after all that goes with them."""
        now, listened = round(1e9 * self.sensed), self.listened
        for publisher, send, message in self.stream:
            if publisher in listened:
                send(message.stamped(now))

    def add_noise(self, reading: Measurement) -> None:
        """Let joint states and the IMU say what noisy sensors read."""
        plant, joints = self.plant, self.joint_message
        joints.position[:], joints.velocity[:] = reading.position, reading.velocity
        self.imu_message.write(*self.imu_mount.measure(plant.q, plant.qd, plant.base_rate, reading))

    def write_contacts(self, listened: frozenset[Publisher]) -> None:
        """Write every point into one message, and the sum of each link's forces for who listens to that link."""
        m = self.contact_message
        m.position[:], m.velocity[:], m.force[:] = self.plant.touch()
        for link, publisher in self.contact_wrenches.items():
            if publisher in listened:
                self.wrenches[link].force[:] = m.force[self.rows[link]].sum(axis=0)

    def publish_slowly(self, now: int, q: convert.Array) -> None:
        """Publish energies, markers, and the base's transform at `marker_rate`."""
        if self.heard(self.energies, self.stamped_energies):
            energy = self.plant.energy
            values = {name: getattr(energy, name) for name in ENERGIES}
            self.energy_message.data[:] = list(values.values())
            self.energies.publish(self.energy_message.msg)
            stamped = convert.msg_from_energies(self.model.name, now, {f"{name} [J]": x for name, x in values.items()})
            self.stamped_energies.publish(stamped)
        if self.heard(self.markers):
            c = self.plant.contacts
            self.markers.publish(self.scene.write(now, c.position, c.force_world, center_of_mass(self.model, q)))
        if self.transforms is not None and self.model.floating_base:
            transform = convert.transform_from_base(self.values.odom_frame, self.base_frame, now, q)
            self.transforms.publish(TFMessage(transforms=[transform]))

    def on_effort(self, data: bytes) -> None:
        """One effort per joint, in the order of the parameter `joints`."""
        if not self.simulation.actuation.set_effort(self.commanded.read(data), self.simulation.time):
            self.warn(f"effort_controller/commands {self.simulation.actuation.efforts.problem}")

    def on_target(self, data: bytes) -> None:
        """Positions, velocities and efforts by joint name."""
        msg = self.targets.read(data)
        columns = wire.columns_from_joint_state(msg)
        if self.simulation.actuation.set_target(msg.names, *columns, msg.stamp, self.simulation.time):
            self.simulation.motion = None
        else:
            self.warn(f"joint_commands {self.simulation.actuation.targets.problem}")

    def on_gains(self, data: bytes) -> None:
        """Gains of the targets by joint name: kp where a command has positions, kd where it has velocities."""
        msg = self.targets.read(data)
        kp, kd, _ = wire.columns_from_joint_state(msg)
        actuation = self.simulation.actuation
        if not actuation.set_own_gains(msg.names, kp, kd, msg.stamp, self.simulation.time):
            self.warn(f"joint_gains {actuation.gains.problem}")

    def on_push(self, msg: WrenchStamped) -> None:
        """Push the link named by the frame for `push_duration`; world axes."""
        link = msg.header.frame_id.removeprefix(self.values.frame_prefix) or self.model.link_names[0]
        self.plant.push(link, convert.wrench_from_msg(msg.wrench), self.values.push_duration)

    def on_wrench(self, msg: WrenchStamped) -> None:
        """Push the link named by the frame until the next message for it; its axes as they are now."""
        link = msg.header.frame_id.removeprefix(self.values.frame_prefix) or self.model.link_names[0]
        R, _ = link_pose(self.model, self.plant.q, link)
        self.plant.hold_wrench(link, (R @ convert.wrench_from_msg(msg.wrench).reshape(2, 3).T).T.ravel())

    def on_pose(self, msg: PoseStamped | PoseWithCovarianceStamped) -> None:
        """Put the base there, at rest."""
        self.simulation.place_base(convert.pose_from_msg(msg.pose))

    def on_initial_pose(self, msg: PoseWithCovarianceStamped) -> None:
        """Put the base to the place that RViz gives, at its present height."""
        pose = convert.pose_from_msg(msg.pose.pose)
        pose[2] = self.plant.q[2]
        self.simulation.place_base(pose)

    def on_joints(self, msg: JointState) -> None:
        """Put the joints named there, at rest unless velocities are given."""
        q, qd = convert.array_from_sequence(msg.position), convert.array_from_sequence(msg.velocity)
        if not self.simulation.place_joints(msg.name, q, qd, self.simulation.time):
            self.warn(f"~/set_joint_state {self.simulation.placing.problem or 'refused: no positions'}")

    def on_trajectory(self, msg: JointTrajectory) -> None:
        """Follow a trajectory from its stamp, or from now if it has none; an empty one ends the present one."""
        s = self.simulation
        if not msg.points:
            s.motion = None
            return
        times, columns = convert.trajectory_from_msg(msg)
        begun = convert.seconds_from_stamp(msg.header.stamp) or s.time
        s.motion = Motion(self.model.joint_names, msg.joint_names, times, columns, s.joints, begun)

    def on_step(self, msg: UInt32) -> None:
        """Go on by so many ticks while paused."""
        self.simulation.steps += msg.data

    def on_payload(self, msg: InertiaStamped) -> None:
        """Carry a payload on the link that the frame names; mass 0 takes it away. The next tick has it."""
        link = msg.header.frame_id.removeprefix(self.values.frame_prefix)
        try:
            model = self.payloads.put(link, *convert.payload_from_msg(msg.inertia))
        except RobotDynamicsError as problem:
            self.warn(f"~/payload refused: {problem}")
        else:
            plant = Plant(model, self.plant.params, self.plant.points)
            self.do(lambda: self.carry(plant))

    def carry(self, plant: Plant) -> None:
        """Go on with a plant under another load, on the ground that is there by now."""
        if plant.params is not self.plant.params:
            plant = Plant(plant.model, self.plant.params, plant.points)
        self.simulation.carry(plant)
        self.plant = plant
        self.connect_sensors()

    def on_world(self, msg: String) -> None:
        """Put the ground of the file that the message names under the robot."""
        self.ask_for_ground("~/load_world", lambda: load_world(msg.data))

    def on_map(self, msg: OccupancyGrid) -> None:
        """Put the ground of a map under the robot: what is occupied is `map_height` high."""
        self.ask_for_ground("~/ground_map", lambda: ground_from_occupancy(msg, self.values.map_height))

    def on_grid_map(self, msg: Any) -> None:
        """Put the ground of a map of heights under the robot."""
        self.ask_for_ground("~/grid_map", lambda: ground_from_grid_map(msg, self.values.map_layer))

    def ask_for_ground(self, topic: str, read: Callable[[], Sequence[Surface]]) -> None:
        """Read a ground and put it under the robot, or refuse it, in a thread of its own: a large one takes seconds.

        Of several that are asked for at once the last one counts.
        """
        self.ground_asked += 1
        number = self.ground_asked

        def try_it(put: Callable[[], None]) -> None:
            try:
                if number == self.ground_asked:
                    put()
            except RobotDynamicsError as problem:
                self.refuse(topic, problem)

        def prepare() -> None:
            try:
                put = self.prepare_ground(read())
            except RobotDynamicsError as problem:
                self.refuse(topic, problem)
            else:
                self.do(lambda: try_it(put))

        threading.Thread(target=prepare, name="ground", daemon=True).start()

    def load_world(self, path: str) -> Callable[[], None]:
        """Read a ground from a file; the result puts it under the robot, or raises, in the simulation's thread."""
        return self.prepare_ground(load_world(path))

    def prepare_ground(self, terrain: Sequence[Surface]) -> Callable[[], None]:
        """Make all that a ground needs; the result puts it under the robot, or raises, in the simulation's thread.

        Nothing slow is left for that thread, unless another load has been put on the robot meanwhile.
        """
        home = start(self.model, self.values, self.plant.points, terrain, from_file=True)
        made = Plant(self.plant.model, replace(self.plant.params, terrain=terrain), self.plant.points)

        def put() -> None:
            plant = made if made.model is self.plant.model else Plant(self.plant.model, made.params, made.points)
            self.simulation.change_ground(plant, home)
            self.plant = plant
            self.connect_sensors()
            threading.Thread(target=self.show_ground, name="ground", daemon=True).start()

        return put

    def show_ground(self) -> None:
        """Draw the terrain, for whoever comes later too."""
        self.grounds.publish(ground_markers(self.plant.params.terrain, self.values.odom_frame))

    def unload(self) -> None:
        """Take all payloads away."""
        if self.payloads.carried:
            self.payloads.carried.clear()
            self.carry(Plant(self.model, self.plant.params, self.plant.points))

    def start_again(self) -> None:
        """Stop as if just started, but paused."""
        self.simulation.switch(False)
        self.unload()
        self.simulation.reset()
        self.simulation.rewind()
        self.simulation.stopped = True

    # Services answer at once; the simulation's thread obeys before its next tick.

    def do(self, request: Callable[[], None]) -> threading.Event:
        """Ask the simulation's thread for something; the event tells when it is done."""
        done = threading.Event()

        def obey() -> None:
            request()
            done.set()

        self.requests.append(obey)
        self.arrived.set()
        return done

    def step(self, ticks: int) -> threading.Event:
        """Ask for so many ticks while paused; the event tells when they are done, or will not be."""
        done = threading.Event()

        def obey() -> None:
            self.simulation.steps += ticks
            self.steppers.append(done)

        self.do(obey)
        return done

    def on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Pause or go on."""
        self.do(lambda: self.simulation.switch(not request.data))
        response.success = True
        return response

    def on_estop(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Latch the emergency stop (damped joints) or release it."""
        self.do(lambda: self.simulation.stop(request.data))
        response.success = True
        return response

    def on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Put the robot back to its start, holding."""
        self.do(self.simulation.reset)
        response.success = True
        return response

    def command_ages(self) -> dict[str, object]:
        """Ages of the last commands of either stream, and of those that the last thousand ticks used."""
        out: dict[str, object] = {}
        for name, guard in self.streams.items():
            out[f"{name} age [s]"] = guard.age(self.simulation.time)
            out |= quantiles(f"{name} age", self.ages[name])
        return out | quantiles("joint_commands round trip", self.simulation.actuation.targets.arrival_ages)

    def refused(self) -> dict[str, int]:
        """Counts of refused commands, joint states and payloads."""
        s, a = self.simulation, self.simulation.actuation
        counts = {
            f"refused {k}: {cause}": n
            for k, g in (("targets", a.targets), ("gains", a.gains), ("efforts", a.efforts), ("joint state", s.placing))
            for cause, n in dict(g.counts).items()  # at once: the other thread counts on
        }
        return counts | ({"refused payload": self.payloads.refused} if self.payloads.refused else {})

    def activity(self) -> tuple[int, str]:
        """Level and sentence of what the plant does."""
        s, a = self.simulation, self.simulation.actuation
        level = ERROR if s.problem or a.stopped else WARN if a.state == "timed out" else OK
        message = s.problem or ("paused" if s.paused else a.state)
        if message == "following" and a.efforts.receipt is not None and a.efforts.stale(s.time):
            level, message = WARN, "following joint_commands, effort_controller/commands silent"
        if message == "following" and a.takeover:
            message = "following, from the hold"
        doubts = (
            (self.model.floating_base and self.posture.see(self.plant.q[3:7].tolist()), "fallen"),
            (self.immovable, f"{self.immovable} joints with friction above their effort limit"),
            ((clocks := self.sources("/clock")) > 1, f"{clocks} publishers on /clock"),
            (self.recently_late(), f"joint_commands {self.late}"),
            (slowness := self.slowness(), slowness),
        )
        for doubtful, text in doubts:
            if doubtful:
                level, message = max(level, WARN), f"{text}: {message}"
        return level, message

    def last_good(self) -> dict[str, object]:
        """State and command of the step that the plant stopped in."""
        found = self.plant.explain()
        return {f"last good {k}": json.dumps(x) for k, x in found.start.items()} if found else {}

    def slowness(self) -> str:
        """Say that simulated time waits or goes slower than asked for; the log says so where it begins."""
        share, factor = self.patience.share(time.monotonic()), 0.0 if self.values.lockstep else self.pace.slow()
        waits = f"time waits for commands, {share:.0%} of it" if share else ""
        slow = f"real-time factor {factor:.2g} of {self.pace.factor:g}" if factor else ""
        said = ", ".join(filter(None, (waits, slow)))
        if said and not self.slowed:
            self.get_logger().warning(f"{said}: this computer does not keep up; see thread_priority")
        self.slowed = bool(said)
        return said

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Report simulation, actuation and refused commands."""
        s, a = self.simulation, self.simulation.actuation
        (warned, doubts), (level, message) = self.doubts(self.refused()), self.activity()
        energy = self.plant.energy
        values = {
            "time [s]": s.time,
            "commands": a.targets.accepted + a.efforts.accepted,
            "epoch [s]": max(a.epoch, EPOCH),
            "commands from before the epoch": a.outdated,
            **self.command_ages(),
            **self.pace.figures(),
            **({"waited for commands [s]": self.patience.total} if self.values.max_command_age else {}),
            "contact solver residual": self.plant.solver.residual,
            "unconverged steps": self.plant.solver.unconverged,
            "energy balance error [J]": energy.balance_error,
            **({"momentum error [N s]": energy.momentum_error} if self.model.floating_base else {}),
            "mass [kg]": self.plant.model.mass,
            **self.last_good(),
            **doubts,
        }
        return max(level, warned), message, values


def clock_every(v: PlantParameters) -> int:
    """Ticks from one message of /clock to the next: at `clock_rate`, and no more than CLOCK_GAP of wall time apart."""
    asked = v.update_rate / v.clock_rate if v.clock_rate else 1.0
    most = CLOCK_GAP * v.real_time_factor * v.update_rate if v.real_time_factor else asked
    return max(1, min(round(asked), int(most)))


def main() -> int:
    """Run the node; returns the exit code."""
    return run(PlantNode, "plant")


if __name__ == "__main__":
    raise SystemExit(main())
