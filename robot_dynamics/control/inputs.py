# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the feed-forward tells of its inputs so that its answers can be redone exactly.

An answer follows from the joint state of its stamp and from what else had come by then. Topics are not in step with
each other: what came before what is known to the node alone, and a recorder saw it otherwise.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from .feeder import Feeder
from .guard import InputGuard

INPUTS = "inputs"
"""Private topic of the feed-forward."""
STREAMS = ("odom", "imu/data", "contacts", "reference")
ROWS = (*STREAMS, "limiter")
"""Rows of such a message."""


class Used(NamedTuple):
    """Of one stream: stamp [s] of the newest message that is used, 0 without one; `number` that have been so far."""

    stamp: float
    number: int


class Inputs(NamedTuple):
    """What an answer came from: each of STREAMS; whether the limiter was enabled, and its gain after the answer."""

    streams: Mapping[str, Used]
    enabled: bool
    gain: float


def write_inputs(feeder: Feeder, references: InputGuard, position: Array, velocity: Array) -> None:
    """Write the inputs of the last answer into the columns (rows,) of a message.

    Of streams: stamp [s] of the newest message, number of messages. Of the limiter: 1 if it is enabled, gain.
    """
    state, stance, limiter = feeder.state, feeder.stance, feeder.limiter
    base, attitude = state.base, state.attitude
    position[:] = (base.stamp or 0.0, attitude.stamp or 0.0, stance.receipt or 0.0, references.stamp or 0.0,
                   limiter.enabled)  # fmt: skip
    velocity[:] = base.accepted, attitude.accepted, stance.accepted, references.accepted, limiter.gain


def read_inputs(position: Array, velocity: Array) -> Inputs | None:
    """Return the inputs that the columns of a message tell, None if they are of another kind."""
    if len(position) != len(ROWS) or len(velocity) != len(ROWS) or not np.isfinite([position, velocity]).all():
        return None
    used = (Used(float(stamp), int(count)) for stamp, count in zip(position, velocity, strict=True))
    return Inputs(dict(zip(STREAMS, used, strict=False)), bool(position[-1]), float(velocity[-1]))
