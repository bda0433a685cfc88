# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers: operators, comparisons, conversions, mathematical functions, and phi nodes where control flow joins."""

import ast
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from llvmlite import ir

from ..processor import FUSES
from .calling import Written, declared
from .syntax import Foreign, Function
from .values import (
    ARITHMETIC,
    BIT,
    BYTE,
    COMPARISONS,
    DOUBLE,
    INT,
    MULTIPLY,
    NAMES,
    Array,
    constant,
    described,
    expect_numbers,
    kind,
    known,
    numbers,
    outline,
    parts_of,
    rebuilt,
    same,
    widest,
)


def fused(builder: ir.IRBuilder, x: Any, y: Any, z: Any) -> Any:
    """x y + z of numbers or vectors, rounded once where the processor does that."""
    if not FUSES:
        return builder.fadd(builder.fmul(x, y), z)
    of = x.type
    name = f"llvm.fma.v{of.count}f64" if isinstance(of, ir.VectorType) else "llvm.fma.f64"
    entry = declared(builder.module, ir.FunctionType(of, [of] * 3), name)
    return builder.call(entry, [x, y, z])


class Arithmetic:
    """Emits arithmetic at the builder."""

    built_in: dict[Any, Callable[..., Any]]

    def __init__(
        self, function: Function, builder: ir.IRBuilder, part: Callable[..., Written],
        places: dict[int, tuple[Any, Any]],
    ):  # fmt: skip
        """builder: where to write; part(function, arguments): what stands for a function that is not merged.

        places: the bundles that have one, by identity, each with its place.
        """
        self.function = function
        self.fast = function.fast
        self.products: dict[int, tuple[Any, Any, Any]] = {}  # by identity, with their factors: what sums may take in
        self.builder = builder
        self.part = part
        self.places = places
        self.names: dict[str, Any] = {}
        self.returns: list[tuple[ir.Block, Any]] = []
        self.loops: list[Any] = []

    def merge_into(self, caller: "Arithmetic") -> None:
        """Have reproducible numbers where the caller's are."""
        if not caller.fast:
            self.fast, self.products = caller.fast, caller.products

    def alloca(self, of: ir.Type) -> Any:
        """Place on the stack."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(of)

    def meet(self, ends: list[tuple[ir.Block, Any]]) -> Any:
        """Go on where blocks end, with the value that each of them brings."""
        builder = self.builder
        if len(ends) == 1:
            builder.position_at_end(ends[0][0])
            return ends[0][1]
        if any(outline(value) != outline(ends[0][1]) for _, value in ends):
            kinds = " and ".join(described(value) for _, value in ends)
            raise Foreign(f"a value that is one of different kinds: {kinds}")
        columns = list(zip(*(numbers(value) for _, value in ends), strict=True))
        differs = [not all(same(x, column[0]) for x in column) for column in columns]
        target = builder.append_basic_block()
        brought = []
        for row, (block, _) in enumerate(ends):
            builder.position_at_end(block)
            converted = [self.converted(c[row], widest(c)) for c, d in zip(columns, differs, strict=True) if d]
            brought.append((block, converted))
            builder.branch(target)
        builder.position_at_end(target)
        phis = [builder.phi(x.type) for x in brought[0][1]]
        for block, converted in brought:
            for phi, x in zip(phis, converted, strict=True):
                phi.add_incoming(x, block)
        chosen = iter(phis)
        parts = [next(chosen) if d else c[0] for c, d in zip(columns, differs, strict=True)]
        return rebuilt(ends[0][1], iter(parts))

    def choice(self, test: Any, *ways: Callable[[], Any]) -> Any:
        """What the first way brings where `test` holds, else the second; only that one is gone."""
        if known(test):
            return ways[0 if test else 1]()
        blocks, ends = [self.builder.append_basic_block() for _ in ways], []
        self.builder.cbranch(test, *blocks)
        for block, way in zip(blocks, ways, strict=True):
            self.builder.position_at_end(block)
            value = way()
            ends.append((self.builder.block, value))
        return self.meet(ends)

    def converted(self, x: Any, to: ir.Type) -> Any:
        """LLVM's number of a kind that holds x. Raises Foreign where it does not."""
        expect_numbers(x)
        x = constant(float(x) if to is DOUBLE and known(x) else x)
        if x.type == to:
            return x
        ways = {
            (BIT, INT): self.builder.zext,
            (BIT, BYTE): self.builder.zext,
            (BIT, DOUBLE): self.builder.uitofp,
            (INT, DOUBLE): self.builder.sitofp,
        }
        if (x.type, to) not in ways:
            raise Foreign(f"{NAMES[x.type]} cannot become {NAMES[to]}")
        return ways[x.type, to](x, to)

    def arithmetic(self, op: ast.operator, a: Any, b: Any) -> Any:
        """What an operator makes of two numbers. Raises Foreign."""
        expect_numbers(a, b)
        if isinstance(op, ast.Pow):
            if not known(b) or type(b) is not int or b < 1:
                raise Foreign("expected a positive integer that is known as exponent")
            return reduce(partial(self.arithmetic, MULTIPLY), [a] * b)
        if type(op) not in ARITHMETIC:
            raise Foreign(f"the operator {type(op).__name__} is not in the language")
        python, of_integers, of_doubles = ARITHMETIC[type(op)]
        if known(a, b):
            return python(a, b)
        common = widest([a, b, 0 if of_integers else 0.0])
        if not of_integers or common is DOUBLE:
            if not of_doubles:
                raise Foreign("only integers have a quotient and a rest")
            return self.of_doubles(of_doubles, a, b, common)
        x, y = self.converted(a, common), self.converted(b, common)
        if of_integers in ("sdiv", "srem") and known(b) and b == 0:
            raise Foreign("division by 0")
        out = getattr(self.builder, of_integers)(x, y)
        return self.floored(op, x, y, out) if of_integers in ("sdiv", "srem") else out

    def of_doubles(self, name: str, a: Any, b: Any, of: ir.Type) -> Any:
        """What LLVM's instruction makes of two float64 numbers, or vectors of them.

        Where numbers are reproducible, a sum is `fused` with a product, of two with the second: LLVM would choose by
        what else is done with them.
        """
        if not self.fast:
            first, second = self.products.get(id(a)), self.products.get(id(b))
            if name == "fadd" and second:
                return self.fused(second[0], second[1], a, of)
            if name == "fadd" and first:
                return self.fused(first[0], first[1], b, of)
            if name == "fsub" and second:
                return self.fused(self.negative(second[0]), second[1], a, of)
            if name == "fsub" and first:
                return self.fused(first[0], first[1], self.negative(b), of)
        out = getattr(self.builder, name)(self.converted(a, of), self.converted(b, of), flags=self.fast)
        if name == "fmul" and not self.fast:
            self.products[id(out)] = a, b, out
        return out

    def negative(self, x: Any) -> Any:
        """-x of a float64 number or vector."""
        return -x if known(x) else self.builder.fneg(x, flags=self.fast)

    def fused(self, x: Any, y: Any, z: Any, of: ir.Type) -> Any:
        """x y + z."""
        return fused(self.builder, *[self.converted(part, of) for part in (x, y, z)])

    def floored(self, op: ast.operator, x: Any, y: Any, cut: Any) -> Any:
        """Quotient or rest by Python's rule of one by the processor's, which cuts towards 0."""
        builder = self.builder
        rest = cut if isinstance(op, ast.Mod) else builder.srem(x, y)
        apart = builder.and_(
            builder.icmp_signed("!=", rest, INT(0)), builder.icmp_signed("<", builder.xor(rest, y), INT(0))
        )
        if isinstance(op, ast.Mod):
            return builder.select(apart, builder.add(rest, y), rest)
        return builder.sub(cut, builder.zext(apart, INT))

    def either(self, a: Any, b: Any) -> Any:
        """A or b."""
        return a or b if known(a, b) else self.builder.or_(constant(a), constant(b))

    def compared(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        """Whether a is so to b."""
        if isinstance(op, (ast.Is, ast.IsNot)):
            if a is not None and b is not None:
                raise Foreign("only None is compared by `is`")
            return (a is b) is isinstance(op, ast.Is)
        if isinstance(op, ast.In):
            return reduce(self.either, [self.compared(ast.Eq(), a, x) for x in parts_of(b)], False)
        if type(op) not in COMPARISONS:
            raise Foreign(f"the comparison {type(op).__name__} is not in the language")
        expect_numbers(a, b)
        python, sign = COMPARISONS[type(op)]
        if known(a, b):
            return python(a, b)
        common = widest([a, b, 0])
        x, y = self.converted(a, common), self.converted(b, common)
        if common is not DOUBLE:
            return self.builder.icmp_signed(sign, x, y)
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, x, y, flags=self.fast)

    def truth(self, x: Any) -> Any:
        """Whether a number is not 0, a tuple not empty. Raises Foreign for arrays."""
        if isinstance(x, Array):
            raise Foreign("an array is neither true nor false")
        if known(x):
            return bool(x)
        return x if x.type is BIT else self.compared(ast.NotEq(), x, 0)

    def intrinsic(self, name: str, x: Any) -> Any:
        """A function of one number that LLVM knows."""
        entry = self.builder.module.declare_intrinsic(name, [DOUBLE])
        return self.builder.call(entry, [self.converted(x, DOUBLE)], fastmath=self.fast)

    def library(self, name: str, *given: Any) -> Any:
        """A function of C."""
        entry = declared(self.builder.module, ir.FunctionType(DOUBLE, [DOUBLE] * len(given)), name)
        return self.builder.call(entry, [self.converted(x, DOUBLE) for x in given], fastmath=self.fast)

    def absolute(self, x: Any) -> Any:
        """|x|."""
        expect_numbers(x)
        if known(x):
            return abs(x)
        if kind(x) is DOUBLE:
            return self.intrinsic("llvm.fabs", x)
        x = self.converted(x, INT)
        return self.builder.select(self.builder.icmp_signed("<", x, INT(0)), self.builder.neg(x), x)

    def extreme(self, op: ast.cmpop, *given: Any) -> Any:
        """The least or largest of several numbers, of equal ones the first, a first NaN kept. Raises Foreign."""
        if len(given) < 2:
            raise Foreign("expected several numbers")
        best = given[0]
        for x in given[1:]:
            better = self.compared(op, x, best)
            if known(better):
                best = x if better else best
            else:
                common = widest([x, best])
                best = self.builder.select(better, self.converted(x, common), self.converted(best, common))
        return best

    def whole(self, x: Any) -> Any:
        """X without what stands behind the point."""
        expect_numbers(x)
        if known(x):
            return int(x)
        return self.builder.fptosi(x, INT) if x.type is DOUBLE else self.converted(x, INT)
