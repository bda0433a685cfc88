# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where machine code is kept: in a folder of ours alone, or nowhere."""

import ast
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from numba import config

from robot_dynamics import compiler, warm_up
from robot_dynamics.compiler import cache


def test_the_first_folder_that_can_be_written_is_taken(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    kept = cache._cache_folder()
    assert kept is not None
    assert kept.parent == tmp_path / "home" / ".cache" / "robot_dynamics"
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_without_a_home_it_is_a_temporary_folder_of_the_user(tmp_path, monkeypatch):
    for variable in ("XDG_CACHE_HOME", "HOME", "ROS_HOME", "ROS_LOG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    assert list(cache._cache_roots()) == [tmp_path / f"robot_dynamics-{os.getuid()}"]


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path):
    """Code is loaded from it."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    assert not cache._usable(folder)
    folder.chmod(0o700)
    assert cache._usable(folder)


def test_the_folder_changes_with_every_source_below_and_with_the_backend(tmp_path):
    nested = tmp_path / "compiler" / "codegen"
    nested.mkdir(parents=True)
    hashes = set()
    for path, text in (("a.py", ""), ("codegen/b.py", ""), ("codegen/b.py", "x = 1"), ("codegen/c.py", "x = 1")):
        (tmp_path / "compiler" / path).write_text(text)
        hashes |= {cache.source_hash([tmp_path / "compiler"], backend) for backend in ("llvm", "numba")}
    (nested / "c.py").rename(nested / "d.py")
    hashes.add(cache.source_hash([tmp_path / "compiler"], "llvm"))
    assert len(hashes) == 9


def test_the_folder_depends_on_all_that_kernels_import():
    """What a kernel's file or the compiler takes from the package lies in the folders whose sources are hashed."""
    package = cache.PACKAGE
    for folder in cache.SOURCES:
        for path in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and (
                    node.level or (node.module or "").startswith("robot_dynamics")
                ):
                    above = path.parents[node.level - 1] if node.level else package.parent
                    target = above.joinpath(*(node.module or "").split("."))
                    assert any(target.is_relative_to(source) for source in cache.SOURCES), f"{path}:{node.lineno}"


@pytest.mark.parametrize("folder", [True, False], ids=["kept", "nowhere"])
def test_a_kernel_answers_the_same_wherever_its_code_is_kept(tmp_path, monkeypatch, folder):
    monkeypatch.setattr(cache, "CACHE_FOLDER", tmp_path if folder else None)
    folder_of_numba = config.CACHE_DIR

    def double(x):
        return 2.0 * x

    assert compiler.kernel(double)(np.float64(4.0)) == 8.0
    assert folder_of_numba == config.CACHE_DIR


def test_warming_up_is_done_once(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    monkeypatch.setattr(cache, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(warm_up, "warm_up", lambda kind: iter((f"{kind} first", "second")))
    told: list[str] = []
    for kind in (warm_up.LIMBS, warm_up.LIMBS, warm_up.TREES):
        warm_up.warm_up_once(told.append, kind)
    totals = [warm_up.FUNCTIONS[kind] for kind in (warm_up.LIMBS, warm_up.TREES)]
    assert told == [f"{done} of {total} functions" for total in totals for done in (0, total)]


def test_progress_is_told_while_it_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    monkeypatch.setattr(cache, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(warm_up, "PERIOD", 1e-3)
    told: list[str] = []
    seen = threading.Event()
    total = warm_up.FUNCTIONS[warm_up.LIMBS]

    def compile_half(kind):
        (tmp_path / "kernels").mkdir()
        for number in range(11):
            (tmp_path / "kernels" / f"{number}.nbc").touch()
        assert seen.wait(60)
        yield "half"

    def report(text):
        told.append(text)
        if text == f"11 of {total} functions":
            seen.set()

    monkeypatch.setattr(warm_up, "warm_up", compile_half)
    warm_up.warm_up_once(report, warm_up.LIMBS)
    assert (told[0], told[-1]) == (f"0 of {total} functions", f"{total} of {total} functions")
    assert f"11 of {total} functions" in told


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_the_first_start_compiles_as_many_functions_as_it_says_and_llvm_warns_of_none(tmp_path):
    """In folders of their own; put the counts into FUNCTIONS where the numbers differ."""
    code = (
        "import sys\n"
        "from robot_dynamics import warm_up as w\n"
        "from robot_dynamics.compiler import cache\n"
        "for kind in (w.LOADER, sys.argv[1]):\n"
        "    before = w.compiled(cache.CACHE_FOLDER)\n"
        "    list(w.warm_up(kind))\n"
        "    after = w.compiled(cache.CACHE_FOLDER)\n"
        "    print(kind, after - before)\n"
    )
    counted = {}
    for kind in warm_up.KINDS[1:]:
        own = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / kind)}
        done = subprocess.run([sys.executable, "-c", code, kind], env=own, capture_output=True, text=True, check=True)
        assert "warning" not in done.stderr
        counted |= {name: int(count) for name, count in map(str.split, done.stdout.splitlines())}
    assert counted == warm_up.FUNCTIONS


@pytest.mark.parametrize(("variable", "folder"), [("1", True), ("0", False)], ids=["un-jitted", "nowhere to keep"])
def test_warming_up_in_vain_is_left_out(tmp_path, monkeypatch, variable, folder):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", variable)
    monkeypatch.setattr(cache, "CACHE_FOLDER", tmp_path if folder else None)
    monkeypatch.setattr(warm_up, "warm_up", lambda kind: pytest.fail("it began"))
    warm_up.warm_up_once(print, warm_up.LIMBS)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_ctrl_c_ends_the_process_that_compiles_beside_without_a_word():
    code = (
        "import functools, os, signal, subprocess\n"
        "from robot_dynamics import warm_up\n"
        "signal.signal(signal.SIGINT, lambda *_: os._exit(0))\n"
        "shown = {**os.environ, 'PYTHONPROFILEIMPORTTIME': '1'}\n"
        "warm_up.subprocess.Popen = functools.partial(subprocess.Popen, env=shown)\n"
        "steps = warm_up.warm_up(warm_up.LIMBS)\n"
        "next(steps), next(steps)\n"
        "signal.pause()"
    )
    pipe = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    both = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, **pipe)
    try:
        while not (line := both.stderr.readline()).endswith(" numpy\n"):
            assert line.startswith("import time:")
        os.killpg(both.pid, signal.SIGINT)
        assert all(line.startswith("import time:") for line in both.stderr)
        assert both.wait(60) == 0
    finally:
        both.kill()


@pytest.mark.skipif(not config.DISABLE_JIT, reason="compiles for minutes; test_launch does it")
@pytest.mark.parametrize(
    ("kind", "last"),
    [
        (warm_up.LIMBS, "rest of the plant"),
        (warm_up.TREES, "rest of the plant"),
        (warm_up.LIBRARY, "rollouts"),
    ],
)
def test_warming_up_calls_what_it_says(kind, last):
    assert list(warm_up.warm_up(kind))[-1] == last
