# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What kernels call answers as Python does, and what is not in its language is refused by its line."""

import math
import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from llvmlite import ir
from numba import config
from numba.core.errors import TypingError

from robot_dynamics import compiler
from robot_dynamics.compiler import (
    LANES,
    LINE,
    QUAD,
    abreast,
    cache,
    combine_rows,
    give_way,
    inline,
    lane,
    publish,
    published,
    routine,
    stack,
    strict,
    to_lane,
    transpose,
)
from robot_dynamics.compiler.codegen.loop_metadata import together

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="asks for machine code")

TABLE = np.array([[3, -1, 4], [1, -5, 9]])
PAIR = (2.0, 3.0)
HALVES = np.array([0.5, 1.5])
NAN = math.nan


@routine
def quotients(x, n, m):
    return n // m, n % m, n / m, -n // m, (n + 0.5) * m, n**2, x[0] ** 3, -x[1] + True


@routine
def comparisons(x, n, m):
    inside = x[0] < x[1] <= x[2] and n != m
    return inside, not inside or n in (m, 1, 4), n == m == 3, bool_of(n), x[0] != x[0]


@inline
def bool_of(n):
    return 1 if n else 0


@routine
def guarded(x, n, m):
    """Nothing behind `and`, `or` and `if` is touched in vain."""
    found = n < x.shape[0] and x[n] > 0.0
    lost = n >= x.shape[0] or x[n] <= 0.0
    return found, lost, x[n] if n < x.shape[0] else -1.0


@routine
def ways_out(x, n, m):
    for k in range(x.shape[0]):
        if x[k] < 0.0:
            continue
        if k == n:
            return k, x[k]
        if k > m:
            break
    if n > m:
        return -1, 0.0
    if n == m:
        return n, 1
    return n - m, x[0]


@routine
def loops(x, n, m):
    total, count, last, seen, pair = 0.0, 0, 0.0, False, PAIR
    for k in range(x.shape[0] - 1, -1, -2):
        for i in range(1, n, 3):
            if i == m:
                break
            total += x[k] * i
            count += x[k] > 0.0
        last = x[k]
        seen = seen or last > 0.5
        pair = pair[1], pair[0] + last
    i = 1
    while i < 100 and count >= 0:
        i *= 3
        if i % 2:
            continue
        count -= 1
    return total, count, last, seen, pair, i


@routine
def kinds(x, n, m):
    """Where ways meet, an integer becomes a number as it must."""
    if n > m:
        a, b = 1, x[0]
    else:
        a, b = 0.5, 2
    return a, b, 3 if n > 2 else 0.25, max(n, x[0]), min(1, n, m), max(x[0], x[1], 0.0)


@routine
def numbers(x, n, m):
    y = abs(x[0])
    return (
        math.sqrt(y),
        math.floor(x[1]),
        int(x[2] * 10.0),
        float(n),
        abs(n - m),
        math.sin(y),
        math.cos(y),
        np.rint(x[0]),
    )


@inline
def total_of(walk, parts, x):
    if len(parts) == 0:
        return 0.0, ()
    rest, squares = walk(walk, parts[1:], x)
    return parts[0] * x + rest, (parts[0] * parts[0], *squares)


@routine
def tuples(x, n, m):
    five = (x[0], x[1], 2.0, *PAIR)
    weighted = 0.0
    for k, part in enumerate(five):
        weighted += k * part
    (a, b), c = (five[1], five[-1]), five[n % 5]
    return total_of(total_of, five, x[2]), weighted, a, b, c


@routine
def arrays(x, n, m):
    square, room = stack(8, PAIR), stack(LINE)
    A = x[: 3 * 2]
    for k in range(16):
        to_lane(square, k, 0.0)
    for k in range(LINE):
        to_lane(room, k, lane(x, k % x.shape[0]))
    room[2:5] = 7.0
    square[3] += room[2] * TABLE[n % 2, m % 3]
    tail = room[n % 4 :]
    tail[0] -= 1.0
    return square[3], A.shape[0], tail.shape[0], tail[0], tail[1], room[n % 4], lane(room, 6)


@routine
def conditions(x, n, m):
    up, down = n > m, x[0] > 0.0
    return (
        (up < down, up <= down, up == down, up > True, -up, up + (m > 2), abs(n) * up),
        (min(up, down), max(n, up), min(NAN, x[0]), max(NAN, x[0]), min(x[0], NAN), max(x[0], NAN)),
        (PAIR is None, None is None, n in PAIR, (n, m)[up * 1], len(PAIR[n:] if n is None else PAIR[1:])),
    )


