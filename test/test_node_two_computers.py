# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tests of loop_of_two_computers.py, in a process of their own.

DDS remembers the network of the first participant of a process, and these go to other networks.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from two_computers import two_computers

pytestmark = [pytest.mark.ros, pytest.mark.thorough]
TESTS = Path(__file__).with_name("loop_of_two_computers.py")


@pytest.mark.timeout(1800)  # a minute for each of ten lines, at half the real time
def test_the_loop_between_two_computers():
    """Thorough, as it needs the machine: a robot whose commands come late for other tests' sake falls, as it would."""
    try:
        with two_computers():
            pass
    except OSError as problem:
        pytest.skip(f"network namespaces and TUN devices are not permitted here: {problem}")
    command = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", str(TESTS)]
    ended = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ended.returncode == 0, ended.stdout
    print(ended.stdout)
