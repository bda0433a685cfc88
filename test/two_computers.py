# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two computers on one: network namespaces, joined by a process that delays, drops and reorders IP packets.

Run as a program it is that process: it takes the file descriptors of two TUN devices, and on standard input one line of
JSON for every change of the line.
"""

import ctypes
import fcntl
import heapq
import itertools
import json
import os
import random
import select
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
"""[linux/sched.h, linux/if_tun.h]"""
DEVICE = "wire"
PACKET = 65536
FIRST = 60
"""Priority of the line: nodes, at 50, do not delay the packets of others."""
LIBC = ctypes.CDLL(None, use_errno=True)


class Computer:
    """A network namespace with one interface; what is started `inside` it has no other network."""

    def __init__(self, address: str):
        """Make it. Raises OSError where that is not permitted."""
        with _namespace_kept():
            _checked(LIBC.unshare(CLONE_NEWNET))
            self.namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            self.line = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(self.line, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
            for command in (
                "link set lo up",
                f"address add {address}/24 dev {DEVICE}",
                f"link set {DEVICE} up multicast on",
                f"route add 224.0.0.0/4 dev {DEVICE}",
            ):
                subprocess.run(["ip", *command.split()], check=True)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Let this thread open its sockets there, and the processes that it starts."""
        with _namespace_kept():
            _checked(LIBC.setns(self.namespace, CLONE_NEWNET))
            yield

    def close(self) -> None:
        """Let it go with the last process in it."""
        os.close(self.namespace)
        os.close(self.line)


@contextmanager
def _namespace_kept() -> Iterator[None]:
    """Come back to the network of before."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        yield
    finally:
        _checked(LIBC.setns(before, CLONE_NEWNET))
        os.close(before)


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Line:
    """What joins two computers; `set` changes what it does to packets."""

    def __init__(self, a: Computer, b: Computer):
        ends = (a.line, b.line)
        command = [sys.executable, str(Path(__file__)), *map(str, ends)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, bufsize=1, pass_fds=ends)

    def set(self, delay: float = 0.0, loss: float = 0.0, reorder: float = 0.0, cut: bool = False) -> None:
        """Hold every packet for `delay` [s], drop a share `loss`, hold a share `reorder` for 5 ms longer."""
        self.process.stdin.write(json.dumps([delay, 1.0 if cut else loss, reorder]) + "\n")

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


@contextmanager
def two_computers() -> Iterator[tuple[Computer, Computer, Line]]:
    """Two computers and the line between them. Raises OSError where that is not permitted."""
    a = Computer("10.77.0.1")
    try:
        b = Computer("10.77.0.2")
        line = Line(a, b)
        try:
            yield a, b, line
        finally:
            line.close()
            b.close()
    finally:
        a.close()


def forward(ends: tuple[int, int], orders: int) -> None:
    """Take packets from either end to the other until the orders end."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIRST))
    delay = loss = reorder = 0.0
    other = dict(zip(ends, reversed(ends), strict=True))
    on_the_way: list[tuple[float, int, int, bytes]] = []
    number, draw, text = itertools.count(), random.Random(0).random, b""
    while True:
        now = time.monotonic()
        while on_the_way and on_the_way[0][0] <= now:
            _, _, end, packet = heapq.heappop(on_the_way)
            os.write(end, packet)
        left = max(on_the_way[0][0] - now, 0.0) if on_the_way else None
        for end in select.select([*ends, orders], [], [], left)[0]:
            if end != orders:
                packet, due = os.read(end, PACKET), time.monotonic() + delay
                if draw() >= loss:
                    due += 5e-3 * (draw() < reorder)
                    heapq.heappush(on_the_way, (due, next(number), other[end], packet))
                continue
            if not (read := os.read(end, PACKET)):
                return
            *lines, text = (text + read).split(b"\n")
            for line in lines:
                delay, loss, reorder = json.loads(line)


if __name__ == "__main__":
    forward((int(sys.argv[1]), int(sys.argv[2])), sys.stdin.fileno())
