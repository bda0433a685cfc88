# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Commands of a tick on their way to the joints of one robot or of many, which have one for all or a row each."""

import math
from typing import NamedTuple

from ...compiler import LANES, brief, lean
from ..robot import Floats, Integers

KP, KD = 2, 3
"""Rows of a command [q_des, qd_des, kp, kd, tau_ff] that are gains."""
ROWS, COLUMNS = range(2)
"""Columns of `Commands.sizes`."""


class Commands(NamedTuple):
    """Figures [q_des, qd_des, kp, kd, tau_ff]: of each plant or of all, a number for each joint or one for all.

    figures (5, plants n): each row by row. sizes (5, 2): rows and columns of each; no rows: the last command is held.
    numbers (plants,): the row of each plant. source (tiles, LANES): the plant whose row a lane takes.
    """

    figures: Floats
    sizes: Integers
    numbers: Integers
    source: Integers


@brief
def take_command(command, q_des, qd_des, kp, kd, tau_ff):
    """Take a command (1, 5, n) for every step to come, if all are n finite numbers and no gain is negative."""
    rows = (q_des, qd_des, kp, kd, tau_ff)
    for i in range(5):
        if rows[i].shape[0] != command.shape[2]:
            return False
        for j in range(command.shape[2]):
            x = rows[i][j]
            if not abs(x) < math.inf or (x < 0.0 and i in (KP, KD)):
                return False
    for i in range(5):
        for j in range(command.shape[2]):
            command[0, i, j] = rows[i][j]
    return True


@lean
def note_commands(figures, sizes, given):
    """Write given figures, each (plants or 1, n or 1) in C order, into those of `Commands`.

    Returns -1, or the first that is not finite or a negative gain: the sizes stay then.
    """
    for i in range(5):
        x, least, wrong = given[i].reshape(-1), 0.0 if i in (KP, KD) else -math.inf, 0
        for k in range(x.shape[0]):
            figures[i, k] = x[k]
            wrong += 0 if abs(x[k]) < math.inf and x[k] >= least else 1
        if wrong:
            return i
    for i in range(5):
        sizes[i, ROWS], sizes[i, COLUMNS] = given[i].shape
    return -1


@lean
def take_commands(now, t, commands):
    """Write the figures of tile t into its commands `now` (tiles, T, 5, n, LANES)."""
    for i in range(5):
        rows, columns = commands.sizes[i, ROWS], commands.sizes[i, COLUMNS]
        if rows > 0:
            for lane in range(LANES):
                row = commands.numbers[commands.source[t, lane]] if rows > 1 else 0
                for j in range(now.each.shape[3]):
                    now.each[t, 0, i, j, lane] = commands.figures[i, row * columns + (j if columns > 1 else 0)]
