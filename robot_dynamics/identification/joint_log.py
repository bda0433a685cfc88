# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Joint states of a real robot: read from a file, matched with the joints of a model by name, filtered."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.bag import Bag, BagError
from ..errors import ParameterError, RobotDynamicsError, UnknownNameError
from ..model.model import Model

WINDOW, DEGREE = 0.1, 3
"""Savitzky-Golay filter: span [s] and degree of the polynomial; DEGREE + 2 samples where the span holds fewer."""
FEWEST = 50
"""Samples below which nothing is fitted."""
PAUSE = 5.0
"""A step between stamps that is longer than this many usual ones is a pause of the recording."""
SERIES = ("position", "velocity", "effort")
JOINT_STATE = "sensor_msgs/msg/JointState"
USUAL = "joint_states"
"""The topic that is read among several of this type, where one is called so."""


class LogError(RobotDynamicsError):
    """A log cannot be read or does not suit the robot."""


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """Joint states: stamp (N,) [s], rising; names (k,); position, effort (N, k); velocity (N, k), None if not there."""

    stamp: Array
    names: tuple[str, ...]
    position: Array
    velocity: Array | None
    effort: Array


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Filtered motion of the mapped joints, in the order of the model, and the measured effort: all (N, k)."""

    joints: tuple[str, ...]
    stamp: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array


def read_log(path: str | os.PathLike[str], topic: str = "") -> Log:
    """Read joint states from an .npz file (stamp, name, position, velocity, effort) or a rosbag2 folder (db3, mcap).

    `topic` chooses among several JointState topics of a bag. Raises LogError; ModuleNotFoundError without `rosbags`.
    """
    path = Path(path)
    if not path.exists():
        raise LogError(f"there is no log '{path}'")
    if path.suffix == ".npz":
        return _read_npz(path)
    if path.is_dir() or path.suffix in (".db3", ".mcap"):
        return _read_bag(path, topic)
    raise LogError(f"'{path}' is no log: expected an .npz file, a rosbag2 folder, a .db3 or an .mcap file")


def joint_map(names: Sequence[str], model: Model, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Match names of a log with joints of the model: as given, else equal, else by the longest common ending.

    fer_joint1 becomes panda_joint1: the most words (split at _) agree from the end, and the fewest are left over.
    Names without a joint are left out. Raises UnknownNameError, ParameterError for two names on one joint.
    """
    given = given or {}
    for name, joint in given.items():
        if name not in names:
            raise UnknownNameError("joint in the log", name, names)
        model.joint_index(joint)
    matched = {name: given.get(name) or _alike(name, model.joint_names) for name in names}
    found = {name: joint for name, joint in matched.items() if joint is not None}
    for joint in found.values():
        rivals = [name for name, other in found.items() if other == joint]
        if len(rivals) > 1:
            raise ParameterError(f"{', '.join(rivals)} in the log all look like joint '{joint}'; say which with --map")
    return found


def filtered(stamp: Array, x: Array, window: float = WINDOW, degree: int = DEGREE) -> tuple[Array, Array, Array]:
    """Smooth x (N, k) and differentiate it twice: least-squares polynomial around each sample (Y4).

    The filter of [Savitzky and Golay 1964] takes the samples within half a window [s], or the degree + 2 next to it if
    these are more; stamps need not be even.
    """
    lo = np.searchsorted(stamp, stamp - 0.501 * window)
    count = np.searchsorted(stamp, stamp + 0.501 * window, side="right") - lo
    scarce = count < degree + 2
    count[scarce] = degree + 2
    lo[scarce] = np.clip(np.flatnonzero(scarce) - (degree + 2) // 2, 0, len(stamp) - degree - 2)
    out = np.empty((3, *x.shape))
    for k in np.unique(count):
        rows = np.flatnonzero(count == k)
        index = lo[rows, None] + np.arange(k)
        u = (stamp[index] - stamp[rows, None]) / window
        c = np.linalg.pinv(u[..., None] ** np.arange(degree + 1)) @ x[index]
        out[:, rows] = c[:, 0], c[:, 1] / window, 2.0 * c[:, 2] / window**2
    return out[0], out[1], out[2]


def motion(log: Log, model: Model, names: Mapping[str, str]) -> Motion:
    """Filter the log: q from positions, qd and qdd from velocities (from positions where there are none).

    Raises LogError when too little is left: `FEWEST` samples with finite values, and at least one joint.
    """
    joints = tuple(joint for joint in model.joint_names if joint in names.values())
    if not joints:
        valid = ", ".join(model.joint_names)
        raise LogError(f"no name of the log ({', '.join(log.names)}) is a joint of '{model.name}' ({valid})")
    source = {joint: log.names.index(name) for name, joint in names.items()}
    columns = [source[joint] for joint in joints]
    series = [log.position[:, columns], log.effort[:, columns]]
    if log.velocity is not None and np.isfinite(log.velocity[:, columns]).any(axis=0).all():
        series.append(log.velocity[:, columns])
    usable = (np.diff(log.stamp, prepend=-np.inf) > 0.0) & np.isfinite(series).all(axis=(0, 2))
    if usable.sum() < FEWEST:
        raise LogError(f"the log holds {usable.sum()} usable samples of {', '.join(joints)}; {FEWEST} are needed")
    stamp = log.stamp[usable]
    x, effort, *v = (values[usable] for values in series)
    q, qd, qdd = filtered(stamp, x)
    if v:
        qd, qdd, _ = filtered(stamp, v[0])
    whole = _away_from_pauses(stamp)
    return Motion(joints, stamp[whole], q[whole], qd[whole], qdd[whole], effort[whole])


def _away_from_pauses(stamp: Array) -> NDArray[np.bool_]:
    """Which samples (N,) have no pause of the recording among those their polynomial needs."""
    steps = np.diff(stamp)
    reach = (DEGREE + 2) // 2
    whole = np.ones(len(stamp), np.bool_)
    for i in np.flatnonzero(steps > max(WINDOW, PAUSE * float(np.median(steps)))):
        whole[max(0, i - reach + 1) : i + reach + 1] = False
    return whole


def _alike(name: str, joints: Sequence[str]) -> str | None:
    """Joint with the longest common ending, of these the one with the fewest other words; None when nothing agrees."""
    if name in joints:
        return name
    words = name.split("_")
    scores = []
    for joint in joints:
        other = joint.split("_")
        pairs = zip(reversed(words), reversed(other), strict=False)
        common = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(words), len(other)))
        scores.append((common, -len(other), joint))
    best = max(scores, default=(0, 0, ""))
    alone = sum(score[:2] == best[:2] for score in scores) == 1
    return best[2] if best[0] and alone else None


