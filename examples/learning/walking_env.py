# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Many Mini Cheetahs that learn to walk: a gymnasium VectorEnv on a PlantBatch.

pip install 'robot_dynamics[rl]', then python examples/learning/walking_env.py: random actions, and how fast it went.
"""

import time
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

import robot_dynamics as rd
from robot_dynamics.control.policy import projected_gravity
from robot_dynamics.share import share_folder

TICK, STEPS, SECONDS = 2e-3, 10, 10.0
"""Timestep [s], timesteps for each action, length of an episode [s]."""
STANCE = np.tile([0.0, -0.8, 1.6], 4)
HEIGHT, FALLEN = 0.27, 0.15
KP, KD, REACH = 30.0, 1.0, 0.4
"""Gains of the joints; how far an action of 1 moves the target of a joint from the stance [rad]."""
NOISE = rd.SensorNoise(position=5e-3, velocity=0.1, gyro=0.05, accelerometer=0.2)


class WalkingEnv(VectorEnv):  # type: ignore[misc,type-arg]
    """Robots that differ in friction, payload and delay walk along x; an action is a target for each joint.

    Observation: gravity in base axes, angular velocity, joint positions from the stance, joint velocities, last action.
    Reward: speed along x up to 1 m/s, less effort and tilt. A fall ends an episode.
    """

    metadata: ClassVar = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, num_envs: int = 64, threads: int | None = None, seed: int = 0):
        """Make the robots; seed: of what they differ in."""
        self.num_envs = num_envs
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (12,), np.float32)
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (42,), np.float32)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.batch = rd.PlantBatch(robots(num_envs, np.random.default_rng(seed)), threads)
        self.model = self.batch.plants[0].model
        self.done = np.zeros(num_envs, bool)
        self.actions = np.zeros((num_envs, 12))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Stand all robots up, or those of options["reset_mask"]."""
        super().reset(seed=seed)
        self.restart((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        return self.observe(), {}

    def restart(self, mask: NDArray[np.bool_]) -> None:
        """Stand robots near the stance."""
        q = np.tile(rd.neutral(self.model), (self.num_envs, 1))
        q[:, 2] = HEIGHT
        q[:, 7:] = STANCE + self.np_random.uniform(-0.1, 0.1, (self.num_envs, 12))
        qd = self.np_random.uniform(-0.1, 0.1, (self.num_envs, self.model.nv))
        self.batch.reset(mask, q, qd)
        self.actions[mask], self.done[mask] = 0.0, False

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Advance all robots by STEPS timesteps; those whose episode is over begin anew instead."""
        again = self.done.copy()
        start = self.batch.q[:, 0].copy()
        self.actions = np.clip(np.asarray(actions, float), -1.0, 1.0)
        self.batch.step(q_des=STANCE + REACH * self.actions, kp=KP, kd=KD, steps=STEPS)
        speed = (self.batch.q[:, 0] - start) / (STEPS * TICK)
        terminated = self.fallen() & ~again
        truncated = (self.batch.time > SECONDS - 0.5 * TICK) & ~terminated & ~again
        tilt = 1.0 + self.gravity()[:, 2]
        reward = np.minimum(speed, 1.0) - 1e-4 * (self.batch.tau**2).sum(axis=1) - tilt
        if again.any():
            self.restart(again)
        self.done = terminated | truncated
        return self.observe(), np.where(again, 0.0, reward), terminated, truncated, {}

    def fallen(self) -> NDArray[np.bool_]:
        """Which robots lie, lean by more than 60 degrees, or cannot be simulated any more."""
        lost = np.isin(np.arange(self.num_envs), list(self.batch.diverged))
        return (self.batch.q[:, 2] < FALLEN) | (self.gravity()[:, 2] > -0.5) | lost

    def gravity(self) -> NDArray[np.float64]:
        """Direction of gravity in base axes (N, 3)."""
        return projected_gravity(self.batch.q[:, 3:7])

    def observe(self) -> NDArray[np.float32]:
        """What the sensors of each robot say."""
        seen = self.batch.measure()
        parts = self.gravity(), seen.angular_velocity, seen.position - STANCE, seen.velocity, self.actions
        return np.concatenate(parts, axis=1).astype(np.float32)


def robots(count: int, rng: np.random.Generator) -> list[rd.Plant]:
    """Robots on flat ground, each a bit different."""
    from dataclasses import replace

    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    feet = rd.contact_points(model)
    out = []
    for i in range(count):
        own = [x.inertial for x in model.robot.links]
        trunk = int(np.argmax([x.mass if x else 0.0 for x in own]))
        links = list(model.robot.links)
        links[trunk] = replace(links[trunk], inertial=replace(own[trunk], mass=own[trunk].mass * rng.uniform(0.9, 1.2)))
        law = rd.SpringDamper(friction=rng.uniform(0.4, 1.0))
        params = rd.PlantParams(TICK, law, command_delay=int(rng.integers(3)), noise=NOISE, seed=i)
        out.append(rd.Plant(model.with_links(links), params, feet))
    return out


if __name__ == "__main__":
    env = WalkingEnv(256)
    env.reset(seed=0)
    begin = time.perf_counter()
    for _ in range(100):
        env.step(env.action_space.sample())
    print(f"{100 * env.num_envs / (time.perf_counter() - begin):.0f} robot ticks of {STEPS * TICK:g} s a second")
