# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the spring-damper contact (E1-E4, N1-N5); the law itself is in `kernels.contact`."""

from dataclasses import dataclass
from typing import Literal

from ..core.arrays import Array
from .checks import check_choice, check_range


@dataclass(frozen=True, slots=True)
class SpringDamper:
    """f_n = sqrt(z) (K z - D v_n) with tangential memory and a friction disk (E2-E4, [Azad and Featherstone 2014]).

    Parameters
    ----------
    stiffness, damping, friction : float or (points,)
        K [N/m^1.5], D [N s/m^1.5], friction coefficient; a surface with values of its own overrides them.
    scheme : str
        'implicit': the force of the end of the step, all contacts coupled (N1-N5), stable at any usual step.
        'explicit': the force of the start of the step (E2-E4), stable for h < 2 / (D sqrt(z) Lambda^-1) only.
        'linear': K z - D v_n and viscous-regularised friction without memory (E1), explicit; K [N/m], D [N s/m].
    iterations, tolerance :
        Most sweeps before Newton takes over; largest error of a contact's velocity that a sweep may find [m/s].

    Raises
    ------
    ParameterError
        A value outside its range.
    """

    stiffness: float | Array = 5e5
    damping: float | Array = 5e3
    friction: float | Array = 0.6
    scheme: Literal["implicit", "explicit", "linear"] = "implicit"
    iterations: int = 20
    tolerance: float = 3e-8

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_range("stiffness", self.stiffness, 0.0, open_low=True)
        check_range("damping", self.damping, 0.0, open_low=True)
        check_range("friction", self.friction, 0.0)
        check_choice("scheme", self.scheme, ("implicit", "explicit", "linear"))
        check_range("iterations", self.iterations, 1, 200)
        check_range("tolerance", self.tolerance, 0.0, 1.0, open_low=True)
