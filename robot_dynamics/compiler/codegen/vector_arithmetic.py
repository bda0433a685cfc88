# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers of LANES robots at once: uniform ones as in `arithmetic`, varying ones in vectors."""

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from ..words import LANES
from .calling import declared
from .scalar import Body
from .syntax import Again, Foreign, Function
from .values import (
    ARITHMETIC,
    BIT,
    COMPARISONS,
    DOUBLE,
    INT,
    KINDS,
    Slot,
    element,
    known,
    numbers,
    outline,
    rebuilt,
    same,
    widest,
)

SPREAD = {of: ir.VectorType(of, LANES) for of in KINDS}
MASK = ir.IntType(LANES)
WORD = ir.IntType(32)


def varies(*several: Any) -> bool:
    """Whether one of several numbers differs from lane to lane."""
    return any(isinstance(x, ir.Value) and isinstance(x.type, ir.VectorType) for x in several)


def everywhere(of: ir.Type, x: Any) -> ir.Constant:
    """A vector of equal known numbers."""
    return ir.Constant(SPREAD[of], [x] * LANES)


class VectorArithmetic(Body):
    """Emits arithmetic of vectors under the mask of active lanes."""

    def __init__(self, function: Function, builder: ir.IRBuilder, part: Any, places: Any, mask: Any, all_on: bool):
        """mask: lanes at work; all_on: whether those are known to be all."""
        super().__init__(function, builder, part, places)
        self.all_on = all_on
        self.on, self.alive = self.alloca(SPREAD[BIT]), self.alloca(SPREAD[BIT])
        builder.store(mask, self.on)
        builder.store(mask, self.alive)
        self.depth = self.leaves = self.ended = 0
        self.slots: dict[int, tuple[tuple[int, str], int]] = {}
        self.answer: Slot | None = None

    def mask(self) -> Any:
        """Lanes that are at work."""
        return self.builder.load(self.on)

    def full(self) -> bool:
        """Whether all lanes are known to be at work."""
        return self.all_on and self.depth == 0 and self.answer is None

    def any_of(self, mask: Any) -> Any:
        """Whether any lane is in a mask."""
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(mask, MASK), MASK(0))

    def differ(self, key: tuple[int, str]) -> Again:
        """What tells that lanes differ in something of a loop that was taken to be the same for all."""
        self.function.differing.add(key)
        return Again()

    def chosen(self, test: Any, a: Any, b: Any) -> Any:
        """Of two values the first in lanes where `test` holds."""
        if outline(a) != outline(b):
            raise Foreign("a value that may be of different kinds")
        parts = []
        for x, y in zip(numbers(a), numbers(b), strict=True):
            if same(x, y):
                parts.append(x)
                continue
            of = SPREAD[element(widest([x, y]))]
            parts.append(self.builder.select(test, self.converted(x, of), self.converted(y, of)))
        return rebuilt(a, iter(parts))

    def choice(self, test: Any, *ways: Callable[[], Any]) -> Any:
        """What the first way brings in lanes where `test` holds, else the second; each is gone by its lanes only."""
        if not varies(test):
            return super().choice(test, *ways)
        on = self.mask()
        values = []
        self.depth += 1
        for mask, way in zip((test, self.builder.not_(test)), ways, strict=True):
            self.builder.store(self.builder.and_(on, mask), self.on)
            values.append(way())
        self.depth -= 1
        self.builder.store(on, self.on)
        return self.chosen(test, *values)

    def converted(self, x: Any, to: ir.Type) -> Any:
        """LLVM's number, or vector, of a kind that holds x. Raises Foreign where it does not."""
        if not isinstance(to, ir.VectorType):
            if varies(x):
                raise Foreign("a number differs from lane to lane")
            return super().converted(x, to)
        of = to.element
        if known(x):
            return everywhere(of, float(x) if of is DOUBLE else int(x))
        if not varies(x):
            none = ir.Constant(to, ir.Undefined)
            alone = self.builder.insert_element(none, super().converted(x, of), WORD(0))
            return self.builder.shuffle_vector(alone, none, ir.Constant(ir.VectorType(WORD, LANES), [0] * LANES))
        if x.type.element == of:
            return x
        ways = {(BIT, INT): self.builder.zext, (BIT, DOUBLE): self.builder.uitofp, (INT, DOUBLE): self.builder.sitofp}
        way = next((w for (a, b), w in ways.items() if a == x.type.element and b == of), None)
        if way is None:
            raise Foreign(f"{x.type} cannot become {to}")
        return way(x, to)

    def arithmetic(self, op: ast.operator, a: Any, b: Any) -> Any:
        """What an operator makes of two numbers. Raises Foreign."""
        if not varies(a, b) or isinstance(op, ast.Pow):
            return super().arithmetic(op, a, b)
        _, of_integers, of_doubles = ARITHMETIC[type(op)]
        common = SPREAD[element(widest([a, b, 0 if of_integers else 0.0]))]
        if common.element is DOUBLE:
            if not of_doubles:
                raise Foreign("only integers have a quotient and a rest")
            return self.of_doubles(of_doubles, a, b, common)
        x, y = self.converted(a, common), self.converted(b, common)
        if of_integers in ("sdiv", "srem"):
            if varies(b) or (known(b) and b <= 0):
                raise Foreign("expected a positive divisor that is the same for all lanes")
            rest = self.builder.srem(x, y)
            rest = self.builder.select(self.compared(ast.Lt(), rest, 0), self.builder.add(rest, y), rest)
            return rest if of_integers == "srem" else self.builder.sdiv(self.builder.sub(x, rest), y)
        return getattr(self.builder, of_integers)(x, y)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.USub):
            x = self.value(node.operand)
            if varies(x) and x.type.element is not DOUBLE:
                return self.arithmetic(ast.Sub(), 0, x)
            if not isinstance(x, ir.Value):
                return -x
            return self.builder.fneg(x, flags=self.fast) if element(x.type) is DOUBLE else self.builder.neg(x)
        x = self.truth(self.value(node.operand))
        return not x if known(x) else self.builder.not_(x)

    def either(self, a: Any, b: Any) -> Any:
        """A or b."""
        if not varies(a, b):
            return super().either(a, b)
        return self.builder.or_(self.converted(a, SPREAD[BIT]), self.converted(b, SPREAD[BIT]))

    def compared(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        """Whether a is so to b."""
        if type(op) not in COMPARISONS or not varies(a, b):
            return super().compared(op, a, b)
        _, sign = COMPARISONS[type(op)]
        common = SPREAD[element(widest([a, b, 0]))]
        x, y = self.converted(a, common), self.converted(b, common)
        if common.element is not DOUBLE:
            return self.builder.icmp_signed(sign, x, y)
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, x, y, flags=self.fast)

    def _of_BoolOp(self, node: ast.BoolOp) -> Any:
        test = self.value(node.values[0])
        if not varies(test) or len(node.values) == 1:
            return super()._of_BoolOp(node) if not varies(test) else test
        following = partial(self.value, ast.BoolOp(node.op, node.values[1:]))
        if isinstance(node.op, ast.Or):
            return self.choice(test, lambda: True, following)
        return self.choice(test, following, lambda: False)

    def truth(self, x: Any) -> Any:
        """Whether a number is not 0."""
        if not varies(x):
            return super().truth(x)
        return x if x.type.element is BIT else self.compared(ast.NotEq(), x, 0)

    def intrinsic(self, name: str, x: Any) -> Any:
        """A function of one number that LLVM knows."""
        if not varies(x):
            return super().intrinsic(name, x)
        of = SPREAD[DOUBLE]
        entry = declared(self.builder.module, ir.FunctionType(of, [of]), f"{name}.v{LANES}f64")
        return self.builder.call(entry, [self.converted(x, of)], fastmath=self.fast)

    def library(self, name: str, *given: Any) -> Any:
        """A function of C, lane by lane."""
        if not varies(*given):
            return super().library(name, *given)
        vectors = [self.converted(x, SPREAD[DOUBLE]) for x in given]
        out = ir.Constant(SPREAD[DOUBLE], ir.Undefined)
        for o in range(LANES):
            y = super().library(name, *[self.builder.extract_element(x, WORD(o)) for x in vectors])
            out = self.builder.insert_element(out, y, WORD(o))
        return out

    def absolute(self, x: Any) -> Any:
        """|x|."""
        if not varies(x):
            return super().absolute(x)
        if x.type.element is DOUBLE:
            return self.intrinsic("llvm.fabs", x)
        return self.builder.select(self.compared(ast.Lt(), x, 0), self.arithmetic(ast.Sub(), 0, x), x)

    def extreme(self, op: ast.cmpop, *given: Any) -> Any:
        """The least or largest of several numbers, of equal ones the first, a first NaN kept."""
        if not varies(*given):
            return super().extreme(op, *given)
        best = given[0]
        for x in given[1:]:
            if varies(x, best):
                of = SPREAD[element(widest([x, best]))]
                better = self.compared(op, x, best)
                best = self.builder.select(better, self.converted(x, of), self.converted(best, of))
            else:
                best = super().extreme(op, best, x)
        return best

    def whole(self, x: Any) -> Any:
        """X without what stands behind the point."""
        if not varies(x):
            return super().whole(x)
        return self.builder.fptosi(x, SPREAD[INT]) if x.type.element is DOUBLE else self.converted(x, SPREAD[INT])

    def anywhere(self, test: Any) -> Any:
        """Whether a condition holds in a lane at work."""
        return self.any_of(self.builder.and_(self.mask(), test)) if varies(test) else test
