# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sphinx: the pages of this folder, furo's look, the reference of the Python API from docstrings."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

project = "robot_dynamics"
author = "robot_dynamics maintainers"
copyright = author
release = re.search(r"^version = (.*)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE).group(1)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # from a CDN pages without internet would show the source of their formulas
]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
exclude_patterns = ["make_*.py"]
html_theme = "furo"
html_title = f"robot_dynamics {release}"

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
nitpick_ignore_regex = [("py:.*", ".*")]  # types in docstrings are prose: shapes and units, not names to link