@inline
def counted(x):
    """How often it has been called, in x[6], which begins below 1."""
    x[6] = max(x[6], 0.0) + 1.0
    return int(x[6])


@routine
def effects(x, n, m):
    """Nothing is worked out twice, in another order or in vain."""
    x[counted(x)] += x[6]
    x[counted(x)] *= counted(x)
    chained = n < m < counted(x) or 0 <= n < x.shape[0] < counted(x) + n
    either = counted(x) if n > m else 0
    x[0], x[1] = x[1], x[0]
    a = b = counted(x)
    return chained, either, a, b, m + 1 < n <= counted(x) != 7


@routine
def names(x, n, m):
    """A loop's name keeps its last value, a branch's its own; what is called as something outside is not that."""
    k, PAIR, sign = -1, (x[0], 7.0), 0.0 if n > m else -0.0
    for k in range(n, m):
        k += 10
        for k in range(2):
            x[k] += 1.0
        PAIR = PAIR[1], PAIR[0] * k
    if n > m:
        for i in range(m):
            k += i
        else_too = 1
    else:
        else_too = 2.5
    while n < m:
        n += 1
        m -= k < 100
    return k, PAIR, first_above(PAIR, 3.0), else_too, n, m, turned(sign)


@inline
def first_above(parts, least):
    for i, x in enumerate(parts):
        if x > least:
            return i
        if i == 1:
            return -1
    return -2


@strict
def turned(sign):
    return math.atan2(sign, -1.0)


PROGRAMS = (
    quotients, comparisons, guarded, ways_out, loops, kinds, numbers, tuples, arrays, conditions, effects, names,
)  # fmt: skip


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)

    def compile_entry(function):
        def entry(*arguments):
            return function(*arguments)

        return compiler.lean(entry)

    return compile_entry


def flat(x):
    return [n for part in x for n in flat(part)] if isinstance(x, tuple) else [x]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: getattr(f, "py_func", f).__name__)
def test_machine_code_answers_as_python(program, compiled):
    entry = compiled(program)
    rng = np.random.default_rng(0)
    cases = [(rng.uniform(-2.0, 2.0, 7), int(n), int(m)) for n, m in rng.integers(1, 9, (40, 2))]
    got = [(flat(entry(x := np.copy(given), n, m)), x) for given, n, m in cases]
    for (theirs, n, m), (answer, mine) in zip(cases, got, strict=True):
        expected = flat(program(theirs, n, m))
        np.testing.assert_allclose(np.array(answer, dtype=float), np.array(expected, dtype=float), 1e-14, 1e-14)
        np.testing.assert_allclose(mine, theirs, 1e-14, 1e-14)


@routine
def matrices(A, i, j, out):
    """Rows, columns, blocks, transposed; `out` (3, 4) is overwritten."""
    out[:, :] = -1.0
    turned, column, block = A.T, A[:, j], A[i:, 1:]
    out[0, :] = column[i]
    for k in range(A.shape[0]):
        out[1, k] = turned[j, k] + block[A.shape[0] - i - 1, 1]
        out[2, k] += 2.0 * A[k][j] + A.T[1:][0, k]
    column[0] = 5.0
    return block.shape[0], turned.shape[1], block.T[1, 0]


@pytest.mark.parametrize("order", ["C", "F", "every second"])
def test_parts_of_matrices_are_those_of_python(order, compiled):
    entry = compiled(matrices)
    rng = np.random.default_rng(0)
    for i, j in np.ndindex(3, 4):
        A = rng.standard_normal((6, 8))[::2, ::2] if order == "every second" else rng.standard_normal((3, 4))
        mine, theirs = (np.copy(A, order=order[0]) if len(order) == 1 else np.array(A) for _ in range(2))
        if order == "every second":
            mine = np.repeat(np.repeat(mine, 2, 0), 2, 1)[::2, ::2]
        outs = np.empty((2, 3, 4))
        assert entry(mine, i, j, outs[0]) == matrices(theirs, i, j, outs[1])
        np.testing.assert_allclose(outs[0], outs[1], 1e-14, 1e-14)
        assert np.array_equal(mine, theirs)


class Cup(NamedTuple):
    """A bundle within another one."""

    x: np.ndarray
    weight: float


class Tray(NamedTuple):
    """A bundle."""

    square: np.ndarray
    count: int
    cup: Cup
    full: bool


@routine
def weighed(cup, share):
    cup.x[1] += share * cup.weight
    return cup.x[1]


@routine
def laid(tray):
    return tray.square[tray.count, 1] if tray.full else -tray.cup.weight


