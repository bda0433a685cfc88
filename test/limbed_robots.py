# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Robots of equal limbs, of which nothing but the shape is equal, and the measure of equal results."""

import numpy as np
from random_robots import inertial, rotation

from robot_dynamics.model.description import Joint, Link, Robot
from robot_dynamics.model.model import build_model


def limbed_robot(seed, count, depth, kinds=("revolute", "continuous")):
    """A base and `count` serial limbs of `depth` joints, nothing equal but the shape."""
    rng = np.random.default_rng(seed)
    links = [Link("base", inertial(rng))]
    joints = []
    for limb in range(count):
        parent = "base"
        for j in range(depth):
            name = f"limb_{limb}_{j}"
            axis = rng.standard_normal(3)
            axis /= np.linalg.norm(axis)
            kind = str(rng.choice(kinds))
            joints.append(Joint(name, kind, parent, name, rotation(rng), 0.3 * rng.standard_normal(3), axis))
            links.append(Link(name, inertial(rng)))
            parent = name
    return Robot(f"limbs_{seed}", tuple(links), tuple(joints))


def limbed_model(seed, count, depth, floating, armature=True):
    robot = limbed_robot(seed, count, depth)
    rng = np.random.default_rng(seed + 1)
    armatures = {joint.name: float(rng.uniform(0, 0.1)) for joint in robot.joints if armature}
    return build_model(robot, floating_base=floating, armature=armatures)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * max(1.0, np.abs(b).max()))
