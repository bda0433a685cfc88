# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the joints of the plant are told in each tick: hold, follow, or what a silent commander leads to."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParameterError
from .guard import NEGATIVE, Column, Indices, InputGuard
from .takeover import Takeover

Array = NDArray[np.float64]

SAME_INSTANT = 1e-7
"""Stamps this close [s] are those of one state."""
FADE = 0.25, 0.5
"""Shares of `timeout` between which the velocity of a target fades that no other follows."""


class Drive(NamedTuple):
    """tau = kp (q - position) + kd (qd - velocity) + effort, with kp and kd per joint; each array is (n,)."""

    position: Array
    velocity: Array
    kp: Array
    kd: Array
    effort: Array


class Actuation:
    """Turns two command streams, targets (whose gains the commander may send) and efforts, into one `Drive` per tick.

    `state` is one of holding (no command yet), following, timed out, stopped. `epoch` is the time [s] of the last jump
    of the robot: commands with a stamp until then, computed from a state before, are left out and counted in
    `outdated`. Those after it, and those without a stamp, take over from the hold gradually: `takeover` says how far.
    """

    def __init__(
        self,
        joints: Sequence[str],
        kp: ArrayLike,
        kd: ArrayLike,
        *,
        timeout: float,
        action: str,
        limit: ArrayLike = np.inf,
        order: Sequence[str] = (),
        efforts_alone: bool = True,
    ):
        """Start holding.

        Parameters
        ----------
        joints : names, in the order of every array here.
        kp, kd : gains of targets and hold, one or per joint.
        timeout : age [s] at which a command is too old; 0 means never.
        action : hold, zero, damp or pause, what an old command leads to.
        limit : largest commanded effort, one or per joint.
        order : joints in the order of efforts without names; `joints` if empty.
        efforts_alone : whether efforts end the hold; if not they wait for the first targets, to which they add.
        """
        n = len(joints)
        self.joints = tuple(joints)
        given = tuple(order) or self.joints
        self._places = np.array([given.index(name) for name in self.joints], dtype=np.intp)
        self.kp, self.kd = spread(kp, n, "kp"), spread(kd, n, "kd")
        self.limit = spread(limit, n, "limit")
        self.action = action
        self.efforts_alone = efforts_alone
        self.outdated = 0
        self.targets = InputGuard(joints, timeout, parameter="command_timeout")
        self.efforts = InputGuard(joints, timeout, parameter="command_timeout")
        self.gains = InputGuard(joints, timeout, parameter="command_timeout")
        self.reset(np.zeros(n))

    def reset(self, q: Array) -> None:
        """Forget every command and hold the joint positions `q` (n,)."""
        n = len(self.joints)
        self.targets.forget()
        self.efforts.forget()
        self.gains.forget()
        self._kp, self._kd = self.kp, self.kd
        self.state = "holding"
        self.stopped = False
        self.epoch = -np.inf
        self.takeover: Takeover | None = None
        self._held = q.copy()
        self._zero = np.zeros(n)
        self._target = Drive(q.copy(), np.zeros(n), self.kp, self.kd, np.zeros(n))
        self._given = np.arange(n), True, True
        self._effort = np.zeros(n)

    def jump(self, q: Array, now: float) -> None:
        """Hold the joint positions `q` (n,) to which the robot was put at the time `now` [s]."""
        self.targets.forget()
        self.efforts.forget()
        self.state = "stopped" if self.stopped else "holding"
        self._held = q.copy()
        self.epoch, self.takeover = now, Takeover()

    def let_go(self, q: Array) -> None:
        """Hold the joint positions `q` (n,) from the next command on, which then takes over gradually.

        For a robot that is not held while its commander is silent, and goes where its damped joints let it.
        """
        self._held, self.takeover = q.copy(), Takeover()

    def set_gains(self, kp: Array, kd: Array) -> None:
        """Use other gains (n,) of hold and targets from the next tick on, also for the targets that have come."""
        self.kp, self.kd = kp, kd
        self._follow_with(kp, kd)

    def set_own_gains(self, names: Sequence[str], kp: Array, kd: Array, stamp: float, now: float) -> bool:
        """Take the commander's own gains by joint name, for targets to come and those that have; the hold keeps its.

        They count until others come, `set_gains` or `reset`. Returns whether the message was good; otherwise
        `gains.problem` says why not.
        """
        if negative(self.gains, (kp, kd)):
            return False
        where = self.gains.accept_named(names, (kp, kd), stamp, now)
        if where is None:
            return False
        self._follow_with(*self._own_gains(where, (kp, kd)))
        return True

    def _own_gains(self, where: Indices, given: Sequence[Column]) -> list[Array]:
        """Return kp and kd (n,) with those that are given for some joints."""
        new = [self._kp.copy(), self._kd.copy()]
        for own, column in zip(new, given, strict=True):
            if len(column):
                own[where] = column
        return new

    def _follow_with(self, kp: Array, kd: Array) -> None:
        self._kp, self._kd = kp, kd
        (where, placed, moved), (new_kp, new_kd) = self._given, np.zeros((2, len(self.joints)))
        if placed:
            new_kp[where] = kp[where]
        if placed or moved:
            new_kd[where] = kd[where]
        self._target = self._target._replace(kp=new_kp, kd=new_kd)

    def set_target(
        self,
        names: Sequence[str],
        position: Column,
        velocity: Column,
        effort: Column,
        stamp: float,
        now: float,
        own: Sequence[Column] = (),
    ) -> bool:
        """Take positions, velocities and efforts by joint name; what is left out is not controlled.

        `own` are kp and kd of the same message: as with `set_own_gains`, but used or refused together with the rest.
        Returns whether the message was good; otherwise `targets.problem` says why not.
        """
        if 0.0 < stamp < self.epoch + SAME_INSTANT:
            self.outdated += 1
            return True
        if own and negative(self.targets, own):
            return False
        where = self.targets.accept_named(names, (position, velocity, effort, *own), stamp, now)
        if where is None:
            return False
        if own:
            self._kp, self._kd = self._own_gains(where, own)
        new = Drive(self._held.copy(), *np.zeros((4, len(self.joints))))
        if len(position):
            new.position[where], new.kp[where], new.kd[where] = position, self._kp[where], self._kd[where]
        if len(velocity):
            new.velocity[where], new.kd[where] = velocity, self._kd[where]
        if len(effort):
            new.effort[where] = effort
        self._target = new
        self._given = where, len(position) > 0, len(velocity) > 0
        return True

    def set_effort(self, effort: Array, now: float) -> bool:
        """Take one effort per joint in the order given at the start; returns whether they were used."""
        if not self.efforts.accept_ordered(effort, now):
            return False
        self._effort = effort[self._places]
        return True

    def stop(self, on: bool) -> None:
        """Latch the emergency stop (damped joints, no command obeyed) or release it; see `jump`."""
        self.stopped = on
        self.targets.forget()
        self.efforts.forget()

    def drive(self, now: float, q: Array) -> Drive:
        """Answer what to do in this tick, given the time [s] and the joint positions (n,)."""
        self.targets.tick(now)
        self.efforts.tick(now)
        fresh_target = not self.targets.stale(now)
        fresh_effort = not self.efforts.stale(now)
        state = self._next(fresh_target, fresh_effort)
        if state not in (self.state, "following"):
            self._held = q.copy()
            self.takeover = self.takeover and Takeover()
        self.state = state
        if state == "following":
            target = self._latest(now) if fresh_target else self._free()
            effort = target.effort + (self._effort if fresh_effort else 0.0)
            return self._taken_over(self._clamped(target, effort), now)
        return self._safe()

    def verbatim(self, drive: Drive) -> int:
        """Tell how much of the last target was in this `drive` as it came: 0 less, 1 motion, 2 efforts as well.

        Less while it takes over from the hold, or its velocity fades; other efforts may add to its own.
        """
        target = self._target
        moved = drive.position is target.position and drive.velocity is target.velocity
        return (1 + (self.efforts.receipt is None)) * (moved and self.targets.stamp is not None)

    @property
    def pausing(self) -> bool:
        """Whether the timeout action asks the simulation to pause."""
        return self.state == "timed out" and self.action == "pause"

    def _next(self, fresh_target: bool, fresh_effort: bool) -> str:
        if self.stopped:
            return "stopped"
        target_given = self.targets.receipt is not None
        if not target_given and (self.efforts.receipt is None or not self.efforts_alone):
            return "timed out" if self.state == "timed out" else "holding"
        if (target_given and not fresh_target) or (not target_given and not fresh_effort):
            return "timed out"
        return "following"

    def _latest(self, now: float) -> Drive:
        """Return the last target, whose velocity fades when no other follows (H14)."""
        begin, end = (share * self.targets.max_age for share in FADE)
        silence = now - (self.targets.receipt or now)
        if not end or silence <= begin:
            return self._target
        return self._target._replace(velocity=max(0.0, (end - silence) / (end - begin)) * self._target.velocity)

    def _taken_over(self, wanted: Drive, now: float) -> Drive:
        """Blend the hold with what is wanted: the sum of two PD laws is one of summed gains.

        kp q = sum of w_i kp_i q_i and kp = sum of w_i kp_i, with the weights w_i; the same for kd.
        """
        if self.takeover is None:
            return wanted
        distance = np.abs(wanted.position - self._held)[wanted.kp > 0.0].max(initial=0.0)
        share = self.takeover.share(now, float(distance))
        if self.takeover.done:
            self.takeover = None
            return wanted
        kp, kd = (1.0 - share) * self.kp + share * wanted.kp, (1.0 - share) * self.kd + share * wanted.kd
        way, rate = share * wanted.kp * (wanted.position - self._held), share * wanted.kd * wanted.velocity
        return Drive(
            self._held + np.divide(way, kp, out=np.zeros_like(kp), where=kp > 0.0),
            np.divide(rate, kd, out=np.zeros_like(kd), where=kd > 0.0),
            kp,
            kd,
            share * wanted.effort,
        )

    def _safe(self) -> Drive:
        if self.state == "stopped" or (self.state == "timed out" and self.action == "damp"):
            return Drive(self._held, self._zero, self._zero, self.kd, self._zero)
        if self.state == "timed out" and self.action == "zero":
            return self._free()
        return Drive(self._held, self._zero, self.kp, self.kd, self._zero)

    def _free(self) -> Drive:
        return Drive(self._held, self._zero, self._zero, self._zero, self._zero)

    def _clamped(self, target: Drive, effort: Array) -> Drive:
        return target._replace(effort=effort.clip(-self.limit, self.limit))


def negative(guard: InputGuard, gains: Sequence[Column]) -> bool:
    """Refuse gains below 0; tells whether there are any."""
    for column in gains:
        if min(column, default=0.0) < 0.0:
            guard.refuse(NEGATIVE, f"gains must be 0 or more, got {min(column):g}")
            return True
    return False


def spread(values: ArrayLike, n: int, name: str) -> Array:
    """One value for all joints or one per joint, as (n,)."""
    array = np.atleast_1d(np.asarray(values, dtype=float))
    if array.shape not in ((1,), (n,)):
        raise ParameterError(f"'{name}' must have 1 or {n} values, got {array.size}")
    return np.array(np.broadcast_to(array, (n,)))
