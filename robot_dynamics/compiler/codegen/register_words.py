# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words on whole registers, as LLVM's vector instructions."""

from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir

from ..words import LANES, QUAD
from .arithmetic import Arithmetic, fused
from .values import DOUBLE, INT, Array, constant

ROW = ir.VectorType(DOUBLE, QUAD)
SQUARE_ROW = ir.VectorType(DOUBLE, LANES)
WORD = ir.IntType(32)


def _exchange(builder: ir.IRBuilder, a: Any, b: Any, s: int) -> list[Any]:
    """Rows a and b of a square, s rows apart, after exchanging its blocks of s x s beside the diagonal."""
    kind = ir.VectorType(WORD, LANES)
    upper = [k if not k & s else k - s + LANES for k in range(LANES)]
    lower = [k + s if not k & s else k + LANES for k in range(LANES)]
    return [builder.shuffle_vector(a, b, ir.Constant(kind, mask)) for mask in (upper, lower)]


def transposed(builder: ir.IRBuilder, square: Sequence[Any]) -> list[Any]:
    """Columns of a square of LANES x LANES numbers, of its rows."""
    lines = list(square)
    for s in (1 << k for k in range(LANES.bit_length() - 1)):
        for i in range(LANES):
            if not i & s:
                lines[i], lines[i + s] = _exchange(builder, lines[i], lines[i + s], s)
    return lines


def transpose(body: Arithmetic, x: Array, o: Any, across: Any, out: Array, p: Any, down: Any) -> None:
    """`words.transpose` in registers."""
    builder = body.builder

    def places(data: Any, first: Any, stride: Any) -> Iterator[Any]:
        for i in range(LANES):
            place = builder.add(constant(first), builder.mul(constant(stride), INT(i)))
            yield builder.bitcast(builder.gep(data, [place], inbounds=True), SQUARE_ROW.as_pointer())

    square = [builder.load(place, align=8) for place in places(x.data, o, across)]
    for line, place in zip(transposed(builder, square), places(out.data, p, down), strict=True):
        builder.store(line, place, align=8)


def _row(body: Arithmetic, array: Array, o: Any) -> Any:
    """Pointer to QUAD numbers of an array from place o on, in one register."""
    return body.builder.bitcast(body.builder.gep(array.data, [constant(o)], inbounds=True), ROW.as_pointer())


def _rows(body: Arithmetic, rows: Any, count: int) -> list[Any]:
    """QUAD numbers each of the first `count` of `rows`."""
    array, first, apart = rows
    places = (body.builder.add(constant(first), body.builder.mul(constant(apart), INT(k))) for k in range(count))
    return [body.builder.load(_row(body, array, o), align=8) for o in places]


def _splat(body: Arithmetic, x: Any) -> Any:
    """A number QUAD times."""
    alone = body.builder.insert_element(ir.Constant(ROW, ir.Undefined), body.converted(x, DOUBLE), WORD(0))
    first = ir.Constant(ir.VectorType(WORD, QUAD), [0] * QUAD)
    return body.builder.shuffle_vector(alone, ir.Constant(ROW, ir.Undefined), first)


def _weighted(body: Arithmetic, weights: Sequence[Any], vectors: Sequence[Any]) -> Any:
    """Sum of vectors times numbers."""
    if not vectors:
        return ir.Constant(ROW, [0.0] * QUAD)
    factors = [_splat(body, weight) for weight in weights]
    total = body.builder.fmul(factors[0], vectors[0])
    for factor, vector in zip(factors[1:], vectors[1:], strict=True):
        total = fused(body.builder, factor, vector, total)
    return total


def combine(body: Arithmetic, out: Array, q: Any, n: int, factors: Any, near: Any, more: Any, far: Any) -> None:
    """`words.combine`, QUAD numbers at once."""
    vectors = _rows(body, near, len(factors)) + _rows(body, far, len(more))
    body.builder.store(_weighted(body, (*factors, *more), vectors), _row(body, out, q), align=8)


def combine_rows(body: Arithmetic, rows: Any, n: int, g: Any, factors: Any, near: Any, far: Any) -> None:
    """`words.combine_rows`; a vector of `near` or `far` is read once for all rows."""
    out, q, down = rows
    those, others = factors[0]
    vectors = _rows(body, near, len(those)) + _rows(body, far, len(others))
    scale = _splat(body, g)
    totals = [body.builder.fmul(scale, _weighted(body, (*a, *b), vectors)) for a, b in factors]
    for r, total in enumerate(totals):
        place = body.builder.add(constant(q), body.builder.mul(constant(down), INT(r)))
        body.builder.store(total, _row(body, out, place), align=8)
