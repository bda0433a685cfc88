# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What every layer uses: checks of input, optional packages, cores, pages."""
