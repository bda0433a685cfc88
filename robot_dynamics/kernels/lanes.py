# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Loops over SIMD lanes: workspaces on the stack, and tuples read from and written to them.

A lane array is flat; number k of a lane stands at `k * LANES + lane`, so that one vector instruction serves all lanes.
LLVM turns a loop over lanes into such instructions when it has no branch, no index has a sign to check and what is
written cannot overlap what is read: hence raw loads and stores, and results collected on the stack.
"""

import math

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from .jit import inline
from .language import BUILT_IN, DOUBLE, INT, LANES, QUAD, Body, constant
from .wide import Wide

FUSED = ("nsz", "contract")
"""A factor of `combine` is multiplied and added at once."""


def whole(n: int) -> int:
    """Answer how long a row must be that `combine` writes `n` numbers of: whole lanes."""
    return (n + LANES - 1) // LANES * LANES


def aligned(shape, kind=np.float64):
    """Zeros that begin with a cache line, where a vector is read and written at once."""
    size = 8 * math.prod(shape)
    memory = np.zeros(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + size].view(kind).reshape(shape)


def _stack(context, count):
    """Uninitialised float64 array of `count` numbers (a compile-time constant) on the stack."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    array = types.Array(types.float64, 1, "C")

    def codegen(context, builder, signature, arguments):
        with builder.goto_entry_block():
            data = builder.alloca(ir.ArrayType(ir.DoubleType(), count.literal_value))
            data.align = 64
        out = make_array(array)(context, builder)
        size = context.get_constant(types.intp, count.literal_value)
        eight = context.get_constant(types.intp, 8)
        populate_array(
            out,
            data=builder.bitcast(data, ir.DoubleType().as_pointer()),
            shape=cgutils.pack_array(builder, [size]),
            strides=cgutils.pack_array(builder, [eight]),
            itemsize=eight,
            meminfo=None,
        )
        return out._getvalue()

    return array(count), codegen


def _lane(context, x, o):
    """x[o] of a contiguous float64 array, o >= 0 and in range."""

    def codegen(context, builder, signature, arguments):
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.gep(data, [arguments[1]], inbounds=True))

    return types.float64(x, types.intp), codegen


def _to_lane(context, x, o, value):
    """x[o] = value under the conditions of `lane`."""

    def codegen(context, builder, signature, arguments):
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store(arguments[2], builder.gep(data, [arguments[1]], inbounds=True))
        return context.get_dummy_value()

    return types.void(x, types.intp, types.float64), codegen


def _exchange(builder, a, b, s):
    """Rows a and b of a square, s rows apart, after exchanging its blocks of s x s beside the diagonal."""
    kind = ir.VectorType(ir.IntType(32), LANES)
    upper = [k if not k & s else k - s + LANES for k in range(LANES)]
    lower = [k + s if not k & s else k + LANES for k in range(LANES)]
    return [builder.shuffle_vector(a, b, ir.Constant(kind, mask)) for mask in (upper, lower)]


def _transposed(body, x, o, across, out, p, down):
    """out[p + j down + i] = x[o + i across + j] for i, j < LANES, in registers."""
    builder = body.builder
    row = ir.VectorType(ir.DoubleType(), LANES).as_pointer()

    def places(data, first, stride):
        for i in range(LANES):
            place = builder.add(constant(first), builder.mul(constant(stride), INT(i)))
            yield builder.bitcast(builder.gep(data, [place], inbounds=True), row)

    square = [builder.load(place, align=8) for place in places(x.data, o, across)]
    for s in (1, 2, 4):
        for i in range(LANES):
            if not i & s:
                square[i], square[i + s] = _exchange(builder, square[i], square[i + s], s)
    for line, place in zip(square, places(out.data, p, down), strict=True):
        builder.store(line, place, align=8)


ROW = ir.VectorType(DOUBLE, QUAD)


def _row(body, array, o):
    """Pointer to QUAD numbers of an array from place o on, in one register."""
    return body.builder.bitcast(body.builder.gep(array.data, [constant(o)], inbounds=True), ROW.as_pointer())


def _rows(body, array, first, apart, count):
    """QUAD numbers each of `count` rows."""
    places = (body.builder.add(constant(first), body.builder.mul(constant(apart), INT(k))) for k in range(count))
    return [body.builder.load(_row(body, array, o), align=8) for o in places]


def _everywhere(body, x):
    """A number QUAD times."""
    alone = body.builder.insert_element(ir.Constant(ROW, ir.Undefined), body.converted(x, DOUBLE), ir.IntType(32)(0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), QUAD), [0] * QUAD)
    return body.builder.shuffle_vector(alone, ir.Constant(ROW, ir.Undefined), first)


def _weighted(body, weights, vectors):
    """Sum of vectors times numbers."""
    total = ir.Constant(ROW, [0.0] * QUAD)
    for weight, vector in zip(weights, vectors, strict=True):
        term = body.builder.fmul(_everywhere(body, weight), vector, flags=FUSED)
        total = body.builder.fadd(total, term, flags=FUSED)
    return total


def _combined(body, out, q, factors, x, o, apart, more, y, p, step):
    """`combine` by vector instructions."""
    vectors = _rows(body, x, o, apart, len(factors)) + _rows(body, y, p, step, len(more))
    body.builder.store(_weighted(body, (*factors, *more), vectors), _row(body, out, q), align=8)


