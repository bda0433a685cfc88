# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Mesh files of a URDF: where they are, as ROS and people keep them, and the triangles in them."""

import io
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..core.arrays import Array
from ..core.extras import missing

VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)")
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
LOOKS = ("bind_material", "library_effects", "library_materials", "library_images")
SCHEMES = ("package://", "model://")
FORMATS = ("stl", "dae", "obj", "ply", "glb", "gltf")
"""Kinds of files by their ending: STL is read here, DAE by pycollada, the others by trimesh (extra `meshes`)."""


def find_mesh(mesh: str, folder: str, path: Sequence[str] = ()) -> Path:
    """Find the file of a URDF's mesh name: a path, file://, package:// or model://.

    Looked for in this order: beside the URDF (`folder`) and in the folders above it, packages first as a folder there,
    then under any name of the package; in the folders of `path`, in those of ROS_PACKAGE_PATH, in share/ of those of
    AMENT_PREFIX_PATH. A folder of a path is a package or holds packages.

    Raises
    ------
    FileNotFoundError
        It is in none of the places looked at, which the message names.
    """
    for candidate in _candidates(mesh, folder, path):
        if candidate.is_file():
            return candidate
    own = ", ".join(path)
    raise FileNotFoundError(
        f"mesh {mesh} is neither beside the URDF ({Path(folder or '.').resolve()} and above), "
        f"nor in mesh_path ({own or 'empty'}), ROS_PACKAGE_PATH ({os.environ.get('ROS_PACKAGE_PATH') or 'empty'}) "
        f"or AMENT_PREFIX_PATH ({os.environ.get('AMENT_PREFIX_PATH') or 'empty'})"
    )


def _candidates(mesh: str, folder: str, path: Sequence[str]) -> Iterator[Path]:
    """Yield where the file named in a URDF may be."""
    start = Path(folder or ".").resolve()
    scheme = next((s for s in SCHEMES if mesh.startswith(s)), "")
    if not scheme:
        for place in (start, *(start.parents if folder else ()), *map(Path, filter(None, path))):
            yield place.expanduser() / mesh.removeprefix("file://")
        return
    package, _, inside = mesh.removeprefix(scheme).partition("/")
    for above in (start, *start.parents):
        yield above.parent / package / inside if above.name == package else above / package / inside
    for above in (start, *start.parents) if folder else ():
        yield above / inside
    for entry in filter(None, (*path, *os.environ.get("ROS_PACKAGE_PATH", "").split(":"))):
        yield Path(entry).expanduser() / package / inside
        yield Path(entry).expanduser() / inside
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(":")):
        yield Path(prefix) / "share" / package / inside


def read_mesh(path: Path) -> Array:
    """Corners (3 k, 3) of the k triangles in a file of one of FORMATS, in metres where the file has a unit.

    As RViz does, the unit of a Collada file counts and its `up_axis` does not; transforms of its scene do.

    Raises
    ------
    OSError, ValueError
        The file cannot be read, another package is needed, there are no triangles, or some are not finite.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ValueError(f"{path}: meshes must be one of {', '.join(FORMATS)}")
    if kind == "stl":
        return read_stl(path)
    corners = _read_collada(path) if kind == "dae" else _read_by_trimesh(path, kind)
    if not len(corners) or not np.isfinite(corners).all():
        raise ValueError(f"{path} is no {kind.upper()} file with finite triangles")
    return corners


def read_stl(path: Path) -> Array:
    """Corners (3 k, 3) of the triangles of a binary or ASCII STL file. Raises as `read_mesh`."""
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + TRIANGLE.itemsize * count:
        corners = np.frombuffer(data, TRIANGLE, count, 84)["corners"].reshape(-1, 3).astype(float)
    else:
        corners = np.array([[float(x) for x in match] for match in VERTEX.findall(data)]).reshape(-1, 3)
    if not len(corners) or not np.isfinite(corners).all():
        raise ValueError(f"{path} is no STL file with finite triangles")
    return corners


def _read_collada(path: Path) -> Array:
    try:
        import collada
    except ImportError:
        raise ValueError(f"DAE files: {missing('collada')}") from None
    try:
        file = collada.Collada(_without_materials(path), ignore=[collada.common.DaeError])
        parts = list(file.scene.objects("geometry")) if file.scene else []
        corners = [_triangles(shape) for part in parts for shape in part.primitives()]
    except OSError:
        raise
    except Exception as problem:  # XML's, numpy's and its own
        raise ValueError(f"{path} is no DAE file that can be read: {problem}") from None
    return (file.assetInfo.unitmeter or 1.0) * np.concatenate([*corners, np.zeros((0, 3))])


def _without_materials(path: Path) -> io.BytesIO:
    """Collada without what only looks: textures need not be read, and none that is missing takes its mesh away."""
    document = ElementTree.parse(path).getroot()
    for parent in list(document.iter()):
        for child in [child for child in parent if child.tag.rpartition("}")[2] in LOOKS]:
            parent.remove(child)
    return io.BytesIO(ElementTree.tostring(document))


def _triangles(shape: Any) -> Array:
    """Corners (3 k, 3) of a primitive of a Collada scene; lines have none."""
    triangles = shape.triangleset() if hasattr(shape, "triangleset") else shape
    index = triangles.vertex_index
    return triangles.vertex[index[..., :3] if index.shape[-1] == 3 else index[:0, :1]].reshape(-1, 3)


def _read_by_trimesh(path: Path, kind: str) -> Array:
    try:
        import trimesh
    except ImportError:
        raise ValueError(f"{kind.upper()} files: {missing('trimesh')}") from None
    try:
        mesh = trimesh.load_mesh(path, process=False, skip_materials=True)
    except OSError:
        raise
    except Exception as problem:  # whatever its readers raise
        raise ValueError(f"{path} is no {kind.upper()} file that can be read: {problem}") from None
    return np.asarray(mesh.triangles, dtype=float).reshape(-1, 3)
