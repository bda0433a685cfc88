# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A bag given to what the node `monitor` decides with, at full speed: the same model errors and accounts as live.

A model error spans some states, and an account all since the first: where a monitor told both, they begin and end where
its own did. Accounts are compared by what they grew from one to the next, model errors where both knew of base and
contacts.
"""

from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from ..control.contacts import ContactForces
from ..control.monitor import LONGEST, Account, Companions, Ledger, Residual
from ..control.state import MeasuredState
from ..core.arrays import Array
from ..core.bag import Bag, BagError
from ..model.model import Model
from ..ros.parameters import MonitorParameters
from .answers import Agreement, agreement
from .heard import Base, Explained, Progress, Seen, Topics, Touch, heard
from .messages import seconds_of

ENERGIES = "energy_stamped"
"""Private topic of the monitor."""
ADDED = ("work_in", "dissipated_joint", "work_contact", "lost")
STOCKS = ("kinetic", "potential")
"""Numbers of an account that grow since its beginning, and that do not know of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """What a monitor found: stamp (R,) [s] and residual (R, n) [N m or N]; rms, suggestion (3, n); the last account.

    suggestion : armature, viscous and Coulomb friction of each joint that would explain its residual; 0 where none.
    live : how `model error`, `energy` and `work` compare with those that the bag's monitor told, empty without one.
    """

    stamp: Array
    residual: Array
    rms: Array
    suggestion: Array
    account: Account | None
    states: int
    refused: dict[str, int]
    live: dict[str, Agreement]


class Watcher:
    """Accounts for every joint state as the node `monitor` does.

    told, live : model errors (n,) and accounts of a monitor by stamp [s].
    knew : stamp [s] from which on both knew of the base and the contacts that there are.
    """

    def __init__(
        self, model: Model, v: MonitorParameters, span: int, told: dict[float, Array], live: dict[float, Account]
    ):
        """Keep statistics over the last `span` residuals."""
        self.model, self.state = model, MeasuredState(model, v.state_timeout, v.base_frame)
        self.forces = ContactForces(model)
        self.ledger, self.residual = Ledger(model), Residual(model, span, 1.0 / v.residual_rate)
        self.bases, self.touches = Companions[Base](), Companions[Touch]()
        self.known, self.knew, self.last = set[str](), -np.inf, -np.inf
        self.told, self.live, self.accounts = told, live, dict[float, Account]()
        self.since = {account.since for account in live.values()}
        self.rows: list[tuple[float, Array]] = []
        self.states = 0

    def see(self, x: Seen) -> None:
        """Account for a joint state with the base and the contacts of its stamp."""
        s, stamp = self.state, x.stamp
        for base in self.bases.due(stamp, stamp):
            if s.set_base(base.pose, base.twist, base.stamp, stamp, base.frame):
                self.now_known("base", stamp)
        for touch in self.touches.due(stamp, stamp):
            self.forces.set_forces(touch.links, touch.position, touch.force)
            self.now_known("contacts", stamp)
        if not s.set_joints(x.names, *x.columns, stamp, stamp):
            return
        self.states += 1
        if stamp in self.since:  # without a gap before it: where the monitor came to know of base or contacts
            self.knew = stamp if 0.0 <= stamp - self.last <= LONGEST else self.knew
            self.begin_account()
        self.last = stamp
        if s.has_effort and not (self.bases.missing(stamp) or self.touches.missing(stamp)):
            self.account_for(stamp)
        if stamp in self.live and (account := self.ledger.account()) is not None:
            self.accounts[stamp] = account

    def account_for(self, stamp: float) -> None:
        """Account for the present state."""
        s = self.state
        now = stamp, s.q, s.qd, s.effort, self.forces.at(s.q)
        self.ledger.update(*now)
        if (residual := self.residual.update(*now)) is not None:
            self.rows.append((stamp, residual.copy()))
        elif stamp in self.told:
            self.residual.begin(stamp, s.q, s.qd)

    def now_known(self, what: str, stamp: float) -> None:
        """Begin anew with the first base and the first contacts."""
        if what not in self.known:
            self.known.add(what)
            self.knew = stamp
            self.begin_account()

    def begin_account(self) -> None:
        """Begin account and model errors with the next state."""
        self.ledger = Ledger(self.model)
        self.residual.restart()


