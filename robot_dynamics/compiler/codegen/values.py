# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Values of the language: numbers, tuples and arrays, as far as they are known at compile time.

A value is a number, a tuple of values, an `Array`, or any other Python object that is a compile-time constant (None, a
function, a module). A number is Python's as long as it is a constant, then LLVM's: float64, int64 or one bit.
"""

import ast
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from llvmlite import ir

from ..words import LANES
from .syntax import Foreign

DOUBLE, INT, BIT, BYTE = ir.DoubleType(), ir.IntType(64), ir.IntType(1), ir.IntType(8)
KINDS = (BIT, INT, DOUBLE)
"""Of numbers, the last one of several holds them all; a bit in an array is a byte."""
NAMES = {BIT: "a condition", BYTE: "a condition", INT: "an integer", DOUBLE: "a float"}
NUMBERS = (ir.Value, bool, int, float)
ARITHMETIC = {
    ast.Add: (operator.add, "add", "fadd"),
    ast.Sub: (operator.sub, "sub", "fsub"),
    ast.Mult: (operator.mul, "mul", "fmul"),
    ast.Div: (operator.truediv, "", "fdiv"),
    ast.FloorDiv: (operator.floordiv, "sdiv", ""),
    ast.Mod: (operator.mod, "srem", ""),
}
COMPARISONS = {
    ast.Lt: (operator.lt, "<"),
    ast.LtE: (operator.le, "<="),
    ast.Gt: (operator.gt, ">"),
    ast.GtE: (operator.ge, ">="),
    ast.Eq: (operator.eq, "=="),
    ast.NotEq: (operator.ne, "!="),
}
ADD, MULTIPLY = ast.Add(), ast.Mult()


class Array(NamedTuple):
    """An array: LLVM's type of its elements, pointer to the first, lengths, distances in bytes (None: C order)."""

    element: ir.Type
    data: Any
    shape: tuple[Any, ...]
    strides: tuple[Any, ...] | None


@dataclass
class Slot:
    """A name that a loop writes: a value like it, and where its numbers are kept."""

    like: Any
    places: list[Any]


def numbers(x: Any) -> list[Any]:
    """All numbers and pointers of a value."""
    if isinstance(x, tuple):
        return [n for part in x for n in numbers(part)]
    return [x] if isinstance(x, NUMBERS) else []


def rebuilt(like: Any, parts: Iterator[Any]) -> Any:
    """The value made like another one of its numbers."""
    if isinstance(like, tuple):
        values = [rebuilt(x, parts) for x in like]
        return type(like)(*values) if hasattr(like, "_fields") else tuple(values)
    return next(parts) if isinstance(like, NUMBERS) else like


def form(x: Any) -> Any:
    """What code depends on of a value; numbers that are known count as LLVM's."""
    if isinstance(x, tuple):
        return (type(x), *map(form, x))
    return kind(x) if isinstance(x, NUMBERS) else x


def outline(x: Any) -> Any:
    """A value but for its numbers: only values of one outline stand for each other."""
    if isinstance(x, tuple):
        return tuple(map(outline, x))
    return NUMBERS if isinstance(x, NUMBERS) else x


def kind(x: Any) -> ir.Type:
    """LLVM's type of a number or pointer."""
    if isinstance(x, ir.Value):
        return x.type
    return BIT if isinstance(x, bool) else INT if isinstance(x, int) else DOUBLE


def widest(several: Sequence[Any]) -> ir.Type:
    """The kind that holds all of several numbers; that of pointers."""
    kinds = [kind(x) for x in several]
    if element(kinds[0]) not in KINDS:
        return kinds[0]
    of = max(map(element, kinds), key=KINDS.index)
    return ir.VectorType(of, LANES) if any(isinstance(x, ir.VectorType) for x in kinds) else of


def element(of: ir.Type) -> ir.Type:
    """Type of the numbers of a vector; of a number itself."""
    return of.element if isinstance(of, ir.VectorType) else of


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are known to be one; 0.0 and -0.0 are two."""
    return a is b or (not isinstance(a, ir.Value) and type(a) is type(b) and repr(a) == repr(b))


def known(*several: Any) -> bool:
    """Whether all are known."""
    return not any(isinstance(x, ir.Value) for x in several)


def expect_numbers(*several: Any) -> None:
    """Raise Foreign unless all are numbers."""
    for x in several:
        if not isinstance(x, NUMBERS):
            raise Foreign(f"expected numbers, got {described(x)}")


def parts_of(x: Any) -> tuple[Any, ...]:
    """What a tuple holds. Raises Foreign for anything else, an array too."""
    if not isinstance(x, tuple) or isinstance(x, Array):
        raise Foreign(f"expected a tuple, got {described(x)}")
    return x


def described(x: Any) -> str:
    """What a value is, for messages."""
    if isinstance(x, Array):
        return "an array"
    return "a tuple" if isinstance(x, tuple) else "a number" if isinstance(x, NUMBERS) else repr(x)


def index_within(i: Any, length: Any) -> Any:
    """An index as it is. Raises Foreign for no integer, and for one that is known not to be in range(length)."""
    expect_numbers(i)
    if kind(i) is not INT:
        raise Foreign(f"expected an integer as an index, got {NAMES[kind(i)]}")
    if known(i) and (i < 0 or (known(length) and i >= length)):
        raise Foreign(f"index {i} is negative or behind the end")
    return i


def constant(x: Any) -> Any:
    """LLVM's number."""
    return x if isinstance(x, ir.Value) else kind(x)(x)
