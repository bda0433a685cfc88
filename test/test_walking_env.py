# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The example environment keeps gymnasium's contract."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

gym = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

EXAMPLE = Path(__file__).parents[1] / "examples" / "learning" / "walking_env.py"
WalkingEnv = runpy.run_path(str(EXAMPLE))["WalkingEnv"]


class Single(gym.Env):
    """The first of the robots, as gymnasium's checker takes it."""

    def __init__(self):
        self.several = WalkingEnv(1, threads=1)
        self.action_space, self.observation_space = (
            self.several.single_action_space,
            self.several.single_observation_space,
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        observation, info = self.several.reset(seed=seed)
        return observation[0], info

    def step(self, action):
        observation, reward, terminated, truncated, info = self.several.step(action[None])
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info


def test_gymnasiums_checker_finds_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Box observation space (maximum|minimum) value is.*")
        warnings.filterwarnings("ignore", message=".*not wrapped|.*spec.*")
        check_env(Single(), skip_render_check=True)


def run(env, ticks=60):
    observations = [env.reset(seed=3)[0]]
    rewards, ends = [], []
    env.action_space.seed(1)
    for _ in range(ticks):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        assert not (terminated & truncated).any()
        observations.append(observation)
        rewards.append(reward)
        ends.append(terminated | truncated)
    return np.array(observations), np.array(rewards), np.array(ends)


def test_robots_fall_and_stand_up_in_the_next_step():
    env = WalkingEnv(12, threads=2)
    observations, rewards, ends = run(env)
    assert ends.any()
    over = np.argwhere(ends[:-1])
    assert (rewards[over[:, 0] + 1, over[:, 1]] == 0.0).all()
    up = observations[over[:, 0] + 2, over[:, 1], 2]
    np.testing.assert_allclose(up, -1.0, atol=1e-6)
    assert not (ends[over[:, 0] + 1, over[:, 1]]).any()


def test_a_seed_says_everything_for_any_number_of_threads():
    one, two = (run(WalkingEnv(12, threads=k)) for k in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert a.tobytes() == b.tobytes()


def test_an_episode_ends_after_its_time():
    env = WalkingEnv(3)
    env.reset(seed=0)
    ends = [env.step(np.zeros((3, 12), np.float32))[3] for _ in range(500)]
    assert ends[-1].all()
    assert not np.array(ends[:-1]).any()


def test_the_example_stays_short():
    assert len(EXAMPLE.read_text().splitlines()) < 150
