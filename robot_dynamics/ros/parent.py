# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The process with which a node ends: a launch that is killed passes no signal on."""

import os


class Parent:
    """Another process of this computer, by its number; 0 is none."""

    def __init__(self, pid: int):
        """Watch `pid`, at best the one that started this one: a child has another parent as soon as its own is gone."""
        self.pid = pid
        self._ours = os.getppid() == pid

    @property
    def gone(self) -> bool:
        """Whether it is no more."""
        if self._ours:
            return os.getppid() != self.pid
        try:
            if self.pid:
                os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # somebody else's
            pass
        return False
