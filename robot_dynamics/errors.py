# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Errors written for the person who reads them: what is wrong, what was expected, what came, the valid names."""

from collections.abc import Iterable


class RobotDynamicsError(Exception):
    """Any problem this package reports on purpose; its text is one sentence for the user."""


class ModelError(RobotDynamicsError):
    """The robot description cannot be turned into a model."""


class SingularModelError(ModelError):
    """A moving joint carries no inertia about its axis, so forward dynamics has no answer."""


class ShapeError(RobotDynamicsError):
    """An array has the wrong shape or holds a value that is not finite."""


class UnknownNameError(RobotDynamicsError):
    """A name that the model does not have."""

    def __init__(self, kind: str, name: str, valid: Iterable[str]):
        """Say which `kind` of thing is unknown ("link", "joint", ...) and which names are valid."""
        names = sorted(valid)
        shown = ", ".join(names[:60]) + (f", ... ({len(names)} in all)" if len(names) > 60 else "")
        super().__init__(f"there is no {kind} '{name}'; valid names: {shown or '(none)'}")


class ParameterError(RobotDynamicsError):
    """A parameter is outside its range or contradicts another one."""


class DivergedError(RobotDynamicsError):
    """The simulated motion left the finite numbers or gained energy from nothing."""
