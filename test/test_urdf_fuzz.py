# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""500 broken robots: a model or one sentence, never a traceback, a hang, a file, a socket, a NaN or much memory."""

import encodings
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring, tostring

import numpy as np
import pytest
from depth import every
from random_robots import random_robot
from urdf_text import chain_text, joint_text, link_text, robot_text, written

import robot_dynamics as rd
from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.model.description import Robot
from robot_dynamics.model.model import build_model
from robot_dynamics.model.urdf import load_urdf, read_urdf

pytestmark = pytest.mark.timeout(120)

MINI_CHEETAH = Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf"
EVERYTHING = chain_text(
    "abc",
    '<link name="d"><visual><geometry/></visual><inertial><origin xyz="0 0 1" rpy="1 2 3"/><mass value="2"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial><collision><origin xyz="1 0 0"/>'
    '<geometry><capsule radius="1" length="2"/></geometry></collision></link>',
    joint_text(
        "c",
        "d",
        '<origin xyz="0 0 1" rpy="1 2 3"/><axis xyz="1 2 3"/><mimic joint="bc" multiplier="2" offset="1"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="1" friction="1"/>',
        kind="prismatic",
    ),
    '<gazebo reference="a"><x/></gazebo><transmission name="t"/><material name="m"/>',
)
BASES = [MINI_CHEETAH.read_text(), EVERYTHING, *(written(random_robot(seed, count=14)) for seed in range(4))]

NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "0",
    "1e14",
    "-1e14",
    "1e-300",
    "1e300",
    "x",
    "",
    "1 2",
    "1,5",
    "0x1f",
    "1_0",
]
NUMBERS += ["0 0 0", "1e14 1e14 1e14", "nan 0 0", "9" * 5000, "${pi}", "٣", "-", "1" + "0" * 400]
WORDS = ["", " ", "a", "base", "joint", "x" * 5000, "\u202e", "\u007f", "é", "<", "&amp;", "'\"", "../../etc/passwd"]
TYPES = ["ball", "", "Revolute", "unknown", "fixed", "floating", "planar", "prismatic", "screw", "universal"]
ENTITY = '<?xml version="1.0"?><!DOCTYPE robot [{}]>'
LAUGHS = '<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 20))


def elements(document: Element, tag: str | None = None) -> list[Element]:
    return list(document.iter(tag))


def pick(rng: np.random.Generator, items: list):
    return items[rng.integers(len(items))]


def parents(document: Element) -> list[tuple[Element, Element]]:
    return [(parent, child) for parent in document.iter() for child in parent]


# ---- mutations of the document --------------------------------------------------------------------------------------


def change_attributes(values: list[str], *names: str) -> Callable[[np.random.Generator, Element], None]:
    """Give one to three attributes (of the given names) another value."""

    def change(rng: np.random.Generator, document: Element) -> None:
        places = [(e, key) for e in document.iter() for key in e.attrib if not names or key in names]
        for _ in range(rng.integers(1, 4)):
            element, key = pick(rng, places)
            element.set(key, pick(rng, values))

    return change


def remove_attribute(rng: np.random.Generator, document: Element) -> None:
    element, key = pick(rng, [(e, key) for e in document.iter() for key in e.attrib])
    del element.attrib[key]


def remove_element(rng: np.random.Generator, document: Element) -> None:
    parent, child = pick(rng, parents(document))
    parent.remove(child)


def double_element(rng: np.random.Generator, document: Element) -> None:
    parent, child = pick(rng, parents(document))
    parent.append(child)


def move_element(rng: np.random.Generator, document: Element) -> None:
    parent, child = pick(rng, parents(document))
    parent.remove(child)
    pick(rng, elements(document)).append(child)


def rename_element(rng: np.random.Generator, document: Element) -> None:
    pick(rng, elements(document)).tag = pick(rng, [e.tag for e in document.iter()] + ["x", "xacro:if", "xi:include"])


