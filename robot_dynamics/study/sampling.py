# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a run's parameters are: a function of the study's seed and the run's number, of nothing else."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..core.arrays import Array
from ..errors import ParameterError

SAMPLING = ("random", "sobol")
"""How distributions are sampled: independently, or by a scrambled Sobol sequence, which fills the box evenly."""
KINDS = ("uniform", "log_uniform", "normal", "choice", "grid")

Value = float | str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter by its name: one of KINDS with its figures, or 'fixed' with one.

    figures: of uniform and log_uniform the least and the largest value, of normal mean and standard deviation, of
    choice and grid the values. limits: a normal distribution is cut off there.
    """

    name: str
    kind: str
    figures: tuple[Value, ...]
    limits: tuple[float, float] = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        """Check the figures."""
        if self.kind in ("fixed", "choice", "grid"):
            if not self.figures:
                raise ParameterError(f"{self.kind} needs at least one value")
            return
        if len(self.figures) != 2 or not all(isinstance(x, float) and math.isfinite(x) for x in self.figures):
            pair = "[mean, standard deviation]" if self.kind == "normal" else "[least, largest]"
            raise ParameterError(f"{self.kind} must be {pair}, two numbers, got {list(self.figures)}")
        a, b = self._pair
        if self.kind == "normal":
            if b <= 0.0 or not self.limits[0] < self.limits[1]:
                raise ParameterError("normal needs a standard deviation above 0 and rising limits")
            if self._share(1.0) - self._share(0.0) < 1e-6:
                raise ParameterError(f"normal has nothing between its limits {list(self.limits)}")
        elif not a < b or (self.kind == "log_uniform" and a <= 0.0):
            raise ParameterError(
                f"{self.kind} must rise{', from above 0' * (self.kind != 'uniform')}, got [{a:g}, {b:g}]"
            )

    @property
    def varies(self) -> bool:
        """Whether runs differ in it."""
        return len(set(self.figures)) > 1

    @property
    def drawn(self) -> bool:
        """Whether its value is drawn, by a number of its own between 0 and 1."""
        return self.kind not in ("fixed", "grid")

    def at(self, share: float) -> Value:
        """Answer the value below which this `share` of the distribution lies; the choice that it falls on."""
        if self.kind == "choice":
            return self.figures[min(int(share * len(self.figures)), len(self.figures) - 1)]
        a, b = self._pair
        if self.kind == "uniform":
            return a + (b - a) * share
        if self.kind == "log_uniform":
            return min(max(a * (b / a) ** share, a), b)
        inner = self._share(0.0) + share * (self._share(1.0) - self._share(0.0))
        value = NormalDist(a, b).inv_cdf(min(max(inner, 1e-16), 1.0 - 1e-16))
        return min(max(value, self.limits[0]), self.limits[1])

    @property
    def _pair(self) -> tuple[float, float]:
        first, second = self.figures
        return float(first), float(second)

    def _share(self, end: float) -> float:
        """Share of the whole normal distribution below its lower (0) or upper (1) limit."""
        return NormalDist(*self._pair).cdf(self.limits[int(end)])


def cells(parameters: Sequence[Parameter]) -> int:
    """Count the points of the grid that all parameters of kind grid span; 1 without any."""
    return math.prod(len(p.figures) for p in parameters if p.kind == "grid")


def run_seed(seed: int, number: int) -> int:
    """Seed of a run: of its sensor noise, its rough ground, its controller."""
    return int(np.random.SeedSequence(seed, spawn_key=(number, 0)).generate_state(1)[0])


def sample(parameters: Sequence[Parameter], sampling: str, seed: int, number: int) -> dict[str, Value]:
    """Answer the values of all parameters in run `number`.

    The grid is walked through again and again, its last parameter fastest; a Sobol sequence goes on from run to run.
    """
    drawn = [p for p in parameters if p.drawn]
    shares = iter(_shares(len(drawn), sampling, seed, number) if drawn else ())
    place = _places(parameters, number)
    values: dict[str, Value] = {}
    for p in parameters:
        values[p.name] = p.at(float(next(shares))) if p.drawn else p.figures[place.get(p.name, 0)]
    return values


def _places(parameters: Sequence[Parameter], number: int) -> Mapping[str, int]:
    """Which of its values each parameter of the grid has."""
    places = {}
    for p in reversed([p for p in parameters if p.kind == "grid"]):
        number, places[p.name] = divmod(number, len(p.figures))
    return places


def _shares(count: int, sampling: str, seed: int, number: int) -> Array:
    """Numbers (count,) in [0, 1) of a run."""
    if sampling == "random":
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, 1))).random(count)
    from scipy.stats import qmc

    sequence = qmc.Sobol(count, scramble=True, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that one point is not a power of two
        if number:
            sequence.fast_forward(number)
        point: Array = sequence.random(1)[0]
    return point