def watch(
    model: Model, v: MonitorParameters, bag: Bag, topics: Topics, energies: str, progress: Progress = lambda _: None
) -> Watched:
    """Hold every joint state of a bag against the model (M3, M4, M5); statistics are those of the whole bag.

    energies : topic of the accounts of a monitor, "" without one.

    Raises
    ------
    BagError
        No joint state suits the robot, or the bag is damaged.
    """
    told = model_errors(model, bag, topics)
    accounts = told_accounts(bag, energies) if energies else {}
    watcher = Watcher(model, v, max(bag.counts().get(topics.joints, 1), 1), told, accounts)
    waiting: Seen | None = None
    for x in heard(bag, topics, progress):
        if isinstance(x, Base):
            watcher.bases.put(x)
        elif isinstance(x, Touch):
            watcher.touches.put(x)
        elif isinstance(x, Seen):  # what belongs to a joint state may be recorded just after it
            if waiting is not None:
                watcher.see(waiting)
            waiting = x
    if waiting is not None:
        watcher.see(waiting)
    if not watcher.rows:
        problem = watcher.state.joints.problem or "too few carry positions and efforts"
        raise BagError(f"'{bag.path}': no model error of '{model.name}' can be told: {problem}")
    return found(watcher)


def found(watcher: Watcher) -> Watched:
    """Put what was found into arrays, and compare it."""
    stamp, residual = (np.array(column) for column in zip(*watcher.rows, strict=True))
    both = [(t, watcher.told[t], x) for t, x in watcher.rows if t in watcher.told]
    pairs = [(a, b) for t, a, b in both if t > watcher.knew]
    live = {"model error": agreement(pairs, len(both) - len(pairs))} if both else {}
    return Watched(
        stamp,
        residual,
        np.array(watcher.residual.rms()),
        np.array([list(row) for row in watcher.residual.suggestion()]).reshape(-1, 3).T,
        watcher.ledger.account(),
        watcher.states,
        watcher.state.counts(),
        live | compared(watcher),
    )


def compared(watcher: Watcher) -> dict[str, Agreement]:
    """How energies, and work and losses from each account of both to the next, compare."""
    ours = watcher.accounts
    both = [(watcher.live[t], ours[t]) for t in sorted(ours) if t > watcher.knew]
    if not ours:
        return {}
    stocks = [(numbers(a, STOCKS), numbers(b, STOCKS)) for a, b in both]
    added = [(numbers(a, ADDED), numbers(b, ADDED)) for a, b in both]
    grown = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(added)]
    return {"energy": agreement(stocks, len(ours) - len(both))} | ({"work": agreement(grown)} if grown else {})


def numbers(account: Account, names: tuple[str, ...]) -> Array:
    """Some numbers of an account."""
    return np.array([getattr(account, name) for name in names])


def model_errors(model: Model, bag: Bag, topics: Topics) -> dict[float, Array]:
    """Model errors (n,) that a monitor told, by stamp [s]."""
    if not topics.residual:
        return {}
    events = heard(bag, Topics("", "", "", "", residual=topics.residual), lambda _: None)
    return {x.stamp: x.effort for x in events if isinstance(x, Explained) and x.names == model.joint_names}


def told_accounts(bag: Bag, topic: str) -> dict[float, Account]:
    """Accounts that a monitor told, by stamp [s]."""
    names, accounts = [f.name for f in fields(Account)], {}
    for _, _, msg in bag.messages(topic):
        values = [float(pair.value) for status in msg.status for pair in status.values]
        if len(values) == len(names):
            accounts[seconds_of(msg)] = Account(*values)
    return accounts
