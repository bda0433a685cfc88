# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A trot in place comes back to where it began."""

import numpy as np
import pytest

from robot_dynamics.control.home import SPEED, TURN, Home


def pose(x: float, y: float, heading: float, lean: float = 0.0) -> np.ndarray:
    """Of a base that leans about the x axis of its heading."""
    z, w, lx, lw = np.sin(heading / 2), np.cos(heading / 2), np.sin(lean / 2), np.cos(lean / 2)
    return np.array([x, y, 0.3, w * lx, z * lx, z * lw, w * lw])


@pytest.mark.parametrize("seed", range(20))
def test_whoever_follows_the_steering_comes_home_without_haste(seed):
    rng = np.random.default_rng(seed)
    home = Home(pose(*rng.uniform(-3.0, 3.0, 3)))
    x, y, heading = np.array([home.x, home.y, home.heading]) + rng.uniform(-1.0, 1.0, 3) * (0.5, 0.5, 3.0)
    step = 0.05
    for _ in range(round(60.0 / step)):
        vx, vy, wz = home.steer(pose(x, y, heading, lean=rng.uniform(-0.3, 0.3)))
        assert np.hypot(vx, vy) <= SPEED + 1e-12
        assert abs(wz) <= TURN
        c, s = np.cos(heading), np.sin(heading)
        x, y, heading = x + step * (c * vx - s * vy), y + step * (s * vx + c * vy), heading + step * wz
    assert np.hypot(x - home.x, y - home.y) < 1e-3
    assert abs(np.sin((heading - home.heading) / 2)) < 1e-3
