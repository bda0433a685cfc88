# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Work on all cores: every state is done once, and gives what it gives alone."""

import threading
from functools import partial

import numpy as np
import pytest
from quadrupeds import model
from random_robots import random_model

import robot_dynamics as rd
from robot_dynamics.core import cores


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 100])
def test_slices_cover_every_state_once(monkeypatch, count):
    monkeypatch.setattr(cores, "LEAST", 4)
    monkeypatch.setattr(cores, "count_cores", lambda: 3)
    times = np.zeros(count, int)

    def work(part):
        times[part] += 1

    cores.in_slices(work, count)
    assert (times == 1).all()


def test_what_goes_wrong_in_a_thread_comes_out(monkeypatch):
    monkeypatch.setattr(cores, "LEAST", 1)
    monkeypatch.setattr(cores, "count_cores", lambda: 2)

    def work(part):
        raise ValueError(str(part.start))

    with pytest.raises(ValueError, match="0"):
        cores.in_slices(work, 8)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_threads_do_every_job_once(threads):
    done = np.zeros(5, int)

    def job(i):
        done[i] += 1

    cores.in_threads([partial(job, i) for i in range(5)], threads)
    assert (done == 1).all()


def test_jobs_are_asked_for_one_at_a_time_the_first_one_by_the_caller():
    asked, done = [], []
    all_begun = threading.Barrier(3, timeout=60.0)

    def jobs():
        for i in range(9):
            asked.append(threading.get_ident())
            yield partial(job, i)

    def job(i):
        done.append(i)
        if i < 3:
            all_begun.wait()

    cores.in_threads(jobs(), 3)
    assert asked[0] == threading.get_ident()
    assert sorted(done) == list(range(9))


@pytest.mark.parametrize("threads", [1, 3])
def test_what_goes_wrong_when_a_job_is_asked_for_comes_out(threads):
    done = []

    def jobs():
        yield partial(done.append, 0)
        raise ValueError("of a job")

    with pytest.raises(ValueError, match="of a job"):
        cores.in_threads(jobs(), threads)
    assert done == [0]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_goes_wrong_in_a_job_comes_out(threads):
    def job():
        raise ValueError("of a job")

    with pytest.raises(ValueError, match="of a job"):
        cores.in_threads([job, job], threads)


@pytest.mark.parametrize("name", ["limbs", "tree"])
def test_a_batch_does_not_depend_on_the_number_of_threads(monkeypatch, name):
    robot = model("mini_cheetah") if name == "limbs" else random_model(3, mimic=False)
    assert (robot.limbs is not None) == (name == "limbs")
    rng = np.random.default_rng(5)
    Q = np.array([rd.random_configuration(robot, rng) for _ in range(11)])
    QD, X = rng.standard_normal((2, 11, robot.nv))
    alone = rd.forward_dynamics_batch(robot, Q, QD, X), rd.inverse_dynamics_batch(robot, Q, QD, X)
    monkeypatch.setattr(cores, "LEAST", 2)
    monkeypatch.setattr(cores, "count_cores", lambda: 4)
    assert rd.forward_dynamics_batch(robot, Q, QD, X).tobytes() == alone[0].tobytes()
    assert rd.inverse_dynamics_batch(robot, Q, QD, X).tobytes() == alone[1].tobytes()
