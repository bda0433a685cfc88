# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a robot stands on: planes, boxes and height fields, any number at once; the deepest surface wins (D1-D6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..errors import ParameterError
from ..kernels import terrain as kernel
from .checks import check_choice, check_range, vector


def _check_own(surface: "Surface") -> None:
    for name in ("stiffness", "damping", "friction"):
        value = getattr(surface, name)
        if value is not None:
            check_range(f"{name} of {type(surface).__name__}", value, 0.0, open_low=name != "friction")


def _unit(name: str, value: ArrayLike, length: int) -> Array:
    x = vector(name, value, length)
    size = np.linalg.norm(x)
    if size < 1e-9:
        raise ParameterError(f"{name} must not be zero, got {value!r}")
    return x / size


@dataclass(frozen=True, slots=True)
class Plane:
    """The half space below the plane through (0, 0, height) with the given upward `normal` (any length).

    `friction`, `stiffness`, `damping`: values of this surface; None takes those of the point that touches it.
    """

    height: float = 0.0
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    friction: float | None = None
    stiffness: float | None = None
    damping: float | None = None

    def __post_init__(self) -> None:
        """Check the figures."""
        check_range("height of Plane", self.height, -np.inf)
        _unit("normal of Plane", self.normal, 3)
        _check_own(self)


@dataclass(frozen=True, slots=True)
class Box:
    """A box of edge lengths `size` [m] with its centre at `position` and attitude `orientation` (quaternion xyzw)."""

    size: tuple[float, float, float]
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    friction: float | None = None
    stiffness: float | None = None
    damping: float | None = None

    def __post_init__(self) -> None:
        """Check the figures."""
        check_range("size of Box", vector("size of Box", self.size, 3), 0.0, open_low=True)
        vector("position of Box", self.position, 3)
        _unit("orientation of Box", self.orientation, 4)
        _check_own(self)


@dataclass(frozen=True, slots=True, eq=False)
class HeightField:
    """Ground of given `heights` [m] (nx, ny) above `corner`, sampled every `spacing` [m] along x and y from there.

    `scheme`: 'bilinear' interpolates; 'oracle' is the flat cell of [Cheetah-Software] (through the middle of the cell,
    parallel to its diagonals, not continuous across cells). The field is a block with upright sides; beside that of the
    reference there is no ground.
    """

    heights: ArrayLike
    spacing: float
    corner: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scheme: Literal["bilinear", "oracle"] = "bilinear"
    friction: float | None = None
    stiffness: float | None = None
    damping: float | None = None

    def __post_init__(self) -> None:
        """Check the figures."""
        samples = np.asarray(self.heights, dtype=float)
        if samples.ndim != 2 or min(samples.shape) < 2 or not np.isfinite(samples).all():
            raise ParameterError(f"heights of HeightField must be finite, at least 2 x 2, got shape {samples.shape}")
        check_range("spacing of HeightField", self.spacing, 0.0, open_low=True)
        vector("corner of HeightField", self.corner, 3)
        check_choice("scheme of HeightField", self.scheme, ("bilinear", "oracle"))
        _check_own(self)


Surface = Plane | Box | HeightField

REACHED = 1e-4
"""Distance at which a falling point has reached the ground [m]."""
MOST_FALLS = 300


def _rotation(quaternion: Array) -> Array:
    x, y, z, w = quaternion
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    R: Array = np.eye(3) + 2.0 * w * K + 2.0 * K @ K
    return R


def pack(terrain: Sequence[Surface]) -> tuple[Array, Array]:
    """Surfaces (count, SURFACE_COLUMNS) and height samples of a terrain, as `kernels.terrain` reads them.

    Raises
    ------
    ParameterError
        No sequence, or something in it that is not a Plane, Box or HeightField.
    """
    if not isinstance(terrain, Sequence):
        raise ParameterError(f"terrain must be a sequence, such as (Plane(),), got {terrain!r}")
    rows = np.zeros((len(terrain), kernel.SURFACE_COLUMNS))
    samples: list[Array] = []
    for row, surface in zip(rows, terrain, strict=True):
        if not isinstance(surface, Surface):
            raise ParameterError(f"terrain must hold Plane, Box and HeightField, got {surface!r}")
        own = (surface.stiffness, surface.damping, surface.friction)
        row[kernel.STIFFNESS : kernel.FRICTION + 1] = [-1.0 if value is None else value for value in own]
        if isinstance(surface, Plane):
            row[kernel.TYPE] = kernel.PLANE
            row[kernel.R : kernel.P] = kernel.surface_frame(_unit("normal", surface.normal, 3))
            row[kernel.P + 2] = surface.height
        elif isinstance(surface, Box):
            row[kernel.TYPE] = kernel.BOX
            row[kernel.R : kernel.P] = _rotation(_unit("orientation", surface.orientation, 4)).ravel()
            row[kernel.P : kernel.SIZE] = surface.position
            row[kernel.SIZE : kernel.SIZE + 3] = 0.5 * np.asarray(surface.size)
        else:
            heights = np.asarray(surface.heights, dtype=float)
            row[kernel.TYPE] = kernel.BILINEAR if surface.scheme == "bilinear" else kernel.DIAGONAL
            row[kernel.P : kernel.SIZE] = surface.corner
            row[kernel.SIZE : kernel.SIZE + 2] = surface.spacing
            row[kernel.SAMPLES : kernel.START] = heights.shape
            row[kernel.START] = sum(s.size for s in samples)
            samples.append(heights.ravel())
    return rows, np.concatenate([*samples, np.zeros(1)])


def clearances(terrain: Sequence[Surface], points: ArrayLike) -> Array:
    """Signed distance (k,) [m] of points (k, 3) to the surface that each is deepest in; 1e9 with none below."""
    return _distances(pack(terrain), np.ascontiguousarray(points, dtype=float))


def _distances(packed: tuple[Array, Array], x: Array) -> Array:
    distance, frames, found = np.empty(len(x)), np.empty((len(x), 9)), np.empty(len(x), dtype=np.int64)
    kernel.query(*packed, x, distance, frames, found)
    return distance


class GroundHeight:
    """Height of a terrain, for whoever asks often: its surfaces are packed once."""

    def __init__(self, terrain: Sequence[Surface]):
        """Take the surfaces; raises ParameterError as `pack`."""
        self._packed = pack(terrain)

    def below(self, points: ArrayLike) -> Array:
        """Heights (k,) [m] of the ground vertically below points (k, 3), -inf with none; inside it, a point's own.

        Sphere tracing [Hart 1996]: a point goes down by its distance to the ground, which leads through no surface,
        until that is 0.1 mm.
        """
        x = np.array(points, dtype=float)
        falling = np.arange(len(x))
        for _ in range(MOST_FALLS):
            distance = _distances(self._packed, x[falling])
            x[falling, 2] -= np.maximum(distance, 0.0)
            falling = falling[(distance > REACHED) & (distance < kernel.FAR)]
            if not len(falling):
                break
        return np.where(x[:, 2] > -0.5 * kernel.FAR, x[:, 2], -np.inf)
