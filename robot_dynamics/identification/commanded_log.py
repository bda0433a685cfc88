# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Positions of joints and the positions that were commanded: read from a file, matched by name, on even ticks."""

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ..core.arrays import Array
from ..model.model import Model
from .joint_log import FEWEST, PAUSE, LogError, filtered, read_messages

STAMPS = ("stamp", "time", "t", "timestamp")
COMMANDS = ("command", "target", "desired", "des", "cmd", "ref", "reference")
POSITIONS = ("position", "pos", "q", "dof", "actual", "measured", "joint_position")
"""Words that say in the name of an array or a column what it holds; more words are the name of a joint."""


@dataclass(frozen=True, slots=True, eq=False)
class CommandedLog:
    """Stamps (N,) [s], names (k,) of joints, their positions and commanded positions (N, k)."""

    stamp: Array
    names: tuple[str, ...]
    position: Array
    command: Array


@dataclass(frozen=True, slots=True, eq=False)
class Tracked:
    """Joints on even ticks dt [s]: index (k,) in the model, q (T, k), command (T, k), held from tick to tick.

    start, start_rate (k,): smoothed position and velocity at the first tick. skipped [s]: what lies outside the longest
    stretch without a pause.
    """

    joints: tuple[str, ...]
    dt: float
    q: Array
    command: Array
    start: Array
    start_rate: Array
    skipped: float


def read_commanded_log(
    path: str | os.PathLike[str], topic: str = "", command_topic: str = "", names: Sequence[str] = ()
) -> CommandedLog:
    """Read positions and commanded positions from .npz, .csv or rosbag2 (folder, .db3, .mcap).

    An .npz holds `stamp` or `time`, `position`, `command` (N, k), or names that say so (dof_pos, des_dof_pos,
    q_des), and `name` (k,). A .csv has a column of times and, for each joint, one whose name is that of the joint with
    such a word (FL_hip_position, FL_hip_command; q_0, q_des_0). A bag: two JointState topics. `names` are those of
    the joints where the file has none.

    Raises
    ------
    LogError
        What is missing, and what there is.
    """
    path = Path(path)
    if not path.exists():
        raise LogError(f"there is no log '{path}'")
    if path.suffix == ".npz":
        return _read_npz(path, names)
    if path.suffix == ".csv":
        return _read_csv(path)
    if path.is_dir() or path.suffix in (".db3", ".mcap"):
        return _read_bag(path, topic, command_topic)
    raise LogError(f"'{path}' is no log: expected .npz, .csv, a rosbag2 folder, .db3 or .mcap")


def tracked(log: CommandedLog, model: Model, names: Mapping[str, str]) -> Tracked:
    """Put the joints that are in the model on even ticks. Raises LogError if too little is left."""
    joints = tuple(joint for joint in model.joint_names if joint in names.values())
    if not joints:
        valid = ", ".join(model.joint_names)
        raise LogError(f"no name of the log ({', '.join(log.names)}) is a joint of '{model.name}' ({valid})")
    source = {joint: log.names.index(name) for name, joint in names.items()}
    columns = [source[joint] for joint in joints]
    position, command = log.position[:, columns], log.command[:, columns]
    usable = np.isfinite(log.stamp) & np.isfinite(position).all(axis=1) & np.isfinite(command).all(axis=1)
    usable[usable] &= np.diff(np.maximum.accumulate(log.stamp[usable]), prepend=-np.inf) > 0.0
    stamp, position, command = log.stamp[usable], position[usable], command[usable]
    if len(stamp) < FEWEST:
        raise LogError(f"the log holds {len(stamp)} usable samples of {', '.join(joints)}; {FEWEST} are needed")
    dt = float(np.median(np.diff(stamp)))
    parts = np.split(np.arange(len(stamp)), np.flatnonzero(np.diff(stamp) > PAUSE * dt) + 1)
    longest = max(parts, key=len)
    stamp, position, command = stamp[longest], position[longest], command[longest]
    if len(stamp) < FEWEST:
        raise LogError(f"the longest stretch without a pause holds {len(stamp)} samples; {FEWEST} are needed")
    ticks = stamp[0] + dt * np.arange(int((stamp[-1] - stamp[0]) / dt + 1.5))
    q = np.column_stack([np.interp(ticks, stamp, x) for x in position.T])
    held = np.maximum(np.searchsorted(stamp, ticks + 0.25 * dt, side="right") - 1, 0)
    smooth, rate, _ = filtered(ticks[:FEWEST], q[:FEWEST])
    skipped = float(log.stamp[usable][-1] - log.stamp[usable][0] - (stamp[-1] - stamp[0]))
    return Tracked(joints, dt, q, command[held], smooth[0], rate[0], skipped)


