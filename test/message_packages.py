# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes real message packages from definitions in a test folder: ROS's own generators, and the compiler of the system.

What `colcon build` of a message package does, for types that are not on PyPI. A package is built once and kept in the
folder of temporary files, under a name that changes with its definitions.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

TYPESUPPORT = "rosidl_typesupport_fastrtps_c"
NEEDED = ("rosidl_adapter", "rosidl_generator_py", "rosidl_generator_c", TYPESUPPORT)
PARTS = ("generator_c", "generator_py", "typesupport_fastrtps_c")
"""Libraries of a package of messages that those of another one call."""


def missing() -> str:
    """Say what this machine lacks to build messages; empty if nothing."""
    lacking = [name for name in NEEDED if find_spec(name) is None] + [x for x in ("gcc", "g++") if not shutil.which(x)]
    return f"needs {', '.join(lacking)}" if lacking else ""


def built(folder: Path, needs: Sequence[str] = ()) -> Path:
    """Build the package of `folder`, which holds msg/*.msg and is called as it is; answer what goes into sys.path.

    `needs` are the packages of ROS whose messages are in its own, and those whose messages are in these.
    """
    definitions = sorted((folder / "msg").glob("*.msg"))
    content = [Path(__file__), *definitions]
    made_for = f"{sys.version} {sys.prefix} {needs}".encode()
    key = hashlib.sha256(b"".join(path.read_bytes() for path in content) + made_for).hexdigest()[:16]
    prefixes = os.pathsep.join(
        filter(None, (sys.prefix, os.environ.get("AMENT_PREFIX_PATH")))
    )  # wheels are in the first
    place = Path(tempfile.gettempdir()) / f"{folder.name}_{key}"
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            with patch.dict(os.environ, AMENT_PREFIX_PATH=prefixes):
                _build(folder, needs, definitions, Path(scratch))
            try:
                (Path(scratch) / "python").rename(place)
            except OSError:  # another process was faster
                if not place.exists():
                    raise
    return place


def _build(folder: Path, needs: Sequence[str], definitions: list[Path], scratch: Path) -> None:
    """Generate C structures, their way through DDS and Python classes, and link all of it into one extension module."""
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_generator_type_description.cli import HashTypeDescription
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport

    package = folder.name
    idl = scratch / "idl" / package / "msg"
    for path in definitions:
        convert_msg_to_idl(folder, package, path.relative_to(folder), idl)
    files = [f"{idl.parent}:msg/{path.stem}.idl" for path in definitions]
    known = [str(scratch / "idl"), *(str(Path(sys.prefix) / "share" / name) for name in needs)]
    given = {"package_name": package, "interface_files": files, "include_paths": known}
    c, python = scratch / "c" / package, scratch / "python" / package
    for path in (c, python):
        path.mkdir(parents=True)
    hashes = HashTypeDescription("hash").generate_type_hashes(**given, output_path=c)
    GenerateC("c").generate(**given, output_path=c, type_description_files=hashes)
    GenerateFastRTPSCTypesupport("fastrtps").generate(**given, output_path=c)
    GenerateCTypesupport("c", typesupport_implementations=[TYPESUPPORT]).generate(**given, output_path=c)
    GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"]).generate(**given, output_path=python)
    (python / "__init__.py").touch()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    _link(
        [*c.rglob("*.c"), *c.rglob("*.cpp"), *python.rglob("*.c")],
        scratch,
        needs,
        python / f"{package}_s__rosidl_typesupport_c{suffix}",
    )


def _link(sources: Iterable[Path], scratch: Path, needs: Sequence[str], module: Path) -> None:
    import numpy

    prefix = Path(sys.prefix)
    headers = [path for path in (prefix / "include").iterdir() if path.is_dir()]
    includes = [
        scratch / "c",
        scratch / "python",
        prefix / "include",
        *headers,
        sysconfig.get_path("include"),
        numpy.get_include(),
    ]
    options = ["-fPIC", "-O0", "-w", *(f"-I{path}" for path in includes)]
    objects = []
    for i, source in enumerate(sources):
        objects.append(scratch / f"{i}.o")
        compiler = ["g++", "-std=c++17"] if source.suffix == ".cpp" else ["gcc", "-std=gnu11"]
        subprocess.run([*compiler, *options, "-c", source, "-o", objects[-1]], check=True)
    libraries = [
        f"-l{name}"
        for name in (
            "rosidl_runtime_c",
            "rosidl_typesupport_fastrtps_c",
            "rosidl_typesupport_fastrtps_cpp",
            "rosidl_typesupport_c",
            "fastcdr",
            "rmw",
            "rcutils",
            *(f"{name}__rosidl_{part}" for name in needs for part in PARTS),
        )
    ]
    place = [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}"]
    subprocess.run(["g++", "-shared", *objects, "-o", module, *place, *libraries], check=True)
