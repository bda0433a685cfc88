# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Branches and loops of LANES robots: both branches execute under a mask, lanes leave loops one by one."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from llvmlite import ir

from .statements import expect_no_else
from .syntax import Foreign
from .values import ADD, BIT, INT, Slot, constant, element, kind, known, numbers, outline, rebuilt, widest
from .vector_arithmetic import MASK, SPREAD, WORD, everywhere, varies
from .vector_arrays import VectorArrays


@dataclass
class Loop:
    """Where the next turn begins and where the loop ends; the lanes still in it, None if they go together."""

    key: tuple[int, str]
    onward: ir.Block
    end: ir.Block
    live: Any
    depth: int


class VectorControl(VectorArrays):
    """Emits statements under the mask of active lanes."""

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

    def _do_Return(self, node: ast.Return) -> bool:
        value = None if node.value is None else self.value(node.value)
        inside = [x for x in self.loops if x is not None]
        alone = self.depth == 0 and all(x.live is None for x in inside)
        if alone and self.answer is None:
            self.returns.append((self.builder.block, value))
            return False
        if self.answer is None:
            kinds = [SPREAD[element(kind(x))] for x in numbers(value)]
            self.answer = Slot(value, [self.alloca(of) for of in kinds])
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

    def make_slots(self, loop: ast.For | ast.While) -> None:
        """Give names of before that a loop writes a place, of vectors where lanes are known to differ."""
        written = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in sorted(written & self.names.keys()):
            value = self.names[name]
            if not isinstance(value, Slot):
                key = (loop.lineno, name)
                differs = key in self.function.differing
                kinds = [SPREAD[element(kind(x))] if differs else kind(x) for x in numbers(value)]
                places = [self.alloca(of) for of in kinds]
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
        counter = self.alloca(of)
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
        live = self.alloca(SPREAD[BIT])
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
        """Write a turn for each number that x is, by the lanes where it is; where all agree, one without masks."""
        if not varies(x):
            return super().sort(node, x)
        self.make_slots(node)
        if self.full():
            self.fork(node, (x,), self.first_of(x), lambda: self.part_lanes(node, x))
        else:
            self.part_lanes(node, x)
        return True

    def share(self, node: ast.For, x: Any) -> bool:
        """Write a turn with one number for all lanes where they agree, and one with those of each where they do not."""
        if not self.full() or not any(map(varies, x)):
            return super().share(node, x)
        self.make_slots(node)
        self.fork(node, x, tuple(map(self.first_of, x)), lambda: self.turn(node, x))
        return True

    def first_of(self, x: Any) -> Any:
        """The number of the first lane."""
        return self.builder.extract_element(x, WORD(0)) if varies(x) else x

    def fork(self, node: ast.For, x: Sequence[Any], item: Any, apart: Callable[[], Any]) -> None:
        """Write the turn of a loop for lanes that agree in x, with `item`, and what else there is for others."""
        builder, kept = self.builder, dict(self.names)
        together, other, end = (builder.append_basic_block() for _ in range(3))
        differ = [self.any_of(self.compared(ast.NotEq(), v, self.first_of(v))) for v in x if varies(v)]
        builder.cbranch(reduce(builder.or_, differ), other, together)
        for block, write in ((together, lambda: self.turn(node, item)), (other, apart)):
            builder.position_at_end(block)
            write()
            if not self.closed():
                builder.branch(end)
            self.names = dict(kept)
        builder.position_at_end(end)

    def while_some_wait(self, lanes: Any) -> tuple[Any, ir.Block, ir.Block]:
        """Begin a loop while lanes wait for their turn: the place of those that do, where it goes on, where it ends."""
        builder, rest = self.builder, self.alloca(SPREAD[BIT])
        builder.store(lanes, rest)
        head, body, end = (builder.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        builder.cbranch(self.any_of(builder.load(rest)), body, end)
        builder.position_at_end(body)
        return rest, head, end

    def first_waiting(self, rest: Any) -> tuple[Any, Any]:
        """Lanes that wait for their turn, and the number of the first."""
        waiting = self.builder.load(rest)
        first = self.builder.cttz(self.builder.bitcast(waiting, MASK), BIT(1))
        return waiting, self.builder.zext(first, INT)

    def part_lanes(self, node: ast.For, x: Any) -> None:
        """Write a turn under the mask of the lanes where x is the same number, until all had theirs."""
        builder, began = self.builder, self.mask()
        kept = dict(self.names)
        rest, head, end = self.while_some_wait(began)
        waiting, first = self.first_waiting(rest)
        one = builder.extract_element(x, first)
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
