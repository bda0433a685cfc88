# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Measure everything side by side; print the table, write report/benchmark.json and report/growth.png."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from .calls import python_calls
from .cpp import Cpp
from .growth import SHAPES, SIZES, draw, growth
from .kernels import contact, derived, many, single
from .machine import OUTPUT, machine
from .robots import FILES, ROBOTS, case
from .rounds import Row
from .simulation import linearizations, rollouts, steps, tiles, treading_tiles
from .start import starts

BUILD = Path("build/benchmark")


def rows(cpp: Cpp, console: Console) -> Iterator[Row]:
    """All lines of the table, as they are measured."""
    for name in ROBOTS:
        robot = case(name)
        yield from single(robot, cpp)
        yield from derived(robot, cpp)
        yield from many(robot, cpp)
        yield from python_calls(robot)
    go2 = case("go2")
    yield from contact(go2, cpp)
    yield from tiles(go2)
    yield from treading_tiles(go2)
    try:
        import mujoco
    except ImportError:
        console.print("without MuJoCo: the package mujoco is not installed")
    else:
        yield from steps(go2, mujoco)
        yield from linearizations(go2, mujoco)
        yield from rollouts(go2, mujoco)
    yield from starts()


def table(measured: list[Row]) -> Table:
    """The lines as text."""
    out = Table(title="medians of interleaved rounds; ratio: ours over theirs, less is faster; (least): of the minima")
    for head in ("robot", "what", "ours", "theirs", "of", "ratio", "(least)", "must", "aim", "held"):
        out.add_column(head, justify="left" if head in ("robot", "what", "of", "held") else "right")
    for row in measured:
        digits = 0 if row.unit == "ns" else 2
        theirs, ratio, least = "", "", ""
        if row.theirs is not None:
            theirs, ratio, least = f"{row.theirs:.{digits}f}", f"{row.figure:.3f}", f"({row.least:.3f})"
        promise = ["" if x is None else f"{x:.3g}" for x in (row.must, row.aim)]
        ours = f"{row.ours:.{digits}f} {row.unit}"
        out.add_row(row.robot, row.what, ours, theirs, row.against, ratio, least, *promise, row.held)
    return out


def main() -> int:
    """Measure, print, write."""
    argparse.ArgumentParser(prog="python -m benchmark", description=__doc__).parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    if not FILES:
        console.print("the benchmark needs the package example-robot-data")
        return 2
    measured: list[Row] = []
    curves: dict[str, dict[int, dict[str, float]]] = {shape: {} for shape in SHAPES}
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("compiling Pinocchio's C++ (first time only)", total=None)
        cpp = Cpp(BUILD)
        if cpp.missing:
            console.print(f"without Pinocchio's C++: {cpp.missing}")
        for row in rows(cpp, console):
            measured.append(row)
            bar.update(task, description=f"{row.robot}: {row.what}")
        bar.update(task, total=len(SHAPES) * len(SIZES))
        for shape, bodies, costs in growth(cpp):
            curves[shape][bodies] = costs
            bar.update(task, advance=1, description=f"{shape} of {bodies} bodies")
    console.print(table(measured))
    console.print(", ".join(f"{what}: {which}" for what, which in machine().items()))
    OUTPUT.mkdir(exist_ok=True)
    figures = [asdict(row) | {"figure": row.figure, "held": row.held} for row in measured]
    text = json.dumps({"machine": machine(), "rows": figures, "growth": curves}, indent=2)
    (OUTPUT / "benchmark.json").write_text(text)
    draw(curves, OUTPUT / "growth.png")
    console.print(f"written: {OUTPUT / 'benchmark.json'}, {OUTPUT / 'growth.png'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
