# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pure functions on tuples of floats, and the drivers that run them over a robot."""
