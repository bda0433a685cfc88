# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What kernels call, written for LANES robots at once: one number of each in a vector, one lane per robot.

The functions are those of `language`, and so are their sentences. A value is the same for all lanes, or varies: then
its numbers are vectors. A condition that varies has both its ways gone, each by the lanes that it holds for: the other
lanes keep what they had. An array that is `Laned` holds a vector for each of its elements, all other arrays belong to
all lanes and are only read.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from llvmlite import ir

from .language import (
    ADD,
    ARITHMETIC,
    BIT,
    BUILT_IN,
    COMPARISONS,
    DOUBLE,
    INT,
    KINDS,
    LANES,
    MULTIPLY,
    QUAD,
    Again,
    Array,
    Body,
    Foreign,
    Function,
    Slot,
    Written,
    anywhere,
    constant,
    declared,
    described,
    element,
    ended,
    expect_no_else,
    flat,
    is_bundle,
    kind,
    known,
    numbers,
    outline,
    rebuilt,
    received,
    same,
    widest,
)

SPREAD = {of: ir.VectorType(of, LANES) for of in KINDS}
MASK = ir.IntType(LANES)
WORD = ir.IntType(32)


class Laned(Array):
    """An array of vectors, one for each element; data: pointer to a number, and how many elements are before."""

    __slots__ = ()


@dataclass
class Spot:
    """An element: of an array that is laned or not, by its flat index, which may vary."""

    element: ir.Type
    data: Any
    index: Any
    laned: bool


def varies(*several: Any) -> bool:
    """Whether one of several numbers differs from lane to lane."""
    return any(isinstance(x, ir.Value) and isinstance(x.type, ir.VectorType) for x in several)


def everywhere(of: ir.Type, x: Any) -> ir.Constant:
    """A vector of equal known numbers."""
    return ir.Constant(SPREAD[of], [x] * LANES)


@dataclass
class Loop:
    """Where the next turn begins and where the loop ends; the lanes still in it, None if they go together."""

    key: tuple[int, str]
    onward: ir.Block
    end: ir.Block
    live: Any
    depth: int


