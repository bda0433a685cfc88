# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the nodes decide, without ROS: guards, gaits, feed-forward torques, monitors."""
