# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words by which threads tell each other how far they are: LLVM's atomic instructions."""

from typing import Any

from llvmlite import ir

from .arithmetic import Arithmetic
from .syntax import Foreign
from .values import INT, Array, constant


def publish(body: Arithmetic, x: Array, o: Any, value: Any) -> None:
    """`words.publish`."""
    body.builder.store_atomic(body.converted(value, INT), _place(body, x, o), "release", 8)


def published(body: Arithmetic, x: Array, o: Any) -> Any:
    """`words.published`."""
    return body.builder.load_atomic(_place(body, x, o), "acquire", 8)


def _place(body: Arithmetic, x: Any, o: Any) -> Any:
    if not isinstance(x, Array) or x.element != INT or x.strides is not None:
        raise Foreign("expected an int64 array in C order")
    return body.builder.gep(x.data, [constant(o)], inbounds=True)


def give_way(builder: ir.IRBuilder) -> None:
    """`words.give_way`: POSIX's `sched_yield`."""
    name, kind = "sched_yield", ir.FunctionType(ir.IntType(32), [])
    builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), [])
