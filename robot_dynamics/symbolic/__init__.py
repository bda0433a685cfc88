# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion in closed form, as coefficient tensors, text and source code."""
