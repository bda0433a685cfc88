# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Calling convention: numbers by value, named tuples by pointer, several results in a struct."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from .syntax import Foreign
from .values import INT, Array, constant, kind, numbers, rebuilt

NARROW = '"min-legal-vector-width"="256"'
"""Attribute of a function that leaves 512-bit registers alone: while a few of them are shuffled, one of the two ports
that do all other arithmetic is closed."""


class Written(NamedTuple):
    """A function in LLVM's language: type, name, and a value like its result."""

    kind: ir.FunctionType
    name: str
    result: Any


def is_bundle(x: Any) -> bool:
    """Whether a value is a named tuple: functions are handed its place. An `Array` is handed number by number."""
    return hasattr(x, "_fields") and not isinstance(x, Array)


def slot(builder: ir.IRBuilder, place: Any, k: int, of: ir.Type) -> Any:
    """Pointer to number k of a bundle, of eight bytes each."""
    return builder.bitcast(builder.gep(place, [INT(k)], inbounds=True), of.as_pointer())


def packed(builder: ir.IRBuilder, bundle: Any) -> Any:
    """Place of a bundle, newly written. Raises Foreign where a number of it differs from lane to lane."""
    parts = [constant(x) for x in numbers(bundle)]
    if any(isinstance(x.type, ir.VectorType) for x in parts):
        raise Foreign(f"a number of a {type(bundle).__name__} that differs from lane to lane: hand it on by itself")
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
