# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the figures belong to, and where they are written."""

import platform
from importlib import metadata
from pathlib import Path

import llvmlite.binding as llvm
import numba

from robot_dynamics.compiler import LANES, QUAD
from robot_dynamics.compiler.processor import REGISTER_BITS

OUTPUT = Path("report")


def machine() -> dict[str, str]:
    """What the figures belong to."""
    packages = ("numba", "numpy", "pin", "mujoco")
    known = {d.metadata["Name"]: d.version for d in metadata.distributions()}
    processor = next((x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")), ": ?")
    code = {
        "processor": processor.split(": ")[1],
        "compiled for": numba.config.CPU_NAME or llvm.get_host_cpu_name(),
        "registers": f"{REGISTER_BITS} bit",
        "lanes": f"{LANES} robots, {QUAD} limbs",
        "python": platform.python_version(),
    }
    return code | {name: known.get(name, "missing") for name in packages}
