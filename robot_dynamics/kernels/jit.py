# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one place of numba's flags and of the folder its machine code is kept in.

`inline`   a formula on tuples, always merged into its caller so that everything stays in registers;
`strict`   the same without re-association, for code whose rounding matters;
`routine`  a loop that kernels call, and that allocates nothing: arrays are not counted, which makes calls cheaper;
           these three are written by `language`, and become machine code within a kernel only, where LLVM sees all
           of it at once;
`kernel`   what Python calls or what allocates: compiled once, kept on disk, runs without the interpreter lock;
`lean`     a kernel that allocates nothing;
`brief`    a lean kernel so short that it keeps the interpreter lock;
`spread`   a routine written by `wide` for as many robots as there are SIMD lanes, for kernels to call.

numba serves stale code when a callee in another file changes, so the folder's name holds a hash of all kernel sources.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite.binding import Linkage
from numba import config, njit, typeof, types
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.errors import NumbaError
from numba.core.imputils import lower_constant
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys
from numba.core.typed_passes import NativeLowering
from numba.core.typing import signature
from numba.extending import models, register_model, typeof_impl
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from .language import (
    BIT,
    BYTE,
    DOUBLE,
    INT,
    LANES,
    NARROW,
    Again,
    Array,
    Foreign,
    Function,
    Refused,
    Written,
    called,
    flat,
    form,
    packed,
    write,
)
from .wide import Laned, write_wide

FAST = {"reassoc", "contract", "nsz", "arcp", "afn"}

WRONG_DIMENSIONS = "an array has the wrong number of dimensions"


class Ingredient(JITCodeLibrary):
    """Code that only goes into kernels: numba would link, optimise and assemble it again in every caller."""

    def finalize(self) -> None:
        """Be ready for linking, alone and without machine code."""
        self._finalized = True


def _callees_first(libraries: list[JITCodeLibrary], found: dict[JITCodeLibrary, None]) -> dict[JITCodeLibrary, None]:
    """Each library once, also what libraries call: LLVM links only what is called by then."""
    for library in libraries:
        if library not in found:
            _callees_first(library._linking_libraries, found)
            found[library] = None
    return found


class Whole(JITCodeLibrary):
    """Code of a kernel, which nothing else calls into: what is called once is merged, what nobody reads not passed."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Take in what numba has written."""
        for function in ir_module.functions:
            if function.blocks:
                set.add(function.attributes, NARROW)
        super().add_ir_module(ir_module)

    def finalize(self) -> None:
        """Link all ingredients, also those of ingredients, and make machine code."""
        self._linking_libraries: list[Any] = list(reversed(_callees_first(self._linking_libraries, {})))
        super().finalize()

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage is Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerKernel(NativeLowering):
    """numba's last pass, into a `Whole`."""

    _name = "lower_kernel"

    def run_pass(self, state: Any) -> bool:
        """Make LLVM's code, with room for the machine code that is kept."""
        state.library = Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class Kept(FunctionCache):
    """Machine code on disk, loaded without all that numba needs to compile: that takes longer than to load it."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Code of one signature, or None."""
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


