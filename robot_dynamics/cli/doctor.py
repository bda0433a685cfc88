# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics doctor`: what this machine has of what the nodes and commands can use, and what to type."""

import argparse
import os
import platform
import resource
import shutil
import sys
import textwrap
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ..compiler import LANES
from ..compiler.cache import CACHE_FOLDER
from ..compiler.choice import BACKEND, FIRST_UNKNOWN, LLVM, NUMBA, PYTHON, VARIABLE
from ..control.stance import SOLVER
from ..core.extras import EXTRAS, install_command
from ..warm_up import KINDS, finished

HELP = "say what is installed and permitted, what is missing, and what to type for it"
NEEDED = {
    "rich": "tables of the commands",
    "matplotlib": "plots of the reports",
    "rosbags": "reading bags",
    "xacro": ".xacro files",
    "yaml": "files of the ground",
    "PIL": "height fields from images",
    "viser": "robots in a browser",
    "yourdfpy": "what robots look like in a browser",
}
"""Key of EXTRAS -> what it is for."""
PACKAGE = Path(__file__).resolve().parents[1]
WHEELS = {"7": "Jazzy", "9": "Kilted"}
"""Major version of rclpy from PyPI -> distribution of ROS."""
MARKER = Path("share", "ament_index", "resource_index", "packages", "robot_dynamics")
"""What tells ROS's tools in a prefix that the package is there."""
BACKENDS = {
    LLVM: (True, "kernels by our compiler (backend llvm)", ""),
    NUMBA: (
        None,
        "kernels by numba alone (backend numba), steps take up to twice as long",
        f"unset {VARIABLE}" if VARIABLE in os.environ else "pip install 'numba<{}.{}'".format(*FIRST_UNKNOWN),
    ),
    PYTHON: (False, "kernels run as Python (backend python), 100 times slower", f"unset NUMBA_DISABLE_JIT {VARIABLE}"),
}
"""Backend -> whether all is well, what it is, what to type for the fast one."""
DEVICE = Path("/dev/cpu_dma_latency")
SHARED_MEMORY = Path("/dev/shm")
WIDTH = 80


class Finding(NamedTuple):
    """One row: what was looked at, whether all is well (None: only to know), what was found, what to type."""

    what: str
    well: bool | None
    found: str
    remedy: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(args: argparse.Namespace) -> int:
    """Print the table; what is missing is no error, for each part is needed by some only."""
    findings = [*interpreter(), *ros(), *extras(), *real_time(), *machine_code(), *shared_memory()]
    print(table(findings, min(shutil.get_terminal_size((WIDTH, 24)).columns, 120)))
    return 0


def interpreter() -> Iterator[Finding]:
    """The package itself, Python, numba and the processor."""
    yield Finding("robot_dynamics", None, f"{installed('robot_dynamics') or 'not installed'}, {PACKAGE}")
    yield Finding("Python", None, f"{platform.python_version()} in {sys.prefix}")
    numba = f"{version('numba')}, LLVM by llvmlite {version('llvmlite')}"
    well, how, remedy = BACKENDS[BACKEND]
    yield Finding("numba", well, f"{numba}: {how}", remedy)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("processor", None, f"{processor()}, {cores} cores for us, {LANES} robots abreast on each")


