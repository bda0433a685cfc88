# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Commands that name the interfaces of each joint, as those of ros2_control do: position, velocity, effort, gains."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from .guard import DUPLICATE_INTERFACE, LENGTH, UNKNOWN_INTERFACE, Array, InputGuard

INTERFACES = ("position", "velocity", "effort", "kp", "kd")
PLACES = {name: i for i, name in enumerate(INTERFACES)} | {"stiffness": 3, "damping": 4}
"""Name of an interface -> its place in INTERFACES; gains have two names."""
Values = tuple[Sequence[str], Sequence[float]]
"""Interfaces of a joint, and a value for each."""
Fault = tuple[str, str] | None
"""Cause and sentence to refuse a message with."""


def columns_from_interfaces(joints: Sequence[str], given: Sequence[Values], guard: InputGuard) -> list[Array] | None:
    """Return position, velocity, effort, kp and kd of the joints, (n,) each, empty where left out.

    Parameters
    ----------
    joints : n names, which whoever takes the columns has to check.
    given : what each of them is given: the same interfaces all, in any order.
    guard : counts what cannot be read, for which the result is None.
    """
    fault = _fault(joints, given)
    if fault is not None:
        guard.refuse(*fault)
        return None
    columns: list[list[float]] = [[] for _ in INTERFACES]
    for names, values in given:
        for name, value in zip(names, values, strict=True):
            columns[PLACES[name]].append(value)
    return [np.array(column) for column in columns]


def _fault(joints: Sequence[str], given: Sequence[Values]) -> Fault:
    if len(given) != len(joints):
        return LENGTH, f"{len(joints)} joints need as many lists of interfaces, got {len(given)}"
    for joint, (names, values) in zip(joints, given, strict=True):
        if fault := _fault_of_joint(joint, names, values):
            return fault
    counts = Counter(PLACES[name] for names, _ in given for name in names)
    for place, count in counts.items():
        if count < len(joints):
            some = f"{count} of {len(joints)} joints give {INTERFACES[place]}"
            return LENGTH, f"{some}; the joints of a message must give the same interfaces"
    return None if counts else (LENGTH, "no values given")


def _fault_of_joint(joint: str, names: Sequence[str], values: Sequence[float]) -> Fault:
    if len(names) != len(values):
        return LENGTH, f"'{joint}' names {len(names)} interfaces and gives {len(values)} values"
    if unknown := [name for name in names if name not in PLACES]:
        return UNKNOWN_INTERFACE, f"'{joint}' has no interface '{unknown[0]}'; valid names: {', '.join(PLACES)}"
    if len({PLACES[name] for name in names}) < len(names):
        return DUPLICATE_INTERFACE, f"'{joint}' gives one interface twice: {', '.join(names)}"
    return None
