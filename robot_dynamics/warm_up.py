# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Compile every kernel once and keep the machine code, so that no node compiles while a robot waits."""

import fcntl
import hashlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

import robot_dynamics as rd

from .compiler import cache
from .contact.terrain import GroundHeight
from .control.guard import EffortLimiter
from .control.limbs import Legs, joint_rates_for_feet, joints_for_feet
from .control.state import MeasuredState
from .kernels import efforts, measured, sensors
from .share import share_folder
from .symbolic.closed_form import cross_check, short_limbs

LOADER, LIMBS, TREES, LIBRARY = KINDS = ("loader", "limbs", "trees", "library")
"""What compiles by itself: what reads a robot; all that nodes do with one, made of equal limbs or not; the rest.

Machine code does not depend on the robot, but for number and depth of equal limbs: here four of three joints.
"""

FUNCTIONS = {LOADER: 3, LIMBS: 33, TREES: 32, LIBRARY: 24}
"""How many functions each of KINDS compiles where only the loader's are there; a test counts them."""

PERIOD = 3.0
"""Time between two reports of how far it is [s]."""

SILENTLY = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)"
"""How a process beside ours begins: Ctrl-C goes to it as well, and ends it."""


def kind_of(model: rd.Model) -> str:
    """Which of KINDS serves `model`."""
    return TREES if model.limbs is None else LIMBS


