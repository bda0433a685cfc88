# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Kernels in a compiled loop over states, beside Pinocchio's C++ in its own."""

from collections.abc import Callable, Hashable, Iterator
from functools import partial

import numpy as np

from robot_dynamics.compiler import lean
from robot_dynamics.dynamics.algorithms import workspace
from robot_dynamics.dynamics.kinematics import point_rows
from robot_dynamics.kernels import batch, contact_space, derivatives
from robot_dynamics.kernels.lanes import aligned
from robot_dynamics.kernels.star import aba, crba, rnea
from robot_dynamics.kernels.star.layout import MEMORY
from robot_dynamics.kernels.tree import aba as tree_aba
from robot_dynamics.kernels.tree import crba as tree_crba
from robot_dynamics.kernels.tree import placement
from robot_dynamics.kernels.tree import rnea as tree_rnea

from .cpp import REPEATS, Cpp, Robot
from .robots import STATES, Case, go2_feet
from .rounds import Row, compared, interleaved, timed

ALGORITHMS = ("rnea", "aba", "crba")
CPP = "Pinocchio C++"
NO_WRENCH = np.empty(0)
BATCH = 4096
LIMBS = {"rnea": (0.15, 0.09), "aba": (0.15, 0.10), "crba": (0.35, 0.22)}
TREE = {"rnea": (0.40, 0.30), "aba": (0.40, 0.30), "crba": (0.70, 0.55)}
"""Must and aim of the ratio to Pinocchio: robots of equal limbs, any tree."""
DERIVATIVES = {
    True: {"rnea derivatives": (0.30, 0.15), "aba derivatives": (0.35, 0.20)},
    False: {"rnea derivatives": (0.60, 0.40), "aba derivatives": (0.70, 0.45)},
}
"""The same of derivatives: go2, any tree."""


@lean
def tree_loop(what, topology, parameters, Q, V, X, w, out, H, repeats):
    """`repeats` times one algorithm over all states."""
    for _ in range(repeats):
        for k in range(Q.shape[0]):
            if what == 0:
                tree_rnea.rnea(topology, parameters, Q[k], V[k], X[k], NO_WRENCH, w, out)
            elif what == 1:
                tree_aba.aba(topology, parameters, Q[k], V[k], X[k], NO_WRENCH, w, out)
            else:
                placement.place(topology, parameters, Q[k], w)
                tree_crba.crba(topology, parameters, w, H)


@lean
def limb_loop(what, levels, robot, Q, V, X, memory, out, H, repeats):
    """The same with a lane per limb."""
    for _ in range(repeats):
        for k in range(Q.shape[0]):
            if what == 0:
                rnea.rnea(levels, robot, Q[k], V[k], X[k], NO_WRENCH, out)
            elif what == 1:
                aba.place(levels, robot, Q[k], V[k], memory)
                aba.aba(levels, robot, Q[k], V[k], X[k], NO_WRENCH, memory, out)
            else:
                crba.crba(levels, robot, Q[k], H)


@lean
def rnea_derivatives_loop(topology, parameters, Q, V, X, w, out, repeats):
    """`repeats` times the derivatives of RNEA over all states."""
    for _ in range(repeats):
        for k in range(Q.shape[0]):
            derivatives.rnea_derivatives(topology, parameters, Q[k], V[k], X[k], NO_WRENCH, w, out)


@lean
def aba_derivatives_loop(limbed, topology, parameters, Q, V, X, w, memory, qdd, sides, out, repeats):
    """ABA and its derivatives; limbed: levels and robot of `star`, or None."""
    for _ in range(repeats):
        for k in range(Q.shape[0]):
            if limbed is not None:
                aba.place(limbed[0], limbed[1], Q[k], V[k], memory)
                aba.aba(limbed[0], limbed[1], Q[k], V[k], X[k], NO_WRENCH, memory, qdd)
            else:
                tree_aba.aba(topology, parameters, Q[k], V[k], X[k], NO_WRENCH, w, qdd)
            derivatives.aba_derivatives(topology, parameters, Q[k], V[k], qdd, NO_WRENCH, w, sides, out)


@lean
def contact_loop(robot, workspace, rows, r, Q, inertia, response, repeats):
    """`repeats` times contact inertia and test-force response over all states."""
    for _ in range(repeats):
        for k in range(Q.shape[0]):
            contact_space.contact_space(robot, workspace, rows, r, Q[k], inertia, response)


