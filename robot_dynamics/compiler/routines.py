# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Functions that kernels call: compiled to LLVM IR once for each form of their arguments."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from numba.core.registry import cpu_target

from .codegen.calling import Written
from .codegen.scalar import write
from .codegen.syntax import Again, Function
from .codegen.values import form
from .codegen.vector import write_wide
from .numba_library import Ingredient


class Inside(Function):
    """What kernels call, written by `language`. From Python it runs as Python."""

    def __init__(self, function: Callable[..., Any], fast: tuple[str, ...], taken_in: bool, one_by_one: bool = False):
        super().__init__(function, fast, taken_in, one_by_one)
        self.parts: dict[Any, Part] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run un-jitted."""
        return self.py_func(*arguments)

    def part(self, arguments: Sequence[Any]) -> "Part":
        """Write it for arguments of this form, once."""

        def begin(name: str, part: Callable[..., Written], module: Any) -> Written:
            return write(self, arguments, name, part, module)

        return self._once(form(tuple(arguments)), begin, Inside.part)

    def part_of_lanes(self, arguments: Sequence[Any], masked: bool) -> "Part":
        """Write it for as many robots as there are lanes; `masked`: it is told which of them are at work."""
        if self.one_by_one:
            return self.part(arguments)

        def begin(name: str, part: Callable[..., Written], module: Any) -> Written:
            return write_wide(self, arguments, name, part, module, masked)

        return self._once((masked, form(tuple(arguments))), begin, Inside.part_of_lanes)

    def _once(self, key: Any, begin: Callable[..., Written], again: Callable[..., "Part"]) -> "Part":
        """What `begin` writes, with what `again` makes of the functions that it calls."""
        if key in self.parts:
            return self.parts[key]
        # two functions may have one name: LLVM would take the first one for both
        name = f"{self.py_func.__module__}.{self.py_func.__name__}.{id(self):x}.{len(self.parts)}"
        library = Ingredient(cpu_target.target_context.codegen(), name)
        called_libraries: dict[Ingredient, None] = {}

        def part(function: Inside, *given: Any) -> Written:
            written, of = again(function, *given)
            called_libraries[of] = None
            return written

        written = None
        while written is None:
            module = library.create_ir_module(name)
            with suppress(Again):
                written = begin(name, part, module)
        for of in called_libraries:
            library.add_linking_library(of)
        library.add_ir_module(module)
        library.finalize()
        self.parts[key] = Part(written, library)
        return self.parts[key]


class Spread(Inside):
    """A function of one robot, called for as many as there are lanes."""

    def __init__(self, inside: Inside):
        super().__init__(inside.py_func, inside.fast, False)
        self.inside = inside

    def part(self, arguments: Sequence[Any]) -> "Part":
        """Write it for arguments of this form, once."""
        return self.inside.part_of_lanes(arguments, False)


class Part(NamedTuple):
    """What an `Inside` is for one form of arguments, and where that is."""

    written: Written
    library: Ingredient