def kind_of(name: str) -> tuple[str, str]:
    """What a column holds, "command", "position" or "", and what is left of its name without the words for it."""
    words = [word for word in re.split(r"[_\s./\[\]]+", name.strip()) if word]
    low = [word.lower() for word in words]
    said = [word for word in low if word in COMMANDS or word in POSITIONS]
    rest = "_".join(word for word, small in zip(words, low, strict=True) if small not in said)
    if any(word in COMMANDS for word in said):
        return "command", rest
    return ("position", rest) if said else ("", name)


def _read_npz(path: Path, names: Sequence[str]) -> CommandedLog:
    try:
        with np.load(path, allow_pickle=False) as file:
            held = {key: np.asarray(file[key]) for key in file.files}
    except (OSError, ValueError, EOFError, AttributeError, BadZipFile) as error:
        raise LogError(f"cannot read '{path}' as .npz of numbers: {str(error).split(' If you trust')[0]}") from None
    stamp = next((held[key] for key in STAMPS if key in held), None)
    tables = {kind_of(key)[0]: x for key, x in held.items() if kind_of(key) in (("command", ""), ("position", ""))}
    given = tuple(names) or tuple(map(str, held["name"] if "name" in held else held.get("names", ())))
    missing = [
        what for what, x in (("stamp", stamp), *((k, tables.get(k)) for k in ("position", "command"))) if x is None
    ]
    missing += [] if given else ["name (or --names)"]
    if missing or stamp is None:
        raise LogError(f"'{path}' lacks {', '.join(missing)}; it holds {', '.join(held) or 'nothing'}")
    return _log_of(path, stamp, given, tables["position"], tables["command"])


def _log_of(path: Path, stamp: Array, names: tuple[str, ...], position: Array, command: Array) -> CommandedLog:
    """A log whose arrays fit each other. Raises LogError."""
    shape = (np.size(stamp), len(names))
    for what, x in (("position", position), ("command", command)):
        if np.ndim(stamp) != 1 or x.shape != shape or x.dtype.kind not in "fiu":
            raise LogError(
                f"'{what}' in '{path}' must be numbers of shape {shape}, one row per stamp and one column per name; "
                f"got {x.dtype} {x.shape} with stamps of shape {np.shape(stamp)}"
            )
    return CommandedLog(*(stamp.astype(float), names, position.astype(float), command.astype(float)))


def _read_csv(path: Path) -> CommandedLog:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head, *lines = [row for row in csv.reader(file) if row] or [[]]
        table = np.array([[float(x or "nan") for x in row] for row in lines]).reshape(len(lines), len(head))
    except (OSError, ValueError, UnicodeDecodeError, csv.Error) as error:
        raise LogError(f"cannot read '{path}' as .csv of numbers: {error}") from None
    if len(lines) == 0 or table.shape[1] != len(head):
        raise LogError(f"'{path}' must have one line of names, and then lines of as many numbers")
    stamps = [k for k, name in enumerate(head) if name.strip().lower() in STAMPS]
    columns: dict[str, dict[str, int]] = {"command": {}, "position": {}, "": {}}
    for k, name in enumerate(head):
        kind, joint = kind_of(name)
        columns[kind].setdefault(joint, k)
    names = tuple(joint for joint in columns["position"] if joint in columns["command"])
    if not stamps or not names:
        wanted = f"a column {', '.join(STAMPS)}" if not stamps else "columns like hip_position and hip_command"
        raise LogError(f"'{path}' lacks {wanted}; it has {', '.join(head)}")
    parts = ([columns[kind][joint] for joint in names] for kind in ("position", "command"))
    return CommandedLog(table[:, stamps[0]], names, *(table[:, part] for part in parts))


def _read_bag(path: Path, topic: str, command_topic: str) -> CommandedLog:
    """Joint states, and of each the last command that was recorded before it."""
    states = read_messages(path, topic or "/joint_states", "--topic")
    commands = read_messages(path, command_topic or "/joint_commands", "--command-topic")
    names = tuple(name for name in states[0][1] if name in commands[0][1])
    stamp, position = _series(states, names)
    sent, command = _series(commands, names)
    if len(stamp) == 0 or len(sent) == 0:
        raise LogError(f"'{path}' holds no states and commands of the same joints")
    last = np.searchsorted(sent, stamp, side="right") - 1
    known = last >= 0
    return CommandedLog(stamp[known] - stamp[0], names, position[known], command[last[known]])


def _series(messages: Sequence[tuple[float, Sequence[str], Array]], names: Sequence[str]) -> tuple[Array, Array]:
    """Stamps and positions (N, k) of the messages that hold all the names."""
    rows = [
        (stamp, [values[list(held).index(name)] for name in names])
        for stamp, held, values in messages
        if set(names) <= set(held) and len(values) == len(held)
    ]
    rows.sort(key=lambda row: row[0])
    return np.array([stamp for stamp, _ in rows]), np.array([values for _, values in rows]).reshape(len(rows), -1)
