# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The backend of last resort, on numba's public API alone: the same kernels, slower, for a numba that we do not know.

What kernels call are numba's overloads and not its dispatchers: an overload is compiled anew for each type of its
arguments, so that a function may recurse on a shorter tuple, and from Python it stays a Python function.
"""

import ast
import inspect
from collections.abc import Callable, Hashable, Sequence
from functools import partial, wraps
from textwrap import dedent
from typing import Any

from numba import NumbaError, config, njit, types
from numba.extending import intrinsic, overload

from . import cache, numba_signals, words  # noqa: F401 - registered with numba
from .vectors import WRONG_DIMENSIONS, expect_vectors
from .words import LANES, Apart, Lanes

FAST = {"reassoc", "contract", "nsz", "arcp", "afn"}
OPTIONS = {"error_model": "numpy", "boundscheck": False}


def _overloaded(fast: set[str], inlined: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    options = OPTIONS | {"fastmath": fast, "forceinline": inlined}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        overload(function, jit_options=options, strict=False)(lambda *arguments: _of_these_lengths(function, arguments))
        return function

    return decorate


def _of_these_lengths(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[..., Any]:
    """Return `function` without the branches that tuples of these lengths, fields of named tuples, do not take.

    numba leaves out a branch by the length of an argument, not of its field, and what indexes an empty tuple does not
    compile.
    """
    source = ast.parse(dedent(inspect.getsource(function)))
    lengths = _Lengths(dict(zip(inspect.signature(function).parameters, arguments, strict=False)))
    source = ast.fix_missing_locations(lengths.visit(source))
    if not lengths.asked:
        return function
    source.body[0].decorator_list = []
    made: dict[str, Callable[..., Any]] = {}
    exec(compile(source, inspect.getfile(function), "exec"), function.__globals__, made)
    return made[function.__name__]


class _Lengths(ast.NodeTransformer):
    """Replaces `if len(argument.field) > 0` or `== 0` by the branch that is taken; given: types of the arguments."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.asked = False

    def visit_If(self, branch: ast.If) -> Any:
        """Return the statements of the branch taken, or the whole where it asks for something else."""
        self.generic_visit(branch)
        match branch.test:
            case ast.Compare(
                ast.Call(ast.Name("len"), [ast.Attribute(ast.Name(argument), name)]),
                [ast.Gt() | ast.Eq() as asked],
                [ast.Constant(0)],
            ):
                of = self.given.get(argument)
                field = of[of.fields.index(name)] if isinstance(of, types.BaseNamedTuple) else None
                if isinstance(field, types.BaseTuple):
                    self.asked = True
                    some = len(field) > 0
                    return branch.body if some == isinstance(asked, ast.Gt) else branch.orelse or ast.Pass()
        return branch


inline = _overloaded(FAST, True)
strict = _overloaded({"contract"}, True)
reproducible = _overloaded({"contract"}, False)
routine = one_by_one = _overloaded(FAST, False)


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile `function` for calls from Python and keep the machine code in `CACHE_FOLDER`."""
    options = OPTIONS | {"fastmath": FAST, "nogil": True, "cache": cache.CACHE_FOLDER is not None} | more
    kept, config.CACHE_DIR = config.CACHE_DIR, str(cache.CACHE_FOLDER or "")
    try:
        return njit(**options)(function)
    finally:
        config.CACHE_DIR = kept


def lean(function: Callable[..., Any]) -> Any:
    """As `kernel`."""
    return kernel(function)


def brief(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `lean`, refusing what is no vector."""
    compiled = lean(function)

    @wraps(function)
    def checked(*arguments: Any) -> Any:
        expect_vectors(arguments)
        try:
            return compiled(*arguments)
        except NumbaError as error:
            raise TypeError(WRONG_DIMENSIONS) from error

    checked.py_func = function  # type: ignore[attr-defined]
    return checked


def spread(function: Callable[..., Any]) -> Callable[..., None]:
    """Return the routine that does for LANES robots, one by one, what `function` does for one."""

    def in_turn(*arguments: Any) -> None:
        raise NotImplementedError("for kernels to call")

    def typed(*arguments: Any) -> Callable[..., Any]:
        found: dict[str, Any] = {"function": function}
        given = [f"x{k}" for k in range(len(arguments))]
        own = ", ".join(_of_lane(x, of, found) for x, of in zip(given, arguments, strict=True))
        exec(f"def run({', '.join(given)}):\n    for lane in range({LANES}):\n        function({own})", found)
        run: Callable[..., Any] = found["run"]
        return run

    overload(in_turn, jit_options=OPTIONS | {"fastmath": FAST}, strict=False)(typed)
    return in_turn


def _of_lane(x: str, of: Any, found: dict[str, Any]) -> str:
    """Source of what one lane has of the value x of a type; named tuples join the names that are found."""
    if not isinstance(of, types.BaseNamedTuple):
        return x
    if issubclass(of.instance_class, Lanes):
        return f"{x}.each[..., lane]"
    if of.instance_class is Apart:
        return f"{x}.each[lane]"
    name = f"bundle{len(found)}"
    found[name] = of.instance_class
    parts = (_of_lane(f"{x}.{field}", part, found) for field, part in zip(of.fields, of.types, strict=True))
    return f"{name}({', '.join(parts)})"


def entry(function: Callable[..., Any], arguments: Sequence[Any], form: Hashable = ()) -> Callable[..., Any]:
    """Return the kernel."""
    return function


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Bind a kernel to these very objects."""
    return partial(function, *arguments)


@intrinsic(prefer_literal=True)
def _on_stack(context: Any, count: Any, per: Any) -> Any:
    """Array of `count` numbers for each entry of `per` on the caller's stack."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    array = types.Array(types.float64, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        length, eight = (context.get_constant(types.intp, n) for n in (count.literal_value * len(per), 8))
        with builder.goto_entry_block():
            data = builder.alloca(context.get_value_type(types.float64), length)
        data.align = 64
        out = context.make_helper(builder, array)
        out.data, out.nitems, out.itemsize = data, length, eight
        out.shape, out.strides = (
            context.make_tuple(builder, types.UniTuple(types.intp, 1), [n]) for n in (length, eight)
        )
        return out._getvalue()

    return array(count, per), codegen


@overload(words.stack, prefer_literal=True, inline="always", strict=False)
def _stack(count: Any, *per: Any) -> Any:
    return (lambda count, per: _on_stack(count, per)) if per else (lambda count: _on_stack(count, (0,)))


for word in (words.alike, words.each, words.differ, words.anywhere, words.wide, words.lane, words.to_lane,
             words.weighted, words.combine, words.combine_rows, words.transpose, words.prefetch):  # fmt: skip
    inline(word)


@overload(words.abreast, strict=False)
def _abreast(*limits: Any) -> Any:
    return (lambda last: range(last)) if len(limits) == 1 else (lambda first, last: range(first, last))
