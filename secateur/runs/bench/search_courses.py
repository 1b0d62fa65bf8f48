"""How far the searches of a table were after so many queries or simulated seconds, as arrays over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.pareto.regret import Courses, sampled
from secateur.runs.bench.problem import Problem
from secateur.trial import ASKED

if TYPE_CHECKING:
    import pandas

#: Most points of a course.
POINTS = 500
HYPERVOLUME = "hypervolume"
#: Searcher → (seeds, points of the grid).
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class TableCourses:
    """Of one table: what was missing to the best `possible` and to the best that all searches have `seen`, the `cumulative`
    regret, and what is `told` of the best network so far, by measure (of several objectives, the hypervolume)."""

    possible: Arrays
    seen: Arrays
    cumulative: Arrays
    told: dict[str, Arrays]


def course_grid(end: float, shown_at: Sequence[float], timed: bool) -> np.ndarray:
    """Queries, or simulated seconds, at which courses are drawn: evenly up to the end, and where results are told."""
    steps = POINTS if timed else min(POINTS, int(end))
    even = np.linspace(end / steps, end, steps)
    return np.unique([*(even if timed else np.round(even)), *shown_at])


def courses_of(
    problem: Problem, frame: pandas.DataFrame, grid: np.ndarray, timed: bool, until_best: bool = False
) -> TableCourses:
    """The courses of all searches of a table, whose rows stand together, over queries or (`timed`) simulated seconds; of those
    that ended with the best network (`until_best`), what further queries would have added up to is not known: NaN."""
    x = frame["clock" if timed else "query"].to_numpy(dtype=float)
    if len(problem.objectives) > 1:
        return _volumes(problem, frame, x, grid)
    return _values(problem, frame, x, grid, timed, until_best)


def _values(
    problem: Problem, frame: pandas.DataFrame, x: np.ndarray, grid: np.ndarray, timed: bool, until_best: bool
) -> TableCourses:
    """Of one objective: what the table tells, at the driving budget and at those reported, of the network that is the best so
    far at the largest budget that the search has seen so far.

    Before its first result, a search lacks all that can be; so does a network without a value.
    """
    objective = problem.objectives[0]
    keys = frame["key"].unique()
    rows = frame["key"].map(dict(zip(keys, problem.rows(keys), strict=True))).to_numpy()
    seen = objective.sign * frame[objective.name].to_numpy(dtype=float)
    budgets = frame["budget"].to_numpy(dtype=float)
    budgets = np.where(np.isnan(seen), -np.inf, np.where(np.isnan(budgets), np.inf, budgets))
    asked = frame["origin"].to_numpy() == ASKED
    drive, *reported = (problem.column(measure) for measure in problem.measures)
    signed = objective.sign * drive
    best, worst = np.nanmin(signed), np.nanmax(signed)
    lacks = np.where(np.isnan(signed), worst, signed) - best
    known = float(np.nanmin(lacks[rows]))
    regrets: dict[str, list[np.ndarray]] = {}
    spent: dict[str, list[np.ndarray]] = {}
    told: list[dict[str, list[np.ndarray]]] = [{} for _ in problem.measures]
    for name, part in _searches(frame):
        found = rows[part][incumbents(seen[part], budgets[part])]
        times = x[part]
        regrets.setdefault(name, []).append(sampled(times, lacks[found], grid, worst - best))
        own = part.start + np.flatnonzero(asked[part])
        weights = np.diff(x[own], prepend=0.0) if timed else np.ones(len(own))
        added = sampled(x[own], np.cumsum(weights * lacks[rows[own]]), grid, 0.0)
        spent.setdefault(name, []).append(np.where(grid > x[own][-1], np.nan, added) if until_best else added)
        for measure, into in zip((drive, *reported), told, strict=True):
            into.setdefault(name, []).append(sampled(times, measure[found], grid, np.nan))
    possible = _stacked(regrets)
    measures = dict(zip(map(str, problem.measures), map(_stacked, told), strict=True))
    return TableCourses(possible, {n: a - known for n, a in possible.items()}, _stacked(spent), measures)


def _volumes(problem: Problem, frame: pandas.DataFrame, x: np.ndarray, grid: np.ndarray) -> TableCourses:
    """Of several objectives: hypervolumes of what was seen at the driving budget, after objectives became quantiles."""
    top = problem.budgets[-1] if problem.budgets else np.inf
    budgets = frame["budget"].to_numpy(dtype=float)
    values = np.column_stack([o.sign * frame[o.name].to_numpy(dtype=float) for o in problem.objectives])
    counted = (np.isnan(budgets) | (budgets >= top)) & np.isfinite(values).all(axis=1)
    searches = [(name, part.start + np.flatnonzero(counted[part])) for name, part in _searches(frame)]
    courses = Courses.of([values[own] for _, own in searches], problem.points)
    volumes: dict[str, list[np.ndarray]] = {}
    for (name, own), course in zip(searches, courses.each, strict=True):
        volumes.setdefault(name, []).append(sampled(x[own], course, grid, 0.0))
    arrays = _stacked(volumes)
    possible, seen = ({n: best - array for n, array in arrays.items()} for best in (courses.possible, courses.seen))
    steps = np.diff(grid, prepend=0.0)
    cumulative = {n: np.cumsum(array * steps, axis=1) for n, array in possible.items()}
    return TableCourses(possible, seen, cumulative, {HYPERVOLUME: arrays})


def incumbents(values: np.ndarray, budgets: np.ndarray) -> np.ndarray:
    """After each of n results, the place of the best so far: of the largest budget so far, the first of the least value."""
    order = np.lexsort((values, -budgets))  # stable: of equals, the first
    places = np.empty(len(order), dtype=int)
    places[order] = np.arange(len(order))
    return np.asarray(order[np.minimum.accumulate(places)], dtype=int)


def _searches(frame: pandas.DataFrame) -> Iterator[tuple[str, slice]]:
    """The searcher and the rows of each search."""
    cells = frame["cell"].to_numpy()
    starts = np.flatnonzero(np.r_[True, cells[1:] != cells[:-1]]) if len(cells) else np.zeros(0, dtype=int)
    names = frame["searcher"].to_numpy()
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(cells)], strict=True):
        yield str(names[start]), slice(start, stop)


def _stacked(several: dict[str, list[np.ndarray]]) -> Arrays:
    return {name: np.stack(arrays) for name, arrays in several.items()}
