# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arrays of LANES robots: vectors where they are laned, gathers and scatters where an index varies."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from llvmlite import ir

from ..words import LANES
from .register_words import transposed
from .syntax import Foreign
from .values import ADD, DOUBLE, INT, MULTIPLY, Array, constant, described, known, same
from .vector_arithmetic import SPREAD, WORD, VectorArithmetic, everywhere, varies

PREFETCHED = WORD(1), WORD(3), WORD(1)
"""To be written, into the nearest cache, data."""


class Laned(Array):
    """An array of vectors, one for each element; data: pointer to a number, and how many elements are before.

    Where lanes do not differ in that, the pointer is beyond those elements, and it is None. strides: elements between
    neighbours along the first dimensions; what they are followed by is in C order.
    """

    __slots__ = ()


class LanedApart(Array):
    """An array for each lane, in C order; data: pointer to the first one, and elements from one to the next."""

    __slots__ = ()


@dataclass
class Spot:
    """An element, by its flat index, which may vary: of an array that is laned or not, or of one for each lane.

    apart: elements from one lane's array to the next one's.
    """

    element: ir.Type
    data: Any
    index: Any
    laned: bool
    apart: Any = None


class VectorArrays(VectorArithmetic):
    """Emits loads and stores of vectors under the mask of active lanes."""

    def stack(self, count: int, per: tuple[Any, ...] = ((),)) -> Array:
        """Array of `count` vectors on the stack, or of so many for each entry of a tuple."""
        length = count * len(per)
        data = self.alloca(ir.ArrayType(DOUBLE, length * LANES))
        data.align = 64
        first = self.builder.gep(data, [INT(0), INT(0)], inbounds=True)
        return Laned(DOUBLE, (first, None), (length,), None)

    def spot(self, x: Array, o: Any) -> Spot:
        """Element of an array in C order, by flat index."""
        if isinstance(x, LanedApart):
            return Spot(x.element, x.data[0], o, laned=False, apart=x.data[1])
        data, before = x.data if isinstance(x, Laned) else (x.data, None)
        return Spot(x.element, data, self.arithmetic(ADD, before or 0, o), isinstance(x, Laned))

    def lane(self, x: Array, o: Any) -> Any:
        """x[o] of an array in C order, by flat index."""
        return self.load(self.spot(x, o))

    def to_lane(self, x: Array, o: Any, value: Any) -> None:
        """x[o] = value of an array in C order, by flat index."""
        self.store(value, self.spot(x, o))

    def begin(self, i: Any, length: Any) -> Any:
        """First index that an index or a slice takes."""
        first, *others = (i.start or 0, i.stop) if isinstance(i, slice) else (i,)
        return first if varies(first, *others, length) else super().begin(i, length)

    def distances(self, array: Array) -> tuple[Any, ...]:
        """Elements between neighbours along each dimension of what is laned, else bytes."""
        if not isinstance(array, Laned):
            return super().distances(array)
        given = array.strides or ()
        steps: list[Any] = [1]
        for length in array.shape[: len(given) : -1]:
            steps.append(self.arithmetic(MULTIPLY, steps[-1], length))
        return (*given, *reversed(steps[: len(array.shape) - len(given)]))

    def place(self, array: Array, index: tuple[Any, ...]) -> Any:
        """An element, or the array that slices leave. Raises Foreign."""
        if not isinstance(array, Array) or len(index) > len(array.shape):
            raise Foreign(f"{len(index)} indices of {described(array)}")
        index = (*index, *[slice(None)] * (len(array.shape) - len(index)))
        begins = [self.begin(i, length) for i, length in zip(index, array.shape, strict=True)]
        laned = isinstance(array, Laned)
        if isinstance(array, LanedApart):
            return self.place_apart(array, index, begins)
        if not laned and not varies(*begins):
            return super().place(array, index)
        left = [k for k, i in enumerate(index) if isinstance(i, slice)]
        if not laned and array.strides is not None:
            raise Foreign("expected an array in C order")
        data, before = array.data if laned else (array.data, None)
        offset = before or 0
        strides = self.distances(array) if laned else self.distances(Laned(*array))
        for i, stride in zip(begins, strides, strict=True):
            offset = self.arithmetic(ADD, offset, i if same(stride, 1) else self.arithmetic(MULTIPLY, i, stride))
        if not left:
            return Spot(array.element, data, offset, laned)
        if not laned:
            raise Foreign("a part of an array that all lanes share cannot vary")
        first = (data, offset) if varies(offset) else (self.ahead(data, offset), None)
        shape = tuple(self.length(array.shape[k], index[k]) for k in left)
        rows = left == list(range(left[0], len(index))) and all(index[k] == slice(None) for k in left[1:])
        if rows and left[0] >= len(array.strides or ()):
            return Laned(array.element, first, shape, None)
        return Laned(array.element, first, shape, tuple(strides[k] for k in left))

    def place_apart(self, array: LanedApart, index: tuple[Any, ...], begins: list[Any]) -> Any:
        """An element of each lane's array, or the rows that a slice leaves. Raises Foreign."""
        offset: Any = 0
        for i, stride in zip(begins, self.distances(Laned(*array)), strict=True):
            offset = self.arithmetic(ADD, offset, self.arithmetic(MULTIPLY, i, stride))
        data, distance = array.data
        left = [k for k, i in enumerate(index) if isinstance(i, slice)]
        if not left:
            return Spot(array.element, data, offset, laned=False, apart=distance)
        whole = all(index[k] == slice(None) for k in left[1:])
        if varies(offset) or left != list(range(left[0], len(index))) or not whole:
            raise Foreign("of arrays apart only rows are taken, the same of all lanes")
        shape = tuple(self.length(array.shape[k], index[k]) for k in left)
        return LanedApart(array.element, (self.builder.gep(data, [constant(offset)]), distance), shape, None)

    def of_lane(self, x: Any, o: Any) -> Any:
        """What lane o has of a value. Raises Foreign."""
        if isinstance(x, LanedApart):
            first, distance = x.data
            data = self.builder.gep(first, [constant(self.arithmetic(MULTIPLY, distance, o))])
            return Array(x.element, data, x.shape, None)
        if isinstance(x, Laned):
            data, before = x.data
            if before is not None:
                raise Foreign("a part of an array that varies: hand on the whole")
            strides = tuple(self.arithmetic(MULTIPLY, stride, 8 * LANES) for stride in self.distances(x))
            return Array(x.element, self.builder.gep(data, [o]), x.shape, strides)
        if isinstance(x, tuple) and not isinstance(x, Array):
            parts = [self.of_lane(part, o) for part in x]
            return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
        return self.builder.extract_element(x, o) if varies(x) else x

    def pointers(self, spot: Spot) -> list[Any]:
        """Pointers to the lanes' numbers, where these do not stand side by side."""
        index = self.indices(spot) if varies(spot.index) else constant(spot.index)
        found = []
        for o in range(LANES):
            i = self.builder.extract_element(index, WORD(o)) if varies(index) else index
            if spot.apart is not None:
                i = self.arithmetic(ADD, i, self.arithmetic(MULTIPLY, spot.apart, o))
            found.append(self.builder.gep(spot.data, [constant(i)], inbounds=True))
        return found

    def indices(self, spot: Spot) -> Any:
        """Flat index of each lane's number; of lanes that rest, the first."""
        index = self.builder.select(self.mask(), self.converted(spot.index, SPREAD[INT]), everywhere(INT, 0))
        if spot.laned:
            index = self.builder.add(
                self.builder.mul(index, everywhere(INT, LANES)), ir.Constant(SPREAD[INT], list(range(LANES)))
            )
        return index

    def load(self, place: Any) -> Any:
        """Element at a place; one by one where lanes look at different ones."""
        if not isinstance(place, Spot):
            return super().load(place)
        builder = self.builder
        if not varies(place.index) and place.apart is None:
            if not place.laned:
                return builder.load(builder.gep(place.data, [constant(place.index)], inbounds=True))
            return builder.load(self.row(place), align=8)
        out = ir.Constant(SPREAD[place.element], ir.Undefined)
        for o, there in enumerate(self.pointers(place)):
            out = builder.insert_element(out, builder.load(there), WORD(o))
        return out

    def row(self, spot: Spot) -> Any:
        """Pointer to all lanes' numbers."""
        return self.builder.bitcast(self.ahead(spot.data, spot.index), SPREAD[spot.element].as_pointer())

    def ahead(self, data: Any, index: Any) -> Any:
        """Pointer to the first lane's number of an element.

        What is known of the index is added last: a load or store does that itself.
        """
        rest, fixed = self.parted(index)
        if not same(rest, 0):
            data = self.builder.gep(data, [constant(self.arithmetic(MULTIPLY, rest, LANES))])
        return self.builder.gep(data, [INT(fixed * LANES)]) if fixed else data

    def parted(self, index: Any) -> tuple[Any, int]:
        """An index as the sum of what is not known and what is."""
        if known(index):
            return 0, index
        if not isinstance(index, ir.Instruction) or index.opname not in ("add", "sub"):
            return index, 0
        a, b = (x.constant if isinstance(x, ir.Constant) else x for x in index.operands)
        if index.opname == "sub":
            rest, fixed = self.parted(a)
            return (rest, fixed - b) if known(b) else (index, 0)
        (a, c), (b, d) = self.parted(a), self.parted(b)
        return (self.arithmetic(ADD, a, b), c + d) if c or d else (index, 0)

    def store(self, x: Any, place: Any) -> None:
        """Write a number to a place, in lanes at work. Raises Foreign; Again where lanes were taken not to differ."""
        builder = self.builder
        if not isinstance(place, Spot):
            if isinstance(place.type.pointee, ir.VectorType):
                new = self.converted(x, place.type.pointee)
                # lanes that rested when the name got its place, or left for good since then, do not read it
                whole = self.full() or (id(place) in self.slots and self.slots[id(place)][1] == self.depth)
                builder.store(new if whole else builder.select(self.mask(), new, builder.load(place)), place)
            else:
                key, depth = self.slots.get(id(place), ((0, ""), self.depth))
                if id(place) in self.slots and (varies(x) or self.depth > depth):
                    raise self.differ(key)
                super().store(x, place)
            return
        if not place.laned and place.apart is None:
            raise Foreign("an array that all lanes share is only read")
        new = self.converted(x, SPREAD[place.element])
        if not varies(place.index) and place.laned:
            row = self.row(place)
            if not self.full():
                new = builder.select(self.mask(), new, self.frozen(builder.load(row, align=8)))
            builder.store(new, row, align=8)
            return
        aside = None if self.full() else self.alloca(place.element)
        for o, there in enumerate(self.pointers(place)):
            if aside is not None:
                there = builder.select(builder.extract_element(self.mask(), WORD(o)), there, aside)
            builder.store(builder.extract_element(new, WORD(o)), there)

    def copying(self, array: Array, x: Array) -> Any:
        """What copies a vector: into vectors that lanes have apart, squares of LANES numbers are transposed."""
        laned = isinstance(x, Laned) and x.strides is None and x.data[1] is None
        return _copy_transposed if laned and isinstance(array, LanedApart) else super().copying(array, x)

    def turned(self, out: LanedApart, x: Laned, i: Any) -> None:
        """`turn_numbers`, transposed in registers."""
        square = [self.load(self.spot(x, self.arithmetic(ADD, i, k))) for k in range(LANES)]
        aside = None if self.full() else self.alloca(SPREAD[out.element])
        lines = self.pointers(self.spot(out, i))
        for o, (line, place) in enumerate(zip(transposed(self.builder, square), lines, strict=True)):
            there = self.builder.bitcast(place, SPREAD[out.element].as_pointer())
            if aside is not None:
                there = self.builder.select(self.builder.extract_element(self.mask(), WORD(o)), there, aside)
            self.builder.store(line, there, align=8)

    def prefetch(self, x: Array, o: Any) -> None:
        """Have the cache lines of x[o] of all lanes at hand, where lanes have their arrays apart."""
        if not isinstance(x, LanedApart):
            return
        byte, name = ir.IntType(8).as_pointer(), "llvm.prefetch.p0i8"
        kind = ir.FunctionType(ir.VoidType(), [byte, WORD, WORD, WORD])
        callee = self.builder.module.globals.get(name) or ir.Function(self.builder.module, kind, name)
        for place in self.pointers(self.spot(x, o)):
            self.builder.call(callee, [self.builder.bitcast(place, byte), *PREFETCHED])

    def frozen(self, x: Any) -> Any:
        """x; of what is not frozen LLVM would make a store under a mask, which takes six cycles on a Zen 3."""
        freeze = ir.Instruction(self.builder.block, x.type, "freeze", (x,))
        self.builder._insert(freeze)
        return freeze

    def fitting(self, x: Any, of: ir.Type) -> Any:
        """A number as it may stand in an array. Raises Foreign where it may not."""
        return self.converted(x, SPREAD[of] if varies(x) else of)

    def combine(self, out: Any, q: Any, n: int, factors: Any, near: Any, more: Any, far: Any) -> None:
        """`words.combine`, number by number."""
        self.combine_rows((out, q, 0), n, 1.0, ((factors, more),), near, far)

    def combine_rows(self, rows: Any, n: int, g: Any, factors: Any, near: Any, far: Any) -> None:
        """`words.combine_rows`, number by number; each row reads its numbers anew: registers are too few for all."""
        out, q, down = rows
        for r, (these, those) in enumerate(factors):
            numbers = self.numbers_of(near, len(these), n) + self.numbers_of(far, len(those), n)
            totals = [self.weighted((*these, *those), [row[j] for row in numbers]) for j in range(n)]
            for j, total in enumerate(totals):
                place = self.arithmetic(ADD, q, self.arithmetic(ADD, self.arithmetic(MULTIPLY, down, r), j))
                self.store(self.arithmetic(MULTIPLY, g, total), self.spot(out, place))

    def numbers_of(self, rows: Any, count: int, n: int) -> list[list[Any]]:
        """The first n numbers each of the first `count` rows."""
        array, begin, stride = rows
        starts = (self.arithmetic(ADD, begin, self.arithmetic(MULTIPLY, stride, k)) for k in range(count))
        return [[self.load(self.spot(array, self.arithmetic(ADD, o, j))) for j in range(n)] for o in starts]

    def weighted(self, weights: Sequence[Any], column: Sequence[Any]) -> Any:
        """Sum of numbers times weights."""
        terms = [self.arithmetic(MULTIPLY, weight, x) for weight, x in zip(weights, column, strict=True)]
        return reduce(partial(self.arithmetic, ADD), terms) if terms else 0.0


def turn_numbers(out: Any, x: Any, i: int) -> None:
    """Write LANES numbers of x, from i on, into out."""
    for k in range(i, i + LANES):
        out[k] = x[k]


def _copy_transposed(out: Any, x: Any) -> None:
    whole = x.shape[0] // LANES * LANES
    for i in range(0, whole, LANES):
        turn_numbers(out, x, i)
    for i in range(whole, x.shape[0]):
        out[i] = x[i]