class Compiler(CompilerBase):
    """numba's compiler with another last pass."""

    lowering: type
    skipped: frozenset[str] = frozenset()

    def define_pipelines(self) -> list[Any]:
        """numba's passes without those skipped, the last one replaced."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = [x for x in pipeline.passes if x[0].__name__ not in self.skipped]
        pipeline.passes = [(self.lowering if x is NativeLowering else x, why) for x, why in passes]
        pipeline.finalize()
        return [pipeline]


class KernelCompiler(Compiler):
    """For kernels."""

    lowering = LowerKernel


class Inside(Function):
    """What kernels call, written by `language`. From Python it runs as Python."""

    def __init__(self, function: Callable[..., Any], fast: tuple[str, ...], taken_in: bool):
        super().__init__(function, fast, taken_in)
        self.parts: dict[Any, Part] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run un-jitted."""
        return self.py_func(*arguments)

    def part(self, arguments: Sequence[Any]) -> "Part":
        """Write it for arguments of this form, once."""

        def begin(name: str, part: Callable[..., Written], module: Any) -> Written:
            return write(self, arguments, name, part, module)

        return self._once(form(tuple(arguments)), begin, Inside.part)

    def part_of_lanes(self, arguments: Sequence[Any], masked: bool) -> "Part":
        """Write it for as many robots as there are lanes; `masked`: it is told which of them are at work."""

        def begin(name: str, part: Callable[..., Written], module: Any) -> Written:
            return write_wide(self, arguments, name, part, module, masked)

        return self._once((masked, form(tuple(arguments))), begin, Inside.part_of_lanes)

    def _once(self, key: Any, begin: Callable[..., Written], again: Callable[..., "Part"]) -> "Part":
        """What `begin` writes, with what `again` makes of the functions that it calls."""
        if key in self.parts:
            return self.parts[key]
        # two functions may have one name: LLVM would take the first one for both
        name = f"{self.py_func.__module__}.{self.py_func.__name__}.{id(self):x}.{len(self.parts)}"
        library = Ingredient(cpu_target.target_context.codegen(), name)
        called_libraries: dict[Ingredient, None] = {}

        def part(function: Inside, *given: Any) -> Written:
            written, of = again(function, *given)
            called_libraries[of] = None
            return written

        written = None
        while written is None:
            module = library.create_ir_module(name)
            with suppress(Again):
                written = begin(name, part, module)
        for of in called_libraries:
            library.add_linking_library(of)
        library.add_ir_module(module)
        library.finalize()
        self.parts[key] = Part(written, library)
        return self.parts[key]


class Lanes(NamedTuple):
    """An array of as many robots as there are lanes, along its last dimension."""

    each: NDArray[Any]


class Spread(Inside):
    """A function of one robot, called for as many as there are lanes."""

    def __init__(self, inside: Inside):
        super().__init__(inside.py_func, inside.fast, False)
        self.inside = inside

    def part(self, arguments: Sequence[Any]) -> "Part":
        """Write it for arguments of this form, once."""
        return self.inside.part_of_lanes(arguments, False)


def spread(function: Any) -> Any:
    """Answer the routine that does for LANES robots what `function` does for one; arrays of theirs come as `Lanes`."""
    if not config.DISABLE_JIT:
        return Spread(function)

    def one_by_one(*arguments: Any) -> None:
        for lane in range(LANES):
            function(*(_of_lane(x, lane) for x in arguments))

    return one_by_one


def _of_lane(x: Any, lane: int) -> Any:
    """What one lane has of what all have."""
    if isinstance(x, Lanes):
        return x.each[..., lane]
    return type(x)(*(_of_lane(part, lane) for part in x)) if hasattr(x, "_fields") else x


class Part(NamedTuple):
    """What an `Inside` is for one form of arguments, and where that is."""

    written: Written
    library: Ingredient


