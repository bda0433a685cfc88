# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Expressions and calls."""

import ast
from collections.abc import Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from .arrays import Arrays
from .calling import Written, called, flat, packed
from .syntax import Foreign, Function
from .values import (
    BIT,
    DOUBLE,
    INT,
    NUMBERS,
    Array,
    Slot,
    described,
    expect_numbers,
    index_within,
    kind,
    known,
    parts_of,
    rebuilt,
    widest,
)


class Expressions(Arrays):
    """Emits expressions: `_of_X` is for the syntax node X."""

    def written(self, prefix: str, node: ast.AST) -> Any:
        """Write a statement or an expression, with the method for it."""
        method = getattr(self, prefix + type(node).__name__, None)
        if method is None:
            raise Foreign(f"{type(node).__name__} is not in the language")
        return method(node)

    def value(self, node: ast.expr) -> Any:
        """Value of an expression."""
        return self.written("_of_", node)

    def _of_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _of_Name(self, node: ast.Name) -> Any:
        return self.look_up(node.id)

    def look_up(self, name: str) -> Any:
        """Value of a name."""
        if name not in self.names:
            if name in self.function.py_func.__code__.co_varnames or name not in self.function.outside:
                raise Foreign(f"{name} may have no value here")
            return self.given(self.function.outside[name])
        value = self.names[name]
        if isinstance(value, Slot):
            return rebuilt(value.like, iter([self.builder.load(place) for place in value.places]))
        return value

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        whole = self.value(node.value)
        if isinstance(whole, Array) and node.attr == "T":
            return Array(whole.element, whole.data, whole.shape[::-1], self.distances(whole)[::-1])
        if isinstance(whole, NUMBERS) or (isinstance(whole, Array) and node.attr != "shape"):
            raise Foreign(f"{described(whole)} has no {node.attr} here")
        return self.given(getattr(whole, node.attr))

    def _of_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.listed(node.elts))

    def listed(self, nodes: list[ast.expr]) -> list[Any]:
        """Values of several expressions, starred ones spread."""
        out: list[Any] = []
        for node in nodes:
            out.extend(parts_of(self.value(node.value)) if isinstance(node, ast.Starred) else (self.value(node),))
        return out

    def _of_BinOp(self, node: ast.BinOp) -> Any:
        return self.arithmetic(node.op, self.value(node.left), self.value(node.right))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        x = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            x = self.truth(x)
            return not x if known(x) else self.builder.not_(x)
        expect_numbers(x)
        if not isinstance(node.op, ast.USub):
            raise Foreign(f"the operator {type(node.op).__name__} is not in the language")
        if known(x):
            return -x
        if x.type is DOUBLE:
            return self.builder.fneg(x, flags=self.fast)
        return self.builder.neg(self.converted(x, INT))

    def _of_Compare(self, node: ast.Compare) -> Any:
        return self.chain(self.value(node.left), node.ops, node.comparators)

    def chain(self, a: Any, ops: list[ast.cmpop], others: list[ast.expr]) -> Any:
        """Whether a is so to the first of others, and that one to the next; what is behind a wrong one is not seen."""
        b = self.value(others[0])
        test = self.compared(ops[0], a, b)
        if len(ops) == 1:
            return test
        return self.choice(test, lambda: self.chain(b, ops[1:], others[1:]), lambda: False)

    def _of_BoolOp(self, node: ast.BoolOp) -> Any:
        first, rest = node.values[0], node.values[1:]
        test = self.value(first)
        if kind(test) is not BIT:
            raise Foreign("`and` and `or` of conditions only: of others they are not True or False")
        if not rest:
            return test
        following = partial(self.value, ast.BoolOp(node.op, rest))
        if isinstance(node.op, ast.Or):
            return self.choice(test, lambda: True, following)
        return self.choice(test, following, lambda: False)

    def _of_IfExp(self, node: ast.IfExp) -> Any:
        test = self.truth(self.value(node.test))
        return self.choice(test, partial(self.value, node.body), partial(self.value, node.orelse))

    def index(self, node: ast.expr) -> tuple[Any, ...]:
        """What stands between brackets."""
        return tuple(self.listed(node.elts if isinstance(node, ast.Tuple) else [node]))

    def _of_Slice(self, node: ast.Slice) -> slice:
        if node.step is not None:
            raise Foreign("a slice has no step")
        return slice(*(None if x is None else self.value(x) for x in (node.lower, node.upper)))

    def _of_Subscript(self, node: ast.Subscript) -> Any:
        whole, index = self.value(node.value), self.index(node.slice)
        if isinstance(whole, Array):
            place = self.place(whole, index)
            return place if isinstance(place, Array) else self.load(place)
        if len(index) != 1:
            raise Foreign(f"{described(whole)} has one index")
        (i,) = index
        if known(i):
            return parts_of(whole)[i]
        expect_numbers(*parts_of(whole))
        of = widest(whole)
        table = self.alloca(ir.ArrayType(of, len(whole)))
        for k, x in enumerate(whole):
            self.store(x, self.builder.gep(table, [INT(0), INT(k)], inbounds=True))
        return self.builder.load(self.builder.gep(table, [INT(0), index_within(i, len(whole))], inbounds=True))

    def _of_Call(self, node: ast.Call) -> Any:
        if node.keywords:
            raise Foreign("arguments are given by their place")
        return self.call(self.value(node.func), self.listed(node.args))

    def call(self, function: Any, arguments: list[Any]) -> Any:
        """What a function returns. Raises Foreign."""
        if function in self.built_in:
            return self.built_in[function](self, *arguments)
        if isinstance(function, type) and hasattr(function, "_fields"):
            return function(*arguments)
        function = getattr(function, "inside", function)
        if not isinstance(function, Function):
            raise Foreign(f"{getattr(function, '__name__', function)} is not a function of the language")
        return self.merged(function, arguments) if function.taken_in else self.apart(function, arguments)

    def apart(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function returns that is written elsewhere."""
        written = self.part(function, arguments)
        return self.handed(written, flat(arguments, self.where))

    def handed(self, written: Written, given: Sequence[Any]) -> Any:
        """What a function returns that is handed numbers and places."""
        pairs = zip(given, written.kind.args, strict=True)
        return called(self.builder, written, [self.converted(x, of) for x, of in pairs])

    def where(self, bundle: Any) -> Any:
        """Place of a bundle."""
        _, place = self.places.get(id(bundle), (None, None))
        return packed(self.builder, bundle) if place is None else place
