# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A team of threads that stay: each has its work, which all do at once, turn by turn.

The interpreter takes some 50 us to wake a thread, and as long to wait for it. Threads therefore look out for each other
for a while, in machine code and without the interpreter lock, before they sleep.
"""

import os
import time
import weakref
from collections.abc import Sequence
from threading import Condition, Thread
from typing import Protocol

import numpy as np

from ..compiler import LINE, entry
from ..kernels import turns
from ..kernels.turns import CALLER, OVER, Member

LOOKS = 30_000
"""Looks at what another thread tells before a thread sleeps, 5 ms or more: after each it gives way to who waits."""
BREAK = 2e-5
"""How long the caller leaves its processor to threads that have not begun, or need longer [s]."""
NO_TEAM = Member(np.zeros(LINE, np.int64), np.zeros(0, np.int64), CALLER, 0, 0, False)
"""A thread for which no other waits."""


class Work(Protocol):
    """What a thread does in a turn: a kernel that is told the thread's part in the team, and what may follow."""

    all_done: int
    """How far the kernel comes where nothing follows, or -1 if something always does."""

    def begin(self, member: Member, steps: int) -> int:
        """Call the kernel; returns how far it came."""

    def go_on(self, t: int, steps: int) -> None:
        """Do what follows a kernel that came so far."""


class Team:
    """Threads that stay as long as this does; the caller is the first of them."""

    def __init__(self, works: Sequence[Work]):
        """Have a thread for each work but the first."""
        self._own, *self._others = works
        self._gather()

    def _gather(self) -> None:
        self._process, self._turns = os.getpid(), Turns(len(self._others))
        for number, work in enumerate(self._others):
            Thread(target=self._turns.serve, args=(number, work), name="plant-batch", daemon=True).start()
        weakref.finalize(self, self._turns.end)

    def take_turn(self, steps: int) -> None:
        """Have all do their work of so many steps at once. Raises what a thread raised."""
        if self._process != os.getpid():  # a process has no threads of the one that it was forked from
            self._gather()
        turns, work = self._turns, self._own
        member = turns.begin()
        try:
            t = work.begin(member, steps)
            if t != work.all_done:
                work.go_on(t, steps)
        except BaseException:
            turns.publish(steps)
            raise
        finally:
            turns.wait()


class Turns:
    """What the threads of a team share."""

    def __init__(self, others: int):
        """Turns of the caller with so many other threads."""
        self._turn, self._asleep = 0, 0
        self._errors: list[BaseException] = []
        self._changed = Condition()
        self._begun, self._ended = np.zeros(LINE, np.int64), np.zeros(others * LINE, np.int64)
        self._all_ended = entry(turns.all_ended, (self._ended, 0, LOOKS))

    def begin(self) -> Member:
        """Have threads that sleep look out for the next turn; returns the caller, whose kernel begins it."""
        self._announce(self._turn + 1)
        return Member(self._begun, self._ended, CALLER, self._turn, 0, False)

    def _announce(self, turn: int) -> None:
        self._turn = turn
        if self._asleep:
            with self._changed:
                self._changed.notify_all()

    def publish(self, steps: int) -> None:
        """Begin the turn, should the caller's kernel not have come to it."""
        turns.begin_turn(Member(self._begun, self._ended, CALLER, self._turn, 0, False), steps)

    def wait(self) -> None:
        """Wait until all have ended the turn. Raises the error of a thread that failed, now and from now on."""
        while not self._all_ended(self._ended, self._turn, LOOKS):
            if self._errors:
                raise self._errors[0]
            time.sleep(BREAK)

    def end(self) -> None:
        """Have the threads end."""
        self._announce(OVER)
        self.publish(0)

    def serve(self, number: int, work: Work) -> None:
        """What a thread does: its work in every turn, until they are over or one fails."""
        turn = 0
        try:
            while True:
                member = Member(self._begun, self._ended, number, turn, LOOKS, work.all_done >= 0)
                t = work.begin(member, 0)
                begun, steps = int(self._ended[number * LINE + turns.SEEN]), int(self._begun[turns.STEPS])
                if begun == OVER:
                    return
                if begun == turn:
                    self._sleep(turn)
                elif t != work.all_done:
                    work.go_on(t, steps)
                turn = begun
        except BaseException as error:
            self._errors.append(error)

    def _sleep(self, turn: int) -> None:
        """Wait until the turn after this one is about to begin."""
        with self._changed:
            self._asleep += 1
            self._changed.wait_for(lambda: self._turn != turn)
            self._asleep -= 1
