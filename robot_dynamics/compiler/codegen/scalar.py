# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Compiles a Python subset to LLVM IR: numbers, tuples and arrays, in a tenth of numba's time.

What is constant is folded at compile time: a constant condition takes its branch, and an inlined function gets its
arguments as they are, so that it may recurse on a shorter tuple. A variable that a loop assigns keeps the type that it
had before the loop. No run-time bounds, overflow or division checks (floats follow IEEE 754); what is known to be wrong
at compile time is refused. Any other Python is refused, with its file and line.
"""

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from .. import words
from . import register_words, signals
from .calling import NARROW, Written, ended, flat, is_bundle, received
from .statements import Statements
from .syntax import Function
from .values import DOUBLE, INT, Array, kind, rebuilt


class Body(Statements):
    """Writes the body of one function, and of those merged into it."""

    def merged(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function returns that is written here."""
        body = Body(function, self.builder, self.part, self.places)
        body.merge_into(self)
        return body.result(arguments)


BUILT_IN: dict[Any, Callable[..., Any]] = {
    len: lambda body, x: x.shape[0] if isinstance(x, Array) else len(x),
    slice: lambda body, begin, end: slice(begin, end),
    int: Body.whole,
    float: lambda body, x: body.converted(x, DOUBLE),
    abs: Body.absolute,
    min: lambda body, *x: body.extreme(ast.Lt(), *x),
    max: lambda body, *x: body.extreme(ast.Gt(), *x),
    math.sqrt: lambda body, x: body.intrinsic("llvm.sqrt", x),
    math.floor: lambda body, x: body.whole(body.intrinsic("llvm.floor", x)),
    math.sin: lambda body, x: body.library("sin", x),
    math.cos: lambda body, x: body.library("cos", x),
    math.atan2: lambda body, y, x: body.library("atan2", y, x),
    np.floor: lambda body, x: body.intrinsic("llvm.floor", x),
    np.rint: lambda body, x: body.intrinsic("llvm.rint", x),
    words.anywhere: lambda body, test: test,
    words.differ: lambda body, *x: False,
    words.stack: Body.stack,
    words.lane: Body.lane,
    words.to_lane: Body.to_lane,
    words.prefetch: lambda body, x, o: None,
    words.publish: signals.publish,
    words.published: signals.published,
    words.give_way: lambda body: signals.give_way(body.builder),
    words.transpose: register_words.transpose,
    words.combine: register_words.combine,
    words.combine_rows: register_words.combine_rows,
}
"""What is compiled otherwise than from its Python: called with the `Body` and the arguments."""
Body.built_in = BUILT_IN


def write(
    function: Function, like: Sequence[Any], name: str, part: Callable[..., Written], module: ir.Module
) -> Written:
    """Write a function for arguments like those given into a module. Raises Refused."""
    kinds = [kind(x) for x in flat(like, lambda bundle: INT.as_pointer()(None))]
    entry = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    set.add(entry.attributes, NARROW)  # llvmlite's own `add` does not know it
    if function.taken_in:
        entry.attributes.add("alwaysinline")
    elif any(map(is_bundle, like)):
        entry.attributes.add("noinline")  # LLVM's time grows faster than the length of what it has merged
    builder = ir.IRBuilder(entry.append_basic_block())
    places: dict[int, tuple[Any, Any]] = {}
    given = iter(entry.args)
    arguments = [received(builder, next(given), x, places) if is_bundle(x) else rebuilt(x, given) for x in like]
    result = Body(function, builder, part, places).result(arguments)
    return ended(entry, builder, result)
