# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plant beside MuJoCo: go2 standing under PD control, steps and rollouts."""

import os
from collections.abc import Callable, Hashable, Iterator
from types import ModuleType

import numpy as np

import robot_dynamics as rd
from robot_dynamics.compiler import LANES
from robot_dynamics.dynamics.kinematics import point_rows
from robot_dynamics.kernels import rows

from .robots import FOOT_RADIUS, Case, go2_feet, go2_points, go2_stance
from .rounds import Row, compared, interleaved, timed

H, KP, KD = 1e-3, 60.0, 2.0
STEPS, COUNT = 1000, 16
"""Steps of a run; robots of a rollout."""
UNTIL_STILL = 5
"""Runs until the robots stand still, to 1 mm/s and mrad/s."""


def mjcf(model: rd.Model) -> str:
    """The robot on a plane for MuJoCo: balls for feet, a PD actuator per joint, nothing else that touches."""
    row, r = point_rows(model, go2_feet(model))
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(model.topology[1:, rows.PARENT], start=1):
        children.setdefault(int(parent), []).append(i)
    feet = {int(i): p for i, p in zip(row, r, strict=True)}
    joints = [f"joint{i}" for i in range(2, len(model.topology))]
    drives = "".join(f'<position joint="{name}" kp="{KP}" kv="{KD}"/>' for name in joints)
    bodies = "".join(_body(model, i, children, feet) for i in children[0])
    return (
        f'<mujoco><option timestep="{H}"/><worldbody><geom type="plane" size="0 0 1"/>{bodies}</worldbody>'
        f"<actuator>{drives}</actuator></mujoco>"
    )


