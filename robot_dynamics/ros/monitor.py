# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node `monitor`: mass matrix, energies, model error and diagnostics of a running robot."""

from collections import deque
from collections.abc import Set
from dataclasses import astuple, fields

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray

from ..control.contacts import Contact, ContactForces, combined
from ..control.monitor import Account, Companions, Ledger, Residual, consistency, delay_margin, inertia, transmitted
from ..control.posture import Posture
from ..control.simulation import gains
from ..control.state import MeasuredState
from ..control.wrenches import LinkWrenches
from ..dynamics.algorithms import center_of_mass
from ..errors import ShapeError
from ..symbolic.closed_form import cross_check, short_limbs
from . import convert, wire
from .component import ERROR, LATEST, NEWEST, STALE, WARN, Component
from .parameters import MonitorParameters
from .run import run
from .setups import tell_setup

UNITS = {
    "momentum_error": "N s",
    "angular_momentum_error": "N m s",
    "recent_momentum_error": "N s",
    "recent_angular_momentum_error": "N m s",
    "lost": "s",
    "since": "s",
}
UNEXPLAINED = {
    "balance_error": "energy balance error [J]",
    "momentum_error": "momentum error [N s]",
    "angular_momentum_error": "angular momentum error [N m s]",
    "recent_balance_error": "energy balance error, last 10 s [J]",
    "recent_momentum_error": "momentum error, last 10 s [N s]",
    "recent_angular_momentum_error": "angular momentum error, last 10 s [N m s]",
    "lost": "time in which states were lost [s]",
}
EVERY = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For what must be complete: states and what belongs to them, as many as come between two looks."""
LOOK_PERIOD = 0.01
"""Wall time between looks at what has come [s]: waking up for each message would cost as much as the account."""
CLOSED_FORM_LIMIT = 1e-9
"""Largest relative difference of a limb's mass matrix from its closed form; rounding leaves 1e-15."""