@routine
def served(tray, share):
    total = 0.0
    for k in range(tray.count):
        total += weighed(tray.cup, share) + laid(tray) + weighed(Cup(tray.square[k], 1.0), 2.0)
    return total


@pytest.mark.parametrize("full", [True, False])
def test_a_bundle_is_what_it_was_where_it_arrives(full, monkeypatch):
    def serve(square, x, share, full):
        return served(Tray(square, 2, Cup(x, 0.5), full), share)

    monkeypatch.setattr(cache, "CACHE_FOLDER", None)

    rng = np.random.default_rng(0)
    square, x = rng.standard_normal((3, 4)), rng.standard_normal(3)
    others = square.copy(), x.copy()
    assert compiler.lean(serve)(square, x, 0.25, full) == pytest.approx(serve(*others, 0.25, full), rel=1e-14)
    assert np.array_equal(square, others[0])
    assert np.array_equal(x, others[1])


@routine
def with_try(x, n, m):
    try:
        return x[n]
    finally:
        n += 1


@inline
def with_default(a, b=1):
    return a + b


REFUSED = [
    ("y = x[-1]", "negative"),
    ("y = x[:-1]", "negative"),
    ("y = stack(8)[8]", "behind the end"),
    ("y = stack(8)[2:9]", "behind the end"),
    ("y = x[3:2]", "a slice from 3 to 2"),
    ("y = x[::2]", "no step"),
    ("y = x[n > m]", "got a condition"),
    ("y = x[x[0]]", "got a float"),
    ("y = x[None]", "got None"),
    ("y = x[n, m]", "2 indices of an array"),
    ("y = PAIR[0, 1]", "a tuple has one index"),
    ("y = PAIR[n > m]", "got a condition"),
    ("y = (n, PAIR)[n]", "got a tuple"),
    ("y = n or 5", "conditions only"),
    ("y = n > m and x[0]", "conditions only"),
    ("y = not x", "neither true nor false"),
    ("y = n // 0", "division by 0"),
    ("y = x[0] % 2.0", "only integers"),
    ("y = n**m", "exponent"),
    ("y = x[0] ** 0.5", "exponent"),
    ("y = ~n", "Invert"),
    ("y = n & m", "BitAnd"),
    ("y = n not in (1, 2)", "NotIn"),
    ("y = n in x", "expected a tuple, got an array"),
    ("y = n is m", "only None"),
    ("y = (n, m) == (m, n)", "expected numbers, got a tuple"),
    ("y = x + x", "expected numbers, got an array"),
    ("y = PAIR + PAIR", "expected numbers, got a tuple"),
    ("y = n + None", "expected numbers, got None"),
    ("y = x[0] * '2'", "expected numbers, got '2'"),
    ("y = max(PAIR)", "several"),
    ("y = max(n, m, key=abs)", "by their place"),
    ("y = abs(PAIR)", "expected numbers"),
    ("y = math.exp(x[0])", "exp is not a function of the language"),
    ("y = tuple(x)", "tuple is not a function of the language"),
    ("y = bool_of(n, m)", "bool_of(n) is given 2 arguments"),
    ("y = with_default(n)", "with_default may only have plain arguments"),
    ("y = x.size", "an array has no size"),
    ("y = n.real", "a number has no real"),
    ("y = [n, m]", "List"),
    ("y = HALVES[0]", "float64"),
    ("y = stack(n)", "not known"),
    ("y = stack(8, n)", "not known"),
    ("y = lane(counts, 0)", "float64 array in C order"),
    ("publish(x, 0, n)", "int64 array in C order"),
    ("y = published(x, n)", "int64 array in C order"),
    ("y = x[0] if n > m else (x[0], x[1])", "a number and a tuple"),
    ("y = unknown", "unknown may have no value"),
    ("y: int = 3", "AnnAssign"),
    ("a, b = x", "expected a tuple, got an array"),
    ("a, b, c, d = x", "expected a tuple, got an array"),
    ("a, b = n, m, n", "2 names for 3 values"),
    ("a, *b = n, m", "only names"),
    ("math.pi = x[0]", "only names"),
    ("counts[:] = x", "expected numbers, got an array"),
    ("x[:3] = x[1:3]", "2 numbers into 3"),
    ("x[0] = x", "expected numbers, got an array"),
    ("x[:2] += 1.0", "expected one element"),
    ("TABLE[0, 0] = n", "only read"),
    ("counts[0] = 1.5", "a float cannot become an integer"),
    ("counts[0] += x[0]", "a float cannot become an integer"),
    ("counts[:] = x[0]", "a float cannot become an integer"),
    ("marks[0] = n", "an integer cannot become a condition"),
    ("assert n > m", "Assert"),
    ("raise ValueError", "Raise"),
    ("del n", "Delete"),
    ("try:\n    n = 1\nfinally:\n    m = 1", "Try"),
    ("while n > m:\n    break\nelse:\n    n = 1", "no `else`"),
    ("for k in range(n):\n    break\nelse:\n    n = 1", "no `else`"),
    ("for k in range(n, m, 0):\n    break", "not 0"),
    ("for k in range(0, n, m):\n    break", "its step known"),
    ("for k in range(x[0]):\n    break", "integers"),
    ("for y in x:\n    break", "expected a loop over"),
    ("for i, y in enumerate(x):\n    n = i", "expected a tuple, got an array"),
    ("for k in range(n):\n    for y in enumerate(PAIR):\n        if n > m:\n            break", "all its turns"),
    ("for k in range(n):\n    for y in enumerate(PAIR):\n        if n > m:\n            continue", "all its turns"),
    ("for k in range(n):\n    y = k\nn = k", "k may have no value"),
    ("for k in range(n):\n    if k > 0:\n        m += y\n    y = k", "y may have no value"),
    ("if n > m:\n    y = 1\nn = y", "y may have no value"),
    ("n = LANES\nLANES = 3", "LANES may have no value"),
    ("total = 0\nfor k in range(n):\n    total += x[k]", "a float cannot become an integer"),
    ("seen = False\nfor k in range(n):\n    seen = k", "an integer cannot become a condition"),
    ("a = x[0]\nfor k in range(n):\n    a = (a, a)", "a becomes something else"),
]


