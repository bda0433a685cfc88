# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ramps, stairs and rough ground, made of the surfaces of `terrain`."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..errors import ParameterError
from ..spatial import quaternion_from_rotation, rotation_from_rpy
from .checks import check_range, vector
from .terrain import Box, HeightField

MOST_SAMPLES = 4_000_000
"""Of one height field; 2000 x 2000 are 32 MB."""


def ramp(
    position: ArrayLike, length: float, width: float, rise: float, heading: float = 0.0, **own: float | None
) -> tuple[Box, ...]:
    """Make a ramp that begins at `position` (3,) [m], the middle of its lower edge, and rises along `heading` [rad].

    `length` is level, `rise` may be negative; `own`: friction, stiffness and damping as of a Box. The ramp is as thick
    as it is long, at most 1 m, so that nothing sinks through it.
    """
    for name, value in (("length", length), ("width", width)):
        check_range(f"{name} of a ramp", value, 0.0, open_low=True)
    check_range("rise of a ramp", rise, -np.inf)
    R = rotation_from_rpy([0.0, -np.arctan2(rise, length), heading])
    thickness = min(length, 1.0)
    slope = np.hypot(length, rise)
    middle = vector("position of a ramp", position, 3) + R @ [0.5 * slope, 0.0, -0.5 * thickness]
    return (_box((slope, width, thickness), middle, R, own),)


def stairs(
    position: ArrayLike,
    steps: int,
    rise: float,
    run: float,
    width: float,
    heading: float = 0.0,
    landing: float | None = None,
    **own: float | None,
) -> tuple[Box, ...]:
    """Make stairs that begin at `position` (3,) [m], the middle of the first riser's foot, and go up along `heading`.

    Each step is `rise` high and `run` deep, the last one `landing` deep (default: `run`) [m]; `own` as for `ramp`.
    Every step reaches under those above it: there are no seams inside.
    """
    if not isinstance(steps, int) or not 1 <= steps <= 200:
        raise ParameterError(f"steps of stairs must be a whole number from 1 to 200, got {steps!r}")
    landing = run if landing is None else landing
    for name, value in (("rise", rise), ("run", run), ("width", width), ("landing", landing)):
        check_range(f"{name} of stairs", value, 0.0, open_low=True)
    R, foot = rotation_from_rpy([0.0, 0.0, heading]), vector("position of stairs", position, 3)
    end = (steps - 1) * run + landing
    made = []
    for k in range(steps):
        length = end - k * run
        middle = foot + R @ [end - 0.5 * length, 0.0, k * rise]
        made.append(_box((length, width, 2.0 * rise), middle, R, own))
    return tuple(made)


def rough_ground(
    corner: ArrayLike, size: ArrayLike, spacing: float, amplitude: float, seed: int = 0, **own: Any
) -> tuple[HeightField, ...]:
    """Make ground of random heights between 0 and `amplitude` [m], a sample every `spacing` [m], from a `seed`.

    It covers `size` (2,) [m] from `corner` (3,) on and is at the corner's height all along its border; `own` as for
    `ramp`.
    """
    check_range("spacing of rough ground", spacing, 0.0, open_low=True)
    check_range("amplitude of rough ground", amplitude, 0.0)
    if not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"seed of rough ground must be a whole number from 0 on, got {seed!r}")
    lengths = vector("size of rough ground", size, 2)
    if lengths.min() < 2.0 * spacing:
        raise ParameterError(f"size of rough ground must be at least two spacings, {2.0 * spacing:g} m, got {size!r}")
    counts = np.round(lengths / spacing)
    if counts.prod() > MOST_SAMPLES:
        raise ParameterError(
            f"rough ground of {counts.prod():.3g} samples; at most {MOST_SAMPLES} fit, widen `spacing`"
        )
    heights = np.zeros((int(counts[0]) + 1, int(counts[1]) + 1))
    heights[1:-1, 1:-1] = amplitude * np.random.default_rng(seed).random(heights[1:-1, 1:-1].shape)
    at = vector("corner of rough ground", corner, 3)
    return (HeightField(heights, spacing, (at[0], at[1], at[2]), **own),)


def _box(size: tuple[float, float, float], middle: Array, R: Array, own: dict[str, Any]) -> Box:
    x, y, z, w = quaternion_from_rotation(R)
    return Box(size, (middle[0], middle[1], middle[2]), (x, y, z, w), **own)
