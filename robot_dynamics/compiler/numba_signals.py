# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words by which threads tell each other how far they are, in what numba compiles: its backend imports this."""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import lower_builtin, type_callable

from . import words
from .codegen import signals

NUMBERS = types.Array(types.int64, 1, "C")


@type_callable(words.publish)
def _type_publish(context: Any) -> Callable[..., Any]:
    return lambda x, o, value: types.void


@lower_builtin(words.publish, NUMBERS, types.Integer, types.Integer)
def _publish(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    value = context.cast(builder, arguments[2], signature.args[2], types.int64)
    builder.store_atomic(value, _place(context, builder, arguments), "release", 8)
    return context.get_dummy_value()


@type_callable(words.published)
def _type_published(context: Any) -> Callable[..., Any]:
    return lambda x, o: types.int64


@lower_builtin(words.published, NUMBERS, types.Integer)
def _published(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.load_atomic(_place(context, builder, arguments), "acquire", 8)


def _place(context: Any, builder: Any, arguments: Any) -> Any:
    array = context.make_helper(builder, NUMBERS, arguments[0])
    return builder.gep(array.data, [arguments[1]], inbounds=True)


@type_callable(words.give_way)
def _type_give_way(context: Any) -> Callable[..., Any]:
    return lambda: types.void


@lower_builtin(words.give_way)
def _give_way(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    signals.give_way(builder)
    return context.get_dummy_value()
