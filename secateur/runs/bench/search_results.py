"""What `secateur bench search` found: regrets, ranks and whether searchers differ, as text, rows and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.report.bench_page import Section
from secateur.report.numbers import finite, spread
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.rng import generator
from secateur.runs.bench.problem import Problem
from secateur.runs.bench.ranks import standard_error
from secateur.runs.bench.search_courses import Arrays, TableCourses, course_grid, courses_of
from secateur.runs.bench.search_page import sections
from secateur.runs.bench.significance import CriticalDifference, Pair, critical_difference, pairs
from secateur.runs.bench.told import Told
from secateur.spaces.pool import Pool

if TYPE_CHECKING:
    import pandas

#: The quantiles that are told beside means, by the ends of their names.
QUANTILES = {"median": 0.5, "q10": 0.1, "q90": 0.9}


@dataclass(frozen=True)
class SearchStudy(Told):
    """What `secateur bench search` found. `frame` has a row per network that a search saw, in order; searches end after so many
    queries, or (`timed`) simulated seconds, or (`until_best`) with the best network, and results are told at `shown_at`."""

    title = "How searchers compare"
    results, page = "searches.parquet", "search.html"

    folder: Path
    problems: Sequence[Problem]
    frame: pandas.DataFrame
    end: float
    shown_at: Sequence[int]
    timed: bool = False
    notes: list[str] = field(default_factory=list)
    until_best: bool = False

    @cached_property
    def grid(self) -> np.ndarray:
        """The queries or seconds at which courses have values."""
        return course_grid(self.end, self.shown_at, self.timed)

    @property
    def unit(self) -> str:
        return "simulated seconds" if self.timed else "queries"

    @cached_property
    def searchers(self) -> list[str]:
        return list(self.frame["searcher"].unique())

    @cached_property
    def regrets(self) -> dict[str, TableCourses]:
        """Table → the courses of its searches."""
        frame, how = self.frame, (self.grid, self.timed, self.until_best)
        return {p.name: courses_of(p, frame[frame["table"] == p.name], *how) for p in self.problems}

    @cached_property
    def ranks(self) -> Arrays:
        """Searcher → its average rank at each point of the grid, over tables and seeds."""
        return _average_ranks([self.regrets[p.name].possible for p in self.problems])

    @cached_property
    def critical(self) -> CriticalDifference | None:
        """Average ranks in the end over tables and seeds, and at which distance they differ; None of two searchers."""
        last = {n: np.concatenate([self.regrets[p.name].possible[n][:, -1] for p in self.problems]) for n in self.searchers}
        return critical_difference(last)

    @cached_property
    def pairs(self) -> dict[str, dict[str, list[Pair]]]:
        """Table → measure (`regret` first) → how each two searchers differ in the end, over paired seeds."""
        found: dict[str, dict[str, list[Pair]]] = {}
        for problem in self.problems:
            courses = self.regrets[problem.name]
            measures = {"regret": courses.possible, **dict(list(courses.told.items())[1:])}
            last = {m: {n: a[:, -1] for n, a in arrays.items()} for m, arrays in measures.items()}
            found[problem.name] = {m: pairs(v, generator(0, "bootstrap", problem.name, m)) for m, v in last.items()}
        return found

    def rows(self) -> list[dict[str, Any]]:
        """A row per table, number of queries (or seconds) and searcher: means over seeds, standard errors and quantiles."""
        found = []
        ended = self.frame.groupby(["table", "searcher", "seed"], sort=False)[["seconds", "query"]].max()
        per_query = (ended["seconds"] / ended["query"]).groupby(["table", "searcher"]).mean()
        for problem in self.problems:
            courses, ranks = self.regrets[problem.name], _average_ranks([self.regrets[problem.name].possible])
            for at in self.shown_at:
                place = int(np.searchsorted(self.grid, at))
                for name in self.searchers:
                    row = {"table": problem.name, self.unit.replace(" ", "_"): at, "searcher": name}
                    row["seeds"] = len(courses.possible[name])
                    for measure, arrays in courses.told.items():
                        row |= _summary(measure, arrays[name][:, place])
                    row |= _summary("regret", courses.possible[name][:, place])
                    row |= {"regret_seen": float(courses.seen[name][:, place].mean())}
                    row |= _summary("cumulative_regret", courses.cumulative[name][:, place])
                    found.append({**row, "rank": float(ranks[name][place]), "seconds": float(per_query[problem.name, name])})
        return found

    def as_dict(self) -> dict[str, Any]:
        """A row per table, number of queries and searcher, average ranks over all tables, how searchers differ, and notes."""
        ranks = {name: float(rank[-1]) for name, rank in self.ranks.items()}
        told = {"folder": self.folder, "searches": self.rows(), "average_ranks": ranks}
        told["critical_difference"] = None if self.critical is None else self.critical.as_dict()
        told["pairs"] = {t: {m: [p.as_dict() for p in found] for m, found in by.items()} for t, by in self.pairs.items()}
        return {**told, "notes": self.said()}

    def said(self) -> list[str]:
        """What a reader must know of the figures."""
        told = []
        if any(len(p.objectives) > 1 for p in self.problems):
            told.append(
                f"Hypervolume up to (2, 2), with every objective as its quantile over all searches of a table; regret is what "
                f"is missing to the best front of the whole table, cumulative regret its sum over the {self.unit}."
            )
        if any(len(p.objectives) == 1 for p in self.problems):
            each = "weighted by the simulated seconds it took" if self.timed else "counted once"
            told.append(
                "Values are those of the network with the best objective so far, judged at the largest budget its search has "
                "reached. Regret is its gap to the best network of the table at the budget that drives searches; cumulative "
                f"regret adds up the gaps of all networks queried, each {each}."
            )
        if self.until_best:
            told.append("Searches ended once they had found the best network; cumulative regret is told as far as all went.")
        told.append("Means over seeds ± standard errors. Ranks are means over tables and seeds. Time is per proposal.")
        told += [f"{p.name}: {p.table.about}." for p in self.problems if p.table.about]
        told += [_partial(p.name, p.table.space) for p in self.problems if isinstance(p.table.space, Pool)]
        return [*told, *self.notes]

    def shown(self) -> Shown:
        measures = list(dict.fromkeys(m for p in self.problems for m in self.regrets[p.name].told))
        columns = [Column("table", "table")] if len(self.problems) > 1 else []
        columns += [Column("at", self.unit, "integer"), Column("searcher", "searcher")]
        columns += [Column(measure, measure, "score") for measure in measures]
        columns += [Column("regret", "regret", "score"), Column("seen", "to the best seen", "number")]
        columns += [
            Column("cumulative", "cumulative", "number"),
            Column("rank", "rank", "number"),
            Column("s", "time", "seconds"),
        ]
        lines = []
        for row in self.rows():
            line = {"table": row["table"], "at": row[self.unit.replace(" ", "_")], "searcher": row["searcher"]}
            line |= {m: spread(row[m], row[f"{m}_error"]) if m in row else None for m in (*measures, "regret")}
            line |= {
                "seen": row["regret_seen"],
                "cumulative": row["cumulative_regret"],
                "rank": row["rank"],
                "s": row["seconds"],
            }
            lines.append(line)
        if len(self.problems) > 1:
            blank = dict.fromkeys(column.name for column in columns)
            lines += [
                {**blank, "table": "all", "at": at, "searcher": name, "rank": rank[np.searchsorted(self.grid, at)]}
                for at in self.shown_at
                for name, rank in self.ranks.items()
            ]
        return Shown(columns, lines)

    def sections(self) -> Iterator[Section]:
        return sections(self)


def _average_ranks(regrets: Sequence[Arrays]) -> Arrays:
    """Searcher → its mean rank over the seeds of several tables, 1 the best, ties at their mean."""
    from scipy.stats import rankdata

    total = sum(rankdata(np.stack(list(arrays.values())), axis=0).mean(axis=1) for arrays in regrets)
    return dict(zip(regrets[0], np.asarray(total) / len(regrets), strict=True))


def _partial(table: str, pool: Pool) -> str:
    """What a reader must know of a table that holds a part of its space."""
    whole = pool.space.size()
    every = f"{whole:,}" if whole < 10**9 else f"{whole:.0e}"
    return (
        f"{table} holds {pool.size():,} of the {every} networks of its space, and a search steps to the nearest of these: it "
        "tells little of searchers that change networks step by step."
    )


def _summary(name: str, values: np.ndarray) -> dict[str, float | None]:
    """Mean, standard error (None of one seed) and quantiles over seeds."""
    told = {name: values.mean(), f"{name}_error": standard_error(values) if len(values) > 1 else np.nan}
    told |= {f"{name}_{end}": np.quantile(values, share) for end, share in QUANTILES.items()}
    return {name: finite(float(value)) for name, value in told.items()}
