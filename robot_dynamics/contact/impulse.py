# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the impulse contact (I1-I4, J1-J10); the law itself is in `kernels.contact`."""

from dataclasses import dataclass
from typing import Literal

from ..core.arrays import Array
from .checks import check_choice, check_range


@dataclass(frozen=True, slots=True)
class Impulse:
    """Velocity-level contact: 0 <= p_n _|_ u_n - c >= 0, ``|p_t| <= mu p_n``, friction opposite to slip (J1).

    Parameters
    ----------
    restitution : float
        e, speed kept by a rebound; 0 does not bounce.
    recovery : float, optional
        k_r [1/s], rate at which depth is taken back; None is 0.2 / timestep. At most 1 / timestep.
    friction : float or (points,)
        Friction coefficient; a surface with a value of its own overrides it.
    iterations, tolerance :
        Most sweeps before Newton takes over; largest error of a contact's velocity that a sweep may find [m/s].
    activation : str
        'predicted': points that reach the surface within the step (J2-J5).
        'below': points that are below it (I1), for comparison with [Cheetah-Software]: it chatters with recovery.
    recovery_speed : float
        v_r [m/s], largest speed of recovery ('predicted' only).

    Raises
    ------
    ParameterError
        A value outside its range.
    """

    restitution: float = 0.0
    recovery: float | None = None
    friction: float | Array = 0.6
    iterations: int = 20
    tolerance: float = 1e-8
    activation: Literal["predicted", "below"] = "predicted"
    recovery_speed: float = 0.5

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_range("restitution", self.restitution, 0.0, 1.0)
        if self.recovery is not None:
            check_range("recovery", self.recovery, 0.0)
        check_range("friction", self.friction, 0.0)
        check_range("iterations", self.iterations, 1, 200)
        check_range("tolerance", self.tolerance, 0.0, 1.0, open_low=True)
        check_choice("activation", self.activation, ("predicted", "below"))
        check_range("recovery_speed", self.recovery_speed, 0.0)
