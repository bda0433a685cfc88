# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The gait of a robot that may fall silent, be put elsewhere or fall over: the controller node but for messages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..contact.terrain import Plane, Surface
from .crawl import Crawl, CrawlParameters
from .gait import Command, StandTrot, TrotParameters
from .home import Home
from .limbs import Legs
from .posture import Posture

Array = NDArray[np.float64]

JOINT_JUMP, JOINT_SPEED = 0.1, 20.0
"""No joint goes farther than this [rad, m] and as far again as this speed takes it [rad/s, m/s]: it was put there."""
BASE_JUMP, BASE_SPEED = 0.05, 10.0
"""The same for the place of the base [m, m/s]."""
CRAWL = CrawlParameters()
ASTRAY, PATIENCE = 0.6, 0.2
"""Joints this far from their targets [rad, m] for so long [s] do not follow: something else holds them."""


class QuadrupedController:
    """Answers states: rises from where the joints are, stands or trots, and begins anew after anything else than that.

    `phase` is one of waiting, rising, standing, trotting, crawling, fallen. A robot that has fallen gets no targets:
    its joints are to be damped until it is upright again. `crawling` asks for the crawl, on four feet (else `crawl` is
    None); it needs to know where the base is.
    """

    def __init__(
        self,
        legs: Legs,
        parameters: TrotParameters,
        silence: float,
        crawl: CrawlParameters = CRAWL,
        terrain: Sequence[Surface] = (Plane(),),
    ):
        """Find the stance; begin anew after a `silence` of the states [s].

        crawl, terrain : how to crawl, and the ground for it in the frame of the base's pose.

        Raises
        ------
        ModelError, ParameterError
            As of `StandTrot`; as of `GroundHeight`.
        """
        self.gait = StandTrot(legs, parameters)
        self.crawl = Crawl(legs, self.gait.stance, crawl, terrain) if self.gait.trots else None
        self.crawling = False
        self.posture = Posture()
        self.silence = silence
        self.starts = 0
        self.forget()

    def forget(self) -> None:
        """Wait for a state to rise from."""
        self.gait.phase = "waiting"
        self._stamp = -np.inf
        self._joints, self._target = self.gait.stance.joints, self.gait.stance.joints
        self._base: tuple[float, Array] | None = None
        self._pose: list[float] = []
        self._base_jumped = False
        self._followed = -np.inf
        self._home: Home | None = None
        self.gait.steer = np.zeros(3)
        self.forget_crawl()

    @property
    def phase(self) -> str:
        """What it does."""
        if self.posture.fallen:
            return "fallen"
        return "crawling" if self.crawl is not None and self.crawl.active and self.crawl.walking else self.gait.phase

    def see_base(self, pose: Sequence[float], stamp: float) -> None:
        """Take the pose (7,) = [x y z, qx qy qz qw] of the base at the time `stamp` [s]."""
        self.posture.see(pose[3:7])
        place = np.array(pose[:3])
        if self._base is not None:
            elapsed = abs(stamp - self._base[0])
            self._base_jumped |= bool(np.abs(place - self._base[1]).max() > BASE_JUMP + BASE_SPEED * elapsed)
            self._stay(pose, elapsed)
        self._base, self._pose = (stamp, place), list(pose)

    def _stay(self, pose: Sequence[float], elapsed: float) -> None:
        """Trot towards where the trot began; over a cycle, for within it the base sways."""
        if self.gait.phase != "trotting":
            self._home, self.gait.steer = None, np.zeros(3)
            return
        self._home = self._home or Home(pose)
        share = min(1.0, elapsed / self.gait.parameters.cycle)
        self.gait.steer = self.gait.steer + share * (self._home.steer(pose) - self.gait.steer)

    def answer(self, joints: Array, stamp: float) -> Command | None:
        """Return what the joints (n,) are to do in the state of the time `stamp` [s]; None: be damped."""
        elapsed = stamp - self._stamp
        moved = np.abs(joints - self._joints).max(initial=0.0)
        if np.abs(joints - self._target).max(initial=0.0) < ASTRAY:
            self._followed = stamp
        anew = self.gait.phase == "waiting" or not 0.0 <= elapsed <= self.silence or self._base_jumped
        anew |= bool(moved > JOINT_JUMP + JOINT_SPEED * elapsed or stamp - self._followed > PATIENCE)
        self._stamp, self._joints, self._base_jumped = stamp, joints, False
        if self.posture.fallen:
            self.forget_crawl()
            self.gait.phase = "waiting"
            return None
        if anew:
            self.forget_crawl()
            self.gait.start(joints, stamp)
            self._followed = stamp
            self.starts += 1
        command = self._command(joints, stamp)
        self._target = command.position
        return command

    def forget_crawl(self) -> None:
        """Leave the crawl: the legs are elsewhere, or are to trot."""
        if self.crawl is not None:
            self.crawl.active = False

    def _command(self, joints: Array, stamp: float) -> Command:
        """What the gait or the crawl says; the crawl stays where it ended, with its feet on the ground."""
        gait, crawl = self.gait, self.crawl
        located = self._base is not None and abs(stamp - self._base[0]) <= self.silence
        if crawl is not None and not crawl.active and self.crawling and located and not gait.trot:
            command = gait.command(stamp)
            if gait.phase != "standing":
                return command
            crawl.begin(stamp, self._pose, self._target)
        if crawl is None or not crawl.active:
            return gait.command(stamp)
        if gait.trot and not crawl.walking:
            crawl.active = False
            gait.start(joints, stamp)
            return gait.command(stamp)
        return crawl.command(stamp, self._pose, joints, self.crawling and located and not gait.trot)
