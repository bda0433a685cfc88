# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is written for several robots at once does in each lane what Python does with that lane's numbers."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from numba import config
from numba.core.errors import TypingError

from robot_dynamics import compiler
from robot_dynamics.compiler import (
    LANES,
    QUAD,
    Apart,
    Lanes,
    abreast,
    alike,
    anywhere,
    cache,
    combine,
    combine_rows,
    differ,
    each,
    inline,
    one_by_one,
    prefetch,
    reproducible,
    routine,
    spread,
)

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="asks for machine code")


@routine
def ways(x, n, out):
    """Ways that lanes part at, and names that they bring from there."""
    a, k = 0.0, n[0]
    if x[0] > 0.0:
        b = x[1]
        if k > 3:
            a = b
        elif k == 2:
            a = 2
    else:
        b = -x[1]
        a = x[2] if x[2] < 0.5 and k != 1 else 1.0
    out[0] = a
    out[1] = b
    out[2] = abs(x[3]) + min(x[0], x[1], 0.25) - max(k, x[2])
    out[3] = 1.0 if x[0] < x[1] <= x[2] or not k % 2 else math.floor(10.0 * x[3]) + k // 3
    out[4] = math.sqrt(abs(x[0])) + math.sin(x[1]) + int(3.0 * x[2])


@inline
def first_above(x, level):
    for i in range(x.shape[0]):
        if x[i] > level:
            return i, x[i]
    return -1, 0.0


@routine
def found(x, k):
    """Lanes that return early keep what they returned."""
    if k == 1:
        return -5.0
    for i in range(x.shape[0]):
        if i == k:
            return x[i]
        if x[i] < -0.5:
            continue
        if x[i] > 1.5:
            break
        x[i] += 0.125
    return float(k)


@routine
def loops(x, n, out):
    """Loops that lanes leave one by one, or end at different turns."""
    total, count, i = 0.0, 0, n[0]
    for k in range(n[0]):
        if x[k] < 0.0:
            continue
        if total > 2.0:
            break
        total += x[k]
        count += 1
    while i > 0:
        i -= 2 if total > 0.5 else 1
        total -= 0.25
    out[0] = total
    out[1] = count
    out[2] = i
    where, level = first_above(x, 0.3)
    out[3] = where
    out[4] = level
    out[5] = found(x, n[0])
    for k in range(n[0], 6):
        out[6] += k * x[k]
    for k in range(5, n[0] - 1, -1):
        out[7] = 0.5 * out[7] + x[k]


@routine
def places(x, n, out):
    """Elements that differ from lane to lane, rows of them, and what is the same for all of an index."""
    k = n[0]
    out[k] = x[(k + 2) % 6]
    out[k] += 1.0
    row = out[k % 2 :]
    row[1] = row[0] * 2.0
    for c in each(k):
        out[c] -= x[c]
        out[5] = c
    if anywhere(k == 4):
        out[6] = 1.0
    out[7] = 0.0
    for c in each(k % 3):
        for i in range(c):
            out[7] += x[i]


@routine
def within(x, k):
    """Lanes that return out of a turn, whether they share it or not."""
    for (m,) in alike(k):
        for i in range(m):
            if x[i] > 1.0:
                return x[i]
    for c in each(k):
        if x[c] < 0.0:
            return float(c)
    return -1.0


@routine
def common(x, n, out):
    """Turns that lanes share where they have the same numbers, and variables that go on behind them."""
    total, last = 0.0, -1
    for k, m in alike(n[0], n[0] % 2):
        for i in range(k):
            if x[i] < 0.0:
                continue
            total += x[i]
        if m == 1:
            out[k] = x[m]
        last = k + m
        for c in each(k + 6):
            out[c] = total
    for (k,) in alike(3):
        out[k] += x[k]
    if x[0] > 0.0:
        for (k,) in alike(n[0]):
            out[k] -= 0.5
    for deep, k in alike(n[0] > 1, n[0]):
        if deep:
            out[12] += x[k]
    out[13] = last
    out[14] = within(x, n[0])


@routine
def sums(x, n, out):
    """Rows of whole lanes, the first numbers of them, and of nothing."""
    combine(out, 0, QUAD, (x[0], 2.0), (x, 0, 1), (x[1],), (out, 0, 0))
    combine_rows((out, 4, 3), 3, 0.5, (((x[2],), (2.0,)), ((x[3],), (x[4],))), (x, n[0], 1), (x, 7, 1))
    combine(out, 10, 2, (), (x, 0, 1), (), (x, 0, 1))


