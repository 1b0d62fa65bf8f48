"""Hypervolume and regret of several searches of one problem, as Klein et al. (2024, section 4.1) compare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur.pareto.hypervolume import hypervolume, hypervolume_over_time
from secateur.pareto.quantiles import quantile_normalise

#: The reference point in each objective, once values are quantiles between 0 and 1.
REFERENCE = 2.0


def quantile_hypervolumes(searches: Sequence[np.ndarray]) -> list[float]:
    """The hypervolume of each search's points (n, m): each objective as its quantile over all searches, up to 2."""
    among = np.concatenate(searches)
    return [_volume(points, among) for points in searches]


@dataclass(frozen=True)
class Courses:
    """How the hypervolume of several searches of one problem grows: after each of their points, `each` has an (n,) per search.

    `seen` is what all searches reach together. `possible` is the best there can be: what the whole problem's points reach
    where those are known, otherwise the 4 of two objectives whose best values go together.
    """

    each: list[np.ndarray]
    seen: float
    possible: float

    @classmethod
    def of(cls, searches: Sequence[np.ndarray], problem: np.ndarray | None = None) -> Courses:
        """The courses of the searches' points (n, m), in the order found; `problem` (k, m) has all points there are."""
        among = np.concatenate(searches)
        reference = np.full(among.shape[1], REFERENCE)
        ends = np.cumsum([len(points) for points in searches])[:-1]
        each = [hypervolume_over_time(points, reference) for points in np.split(quantile_normalise(among), ends)]
        possible = float(REFERENCE ** among.shape[1]) if problem is None else _volume(problem, among)
        return cls(each, _volume(among, among), possible)

    def regrets(self, best: float) -> list[np.ndarray]:
        """How much each search lacks of the hypervolume `best` (`possible` or `seen`) after each of its points."""
        return [best - course for course in self.each]


def sampled(times: np.ndarray, course: np.ndarray, at: np.ndarray, before: float) -> np.ndarray:
    """A course (n,) whose values hold from its rising `times` (n,) on, at other times (k,); `before` the first of them."""
    places = np.searchsorted(times, at, side="right")
    return np.concatenate([[before], course])[places]


def _volume(points: np.ndarray, among: np.ndarray) -> float:
    return hypervolume(quantile_normalise(points, among), np.full(among.shape[1], REFERENCE))
