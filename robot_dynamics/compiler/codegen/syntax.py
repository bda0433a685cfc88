# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Functions of the language as syntax trees, and what tells that one cannot be compiled."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba import TypingError


class Refused(TypingError):
    """A kernel's function holds something that is not in the language."""


class Again(Exception):
    """A function is to be written once more, otherwise."""


class Foreign(Exception):
    """Something in a statement that is not in the language."""


class Function:
    """A function of the language; `taken_in`: merged into its caller.

    fast: flags of its arithmetic; without any its numbers, and those of what is merged into it, are reproducible.
    one_by_one: written for one robot only; lanes call it one after the other.
    """

    def __init__(self, function: Callable[..., Any], fast: tuple[str, ...], taken_in: bool, one_by_one: bool = False):
        self.py_func, self.fast, self.taken_in, self.one_by_one = function, fast, taken_in, one_by_one
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
