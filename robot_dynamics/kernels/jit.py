"""The one place of numba's flags and of the folder its machine code is kept in.

`inline`   a formula on tuples, always merged into its caller so that everything stays in registers;
`strict`   the same without re-association, for code whose rounding matters;
`routine`  a loop that kernels call, and that allocates nothing: arrays are not counted, which makes calls cheaper;
           these three become machine code within a kernel only, where LLVM sees all of it at once;
`kernel`   what Python calls or what allocates: compiled once, kept on disk, runs without the interpreter lock;
`lean`     a kernel that allocates nothing;
`brief`    a lean kernel so short that it keeps the interpreter lock.

numba serves stale code when a callee in another file changes, so the folder's name holds a hash of all kernel sources.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite.binding import Linkage
from numba import _dynfunc, config, njit, typeof, types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.typed_passes import NativeLowering

FAST = {"reassoc", "contract", "nsz", "arcp", "afn"}

INSIDE = {
    "error_model": "numpy",
    "boundscheck": False,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""Of what kernels call: no array is counted, and no entry for Python is compiled."""


WRONG_DIMENSIONS = "an array has the wrong number of dimensions"


class Ingredient(JITCodeLibrary):
    """Code that only goes into kernels: numba would link, optimise and assemble it again in every caller."""

    def finalize(self) -> None:
        """Be ready for linking, alone and without machine code."""
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerIngredient(NativeLowering):
    """numba's last pass, into an `Ingredient`."""

    _name = "lower_ingredient"

    def run_pass(self, state: Any) -> bool:
        """Make LLVM's code and an entry that stands for it."""
        state.library = library = Ingredient(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags = state.flags.copy()
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        description = lowered.fndesc
        entry = _dynfunc.make_function(
            description.lookup_module(), description.qualname, "", 0, lowered.env, (library,)
        )
        state.targetctx.insert_user_function(entry, description, [library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


def _callees_first(libraries: list[JITCodeLibrary], found: dict[JITCodeLibrary, None]) -> dict[JITCodeLibrary, None]:
    """Each library once, also what libraries call: LLVM links only what is called by then."""
    for library in libraries:
        if library not in found:
            _callees_first(library._linking_libraries, found)
            found[library] = None
    return found


class Whole(JITCodeLibrary):
    """Code of a kernel, which nothing else calls into: what is called once is merged, what nobody reads not passed."""

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


class InsideCompiler(Compiler):
    """For `Inside`, where nobody writes what the skipped passes look for: closures, `literally`, array expressions."""

    lowering = LowerIngredient
    skipped = frozenset(
        {
            "WithLifting",
            "InlineClosureLikes",
            "RewriteDynamicRaises",
            "MakeFunctionToJitFunction",
            "InlineInlinables",
            "FindLiterallyCalls",
            "LiteralUnroll",
            "LiteralPropagationSubPipelinePass",
            "InlineOverloads",
            "NopythonRewrites",
            "NoPythonSupportedFeatureValidation",
            "AnnotateTypes",
            "DumpParforDiagnostics",
        }
    )


class KernelCompiler(Compiler):
    """For kernels."""

    lowering = LowerKernel


class Inside(CPUDispatcher):
    """What kernels call. From Python it runs as Python, since no entry for that is compiled."""

    def get_call_template(self, args: Sequence[Any], kws: Any) -> Any:
        """Compile once for all integers: numba would do so for every one that stands in a call."""
        return super().get_call_template([types.unliteral(x) for x in args], kws)

    def __call__(self, *arguments: Any) -> Any:
        """Run un-jitted."""
        return self.py_func(*arguments)


class Brief(CPUDispatcher):
    """What Python calls at a high rate, with vectors that nobody has looked at yet."""

    def _compile_for_args(self, *arguments: Any, **more: Any) -> Any:
        """Compile for a new kind of arguments. Raises TypeError for those that `_expect_vectors` refuses."""
        _expect_vectors(arguments)
        try:
            return super()._compile_for_args(*arguments, **more)
        except NumbaError:
            raise TypeError(WRONG_DIMENSIONS) from None


def _expect_vectors(arguments: Sequence[Any]) -> None:
    """Raise TypeError for anything behind the robot but writable float64 vectors in C order and matrices.

    Each further kind, read-only ones too, would compile for seconds while a robot waits.
    """
    for x in arguments[1:]:
        if not (isinstance(x, np.ndarray) and (x.ndim > 1 or (x.flags.carray and x.dtype == np.float64))):
            raise TypeError(f"expected writable float64 vectors in C order, got {type(x).__name__}")


def _inside(**flags: Any) -> Callable[[Callable[..., Any]], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(pipeline_class=InsideCompiler, **INSIDE, **flags)(function)
        if not config.DISABLE_JIT:
            dispatcher.__class__ = Inside
        return dispatcher

    return decorate


inline = _inside(fastmath=FAST, forceinline=True)
strict = _inside(fastmath={"contract"}, forceinline=True)
routine = _inside(fastmath=FAST)


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
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


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Bind a kernel to these very objects: numba looks at their types once, here, and not at every call."""
    if isinstance(function, CPUDispatcher):
        function = function.compile(tuple(typeof(x) for x in arguments))
    return partial(function, *arguments)
