# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`python -m robot_dynamics`: the command `robot_dynamics`."""

import sys

from robot_dynamics.cli import main

sys.exit(main())
