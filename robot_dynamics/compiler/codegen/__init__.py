# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""From a syntax tree to LLVM IR, for one robot (`scalar`) or for LANES robots at once (`vector`)."""
