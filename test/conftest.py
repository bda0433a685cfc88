# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every test file has a DDS domain to itself, whoever else runs tests on this machine.

Nodes of one file would else be seen in the next: rclpy's lifecycle nodes stay on the domain until they are collected.
"""

import itertools
import os
from collections.abc import Iterator

import pytest

from robot_dynamics.ros.domain import DOMAINS, claimed


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker runs all that starts nodes, from the beginning; files without nodes are shared among the others.

    Nodes of two tests at a time would take the processor from each other, and a robot falls that nobody holds.
    """
    for item in items:
        item.add_marker(pytest.mark.xdist_group("nodes" if "ros" in item.keywords else item.nodeid.split("::")[0]))
    items.sort(key=lambda item: "ros" not in item.keywords)


@pytest.fixture(scope="session")
def domains() -> Iterator[int]:
    """Numbers of domains in turn; of several workers each has its own, which nodes that linger do not leave."""
    worker, workers = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]), "PYTEST_XDIST_WORKER_COUNT"
    return itertools.cycle(range(1 + worker, DOMAINS + 1, int(os.environ.get(workers, "1"))))


@pytest.fixture(scope="module", autouse=True)
def _own_domain(domains: Iterator[int]) -> Iterator[None]:
    domain, claim = next((domain, claim) for domain in itertools.islice(domains, DOMAINS) if (claim := claimed(domain)))
    with claim, pytest.MonkeyPatch.context() as environment:
        environment.setenv("ROS_DOMAIN_ID", str(domain))
        environment.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        yield
