# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The default backend: kernels through numba's front end, all that they call through `codegen`.

`inline`   a formula on tuples, always inlined so that everything stays in registers;
`strict`   the same without re-association, for code whose rounding matters;
`routine`  a loop that kernels call, and that allocates nothing: no reference counts, which makes calls cheaper;
`one_by_one`
           a routine that lanes call one after the other, where what it does fills registers for one robot;
`reproducible`
           a routine whose numbers are the same to the last bit for one robot and for one in lanes: what it merges
           keeps the order written, and a product that is added is not rounded before;
           these five are compiled by `codegen`, and become machine code within a kernel only, where LLVM sees all
           of it at once;
`kernel`   what Python calls or what allocates: compiled once, kept on disk, runs without the interpreter lock;
`lean`     a kernel that allocates nothing;
`brief`    a lean kernel so short that it keeps the interpreter lock;
`spread`   a routine compiled for as many robots as there are SIMD lanes, for kernels to call.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from numba import NumbaError, config, njit, typeof
from numba.core.registry import CPUDispatcher

from . import cache, numba_types, numba_words  # noqa: F401 - registered with numba
from .numba_library import Kept, KernelCompiler
from .routines import Inside, Spread
from .vectors import WRONG_DIMENSIONS, expect_vectors

FAST = {"reassoc", "contract", "nsz", "arcp", "afn"}


class Brief(CPUDispatcher):
    """What Python calls at a high rate, with unvalidated vectors."""

    def _compile_for_args(self, *arguments: Any, **more: Any) -> Any:
        """Compile for a new kind of arguments. Raises TypeError for those that `expect_vectors` refuses."""
        expect_vectors(arguments)
        try:
            return super()._compile_for_args(*arguments, **more)
        except NumbaError as error:
            raise TypeError(WRONG_DIMENSIONS) from error


def _inside(fast: set[str], taken_in: bool, one_by_one: bool = False) -> Callable[[Callable[..., Any]], Inside]:
    return lambda function: Inside(function, tuple(sorted(fast)), taken_in, one_by_one)


inline = _inside(FAST, True)
strict = _inside({"contract"}, True)
routine = _inside(FAST, False)
reproducible = _inside(set(), False)
one_by_one = _inside(FAST, False, True)


def spread(function: Inside) -> Spread:
    """Return the routine that does for LANES robots what `function` does for one; arrays of theirs come as `Lanes`."""
    return Spread(function)


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile `function` for calls from Python and keep the machine code in `CACHE_FOLDER`."""
    options = {"fastmath": FAST, "error_model": "numpy", "boundscheck": False, "nogil": True} | more
    dispatcher = njit(pipeline_class=KernelCompiler, **options)(function)
    dispatcher.inside = Inside(function, tuple(sorted(FAST)), False)
    if cache.CACHE_FOLDER is not None:
        kept, config.CACHE_DIR = config.CACHE_DIR, str(cache.CACHE_FOLDER)
        try:
            dispatcher._cache = Kept(function)
        finally:
            config.CACHE_DIR = kept
    return dispatcher


def lean(function: Callable[..., Any]) -> Any:
    """As `kernel`, for code that allocates nothing: no reference counts here either."""
    return kernel(function, _nrt=False)


def brief(function: Callable[..., Any]) -> Any:
    """As `lean`, for code that is done before the interpreter lock would have changed hands: it is kept."""
    dispatcher = kernel(function, _nrt=False, nogil=False)
    dispatcher.__class__ = Brief
    return dispatcher


ENTRY_POINTS: dict[tuple[Callable[..., Any], Hashable], Callable[..., Any]] = {}
"""Kernels that `entry` found, by function and form."""


def entry(function: Callable[..., Any], arguments: Sequence[Any], form: Hashable = ()) -> Callable[..., Any]:
    """Answer the kernel itself for arguments whose types follow from `form`: numba looks at them for 3 ms."""
    if not isinstance(function, CPUDispatcher):
        return function
    key = function, form
    if key not in ENTRY_POINTS:
        ENTRY_POINTS[key] = function.compile(tuple(typeof(x) for x in arguments))
    return ENTRY_POINTS[key]


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Bind a kernel to these very objects: numba looks at their types once, here, and not at every call."""
    if isinstance(function, CPUDispatcher):
        function = function.compile(tuple(typeof(x) for x in arguments))
    return partial(function, *arguments)
