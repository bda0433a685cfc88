# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What kernels call, written for LANES robots at once: one number of each in a vector, one lane per robot.

The functions are those of `language`, and so are their sentences. A value is the same for all lanes, or varies: then
its numbers are vectors. A condition that varies has both its ways gone, each by the lanes that it holds for: the other
lanes keep what they had. An array that is `Laned` holds a vector for each of its elements, all other arrays belong to
all lanes and are only read.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from .. import words
from .calling import Written, ended, flat, is_bundle, packed, received
from .scalar import BUILT_IN
from .syntax import Function
from .values import BIT, DOUBLE, INT, constant, kind, numbers, rebuilt
from .vector_arithmetic import MASK, SPREAD, everywhere, varies
from .vector_arrays import turn_numbers
from .vector_control import VectorControl


class Wide(VectorControl):
    """Writes the body of one function for LANES robots."""

    def merged(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function returns that is written here."""
        body = Wide(function, self.builder, self.part, self.places, self.mask(), self.full())
        body.merge_into(self)
        return body.result(arguments)

    def apart(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function returns that is written elsewhere; it is told which lanes are at work, unless all are."""
        if function.one_by_one:
            return self.in_turn(function, arguments)
        masked = not self.full()
        mask = [self.builder.bitcast(self.mask(), MASK)] if masked else []
        return self.handed(self.part(function, arguments, masked), [*mask, *flat(arguments, self.where)])

    def in_turn(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function of one robot returns, called for one lane at work after the other."""
        builder = self.builder
        rest, head, end = self.while_some_wait(self.mask())
        waiting, o = self.first_waiting(rest)
        given = [self.of_lane(x, o) for x in arguments]
        result = self.handed(self.part(function, given, False), flat(given, partial(packed, builder)))
        places = [self.alloca(SPREAD[kind(x)]) for x in numbers(result)]
        for x, place in zip(numbers(result), places, strict=True):
            builder.store(builder.insert_element(builder.load(place), constant(x), o), place)
        builder.store(builder.insert_element(waiting, BIT(0), o), rest)
        builder.branch(head)
        builder.position_at_end(end)
        return rebuilt(result, iter([builder.load(place) for place in places]))


Wide.built_in = BUILT_IN | {
    words.anywhere: Wide.anywhere,
    words.differ: lambda body, *x: varies(*x),
    words.stack: Wide.stack,
    words.lane: Wide.lane,
    words.to_lane: Wide.to_lane,
    words.combine: Wide.combine,
    words.combine_rows: Wide.combine_rows,
    words.prefetch: Wide.prefetch,
    turn_numbers: Wide.turned,
    int: Wide.whole,
    float: lambda body, x: body.converted(x, SPREAD[DOUBLE] if varies(x) else DOUBLE),
    abs: Wide.absolute,
}


def write_wide(
    function: Function, like: Sequence[Any], name: str, part: Any, module: ir.Module, masked: bool
) -> Written:
    """Write a function for LANES robots; `masked`: it is told which lanes are at work."""
    kinds = [kind(x) for x in flat(like, lambda bundle: INT.as_pointer()(None))]
    given_kinds = [MASK, *kinds] if masked else kinds
    entry = ir.Function(module, ir.FunctionType(ir.VoidType(), given_kinds), name)
    set.add(entry.attributes, '"prefer-vector-width"="512"')  # as in `lanes.wide`
    set.add(entry.attributes, '"stackrealign"')  # else LLVM may spill vectors across two cache lines each
    if function.taken_in:
        entry.attributes.add("alwaysinline")
    else:
        entry.attributes.add("noinline")
    builder = ir.IRBuilder(entry.append_basic_block())
    places: dict[int, tuple[Any, Any]] = {}
    given = iter(entry.args)
    mask = builder.bitcast(next(given), SPREAD[BIT]) if masked else everywhere(BIT, 1)
    arguments = [received(builder, next(given), x, places) if is_bundle(x) else rebuilt(x, given) for x in like]
    result = Wide(function, builder, part, places, mask, not masked).result(arguments)
    return ended(entry, builder, result)
