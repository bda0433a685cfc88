# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A DDS domain for oneself on this computer. Needs no rclpy."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import RobotDynamicsError

DOMAINS = 100
"""From domain 102 on, ports collide with those that Linux hands out."""


def claimed(domain: int) -> socket.socket | None:
    """Claim a domain by the last of its 250 ports [DDSI-RTPS 9.6], until this is closed; None if somebody else has."""
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind(("127.0.0.1", 7400 + 250 * domain + 249))
    except OSError:
        claim.close()
        return None
    return claim


@contextmanager
def own_domain() -> Iterator[int]:
    """A domain, 1 .. DOMAINS, that no other process shares which claims its own likewise.

    Raises
    ------
    RobotDynamicsError
        All are claimed.
    """
    for k in range(DOMAINS):
        domain = 1 + (os.getpid() + k) % DOMAINS
        if claim := claimed(domain):
            with claim:
                yield domain
            return
    raise RobotDynamicsError(f"all DDS domains from 1 to {DOMAINS} are taken by other runs on this computer")
