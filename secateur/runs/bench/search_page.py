"""The sections of the page of `secateur bench search`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from secateur.report.bench_page import Section, around, courses_figure
from secateur.report.charts import Figure
from secateur.report.numbers import title
from secateur.report.significance_page import LEVEL, Cell, critical_difference_figure, significance_figure
from secateur.runs.bench.problem import Problem
from secateur.runs.bench.ranks import standard_error
from secateur.runs.bench.search_courses import Arrays, TableCourses
from secateur.runs.bench.significance import Pair

if TYPE_CHECKING:
    from secateur.runs.bench.search_results import SearchStudy


def sections(study: SearchStudy) -> Iterator[Section]:
    """The final table, regrets over queries or time, what was found, ranks, and whether searchers differ."""
    sought = "; ".join(f"{p.name}: {' and '.join(title(o.name) for o in p.objectives)}" for p in study.problems)
    yield Section("Searchers", f"Objectives of {sought}.", study.shown())
    courses = study.regrets
    means = {table: _means(study, _begun(found), "regret", log=True) for table, found in courses.items()}
    yield Section("Regret", "Means over seeds with their standard errors; a regret of 0 is drawn at the bottom.", figures=means)
    middles = {table: _medians(study, _begun(found)) for table, found in courses.items()}
    yield Section("Regret, medians", "With the quartiles over seeds.", figures=middles)
    for table, found in courses.items():
        told = {measure: _means(study, arrays, measure, late=True) for measure, arrays in found.told.items()}
        yield Section(f"Found on {table}", "Of the best so far: means over seeds with their standard errors.", figures=told)
    sums = {table: _means(study, found.cumulative, "cumulative regret") for table, found in courses.items()}
    yield Section("Cumulative regret", "Means over seeds with their standard errors.", figures=sums)
    ranks = {name: (study.grid, rank, rank, rank) for name, rank in study.ranks.items()}
    drawn = {"over all tables and seeds": courses_figure(ranks, study.unit, "average rank", study.searchers)}
    yield Section("Average ranks", "1 is the best.", figures=drawn)
    if study.critical is not None:
        yield _critical(study)
    for problem in study.problems:
        drawn = {m: _matrix(study, problem, m, found) for m, found in study.pairs[problem.name].items()}
        yield Section(f"Pairs on {problem.name}", _PAIRS, figures=drawn)


_PAIRS = (
    "In the end, over paired seeds: p-values of Wilcoxon's signed-rank test, corrected for the number of pairs (Holm). "
    f"Green: the one on the left has the better values, orange: the worse ones, grey: the two do not differ at {LEVEL:g}. "
    "Over a cell: the mean difference and its 95 % interval by the bootstrap."
)


def _begun(found: TableCourses) -> Arrays:
    """The regrets, from when on all searches of a searcher have a result."""
    told = next(iter(found.told.values()))
    return {name: np.where(np.isnan(told[name]).any(axis=0), np.nan, regrets) for name, regrets in found.possible.items()}


def _means(study: SearchStudy, arrays: Arrays, y: str, **more: bool) -> Figure:
    series = {n: (study.grid, *around(v.mean(axis=0), standard_error(v))) for n, v in arrays.items()}
    return courses_figure(series, study.unit, y, study.searchers, **more)


def _medians(study: SearchStudy, arrays: Arrays) -> Figure:
    series = {n: (study.grid, *np.quantile(v, (0.5, 0.25, 0.75), axis=0)) for n, v in arrays.items()}
    return courses_figure(series, study.unit, "regret", study.searchers, log=True)


def _critical(study: SearchStudy) -> Section:
    found = study.critical
    assert found is not None
    of = "the seeds of one table, and says nothing of others" if len(study.problems) == 1 else "tables and seeds"
    caption = (
        f"Average ranks in the end over {found.blocks:,} blocks. Friedman's test: p = {found.p:.2g}. Searchers that a bar "
        f"joins do not differ by Nemenyi's test at {LEVEL:g} (Demšar 2006); a block is one of {of}."
    )
    drawing = critical_difference_figure(found.ranks, found.distance, found.groups, study.searchers)
    return Section("Critical difference", caption, figures={"average ranks": drawing})


def _matrix(study: SearchStudy, problem: Problem, measure: str, found: list[Pair]) -> Figure:
    larger_is_better = measure != "regret" and problem.table.objective(measure.partition("@")[0]).direction == "max"
    cells = {}
    for pair in found:
        first_better = (pair.difference > 0) == larger_is_better
        for name, other, sign in ((pair.first, pair.second, 1), (pair.second, pair.first, -1)):
            low, high = sorted((sign * pair.low, sign * pair.high))
            told = f"{name} − {other}: {sign * pair.difference:.3g} ({low:.3g} to {high:.3g}), p = {pair.corrected:.2g}"
            cells[name, other] = Cell(pair.corrected, first_better == (sign > 0), told)
    return significance_figure(study.searchers, cells)
