# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Cost over the number of bodies: chains and random trees of revolute joints, ours beside Pinocchio's C++."""

from collections.abc import Callable, Hashable, Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from .cpp import Cpp
from .kernels import loops
from .robots import Case
from .rounds import interleaved

SIZES = tuple(2**k for k in range(2, 11))
SHAPES = ("chain", "random tree")
COSTS = ("rnea", "aba")
"""Those that are linear in the number of bodies."""
LARGEST = 256
"""Of Pinocchio's robots: its data takes memory with the cube of the bodies, 0.6 GB here."""


def robot(shape: str, bodies: int) -> Case:
    """A fixed base and `bodies` revolute joints in series, or each on a random earlier body."""
    rng = np.random.default_rng(bodies)
    parts = ['<robot name="r"><link name="b0"/>']
    for i in range(1, bodies + 1):
        parent = i - 1 if shape == "chain" else int(rng.integers(i))
        axis = ("1 0 0", "0 1 0", "0 0 1")[i % 3]
        parts.append(
            f'<link name="b{i}"><inertial><origin xyz="0.02 0 0.05"/><mass value="1"/>'
            '<inertia ixx="0.01" iyy="0.012" izz="0.008" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{i}" type="continuous"><parent link="b{parent}"/><child link="b{i}"/>'
            f'<origin xyz="0 0 0.1"/><axis xyz="{axis}"/></joint>'
        )
    return Case(f"{shape} of {bodies}", "".join(parts) + "</robot>", False)


def growth(cpp: Cpp) -> Iterator[tuple[str, int, dict[str, float]]]:
    """Shape, number of bodies, least nanoseconds by curve."""
    for shape in SHAPES:
        for bodies in SIZES:
            case = robot(shape, bodies)
            ours = loops(case, "tree")
            calls: dict[Hashable, Callable[[], float]] = {(a, "ours"): ours[a] for a in COSTS}
            if bodies <= LARGEST:
                calls |= {(a, "C++"): call for (_, a), call in cpp.loops(case, COSTS).items()}
            times = interleaved(calls, rounds=5)
            yield shape, bodies, {" ".join(key): 1e9 * float(value.min()) for key, value in times.items()}


def draw(curves: dict[str, dict[int, dict[str, float]]], path: Path) -> None:
    """One plot per shape: time over bodies, both axes logarithmic, with a line of slope one."""
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    plots = figure.subplots(1, len(curves), sharey=True)
    colours = {"rnea": "tab:blue", "aba": "tab:orange"}
    for plot, (shape, points) in zip(plots, curves.items(), strict=True):
        sizes = np.array(sorted(points))
        for name in points[sizes[0]]:
            algorithm, side = name.split(" ", 1)
            style = "-" if side == "ours" else "--"
            label = f"{algorithm.upper()}, {'ours' if side == 'ours' else 'Pinocchio C++'}"
            there = [n for n in sizes if name in points[n]]
            cost = [1e-3 * points[n][name] for n in there]
            plot.loglog(there, cost, style, marker="o", markersize=3, color=colours[algorithm], label=label)
        last = 0.5e-3 * points[sizes[-1]]["rnea ours"]
        plot.loglog(sizes, last * sizes / sizes[-1], ":", color="k", linewidth=1.0, label="linear")
        plot.set_title(f"{shape} of revolute joints, one state")
        plot.set_xlabel("bodies")
        plot.set_xticks(sizes, [str(n) for n in sizes])
        plot.minorticks_off()
        plot.grid(alpha=0.3)
    plots[0].set_ylabel("time per call [µs]")
    plots[0].legend()
    figure.savefig(path, dpi=110)
