# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What LLVM's vectoriser and unroller are told of a loop."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ..words import QUAD

ROLLED, ONE_VECTOR = ("llvm.loop.unroll.disable",), ("llvm.loop.interleave.count", ir.IntType(32)(1))
"""Neither unrolled nor interleaved. A loop whose length is not a constant is short here: four vectors or eight
iterations at a time would seldom come about, and take a fifth of the time to compile."""
FOUR = ("llvm.loop.vectorize.width", ir.IntType(32)(QUAD))
VECTORISED = ("llvm.loop.vectorize.enable", ir.IntType(1)(1))
"""Four iterations to a vector, also where LLVM's tables of a processor promise nothing: for some it would ask for more
iterations than the four limbs of a robot, and go one by one."""


class Distinct(ir.MDValue):
    """A node of metadata that is like no other one."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    def descr(self, buf: Any) -> None:
        """Write it as `distinct`."""
        buf += ("distinct !{ }", "\n")


def together(module: ir.Module, blocks: Sequence[ir.Block]) -> ir.MDValue:
    """Return the group of all accesses to arrays in these blocks, now that they are written.

    Variables stay outside: one that sums over iterations is read in each as the one before has left it.
    """
    group = Distinct(module, (), str(len(module.metadata)))
    for block in blocks:
        for x in block.instructions:
            if x.opname in ("load", "store") and not isinstance(x.operands[-1], ir.AllocaInstr):
                x.set_metadata("llvm.access.group", group)
    return group


def tell(module: ir.Module, back: ir.Instruction, *hints: tuple[Any, ...]) -> None:
    """Tell LLVM something of the loop that a branch leads back to the head of."""
    unique = module.add_metadata([str(len(module.metadata))])
    loop = module.add_metadata([unique, *(module.add_metadata(list(hint)) for hint in hints)])
    loop.operands = (loop, *loop.operands)  # what names a loop is a node that begins with itself
    back.set_metadata("llvm.loop", loop)
