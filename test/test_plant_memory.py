# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plant step allocates nothing: not in the compiled loop, and nothing that stays or has a size on Python's heap."""

import tracemalloc

import numpy as np
import pytest
import quadrupeds
from numba.core.runtime import _nrt_python, rtsys

import robot_dynamics as rd

pytestmark = pytest.mark.slow  # compiled code only
MODELS = {"spring_damper": rd.SpringDamper(), "impulse": rd.Impulse(), "explicit": rd.SpringDamper(scheme="explicit")}


@pytest.fixture(params=MODELS)
def tumbling(request):
    """A robot that hits the floor, slides, lands and lies: flight, impacts, sliding and rest within 1.5 s."""
    model = quadrupeds.model("mini_cheetah")
    timestep = 1e-4 if request.param == "explicit" else 1e-3
    plant = rd.Plant(model, rd.PlantParams(timestep=timestep, contact=MODELS[request.param]))
    q = rd.neutral(model)
    q[2] = 0.5

    def start():
        plant.reset(q, np.concatenate([[1.0, 2.0, 0.5, 1.0, 0.5, 0.0], np.zeros(12)]))
        plant.track(q[7:], np.zeros(12), 30.0, 1.0)
        plant.push("base", np.ones(6), 0.2)

    start()
    plant.step()
    start()
    return plant


@pytest.fixture
def allocations():
    """How often numba's runtime has allocated so far, in all of the process."""
    _nrt_python.memsys_enable_stats()
    yield lambda: rtsys.get_allocation_stats().alloc
    _nrt_python.memsys_disable_stats()


def test_the_compiled_loop_allocates_as_often_for_1500_steps_as_for_one(tumbling, allocations):
    """What is left is per call: numba wraps each array that Python hands over."""
    counts = []
    for steps in (1, 1500):
        before = allocations()
        tumbling.advance(steps * tumbling.params.timestep)
        counts.append(allocations() - before)
    assert counts[0] == counts[1]
    assert tumbling.contacts.force_world.any() or tumbling.params.timestep < 1e-3


def test_python_keeps_nothing_and_holds_no_array_for_a_step(tumbling):
    """Over 500 calls the traced memory (numpy's included) does not grow, and never by 2 kB in between.

    Two kilobytes are a few numbers and references; the smallest table of a size with the robot, H, has 2.6. Before,
    as many calls fill Python's own free list of tuples.
    """
    tracemalloc.start()
    try:
        for _ in range(600):
            tumbling.step()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(500):
            tumbling.step()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 2048
    assert after - before < 256
