"""What the page of a trained encoding shows, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.objectives import QUANTITIES
from secateur.report.numbers import show, shown_as, significant, title
from secateur.spaces.base import Space
from secateur.spaces.cells import Graph


@dataclass(frozen=True)
class Measure:
    """What architectures are coloured by: a column of a table at a budget (None: at the end), or a count of the space's own."""

    name: str
    best: str = "min"
    budget: float | None = None
    table: str | None = None

    def __str__(self) -> str:
        return title(self.name) + ("" if self.budget is None else f" at budget {self.budget:g}")

    def said(self, value: float) -> str:
        """A value, shortly: 4.13 M of parameters, 93.42 of an accuracy."""
        if self.name in QUANTITIES:
            return show(float(value), shown_as(self.name))
        return significant(float(value), 4)


@dataclass(frozen=True, eq=False)
class Map:
    """Architectures (n,) with their places (n, 2) on a plane and their values (n,); `walked` are the places in this list of
    those that a walk passes."""

    architectures: Sequence[Architecture]
    places: np.ndarray
    values: np.ndarray
    projection: str
    walked: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Walk:
    """Architectures (k,), each the nearest to the one before that was not visited yet, with their values (k,), the edit
    distances (k − 1,) between consecutive ones, and the mean of those of random pairs."""

    architectures: Sequence[Architecture]
    values: np.ndarray
    edits: Sequence[int]
    random: float

    @property
    def mean(self) -> float:
        """The mean edit distance of a step."""
        return float(np.mean(self.edits))


@dataclass(frozen=True)
class Box:
    """The latent distances of pairs of one edit distance: how many there are, and their 5, 25, 50, 75 and 95 % quantiles."""

    edits: int
    pairs: int
    low: float
    first: float
    median: float
    third: float
    high: float


@dataclass(frozen=True)
class Nearness:
    """How latent distances grow with edit distances over a random walk: a box per edit distance of all pairs, and Spearman's
    correlation over the random ones (None where either is constant)."""

    steps: int
    random: int
    spearman: float | None
    boxes: Sequence[Box]


@dataclass(frozen=True)
class Decoded:
    """What a graph of latent numbers is: the cell, None where it is none of the space, and its value, NaN where none is known.

    `share`: of the way between two cells, from where to where it is the same.
    """

    graph: Graph | None
    value: float
    share: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Samples:
    """What a decoder makes of random draws: how many are cells of the space, how many of these differ, and the first ones; and
    the cells on the way between two."""

    draws: int
    valid: int
    different: int
    cells: Sequence[Decoded]
    between: Sequence[Decoded]


@dataclass(frozen=True, eq=False)
class EncodingData:
    """All that is shown of an encoding. `total`: architectures that the table or space has, `among`: those looked at.

    What is None does not exist for this space or method.
    """

    name: str
    card: Mapping[str, Any]
    space: Space
    dimensions: int
    total: int
    among: int
    measure: Measure | None
    map: Map
    walk: Walk | None
    nearness: Nearness | None
    samples: Samples | None
