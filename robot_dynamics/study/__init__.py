# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Studies: thousands of runs of a robot whose parameters vary, each decided by the study's seed and its number."""