@routine
def noted(x, n, log):
    """Numbers of an array of one's own: in rows, in a row that lanes part at, and under a condition."""
    for k in range(2):
        row = log[k]
        for j in range(3):
            row[j] = x[3 * k + j]
    log[n[0], 0] = x[6]
    if x[7] > 0.5:
        log[3, 1] = log[0, 2] + x[8]
    log[1:][1, 2] += x[9]


@routine
def copied(x, n, log):
    """Vectors, into rows of an array of one's own and of its lanes', of all lanes and of some."""
    prefetch(log[0], 3)
    prefetch(x, 3)
    log[0][:] = x[:13]
    log[1][2:9] = x[1:8]
    if n[0] > 3:
        log[2][:12] = x[3:15]
        x[9:11] = log[0][5:7]
    x[:4] = x[12:16]


@routine
def column(x, log):
    """What arrays apart have not: a part that is not of whole rows."""
    log[:, 0][1] = x[0]


PROGRAMS = (ways, loops, places, common)


def lanes_of(several):
    return Lanes(np.ascontiguousarray(np.moveaxis(np.array(several), 0, -1)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("program", PROGRAMS, ids=["ways", "loops", "places", "common"])
def test_each_lane_answers_as_python(program, seed, monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)
    wide = spread(program)

    def entry(x, n, out):
        wide(x, n, out)

    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 2.0, (LANES, 16))
    n = rng.integers(1, 6, (LANES, 1)) if seed else np.full((LANES, 1), 3)
    out = np.zeros((LANES, 16))
    mine = lanes_of(x), lanes_of(n), lanes_of(out)
    compiler.lean(entry)(*mine)
    expected = x.copy(), n.copy(), out.copy()
    for lane in range(LANES):
        program(*(values[lane] for values in expected))
    if program is places:
        expected[2][:, 6] = (n == 4).any()  # of all lanes
    for got, wanted in zip(mine, expected, strict=True):
        np.testing.assert_allclose(np.moveaxis(got.each, -1, 0), wanted, 1e-14, 1e-14)


def test_rows_of_whole_lanes_are_summed_in_each_lane(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)
    wide = spread(sums)

    def entry(x, n, out):
        wide(x, n, out)

    rng = np.random.default_rng(0)
    x, out = rng.standard_normal((LANES, 16)), rng.standard_normal((LANES, 16))
    first = np.ones((LANES, 1), np.int64)
    mine = lanes_of(x), lanes_of(first), lanes_of(out)
    compiler.lean(entry)(*mine)
    for lane in range(LANES):
        sums(x[lane], first[lane], out[lane])
    np.testing.assert_allclose(np.moveaxis(mine[2].each, -1, 0)[:, :12], out[:, :12], 1e-14, 1e-15)


def test_arrays_apart_are_each_lanes_own(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)
    wide = spread(noted)

    def entry(x, n, log):
        wide(x, n, log)

    rng = np.random.default_rng(0)
    x, n = rng.uniform(0.0, 1.0, (LANES, 16)), rng.integers(2, 6, (LANES, 1))
    logs = rng.standard_normal((LANES, 8, 3))
    expected = logs.copy()
    compiler.lean(entry)(lanes_of(x), lanes_of(n), Apart(logs[:, 1:7]))
    for lane in range(LANES):
        noted(x[lane], n[lane], expected[lane, 1:7])
    np.testing.assert_allclose(logs, expected, 1e-15, 1e-15)


def test_vectors_are_copied_to_each_lane(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)
    wide = spread(copied)

    def entry(x, n, log):
        wide(x, n, log)

    rng = np.random.default_rng(0)
    x, n, logs = rng.standard_normal((LANES, 16)), np.arange(LANES)[:, None] + 2, rng.standard_normal((LANES, 3, 13))
    mine, expected = (lanes_of(x), lanes_of(n), Apart(logs.copy())), (x.copy(), logs.copy())
    compiler.lean(entry)(*mine)
    for lane in range(LANES):
        copied(expected[0][lane], n[lane], expected[1][lane])
    assert np.array_equal(mine[0].each, expected[0].T)
    assert np.array_equal(mine[2].each, expected[1])


class Pile(NamedTuple):
    """Arrays of a robot."""

    own: np.ndarray
    x: np.ndarray


@one_by_one
def gathered(pile, count, share):
    """Sums abreast of an array of the robot's own, a column of one that stands among those of others."""
    total = 0.0
    for k in abreast(8):
        total += pile.own[k] * share
    for k in range(count):
        total += pile.x[k, 1]
        pile.own[k] = total
    pile.x[0, 0] = total
    return total, count > 3, 2 * count


@routine
def in_turn(own, x, n, out):
    """Some lanes call it, with numbers of theirs and of all."""
    if n[0] > 1:
        total, many, twice = gathered(Pile(own, x), n[0], 0.5)
        out[0], out[1], out[2] = total, 1.0 if many else 0.0, float(twice)
    _, _, six = gathered(Pile(own, x), 3, x[1, 0])
    out[3] = six
    out[4] = 1.0 if differ(six, n[0]) else 2.0


def test_lanes_call_one_after_the_other(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)
    wide = spread(in_turn)

    def entry(own, x, n, out):
        wide(own, x, n, out)

    rng = np.random.default_rng(0)
    own, x = rng.standard_normal((LANES, 8)), rng.standard_normal((LANES, 6, 2))
    n, out = rng.integers(1, 6, (LANES, 1)), np.zeros((LANES, 5))
    mine = Apart(own.copy()), lanes_of(x), lanes_of(n), lanes_of(out)
    compiler.lean(entry)(*mine)
    for lane in range(LANES):
        in_turn(own[lane], x[lane], n[lane], out[lane])
    out[:, 4] = 1.0  # of lanes
    for got, wanted in zip(mine[1:], (x, n, out), strict=True):
        np.testing.assert_allclose(np.moveaxis(got.each, -1, 0), wanted, 1e-14, 1e-14)
    np.testing.assert_allclose(mine[0].each, own, 1e-14, 1e-14)


@inline
def crossed(a, b, c, d):
    """Two products, one of which a sum may take in unrounded."""
    return a * b - c * d


@reproducible
def series(x, n, y):
    """Sums that may be ordered and products that may be fused in many ways, in loops of different lengths."""
    total, share = x[0] * x[1] + x[2] * x[3], 0.1 * x[4]
    for k in range(n[0]):
        part = crossed(x[k], total, x[k + 1], x[k + 2])
        more = part / x[5] + share * x[k] + part * part + x[6] / x[5] if part > 0.0 else total - x[k] * part
        total = more / (1.0 + more * more)
    combine(y, 0, QUAD, (1.0, total), (x, 0, 4), (share,), (x, 8, 0))
    return total + (share + x[7]) - x[7]


@one_by_one
def series_alone(x, n, y):
    return series(x, n, y)


@routine
def twice(x, n, y, own, alone, out):
    """The series of lanes together and one after the other."""
    out[0] = series(x, n, y)
    out[1] = series_alone(own, n, alone)


def test_numbers_are_the_same_in_lanes_and_one_by_one(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)
    wide = spread(twice)

    def entry(x, n, y, own, alone, out):
        wide(x, n, y, own, alone, out)

    compiled = compiler.lean(entry)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        x, n = rng.uniform(0.3, 1.0, (LANES, 16)), rng.integers(1, 12, (LANES, 1))
        y, alone, out = np.zeros((LANES, 4)), np.zeros((LANES, 4)), np.zeros((LANES, 2))
        mine = lanes_of(x), lanes_of(n), lanes_of(y), Apart(x), Apart(alone), lanes_of(out)
        compiled(*mine)
        assert np.isfinite(mine[5].each).all()
        assert mine[5].each[0].tobytes() == mine[5].each[1].tobytes(), seed
        assert mine[2].each.T.tobytes() == alone.tobytes(), seed
        expected = [series(x[lane], n[lane], y[lane]) for lane in range(LANES)]
        np.testing.assert_allclose(mine[5].each[0], expected, 1e-6)


def test_of_arrays_apart_only_rows_are_taken(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_FOLDER", None)
    wide = spread(column)

    def entry(x, log):
        wide(x, log)

    with pytest.raises(TypingError, match="of arrays apart only rows are taken"):
        compiler.lean(entry)(lanes_of(np.zeros((LANES, 16))), Apart(np.zeros((LANES, 8, 3))))
