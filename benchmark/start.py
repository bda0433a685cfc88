# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How long a start takes, with machine code kept and without, and how much memory a process needs."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from .rounds import Row

STARTS = 7
FIRST = """
import time
begin = time.perf_counter()
import numpy as np
import robot_dynamics as rd
from robot_dynamics.share import share_folder
model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
rd.inverse_dynamics(model, rd.neutral(model), np.zeros(model.nv), np.zeros(model.nv))
print(time.perf_counter() - begin)
"""
PLANT = """
from robot_dynamics.warm_up import LIMBS, mini_cheetah, step_plant
step_plant(mini_cheetah(LIMBS))
status = dict(line.split(":") for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) / 1024)
"""
"""ru_maxrss would be that of the process which started this one, where that is larger."""
COLD = """
from robot_dynamics.warm_up import LIMBS, warm_up_once
warm_up_once(print, LIMBS)
"""


def answer(script: str) -> float:
    """The number a script prints in a process of its own, with byte code kept, as an installation has it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def starts() -> Iterator[Row]:
    """Import to first result and memory with a warm cache, then compiling what the demo needs into an empty one."""
    answer(PLANT)
    warm = float(np.median([answer(FIRST) for _ in range(STARTS + 1)][1:]))
    yield Row("mini_cheetah", "import to first result, warm cache", warm, must=1.0, aim=0.5, unit="s")
    yield Row("mini_cheetah", "memory of a process that steps a plant", answer(PLANT), unit="MB")
    with tempfile.TemporaryDirectory() as empty:
        begin = time.perf_counter()
        command = [sys.executable, "-c", COLD]
        subprocess.run(command, env=os.environ | {"XDG_CACHE_HOME": empty}, capture_output=True, check=True)
        cold = time.perf_counter() - begin
    yield Row("mini_cheetah", "all that the demo needs, empty cache", cold, must=20.0, aim=8.0, unit="s")