def _combined_rows(body, out, q, down, g, factors, x, o, apart, y, p, step):
    """`combine_rows` by vector instructions."""
    near, far = factors[0]
    vectors = _rows(body, x, o, apart, len(near)) + _rows(body, y, p, step, len(far))
    scale = _everywhere(body, g)
    totals = [body.builder.fmul(scale, _weighted(body, (*a, *b), vectors), flags=FUSED) for a, b in factors]
    for r, total in enumerate(totals):
        place = body.builder.add(constant(q), body.builder.mul(constant(down), INT(r)))
        body.builder.store(total, _row(body, out, place), align=8)


def transpose(x, o, across, out, p, down):
    """out[p + j down + i] = x[o + i across + j] for i, j < LANES."""
    for i in range(LANES):
        out.flat[p + i : p + i + LANES * down : down] = x.flat[o + i * across : o + i * across + LANES]


def combine(out, q, factors, x, o, apart, more, y, p, step):
    """out[q:] = sum_k factors[k] x[o + k apart :] + sum_k more[k] y[p + k step :], QUAD numbers of each."""
    total = np.zeros(QUAD)
    for weights, flat, first, stride in ((factors, x.flat, o, apart), (more, y.flat, p, step)):
        for k, weight in enumerate(weights):
            total += weight * flat[first + k * stride :][:QUAD]
    out.flat[q : q + QUAD] = total


def combine_rows(out, q, down, g, factors, x, o, apart, y, p, step):
    """`combine` times g for several rows of `out`, `down` apart: factors holds those of x and of y for each."""
    for r, (near, far) in enumerate(factors):
        combine(out, q + r * down, tuple(g * k for k in near), x, o, apart, tuple(g * k for k in far), y, p, step)


def _lane_indexed(x, o):
    """`lane` un-jitted."""
    return x.flat[o]


def _to_lane_indexed(x, o, value):
    """`to_lane` un-jitted."""
    x.flat[o] = value


def _wide(context):
    """Fill 512-bit registers where there are any: LLVM stops at 256 on processors that clock down for more."""

    def codegen(context, builder, signature, arguments):
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')  # llvmlite's own `add` does not know it
        return context.get_dummy_value()

    return types.void(), codegen


def _nothing():
    """Stand for `wide` un-jitted."""


if config.DISABLE_JIT:
    wide = _nothing
    stack = np.empty
    lane = _lane_indexed
    to_lane = _to_lane_indexed
else:
    wide = intrinsic(_wide)
    stack = intrinsic(prefer_literal=True)(_stack)
    lane = intrinsic(_lane)
    to_lane = intrinsic(_to_lane)
    BUILT_IN.update({stack: Body.stack, lane: Body.lane, to_lane: Body.to_lane})
    BUILT_IN.update({transpose: _transposed, combine: _combined, combine_rows: _combined_rows})
    Wide.built_in.update({stack: Wide.stack, lane: Wide.lane, to_lane: Wide.to_lane, combine: Wide.combine})


@inline
def lane3(x, o):
    """Three numbers of one lane."""
    return (lane(x, o), lane(x, o + LANES), lane(x, o + 2 * LANES))


@inline
def lane6(x, o):
    """Six numbers of one lane."""
    return (*lane3(x, o), *lane3(x, o + 3 * LANES))


@inline
def lane9(x, o):
    """Nine numbers of one lane."""
    return (*lane6(x, o), *lane3(x, o + 6 * LANES))


@inline
def quad3(x, o):
    """Three numbers of one of QUAD lanes."""
    return (lane(x, o), lane(x, o + QUAD), lane(x, o + 2 * QUAD))


@inline
def quad6(x, o):
    """Six numbers of one of QUAD lanes."""
    return (*quad3(x, o), *quad3(x, o + 3 * QUAD))


@inline
def quad9(x, o):
    """Nine numbers of one of QUAD lanes."""
    return (*quad6(x, o), *quad3(x, o + 6 * QUAD))


@inline
def to_quad3(x, o, v):
    """Write three numbers of one of QUAD lanes."""
    to_lane(x, o, v[0])
    to_lane(x, o + QUAD, v[1])
    to_lane(x, o + 2 * QUAD, v[2])


@inline
def to_quad6(x, o, v):
    """Write six numbers of one of QUAD lanes."""
    to_quad3(x, o, (v[0], v[1], v[2]))
    to_quad3(x, o + 3 * QUAD, (v[3], v[4], v[5]))


@inline
def to_quad9(x, o, v):
    """Write nine numbers of one of QUAD lanes."""
    to_quad6(x, o, (v[0], v[1], v[2], v[3], v[4], v[5]))
    to_quad3(x, o + 6 * QUAD, (v[6], v[7], v[8]))


@inline
def to_lane3(x, o, v):
    """Write three numbers of one lane."""
    to_lane(x, o, v[0])
    to_lane(x, o + LANES, v[1])
    to_lane(x, o + 2 * LANES, v[2])


@inline
def to_lane6(x, o, v):
    """Write six numbers of one lane."""
    to_lane3(x, o, (v[0], v[1], v[2]))
    to_lane3(x, o + 3 * LANES, (v[3], v[4], v[5]))


@inline
def to_lane9(x, o, v):
    """Write nine numbers of one lane."""
    to_lane3(x, o, (v[0], v[1], v[2]))
    to_lane3(x, o + 3 * LANES, (v[3], v[4], v[5]))
    to_lane3(x, o + 6 * LANES, (v[6], v[7], v[8]))
