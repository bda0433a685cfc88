# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs kept in bags: made without ROS, put through the plant again, given to feed-forward and monitor."""
