# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What kernels call, written in LLVM's language: Python with numbers, tuples and arrays, in a tenth of numba's time.

A value is a number, a tuple of values, an `Array`, or anything else that is known while this is written (None, a
function, a module). Numbers are Python's as long as they are known, then LLVM's: float64, int64 or bit. What is known
is worked out here: a condition that is known takes its branch, and a function that is merged into its caller gets its
arguments as they are, so that it may call itself on a shorter tuple. A name that a loop writes keeps the kind that it
begins with. Nobody looks, unless it is known here, whether an index is within its array (none counts from the end),
a slice ends behind its begin, an integer overflows or is divided by 0; numbers divided by 0 are those of IEEE 754.
What else Python has is refused, by its line.
"""

import ast
import inspect
import math
import operator
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core.errors import TypingError

DOUBLE, INT, BIT, BYTE = ir.DoubleType(), ir.IntType(64), ir.IntType(1), ir.IntType(8)
KINDS = (BIT, INT, DOUBLE)
"""Of numbers, the last one of several holds them all; a bit in an array is a byte."""
NAMES = {BIT: "a condition", BYTE: "a condition", INT: "an integer", DOUBLE: "a float"}
NUMBERS = (ir.Value, bool, int, float)
LANES = 8
"""Most SIMD lanes, one cache line: a loop of as many turns is left to vector instructions."""
QUAD = 4
"""Numbers in a 256-bit register: limbs that go abreast, and what `lanes.combine` takes at once."""
NARROW = '"min-legal-vector-width"="256"'
"""Attribute of a function that leaves 512-bit registers alone: while a few of them are shuffled, one of the two ports
that do all other arithmetic is closed."""
ROLLED, ONE_VECTOR, ONE_BY_ONE = (
    ("llvm.loop.unroll.disable",),
    ("llvm.loop.interleave.count", ir.IntType(32)(1)),
    ("llvm.loop.vectorize.width", ir.IntType(32)(1)),
)
"""What LLVM is told of loops. One of unknown length is short here: four vectors or eight turns at a time would seldom
come about, and take a fifth of all its time to write."""

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


def anywhere(test: bool) -> bool:
    """Whether a condition holds, in any lane where there are several."""
    return test


def each(x: int) -> tuple[int]:
    """All that an integer is: it alone, or where there are several lanes each one that it is in some of them."""
    return (x,)


def singly(*limits: int) -> range:
    """Range of a loop whose turns LLVM shall not take several at once: what they read lies apart, or few do much."""
    return range(*limits)


def abreast(*limits: int) -> range:
    """Range of a loop, calling nothing apart, of whose turns none reads what another writes: LLVM need not look."""
    return range(*limits)


RANGES = (range, singly, abreast)
ADD, MULTIPLY = ast.Add(), ast.Mult()


class Refused(TypingError):
    """A kernel's function holds something that is not in the language."""


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


class Written(NamedTuple):
    """A function in LLVM's language: type, name, and a value like its result."""

    kind: ir.FunctionType
    name: str
    result: Any


class Again(Exception):
    """A function is to be written once more, otherwise."""


class Foreign(Exception):
    """Something in a statement that is not in the language."""


