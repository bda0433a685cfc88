# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plant: a simulated robot on terrain. The only class with state; deterministic, no clock, no input or output."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import bound
from ..contact.checks import check_choice, check_range
from ..contact.impulse import Impulse
from ..contact.points import contact_points
from ..contact.spring_damper import SpringDamper
from ..contact.terrain import HeightField, Plane, Surface, pack
from ..core.arrays import Array
from ..core.checks import checked
from ..dynamics.kinematics import Points, neutral, point_rows
from ..errors import DivergedError, ParameterError, ShapeError, SingularModelError
from ..kernels import rows, sensors
from ..kernels.contact.solver import IMPLICIT, IMPULSE
from ..kernels.lanes import aligned
from ..kernels.robot import Robot, robot_in_memory, see
from ..kernels.simulation import memory as at
from ..kernels.simulation import run
from ..kernels.simulation.commands import KD, KP, take_command
from ..kernels.simulation.ledger import ENERGY_JUMP, FINE, NOT_FINITE, SINGULAR
from ..kernels.terrain import FAR
from ..model.model import ONE_DOF, Model
from .block import form_of, in_one_block, layout_of
from .divergence import BASE, Divergence
from .linearization import PerturbedPlants

WORST_QUATERNION = 1e-3
"""Largest error of the norm of a quaternion that `reset` takes and normalises."""
CLUSTER = 4
"""So many points on one body, or more, are measured against the ground together; others form groups of so many or
less, whose forces are passed over while none of them touches."""
NO_LOG = np.empty((0, 0))
Figure = TypeVar("Figure", float, Array)
COMMANDED = ("q_des", "qd_des", "kp", "kd", "tau_ff")