def _read_npz(path: Path) -> Log:
    try:
        file = np.load(path, allow_pickle=False)
        names = tuple(map(str, file["name"])) if "name" in file else ()
        arrays = {key: np.asarray(file[key], np.float64) for key in ("stamp", *SERIES) if key in file}
    except (OSError, ValueError, EOFError, IndexError, BadZipFile) as error:
        reason = str(error).split(" If you trust")[0]  # numpy advises to unpickle what it does not know
        raise LogError(f"cannot read '{path}' as .npz of numbers: {reason}") from None
    missing = [key for key in ("stamp", "position", "effort") if key not in arrays] + ([] if names else ["name"])
    if missing:
        held = ", ".join(getattr(file, "files", ())) or "nothing"
        raise LogError(f"'{path}' lacks {', '.join(missing)}; it holds {held}")
    shape = (arrays["stamp"].size, len(names))
    for key in SERIES:
        if key in arrays and (arrays[key].shape != shape or arrays["stamp"].ndim != 1):
            raise LogError(
                f"'{key}' in '{path}' must have shape {shape}, one row per stamp and one column per name; "
                f"got {arrays[key].shape} with stamps of shape {arrays['stamp'].shape}"
            )
    return Log(arrays["stamp"], names, arrays["position"], arrays.get("velocity"), arrays["effort"])


def _read_bag(path: Path, topic: str) -> Log:
    """Read one JointState topic of a rosbag2 recording; the names of its first message are the columns."""
    try:
        with Bag(path) as bag:
            topics = sorted(found for found, kind in bag.topics.items() if kind == JOINT_STATE)
            usual = bag.ending(USUAL)
            wanted = topic or (usual if usual in topics and len(topics) > 1 else "".join(topics[:1]))
            if wanted not in topics or (len(topics) > 1 and wanted not in (topic, usual)):
                held = sorted(f"{found} ({kind})" for found, kind in bag.topics.items())
                raise LogError(_no_topic(path, topics, held))
            messages = [(time, msg) for _, time, msg in bag.messages(wanted)]
    except BagError as error:
        raise LogError(str(error)) from None
    return _log_from_messages(path, messages)


def read_messages(path: Path, topic: str, option: str) -> list[tuple[float, tuple[str, ...], Array]]:
    """Time [s], names and positions of each JointState of a topic, by headers where these are set.

    `option` chooses another topic. Raises LogError; ModuleNotFoundError without `rosbags`.
    """
    try:
        with Bag(path) as bag:
            if bag.topics.get(topic) != JOINT_STATE:
                held = ", ".join(sorted(f"{found} ({kind})" for found, kind in bag.topics.items())) or "no topic at all"
                raise LogError(f"'{path}' has no topic '{topic}' of type {JOINT_STATE}; choose with {option}: {held}")
            messages = [(t, msg) for _, t, msg in bag.messages(topic)]
    except BagError as error:
        raise LogError(str(error)) from None
    stamps = [msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec or 1e-9 * t for t, msg in messages]
    found = [(stamp, tuple(msg.name), msg.position) for stamp, (_, msg) in zip(stamps, messages, strict=True)]
    if not found:
        raise LogError(f"'{topic}' in '{path}' is empty")
    return found


def _no_topic(path: Path, topics: Sequence[str], held: Sequence[str]) -> str:
    """Say which topics there are to choose from, or what the bag holds instead."""
    if topics:
        return f"'{path}' has {len(topics)} topics of type {JOINT_STATE} ({', '.join(topics)}); choose with --topic"
    return f"'{path}' has no topic of type {JOINT_STATE}; it holds {', '.join(held) or 'no topic at all'}"


def _log_from_messages(path: Path, messages: Sequence[tuple[int, Any]]) -> Log:
    """Stack messages that carry position and effort of the first one's names; stamps from headers that are set."""
    names = next((tuple(msg.name) for _, msg in messages if len(msg.effort)), ())
    rows = []
    for received, msg in messages:
        if len(msg.effort) == len(msg.position) == len(msg.name) and set(names) <= set(msg.name):
            order = [list(msg.name).index(name) for name in names]
            header = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
            velocity = msg.velocity if len(msg.velocity) == len(msg.name) else np.full(len(msg.name), np.nan)
            rows.append((header or 1e-9 * received, msg.position[order], velocity[order], msg.effort[order]))
    if not rows:
        raise LogError(f"no message in '{path}' holds position and effort")
    stamp, position, velocity, effort = (np.array(column) for column in zip(*rows, strict=True))
    return Log(stamp - stamp[0], names, position, velocity if np.isfinite(velocity).any() else None, effort)
