# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every equation and every source that code, tests and pages cite is in docs/derivations and docs/references.md."""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REFERENCES = DOCS / "references.md"
SOURCES = sorted(path for folder in ("robot_dynamics", "test") for path in (ROOT / folder).rglob("*.py"))
PAGES = sorted(path for path in DOCS.rglob("*.md") if path != REFERENCES)

TAG = r"[A-Z]\d{1,2}"
BRACKET = re.compile(rf"(?<!\w)\(({TAG}(?:-{TAG})?(?:[,;: ][^()]*)?)\)")
"""A bracket that begins with a tag: (N6), (N6, N7), (R1-R5, [RBDA] table 5.1)."""
KEY = re.compile(r"\[((?:RBDA|REP-\d+|fdlibm|Cheetah-Software|Murray, Li, Sastry|[A-Z][^][`$=]* (?:19|20)\d\d).*?)\]")


@cache
def prose(path: Path) -> str:
    """Docstrings and comments of a module, or a page without code and formulas."""
    text = path.read_text()
    if path.suffix == ".md":
        return re.sub(r"```.*?```|\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", " ", text, flags=re.DOTALL)
    constants = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    strings = [node.value for node in constants if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join([*strings, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


def tags_defined() -> list[str]:
    """Tags of all equations, page by page."""
    pages = sorted((DOCS / "derivations").glob("*.md"))
    return [tag for page in pages for tag in re.findall(rf"\\tag\{{({TAG})\}}", page.read_text())]


def tags_cited(text: str) -> set[str]:
    """Tags in brackets, ranges written out."""
    items = [item for bracket in BRACKET.findall(text) for item in re.split(r"[,;:] | and ", bracket)]
    ranges = [found.groups() for item in items if (found := re.match(rf"({TAG})(?:-({TAG}))?(?!\w)", item))]
    return {f"{first[0]}{n}" for first, last in ranges for n in range(int(first[1:]), int((last or first)[1:]) + 1)}


def keys_cited(text: str) -> set[str]:
    """Sources in square brackets: several stand between semicolons, and after RBDA and a comma its table or page."""
    parts = [part for group in KEY.findall(" ".join(text.split())) for part in group.split("; ")]
    return {"RBDA" if part.startswith("RBDA,") else part for part in parts}


def targets(node: ast.stmt) -> list[ast.Name]:
    """Names that a statement assigns."""
    return [name for name in getattr(node, "targets", []) if isinstance(name, ast.Name)]


def keys_listed() -> list[str]:
    """Keys of the tables of references."""
    return re.findall(r"^\| \[([^]]+)\] \|", REFERENCES.read_text(), re.MULTILINE)


def test_a_tag_names_one_equation_and_none_is_left_out():
    tags = tags_defined()
    assert len(tags) > 150
    assert [tag for tag in sorted(set(tags)) if tags.count(tag) > 1] == []
    for letter in {tag[0] for tag in tags}:
        numbers = sorted(int(tag[1:]) for tag in tags if tag[0] == letter)
        assert numbers == list(range(1, len(numbers) + 1)), letter


@pytest.mark.parametrize("paths", [SOURCES, PAGES], ids=["code", "pages"])
def test_equations_that_are_cited_are_derived(paths):
    known = set(tags_defined())
    unknown = {path.relative_to(ROOT): tags_cited(prose(path)) - known for path in paths}
    assert {path: tags for path, tags in unknown.items() if tags} == {}


def test_functions_that_derivations_name_exist():
    """In the paragraphs that begin with "In the code"."""
    trees = {path: ast.parse(path.read_text()) for path in SOURCES}
    defined = {node.name for tree in trees.values() for node in ast.walk(tree) if hasattr(node, "name")}
    constants = {target.id for tree in trees.values() for node in tree.body for target in targets(node)}
    modules = {part.removesuffix(".py") for path in SOURCES for part in path.relative_to(ROOT).parts}
    text = "\n\n".join(page.read_text() for page in PAGES)
    paragraphs = re.findall(r"In the code.*?(?:\n\n|$)", text, re.DOTALL)
    named = {name for paragraph in paragraphs for name in re.findall(r"`([A-Za-z_.]+)`", paragraph)}
    assert len(named) > 100
    assert sorted(name for name in named if not set(name.split(".")) <= defined | constants | modules) == []


def test_sources_are_listed_once_and_cited():
    cited = {key for path in [*SOURCES, *PAGES] for key in keys_cited(prose(path))}
    assert sorted(keys_listed()) == sorted(cited)


def test_nothing_cites_what_does_not_ship():
    unshipped = re.compile(r"\bSPEC\b|\bD00\d\b")
    others = [path for path in (*SOURCES, *PAGES, REFERENCES) if path != Path(__file__)]
    assert [str(path.relative_to(ROOT)) for path in others if unshipped.search(path.read_text())] == []
