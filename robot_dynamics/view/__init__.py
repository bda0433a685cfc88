# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Robots in three dimensions, in a browser: what links look like, forces, the ground, films. Needs the extra `view`."""
