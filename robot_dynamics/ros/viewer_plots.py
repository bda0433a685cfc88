# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Curves of the last seconds beside the robot: torques of a joint by part, the energy ledger, the residual."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..control.feedforward import PARTS
from ..model.model import Model
from . import wire
from .component import NEWEST, Component

NOTHING, TORQUE, ENERGY, RESIDUAL = "nothing", "torque of a joint", "energy", "residual of a joint"
SPAN = 10.0
"""Time that a plot shows [s]."""
REFRESH = 0.2
"""Wall time from one refresh of a plot to the next [s]."""
COLOURS = ("#111111", "#d62728", "#1f77b4", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf")
Values = dict[str, float]
"""Numbers by the name of their curve."""


class Sources:
    """Newest values by curve, from topics that are subscribed to while a plot needs them and no longer."""

    def __init__(self, node: Component):
        """Listen to nothing yet."""
        self.node = node
        self.values: Values = {}
        self._updates: list[Callable[[], None]] = []
        self._readers: dict[str, wire.Reader] = {}

    def listen(self, what: str, joint: str) -> None:
        """Subscribe to what a plot of `what` needs, and to nothing else."""
        for update in self._updates:
            self.node.release(update)
        self.forget()
        if what == TORQUE:
            topics = {f"feedforward/torque/{part}": part for part in PARTS if part != "total"}
            for topic, part in {"joint_states": "measured", **topics}.items():
                self._take(JointState, topic, self._effort(topic, part, joint))
        elif what == RESIDUAL:
            self._take(JointState, "monitor/residual", self._effort("residual", "residual", joint))
        elif what == ENERGY:
            for topic in ("monitor/energy", "plant/energy"):
                self._take(Float64MultiArray, topic, self._on_energy)

    def forget(self) -> None:
        """Know of no subscription any more: they have ended."""
        self.values, self._updates = {}, []

    def update(self) -> None:
        """Take what has come."""
        for update in self._updates:
            update()

    def _take(self, kind: type, topic: str, callback: Callable[[bytes], None]) -> None:
        self._updates.append(self.node.latest(kind, topic, callback, NEWEST))

    def _effort(self, topic: str, curve: str, joint: str) -> Callable[[bytes], None]:
        reader = self._readers.setdefault(topic, wire.Reader(JointState))

        def read(data: bytes) -> None:
            msg = reader.read(data)
            effort = wire.columns_from_joint_state(msg)[2]
            if joint in msg.names and len(effort):
                self._note({curve: float(effort[msg.names.index(joint)])})

        return read

    def _on_energy(self, data: bytes) -> None:
        msg = deserialize_message(data, Float64MultiArray)
        label = msg.layout.dim[0].label if msg.layout.dim else ""
        names = [name.split(" [")[0] for name in label.split(", ")]
        units = [name.partition(" [")[2] for name in label.split(", ")]
        joules = {unit for unit in units if unit} == {"J]"}
        self._note({n: x for n, x, u in zip(names, msg.data, units, strict=False) if u == "J]" or joules})

    def _note(self, values: Values) -> None:
        """Keep what is a number: one that is none would blank the whole plot."""
        self.values |= {curve: x for curve, x in values.items() if isfinite(x)}


class Plot:
    """One plot in the page's panel."""

    def __init__(self, gui: Any, sources: Sources, model: Model, ask: Callable[[Callable[[], None]], None]):
        """Put two choices into the panel; `ask` has something done by the node's own thread."""
        self.gui, self.sources = gui, sources
        self.rows: deque[tuple[float, Values]] = deque()
        self.what = gui.add_dropdown("plot", (NOTHING, TORQUE, ENERGY, RESIDUAL))
        self.joint = gui.add_dropdown("joint", model.joint_names or ("none",))
        self.units = {
            n: "N" if k == "prismatic" else "N m" for n, k in zip(model.joint_names, model.joint_kinds, strict=True)
        }
        self.handle: Any = None
        self._refreshed = 0.0
        self._curves: tuple[str, ...] = ()
        for choice in (self.what, self.joint):
            choice.on_update(lambda _: ask(self.choose))

    @property
    def chosen(self) -> bool:
        """Whether anything is plotted."""
        return self.what.value != NOTHING

    def choose(self) -> None:
        """Plot what is chosen from now on."""
        self.rows.clear()
        self._curves = ()
        if self.handle is not None:
            self.handle.remove()
            self.handle = None
        self.sources.listen(self.what.value, self.joint.value)

    def forget(self) -> None:
        """Know of no subscription any more: the node was deactivated."""
        self.sources.forget()

    def sample(self, stamp: float, wall: float) -> None:
        """Take the newest values for the time `stamp` [s], and refresh the plot now and then."""
        self.sources.update()
        if self.rows and not 0.0 <= stamp - self.rows[-1][0] < SPAN:
            self.rows.clear()  # time was set
        if not self.sources.values or (self.rows and stamp == self.rows[-1][0]):
            return
        self.rows.append((stamp, dict(self.sources.values)))
        while self.rows[0][0] < stamp - SPAN:
            self.rows.popleft()
        if wall - self._refreshed >= REFRESH:
            self._refreshed = wall
            self._draw()

    def _draw(self) -> None:
        curves = tuple(self.rows[-1][1])
        data = columns(curves, self.rows)
        if self.handle is not None and curves == self._curves:
            self.handle.data = data
            return
        if self.handle is not None:
            self.handle.remove()
        series: list[dict[str, object]] = [{"label": "time [s]"}]
        for i, curve in enumerate(curves):
            series.append({"label": curve, "stroke": COLOURS[i % len(COLOURS)], "width": 1.5})
        joint = self.joint.value
        title = "energy [J]" if self.what.value == ENERGY else f"{joint} [{self.units.get(joint, 'N m')}]"
        scales = {"x": {"time": False}}
        self.handle = self.gui.add_uplot(data, tuple(series), title=title, scales=scales, height=260)
        self._curves = curves


def columns(curves: tuple[str, ...], rows: Iterable[tuple[float, Mapping[str, float]]]) -> tuple[np.ndarray, ...]:
    """Times and values of each curve since all are known: with a gap in one the page would draw none of them."""
    known = [(t, values) for t, values in rows if all(curve in values for curve in curves)]
    times = np.array([t for t, _ in known])
    return times, *(np.array([values[curve] for _, values in known]) for curve in curves)
