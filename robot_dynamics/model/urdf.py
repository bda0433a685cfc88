# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""URDF -> Robot -> Model. Nothing else in the package reads XML.

The XML is streamed into a document that holds only what dynamics uses, this document is checked, and urdf_parser_py
turns it into objects. So no bomb, texture or transmission reaches that parser, and a mistake is told in one sentence.
"""

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder, tostring
from xml.parsers import expat

import numpy as np
from numpy.typing import ArrayLike
from urdf_parser_py.urdf import URDF

from ..core.arrays import Array
from ..errors import ModelError, UnknownNameError
from ..spatial import rotation_from_quaternion, rotation_from_rpy, rpy_from_rotation
from .description import (
    Inertial,
    Joint,
    Link,
    Mimic,
    Robot,
    Rotor,
    Shape,
)
from .model import GRAVITY, Model, build_model

_MOST_BYTES = 64 << 20
_MOST_ELEMENTS = 250_000
_MOST_NESTED = 100
_LONGEST_TAG = 1 << 20
_LONGEST_VALUE = 4096
_HUGE = 1e15  # products of several such numbers stay finite; converters write 1e16 for "no limit"

_CHILDREN = {
    "robot": ("link", "joint"),
    "link": ("inertial", "collision"),
    "inertial": ("origin", "mass", "inertia"),
    "collision": ("origin", "geometry"),
    "geometry": ("box", "sphere", "cylinder", "capsule", "mesh"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}
_NEEDED_CHILDREN = {"joint": ("parent", "child"), "inertial": ("mass",), "collision": ("geometry",)}
_REPEATABLE = ("link", "joint", "collision")
_ONLY_SEEN = ("visual", "material")

_NEEDED, _ABSENT = None, ""
_ATTRIBUTES: dict[str, dict[str, str | None]] = {  # name: value when it is not given
    "robot": {"name": _NEEDED},
    "link": {"name": _NEEDED},
    "joint": {"name": _NEEDED, "type": _NEEDED},
    "parent": {"link": _NEEDED},
    "child": {"link": _NEEDED},
    "origin": {"xyz": "0 0 0", "rpy": "0 0 0", "quat_xyzw": _ABSENT},
    "mass": {"value": _NEEDED},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), _NEEDED),
    "box": {"size": _NEEDED},
    "sphere": {"radius": _NEEDED},
    "cylinder": {"radius": _NEEDED, "length": _NEEDED},
    "capsule": {"radius": _NEEDED, "length": _NEEDED},
    "mesh": {"filename": _NEEDED, "scale": "1 1 1"},
    "axis": {"xyz": _NEEDED},
    "limit": {"lower": "0", "upper": "0", "effort": "0", "velocity": "0"},
    "dynamics": {"damping": "0", "friction": "0"},
    "mimic": {"joint": _NEEDED, "multiplier": "1", "offset": "0"},
}
_WORDS = ("name", "type", "link", "joint", "filename")
_LENGTHS = {"xyz": 3, "rpy": 3, "quat_xyzw": 4, "size": 3, "scale": 3}
_NOT_NEGATIVE = ("value", "size", "radius", "length", "damping", "friction")

_ONE_COORDINATE = ("revolute", "continuous", "prismatic")
_WITHOUT_AXIS = ("floating", "fixed")
_JOINT_KINDS = (*_ONE_COORDINATE, "planar", "floating", "fixed")


def load_urdf(
    source: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    keep_links: Iterable[str] = (),
    root: str | None = None,
    armature: Mapping[str, float] | None = None,
    rotors: Mapping[str, Rotor] | None = None,
    gravity: ArrayLike = GRAVITY,
) -> Model:
    """Model of the robot in a URDF: `read_urdf`, then `build_model`.

    Parameters
    ----------
    source
        XML text (a str that holds a '<') or the path of a file. Nothing that the XML refers to is opened.
    floating_base
        The root link moves freely; otherwise it is part of the world.
    keep_links
        Links on fixed joints that stay bodies of their own instead of being merged.
    root
        Link to start from, so that only its subtree is used; None: the link without a parent.
    armature
        Joint name -> reflected rotor inertia [kg m^2 or kg], added once in H, ABA and RNEA alike.
    rotors
        Joint name -> geared rotor with its coupling terms (see `Rotor`); not together with an armature of that joint.
    gravity
        (3,) free fall in world axes [m/s^2].

    Raises
    ------
    ModelError
        The URDF cannot be read, or a figure is impossible; the sentence names the link or joint and the reason.
    UnknownNameError
        A link or joint that the robot does not have.
    ShapeError
        Gravity that is not three finite numbers.
    """
    return build_model(
        read_urdf(source),
        floating_base=floating_base,
        keep_links=keep_links,
        root=root,
        armature=armature,
        rotors=rotors,
        gravity=gravity,
    )


def read_urdf(source: str | os.PathLike[str]) -> Robot:
    """What a URDF says, checked: one tree of links, finite numbers, names that exist, mimics that end.

    Parameters
    ----------
    source
        XML text (a str that holds a '<') or the path of a file. Nothing that the XML refers to is opened.

    Raises
    ------
    ModelError
        The URDF cannot be read; the sentence names the link or joint and the reason.
    """
    content, folder, name = _content(source)
    document, dropped = _clean(content, name)
    _check_document(document)
    _drop_unused(document, dropped)
    _complete(document)
    kinds = [[shape.tag for shape in link.iterfind("collision/geometry/*")] for link in document.iterfind("link")]
    parsed = _parsed(document)
    links = tuple(map(_link, parsed.links, kinds))
    joints = tuple(map(_joint, parsed.joints))
    _check_tree(links, joints)
    _check_mimics(joints)
    return Robot(parsed.name, links, joints, dict(dropped), folder)


def _content(source: str | os.PathLike[str]) -> tuple[str | bytes, str, str]:
    """The XML, the folder it was read from, and what to call it."""
    if isinstance(source, str) and "<" in source:
        return source, "", "the URDF"
    name = f"the URDF file {str(source)[-200:]!r}"
    try:
        path = Path(source)
        if path.is_dir():
            raise ModelError(f"{name} is a folder")
        if not path.is_file():
            raise ModelError(f"there is no URDF file {str(source)[-200:]!r}")
        with path.open("rb") as file:
            return file.read(_MOST_BYTES + 1), str(path.resolve().parent), name
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{name} cannot be read: {reason}") from None


def _quoted(text: str) -> str:
    """Text in quotes, without control characters and not endless."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _clean(content: str | bytes, name: str) -> tuple[Element, Counter[str]]:
    """Document of what dynamics uses, and how often each other tag was dropped."""
    if len(content) > _MOST_BYTES:
        raise ModelError(f"{name} is larger than {_MOST_BYTES >> 20} MiB")
    cleaner = _Cleaner()
    content = content.lstrip()  # of empty lines, after which expat takes no XML declaration, but other parsers do
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = cleaner.doctype
    parser.StartElementHandler = cleaner.start
    parser.EndElementHandler = cleaner.end
    try:
        for start in range(0, len(content), _LONGEST_TAG):
            parser.Parse(content[start : start + _LONGEST_TAG], False)
            if 0 <= parser.CurrentByteIndex < start:
                raise ModelError(f"a tag or comment of {name} is longer than {_LONGEST_TAG >> 20} MiB")
        parser.Parse(b"", True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise ModelError(f"{name} is not well-formed XML: {error}") from None
    return cleaner.builder.close(), cleaner.dropped


class _Cleaner:
    """Takes the events of the XML parser; keeps the elements of _CHILDREN, counts the others by tag."""

    def __init__(self) -> None:
        self.builder = TreeBuilder()
        self.dropped: Counter[str] = Counter()
        self.elements = 0
        self.open: list[str] = []  # tags of the open elements that are kept
        self.skipped = 0  # open elements from a dropped one on

    def doctype(self, *_: Any) -> None:
        raise ModelError("the URDF holds a DOCTYPE; document types and entities are not read, please remove it")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) + self.skipped >= _MOST_NESTED:
            raise ModelError(f"the URDF nests elements more than {_MOST_NESTED} deep")
        if not self.open and not self.skipped and tag != "robot":
            raise ModelError(f"the outermost element of a URDF is 'robot', got {_quoted(tag)}")
        if self.skipped or (self.open and tag not in _CHILDREN.get(self.open[-1], ())):
            self._drop(tag)
            return
        self._count()
        self.open.append(tag)
        self.builder.start(tag, {name: attributes[name] for name in _ATTRIBUTES.get(tag, ()) if name in attributes})

    def end(self, tag: str) -> None:
        if self.skipped:
            self.skipped -= 1
        else:
            self.builder.end(self.open.pop())

    def _drop(self, tag: str) -> None:
        if tag.startswith("xacro:") and not self.skipped:
            raise ModelError(f"the URDF holds {_quoted(tag)}: it is a xacro file, run xacro on it first")
        if not self.skipped and tag not in _ONLY_SEEN:
            self._count()
            self.dropped[tag[:_LONGEST_VALUE]] += 1
        self.skipped += 1

    def _count(self) -> None:
        self.elements += 1
        if self.elements > _MOST_ELEMENTS:
            raise ModelError(f"the URDF holds more than {_MOST_ELEMENTS} elements")


