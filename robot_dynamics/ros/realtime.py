# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a node of the loop asks of the system so that it is on time."""

import os
import struct
import threading
from contextlib import suppress
from pathlib import Path

DEVICE = Path("/dev/cpu_dma_latency")
"""Linux lets no processor sleep so deep that it wakes later than what is written here [us], while it is open."""
ANY = 1.0
"""A latency that asks for nothing [s]."""
SENDS_AGAIN = "dds.asyn"
"""What the thread of Fast DDS is called that sends without being waited for."""


class Urgency:
    """SCHED_FIFO for the threads of this process, and processors that wake soon.

    Threads of DDS come one below Python's: at the same priority the one that answers would not displace the one that
    wakes it, but move to another processor, with every message, and find nothing in the cache there. The one that sends
    again what was lost comes below them: Fast DDS has it try a writer's lock without ever sleeping, so that on a single
    processor it would keep the thread that holds the lock from letting it go.
    """

    def __init__(self) -> None:
        """Ask for nothing yet."""
        self._request: int | None = None

    def ask(self, priority: int = 0, latency: float = ANY) -> list[str]:
        """Ask for `priority` (0: ordinary threads) and `latency` [s] in place of the last; says what is not permitted.

        The system forgets it all when the process ends.
        """
        refused = []
        if not self._schedule(priority) and priority:
            refused.append(f"thread_priority {priority} is not permitted (ulimit -r): ordinary threads")
        if not self._wake_within(latency):
            refused.append(f"wake_latency {latency:g} s is not permitted (no access to {DEVICE}): processors sleep")
        return refused

    def _schedule(self, priority: int) -> bool:
        try:
            own = {thread.native_id for thread in threading.enumerate()}
            for thread in map(int, os.listdir("/proc/self/task")):
                with suppress(ProcessLookupError, FileNotFoundError):
                    level = priority if thread in own else max(priority - _below(thread), 0)
                    os.sched_setscheduler(thread, os.SCHED_FIFO if level else os.SCHED_OTHER, os.sched_param(level))
        except (AttributeError, OSError):  # not on Linux, or not for this user
            return False
        return True

    def _wake_within(self, latency: float) -> bool:
        if self._request is not None:
            os.close(self._request)
            self._request = None
        if latency >= ANY:
            return True
        try:
            self._request = os.open(DEVICE, os.O_WRONLY)
            os.write(self._request, struct.pack("i", round(1e6 * latency)))
        except OSError:
            return False
        return True


def _below(thread: int) -> int:
    """How far below Python's threads one of DDS comes."""
    return 2 if Path(f"/proc/self/task/{thread}/comm").read_text().startswith(SENDS_AGAIN) else 1
