# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the figures belong to, and where they are written."""

import platform
from importlib import metadata
from pathlib import Path

import llvmlite.binding as llvm
import numba
from numba.core.registry import cpu_target

from robot_dynamics.compiler import LANES, QUAD

OUTPUT = Path("report")
EIGHT_NUMBERS = """
define <8 x double> @sum(<8 x double> %a, <8 x double> %b) "min-legal-vector-width"="512" {
  %c = fadd <8 x double> %a, %b
  ret <8 x double> %c
}
"""
REGISTERS = {"zmm": "512 bit", "ymm": "256 bit"}
"""Width of vector registers by their names."""


def registers() -> str:
    """Width of the vector registers of numba's code: without NUMBA_CPU_FEATURES it takes those of this processor."""
    code = cpu_target.target_context.codegen()._tm.emit_assembly(llvm.parse_assembly(EIGHT_NUMBERS))
    return next((width for name, width in REGISTERS.items() if name in code), "128 bit")


def machine() -> dict[str, str]:
    """What the figures belong to."""
    packages = ("numba", "numpy", "pin", "mujoco")
    known = {d.metadata["Name"]: d.version for d in metadata.distributions()}
    processor = next((x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")), ": ?")
    code = {
        "processor": processor.split(": ")[1],
        "compiled for": numba.config.CPU_NAME or llvm.get_host_cpu_name(),
        "registers": registers(),
        "lanes": f"{LANES} robots, {QUAD} limbs",
        "python": platform.python_version(),
    }
    return code | {name: known.get(name, "missing") for name in packages}
