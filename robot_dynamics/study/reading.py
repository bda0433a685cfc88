# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A study from its YAML file."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..contact.impulse import Impulse
from ..contact.spring_damper import SpringDamper
from ..contact.terrain import Plane, Surface
from ..contact.world import load_world
from ..control.gait import joint_gains
from ..control.limbs import find_legs
from ..control.policy import PolicySpec, read_network, read_spec
from ..control.simulation import chosen_points, home_pose, leg_reach
from ..dynamics.kinematics import Points
from ..errors import ModelError
from ..model.model import Model
from ..model.urdf import load_urdf
from ..share import share_folder
from ..simulation.plant import PlantParams
from .controllers import Controller, Function, Learned, Stream, bag_stream, gait_stream, load_function
from .document import Entry, read_document
from .runs import FIGURES, Study, column
from .sampling import KINDS, SAMPLING, Parameter, Value, cells
from .variation import CONTACT, FLAT, check_name

KEYS = (
    "robot", "floating_base", "feet", "pose", "runs", "seed", "duration", "timestep", "period", "contact", "terrain",
    "controller", "parameters", "sampling", "judge",
)  # fmt: skip
LAWS: Mapping[str, type[SpringDamper | Impulse]] = {"spring_damper": SpringDamper, "impulse": Impulse}
MOST_RUNS = 10_000_000
GAIT = ("trot", "stand_time", "steer", "kp", "kd", "height", "cycle", "duty", "lift", "weight")
TAKEN = frozenset({"run", "seed", "fell", "fell_at", "stopped"})
"""Columns of the results that no judge may fill."""
CHUNK = 50
"""Runs that are simulated one after the other and kept together; results are the same with any other number."""

Load = Callable[[Path, bool], Model]
"""Reads the robot of a file, with a floating base or not."""


def load_plainly(urdf: Path, floating_base: bool) -> Model:
    """Read the robot of a URDF."""
    return load_urdf(urdf, floating_base=floating_base)


def read_study(path: str | Path, load: Load = load_plainly) -> Study:
    """Read a study from YAML; files that it names are looked for beside it, then among those of the package.

    Raises
    ------
    ParameterError
        Anything that cannot be; one sentence with the line, what was expected and the valid names.
    """
    path = Path(path)
    text, document = read_document(path)
    reader = _Reader(path, document.entries(KEYS, ("robot", "controller")), load)
    return reader.study(text)


