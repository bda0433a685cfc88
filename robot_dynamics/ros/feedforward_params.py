# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The feed-forward that the parameters of node `feedforward` ask for."""

from ..control.feeder import Feeder
from ..control.feedforward import Feedforward, Mode
from ..control.guard import EffortLimiter
from ..control.limbs import find_legs
from ..control.state import MeasuredState, StanceFlags
from ..model.model import Model
from .parameters import FeedforwardParameters


def make_feeder(model: Model, v: FeedforwardParameters) -> Feeder:
    """Put the feed-forward together; without legs, or without a base that moves, `stance` is inverse dynamics."""
    feet = find_legs(model, [f for f in v.feet if f]).feet if v.mode == "stance" and model.floating_base else None
    mode: Mode = "inverse_dynamics" if v.mode == "stance" and feet is None else v.mode
    state = MeasuredState(model, v.state_timeout, v.base_frame)
    stance = StanceFlags(() if feet is None else feet.link, v.contact_threshold, v.state_timeout)
    feedforward = Feedforward(model, mode, state.q, state.qd, feet, v.friction)
    return Feeder(model, feedforward, state, stance, make_limiter(model, v), v.reference_filter)


def make_limiter(model: Model, v: FeedforwardParameters) -> EffortLimiter:
    """Make the effort limiter."""
    return EffortLimiter(
        v.effort_scale * model.effort_limit,
        rate=v.effort_rate,
        ramp_time=v.ramp_time,
        velocity_limit=model.velocity_limit,
        velocity_taper=v.velocity_taper,
        lower=model.lower,
        upper=model.upper,
        position_taper=v.position_taper,
    )
