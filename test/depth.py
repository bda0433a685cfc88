# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `make test` takes of many cases of one law; `make test-all` takes the others."""

from collections.abc import Iterable
from typing import Any

import pytest

PARAMETERS = type(pytest.param())


def every(n: int, cases: Iterable[Any]) -> list[Any]:
    """Cases of a test, of which all but every n-th are marked thorough, the first one not."""
    return [case if i % n == 0 else thorough(case) for i, case in enumerate(cases)]


def thorough(case: Any) -> Any:
    """A case, which may be a `pytest.param`, for `make test-all` alone."""
    values, marks, name = case if isinstance(case, PARAMETERS) else ((case,), (), None)
    return pytest.param(*values, marks=(*marks, pytest.mark.thorough), id=name)
