# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Statements."""

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ..words import LANES, QUAD, abreast, alike, each
from .expressions import Expressions
from .loop_metadata import FOUR, ONE_VECTOR, ROLLED, VECTORISED, tell, together
from .syntax import Again, Foreign, Refused
from .values import INT, Array, Slot, constant, expect_numbers, kind, known, numbers, outline, parts_of, widest


class Statements(Expressions):
    """Emits statements: `_do_X` is for the syntax node X."""

    def result(self, arguments: Sequence[Any]) -> Any:
        """Write it all for these arguments; the builder is then behind it."""
        names = self.function.parameters
        if len(names) != len(arguments):
            raise Foreign(f"{self.function.py_func.__name__}({', '.join(names)}) is given {len(arguments)} arguments")
        self.names = dict(zip(names, arguments, strict=True))
        if self.reaches_end(self.function.tree.body):
            self.returns.append((self.builder.block, None))
        return self.meet(self.returns)

    def reaches_end(self, statements: list[ast.stmt]) -> bool:
        """Write statements; returns whether what stands behind them is ever reached. Raises Refused."""
        for statement in statements:
            try:
                if self.written("_do_", statement) is False:
                    return False
            except (Refused, Again):
                raise
            except Exception as error:
                place = f"{inspect.getsourcefile(self.function.py_func)}:{statement.lineno}"
                what = ast.unparse(statement).splitlines()[0]
                why = str(error) if isinstance(error, Foreign) else f"{type(error).__name__}: {error}"
                raise Refused(f"{place}: cannot be written for a kernel: {what} ({why})") from error
        return True

    def _do_Expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _do_Return(self, node: ast.Return) -> bool:
        value = None if node.value is None else self.value(node.value)
        self.returns.append((self.builder.block, value))
        return False

    def _do_Break(self, node: ast.Break) -> bool:
        self.leave(1)
        return False

    def _do_Continue(self, node: ast.Continue) -> bool:
        self.leave(0)
        return False

    def leave(self, way: int) -> None:
        """Go on with the next turn of the loop at hand, or behind it. Raises Foreign where it is over a tuple."""
        if self.loops[-1] is None:
            raise Foreign("a loop over a tuple has all its turns")
        self.builder.branch(self.loops[-1][way])

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self.look_up(node.target.id)
            self.assign(node.target, self.arithmetic(node.op, old, self.value(node.value)))
        else:
            if not isinstance(node.target, ast.Subscript):
                raise Foreign("only a name or an element can be written")
            place = self.place(self.value(node.target.value), self.index(node.target.slice))
            if isinstance(place, Array):
                raise Foreign("expected one element, got an array")
            self.store(self.arithmetic(node.op, self.load(place), self.value(node.value)), place)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give `value` to a name, to several, to an element or to all of an array."""
        if isinstance(target, ast.Tuple):
            if len(target.elts) != len(parts_of(value)):
                raise Foreign(f"{len(target.elts)} names for {len(value)} values")
            for part, x in zip(target.elts, value, strict=True):
                self.assign(part, x)
        elif isinstance(target, ast.Subscript):
            place = self.place(self.value(target.value), self.index(target.slice))
            if isinstance(place, Array):
                self.fill(place, value)
            else:
                self.store(value, place)
        else:
            if not isinstance(target, ast.Name):
                raise Foreign("only names, elements and arrays can be written")
            slot = self.names.get(target.id)
            if not isinstance(slot, Slot):
                self.names[target.id] = value
                return
            if outline(value) != outline(slot.like):
                raise Foreign(f"{target.id} becomes something else than what it was before a loop")
            for x, place in zip(numbers(value), slot.places, strict=True):
                self.store(x, place)

    def _do_If(self, node: ast.If) -> bool:
        test = self.truth(self.value(node.test))
        if known(test):
            return self.reaches_end(node.body if test else node.orelse)
        before, ends = self.names, []
        blocks = [self.builder.append_basic_block() for _ in range(2)]
        self.builder.cbranch(test, *blocks)
        for block, statements in zip(blocks, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(block)
            self.names = dict(before)
            if self.reaches_end(statements):
                new = {name: self.look_up(name) for name, x in self.names.items() if x is not before.get(name)}
                ends.append((self.builder.block, self.names | new))
        if not ends:
            return False
        first = ends[0][1]
        shared = [name for name in first if all(name in names for _, names in ends)]
        changed = [name for name in shared if any(names[name] is not first[name] for _, names in ends)]
        met = self.meet([(block, tuple(names[name] for name in changed)) for block, names in ends])
        self.names = {name: first[name] for name in shared} | dict(zip(changed, met, strict=True))
        return True

    def _do_While(self, node: ast.While) -> None:
        expect_no_else(node)
        builder = self.builder
        self.make_slots(node)
        head, body, end = (builder.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        builder.cbranch(constant(self.truth(self.value(node.test))), body, end)
        self.repeat(node, body, head, end)

    def _do_For(self, node: ast.For) -> bool:
        expect_no_else(node)
        call = node.iter
        over = self.value(call.func) if isinstance(call, ast.Call) and not call.keywords else None
        if not isinstance(call, ast.Call) or over not in (*RANGES, alike, each, enumerate):
            names = "range(...), abreast(...), alike(integers or conditions), each(an integer) or enumerate(a tuple)"
            raise Foreign(f"expected a loop over {names}")
        given = self.listed(call.args)
        if over in RANGES:
            self.count(node, over, *given)
            return True
        if over is each:
            return self.sort(node, *given)
        if over is alike:
            return self.share(node, tuple(given))
        self.loops.append(None)
        reached = True
        for item in enumerate(parts_of(*given)):
            self.assign(node.target, item)
            reached = self.reaches_end(node.body)
            if not reached:
                break
        self.loops.pop()
        return reached

    def sort(self, node: ast.For, x: Any) -> bool:
        """Write a loop over each(x)."""
        return self.turn(node, x)

    def share(self, node: ast.For, x: Any) -> bool:
        """Write a loop over alike(*x)."""
        return self.turn(node, x)

    def turn(self, node: ast.For, item: Any) -> bool:
        """Write one turn of a loop."""
        self.assign(node.target, item)
        return self.reaches_end(node.body)

    def count(self, node: ast.For, over: Any, *limits: Any) -> None:
        """Write a loop over range(*limits), its step known."""
        first, last, step = limits if len(limits) == 3 else (*limits, 1) if len(limits) == 2 else (0, *limits, 1)
        expect_numbers(first, last, step)
        if widest([first, last, step]) is not INT or not known(step) or step == 0:
            raise Foreign("a range is one of integers, its step known and not 0")
        builder = self.builder
        self.make_slots(node)
        counter = self.alloca(INT)
        self.store(first, counter)
        head, body, onward, end = (builder.append_basic_block() for _ in range(4))
        builder.branch(head)
        builder.position_at_end(head)
        k = builder.load(counter)
        builder.cbranch(builder.icmp_signed("<" if step > 0 else ">", k, constant(last)), body, end)
        builder.position_at_end(onward)
        builder.store(builder.add(k, INT(step), flags=("nsw",)), counter)
        back = builder.branch(head)
        written = len(builder.function.blocks)
        self.repeat(node, body, onward, end, (node.target, k))
        if over is abreast and (not known(first, last) or len(range(first, last, step)) >= QUAD):
            group = together(builder.module, [body, *builder.function.blocks[written:]])
            tell(builder.module, back, ROLLED, ONE_VECTOR, FOUR, VECTORISED, ("llvm.loop.parallel_accesses", group))
        elif not known(first, last):
            tell(builder.module, back, ROLLED, ONE_VECTOR)
        elif len(range(first, last, step)) == LANES:
            tell(builder.module, back, ROLLED)

    def repeat(
        self, node: ast.For | ast.While, body: ir.Block, onward: ir.Block, end: ir.Block,
        counted: tuple[ast.expr, Any] | None = None,
    ) -> None:  # fmt: skip
        """Write the body of a loop; names that are new in it end with it."""
        before = dict(self.names)
        self.loops.append((onward, end))
        self.builder.position_at_end(body)
        if counted is not None:
            self.assign(*counted)
        if self.reaches_end(node.body):
            self.builder.branch(onward)
        self.loops.pop()
        self.names = before
        self.builder.position_at_end(end)

    def make_slots(self, loop: ast.For | ast.While) -> None:
        """Give names of before that a loop writes a place."""
        written = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in sorted(written & self.names.keys()):
            value = self.names[name]
            if not isinstance(value, Slot):
                places = [self.alloca(kind(x)) for x in numbers(value)]
                for x, place in zip(numbers(value), places, strict=True):
                    self.builder.store(constant(x), place)
                self.names[name] = Slot(value, places)


RANGES = (range, abreast)


def expect_no_else(loop: ast.For | ast.While) -> None:
    """Raise Foreign for a loop with `else`."""
    if loop.orelse:
        raise Foreign("a loop has no `else`")
