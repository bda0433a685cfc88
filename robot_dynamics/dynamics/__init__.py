# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the equations of motion answer: torques, accelerations, inertias, kinematics."""
