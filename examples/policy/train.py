# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes walk.npz and walk.onnx: a gait with feedback (the teacher) is distilled into a small network by DAgger.

The student runs many Mini Cheetahs abreast (`rollout_batch`) under random commands, pushes and friction. The teacher
says what it should have done in every state that was seen, and the student is fitted to all of that [Ross et al. 2011].

    python train.py [--robots 32] [--rounds 4] [--seconds 8]
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

import robot_dynamics as rd
from robot_dynamics.control.gait import StandTrot, TrotParameters, smooth
from robot_dynamics.control.limbs import find_legs, joint_rates_for_feet, joints_for_feet
from robot_dynamics.control.policy import Observation, Sensed, perceptron, read_spec
from robot_dynamics.control.simulation import home_pose
from robot_dynamics.ros.parameters import MINI_CHEETAH
from robot_dynamics.share import share_folder

HERE = Path(__file__).resolve().parent
TIMESTEP = 0.002
FORWARD, SIDE, TURN = 0.5, 0.2, 0.6
"""Largest commands [m/s, rad/s]."""
VELOCITY, ATTITUDE, RATE = 0.12, 0.7, 0.08
"""Feedback of the teacher: steps per velocity error [s], leg lengths per tilt, and per angular velocity [s]."""
FULL = 0.12
"""Command from which on the feet are lifted in full [m/s]."""
LIFT, UP, OVER = 0.28, 0.25, 0.55
"""Lift over the reach of the legs; shares of the swing in which a foot goes up, and then ahead."""
WIDTH, EPOCHS, BATCH = 64, 40, 256
"""Of the two hidden layers, and of the fit."""


class Teacher:
    """The trot of the controller node, steered, with feedback of velocity and attitude: of what is observed."""

    def __init__(self, legs, spec):
        self.legs, self.spec = legs, spec
        self.gait = StandTrot(legs, TrotParameters(cycle=spec.period, duty=0.55, lift=LIFT))
        self.pair, self.feet = self.gait.pair, self.gait.stance.feet

    def joints(self, phase, command, velocity, omega, gravity, last):
        """Targets (n,): positions with which the gains of the policy give position, velocity and weight of the gait."""
        p, gait = self.gait.parameters, self.gait
        amount = smooth(max(np.hypot(*command[:2]), 0.3 * abs(command[2])) / FULL)[0]
        phases = np.where(self.pair, phase, phase + 0.5) % 1.0
        swing = np.clip((phases - p.duty) / (1.0 - p.duty), 0.0, 1.0)
        rate = 1.0 / ((1.0 - p.duty) * p.cycle)
        gait.steer = command
        across = np.where(swing > 0, np.clip((swing - UP) / OVER, 1e-6, 1.0), 0.0)
        target, speed = gait._strides(phases, across, rate / OVER)
        lift = amount * p.lift * gait.stance.reach
        target[:, 2] += lift * np.sin(np.pi * swing) ** 2
        speed[:, 2] = lift * np.pi * rate * np.sin(2.0 * np.pi * swing) * (swing > 0)
        ahead = np.where(swing > 0, [smooth(s)[0] for s in swing], 1.0 - phases / p.duty)
        error = np.array([velocity[0] - command[0], velocity[1] - command[1], 0.0])
        target += amount * VELOCITY * ahead[:, None] * error
        x, y = self.feet[:, 0], self.feet[:, 1]
        target[:, 2] -= ATTITUDE * (gravity[0] * x + gravity[1] * y) + RATE * (omega[1] * x - omega[0] * y)
        q = joints_for_feet(self.legs, target, last, iterations=4)
        qd = joint_rates_for_feet(self.legs, speed, q)
        weight = gait._weight(q, (swing <= 0) | (amount < 0.5))
        return q + (self.spec.kd * qd + weight) / self.spec.kp


class Walkers:
    """Many robots abreast, each with a friction, commands and pushes of its own; who falls begins anew."""

    def __init__(self, spec, count, seed):
        self.rng, self.spec = np.random.default_rng(seed), spec
        self.model = rd.load_urdf(
            share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True, armature=MINI_CHEETAH
        )
        self.legs = find_legs(self.model)
        assert self.model.joint_names == spec.joints
        self.home = home_pose(self.model, "stance", {}, self.legs.feet, 0.0)
        floors = [rd.SpringDamper(friction=mu) for mu in self.rng.uniform(0.45, 0.9, count)]
        floors = [rd.PlantParams(timestep=TIMESTEP, contact=floor) for floor in floors]
        self.plants = [rd.Plant(self.model, floor, self.legs.feet) for floor in floors]
        self.phase, self.command, self.falls = np.zeros(count), np.zeros((count, 3)), 0
        for i in range(count):
            self.begin(i)

    def begin(self, i):
        q = self.home.copy()
        q[7:] += self.rng.normal(0.0, 0.05, len(q) - 7)
        qd = np.zeros(self.model.nv)
        qd[:6] = self.rng.normal(0.0, 0.15, 6)
        self.plants[i].reset(q, qd)
        self.phase[i] = self.rng.random()

    def stir(self):
        """Another command now and then, and a push."""
        for i, plant in enumerate(self.plants):
            if self.rng.random() < 0.012:
                standing, limits = self.rng.random() < 0.2, np.array([FORWARD, SIDE, TURN])
                self.command[i] = 0.0 if standing else self.rng.uniform(-1.0, 1.0, 3) * limits
            if self.rng.random() < 0.01:
                force = self.rng.normal(0.0, 25.0, 3) * (1.0, 1.0, 0.3)
                plant.push(self.model.link_names[0], np.concatenate([np.zeros(3), force]), 0.1)

    def sensed(self, i):
        q, qd = self.plants[i].q, self.plants[i].qd
        R = rd.body_pose(self.model, q)[0][1]
        return Sensed(qd[3:6].copy(), qd[:3].copy(), -R[2], q[7:].copy(), qd[6:].copy())

    def advance(self, targets):
        """One period of the policy; begins anew where one lies."""
        spec = self.spec
        run = rd.rollout_batch(self.plants, 1.0 / spec.rate, q_des=targets[:, None], kp=spec.kp, kd=spec.kd)
        self.phase = (self.phase + 1.0 / (spec.rate * spec.period)) % 1.0
        for i, q in enumerate(run.q[:, -1]):
            x, y = q[3:5]
            if i in run.diverged or 1.0 - 2.0 * (x * x + y * y) < 0.7 or q[2] < 0.12:
                self.falls += 1
                self.begin(i)


