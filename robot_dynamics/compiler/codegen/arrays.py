# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arrays: elements, slices, tables of constants and arrays on the stack."""

import ast
import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from llvmlite import ir

from ..words import abreast
from .arithmetic import Arithmetic
from .syntax import Foreign, Function
from .values import ADD, BYTE, DOUBLE, INT, MULTIPLY, Array, constant, described, index_within, known


class Arrays(Arithmetic):
    """Emits loads, stores and addresses."""

    def merged(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Inline a call; see `Expressions`."""
        raise NotImplementedError

    def given(self, x: Any) -> Any:
        """Value of what a module holds."""
        if isinstance(x, np.ndarray):
            return self.table(x)
        return int(x) if isinstance(x, np.integer) else x

    def table(self, x: np.ndarray) -> Array:
        """Integers of a module, only read. Raises Foreign for other arrays."""
        if not np.issubdtype(x.dtype, np.integer):
            raise Foreign(f"of a module's arrays only those of integers can be read, got {x.dtype}")
        module, name = self.builder.module, f"table.{id(x)}"
        kept = module.globals.get(name)
        if kept is None:
            kept = ir.GlobalVariable(module, ir.ArrayType(INT, x.size), name)
            kept.initializer, kept.linkage = kept.value_type([int(n) for n in x.flat]), "internal"
            kept.global_constant = True
        return Array(INT, self.builder.gep(kept, [INT(0), INT(0)], inbounds=True), x.shape, None)

    def place(self, array: Array, index: tuple[Any, ...]) -> Any:
        """Pointer to an element, or the array that slices leave. Raises Foreign."""
        if not isinstance(array, Array) or len(index) > len(array.shape):
            raise Foreign(f"{len(index)} indices of {described(array)}")
        index = (*index, *[slice(None)] * (len(array.shape) - len(index)))
        begins = [self.begin(i, length) for i, length in zip(index, array.shape, strict=True)]
        left = [k for k, i in enumerate(index) if isinstance(i, slice)]
        data = self.pointer(array, begins)
        if not left:
            return data
        shape = tuple(self.length(array.shape[k], index[k]) for k in left)
        rows = left == list(range(left[0], len(index))) and all(index[k] == slice(None) for k in left[1:])
        if array.strides is None and rows:
            return Array(array.element, data, shape, None)
        strides = self.distances(array)
        return Array(array.element, data, shape, tuple(strides[k] for k in left))

    def begin(self, i: Any, length: Any) -> Any:
        """First index that an index or a slice takes. Raises Foreign where it is known not to be within the length."""
        if not isinstance(i, slice):
            return index_within(i, length)
        bounds = (0 if i.start is None else i.start, length if i.stop is None else i.stop)
        for x in bounds:
            index_within(x, length + 1 if known(length) else length)
        if known(*bounds) and bounds[0] > bounds[1]:
            raise Foreign(f"a slice from {bounds[0]} to {bounds[1]}")
        return bounds[0]

    def pointer(self, array: Array, index: Sequence[Any]) -> Any:
        """Pointer to the element with this index, within the array or just behind it."""
        if array.strides is None:
            flat = index[0]
            for i, length in zip(index[1:], array.shape[1:], strict=True):
                flat = self.arithmetic(ADD, self.arithmetic(MULTIPLY, flat, length), i)
            return self.builder.gep(array.data, [constant(flat)], inbounds=True)
        away = [self.arithmetic(MULTIPLY, i, stride) for i, stride in zip(index, array.strides, strict=True)]
        first = self.builder.bitcast(array.data, BYTE.as_pointer())
        data = self.builder.gep(first, [constant(reduce(partial(self.arithmetic, ADD), away))], inbounds=True)
        return self.builder.bitcast(data, array.element.as_pointer())

    def distances(self, array: Array) -> tuple[Any, ...]:
        """Bytes between neighbours along each dimension."""
        if array.strides is not None:
            return array.strides
        steps: list[Any] = [1 if array.element is BYTE else 8]
        for length in array.shape[:0:-1]:
            steps.append(self.arithmetic(MULTIPLY, steps[-1], length))
        return tuple(reversed(steps))

    def length(self, whole: Any, part: slice) -> Any:
        """Length of a slice, which lies within the whole."""
        end = whole if part.stop is None else part.stop
        return end if part.start is None else self.arithmetic(ast.Sub(), end, part.start)

    def load(self, place: Any) -> Any:
        """Element at a place."""
        x = self.builder.load(place)
        return self.builder.icmp_signed("!=", x, BYTE(0)) if x.type is BYTE else x

    def store(self, x: Any, place: Any) -> None:
        """Write a number to a place. Raises Foreign where it is a module's."""
        root = place
        while isinstance(root, ir.Instruction) and root.operands:
            root = root.operands[0]
        if isinstance(root, ir.GlobalVariable):
            raise Foreign("a module's array is only read")
        self.builder.store(self.converted(x, place.type.pointee), place)

    def fill(self, array: Array, x: Any) -> None:
        """Write a number to all elements of an array, or a vector to another. Raises Foreign."""
        if isinstance(x, Array) and len(x.shape) == len(array.shape) == 1 and x.element is array.element:
            if known(*x.shape, *array.shape) and x.shape != array.shape:
                raise Foreign(f"{x.shape[0]} numbers into {array.shape[0]}")
            self.merged(Function(self.copying(array, x), (), True), [array, x])
            return
        if len(array.shape) not in FILL:
            raise Foreign(f"expected one or two slices, got {len(array.shape)}")
        callee = Function(FILL[len(array.shape)], (), True)
        self.merged(callee, [array, self.fitting(x, array.element)])

    def copying(self, array: Array, x: Array) -> Any:
        """What copies a vector to another."""
        return _copy_vector

    def fitting(self, x: Any, of: ir.Type) -> Any:
        """A number as it may stand in an array. Raises Foreign where it may not."""
        return self.converted(x, of)

    def stack(self, count: int, per: tuple[Any, ...] = ((),)) -> Array:
        """Float64 array of `count` numbers, which is known, on the stack, from the beginning of a cache line.

        per: a tuple; the array has `count` numbers for each of its entries.
        """
        if not known(count) or not isinstance(per, tuple):
            raise Foreign("how many numbers there are on the stack is not known")
        length = count * len(per)
        data = self.alloca(ir.ArrayType(DOUBLE, length))
        data.align = 64
        return Array(DOUBLE, self.builder.gep(data, [INT(0), INT(0)], inbounds=True), (length,), None)

    def flat(self, x: Array, o: Any) -> Any:
        """Pointer to x[o] of a float64 array in C order, by flat index. Raises Foreign for other arrays."""
        if not isinstance(x, Array) or x.strides is not None or x.element is not DOUBLE:
            raise Foreign("expected a float64 array in C order")
        return self.builder.gep(x.data, [constant(index_within(o, math.inf))], inbounds=True)

    def lane(self, x: Array, o: Any) -> Any:
        """x[o] of an array in C order, by flat index."""
        return self.builder.load(self.flat(x, o))

    def to_lane(self, x: Array, o: Any, value: Any) -> None:
        """x[o] = value of an array in C order, by flat index."""
        self.store(value, self.flat(x, o))


def _fill_vector(array: Any, x: Any) -> None:
    for i in range(array.shape[0]):
        array[i] = x


def _copy_vector(array: Any, x: Any) -> None:
    for i in abreast(x.shape[0]):
        array[i] = x[i]


def _fill_matrix(array: Any, x: Any) -> None:
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            array[i, j] = x


FILL = {1: _fill_vector, 2: _fill_matrix}
