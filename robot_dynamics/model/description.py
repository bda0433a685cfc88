# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a URDF says, as plain values: the hand-over from `urdf` to `model`.

Frames are those of the URDF; R and p give the pose of the described frame in the frame it is mounted on,
x_mount = R x + p. Lengths in m, masses in kg, inertias in kg m^2, angles in rad.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

from ..core.arrays import Array

JointKind = Literal["revolute", "continuous", "prismatic", "planar", "floating", "fixed"]
ShapeKind = Literal["box", "sphere", "cylinder", "capsule", "mesh"]


@dataclass(frozen=True, slots=True)
class Inertial:
    """Mass, centre of mass (3,) in link axes, inertia (3, 3) about the centre of mass in link axes."""

    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True, slots=True)
class Shape:
    """One collision primitive: `size` is (x, y, z) of a box, (radius,), (radius, length) along z, or a mesh's scale."""

    kind: ShapeKind
    size: tuple[float, ...]
    R: Array
    p: Array
    mesh: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """One link; `inertial` is None when the URDF gives none."""

    name: str
    inertial: Inertial | None = None
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = multiplier * q[joint] + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """One joint: child frame in the parent link's frame at q = 0, unit axis in the child frame, limits, losses.

    `effort` and `velocity` are inf where the URDF gives none or 0 (unknown); `lower`, `upper` are infinite where
    the joint has no stops.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    R: Array
    p: Array
    axis: Array
    lower: float = -math.inf
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None


@dataclass(frozen=True, slots=True)
class Rotor:
    """A geared rotor: it hangs on the joint's parent link and spins `ratio` times as fast as the joint.

    `spin_inertia` is about its own axis [kg m^2]; `axis` its unit axis in the parent link's frame (None: the joint's).
    `mass`, `com` (3,) and `inertia` (3, 3) about the com, all in the parent link's frame, join the parent link, as if
    the rotor stood still; leave them out when the URDF's links hold them already.
    """

    ratio: float
    spin_inertia: float
    axis: tuple[float, float, float] | None = None
    mass: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia: Array | None = None


@dataclass(frozen=True, slots=True)
class Robot:
    """A connected tree of links and joints in document order; `dropped` counts ignored tags by name."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    dropped: dict[str, int] = field(default_factory=dict)
    folder: str = ""
    """Folder of the URDF file for relative mesh paths; empty when it came as text."""
    mesh_path: tuple[str, ...] = ()
    """Further folders in which its meshes are looked for."""
