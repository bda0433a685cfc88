# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The only package that imports rclpy: parameters, conversion of messages, start-up, and one file per node."""