@dataclass(frozen=True, slots=True)
class SensorNoise:
    """Standard deviations of what `Plant.measure` adds: white noise per reading, and a bias drawn at `reset`.

    position [rad, m], velocity [rad/s, m/s], gyro [rad/s], accelerometer [m/s^2], each followed by its bias.
    """

    position: float = 0.0
    position_bias: float = 0.0
    velocity: float = 0.0
    velocity_bias: float = 0.0
    gyro: float = 0.0
    gyro_bias: float = 0.0
    accelerometer: float = 0.0
    accelerometer_bias: float = 0.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in self.__slots__:
            check_range(f"{name} of SensorNoise", getattr(self, name), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class PlantParams:
    """Everything that makes a simulation, beside the robot.

    Parameters
    ----------
    timestep : float
        h [s].
    contact : SpringDamper or Impulse
        Law of all contact points.
    terrain : sequence of Plane, Box, HeightField
        The deepest surface wins.
    integrator : str
        'semi_implicit': v <- v + h qdd, q <- q (+) h v; in flight momentum and centre of mass are exact. Steps in which
        nothing touches, sticks or pushes and no joint has gains or damping are taken by Heun's second-order rule.
        'rk4': steps in which nothing touches, sticks or pushes are taken by the fourth-order rule instead.
    actuator_lag : float
        Time constant of the joint efforts [s]; 0 is none.
    command_delay : int
        Steps that a command travels.
    no_load_speed : float or (joints,), optional
        Speed [rad/s, m/s] at which a driving motor has no effort left. None: no such limit. 'urdf': the velocity limits
        of the model.
    full_effort_speed : float or (joints,), optional
        Speed [rad/s, m/s] up to which it has its full effort, which then falls linearly; below the no-load speed. None:
        half of that.
    joint_friction, stops : bool
        Coulomb friction of the URDF, as effort that holds a joint at rest; joint limits as stops without rebound.
    noise : SensorNoise
        What `Plant.measure` adds.
    seed : int
        Of the noise.

    Raises
    ------
    ParameterError
        A value outside its range.
    """

    timestep: float = 1e-3
    contact: SpringDamper | Impulse = field(default_factory=SpringDamper)
    terrain: Sequence[Surface] = (Plane(),)
    integrator: str = "semi_implicit"
    actuator_lag: float = 0.0
    command_delay: int = 0
    no_load_speed: float | Array | str | None = None
    full_effort_speed: float | Array | None = None
    joint_friction: bool = True
    stops: bool = True
    noise: SensorNoise = field(default_factory=SensorNoise)
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges and that figures fit the timestep."""
        check_range("timestep", self.timestep, 0.0, 0.1, open_low=True)
        check_choice("integrator", self.integrator, ("semi_implicit", "rk4"))
        check_range("actuator_lag", self.actuator_lag, 0.0)
        check_range("command_delay", self.command_delay, 0, 10000)
        if not isinstance(self.contact, SpringDamper | Impulse):
            raise ParameterError(f"contact must be a SpringDamper or an Impulse, got {self.contact!r}")
        if isinstance(self.contact, Impulse) and (self.contact.recovery or 0.0) * self.timestep > 1.0 + 1e-12:
            raise ParameterError(
                f"recovery must be at most 1 / timestep = {1.0 / self.timestep:g} 1/s, got {self.contact.recovery:g}"
            )
        if isinstance(self.no_load_speed, str):
            check_choice("no_load_speed", self.no_load_speed, ("urdf",))
        elif self.no_load_speed is not None:
            check_range("no_load_speed", self.no_load_speed, 0.0, open_low=True)
        if self.full_effort_speed is not None:
            check_range("full_effort_speed", self.full_effort_speed, 0.0)
        pack(self.terrain)


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """One row per contact point, in the order of the plant's points; the state's places, the last step's forces.

    A point that touches two surfaces, as in a corner, has the place and deflection of one, the larger depth, and both
    forces.
    position, velocity (k, 3) world axes; depth (k,) [m] below the surface, 0 above; force_world (k, 3) of the ground on
    the robot [N]; deflection (k, 2) tangential memory of the spring-damper in surface axes [m].
    """

    link: tuple[str, ...]
    position: Array
    velocity: Array
    depth: Array
    force_world: Array
    deflection: Array


@dataclass(frozen=True, slots=True)
class Energy(Generic[Figure]):
    """Ledger since `reset` [J]: kinetic + potential + elastic = initial + work_in - dissipated_* + balance_error.

    `elastic` is stored in the contact springs. balance_error is that of the integration, first order in the timestep.
    momentum_error [N s] and angular_momentum_error [N m s] (about the centre of mass): what contacts, pushes and weight
    do not explain of a floating robot's momentum; nan with a fixed base. work_in is that of actuators and pushes, and
    what contacts and stops lift that take back a depth. given_contact: sum over the steps in which contacts gave energy
    instead of taking it, part of dissipated_contact; a solver that did its duty leaves rounding there.
    Numbers of a plant, arrays (N,) of a batch.
    """

    kinetic: Figure
    potential: Figure
    elastic: Figure
    initial: Figure
    work_in: Figure
    dissipated_joint: Figure
    dissipated_contact: Figure
    given_contact: Figure
    momentum_error: Figure
    angular_momentum_error: Figure

    @property
    def total(self) -> Figure:
        """Kinetic + potential + elastic."""
        return self.kinetic + self.potential + self.elastic

    @property
    def balance_error(self) -> Figure:
        """Energy there is less the energy there should be."""
        return self.total - (self.initial + self.work_in - self.dissipated_joint - self.dissipated_contact)


@dataclass(frozen=True, slots=True)
class Solver:
    """Contact solver: iterations and true residual of the last step, and how many since `reset` went wrong.

    residual: by how much the worst force or impulse is not what its law says, as a velocity of its contact [m/s].
    unconverged: steps whose residual was above 1e-6 m/s and the tolerance.
    """

    iterations: int
    residual: float
    unconverged: int


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """What sensors say: joint positions, velocities and efforts (n,), and those of an inertial unit in the base.

    orientation: quaternion xyzw; angular_velocity (3,) and specific force linear_acceleration (3,) [m/s^2], base axes
    (identity, 0 and -g with a fixed base).
    """

    position: Array
    velocity: Array
    effort: Array
    orientation: Array
    angular_velocity: Array
    linear_acceleration: Array


REASONS = {
    NOT_FINITE: "the state is no longer finite",
    ENERGY_JUMP: "energy appeared from nothing",
    SINGULAR: "the mass matrix became singular",
}


class Plant:
    """A robot in simulation: set a state, command it, advance it.

    Starts at the neutral configuration, at rest and limp. After a DivergedError the plant keeps its last good state and
    refuses to go on until `reset`.
    """

    def __init__(self, model: Model, params: PlantParams | None = None, points: Points | None = None):
        """Plant of `model` on `params.terrain`; `points` default to `contact_points(model)`.

        Raises
        ------
        SingularModelError
            A joint carries no inertia.
        ParameterError
            A per-point or per-joint figure of the wrong length.
        """
        if model.report.singular:
            raise SingularModelError(f"these joints carry no inertia: {', '.join(model.report.singular)}")
        self.model = model
        self.params = params or PlantParams()
        self.points = contact_points(model) if points is None else points
        self._n = len(model.joint_names)
        self.settings = _settings(self.params)
        self._robot = robot_in_memory(
            model.lanes, model.topology, model.parameters, model.nv, model.nb, model.has_mimic
        )
        self._joints = _joints(model, self.params)
        self._ground = _ground(model, self.params, self.points)
        self._look_at(*self._ground.row)
        self.problem = at.problem(self.settings, model.nv, self._n, len(self._ground.row))
        self._state = at.state(model.nq, model.nv)
        self._command = at.Command(
            now=np.zeros((1, 5, self._n)),
            queue=np.zeros((self.params.command_delay + 1, 5, self._n)),
            acting=np.zeros((5, len(self._joints.place))),
            pushes=np.zeros((at.PUSHES, at.PUSH_COLUMNS)),
        )
        self._touch = (np.empty((k := len(self.points), 3)), np.empty((k, 3)), np.empty((k, 3)))
        self._moved = False
        self._bind()
        self.reset(neutral(model), np.zeros(model.nv))

    def _bind(self) -> None:
        """Put what is written into one block, and find the kernels' entries for these very arrays."""
        self.layout = layout_of(self.bundles)
        self.block, bundles = in_one_block(self.bundles, self.layout)
        self._robot, self._joints, self._ground, self._state, self._command = bundles
        self.form = form_of(self.settings, bundles)
        self._arrays = self._plain(self._command)
        entry: Any = bound(run.run, self._arrays, 1, NO_LOG)
        self._take_steps = entry.func
        self._locate = bound(run.locate, self._arrays, *self._touch)
        self._perturbed: PerturbedPlants | None = None  # 1 MB that only `linearize` needs

    def _plain(self, command: at.Command) -> tuple[tuple[Any, ...], ...]:
        """What kernels take as `plant`, with this command; numba needs 4 us to recognise a named tuple."""
        bundles = self._robot, self._joints, self._ground, self._state, self.settings, command
        system = self.problem.system
        return *(tuple(x) for x in bundles), self.problem[:-1], system[:-1], tuple(system.work)

    def __getstate__(self) -> dict[str, Any]:
        """All but the entries, which a copy finds for itself."""
        own = "block", "form", "layout", "_arrays", "_take_steps", "_locate", "_perturbed"
        return {name: value for name, value in vars(self).items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on as the plant that this is a copy of."""
        vars(self).update(state)
        self._bind()

    def reset(self, q: ArrayLike, qd: ArrayLike, deflection: ArrayLike | None = None) -> None:
        """Set the state (nq,), (nv,), the points' deflection (k, 2) [m], time 0, no command, no push, a new ledger.

        Raises
        ------
        ShapeError
            Wrong length, values that are not finite, a quaternion that is not of unit length.
        """
        q = normalised(self.model, checked("q", q, (self.model.nq,)))
        qd = checked("qd", qd, (self.model.nv,))
        k = len(self.points)
        start = np.zeros((k, 2)) if deflection is None else checked("deflection", deflection, (k, 2))
        self._ground.points[:, at.DEFLECTION : at.DEFLECTION + 2] = 0.0
        self._ground.points[:k, at.DEFLECTION : at.DEFLECTION + 2] = start
        self._state.q[:], self._state.qd[:] = q, qd
        self.start_noise()
        run.begin(self._arrays)
        self._moved = False

    def start_noise(self) -> None:
        """Draw the biases of `measure` anew, and forget that the plant stopped."""
        self._divergence: Divergence | None = None
        self._rng = np.random.default_rng(self.params.seed)
        noise, counts = self.params.noise, (self._n, self._n, 3, 3)
        biases = noise.position_bias, noise.velocity_bias, noise.gyro_bias, noise.accelerometer_bias
        self.bias = np.repeat(biases, counts) * self.draw()
        self.deviation = np.repeat((noise.position, noise.velocity, noise.gyro, noise.accelerometer), counts)

    def draw(self) -> Array:
        """Random numbers (2 n + 6,) of one reading of joint positions, velocities, gyro and accelerometer."""
        return self._rng.standard_normal(2 * self._n + 6)

    def move(self, block: Array) -> None:
        """Be where steps in other memory, of which this is a copy, led a plant of this form."""
        self.block[:] = block
        self._moved = True

    def look(self) -> None:
        """Have poses and twists in memory follow from the state, which something else than a step has written."""
        run.look(self._arrays)
        self._moved = False

    def command(self, tau: ArrayLike) -> None:
        """Apply joint efforts (n,) [N m, N] from the next step on, within the effort limits."""
        self._command.now[:] = 0.0
        self._command.now[0, 4] = checked("tau", tau, (self._n,))

    def track(
        self, q_des: ArrayLike, qd_des: ArrayLike, kp: ArrayLike, kd: ArrayLike, tau_ff: ArrayLike | None = None
    ) -> None:
        """Apply kp (q_des - q) + kd (qd_des - qd) + tau_ff at every step, kd by the end of the step (F6).

        All (n,) in the order of `model.joint_names`; kp [N m/rad] and kd [N m s/rad] may be single numbers.

        Raises
        ------
        ParameterError
            A negative gain.
        """
        n = self._n
        rows_of = (q_des, qd_des, kp, kd, np.zeros(n) if tau_ff is None else tau_ff)
        try:
            if take_command(self._command.now, *rows_of):
                return
        except TypeError:  # anything but vectors
            pass
        given = np.zeros((5, n))
        for i, x in enumerate(rows_of):
            single = i in (KP, KD) and np.ndim(x) == 0
            given[i] = checked(COMMANDED[i], x, (1,) if single else (n,))
        for name, row in (("kp", KP), ("kd", KD)):
            check_range(name, given[row] if n else 0.0, 0.0)
        self._command.now[0] = given

    def push(self, link: str, wrench_world: ArrayLike, duration: float, ramp: float = 0.0) -> None:
        """Push `link` from now on with [moment, force] (6,), world axes, at its origin [N m, N].

        Rises and falls over `ramp` [s] at either end of `duration` [s].

        Raises
        ------
        UnknownNameError, ParameterError
            No such link, a link of the fixed base, a ramp longer than half the duration, too many pushes at once.
        """
        check_range("duration", duration, 0.0, open_low=True)
        check_range("ramp", ramp, 0.0, 0.5 * duration)
        row, point = self._pushed(link)
        self._push(row, point, checked("wrench_world", wrench_world, (6,)), self.time + duration, ramp)

    def hold_wrench(self, link: str, wrench_world: ArrayLike) -> None:
        """Push `link` as `push` does until the next such call for it, without ramps; 0 ends it.

        Raises
        ------
        UnknownNameError, ParameterError
            No such link, a link of the fixed base, too many pushes at once.
        """
        row, point = self._pushed(link)
        wrench, pushes = checked("wrench_world", wrench_world, (6,)), self._command.pushes
        held = np.isinf(pushes[:, at.PUSH_END]) & (pushes[:, at.PUSHED_ROW] == row)
        held &= (pushes[:, at.PUSH_POINT : at.PUSH_POINT + 3] == point).all(axis=1)
        pushes[held, at.PUSH_END] = self.time
        if wrench.any():
            self._push(row, point, wrench, np.inf, 0.0)

    def _pushed(self, link: str) -> tuple[int, Array]:
        """Kernel row of a link that is to be pushed, and its origin (3,) there."""
        i = self.model.link_index(link)
        body = self.model.link_bodies[i]
        if body == 0:
            raise ParameterError(f"link '{link}' belongs to the fixed base and cannot be pushed")
        row = self.model.row_body[body]
        turn = self.model.parameters[row, rows.TURN : rows.TURN + 9].reshape(3, 3)
        return row, turn.T @ self.model.link_p[i]

    def _push(self, row: int, point: Array, wrench: Array, end: float, ramp: float) -> None:
        free = np.flatnonzero(self._command.pushes[:, at.PUSH_END] <= self.time)
        if not len(free):
            raise ParameterError(f"at most {at.PUSHES} pushes at once")
        self._look_at(row)
        self.look()
        self._command.pushes[free[0]] = [row, self.time, end, ramp, *wrench, *point]

    def _look_at(self, *several: int) -> None:
        """Have steps leave poses and twists of these kernel rows for all who ask."""
        base = 2 if self.model.floating_base else 1
        see(self._robot.seen, {*map(int, several)} - {*range(base)})

    def advance(self, duration: float) -> None:
        """Go on by `duration` [s], to the nearest step.

        Raises
        ------
        DivergedError
            The motion cannot be believed any more; the plant is then at its last good state and stays there.
        """
        check_range("duration", duration, 0.0)
        h = self.params.timestep
        self._run(self._arrays, round((self.time + duration) / h) - int(self._state.counters[at.STEPS]))

    def step(self) -> None:
        """Go on by one timestep; raises as `advance`."""
        self._run(self._arrays, 1)

    def follow(self, commands: ArrayLike | None, log: Array) -> None:
        """Take a step for every row of `log`, each under its own command; `rollout_batch` does so with many plants.

        commands (T, 5, n): rows [q_des, qd_des, kp, kd, tau_ff] of `track` for one step after the other, the last one
        held; None keeps the command there is. log (steps, nq + nv + n or + 3 k) is overwritten with q, qd, tau and, if
        it has room, the force [N] on each point, world axes. Raises as `advance`, and

        Raises
        ------
        ShapeError
            Arrays of another shape, values that are not finite, no command at all.
        ParameterError
            A negative gain.
        """
        given = self._command.now.copy() if commands is None else checked("commands", commands, (-1, 5, self._n))
        if not len(given):
            raise ShapeError("commands must hold at least one command, got none")
        check_range("gains in commands", given[:, 2:4] if self._n else 0.0, 0.0)
        width = self.model.nq + self.model.nv + self._n
        widths = width, width + 3 * len(self.points)
        if log.ndim != 2 or log.shape[1] not in widths or log.dtype != float or not log.flags.carray:
            raise ShapeError(f"log must be float64 (steps, {' or '.join(map(str, widths))}), C order, got {log.shape}")
        try:
            self._run(self._plain(self._command._replace(now=given)), len(log), log)
        finally:
            self._command.now[0] = given[max(min(len(log), len(given)), 1) - 1]

    def linearize(self, eps: float = 1e-6, steps: int = 1) -> tuple[Array, Array]:
        """Answer how the state after `steps` steps under the present command changes with that of now (V13).

        dx(end) = A dx + B du, to first order, for dx = [d; e] (2 nv,): the configuration q (+) d as `integrate` takes
        it, [angular; linear] in base axes first with a floating base, then the velocity qd + e. du (n,): efforts of the
        joints beside the feedback of the command [N m, N], in the order of `model.joint_names`. The feedback is part of
        A, through effort limits, contacts, friction and stops as they are. All else that the plant remembers is held as
        it is now: deflection of contacts, lagging efforts, commands on their way, pushes. Centred differences of the
        plant itself, all perturbed plants abreast; the plant stays, to the last bit, as it is. The first call of an
        installation compiles.

        Parameters
        ----------
        eps : float
            Perturbation [rad, m, rad/s, m/s, N m, N].
        steps : int
            Timesteps, those of a controller's tick.

        Returns
        -------
        A, B : (2 nv, 2 nv), (2 nv, n)

        Raises
        ------
        ParameterError
            eps outside (0, 1e-2], steps below 1.
        DivergedError
            The plant has stopped, or a perturbed one does.
        """
        check_range("eps", eps, 0.0, 1e-2, open_low=True)
        check_range("steps", steps, 1)
        if steps != int(steps):
            raise ParameterError(f"steps must be a whole number, got {steps}")
        if self._divergence is not None:
            raise DivergedError(f"the plant stopped: {self._divergence}; reset it first")
        if self._perturbed is None:
            self._perturbed = PerturbedPlants(self.bundles, self.settings, self.problem)
        answer = self._perturbed.slopes(float(eps), int(steps))
        if isinstance(answer, int):
            raise DivergedError(f"no linearization here: within {steps} steps of a perturbed plant, {REASONS[answer]}")
        return answer

    def _run(self, arrays: tuple[tuple[Any, ...], ...], steps: int, log: Array = NO_LOG) -> None:
        if self._divergence is not None:
            raise DivergedError(f"the plant stopped: {self._divergence}; reset it first")
        if self._moved:
            self.look()
        before, commands = int(self._state.counters[at.STEPS]), arrays[5][0]
        status = self._take_steps(arrays, steps, log)
        if status != FINE:
            taken = int(self._state.counters[at.STEPS]) - before
            raise self.stopped(status, commands[min(taken, len(commands) - 1)])

    def stopped(self, status: int, command: Array) -> DivergedError:
        """Stay where a step under `command` (5, n) ended with this, not FINE; returns what tells so."""
        self._divergence = self._explained(status, command.copy())
        return self.stopped_error()

    def stopped_error(self) -> DivergedError:
        """What tells that the plant stopped."""
        return DivergedError(f"the plant stopped: {self._divergence}; its last good state is kept")

    def explain(self) -> Divergence | None:
        """Say why the plant stopped: step, joint, contact, and the state to see it again; None if it has not."""
        return self._divergence

    def _explained(self, status: int, command: Array) -> Divergence:
        dofs, qd = self._joints.dofs, self.qd
        acceleration = (dofs[at.V_NEXT] - qd) / self.params.timestep
        size = np.where(np.isfinite(acceleration), np.abs(acceleration), np.inf)
        dof = int(self._state.counters[at.SINGULAR_DOF]) if status == SINGULAR else int(np.argmax(size))
        link, depth, force = "", 0.0, 0.0
        if len(self.points):
            points = self._ground.points
            forces = np.linalg.norm(points[:, at.FORCE_WORLD : at.FORCE_WORLD + 3], axis=1)
            c = int(np.argmax(np.where(np.isfinite(forces), forces, np.inf)))
            if forces[c] != 0.0:
                link, depth, force = (
                    self.points.link[c % len(self.points)],
                    float(points[c, at.DEPTH]),
                    float(forces[c]),
                )
        step = int(self._state.counters[at.STEPS]) + 1
        moving = self._joint_of(dof), float(acceleration[dof])
        deflection = self._ground.points[: len(self.points), at.DEFLECTION : at.DEFLECTION + 2].copy()
        start = self.q, qd, deflection, command
        return Divergence(REASONS[status], step, self.time, *moving, link, depth, force, *start)

    def _joint_of(self, dof: int) -> str:
        first = self._joints.number[at.JOINT_V]
        own = [j for j in range(self._n) if first[j] <= dof]
        return self.model.joint_names[max(own, key=lambda j: int(first[j]))] if own else BASE

    @property
    def bundles(self) -> tuple[Robot, at.Joints, at.Ground, at.State, at.Command]:
        """Its memory but for that of the solver: what a step reads and writes."""
        return self._robot, self._joints, self._ground, self._state, self._command

    @property
    def noise_memory(self) -> dict[str, Any]:
        """State of the generator of the noise, and the biases drawn at `reset`; values that JSON can hold."""
        return {
            "generator": self._rng.bit_generator.state,
            "bias": self.bias.tolist(),
            "deviation": self.deviation.tolist(),
        }

    def take_memory(self, bundles: Sequence[Any], noise: Mapping[str, Any]) -> None:
        """Go on with other `bundles`, of the same robot, and with the noise of `noise_memory`: `snapshot.restore`."""
        self._robot, self._joints, self._ground, self._state, self._command = bundles
        self.problem = at.problem(self.settings, self.model.nv, self._n, len(self._ground.row))
        self._rng.bit_generator.state = noise["generator"]
        self.bias, self.deviation = np.array(noise["bias"], dtype=float), np.array(noise["deviation"], dtype=float)
        self._divergence = None
        self._bind()
        self._moved = True

    @property
    def time(self) -> float:
        """Simulated time since `reset` [s]."""
        steps: int = self._state.counters.item(at.STEPS)
        return steps * self.params.timestep

    @property
    def q(self) -> Array:
        """Configuration (nq,)."""
        return self._state.q.copy()

    @property
    def qd(self) -> Array:
        """Velocity (nv,)."""
        return self._state.qd.copy()

    @property
    def qdd(self) -> Array:
        """Acceleration (nv,) of the last step, the componentwise derivative of qd at its start."""
        return self._state.qdd.copy()

    @property
    def base_rate(self) -> Array:
        """Derivative (6,) of a floating base's twist, base axes: with qd, the mean acceleration of the last step."""
        return self._state.base_rate.copy()

    @property
    def tau(self) -> Array:
        """Applied joint efforts (n,) of the last step: PD by the velocity at its end, clamped [N m, N]."""
        return self._joints.data[at.MOTOR, self._joints.number[at.ACTUATOR]]

    @property
    def contacts(self) -> Contacts:
        """All contact points."""
        position, velocity, force = self.touch()
        return Contacts(
            link=self.points.link,
            position=position.copy(),
            velocity=velocity.copy(),
            depth=self._ground.points[:, at.DEPTH].reshape(2 if len(self._ground.twins) else 1, -1).max(axis=0),
            force_world=force.copy(),
            deflection=self._ground.points[: len(position), at.DEFLECTION : at.DEFLECTION + 2].copy(),
        )

    def touch(self) -> tuple[Array, Array, Array]:
        """Position, velocity and force (k, 3) of all contact points of `contacts`, in memory that is written again."""
        if self._moved:
            self.look()
        self._locate()
        return self._touch

    def readings(
        self, mount: Array, position: Array, velocity: Array, effort: Array, odometry: Array, imu: Array
    ) -> Callable[[], None]:
        """Return what writes the readings of this instant into these very arrays: `kernels.sensors.read_sensors`."""
        joints, state = self._joints, self._state
        of_plant = (joints.number, joints.data), (state.q, state.qd, state.base_rate)
        return bound(sensors.read_sensors, *of_plant, mount, (position, velocity, effort), odometry, imu)

    @property
    def energy(self) -> Energy[float]:
        """Energy ledger and momentum balance."""
        return Energy(*map(float, energies(self.model, self._state.ledger)))

    @property
    def solver(self) -> Solver:
        """How the contact solver did."""
        counters = self._state.counters
        return Solver(
            int(counters[at.ITERATIONS]), float(self._state.ledger[at.RESIDUAL]), int(counters[at.UNCONVERGED])
        )

    def measure(self) -> Measurement:
        """Sensor readings of this instant, with the noise and bias of `params.noise`."""
        state = self._state.q, self._state.qd, self.tau, self._state.base_rate
        return readings(self.model, *state, self.bias, self.deviation * self.draw())


def energies(model: Model, ledger: Array) -> list[Array]:
    """What `Energy` holds, of ledgers (..., LEDGER)."""
    columns = at.KINETIC, at.POTENTIAL, at.ELASTIC, at.INITIAL, at.WORK, at.DISSIPATED_JOINT, at.DISSIPATED_CONTACT
    missing = ledger[..., at.MOMENTUM : at.MOMENTUM + 6] - ledger[..., at.ACCOUNTED : at.ACCOUNTED + 6]
    errors = [np.linalg.norm(missing[..., k : k + 3], axis=-1) for k in (0, 3)]
    if not model.floating_base:
        errors = [np.full_like(error, np.nan) for error in errors]
    return [ledger[..., k] for k in (*columns, at.GIVEN)] + errors


def readings(model: Model, q: Array, qd: Array, tau: Array, base_rate: Array, bias: Array, noise: Array) -> Measurement:
    """What sensors say in states q (..., nq), qd (..., nv), tau (..., n), base_rate (..., 6).

    bias, noise (..., 2 n + 6): errors of joint positions and velocities, gyro and accelerometer.
    """
    n = len(model.joint_names)
    orientation, omega, force = np.zeros((*q.shape[:-1], 4)), np.zeros((*q.shape[:-1], 3)), -model.gravity
    orientation[..., 3] = 1.0
    if model.floating_base:
        orientation, omega = q[..., 3:7].copy(), qd[..., :3]
        acceleration = base_rate[..., 3:] + np.cross(omega, qd[..., 3:6])
        force = acceleration - _rotate_back(orientation, model.gravity)
    parts = np.cumsum([n, n, 3])
    exact = q[..., model.q_index], qd[..., model.v_index], omega, force
    errors = (np.split(x, parts, axis=-1) for x in (bias, noise))
    position, velocity, gyro, accelerometer = (x + b + d for x, b, d in zip(exact, *errors, strict=True))
    return Measurement(position, velocity, tau, orientation, gyro, accelerometer)


def _rotate_back(quaternion: Array, x: Array) -> Array:
    """R(quaternion)^T x, of quaternions (..., 4)."""
    u, w = quaternion[..., :3], quaternion[..., 3:]
    turned: Array = x - 2.0 * w * np.cross(u, x) + 2.0 * np.cross(u, np.cross(u, x))
    return turned


def normalised(model: Model, q: Array) -> Array:
    """Return q (..., nq) with unit quaternions. Raises ShapeError if one is far from it."""
    q = q.copy()
    for i in np.flatnonzero(model.topology[:, rows.KIND] == rows.FREE):
        part = slice(model.topology[i, rows.IQ] + 3, model.topology[i, rows.IQ] + 7)
        size = np.linalg.norm(q[..., part], axis=-1, keepdims=True)
        if (np.abs(size - 1.0) > WORST_QUATERNION).any():
            worst = size.flat[np.argmax(np.abs(size - 1.0))]
            raise ShapeError(f"the quaternion q[{part.start}:{part.stop}] must have unit length, got {worst:.6g}")
        q[..., part] /= size
    return q


def _settings(params: PlantParams) -> at.Settings:
    contact, h = params.contact, params.timestep
    schemes = {"implicit": IMPLICIT, "explicit": at.EXPLICIT, "linear": at.LINEAR}
    impulse = contact if isinstance(contact, Impulse) else Impulse()
    return at.Settings(
        timestep=float(h),
        scheme=schemes[contact.scheme] if isinstance(contact, SpringDamper) else IMPULSE,
        below=isinstance(contact, Impulse) and contact.activation == "below",
        restitution=float(impulse.restitution),
        recovery=0.2 / h if impulse.recovery is None else float(impulse.recovery),
        recovery_speed=float(impulse.recovery_speed),
        sweeps=int(contact.iterations),
        tolerance=float(contact.tolerance),
        lag=1.0 if params.actuator_lag == 0.0 else -math.expm1(-h / params.actuator_lag),
        runge_kutta=params.integrator == "rk4",
        motion_only=False,
    )


def _spread(name: str, value: float | Array, count: int) -> Array:
    """`value` as (count,). Raises ParameterError."""
    x = np.asarray(value, dtype=float)
    if x.shape not in ((), (count,)):
        raise ParameterError(f"{name} must be one number or {count}, got shape {x.shape}")
    return np.ascontiguousarray(np.broadcast_to(x, (count,)))


def _joints(model: Model, params: PlantParams) -> at.Joints:
    n = len(model.joint_names)
    single = np.array([kind in ONE_DOF for kind in model.joint_kinds], dtype=bool)
    speed = params.no_load_speed
    no_load = model.velocity_limit if isinstance(speed, str) else (np.inf if speed is None else speed)
    number = np.full((4, n), -1)
    number[at.JOINT_Q], number[at.JOINT_V] = model.q_index, model.v_index
    first = model.v_index.min(initial=model.nv)
    own = number[at.ACTUATOR] = model.v_index - first
    actuators = model.nv - first
    place, data = np.zeros(actuators, np.int64), aligned((at.JOINT_FIGURES, actuators))
    place[own] = model.q_index
    data[at.COULOMB, own] = np.where(single, model.friction, 0.0) * params.joint_friction
    data[at.LOWER], data[at.UPPER] = -np.inf, np.inf
    data[at.LOWER, own] = np.where(single & params.stops, model.lower, -np.inf)
    data[at.UPPER, own] = np.where(single & params.stops, model.upper, np.inf)
    data[at.EFFORT, own] = np.where(single, model.effort_limit, 0.0)
    data[at.SPEED_SLOPE, own], data[at.SPEED_OFFSET, own] = _falling_effort(no_load, params.full_effort_speed, n)
    dofs = np.zeros((at.DOF_ROWS, model.nv))
    ends = [*model.v_index[1:], model.nv]
    for j in range(n):
        dofs[at.DAMPING, model.v_index[j] : ends[j]] = model.damping[j]
        if single[j]:
            number[at.JOINT_ROW, j] = _leading_row(model, model.v_index[j])
    return at.Joints(number, place, data, dofs, np.zeros((at.CONFIGURATION_ROWS, model.nq)))


def _falling_effort(no_load: float | Array, full: float | Array | None, n: int) -> tuple[Array, Array]:
    """Slope (n,) and offset (n,) of the share of its effort that a driving motor has at a speed (F5)."""
    end = _spread("no_load_speed", no_load, n)
    knee = np.where(np.isfinite(end), 0.5 * end if full is None else _spread("full_effort_speed", full, n), 0.0)
    if (knee >= end).any():
        raise ParameterError(f"full_effort_speed must be below no_load_speed, got {knee.max():g} and {end.min():g}")
    slope = 1.0 / (end - knee)
    return slope, 1.0 + knee * slope


def _leading_row(model: Model, dof: int) -> int:
    """Kernel row of the one-dof joint whose velocity is qd[dof]."""
    moving = (model.topology[:, rows.KIND] != rows.FIXED) & (model.topology[:, rows.FOLLOWS] == 0)
    moving[0] = False
    return int(np.flatnonzero(moving & (model.topology[:, rows.IV] == dof))[0])


def _ground(model: Model, params: PlantParams, points: Points) -> at.Ground:
    k = len(points)
    row, r = point_rows(model, points)
    copies = 2 if len(params.terrain) > 1 else 1
    table = aligned((copies * k, at.POINT_COLUMNS))
    clusters = _clusters(row)
    gaps = np.zeros((copies * len(clusters), 3))
    uneven = any(isinstance(surface, HeightField) for surface in params.terrain)
    reach = np.where(uneven, FAR, np.linalg.norm(r, axis=1) + points.radius)
    gaps[:, at.SPAN] = np.tile([reach[first:end].max() for _, first, end in clusters], copies)
    for part in np.split(table, copies):
        part[:, at.PLACE : at.PLACE + 3] = r
        part[:, at.RADIUS] = points.radius
        part[:, at.SIZE] = np.abs(r).sum(axis=1) + points.radius
        for i, name in enumerate(("stiffness", "damping", "friction")):
            part[:, at.OWN_LAW + i] = _spread(name, getattr(params.contact, name, 0.0), k)
    clusters = np.concatenate([clusters + np.array([0, i * k, i * k]) for i in range(copies)])
    twins = np.arange(k, copies * k)
    return at.Ground(np.tile(np.array(row), copies), table, clusters, gaps, *pack(params.terrain), twins)


def _clusters(row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row, first point and end (m, 3) of runs of CLUSTER or more points on one body, else LOOSE, of CLUSTER at most."""
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    clusters: list[tuple[int, int, int]] = []
    for first, end in zip(begins.tolist(), np.append(begins, len(row))[1:].tolist(), strict=True):
        last, begun, _ = clusters[-1] if clusters else (None, 0, 0)
        if end - first >= CLUSTER:
            clusters.append((int(row[first]), first, end))
        elif last == at.LOOSE and end - begun <= CLUSTER:
            clusters[-1] = at.LOOSE, begun, end
        else:
            clusters.append((at.LOOSE, first, end))
    return np.array(clusters, np.int64).reshape(-1, 3)
