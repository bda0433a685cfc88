# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs the node named by the first argument; a signal ends it quietly while modules are still imported, too."""

import os
import signal
import sys

SIGNALS = (signal.SIGINT, signal.SIGTERM)
for number in SIGNALS:
    signal.signal(number, lambda *_: os._exit(0))
signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

from runpy import run_module  # noqa: E402 - not before the handlers

del sys.argv[0]
run_module(f"robot_dynamics.ros.{os.path.basename(sys.argv[0])}", run_name="__main__", alter_sys=True)