def same_names(rng: np.random.Generator, document: Element) -> None:
    tag = pick(rng, ["link", "joint"])
    pick(rng, document.findall(tag)).set("name", pick(rng, document.findall(tag)).get("name"))


def other_ends(rng: np.random.Generator, document: Element) -> None:
    """Joints that start or end at other links: loops, two parents, two roots."""
    links = [link.get("name") for link in document.findall("link")]
    for _ in range(rng.integers(1, 4)):
        pick(rng, elements(document, "parent") + elements(document, "child")).set("link", pick(rng, links))


def random_mimics(rng: np.random.Generator, document: Element) -> None:
    """Any joint mimics any other, with any ratio."""
    joints = document.findall("joint")
    for _ in range(rng.integers(1, len(joints))):
        ratio = pick(rng, ["1", "-2", "0", "1e14", "1e-14"])
        joint = pick(rng, joints)
        for old in joint.findall("mimic"):
            joint.remove(old)
        joint.append(Element("mimic", joint=pick(rng, joints).get("name"), multiplier=ratio, offset=ratio))


def shuffle(rng: np.random.Generator, document: Element) -> None:
    """Every order of elements is allowed."""
    for parent in elements(document):
        parent[:] = [parent[i] for i in rng.permutation(len(parent))]


def extremes(rng: np.random.Generator, document: Element) -> None:
    """Numbers that are allowed, but that no robot has."""
    words = ("name", "type", "link", "joint", "filename", "reference")
    for element, key in [(e, key) for e in document.iter() for key in e.attrib if key not in words]:
        if rng.random() < 0.1:
            count = len(element.get(key).split())
            element.set(key, " ".join(pick(rng, ["0", "1e14", "1e-300", "1e7", "3e-9", "1"]) for _ in range(count)))


# ---- mutations of the text ------------------------------------------------------------------------------------------


def truncate(rng: np.random.Generator, content: bytes) -> bytes:
    return content[: rng.integers(len(content))]


def flip_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    flipped = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        flipped[rng.integers(len(flipped))] ^= 1 << rng.integers(8)
    return bytes(flipped)


def random_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    start = rng.integers(len(content))
    return content[:start] + rng.bytes(rng.integers(1, 200)) + content[start:]