class Wide(Body):
    """Writes the body of one function for LANES robots."""

    def __init__(self, function: Function, builder: ir.IRBuilder, part: Any, places: Any, mask: Any, all_on: bool):
        """mask: lanes at work; all_on: whether those are known to be all."""
        super().__init__(function, builder, part, places)
        self.all_on = all_on
        self.on, self.alive = self.room(SPREAD[BIT]), self.room(SPREAD[BIT])
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

    def result(self, arguments: Sequence[Any]) -> Any:
        """Write it all for these arguments; lanes that return early wait at the end."""
        names = self.function.parameters
        if len(names) != len(arguments):
            raise Foreign(f"{self.function.py_func.__name__}({', '.join(names)}) is given {len(arguments)} arguments")
        self.names = dict(zip(names, arguments, strict=True))
        self.reaches_end(self.function.tree.body)
        if not self.closed():
            self.returns.append((self.builder.block, self.answered()))
        return self.meet(self.returns)

    def closed(self) -> bool:
        """Whether the way at hand has ended for all."""
        return self.builder.block.is_terminated or any(b is self.builder.block for b, _ in self.returns)

    def answered(self) -> Any:
        """What lanes have returned."""
        if self.answer is None:
            return None
        return rebuilt(self.answer.like, iter([self.builder.load(place) for place in self.answer.places]))

    # ---- leaving

    def _do_Return(self, node: ast.Return) -> bool:
        value = None if node.value is None else self.value(node.value)
        inside = [x for x in self.loops if x is not None]
        alone = self.depth == 0 and all(x.live is None for x in inside)
        if alone and self.answer is None:
            self.returns.append((self.builder.block, value))
            return False
        if self.answer is None:
            kinds = [SPREAD[element(kind(x))] for x in numbers(value)]
            self.answer = Slot(value, [self.room(of) for of in kinds])
        if outline(value) != outline(self.answer.like):
            raise Foreign("returns values of different kinds")
        for x, place in zip(numbers(value), self.answer.places, strict=True):
            self.store(x, place)
        if alone:
            self.returns.append((self.builder.block, self.answered()))
            return False
        self.ended += 1
        self.leave_lanes([self.alive, *(self.live(x) for x in inside)])
        return False

    def live(self, loop: Loop) -> Any:
        """Lanes that are still in a loop. Raises Again if they were taken to leave it together."""
        if loop.live is None:
            raise self.differ(loop.key)
        return loop.live

    def differ(self, key: tuple[int, str]) -> Again:
        """What tells that lanes differ in something of a loop that was taken to be the same for all."""
        self.function.differing.add(key)
        return Again()

    def leave_lanes(self, places: Sequence[Any]) -> None:
        """Lanes at work leave for good what the places say, and rest."""
        self.leaves += 1
        on = self.mask()
        for place in places:
            self.builder.store(self.builder.and_(self.builder.load(place), self.builder.not_(on)), place)
        self.builder.store(everywhere(BIT, 0), self.on)

    def loop(self) -> Loop:
        """The loop at hand. Raises Foreign where it is over a tuple."""
        if self.loops[-1] is None:
            raise Foreign("a loop over a tuple has all its turns")
        innermost: Loop = self.loops[-1]
        return innermost

    def _do_Break(self, node: ast.Break) -> bool:
        loop = self.loop()
        if loop.live is None and self.depth == loop.depth:
            self.builder.branch(loop.end)
        else:
            self.leave_lanes([self.live(loop)])
        return False

    def _do_Continue(self, node: ast.Continue) -> bool:
        loop = self.loop()
        if self.depth == loop.depth:
            self.builder.branch(loop.onward)
            return False
        self.live(loop)
        self.leave_lanes([])
        return False

    # ---- ways

    def reaches_end(self, statements: list[ast.stmt]) -> bool:
        """Write statements, jumping over what stands behind those that all lanes left at."""
        for k, statement in enumerate(statements):
            before = self.leaves
            if not super().reaches_end([statement]):
                return False
            rest = statements[k + 1 :]
            if self.leaves > before and rest:
                names = self.lanes_way(self.mask(), rest, self.names)
                self.names = self.names if names is None else names
                return names is not None
        return True

    def arm(self, statements: list[ast.stmt], before: dict[str, Any]) -> tuple[Any, Any] | None:
        """Write one way; returns its last block and names there, None for names if all lanes left, None if it ended."""
        self.names = dict(before)
        reached = self.reaches_end(statements)
        if self.closed():
            return None
        if not reached:
            return self.builder.block, None
        new = {n: self.look_up(n) for n, x in self.names.items() if x is not before.get(n)}
        return self.builder.block, self.names | new

    def joined(self, arms: list[Any], target: Any) -> dict[str, Any] | None:
        """Names where ways meet at `target`; None if no lane goes on."""
        builder = self.builder
        going = [names for _, names in arms if names is not None]
        shared = [n for n in going[0] if all(n in names for names in going)] if going else []
        changed = [n for n in shared if any(names[n] is not going[0][n] for names in going)]
        rows, likes = [], {n: going[0][n] for n in changed}
        for n in changed:
            if any(outline(names[n]) != outline(going[0][n]) for names in going):
                raise Foreign(f"{n} may be of different kinds")
        columns = {n: list(zip(*(numbers(names[n]) for names in going), strict=True)) for n in changed}
        kinds = {n: [widest(c) for c in columns[n]] for n in changed}
        for block, names in arms:
            builder.position_at_end(block)
            if names is None:
                row = [ir.Constant(of, ir.Undefined) for n in changed for of in kinds[n]]
            else:
                row = [
                    self.converted(x, of) for n in changed for x, of in zip(numbers(names[n]), kinds[n], strict=True)
                ]
            rows.append((builder.block, row))
            builder.branch(target)
        builder.position_at_end(target)
        phis = [builder.phi(x.type) for x in rows[0][1]] if rows else []
        for block, row in rows:
            for phi, x in zip(phis, row, strict=True):
                phi.add_incoming(x, block)
        parts = iter(phis)
        met = {n: rebuilt(likes[n], parts) for n in changed}
        return {n: going[0][n] for n in shared} | met if going else None

    def _do_If(self, node: ast.If) -> bool:
        test = self.truth(self.value(node.test))
        if known(test):
            return self.reaches_end(node.body if test else node.orelse)
        if varies(test):
            return self.both_ways(node, test)
        before, arms = self.names, []
        blocks = [self.builder.append_basic_block() for _ in range(2)]
        self.builder.cbranch(test, *blocks)
        for block, statements in zip(blocks, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(block)
            arm = self.arm(statements, before)
            if arm is not None:
                arms.append(arm)
        if not arms:
            return False
        names = self.joined(arms, self.builder.append_basic_block())
        self.names = before if names is None else names
        return names is not None

    def lanes_way(self, mask: Any, statements: list[ast.stmt], before: dict[str, Any]) -> dict[str, Any] | None:
        """Write statements for the lanes of a mask; names behind them, or None if they all left."""
        self.builder.store(mask, self.on)
        if not statements:
            return before
        body, onward = self.builder.append_basic_block(), self.builder.append_basic_block()
        start = self.builder.block
        self.builder.cbranch(self.any_of(mask), body, onward)
        self.builder.position_at_end(body)
        arm = self.arm(statements, before)
        if arm is None:  # jumped to the next turn
            self.builder.position_at_end(onward)
            self.builder.store(everywhere(BIT, 0), self.on)
            return None
        block, names = arm
        changed = [] if names is None else [n for n in names if names[n] is not before.get(n)]
        self.builder.position_at_end(block)
        self.builder.branch(onward)
        self.builder.position_at_end(onward)
        if names is None:
            return None
        met = {}
        for n in changed:
            parts = []
            for x in numbers(names[n]):
                if known(x):
                    parts.append(x)
                    continue
                phi = self.builder.phi(x.type)
                phi.add_incoming(x, block)
                phi.add_incoming(ir.Constant(x.type, ir.Undefined), start)
                parts.append(phi)
            met[n] = rebuilt(names[n], iter(parts))
        return names | met

    def both_ways(self, node: ast.If, test: Any) -> bool:
        """A condition that varies."""
        builder, before = self.builder, self.names
        on = self.mask()
        yes, no = builder.and_(on, test), builder.and_(on, builder.not_(test))
        self.depth += 1
        first = self.lanes_way(yes, node.body, before)
        still = self.mask()
        second = self.lanes_way(no, node.orelse, before)
        builder.store(builder.or_(still, self.mask()), self.on)
        self.depth -= 1
        if first is None or second is None:
            going = second if first is None else first
            self.names = before if going is None else going
            return going is not None
        names = {}
        for n in first:
            if n in second:
                names[n] = first[n] if first[n] is second[n] else self.chosen(test, first[n], second[n])
        self.names = names
        return True

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

    # ---- loops

    def make_slots(self, loop: ast.For | ast.While) -> None:
        """Give names of before that a loop writes a place, of vectors where lanes are known to differ."""
        written = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in sorted(written & self.names.keys()):
            value = self.names[name]
            if not isinstance(value, Slot):
                key = (loop.lineno, name)
                differs = key in self.function.differing
                kinds = [SPREAD[element(kind(x))] if differs else kind(x) for x in numbers(value)]
                places = [self.room(of) for of in kinds]
                for x, of, place in zip(numbers(value), kinds, places, strict=True):
                    self.builder.store(self.converted(x, of), place)
                    self.slots[id(place)] = key, self.depth
                self.names[name] = Slot(value, places)

    def _do_While(self, node: ast.While) -> None:
        expect_no_else(node)
        self.make_slots(node)
        self.turns(node, lambda: self.truth(self.value(node.test)), None, lambda: None)

    def count(self, node: ast.For, over: Any, *limits: Any) -> None:
        """Write a loop over range(*limits); its counter varies where its begin does."""
        first, last, step = limits if len(limits) == 3 else (*limits, 1) if len(limits) == 2 else (0, *limits, 1)
        self.make_slots(node)
        of = SPREAD[INT] if varies(first) else INT
        counter = self.room(of)
        self.builder.store(self.converted(first, of), counter)
        at: list[Any] = []

        def test() -> Any:
            at[:] = [self.builder.load(counter)]
            return self.compared(ast.Lt() if step > 0 else ast.Gt(), at[0], last)

        def onward() -> None:
            self.builder.store(self.converted(self.arithmetic(ADD, self.builder.load(counter), step), of), counter)

        self.turns(node, test, lambda: at[0], onward)

    def turns(self, node: Any, test: Any, item: Any, step: Callable[[], None]) -> None:
        """Write a loop whose turns begin while `test` holds; lanes leave it one by one."""
        builder, before, began = self.builder, dict(self.names), self.mask()
        leaves = self.leaves - self.ended
        live = self.room(SPREAD[BIT])
        builder.store(began, live)
        head, body, onward, end = (builder.append_basic_block() for _ in range(4))
        builder.branch(head)
        builder.position_at_end(head)
        builder.store(builder.load(live), self.on)
        self.depth += 1
        goes_on = test()
        self.depth -= 1
        key = (node.lineno, "lanes")
        apart = varies(goes_on) or key in self.function.differing
        if varies(goes_on):
            builder.store(builder.and_(builder.load(live), goes_on), live)
            goes_on = True
        if apart:
            some = self.any_of(builder.load(live))
            goes_on = some if known(goes_on) else builder.and_(some, goes_on)
        builder.cbranch(constant(goes_on), body, end)
        builder.position_at_end(body)
        if apart:
            builder.store(builder.load(live), self.on)
        self.depth += apart
        self.loops.append(Loop(key, onward, end, live if apart else None, self.depth))
        if item is not None:
            self.assign(node.target, item())
        self.reaches_end(node.body)
        if not self.closed():
            builder.branch(onward)
        self.loops.pop()
        self.depth -= apart
        self.names, self.leaves = before, leaves + self.ended
        builder.position_at_end(onward)
        step()
        builder.branch(head)
        builder.position_at_end(end)
        builder.store(builder.and_(began, builder.load(self.alive)), self.on)

    def sort(self, node: ast.For, x: Any) -> bool:
        """Write a turn for each number that x is, by the lanes where it is."""
        if not varies(x):
            return super().sort(node, x)
        builder, began = self.builder, self.mask()
        self.make_slots(node)
        kept = dict(self.names)
        rest = self.room(SPREAD[BIT])
        builder.store(began, rest)
        head, body, end = (builder.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        waiting = builder.load(rest)
        builder.cbranch(self.any_of(waiting), body, end)
        builder.position_at_end(body)
        first = builder.cttz(builder.bitcast(waiting, MASK), BIT(1))
        one = builder.extract_element(x, builder.zext(first, WORD))
        on = builder.and_(waiting, self.compared(ast.Eq(), x, one))
        builder.store(on, self.on)
        builder.store(builder.and_(waiting, builder.not_(on)), rest)
        self.depth += 1
        self.assign(node.target, one)
        self.reaches_end(node.body)
        self.depth -= 1
        if not self.closed():
            builder.branch(head)
        self.names = kept
        builder.position_at_end(end)
        builder.store(builder.and_(began, builder.load(self.alive)), self.on)
        return True

    # ---- numbers

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
        x, y = self.converted(a, common), self.converted(b, common)
        if common.element is DOUBLE:
            if not of_doubles:
                raise Foreign("only integers have a quotient and a rest")
            return getattr(self.builder, of_doubles)(x, y, flags=self.function.fast)
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
            return self.builder.fneg(x, flags=self.function.fast) if element(x.type) is DOUBLE else self.builder.neg(x)
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
        return compare(sign, x, y, flags=self.function.fast)

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
        return self.builder.call(entry, [self.converted(x, of)], fastmath=self.function.fast)

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

    def combine(
        self, out: Any, q: Any, factors: Any, x: Any, o: Any, apart: Any, more: Any, y: Any, p: Any, step: Any
    ) -> None:  # fmt: skip
        """`lanes.combine`, number by number."""
        for j in range(QUAD):
            total: Any = 0.0
            for weights, array, begin, stride in ((factors, x, o, apart), (more, y, p, step)):
                for k, weight in enumerate(weights):
                    at = self.arithmetic(ADD, begin, self.arithmetic(ADD, self.arithmetic(MULTIPLY, stride, k), j))
                    term = self.arithmetic(MULTIPLY, weight, self.load(self.spot(array, at)))
                    total = self.arithmetic(ADD, total, term)
            self.store(total, self.spot(out, self.arithmetic(ADD, q, j)))

    # ---- arrays

    def stack(self, count: int) -> Array:
        """Array of `count` vectors on the stack."""
        data = self.room(ir.ArrayType(DOUBLE, count * LANES))
        data.align = 64
        first = self.builder.gep(data, [INT(0), INT(0)], inbounds=True)
        return Laned(DOUBLE, (first, INT(0)), (count,), None)

    def spot(self, x: Array, o: Any) -> Spot:
        """Element of a laned array in C order, by flat index."""
        return Spot(x.element, x.data[0], self.arithmetic(ADD, x.data[1], o), True)

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
        if array.strides is not None:
            return array.strides
        steps: list[Any] = [1]
        for length in array.shape[:0:-1]:
            steps.append(self.arithmetic(MULTIPLY, steps[-1], length))
        return tuple(reversed(steps))

    def place(self, array: Array, index: tuple[Any, ...]) -> Any:
        """An element, or the array that slices leave. Raises Foreign."""
        if not isinstance(array, Array) or len(index) > len(array.shape):
            raise Foreign(f"{len(index)} indices of {described(array)}")
        index = (*index, *[slice(None)] * (len(array.shape) - len(index)))
        begins = [self.begin(i, length) for i, length in zip(index, array.shape, strict=True)]
        laned = isinstance(array, Laned)
        if not laned and not varies(*begins):
            return super().place(array, index)
        left = [k for k, i in enumerate(index) if isinstance(i, slice)]
        if not laned and array.strides is not None:
            raise Foreign("expected an array in C order")
        data, offset = array.data if laned else (array.data, 0)
        strides = self.distances(array) if laned else self.distances(Laned(*array))
        for i, stride in zip(begins, strides, strict=True):
            offset = self.arithmetic(ADD, offset, self.arithmetic(MULTIPLY, i, stride))
        if not left:
            return Spot(array.element, data, offset, laned)
        if not laned:
            raise Foreign("a part of an array that all lanes share cannot vary")
        shape = tuple(self.length(array.shape[k], index[k]) for k in left)
        rows = left == list(range(left[0], len(index))) and all(index[k] == slice(None) for k in left[1:])
        if array.strides is None and rows:
            return Laned(array.element, (data, offset), shape, None)
        return Laned(array.element, (data, offset), shape, tuple(strides[k] for k in left))

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
        if not varies(place.index):
            return builder.load(self.row(place), align=8)
        index, out = self.indices(place), ir.Constant(SPREAD[place.element], ir.Undefined)
        for o in range(LANES):
            i = builder.extract_element(index, WORD(o))
            out = builder.insert_element(out, builder.load(builder.gep(place.data, [i], inbounds=True)), WORD(o))
        return out

    def row(self, spot: Spot) -> Any:
        """Pointer to all lanes' numbers."""
        first = self.arithmetic(MULTIPLY, spot.index, LANES)
        return self.builder.bitcast(
            self.builder.gep(spot.data, [constant(first)], inbounds=True), SPREAD[spot.element].as_pointer()
        )

    def store(self, x: Any, place: Any) -> None:
        """Write a number to a place, in lanes at work. Raises Foreign; Again where lanes were taken not to differ."""
        builder = self.builder
        if not isinstance(place, Spot):
            if isinstance(place.type.pointee, ir.VectorType):
                new = self.converted(x, place.type.pointee)
                builder.store(new if self.full() else builder.select(self.mask(), new, builder.load(place)), place)
            else:
                key, depth = self.slots.get(id(place), ((0, ""), self.depth))
                if id(place) in self.slots and (varies(x) or self.depth > depth):
                    raise self.differ(key)
                super().store(x, place)
            return
        if not place.laned:
            raise Foreign("an array that all lanes share is only read")
        new = self.converted(x, SPREAD[place.element])
        if not varies(place.index):
            row = self.row(place)
            if not self.full():
                new = builder.select(self.mask(), new, builder.load(row, align=8))
            builder.store(new, row, align=8)
            return
        index, on = self.indices(place), self.mask()
        aside = self.room(place.element)
        for o in range(LANES):
            i = builder.extract_element(index, WORD(o))
            there = builder.gep(place.data, [i], inbounds=True)
            target = builder.select(builder.extract_element(on, WORD(o)), there, aside)
            builder.store(builder.extract_element(new, WORD(o)), target)

    def fitting(self, x: Any, of: ir.Type) -> Any:
        """A number as it may stand in an array. Raises Foreign where it may not."""
        return self.converted(x, SPREAD[of] if varies(x) else of)

    # ---- calls

    def merged(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function returns that is written here."""
        return Wide(function, self.builder, self.part, self.places, self.mask(), self.full()).result(arguments)

    def apart(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function returns that is written elsewhere; it is told which lanes are at work, unless all are."""
        masked = not self.full()
        mask = [self.builder.bitcast(self.mask(), MASK)] if masked else []
        return self.handed(self.part(function, arguments, masked), [*mask, *flat(arguments, self.where)])


Wide.built_in = BUILT_IN | {
    anywhere: Wide.anywhere,
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
