"""What `secateur bench search` found: hypervolumes, regrets and ranks, as text, rows and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import MissingExtraError
from secateur.objectives import Objective
from secateur.pareto.regret import Courses, sampled
from secateur.report.bench_page import Section, bench_html, courses_figure
from secateur.report.numbers import title
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.report.terminal import say
from secateur.report.text_table import print_table, table_blocks
from secateur.rng import generator
from secateur.runs.bench.ranks import SAMPLES, average_ranks, standard_error
from secateur.tables.searchable import SearchTable
from secateur.writing import write_whole

if TYPE_CHECKING:
    import pandas

SEARCHES, PAGE = "searches.parquet", "search.html"
TITLE = "How searchers compare"
#: Shares of the trials at which regret is shown.
SHOWN = (0.1, 0.3, 0.6, 1.0)


@dataclass(frozen=True)
class Regrets:
    """Of one table: searcher → (seeds, trials), against the best possible and the best seen, and the volumes reached."""

    possible: dict[str, np.ndarray]
    seen: dict[str, np.ndarray]
    volumes: dict[str, np.ndarray]


@dataclass(frozen=True)
class SearchStudy:
    """What `secateur bench search` found. `frame` has a row per network that a search saw, in order."""

    folder: Path
    tables: Sequence[SearchTable]
    objectives: Mapping[str, Sequence[Objective]]
    frame: pandas.DataFrame
    trials: int
    notes: list[str] = field(default_factory=list)

    @cached_property
    def regrets(self) -> dict[str, Regrets]:
        """Table → the regrets of its searches."""
        return {table.name: self._regrets(table) for table in self.tables}

    def _regrets(self, table: SearchTable) -> Regrets:
        objectives = self.objectives[table.name]
        names = [o.name for o in objectives]
        every = np.column_stack([o.sign * table.table.averaged().column(o.name) for o in objectives])
        found = self.frame[self.frame["table"] == table.name].groupby(["searcher", "seed"], sort=False)
        searches = [(str(name), rows) for (name, _), rows in found]  # type: ignore[misc]
        signs = np.array([o.sign for o in objectives])
        points = [signs * rows[names].to_numpy(dtype=float) for _, rows in searches]
        courses = Courses.of(points, every[np.isfinite(every).all(axis=1)])
        volumes: dict[str, list[np.ndarray]] = {}
        at = np.arange(1, self.trials + 1)
        for (searcher, rows), course in zip(searches, courses.each, strict=True):
            volumes.setdefault(searcher, []).append(sampled(rows["trial"].to_numpy(), course, at, 0.0))
        arrays = {searcher: np.stack(several) for searcher, several in volumes.items()}
        possible, seen = ({n: best - array for n, array in arrays.items()} for best in (courses.possible, courses.seen))
        return Regrets(possible, seen, arrays)

    @cached_property
    def ranks(self) -> dict[str, np.ndarray]:
        """Searcher → its average rank (trials,) over tables and seeds."""
        return self._ranks([table.name for table in self.tables])

    def _ranks(self, tables: Sequence[str]) -> dict[str, np.ndarray]:
        several = {name: [self.regrets[table].possible[name] for table in tables] for name in self.searchers}
        return average_ranks(several, generator(0, "average ranks"))

    @property
    def searchers(self) -> list[str]:
        return list(dict.fromkeys(self.frame["searcher"]))

    def rows(self) -> list[dict[str, Any]]:
        """A row per table and searcher: means over the seeds."""
        found = []
        last = self.frame.groupby(["table", "searcher", "seed"])["seconds"].max()
        for table in self.tables:
            regrets, ranks = self.regrets[table.name], self._ranks([table.name])
            for name in self.searchers:
                volumes, against = regrets.volumes[name][:, -1], regrets.possible[name]
                row: dict[str, Any] = {"table": table.name, "searcher": name, "seeds": len(volumes)}
                row |= {"hypervolume": float(volumes.mean()), "hypervolume_error": float(standard_error(volumes))}
                row |= {f"regret_{at}": float(against[:, at - 1].mean()) for at in self._shown_at}
                row |= {"regret_seen": float(regrets.seen[name][:, -1].mean()), "rank": float(ranks[name][-1])}
                found.append({**row, "seconds": float(last[table.name, name].mean()) / self.trials})
        return found

    @property
    def _shown_at(self) -> list[int]:
        return sorted({max(1, round(share * self.trials)) for share in SHOWN})

    def as_dict(self) -> dict[str, Any]:
        """A row per table and searcher, average ranks over all tables, and notes."""
        ranks = {name: float(rank[-1]) for name, rank in self.ranks.items()}
        return {"folder": self.folder, "searches": self.rows(), "average_ranks": ranks, "notes": self.said()}

    def said(self) -> list[str]:
        """What a reader must know of the figures."""
        per = ", ".join(f"{table.name}: {table.about}" for table in self.tables)
        told = [
            f"Hypervolume up to (2, 2) after every objective became its quantile over all searches of a table; regret after so "
            f"many trials is what is missing to the best front of the whole table. Ranks are means over {SAMPLES:,} draws of a "
            f"table and a seed of each searcher; seconds are those of a proposal. {per}."
        ]
        return [*told, *self.notes]

    def shown(self) -> Shown:
        several = len(self.tables) > 1
        columns = [*([Column("table", "table")] if several else []), Column("searcher", "searcher")]
        columns += [
            Column("volume", "hypervolume", "score"),
            *(Column(f"r{at}", f"regret, {at}", "score") for at in self._shown_at),
        ]
        columns += [
            Column("seen", "to the best seen", "score"),
            Column("rank", "rank", "number"),
            Column("s", "time", "seconds"),
        ]
        lines = []
        for row in self.rows():
            line = {"table": row["table"], "searcher": row["searcher"], "rank": row["rank"], "s": row["seconds"]}
            line["volume"] = f"{row['hypervolume']:.3f} ± {row['hypervolume_error']:.3f}"
            line |= {f"r{at}": f"{row[f'regret_{at}']:.3f}" for at in self._shown_at}
            lines.append({**line, "seen": f"{row['regret_seen']:.3f}"})
        if several:
            blank = dict.fromkeys(column.name for column in columns)
            lines += [{**blank, "table": "all", "searcher": name, "rank": rank[-1]} for name, rank in self.ranks.items()]
        return Shown(columns, lines)

    def __str__(self) -> str:
        return "\n".join([*table_blocks(self.shown())[0], "", *self.said(), self._written()])

    def show(self) -> None:
        print_table(self.shown(), TITLE)
        say()
        for note in self.said():
            say(note)
        say(self._written(), whole=True)

    def _written(self) -> str:
        page = self.folder / PAGE
        return f"Written: {page if page.exists() else self.folder / SEARCHES}"

    def write(self) -> None:
        """The page, where what draws it is installed."""
        try:
            html = bench_html(TITLE, self.said(), self._sections())
        except MissingExtraError as error:  # what took long is in the other file
            self.notes.append(f"No page was written: {error}")
            return
        write_whole(html, self.folder / PAGE)

    def _sections(self) -> list[Section]:
        trials, names = list(range(1, self.trials + 1)), self.searchers
        regrets = {}
        for table in self.tables:
            found = {n: (trials, v.mean(axis=0), standard_error(v)) for n, v in self.regrets[table.name].possible.items()}
            regrets[table.name] = courses_figure(found, "trials", "regret", names, log=True)
        ranks = {n: (trials, rank, np.zeros(len(rank))) for n, rank in self.ranks.items()}
        sought = "; ".join(
            f"{name}: {' and '.join(title(o.name) for o in several)}" for name, several in self.objectives.items()
        )
        drawn = {"all tables": courses_figure(ranks, "trials", "average rank", names)}
        return [
            Section("Searchers", f"Objectives of {sought}.", self.shown()),
            Section("Regret", "Means over seeds with their standard errors.", figures=regrets),
            Section("Average ranks", "1 is the best.", figures=drawn),
        ]
