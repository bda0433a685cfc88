"""Sphinx: the pages of this folder, furo's look, the reference of the Python API from docstrings."""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml, pick_math_environment
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).resolve().parents[1]

project = "robot_dynamics"
author = "robot_dynamics maintainers"
release = re.search(r"^version = (.*)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE).group(1)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
exclude_patterns = ["make_*.py"]
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"robot_dynamics {release}"

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
nitpick_ignore_regex = [("py:.*", ".*")]  # types in docstrings are prose: shapes and units, not names to link


def setup(app: Sphinx) -> dict[str, bool]:
    """Write formulas as MathML: browsers show it by themselves, MathJax would have to be fetched."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline_math, None), block_renderers=(block_math, None))
    return {"parallel_read_safe": True}


def inline_math(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(mathml(node, node.astext(), as_block=False))
    raise nodes.SkipNode


def block_math(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula that stands alone, with its number if it has one."""
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    formula = mathml(node, node.astext(), as_block=True)
    translator.body.append(f'<div class="math" id="{"".join(node["ids"][:1])}">{number}{formula}</div>')
    raise nodes.SkipNode


def mathml(node: nodes.Element, formula: str, as_block: bool) -> str:
    """A formula of TeX in MathML; one that docutils cannot read is a warning, and with that an error."""
    environment = pick_math_environment(formula)
    wrapped = f"\\begin{{{environment}}}{formula}\\end{{{environment}}}" if as_block and "\\\\" in formula else formula
    try:
        return latex2mathml.tex2mathml(wrapped, as_block=as_block)
    except MathError as problem:
        logging.getLogger(__name__).warning("formula not understood: %s", problem, location=node)
        return f"<code>{escape(formula)}</code>"
