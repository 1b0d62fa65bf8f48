"""Whether searchers differ: Wilcoxon's test over paired seeds with Holm's correction, average ranks with Friedman's test and
Nemenyi's critical difference (Demšar 2006)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from secateur.report.significance_page import LEVEL
from secateur.rng import Generator

#: Draws of the bootstrap.
DRAWS = 2000


@dataclass(frozen=True)
class Pair:
    """Two searchers: the mean `difference` of the first to the second over paired seeds, its 95 % interval by the bootstrap,
    the p-value of Wilcoxon's signed-rank test, and the one corrected for the number of pairs by Holm's method."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    corrected: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class CriticalDifference:
    """Average ranks over so many `blocks` (a table and a seed), the best first, Friedman's p-value, and the `distance` at which
    two ranks differ."""

    ranks: dict[str, float]
    blocks: int
    p: float
    distance: float

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "groups": self.groups}

    @property
    def groups(self) -> list[list[str]]:
        """The largest sets of neighbours in rank that do not differ; all of them where Friedman's test finds no difference."""
        names, ranks = list(self.ranks), list(self.ranks.values())
        reach = self.distance if self.p < LEVEL else np.inf
        ends = [sum(rank - start < reach for rank in ranks) for start in ranks]
        groups = [(start, end) for start, end in enumerate(ends) if end - start > 1 and (start == 0 or end > ends[start - 1])]
        return [names[start:end] for start, end in groups]


def holm(p: Sequence[float]) -> np.ndarray:
    """The p-values (n,), each multiplied by the number of hypotheses that are left, never below the one before, at most 1."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    return corrected


def pairs(values: Mapping[str, np.ndarray], rng: Generator) -> list[Pair]:
    """All pairs of searchers, by their values (n,), the same seed in the same place."""
    compared = list(combinations(values, 2))
    drawn: np.ndarray | None = None
    found = []
    for first, second in compared:
        differences = values[first] - values[second]
        if drawn is None:
            drawn = rng.integers(0, len(differences), size=(DRAWS, len(differences)))
        low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975))
        found.append((first, second, float(differences.mean()), float(low), float(high), wilcoxon(differences)))
    return [Pair(*pair, float(q)) for pair, q in zip(found, holm([pair[-1] for pair in found]), strict=True)]


def wilcoxon(differences: np.ndarray) -> float:
    """The two-sided p-value of the signed-rank test; 1 where nothing differs."""
    from scipy.stats import wilcoxon

    if not np.any(differences):
        return 1.0
    return float(wilcoxon(differences).pvalue)


def critical_difference(regrets: Mapping[str, np.ndarray]) -> CriticalDifference | None:
    """Of at least three searchers' regrets (blocks,), the less the better; None of fewer, or of one block."""
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    every = np.stack(list(regrets.values()))
    k, blocks = every.shape
    if k < 3 or blocks < 2:
        return None
    mean = rankdata(every, axis=0).mean(axis=1)
    ranks = sorted(zip(regrets, mean.tolist(), strict=True), key=lambda pair: pair[1])
    p = 1.0 if (every == every[0]).all() else float(friedmanchisquare(*every).pvalue)
    studentised = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    return CriticalDifference(dict(ranks), blocks, p, float(studentised * np.sqrt(k * (k + 1) / (6 * blocks))))