def processor() -> str:
    """Name of the processor, and the widest instructions it has for several numbers at once."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    fields = dict(reversed([[part.strip() for part in line.split(":", 1)] for line in lines if ":" in line]))
    flags = set(fields.get("flags", fields.get("Features", "")).split())
    simd = next((name for name in ("avx512f", "avx2", "avx", "sve", "asimd", "sse2") if name in flags), "no SIMD")
    return f"{fields.get('model name', platform.machine())}, {simd}"


def ros() -> Iterator[Finding]:
    """The middleware, as the nodes would find it."""
    if find_spec("rclpy") is None:
        source = next((f"source {path}" for path in sorted(Path("/opt/ros").glob("*/setup.bash"))), "")
        yield Finding("rclpy", False, "missing: no nodes, no demo", source or install_command("rclpy"))
        return
    distribution = os.environ.get("ROS_DISTRO", "")
    wheel = installed("ros-rclpy")
    source = f"{wheel} from PyPI, of {WHEELS.get(wheel.split('.')[0], 'ROS')}" if wheel else f"of ROS {distribution}"
    sourced = f"; ROS_DISTRO {distribution} is sourced too" if wheel and distribution else ""
    yield Finding("rclpy", not sourced, f"{source}{sourced}", "deactivate   # one of the two" if sourced else "")
    rmw = os.environ.get("RMW_IMPLEMENTATION") or "rmw_fastrtps_cpp, the default"
    yield Finding("RMW", None, f"{rmw}; ROS_DOMAIN_ID {os.environ.get('ROS_DOMAIN_ID', '0')}")
    if find_spec("launch_ros") and find_spec("ros2launch"):
        yield ros2_launch()
    else:
        remedy = f"sudo apt install ros-{distribution or 'kilted'}-ros2launch"
        yield Finding("ros2 launch", False, "missing: it comes with ROS's apt packages, not from PyPI", remedy)


def ros2_launch() -> Finding:
    """Whether `ros2 launch` and `ros2 run`, which are there, find this package."""
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    if where := next((prefix for prefix in prefixes if (prefix / MARKER).is_file()), None):
        return Finding("ros2 launch", True, f"finds robot_dynamics in {where}")
    own = next((prefix for prefix in PACKAGE.parents if (prefix / MARKER).is_file()), None)
    remedy = f"export AMENT_PREFIX_PATH={own}:$AMENT_PREFIX_PATH" if own else "pip install .   # in its source folder"
    return Finding("ros2 launch", False, "there, but finds no robot_dynamics", remedy)


def installed(name: str) -> str:
    """Version of a Python package, empty if pip did not install it."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def extras() -> Iterator[Finding]:
    """What can be done without."""
    clipped = not SOLVER.startswith("quadratic")
    found = "missing: forces outside their friction cones are clipped" if clipped else installed("daqp") or "there"
    yield Finding("daqp", not clipped, found, "pip install daqp" if clipped else "")
    for module, purpose in NEEDED.items():
        if find_spec(module):
            yield Finding(module, True, installed(module) or "there")
        else:
            yield Finding(module, False, f"missing: {purpose} (extra '{EXTRAS[module]}')", install_command(module))


def real_time() -> Iterator[Finding]:
    """Whether nodes may come before other processes, and keep processors awake."""
    soft, hard = resource.getrlimit(resource.RLIMIT_RTPRIO) if hasattr(resource, "RLIMIT_RTPRIO") else (0, 0)
    if os.geteuid() == 0 or hard:
        yield Finding("real-time priority", True, "as root" if os.geteuid() == 0 else f"up to {hard} (now {soft})")
    else:
        remedy = "echo '@realtime - rtprio 99' | sudo tee /etc/security/limits.d/realtime.conf"
        yield Finding("real-time priority", False, "not permitted: ordinary threads", remedy)
    if os.access(DEVICE, os.W_OK):
        yield Finding("processor sleep", True, f"{DEVICE} can be written")
    else:
        remedy = f"sudo chmod o+w {DEVICE}" if DEVICE.exists() else ""
        yield Finding("processor sleep", False, f"{DEVICE} cannot be written: wake-ups are late", remedy)


def machine_code() -> Iterator[Finding]:
    """Where kernels are kept, and whether they are there."""
    if CACHE_FOLDER is None:
        yield Finding(
            "machine code",
            False,
            "no folder can be written: every start compiles",
            "export XDG_CACHE_HOME=$HOME/.cache   # or any folder that is yours",
        )
        return
    absent = [kind for kind in KINDS if not finished(CACHE_FOLDER, kind)]
    if absent:
        found = f"{CACHE_FOLDER}: {', '.join(absent)} not compiled: the first start does it"
        yield Finding("machine code", False, found, "robot_dynamics warm-up")
    else:
        yield Finding("machine code", True, f"{CACHE_FOLDER}: compiled")


def shared_memory() -> Iterator[Finding]:
    """Files that nodes of Fast DDS leave behind when they are killed; nodes of today may share them."""
    files = [*SHARED_MEMORY.glob("*fastrtps_*"), *SHARED_MEMORY.glob("*fastdds_*")]
    if not files:
        yield Finding("shared memory", True, "no files of Fast DDS")
        return
    size = sum(path.stat().st_size for path in files if path.exists()) / 1e6
    remedy = f"rm {SHARED_MEMORY}/*fastrtps_* {SHARED_MEMORY}/*fastdds_*   # while no node runs"
    yield Finding("shared memory", None, f"{len(files)} files of Fast DDS, {size:.0f} MB", remedy)


def table(findings: list[Finding], width: int) -> str:
    """Lay the findings out in so many columns; what to type stands whole in lines of its own, to be copied."""
    marks = {True: "ok", False: "--", None: ""}
    left = max(len(finding.what) for finding in findings) + 2
    lines = []
    for what, well, found, remedy in findings:
        room = max(width - left - 4, 20)
        first, *more = textwrap.wrap(found, room, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{what:{left}}{marks[well]:4}{first}".rstrip(), *(" " * (left + 4) + line for line in more)]
        if remedy:
            lines.append(f"    {remedy}")
    return "\n".join(lines)
