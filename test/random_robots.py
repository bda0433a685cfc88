# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random trees for the laws: every joint type at once, any axis, any inertia a rigid body can have."""

import numpy as np

from robot_dynamics.model.description import (
    Inertial,
    Joint,
    Link,
    Mimic,
    Robot,
)
from robot_dynamics.model.model import Model, build_model

KINDS = ("revolute", "continuous", "prismatic", "planar", "floating", "fixed")


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def inertial(rng: np.random.Generator) -> Inertial:
    """A cloud of point masses: always a physical inertia."""
    points = 0.2 * rng.standard_normal((6, 3))
    masses = rng.uniform(0.1, 0.5, 6)
    com = masses @ points / masses.sum()
    r = points - com
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r, strict=True))
    return Inertial(float(masses.sum()), com, inertia)


def random_robot(seed: int, count: int = 12, kinds: tuple[str, ...] = KINDS, mimic: bool = True) -> Robot:
    """A tree of `count` joints; the first ones take every kind once."""
    rng = np.random.default_rng(seed)
    links = [Link("base", inertial(rng))]
    joints: list[Joint] = []
    for i in range(count):
        kind = kinds[i] if i < len(kinds) else str(rng.choice(kinds))
        axis = rng.standard_normal(3)
        parent = links[rng.integers(len(links))].name
        law = None
        masters = [j.name for j in joints if j.kind in ("revolute", "prismatic")]
        if mimic and i >= len(kinds) and kind in ("revolute", "prismatic") and masters and rng.random() < 0.5:
            law = Mimic(str(rng.choice(masters)), float(rng.normal()), float(rng.normal()))
        name = f"{kind}_{i}"
        joints.append(
            Joint(name, kind, parent, f"link_{i}", rotation(rng), 0.3 * rng.standard_normal(3),
                  axis / np.linalg.norm(axis), damping=0.1, friction=0.2, mimic=law)
        )  # fmt: skip
        links.append(Link(f"link_{i}", inertial(rng)))
    return Robot(f"random_{seed}", tuple(links), tuple(joints))


def random_model(seed: int, count: int = 12, floating_base: bool = True, mimic: bool = True) -> Model:
    """`random_robot` with armature on every one-dof joint."""
    robot = random_robot(seed, count, mimic=mimic)
    rng = np.random.default_rng(seed + 1)
    one_dof = [j.name for j in robot.joints if j.kind in ("revolute", "continuous", "prismatic")]
    return build_model(robot, floating_base=floating_base, armature={n: float(rng.uniform(0, 0.1)) for n in one_dof})


def random_state(model: Model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, qd, one acceleration or force, one set of external wrenches."""
    from robot_dynamics import random_configuration

    rng = np.random.default_rng(seed)
    q = random_configuration(model, rng)
    return q, *rng.standard_normal((2, model.nv)), rng.standard_normal((model.nb, 6))
