"""Figures of the pruning papers' protocol (Klein et al. 2024, section 4), computed from the rows of a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.pareto.regret import Courses, quantile_hypervolumes, sampled
from secateur.rng import generator
from secateur.runs.bench.ranks import average_ranks

if TYPE_CHECKING:
    import pandas

#: Steps of time at which searches are compared.
STEPS = 100
#: What both objectives of a search are.
OBJECTIVES = ["error", "parameters"]


def hypervolumes(trials: pandas.DataFrame) -> dict[str, list[float]]:
    """Arm → the hypervolume of each repetition; quantiles are over all rows given, so give those of one model and task."""
    keys, points = _searches(trials)
    found: dict[str, list[float]] = {}
    for (arm, _), volume in zip(keys, quantile_hypervolumes(points), strict=True):
        found.setdefault(arm, []).append(volume)
    return found


@dataclass(frozen=True)
class Race:
    """Searches of one model and task over time: `times` (t,), arm → regrets (seeds, t) to the best possible, and to the best
    seen."""

    times: np.ndarray
    possible: Mapping[str, np.ndarray]
    seen: Mapping[str, np.ndarray]


def race(trials: pandas.DataFrame, steps: int = STEPS) -> Race:
    """From the first point of any search to the last; a search that has ended keeps what it has."""
    keys, points = _searches(trials)
    courses = Courses.of(points)
    at = [rows["seconds"].to_numpy(dtype=float) for _, rows in trials.groupby(["arm", "seed"], sort=False)]
    times = np.linspace(min(t[0] for t in at), max(t[-1] for t in at), steps)
    volumes: dict[str, list[np.ndarray]] = {}
    for (arm, _), when, course in zip(keys, at, courses.each, strict=True):
        volumes.setdefault(arm, []).append(sampled(when, course, times, 0.0))
    arrays = {arm: np.stack(several) for arm, several in volumes.items()}
    return Race(
        times,
        {arm: courses.possible - array for arm, array in arrays.items()},
        {arm: courses.seen - array for arm, array in arrays.items()},
    )


def ranks(races: Mapping[str, Race]) -> dict[str, np.ndarray]:
    """Arm → its average rank (t,) over the tasks of `races` and their repetitions; arms that a task lacks are left out."""
    arms = [arm for arm in next(iter(races.values())).possible if all(arm in r.possible for r in races.values())]
    regrets = {arm: [r.possible[arm] for r in races.values()] for arm in arms}
    return average_ranks(regrets, generator(0, "average ranks")) if arms else {}


def kept(rows: pandas.DataFrame) -> tuple[float, dict[str, dict[str, list[float]]]]:
    """Of one model and task: the best unpruned score on test data, and arm → level → the share of it that each repetition kept.

    The best unpruned score is that of the arm whose unpruned networks do best on average: the same for all.
    """
    scored = rows.assign(score=1 - rows["test_error"].astype(float))
    best = float(scored[scored["kind"] == "unpruned"].groupby("arm")["score"].mean().max())
    found: dict[str, dict[str, list[float]]] = {}
    levels = scored[(scored["kind"] == "level") & scored["score"].notna()]
    for arm, level, score in zip(levels["arm"], levels["level"], levels["score"].tolist(), strict=True):
        found.setdefault(str(arm), {}).setdefault(str(level), []).append(score / best)
    return best, found


def _searches(trials: pandas.DataFrame) -> tuple[list[tuple[str, int]], list[np.ndarray]]:
    """(arm, seed) and the points (n, 2) of each search, in order."""
    keys, points = [], []
    for key, rows in trials.groupby(["arm", "seed"], sort=False):
        arm, seed = key  # type: ignore[misc]
        keys.append((str(arm), int(str(seed))))
        points.append(rows[OBJECTIVES].to_numpy(dtype=float))
    return keys, points
