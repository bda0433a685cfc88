# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the processes of this package reach each other."""

import os
from pathlib import Path

import rclpy

from ..share import share_folder

PROFILES = {"fastdds": "FASTDDS_DEFAULT_PROFILES_FILE", "fastrtps": "FASTRTPS_DEFAULT_PROFILES_FILE"}
"""Where Fast DDS looks for a profile, by the name of its library: libfastdds since Kilted, libfastrtps before."""


def configure_fast_dds() -> None:
    """Let Fast DDS go by UDP alone, buffer more and wake its threads less often, unless the user configures it.

    Where a process was killed, those who wrote to it and its successor both make its queue in shared memory anew. They
    may end with two of one name: then the successor hears late or never. UDP costs some percent of a core at 1 kHz.
    Restricted to this computer rmw_fastrtps insists on shared memory; the same restriction in a profile does not.
    """
    environment = os.environ
    if "fastrtps" not in rclpy.get_rmw_implementation_identifier() or any(map(environment.get, PROFILES.values())):
        return
    libraries = Path("/proc/self/maps")
    if not libraries.exists():  # not on Linux
        return
    alone, profile = environment.get("ROS_LOCALHOST_ONLY") == "1", "writers"
    if not alone and environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE") != "LOCALHOST":
        environment.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    elif alone or not environment.get("ROS_STATIC_PEERS"):
        profile = "loopback"
        environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SUBNET"
        environment.pop("ROS_LOCALHOST_ONLY", None)
    library = "fastrtps" if "libfastrtps" in libraries.read_text() else "fastdds"  # neither knows the other's names
    environment[PROFILES[library]] = str(share_folder() / "config" / f"{profile}_{library}.xml")
