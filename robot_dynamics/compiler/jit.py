# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The decorators of kernels, of the backend that this process has chosen."""

from importlib import import_module

from .choice import BACKEND

_backend = import_module(f".{BACKEND}_backend", __package__)

inline = _backend.inline
strict = _backend.strict
routine = _backend.routine
reproducible = _backend.reproducible
one_by_one = _backend.one_by_one
kernel = _backend.kernel
lean = _backend.lean
brief = _backend.brief
spread = _backend.spread
entry = _backend.entry
bound = _backend.bound