class _Reader:
    """Entries of the file on their way to a study; remembers what the files that it names hold."""

    def __init__(self, path: Path, entries: Mapping[str, Entry], load: Load):
        self.path, self.entries = path, entries
        self.digest = hashlib.sha256()
        self.modules: list[str] = []
        robot = entries["robot"]
        urdf = self.file(robot, "urdf")
        floating = entries["floating_base"].flag() if "floating_base" in entries else True
        self.model: Model = robot.made(load, urdf, floating)
        self.digest.update(self.model.parameters.tobytes())  # a loader may know more than the file
        self.points = self._points()
        self.timestep = self._number("timestep", 0.001, 1e-5, 0.02)
        self.period = self._number("period", 0.005, self.timestep, 0.1)
        self.duration = self._number("duration", 2.0, self.period, 3600.0)
        for name, shorter in (("period", self.timestep), ("duration", self.period)):
            ratio = getattr(self, name) / shorter
            if abs(ratio - round(ratio)) > 1e-6 * ratio:
                raise (entries.get(name) or robot).error(f"{name} must be a whole number of {shorter:g} s")
        pose = entries["pose"].text(("stance", "crouch", "neutral")) if "pose" in entries else "stance"
        self.start = home_pose(self.model, pose, {}, self.points, 0.0)

    def study(self, text: str) -> Study:
        """Put all together."""
        parameters, terrains = self._parameters()
        entries, grid = self.entries, cells(parameters)
        runs = entries["runs"].whole(1, MOST_RUNS) if "runs" in entries else (grid if grid > 1 else 1000)
        study = Study(
            name=self.path.stem,
            model=self.model,
            points=self.points,
            start=self.start,
            params=self._plant(),
            terrains=terrains,
            controller=self._controller(),
            parameters=parameters,
            sampling=entries["sampling"].text(SAMPLING) if "sampling" in entries else "random",
            judges=self._judges({p.name for p in parameters}),
            modules=(),
            runs=runs,
            seed=entries["seed"].whole(0, 2**63 - 1) if "seed" in entries else 0,
            duration=self.duration,
            period=self.period,
            text=text,
            fingerprint="",
        )
        return replace(study, modules=tuple(dict.fromkeys(self.modules)), fingerprint=self._fingerprint())

    def file(self, entry: Entry, folder: str) -> Path:
        """Return a file that an entry names: beside the study, or in a `folder` of the package."""
        name = entry.text()
        own, shipped = self.path.parent / name, share_folder() / folder / name
        for found in (own, shipped):
            if found.exists():
                for part in sorted(found.rglob("*")) if found.is_dir() else [found]:
                    self.digest.update(part.read_bytes() if part.is_file() else b"")
                return found
        known = ", ".join(sorted(p.name for p in (share_folder() / folder).glob("*.*"))) if folder else ""
        raise entry.error(f"there is no file '{own}'" + f"; the package has {known}" * bool(known))

    def _number(self, name: str, default: float, low: float, high: float) -> float:
        return self.entries[name].number(low, high) if name in self.entries else default

    def _points(self) -> Points:
        """What touches the ground: the feet that are named, those of four legs, or all contact points."""
        given = self.entries.get("feet")
        if given is None:
            try:
                return find_legs(self.model).feet
            except ModelError:
                pass
        entry, links = given or self.entries["robot"], [x.text() for x in given.items()] if given else []
        points: Points = entry.made(chosen_points, self.model, links)
        return points

    def _plant(self) -> PlantParams:
        """Plant of all runs, before anything varies."""
        given = self.entries.get("contact")
        contact: SpringDamper | Impulse = SpringDamper()
        if given is not None:
            figures = given.entries(("law", *CONTACT))
            law = LAWS[figures.pop("law").text(tuple(LAWS)) if "law" in figures else "spring_damper"]
            contact = given.made(law, **{name: entry.number() for name, entry in figures.items()})
        terrain = self._terrain(self.entries["terrain"]) if "terrain" in self.entries else (Plane(),)
        where = given or self.entries["robot"]
        params: PlantParams = where.made(PlantParams, timestep=self.timestep, contact=contact, terrain=terrain)
        return params

    def _terrain(self, entry: Entry) -> Sequence[Surface]:
        if entry.text() == FLAT:
            return (Plane(),)
        surfaces: Sequence[Surface] = entry.made(load_world, self.file(entry, "worlds"))
        return surfaces

    def _parameters(self) -> tuple[tuple[Parameter, ...], dict[str, Sequence[Surface]]]:
        """What varies, and the grounds that its terrains name."""
        given = self.entries.get("parameters")
        parameters, terrains = [], {}
        for name, entry in (given.entries() if given else {}).items():
            entry.made(check_name, name, self.model)
            parameter = _parameter(name, entry)
            if name == "terrain":
                places = next(iter(entry.entries().values())).items() if isinstance(entry.value, Mapping) else [entry]
                terrains = {place.text(): self._terrain(place) for place in places}
            parameters.append(parameter)
        return tuple(parameters), terrains

    def _judges(self, taken: set[str]) -> tuple[str, ...]:
        given = self.entries.get("judge")
        if given is None:
            return tuple(FIGURES)
        judges: list[str] = []
        for entry in given.items():
            name = entry.text()
            if name == "fell":
                continue
            if name not in FIGURES and ":" not in name:
                raise entry.error(f"there is no '{name}'; valid names: fell, {', '.join(FIGURES)}, module:function")
            if column(name) in {*TAKEN, *taken, *map(column, judges)}:
                raise entry.error(f"there is a column '{column(name)}' already")
            if ":" in name:
                entry.made(load_function, name)
                self._digest_module(name)
            judges.append(name)
        return tuple(judges)

    def _digest_module(self, name: str) -> None:
        spec = find_spec(name.partition(":")[0])
        if spec is not None and spec.origin and Path(spec.origin).is_file():
            self.digest.update(Path(spec.origin).read_bytes())
            self.modules.append(spec.origin)

    def _controller(self) -> Controller:
        """Who commands the robot."""
        whole = self.entries["controller"]
        kinds: Mapping[str, Callable[[Entry], Controller]] = {
            "gait": self._gait, "bag": self._bag, "function": self._function, "policy": self._policy,
        }  # fmt: skip
        if isinstance(whole.value, str) and whole.value == "gait":
            return self._gait(None)
        found = whole.entries(tuple(kinds))
        if len(found) != 1:
            raise whole.error(f"must be one of {', '.join(kinds)}, got {len(found)}")
        ((kind, entry),) = found.items()
        return kinds[kind](entry)

    def _gait(self, entry: Entry | None) -> Controller:
        options = entry.entries(GAIT) if entry is not None and entry.value is not None else {}
        figures: dict[str, Any] = {}
        for name, option in options.items():
            if name in ("trot", "weight"):
                figures[name] = option.flag()
            elif name == "steer":
                figures[name] = self._vector(option)
            else:
                figures[name] = option.number(0.0, open_low=name not in ("kp", "kd", "lift"))
        where = entry or self.entries["controller"]
        legs = where.made(find_legs, self.model, [x.text() for x in self._feet()])
        stream: Stream = where.made(gait_stream, legs, self.period, round(self.duration / self.period), **figures)
        return stream

    def _feet(self) -> list[Entry]:
        return self.entries["feet"].items() if "feet" in self.entries else []

    def _vector(self, entry: Entry) -> tuple[float, float, float]:
        numbers = [x.number() for x in entry.items()]
        if len(numbers) != 3:
            raise entry.error(f"must be 3 numbers, got {len(numbers)}")
        return numbers[0], numbers[1], numbers[2]

    def _gains(self, options: Mapping[str, Entry]) -> tuple[float, float]:
        """Gains of a controller: its own, or those that fit the robot."""
        fitting = joint_gains(self.model, leg_reach(self.model))
        kp, kd = (options[x].number(0.0) if x in options else own for x, own in zip(("kp", "kd"), fitting, strict=True))
        return kp, kd

    def _bag(self, entry: Entry) -> Controller:
        options = entry.entries(("path", "topic", "kp", "kd"), ("path",))
        topic = {"topic": options["topic"].text()} if "topic" in options else {}
        ticks, start = round(self.duration / self.period), self.start[self.model.q_index]
        path = self.file(options["path"], "")
        stream: Stream = entry.made(
            bag_stream, path, self.model, self.period, ticks, start, *self._gains(options), **topic
        )
        return stream

    def _function(self, entry: Entry) -> Controller:
        if isinstance(entry.value, str):
            name, options = entry.text(), {}
        else:
            found = entry.entries(None, ("name",))
            name, options = found.pop("name").text(), {key: option.value for key, option in found.items()}
        entry.made(load_function, name)
        self._digest_module(name)
        return Function(name, options)

    def _policy(self, entry: Entry) -> Controller:
        options = entry.entries(("file", "command"), ("file",))
        spec: PolicySpec = options["file"].made(read_spec, self.file(options["file"], ""))
        network: bytes = options["file"].made(read_network, spec)
        self.digest.update(network)
        command = self._vector(options["command"]) if "command" in options else (0.0, 0.0, 0.0)
        learned = Learned(spec, network, self.period, command)
        entry.made(learned.begin, self.model, 0)
        return learned

    def _fingerprint(self) -> str:
        """Hash of what decides a run: all entries but `runs`, the files that they name, this package."""
        entries = {name: entry.value for name, entry in self.entries.items() if name != "runs"}
        self.digest.update(json.dumps(entries, default=str).encode())
        with suppress(PackageNotFoundError):
            self.digest.update(version("robot_dynamics").encode())
        return self.digest.hexdigest()


def _parameter(name: str, entry: Entry) -> Parameter:
    """One entry of `parameters`: a value, or one of KINDS."""
    if not isinstance(entry.value, Mapping):
        return Parameter(name, "fixed", (_value(name, entry),))
    found = entry.entries((*KINDS, "limits"))
    limits = (-math.inf, math.inf)
    if "limits" in found:
        numbers = [x.number() for x in found.pop("limits").items()]
        if len(numbers) != 2 or "normal" not in found:
            raise entry.error("limits go with normal, and are [least, largest]")
        limits = numbers[0], numbers[1]
    if len(found) != 1:
        raise entry.error(f"must be a value or one of {', '.join(KINDS)}")
    ((kind, figures),) = found.items()
    if name == "terrain" and kind not in ("choice", "grid"):
        raise entry.error("terrain varies by choice or grid")
    parameter: Parameter = figures.made(Parameter, name, kind, tuple(_value(name, x) for x in figures.items()), limits)
    return parameter


def _value(name: str, entry: Entry) -> Value:
    return entry.text() if name == "terrain" else entry.number()