def cut_and_paste(rng: np.random.Generator, content: bytes) -> bytes:
    a, b, c = sorted(rng.integers(len(content), size=3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def entity(rng: np.random.Generator, content: bytes) -> bytes:
    """An entity, declared in one of many ways, used as the name of a link or as text."""
    declaration = pick(
        rng,
        [
            LAUGHS + '<!ENTITY e "&l19;">',
            f'<!ENTITY e "{"x" * 100000}">',
            '<!ENTITY e SYSTEM "file:///etc/passwd">',
            '<!ENTITY e SYSTEM "http://127.0.0.1:9/e">',
            '<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p;',
            '<!ENTITY e "&e;">',
            '<!ATTLIST link name CDATA "e">',
        ],
    )
    used = pick(rng, [b'<link name="&e;"/>', b"<link>&e;</link>", b"&e;"])
    return ENTITY.format(declaration).encode() + content.partition(b"?>")[2].replace(b"</robot>", used + b"</robot>")


def external_doctype(rng: np.random.Generator, content: bytes) -> bytes:
    where = pick(rng, ["file:///etc/passwd", "http://127.0.0.1:9/r.dtd"])
    return f'<!DOCTYPE robot SYSTEM "{where}">'.encode() + content


def inclusion(rng: np.random.Generator, content: bytes) -> bytes:
    tags = [
        '<xi:include href="file:///etc/passwd" parse="text"/>',
        '<link name="q"><collision><geometry><mesh filename="file:///etc/passwd"/></geometry></collision></link>',
        '<?xml-stylesheet href="http://127.0.0.1:9/s.xsl"?>',
        '<gazebo><plugin filename="/etc/passwd"/></gazebo>',
    ]
    return content.replace(b"</robot>", pick(rng, tags).encode() + b"</robot>")


def deep(rng: np.random.Generator, content: bytes) -> bytes:
    return content.replace(b"</robot>", b"<a>" * int(rng.integers(50, 100000)) + b"</robot>")


def wrong_encoding(rng: np.random.Generator, content: bytes) -> bytes:
    codes = ["utf-16", "utf-32", "latin-1", "ascii", "cp037", "utf-7", "shift_jis", "rot13", "odd"]
    declared, real = pick(rng, codes), pick(rng, ["utf-8", "utf-16", "latin-1", "utf-32"])
    text = content.decode().partition("?>")[2]
    return f'<?xml version="1.0" encoding="{declared}"?>{text}'.replace('robot name="', 'robot name="é').encode(real)


def of_document(
    change: Callable[[np.random.Generator, Element], None],
) -> Callable[[np.random.Generator, bytes], bytes]:
    def mutate(rng: np.random.Generator, content: bytes) -> bytes:
        document = fromstring(content)
        change(rng, document)
        return b'<?xml version="1.0"?>' + tostring(document)

    return mutate


MUTATIONS = {
    "numbers": of_document(change_attributes(NUMBERS, "xyz", "rpy", "value", "ixx", "izz", "radius", "multiplier")),
    "limits": of_document(change_attributes(NUMBERS, "lower", "upper", "effort", "velocity", "damping", "friction")),
    "words": of_document(change_attributes(WORDS, "name", "link", "joint", "filename")),
    "types": of_document(change_attributes(TYPES, "type")),
    "anything": of_document(change_attributes(NUMBERS + WORDS + TYPES)),
    **{
        change.__name__: of_document(change)
        for change in (
            remove_attribute, remove_element, double_element, move_element, rename_element, same_names, other_ends,
            random_mimics, shuffle, extremes,
        )
    },
    **{
        change.__name__: change
        for change in (
            truncate, flip_bytes, random_bytes, cut_and_paste, entity, external_doctype, inclusion, deep,
            wrong_encoding,
        )
    },
}  # fmt: skip
CASES = [(name, seed) for seed in range(21) for name in MUTATIONS][:500]


# ---- the judge ------------------------------------------------------------------------------------------------------

watched: list[tuple[str, str]] = []
watching = False


def watch(event: str, arguments: tuple) -> None:
    """Note what is opened, connected or started while a URDF is read."""
    if watching and event.partition(".")[0] in ("open", "socket", "urllib", "subprocess"):
        watched.append((event, str(arguments[0] if arguments else "")))


sys.addaudithook(watch)


@contextmanager
def no_access_but_to(path: Path) -> Iterator[None]:
    """Fail on any access but to the file itself and to Python's own codecs."""
    global watching
    watched.clear()
    watching = True
    try:
        yield
    finally:
        watching = False
    allowed = (str(path), os.path.dirname(encodings.__file__))
    assert [access for access in watched if not access[1].startswith(allowed)] == []


def read_or_refuse(path: Path) -> Robot | None:
    with no_access_but_to(path):
        try:
            return read_urdf(path)
        except ModelError as error:
            sentence = str(error)
    assert "\n" not in sentence
    assert len(sentence) < 5000
    return None


def judge_model(robot: Robot, floating_base: bool) -> None:
    """Inverse dynamics is finite, forward dynamics is finite or refused."""
    try:
        model = build_model(robot, floating_base=floating_base)
    except RobotDynamicsError:
        return
    q, zero = rd.neutral(model), np.zeros(model.nv)
    assert np.isfinite(rd.inverse_dynamics(model, q, zero, zero)).all()
    assert np.isfinite(rd.mass_matrix(model, q)).all()
    try:
        assert np.isfinite(rd.forward_dynamics(model, q, zero, zero)).all()
    except RobotDynamicsError:
        return


@pytest.mark.parametrize(("mutation", "seed"), CASES, ids=[f"{name}-{seed}" for name, seed in CASES])
def test_a_model_or_one_sentence(tmp_path, capfd, mutation, seed):
    rng = np.random.default_rng([seed, *mutation.encode()])
    path = tmp_path / "r.urdf"
    path.write_bytes(MUTATIONS[mutation](rng, b'<?xml version="1.0"?>' + without_declaration(pick(rng, BASES))))
    robot = read_or_refuse(path)
    assert capfd.readouterr() == ("", "")
    if robot is not None:
        judge_model(robot, floating_base=bool(seed % 2))


def without_declaration(text: str) -> bytes:
    """Text without its XML declaration."""
    return (text.partition("?>")[2] if text.startswith("<?xml") else text).encode()


BOMBS = {
    "billion laughs": lambda: ENTITY.format(LAUGHS) + robot_text(link_text("&l19;")),
    "quadratic blow-up": lambda: ENTITY.format(f'<!ENTITY e "{"x" * 100000}">') + robot_text(link_text("&e;" * 10000)),
    "a file": lambda: ENTITY.format('<!ENTITY e SYSTEM "file:///etc/passwd">') + robot_text(link_text("&e;")),
    "an endless file": lambda: ENTITY.format('<!ENTITY e SYSTEM "file:///dev/zero">') + robot_text("&e;"),
    "the network": lambda: ENTITY.format('<!ENTITY e SYSTEM "http://127.0.0.1:9/e">') + robot_text("&e;"),
    "deep": lambda: robot_text("<a>" * 5_000_000),
    "many attributes": lambda: robot_text("<link " + " ".join(f"a{i}='a'" for i in range(500_000)) + "/>"),
    "a long name": lambda: robot_text(link_text("a" * 30_000_000)),
    "a long number": lambda: chain_text("ab").replace("<child", f'<axis xyz="{"1" * 30_000_000}"/><child'),
    "a long comment": lambda: f"<!--{'x' * 30_000_000}-->{chain_text('ab')}",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_in_little_memory(tmp_path, bomb):
    path = tmp_path / "r.urdf"
    path.write_text(BOMBS[bomb]())
    size = path.stat().st_size
    tracemalloc.start()
    try:
        assert read_or_refuse(path) is None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * size + 200e6


@pytest.mark.parametrize("source", ["/dev/zero", "/dev/stdin", "/proc/self/mem", "/"])
def test_not_a_plain_file(source):
    with pytest.raises(ModelError):
        read_urdf(source)


COUNT = 10_000
BALL = '<inertial><mass value="1"/><origin xyz="0 0 1"/></inertial>'
SWING = '<origin xyz="0 0 1"/><axis xyz="0 1 0"/>'


@pytest.mark.slow
@pytest.mark.parametrize("shape", every(2, ["deep", "flat"]))
def test_ten_thousand_links(shape):
    links = [link_text(f"l{i}", BALL) for i in range(COUNT)]
    joints = [joint_text(f"l{i - 1 if shape == 'deep' else 0}", f"l{i}", SWING) for i in range(1, COUNT)]
    model = load_urdf(robot_text(*links, *joints))
    assert (model.nb, model.nv) == (COUNT, COUNT - 1)
    assert model.report.mass == pytest.approx(COUNT)


@pytest.mark.slow
def test_ten_thousand_mimics_in_a_row():
    links = [link_text(f"l{i}", BALL) for i in range(COUNT)]
    joints = [
        joint_text("l0", f"l{i}", SWING, f'<mimic joint="l0l{i - 1}"/>' if i > 1 else "") for i in range(1, COUNT)
    ]
    robot = read_urdf(robot_text(*links, *reversed(joints)))
    assert sum(joint.mimic is not None for joint in robot.joints) == COUNT - 2


def test_ratios_that_multiply_to_infinity():
    law = '<mimic joint="l0l{}" multiplier="1e14"/>'
    joints = [joint_text("l0", f"l{i}", law.format(i - 1) if i > 1 else "") for i in range(1, 40)]
    with pytest.raises(ModelError, match=r"joint 'l0l3' mimics 'l0l1' too far: ratio 1e\+28"):
        load_urdf(robot_text(*(link_text(f"l{i}", BALL) for i in range(40)), *joints))