def _check_document(document: Element) -> None:
    """Raise on what is missing, doubled or not a number, naming the link or joint."""
    _check_element("the robot", document)
    for joint in document.iterfind("joint"):
        for axis in joint.findall("axis"):
            if "xyz" not in axis.attrib and joint.get("type") in _WITHOUT_AXIS:
                joint.remove(axis)
    for tag in ("link", "joint"):
        seen: set[str] = set()
        for number, part in enumerate(document.iterfind(tag), 1):
            name = part.get("name", "")
            owner = f"{tag} {_quoted(name)}" if name else f"{tag} number {number}"
            for element in part.iter():
                _check_element(owner if element is part else f"{owner}: <{element.tag}>", element)
            if name in seen:
                raise ModelError(f"two {tag}s have the name {_quoted(name)}")
            seen.add(name)


def _check_element(where: str, element: Element) -> None:
    children = [child.tag for child in element]
    for tag in _NEEDED_CHILDREN.get(element.tag, ()):
        if tag not in children:
            raise ModelError(f"{where} has no <{tag}>")
    for tag in set(children).difference(_REPEATABLE):
        if children.count(tag) > 1:
            raise ModelError(f"{where} has more than one <{tag}>")
    if element.tag == "geometry" and len(children) > 1:
        raise ModelError(f"{where} has more than one shape: {', '.join(children)}")
    for attribute, default in _ATTRIBUTES.get(element.tag, {}).items():
        text = element.get(attribute)
        if text is None and default is _NEEDED:
            raise ModelError(f"{where} has no {attribute}")
        if text is not None:
            check = _check_word if attribute in _WORDS else _check_numbers
            check(where, attribute, text)
    if {"rpy", "quat_xyzw"} <= element.attrib.keys():
        raise ModelError(f"{where} has both rpy and quat_xyzw, expected one of them")
    if element.tag == "joint" and element.get("type") not in _JOINT_KINDS:
        kind = _quoted(element.get("type", ""))
        raise ModelError(f"{where} has the unknown type {kind}; valid types: {', '.join(_JOINT_KINDS)}")


