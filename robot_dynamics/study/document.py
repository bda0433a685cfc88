# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A YAML file whose mistakes are told with their line: entries by name, with the names that are valid."""

import inspect
import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from ..core.extras import missing
from ..errors import ParameterError, RobotDynamicsError


class Entry:
    """A value of the file, where it stands, and what it is called; `value` is what YAML makes of it."""

    def __init__(self, value: Any, node: Any, path: Path, name: str = ""):
        """Take a value and the YAML node that it was made of."""
        self.value, self.node, self.path, self.name = value, node, path, name

    def error(self, problem: str) -> ParameterError:
        """Say what is wrong with this entry."""
        line = f", line {self.node.start_mark.line + 1}" if self.node is not None else ""
        return ParameterError(f"study '{self.path}'{line}: {self.name}{': ' * bool(self.name)}{problem}")

    def entries(self, valid: Collection[str] | None = None, required: Collection[str] = ()) -> dict[str, "Entry"]:
        """Return the entries of a mapping by name; `valid` names them, None lets any name be.

        Raises
        ------
        ParameterError
            No mapping, a name that is not valid or is there twice, one that is required and lacks.
        """
        if not isinstance(self.value, Mapping):
            raise self.error(f"must be a mapping of names to values, got {self.value!r}")
        found: dict[str, Entry] = {}
        for key, node in self.node.value:
            name = str(key.value)
            entry = Entry(self.value.get(name), node, self.path, f"{self.name}.{name}" if self.name else name)
            if name not in self.value or name in found:
                raise Entry(None, key, self.path, self.name).error(f"'{name}' is there twice or is no name")
            if valid is not None and name not in valid:
                raise Entry(None, key, self.path, self.name).error(
                    f"there is no '{name}'; valid names: {', '.join(valid)}"
                )
            found[name] = entry
        for name in required:
            if name not in found:
                raise self.error(f"'{name}' is required")
        return found

    def items(self) -> list["Entry"]:
        """Return the entries of a list. Raises ParameterError."""
        if not isinstance(self.value, list):
            raise self.error(f"must be a list in brackets, got {self.value!r}")
        pairs = enumerate(zip(self.value, self.node.value, strict=True))
        return [Entry(value, node, self.path, f"{self.name}[{i}]") for i, (value, node) in pairs]

    def number(self, low: float = -math.inf, high: float = math.inf, open_low: bool = False) -> float:
        """Return a finite number in a range. Raises ParameterError."""
        x = self.value
        if isinstance(x, bool) or not isinstance(x, int | float) or not math.isfinite(x):
            raise self.error(f"must be a number, got {x!r}")
        if not low <= x <= high or (open_low and x == low):
            bound = f"above {low:g}" if open_low else f"at least {low:g}"
            raise self.error(f"must be {bound}{f' and at most {high:g}' * (high < math.inf)}, got {x:g}")
        return float(x)

    def whole(self, low: int, high: int) -> int:
        """Return a whole number in a range. Raises ParameterError."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not low <= self.value <= high:
            raise self.error(f"must be a whole number from {low} to {high}, got {self.value!r}")
        return self.value

    def text(self, valid: Collection[str] = ()) -> str:
        """Return a text, one of `valid` if any are given. Raises ParameterError."""
        if not isinstance(self.value, str):
            raise self.error(f"must be a text, got {self.value!r}")
        if valid and self.value not in valid:
            raise self.error(f"must be one of {', '.join(valid)}, got '{self.value}'")
        return self.value

    def flag(self) -> bool:
        """Return true or false. Raises ParameterError."""
        if not isinstance(self.value, bool):
            raise self.error(f"must be true or false, got {self.value!r}")
        return self.value

    def made(self, make: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return what `make` makes of the arguments; what is wrong with them is wrong with this entry."""
        try:
            inspect.signature(make).bind(*args, **options)
            return make(*args, **options)
        except RobotDynamicsError as error:
            raise self.error(str(error)) from None
        except (TypeError, ValueError) as error:
            raise self.error(str(error)) from None


def read_document(path: Path) -> tuple[str, Entry]:
    """Return the text of a YAML file and its entries. Raises ParameterError: not there, no text, no YAML."""
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise ParameterError(missing("yaml")) from None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ParameterError(f"cannot read '{path}': {getattr(problem, 'strerror', None) or 'no text'}") from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        raise ParameterError(f"study '{path}'{f', line {mark.line + 1}' if mark else ''}: this is no YAML") from None
    if node is None or not isinstance(value, Mapping):
        raise ParameterError(f"study '{path}' must be a mapping of names to values")
    return text, Entry(value, node, path)
