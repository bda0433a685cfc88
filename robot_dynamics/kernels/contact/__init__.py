# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact of points with the ground: friction, spring-damper, impulse, and the solver that couples all contacts."""