class InsideType(types.Callable):
    """numba's type of one `Inside`."""

    def __init__(self, inside: Inside):
        self.inside = inside
        super().__init__(f"inside({inside.py_func.__module__}.{inside.py_func.__name__})")

    @property
    def key(self) -> Inside:
        """What tells it from others."""
        return self.inside

    def get_call_type(self, context: Any, args: Sequence[Any], kws: Any) -> Any:
        """Write it for these arguments; returns the types of its result and of them."""
        given = tuple(types.unliteral(x) for x in args)
        try:
            written, library = self.inside.part([example(x) for x in given])
        except Foreign as error:
            raise Refused(str(error)) from None

        def call(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            values = [taken_apart(context, builder, t, x) for t, x in zip(given, arguments, strict=True)]
            result = called(builder, written, flat(values, partial(packed, builder)))
            return put_together(context, builder, signature.return_type, result)

        call.libs = (library,)  # type: ignore[attr-defined]
        cpu_target.target_context.insert_func_defn([(call, self.get_impl_key(given), given)])
        return signature(numba_type(written.result), *given)

    def get_call_signatures(self) -> tuple[tuple[Any, ...], bool]:
        """None that is known beforehand."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """Under what `get_call_type` leaves the code."""
        return self.inside, getattr(sig, "args", sig)


typeof_impl.register(Inside)(lambda value, context: InsideType(value))
register_model(InsideType)(models.OpaqueModel)
lower_constant(InsideType)(lambda context, builder, of, value: context.get_dummy_value())

ELEMENTS = {types.float64: DOUBLE, types.int64: INT, types.boolean: BIT}
"""Numbers of numba and of `language`."""


def example(of: Any) -> Any:
    """A value of `language` like one of a type of numba. Raises Foreign where it has none."""
    if getattr(of, "dtype", of) not in ELEMENTS and not isinstance(of, (types.BaseTuple, types.NoneType, InsideType)):
        raise Foreign(f"expected float64, int64, boolean, arrays and tuples of them, got {of}")
    if isinstance(of, types.Array):
        element = BYTE if of.dtype == types.boolean else ELEMENTS[of.dtype]
        lengths = (INT(0),) * of.ndim
        return Array(element, element.as_pointer()(None), lengths, None if of.layout == "C" else lengths)
    if isinstance(of, types.BaseNamedTuple) and of.instance_class is Lanes:
        element = ELEMENTS[of[0].dtype]
        return Laned(element, (element.as_pointer()(None), INT(0)), (INT(0),) * (of[0].ndim - 1), None)
    if isinstance(of, types.BaseTuple):
        values = [example(x) for x in of]
        return of.instance_class(*values) if isinstance(of, types.BaseNamedTuple) else tuple(values)
    if isinstance(of, InsideType):
        return of.inside
    return None if of == types.none else ELEMENTS[of](0)


def numba_type(x: Any) -> Any:
    """numba's type of a value of `language`."""
    if isinstance(x, tuple):
        return types.BaseTuple.from_types([numba_type(part) for part in x])
    return types.none if x is None else {element: of for of, element in ELEMENTS.items()}[x.type]


def taken_apart(context: Any, builder: Any, of: Any, x: Any) -> Any:
    """numba's value as one of `language`."""
    if isinstance(of, types.Array):
        array = make_array(of)(context, builder, x)
        lengths, strides = (tuple(cgutils.unpack_tuple(builder, y, of.ndim)) for y in (array.shape, array.strides))
        return Array(array.data.type.pointee, array.data, lengths, None if of.layout == "C" else strides)
    if isinstance(of, types.BaseNamedTuple) and of.instance_class is Lanes:
        (array,) = cgutils.unpack_tuple(builder, x, 1)
        array = taken_apart(context, builder, of[0], array)
        return Laned(array.element, (array.data, INT(0)), array.shape[:-1], None)
    if isinstance(of, types.BaseTuple):
        values = zip(of, cgutils.unpack_tuple(builder, x, len(of)), strict=True)
        parts = [taken_apart(context, builder, t, value) for t, value in values]
        return of.instance_class(*parts) if isinstance(of, types.BaseNamedTuple) else tuple(parts)
    return x if of in ELEMENTS else None


def put_together(context: Any, builder: Any, of: Any, x: Any) -> Any:
    """A value of `language` as numba's."""
    if isinstance(of, types.BaseTuple):
        parts = [put_together(context, builder, t, part) for t, part in zip(of, x, strict=True)]
        return context.make_tuple(builder, of, parts)
    return context.get_dummy_value() if x is None else x


class Brief(CPUDispatcher):
    """What Python calls at a high rate, with vectors that nobody has looked at yet."""

    def _compile_for_args(self, *arguments: Any, **more: Any) -> Any:
        """Compile for a new kind of arguments. Raises TypeError for those that `_expect_vectors` refuses."""
        _expect_vectors(arguments)
        try:
            return super()._compile_for_args(*arguments, **more)
        except NumbaError as error:
            raise TypeError(WRONG_DIMENSIONS) from error


def _expect_vectors(arguments: Sequence[Any]) -> None:
    """Raise TypeError for anything behind the robot but writable float64 vectors in C order and matrices.

    Each further kind, read-only ones too, would compile for seconds while a robot waits.
    """
    for x in arguments[1:]:
        if not (isinstance(x, np.ndarray) and (x.ndim > 1 or (x.flags.carray and x.dtype == np.float64))):
            raise TypeError(f"expected writable float64 vectors in C order, got {type(x).__name__}")


def _inside(fast: set[str], taken_in: bool) -> Callable[[Callable[..., Any]], Any]:
    return lambda function: function if config.DISABLE_JIT else Inside(function, tuple(sorted(fast)), taken_in)


inline = _inside(FAST, True)
strict = _inside({"contract"}, True)
routine = _inside(FAST, False)


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_roots() -> Iterator[Path]:
    """Yield where machine code may be kept: the user's cache, ROS's home or log folder, a temporary folder."""
    for variable, inside in (("XDG_CACHE_HOME", ""), ("HOME", ".cache"), ("ROS_HOME", ""), ("ROS_LOG_DIR", "")):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / inside / "robot_dynamics"
    yield Path(tempfile.gettempdir()) / f"robot_dynamics-{os.getuid()}"


def _usable(folder: Path) -> bool:
    """Tell whether `folder` can be written and is ours: code is loaded from it, so nobody else may own it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return False
    return status.st_uid == os.getuid() and not status.st_mode & stat.S_IWOTH


def _cache_folder() -> Path | None:
    return next((root / _source_hash() for root in _cache_roots() if _usable(root)), None)


CACHE_FOLDER = _cache_folder()
"""Where machine code is kept between processes; None when no folder can be written (every start then compiles)."""


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile `function` for calls from Python and keep the machine code in `CACHE_FOLDER`."""
    options = {"fastmath": FAST, "error_model": "numpy", "boundscheck": False, "nogil": True} | more
    if config.DISABLE_JIT:
        return function
    dispatcher = njit(pipeline_class=KernelCompiler, **options)(function)
    dispatcher.inside = Inside(function, tuple(sorted(FAST)), False)
    if CACHE_FOLDER is not None:
        kept, config.CACHE_DIR = config.CACHE_DIR, str(CACHE_FOLDER)
        try:
            dispatcher._cache = Kept(function)
        finally:
            config.CACHE_DIR = kept
    return dispatcher


def lean(function: Callable[..., Any]) -> Any:
    """As `kernel`, for code that allocates nothing: arrays are not counted here either."""
    return kernel(function, _nrt=False)


def brief(function: Callable[..., Any]) -> Any:
    """As `lean`, for code that is done before the interpreter lock would have changed hands: it is kept."""
    if config.DISABLE_JIT:

        @wraps(function)
        def checked(*arguments: Any) -> Any:
            _expect_vectors(arguments)
            try:
                return function(*arguments)
            except ValueError:
                raise TypeError(WRONG_DIMENSIONS) from None

        return checked
    dispatcher = kernel(function, _nrt=False, nogil=False)
    dispatcher.__class__ = Brief
    return dispatcher


def entry(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[..., Any]:
    """Answer the kernel itself where types never differ from one call to another: numba looks at them for 3 ms."""
    if not isinstance(function, CPUDispatcher):
        return function
    for made in dict.values(function.overloads):  # its own `values` looks each type up again
        return made.entry_point
    return function.compile(tuple(typeof(x) for x in arguments))


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Bind a kernel to these very objects: numba looks at their types once, here, and not at every call."""
    if isinstance(function, CPUDispatcher):
        function = function.compile(tuple(typeof(x) for x in arguments))
    return partial(function, *arguments)
