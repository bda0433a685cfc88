# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Speed, measured beside other libraries in one run: `python -m benchmark`, or `make bench`."""
