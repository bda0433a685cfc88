# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps of the simulated plant: memory, detection, actuators, constraints, integration, ledger."""
