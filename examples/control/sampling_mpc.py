# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The Mini Cheetah walks by model predictive control that samples: 64 copies of it try out what comes next.

Twenty-five times a second the plan, joint targets over the next 0.4 s as a spline, is disturbed 64 ways; a `PlantBatch`
simulates all of them from where the robot is, and their mean, weighted by what they cost, is the next plan: path
integral control [Williams et al. 2017] on the splines of predictive sampling [Howell et al. 2022]. Plans are offsets,
from a trot in place or from a stance; where to go is in the costs alone. The copies know nothing of the push, and
take the ground for less slippery. Given a file name, it draws the walks.
"""

import sys
import time

import numpy as np

import robot_dynamics as rd
from robot_dynamics.control.gait import StandTrot, TrotParameters
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.control.posture import Posture
from robot_dynamics.control.simulation import above_ground
from robot_dynamics.share import share_folder

H, TICK, REPLAN, HORIZON = 2e-3, 5, 4, 40
"""Timestep [s]; timesteps to a tick; ticks from one plan to the next, and those that a plan looks ahead."""
KNOTS, SAMPLES, COOL = 5, 64, 0.3
"""Of a spline; copies; temperature of the weights, as a share of how far the median cost is from the least."""
REACH = {True: (0.12, 0.05), False: (0.3, 0.15)}
"""Standard deviations of the joints in each round of a plan [rad], beside the trot and beside the stance."""
CYCLE, KP, KD, SPEED, SECONDS = 0.4, 60.0, 1.5, 0.4, 5.0
"""Of the trot [s]; gains; speed that is wanted along x [m/s]; how long it walks [s]."""
PUSH, PUSHED_AT, LASTS = 70.0, 1.5, 0.1
"""Force to the left [N], when [s] and for how long [s]."""


class Planner:
    """Joint targets of the next ticks, found by trying them out on copies of the robot."""

    def __init__(
        self, model: rd.Model, trot: bool = True, samples: int = SAMPLES, threads: int | None = None, seed: int = 0
    ):
        """Make the copies, which start from a trot in place or from a stance; seed: of the samples."""
        legs = find_legs(model)
        gait = StandTrot(legs, TrotParameters(stand_time=CYCLE, cycle=CYCLE))
        gait.trot, self.reach = trot, REACH[trot]
        gait.start(gait.stance.joints, -CYCLE)
        period = [gait.command(k * TICK * H) for k in range(round(CYCLE / (TICK * H)))]
        self.nominal = np.array([(c.position, c.velocity, c.effort) for c in period])
        self.height = gait.stance.height
        self.batch = rd.PlantBatch([rd.Plant(model, rd.PlantParams(H), legs.feet) for _ in range(samples)], threads)
        self.rng = np.random.default_rng(seed)
        self.spline = between_knots(np.arange(HORIZON))
        self.later = between_knots(np.linspace(0.0, HORIZON, KNOTS) + REPLAN)
        self.knots = np.zeros((KNOTS, len(model.joint_names)))

    def plan(self, plant: rd.Plant, tick: int) -> None:
        """Go on from the last plan, now at `tick`."""
        self.knots = self.later @ self.knots
        for reach in self.reach:
            tried = reach * self.rng.standard_normal((len(self.batch), *self.knots.shape))
            tried[0] = 0.0
            tried += self.knots
            cost = self.costs(plant, tick, self.spline @ tried)
            weight = np.exp((cost.min() - cost) / (COOL * (np.median(cost) - cost.min()) + 1e-9))
            self.knots = np.einsum("i,ikj->kj", weight / weight.sum(), tried)

    def costs(self, plant: rd.Plant, tick: int, offsets: np.ndarray) -> np.ndarray:
        """What it costs (N,) to follow offsets (N, HORIZON, n) from the nominal motion."""
        self.batch.reset(q=plant.q, qd=plant.qd, deflection=plant.contacts.deflection)
        total, x0 = np.zeros(len(self.batch)), plant.q[0]
        for k in range(HORIZON):
            self.batch.step(*self.command(tick + k, offsets[:, k]), steps=TICK)
            x, y, z, qx, qy, qz, _ = self.batch.q[:, :7].T
            ahead = x - x0 - SPEED * (k + 1) * TICK * H
            total += 100.0 * ahead**2 + 20.0 * y**2 + 200.0 * (z - self.height) ** 2
            total += 40.0 * (qx**2 + qy**2) + 20.0 * qz**2
            total += 0.02 * (self.batch.qd[:, :6] ** 2).sum(axis=1) + 0.2 * (offsets[:, k] ** 2).sum(axis=1)
        total[list(self.batch.diverged)] = 1e6
        return total

    def command(self, tick: int, offset: np.ndarray) -> tuple[np.ndarray | float, ...]:
        """The arguments of `Plant.track` at a tick."""
        q, qd, tau = self.nominal[tick % len(self.nominal)]
        return q + offset, qd, KP, KD, tau


def between_knots(ticks: np.ndarray) -> np.ndarray:
    """Weights (len(ticks), KNOTS) of the knots at these ticks of a plan, linear between them; the last one is held."""
    place = np.clip(ticks * (KNOTS - 1) / HORIZON, 0.0, KNOTS - 1)
    return np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(KNOTS)))


def walk(seconds: float, plans: bool = True, **options: int) -> tuple[np.ndarray, float]:
    """Pose of the base (T, 7) after each tick until the end or a fall, and how long it took to plan [s]."""
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    planner, feet, posture = Planner(model, **options), find_legs(model).feet, Posture()
    plant = rd.Plant(model, rd.PlantParams(H, rd.SpringDamper(friction=0.5)), feet)
    q = rd.neutral(model)
    q[7:] = planner.nominal[0, 0]
    plant.reset(above_ground(model, q, feet, plant.params.terrain, 0.0), np.zeros(model.nv))
    planner.costs(plant, 0, np.zeros((len(planner.batch), HORIZON, 12)))  # compiles what is not compiled
    poses, spent = [plant.q[:7]], 0.0
    for tick in range(round(seconds / (TICK * H))):
        if plans and tick % REPLAN == 0:
            begin = time.perf_counter()
            planner.plan(plant, tick)
            spent += time.perf_counter() - begin
        if tick == round(PUSHED_AT / (TICK * H)):
            plant.push(model.link_names[0], [0.0, 0.0, 0.0, 0.0, PUSH, 0.0], LASTS)
        plant.track(*planner.command(tick, (planner.spline @ planner.knots)[tick % REPLAN]))
        plant.advance(TICK * H)
        poses.append(plant.q[:7])
        if posture.see(plant.q[3:7].tolist()):
            break
    return np.array(poses), spent


def draw(walks: dict[str, np.ndarray], path: str) -> None:
    """Draw the ways from above, and how far each came."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    above, ahead = figure.subplots(2)
    for name, poses in walks.items():
        (line,) = above.plot(*poses[:, :2].T, label=name)
        ahead.plot(TICK * H * np.arange(len(poses)), poses[:, 0])
        above.plot(*poses[-1, :2], "o" if len(poses) > SECONDS / (TICK * H) else "X", color=line.get_color())
    ahead.axvspan(PUSHED_AT, PUSHED_AT + LASTS, color="0.9")
    ahead.axline((0.0, 0.0), slope=SPEED, color="0.6", linestyle=":")
    above.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    label = "time [s]; grey: push to the left; dotted: speed that is wanted"
    ahead.set(xlabel=label, ylabel="x [m]", xlim=(0.0, SECONDS))
    above.legend(frameon=False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    RUNS = {
        "trot in place": (True, False),
        "planned, beside the trot": (True, True),
        "planned, beside a stance": (False, True),
    }
    walks = {}
    for name, (trot, plans) in RUNS.items():
        walks[name], spent = walk(SECONDS, plans, trot=trot)
        x, y, z = walks[name][-1, :3]
        end = "on its feet" if len(walks[name]) > SECONDS / (TICK * H) else "fallen"
        fast = f", {SECONDS / spent:.2f} x real time" if plans else ""
        print(f"{name:25} {end} at ({x:.2f}, {y:.2f}) m after {TICK * H * (len(walks[name]) - 1):.1f} s{fast}")
    if len(sys.argv) > 1:
        draw(walks, sys.argv[1])