class MonitorNode(Component):
    """Listens to the robot and says how it is."""

    kind = MonitorParameters

    def build(self) -> None:
        """Make messages and statistics, and warm the dynamics up."""
        v, model = self.values, self.model
        self.state = MeasuredState(model, v.state_timeout, v.base_frame)
        self.forces = ContactForces(model)
        self.wrenches = LinkWrenches(model, v.state_timeout)
        self.posture = Posture()
        self.readers = {kind: wire.Reader(kind) for kind in (JointState, Odometry, MultiDOFJointState)}
        self.commands = wire.Reader(JointState)
        base = [f"base/{axis}" for axis in ("wx", "wy", "wz", "vx", "vy", "vz")] if model.floating_base else []
        self.coordinates = [*base, *model.joint_names]
        body_of = dict(zip(model.link_names, model.link_bodies.tolist(), strict=True))
        self.carried = {j.name: body_of[j.child] for j in model.robot.joints if j.name in model.joint_names}
        self.matrix_message = convert.MultiArrayWriter([",".join(self.coordinates)] * 2, [model.nv, model.nv])
        self.residual_message = wire.JointStateWriter(model.joint_names, position=False, velocity=False)
        self.begin_account()
        self.known: set[str] = set()
        self.bases, self.touches = Companions[wire.Message](), Companions[wire.Message]()
        self.labels = [f"{f.name} [{UNITS.get(f.name, 'J')}]" for f in fields(Account)]
        self.energy_message = convert.MultiArrayWriter([", ".join(self.labels)], [len(self.labels)])
        self.kp, self.kd = gains(model, v.kp, v.kd)
        self.command_ages: deque[float] = deque(maxlen=1000)
        self.figures, self.figures_q = inertia(model, self.state.q), self.state.q.copy()
        self.limbs = short_limbs(model) if v.closed_form else ()
        if not model.report.singular:
            consistency(model, self.state.q, self.state.qd, self.state.effort)

    def start(self) -> None:
        """Listen, and publish at `rate`."""
        self.matrices = self.publisher(Float64MultiArray, "~/mass_matrix", LATEST)
        self.residuals = self.publisher(JointState, "~/residual", LATEST)
        self.stamped_matrices = self.publisher(Image, "~/mass_matrix_stamped", LATEST)
        self.energies = self.publisher(Float64MultiArray, "~/energy", LATEST)
        self.stamped_energies = self.publisher(DiagnosticArray, "~/energy_stamped", LATEST)
        self.joint_wrenches = self.publisher(MultiDOFJointState, "~/joint_wrenches", LATEST)
        tell_setup(self)
        self.arrived: list[wire.Message] = []
        self.updates = [  # states first: the plant sends what belongs to a state before it
            self.waiting(JointState, "joint_states", self.on_state, EVERY),
            self.waiting(Odometry, "odom", self.on_base, EVERY),
            self.waiting(MultiDOFJointState, "contacts", self.on_contacts, EVERY),
            self.waiting(WrenchStamped, "~/wrench", self.on_wrench, EVERY),
        ]
        self.update_command = self.latest(JointState, "joint_commands", self.on_command, NEWEST)
        self.timer(min(LOOK_PERIOD, 1.0 / self.values.residual_rate), self.on_look)
        self.timer(1.0 / self.values.rate, self.on_tick)
        self.set_realtime(self.values.thread_priority)

    def stop(self) -> None:
        """Come no longer before others."""
        self.set_realtime()

    def changed(self, names: Set[str]) -> None:
        """Use a new priority; all else is read where it is used."""
        if self.active and "thread_priority" in names:
            self.set_realtime(self.values.thread_priority)

    def on_look(self) -> None:
        """Take what has come, account for every state, and see how old the state is that the newest command answers."""
        for update in self.updates:
            update()
        for msg in self.arrived:
            self.account_for(msg)
        self.arrived.clear()
        self.update_command()

    def on_state(self, data: bytes) -> None:
        """Keep a state until all that belongs to it has been taken."""
        self.arrived.append(self.readers[JointState].read(data))

    def account_for(self, msg: wire.Message) -> None:
        """Account for a state with the base and the contacts of its stamp; now and then publish the residual."""
        s, stamp = self.state, msg.stamp
        now = self.received(msg.nanoseconds)
        self.take_base(stamp, now)
        self.take_contacts(stamp, now)
        if not s.set_joints(msg.names, *wire.columns_from_joint_state(msg), stamp, now):
            return self.warn(f"joint_states {s.joints.problem}")
        if s.has_effort and not (self.bases.missing(stamp) or self.touches.missing(stamp)):
            state = stamp or now, s.q, s.qd, s.effort, self.outside(stamp or now)
            self.ledger.update(*state)
            residual = self.residual.update(*state)
            if residual is not None and self.residuals.get_subscription_count():
                self.residual_message.effort[:] = residual
                self.residuals.publish(self.residual_message.stamped(msg.nanoseconds))
        return None

    def outside(self, now: float) -> Contact:
        """Forces of the ground, and those that sensors on the links measure."""
        contact = self.forces.at(self.state.q)
        if not self.wrenches.any():
            return contact
        return combined([contact, self.wrenches.contact(self.state.q, now)], [1.0, 1.0])

    def on_wrench(self, data: bytes) -> None:
        """Reckon with the wrench of the environment on the link that the frame names, in its axes."""
        self.take_wrench(self.wrenches, data)

    def on_base(self, data: bytes) -> None:
        """Keep a base state for the joint state of its stamp."""
        self.bases.put(self.readers[Odometry].read(data))

    def on_contacts(self, data: bytes) -> None:
        """Keep contact forces for the joint state of their stamp."""
        self.touches.put(self.readers[MultiDOFJointState].read(data))

    def take_base(self, stamp: float, now: float) -> None:
        """Take the base states that are due."""
        for msg in self.bases.due(stamp, now):
            base = wire.base_from_odometry(msg)
            if self.state.set_base(*base, msg.stamp, now, msg.names[1]):
                self.now_known("base")
            else:
                self.warn(f"odom {self.state.base.problem}")

    def take_contacts(self, stamp: float, now: float) -> None:
        """Take the contact forces that are due."""
        for msg in self.touches.due(stamp, now):
            try:
                position, _, force = wire.points_from_contacts(msg)
            except ShapeError as problem:
                self.warn(f"contacts refused: {problem}")
            else:
                self.forces.set_forces(msg.names, position, force)
                self.now_known("contacts")

    def now_known(self, what: str) -> None:
        """Begin anew with the first base and the first contacts: until then they were assumed."""
        if what not in self.known:
            self.known.add(what)
            self.begin_account()

    def begin_account(self) -> None:
        """Begin account and model errors with the next state."""
        v, model = self.values, self.model
        self.ledger = Ledger(model)
        self.residual = Residual(model, int(v.window * v.residual_rate), 1.0 / v.residual_rate)

    def on_command(self, data: bytes) -> None:
        """Note how old the state is that a command answers: both carry its stamp."""
        stamp, newest = self.commands.read(data).stamp, self.state.joints.stamp
        if stamp and newest is not None:
            self.command_ages.append(max(newest - stamp, 0.0))

    def on_tick(self) -> None:
        """Publish mass matrix and ledger of the last state."""
        s, model = self.state, self.model
        if s.joints.receipt is None:
            return
        self.figures, self.figures_q = inertia(model, s.q), s.q.copy()
        self.matrix_message.data[:] = self.figures.matrix
        self.matrices.publish(self.matrix_message.msg)
        stamp = round(1e9 * (s.joints.stamp or s.joints.receipt))
        if self.heard(self.stamped_matrices):
            self.stamped_matrices.publish(convert.image_from_matrix(model.link_names[0], stamp, self.figures.matrix))
        if s.has_effort and self.heard(self.joint_wrenches):
            found = transmitted(model, s.q, s.qd, s.effort, self.outside(s.joints.stamp or s.joints.receipt))
            self.joint_wrenches.publish(convert.msg_from_joint_wrenches(self.carried, found, stamp))
        account = self.ledger.account()
        if account is not None:
            self.energy_message.data[:] = astuple(account)
            self.energies.publish(self.energy_message.msg)
            if self.heard(self.stamped_energies):
                values = dict(zip(self.labels, astuple(account), strict=True))
                self.stamped_energies.publish(convert.msg_from_energies(model.name, stamp, values))

    def missing(self) -> str:
        """Say whether joint states have fallen silent."""
        return self.silent("joint_states") if self.state.joints.stale(self.waited()) else ""

    def status(self) -> tuple[int, str, dict[str, object]]:
        """Report inertia, consistency of the algorithms, model error and refusals."""
        s, model = self.state, self.model
        level, doubts = self.doubts(s.counts())
        values = self.readings()
        if model.report.singular:
            return ERROR, f"no inertia about {', '.join(model.report.singular)}", values | doubts
        error = consistency(model, s.q, s.qd, s.effort)
        apart = max((cross_check(model, x, self.figures_q, self.figures.matrix) for x in self.limbs), default=0.0)
        values |= self.suggestions() | {"|tau - RNEA(ABA(tau))|": error}
        if self.limbs:
            values["CRBA apart from closed form, relative"] = apart
        return *self.verdict(level, error, apart), values | doubts

    def verdict(self, level: int, error: float, apart: float) -> tuple[int, str]:
        """Level and message, given those of refused messages and the errors of the algorithms."""
        v, publishers = self.values, self.sources("joint_states")
        if missing := self.missing():
            return STALE, missing
        if error > v.consistency_limit:
            return ERROR, "forward and inverse dynamics disagree"
        if apart > CLOSED_FORM_LIMIT:
            return ERROR, "mass matrix and closed form disagree"
        if publishers > 1:
            return WARN, f"{publishers} publishers on joint_states"
        if self.model.floating_base and self.posture.see(self.state.q[3:7].tolist()):
            return WARN, "fallen"
        if link := self.wrenches.silent(self.waited()):
            return WARN, f"no wrench on '{link}' any more"
        if self.figures.condition > v.condition_limit:
            return WARN, "mass matrix nearly singular"
        return level, "inputs refused" if level else "running"

    def readings(self) -> dict[str, object]:
        """Return what follows from the state: inertia, ages, unexplained energy and momentum, residuals."""
        s, names, figures, account = self.state, self.model.joint_names, self.figures, self.ledger.account()
        return {
            "mass [kg]": self.model.mass,
            "centre of mass [m]": text(center_of_mass(self.model, s.q)),
            "condition of the mass matrix": figures.condition,
            "eigenvalues": f"{figures.eigenvalues[0]:.4g} .. {figures.eigenvalues[-1]:.4g}",
            "state age [s]": s.joints.age(self.waited()),
            **self.delays(),
            **({} if account is None else {UNEXPLAINED[k]: getattr(account, k) for k in UNEXPLAINED}),
            **{f"inertia of {name}": float(x) for name, x in zip(names, figures.reflected, strict=True)},
            **{f"residual rms of {name}": float(x) for name, x in zip(names, self.residual.rms(), strict=True)},
        }

    def suggestions(self) -> dict[str, object]:
        """Return the rotor inertia and friction of joints that would explain their residuals."""
        return {
            f"suggested for {name}": f"armature {armature:+.4f} kg m^2, friction {viscous:+.3f} N m s/rad and "
            f"{coulomb:+.3f} N m"
            for name, (armature, viscous, coulomb) in zip(
                self.model.joint_names, self.residual.suggestion(), strict=True
            )
            if armature or viscous or coulomb
        }

    def delays(self) -> dict[str, object]:
        """Age of commands, and how late they could come."""
        margins = delay_margin(self.figures.reflected, self.kp, self.kd)
        tightest = int(np.argmin(margins))
        values: dict[str, object] = {
            f"delay margin of {self.model.joint_names[tightest]} [s]": float(margins[tightest])
        }
        if self.command_ages:
            median, high = np.quantile(self.command_ages, [0.5, 0.99])
            values |= {"command age p50 [s]": float(median), "command age p99 [s]": float(high)}
        return values


def text(values: convert.Array) -> str:
    """Put numbers in a line."""
    return " ".join(f"{x:.4g}" for x in values)


def main() -> int:
    """Run the node; returns the exit code."""
    return run(MonitorNode, "monitor")


if __name__ == "__main__":
    raise SystemExit(main())
