# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Robots over time: the plant, many of them abreast, what their runs left behind."""
