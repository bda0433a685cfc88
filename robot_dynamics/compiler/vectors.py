# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a `brief` kernel accepts from Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np

WRONG_DIMENSIONS = "an array has the wrong number of dimensions"


def expect_vectors(arguments: Sequence[Any]) -> None:
    """Raise TypeError for anything behind the robot but writable float64 vectors in C order and matrices.

    Each further type, read-only arrays too, would compile for seconds while a robot waits.
    """
    for x in arguments[1:]:
        if not (isinstance(x, np.ndarray) and (x.ndim > 1 or (x.flags.carray and x.dtype == np.float64))):
            raise TypeError(f"expected writable float64 vectors in C order, got {type(x).__name__}")
