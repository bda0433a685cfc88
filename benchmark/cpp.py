# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio's C++ algorithms in a shared library, built against the headers of the `pin` wheel and of Eigen."""

import ctypes
import shutil
import subprocess
import weakref
from collections.abc import Callable, Hashable, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin

from .robots import STATES, Case

EIGEN = Path("/usr/include/eigen3")
SOURCE = Path(__file__).parent / "pinocchio.cpp"
FLAGS = [
    "-O3",
    "-DNDEBUG",
    "-std=c++17",
    "-shared",
    "-fPIC",
    "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION",
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
]
DOUBLES = ctypes.POINTER(ctypes.c_double)
REPEATS = 20


def build(folder: Path) -> ctypes.CDLL | str:
    """Compile the library into `folder` unless it is there, or say what is missing."""
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if not EIGEN.is_dir():
        return "Eigen's headers are not installed (libeigen3-dev)"
    prefix = Path(str(metadata.distribution("pin").locate_file("cmeel.prefix")))
    library = folder / "libpinocchio_bench.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        command = ["g++", *FLAGS, f"-I{prefix}/include", f"-I{EIGEN}", str(SOURCE), "-o", str(library)]
        command += [f"-L{prefix}/lib", "-lpinocchio_default", f"-Wl,-rpath,{prefix}/lib"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"g++ failed: {done.stderr.strip().splitlines()[-1]}"
    loaded = ctypes.CDLL(str(library))
    loaded.robot_make.restype = ctypes.c_void_p
    loaded.robot_time.restype = ctypes.c_double
    return loaded


def joint_lines(model: pin.Model) -> list[str]:
    """The robot as `robot_make` reads it: one line per joint."""
    lines = []
    for i in range(1, model.njoints):
        joint = model.joints[i]
        name = joint.shortname().replace("RUB", "R").replace("RevoluteUnbounded", "Revolute")
        axis = getattr(joint.extract(), "axis", np.zeros(3))
        M, Y = model.jointPlacements[i], model.inertias[i]
        figures = np.r_[axis, M.rotation.ravel(), M.translation, Y.mass, Y.lever, Y.inertia.ravel()]
        lines.append(" ".join([name, str(model.parents[i]), *(repr(float(x)) for x in figures)]))
    return lines


def point_line(model: pin.Model, link: str) -> str:
    """A contact point at the origin of a link, as `robot_make` reads it."""
    frame = model.frames[model.getFrameId(link)]
    return " ".join(["point", str(frame.parentJoint), *(repr(float(x)) for x in frame.placement.translation)])


def their_states(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The states of `case` in Pinocchio's order: linear before angular, joints as it sorts them; mimic joints at 0."""
    ours, (Q, V, X) = case.model, case.states
    base = [3, 4, 5, 0, 1, 2] if case.floating else []
    index = {name: (q, v) for name, q, v in zip(ours.joint_names, ours.q_index, ours.v_index, strict=True)}
    names = list(case.pinocchio.names)[2 if case.floating else 1 :]
    at = np.array([index.get(name, (-1, -1)) for name in names])
    spare = np.zeros((len(Q), 1))  # what index -1 finds
    q = np.hstack([Q, spare])[:, [*range(7 if case.floating else 0), *at[:, 0]]]
    v, x = (np.hstack([values, spare])[:, [*base, *at[:, 1]]] for values in (V, X))
    return q, v, x


class Robot:
    """A robot in the library, and its states."""

    def __init__(self, library: ctypes.CDLL, case: Case, feet: Sequence[str] = ()):
        self.library = library
        lines = [*joint_lines(case.pinocchio), *(point_line(case.pinocchio, link) for link in feet)]
        self.handle = ctypes.c_void_p(library.robot_make("\n".join(lines).encode()))
        if not self.handle:
            raise ValueError(f"{case.name} has a joint type that the C++ side does not know")
        weakref.finalize(self, library.robot_free, self.handle)
        self.feet = len(feet)
        self.states = [np.ascontiguousarray(x) for x in their_states(case)]

    def seconds(self, what: str) -> float:
        """Seconds per call of rnea, aba, crba, contact, or of rnea or aba derivatives."""
        arrays = (a.ctypes.data_as(DOUBLES) for a in self.states)
        return float(self.library.robot_time(self.handle, what.encode(), *arrays, STATES, REPEATS))

    def contact_inertia(self) -> np.ndarray:
        """J M^-1 J^T of the feet in the last state."""
        out = np.empty((3 * self.feet, 3 * self.feet))
        self.library.robot_contact_inertia(self.handle, out.ctypes.data_as(DOUBLES))
        return out


class Cpp:
    """Pinocchio's C++ side, or the reason why it is missing."""

    def __init__(self, folder: Path):
        found = build(folder)
        self.library, self.missing = (None, found) if isinstance(found, str) else (found, "")

    def loops(self, case: Case, algorithms: Sequence[str]) -> dict[Hashable, Callable[[], float]]:
        """Calls that give seconds per algorithm; none without the library."""
        if self.library is None:
            return {}
        robot = Robot(self.library, case)
        return {("C++", a): lambda a=a: robot.seconds(a) for a in algorithms}
