# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which backend compiles the kernels."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.compiler.choice import FIRST_UNKNOWN, LLVM, NUMBA, choose


def test_an_unknown_numba_compiles_by_itself_and_says_so_once(caplog):
    with caplog.at_level(logging.WARNING):
        assert choose("", (0, 58)) == LLVM
        assert not caplog.records
        assert choose("", FIRST_UNKNOWN) == NUMBA
    (record,) = caplog.records
    assert "numba 0.69 is newer than the 0.68" in record.getMessage()


@pytest.mark.parametrize("wanted", [LLVM, NUMBA])
def test_the_backend_asked_for_is_taken_whatever_the_version(wanted):
    assert choose(wanted, FIRST_UNKNOWN) == wanted


def test_an_unknown_backend_is_refused_with_the_valid_names():
    with pytest.raises(ValueError, match="llvm, numba, python, got 'gcc'"):
        choose("gcc", (0, 68))


@pytest.mark.slow
@pytest.mark.thorough
def test_the_tests_of_kernels_hold_on_the_numba_backend(tmp_path):
    """Of the contact solver; in folders of their own."""
    own = {**os.environ, "ROBOT_DYNAMICS_BACKEND": NUMBA, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    tests = Path(__file__).parent / "test_contact_kernels.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    done = subprocess.run(command, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


FALL = """
import json, sys
import robot_dynamics as rd
from robot_dynamics.share import share_folder

text = (share_folder() / "urdf" / "mini_cheetah.urdf").read_text()
model = rd.load_urdf(text.replace(*sys.argv[1:]), floating_base=True)
plant = rd.Plant(model, rd.PlantParams(1e-3, rd.SpringDamper()), rd.contact_points(model))
q = rd.neutral(model)
q[2] = 0.41
plant.reset(q, [0.0] * model.nv)
plant.advance(0.1)
print(json.dumps([plant.contacts.force_world[:, 2].max(), *plant.q, *plant.qd]))
"""


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["revolute", "fixed"], ids=["equal-limbs", "tree"])
def test_a_quadruped_falls_on_the_numba_backend_as_on_ours(kind, tmp_path):
    """All kernels of a step are compiled for it, in a folder of their own; one knee is of this kind."""
    knee = '<joint name="FR_knee" type='
    ours = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    theirs = {**ours, "ROBOT_DYNAMICS_BACKEND": NUMBA, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", FALL, f'{knee}"revolute"', f'{knee}"{kind}"']
    falls = [subprocess.run(command, env=env, capture_output=True, text=True) for env in (ours, theirs)]
    assert [fall.returncode for fall in falls] == [0, 0], falls[1].stderr
    by_ours, by_theirs = (json.loads(fall.stdout) for fall in falls)
    assert by_ours[0] > 0.0
    np.testing.assert_allclose(by_theirs, by_ours, 1e-6, 1e-6)