def names_of(lines):
    return lines.replace("\n", "; ") if isinstance(lines, str) else ""


@pytest.mark.parametrize(("lines", "why"), REFUSED, ids=names_of)
def test_what_is_not_in_the_language_is_refused_by_its_line(lines, why, compiled, tmp_path):
    path, found = tmp_path / "program.py", dict(globals())
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    path.write_text(f'def program(x, n, m, counts, marks):\n    """What it is for."""\n{indented}    return 0\n')
    exec(compile(path.read_text(), path, "exec"), found)
    with pytest.raises(TypingError) as refused:
        compiled(routine(found["program"]))(np.zeros(7), 1, 2, np.zeros(2, np.int64), np.zeros(2, bool))
    message = str(refused.value)
    place = re.search(rf"{path}:(\d+): cannot be written for a kernel: (.*) \((.*)\)", message)
    assert place is not None, message
    line, quoted = (re.sub(r"[ ()]", "", x) for x in (path.read_text().splitlines()[int(place[1]) - 1], place[2]))
    assert line[:4] == quoted[:4]  # but for parentheses that Python 3.10 puts around tuples
    assert why in place[3]


def test_arguments_that_are_not_in_the_language_are_named(compiled):
    with pytest.raises(TypingError, match=r"expected float64, int64, boolean.*got array\(float32"):
        compiled(counted)(np.zeros(7, np.float32))
    with pytest.raises(TypingError, match=r"bool_of\(n\) is given 2 arguments"):
        compiled(bool_of)(1, 2)


def test_functions_of_one_name_are_two(compiled):
    def times(factor):
        @routine
        def product(x):
            return factor * x

        return product

    twice, thrice = times(2.0), times(3.0)

    @routine
    def both(x):
        return twice(x), thrice(x)

    assert compiled(both)(1.0) == (2.0, 3.0)


def test_a_square_of_lanes_is_transposed(compiled):
    @routine
    def turn(x, across, out, down):
        transpose(x, 2, across, out, 3, down)

    x, (mine, theirs) = np.random.default_rng(0).standard_normal(90), np.zeros((2, 90))
    compiled(turn)(x, 11, mine, 9)
    turn(x, 11, theirs, 9)
    assert np.array_equal(mine, theirs)
    assert np.count_nonzero(mine) == LANES * LANES


@routine
def echo(mine, theirs, count):
    """Publish 1, 2, .. in turn with another thread; returns the sum of what that one wrote before it published."""
    total = 0
    for k in range(1, count + 1):
        mine[1] = k * k
        publish(mine, 0, k)
        while published(theirs, 0) != k:
            give_way()
        total += theirs[1]
        publish(mine, 2, k)
        while published(theirs, 2) != k:
            give_way()
    return total


def test_threads_read_what_others_wrote_before_they_published(compiled):
    entry, (one, two), count = compiled(echo), np.zeros((2, LINE), np.int64), 100
    entry(one, one, 1)
    one[:] = 0
    with ThreadPoolExecutor(2) as pool:
        sums = list(pool.map(entry, (one, two), (two, one), (count, count)))
    assert sums == 2 * [sum(k * k for k in range(1, count + 1))]


