# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""One run of a study by its number, and its figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..contact.terrain import Surface, clearances
from ..control.posture import FALLEN
from ..control.simulation import above_ground
from ..core.arrays import Array
from ..dynamics.kinematics import Points
from ..errors import DivergedError, ParameterError, RobotDynamicsError
from ..model.model import Model
from ..simulation.plant import Plant, PlantParams
from .controllers import Controller, called, load_function
from .sampling import Parameter, Value, run_seed, sample
from .variation import Push, Setup, set_up

SUNK = 0.5
"""A base that is lower above the ground than this part of its height at the start has fallen."""
LOADED = 1.0
"""Force from which on a point stands on the ground [N]."""
OUTCOME = ("fell", "fell_at")


class StudyError(RobotDynamicsError):
    """A run of a study cannot be simulated or judged; the message says which and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Everything that a run follows from, beside its number; can be pickled.

    start (nq,): configuration on level ground; the robot is lifted onto other terrain. period [s] of the controller,
    a whole number of timesteps. judges: names of FIGURES or module:function; modules: files of the user's functions.
    text: the file that it was read from; fingerprint: hash of all that decides a run.
    """

    name: str
    model: Model
    points: Points
    start: Array
    params: PlantParams
    terrains: Mapping[str, Sequence[Surface]]
    controller: Controller
    parameters: tuple[Parameter, ...]
    sampling: str
    judges: tuple[str, ...]
    modules: tuple[str, ...]
    runs: int
    seed: int
    duration: float
    period: float
    text: str
    fingerprint: str

    @property
    def ticks(self) -> int:
        """Periods of the controller in a run."""
        return round(self.duration / self.period)

    def values(self, number: int) -> dict[str, Value]:
        """Answer the values of all parameters in run `number`."""
        return sample(self.parameters, self.sampling, self.seed, number)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What became of a run: T steps in K periods, n joints, k contact points.

    time (T,) [s] at the ends of the steps; q (T, nq), qd (T, nv); tau (T, n) applied efforts [N m, N]; force (T, k, 3)
    of the ground [N], world axes; target (K, n) commanded positions [rad, m]; slide (K, k) horizontal speed of the
    points that stand on the ground at the end of each period, 0 for others [m/s]; clearance (K + 1,) of the base above
    the ground at the start and the ends of the periods [m]. stopped: why the plant stopped, if it did; then T and K are
    smaller.
    """

    number: int
    seed: int
    values: Mapping[str, Value]
    model: Model
    period: float
    time: Array
    q: Array
    qd: Array
    tau: Array
    force: Array
    target: Array
    slide: Array
    clearance: Array
    stopped: str

    @property
    def timestep(self) -> float:
        """h [s]."""
        return self.period / self.steps_per_period

    @property
    def steps_per_period(self) -> int:
        """Steps of the plant per period of the controller."""
        return len(self.time) // max(len(self.target), 1) or 1


def simulate(study: Study, number: int) -> Run:
    """Simulate run `number` of a study; the answer depends on nothing else.

    Raises
    ------
    StudyError
        A parameter out of its range, a controller that fails.
    """
    seed = run_seed(study.seed, number)
    values = study.values(number)
    try:
        setup = set_up(study.model, study.params, study.terrains, values, seed)
        plant = Plant(setup.model, setup.params, study.points)
        plant.reset(
            above_ground(setup.model, study.start, study.points, setup.params.terrain, 0.0), np.zeros(plant.model.nv)
        )
        return _follow(study, setup, plant, number, seed, values)
    except RobotDynamicsError as error:
        raise StudyError(f"run {number}: {error}") from None


def _follow(study: Study, setup: Setup, plant: Plant, number: int, seed: int, values: Mapping[str, Value]) -> Run:
    """Take the plant through all periods, or until it stops."""
    model, n, k = plant.model, len(plant.model.joint_names), len(plant.points)
    steps = round(study.period / study.params.timestep)
    log = np.empty((study.ticks * steps, model.nq + model.nv + n + 3 * k))
    target, slide, base = np.empty((study.ticks, n)), np.zeros((study.ticks, k)), np.empty((study.ticks + 1, 3))
    act, gains, stopped, done = study.controller.begin(study.model, seed), (setup.kp, setup.kd), "", study.ticks
    push_tick = -1 if setup.push is None else round(setup.push.time / study.period)
    base[0] = plant.q[:3] if model.floating_base else 0.0
    for tick in range(study.ticks):
        if setup.push is not None and tick == push_tick:
            _push(plant, setup.push)
        q_des, qd_des, kp, kd, *tau_ff = act(tick, plant)
        plant.track(q_des, qd_des, np.multiply(gains[0], kp), np.multiply(gains[1], kd), *tau_ff)
        part = log[tick * steps : (tick + 1) * steps]
        try:
            plant.follow(None, part)
        except DivergedError as error:
            stopped, done = str(error), tick
            break
        target[tick] = q_des
        _, velocity, force = plant.touch()
        slide[tick] = np.where(force[:, 2] > LOADED, np.hypot(velocity[:, 0], velocity[:, 1]), 0.0)
        base[tick + 1] = part[-1, :3]
    kept = slice(0, done * steps)
    q, qd, tau, forces = np.split(log[kept], np.cumsum([model.nq, model.nv, n]), axis=1)
    return Run(
        number=number,
        seed=seed,
        values=values,
        model=model,
        period=study.period,
        time=study.params.timestep * np.arange(1.0, done * steps + 1.0),
        q=q,
        qd=qd,
        tau=tau,
        force=forces.reshape(-1, k, 3),
        target=target[:done],
        slide=slide[:done],
        clearance=clearances(setup.params.terrain, base[: done + 1]),
        stopped=stopped,
    )


def _push(plant: Plant, push: Push) -> None:
    if not plant.model.floating_base:
        raise ParameterError("a robot with a fixed base cannot be pushed")
    link = plant.model.link_names[0]
    plant.push(link, [0.0, 0.0, 0.0, *push.force, 0.0], push.duration, 0.1 * push.duration)


def fell_at(run: Run) -> float:
    """Time at which the robot has fallen [s]: tilted by 60 degrees, sunk to half its height, or the plant stopped.

    nan if it has not, and for a fixed base.
    """
    if not run.model.floating_base:
        return np.nan if not run.stopped else float(len(run.target) * run.period)
    x, y = run.q[:, 3], run.q[:, 4]
    tilted = run.time[1.0 - 2.0 * (x * x + y * y) < FALLEN]
    sunk = run.period * np.flatnonzero(run.clearance < SUNK * run.clearance[0])
    ends = [float(times[0]) for times in (tilted, sunk) if len(times)]
    ends += [len(run.target) * run.period] if run.stopped else []
    return min(ends, default=np.nan)


def slip(run: Run) -> float:
    """Way that the feet slide over the ground while they stand on it, back and forth, all feet added [m]."""
    return float(run.slide.sum() * run.period)


def energy(run: Run) -> float:
    """Work of the joints, of drive and brake added: integral of the sum of ``|tau qd|`` [J]."""
    rate = run.qd[:, run.model.v_index]
    return float(np.abs(run.tau * rate).sum() * run.timestep)


def tracking(run: Run) -> float:
    """Root mean square of what joints miss of their commanded positions at the ends of the periods [rad, m]."""
    steps = run.steps_per_period
    missed = run.q[steps - 1 :: steps][:, run.model.q_index] - run.target
    return float(np.sqrt((missed * missed).mean())) if missed.size else 0.0


def peak_torque(run: Run) -> float:
    """Largest effort of any joint [N m, N]."""
    return float(np.abs(run.tau).max(initial=0.0))


FIGURES: Mapping[str, Callable[[Run], float]] = {
    "slip": slip,
    "energy": energy,
    "tracking": tracking,
    "peak_torque": peak_torque,
}
"""What can be judged, beside the fall, which always is."""
UNITS = {"slip": "m", "energy": "J", "tracking": "rad", "peak_torque": "N m", "fell_at": "s"}

Row = dict[str, int | float | str | bool]


def judged(study: Study, run: Run) -> Row:
    """Answer the row of a run in the table of results.

    Raises
    ------
    StudyError
        A function of the user fails or does not answer a number.
    """
    fall = fell_at(run)
    row: Row = {"run": run.number, "seed": run.seed, **run.values}
    row |= {"fell": not np.isnan(fall), "fell_at": fall}
    for name in study.judges:
        try:
            value = called(name, FIGURES.get(name) or load_function(name), run)
            row[column(name)] = float(value)
        except (TypeError, ValueError):
            raise StudyError(f"run {run.number}: '{name}' must answer a number, got {value!r}") from None
        except RobotDynamicsError as error:
            raise StudyError(f"run {run.number}: {error}") from None
    return row | {"stopped": run.stopped}


def column(judge: str) -> str:
    """Column of the results that a judge fills."""
    return judge.partition(":")[2] or judge


def rows_of(study: Study, numbers: Sequence[int]) -> list[Row]:
    """Simulate and judge several runs, one after the other."""
    return [judged(study, simulate(study, number)) for number in numbers]