def _check_word(where: str, attribute: str, text: str) -> None:
    if not text.strip():
        raise ModelError(f"{where} has no {attribute}")
    if len(text) > _LONGEST_VALUE or not text.isprintable():
        raise ModelError(f"{where}: {attribute}={_quoted(text)} is too long or holds a control character")


def _check_numbers(where: str, attribute: str, text: str) -> None:
    if "${" in text:
        raise ModelError(f"{where}: {attribute}={_quoted(text)} is of a xacro file, run xacro on it first")
    count = _LENGTHS.get(attribute, 1)
    expected = f"{where}: {attribute}={_quoted(text)} should be " + ("a number" if count == 1 else f"{count} numbers")
    try:
        numbers = [float(word) for word in text.split()] if len(text) <= _LONGEST_VALUE else []
    except ValueError:
        raise ModelError(expected) from None
    largest = math.inf if attribute in _ATTRIBUTES["limit"] else _HUGE
    if len(numbers) != count or not all(abs(number) <= largest for number in numbers):
        raise ModelError(f"{expected}, finite and not huge" if len(numbers) == count else expected)
    if attribute in _NOT_NEGATIVE and min(numbers) < 0.0:
        raise ModelError(f"{where}: {attribute}={_quoted(text)} should not be negative")
    if attribute == "quat_xyzw" and max(map(abs, numbers)) < 1e-9:
        raise ModelError(f"{where}: {attribute}={_quoted(text)} should be a quaternion of length 1")


