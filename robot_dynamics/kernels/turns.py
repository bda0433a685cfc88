# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Turns of a team of threads: how they begin together and wait for each other, without the interpreter lock.

The caller, one of the threads, numbers the turns. It publishes a turn in `begun` (LINE,), which the other threads look
at; each of those publishes in a cache line of its own of `ended` (threads * LINE,) that it has ended it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import LINE, give_way, inline, lean, publish, published, routine

TURN, STEPS = range(2)
"""Numbers of `begun`: the turn, what it is about."""
ENDED, SEEN = range(2)
"""Numbers of a thread in `ended`: the turn that it has ended, the last one that it knows of."""
CALLER = -1
"""Number of the thread that begins turns; the others count from 0."""
OVER = -1
"""The turn after the last one."""


class Member(NamedTuple):
    """A thread of a team: its number there; the turn that it begins, or has ended if it is not the caller.

    looks: how often it looks for the next turn. stays: whether the kernel is all of its work and takes turn after turn.
    """

    begun: NDArray[np.int64]
    ended: NDArray[np.int64]
    number: int
    turn: int
    looks: int
    stays: bool


@inline
def begin_turn(member, steps):
    """Begin the caller's turn, of so many steps."""
    publish(member.begun, STEPS, steps)
    publish(member.begun, TURN, member.turn)


@routine
def next_turn(member, turn):
    """Tell that the thread has ended `turn`; returns the turn that has begun since, or the same one where none has."""
    begun, ended, line = member.begun, member.ended, member.number * LINE
    publish(ended, line + ENDED, turn)
    for _ in range(member.looks):
        if published(begun, TURN) != turn:
            break
        give_way()
    now = published(begun, TURN)
    publish(ended, line + SEEN, now)
    return now


@lean
def all_ended(ended, turn, looks):
    """Whether all threads have ended the turn, after so many looks at each of them that knows of it."""
    threads, count = ended.shape[0] // LINE, 0
    for k in range(threads):
        count += has_ended(ended, k * LINE, turn, looks)
    return count == threads


@routine
def has_ended(ended, line, turn, looks):
    """1 as soon as a thread has ended the turn, 0 where it does not know of it or has not ended after so many looks."""
    for _ in range(looks):
        if published(ended, line + SEEN) != turn or published(ended, line + ENDED) == turn:
            break
        give_way()
    return 1 if published(ended, line + ENDED) == turn else 0
