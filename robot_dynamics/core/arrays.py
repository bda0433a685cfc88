# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arrays of float64, which all that this package computes with are."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
