# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ground from a file: a YAML list of planes, boxes, ramps, stairs, rough ground and height fields."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.extras import missing
from ..errors import ParameterError, RobotDynamicsError
from .checks import vector
from .ground import MOST_SAMPLES, ramp, rough_ground, stairs
from .terrain import Box, HeightField, Plane, Surface

FORMS = "one of image, map, samples"


def load_world(path: str | Path) -> tuple[Surface, ...]:
    """Return the surfaces that the file of `path` lists under `surfaces`, for `PlantParams(terrain=...)`.

    Each entry is a mapping of one kind (plane, box, ramp, stairs, rough_ground, height_field) to its figures [m, rad],
    the arguments of the Python function or class of that name. Files are looked for beside this one.

    Raises
    ------
    ParameterError
        The file, or one that it names, is not there or not readable, or an entry does not fit; the message names both.
    """
    path = Path(path)
    entries = _yaml(path)
    found = entries.get("surfaces") if isinstance(entries, Mapping) else None
    if not isinstance(found, list) or not found or set(entries) != {"surfaces"}:
        raise ParameterError(f"world '{path}' must be a mapping with the one key 'surfaces', a list of surfaces")
    made: list[Surface] = []
    for number, entry in enumerate(found, 1):
        try:
            made.extend(_surfaces(entry, path.parent))
        except RobotDynamicsError as problem:
            raise ParameterError(f"world '{path}', surface {number}: {problem}") from None
    return tuple(made)


def height_field(
    folder: Path,
    image: str = "",
    map: str = "",  # as map_server calls its file
    samples: str = "",
    resolution: float | None = None,
    origin: Any = None,
    height: float | None = None,
    **own: Any,
) -> tuple[HeightField, ...]:
    """Read a height field from a file: an `image`, an occupancy `map` of map_server or an .npy array of `samples`.

    image: grey, white is `height` [m] and black 0; map: its YAML file, occupied is `height`, free 0, unknown 0.5;
    samples: heights [m] (nx, ny). `resolution` [m] a pixel or sample. As for map_server `origin` (2, or 3 with z) is
    where the lower left corner of the lower left pixel lies; of samples it is where the first lies. A map's own file
    gives both.
    """
    if bool(image) + bool(map) + bool(samples) != 1:
        raise ParameterError(f"height_field needs {FORMS}")
    if samples:
        if height is not None:
            raise ParameterError("height_field of samples takes no 'height': they are heights")
        heights, half = _array(folder / samples), 0.0
    else:
        if height is None:
            raise ParameterError(
                "height_field of an image or a map needs 'height', that of white or of what is occupied"
            )
        occupied = False
        if map:
            file = _map(folder / map, resolution, origin)
            folder, image, occupied = (folder / map).parent, file["image"], not file.get("negate", 0)
            resolution, origin = file["resolution"], file["origin"][:2]
        grey = _grey(folder / image)
        heights, half = height * (1.0 - grey if occupied else grey), 0.5
    if resolution is None:
        raise ParameterError("height_field needs 'resolution', the size of a pixel or sample [m]")
    origin = [0.0, 0.0] if origin is None else origin
    at = vector("origin of height_field", [*origin, 0.0] if len(origin) == 2 else origin, 3)
    start = at + half * float(resolution) * np.array([1.0, 1.0, 0.0])
    return (HeightField(heights, resolution, (start[0], start[1], start[2]), **own),)


KINDS: dict[str, Callable[..., Any]] = {
    "plane": Plane,
    "box": Box,
    "ramp": ramp,
    "stairs": stairs,
    "rough_ground": rough_ground,
    "height_field": height_field,
}
OWN = ("friction", "stiffness", "damping")


def _surfaces(entry: Any, folder: Path) -> tuple[Surface, ...]:
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ParameterError(f"must be one of {', '.join(KINDS)} with its figures, got {entry!r}")
    ((kind, figures),) = entry.items()
    if kind not in KINDS:
        raise ParameterError(f"there is no '{kind}'; valid kinds: {', '.join(KINDS)}")
    figures = {} if figures is None else figures
    if not isinstance(figures, Mapping):
        raise ParameterError(f"{kind} must be followed by its figures, name by name, got {figures!r}")
    taken = inspect.signature(KINDS[kind]).parameters
    names = [n for n, p in taken.items() if p.kind is not p.VAR_KEYWORD and n != "folder"]
    valid = list(dict.fromkeys([*names, *OWN]))
    if unknown := [str(name) for name in figures if name not in valid]:
        raise ParameterError(f"{kind} has no '{unknown[0]}'; valid names: {', '.join(valid)}")
    if lacking := [n for n in names if taken[n].default is taken[n].empty and n not in figures]:
        raise ParameterError(f"{kind} lacks '{lacking[0]}'")
    try:
        made = KINDS[kind](**figures, **({"folder": folder} if kind == "height_field" else {}))
    except (TypeError, ValueError, AttributeError):
        raise ParameterError(f"{kind} has a figure that is no number, list or file name: {dict(figures)}") from None
    return made if isinstance(made, tuple) else (made,)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ParameterError(f"cannot read '{path}': {getattr(problem, 'strerror', None) or 'no text'}") from None


def _yaml(path: Path) -> Any:
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise ParameterError(missing("yaml")) from None
    try:
        return yaml.safe_load(_text(path))
    except (yaml.YAMLError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        raise ParameterError(f"'{path}' is no YAML{line}") from None


def _map(path: Path, resolution: Any, origin: Any) -> dict[str, Any]:
    if not (resolution is None and origin is None):
        raise ParameterError("height_field of a map takes neither 'resolution' nor 'origin': its own file gives them")
    file = _yaml(path)
    if not isinstance(file, dict) or not {"image", "resolution", "origin"} <= set(file):
        raise ParameterError(f"'{path}' is no map of map_server: it needs image, resolution and origin")
    if len(file["origin"]) == 3 and file["origin"][2]:
        raise ParameterError(
            f"'{path}': a map that is turned (third number of origin) cannot be ground; turn the image"
        )
    return file


def _grey(path: Path) -> Array:
    """Brightness 0 .. 1 of an image as (nx, ny), the lower left pixel first."""
    try:
        from PIL import Image
    except ImportError:
        raise ParameterError(missing("PIL")) from None
    try:
        with Image.open(path) as opened:
            if opened.width * opened.height > MOST_SAMPLES:
                raise ParameterError(
                    f"'{path}' has {opened.width} x {opened.height} pixels; at most {MOST_SAMPLES} fit"
                )
            deep = opened.mode in ("I", "I;16", "I;16B", "F")
            pixels = np.asarray(opened if deep else opened.convert("L"), dtype=float)
    except (OSError, ValueError, SyntaxError) as problem:
        raise ParameterError(
            f"cannot read the image '{path}': {getattr(problem, 'strerror', None) or 'no image'}"
        ) from None
    grey: Array = np.clip(pixels[::-1].T / (65535.0 if deep else 255.0), 0.0, 1.0)
    return grey


def _array(path: Path) -> Array:
    try:
        heights = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        raise ParameterError(f"cannot read '{path}': {getattr(problem, 'strerror', None) or 'no .npy array'}") from None
    if not isinstance(heights, np.ndarray) or heights.dtype.kind not in "fiu" or heights.size > MOST_SAMPLES:
        raise ParameterError(f"'{path}' must hold numbers (nx, ny), at most {MOST_SAMPLES}")
    return heights.astype(float)