def warm_up_once(report: Callable[[str], None], kind: str) -> None:
    """Warm up one of KINDS if this installation has not done so yet, telling `report` how far it is.

    Of several processes one compiles and the others wait: numba's files must not be written by two at once (numba
    issue 4807).
    """
    if cache.CACHE_FOLDER is None or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    done = _mark(cache.CACHE_FOLDER, kind)
    if done.exists():
        return
    with open(cache.CACHE_FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.set_inheritable(lock.fileno(), True)  # the second process holds it too, should this one be stopped
        if not done.exists():
            with _counted(report, cache.CACHE_FOLDER, kind):
                for _ in warm_up(kind):
                    pass
            done.touch()


@contextmanager
def _counted(report: Callable[[str], None], folder: Path, kind: str) -> Iterator[None]:
    """Report at the begin, every PERIOD and at the end how many functions this and other processes have compiled."""
    begun, total, ended = compiled(folder), FUNCTIONS[kind], threading.Event()

    def say() -> None:
        report(f"{min(compiled(folder) - begun, total)} of {total} functions")

    def watch() -> None:
        while not ended.wait(PERIOD):
            say()

    watcher = threading.Thread(target=watch, name="progress", daemon=True)
    say()
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    report(f"{total} of {total} functions")


def compiled(folder: Path) -> int:
    """How many functions have machine code in `folder`; numba keeps one file for each kind of arguments."""
    return sum(1 for _ in folder.glob("**/*.nbc"))


def finished(folder: Path, kind: str) -> bool:
    """Whether all of one of KINDS was compiled into `folder` by this installation."""
    return _mark(folder, kind).exists()


def _mark(folder: Path, kind: str) -> Path:
    """File that says so."""
    return folder / f"warm-{kind}-{_installation()}"


def _installation() -> str:
    """What numba's files depend on besides the kernels: where these are, Python, numba."""
    parts = (str(Path(cache.__file__).resolve()), sys.version, version("numba"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def warm_up(kind: str) -> Iterator[str]:
    """Call whatever compiles for one of KINDS, on the Mini Cheetah; yields what comes next."""
    if kind == LOADER:
        yield "loader"
        mini_cheetah(LIMBS)
        return
    if kind == LIBRARY:
        for robot in (LIMBS, TREES):
            model = mini_cheetah(robot)
            yield from _library(model, robot)
            yield f"rollouts of {robot}"
            batch = rd.PlantBatch([rd.Plant(model) for _ in range(3)])
            batch.step(tau_ff=0.0)
            batch.reset()
            _ = batch.contacts
            batch.write_back()
            _ = batch.plants[0].contacts
        return
    yield f"plant of {kind}, beside the others"
    code = f"{SILENTLY}; from robot_dynamics import warm_up as w; w.step_plant(w.robot_without_loader('{kind}'))"
    plant = subprocess.Popen([sys.executable, "-c", code], close_fds=False)
    model = mini_cheetah(kind)
    yield from _dynamics(model)
    yield from _points_and_efforts(model)
    yield "rest of the plant"
    plant.wait()
    step_plant(model)


def _dynamics(model: rd.Model) -> Iterator[str]:
    """Call what has no points."""
    q, zero = rd.neutral(model), np.zeros(model.nv)
    yield "inverse dynamics"
    rd.inverse_dynamics(model, q, zero, zero)
    rd.bias_forces(model, q, zero)
    rd.gravity_forces(model, q)
    yield "forward dynamics"
    rd.forward_dynamics(model, q, zero, zero)
    yield "mass matrix"
    rd.mass_matrix(model, q)
    rd.coriolis_matrix(model, q, zero)
    yield "energies and momentum"
    rd.kinetic_energy(model, q, zero)
    rd.potential_energy(model, q)
    rd.center_of_mass(model, q)
    rd.centroidal_momentum(model, q, zero)


def _points_and_efforts(model: rd.Model) -> Iterator[str]:
    """Call kinematics and what works with it."""
    q, zero, feet = rd.neutral(model), np.zeros(model.nv), rd.contact_points(model)
    yield "kinematics"
    rd.integrate(model, q, zero, 0.0)
    rd.difference(model, q, q)
    rd.body_pose(model, q)
    rd.point_position(model, feet, q)
    rd.point_velocity(model, feet, q, zero)
    rd.point_jacobian(model, feet, q)
    GroundHeight([rd.Plane()]).below(np.zeros((1, 3)))
    yield "efforts"
    efforts.least_forces(np.zeros((1, 3, 6)), np.zeros(6), np.ones(1, dtype=bool), 1.0, 1.0, np.zeros((1, 3)))
    EffortLimiter(1.0).apply(np.zeros(1), 0.0)
    MeasuredState(model, 0.0).expect(model.joint_names, [slice(0, 0)] * 3, 0)
    yield "base estimate"
    estimator, n = rd.BaseEstimator(model, [model.link_names[-1]]), len(model.joint_names)
    at_rest = np.zeros(n)
    estimator.update(1e-3, at_rest, at_rest, at_rest, np.zeros(3), -model.gravity)
    estimator.correct_tilt([0.0, 0.0, 0.0, 1.0])
    yield "joints for feet"
    legs, ground = Legs(model, feet, np.ones((len(feet), n), dtype=bool)), np.zeros((len(feet), 3))
    joint_rates_for_feet(legs, ground, joints_for_feet(legs, ground, at_rest, iterations=1))
    yield "closed form"
    for limb in short_limbs(model):
        cross_check(model, limb, q, rd.mass_matrix(model, q))


def _library(model: rd.Model, kind: str) -> Iterator[str]:
    """Call what no node does."""
    q, zero, feet = rd.neutral(model), np.zeros(model.nv), rd.contact_points(model)
    yield f"batches of {kind}"
    rd.inverse_dynamics_batch(model, [q], [zero], [zero])
    rd.forward_dynamics_batch(model, [q], [zero], [zero])
    yield f"contact inertia of {kind}"
    rd.contact_space(model, feet, q)
    rd.contact_inertia_inverse(model, feet, q)
    rd.test_force_response(model, feet, q)
    yield "motion in the world"
    rd.inverse_dynamics_world(model, q, zero, zero)
    rd.point_bias(model, feet, q, zero)


def mini_cheetah(kind: str) -> rd.Model:
    """Return the robot that everything is called on."""
    model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
    return replace(model, limbs=None) if kind == TREES else model


def robot_without_loader(kind: str) -> rd.Model:
    """Return the same, read by a process that compiles nothing: the loader's kernels are being compiled elsewhere."""
    load = f"pickle.dump(w.mini_cheetah('{kind}'), sys.stdout.buffer)"
    code = f"{SILENTLY}; import pickle, sys; from robot_dynamics import warm_up as w; {load}"
    uncompiled = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    read = subprocess.run([sys.executable, "-c", code], env=uncompiled, stdout=subprocess.PIPE, check=True)
    model: rd.Model = pickle.loads(read.stdout)
    return model


def step_plant(model: rd.Model) -> None:
    """Call the plant's kernels, which take as long to compile as all others."""
    plant, n = rd.Plant(model), len(model.joint_names)
    plant.track(*np.zeros((5, n)))
    plant.step()
    _ = plant.contacts
    base, motion, mount = np.zeros(measured.ODOMETRY), np.zeros(sensors.MOTION), np.zeros(sensors.MOUNT)
    plant.readings(mount, np.zeros(n), np.zeros(n), np.zeros(n), base, motion)
