# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The driver for equal limbs gives what the driver for any tree gives, and is machine code for many lanes."""

import dataclasses
import re

import numpy as np
import pytest
from limbed_robots import close, limbed_model, limbed_robot
from numba import config
from random_robots import random_state

import robot_dynamics as rd
from robot_dynamics import compiler
from robot_dynamics.compiler import cache
from robot_dynamics.kernels import batch, star
from robot_dynamics.kernels.star.layout import MOST_JOINTS
from robot_dynamics.model.description import Robot, Rotor
from robot_dynamics.model.model import build_model

SHAPES = [(4, 3), (6, 3), (3, 3), (2, 6), (5, 1), (8, 2)]

shapes = pytest.mark.parametrize(
    ("seed", "count", "depth", "floating"),
    [(seed, *shape, floating) for seed, shape in enumerate(SHAPES) for floating in (True, False)],
    ids=lambda v: f"{v}",
)


@shapes
def test_lanes_give_what_the_tree_gives(seed, count, depth, floating):
    model = limbed_model(seed, count, depth, floating)
    assert model.limbs is not None
    tree = dataclasses.replace(model, limbs=None)
    q, qd, x, _ = random_state(model, seed)
    close(rd.inverse_dynamics(model, q, qd, x), rd.inverse_dynamics(tree, q, qd, x))
    close(rd.forward_dynamics(model, q, qd, x), rd.forward_dynamics(tree, q, qd, x))
    close(rd.mass_matrix(model, q), rd.mass_matrix(tree, q))
    close(rd.gravity_forces(model, q), rd.gravity_forces(tree, q))


@pytest.mark.parametrize("floating", [True, False])
def test_lanes_feel_what_pushes_the_bodies(floating):
    model = limbed_model(0, 4, 3, floating)
    tree = dataclasses.replace(model, limbs=None)
    q, qd, x, f_ext = random_state(model, 0)
    close(rd.inverse_dynamics(model, q, qd, x, f_ext), rd.inverse_dynamics(tree, q, qd, x, f_ext))
    close(rd.forward_dynamics(model, q, qd, x, f_ext), rd.forward_dynamics(tree, q, qd, x, f_ext))


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("states", [1, 8, 13])
def test_a_lane_per_state_gives_what_the_tree_gives(states, floating):
    check_batches(states, floating, 3)


def check_batches(states, floating, depth):
    model = limbed_model(depth, 4, depth, floating)
    tree = dataclasses.replace(model, limbs=None)
    given = [random_state(model, seed)[:3] for seed in range(states)]
    close(rd.forward_dynamics_batch(model, *zip(*given, strict=True)), [rd.forward_dynamics(tree, *x) for x in given])
    close(rd.inverse_dynamics_batch(model, *zip(*given, strict=True)), [rd.inverse_dynamics(tree, *x) for x in given])


@pytest.mark.skipif(not config.DISABLE_JIT, reason="every depth compiles anew")
@pytest.mark.parametrize("depth", range(1, MOST_JOINTS + 1))
def test_every_depth(depth):
    test_lanes_give_what_the_tree_gives(depth, 3, depth, True)
    check_batches(2, True, depth)


@pytest.mark.parametrize("floating", [True, False])
def test_other_robots_go_to_the_tree(floating):
    def limbs_of(robot, **kwargs):
        return build_model(robot, floating_base=floating, **kwargs).limbs

    robot = limbed_robot(0, 4, 3)
    hip, knee = robot.joints[0], robot.joints[1]
    assert limbs_of(robot).count == 4
    assert limbs_of(dataclasses.replace(robot, links=robot.links[:-1], joints=robot.joints[:-1])) is None
    assert limbs_of(limbed_robot(0, 4, 3, kinds=("prismatic",))) is None
    assert limbs_of(limbed_robot(0, 9, 1)) is None
    assert limbs_of(limbed_robot(0, 2, 9)) is None
    assert limbs_of(robot, rotors={knee.name: Rotor(6.0, 1e-3)}) is None
    branched = dataclasses.replace(robot.joints[2], parent=hip.child)
    assert limbs_of(dataclasses.replace(robot, joints=(hip, knee, branched, *robot.joints[3:]))) is None
    bare = Robot("bare", robot.links[:1], ())
    assert limbs_of(bare) is None


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="asks for machine code")
def test_the_loop_over_limbs_is_made_of_vector_instructions(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)  # code from the cache cannot be inspected
    kernel = compiler.brief(star.inverse_dynamics.py_func)
    model = limbed_model(0, 4, 3, True)
    q, qd, x, _ = random_state(model, 0)
    kernel(model.limbs.levels, model.limbs.robot, q, qd, x, np.empty(0), np.empty(model.nv))
    (assembly,) = kernel.inspect_asm().values()
    assert len(re.findall(r"(?:mul|add|sub|\d)pd\s.*[xyz]mm", assembly)) > 400


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="asks for machine code")
def test_the_loop_over_states_is_made_of_vector_instructions(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)
    kernel = compiler.lean(batch.limbed_forward_dynamics.py_func)
    model = limbed_model(0, 4, 3, True)
    Q, QD, X = (np.tile(x, 8) for x in random_state(model, 0)[:3])
    kernel(model.limbs.levels, model.parameters, model.nq, model.nv, Q, QD, X, np.empty_like(QD))
    (assembly,) = kernel.inspect_asm().values()
    packed = len(re.findall(r"(?:mul|add|sub|\d)pd\s.*[xyz]mm", assembly))
    assert packed > 1000
    assert len(re.findall(r"(?:mul|add|sub|\d)sd\s", assembly)) < 0.2 * packed