class Function:
    """A function of the language; `fast`: flags of its arithmetic; `taken_in`: merged into its caller."""

    def __init__(self, function: Callable[..., Any], fast: tuple[str, ...], taken_in: bool):
        self.py_func, self.fast, self.taken_in = function, fast, taken_in
        self.differing: set[tuple[int, str]] = set()

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """Syntax tree."""
        lines, first = inspect.getsourcelines(self.py_func)
        (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
        if not isinstance(tree, ast.FunctionDef):
            raise Foreign(f"expected a function, got {self.py_func}")
        return ast.increment_lineno(tree, first - 1)

    @cached_property
    def parameters(self) -> list[str]:
        """Names of its arguments. Raises Foreign for those that need not be given, or not by their place."""
        given = self.tree.args
        names = [x.arg for x in given.args]
        if given.defaults or given.posonlyargs or given.vararg or given.kwonlyargs or given.kwarg:
            raise Foreign(f"{self.py_func.__name__} may only have plain arguments without defaults")
        return names

    @cached_property
    def outside(self) -> dict[str, Any]:
        """What it finds by name outside of it."""
        found = inspect.getclosurevars(self.py_func)
        return {**found.builtins, **found.globals, **found.nonlocals}


# ---- values ---------------------------------------------------------------------------------------------------------


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


# ---- bundles --------------------------------------------------------------------------------------------------------


def is_bundle(x: Any) -> bool:
    """Whether a value is a named tuple: functions are handed its place. An `Array` is handed number by number."""
    return hasattr(x, "_fields") and not isinstance(x, Array)


def slot(builder: ir.IRBuilder, place: Any, k: int, of: ir.Type) -> Any:
    """Pointer to number k of a bundle, of eight bytes each."""
    return builder.bitcast(builder.gep(place, [INT(k)], inbounds=True), of.as_pointer())


def packed(builder: ir.IRBuilder, bundle: Any) -> Any:
    """Place of a bundle, newly written."""
    parts = [constant(x) for x in numbers(bundle)]
    with builder.goto_entry_block():
        place = builder.alloca(INT, len(parts))
    for k, x in enumerate(parts):
        builder.store(x, slot(builder, place, k, x.type))
    return place


def unpacked(builder: ir.IRBuilder, place: Any, like: Any) -> Any:
    """The bundle at a place, where nobody writes while it is read."""
    parts = []
    for k, x in enumerate(numbers(like)):
        part = builder.load(slot(builder, place, k, kind(x)))
        part.set_metadata("invariant.load", builder.module.add_metadata([]))
        parts.append(part)
    return rebuilt(like, iter(parts))


def nested(bundle: Any, first: int = 0) -> Iterator[tuple[Any, int]]:
    """A bundle and those within it, with the number that each begins with."""
    yield bundle, first
    for part in bundle:
        if is_bundle(part):
            yield from nested(part, first)
        first += len(numbers(part))


def flat(values: Sequence[Any], where: Callable[[Any], Any]) -> list[Any]:
    """What a function is handed: numbers, and places of bundles."""
    return [n for x in values for n in ([where(x)] if is_bundle(x) else numbers(x))]


# ---- functions ------------------------------------------------------------------------------------------------------


class Body:
    """Writes the body of one function, and of those merged into it."""

    built_in: dict[Any, Callable[..., Any]]

    def __init__(
        self, function: Function, builder: ir.IRBuilder, part: Callable[..., Written],
        places: dict[int, tuple[Any, Any]],
    ):  # fmt: skip
        """builder: where to write; part(function, arguments): what stands for a function that is not merged.

        places: the bundles that have one, by identity, each with its place.
        """
        self.function = function
        self.builder = builder
        self.part = part
        self.places = places
        self.names: dict[str, Any] = {}
        self.returns: list[tuple[ir.Block, Any]] = []
        self.loops: list[Any] = []

    def result(self, arguments: Sequence[Any]) -> Any:
        """Write it all for these arguments; the builder is then behind it."""
        names = self.function.parameters
        if len(names) != len(arguments):
            raise Foreign(f"{self.function.py_func.__name__}({', '.join(names)}) is given {len(arguments)} arguments")
        self.names = dict(zip(names, arguments, strict=True))
        if self.reaches_end(self.function.tree.body):
            self.returns.append((self.builder.block, None))
        return self.meet(self.returns)

    # ---- statements

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

    def written(self, prefix: str, node: ast.AST) -> Any:
        """Write a statement or an expression, with the method for it."""
        method = getattr(self, prefix + type(node).__name__, None)
        if method is None:
            raise Foreign(f"{type(node).__name__} is not in the language")
        return method(node)

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
        if not isinstance(call, ast.Call) or over not in (*RANGES, each, enumerate):
            names = "range(...), singly(...), abreast(...), each(an integer) or enumerate(a tuple)"
            raise Foreign(f"expected a loop over {names}")
        given = self.listed(call.args)
        if over in RANGES:
            self.count(node, over, *given)
            return True
        if over is each:
            return self.sort(node, *given)
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
        """Write the one turn of a loop over each(x)."""
        self.assign(node.target, x)
        return self.reaches_end(node.body)

    def count(self, node: ast.For, over: Any, *limits: Any) -> None:
        """Write a loop over range(*limits), its step known."""
        first, last, step = limits if len(limits) == 3 else (*limits, 1) if len(limits) == 2 else (0, *limits, 1)
        expect_numbers(first, last, step)
        if widest([first, last, step]) is not INT or not known(step) or step == 0:
            raise Foreign("a range is one of integers, its step known and not 0")
        builder = self.builder
        self.make_slots(node)
        counter = self.room(INT)
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
        if over is singly:
            tell(builder.module, back, ONE_BY_ONE)
        elif over is abreast:
            group = together(builder.module, [body, *builder.function.blocks[written:]])
            tell(builder.module, back, ROLLED, ONE_VECTOR, ("llvm.loop.parallel_accesses", group))
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
                places = [self.room(kind(x)) for x in numbers(value)]
                for x, place in zip(numbers(value), places, strict=True):
                    self.builder.store(constant(x), place)
                self.names[name] = Slot(value, places)

    def room(self, of: ir.Type) -> Any:
        """Place on the stack."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(of)

    # ---- where ways meet

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

    # ---- expressions

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
        x, y = self.converted(a, common), self.converted(b, common)
        if not of_integers or common is DOUBLE:
            if not of_doubles:
                raise Foreign("only integers have a quotient and a rest")
            return getattr(self.builder, of_doubles)(x, y, flags=self.function.fast)
        if of_integers in ("sdiv", "srem") and known(b) and b == 0:
            raise Foreign("division by 0")
        out = getattr(self.builder, of_integers)(x, y)
        return self.floored(op, x, y, out) if of_integers in ("sdiv", "srem") else out

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
            return self.builder.fneg(x, flags=self.function.fast)
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
        return compare(sign, x, y, flags=self.function.fast)

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

    def truth(self, x: Any) -> Any:
        """Whether a number is not 0, a tuple not empty. Raises Foreign for arrays."""
        if isinstance(x, Array):
            raise Foreign("an array is neither true nor false")
        if known(x):
            return bool(x)
        return x if x.type is BIT else self.compared(ast.NotEq(), x, 0)

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

    # ---- arrays and tuples

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
        table = self.room(ir.ArrayType(of, len(whole)))
        for k, x in enumerate(whole):
            self.store(x, self.builder.gep(table, [INT(0), INT(k)], inbounds=True))
        return self.builder.load(self.builder.gep(table, [INT(0), index_within(i, len(whole))], inbounds=True))

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
        """Write a number to all elements of an array. Raises Foreign."""
        if len(array.shape) not in FILL:
            raise Foreign(f"expected one or two slices, got {len(array.shape)}")
        callee = Function(FILL[len(array.shape)], (), True)
        self.merged(callee, [array, self.fitting(x, array.element)])

    def fitting(self, x: Any, of: ir.Type) -> Any:
        """A number as it may stand in an array. Raises Foreign where it may not."""
        return self.converted(x, of)

    # ---- calls

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

    def merged(self, function: Function, arguments: Sequence[Any]) -> Any:
        """What a function returns that is written here."""
        return Body(function, self.builder, self.part, self.places).result(arguments)

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

    def intrinsic(self, name: str, x: Any) -> Any:
        """A function of one number that LLVM knows."""
        entry = self.builder.module.declare_intrinsic(name, [DOUBLE])
        return self.builder.call(entry, [self.converted(x, DOUBLE)], fastmath=self.function.fast)

    def library(self, name: str, *given: Any) -> Any:
        """A function of C."""
        entry = declared(self.builder.module, ir.FunctionType(DOUBLE, [DOUBLE] * len(given)), name)
        return self.builder.call(entry, [self.converted(x, DOUBLE) for x in given], fastmath=self.function.fast)

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

    def stack(self, count: int) -> Array:
        """Float64 array of `count` numbers, which is known, on the stack, from the beginning of a cache line."""
        if not known(count):
            raise Foreign("how many numbers there are on the stack is not known")
        data = self.room(ir.ArrayType(DOUBLE, count))
        data.align = 64
        return Array(DOUBLE, self.builder.gep(data, [INT(0), INT(0)], inbounds=True), (count,), None)

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


def expect_no_else(loop: ast.For | ast.While) -> None:
    """Raise Foreign for a loop with `else`."""
    if loop.orelse:
        raise Foreign("a loop has no `else`")


def _fill_vector(array: Any, x: Any) -> None:
    for i in range(array.shape[0]):
        array[i] = x


def _fill_matrix(array: Any, x: Any) -> None:
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            array[i, j] = x


FILL = {1: _fill_vector, 2: _fill_matrix}
BUILT_IN: dict[Any, Callable[..., Any]] = {
    len: lambda body, x: x.shape[0] if isinstance(x, Array) else len(x),
    slice: lambda body, begin, end: slice(begin, end),
    int: Body.whole,
    float: lambda body, x: body.converted(x, DOUBLE),
    abs: Body.absolute,
    min: lambda body, *x: body.extreme(ast.Lt(), *x),
    max: lambda body, *x: body.extreme(ast.Gt(), *x),
    math.sqrt: lambda body, x: body.intrinsic("llvm.sqrt", x),
    math.floor: lambda body, x: body.whole(body.intrinsic("llvm.floor", x)),
    math.sin: lambda body, x: body.library("sin", x),
    math.cos: lambda body, x: body.library("cos", x),
    math.atan2: lambda body, y, x: body.library("atan2", y, x),
    np.floor: lambda body, x: body.intrinsic("llvm.floor", x),
    anywhere: lambda body, test: test,
    np.rint: lambda body, x: body.intrinsic("llvm.rint", x),
}
"""What is written otherwise than by its Python: called with the `Body` and the arguments. `lanes` adds its own."""
Body.built_in = BUILT_IN


# ---- LLVM's modules -------------------------------------------------------------------------------------------------


def declared(module: ir.Module, of: ir.FunctionType, name: str) -> ir.Function:
    """Return the function of a module, which need not be defined there."""
    found = module.globals.get(name)
    return ir.Function(module, of, name) if found is None else found


def called(builder: ir.IRBuilder, written: Written, given: Sequence[Any]) -> Any:
    """Return the value that a written function makes of what it is handed."""
    answer = builder.call(declared(builder.module, written.kind, written.name), given)
    count = len(numbers(written.result))
    parts = [builder.extract_value(answer, i) for i in range(count)] if count > 1 else [answer]
    return rebuilt(written.result, iter(parts))


class Distinct(ir.MDValue):
    """A node of metadata that is like no other one."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    def descr(self, buf: Any) -> None:
        """Write it as `distinct`."""
        buf += ("distinct !{ }", "\n")


def together(module: ir.Module, blocks: Sequence[ir.Block]) -> ir.MDValue:
    """What names all that is read and written in these blocks, now that they are written."""
    group = Distinct(module, (), str(len(module.metadata)))
    for block in blocks:
        for x in block.instructions:
            if x.opname in ("load", "store"):
                x.set_metadata("llvm.access.group", group)
    return group


def tell(module: ir.Module, back: ir.Instruction, *hints: tuple[Any, ...]) -> None:
    """Tell LLVM something of the loop that a branch leads back to the head of."""
    unique = module.add_metadata([str(len(module.metadata))])
    loop = module.add_metadata([unique, *(module.add_metadata(list(hint)) for hint in hints)])
    loop.operands = (loop, *loop.operands)  # what names a loop is a node that begins with itself
    back.set_metadata("llvm.loop", loop)


def received(builder: ir.IRBuilder, place: Any, like: Any, places: dict[int, tuple[Any, Any]]) -> Any:
    """The bundle that a function is handed by its place; it and those within it join `places`."""
    place.add_attribute("noalias")
    place.attributes.dereferenceable = 8 * len(numbers(like))
    bundle = unpacked(builder, place, like)
    places |= {id(x): (x, builder.gep(place, [INT(k)], inbounds=True)) for x, k in nested(bundle)}
    return bundle


def give_back(builder: ir.IRBuilder, out: Sequence[Any]) -> ir.Type:
    """End a function with these numbers; returns the type of its answer."""
    if not out:
        builder.ret_void()
        return ir.VoidType()
    if len(out) == 1:
        builder.ret(out[0])
        return out[0].type
    of = ir.LiteralStructType([x.type for x in out])
    answer = ir.Constant(of, ir.Undefined)
    for i, x in enumerate(out):
        answer = builder.insert_value(answer, x, i)
    builder.ret(answer)
    return of


def ended(entry: ir.Function, builder: ir.IRBuilder, result: Any) -> Written:
    """The function, whose body ends here with this result: only now its type is known."""
    out = [constant(x) for x in numbers(result)]
    of = give_back(builder, out)
    entry.ftype = ir.FunctionType(of, entry.ftype.args)
    entry.type = entry.ftype.as_pointer()
    entry.return_value.type = of
    return Written(entry.ftype, entry.name, rebuilt(result, iter(out)))


def write(
    function: Function, like: Sequence[Any], name: str, part: Callable[..., Written], module: ir.Module
) -> Written:
    """Write a function for arguments like those given into a module. Raises Refused."""
    kinds = [kind(x) for x in flat(like, lambda bundle: INT.as_pointer()(None))]
    entry = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    set.add(entry.attributes, NARROW)  # llvmlite's own `add` does not know it
    if function.taken_in:
        entry.attributes.add("alwaysinline")
    elif any(map(is_bundle, like)):
        entry.attributes.add("noinline")  # LLVM's time grows faster than the length of what it has merged
    builder = ir.IRBuilder(entry.append_basic_block())
    places: dict[int, tuple[Any, Any]] = {}
    given = iter(entry.args)
    arguments = [received(builder, next(given), x, places) if is_bundle(x) else rebuilt(x, given) for x in like]
    result = Body(function, builder, part, places).result(arguments)
    return ended(entry, builder, result)
