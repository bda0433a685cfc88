# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words that stand in the body of a kernel itself, which numba compiles: `stack`, `lane`, `to_lane`, `wide`."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array, populate_array

from . import words

VECTOR = types.Array(types.float64, 1, "C")


@type_callable(words.stack)
def _type_stack(context: Any) -> Callable[..., Any]:
    return lambda count: VECTOR if isinstance(count, types.IntegerLiteral) else None


@lower_builtin(words.stack, types.IntegerLiteral)
def _stack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    count = signature.args[0].literal_value
    with builder.goto_entry_block():
        data = builder.alloca(ir.ArrayType(ir.DoubleType(), count))
        data.align = 64
    out = make_array(VECTOR)(context, builder)
    size = context.get_constant(types.intp, count)
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


@type_callable(words.lane)
def _type_lane(context: Any) -> Callable[..., Any]:
    return lambda x, o: types.float64


@lower_builtin(words.lane, types.Array, types.Integer)
def _lane(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.load(builder.gep(data, [arguments[1]], inbounds=True))


@type_callable(words.to_lane)
def _type_to_lane(context: Any) -> Callable[..., Any]:
    return lambda x, o, value: types.void


@lower_builtin(words.to_lane, types.Array, types.Integer, types.Float)
def _to_lane(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = make_array(signature.args[0])(context, builder, arguments[0]).data
    builder.store(arguments[2], builder.gep(data, [arguments[1]], inbounds=True))
    return context.get_dummy_value()


@type_callable(words.wide)
def _type_wide(context: Any) -> Callable[..., Any]:
    return lambda: types.void


@lower_builtin(words.wide)
def _wide(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    set.add(builder.function.attributes, '"prefer-vector-width"="512"')  # llvmlite's own `add` does not know it
    return context.get_dummy_value()
