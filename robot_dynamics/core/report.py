# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page of tables, matplotlib pictures and films: it fetches nothing; only films run scripts."""

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; }
th, td { padding: .25rem 1rem .25rem 0; text-align: left; border-bottom: 1px solid #ddd; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; } img { max-width: 100%; } figcaption { color: #555; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Put parts made by the functions below under a title."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """Start a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str) -> str:
    """Say something."""
    return f"<p>{escape(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out text in columns; cells that begin like a number are aligned to the right."""
    lines = ["<table>", "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    for row in rows:
        lines.append("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>")
    return "\n".join([*lines, "</table>"])


def _cell(text: str) -> str:
    number = text[:1].isdigit() or text[:2].strip("-+.").isdigit()
    return f'<td class="number">{escape(text)}</td>' if number else f"<td>{escape(text)}</td>"


def picture(figure: "Figure", caption: str, dpi: int = 110) -> str:
    """Embed a matplotlib figure as PNG."""
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=dpi, bbox_inches="tight")
    source = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
    return f'<figure><img src="{source}" alt="{escape(caption)}"><figcaption>{escape(caption)}</figcaption></figure>'


def embedded(document: str, caption: str, height: str = "34rem") -> str:
    """Embed another HTML document, such as a film, that is loaded when it comes into sight."""
    return (
        f'<figure><iframe srcdoc="{escape(document)}" title="{escape(caption)}" loading="lazy" '
        f'style="width: 100%; height: {height}; border: 1px solid #ddd"></iframe>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
