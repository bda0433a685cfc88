# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The processor that machine code is made for: this one, or that of NUMBA_CPU_NAME and NUMBA_CPU_FEATURES."""

import llvmlite.binding as llvm
from numba import config

EIGHT_NUMBERS = """
define <8 x double> @sum(<8 x double> %a, <8 x double> %b) "min-legal-vector-width"="512" {
  %c = fadd <8 x double> %a, %b
  ret <8 x double> %c
}
"""
PRODUCT_AND_SUM = """
declare double @llvm.fma.f64(double, double, double)
define double @fused(double %a, double %b, double %c) {
  %d = call double @llvm.fma.f64(double %a, double %b, double %c)
  ret double %d
}
"""
WIDTHS = {"zmm": 512, "ymm": 256}
"""Bits of vector registers by their names."""


def assembly(module: str) -> str:
    """What LLVM makes of a module."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name = config.CPU_NAME or llvm.get_host_cpu_name()
    features = llvm.get_host_cpu_features().flatten() if config.CPU_FEATURES is None else config.CPU_FEATURES
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features)
    return machine.emit_assembly(llvm.parse_assembly(module))


def register_bits() -> int:
    """Width of the vector registers: LLVM is asked which of them a sum of eight numbers takes."""
    code = assembly(EIGHT_NUMBERS)
    return next((width for name, width in WIDTHS.items() if name in code), 128)


REGISTER_BITS = register_bits()
"""Width of the processor's vector registers."""
FUSES = "fmadd" in assembly(PRODUCT_AND_SUM)
"""Whether the processor multiplies and adds at once; else LLVM would call a function of C."""
