# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a study says: falls over each parameter, what decides the figures, the worst runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array
from .runs import Study, column

Table = Mapping[str, Sequence[Any]]
"""Columns of the results by name."""
BINS = 12
"""Parts of equal count that a parameter is cut into for shares."""
FINEST = 50
"""Most parts for sensitivities, which take half the root of the number of runs."""
WORST = 10


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Share of runs that fell in each part of a parameter's values: its middle, the share, its standard error."""

    middle: Sequence[Any]
    share: Array
    error: Array


def shares(values: Sequence[Any], fell: Sequence[bool]) -> Share:
    """Answer the share of falls over the values of a parameter; error: sqrt(p (1 - p) / n), p by Laplace's rule."""
    x, parts = _parts(values, BINS)
    fallen = np.asarray(fell, dtype=bool)
    count = np.array([part.sum() for part in parts])
    falls = np.array([fallen[part].sum() for part in parts])
    likely = (falls + 1.0) / (count + 2.0)
    middle = [x[part][0] if x.dtype.kind == "U" else float(np.median(x[part])) for part in parts]
    return Share(middle, falls / count, np.sqrt(likely * (1.0 - likely) / count))


def _parts(values: Sequence[Any], most: int) -> tuple[Any, list[Any]]:
    """Values as an array, and masks of its parts: each value if they are few, else `most` parts of equal count."""
    x = np.asarray(values)
    distinct = np.unique(x)
    if len(distinct) <= most:
        return x, [x == value for value in distinct]
    edges = np.quantile(x, np.linspace(0.0, 1.0, most + 1)[1:-1])
    place = np.searchsorted(edges, x, side="right")
    return x, [place == i for i in range(most) if (place == i).any()]


def explained(values: Sequence[Any], figure: Array) -> float:
    """Share of the variance of a figure that a parameter explains alone: its first-order index [Sobol 1993] (Y15).

    Figures are (N,); nan where they do not vary, or are too few.
    """
    _, parts = _parts(values, min(max(round(0.5 * len(figure) ** 0.5), BINS // 2), FINEST))
    total, count = figure.var(), len(figure)
    if not total > 0.0 or count <= len(parts):
        return np.nan
    within = sum(figure[part].var() * part.sum() for part in parts) / count
    return float(max(0.0, 1.0 - within / total * (count - 1.0) / (count - len(parts))))


def rank_correlation(values: Sequence[Any], figure: Array) -> float:
    """Spearman's rank correlation: whether a figure rises (1) or falls (-1) with a parameter; nan for names."""
    x = np.asarray(values)
    if x.dtype.kind == "U" or not np.ptp(x) > 0.0 or not np.ptp(figure) > 0.0:
        return np.nan
    return float(np.corrcoef(_ranks(x), _ranks(figure))[0, 1])


def _ranks(x: Array) -> Array:
    """Ranks (N,), the mean of them for equal values."""
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: Array = (last - 0.5 * (count + 1.0))[place]
    return ranks


def figure_of(table: Table, name: str) -> Array:
    """Column of results as numbers; falls are 1."""
    return np.asarray(table[name], dtype=float)


def judged_columns(study: Study) -> list[str]:
    """Columns that tell how a run went."""
    return ["fell", *map(column, study.judges)]


def varied(study: Study) -> list[str]:
    """Parameters in which runs differ."""
    return [p.name for p in study.parameters if p.drawn or p.varies]


def worst(study: Study, table: Table) -> list[int]:
    """Numbers of the ten worst runs: those that fell first, then those with the largest tracking error.

    Where tracking is not judged, the first figure that is takes its place.
    """
    own = [column(name) for name in study.judges]
    by = "tracking" if "tracking" in own else own[0] if own else "run"
    fell, at, figure = (figure_of(table, name) for name in ("fell", "fell_at", by))
    order = np.lexsort(
        (np.asarray(table["run"]), -np.nan_to_num(figure, nan=-np.inf), np.nan_to_num(at, nan=np.inf), -fell)
    )
    return [int(table["run"][i]) for i in order[:WORST]]
