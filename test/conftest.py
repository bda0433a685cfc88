# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every test file has a DDS domain to itself, whoever else runs tests on this machine.

Nodes of one file would else be seen in the next: rclpy's lifecycle nodes stay on the domain until they are collected.
"""

import itertools
import socket
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def domains() -> Iterator[int]:
    """Numbers of domains in turn; above 101 ports collide with those Linux hands out."""
    return itertools.cycle(range(1, 101))


@pytest.fixture(scope="module", autouse=True)
def _own_domain(domains: Iterator[int]) -> Iterator[None]:
    domain, claim = next((domain, claim) for domain in itertools.islice(domains, 100) if (claim := claimed(domain)))
    with claim, pytest.MonkeyPatch.context() as environment:
        environment.setenv("ROS_DOMAIN_ID", str(domain))
        environment.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        yield


def claimed(domain: int) -> socket.socket | None:
    """Claim a domain by the last of its 250 ports [DDSI-RTPS 9.6]; None if somebody else has."""
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind(("127.0.0.1", 7400 + 250 * domain + 249))
    except OSError:
        claim.close()
        return None
    return claim