def vectors_in(kernel):
    (assembly,) = kernel.inspect_asm().values()
    return assembly.count("vmulpd") + assembly.count("vfmadd")


FOUR_ABREAST = """
import re
import numpy as np
from robot_dynamics.compiler import abreast, cache, lane, lean, routine, to_lane

cache.CACHE_FOLDER = None

@routine
def products(x, near, far, count):
    for k in abreast(count):
        a, b = lane(x, near + k), lane(x, far + k)
        to_lane(x, far + k, a * b + a)

@lean
def entry(x, count):
    products(x, 0, 20, count)

entry(np.zeros(40), 4)
(code,) = entry.inspect_llvm().values()
print(*re.findall(r"%min[.]iters[.]check = icmp ult i64 [^ ]+, ([0-9]+)", code))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of this architecture")
@pytest.mark.parametrize("processor", ["haswell", "znver3", "znver4", "skylake-avx512"])
def test_four_iterations_abreast_fill_a_vector_on_every_processor(processor, tmp_path):
    """Left to itself LLVM asks for eight on some of them, and the four limbs of a robot go one by one."""
    script = tmp_path / "four_abreast.py"
    script.write_text(FOUR_ABREAST)
    own = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "ROBOT_DYNAMICS_BACKEND": "llvm"}
    environment = os.environ | own
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["4"], done.stderr


def test_a_loop_abreast_becomes_vectors_where_llvm_could_not_know(compiled):
    """It cannot tell that what is written at one place is not read at another; of two such loops each has its own."""

    @routine
    def squares(x, near, far, count):
        for k in abreast(count):
            to_lane(x, far + k, lane(x, near + k) * lane(x, near + k))
        for k in abreast(count):
            to_lane(x, near + k, 3.0 * lane(x, far + k) * lane(x, far + k))

    @routine
    def one_by_one(x, near, far, count):
        for k in range(count):
            to_lane(x, far + k, lane(x, near + k) * lane(x, near + k))

    x, expected = np.arange(40.0), np.arange(40.0)
    together, alone = compiled(squares), compiled(one_by_one)
    together(x, 1, 21, 16)
    expected[21:37] = expected[1:17] ** 2
    expected[1:17] = 3.0 * expected[21:37] ** 2
    assert np.array_equal(x, expected)
    alone(x, 1, 21, 16)
    assert vectors_in(together) >= 2 > vectors_in(alone)


def test_a_loop_abreast_may_sum_and_remember(compiled):
    @routine
    def figures(x, count):
        total, largest, above, last = 0.0, 0.0, 0, 0.0
        for k in abreast(count):
            v = lane(x, k)
            to_lane(x, k, v - last)  # of the iteration before
            total += v
            largest = max(largest, abs(v))
            above += 1 if v > 0.0 else 0
            last = v
        return total, largest, above, last

    x = np.random.default_rng(0).standard_normal(37)
    for count in (0, 1, 7, 37):
        mine = x.copy()
        total, largest, above, last = compiled(figures)(mine, count)
        assert total == pytest.approx(x[:count].sum(), rel=1e-14)
        assert (largest, above) == (np.abs(x[:count]).max(initial=0.0), np.count_nonzero(x[:count] > 0.0))
        assert last == (x[count - 1] if count else 0.0)
        assert np.array_equal(mine[:count], np.diff(x[:count], prepend=0.0))


def test_what_llvm_is_told_of_a_loop_abreast_is_about_arrays_alone():
    number = ir.DoubleType()
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [number.as_pointer()]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    variable = builder.alloca(number)
    element = builder.gep(function.args[0], [ir.IntType(64)(1)])
    accesses = [builder.load(p) for p in (variable, element)]
    accesses += [builder.store(accesses[0], p) for p in (variable, element)]
    together(module, [builder.block])
    assert ["llvm.access.group" in x.metadata for x in accesses] == [False, True] * 2


def test_rows_of_lanes_are_combined(compiled):
    @routine
    def rows(x, y, out):
        combine_rows((out, 1, 20), QUAD, 0.5, (((x[0], 2.0), (y[1],)), ((x[1], 3.0), (y[2],))), (x, 3, 9), (y, 4, 0))

    rng = np.random.default_rng(0)
    x, y, (mine, theirs) = rng.standard_normal(30), rng.standard_normal(30), np.zeros((2, 40))
    compiled(rows)(x, y, mine)
    rows(x, y, theirs)
    np.testing.assert_allclose(mine, theirs, atol=1e-15)
    assert np.count_nonzero(mine) == 2 * QUAD
