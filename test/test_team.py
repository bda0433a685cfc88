# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Threads of a batch: awake or asleep, failing, forked or let go, they never keep the caller waiting."""

import gc
import os
import signal
import threading
import time

import pytest
from many_plants import HOPPER, SIMILAR, similar

import robot_dynamics as rd
from robot_dynamics.compiler import LANES
from robot_dynamics.simulation import team
from robot_dynamics.simulation.tile import Tiles

THREADS = 3
PATIENCE = 60.0


def plants(what="spring_damper"):
    """As many as fill a tile for each of the threads."""
    return list(similar(HOPPER, SIMILAR[what], THREADS * LANES))


def falling_apart():
    """Plants of which one in each tile diverges."""
    made = plants("explicit")
    for plant in made[::LANES]:
        plant.reset(plant.q, [0.0, 0.0, 0.0, 0.0, 0.0, -4e3, 0.0])
    return made


def motion(batch, between=lambda: None):
    out = []
    for k in range(5):
        batch.step(tau_ff=0.1 * k, steps=3)
        out.append(batch.q.tobytes() + batch.qd.tobytes() + batch.force_world.tobytes())
        between()
    return out


def until(what):
    """Wait for what other threads bring about."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(1e-3)


@pytest.mark.parametrize("looks", [0, 1, 1_000_000])
@pytest.mark.parametrize("made", [plants, falling_apart])
def test_threads_do_the_same_awake_and_asleep(monkeypatch, made, looks):
    expected = motion(rd.PlantBatch(made(), threads=1))
    monkeypatch.setattr(team, "LOOKS", looks)
    assert motion(rd.PlantBatch(made(), threads=THREADS)) == expected


def test_threads_that_sleep_are_woken():
    batch = rd.PlantBatch(plants(), threads=THREADS)

    def all_asleep():
        return batch._team._turns._asleep == THREADS - 1

    assert motion(batch, lambda: until(all_asleep)) == motion(rd.PlantBatch(plants(), threads=1))


@pytest.mark.parametrize("asleep", [False, True])
def test_threads_end_with_their_batch(monkeypatch, asleep):
    monkeypatch.setattr(team, "LOOKS", 0 if asleep else 100_000_000)
    before = set(threading.enumerate())
    batch = rd.PlantBatch(plants(), threads=THREADS)
    batch.step()
    threads, turns = set(threading.enumerate()) - before, batch._team._turns
    assert len(threads) == THREADS - 1
    if asleep:
        until(lambda: turns._asleep == len(threads))
    del batch
    gc.collect()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.mark.parametrize("main", [False, True])
def test_an_error_in_any_thread_is_raised(monkeypatch, main):
    settle = Tiles.settle

    def failing(*arguments):
        if (threading.current_thread() is threading.main_thread()) == main:
            raise MemoryError("no room")
        return settle(*arguments)

    batch = rd.PlantBatch(falling_apart(), threads=THREADS)
    monkeypatch.setattr(Tiles, "settle", failing)
    for _ in range(2):
        with pytest.raises(MemoryError, match="no room"):
            batch.step(steps=9)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    batch, expected = rd.PlantBatch(plants(), threads=THREADS), motion(rd.PlantBatch(plants(), threads=THREADS))
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        os._exit(0 if motion(batch) == expected else 1)
    assert motion(batch) == expected
    assert os.waitpid(child, 0)[1] == 0