def _drop_unused(document: Element, dropped: Counter[str]) -> None:
    """Drop collisions without a shape we know (its tag is counted already) and mimics of joints that cannot move."""
    for link in document.iterfind("link"):
        for collision in link.findall("collision"):
            if collision.find("geometry/*") is None:
                link.remove(collision)
    for joint in document.iterfind("joint[@type='fixed']"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
            dropped["mimic"] += 1


def _complete(document: Element) -> None:
    """Write every default into the document."""
    for element in document.iter():
        given = element.attrib
        if element.tag == "limit" and not given.keys() & {"lower", "upper"}:
            given.update(lower="-inf", upper="inf")
        if "quat_xyzw" in given:
            given["rpy"] = _rpy_text(given.pop("quat_xyzw"))
        for attribute, default in _ATTRIBUTES.get(element.tag, {}).items():
            if default:
                given.setdefault(attribute, default)


def _rpy_text(quaternion_text: str) -> str:
    R = rotation_from_quaternion([float(word) for word in quaternion_text.split()])
    return " ".join(repr(float(angle)) for angle in rpy_from_rotation(R))


def _parsed(document: Element) -> Any:
    """The document as urdf_parser_py's objects; that parser takes a capsule only as the cylinder inside it."""
    for capsule in list(document.iter("capsule")):
        capsule.tag = "cylinder"
    return URDF.from_xml_string(tostring(document))


def _link(link: Any, kinds: list[str]) -> Link:
    inertial = None if link.inertial is None else _inertial(link.inertial)
    return Link(link.name, inertial, tuple(map(_shape, link.collisions, kinds)))


def _inertial(inertial: Any) -> Inertial:
    """Inertia about the centre of mass in link axes, R I R^T; a mass without <inertia> is a point."""
    R, com = _pose(inertial.origin)
    inertia = np.zeros((3, 3)) if inertial.inertia is None else np.array(inertial.inertia.to_matrix())
    return Inertial(inertial.mass, com, R @ inertia @ R.T)


def _shape(collision: Any, kind: Any) -> Shape:
    geometry = collision.geometry
    R, p = _pose(collision.origin)
    if kind == "mesh":
        return Shape(kind, tuple(geometry.scale), R, p, geometry.filename)
    if kind == "box":
        return Shape(kind, tuple(geometry.size), R, p)
    if kind == "sphere":
        return Shape(kind, (geometry.radius,), R, p)
    return Shape(kind, (geometry.radius, geometry.length), R, p)


def _pose(origin: Any) -> tuple[Array, Array]:
    if origin is None:
        return np.eye(3), np.zeros(3)
    return rotation_from_rpy(origin.rpy), np.array(origin.xyz)


def _joint(joint: Any) -> Joint:
    R, p = _pose(joint.origin)
    lower, upper, effort, velocity = _limits(joint)
    dynamics = joint.dynamics
    damping, friction = (0.0, 0.0) if dynamics is None else (dynamics.damping, dynamics.friction)
    mimic = joint.mimic and Mimic(joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset)
    return Joint(
        joint.name, joint.type, joint.parent, joint.child, R, p, _axis(joint),
        lower, upper, effort, velocity, damping, friction, mimic,
    )  # fmt: skip


def _axis(joint: Any) -> Array:
    """Unit axis; x where the URDF gives none, or where the joint has none."""
    if joint.axis is None or joint.type in _WITHOUT_AXIS:
        return np.array([1.0, 0.0, 0.0])
    length = np.linalg.norm(joint.axis)
    if length < 1e-9:
        raise ModelError(f"joint {_quoted(joint.name)} has a zero axis, but it is {joint.type}")
    return np.array(joint.axis) / length


def _limits(joint: Any) -> tuple[float, float, float, float]:
    """Lower, upper, effort, velocity; infinite where there is no limit, it is huge, or effort or velocity is 0."""
    limit = joint.limit
    if limit is None:
        return -math.inf, math.inf, math.inf, math.inf
    effort, velocity = (value if 0.0 < value < _HUGE else math.inf for value in (limit.effort, limit.velocity))
    if joint.type not in ("revolute", "prismatic"):
        return -math.inf, math.inf, effort, velocity
    lower = limit.lower if limit.lower > -_HUGE else -math.inf
    upper = limit.upper if limit.upper < _HUGE else math.inf
    if not (lower <= upper and lower < _HUGE and upper > -_HUGE):
        raise ModelError(f"joint {_quoted(joint.name)}: lower limit {lower:g} is above upper limit {upper:g}")
    return lower, upper, effort, velocity


def _check_tree(links: tuple[Link, ...], joints: tuple[Joint, ...]) -> None:
    """Raise unless the joints make one tree of all links."""
    names = dict.fromkeys(link.name for link in links)
    if not names:
        raise ModelError("the robot has no links")
    joint_to: dict[str, Joint] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in names:
                raise ModelError(f"joint {_quoted(joint.name)}: {UnknownNameError('link', link, names)}")
        if joint.child in joint_to:
            two = f"{_quoted(joint_to[joint.child].name)} and {_quoted(joint.name)}"
            raise ModelError(f"link {_quoted(joint.child)} is the child of two joints, {two}: loops are not supported")
        joint_to[joint.child] = joint
    loop = _loop({child: joint.parent for child, joint in joint_to.items()})
    if loop:
        raise ModelError(f"these links form a loop: {_listed(loop)}")
    roots = [name for name in names if name not in joint_to]
    if len(roots) > 1:
        raise ModelError(f"the robot has {len(roots)} roots, {_listed(roots)}: join them by a joint to make one tree")


def _check_mimics(joints: tuple[Joint, ...]) -> None:
    """Raise unless every mimic joint ends at a joint of one coordinate."""
    kinds = {joint.name: joint.kind for joint in joints}
    mimics = {joint.name: joint.mimic.joint for joint in joints if joint.mimic}
    for name, target in mimics.items():
        if target not in kinds:
            moving = [joint for joint, kind in kinds.items() if kind in _ONE_COORDINATE]
            raise ModelError(f"joint {_quoted(name)} mimics nothing: {UnknownNameError('joint', target, moving)}")
        for joint in (name, target):
            if kinds[joint] not in _ONE_COORDINATE:
                what = f"joint {_quoted(name)} mimics {_quoted(target)}, but {_quoted(joint)} is {kinds[joint]}"
                raise ModelError(f"{what}; it should be {', '.join(_ONE_COORDINATE)}")
    loop = _loop(mimics)
    if loop:
        raise ModelError(f"these joints mimic each other in a loop: {_listed(loop)}")


def _loop(above: Mapping[str, str]) -> list[str]:
    """Names that lead to themselves, in the map from each name to the one above it; empty if there are none."""
    safe: set[str] = set()
    for name in above:
        climb: dict[str, None] = {}
        while name in above and name not in safe:
            if name in climb:
                climbed = list(climb)
                return climbed[climbed.index(name) :]
            climb[name] = None
            name = above[name]
        safe.update(climb)
    return []


def _listed(names: list[str]) -> str:
    return ", ".join(map(_quoted, names[:10])) + (f", ... ({len(names)} in all)" if len(names) > 10 else "")