def loops(case: Case, driver: str) -> dict[str, Callable[[], float]]:
    """Seconds per call of each algorithm with one of our drivers."""
    model = case.model
    results = np.empty(model.nv), np.empty((model.nv, model.nv)), REPEATS
    calls = {}
    for what, algorithm in enumerate(ALGORITHMS):
        if driver == "tree":
            loop, robot = tree_loop, (model.topology, model.parameters)
            arguments = (*case.states, workspace(model), *results)
        else:
            loop, robot = limb_loop, (model.limbs.levels, model.limbs.robot)
            arguments = (*case.states, aligned((MEMORY,)), *results)
        calls[algorithm] = timed(partial(loop, what, *robot, *arguments), STATES * REPEATS)
    return calls


def single(case: Case, cpp: Cpp) -> Iterator[Row]:
    """RNEA, ABA and CRBA of one state, each driver that fits."""
    drivers = ("tree", "limbs") if case.model.limbs is not None else ("tree",)
    calls = {(driver, a): call for driver in drivers for a, call in loops(case, driver).items()}
    times = interleaved(calls | cpp.loops(case, ALGORITHMS))
    for driver, a in calls:
        promise = LIMBS[a] if driver == "limbs" else (TREE[a] if len(drivers) == 1 else None)  # callers get limbs
        yield compared(case.name, f"{a}, {driver}", times[driver, a], times.get(("C++", a)), CPP, promise)


def derived(case: Case, cpp: Cpp) -> Iterator[Row]:
    """Derivatives of RNEA and of ABA in one state."""
    model = case.model
    limbed = None if model.limbs is None else (model.limbs.levels, model.limbs.robot)
    robot, w, out = (model.topology, model.parameters), workspace(model), np.empty((3, model.nv, model.nv))
    memory = aligned((MEMORY,)), np.empty(model.nv), np.empty((model.nv, 3 * model.nv))
    calls = {
        "rnea": partial(rnea_derivatives_loop, *robot, *case.states, w, out, REPEATS),
        "aba": partial(aba_derivatives_loop, limbed, *robot, *case.states, w, *memory, out, REPEATS),
    }
    ours = {f"{a} derivatives": timed(call, STATES * REPEATS) for a, call in calls.items()}
    times = interleaved(ours | cpp.loops(case, tuple(ours)))
    promises = DERIVATIVES[case.name == "go2"] if case.name == "go2" or limbed is None else {}
    for a in ours:
        yield compared(case.name, a, times[a], times.get(("C++", a)), CPP, promises.get(a))


def contact(case: Case, cpp: Cpp) -> Iterator[Row]:
    """Contact inertia and test-force response of four feet; both sides must find the same inertia."""
    model, feet = case.model, go2_feet(case.model)
    rows, r = point_rows(model, feet)
    inertia, response = np.empty((12, 12)), np.empty((12, model.nv))
    robot, workspace = contact_space.workspace(model, len(rows))

    def ours() -> None:
        contact_loop(robot, workspace, rows, r, case.states[0], inertia, response, REPEATS)

    calls: dict[Hashable, Callable[[], float]] = {"ours": timed(ours, STATES * REPEATS)}
    if cpp.library is not None:
        theirs = Robot(cpp.library, case, feet.link)
        calls["C++", "contact"] = lambda: theirs.seconds("contact")
    times = interleaved(calls)
    if cpp.library is not None and not np.allclose(inertia, theirs.contact_inertia(), rtol=0.0, atol=1e-9):
        raise RuntimeError("contact inertia and Pinocchio's differ")
    what = "contact inertia and test-force response, 4 feet"
    yield compared(case.name, what, times["ours"], times.get(("C++", "contact")), CPP, (0.5, 0.25))


def many(case: Case, cpp: Cpp) -> Iterator[Row]:
    """ABA and RNEA of many states in one call, per state on one core."""
    Q, V, X = (np.resize(x, (BATCH, x.shape[1])) for x in case.states)
    model = case.model
    flat = [x.reshape(-1) for x in (Q, V, X, np.empty_like(V))]
    workspace = batch.workspace(model.nq, model.nv, len(model.topology))
    rnea = partial(batch.inverse_dynamics, model.topology, model.parameters, *flat, workspace)
    if (limbed := model.limbs) is not None:
        aba = partial(batch.limbed_forward_dynamics, limbed.levels, model.parameters, model.nq, model.nv, *flat)
    else:
        aba = partial(batch.forward_dynamics, model.topology, model.parameters, *flat, workspace)
    kernels = {"aba": timed(aba, BATCH), "rnea": timed(rnea, BATCH)}
    times = interleaved(kernels | cpp.loops(case, tuple(kernels)))
    for a in kernels:
        promise = (0.08, 0.045) if (case.name, a) == ("go2", "aba") else None
        yield compared(case.name, f"batch {a}, per state and core", times[a], times.get(("C++", a)), CPP, promise)
