# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the compiler takes of numba's inside: code libraries, the last pass, the cache of machine code."""

from typing import Any

from llvmlite.binding import Linkage
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.runtime import rtsys
from numba.core.typed_passes import NativeLowering

from .codegen.calling import NARROW


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


class KernelCompiler(CompilerBase):
    """numba's compiler with `LowerKernel` as the last pass."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, the last one replaced."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [(LowerKernel if x is NativeLowering else x, why) for x, why in pipeline.passes]
        pipeline.finalize()
        return [pipeline]