def gather(spec, teacher, layers, args, turn):
    """Observations and what the teacher says of them; the student acts, but for a share of robots that falls."""
    walkers = Walkers(spec, args.robots, turn)
    n, steps = args.robots, round(args.seconds * spec.rate)
    taught = np.arange(n) < (n if layers is None else n // (2 + 2 * turn))
    last = np.tile(teacher.gait.stance.joints, (n, 1))
    build, seen, said = Observation(spec), [], []
    for _ in range(steps):
        walkers.stir()
        x, y = np.empty((n, spec.size)), np.empty((n, len(spec.joints)))
        for i in range(n):
            s, command = walkers.sensed(i), walkers.command[i]
            x[i] = build.build(s, command, np.zeros(len(spec.joints)), walkers.phase[i] * spec.period)
            y[i] = teacher.joints(
                walkers.phase[i], command, s.base_linear_velocity, s.base_angular_velocity, s.projected_gravity, last[i]
            )
        actions = (y - spec.default_positions) / spec.action_scale
        seen.append(x)
        said.append(actions)
        acted = actions if layers is None else np.where(taught[:, None], actions, perceptron(layers, x))
        walkers.advance(spec.default_positions + spec.action_scale * acted)
    print(f"round {turn}: {n * steps} states, {walkers.falls} falls", flush=True)
    return np.concatenate(seen), np.concatenate(said)


def fit(x, y, layers, rng):
    """Least squares by Adam; the step shrinks to nothing along a cosine."""
    if layers is None:
        sizes = [x.shape[1], WIDTH, WIDTH, y.shape[1]]
        layers = [(rng.normal(0.0, a**-0.5, (a, b)), np.zeros(b)) for a, b in pairwise(sizes)]
    parameters = [p.copy() for layer in layers for p in layer]
    m, v = [np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters]
    steps, t = EPOCHS * (len(x) // BATCH), 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for rows in order[: len(x) // BATCH * BATCH].reshape(-1, BATCH):
            gradients, t = slope(parameters, x[rows], y[rows]), t + 1
            rate = 2e-3 * 0.5 * (1.0 + np.cos(np.pi * t / steps))
            for p, g, a, b in zip(parameters, gradients, m, v, strict=True):
                a += 0.1 * (g - a)
                b += 0.001 * (g * g - b)
                p -= rate * (a / (1.0 - 0.9**t)) / (np.sqrt(b / (1.0 - 0.999**t)) + 1e-8)
    layers = list(zip(parameters[::2], parameters[1::2], strict=True))
    rest = float(np.sqrt(np.mean((perceptron(layers, x) - y) ** 2)))
    print(f"    fitted to {len(x)} states, rms error of the actions {rest:.3f}", flush=True)
    return layers


def slope(parameters, x, y):
    """Gradient of the mean squared error by back propagation."""
    W, b = parameters[::2], parameters[1::2]
    values = [x]
    for k in range(len(W)):
        z = values[-1] @ W[k] + b[k]
        values.append(np.tanh(z) if k < len(W) - 1 else z)
    error, out = 2.0 * (values[-1] - y) / y.size, []
    for k in reversed(range(len(W))):
        out += [error.sum(axis=0), values[k].T @ error]
        if k:
            error = (error @ W[k].T) * (1.0 - values[k] ** 2)
    return out[::-1]


def save(layers, folder):
    """Write walk.npz, and walk.onnx where onnx is installed."""
    arrays = {
        f"{letter}{i}": p.astype(np.float32)
        for i, layer in enumerate(layers)
        for letter, p in zip("Wb", layer, strict=True)
    }
    np.savez(folder / "walk.npz", **arrays)
    try:
        from onnx import TensorProto, checker, helper, numpy_helper, save_model
    except ModuleNotFoundError:
        print("walk.onnx is not written: pip install onnx")
        return
    nodes, x = [], "observation"
    for i in range(len(layers)):
        out = "action" if i == len(layers) - 1 else f"z{i}"
        nodes.append(helper.make_node("Gemm", [x, f"W{i}", f"b{i}"], [out]))
        if out != "action":
            nodes.append(helper.make_node("Tanh", [out], [x := f"h{i}"]))
    shapes = {"observation": layers[0][0].shape[0], "action": layers[-1][0].shape[1]}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, size]) for name, size in shapes.items()]
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "walk", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    save_model(model, folder / "walk.onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--robots", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--folder", type=Path, default=HERE, help="where walk.npz and walk.onnx go")
    args = parser.parse_args()
    spec = read_spec(HERE / "walk.yaml")
    teacher = Teacher(Walkers(spec, 1, 0).legs, spec)
    layers, rng, x, y = None, np.random.default_rng(0), [], []
    for turn in range(args.rounds):
        for rows, new in zip((x, y), gather(spec, teacher, layers, args, turn), strict=True):
            rows.append(new)
        layers = fit(np.concatenate(x), np.concatenate(y), layers, rng)
        save(layers, args.folder)


if __name__ == "__main__":
    sys.exit(main())