def _body(model: rd.Model, i: int, children: dict[int, list[int]], feet: dict[int, np.ndarray]) -> str:
    """Row i of the packed model and what hangs on it."""
    figures = model.parameters[i]
    m, h = figures[rows.MASS], figures[rows.MOMENT : rows.MOMENT + 3]
    xx, xy, xz, yy, yz, zz = figures[rows.INERTIA : rows.INERTIA + 6]
    c = h / m
    about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * ((c @ c) * np.eye(3) - np.outer(c, c))
    R = figures[rows.R0 : rows.R0 + 9].reshape(3, 3)
    free = model.topology[i, rows.KIND] == rows.FREE
    joint = "<freejoint/>" if free else f'<joint name="joint{i}" axis="0 0 1" armature="{figures[rows.ARMATURE]}"/>'
    ball = f'<geom type="sphere" size="{FOOT_RADIUS}" mass="0" pos="{_text(feet[i])}"/>' if i in feet else ""
    inertia = _text(about_com[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
    return (
        f'<body pos="{_text(figures[rows.P0 : rows.P0 + 3])}" xyaxes="{_text(R[:, :2].T.ravel())}">{joint}'
        f'<inertial mass="{float(m)!r}" pos="{_text(c)}" fullinertia="{inertia}"/>{ball}'
        f"{''.join(_body(model, k, children, feet) for k in children.get(i, []))}</body>"
    )


def _text(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)


class Standing:
    """go2 on its feet in MuJoCo."""

    def __init__(self, mujoco: ModuleType, model: rd.Model, q: np.ndarray):
        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(mjcf(model))
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = np.r_[q[:3], q[[6, 3, 4, 5]], q[7:]]
        self.data.ctrl[:] = q[7:]

    def run(self, steps: int) -> None:
        """Go on, in a loop in C."""
        self.mujoco.mj_step(self.model, self.data, steps)

    def carried(self) -> float:
        """Vertical force of the ground [N]."""
        force, total = np.empty(6), 0.0
        for k in range(self.data.ncon):
            self.mujoco.mj_contactForce(self.model, self.data, k, force)
            total += force[0]
        return total


def standing_plant(case: Case, contact: rd.SpringDamper | rd.Impulse) -> rd.Plant:
    """go2 on its feet in our plant, with sixteen points."""
    q = go2_stance(case.model)
    plant = rd.Plant(case.model, rd.PlantParams(H, contact), go2_points(case.model))
    plant.reset(q, np.zeros(case.model.nv))
    plant.track(q[7:], np.zeros(12), KP, KD)
    return plant


def steps(case: Case, mujoco: ModuleType) -> Iterator[Row]:
    """One step of the plant beside one of MuJoCo's, both standing; their forces must carry the same weight."""
    plants = {
        "implicit spring-damper": (standing_plant(case, rd.SpringDamper()), (0.20, 0.10)),
        "impulse": (standing_plant(case, rd.Impulse()), (0.35, 0.20)),
    }
    other = Standing(mujoco, case.model, go2_stance(case.model))
    calls: dict[Hashable, Callable[[], float]] = {
        name: timed(lambda plant=plant: plant.advance(STEPS * H), STEPS) for name, (plant, _) in plants.items()
    }
    times = interleaved(calls | {"mj_step": timed(lambda: other.run(STEPS), STEPS)}, rounds=15)
    weight = 9.81 * case.model.mass
    carried = [other.carried(), *(plant.contacts.force_world[:, 2].sum() for plant, _ in plants.values())]
    if not np.allclose(carried, weight, rtol=0.01):
        raise RuntimeError(f"the robots do not stand: the ground carries {carried} N of {weight:.1f} N")
    for name, (_, promise) in plants.items():
        what = f"plant step, 16 points, {name}"
        yield compared(case.name, what, times[name], times["mj_step"], "mj_step", promise)


def linearizations(case: Case, mujoco: ModuleType) -> Iterator[Row]:
    """A and B of one step of the standing robot by centred differences; both stand still before."""
    plant = standing_plant(case, rd.SpringDamper())
    plant.advance(UNTIL_STILL * STEPS * H)
    other = Standing(mujoco, case.model, go2_stance(case.model))
    other.run(UNTIL_STILL * STEPS)
    n = 2 * case.model.nv
    A, B = np.empty((n, n)), np.empty((n, 12))
    times = interleaved(
        {
            "ours": timed(plant.linearize, 1),
            "mujoco": timed(lambda: mujoco.mjd_transitionFD(other.model, other.data, 1e-6, True, A, B, None, None), 1),
        },
        rounds=101,
    )
    what = "linearize, 16 points, implicit spring-damper"
    yield compared(case.name, what, times["ours"], times["mujoco"], "mjd_transitionFD", (0.25, 0.10))


def differing(case: Case) -> list[rd.Plant]:
    """Standing robots that differ in friction."""
    return [standing_plant(case, rd.SpringDamper(friction=mu)) for mu in np.linspace(0.4, 1.0, COUNT)]


def tiles(case: Case) -> Iterator[Row]:
    """Robots that share SIMD lanes beside the same robots one by one, all on one thread."""
    batch, alone = rd.PlantBatch(differing(case), threads=1), differing(case)

    def one_by_one() -> None:
        for plant in alone:
            plant.advance(STEPS * H)

    calls: dict[Hashable, Callable[[], float]] = {
        "tiles": timed(lambda: batch.step(steps=STEPS), COUNT * STEPS),
        "alone": timed(one_by_one, COUNT * STEPS),
    }
    times = interleaved(calls, rounds=15)
    what = f"plant step, {COUNT} robots in tiles of {LANES}, one thread"
    yield compared(case.name, what, times["tiles"], times["alone"], "one by one", (1 / 1.5, 1 / 2))


def treading(case: Case) -> np.ndarray:
    """Joint targets (10, COUNT, 12) of a trot on the spot, 50 ms each: every robot at a phase of its own."""
    phases = np.random.default_rng(0).random(COUNT)
    names = case.model.joint_names
    diagonal = np.array([1.0 if name[:2] in ("FL", "RR") else -1.0 for name in names])
    lift = np.array([0.35 if "thigh" in name else -0.7 if "calf" in name else 0.0 for name in names])
    swing = np.sin(2.0 * np.pi * (np.arange(10)[:, None, None] / 10 + phases[:, None])) * diagonal
    return go2_stance(case.model)[7:] + lift * np.maximum(swing, 0.0)


def treading_tiles(case: Case) -> Iterator[Row]:
    """Robots that share SIMD lanes while each lifts other feet, beside the same robots one by one, on one thread."""
    batch, alone, targets = rd.PlantBatch(differing(case), threads=1), differing(case), treading(case)
    still, each = np.zeros(12), STEPS // (2 * len(targets))

    def together() -> None:
        for q_des in targets:
            batch.step(q_des=q_des, kp=KP, kd=KD, steps=each)

    def one_by_one() -> None:
        for q_des in targets:
            for plant, own in zip(alone, q_des, strict=True):
                plant.track(own, still, KP, KD)
                plant.advance(each * H)

    count = COUNT * each * len(targets)
    times = interleaved({"tiles": timed(together, count), "alone": timed(one_by_one, count)}, rounds=15)
    if min(batch.q[:, 2]) < 0.2:
        raise RuntimeError(f"robots that trot on the spot fell, down to {min(batch.q[:, 2]):.2f} m")
    what = f"plant step, {COUNT} robots out of step in tiles of {LANES}, one thread"
    yield compared(case.name, what, times["tiles"], times["alone"], "one by one")


def rollouts(case: Case, mujoco: ModuleType) -> Iterator[Row]:
    """Standing robots that differ in friction, per step and core, all cores at work."""
    from mujoco import rollout

    cores = len(os.sched_getaffinity(0))
    plants = differing(case)
    other = Standing(mujoco, case.model, go2_stance(case.model))
    threads = [mujoco.MjData(other.model) for _ in range(cores)]
    size = mujoco.mj_stateSize(other.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    begin = np.empty(size)
    mujoco.mj_getState(other.model, other.data, begin, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    control = np.broadcast_to(other.data.ctrl, (COUNT, STEPS, 12)).copy()
    with rollout.Rollout(nthread=cores) as pool:
        times = interleaved(
            {
                "ours": timed(lambda: rd.rollout_batch(plants, STEPS * H), COUNT * STEPS / cores),
                "mujoco": timed(
                    lambda: pool.rollout([other.model] * COUNT, threads, np.tile(begin, (COUNT, 1)), control),
                    COUNT * STEPS / cores,
                ),
            },
            rounds=7,
        )
    what = f"rollouts of {COUNT} robots, per step and core"
    yield compared(case.name, what, times["ours"], times["mujoco"], "mujoco.rollout", (1 / 5, 1 / 15))
