"""Pinocchio's C++ algorithms in a shared library, built against the headers of the `pin` wheel and of Eigen."""

import ctypes
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin

EIGEN = Path("/usr/include/eigen3")
SOURCE = Path(__file__).parent / "pinocchio.cpp"
FLAGS = [
    "-O3",
    "-DNDEBUG",
    "-std=c++17",
    "-shared",
    "-fPIC",
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
]
DOUBLES = ctypes.POINTER(ctypes.c_double)


def build(folder: Path) -> ctypes.CDLL | str:
    """Compile the library into `folder`, or say what is missing."""
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if not EIGEN.is_dir():
        return "Eigen's headers are not installed (libeigen3-dev)"
    prefix = Path(str(metadata.distribution("pin").locate_file("cmeel.prefix")))
    library = folder / "libpinocchio_bench.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        command = ["g++", *FLAGS, f"-I{prefix}/include", f"-I{EIGEN}", str(SOURCE), "-o", str(library)]
        command += [f"-L{prefix}/lib", "-lpinocchio_default", f"-Wl,-rpath,{prefix}/lib"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"g++ failed: {done.stderr.strip().splitlines()[-1]}"
    loaded = ctypes.CDLL(str(library))
    loaded.robot_make.restype = ctypes.c_void_p
    loaded.robot_time.restype = ctypes.c_double
    return loaded


def joint_lines(model: pin.Model) -> str:
    """The robot as `robot_make` reads it: one line per joint."""
    lines = []
    for i in range(1, model.njoints):
        joint = model.joints[i]
        name = joint.shortname().replace("RUB", "R").replace("RevoluteUnbounded", "Revolute")
        axis = getattr(joint.extract(), "axis", np.zeros(3))
        M, Y = model.jointPlacements[i], model.inertias[i]
        figures = np.r_[axis, M.rotation.ravel(), M.translation, Y.mass, Y.lever, Y.inertia.ravel()]
        lines.append(" ".join([name, str(model.parents[i]), *(repr(float(x)) for x in figures)]))
    return "\n".join(lines)


class CppRobot:
    """A robot in the library, with states of its own to run over."""

    def __init__(self, library: ctypes.CDLL, path: Path, floating: bool, count: int):
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        model = pin.buildModelFromUrdf(str(path), *root)
        self.library, self.count = library, count
        self.handle = ctypes.c_void_p(library.robot_make(joint_lines(model).encode()))
        if not self.handle:
            raise ValueError(f"{path} has a joint type that the C++ side does not know")
        rng = np.random.default_rng(0)
        low = np.clip(np.nan_to_num(model.lowerPositionLimit, neginf=-3), -3, 3)
        high = np.clip(np.nan_to_num(model.upperPositionLimit, posinf=3), -3, 3)
        self.Q = np.array([pin.randomConfiguration(model, low, high) for _ in range(count)])
        self.V, self.X = rng.standard_normal((2, count, model.nv))

    def seconds(self, what: str, repeats: int) -> float:
        """Seconds per call of rnea, aba or crba."""
        arrays = (a.ctypes.data_as(DOUBLES) for a in (self.Q, self.V, self.X))
        return float(self.library.robot_time(self.handle, what.encode(), *arrays, self.count, repeats))
