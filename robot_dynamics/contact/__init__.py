# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Contact: where a robot can touch, what it touches, and the parameters of the two laws."""
