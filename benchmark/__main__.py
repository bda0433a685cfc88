"""One run: our kernels in a compiled loop beside Pinocchio's C++, and calls from Python beside Pinocchio's Python."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
from numba import njit

import robot_dynamics as rd
from robot_dynamics.kernels import limbs, tree

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from robot_files import FILES

from benchmark.cpp import CppRobot, build

ROBOTS = {
    "go2": ("go2", True),
    "anymal_c": ("anymal", True),
    "panda": ("panda", False),
    "g1": ("g1_29dof_rev_1_0", True),
    "talos": ("talos_reduced", True),
}
STATES, REPEATS, ROUNDS = 64, 20, 9
ALGORITHMS = ("rnea", "aba", "crba")
NO_WRENCH = np.empty((0, 6))
OUTPUT = Path("report")


@njit
def tree_loop(what, topology, parameters, Q, V, X, out, H, repeats):
    for _ in range(repeats):
        for k in range(Q.shape[0]):
            if what == 0:
                tree.inverse_dynamics(topology, parameters, Q[k], V[k], X[k], NO_WRENCH, 1.0, out)
            elif what == 1:
                tree.forward_dynamics(topology, parameters, Q[k], V[k], X[k], NO_WRENCH, out)
            else:
                tree.mass_matrix(topology, parameters, Q[k], H)


@njit
def limb_loop(what, levels, count, parameters, lanes, Q, V, X, out, H, repeats):
    for _ in range(repeats):
        for k in range(Q.shape[0]):
            if what == 0:
                limbs.inverse_dynamics(levels, count, parameters, lanes, Q[k], V[k], X[k], None, 1.0, out)
            elif what == 1:
                limbs.forward_dynamics(levels, count, parameters, lanes, Q[k], V[k], X[k], None, out)
            else:
                limbs.mass_matrix(levels, count, parameters, lanes, Q[k], H)


def our_loop(model: rd.Model) -> Callable[[int], float]:
    """Seconds per call of algorithm number `what`, in a compiled loop over states."""
    rng = np.random.default_rng(0)
    Q = np.array([rd.random_configuration(model, rng) for _ in range(STATES)])
    V, X = rng.standard_normal((2, STATES, model.nv))
    out, H = np.empty(model.nv), np.empty((model.nv, model.nv))

    def run(what: int) -> float:
        start = time.perf_counter()
        if (limb := model.limbs) is not None:
            limb_loop(what, limb.levels, limb.count, model.parameters, limb.lanes, Q, V, X, out, H, REPEATS)
        else:
            tree_loop(what, model.topology, model.parameters, Q, V, X, out, H, REPEATS)
        return (time.perf_counter() - start) / STATES / REPEATS

    for what in range(len(ALGORITHMS)):
        run(what)
    return run


def python_calls(model: rd.Model, path: Path, floating: bool) -> dict[str, float]:
    """Medians in seconds of one inverse dynamics called from Python: ours and Pinocchio's."""
    theirs = pin.buildModelFromUrdf(str(path), *((pin.JointModelFreeFlyer(),) if floating else ()))
    data, q = theirs.createData(), pin.neutral(theirs)
    zero, ours, still = np.zeros(theirs.nv), rd.neutral(model), np.zeros(model.nv)
    calls = {
        "inverse_dynamics": lambda: rd.inverse_dynamics(model, ours, still, still),
        "pin.rnea": lambda: pin.rnea(theirs, data, q, zero, zero),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(1000):
                call()
            times[name].append((time.perf_counter() - start) / 1000)
    return {name: float(np.median(values)) for name, values in times.items()}


def measure(name: str, library: object) -> dict[str, float]:
    """Nanoseconds per call, medians over interleaved rounds."""
    stem, floating = ROBOTS[name]
    path = next(path for path in FILES if path.stem == stem)
    model = rd.load_urdf(path, floating_base=floating)
    ours = our_loop(model)
    cpp = None if isinstance(library, str) else CppRobot(library, path, floating, STATES)  # type: ignore[arg-type]
    times: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for what, algorithm in enumerate(ALGORITHMS):
            times.setdefault(algorithm, []).append(ours(what))
            if cpp is not None:
                times.setdefault(f"{algorithm} C++", []).append(cpp.seconds(algorithm, REPEATS))
    medians = {key: float(np.median(values)) for key, values in times.items()}
    return {key: 1e9 * value for key, value in (medians | python_calls(model, path, floating)).items()}


def main() -> int:
    """Measure all robots, print the table, write report/benchmark.json."""
    if not FILES:
        print("the benchmark needs the package example-robot-data", file=sys.stderr)
        return 2
    OUTPUT.mkdir(exist_ok=True)
    library = build(OUTPUT)
    if isinstance(library, str):
        print(f"without Pinocchio's C++: {library}")
    results = {}
    print(
        f"{'robot':10}"
        + "".join(f"{a + ' ns':>12}{'/ C++':>8}" for a in ALGORITHMS)
        + f"{'from Python':>14}{'/ pin':>8}"
    )
    for name in ROBOTS:
        results[name] = r = measure(name, library)
        line = f"{name:10}"
        for a in ALGORITHMS:
            ratio = f"{r[a] / r[a + ' C++']:.3f}" if a + " C++" in r else "-"
            line += f"{r[a]:12.0f}{ratio:>8}"
        print(line + f"{r['inverse_dynamics']:14.0f}{r['inverse_dynamics'] / r['pin.rnea']:8.2f}", flush=True)
    (OUTPUT / "benchmark.json").write_text(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
